"""Paired differences of means over clusters: test, interval, detectable difference.

The unit is a *cluster* of tasks, never the single task where tasks are alike: whole
clusters change sign and are drawn again. Per cluster two whole numbers are known: how many
tasks have a difference (its size), and the sum of their differences in units of 2^-40.
Sums of whole numbers don't depend on their order, so neither do the results.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final, NamedTuple

from wayproof.stats.exact_tests import enumerated_sign_flip, exact_sign_flip
from wayproof.stats.numeric import has_numeric, numpy, special, u64_at
from wayproof.stats.seeded import stream_seed

__all__ = [
    "ALPHA",
    "DRAWS",
    "LEAST_CLUSTERS",
    "MOST_RESAMPLES",
    "POWER",
    "RESAMPLES",
    "UNIT",
    "Interval",
    "Needed",
    "Paired",
    "Resamples",
    "SignFlip",
    "bootstrap_intervals",
    "detectable_difference",
    "effective_number",
    "expanded_tail",
    "in_units",
    "needed_for",
    "resamples_for",
    "share_sign_flip",
    "sign_flip",
    "standard_error",
]

UNIT: Final = 1 << 40
"""Differences are whole multiples of 1 / UNIT (about 10^-12)."""
ALPHA: Final = 0.05
POWER: Final = 0.80
RESAMPLES: Final = 2_000
"""Fewest resamples of an interval."""
MOST_RESAMPLES: Final = 20_000
"""Most of them: with few clusters the ends lie far out, and 2,000 would leave them to chance."""
DRAWS: Final = 9_999
"""Seeded assignments of signs where there are too many to look at all of them."""
LEAST_CLUSTERS: Final = 6
"""With fewer no p can reach .05: 2 / 2^5 is .0625."""

_BLOCK_ENTRIES: Final = 1 << 21
_DRAWN_ENTRIES: Final = 1 << 17
_MOST_DRAWS: Final = 1 << 22
_SIGN_FLIP: Final = "wayproof.compare.sign-flip/1"
_BOOTSTRAP: Final = "wayproof.compare.bootstrap/1"
_MOST_FLOAT_STEPS: Final = 1 << 31


def in_units(value: float) -> int:
    """Return a value as the nearest whole number of units of 2^-40."""
    return round(value * UNIT)


class Paired(NamedTuple):
    """Per cluster: the sum of its tasks' differences (in units) and how many there are.

    A cluster without a usable pair has size 0 and sum 0; it stays in its place, so that
    all measures are drawn from one table of clusters.
    """

    sums: Sequence[int]
    sizes: Sequence[int]

    @property
    def pairs(self) -> int:
        """How many tasks have a difference."""
        return sum(self.sizes)

    @property
    def clusters(self) -> int:
        """How many clusters have one."""
        return sum(size > 0 for size in self.sizes)

    @property
    def mean(self) -> float:
        """The mean difference, each task counting alike; 0 without pairs."""
        pairs = self.pairs
        return float(Fraction(sum(self.sums), pairs * UNIT)) if pairs else 0.0

    @property
    def unchanged(self) -> bool:
        """Whether every cluster's sum is 0."""
        return not any(self.sums)


def effective_number(sizes: Sequence[int]) -> float:
    """How many clusters of one size these are worth: N² / Σn².

    L. Kish, "Survey sampling", 1965, section 8.2. Equal clusters are worth their number.
    """
    total = sum(sizes)
    return float(Fraction(total * total, sum(size * size for size in sizes))) if total else 0.0


# -- test -----------------------------------------------------------------------------


class SignFlip(NamedTuple):
    """A p-value and how it came about: ``exact``, or ``drawn`` with seeded draws."""

    p: Fraction
    method: str


def sign_flip(paired: Paired) -> SignFlip | None:
    """Two-sided sign-flip test over the clusters' sums.

    Exact for up to 20 clusters with a sum other than 0, else p = (r + 1) / (n + 1) from
    n = 9,999 seeded assignments of signs (B. Phipson and G. K. Smyth, "Permutation
    p-values should never be zero", Statistical Applications in Genetics and Molecular
    Biology 9 (2010) 39). Totals that differ by less than the rounding to units count as
    equal. None where draws are needed and NumPy isn't there.
    """
    tolerance = paired.pairs
    exact = enumerated_sign_flip(paired.sums, tolerance)
    if exact is not None:
        return SignFlip(exact, "exact")
    if not has_numeric():
        return None
    extreme = _drawn_extremes([one for one in paired.sums if one], tolerance)
    return SignFlip(Fraction(extreme + 1, DRAWS + 1), "drawn")


def share_sign_flip(sums: Sequence[int]) -> SignFlip | None:
    """Two-sided sign-flip test of clusters' whole-number sums, exact.

    By integer convolution; where that would take more than about a second, by the same
    convolution in floating point (halving and adding positive numbers, relative error
    below 10^-9), which needs NumPy; None where it isn't there.
    """
    exact = exact_sign_flip(sums)
    if exact is not None:
        return SignFlip(exact, "exact")
    if not has_numeric():
        return None
    kept = [one for one in sums if one]
    divisor = math.gcd(*kept)
    kept = [one // divisor for one in kept]
    if sum(map(abs, kept)) * len(kept) <= _MOST_FLOAT_STEPS:
        return SignFlip(_convolved(kept), "exact")
    return SignFlip(Fraction(_drawn_extremes(kept, 0) + 1, DRAWS + 1), "drawn")


def _convolved(sums: Sequence[int]) -> Fraction:
    np = numpy()
    sizes = sorted(map(abs, sums))
    span = sum(sizes)
    chance = np.zeros(span + 1)
    chance[0] = 1.0
    reached = 0
    for size in sizes:
        # Place k is the total 2k - (sum of sizes so far): the size's sign is - or +.
        chance[: reached + 1] *= 0.5
        shifted = chance[: reached + 1].copy()
        chance[size : size + reached + 1] += shifted
        reached += size
    places = (span - abs(sum(sums))) // 2 + 1
    return min(Fraction(1), Fraction(2 * math.fsum(chance[:places].tolist())))


def _drawn_extremes(sums: Sequence[int], tolerance: int) -> int:
    """Count seeded assignments of signs whose total is as far from 0 as the observed."""
    np = numpy()
    values = np.array(sums, dtype=np.int64)
    total = int(values.sum())
    seed = stream_seed(_SIGN_FLIP, len(sums))
    places = np.arange(256)
    bits = (places[:, None] >> np.arange(8)) & 1
    kept = np.zeros(DRAWS, dtype=np.int64)
    # Cluster 64·b + k has a plus where bit k of the draw's word in block b is set. Eight
    # clusters at a time: their sum for each of the 256 bytes is looked up.
    for block, start in enumerate(range(0, len(sums), 64)):
        words = u64_at(seed, block * DRAWS, DRAWS).astype("<u8").view(np.uint8).reshape(DRAWS, 8)
        drawn = np.ascontiguousarray(words.T).astype(np.intp)
        for byte, at in enumerate(range(start, min(start + 64, len(sums)), 8)):
            eight = values[at : at + 8]
            table = bits[:, : len(eight)] @ eight
            kept += table.take(drawn[byte], mode="clip")
    totals = 2 * kept - total
    return int((np.abs(totals) >= abs(total) - tolerance).sum())


# -- interval -------------------------------------------------------------------------


class Interval(NamedTuple):
    """A 95 % interval for a mean difference."""

    low: float
    high: float


def expanded_tail(effective: float) -> float:
    """Share of the resamples beyond each end of a 95 % interval.

    Φ(√(g / (g - 1)) · t), t the .025 quantile of Student's t with g - 1 degrees of
    freedom: the plain 2.5 % makes intervals too short with few clusters (T. C.
    Hesterberg, "What teachers should know about the bootstrap", The American Statistician
    69 (2015) 371-386, section 5.3). g is the effective number of clusters.
    """
    functions = special()
    quantile = functions.stdtrit(effective - 1, ALPHA / 2)
    return float(functions.ndtr(math.sqrt(effective / (effective - 1)) * quantile))


def resamples_for(clusters: int) -> int:
    """Return how many resamples are drawn: as many as 2^22 draws give, 2,000 to 20,000."""
    return min(MOST_RESAMPLES, max(RESAMPLES, _MOST_DRAWS // max(1, clusters)))


class Resamples:
    """Seeded draws of whole clusters, in blocks: how often each cluster was drawn.

    Resample r takes words r·⌈C/2⌉ … of the stream for C clusters, ⌈C/2⌉ of them; each half
    h of a word stands for cluster (h·C) >> 32. Where C is odd the last high half is dropped.

    Parameters
    ----------
    clusters
        How many clusters, C.
    classes, class_count
        An array with the class of each cluster, and how many classes there are: clusters of
        one class are counted together. Each is its own class when omitted.
    """

    def __init__(self, clusters: int, classes: Any = None, class_count: int = 0) -> None:
        self.clusters = clusters
        self._seed = stream_seed(_BOOTSTRAP, clusters)
        self._classes = classes
        self._class_count = clusters if classes is None else class_count

    def __iter__(self) -> Any:
        """Yield arrays (resamples of the block × classes) of counts, as float64."""
        np = numpy()
        classes = self._class_count
        resamples = resamples_for(self.clusters)
        # Counts of many resamples go into one product; they are drawn a few at a time, which
        # stays within a processor's cache.
        rows, few = max(1, _BLOCK_ENTRIES // classes), max(1, _DRAWN_ENTRIES // self.clusters)
        for start in range(0, resamples, rows):
            block = np.empty((min(rows, resamples - start), classes))
            for first in range(0, len(block), few):
                part = block[first : first + few]
                part[:] = self._counts(start + first, len(part))
            yield block

    def _counts(self, start: int, count: int) -> Any:
        np = numpy()
        clusters = self.clusters
        words = -(-clusters // 2)
        drawn = u64_at(self._seed, start * words, count * words).reshape(count, words)
        high = drawn >> np.uint64(32)
        drawn &= np.uint64(0xFFFFFFFF)
        offsets = (np.arange(count) * self._class_count)[:, None]
        counts = 0
        # The last word's high half is left over where the number of clusters is odd.
        for half in (drawn, high[:, : clusters // 2]):
            places = half * np.uint64(clusters)
            places >>= np.uint64(32)
            places = places.view(np.int64)
            if self._classes is not None:
                places = self._classes.take(places)
            places += offsets
            counts = counts + np.bincount(places.ravel(), minlength=count * self._class_count)
        return counts.reshape(count, self._class_count)  # type: ignore[attr-defined]


def bootstrap_intervals(measures: Sequence[Paired]) -> list[Interval | None]:
    """Bootstrap expanded percentile intervals for mean differences, one table for all.

    The mean of a resample is the sum of its clusters' sums over the sum of their sizes.
    The ends are the k-th smallest and k-th largest of the means, k = max(1, ⌊resamples ·
    tail⌋) with the tail of :func:`expanded_tail`. None for a measure that has fewer than
    two clusters. All measures have the same clusters, in the same order.
    """
    np = numpy()
    if not measures:
        return []
    means: list[list[Any]] = [[] for _ in measures]
    columns, bits, limbs, size_at = _columns(measures)
    # Clusters whose numbers are all alike (nearly all, where a task is a cluster and few
    # changed) are counted together: it is the same sum, over a shorter table.
    distinct, classes = _distinct_rows(columns)
    resamples = Resamples(len(columns), classes, len(distinct))
    if 2 * len(distinct) > len(columns):
        distinct, resamples = columns, Resamples(len(columns))
    for counts in resamples:
        # Every product and partial sum is a whole number below 2^53: exact in any order.
        totals = (counts @ distinct).astype(np.int64)
        for at, into in enumerate(means):
            parts = totals[:, at * limbs : (at + 1) * limbs]
            sums = sum(parts[:, limb] << (bits * limb) for limb in range(limbs))
            sizes = totals[:, size_at[at]]
            kept = sizes > 0
            into.append(sums[kept] / (sizes[kept] * float(UNIT)))
    return [
        _interval(np.sort(np.concatenate(drawn)), effective_number(paired.sizes))
        for drawn, paired in zip(means, measures, strict=True)
    ]


def _interval(ordered: Any, effective: float) -> Interval | None:
    if effective <= 1 or not len(ordered):
        return None
    place = max(1, math.floor(len(ordered) * expanded_tail(effective)))
    return Interval(float(ordered[place - 1]), float(ordered[-place]))


def _distinct_rows(columns: Any) -> tuple[Any, Any]:
    """Return the distinct rows of a table, and for each row its place among them."""
    np = numpy()
    data, size = columns.tobytes(), columns.itemsize * columns.shape[1]
    known: dict[bytes, int] = {}
    places = [
        known.setdefault(data[start : start + size], len(known))
        for start in range(0, len(data), size)
    ]
    distinct = np.frombuffer(b"".join(known), dtype=columns.dtype)
    return distinct.reshape(-1, columns.shape[1]), np.array(places, dtype=np.intp)


def _columns(measures: Sequence[Paired]) -> tuple[Any, int, int, list[int]]:
    """Lay out sums and sizes as columns whose resampled totals stay below 2^53.

    Sums are cut into limbs, the highest keeping the sign; sizes that several measures share
    stand once. Returned beside the columns: bits of a limb, limbs of a sum, and the column
    of each measure's sizes.
    """
    np = numpy()
    bits = 52 - len(measures[0].sizes).bit_length()
    widest = max(abs(one) for paired in measures for one in paired.sums).bit_length()
    limbs = max(1, -(-(widest + 1) // bits))
    columns = []
    for paired in measures:
        left = np.array(paired.sums, dtype=np.int64)
        for _ in range(limbs - 1):
            columns.append(left & ((1 << bits) - 1))
            left = left >> bits
        columns.append(left)
    known: dict[tuple[int, ...], int] = {}
    size_at = []
    for paired in measures:
        sizes = tuple(paired.sizes)
        if sizes not in known:
            known[sizes] = len(columns)
            columns.append(np.array(sizes, dtype=np.int64))
        size_at.append(known[sizes])
    return np.stack(columns, axis=1).astype(np.float64), bits, limbs, size_at


# -- power ----------------------------------------------------------------------------


def standard_error(paired: Paired) -> float | None:
    """Return the standard error of the mean difference from the spread between clusters.

    √(C/(C-1) · Σ(S - n·mean)²) / N over C clusters: the linearised variance of a ratio
    of cluster totals (W. G. Cochran, "Sampling techniques", 1977, section 9A.2). None
    with fewer than two clusters.
    """
    count, pairs = paired.clusters, paired.pairs
    if count < 2:
        return None
    mean = Fraction(sum(paired.sums), pairs)
    mean_units = float(mean)
    spread = math.fsum(
        (total - size * mean_units) ** 2
        for total, size in zip(paired.sums, paired.sizes, strict=True)
        if size
    )
    return math.sqrt(count / (count - 1) * spread) / pairs / UNIT


def _multiple(effective: float) -> float:
    """How many standard errors a difference must have to be shown with 80 % power."""
    quantile = special().stdtrit
    degrees = max(effective - 1, 1e-3)
    return float(quantile(degrees, 1 - ALPHA / 2) + quantile(degrees, POWER))


def detectable_difference(paired: Paired) -> float | None:
    """Return the smallest difference that this sample would have shown with 80 % power.

    (t_.975 + t_.80) · standard error, with g - 1 degrees of freedom for the effective
    number g of clusters (H. S. Bloom, "Minimum detectable effects", Evaluation Review 19
    (1995) 547-556). None where there is no spread to judge by.
    """
    error = standard_error(paired)
    effective = effective_number(paired.sizes)
    if not error or effective <= 1:
        return None
    return _multiple(effective) * error


class Needed(NamedTuple):
    """About how many tasks and clusters a difference would need, clusters as large."""

    tasks: int
    clusters: int


def needed_for(paired: Paired, difference: float) -> Needed | None:
    """Return about how large a sample would show ``difference`` with 80 % power.

    The standard error shrinks with the root of the number of clusters; clusters stay as
    large and as different as they are. None where there is no spread to judge by.
    """
    error = standard_error(paired)
    effective = effective_number(paired.sizes)
    if not error or effective <= 1 or difference <= 0:
        return None
    low, high = 1, 2
    clusters = paired.clusters

    def shows(count: int) -> bool:
        factor = count / clusters
        return _multiple(effective * factor) * error / math.sqrt(factor) <= difference

    while not shows(high):
        low, high = high, high * 2
        if high > 1 << 60:
            return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle + 1, high)
    return Needed(-(-high * paired.pairs // clusters), high)
