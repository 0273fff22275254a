"""Gates of a comparison: no new debts, and no drop beyond a bound."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Final, Literal, NamedTuple

import msgspec

from wayproof.errors import InputError
from wayproof.evidence.comparison_records import (
    Comparison,
    GateLine,
    GateState,
    MeasureChange,
    PolicyComparison,
    RecoveryComparison,
)
from wayproof.text import exact_number

__all__ = ["FAIL_ON", "ComparisonGates", "Drop", "comparison_gates", "parse_drop"]

FAIL_ON: Final = ("new-sufficiency-debt", "new-latency-debt")
VERIFIED: Final = "verified"


class Drop(NamedTuple):
    """How far a measure may get worse; ``shown`` is how the user wrote the bound."""

    measure: str
    bound: Fraction
    shown: str


class ComparisonGates(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison is held against.

    Attributes
    ----------
    fail_on
        Names of :data:`FAIL_ON`.
    max_drop
        Bounds on measures.
    undecided
        What an undecided gate counts as.
    """

    fail_on: tuple[str, ...] = ()
    max_drop: tuple[Drop, ...] = ()
    undecided: Literal["pass", "fail"] = "pass"


def parse_drop(text: str) -> Drop:
    """Read ``MEASURE=BOUND``: ``recall=0.02``, ``R@20=2%``, ``censored_p95=50`` (ms)."""
    measure, equals, bound = text.rpartition("=")
    value = exact_number(bound.removesuffix("%"))
    if not equals or not measure or value is None or value < 0:
        raise InputError(
            "not a bound on a drop",
            setting="max_drop",
            expected="MEASURE=BOUND, such as recall=0.02",
            found=text or '""',
        )
    return Drop(measure, value / 100 if bound.endswith("%") else value, bound)


def comparison_gates(
    comparison: Comparison | RecoveryComparison, gates: ComparisonGates
) -> list[GateLine]:
    """Hold a comparison against gates, in the order in which they were asked for.

    Raises
    ------
    InputError
        For a measure that the comparison doesn't have, or debts of recovery bundles.
    """
    lines = [_new_debts(comparison, name) for name in gates.fail_on]
    lines += [line for drop in gates.max_drop for line in _drops(comparison, drop)]
    return [_counted(line, gates.undecided) for line in lines]


def _counted(line: GateLine, undecided: str) -> GateLine:
    """Say on the line of an undecided gate what it counts as."""
    if line.state != "undecided":
        return line
    told = f"gate undecided (counts as {undecided}):{line.line.partition(':')[2]}"
    return msgspec.structs.replace(line, line=told)


def _line(
    name: str, state: GateState, value: float | str | None, bound: str, told: str
) -> GateLine:
    word = {"pass": "pass", "fail": "FAIL", "undecided": "undecided"}[state]
    return GateLine(
        bound=bound,
        line=f"gate {word}: {name}: {told} (bound: {bound})",
        name=name,
        state=state,
        value=value,
    )


def _new_debts(comparison: Comparison | RecoveryComparison, name: str) -> GateLine:
    if name not in FAIL_ON:
        raise InputError(
            "not something to fail on",
            setting="fail_on",
            expected=", ".join(FAIL_ON),
            found=name,
        )
    if isinstance(comparison, RecoveryComparison):
        raise InputError(
            "bundles of verified recovery have no debts",
            setting="fail_on",
            expected=f"a bound on {VERIFIED}",
            found=name,
        )
    kind = name.split("-")[1]
    queue = next(one for one in comparison.queues if one.queue == kind)
    axis = next(one for one in comparison.axes if one.axis == kind)
    unmeasured = comparison.new.result_count - axis.measured_new
    told = f"{queue.new} new, {axis.measured_new} measured, {unmeasured} not"
    state: GateState = "pass"
    if queue.new or not axis.measured_new:
        state = "fail"
    elif kind == "latency" and axis.lost:
        state = "undecided"
        told += f"; NEW lost {axis.lost} measurements"
    return _line(f"fail-on {name}", state, queue.new, "no new debt", told)


def _drops(comparison: Comparison | RecoveryComparison, drop: Drop) -> Sequence[GateLine]:
    if isinstance(comparison, RecoveryComparison):
        if drop.measure != VERIFIED:
            raise _unknown_measure(drop.measure, [VERIFIED])
        return [_policy_drop(one, drop) for one in comparison.policies]
    row = next((one for one in comparison.measures if one.name == drop.measure), None)
    if row is None:
        if drop.measure in comparison.settings["measures"]:
            told = "no task has a value on both sides"
            return [_line(f"max-drop {drop.measure}", "fail", None, f"<= {drop.shown}", told)]
        raise _unknown_measure(drop.measure, comparison.settings["measures"])
    return [_measure_drop(row, drop)]


def _unknown_measure(name: str, known: Sequence[str]) -> InputError:
    return InputError(
        "a gate on a measure that was not compared",
        setting="max_drop",
        expected=", ".join(known),
        found=name,
        mend="name it in {measures}",
    )


def _measure_drop(row: MeasureChange, drop: Drop) -> GateLine:
    is_time = row.direction == "lower"
    name = f"max-drop {row.name}"
    unit = " ms" if is_time else ""
    bound = f"{'rise' if is_time else 'drop'} <= {drop.shown}{unit}"
    if not row.pairs:
        return _line(name, "fail", None, bound, "no usable pair")
    state = _state(row, float(drop.bound), is_time=is_time)
    told = f"{_signed(row.difference)}{unit} {_interval(row)} over {row.pairs} pairs"
    lost = row.left_out.get("lost in NEW", 0)
    if is_time and lost and state == "pass":
        state = "undecided"
        told += f"; NEW lost {lost} measurements"
    if state == "undecided":
        told += _could_have_shown(row.detectable)
    return _line(name, state, row.difference, bound, told)


def _could_have_shown(detectable: float | None) -> str:
    if detectable is None:
        return "; how small a difference it could show is not known"
    return f"; a difference of {detectable:.4f} would have shown"


def _state(row: MeasureChange, bound: float, *, is_time: bool) -> GateState:
    if row.better == row.worse == 0:
        return "pass"
    if is_time:
        if row.low_censored == "above" or (row.low is not None and row.low > bound):
            return "fail"
        within = row.high_censored == "below" or (row.high is not None and row.high <= bound)
    else:
        if row.high is not None and row.high < -bound:
            return "fail"
        within = row.low is not None and row.low >= -bound
    return "pass" if within else "undecided"


def _signed(value: float | None) -> str:
    return "an unknown difference" if value is None else f"{value:+.4f}"


def _interval(row: MeasureChange) -> str:
    if row.low is None and row.low_censored is None:
        return "without interval"
    low = _end(row.low, row.low_censored, row.low_beyond)
    return f"[{low}, {_end(row.high, row.high_censored, row.high_beyond)}]"


def _end(end: float | None, censored: str | None, beyond: float | None) -> str:
    if censored is None:
        return f"{end:.4f}"
    sign = ">" if censored == "above" else "<"
    return sign if beyond is None else f"{sign}{beyond:.4f}"


def _policy_drop(policy: PolicyComparison, drop: Drop) -> GateLine:
    name = f"max-drop {VERIFIED} {policy.new_policy}"
    bound = f"drop <= {drop.shown}"
    if not policy.cells:
        return _line(name, "fail", None, bound, "no usable pair")
    state: GateState = "undecided"
    if not policy.discordant:
        state = "pass"
    elif policy.low is not None and policy.high is not None:
        if policy.high < -float(drop.bound):
            state = "fail"
        elif policy.low >= -float(drop.bound):
            state = "pass"
    ends = "without interval" if policy.low is None else f"[{policy.low:.4f}, {policy.high:.4f}]"
    told = f"{policy.difference:+.4f} {ends} over {policy.grids} grids"
    if state == "undecided":
        told += _could_have_shown(policy.detectable)
    return _line(name, state, policy.difference, bound, told)
