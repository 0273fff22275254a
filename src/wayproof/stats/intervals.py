"""Counts, percentiles, means and intervals, exact where they can be.

Results are hashed, so nothing here depends on a machine's floating point: means are
rationals, and ends of intervals whole parts per million, rounded outward.

The unit of resampling is the *group* (a grid), never the single trial: trials of one
group are correlated. One index table, fixed by the number of groups, serves every
stratum, so that differences between strata are not differences between resamples.
"""

import struct
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final, NamedTuple

from wayproof.stats.seeded import stream

__all__ = [
    "MILLION",
    "RESAMPLES",
    "Interval",
    "agreement_lower_bound",
    "exact_mean",
    "index_table",
    "intervals_over_groups",
    "nearest_rank",
]

MILLION: Final = 1_000_000
RESAMPLES: Final = 2_000
_TAIL_RESAMPLES: Final = RESAMPLES // 40
"""2.5 % of the resamples lie beyond each end of a 95 % interval."""
_CACHED_TABLE_ENTRIES: Final = 1 << 20


def nearest_rank(count: int, percent: int) -> int:
    """Return the nearest-rank position (from 1) of a percentile among ``count`` values.

    ⌈percent/100 · count⌉, in integers; ``count`` must be at least 1.
    """
    return max(1, -(-percent * count // 100))


def exact_mean(shares: Mapping[tuple[int, int], int]) -> Fraction | None:
    """Average fractions given as ``{(part, whole): how many}``; None when there are none.

    Sums are exact rationals, so the mean doesn't depend on the order of its terms.
    """
    count = sum(shares.values())
    if count == 0:
        return None
    by_whole: dict[int, int] = {}
    for (part, whole), times in shares.items():
        by_whole[whole] = by_whole.get(whole, 0) + part * times
    return sum((Fraction(part, whole) for whole, part in by_whole.items()), Fraction(0)) / count


class Interval(NamedTuple):
    """A 95 % interval for a share, in parts per million.

    ``method`` is ``bootstrap``, or ``agreement`` where all groups agree and resampling
    them would show no spread at all.
    """

    low_ppm: int
    high_ppm: int
    method: str


def agreement_lower_bound(groups: int) -> int:
    """Lower end of the exact two-sided 95 % binomial interval for ``groups`` of ``groups``.

    The largest whole number of parts per million p with (p / 10^6)^groups <= 0.025
    (C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits",
    Biometrika 26 (1934) 404-413), found in integers. 50 of 50 groups: 928,878.
    """
    if groups < 1:
        return 0
    low, high = 0, MILLION
    ceiling = MILLION**groups
    while high - low > 1:
        middle = (low + high) // 2
        if 40 * middle**groups <= ceiling:
            low = middle
        else:
            high = middle
    return low


def index_table(groups: int) -> Iterator[Sequence[int]]:
    """Yield the rows of the resampling table: per resample, ``groups`` indices of groups.

    The table depends on the number of groups alone. It is made row by row, so that
    20,000 groups need no more memory than one row.
    """
    if groups * RESAMPLES <= _CACHED_TABLE_ENTRIES:
        yield from _small_table(groups)
    else:
        yield from _rows(groups)


@lru_cache(maxsize=8)
def _small_table(groups: int) -> tuple[Sequence[int], ...]:
    return tuple(_rows(groups))


def _rows(groups: int) -> Iterator[Sequence[int]]:
    draw = stream("wayproof.statistics.index-table/1", groups)
    for _ in range(RESAMPLES):
        yield draw.many_below(groups, groups)


def intervals_over_groups(
    hits: Sequence[Sequence[int]], cells: Sequence[Sequence[int]]
) -> list[Interval]:
    """Intervals for the share of hits among cells, per stratum.

    Parameters
    ----------
    hits, cells
        Per stratum, per group: how many cells hit, and how many cells there are. A group
        may have no cell in a stratum; all strata have the same groups.

    Returns
    -------
    list
        Per stratum the grouped percentile bootstrap interval (B. Efron and R. J.
        Tibshirani, "An introduction to the bootstrap", 1993, chapter 13): the 50th
        smallest and 50th largest of 2,000 resampled shares. Where all groups have the
        same share s, it is instead [s·L, s·L + 1 - L], L from
        :func:`agreement_lower_bound`: at most 1 - L of the population's groups may
        differ, in whichever direction. For s = 1 that is the exact binomial bound [L, 1].
    """
    agreed = [_agreement(*stratum) for stratum in zip(hits, cells, strict=True)]
    drawn = [at for at, interval in enumerate(agreed) if interval is None]
    columns = [*(hits[at] for at in drawn), *(cells[at] for at in drawn)]
    shares: list[list[tuple[int, int]]] = [[] for _ in drawn]
    for totals in _resampled_totals(columns):
        for at, share in enumerate(shares):
            if totals[len(drawn) + at]:
                share.append((totals[at], totals[len(drawn) + at]))
    bootstrapped = dict(zip(drawn, map(_percentiles, shares), strict=True))
    return [
        bootstrapped[at] if interval is None else interval for at, interval in enumerate(agreed)
    ]


def _agreement(hits: Sequence[int], cells: Sequence[int]) -> Interval | None:
    """Return the interval where all groups with cells have the same share, else None."""
    counted = [(hit, cell) for hit, cell in zip(hits, cells, strict=True) if cell]
    if not counted:
        return Interval(0, MILLION, "agreement")
    hit, cell = counted[0]
    if any(other_hit * cell != hit * other_cell for other_hit, other_cell in counted):
        return None
    bound = agreement_lower_bound(len(counted))
    low = hit * bound // cell
    high = -(-hit * bound // cell) + MILLION - bound
    return Interval(low, min(high, MILLION), "agreement")


def _percentiles(shares: list[tuple[int, int]]) -> Interval:
    lows = sorted(hit * MILLION // cell for hit, cell in shares)
    highs = sorted(-(-hit * MILLION // cell) for hit, cell in shares)
    tail = min(_TAIL_RESAMPLES - 1, (len(shares) - 1) // 2)
    return Interval(lows[tail], highs[-1 - tail], "bootstrap")


def _resampled_totals(columns: Sequence[Sequence[int]]) -> Iterator[Sequence[int]]:
    """Yield per resample the sum of each column over the drawn groups.

    Each group's numbers are packed into one wide integer, eight bytes a column, so that
    one addition sums all columns at once (no carry: a sum stays far below 2^63).
    """
    if not columns:
        return
    layout = struct.Struct(f"<{len(columns)}q")
    packed = [int.from_bytes(layout.pack(*row), "little") for row in zip(*columns, strict=True)]
    for row in index_table(len(packed)):
        yield layout.unpack(sum(map(packed.__getitem__, row)).to_bytes(layout.size, "little"))
