"""Scoring files: the same bytes however it is done, and one clear message for bad input."""

import gzip
import hashlib
import io
import json
import multiprocessing
import random
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
import strategies as our
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import RunWayproof, write_lines
from wayproof.bundles.manifest import read_manifest
from wayproof.errors import InputError, OutputError
from wayproof.evidence.fitness_names import DEBTS_NAME, RESULTS_NAME, SUMMARY_NAME
from wayproof.fitness import evaluate_benchmark
from wayproof.fitness.score import ScoreRequest, score

FILES = (RESULTS_NAME, DEBTS_NAME, SUMMARY_NAME)


def _digests(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def _score(folder: Path, tasks: list[Any], packets: list[Any], **options: Any) -> dict[str, Any]:
    request = ScoreRequest(
        tasks=write_lines(folder / "tasks.jsonl", tasks),
        packets=write_lines(folder / "packets.jsonl", packets),
        **options,
    )
    return score(request, folder / "out", overwrite=True)


def _many(count: int, attempts: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    tasks = [
        {
            "task_id": f"task-{number * 37 % count:04d}",
            "task_prompt": "p" * (number % 50) * 40,
            "route_type": f"type-{number % 3}",
            "expected_artifacts": [f"a{number}", f"b{number % 7}"],
            "scent_terms": ["Alpha"] if number % 2 else [],
        }
        for number in range(count)
    ]
    packets = [
        {
            "task_id": task["task_id"],
            "attempt": attempt,
            "first_contact_command": "look",
            "wall_ms": (number * 731 + attempt * 997) % 3000,
            "selected_artifacts": [f"a{number}"] * (attempt % 2) + ["x"],
            "summary": "alpha" if attempt % 3 else "",
        }
        for number, task in enumerate(tasks)
        if number % 11  # some tasks have no packet
        for attempt in range(1, 1 + (attempts if number % 5 else 1))
    ]
    return tasks, packets


def _states_something(task: dict[str, Any]) -> bool:
    names = ("expected_artifacts", "scent_terms", "forbidden_first_routes")
    return any(text.strip() for name in names for text in task.get(name) or [])


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(("t1", "é", "zz", "Z")), unique=True, min_size=1),
    st.data(),
)
def test_score_agrees_with_evaluate_benchmark(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str], data: st.DataObject
) -> None:
    """Two separate files and one document give the same results, debts and summary."""
    tasks = [data.draw(our.tasks(st.just(task_id))) for task_id in ids]
    packets = []
    cases: list[dict[str, Any]] = []
    for task in sorted(tasks, key=lambda task: task["task_id"].encode()):
        attempts = data.draw(st.lists(st.integers(1, 3), unique=True, max_size=2).map(sorted))
        for attempt in attempts:
            packet = {**data.draw(our.packets()), "attempt": attempt}
            cases.append({"task": task, "packet": packet})
            packets.append({**packet, "task_id": task["task_id"]})
        if not attempts:
            cases.append({"task": task, "packet": None})
    folder = tmp_path_factory.mktemp("score")
    suite = evaluate_benchmark({"suite": "tasks", "cases": cases})
    if not any(map(_states_something, tasks)):
        with pytest.raises(InputError, match="no task states anything"):
            _score(folder, tasks, packets)
        return
    record = _score(folder, tasks, data.draw(st.permutations(packets)))
    assert _rows(folder / "out" / RESULTS_NAME) == suite.pop("task_results")
    assert _rows(folder / "out" / DEBTS_NAME) == suite.pop("debt_candidates")
    for name in ("ignored_packet_count", "draft_task_count", "draft_packet_count"):
        assert record.pop(name) == 0
    assert sum(sum(row.values()) for row in record.pop("sufficiency_latency_matrix").values()) == (
        len(cases)
    )
    assert record == suite


@pytest.mark.parametrize("attempts", [1, 4])
def test_the_same_bytes_for_any_order_and_any_number_of_processes(
    tmp_path: Path, attempts: int
) -> None:
    """Order of lines and number of processes change nothing."""
    tasks, packets = _many(400, attempts)
    _score(tmp_path, tasks, packets)
    wanted = _digests(tmp_path / "out")
    for processes in (1, 2, 4):
        random.Random(processes).shuffle(packets)
        random.Random(processes).shuffle(tasks)
        _score(tmp_path, tasks, packets, processes=processes)
        assert _digests(tmp_path / "out") == wanted


class _Twice(Executor):
    """An engine that loses every machine once: it runs each unit twice, side by side."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(4)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        first = self._threads.submit(fn, *args, **kwargs)
        second = self._threads.submit(fn, *args, **kwargs)
        first.exception()
        return second

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait, cancel_futures=cancel_futures)


@pytest.mark.parametrize(
    "make",
    [_Twice, lambda: ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))],
)
def test_the_same_bytes_on_any_executor(tmp_path: Path, make: Callable[[], Executor]) -> None:
    """Also where units run twice, or in processes that share no memory with this one."""
    tasks, packets = _many(200, 3)
    _score(tmp_path, tasks, packets)
    expected = _digests(tmp_path / "out")
    request = ScoreRequest(
        tasks=tmp_path / "tasks.jsonl", packets=tmp_path / "packets.jsonl", processes=3
    )
    with make() as executor:
        score(request, tmp_path / "elsewhere", executor=executor)
    assert _digests(tmp_path / "elsewhere") == expected


def test_the_same_bytes_when_everything_spills(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sorting outside memory, with many runs and their compaction, changes nothing."""
    tasks, packets = _many(300, 3)
    _score(tmp_path, tasks, packets)
    wanted = _digests(tmp_path / "out")
    monkeypatch.setattr("wayproof.parallel.external_sort.DEFAULT_BUDGET_BYTES", 600)
    monkeypatch.setattr("wayproof.parallel.external_sort._MAX_OPEN_RUNS", 5)
    monkeypatch.setattr("wayproof.parallel.external_sort._WINDOW_BYTES", 3000)
    random.Random(7).shuffle(packets)
    _score(tmp_path, tasks, packets)
    assert _digests(tmp_path / "out") == wanted


def test_the_same_bytes_for_any_hash_seed_locale_and_time_zone(
    tmp_path: Path, wayproof: RunWayproof
) -> None:
    """Nothing of the environment reaches a result."""
    tasks, packets = _many(60, 2)
    paths = (
        write_lines(tmp_path / "tasks.jsonl", tasks),
        write_lines(tmp_path / "packets.jsonl", packets),
    )
    seen = set()
    for number, env in enumerate(
        (
            {"PYTHONHASHSEED": "0"},
            {"PYTHONHASHSEED": "12345", "LC_ALL": "C", "TZ": "Pacific/Chatham"},
            {"PYTHONHASHSEED": "1", "PYTHONUTF8": "0", "LANG": "POSIX", "COLUMNS": "40"},
        )
    ):
        out = tmp_path / f"out-{number}"
        arguments = ("--tasks", paths[0], "--packets", paths[1], "--out", out)
        assert wayproof("fitness", "score", *arguments, env=env).status == 0
        seen.add(tuple(_digests(out).items()))
    assert len(seen) == 1


def test_gzip_and_pipes_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plain, compressed (whatever its name) or standard input: one result."""
    tasks, packets = _many(50, 2)
    _score(tmp_path, tasks, packets)
    wanted = _digests(tmp_path / "out")
    squeezed = tmp_path / "packets.data"
    squeezed.write_bytes(gzip.compress((tmp_path / "packets.jsonl").read_bytes()))
    request = ScoreRequest(tasks=tmp_path / "tasks.jsonl", packets=squeezed)
    score(request, tmp_path / "out-gz")
    assert _digests(tmp_path / "out-gz") == wanted

    class Stdin:
        buffer = io.BufferedReader(io.BytesIO((tmp_path / "packets.jsonl").read_bytes()))

    monkeypatch.setattr(sys, "stdin", Stdin)
    score(ScoreRequest(tasks=tmp_path / "tasks.jsonl", packets=Path("-")), tmp_path / "out-pipe")
    assert _digests(tmp_path / "out-pipe") == wanted
    manifests = [read_manifest(tmp_path / name) for name in ("out", "out-pipe")]
    assert manifests[0].inputs == manifests[1].inputs


def test_line_endings_blank_lines_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    """Files from Windows are files too."""
    tasks, packets = _many(20, 1)
    _score(tmp_path, tasks, packets)
    wanted = _digests(tmp_path / "out")
    for name in ("tasks.jsonl", "packets.jsonl"):
        data = (tmp_path / name).read_bytes()
        dressed = b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n \r\n").rstrip(b"\r\n ")
        (tmp_path / name).write_bytes(dressed)
    request = ScoreRequest(tasks=tmp_path / "tasks.jsonl", packets=tmp_path / "packets.jsonl")
    score(request, tmp_path / "out-dressed")
    assert _digests(tmp_path / "out-dressed") == wanted


def test_summary_only_writes_the_same_summary_and_nothing_else(tmp_path: Path) -> None:
    """The numbers don't depend on whether the lists are kept."""
    tasks, packets = _many(40, 3)
    full = _score(tmp_path, tasks, packets)
    wanted = (tmp_path / "out" / SUMMARY_NAME).read_bytes()
    brief = _score(tmp_path, tasks, packets, summary_only=True)
    assert brief == full
    assert (tmp_path / "out" / SUMMARY_NAME).read_bytes() == wanted
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "manifest.json",
        SUMMARY_NAME,
    ]


def test_without_a_folder_nothing_is_written(tmp_path: Path) -> None:
    """The summary comes back; the disk stays as it was."""
    tasks, packets = _many(10, 1)
    full = _score(tmp_path, tasks, packets)
    before = sorted(tmp_path.rglob("*"))
    request = ScoreRequest(tasks=tmp_path / "tasks.jsonl", packets=tmp_path / "packets.jsonl")
    assert score(request, None) == full
    assert sorted(tmp_path.rglob("*")) == before


def test_a_task_without_packet_is_scored_not_dropped(tmp_path: Path) -> None:
    """Every task has at least one result."""
    _score(tmp_path, [{"task_id": "b", "scent_terms": ["x"]}, {"task_id": "a"}], [])
    results = _rows(tmp_path / "out" / RESULTS_NAME)
    assert [(row["task_id"], row["error"]) for row in results] == [
        ("a", "no packet captured"),
        ("b", "no packet captured"),
    ]


def test_packets_without_task_are_counted_when_set_aside(tmp_path: Path) -> None:
    """`--ignore-unknown` drops nothing in silence."""
    packets = [{"task_id": "other"}, {"task_id": "a"}, {"task_id": "more"}]
    tasks = [{"task_id": "a", "expected_artifacts": ["x"]}]
    record = _score(tmp_path, tasks, packets, ignore_unknown=True)
    assert record["ignored_packet_count"] == 2
    assert record["summary"]["task_count"] == 1


def test_ids_sort_by_their_bytes(tmp_path: Path) -> None:
    """One order for every language and machine: that of UTF-8."""
    ids = ["\U0001f600", "\uffee", "b", "B", "é", "e\u0301", "a#1", "a"]
    _score(tmp_path, [{"task_id": task_id, "scent_terms": ["x"]} for task_id in ids], [])
    written = [row["task_id"] for row in _rows(tmp_path / "out" / RESULTS_NAME)]
    assert written == sorted(ids, key=lambda task_id: task_id.encode())


TASK = b'{"task_id": "a"}\n'
BAD_TASKS = [
    (b"{\n", 1, "not JSON"),
    (TASK + b"42\n", 2, "not an object"),
    (TASK + b"\n\n[1]\n", 4, "not an object"),
    (TASK + TASK, 2, "duplicate task_id"),
    (b'{"task_id": "a", "task_id": "b"}\n', 1, "duplicate key"),
    (b'{"task_id": "a", "x" : 1, "x" : 2}\n', 1, "duplicate key"),
    (b'{"task_id": "a", "x": {"y:y": 1, "y:y": 2}}\n', 1, "duplicate key"),
    (b"{}\n", 1, "task has no task_id"),
    (b'{"task_id": null}\n', 1, "task has no task_id"),
    (b'{"task_id": "a", "expected_artifacts": "a"}\n', 1, "expected_artifacts"),
    (b'{"task_id": "a", "latency_budget_ms": 0}\n', 1, "latency_budget_ms"),
    (b'{"task_id": "a", "draft": true}\n', 1, "unfilled draft"),
    (b'{"task_id": "\xff"}\n', 1, "not valid UTF-8"),
    (b'{"task_id": "a", "note": "\xff"}\n', 1, "not valid UTF-8"),
    (b'{"task_id": "\\ud800"}\n', 1, "lone surrogate"),
    (b'{"task_id": "a", "note": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n", 1, "nested"),
]
BAD_PACKETS = [
    (b"{\n", 1, "not JSON"),
    (b'{"task_id": "a"}\n42\n', 2, "not an object"),
    (b'{"task_id": "b"}\n', 1, "unknown task"),
    (b"{}\n", 1, "packet has no task_id"),
    (b'{"task_id": "a"}\n{"task_id": "a"}\n', 2, "two packets for one task and attempt"),
    (b'{"task_id": "a", "attempt": 1}\n\n{"task_id": "a"}\n', 3, "two packets"),
    (b'{"task_id": "a", "attempt": 0}\n', 1, "attempt"),
    (b'{"task_id": "a", "wall_ms": -1}\n', 1, "wall_ms"),
    (b'{"task_id": "a", "wall_ms": NaN}\n', 1, "NaN"),
    (b'{"task_id": "a", "wall_ms": true}\n', 1, "wall_ms"),
    (b'{"task_id": "a", "wall_ms": 9007199254740992}\n', 1, "2^53"),
    (b'{"task_id": "a", "error": {"n": 9007199254740992}}\n', 1, "2^53"),
    (b'{"task_id": "a", "error": {"n": [{"m": 9007199254740993.0}]}}\n', 1, "2^53"),
    (b'{"task_id": "a", "error": {"n": -1e300}}\n', 1, "2^53"),
    (b'\xef\xbb\xbf{"task_id": "a"}\n\xef\xbb\xbf{"task_id": "a"}\n', 2, "not JSON"),
    (b'{"task_id": "a", "selected_rows": [{}, {"title": 1}]}\n', 1, "selected_rows[1].title"),
    (b'{"task_id": "a", "summary": "\\udfff"}\n', 1, "lone surrogate"),
    (b'{"task_id": "a", "note": "\xc3("}\n', 1, "not valid UTF-8"),
    (b"[" * 100_000 + b"\n", 1, "nested"),
]


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize(
    ("role", "data", "line", "part"),
    [
        *[("tasks", *bad) for bad in BAD_TASKS],
        *[("packets", *bad) for bad in BAD_PACKETS],
    ],
)
def test_bad_input_is_named_and_nothing_is_written(
    tmp_path: Path, role: str, data: bytes, line: int, part: str, processes: int
) -> None:
    """One message with file, line and field; no folder, no leftovers."""
    files = {"tasks": TASK, "packets": b"", role: data}
    paths = {}
    for name, content in files.items():
        paths[name] = tmp_path / f"{name}.jsonl"
        paths[name].write_bytes(content)
    request = ScoreRequest(tasks=paths["tasks"], packets=paths["packets"], processes=processes)
    with pytest.raises(InputError) as caught:
        score(request, tmp_path / "out")
    assert (caught.value.file, caught.value.line) == (str(paths[role]), line)
    assert part in str(caught.value)
    assert caught.value.exit_status == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packets.jsonl", "tasks.jsonl"]


def test_the_first_bad_line_is_named_whatever_comes_after(tmp_path: Path) -> None:
    """Mending one line at a time goes down the file, with any number of processes."""
    packets: list[Any] = [{"task_id": "a", "attempt": number} for number in range(1, 2000)]
    packets[150]["wall_ms"] = -1
    packets[1700]["timed_out"] = "yes"
    for processes in (1, 3):
        with pytest.raises(InputError) as caught:
            _score(tmp_path, [{"task_id": "a"}], packets, processes=processes)
        assert (caught.value.line, caught.value.field) == (151, "wall_ms")


def test_a_line_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit holds after decompression, so that a small file can't fill the memory."""
    monkeypatch.setattr("wayproof.lines.MAX_LINE_BYTES", 1000)
    line = json.dumps({"task_id": "a", "summary": "x" * 2000}).encode()
    (tmp_path / "p.gz").write_bytes(gzip.compress(line))
    tasks = write_lines(tmp_path / "t.jsonl", [{"task_id": "a"}])
    with pytest.raises(InputError, match="line is too long"):
        score(ScoreRequest(tasks=tasks, packets=tmp_path / "p.gz"), tmp_path / "out")


def test_damaged_gzip_is_refused(tmp_path: Path) -> None:
    """A truncated download doesn't pass for a short file."""
    whole = gzip.compress(json.dumps({"task_id": "a"}).encode() * 100)
    (tmp_path / "p.gz").write_bytes(whole[: len(whole) // 2])
    tasks = write_lines(tmp_path / "t.jsonl", [{"task_id": "a"}])
    with pytest.raises(InputError, match="damaged gzip"):
        score(ScoreRequest(tasks=tasks, packets=tmp_path / "p.gz"), tmp_path / "out")


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    """Neither a traceback nor a half-made folder."""
    tasks = write_lines(tmp_path / "t.jsonl", [{"task_id": "a"}])
    with pytest.raises(InputError, match="can't be read"):
        score(ScoreRequest(tasks=tasks, packets=tmp_path / "none"), tmp_path / "out")
    with pytest.raises(InputError, match="can't be read"):
        score(ScoreRequest(tasks=tmp_path, packets=tasks), tmp_path / "out")
    with pytest.raises(OutputError, match="doesn't exist"):
        score(ScoreRequest(tasks=tasks, packets=tasks), tmp_path / "no" / "out")
    with pytest.raises(InputError, match="standard input"):
        score(ScoreRequest(tasks=Path("-"), packets=Path("-")), tmp_path / "out")


def test_an_existing_folder_is_refused_without_overwrite(tmp_path: Path) -> None:
    """A result is never replaced by accident; a folder that is no bundle never at all."""
    tasks, packets = _many(5, 1)
    _score(tmp_path, tasks, packets)
    request = ScoreRequest(tasks=tmp_path / "tasks.jsonl", packets=tmp_path / "packets.jsonl")
    before = _digests(tmp_path / "out")
    with pytest.raises(OutputError, match="already exists"):
        score(request, tmp_path / "out")
    assert _digests(tmp_path / "out") == before
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("x")
    with pytest.raises(OutputError, match="not a wayproof bundle"):
        score(request, tmp_path / "precious", overwrite=True)


def test_the_real_rankers_score_as_their_publishers_say(shared_data: Path, tmp_path: Path) -> None:
    """287 real tasks: the numbers that a correct scorer must show."""
    data = shared_data / "agent-retrieval-bench"
    for name, recall, sufficient in (("lexical", 0.57317, 146), ("repomap", 0.66864, 171)):
        request = ScoreRequest(tasks=data / "tasks.jsonl", packets=data / f"packets-{name}.jsonl")
        record = score(request, tmp_path / name)
        summary = record["summary"]
        assert round(summary["mean_recall_at_packet"], 5) == recall
        assert summary["sufficiency_pass_count"] == sufficient
        assert summary["latency_unmeasured_count"] == 287
        assert summary["latency_pass_count"] == 0
        assert summary["debt_candidate_count"] == 287 - sufficient
        assert {kind: row["task_count"] for kind, row in record["route_type_metrics"].items()} == {
            "code2test": 106,
            "trace2code": 101,
            "comment2context": 80,
        }


def test_progress_is_reported_as_the_file_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long file shows how far it is, in one process or several."""
    monkeypatch.setattr("wayproof.fitness.chunks._REPORT_BYTES", 1000)
    tasks, packets = _many(100, 2)
    request = ScoreRequest(
        tasks=write_lines(tmp_path / "tasks.jsonl", tasks),
        packets=write_lines(tmp_path / "packets.jsonl", packets),
    )
    size = request.packets.stat().st_size
    for processes in (1, 2):
        heard: list[tuple[int, int]] = []
        again = msgspec.structs.replace(request, processes=processes)
        score(again, None, progress=lambda done, total, heard=heard: heard.append((done, total)))  # type: ignore[misc]
        assert len(heard) > 3
        assert heard == sorted(heard)
        assert {total for _, total in heard} == {size}
