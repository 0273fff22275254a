"""Tests, intervals and detectable differences over clusters."""

import math
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from scipy import stats

from wayproof.stats import paired as module
from wayproof.stats.censored import quantile_difference_ends, quantile_of
from wayproof.stats.exact_tests import enumerated_sign_flip, mcnemar
from wayproof.stats.numeric import u64_at
from wayproof.stats.paired import (
    UNIT,
    Paired,
    Resamples,
    bootstrap_intervals,
    detectable_difference,
    effective_number,
    expanded_tail,
    in_units,
    needed_for,
    resamples_for,
    share_sign_flip,
    sign_flip,
    standard_error,
)
from wayproof.stats.seeded import SplitMix64


def _paired(random: Random, clusters: int, most: int = 6) -> Paired:
    sizes = [random.randint(1, most) for _ in range(clusters)]
    return Paired(
        [sum(in_units(random.uniform(-1, 1.2)) for _ in range(size)) for size in sizes], sizes
    )


def test_arrays_give_the_streams_numbers() -> None:
    """Place i of a stream is the i-th integer of the one generator."""
    generator = SplitMix64(12345)
    numbers = [generator.next_u64() for _ in range(300)]
    assert u64_at(12345, 0, 300).tolist() == numbers
    assert u64_at(12345, 70, 30).tolist() == numbers[70:100]


def test_same_bytes_however_it_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of draws doesn't depend on the size of its blocks."""
    whole = np.concatenate(list(Resamples(7)))
    monkeypatch.setattr(module, "_BLOCK_ENTRIES", 40)
    assert (np.concatenate(list(Resamples(7))) == whole).all()
    assert whole.shape == (resamples_for(7), 7)
    assert (whole.sum(axis=1) == 7).all()


def test_clusters_of_one_class_are_counted_together() -> None:
    """Counting classes is adding up the counts of their clusters, resample by resample."""
    classes = np.array([0, 1, 0, 2, 1, 0, 0])
    plain = np.concatenate(list(Resamples(7)))
    grouped = np.concatenate(list(Resamples(7, classes, 3)))
    assert (
        grouped == np.stack([plain[:, classes == one].sum(axis=1) for one in range(3)], 1)
    ).all()


def test_clusters_alike_don_t_change_the_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clusters with the same numbers share a row of the table; the ends are the same."""
    measures = [
        Paired([UNIT, 0, 0, -UNIT // 2, 0, 0, UNIT, 0, 0, 0], [1] * 10),
        Paired([0, 0, 0, UNIT // 3, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1, 1, 1, 0]),
    ]
    found = bootstrap_intervals(measures)
    monkeypatch.setattr(module, "_distinct_rows", lambda table: (table, np.arange(len(table))))
    assert bootstrap_intervals(measures) == found


def test_draws_are_uniform() -> None:
    """Each cluster is drawn as often as another (chi-squared, 1 in 10,000)."""
    drawn = np.concatenate(list(Resamples(25))).sum(axis=0)
    assert stats.chisquare(drawn).pvalue > 1e-4


def test_resamples_are_bounded() -> None:
    """2,000 for many clusters, more for few, where the ends lie further out."""
    assert [resamples_for(count) for count in (0, 6, 25, 287, 100_000)] == [
        20_000,
        20_000,
        20_000,
        14_614,
        2_000,
    ]


def test_drawn_sign_flip_is_near_the_exact_one() -> None:
    """9,999 seeded draws agree with all assignments within five standard errors."""
    random = Random(3)
    for _ in range(10):
        sums = [in_units(random.uniform(-1, 1.3)) for _ in range(18)]
        exact = enumerated_sign_flip(sums)
        assert exact is not None
        drawn = (module._drawn_extremes(sums, 0) + 1) / 10_000
        error = math.sqrt(float(exact) * (1 - float(exact)) / 9_999)
        assert abs(drawn - float(exact)) <= 5 * error + 1e-4


def test_many_clusters_are_drawn_and_few_are_not() -> None:
    """Up to 20 clusters with a sum the test is exact; p is never 0."""
    random = Random(4)
    few, many = _paired(random, 20), _paired(random, 70)
    assert [one.method for one in (sign_flip(few), sign_flip(many)) if one] == ["exact", "drawn"]
    clear = sign_flip(Paired([UNIT] * 500, [1] * 500))
    assert clear is not None
    assert clear.p == Fraction(1, 10_000)


def test_long_convolutions_agree_with_short_ones() -> None:
    """In floating point, where whole numbers would take too long: equal to 10^-9."""
    random = Random(8)
    for _ in range(20):
        sums = [random.randint(-9, 10) for _ in range(60)]
        exact = share_sign_flip(sums)
        assert exact is not None
        assert float(module._convolved([one for one in sums if one])) == pytest.approx(
            float(exact.p), rel=1e-9
        )


def test_shares_of_single_tasks_are_mcnemar_at_any_size() -> None:
    """100,000 tasks with one attempt each: still McNemar's exact p."""
    flip = share_sign_flip([1] * 260 + [-1] * 210 + [0] * 99_530)
    assert flip is not None
    assert flip == (mcnemar(210, 260), "exact")


def test_effective_number() -> None:
    """Equal clusters are worth their number; one that holds nearly all is worth one."""
    assert effective_number([4] * 25) == 25
    assert effective_number([1, 1, 0, 1]) == 3
    assert effective_number([997, 1, 1, 1]) == pytest.approx(1.006, abs=1e-3)
    assert effective_number([]) == 0


def test_expanded_tail_is_hesterbergs() -> None:
    """Φ(√(g/(g-1))·t), by scipy.stats; towards .025 for many clusters."""
    for count in (3.5, 8.53, 25, 1000):
        expected = stats.norm.cdf(math.sqrt(count / (count - 1)) * stats.t.ppf(0.025, count - 1))
        assert expanded_tail(count) == pytest.approx(expected, rel=1e-9)
    assert expanded_tail(10**6) == pytest.approx(0.025, abs=1e-5)


def test_interval_ends_are_order_statistics_of_whole_clusters() -> None:
    """Means of resampled clusters, computed one by one in Python's fractions."""
    paired = _paired(Random(9), 12)
    (interval,) = bootstrap_intervals([paired])
    assert interval is not None
    means = sorted(
        Fraction(
            sum(int(n) * one for n, one in zip(row, paired.sums, strict=True)),
            UNIT * sum(int(n) * size for n, size in zip(row, paired.sizes, strict=True)),
        )
        for counts in Resamples(12)
        for row in counts
    )
    place = math.floor(len(means) * expanded_tail(effective_number(paired.sizes)))
    assert interval.low == pytest.approx(float(means[place - 1]), abs=1e-15)
    assert interval.high == pytest.approx(float(means[-place]), abs=1e-15)


def test_measures_share_one_table_of_clusters() -> None:
    """A measure's interval is the same alone and beside others; empty clusters stay put."""
    random = Random(10)
    first, second = _paired(random, 30), _paired(random, 30)
    second = Paired([0, *second.sums[1:]], [0, *second.sizes[1:]])
    both = bootstrap_intervals([first, second])
    assert both == [*bootstrap_intervals([first]), *bootstrap_intervals([second])]
    assert bootstrap_intervals([]) == []
    assert bootstrap_intervals([Paired([UNIT, 0], [3, 0])]) == [None]


def test_big_sums_stay_exact() -> None:
    """Limbs of 20 bits: sums of a million tasks lose nothing, of either sign."""
    paired = Paired([-UNIT * 999_999, UNIT * 999_998, -1], [10**6] * 3)
    (interval,) = bootstrap_intervals([paired])
    assert interval is not None
    assert interval.low == -0.999999


def test_standard_error_of_single_tasks_is_the_textbooks() -> None:
    """Where clusters are single tasks it is s / √n."""
    random = Random(11)
    values = [random.uniform(-1, 1) for _ in range(40)]
    paired = Paired([in_units(one) for one in values], [1] * 40)
    assert standard_error(paired) == pytest.approx(stats.sem(values), rel=1e-9)
    assert standard_error(Paired([5], [1])) is None


def test_detectable_difference_and_what_it_needs() -> None:
    """(t_.975 + t_.80) standard errors; that difference needs just this many clusters."""
    paired = _paired(Random(12), 40, most=1)
    detectable = detectable_difference(paired)
    error = standard_error(paired)
    assert detectable is not None
    assert error is not None
    assert detectable == pytest.approx(error * (stats.t.ppf(0.975, 39) + stats.t.ppf(0.8, 39)))
    needed = needed_for(paired, detectable * (1 + 1e-9))
    assert needed == (40, 40)
    quarter = needed_for(paired, detectable / 2)
    assert quarter is not None
    assert 150 <= quarter.clusters <= 160
    assert needed_for(Paired([0, 0, 0], [1, 1, 1]), 0.1) is None


def test_censored_quantiles_are_never_guessed() -> None:
    """A timeout stands above every measured time; beyond them the quantile is unknown."""
    assert quantile_of([3, 1, math.inf, 2], 50) == 2
    assert quantile_of([3, 1, math.inf, 2], 95) == math.inf
    assert quantile_of([], 50) is None


def test_quantile_ends_by_hand() -> None:
    """The bootstrap of a nearest-rank quantile's difference, resample by resample."""
    random = Random(13)
    base = [round(random.uniform(1, 50), 1) for _ in range(30)]
    new = [one + random.choice([0, 5.5]) for one in base]
    clusters = [at // 3 for at in range(30)]
    (ends,) = quantile_difference_ends(base, new, clusters, 10, [50])
    assert ends is not None
    drawn = []
    for counts in Resamples(10):
        for row in counts:
            weights = [int(row[cluster]) for cluster in clusters]
            before, after = (
                quantile_of([w for w, n in zip(walls, weights, strict=True) for _ in range(n)], 50)
                for walls in (base, new)
            )
            assert before is not None
            assert after is not None
            drawn.append(after - before)
    drawn.sort()
    place = math.floor(len(drawn) * expanded_tail(10))
    assert (ends.low, ends.high) == (drawn[place - 1], drawn[-place])


def test_unknown_differences_widen_the_interval() -> None:
    """Infinity less infinity may be anything: it stands at both ends."""
    walls = [1.0, 2.0, math.inf, math.inf]
    (ends,) = quantile_difference_ends(walls * 5, walls * 5, list(range(20)), 20, [50])
    assert ends is not None
    assert (ends.low, ends.high) == (-math.inf, math.inf)
    assert ends.largest is not None
