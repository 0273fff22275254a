"""Scoring from Python: what goes in, what comes out, and how it is refused."""

import copy
import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import polars as pl
import pytest

import wayproof
from conftest import RunWayproof, write_lines
from wayproof.fitness import evaluate_task

TASKS: list[dict[str, Any]] = [
    {"task_id": "b", "expected_artifacts": ["src/a.py", "src/*"], "scent_terms": ["retry"]},
    {"task_id": "a", "expected_artifacts": ["docs/x.md"], "latency_budget_ms": 100},
    {"task_id": "c", "note": "an unknown key"},
]
PACKETS: list[dict[str, Any]] = [
    {"task_id": "a", "selected_artifacts": ["docs/x.md"], "wall_ms": 250.5, "timed_out": False},
    {"task_id": "b", "selected_artifacts": ["src/b.py"], "summary": "Retry", "own": {"k": 1}},
]


def test_evaluate_says_what_the_contracts_function_says() -> None:
    """One judge: ``evaluate`` is ``evaluate_task`` with a type."""
    for task, packet in ((TASKS[0], PACKETS[1]), (TASKS[1], PACKETS[0])):
        result = wayproof.evaluate(task, packet)
        assert isinstance(result, wayproof.TaskResult)
        assert msgspec.to_builtins(result) == evaluate_task(task, packet)


def test_evaluate_takes_records_and_nothing() -> None:
    """A task as the public record; no packet is a route error, never a pass."""
    task = wayproof.NavigationFitnessTask(task_id="t", expected_artifacts=("x",))
    assert wayproof.evaluate(task, {"selected_artifacts": ("x",)}).recall_at_packet == 1
    missing = wayproof.evaluate(task, None)
    assert missing.sufficiency_failure_kind == "route_error"


def test_score_gives_what_the_command_gives(tmp_path: Path, wayproof_command: RunWayproof) -> None:
    """Iterables and files, Python and the command line: the same bytes."""
    tasks = write_lines(tmp_path / "tasks.jsonl", TASKS)
    packets = write_lines(tmp_path / "packets.jsonl", PACKETS)
    ran = wayproof_command(
        "fitness", "score", "--tasks", tasks, "--packets", packets, "--out", tmp_path / "command"
    )
    assert ran.status == 0
    wayproof.score(tasks, packets, out=tmp_path / "files")
    wayproof.score(
        iter(TASKS), (one for one in PACKETS), suite="tasks", out=str(tmp_path / "dicts")
    )
    for name in ("results.jsonl", "debts.jsonl", "summary.json"):
        wanted = (tmp_path / "command" / name).read_bytes()
        assert (tmp_path / "files" / name).read_bytes() == wanted
        assert (tmp_path / "dicts" / name).read_bytes() == wanted


def test_a_score_is_typed_and_loses_no_field() -> None:
    """The record has the wire names, and every one of them."""
    scored = wayproof.score(TASKS, PACKETS)
    assert scored.suite == "public_fixture"
    assert scored.summary.task_count == 3
    assert [result.task_id for result in scored.results] == ["a", "b", "c"]
    assert scored.results[-1].sufficiency_failure_kind == "route_error"
    assert {type(debt) for debt in scored.debts} == {
        wayproof.SufficiencyDebt,
        wayproof.LatencyDebt,
    }
    assert scored.folder is None


def test_the_typed_record_is_the_written_one(tmp_path: Path) -> None:
    """A key that ``summary.json`` gains must be given a type: none is dropped in silence."""
    from wayproof.evidence.fitness_summary import SuiteRecord

    wayproof.score(TASKS, PACKETS, out=tmp_path / "out")
    written = (tmp_path / "out/summary.json").read_bytes()
    typed = msgspec.json.decode(written, type=SuiteRecord)
    assert json.loads(msgspec.json.encode(typed)) == json.loads(written)


def test_results_are_a_sequence(tmp_path: Path) -> None:
    """Indexes, slices, length and iteration agree; results outlive the score they came from."""
    results = wayproof.score(TASKS, PACKETS).results
    gc.collect()
    listed = list(results)
    assert len(results) == 3
    assert [results[0], results[1], results[2]] == listed
    assert results[-1] == listed[-1]
    assert results[1:] == listed[1:]
    assert listed[0] in results
    with pytest.raises(IndexError):
        results[3]
    empty = wayproof.score(TASKS, PACKETS, out=tmp_path / "o", summary_only=True).results
    assert list(empty) == []


def test_temporary_folders_do_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ``out`` nothing is left once nobody holds the results."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scored = wayproof.score(TASKS, PACKETS)
    assert list(tmp_path.iterdir()) != []
    del scored
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("tasks", "packets", "said"),
    [
        (3, [], "`tasks`: not a file or a list of records"),
        ({"task_id": "a"}, [], "`tasks`: not a file or a list of records"),
        (TASKS, None, "`packets`: not a file or a list of records"),
        ([3], [], "tasks[0], task: not an object"),
        ([{"task_id": "a"}, {"latency_budget_ms": "5"}], [], "tasks[1], latency_budget_ms"),
        ([{"task_id": "a", "latency_budget_ms": float("nan")}], [], "tasks[0], latency_budget_ms"),
        ([{"task_id": "a"}, {"task_id": "a"}], [], "tasks[1], task_id: duplicate task_id"),
        ([{"family": "f"}], [], "tasks[0], task_id: task has no task_id"),
        (TASKS, [{"task_id": "a", "wall_ms": "5"}], "packets[0], wall_ms: wrong type"),
        (TASKS, [{"task_id": "a", "wall_ms": True}], "packets[0], wall_ms: wrong type"),
        (TASKS, [{"task_id": "a", "wall_ms": float("nan")}], "packets[0], wall_ms"),
        (TASKS, [{"task_id": b"a"}], "packets[0], task_id"),
        (TASKS, [*PACKETS, {"task_id": "z"}], "packets[2], task_id: packet for an unknown task"),
        (TASKS, [{"task_id": "a", "error": {"x": float("inf")}}], "packets[0], error"),
        (TASKS, [{"task_id": "a", "summary": "\ud800"}], "packets[0]"),
        ("/no/such/file", [], "/no/such/file: can't be read"),
    ],
)
def test_what_cannot_be_used_is_named(tasks: Any, packets: Any, said: str, tmp_path: Path) -> None:
    """Setting or record, field, what is wrong: always an ``InputError``, and nothing is written."""
    with pytest.raises(wayproof.InputError) as raised:
        wayproof.score(tasks, packets, out=tmp_path / "out")
    assert str(raised.value).startswith(said)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"suite": 3}, "`suite`"),
        ({"processes": 0}, "`processes`"),
        ({"processes": "2"}, "`processes`"),
        ({"processes": True}, "`processes`"),
        ({"out": 3}, "`out`"),
        ({"gates": 3}, "`gates`"),
        ({"gates": ["60%"]}, "`gates`"),
    ],
)
def test_settings_of_the_wrong_type_are_named(settings: dict[str, Any], said: str) -> None:
    """A wrong Python type is an ``InputError`` with the argument's name."""
    with pytest.raises(wayproof.InputError) as raised:
        wayproof.score(TASKS, PACKETS, **settings)
    assert str(raised.value).startswith(said)


def test_a_generator_that_fails_is_not_hidden() -> None:
    """An error of the caller's own goes through as it is."""

    def broken() -> Iterator[dict[str, Any]]:
        yield PACKETS[0]
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        wayproof.score(TASKS, broken())


def test_drafts_are_set_aside_or_refused() -> None:
    """An unfilled draft is counted; with ``require_filled`` it is an error."""
    tasks = [*TASKS, {"task_id": "d", "draft": True, "expected_artifacts": []}]
    scored = wayproof.score(tasks, PACKETS)
    assert (scored.draft_task_count, scored.summary.task_count) == (1, 3)
    with pytest.raises(wayproof.InputError, match="draft"):
        wayproof.score(tasks, PACKETS, require_filled=True)


def test_numpy_values_are_taken_for_what_they_are() -> None:
    """Strings, numbers, booleans and arrays of NumPy score as plain ones do."""
    task = {"task_id": np.str_("a"), "expected_artifacts": np.array(["x", "y"])}
    packet = {
        "task_id": np.str_("a"),
        "wall_ms": np.float64(12.5),
        "timed_out": np.bool_(False),
        "selected_artifacts": np.array(["x"]),
        "attempt": np.int64(2),
        "selected_rows": ({"kind_id": np.str_("k"), "row_id": "r"},),
    }
    plain_task = {"task_id": "a", "expected_artifacts": ["x", "y"]}
    plain = {
        **copy.deepcopy(packet),
        "task_id": "a",
        "wall_ms": 12.5,
        "timed_out": False,
        "selected_artifacts": ["x"],
        "attempt": 2,
        "selected_rows": [{"kind_id": "k", "row_id": "r"}],
    }
    assert wayproof.evaluate(task, packet) == wayproof.evaluate(plain_task, plain)
    scored = wayproof.score([task], [packet])
    assert scored.to_dicts() == wayproof.score([plain_task], [plain]).to_dicts()


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_results_go_into_a_data_frame_and_rows_come_out_of_one(frame: str) -> None:
    """A round through pandas or polars changes nothing."""
    scored = wayproof.score(TASKS, PACKETS)
    rows = [{"task_id": row["task_id"], "wall_ms": 5.0} for row in scored.to_dicts()]
    if frame == "pandas":
        table = pd.DataFrame(scored.to_dicts())
        counted = table["sufficiency_status"].value_counts().to_dict()
        again: Any = pd.DataFrame(rows).to_dict("records")
    else:
        polar = pl.DataFrame(scored.to_dicts())
        counted = dict(polar["sufficiency_status"].value_counts().iter_rows())
        again = pl.DataFrame(rows).to_dicts()
    assert counted == {
        "pass": scored.summary.sufficiency_pass_count,
        "fail": scored.summary.sufficiency_fail_count,
    }
    assert wayproof.score(TASKS, again).to_dicts() == wayproof.score(TASKS, rows).to_dicts()


def test_gates_are_values() -> None:
    """A gate is made once and held against any score; a wrong bound is named."""
    gates = [
        wayproof.Gate.min_sufficient("1/3"),
        wayproof.Gate.max_debts("latency", 0),
        wayproof.Gate.max_p95_ms(300),
        wayproof.Gate.max_unmeasured(1),
    ]
    scored = wayproof.score(TASKS, PACKETS, gates=gates)
    assert [gate.ok for gate in scored.gates] == [True, False, True, False]
    assert not scored.passed
    assert wayproof.score(TASKS, PACKETS, gates=gates[:1]).passed


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: wayproof.Gate.min_sufficient("much"), "`min_sufficient`"),
        (lambda: wayproof.Gate.min_sufficient(1.5), "`min_sufficient`"),
        (lambda: wayproof.Gate.max_debts("other", 1), "`max_debts`"),  # type: ignore[arg-type]
        (lambda: wayproof.Gate.max_debts("latency", -1), "`max_debts`"),
        (lambda: wayproof.Gate.max_p95_ms(float("nan")), "`max_p95_ms`"),
        (lambda: wayproof.Gate.max_unmeasured(True), "`max_unmeasured`"),
    ],
)
def test_a_gate_without_a_usable_bound_is_refused(make: Any, said: str) -> None:
    """Settings are named as they are spelled in Python."""
    with pytest.raises(wayproof.InputError) as raised:
        make()
    assert str(raised.value).startswith(said)


def test_notebooks_show_tables_and_nothing_hostile() -> None:
    """What stands in a packet is escaped, bounded and never markup."""
    tasks = [{"task_id": "<script>alert(1)</script>", "expected_artifacts": ["<b>"]}]
    scored = wayproof.score(tasks, [])
    shown = [getattr(one, "_repr_html_")() for one in (scored, scored.results)]  # noqa: B009
    assert all(text.startswith("<table>") for text in shown)
    assert not any("<script" in text or "<b>" in text for text in shown)
    assert "&lt;script&gt;" in shown[1]
    assert repr(scored) == "<Score of public_fixture: 0 of 1 sufficient, 0 over budget>"
    assert repr(scored.results) == "<1 records of results.jsonl>"


@pytest.mark.parametrize(
    "task_id", [Path("a"), b"a", 3, ["a"], "\ud800"], ids=["path", "bytes", "int", "list", "half"]
)
def test_an_id_that_is_no_text_is_bad_input(task_id: Any) -> None:
    """No other library's error, and no other text in place of what was given."""
    with pytest.raises(wayproof.InputError, match=r"^packets\[1\]"):
        wayproof.score(TASKS, [PACKETS[0], {"task_id": task_id}])
    with pytest.raises(wayproof.InputError, match=r"^tasks\[3\]"):
        wayproof.score([*TASKS, {"task_id": task_id}], [])


def test_what_json_cannot_hold_is_bad_input() -> None:
    """A list that holds itself, and an object under a key that scoring doesn't know."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(wayproof.InputError, match=r"^packets\[0\].*nested too deeply"):
        wayproof.score(TASKS, [{"task_id": "a", "selected_artifacts": endless}])
    with pytest.raises(wayproof.InputError, match=r"^tasks\[0\].*not a value of JSON"):
        wayproof.score([{"task_id": "a", "note": object()}], [])


@pytest.mark.parametrize("bound", ["1e1000000000", float("inf"), 10**400, True, None])
def test_a_time_that_no_double_holds_is_refused(bound: Any) -> None:
    """Neither a crash nor a wait for a number of gigabytes."""
    with pytest.raises(wayproof.InputError, match="not a time"):
        wayproof.Gate.max_p95_ms(bound)
