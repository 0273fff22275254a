"""Recall and precision are the field's: the same numbers as pytrec_eval's."""

from typing import Any

import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from wayproof.fitness import evaluate_task

ids = st.lists(st.sampled_from([f"d{number}" for number in range(12)]), unique=True, min_size=1)


@given(ids, ids)
def test_equal_to_pytrec_eval(expected: list[str], selected: list[str]) -> None:
    """`set_recall` and `set_P` over the same ids."""
    evaluator = pytrec_eval.RelevanceEvaluator(
        {"q": dict.fromkeys(expected, 1)}, {"set_recall", "set_P"}
    )
    theirs: dict[str, Any] = evaluator.evaluate({"q": dict.fromkeys(selected, 1.0)})["q"]
    ours = evaluate_task({"expected_artifacts": expected}, {"selected_artifacts": selected})
    assert ours["recall_at_packet"] == round(theirs["set_recall"], 4)
    assert ours["precision_at_packet"] == round(theirs["set_P"], 4)
