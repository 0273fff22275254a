"""Intervals over groups: exact, fixed, and honest where all groups agree."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from wayproof.stats.intervals import (
    MILLION,
    RESAMPLES,
    agreement_lower_bound,
    index_table,
    intervals_over_groups,
)
from wayproof.stats.seeded import stream


@pytest.mark.parametrize("groups", [1, 2, 5, 12, 50, 400, 20_000])
def test_the_bound_is_the_exact_binomial_one(groups: int) -> None:
    """50 of 50 grids: at least 92.9 %; and scipy's Clopper-Pearson bound for any number."""
    exact = binomtest(groups, groups).proportion_ci(0.95, method="exact").low
    assert agreement_lower_bound(groups) == int(exact * MILLION)


def test_no_groups_bound_nothing() -> None:
    """Nothing was seen, so nothing is claimed."""
    assert agreement_lower_bound(0) == 0
    assert tuple(intervals_over_groups([[0, 0]], [[0, 0]])[0]) == (0, MILLION, "agreement")


def test_fifty_agreeing_grids() -> None:
    """The number of the contract: 50 of 50 is at least 92.9 %, and 0 of 50 mirrors it."""
    cells = [[6] * 50, [6] * 50]
    all_hit, none_hit = intervals_over_groups([[6] * 50, [0] * 50], cells)
    assert tuple(all_hit) == (928_878, MILLION, "agreement")
    assert tuple(none_hit) == (0, MILLION - 928_878, "agreement")


def test_agreement_on_a_part_is_not_certainty() -> None:
    """Where every grid has half its cells, the interval still allows for other grids."""
    (interval,) = intervals_over_groups([[3] * 50], [[6] * 50])
    assert interval.method == "agreement"
    assert interval.low_ppm < MILLION // 2 < interval.high_ppm


def test_the_index_table_is_fixed() -> None:
    """One table for all strata, known to the last index."""
    draw = stream("wayproof.statistics.index-table/1", 50)
    rows = [list(row) for row in index_table(50)]
    assert len(rows) == RESAMPLES
    assert rows == [draw.many_below(50, 50) for _ in range(RESAMPLES)]
    assert rows[0][:10] == [48, 48, 41, 28, 13, 32, 4, 48, 8, 30]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 6)), min_size=2, max_size=12))
def test_the_bootstrap_is_the_percentile_of_resampled_shares(pairs: list[tuple[int, int]]) -> None:
    """Against a plain implementation in fractions: the 50th smallest and largest share."""
    hits = [min(pair) for pair in pairs]
    cells = [pair[1] for pair in pairs]
    (interval,) = intervals_over_groups([hits], [cells])
    if interval.method == "agreement":
        assert len({Fraction(*pair) for pair in zip(hits, cells, strict=True)}) == 1
        return
    shares = sorted(
        Fraction(sum(hits[at] for at in row), sum(cells[at] for at in row))
        for row in index_table(len(pairs))
    )
    assert interval.low_ppm == shares[49] * MILLION // 1
    assert interval.high_ppm == -(-shares[-50] * MILLION // 1)


@given(
    st.lists(st.integers(0, 4), min_size=2, max_size=10), st.lists(st.integers(0, 4), max_size=10)
)
def test_a_stratum_stands_on_its_own(hits: list[int], other: list[int]) -> None:
    """Adding another stratum changes no interval: all strata share one table."""
    cells = [4] * len(hits)
    other = (other + [0] * len(hits))[: len(hits)]
    alone = intervals_over_groups([hits], [cells])[0]
    assert intervals_over_groups([other, hits], [cells, cells])[1] == alone


def test_strata_must_have_the_same_groups() -> None:
    """A stratum with fewer groups would be resampled with the wrong indices."""
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        intervals_over_groups([[1, 2, 0], [1, 0]], [[3, 3, 3], [3, 3]])
