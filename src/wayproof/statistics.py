"""Counts, percentiles and means, exact where they can be."""

from collections.abc import Mapping
from fractions import Fraction

__all__ = ["exact_mean", "nearest_rank"]


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
