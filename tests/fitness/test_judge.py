"""One task, one packet: held against the naive statement, and by example where it matters."""

import dataclasses
import json
from typing import Any

import naive
import pytest
import strategies as our
from hypothesis import example, given, settings

from wayproof.canonical import canonical_bytes
from wayproof.errors import InputError
from wayproof.fitness import (
    NavigationFitnessTask,
    evaluate_benchmark,
    evaluate_task,
    task_from_mapping,
)


@settings(max_examples=600)
@given(our.tasks(), our.packets())
@example({"expected_artifacts": ["*"]}, {"selected_artifacts": ["x"]})
def test_agrees_with_the_naive_statement(task: dict[str, Any], packet: dict[str, Any]) -> None:
    """Every field of the result is what the contract's text says, for any task and packet."""
    assert evaluate_task(task, packet) == naive.evaluate_task(task, packet)


@given(our.tasks(), our.packets())
def test_the_dataclass_and_the_raw_row_judge_alike(
    task: dict[str, Any], packet: dict[str, Any]
) -> None:
    """`task_from_mapping` loses nothing that scoring needs."""
    assert evaluate_task(task_from_mapping(task), packet) == evaluate_task(task, packet)


@given(our.tasks(), our.packets())
def test_latency_never_touches_sufficiency(task: dict[str, Any], packet: dict[str, Any]) -> None:
    """Whatever the wall time, the sufficiency side of the result stays the same."""
    sufficiency = ("sufficiency_status", "sufficiency_failure_kind", "failed_checks")
    seen = {
        json.dumps(
            [evaluate_task(task, {**packet, "wall_ms": wall_ms})[name] for name in sufficiency]
        )
        for wall_ms in (None, 0, 10**9)
    }
    assert len(seen) == 1


@given(our.tasks(), our.packets())
def test_results_are_plain_json(task: dict[str, Any], packet: dict[str, Any]) -> None:
    """A result survives a round trip through canonical JSON unchanged."""
    result = evaluate_task(task, packet)
    assert json.loads(canonical_bytes(result)) == result


def test_the_task_is_a_frozen_dataclass() -> None:
    """The public type keeps the seed's promise."""
    task = task_from_mapping({})
    assert dataclasses.is_dataclass(NavigationFitnessTask)
    with pytest.raises(dataclasses.FrozenInstanceError):
        task.task_id = "other"  # type: ignore[misc]


def test_missing_and_null_fields_degrade_visibly() -> None:
    """An empty row becomes the public defaults, and says so field by field."""
    task = task_from_mapping({"family": None})
    assert task == NavigationFitnessTask(
        "unknown_task", "public_fixture", "", "context_pack", (), (), 1500, "first_contact", ()
    )
    assert task.defaulted_fields == tuple(naive.DEFAULTS)


def test_unmeasured_time_never_passes_for_fast() -> None:
    """Without a wall time there is no latency pass."""
    result = evaluate_task({"task_id": "t"}, {"first_contact_command": "x"})
    assert (result["latency_status"], result["wall_ms"]) == ("unmeasured", None)


def test_wall_time_is_judged_as_it_is_kept() -> None:
    """Three decimals are kept, and the verdict is on the number that is shown."""
    task = {"latency_budget_ms": 100}
    assert evaluate_task(task, {"wall_ms": 100.0004})["latency_status"] == "pass"
    assert evaluate_task(task, {"wall_ms": 100.0006})["latency_status"] == "fail"


@pytest.mark.parametrize(
    ("task", "field", "found"),
    [
        ({"expected_artifacts": "a"}, "expected_artifacts", "string"),
        ({"expected_artifacts": [1]}, "expected_artifacts[0]", "integer"),
        ({"expected_artifacts": {"a": 1}}, "expected_artifacts", "object"),
        ({"scent_terms": "navigation"}, "scent_terms", "string"),
        ({"forbidden_first_routes": [None]}, "forbidden_first_routes[0]", "null"),
        ({"task_id": 5}, "task_id", "integer"),
        ({"latency_budget_ms": 0}, "latency_budget_ms", "0"),
        ({"latency_budget_ms": -1}, "latency_budget_ms", "-1"),
        ({"latency_budget_ms": True}, "latency_budget_ms", "boolean true"),
        ({"latency_budget_ms": "5"}, "latency_budget_ms", "string"),
        ({"latency_budget_ms": 1.5}, "latency_budget_ms", "number"),
        ({"latency_budget_ms": 2**53}, "latency_budget_ms", "9007199254740992"),
        ({"draft": True}, "draft", "true"),
        ({"task_prompt": "\ud800"}, "task", None),
    ],
)
def test_a_wrong_type_is_not_a_default(task: dict[str, Any], field: str, found: str | None) -> None:
    """A field of the wrong type is an error that names it; it never reads as 'missing'."""
    with pytest.raises(InputError) as caught:
        task_from_mapping(task)
    assert caught.value.field == field
    assert caught.value.exit_status == 2
    if found is not None:
        assert found in str(caught.value.found)


@pytest.mark.parametrize(
    ("packet", "field"),
    [
        ({"wall_ms": -1}, "wall_ms"),
        ({"wall_ms": float("nan")}, "wall_ms"),
        ({"wall_ms": float("inf")}, "wall_ms"),
        ({"wall_ms": True}, "wall_ms"),
        ({"wall_ms": "5"}, "wall_ms"),
        ({"wall_ms": 2**53}, "wall_ms"),
        ({"timed_out": 1}, "timed_out"),
        ({"error": ["x"]}, "error"),
        ({"error": 5}, "error"),
        ({"error": {"n": 2**53}}, "error"),
        ({"selected_artifacts": "a"}, "selected_artifacts"),
        ({"selected_rows": {}}, "selected_rows"),
        ({"selected_rows": [{"title": 5}]}, "selected_rows[0].title"),
        ({"attempt": 0}, "attempt"),
    ],
)
def test_a_bad_packet_is_named(packet: dict[str, Any], field: str) -> None:
    """Each unusable packet field is named by its path."""
    with pytest.raises(InputError) as caught:
        evaluate_task({"task_id": "t"}, packet)
    assert caught.value.field == f"packet.{field}"


def test_a_forbidden_text_needs_a_known_command() -> None:
    """Without a first command the check can't be made: unscored, not passed."""
    task = {"forbidden_first_routes": ["grep"]}
    for packet in ({}, {"first_contact_command": None}, {"first_contact_command": " "}):
        assert evaluate_task(task, packet)["forbidden_status"] == "unscored"


def test_results_do_not_depend_on_who_holds_the_task() -> None:
    """A task made by hand has no defaulted fields: its maker chose every value."""
    task = NavigationFitnessTask(task_id="t", expected_artifacts=("a",))
    result = evaluate_task(task, {"selected_artifacts": ["a"]})
    assert result["recall_at_packet"] == 1
    assert [name for name in result["defaulted_fields"] if not name.startswith("packet.")] == []


class _Text(str):
    __slots__ = ()


def test_numbers_of_numpy_are_numbers() -> None:
    """Values are taken for what they are, whatever class a notebook gave them."""
    numpy = pytest.importorskip("numpy")
    task = {
        "task_id": numpy.str_("t"),
        "expected_artifacts": numpy.array(["a", "b"]),
        "latency_budget_ms": numpy.int64(5),
        _Text("relevance"): {_Text("a"): numpy.int32(2)},
    }
    packet = {
        "wall_ms": numpy.float32(4.5),
        "timed_out": numpy.bool_(False),
        "selected_artifacts": ("b", _Text("a")),
        "selected_rows": [{"artifact_ids": {"d", "c"}}],
    }
    plain_task = {
        "task_id": "t",
        "expected_artifacts": ["a", "b"],
        "latency_budget_ms": 5,
        "relevance": {"a": 2},
    }
    plain_packet = {
        "wall_ms": 4.5,
        "timed_out": False,
        "selected_artifacts": ["b", "a"],
        "selected_rows": [{"artifact_ids": ["c", "d"]}],
    }
    expected = evaluate_task(plain_task, plain_packet)
    assert evaluate_task(task, packet) == expected
    document = {"cases": [{"task": task, "packet": packet}]}
    assert evaluate_benchmark(document)["task_results"] == [expected]
    for value in (numpy.float64(5), numpy.bool_(True), numpy.array([5]), numpy.str_("5")):
        with pytest.raises(InputError, match="latency_budget_ms"):
            evaluate_task({"latency_budget_ms": value}, {})


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("e", "cafe\u0301", False),  # composed, its last letter is another one
        ("\u00e9", "CAFE\u0301", True),
        ("cafe", "CAFE", True),
        ("\u00e9", "e", False),
    ],
)
def test_scent_is_looked_for_in_folded_text(term: str, text: str, found: bool) -> None:
    """What stands there letter for letter may be part of another character."""
    result = evaluate_task({"scent_terms": [term]}, {"summary": text})
    assert (result["scent_status"] == "pass") is found
