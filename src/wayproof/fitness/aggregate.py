"""From many judgements to one summary, in bounded memory and independent of order.

A :class:`Shape` is what the summary needs of one result, wall time apart. A
:class:`SuiteTotals` adds them up, task by task; totals of disjoint tasks add up too,
which is how several processes share one suite. Means are exact fractions until the last step.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Self

from wayproof.evidence.fitness_names import (
    FAILURE_KINDS,
    FIRST_SUITE_SCHEMA_VERSION,
    LATENCY_STATUSES,
    LIMITS,
    SUFFICIENT,
    SUITE_SCHEMA_VERSION,
    LatencyStatus,
)
from wayproof.fitness.judge import Judgement
from wayproof.fitness.ladder import failed_checks
from wayproof.fitness.task import Need
from wayproof.stats.intervals import exact_mean, nearest_rank

__all__ = [
    "LATENCY_CODES",
    "Percentile",
    "Shape",
    "SuiteTotals",
    "in_first_form",
    "percentile_of",
    "shape_of",
    "suite_record",
]


class Shape(NamedTuple):
    """What one result adds to the summary, wall time apart.

    Results of one shape are counted together. A plain tuple with the same items is equal
    to it, which lets unpacked records be counted as they are.
    """

    fact_mask: int
    latency_code: int
    """Index into ``LATENCY_STATUSES``."""
    first_contact_known: bool
    route_code: int
    """Index into the suite's route types."""
    found_count: int
    expected_count: int
    relevant_count: int
    selected_count: int
    found_term_count: int
    term_count: int
    vacuous: bool
    """Whether it could not fail."""


def shape_of(need: Need, found: Judgement, route_code: int) -> Shape:
    """Reduce a judgement to what the summary needs."""
    term_count = len(need.terms)
    # In the order of the fields: the class's own constructor takes three times as long.
    return _new_shape(
        Shape,
        (
            found.fact_mask,
            LATENCY_CODES[found.latency_status],
            found.first_contact_known,
            route_code,
            len(found.found),
            len(need.expected),
            found.relevant_count,
            len(found.selected),
            term_count - len(found.missing_terms),
            term_count,
            found.vacuous,
        ),
    )


_new_shape = tuple.__new__


LATENCY_CODES: dict[LatencyStatus, int] = {
    row.status: code for code, row in enumerate(LATENCY_STATUSES)
}
_IS_DEBT = [row.is_debt for row in LATENCY_STATUSES]


Percentile = Callable[[int], int | float | None]
"""Says which wall time stands at a percentile (nearest rank); None when none was measured."""


def percentile_of(walls_ms: Sequence[float]) -> Percentile:
    """Return the percentiles of wall times that are in memory."""
    ordered = sorted(walls_ms)

    def percentile(percent: int) -> int | float | None:
        return ordered[nearest_rank(len(ordered), percent) - 1] if ordered else None

    return percentile


Shares = Counter[tuple[int, int]]
"""How many tasks have each (part, whole)."""


class SuiteTotals:
    """Counts of a suite, added up task by task.

    Only plain counters: totals can be sent between processes and merged.

    Attributes
    ----------
    single
        Shapes of results that are their task's only one.
    repeated
        Shapes of results whose task has several attempts.
    repeated_task_count
        How many such tasks there are.
    repeated_means
        Recall, precision, scent and sufficiency of those tasks, averaged within each.
    """

    def __init__(self) -> None:
        self.single: Counter[Shape] = Counter()
        self.repeated: Counter[Shape] = Counter()
        self.repeated_task_count = 0
        self.repeated_means: list[Shares] = [Counter() for _ in _shares(self.repeated)]

    def add_task(self, attempts: Iterable[Shape]) -> None:
        """Add all attempts of one task; the means average within a task first."""
        shapes = Counter(attempts)
        if sum(shapes.values()) == 1:
            self.single.update(shapes)
            return
        self.repeated.update(shapes)
        self.repeated_task_count += 1
        for total, within in zip(self.repeated_means, _shares(shapes), strict=True):
            mean = exact_mean(within)
            if mean is not None:
                total[mean.numerator, mean.denominator] += 1

    def merge(self, other: "SuiteTotals") -> Self:
        """Add the totals of other tasks."""
        self.single.update(other.single)
        self.repeated.update(other.repeated)
        self.repeated_task_count += other.repeated_task_count
        for ours, theirs in zip(self.repeated_means, other.repeated_means, strict=True):
            ours.update(theirs)
        return self

    def _shapes(self) -> Iterator[tuple[Shape, int]]:
        for counted in (self.single, self.repeated):
            for shape, count in counted.items():
                yield Shape(*shape), count

    # -- readings ---------------------------------------------------------------------

    def summary(self, percentile: Percentile) -> dict[str, Any]:
        """Return the ``summary`` object of a suite result."""
        latency = [0] * len(LATENCY_STATUSES)
        kinds: Counter[str | None] = Counter()
        unknown_count = debt_count = vacuous_count = 0
        for shape, count in self._shapes():
            latency[shape.latency_code] += count
            kinds[_first_failure(shape)] += count
            vacuous_count += count * shape.vacuous
            unknown_count += 0 if shape.first_contact_known else count
            debt_count += count * (bool(shape.fact_mask) + _IS_DEBT[shape.latency_code])
        latency_counts = {row.status: n for row, n in zip(LATENCY_STATUSES, latency, strict=True)}
        recall, precision, scent, sufficiency = (
            once + averaged
            for once, averaged in zip(_shares(self.single), self.repeated_means, strict=True)
        )
        task_count = sum(latency)
        return {
            "task_count": task_count,
            "distinct_task_count": self.single.total() + self.repeated_task_count,
            "sufficiency_pass_count": kinds[None],
            "sufficiency_fail_count": task_count - kinds[None],
            "vacuous_count": vacuous_count,
            "failure_kind_counts": {kind: kinds[kind] for kind in FAILURE_KINDS},
            "latency_pass_count": latency_counts["pass"],
            "latency_fail_count": latency_counts["fail"] + latency_counts["timeout"],
            "latency_unmeasured_count": latency_counts["unmeasured"],
            "p50_wall_ms": percentile(50),
            "p95_wall_ms": percentile(95),
            "first_contact_unknown_count": unknown_count,
            "debt_candidate_count": debt_count,
            **_mean_fields("mean_recall_at_packet", recall),
            **_mean_fields("mean_precision_at_packet", precision),
            **_mean_fields("mean_scent_coverage", scent),
            **_mean_fields("mean_sufficiency", sufficiency, round_down=True),
        }

    def route_type_metrics(self, route_types: Sequence[str]) -> dict[str, dict[str, int]]:
        """Return counts per route type, types sorted; ``route_types`` gives codes their names."""
        metrics: dict[str, dict[str, int]] = {}
        for shape, count in self._shapes():
            row = metrics.setdefault(
                route_types[shape.route_code],
                {
                    "task_count": 0,
                    "sufficiency_pass_count": 0,
                    "sufficiency_fail_count": 0,
                    "vacuous_count": 0,
                    "latency_fail_count": 0,
                },
            )
            row["task_count"] += count
            row["sufficiency_fail_count" if shape.fact_mask else "sufficiency_pass_count"] += count
            row["vacuous_count"] += count * shape.vacuous
            row["latency_fail_count"] += count * _IS_DEBT[shape.latency_code]
        return dict(sorted(metrics.items()))

    def matrix(self) -> dict[str, dict[str, int]]:
        """Return the two axes crossed: ``{sufficient | failure kind: {latency status: n}}``."""
        columns: list[str] = [row.status for row in LATENCY_STATUSES]
        table = {row: dict.fromkeys(columns, 0) for row in (SUFFICIENT, *FAILURE_KINDS)}
        for shape, count in self._shapes():
            table[_first_failure(shape) or SUFFICIENT][columns[shape.latency_code]] += count
        return table


def _first_failure(shape: Shape) -> str | None:
    return next(iter(failed_checks(shape.fact_mask)), None)


def _shares(shapes: Counter[Shape]) -> tuple[Shares, Shares, Shares, Shares]:
    """Count recall, precision, scent and sufficiency shares, leaving vacuous ones out."""
    recall: Shares = Counter()
    precision: Shares = Counter()
    scent: Shares = Counter()
    sufficiency: Shares = Counter()
    for plain, count in shapes.items():
        shape = Shape(*plain)
        if shape.expected_count:
            recall[shape.found_count, shape.expected_count] += count
        if shape.selected_count:
            precision[shape.relevant_count, shape.selected_count] += count
        if shape.term_count:
            scent[shape.found_term_count, shape.term_count] += count
        if not shape.vacuous:
            sufficiency[int(not shape.fact_mask), 1] += count
    return recall, precision, scent, sufficiency


def _mean_fields(name: str, shares: Shares, *, round_down: bool = False) -> dict[str, Any]:
    """Write a mean down; one that a gate is held against is rounded down, never up to a bound."""
    mean = exact_mean(shares)
    if mean is not None and round_down:
        mean = Fraction(mean * 10**6 // 1, 10**6)
    return {
        name: None if mean is None else _rounded(mean, 6),
        f"{name}_denominator": sum(shares.values()),
    }


def _rounded(value: Fraction, digits: int) -> int | float:
    """Round an exact fraction once, half to even, and only then make it a float."""
    rounded = round(value, digits)
    return int(rounded) if rounded.denominator == 1 else float(rounded)


def suite_record(
    totals: SuiteTotals, percentile: Percentile, *, suite: str, route_types: Sequence[str]
) -> dict[str, Any]:
    """Return what every suite result says: everything but the per-task lists."""
    summary = totals.summary(percentile)
    return {
        "schema_version": SUITE_SCHEMA_VERSION,
        "status": "pass" if summary["task_count"] else "fail",
        "suite": suite,
        "limits": list(LIMITS),
        "summary": summary,
        "route_type_metrics": totals.route_type_metrics(route_types),
    }


def in_first_form(record: dict[str, Any]) -> dict[str, Any]:
    """Return a suite's record as ``wayproof.fitness/1`` had it, without what /2 added."""
    added = {"vacuous_count", "mean_sufficiency", "mean_sufficiency_denominator"}
    return {
        **record,
        "schema_version": FIRST_SUITE_SCHEMA_VERSION,
        "summary": {name: value for name, value in record["summary"].items() if name not in added},
        "route_type_metrics": {
            route_type: {name: count for name, count in row.items() if name not in added}
            for route_type, row in record["route_type_metrics"].items()
        },
    }
