"""What a suite's record says, typed: the counts, their means, and the two axes crossed."""

from collections.abc import Mapping
from typing import Literal

import msgspec

__all__ = ["Matrix", "RouteTypeMetrics", "SuiteRecord", "SuiteSummary"]

Matrix = Mapping[str, Mapping[str, int]]
"""``{sufficient | failure kind: {latency status: count}}``."""


class RouteTypeMetrics(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts of the results of one route type.

    Attributes
    ----------
    task_count
        Results of the type.
    sufficiency_pass_count, sufficiency_fail_count
        How many pointed at the right things, and how many did not.
    latency_fail_count
        How many were late or timed out.
    vacuous_count
        How many could not fail, among those that passed.
    """

    task_count: int
    sufficiency_pass_count: int
    sufficiency_fail_count: int
    latency_fail_count: int
    vacuous_count: int | msgspec.UnsetType = msgspec.UNSET


class SuiteSummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Counts and means of a suite. Means are to 6 decimals, null without denominator.

    Attributes
    ----------
    task_count
        Results; a task with several attempts has several.
    distinct_task_count
        Tasks.
    sufficiency_pass_count, sufficiency_fail_count
        The first axis.
    failure_kind_counts
        The first failing rung of each insufficient result: all kinds, zeros too.
    latency_pass_count, latency_fail_count, latency_unmeasured_count
        The second axis; late and timed out are both failures, unmeasured is neither.
    p50_wall_ms, p95_wall_ms
        Nearest-rank percentiles of the measured times in milliseconds.
    first_contact_unknown_count
        Results whose first command nobody recorded.
    debt_candidate_count
        Debts, of both classes.
    mean_recall_at_packet, mean_precision_at_packet, mean_scent_coverage
        Means over tasks; attempts average within their task first.
    mean_recall_at_packet_denominator, mean_precision_at_packet_denominator
        Over how many tasks.
    mean_scent_coverage_denominator
        Over how many tasks.
    mean_sufficiency, mean_sufficiency_denominator
        Share of sufficient among the results that could fail, averaged likewise.
    vacuous_count
        Results that could not fail.
    """

    task_count: int
    distinct_task_count: int
    sufficiency_pass_count: int
    sufficiency_fail_count: int
    failure_kind_counts: Mapping[str, int]
    latency_pass_count: int
    latency_fail_count: int
    latency_unmeasured_count: int
    p50_wall_ms: float | int | None
    p95_wall_ms: float | int | None
    first_contact_unknown_count: int
    debt_candidate_count: int
    mean_recall_at_packet: float | int | None
    mean_recall_at_packet_denominator: int
    mean_precision_at_packet: float | int | None
    mean_precision_at_packet_denominator: int
    mean_scent_coverage: float | int | None
    mean_scent_coverage_denominator: int
    mean_sufficiency: float | int | msgspec.UnsetType | None = msgspec.UNSET
    mean_sufficiency_denominator: int | msgspec.UnsetType = msgspec.UNSET
    vacuous_count: int | msgspec.UnsetType = msgspec.UNSET


class SuiteRecord(msgspec.Struct, frozen=True, kw_only=True):
    """``summary.json`` of a fitness bundle.

    Attributes
    ----------
    schema_version
        Form of the record.
    status
        ``pass`` when at least one result was scored: the suite ran, not that tasks passed.
    suite
        The suite's name.
    limits
        What a pass means and doesn't.
    summary
        Counts and means.
    route_type_metrics
        Counts by route type.
    sufficiency_latency_matrix
        The two axes crossed.
    ignored_packet_count
        Packets without a task that were set aside.
    draft_task_count, draft_packet_count
        Unfilled drafts among the tasks that were set aside, and their packets.
    """

    schema_version: str
    status: Literal["pass", "fail"]
    suite: str
    limits: tuple[str, ...]
    summary: SuiteSummary
    route_type_metrics: Mapping[str, RouteTypeMetrics]
    sufficiency_latency_matrix: Matrix
    ignored_packet_count: int
    draft_task_count: int = 0
    draft_packet_count: int = 0
