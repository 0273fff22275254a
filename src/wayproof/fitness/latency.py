"""Latency: the second axis. It never touches sufficiency."""

from typing import Literal, NamedTuple

__all__ = ["LATENCY_STATUSES", "LatencyStatus", "StatusMeaning", "latency_status"]

LatencyStatus = Literal["pass", "fail", "timeout", "unmeasured"]


class StatusMeaning(NamedTuple):
    """A latency status, what it means, and whether it makes a latency debt."""

    status: LatencyStatus
    meaning: str
    is_debt: bool


LATENCY_STATUSES: tuple[StatusMeaning, ...] = (
    StatusMeaning("pass", "Wall time is within the budget.", is_debt=False),
    StatusMeaning("fail", "Wall time is over the budget.", is_debt=True),
    StatusMeaning("timeout", "The route was cut off, whatever its wall time.", is_debt=True),
    StatusMeaning(
        "unmeasured",
        "Nobody recorded a wall time. It makes no debt, stands outside pass and fail counts and "
        "percentiles, and is counted: unmeasured time never passes for fast.",
        is_debt=False,
    ),
)


def latency_status(wall_ms: float | None, timed_out: bool, latency_budget_ms: int) -> LatencyStatus:
    """Judge one packet's time: a timeout first, then whether it was measured, then the budget."""
    if timed_out:
        return "timeout"
    if wall_ms is None:
        return "unmeasured"
    return "pass" if wall_ms <= latency_budget_ms else "fail"
