"""Gates for continuous integration: bounds that a summary has to keep."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from wayproof.errors import InputError

__all__ = ["DEBT_CLASSES", "Gate", "GateVerdict", "check_gates", "parse_rate"]

DEBT_CLASSES = ("sufficiency_debt", "latency_debt")

GateName = Literal["min-sufficient", "max-debts", "max-p95-ms", "max-unmeasured"]


class Gate(NamedTuple):
    """One bound. ``debt_class`` only for ``max-debts``."""

    name: GateName
    bound: Fraction
    debt_class: str | None = None


class GateVerdict(NamedTuple):
    """A gate with the value it was held against; None when there was nothing to measure."""

    name: str
    value: int | float | None
    bound: int | float
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
            "not a rate", field="--min-sufficient", expected="a number from 0 to 1", found=text
        )
    return rate


def check_gates(summary: dict[str, Any], gates: Sequence[Gate]) -> list[GateVerdict]:
    """Hold a summary against gates. What was not measured never passes a gate."""
    return [_check(summary, gate) for gate in gates]


def _check(summary: dict[str, Any], gate: Gate) -> GateVerdict:
    bound = _number(gate.bound)
    if gate.name == "min-sufficient":
        count = summary["task_count"]
        if not count:
            return GateVerdict(gate.name, None, bound, ok=False)
        rate = Fraction(summary["sufficiency_pass_count"], count)
        return GateVerdict(gate.name, round(float(rate), 6), bound, ok=rate >= gate.bound)
    if gate.name == "max-debts":
        field = {
            "sufficiency_debt": "sufficiency_fail_count",
            "latency_debt": "latency_fail_count",
        }[gate.debt_class or ""]
        count = summary[field]
        return GateVerdict(f"max-debts {gate.debt_class}", count, bound, ok=count <= gate.bound)
    if gate.name == "max-unmeasured":
        count = summary["latency_unmeasured_count"]
        return GateVerdict(gate.name, count, bound, ok=count <= gate.bound)
    p95_ms = summary["p95_wall_ms"]
    ok = p95_ms is not None and Fraction(p95_ms) <= gate.bound
    return GateVerdict(gate.name, p95_ms, bound, ok=ok)


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
