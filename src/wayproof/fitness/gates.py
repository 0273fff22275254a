"""Gates for continuous integration: bounds that a summary has to keep."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from wayproof.errors import InputError

__all__ = ["Gate", "GateVerdict", "check_gates", "parse_rate"]

GateName = Literal["min-sufficient", "max-debts", "max-p95-ms", "max-unmeasured"]


class Gate(NamedTuple):
    """One bound, and how the user wrote it. ``debt_class`` only for ``max-debts``."""

    name: GateName
    bound: Fraction
    shown: str
    debt_class: str | None = None


class GateVerdict(NamedTuple):
    """A gate with the value it was held against; None when there was nothing to measure."""

    name: str
    value: int | float | None
    bound: str
    ok: bool

    def line(self) -> str:
        """Say the verdict on one line."""
        relation = ">=" if self.name == "min-sufficient" else "<="
        value = "nothing measured" if self.value is None else str(self.value)
        verdict = "pass" if self.ok else "FAIL"
        return f"gate {verdict}: {self.name}: {value} (bound: {relation} {self.bound})"


def parse_rate(text: str) -> Fraction:
    """Read a rate such as ``0.9``, ``9/10`` or ``90%`` exactly; it must lie in [0, 1]."""
    try:
        rate = Fraction(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except (ValueError, ZeroDivisionError):
        rate = Fraction(-1)
    if not 0 <= rate <= 1:
        raise InputError(
            "not a rate", setting="min_sufficient", expected="a number from 0 to 1", found=text
        )
    return rate


def check_gates(summary: dict[str, Any], gates: Sequence[Gate]) -> list[GateVerdict]:
    """Hold a summary against gates. A rate or percentile of nothing fails its gate.

    Percentiles are over measured times: a route that was cut off without a wall time is
    outside them, and is caught by a bound on latency debts.
    """
    return [_check(summary, gate) for gate in gates]


def _check(summary: dict[str, Any], gate: Gate) -> GateVerdict:
    if gate.name == "min-sufficient":
        count = summary["task_count"]
        rate = Fraction(summary["sufficiency_pass_count"], count) if count else None
        ok = rate is not None and rate >= gate.bound
        return GateVerdict(gate.name, None if rate is None else float(rate), gate.shown, ok=ok)
    name: str = gate.name
    if gate.debt_class is not None:
        name = f"{gate.name} {gate.debt_class}"
    value = summary[_FIELDS[gate.debt_class or gate.name]]
    return GateVerdict(
        name, value, gate.shown, ok=value is not None and Fraction(value) <= gate.bound
    )


_FIELDS = {
    "sufficiency_debt": "sufficiency_fail_count",
    "latency_debt": "latency_fail_count",
    "max-p95-ms": "p95_wall_ms",
    "max-unmeasured": "latency_unmeasured_count",
}
