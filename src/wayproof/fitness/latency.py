"""Latency: the second axis. It never touches sufficiency."""

from wayproof.evidence.fitness_names import LatencyStatus

__all__ = ["latency_status"]


def latency_status(wall_ms: float | None, timed_out: bool, latency_budget_ms: int) -> LatencyStatus:
    """Judge one packet's time: a timeout first, then whether it was measured, then the budget."""
    if timed_out:
        return "timeout"
    if wall_ms is None:
        return "unmeasured"
    return "pass" if wall_ms <= latency_budget_ms else "fail"
