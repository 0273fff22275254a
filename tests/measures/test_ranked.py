"""Ranked measures: the same numbers as pytrec_eval's and ir_measures'."""

import math
import random
from typing import Any

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from wayproof.capture.trec import ranked
from wayproof.errors import InputError
from wayproof.measures.ranked import MEASURES, parse_measures, ranking_of

NAMES = "R@1 R@5 R@20 P@5 RR nDCG nDCG@10 nDCG@3 AP AP@5 Success@1 Success@10"
_THEIRS = {
    "R@1": "recall_1",
    "R@5": "recall_5",
    "R@20": "recall_20",
    "P@5": "P_5",
    "RR": "recip_rank",
    "nDCG": "ndcg",
    "nDCG@10": "ndcg_cut_10",
    "nDCG@3": "ndcg_cut_3",
    "AP": "map",
    "AP@5": "map_cut_5",
    "Success@1": "success_1",
    "Success@10": "success_10",
}
_ASKED = {"recall.1,5,20", "P.5", "recip_rank", "ndcg", "ndcg_cut.3,10", "map", "map_cut.5"}
Run = dict[str, dict[str, float]]
Judgments = dict[str, dict[str, int]]


def _random_run(seed: int) -> tuple[Judgments, Run]:
    """Topics with ties, grades, unjudged documents, missing topics.

    No negative grades: pytrec_eval's uncut ``ndcg`` never ends on some of them.
    """
    draw = random.Random(seed)
    documents = [f"d{number}" for number in range(30)]
    judgments: Judgments = {}
    run: Run = {}
    for topic in map(str, range(draw.randint(1, 5))):
        judged = draw.sample(documents, draw.randint(1, 20))
        judgments[topic] = {one: draw.choice([0, 0, 1, 1, 2, 3]) for one in judged}
        if draw.random() < 0.85:
            listed = draw.choices(documents, k=draw.randint(1, 40))  # duplicates: last wins
            run[topic] = {one: float(draw.randint(0, 6)) for one in listed}
    return judgments, run


def _ours(judgments: Judgments, run: Run, names: str) -> dict[str, dict[str, float]]:
    values: dict[str, dict[str, float]] = {}
    for topic, grades in judgments.items():
        ranking = ranking_of(
            ranked(run.get(topic, {})),
            [one for one, grade in grades.items() if grade > 0],
            relevance=grades,
        )
        values[topic] = {measure.name: measure.of(ranking) for measure in parse_measures(names)}
    return values


def test_equal_to_pytrec_eval() -> None:
    """To 1e-12 on 500 random runs with ties, grades, duplicates and missing topics."""
    compared = 0
    for seed in range(500):
        judgments, run = _random_run(seed)
        evaluator = pytrec_eval.RelevanceEvaluator(judgments, {*_ASKED, "success.1,10"})
        theirs: dict[str, Any] = evaluator.evaluate(run)
        for topic, values in _ours(judgments, run, NAMES).items():
            for name, value in values.items():
                expected = theirs[topic][_THEIRS[name]] if topic in run else 0.0
                assert value == pytest.approx(expected, abs=1e-12), (seed, topic, name)
                compared += 1
    assert compared > 10_000


def test_equal_to_ir_measures() -> None:
    """To 1e-12, under its own names, on the same runs; ``Judged@k`` too."""
    ir_measures = pytest.importorskip("ir_measures")
    names = f"{NAMES} Judged@5 Judged RR@3"
    measures = [ir_measures.parse_measure(name) for name in names.split()]
    for seed in range(500):
        judgments, run = _random_run(seed)
        # Its own providers (Judged) break ties by document id upwards, trec_eval downwards.
        for scores in run.values():
            for place, one in enumerate(reversed(ranked(scores))):
                scores[one] = float(place)
        ours = _ours(judgments, run, names)
        for one in ir_measures.iter_calc(measures, judgments, run):
            if one.query_id not in run:
                continue
            found = ours[one.query_id][str(one.measure)]
            assert found == pytest.approx(one.value, abs=1e-12), (seed, one)


def test_negative_grades_gain_nothing() -> None:
    """They are judged, not relevant: equal to pytrec_eval where it ends."""
    for seed in range(100):
        judgments, run = _random_run(seed)
        judgments = {
            topic: {one: grade or -1 for one, grade in grades.items()}
            for topic, grades in judgments.items()
        }
        theirs: dict[str, Any] = pytrec_eval.RelevanceEvaluator(
            judgments, {"ndcg_cut.10", "map", "P.5"}
        ).evaluate(run)
        for topic, values in _ours(judgments, run, "nDCG@10 AP P@5").items():
            for name, value in values.items():
                expected = theirs[topic][_THEIRS[name]] if topic in run else 0.0
                assert value == pytest.approx(expected, abs=1e-12), (seed, topic, name)


def test_a_prefix_is_one_item_found_at_its_first_match() -> None:
    """Later matches of a prefix are judged, but find nothing and cost precision."""
    ranking = ranking_of(["x", "src/a", "src/b", "doc"], ["doc", "src/*"])
    values = {one.name: one.of(ranking) for one in parse_measures("R@2 P@4 RR AP Judged@4 nDCG")}
    assert values == {
        "R@2": 0.5,
        "P@4": 0.5,
        "RR": 0.5,
        "AP": (1 / 2 + 2 / 4) / 2,
        "Judged@4": 0.75,
        "nDCG": (1 / math.log2(3) + 1 / math.log2(5)) / (1 + 1 / math.log2(3)),
    }


def test_a_literal_star_is_no_prefix() -> None:
    """An id from a TREC file that ends in ``*`` is found only as itself."""
    found = ranking_of(["src/a", "src/*"], ["src/*"], literal_ids=["src/*"])
    assert found.found == [(2, 1)]
    assert ranking_of(["src/*"], ["src/*"]).found == [(1, 1)]


def test_an_id_that_meets_two_items_finds_both() -> None:
    """An exact id below an expected prefix: recall counts both, precision one id."""
    ranking = ranking_of(["src/a"], ["src/*", "src/a"])
    values = {one.name: one.of(ranking) for one in parse_measures("R@1 P@1 AP Success@1")}
    assert values == {"R@1": 1, "P@1": 1, "AP": 1, "Success@1": 1}


@given(
    st.lists(st.sampled_from("abcdefgh"), unique=True),
    st.lists(st.sampled_from(["a", "b", "c*", "d", "*", "ef*", "e"]), unique=True, min_size=1),
    st.dictionaries(st.sampled_from(["a", "b", "c*", "h"]), st.integers(-1, 3)),
)
def test_every_measure_stays_within_bounds(
    ordered: list[str], expected: list[str], relevance: dict[str, int]
) -> None:
    """Between 0 and 1, prefixes that overlap and grades that contradict included."""
    ranking = ranking_of(ordered, expected, relevance=relevance)
    for definition in MEASURES:
        for measure in parse_measures([f"{definition.name}@3"]):
            assert 0 <= measure.of(ranking) <= 1 + 1e-12


def test_attempts_are_counted_without_bias() -> None:
    """pass@k and pass^k over every choice of k among the attempts."""
    at, all_of = parse_measures("pass@2 pass^2")
    assert at.of_attempts(1, 3) == pytest.approx(2 / 3)
    assert all_of.of_attempts(2, 3) == pytest.approx(1 / 3)
    assert (at.of_attempts(0, 2), at.of_attempts(2, 2)) == (0, 1)
    assert at.of_attempts(1, 1) is None


@pytest.mark.parametrize("word", ["R", "P@0", "recal@5", "nDCG@", "pass@0", "AP@x", "R@5@6"])
def test_unknown_measures_are_refused(word: str) -> None:
    """By name, with what there is instead."""
    with pytest.raises(InputError):
        parse_measures(word)


def test_spelling() -> None:
    """Parted by spaces or commas, each once; ``judged@k`` is ir_measures' ``Judged@k``."""
    assert [one.name for one in parse_measures("R@5, judged@10  R@5 RR@020")] == [
        "R@5",
        "Judged@10",
        "RR@20",
    ]
