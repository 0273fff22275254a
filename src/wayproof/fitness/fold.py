"""From many judgements to one summary, in bounded memory and independent of order.

A :class:`Tally` is what the summary needs of one result. A :class:`SuiteFold` adds them
up, task by task; folds of disjoint tasks add up too, which is how several processes
share one suite. Means are exact fractions until the last step.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Self

from wayproof.fitness.judge import Judgement
from wayproof.fitness.ladder import FAILURE_KINDS, failed_checks
from wayproof.fitness.latency import LatencyStatus
from wayproof.fitness.task import Need
from wayproof.statistics import exact_mean, nearest_rank

__all__ = [
    "LIMITS",
    "SCHEMA_VERSION",
    "Percentile",
    "SuiteFold",
    "Tally",
    "percentile_of",
    "suite_record",
    "tally_of",
]

SCHEMA_VERSION = "wayproof.fitness/1"

LIMITS: tuple[str, ...] = (
    "An evaluator of captured packets, not a live route run: nothing was called or generated.",
    "Not an embedding benchmark: stable ids are compared, similarity is not.",
    "Not a universal navigation benchmark: it speaks of these tasks and these packets only.",
    "A pass means that these packets met these tasks' expectations; it gives no release authority.",
    "It admits no component and unblocks no owner.",
    "Unmeasured time and unknown first commands are counted, never taken for good.",
)


class Tally(NamedTuple):
    """What one result adds to the summary."""

    fact_mask: int
    latency_status: LatencyStatus
    wall_ms: int | float | None
    found_count: int
    expected_count: int
    relevant_count: int
    selected_count: int
    found_term_count: int
    term_count: int
    first_contact_known: bool
    route_type: str


def tally_of(need: Need, found: Judgement) -> Tally:
    """Reduce a judgement to what the summary needs."""
    term_count = len(need.terms)
    return Tally(
        found.fact_mask,
        found.latency_status,
        found.wall_ms,
        len(found.found),
        len(need.expected),
        found.relevant_count,
        len(found.selected),
        term_count - len(found.missing_terms),
        term_count,
        found.first_contact_known,
        need.route_type,
    )


Percentile = Callable[[int], int | float | None]
"""Says which wall time stands at a percentile (nearest rank); None when none was measured."""


def percentile_of(walls_ms: Sequence[float]) -> Percentile:
    """Return the percentiles of wall times that are in memory."""
    ordered = sorted(walls_ms)

    def percentile(percent: int) -> int | float | None:
        return ordered[nearest_rank(len(ordered), percent) - 1] if ordered else None

    return percentile


class SuiteFold:
    """Counts of a suite, added up task by task.

    Only plain counters: a fold can be sent between processes and merged.
    """

    def __init__(self) -> None:
        self.distinct_task_count = 0
        # (fact mask, latency status, first contact known, route type) -> results
        self.cells: Counter[tuple[int, LatencyStatus, bool, str]] = Counter()
        # (part, whole) -> tasks, one counter a metric
        self.recall: Counter[tuple[int, int]] = Counter()
        self.precision: Counter[tuple[int, int]] = Counter()
        self.scent: Counter[tuple[int, int]] = Counter()

    def add_task(self, attempts: Iterable[Tally]) -> None:
        """Add all attempts of one task; the means average within a task first."""
        self.distinct_task_count += 1
        rest = iter(attempts)
        first, second = next(rest), next(rest, None)
        if second is None:
            self._count(first)
            _count_shares(first, self.recall, self.precision, self.scent)
            return
        recall: Counter[tuple[int, int]] = Counter()
        precision: Counter[tuple[int, int]] = Counter()
        scent: Counter[tuple[int, int]] = Counter()
        for tally in itertools.chain((first, second), rest):
            self._count(tally)
            _count_shares(tally, recall, precision, scent)
        for total, within in (
            (self.recall, recall),
            (self.precision, precision),
            (self.scent, scent),
        ):
            mean = exact_mean(within)
            if mean is not None:
                total[mean.numerator, mean.denominator] += 1

    def _count(self, tally: Tally) -> None:
        self.cells[
            tally.fact_mask, tally.latency_status, tally.first_contact_known, tally.route_type
        ] += 1

    def merge(self, other: "SuiteFold") -> Self:
        """Add another fold, of other tasks."""
        self.distinct_task_count += other.distinct_task_count
        self.cells.update(other.cells)
        self.recall.update(other.recall)
        self.precision.update(other.precision)
        self.scent.update(other.scent)
        return self

    # -- readings ---------------------------------------------------------------------

    def summary(self, percentile: Percentile) -> dict[str, Any]:
        """Return the ``summary`` object of a suite result."""
        latency: Counter[str] = Counter()
        kinds: Counter[str | None] = Counter()
        unknown_count = debt_count = 0
        for (mask, status, known, _), count in self.cells.items():
            latency[status] += count
            kind = next(iter(failed_checks(mask)), None)
            kinds[kind] += count
            unknown_count += 0 if known else count
            debt_count += count * ((kind is not None) + (status in {"fail", "timeout"}))
        task_count = sum(self.cells.values())
        return {
            "task_count": task_count,
            "distinct_task_count": self.distinct_task_count,
            "sufficiency_pass_count": kinds[None],
            "sufficiency_fail_count": task_count - kinds[None],
            "failure_kind_counts": {kind: kinds[kind] for kind in FAILURE_KINDS},
            "latency_pass_count": latency["pass"],
            "latency_fail_count": latency["fail"] + latency["timeout"],
            "latency_unmeasured_count": latency["unmeasured"],
            "p50_wall_ms": percentile(50),
            "p95_wall_ms": percentile(95),
            "first_contact_unknown_count": unknown_count,
            "debt_candidate_count": debt_count,
            **_mean_fields("mean_recall_at_packet", self.recall),
            **_mean_fields("mean_precision_at_packet", self.precision),
            **_mean_fields("mean_scent_coverage", self.scent),
        }

    def route_type_metrics(self) -> dict[str, dict[str, int]]:
        """Return counts per route type, types sorted."""
        metrics: dict[str, dict[str, int]] = {}
        for (mask, status, _, route_type), count in self.cells.items():
            row = metrics.setdefault(
                route_type,
                {
                    "task_count": 0,
                    "sufficiency_pass_count": 0,
                    "sufficiency_fail_count": 0,
                    "latency_fail_count": 0,
                },
            )
            row["task_count"] += count
            row["sufficiency_fail_count" if mask else "sufficiency_pass_count"] += count
            row["latency_fail_count"] += count * (status in {"fail", "timeout"})
        return dict(sorted(metrics.items()))

    def matrix(self) -> dict[str, dict[str, int]]:
        """Return the two axes crossed: ``{sufficient | failure kind: {latency status: n}}``."""
        table = {
            row: dict.fromkeys(("pass", "fail", "timeout", "unmeasured"), 0)
            for row in ("sufficient", *FAILURE_KINDS)
        }
        for (mask, status, _, _), count in self.cells.items():
            table[next(iter(failed_checks(mask)), "sufficient")][status] += count
        return table


def _count_shares(
    tally: Tally,
    recall: Counter[tuple[int, int]],
    precision: Counter[tuple[int, int]],
    scent: Counter[tuple[int, int]],
) -> None:
    """Count one result's shares, leaving vacuous ones out."""
    if tally.expected_count:
        recall[tally.found_count, tally.expected_count] += 1
    if tally.selected_count:
        precision[tally.relevant_count, tally.selected_count] += 1
    if tally.term_count:
        scent[tally.found_term_count, tally.term_count] += 1


def _mean_fields(name: str, shares: Counter[tuple[int, int]]) -> dict[str, Any]:
    mean = exact_mean(shares)
    return {
        name: None if mean is None else _rounded(mean, 6),
        f"{name}_denominator": sum(shares.values()),
    }


def _rounded(value: Fraction, digits: int) -> int | float:
    """Round an exact fraction once, half to even, and only then make it a float."""
    rounded = round(value, digits)
    return int(rounded) if rounded.denominator == 1 else float(rounded)


def suite_record(fold: SuiteFold, percentile: Percentile, *, suite: str) -> dict[str, Any]:
    """Return what every suite result says: everything but the per-task lists."""
    summary = fold.summary(percentile)
    return {
        "schema_version": SCHEMA_VERSION,
        "status": "pass" if summary["task_count"] else "fail",
        "suite": suite,
        "limits": list(LIMITS),
        "summary": summary,
        "route_type_metrics": fold.route_type_metrics(),
    }
