"""Quantiles of times of which some are only known to be long, and their differences.

A task that timed out took longer than any time that was measured: it is *censored*, and
stands at the top. Whatever rank a quantile has, it is then either a measured time or known
to be beyond all of them; it is never guessed.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from wayproof.stats.numeric import numpy
from wayproof.stats.paired import Resamples, effective_number, expanded_tail

__all__ = ["Ends", "quantile_difference_ends", "quantile_of"]


class Ends(NamedTuple):
    """The ends of a difference of quantiles, new less base, in milliseconds.

    An end of ``-inf`` or ``inf`` is censored. ``largest`` and ``smallest`` are the
    outermost differences that were not: what a censored end is beyond.
    """

    low: float
    high: float
    smallest: float | None
    largest: float | None


def quantile_of(walls_ms: Sequence[float], percent: int) -> float | None:
    """Nearest-rank quantile; ``inf`` where it is censored, None of nothing."""
    if not walls_ms:
        return None
    ordered = sorted(walls_ms)
    return ordered[max(1, -(-percent * len(ordered) // 100)) - 1]


def quantile_difference_ends(
    base_ms: Sequence[float],
    new_ms: Sequence[float],
    clusters: Sequence[int],
    cluster_count: int,
    percents: Sequence[int],
) -> list[Ends | None]:
    """Bootstrap the difference of nearest-rank quantiles over whole clusters.

    Parameters
    ----------
    base_ms, new_ms
        Per task that is measured on both sides, its time; ``inf`` where censored.
    clusters
        Per such task the place of its cluster, 0 … ``cluster_count`` - 1.
    percents
        Which quantiles.

    Returns
    -------
    list
        Per quantile the ends of the expanded percentile interval, or None with fewer
        than two clusters. A resample in which both quantiles are censored has an unknown
        difference; it stands below all others for the low end and above for the high one.
    """
    np = numpy()
    sizes = np.bincount(np.array(clusters, dtype=np.intp), minlength=cluster_count)
    effective = effective_number([int(size) for size in sizes])
    if effective <= 1:
        return [None for _ in percents]
    sides = [_Side(np.array(walls, dtype=np.float64), clusters) for walls in (base_ms, new_ms)]
    drawn: list[list[float]] = [[] for _ in percents]
    for counts in Resamples(cluster_count):
        for row in counts:
            base, new = (side.quantiles(row, percents) for side in sides)
            if base is None or new is None:
                continue
            for into, before, after in zip(drawn, base, new, strict=True):
                into.append(after - before)
    tail = expanded_tail(effective)
    return [_ends(differences, tail) for differences in drawn]


class _Side:
    """One side's times in ascending order, to be read with weights."""

    def __init__(self, walls_ms: Any, clusters: Sequence[int]) -> None:
        np = numpy()
        order = np.argsort(walls_ms, kind="stable")
        self._ordered = walls_ms[order]
        self._clusters = np.array(clusters, dtype=np.intp)[order]

    def quantiles(self, counts: Any, percents: Sequence[int]) -> list[float] | None:
        """Return the quantiles where each task counts as often as its cluster was drawn."""
        reached = counts[self._clusters].cumsum()
        total = int(reached[-1])
        if not total:
            return None
        return [
            float(self._ordered[reached.searchsorted(max(1, -(-percent * total // 100)))])
            for percent in percents
        ]


def _ends(differences: list[float], tail: float) -> Ends | None:
    if not differences:
        return None
    lows = sorted(-math.inf if math.isnan(one) else one for one in differences)
    highs = sorted(math.inf if math.isnan(one) else one for one in differences)
    place = max(1, math.floor(len(differences) * tail))
    finite = [one for one in differences if math.isfinite(one)]
    return Ends(
        lows[place - 1],
        highs[-place],
        min(finite, default=None),
        max(finite, default=None),
    )
