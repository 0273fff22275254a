"""Gates for continuous integration: bounds that a summary has to keep.

Every gate says over how many it speaks, and one that has nothing to speak of fails: what
could not fail is in no share, and what nobody measured is not fast.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, Literal, NamedTuple, Self

from wayproof.errors import InputError
from wayproof.text import exact_number, quoted

__all__ = ["SHARE_GATES", "Gate", "GateVerdict", "check_gates", "parse_rate"]

GateName = Literal[
    "min-sufficient", "min-sufficient-tasks", "max-debts", "max-p95-ms", "max-unmeasured"
]

SHARE_GATES: Final = ("min-sufficient", "min-sufficient-tasks")
"""Gates with a lower bound on a share; all others have an upper bound on a number."""

_MILLION: Final = 10**6


class Gate(NamedTuple):
    """One bound, and how the user wrote it. ``debt_class`` only for ``max-debts``."""

    name: GateName
    bound: Fraction
    shown: str
    debt_class: str | None = None

    @classmethod
    def min_sufficient(cls, rate: str | float) -> Self:
        """Demand a share of sufficient results, such as ``"60%"``, ``"2/3"`` or ``0.6``."""
        return cls("min-sufficient", parse_rate(str(rate)), str(rate))

    @classmethod
    def min_sufficient_tasks(cls, rate: str | float) -> Self:
        """Demand a share of sufficient results, averaged within each task first."""
        return cls("min-sufficient-tasks", parse_rate(str(rate), "min_sufficient_tasks"), str(rate))

    @classmethod
    def max_debts(cls, debt_class: Literal["sufficiency", "latency"], count: int) -> Self:
        """Allow so many debts of a class."""
        if debt_class not in {"sufficiency", "latency"}:
            raise InputError(
                "not a bound on debts",
                setting="max_debts",
                expected="sufficiency or latency",
                found=quoted(debt_class),
            )
        return cls("max-debts", _whole(count, "max_debts"), str(count), f"{debt_class}_debt")

    @classmethod
    def max_p95_ms(cls, bound_ms: float) -> Self:
        """Allow a 95th percentile of the wall times of so many milliseconds."""
        bound = exact_number(str(bound_ms))
        if bound is None or bound < 0:
            raise InputError(
                "not a time",
                setting="max_p95_ms",
                expected="milliseconds, 0 or more",
                found=quoted(bound_ms),
            )
        return cls("max-p95-ms", bound, str(bound_ms))

    @classmethod
    def max_unmeasured(cls, count: int) -> Self:
        """Allow so many results without a wall time."""
        return cls("max-unmeasured", _whole(count, "max_unmeasured"), str(count))


def _whole(count: Any, setting: str) -> Fraction:
    if not isinstance(count, int) or isinstance(count, bool) or count < 0:
        raise InputError(
            "not a count", setting=setting, expected="a whole number from 0", found=quoted(count)
        )
    return Fraction(count)


class GateVerdict(NamedTuple):
    """A gate with the value it was held against; None when there was nothing to measure.

    ``measured_count`` says over how many results (or tasks) the value speaks, and
    ``unmeasured_count`` how many were left out: nobody measured them, or they could not
    fail.
    """

    name: str
    value: int | float | None
    bound: str
    ok: bool
    measured_count: int
    unmeasured_count: int

    def line(self) -> str:
        """Say the verdict on one line."""
        relation = ">=" if self.name in SHARE_GATES else "<="
        value = "nothing measured" if self.value is None else str(self.value)
        verdict = "pass" if self.ok else "FAIL"
        return (
            f"gate {verdict}: {self.name}: {value} (bound: {relation} {self.bound}); "
            f"{self.measured_count} measured, {self.unmeasured_count} not"
        )


def parse_rate(text: str, setting: str = "min_sufficient") -> Fraction:
    """Read a rate such as ``0.9``, ``9/10`` or ``90%`` exactly; it must lie in [0, 1].

    Raises
    ------
    InputError
        For anything else; ``60`` is asked about: 60 % or 0.6?
    """
    rate = exact_number(text.removesuffix("%"))
    if rate is not None and text.endswith("%"):
        rate /= 100
    if rate is None or not 0 <= rate <= 1:
        is_percent = (
            rate is not None and 1 < rate <= 100 and "/" not in text and not text.endswith("%")
        )
        raise InputError(
            "not a rate",
            setting=setting,
            expected="a number from 0 to 1, or a percentage",
            found=text or '""',
            mend=f"{text} % or {float(rate / 100):g}?" if rate is not None and is_percent else None,
        )
    return rate


def check_gates(summary: dict[str, Any], gates: Sequence[Gate]) -> list[GateVerdict]:
    """Hold a summary against gates. A gate that has nothing to speak of fails.

    Percentiles are over measured times: a route that was cut off without a wall time is
    outside them, and is caught by a bound on latency debts.
    """
    return [_check(summary, gate) for gate in gates]


def _check(summary: dict[str, Any], gate: Gate) -> GateVerdict:
    count, vacuous_count = summary["task_count"], summary["vacuous_count"]
    could_fail_count = count - vacuous_count
    timed_count = count - summary["latency_unmeasured_count"]
    if gate.name == "min-sufficient":
        sufficient_count = summary["sufficiency_pass_count"] - vacuous_count
        rate = Fraction(sufficient_count, could_fail_count) if could_fail_count else None
        ok = rate is not None and rate >= gate.bound
        shown = None if rate is None else float(rate)
        return GateVerdict(gate.name, shown, gate.shown, ok, could_fail_count, vacuous_count)
    if gate.name == "min-sufficient-tasks":
        mean, task_count = summary["mean_sufficiency"], summary["mean_sufficiency_denominator"]
        # The mean was rounded down to 6 decimals, and so is the bound.
        ok = mean is not None and round(mean * _MILLION) >= gate.bound * _MILLION // 1
        left_out_count = summary["distinct_task_count"] - task_count
        return GateVerdict(gate.name, mean, gate.shown, ok, task_count, left_out_count)
    name: str = gate.name
    if gate.debt_class is not None:
        name = f"{gate.name} {gate.debt_class}"
    value = summary[_FIELDS[gate.debt_class or gate.name]]
    measured_count = could_fail_count if gate.debt_class == "sufficiency_debt" else timed_count
    has_any = count > 0 if gate.name == "max-unmeasured" else measured_count > 0
    if not has_any:
        value = None
    ok = value is not None and Fraction(value) <= gate.bound
    return GateVerdict(name, value, gate.shown, ok, measured_count, count - measured_count)


_FIELDS = {
    "sufficiency_debt": "sufficiency_fail_count",
    "latency_debt": "latency_fail_count",
    "max-p95-ms": "p95_wall_ms",
    "max-unmeasured": "latency_unmeasured_count",
}
