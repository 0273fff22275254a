"""Paired tests that are exact, in whole numbers, with nothing but Python's integers."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

__all__ = ["enumerated_sign_flip", "exact_sign_flip", "holm", "mcnemar"]

MOST_ENUMERATED: Final = 20
"""Most clusters whose 2^n assignments of signs are all looked at."""
_MOST_BIT_STEPS: Final = 1 << 36
"""Most work (bits × additions) for the exact convolution; about a second."""


def mcnemar(worse: int, better: int) -> Fraction:
    """Exact two-sided McNemar test of ``worse`` against ``better`` discordant pairs.

    p = min(1, 2·P(K ≤ min(worse, better))) with K binomial (worse + better, ½)
    (Q. McNemar, "Note on the sampling error of the difference between correlated
    proportions or percentages", Psychometrika 12 (1947) 153-157, in its exact form).
    Without discordant pairs p is 1.
    """
    count = worse + better
    term = total = 1
    for place in range(1, min(worse, better) + 1):
        term = term * (count - place + 1) // place
        total += term
    return min(Fraction(1), Fraction(2 * total, 1 << count))


def exact_sign_flip(sums: Sequence[int]) -> Fraction | None:
    """Exact two-sided sign-flip test of clusters' integer sums; None where it is too long.

    Under the hypothesis of no difference each cluster's sum is as likely to have the
    other sign. p is the share of all 2^n assignments of signs whose total is at least as
    far from 0 as the observed one (R. A. Fisher, "The design of experiments", 1935,
    section 21). The totals' distribution is the product of (x^-d + x^d) over clusters,
    multiplied out in integers. Where every |d| is the same it is :func:`mcnemar`.
    """
    sizes = [abs(one) for one in sums if one]
    if not sizes:
        return Fraction(1)
    if len(set(sizes)) == 1:
        worse = sum(one < 0 for one in sums)
        return mcnemar(worse, len(sizes) - worse)
    divisor = math.gcd(*sizes)
    sizes = [size // divisor for size in sizes]
    observed = abs(sum(sums)) // divisor
    span = sum(sizes)
    width = len(sizes) + 1  # bits that hold any count up to 2^n
    if span * width * len(sizes) > _MOST_BIT_STEPS:
        return None
    # The polynomial's coefficients stand side by side in one integer: multiplying by
    # (1 + x^d) is a shift and an addition. Place k counts the totals 2k - span.
    packed = 1
    for size in sorted(sizes):
        packed += packed << (size * width)
    # Totals of at most -observed lie at places 0 … (span - observed) // 2.
    places = (span - observed) // 2 + 1
    low = packed & ((1 << (places * width)) - 1)
    count = _sum_of_fields(low, width, places)
    return min(Fraction(1), Fraction(2 * count, 1 << len(sizes)))


def _sum_of_fields(packed: int, width: int, fields: int) -> int:
    """Add up the fields of a packed integer by halving, so that long ones stay quick."""
    while fields > 1:
        half = (fields + 1) // 2
        # No carry crosses a field: all counts together are at most 2^n.
        packed = (packed & ((1 << (half * width)) - 1)) + (packed >> (half * width))
        fields = half
    return packed


def enumerated_sign_flip(sums: Sequence[int], tolerance: int = 0) -> Fraction | None:
    """Sign-flip test over every assignment of signs; None for more than 2^20 of them.

    For sums of any size, where the convolution of :func:`exact_sign_flip` would be too
    long. Totals within ``tolerance`` of the observed one count as equal to it.
    """
    kept = [one for one in sums if one]
    if len(kept) > MOST_ENUMERATED:
        return None
    if not kept:
        return Fraction(1)
    # By symmetry the first sign can stay: each total and its opposite occur together.
    totals = [kept[0]]
    for one in kept[1:]:
        totals = [total + one for total in totals] + [total - one for total in totals]
    bound = abs(sum(kept)) - tolerance
    extreme = sum(total >= bound or total <= -bound for total in totals)
    return Fraction(extreme, len(totals))


def holm(p_values: Sequence[Fraction | float]) -> list[float]:
    """Adjust p-values for how many were looked at, in the order given.

    S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
    Journal of Statistics 6 (1979) 65-70: the k-th smallest of m is multiplied by
    m - k + 1, made monotone, and capped at 1.
    """
    count = len(p_values)
    adjusted = [1.0] * count
    largest = 0.0
    for step, place in enumerate(sorted(range(count), key=lambda at: (p_values[at], at))):
        largest = max(largest, min(1.0, float(p_values[place] * (count - step))))
        adjusted[place] = largest
    return adjusted
