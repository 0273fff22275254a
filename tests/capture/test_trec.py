"""TREC files are read, ranked and written as pytrec_eval reads and ranks them."""

import json
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capture.capture_logs import FIXTURES, packets_of
from wayproof.capture import Problems
from wayproof.capture.lines import Source
from wayproof.capture.trec import ranked, read_qrels, read_run, run_lines
from wayproof.cli import main


def _order_by_pytrec_eval(scores: dict[str, float]) -> list[str]:
    """Each document's rank, by making it the only relevant one."""
    ranks = {}
    for document in scores:
        evaluator = pytrec_eval.RelevanceEvaluator({"q": {document: 1}}, {"recip_rank"})
        ranks[document] = round(1 / evaluator.evaluate({"q": scores})["q"]["recip_rank"])
    return sorted(ranks, key=ranks.__getitem__)


DOCUMENTS = ["a", "b", "ab", "B", "10", "9", "é", "z", "数", "\U0001f600", "\uffee", "a.py"]
SCORES = st.sampled_from([0.0, -0.0, 0.5, 0.1, 0.1 + 1e-12, 0.1 + 1e-7, 16777216.0, 16777217.0,
                          1e39, 1e40, -1e39, float("inf"), 7.0]) | st.floats(
    allow_nan=False, width=32)  # fmt: skip


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(DOCUMENTS), SCORES, min_size=1))
def test_order_equals_pytrec_eval(scores: dict[str, float]) -> None:
    """Single precision, ties by the last document id first, in bytes."""
    assert ranked(scores) == _order_by_pytrec_eval(scores)


def test_fixture_run() -> None:
    """A tie in double precision only is one in single precision; the rank column is ignored."""
    first, second = packets_of("trec/run.trec")
    assert first["selected_artifacts"] == ["z.py", "c.py", "b.py", "a.py"]
    assert first["first_contact_command"] is None
    assert first["first_contact_reason"] == "ranked_list"
    assert (first["task_id"] if "task_id" in first else first["source"]["session_id"]) == "t1"
    assert second["selected_artifacts"] == ["x.py"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["t1", "t2"]), st.sampled_from(DOCUMENTS),
            st.integers(-3, 3), st.floats(-5, 5, width=16),
        ), min_size=1, max_size=20, unique_by=lambda row: (row[0], row[1]),
    )
)  # fmt: skip
def test_reading_equals_pytrec_eval(
    tmp_path: Path, rows: list[tuple[str, str, int, float]]
) -> None:
    """Topics, documents, grades and scores are those of pytrec_eval's own parsers."""
    qrels, run = tmp_path / "q", tmp_path / "r"
    qrels.write_text("".join(f"{t} 0\t{d}  {g}\n" for t, d, g, _ in rows), encoding="utf-8")
    run.write_text("\r\n".join(f"{t} Q0 {d} 1 {s} x" for t, d, _, s in rows), encoding="utf-8")
    problems = Problems()
    ours = {one.topic: one.grades for one in read_qrels(Source(qrels, problems=problems))}
    with qrels.open(encoding="utf-8") as file:
        assert ours == pytrec_eval.parse_qrel(file)
    found = {one.topic: one.documents for one in read_run(Source(run, problems=problems))}
    with run.open(encoding="utf-8") as file:
        theirs = pytrec_eval.parse_run(file)
    assert found == {topic: _order_by_pytrec_eval(scores) for topic, scores in theirs.items()}
    assert problems.count == 0


@given(st.lists(st.sampled_from(DOCUMENTS), unique=True, max_size=12))
def test_exported_order_survives_trec_eval(selected: list[str]) -> None:
    """Scores are given so that any reader's ranking is the order of selection."""
    lines = list(run_lines([{"task_id": "t", "selected_artifacts": selected}]))
    scores = {line.decode().split()[2]: float(line.decode().split()[4]) for line in lines}
    assert (_order_by_pytrec_eval(scores) if scores else []) == selected


def _written(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_import_and_export_by_command(tmp_path: Path) -> None:
    """qrels to tasks to qrels, grades kept; run to packets to run, order kept."""
    qrels, run = FIXTURES / "trec/qrels.trec", FIXTURES / "trec/run.trec"
    tasks, packets = tmp_path / "tasks.jsonl", tmp_path / "packets.jsonl"
    command = ["capture", "trec-import", str(run), str(qrels)]
    assert main([*command, "--tasks-out", str(tasks), "--out", str(packets)]) == 0
    first, second = _written(tasks)
    assert first["task_id"] == "t1"
    assert first["expected_artifacts"] == ["a.py", "c.py"]
    assert first["relevance"] == {"a.py": 1, "b.py": 0, "c.py": 2}
    assert second["expected_artifacts"] == ["d.py"]
    assert [one["task_id"] for one in _written(packets)] == ["t1", "t2"]
    again = tmp_path / "again.qrels"
    assert main(["capture", "trec-export", str(tasks), "--out", str(again)]) == 0
    assert again.read_text().split() == qrels.read_text().split()
    run_again = tmp_path / "again.run"
    assert main(["capture", "trec-export", str(packets), "--out", str(run_again)]) == 0
    assert run_again.read_text().splitlines()[0] == "t1 Q0 z.py 1 4 wayproof"
    assert packets_of(run_again)[0]["selected_artifacts"] == ["z.py", "c.py", "b.py", "a.py"]


def test_min_relevance(tmp_path: Path) -> None:
    """A higher grade may be asked for, as trec_eval's -l does."""
    out = tmp_path / "tasks.jsonl"
    qrels = str(FIXTURES / "trec/qrels.trec")
    assert main(["capture", "trec-import", qrels, "--min-relevance", "2", "--out", str(out)]) == 0
    assert [one["expected_artifacts"] for one in _written(out)] == [["c.py"], []]


BAD_ROWS = [
    ("t1 Q0 a.py 1 0.5", "columns"),
    ("t1 Q0 a.py 1 x run", "not a number"),
    ("t1 Q0 a.py 1 nan run", "not a number"),
    ("t1 Q0 z.py 1 0.5 run", "retrieved twice"),
]


@pytest.mark.parametrize(("row", "what"), BAD_ROWS)
def test_bad_rows_are_named(
    tmp_path: Path, row: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A bad row is counted and named, and the others are read."""
    path = tmp_path / "bad.run"
    path.write_text(f"t1 Q0 z.py 1 2.0 run\n{row}\nt1 Q0 y.py 2 1.0 run\n")
    assert main(["capture", str(path)]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["selected_artifacts"] == ["z.py", "y.py"]
    assert "bad.run:2: " in captured.err
    assert what in captured.err


UNEXPORTABLE = [
    ({"task_id": "t", "selected_artifacts": ["a b.py"]}, "white space"),
    ({"task_id": "t 1", "selected_artifacts": ["a"]}, "white space"),
    ({"task_id": "t", "expected_artifacts": ["docs/*"]}, "prefix"),
    ({"task_id": "", "selected_artifacts": ["a"]}, "non-empty"),
]


@pytest.mark.parametrize(("record", "what"), UNEXPORTABLE)
def test_what_trec_cannot_say_is_refused(
    tmp_path: Path, record: dict[str, Any], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An id that would change its meaning is an error, and nothing is written."""
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_text(json.dumps(record))
    assert main(["capture", "trec-export", str(path), "--out", str(out)]) == 2
    assert what in capsys.readouterr().err
    assert not out.exists()


def test_export_takes_one_attempt(tmp_path: Path) -> None:
    """A run holds one list for a topic: which attempt's is said by a flag."""
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    rows = [{"task_id": "t", "attempt": 1, "selected_artifacts": ["a"]},
            {"task_id": "t", "attempt": 2, "selected_artifacts": ["b"]}]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)))
    assert main(["capture", "trec-export", str(path), "--attempt", "2", "--out", str(out)]) == 0
    assert out.read_text() == "t Q0 b 1 1 wayproof\n"
    path.write_text("\n".join(map(json.dumps, [rows[0], rows[0]])))
    assert main(["capture", "trec-export", str(path)]) == 2


def test_a_run_can_be_inspected(capsys: pytest.CaptureFixture[str]) -> None:
    """A ranked list has no timeline, and says so."""
    assert main(["capture", "inspect", str(FIXTURES / "trec/run.trec")]) == 0
    assert "null (ranked_list)" in capsys.readouterr().out
