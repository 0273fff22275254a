"""What `wayproof.fitness/2` added to results, and how the form before is still checked."""

import json
from pathlib import Path
from typing import Any

import pytest

from conftest import write_lines
from wayproof.bundles.manifest import read_manifest
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.fitness_names import DEBTS_NAME, RESULTS_NAME
from wayproof.evidence.fitness_records import SECOND_FORM_FIELDS
from wayproof.fitness import evaluate_task, task_from_mapping
from wayproof.fitness.check_bundle import check_bundle, check_rescored
from wayproof.fitness.score import ScoreRequest, score
from wayproof.fitness.task import in_canonical_order


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _score(
    folder: Path, tasks: list[Any], packets: list[Any], *, first_form: bool = False, **options: Any
) -> dict[str, Any]:
    request = ScoreRequest(
        tasks=write_lines(folder / "tasks.jsonl", tasks),
        packets=write_lines(folder / "packets.jsonl", packets),
        **options,
    )
    return score(request, folder / "out", overwrite=True, first_form=first_form)


def test_the_order_of_the_packet_can_be_had_from_a_result() -> None:
    """Ranked measures need it, and selected ids are kept sorted."""
    rows = [{"kind_id": "k", "row_id": "1", "artifact_ids": ["a", "z"]}]
    result = evaluate_task({}, {"selected_artifacts": ["z", "b", "z", " "], "selected_rows": rows})
    in_order = [result["selected_artifacts"][place] for place in result["selection_order"]]
    assert in_order == ["z", "b", "k:1", "a"]


def test_a_literal_id_is_no_prefix() -> None:
    """An id of TREC that ends in `*` means itself."""
    packet = {"selected_artifacts": ["src/x.py", "docs/*"]}
    task = {"expected_artifacts": ["src/*", "docs/*"], "literal_ids": ["docs/*", "src/*", "x"]}
    result = evaluate_task(task, packet)
    assert result["found_expected_artifacts"] == ["docs/*"]
    assert result["recall_at_packet"] == result["precision_at_packet"] == 0.5
    assert result["literal_ids"] == ["docs/*", "src/*"]
    assert evaluate_task(task_from_mapping(task), packet) == result
    task["literal_ids"] = ["docs/*"]
    assert evaluate_task(task, packet)["recall_at_packet"] == 1


def test_grades_travel_with_the_result_and_judge_nothing() -> None:
    """Ranked measures read them later; a graded literal id is known as one."""
    task = {"relevance": {"b*": 0, "a": 3, "ﬀ": -1, "😀": 1}, "literal_ids": ["b*"]}
    result = evaluate_task({**task, "expected_artifacts": ["a"]}, {"selected_artifacts": ["a"]})
    assert list(result["relevance"]) == ["a", "b*", "😀", "ﬀ"]  # by UTF-16 code units
    assert result["literal_ids"] == ["b*"]
    assert result["sufficiency_status"] == "pass"
    with pytest.raises(InputError, match=r"relevance.*integer"):
        evaluate_task({"relevance": {"a": "1"}}, {})


def test_the_order_of_grades_is_that_of_canonical_json() -> None:
    """Two writers give the same bytes."""
    assert list(in_canonical_order({"é": 1, "z": 1, "": 1, "A": 1})) == ["", "A", "z", "é"]


def test_a_task_is_known_again_by_what_it_gives() -> None:
    """Order of keys, unknown keys, nulls and blanks change no digest; anything else does."""
    task = {"task_id": "t", "expected_artifacts": ["b", "a"], "family": None}
    digest = evaluate_task(task, {})["task_sha256"]
    same = {"expected_artifacts": ["b", " ", "a"], "_note": 1, "task_id": "t", "literal_ids": []}
    assert evaluate_task(same, {})["task_sha256"] == digest
    assert evaluate_task(task_from_mapping(same), {})["task_sha256"] == digest
    changes: list[dict[str, Any]] = [
        {"family": "public_fixture"},
        {"expected_artifacts": ["a", "b"]},
        {"task_prompt": ""},
        {"relevance": {}},
        {"literal_ids": ["a*"]},
        {"latency_budget_ms": 1500},
    ]
    for change in changes:
        assert evaluate_task({**task, **change}, {})["task_sha256"] != digest


@pytest.mark.parametrize(
    ("task", "packet", "vacuous"),
    [
        ({}, {}, True),
        ({"expected_artifacts": []}, {"selected_artifacts": ["a"]}, True),
        ({"expected_artifacts": [" "], "scent_terms": [""]}, {}, True),
        ({"forbidden_first_routes": ["grep"]}, {}, True),  # no first command: unscored
        ({"forbidden_first_routes": ["grep"]}, {"first_contact_command": " "}, True),
        ({"forbidden_first_routes": ["grep"]}, {"first_contact_command": "ls"}, False),
        ({"expected_artifacts": ["a"]}, {"selected_artifacts": ["a"]}, False),
        ({"scent_terms": ["a"]}, {"summary": "a"}, False),
        ({}, {"timed_out": True}, False),
        ({}, {"error": "boom"}, False),
    ],
)
def test_vacuous_is_exactly_what_no_rung_examined(
    task: dict[str, Any], packet: dict[str, Any], vacuous: bool
) -> None:
    """A failure always counts; a pass only where something could have failed."""
    assert evaluate_task(task, packet)["vacuous"] is vacuous


TASKS: list[dict[str, Any]] = [
    {"task_id": "a", "expected_artifacts": ["x"]},
    {"task_id": "a#2", "expected_artifacts": ["x"]},
    {"task_id": "a#02", "expected_artifacts": ["x", "y*"], "literal_ids": ["y*"]},
    {"task_id": "#1", "latency_budget_ms": 1},
]
PACKETS = [
    {"task_id": "a", "attempt": 1, "selected_artifacts": ["x"]},
    {"task_id": "a", "attempt": 2, "selected_artifacts": ["y"]},
    {"task_id": "a#2", "attempt": 1, "selected_artifacts": ["y"]},
    {"task_id": "a#2", "attempt": 3, "selected_artifacts": ["y"]},
    {"task_id": "a#02", "selected_artifacts": ["x", "y1"]},
    {"task_id": "#1", "wall_ms": 5},
]


@pytest.mark.parametrize("processes", [1, 2])
def test_no_two_results_share_a_debt_id(tmp_path: Path, processes: int) -> None:
    """Attempt 2 of task `a` and task `a#2` are two queues' entries; usual ids stay as they are."""
    _score(tmp_path, TASKS, PACKETS, processes=processes)
    assert [row["debt_id"] for row in _rows(tmp_path / "out" / DEBTS_NAME)] == [
        "latency:#1#1",
        "sufficiency:a#2",
        "sufficiency:a#02",
        "sufficiency:a#2#1",
        "sufficiency:a#2#3",
    ]
    manifest = read_manifest(tmp_path / "out")
    assert check_bundle(tmp_path / "out", manifest) == len(PACKETS)


def test_a_bundle_of_the_first_form_is_checked_as_it_was_made(tmp_path: Path) -> None:
    """Also with its inputs: what was scored before the second form scores to the same bytes."""
    tasks = [*TASKS, {"task_id": "v", "expected_artefacts": []}]
    record = _score(tmp_path, tasks, PACKETS, first_form=True, suite="old")
    assert record["schema_version"] == "wayproof.fitness/1"
    assert "vacuous_count" not in record["summary"]
    assert "draft_task_count" not in record
    rows = _rows(tmp_path / "out" / RESULTS_NAME)
    assert not any(name in row for row in rows for name in SECOND_FORM_FIELDS)
    assert [row["recall_at_packet"] for row in rows if row["task_id"] == "a#02"] == [1]
    assert [row["debt_id"] for row in _rows(tmp_path / "out" / DEBTS_NAME)] == [
        "latency:#1",
        "sufficiency:a#2",
        "sufficiency:a#2#1",
        "sufficiency:a#2#3",
        "sufficiency:v",
    ]
    manifest = read_manifest(tmp_path / "out")
    assert check_bundle(tmp_path / "out", manifest) == len(PACKETS) + 1
    check_rescored(tmp_path / "out", manifest, tmp_path / "tasks.jsonl", tmp_path / "packets.jsonl")


@pytest.mark.parametrize("first_form", [True, False])
def test_results_and_summary_are_of_one_form(tmp_path: Path, first_form: bool) -> None:
    """A field of the other form, or one that is missing, is no bundle's."""
    _score(tmp_path, TASKS, PACKETS, first_form=first_form)
    keep = (tmp_path / "out" / RESULTS_NAME).read_bytes()
    manifest = read_manifest(tmp_path / "out")
    _score(tmp_path, TASKS, PACKETS, first_form=not first_form)
    (tmp_path / "out" / RESULTS_NAME).write_bytes(keep)
    with pytest.raises(IntegrityError, match=r"literal_ids: field"):
        check_bundle(tmp_path / "out", manifest)


def test_drafts_are_set_aside_with_a_count(tmp_path: Path) -> None:
    """They and their packets; a file of nothing but drafts, or --require-filled, refuses them."""
    draft = {"task_id": "d", "draft": True}
    packets = [{"task_id": "d"}, {"task_id": "d", "attempt": 2}, {"task_id": "a"}]
    record = _score(tmp_path, [draft, TASKS[0]], packets)
    assert (record["draft_task_count"], record["draft_packet_count"]) == (1, 2)
    assert record["summary"]["task_count"] == 1
    assert record["ignored_packet_count"] == 0
    with pytest.raises(InputError, match="unfilled drafts: 1 of 2 tasks") as caught:
        _score(tmp_path, [TASKS[0], draft], packets, require_filled=True)
    assert caught.value.line == 2
    with pytest.raises(InputError, match="unfilled drafts: 1 of 1 tasks"):
        _score(tmp_path, [draft], [])
    with pytest.raises(InputError, match="duplicate task_id"):
        _score(tmp_path, [draft, {"task_id": "d"}], [])
    with pytest.raises(InputError, match="duplicate task_id"):
        _score(tmp_path, [{"task_id": "d"}, draft], [])


@pytest.mark.parametrize(
    "key",
    [
        "expected_artefacts", "expected_artifact", "expectedartifacts", "Expected_artifacts",
        "scent_term", "scnet_terms", "famliy", "familys", "dratf", "task_ids", "relevence",
        "latency_budget_m", "first_contact_command", "selected_artifacts", "selected_things",
        "wall_ms", "timed_out", "route_hint", "command_used", "literal_id",
        "expectd_artefacts", "latency_bugdet_m", "rout_tipe",
        "EXPECTED_ARTIFACTS", "Expected_Artefacts", "Forbidden_First_Routes", "FAMILY",
        "WALL_MS", "Selected_Artifacts",
    ],
)  # fmt: skip
def test_a_key_that_is_nearly_a_known_one_is_refused(tmp_path: Path, key: str) -> None:
    """A misspelt expectation would expect nothing, and nothing is easily met."""
    bad = {"task_id": "b", key: []}
    with pytest.raises(InputError, match=key) as caught:
        _score(tmp_path, [TASKS[0], bad], [])
    assert caught.value.line == 2
    with pytest.raises(InputError, match=f"task.{key}"):
        evaluate_task(bad, {})


@pytest.mark.parametrize(
    "key",
    [
        "_comment",
        "notes",
        "prompt",
        "fam",
        "tags",
        "difficulty",
        "latency_budget",
        "drafty2",
        "tusk_ids",
        "title",
    ],
)
def test_other_unknown_keys_are_passed_over(tmp_path: Path, key: str) -> None:
    """A task may carry notes; a key that stands twice is refused all the same."""
    _score(tmp_path, [{**TASKS[0], key: "x:y"}], [])
    assert evaluate_task({**TASKS[0], key: 1}, {})["sufficiency_status"] == "fail"


def test_an_escaped_colon_hides_no_key(tmp_path: Path) -> None:
    """Counting colons must not miss a key."""
    line = b'{"task_id": "a", "family": "x\\u003ay", "expected_artefacts": ["q"]}\n'
    (tmp_path / "tasks.jsonl").write_bytes(line)
    (tmp_path / "packets.jsonl").write_bytes(b"")
    request = ScoreRequest(tasks=tmp_path / "tasks.jsonl", packets=tmp_path / "packets.jsonl")
    with pytest.raises(InputError, match="expected_artefacts"):
        score(request, None)


def test_tasks_that_state_nothing_are_refused(tmp_path: Path) -> None:
    """Every share would say "all of them"; the likely causes are named."""
    tasks = [{"task_id": "a", "must_find": ["x"]}, {"task_id": "b", "expected_artifacts": [" "]}]
    with pytest.raises(InputError, match="swapped") as caught:
        _score(tmp_path, tasks, [{"task_id": "a"}])
    assert '2 tasks with the unknown keys "must_find"' in str(caught.value)
    tasks.append({"task_id": "c", "forbidden_first_routes": ["grep"]})
    record = _score(tmp_path, tasks, [{"task_id": task["task_id"]} for task in tasks])
    assert record["summary"]["vacuous_count"] == 3
    assert record["summary"]["mean_sufficiency"] is None
