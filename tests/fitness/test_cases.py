"""Cases: a benchmark and what it is expected to give; no expectation goes unchecked."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT
from wayproof.errors import InputError
from wayproof.fitness import builtin_case_dir, evaluate_case, evaluate_fixture_dir
from wayproof.fitness.cases import same_json

PUBLIC = ROOT / "fixtures/first_wave/engine_room_navigation_fitness_benchmark/input"
BENCHMARK = {"cases": [{"task": {"task_id": "t"}, "packet": {"wall_ms": 5}}]}


def _case(**parts: Any) -> dict[str, Any]:
    return evaluate_case({"benchmark": BENCHMARK, **parts})


def test_the_four_public_cases_are_met() -> None:
    """The seed's cases pin the accounting rules."""
    result = evaluate_fixture_dir(PUBLIC)
    assert (result["case_count"], result["passed_case_count"], result["status"]) == (4, 4, "pass")
    assert [case["case_id"] for case in result["cases"]] == [
        "adversarial_forbidden_route",
        "heldout_paraphrase_pass",
        "latency_debt_negative",
        "missing_stable_id_negative",
    ]


def test_slow_but_sufficient_makes_one_latency_debt() -> None:
    """The case that proves the two axes stay separate."""
    cases = {case["case_id"]: case for case in evaluate_fixture_dir(PUBLIC)["cases"]}
    debts = cases["latency_debt_negative"]["result"]["debt_candidates"]
    assert debts == [
        {
            "debt_id": "latency:slow_but_sufficient",
            "debt_class": "latency_debt",
            "wall_ms": 830,
            "latency_budget_ms": 100,
            "latency_status": "fail",
        }
    ]


def test_the_builtin_cases_are_the_public_ones() -> None:
    """`--builtin` reads the same files as the seed's public path."""
    assert builtin_case_dir() == PUBLIC


@pytest.mark.parametrize(
    "expectations",
    [
        {},
        {"expected_summary": {}},
        {"expected_task_statuses": {}},
        {"expected_summary": {"task_count": 2}},
        {"expected_summary": {"task_count": True}},
        {"expected_summary": {"task_count": "1"}},
        {"expected_summary": {"no_such_field": 1}},
        {"expected_summary": {"no_such_field": None}},
        {"expected_task_statuses": {"other": {"sufficiency_status": "pass"}}},
        {"expected_task_statuses": {"other": {}}},
        {"expected_task_statuses": {"t": {}}},
        {"expected_task_statuses": {"t": {}}, "expected_summary": {}},
        {"expected_task_statuses": {"t": {}, "other": {}}, "expected_status": "pass"},
        {"expected_task_statuses": {"t": {"no_such_field": None}}},
        {"expected_task_statuses": {"t": {"latency_status": "fail"}}},
        {"expected_status": "fail"},
        {"expected_status": ""},
    ],
)
def test_an_expectation_that_does_not_hold_is_unmet(expectations: dict[str, Any]) -> None:
    """Wrong, absent or unstated: none of them passes, and none is skipped."""
    assert _case(**expectations)["expectation_met"] is False


@pytest.mark.parametrize(
    "expectations",
    [
        {"expected_status": "pass"},
        {"expected_summary": {"task_count": 1, "p50_wall_ms": 5.0}},
        {"expected_task_statuses": {"t": {}}, "expected_status": "pass"},
        {"expected_task_statuses": {"t": {"wall_ms": 5, "error": None}}},
    ],
)
def test_an_expectation_that_holds_is_met(expectations: dict[str, Any]) -> None:
    """5 and 5.0 are one number; naming a task alone expects nothing but that it exists."""
    assert _case(**expectations)["expectation_met"] is True


def test_an_id_that_several_results_carry_is_unmet_and_says_why() -> None:
    """An ambiguous expectation can't be met by accident."""
    case = {
        "benchmark": {"cases": [{"task": {}, "packet": {}}] * 2},
        "expected_task_statuses": {"unknown_task": {"sufficiency_status": "pass"}},
    }
    check = evaluate_case(case)["task_checks"]["unknown_task"]["sufficiency_status"]
    assert check["ok"] is False
    assert "2 results" in check["why"]


@pytest.mark.parametrize(
    "key",
    [
        *("expected_sumary", "expectations", "expected", "Expected_summary"),
        *("epxected_summary", "xpected_task_statuses", "case-id", "caseid", "Case_ID", "bechmark"),
    ],
)
def test_a_misspelt_expectation_is_refused(key: str) -> None:
    """It would never be checked, so the case could pass for the wrong reason."""
    with pytest.raises(InputError, match=r"unknown expectation|nearly a known one"):
        _case(**{key: {}, "expected_status": "pass"})


@pytest.mark.parametrize("key", ["notes", "description", "id", "why", "case_notes"])
def test_notes_beside_a_case_are_passed_over(key: str) -> None:
    """Only what is nearly a known key is refused."""
    assert _case(**{key: {}, "expected_status": "pass"})["expectation_met"] is True


def test_json_values_compare_by_type() -> None:
    """`true` is not 1, `"5"` is not 5, and null is nothing else."""
    assert same_json({"a": [1, None]}, {"a": [1.0, None]})
    for left, right in [(True, 1), ("5", 5), (None, False), ([], {}), ([1], [1, 2])]:
        assert not same_json(left, right)
        assert not same_json(right, left)


def test_paths_are_relative_and_sorted(tmp_path: Path) -> None:
    """The result names each file by its place in the folder, with `/` between."""
    for name in ("b.json", "sub/a.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({"benchmark": BENCHMARK, "expected_status": "pass"}))
    (tmp_path / "notes.txt").write_text("not a case")
    cases = evaluate_fixture_dir(tmp_path)["cases"]
    assert [(case["path"], case["case_id"]) for case in cases] == [
        ("b.json", "b"),
        ("sub/a.json", "a"),
    ]


def test_a_case_that_cannot_be_read_is_not_dropped(tmp_path: Path) -> None:
    """A dangling link or a pipe among the cases is an error, not one case fewer."""
    (tmp_path / "good.json").write_text(
        json.dumps({"benchmark": BENCHMARK, "expected_status": "pass"})
    )
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"link\.json"):
        evaluate_fixture_dir(tmp_path)
    link.unlink()
    os.mkfifo(link)
    with pytest.raises(InputError, match="not a regular file"):
        evaluate_fixture_dir(tmp_path)


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    """No case at all is a mistake of the caller, not a pass."""
    with pytest.raises(InputError, match="folder holds no case"):
        evaluate_fixture_dir(tmp_path)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (b"{", "not JSON"),
        (b"[]", "not an object"),
        (b'{"benchmark": {"cases": []}, "benchmark": {}}', "duplicate key"),
        (b'{"benchmark": {"cases": [{"task": {"task_id": "\\ud800"}}]}}', "lone surrogate"),
        (b'{"benchmark": {"cases": [], "n": 9007199254740992}}', "2^53"),
        (b'{"benchmark": {"cases": [], "n": NaN}}', "NaN"),
        (b'{"benchmark": {"cases": [], "n": 1e999}}', "2^53"),
        (b'{"benchmark": "\xff"}', "UTF-8"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"benchmark": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
        (b"{}", "benchmark"),
    ],
)
def test_a_bad_case_file_is_named(tmp_path: Path, text: bytes, part: str) -> None:
    """One clear message that begins with the file."""
    path = tmp_path / "case.json"
    path.write_bytes(text)
    with pytest.raises(InputError) as caught:
        evaluate_fixture_dir(tmp_path)
    assert caught.value.file == str(path)
    assert part in str(caught.value)
