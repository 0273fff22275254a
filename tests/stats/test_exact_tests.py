"""Exact paired tests: the same numbers as scipy's and statsmodels'."""

from fractions import Fraction
from itertools import product
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from wayproof.stats.exact_tests import enumerated_sign_flip, exact_sign_flip, holm, mcnemar

sums = st.lists(st.integers(-6, 6), max_size=9)


def _by_hand(values: list[int]) -> Fraction:
    totals = [
        abs(sum(sign * value for sign, value in zip(signs, values, strict=True)))
        for signs in product((1, -1), repeat=len(values))
    ]
    return Fraction(sum(total >= abs(sum(values)) for total in totals), len(totals))


@given(sums)
def test_sign_flip_counts_all_assignments(values: list[int]) -> None:
    """Both exact ways give the share of all 2^n assignments that are as extreme."""
    assert exact_sign_flip(values) == enumerated_sign_flip(values) == _by_hand(values)


@given(sums, st.integers(1, 1000))
def test_scale_does_not_matter(values: list[int], factor: int) -> None:
    """A common factor of the sums changes no p: shares may be counted in any unit."""
    assert exact_sign_flip([value * factor for value in values]) == exact_sign_flip(values)


def test_sign_flip_equals_scipy() -> None:
    """scipy.stats.permutation_test over all sign changes, on 200 random tables."""
    random = Random(5)
    for _ in range(200):
        values = [random.randint(-5, 5) for _ in range(random.randint(2, 9))]
        theirs = stats.permutation_test(
            (values,),
            lambda sample, axis: sample.sum(axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=10**6,
            alternative="two-sided",
        ).pvalue
        # SciPy doubles the smaller tail, which by symmetry is the share of both tails.
        ours = exact_sign_flip(values)
        assert ours is not None
        assert float(ours) == pytest.approx(min(1.0, theirs), abs=1e-12)


def test_mcnemar_equals_scipy_and_statsmodels() -> None:
    """The exact binomial test of the discordant pairs, on 200 random tables."""
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    random = Random(6)
    for _ in range(200):
        worse, better = random.randint(0, 60), random.randint(0, 60)
        ours = float(mcnemar(worse, better))
        if worse + better:
            assert ours == pytest.approx(stats.binomtest(worse, worse + better).pvalue, abs=1e-12)
        table = [[7, worse], [better, 3]]
        assert ours == pytest.approx(tables.mcnemar(table, exact=True).pvalue, abs=1e-12)


@given(st.integers(0, 40), st.integers(0, 40))
def test_sign_flip_of_single_tasks_is_mcnemar(worse: int, better: int) -> None:
    """Where a cluster is one task with one attempt, the exact test is McNemar's."""
    assert exact_sign_flip([-1] * worse + [0, 0] + [1] * better) == mcnemar(worse, better)


def test_holm_equals_statsmodels() -> None:
    """Adjusted p-values in the order given, on 200 random lists with ties."""
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    random = Random(7)
    for _ in range(200):
        values = [random.choice([0.0, 1.0, 0.01, random.random()]) for _ in range(1 + _ % 8)]
        theirs = multitest.multipletests(values, method="holm")[1]
        assert holm(values) == pytest.approx(list(theirs), abs=1e-12)


def test_too_long_is_said() -> None:
    """A convolution that would take minutes is refused, not begun."""
    assert exact_sign_flip([1 << 40, 3] * 400) is None
    assert enumerated_sign_flip([1] * 21) is None


def test_ties_within_the_tolerance_are_ties() -> None:
    """Totals that differ by less than rounding count as equal: p is never too small."""
    assert enumerated_sign_flip([10, 11, 20], 2) == Fraction(2, 8)
    assert enumerated_sign_flip([10, 11, -20]) == 1
    assert enumerated_sign_flip([100, 1, 1]) == Fraction(2, 8)
    assert enumerated_sign_flip([100, 1, 1], 2) == Fraction(6, 8)
