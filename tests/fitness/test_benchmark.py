"""A benchmark document: counts, means, debts, and what it refuses."""

from typing import Any

import naive
import pytest
import strategies as our
from hypothesis import given
from hypothesis import strategies as st

from wayproof.errors import InputError
from wayproof.evidence.fitness_names import FAILURE_KINDS
from wayproof.fitness import evaluate_benchmark

attempts = st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 4)), max_size=8, unique=True)


@st.composite
def benchmarks(draw: st.DrawFn) -> dict[str, Any]:
    """Cases with several attempts of few tasks, in any order."""
    cases = []
    for task_id, attempt in draw(attempts):
        task = {**draw(our.tasks()), "task_id": task_id}
        cases.append({"task": task, "packet": {**draw(our.packets()), "attempt": attempt}})
    return {"cases": cases}


@given(benchmarks())
def test_the_summary_follows_from_the_results(benchmark: dict[str, Any]) -> None:
    """Every number of the summary can be counted again from the results, slowly."""
    suite = evaluate_benchmark(benchmark)
    results, summary = suite["task_results"], suite["summary"]
    kinds = [result["sufficiency_failure_kind"] for result in results]
    latency = [result["latency_status"] for result in results]
    walls = [result["wall_ms"] for result in results if result["wall_ms"] is not None]
    recall, recall_count = naive.mean_within_tasks(results, "recall")
    precision, precision_count = naive.mean_within_tasks(results, "precision")
    sufficiency, sufficiency_count = naive.sufficiency_within_tasks(results)
    assert suite["status"] == ("pass" if results else "fail")
    scent = {name: summary.pop(name) for name in list(summary) if name.startswith("mean_scent")}
    assert len(scent) == 2
    assert summary == {
        "task_count": len(results),
        "distinct_task_count": len({result["task_id"] for result in results}),
        "sufficiency_pass_count": kinds.count(None),
        "sufficiency_fail_count": len(kinds) - kinds.count(None),
        "vacuous_count": sum(result["vacuous"] for result in results),
        "failure_kind_counts": {kind: kinds.count(kind) for kind in FAILURE_KINDS},
        "latency_pass_count": latency.count("pass"),
        "latency_fail_count": latency.count("fail") + latency.count("timeout"),
        "latency_unmeasured_count": latency.count("unmeasured"),
        "p50_wall_ms": naive.percentile(walls, 50),
        "p95_wall_ms": naive.percentile(walls, 95),
        "first_contact_unknown_count": sum(
            not (result["first_contact_command"] or "").strip() for result in results
        ),
        "debt_candidate_count": len(suite["debt_candidates"]),
        "mean_recall_at_packet": recall,
        "mean_recall_at_packet_denominator": recall_count,
        "mean_precision_at_packet": precision,
        "mean_precision_at_packet_denominator": precision_count,
        "mean_sufficiency": sufficiency,
        "mean_sufficiency_denominator": sufficiency_count,
    }
    for name, metrics in suite["route_type_metrics"].items():
        of_type = [result for result in results if result["route_type"] == name]
        failed = [result for result in of_type if result["sufficiency_status"] == "fail"]
        slow = [result for result in of_type if result["latency_status"] in {"fail", "timeout"}]
        assert metrics == {
            "task_count": len(of_type),
            "sufficiency_pass_count": len(of_type) - len(failed),
            "sufficiency_fail_count": len(failed),
            "vacuous_count": sum(result["vacuous"] for result in of_type),
            "latency_fail_count": len(slow),
        }
    assert list(suite["route_type_metrics"]) == sorted({r["route_type"] for r in results})


@given(benchmarks())
def test_the_debts_follow_from_the_results(benchmark: dict[str, Any]) -> None:
    """Exactly two classes, in task order, sufficiency before latency, numbered when repeated."""
    suite = evaluate_benchmark(benchmark)
    results = suite["task_results"]
    ids = [result["task_id"] for result in results]
    expected = []
    for result in results:
        mark = f"#{result['attempt']}" if ids.count(result["task_id"]) > 1 else ""
        if result["sufficiency_failure_kind"]:
            expected.append(
                {
                    "debt_id": f"sufficiency:{result['task_id']}{mark}",
                    "debt_class": "sufficiency_debt",
                    "repair_class": result["sufficiency_failure_kind"],
                    "missing_expected_artifacts": result["missing_expected_artifacts"],
                    "forbidden_first_route_hits": result["forbidden_first_route_hits"],
                }
            )
        if result["latency_status"] in {"fail", "timeout"}:
            expected.append(
                {
                    "debt_id": f"latency:{result['task_id']}{mark}",
                    "debt_class": "latency_debt",
                    "wall_ms": result["wall_ms"],
                    "latency_budget_ms": result["latency_budget_ms"],
                    "latency_status": result["latency_status"],
                }
            )
    assert suite["debt_candidates"] == expected


def test_a_mean_averages_within_a_task_first() -> None:
    """Four tries at one task weigh as much as one try at another."""
    tries = [
        {
            "task": {"task_id": "often", "expected_artifacts": ["a", "b"]},
            "packet": {"attempt": number, "selected_artifacts": ["a"]},
        }
        for number in range(1, 5)
    ]
    once = {
        "task": {"task_id": "once", "expected_artifacts": ["a"]},
        "packet": {"selected_artifacts": ["a"]},
    }
    summary = evaluate_benchmark({"cases": [*tries, once]})["summary"]
    assert summary["mean_recall_at_packet"] == 0.75
    assert summary["mean_recall_at_packet_denominator"] == 2
    assert (summary["task_count"], summary["distinct_task_count"]) == (5, 2)


def test_unnamed_tasks_may_repeat() -> None:
    """Defaulted ids stay `unknown_task`; they are tasks of their own, not attempts."""
    suite = evaluate_benchmark({"cases": [{"task": {}, "packet": {}}] * 3})
    assert [result["task_id"] for result in suite["task_results"]] == ["unknown_task"] * 3
    assert suite["summary"]["distinct_task_count"] == 3


def test_a_case_without_packet_is_an_error_of_the_route() -> None:
    """Nothing captured is scored, not dropped."""
    suite = evaluate_benchmark({"cases": [{"task": {"task_id": "t"}, "packet": None}]})
    (result,) = suite["task_results"]
    assert result["error"] == "no packet captured"
    assert result["sufficiency_failure_kind"] == "route_error"


def test_an_empty_suite_did_not_run() -> None:
    """Status says that something was scored; without a case nothing was."""
    suite = evaluate_benchmark({"cases": []})
    assert suite["status"] == "fail"
    assert suite["summary"]["p50_wall_ms"] is None


@pytest.mark.parametrize(
    ("benchmark", "parts"),
    [
        ({}, ["cases", "missing"]),
        ({"cases": {}}, ["cases", "expected array"]),
        ({"cases": [{"packet": {}}]}, ["cases[0].task", "missing"]),
        ({"cases": [{"task": {}, "packet": []}]}, ["cases[0].packet"]),
        ({"cases": [{"task": {"scent_terms": "x"}}]}, ["case 0", "task.scent_terms"]),
        (
            {"cases": [{"task": {"task_id": "t"}}, {"task": {"task_id": "t"}}]},
            ["cases 0 and 1", "task.task_id"],
        ),
        ({"suite": 5, "cases": []}, ["suite", "expected string"]),
        ([], ["benchmark", "expected object"]),
    ],
)
def test_what_cannot_be_scored_is_named(benchmark: Any, parts: list[str]) -> None:
    """The message names the case, the field, and what was expected."""
    with pytest.raises(InputError) as caught:
        evaluate_benchmark(benchmark)
    for part in parts:
        assert part in str(caught.value)


def test_an_unnamed_task_is_no_attempt_of_a_named_one() -> None:
    """A default that happens to equal a given id doesn't join it."""
    named = [
        {"task": {"task_id": "unknown_task"}, "packet": {"attempt": number, "error": "x"}}
        for number in (1, 2)
    ]
    suite = evaluate_benchmark({"cases": [*named, {"task": {}, "packet": {"error": "x"}}]})
    assert [debt["debt_id"] for debt in suite["debt_candidates"]] == [
        "sufficiency:unknown_task#1",
        "sufficiency:unknown_task#2",
        "sufficiency:unknown_task",
    ]


PAIR = {"task": {"task_id": "t", "expected_artifacts": ["a"]}, "packet": {}}


@pytest.mark.parametrize(
    ("benchmark", "field"),
    [
        ({"cases": [PAIR], "suit": "mine"}, "suit"),
        ({"cases": [PAIR], "Suite": "mine"}, "Suite"),
        ({"cases": [PAIR], "case": []}, "case"),
        ({"cases": [PAIR, {**PAIR, "packets": {}}]}, "cases[1].packets"),
        ({"cases": [{"task": PAIR["task"], "pakcet": {}}]}, "cases[0].pakcet"),
        ({"cases": [{**PAIR, "tsak": {}}]}, "cases[0].tsak"),
    ],
)
def test_a_key_that_is_nearly_known_is_refused(benchmark: Any, field: str) -> None:
    """The same rule as in tasks: what a misspelt key says would be dropped in silence."""
    with pytest.raises(InputError) as caught:
        evaluate_benchmark(benchmark)
    assert caught.value.field == field
    assert "nearly a known one" in caught.value.problem


def test_notes_in_a_benchmark_are_passed_over() -> None:
    """Keys that are near to nothing are the author's own."""
    noted = {"cases": [{**PAIR, "notes": "x", "pack": 1}], "made_by": "kim", "tasks": [], "s": 1}
    assert evaluate_benchmark(noted)["summary"]["task_count"] == 1
