"""A comparison as CSV: one row a result that changed, or whose debt stands."""

from collections.abc import Iterator
from typing import Any, Final

from wayproof.evidence.comparison_records import Comparison, RecoveryComparison
from wayproof.outputs.csv_rows import csv_lines

__all__ = ["comparison_csv"]

_FITNESS: Final = (
    "kind",
    "axis",
    "change",
    "task_id",
    "attempt",
    "family",
    "route_type",
    "before",
    "after",
    "reason",
)
_RECOVERY: Final = (
    "base_policy",
    "new_policy",
    "grid_id",
    "scenario_id",
    "policy_seed",
    "base_verified",
    "new_verified",
    "base_completed",
    "new_completed",
    "base_outcome",
    "new_outcome",
)


def comparison_csv(comparison: Comparison | RecoveryComparison) -> Iterator[str]:
    """Yield flips, then debts; of recovery bundles the discordant trials."""
    if isinstance(comparison, RecoveryComparison):
        yield from csv_lines(_RECOVERY, _trials(comparison))
    else:
        yield from csv_lines(_FITNESS, _changes(comparison))


def _changes(comparison: Comparison) -> Iterator[dict[str, Any]]:
    for axis in comparison.axes:
        for flip in axis.flips:
            yield {"kind": "flip", "axis": axis.axis, **flip.as_dict()}
    for queue in comparison.queues:
        for debt in queue.debts:
            yield {"kind": "debt", "axis": queue.queue, **debt.as_dict()}


def _trials(comparison: RecoveryComparison) -> Iterator[dict[str, Any]]:
    for policy in comparison.policies:
        for trial in policy.discordant:
            yield {
                "base_policy": policy.base_policy,
                "new_policy": policy.new_policy,
                **trial.as_dict(),
            }
