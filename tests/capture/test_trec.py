"""TREC files are read, ranked and written as pytrec_eval reads and ranks them."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import pytrec_eval
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from capture.capture_logs import FIXTURES, packets_of
from wayproof.capture import Problems
from wayproof.capture.lines import Source
from wayproof.capture.trec import ranked, read_qrels, read_run
from wayproof.capture.trec_export import run_lines
from wayproof.cli import main
from wayproof.fitness import evaluate_benchmark


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
    command = ["trec", "import", str(run), str(qrels)]
    assert main([*command, "--tasks-out", str(tasks), "--out", str(packets)]) == 0
    first, second = _written(tasks)
    assert first["task_id"] == "t1"
    assert first["expected_artifacts"] == ["a.py", "c.py"]
    assert first["relevance"] == {"a.py": 1, "b.py": 0, "c.py": 2}
    assert second["expected_artifacts"] == ["d.py"]
    assert [one["task_id"] for one in _written(packets)] == ["t1", "t2"]
    again = tmp_path / "again.qrels"
    assert main(["trec", "export", str(tasks), "--out", str(again)]) == 0
    assert again.read_text().split() == qrels.read_text().split()
    run_again = tmp_path / "again.run"
    assert main(["trec", "export", str(packets), "--out", str(run_again)]) == 0
    assert run_again.read_text().splitlines()[0] == "t1 Q0 z.py 1 4 wayproof"
    assert packets_of(run_again)[0]["selected_artifacts"] == ["z.py", "c.py", "b.py", "a.py"]


def test_min_relevance(tmp_path: Path) -> None:
    """A higher grade may be asked for, as trec_eval's -l does."""
    out = tmp_path / "tasks.jsonl"
    qrels = str(FIXTURES / "trec/qrels.trec")
    assert main(["trec", "import", qrels, "--min-relevance", "2", "--out", str(out)]) == 0
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
    ({"task_id": "t", "selected_artifacts": ["a\u00a0b.py"]}, "white space"),
    ({"task_id": "t", "selected_artifacts": ["a\u200bb.py"]}, "white space"),
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
    assert main(["trec", "export", str(path), "--out", str(out)]) == 2
    assert what in capsys.readouterr().err
    assert not out.exists()


def test_export_takes_one_attempt(tmp_path: Path) -> None:
    """A run holds one list for a topic: which attempt's is said by a flag."""
    path, out = tmp_path / "in.jsonl", tmp_path / "out"
    rows = [{"task_id": "t", "attempt": 1, "selected_artifacts": ["a"]},
            {"task_id": "t", "attempt": 2, "selected_artifacts": ["b"]}]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, rows)))
    assert main(["trec", "export", str(path), "--attempt", "2", "--out", str(out)]) == 0
    assert out.read_text() == "t Q0 b 1 1 wayproof\n"
    path.write_text("\n".join(map(json.dumps, [rows[0], rows[0]])))
    assert main(["trec", "export", str(path)]) == 2


def test_a_run_can_be_inspected(capsys: pytest.CaptureFixture[str]) -> None:
    """A ranked list has no timeline, and says so."""
    assert main(["inspect", str(FIXTURES / "trec/run.trec")]) == 0
    assert "null (ranked_list)" in capsys.readouterr().out


# -- strictness: a judgment that can't be read stops the import -----------------------


Files = Callable[..., list[str]]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Write files of these contents (``qrels=…, run=…``) and return their paths."""

    def write(**contents: str | bytes) -> list[str]:
        for name, content in contents.items():
            data = content if isinstance(content, bytes) else content.encode()
            (tmp_path / name).write_bytes(data)
        return [str(tmp_path / name) for name in contents]

    return write


class Imported(NamedTuple):
    """What an import left behind: its status, its words, its tasks and packets by topic."""

    status: int
    said: str
    tasks: dict[str, dict[str, Any]]
    packets: dict[str, dict[str, Any]]


@pytest.fixture
def importing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Imported]:
    """Import by the command, tasks and packets going to files of their own."""

    def run(*arguments: str) -> Imported:
        out, tasks_out = tmp_path / "packets.out", tmp_path / "tasks.out"
        places = ["--out", str(out), "--tasks-out", str(tasks_out)]
        status = main(["trec", "import", *arguments, *places])
        tables = [_written(path) if path.exists() else [] for path in (tasks_out, out)]
        tasks, packets = ({one["task_id"]: one for one in rows} for rows in tables)
        return Imported(status, capsys.readouterr().err, tasks, packets)

    return run


Importing = Callable[..., Imported]
RUN = "t1 Q0 a.py 1 2 r\n"

UNREADABLE = [
    ("t1 0 a b.py 1", "5 columns"),
    ("t1 0 a.py", "3 columns"),
    ("t1 0 a.py one", "not a whole number"),
    ("t1 0 a.py 0.5", "not a whole number"),
    ("t1 0 a.py 1_0", "not a whole number"),
    ("t1 0 a.py \u0661", "not a whole number"),
    ("t1 0 a.py nan", "not a whole number"),
    ("t1 0 a.py 1e12", "not a whole number"),
    ("t1 0 a\u00a0b.py 1", "U+00A0 (NO-BREAK SPACE)"),
    ("t1\u00a00 a.py 1 2", "U+00A0"),
    ("t1 0 a.py\u3000 1", "U+3000"),
    ("t1 0 a\u200b.py 1", "U+200B"),
    ("t1 0 \ufeffa.py 1", "U+FEFF"),
    ("t1 0 a\x00.py 1", "U+0000"),
    ("t1 0 c.py 2", "judged twice, 1 and 2"),
    (b"t1 0 a\xff.py 1", "not UTF-8"),
]


@pytest.mark.parametrize(("row", "what"), UNREADABLE)
def test_a_judgment_that_cannot_be_read_stops_the_import(
    row: str | bytes, what: str, files: Files, importing: Importing, tmp_path: Path
) -> None:
    """Exit 2 with file and line, nothing written; --skip-bad-lines counts it and goes on."""
    raw = row if isinstance(row, bytes) else row.encode()
    paths = files(qrels=b"t1 0 c.py 1\nt2 0 d.py 1\n" + raw + b"\nt3 0 e.py 1\n", run=RUN)
    stopped = importing(*paths)
    assert stopped.status == 2
    assert "qrels:3: " in stopped.said
    assert what in stopped.said
    assert not (tmp_path / "tasks.out").exists()
    assert not (tmp_path / "packets.out").exists()
    skipped = importing(*paths, "--skip-bad-lines")
    assert skipped.status == 0
    assert "; 1 bad line\n" in skipped.said
    assert {key: one["expected_artifacts"] for key, one in skipped.tasks.items()} == {
        "t1": ["c.py"], "t2": ["d.py"], "t3": ["e.py"],
    }  # fmt: skip


UNREADABLE_IN_RUN = [
    ("t1 Q0 a b.py 1 1 r", "7 columns"),
    ("t1 Q0 b\u2003.py 1 1 r", "U+2003 (EM SPACE)"),
    ("t1 Q0 a.py 2 1 r", "retrieved twice"),
    ("t1 Q0 b.py 2 high r", "not a number"),
]


@pytest.mark.parametrize(("row", "what"), UNREADABLE_IN_RUN)
def test_a_run_is_read_as_strictly(row: str, what: str, files: Files, importing: Importing) -> None:
    """A lost line of a run changes precision and order, so it stops the import, too."""
    paths = files(qrels="t1 0 a.py 1\n", run=RUN + row + "\nt1 Q0 z.py 3 0 r\n")
    stopped = importing(*paths)
    assert stopped.status == 2
    assert "run:2: " in stopped.said
    assert what in stopped.said
    skipped = importing(*paths, "--skip-bad-lines")
    assert skipped.packets["t1"]["selected_artifacts"] == ["a.py", "z.py"]


def test_all_unreadable_lines_are_named_at_once(files: Files, importing: Importing) -> None:
    """Nobody mends a file line by line: each line is named, and how many there are."""
    rows = "".join(f"t1 0 d{number} high\n" for number in range(4))
    stopped = importing(*files(qrels="t1 0 a 1\nt1 0 b 1\n" * 3 + rows, run=RUN))
    assert stopped.status == 2
    assert [f"qrels:{line}: " in stopped.said for line in range(7, 11)] == [True] * 4
    assert "4 lines can't be read" in stopped.said


def test_a_topic_of_bad_lines_alone_is_no_task(files: Files, importing: Importing) -> None:
    """Nothing of it could be read: it is counted, and no task pretends to know it."""
    paths = files(qrels="t1 0 a.py 1\nt1 0 b.py 1\nt2 0 c.py high\n", run=RUN)
    imported = importing(*paths, "--skip-bad-lines")
    assert imported.status == 0
    assert list(imported.tasks) == ["t1"]
    assert "; 1 bad line\n" in imported.said


def test_prose_with_one_good_line_is_no_qrels(files: Files, importing: Importing) -> None:
    """What most lines are not is not read, whatever flag is given."""
    (path,) = files(notes="These are my notes of today\nnothing to see in here\nt1 0 a.py 1\n\nx\n")
    refused = importing(path, "--skip-bad-lines")
    assert refused.status == 2
    assert "neither qrels nor a run" in refused.said


def test_a_header_line_is_called_one(files: Files, importing: Importing) -> None:
    """qrels have no header; that it is one is said, with its line."""
    stopped = importing(*files(qrels="topic iter docid rel\nt1 0 a.py 1\n", run=RUN))
    assert stopped.status == 2
    assert "qrels:1: looks like a header line" in stopped.said


def test_a_repeated_judgment_loses_nothing(files: Files, importing: Importing) -> None:
    """The same judgment twice is named and doesn't stop; --strict wants not even that."""
    paths = files(qrels="t1 0 a.py 1\nt1 0 a.py 1.0\n", run=RUN)
    imported = importing(*paths)
    assert imported.status == 0
    assert "qrels:2: repeats the judgment" in imported.said
    assert imported.tasks["t1"]["relevance"] == {"a.py": 1}
    assert importing(*paths, "--strict").status == 2


GRADES = [("1.0", 1), ("2.", 2), ("+3", 3), ("-2", -2), ("0", 0), ("-0.0", 0), ("1e1", 10),
          ("1.50e1", 15)]  # fmt: skip


@pytest.mark.parametrize(("text", "grade"), GRADES)
def test_a_grade_is_a_number_however_it_is_written(
    text: str, grade: int, files: Files, importing: Importing
) -> None:
    """Tables from pandas write 1.0; a grade of 0 or less is judged, and not relevant."""
    imported = importing(*files(qrels=f"t1 0 a.py {text}\n", run=RUN))
    assert imported.tasks["t1"]["relevance"] == {"a.py": grade}
    assert imported.tasks["t1"]["expected_artifacts"] == (["a.py"] if grade > 0 else [])


ENCODED: list[tuple[str, Callable[[str], bytes]]] = [
    ("CRLF", lambda text: text.replace("\n", "\r\n").encode()),
    ("tabs", lambda text: text.replace(" ", "\t").encode()),
    ("blanks", lambda text: text.replace(" ", "   ").replace("\n", "  \n").encode()),
    ("leading", lambda text: ("\n \n  " + text.replace("\n", "\n ")).encode()),
    ("BOM", lambda text: b"\xef\xbb\xbf" + text.encode()),
    ("UTF-16", lambda text: text.encode("utf-16")),
    ("gzip", lambda text: gzip.compress(text.encode())),
    ("no end", lambda text: text.rstrip("\n").encode()),
]


@pytest.mark.parametrize("encode", [one for _, one in ENCODED], ids=[name for name, _ in ENCODED])
def test_the_same_in_any_encoding(
    encode: Callable[[str], bytes], files: Files, importing: Importing
) -> None:
    """Line ends, tabs, blanks, byte order marks and compression change nothing."""
    qrels, run = "t1 0 a.py 1\nt1 0 é.py 2\nt2 0 b.py 0\n", RUN + "t1 Q0 é.py 2 1 r\n"
    imported = importing(*files(qrels=encode(qrels), run=encode(run)))
    assert imported.status == 0
    assert imported.tasks["t1"]["relevance"] == {"a.py": 1, "é.py": 2}
    assert imported.packets["t1"]["selected_artifacts"] == ["a.py", "é.py"]
    assert "; 0 bad lines" in imported.said


# -- what the scores then say ---------------------------------------------------------


def test_topics_that_judge_nothing_relevant_are_said(files: Files, importing: Importing) -> None:
    """They expect nothing; each other gap between judgments and run is said, too."""
    qrels = "t1 0 a.py 1\nt2 0 a.py 0\nt3 0 b.py -1\nt4 0 a.py 1\n"
    imported = importing(*files(qrels=qrels, run=RUN + "t2 Q0 a.py 1 1 r\nt9 Q0 a.py 1 1 r\n"))
    assert imported.status == 0
    assert '2 topics ("t2", "t3") without a relevant document' in imported.said
    assert '2 topics ("t3", "t4") without a ranked list: scored as missed' in imported.said
    assert '1 topic ("t9") without judgments' in imported.said
    assert [one["expected_artifacts"] for one in imported.tasks.values()] == [
        ["a.py"], [], [], ["a.py"],
    ]  # fmt: skip


def test_topics_that_expect_nothing_pass_no_gate(
    files: Files, importing: Importing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One topic can fail, and fails: 0 of 1, whatever the other two did."""
    qrels = "t1 0 a -1\nt1 0 b 0\nt1 0 c 2\nt2 0 a 0\nt3 0 z -2\n"
    run = "t1 Q0 a 1 3 r\nt2 Q0 a 1 3 r\nt3 Q0 k 1 2 r\n"
    assert importing(*files(qrels=qrels, run=run)).status == 0
    inputs = ["--tasks", str(tmp_path / "tasks.out"), "--packets", str(tmp_path / "packets.out")]
    assert main(["fitness", "score", *inputs, "--min-sufficient", "1%"]) == 1
    assert "0 of 1" in capsys.readouterr().out


def test_an_empty_run_missed_every_topic(
    files: Files, importing: Importing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is a run, of no lines: no packets, and each topic is scored as missed."""
    for blank in ("", "\n\n"):
        imported = importing(*files(run=blank, qrels="t1 0 a 1\nt2 0 b 1\n"))
        assert imported.status == 0
        assert imported.packets == {}
        assert '2 topics ("t1", "t2") without a ranked list' in imported.said
    scored = ["--tasks", str(tmp_path / "tasks.out"), "--packets", str(tmp_path / "packets.out")]
    main(["fitness", "score", *scored, "--json"])
    summary = json.loads(capsys.readouterr().out)["summary"]
    assert summary["sufficiency_fail_count"] == 2
    assert summary["mean_recall_at_packet"] == 0


@pytest.mark.parametrize("contents", [("",), ("", RUN), ("", "")])
def test_empty_judgments_are_refused(
    contents: tuple[str, ...], files: Files, importing: Importing
) -> None:
    """Without judgments nothing could be missed, so an empty file is never taken for them."""
    paths = files(**{f"f{number}": text for number, text in enumerate(contents)})
    assert importing(*paths).status == 2
    said = importing("--qrels", paths[0], *paths[1:])
    assert said.status == 2
    assert "no judgments" in said.said or "be judgments as well as a run" in said.said


# -- other people's columns -----------------------------------------------------------

FOREIGN = {
    "beir": ("query-id\tcorpus-id\tscore\nt1\ta.py\t2\nt1\tb.py\t1\n", RUN),
    "beir_without_header": ("t1\ta.py\t1\nt1\tb.py\t1\n", RUN),
    "beir_and_msmarco": ("t1\ta.py\t1\nt1\tb.py\t1\n", "t1\ta.py\t1\nt1\tz.py\t2\n"),
    "msmarco": ("t1 0 a.py 1\nt1 0 b.py 1\n", "t1\tz.py\t2\nt1\ta.py\t1\n"),
    "msmarco_header": ("t1 0 a.py 1\nt1 0 b.py 1\n", "qid\tpid\trank\nt1\ta.py\t1\n"),
    "json": ('{"t1": {"a.py": 2, "b.py": 1}}', '{"t1": {"a.py": 2.5, "z.py": 1}}'),
    "json_grades_with_point": ('{"t1": {"a.py": 2.0, "b.py": 1.0}}', RUN),
    "json_whole_scores": ("t1 0 a.py 2\nt1 0 b.py 1\n", '{"t1": {"a.py": 7, "z.py": 1}}'),
}
UNSORTED = {"msmarco"}


@pytest.mark.parametrize("name", FOREIGN)
def test_other_columns_are_read(name: str, files: Files, importing: Importing) -> None:
    """BEIR, MS MARCO and ranx: the same tasks and packets as from TREC's own columns."""
    qrels, run = files(qrels=FOREIGN[name][0], run=FOREIGN[name][1])
    said = ["--run", run] if name in UNSORTED else [run]
    imported = importing(*said, qrels)
    assert imported.status == 0
    assert "{" not in imported.said
    assert imported.tasks["t1"]["expected_artifacts"] == ["a.py", "b.py"]
    assert imported.packets["t1"]["selected_artifacts"][0] == "a.py"
    assert imported.packets["t1"]["source"]["format"] == "trec-run"


AMBIGUOUS = [
    ("t1\ta.py\t1\n", "t1\ta.py\t1\n"),
    ('{"t1": {"a.py": 1}}', '{"t1": {"a.py": 1}}'),
    ('{"t1": {"a.py": 1.0}}',),
    ("t1\ta.py\t1\nt1\tb.py\t2\n",),
    ("t1\ta.py\t1\n", "t1\ta.py\t1\n", RUN),
]


@pytest.mark.parametrize("contents", AMBIGUOUS)
def test_what_can_be_both_is_not_guessed(
    contents: tuple[str, ...], files: Files, importing: Importing
) -> None:
    """Judgments or a run? The user says so, and then it is read."""
    qrels, *run = files(**{f"f{number}": text for number, text in enumerate(contents)})
    refused = importing(qrels, *run)
    assert refused.status == 2
    assert "--qrels or --run" in refused.said
    said = importing("--qrels", qrels, *(part for one in run for part in ("--run", one)))
    assert said.status == 0
    assert said.tasks["t1"]["expected_artifacts"][0] == "a.py"


REFUSED = [
    ("t1 a.py 0.5\nt1 b.py 0.25\n", 'awk \'{print $1, "Q0", $2, 0, $3'),
    ("t1\ta.py\t1\t20.5\nt1\tb.py\t2\t19.25\n", 'awk \'{print $1, "Q0", $2, $3, $4'),
    ("t1,a.py,1\n", "1 columns"),
    ("corpus-id\tquery-id\tscore\na.py\tt1\t1\n", "{print $2, $1, $3}"),
    ("doc_id\tq\trelevance\na.py\tt1\t1\n", "{print $2, $1, $3}"),
    ("pid\tqid\trank\na.py\tt1\t1\n", "{print $2, $1, $3}"),
    ('{"t1": {"a.py": "1"}}', "grade or score"),
    ('{"t1": {"a.py": true}}', "grade or score"),
    ('{"t1": ["a.py"]}', "grade or score"),
    ('{"t1": {"a.py": 1, "a.py": 0}}', "a.py"),
    ('{"t1": {"a b.py": 1}}', "white space"),
    ('{"t1": {"a.py": NaN}}', "f0"),
    ('{"t1": {"a.py": 1}', "f0"),
]


@pytest.mark.parametrize(("content", "what"), REFUSED)
def test_what_is_neither_is_refused_with_the_way_out(
    content: str, what: str, files: Files, importing: Importing
) -> None:
    """Scores in three or four columns come with the conversion, the rest with what was found."""
    refused = importing(*files(f0=content))
    assert refused.status == 2
    assert what in refused.said


def test_a_json_grade_must_be_whole(files: Files, importing: Importing) -> None:
    """Said to be judgments, a fraction is a judgment that can't be read."""
    (path,) = files(qrels='{"t1": {"a.py": 0.5, "b.py": 1}}')
    assert importing("--qrels", path).status == 2


# -- literal ids ----------------------------------------------------------------------


def test_a_star_in_trec_is_a_star(files: Files, importing: Importing, tmp_path: Path) -> None:
    """TREC has no prefixes: the id is named literal, and goes out as it came in."""
    imported = importing(*files(qrels="t1 0 src/* 1\nt1 0 docs/a.md 1\nt1 0 b/* 0\n", run=RUN))
    assert imported.tasks["t1"]["literal_ids"] == ["src/*", "b/*"]
    again = tmp_path / "again"
    assert main(["trec", "export", str(tmp_path / "tasks.out"), "--out", str(again)]) == 0
    assert again.read_text() == "t1 0 src/* 1\nt1 0 docs/a.md 1\nt1 0 b/* 0\n"


def test_a_star_stays_a_star_to_verify(
    files: Files, importing: Importing, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scoring, the bundle and its check all take the id for itself: recall is a half."""
    run = "t1 Q0 src/other.py 1 3 r\nt1 Q0 docs/a.md 2 2 r\n"
    assert importing(*files(qrels="t1 0 src/* 1\nt1 0 docs/a.md 1\n", run=run)).status == 0
    inputs = ["--tasks", str(tmp_path / "tasks.out"), "--packets", str(tmp_path / "packets.out")]
    bundle = tmp_path / "bundle"
    assert main(["fitness", "score", *inputs, "--out", str(bundle)]) == 0
    (result,) = _written(bundle / "results.jsonl")
    assert result["recall_at_packet"] == 0.5
    assert result["missing_expected_artifacts"] == ["src/*"]
    assert main(["verify", str(bundle)]) == 0
    assert main(["verify", str(bundle), *inputs]) == 0
    capsys.readouterr()
    changed = result | {"literal_ids": []}
    (bundle / "results.jsonl").write_text(json.dumps(changed) + "\n")
    assert main(["verify", str(bundle)]) == 3


def test_export_keeps_every_expectation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is expected beside the grades is written, a grade of another kind is refused."""
    path = tmp_path / "tasks.jsonl"
    task = {"task_id": "t", "expected_artifacts": ["a", "b"], "relevance": {"a": 2}}
    nothing = {"task_id": "u", "expected_artifacts": []}
    path.write_text(json.dumps(task) + "\n" + json.dumps(nothing))
    assert main(["trec", "export", str(path)]) == 0
    written = capsys.readouterr()
    assert written.out == "t 0 a 2\nt 0 b 1\n"
    assert '1 topic ("u") that judge nothing have no line' in written.err
    for grade in (True, 1.5, "1"):
        path.write_text(json.dumps(task | {"relevance": {"a": grade}}))
        assert main(["trec", "export", str(path)]) == 2
        assert "relevance.a" in capsys.readouterr().err


# -- suite means equal trec_eval's ----------------------------------------------------


TOPICS = ["t1", "t2", "t3", "t4"]
IDS = ["a", "b", "c*", "d", "e"]
_JUDGED = st.dictionaries(
    st.sampled_from(TOPICS),
    st.dictionaries(st.sampled_from(IDS), st.integers(-2, 3), min_size=1),
    min_size=1,
)
_LISTS = st.dictionaries(
    st.sampled_from(TOPICS),
    st.dictionaries(st.sampled_from(IDS), SCORES, min_size=1),
)


@settings(
    max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(_JUDGED, _LISTS, st.integers(1, 3))
def test_suite_means_equal_trec_eval(
    files: Files,
    importing: Importing,
    judged: dict[str, dict[str, int]],
    lists: dict[str, dict[str, float]],
    level: int,
) -> None:
    """Recall: ``trec_eval -c -l N``'s set_recall over the topics with a relevant document.

    Precision: its set_P over the judged topics for which something was retrieved. Topics
    without a relevant document, which trec_eval averages as 0, expect nothing here.
    """
    qrels = "".join(f"{t} 0 {d} {g}\n" for t, row in judged.items() for d, g in row.items())
    run = "".join(f"{t} Q0 {d} 1 {s} r\n" for t, row in lists.items() for d, s in row.items())
    imported = importing(*files(qrels=qrels, run=run), "--min-relevance", str(level))
    assert imported.status == 0
    missing = {"error": "no packet captured"}
    cases = [
        {"task": task, "packet": imported.packets.get(topic, missing)}
        for topic, task in imported.tasks.items()
    ]
    summary = evaluate_benchmark({"suite": "s", "cases": cases})["summary"]
    # pytrec_eval writes outside its memory for grades below -1; all of them mean not relevant.
    theirs_judged = {t: {d: max(g, 0) for d, g in row.items()} for t, row in judged.items()}
    evaluator = pytrec_eval.RelevanceEvaluator(
        theirs_judged, {"set_recall", "set_P"}, relevance_level=level
    )
    theirs: dict[str, Any] = evaluator.evaluate(lists)
    relevant = [t for t, row in judged.items() if max(row.values()) >= level]
    recall = [theirs[t]["set_recall"] if t in theirs else 0.0 for t in relevant]
    precision = [row["set_P"] for row in theirs.values()]
    assert summary["mean_recall_at_packet_denominator"] == len(recall)
    assert summary["mean_precision_at_packet_denominator"] == len(precision)
    assert summary["mean_recall_at_packet"] == (
        pytest.approx(sum(recall) / len(recall), abs=1e-6) if recall else None
    )
    assert summary["mean_precision_at_packet"] == (
        pytest.approx(sum(precision) / len(precision), abs=1e-6) if precision else None
    )
