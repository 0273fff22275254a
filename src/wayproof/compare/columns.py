"""One measure's values over all pairs, and what follows from them."""

import math
import operator
from array import array
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal, NamedTuple

import msgspec

from wayproof.compare.units import Clusters
from wayproof.evidence.comparison_records import MeasureChange, Verdict
from wayproof.measures.values import Asked, Attempts, passes
from wayproof.stats.censored import Ends, quantile_difference_ends, quantile_of
from wayproof.stats.exact_tests import holm
from wayproof.stats.numeric import EXTRA, has_numeric
from wayproof.stats.paired import (
    ALPHA,
    LEAST_CLUSTERS,
    UNIT,
    Paired,
    SignFlip,
    bootstrap_intervals,
    detectable_difference,
    effective_number,
    needed_for,
    share_sign_flip,
    sign_flip,
)

__all__ = ["Column", "compared_measures", "judge", "rounded"]

_MOST_COMMON_ATTEMPTS = 1 << 20
_DIGITS = 12
_TOP = 2.0**42
"""Where a censored time stands when pairs are counted as better or worse, in milliseconds."""


class Column:
    """The pairs of one measure: values of both sides, and which task they belong to.

    Attributes
    ----------
    places
        Which compared tasks have a value on both sides; what follows is of these alone.
    base, new
        The values of either side.
    moved
        Their difference as a whole number of units, microseconds for times.
    counts
        Of the share: passes and results of BASE, then of NEW.
    left_out, lost
        How many tasks have no value on both sides, and how many on BASE alone.
    """

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.counts: list[array[int]] = [array("q") for _ in range(4)]
        # Every compared task's values; not a number where it has none.
        self._was = array("d")
        self._now = array("d")
        # Microseconds for times, else units of 2^-40.
        self._unit = 1000 if asked.kind == "quantile" else UNIT

    def add(self, before: Attempts, after: Attempts) -> None:
        """Take the next task that both sides have; one object is the same results on both."""
        if self.asked.kind == "share":
            self._add_share(before, after)
            return
        value = self.asked.value
        was = value(before)
        if was is None:
            was = math.nan
        self._was.append(was)
        if after is not before:
            now = value(after)
            was = math.nan if now is None else now
        self._now.append(was)

    def _add_share(self, before: Attempts, after: Attempts) -> None:
        """Leave a pair that is vacuous on either side out of the share, both of its results."""
        was, now = _able_passes(before, after)
        if not was[1] or not now[1]:
            self._was.append(math.nan)
            self._now.append(math.nan)
            return
        for into, count in zip(self.counts, (*was, *now), strict=True):
            into.append(count)
        self._was.append(was[0] / was[1])
        self._now.append(now[0] / now[1])

    @cached_property
    def places(self) -> Sequence[int]:
        """Which compared tasks have a value on both sides."""
        # A sum with one that is not a number is none; times are never -inf.
        missing = map(math.isnan, map(operator.add, self._was, self._now))
        return array("q", [at for at, is_missing in enumerate(missing) if not is_missing])

    @cached_property
    def base(self) -> Sequence[float]:
        """BASE's values."""
        return self._kept(self._was)

    @cached_property
    def new(self) -> Sequence[float]:
        """NEW's values."""
        return self._kept(self._now)

    def _kept(self, values: "array[float]") -> Sequence[float]:
        if len(self.places) == len(values):
            return values
        return array("d", map(values.__getitem__, self.places))

    @cached_property
    def moved(self) -> Sequence[int]:
        """NEW's values less BASE's, in whole units; a censored time stands at the top."""
        unit = self._unit
        return array(
            "q",
            [
                0 if was == now else round(min(now, _TOP) * unit) - round(min(was, _TOP) * unit)
                for was, now in zip(self.base, self.new, strict=True)
            ],
        )

    @property
    def left_out(self) -> int:
        """How many tasks have no value on both sides."""
        return len(self._was) - len(self.places)

    @property
    def lost(self) -> int:
        """How many tasks have a value in BASE alone."""
        both = zip(self._was, self._now, strict=True)
        return sum(math.isnan(now) and not math.isnan(was) for was, now in both)

    def paired(self, clusters: Clusters) -> Paired:
        """Add the differences up within clusters."""
        sums, sizes = [0] * clusters.cluster_count, [0] * clusters.cluster_count
        codes = clusters.codes
        for place, moved in zip(self.places, self.moved, strict=True):
            code = codes[place]
            sums[code] += moved
            sizes[code] += 1
        return Paired(sums, sizes)

    def share_sums(self, clusters: Clusters) -> list[int] | None:
        """Return the clusters' exact whole-number sums; None where no small unit fits all."""
        common = math.lcm(*set(self.counts[1]), *set(self.counts[3]))
        if common > _MOST_COMMON_ATTEMPTS:
            return None
        sums = [0] * clusters.cluster_count
        for place, was, of_was, now, of_now in zip(self.places, *self.counts, strict=True):
            sums[clusters.codes[place]] += now * (common // of_now) - was * (common // of_was)
        return sums


def _able_passes(before: Attempts, after: Attempts) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return passes and results of either side, without pairs that could not fail."""
    if after is before:
        counts = before.passes()
        return counts, counts
    was, now = before.passes(), after.passes()
    if was[1] == len(before.rows) and now[1] == len(after.rows):
        return was, now
    vacuous = {row.attempt for row in (*before.rows, *after.rows) if row.state == "vacuous"}
    was, now = (
        passes([row for row in side.rows if row.attempt not in vacuous]) for side in (before, after)
    )
    return was, now


def rounded(value: float | None) -> float | None:
    """Round to 12 decimals; what is infinite has no number."""
    if value is None or not math.isfinite(value):
        return None
    result = round(value, _DIGITS)
    return result or 0.0  # never -0.0


class _Test(NamedTuple):
    """What was computed of one measure of means."""

    paired: Paired
    flip: SignFlip | None


def compared_measures(
    columns: Sequence[Column],
    clusters: Clusters,
    *,
    missing: tuple[int, int],
    needed: float | None,
) -> list[MeasureChange]:
    """Turn the pairs of every measure into its row, p-values adjusted over all of them."""
    numeric = has_numeric()
    tests = {
        column.asked.name: _test(column, clusters)
        for column in columns
        if column.asked.kind != "quantile"
    }
    enough = clusters.cluster_count >= LEAST_CLUSTERS
    intervals: dict[str, Any] = {}
    if numeric and enough:
        drawn = bootstrap_intervals([test.paired for test in tests.values()])
        intervals = dict(zip(tests, drawn, strict=True))
    with_p = [name for name, test in tests.items() if enough and test.flip is not None]
    p_values = [test.flip.p for name in with_p if (test := tests[name]).flip is not None]
    adjusted = dict(zip(with_p, holm(p_values), strict=True))
    ends = _quantile_ends(columns, clusters) if numeric and enough else {}
    rows = []
    for column in columns:
        name = column.asked.name
        if column.asked.kind == "quantile":
            row = _quantile_row(column, clusters, ends.get(name))
        else:
            row = _mean_row(column, tests[name], intervals.get(name), adjusted.get(name), needed)
        if column.asked.ranked:
            row = msgspec.structs.replace(row, missing_base=missing[0], missing_new=missing[1])
        verdict, why = judge(row)
        rows.append(msgspec.structs.replace(row, verdict=verdict, why=why))
    return rows


def _test(column: Column, clusters: Clusters) -> _Test:
    paired = column.paired(clusters)
    if not paired.pairs:
        return _Test(paired, None)
    if column.asked.kind == "share":
        sums = column.share_sums(clusters)
        if sums is not None:
            return _Test(paired, share_sign_flip(sums))
    return _Test(paired, sign_flip(paired))


def _row(column: Column) -> MeasureChange:
    is_time = column.asked.kind == "quantile"
    rises = sum(one > 0 for one in column.moved)
    falls = sum(one < 0 for one in column.moved)
    return MeasureChange(
        base=None,
        base_censored=False,
        better=falls if is_time else rises,
        clusters=0,
        detectable=None,
        difference=None,
        direction="lower" if is_time else "higher",
        effective=0.0,
        equal=len(column.moved) - rises - falls,
        high=None,
        high_beyond=None,
        high_censored=None,
        left_out={column.asked.without: column.left_out} if column.left_out else {},
        low=None,
        low_beyond=None,
        low_censored=None,
        missing_base=0,
        missing_new=0,
        name=column.asked.name,
        needed_clusters=None,
        needed_tasks=None,
        new=None,
        new_censored=False,
        p=None,
        p_adjusted=None,
        p_method=None,
        pairs=len(column.places),
        verdict="unmeasured",
        why="",
        worse=rises if is_time else falls,
    )


def _mean_row(
    column: Column,
    test: _Test,
    interval: Any,
    adjusted: float | None,
    needed: float | None,
) -> MeasureChange:
    row = _row(column)
    if not row.pairs:
        return row
    base, new = (math.fsum(side) / row.pairs for side in (column.base, column.new))
    paired, flip = test
    more = needed_for(paired, needed) if needed is not None and has_numeric() else None
    return msgspec.structs.replace(
        row,
        base=rounded(base),
        new=rounded(new),
        difference=rounded(float(Fraction(sum(paired.sums), row.pairs) / (1 << 40))),
        clusters=paired.clusters,
        effective=round(effective_number(paired.sizes), 6),
        low=None if interval is None else rounded(interval.low),
        high=None if interval is None else rounded(interval.high),
        p=None if flip is None else _shown_p(float(flip.p)),
        p_adjusted=None if adjusted is None else _shown_p(adjusted),
        p_method=None if flip is None else flip.method,
        detectable=rounded(detectable_difference(paired)) if has_numeric() else None,
        needed_tasks=None if more is None else more.tasks,
        needed_clusters=None if more is None else more.clusters,
    )


def _shown_p(p: float) -> float:
    return float(f"{p:.6g}")


def _quantile_ends(columns: Sequence[Column], clusters: Clusters) -> dict[str, Ends | None]:
    """Bootstrap all quantiles at once: they have the same pairs."""
    asked = [column for column in columns if column.asked.kind == "quantile"]
    if not asked or not asked[0].places:
        return {}
    first = asked[0]
    found = quantile_difference_ends(
        first.base,
        first.new,
        [clusters.codes[place] for place in first.places],
        clusters.cluster_count,
        [column.asked.percent for column in asked],
    )
    return {column.asked.name: ends for column, ends in zip(asked, found, strict=True)}


def _quantile_row(column: Column, clusters: Clusters, ends: Ends | None) -> MeasureChange:
    row = _row(column)
    base = quantile_of(column.base, column.asked.percent)
    new = quantile_of(column.new, column.asked.percent)
    if base is None or new is None:
        return row
    sizes = [0] * clusters.cluster_count
    for place in column.places:
        sizes[clusters.codes[place]] += 1
    row = msgspec.structs.replace(
        row,
        base=rounded(base),
        base_censored=math.isinf(base),
        new=rounded(new),
        new_censored=math.isinf(new),
        difference=None if math.isnan(new - base) else rounded(new - base),
        clusters=sum(size > 0 for size in sizes),
        effective=round(effective_number(sizes), 6),
        left_out={**row.left_out, **({"lost in NEW": column.lost} if column.lost else {})},
    )
    if ends is None:
        return row
    return msgspec.structs.replace(
        row,
        low=rounded(ends.low),
        low_censored=_beyond(ends.low),
        low_beyond=ends.smallest if ends.low == -math.inf else ends.largest,
        high=rounded(ends.high),
        high_censored=_beyond(ends.high),
        high_beyond=ends.largest if ends.high == math.inf else ends.smallest,
    )


def judge(row: MeasureChange) -> tuple[Verdict, str]:  # noqa: PLR0911 - one return a rule
    """Say whether a measure got better or worse, and why."""
    if not row.pairs:
        return "unmeasured", "no task has a value on both sides"
    if row.better == row.worse == 0:
        return "no_task_changed", "no task changed"
    if row.clusters < LEAST_CLUSTERS:
        return "too_few", f"{row.clusters} clusters; a verdict needs at least {LEAST_CLUSTERS}"
    is_time = row.direction == "lower"
    side = _side(row)
    if row.low is None and not row.low_censored:
        return "undecided", f"no interval without the extra {EXTRA}"
    if side is None:
        return "undecided", "the interval holds 0"
    if not is_time:
        if row.p_adjusted is None:
            return "undecided", f"no test without the extra {EXTRA}"
        if row.p_adjusted > ALPHA:
            return "undecided", "p is above .05 after adjusting for the measures asked for"
    return ("better" if (side > 0) != is_time else "worse"), "the interval excludes 0"


def _side(row: MeasureChange) -> int | None:
    """Return on which side of 0 the whole interval lies; None when it holds 0."""
    if row.low_censored == "above" or (row.low is not None and row.low > 0):
        return 1
    if row.high_censored == "below" or (row.high is not None and row.high < 0):
        return -1
    return None


def _beyond(end: float) -> Literal["below", "above"] | None:
    if math.isfinite(end):
        return None
    return "below" if end < 0 else "above"
