"""The ladder: its order is the contract's, and a change of order can't go unseen."""

import itertools

import naive
import pytest

from wayproof.evidence.fitness_names import RUNGS
from wayproof.fitness import ladder
from wayproof.fitness.ladder import Facts, fact_mask, failed_checks

ALL_FACTS = [Facts(*facts) for facts in itertools.product((False, True), repeat=5)]


def test_every_combination_agrees_with_the_naive_statement() -> None:
    """All 32 combinations of what can go wrong name the same failures in the same order."""
    for facts in ALL_FACTS:
        assert list(failed_checks(fact_mask(facts))) == naive.ladder(**facts._asdict())


@pytest.mark.parametrize(
    "order", [order for order in itertools.permutations(range(5)) if order != (0, 1, 2, 3, 4)]
)
def test_any_other_order_of_rungs_is_caught(
    order: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever way the rungs are shuffled, some combination of facts shows it."""
    monkeypatch.setattr(ladder, "RUNGS", tuple(RUNGS[place] for place in order))
    assert any(
        list(ladder._failed(fact_mask(facts))) != naive.ladder(**facts._asdict())
        for facts in ALL_FACTS
    )


def test_each_rung_names_a_fact_of_its_own() -> None:
    """No fact is judged twice and none is left out."""
    assert sorted(rung.fact for rung in RUNGS) == sorted(Facts._fields)


def test_each_rung_explains_itself() -> None:
    """A kind that a user can meet can be looked up: meaning, reason, mend."""
    for rung in RUNGS:
        assert min(len(rung.meaning), len(rung.why_here), len(rung.mend)) > 40
