"""The fitness commands as a user meets them: output, exit status, gates, hostile text."""

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT, Ran, RunWayproof, run_wayproof, write_lines

PUBLIC = ROOT / "fixtures/first_wave/engine_room_navigation_fitness_benchmark/input"
TASKS = [
    {"task_id": "good", "expected_artifacts": ["a"], "latency_budget_ms": 100},
    {"task_id": "slow", "expected_artifacts": ["a"], "latency_budget_ms": 100},
    {"task_id": "wrong", "expected_artifacts": ["a"], "latency_budget_ms": 100},
    {"task_id": "unmeasured", "expected_artifacts": ["a"]},
]
PACKETS = [
    {"task_id": "good", "wall_ms": 10, "selected_artifacts": ["a"]},
    {"task_id": "slow", "wall_ms": 900, "selected_artifacts": ["a"]},
    {"task_id": "wrong", "wall_ms": 10, "selected_artifacts": ["b"]},
    {"task_id": "unmeasured", "selected_artifacts": ["a"]},
]


def _score(folder: Path, *options: str, packets: Any = PACKETS, tasks: Any = TASKS) -> Ran:
    return run_wayproof(
        "fitness",
        "score",
        "--tasks",
        write_lines(folder / "tasks.jsonl", tasks),
        "--packets",
        write_lines(folder / "packets.jsonl", packets),
        *options,
    )


def test_the_public_cases_by_every_door(wayproof: RunWayproof) -> None:
    """`wayproof fitness`, `python -m wayproof.fitness` and `--builtin` say the same."""
    import subprocess
    import sys

    by_path = wayproof("fitness", "evaluate-fixtures", "--input", PUBLIC, "--json")
    builtin = wayproof("fitness", "evaluate-fixtures", "--builtin", "--json")
    module = subprocess.run(
        [sys.executable, "-m", "wayproof.fitness", "evaluate-fixtures", "--builtin", "--json"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert (by_path.status, by_path.err) == (0, "")
    assert by_path.out == builtin.out == module.stdout
    assert json.loads(by_path.out)["passed_case_count"] == 4


def test_the_public_names_are_there() -> None:
    """The API that the contract fixes."""
    from wayproof import fitness

    assert fitness.build_parser().parse_args(["evaluate-fixtures", "--builtin"]).builtin is True
    assert fitness.main(["evaluate-fixtures", "--builtin"]) == 0
    assert set(fitness.__all__) <= set(dir(fitness)) | {"build_parser", "main"}


def test_an_unmet_case_fails_and_says_what(tmp_path: Path, wayproof: RunWayproof) -> None:
    """Exit 1, with expected and observed for each check that failed."""
    case = json.loads((PUBLIC / "latency_debt_negative.json").read_bytes())
    case["expected_summary"]["debt_candidate_count"] = 2
    (tmp_path / "case.json").write_text(json.dumps(case))
    ran = wayproof("fitness", "evaluate-fixtures", "--input", tmp_path)
    assert ran.status == 1
    assert "UNMET" in ran.out
    assert "debt_candidate_count: expected 2, observed 1" in ran.out


def test_one_document_is_scored_from_file_or_pipe(tmp_path: Path, wayproof: RunWayproof) -> None:
    """`evaluate-benchmark` reads a path, a compressed file or standard input."""
    document = {"suite": "s", "cases": [{"task": {"task_id": "t"}, "packet": {"wall_ms": 1}}]}
    data = json.dumps(document).encode()
    (tmp_path / "b.json").write_bytes(data)
    (tmp_path / "b.json.gz").write_bytes(gzip.compress(data))
    runs = [
        wayproof("fitness", "evaluate-benchmark", "--benchmark", tmp_path / "b.json", "--json"),
        wayproof("fitness", "evaluate-benchmark", "--benchmark", tmp_path / "b.json.gz", "--json"),
        wayproof("fitness", "evaluate-benchmark", "--benchmark", "-", "--json", stdin=data),
    ]
    assert {ran.status for ran in runs} == {0}
    assert len({ran.out for ran in runs}) == 1
    ran = wayproof("fitness", "evaluate-benchmark", "--benchmark", "-", stdin=b'{"cases": []}')
    assert ran.status == 1


@pytest.mark.parametrize(
    ("options", "status", "lines"),
    [
        (
            ["--min-sufficient", "0.75"],
            0,
            ["gate pass: min-sufficient: 0.75 (bound: >= 0.75); 4 measured, 0 not"],
        ),
        (
            ["--min-sufficient", "75%"],
            0,
            ["gate pass: min-sufficient: 0.75 (bound: >= 75%); 4 measured, 0 not"],
        ),
        (
            ["--min-sufficient", "0.7501"],
            1,
            ["gate FAIL: min-sufficient: 0.75 (bound: >= 0.7501); 4 measured, 0 not"],
        ),
        (
            ["--max-debts", "latency=0", "--max-debts", "sufficiency=1"],
            1,
            [
                "gate FAIL: max-debts latency_debt: 1 (bound: <= 0); 3 measured, 1 not",
                "gate pass: max-debts sufficiency_debt: 1 (bound: <= 1); 4 measured, 0 not",
            ],
        ),
        (
            ["--max-p95-ms", "900"],
            0,
            ["gate pass: max-p95-ms: 900 (bound: <= 900); 3 measured, 1 not"],
        ),
        (
            ["--max-p95-ms", "899.5"],
            1,
            ["gate FAIL: max-p95-ms: 900 (bound: <= 899.5); 3 measured, 1 not"],
        ),
        (
            ["--max-unmeasured", "0"],
            1,
            ["gate FAIL: max-unmeasured: 1 (bound: <= 0); 3 measured, 1 not"],
        ),
        ([], 0, []),
    ],
)
def test_gates_print_what_they_decide(
    tmp_path: Path, options: list[str], status: int, lines: list[str]
) -> None:
    """Each gate on a line of its own; the printed verdict and the exit status agree."""
    ran = _score(tmp_path, *options)
    assert re.findall(r"^gate .*$", ran.out, re.MULTILINE) == lines
    assert ran.status == status
    as_json = _score(tmp_path, *options, "--json")
    assert as_json.status == status
    verdicts = json.loads(as_json.out)["gates"]
    assert [verdict["ok"] for verdict in verdicts] == ["pass" in line.split()[1] for line in lines]
    assert re.findall(r"^gate .*$", as_json.err, re.MULTILINE) == lines


def test_a_gate_on_what_nobody_measured_fails(tmp_path: Path) -> None:
    """No wall time is no good wall time."""
    ran = _score(tmp_path, "--max-p95-ms", "1000000", packets=[])
    assert ran.status == 1
    assert "gate FAIL: max-p95-ms: nothing measured" in ran.out


@pytest.mark.parametrize(
    "options",
    [
        ["--min-sufficient", "1.5"],
        ["--min-sufficient", "nan"],
        ["--min-sufficient", ""],
        ["--max-debts", "latency"],
        ["--max-debts", "other=1"],
        ["--max-debts", "latency=-1"],
        ["--max-p95-ms", "-1"],
        ["--max-p95-ms", "inf"],
        ["--max-unmeasured", "1.5"],
        ["--processes", "0"],
        ["--processes", "two"],
        ["--no-such-option"],
        ["--out", ""],
    ],
)
def test_unusable_options_exit_2(tmp_path: Path, options: list[str]) -> None:
    """One line on stderr, nothing on stdout, nothing written."""
    ran = _score(tmp_path, *options)
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packets.jsonl", "tasks.jsonl"]


def test_the_table_shows_both_axes(tmp_path: Path) -> None:
    """Slow-but-right and fast-but-wrong stand in different cells and different queues."""
    ran = _score(tmp_path, "--out", str(tmp_path / "out"))
    rows = [line.split() for line in ran.out.splitlines() if line.strip()]
    cells = {row[0]: row[1:] for row in reversed(rows)}
    assert cells["sufficient"] == ["1", "1", "·", "1", "3"]
    assert cells["missing_id"] == ["1", "·", "·", "·", "1"]
    assert "sufficiency debts: 1" in ran.out
    assert "latency debts: 1" in ran.out
    assert "limits: " in ran.out


def test_hostile_text_is_printed_harmlessly(tmp_path: Path) -> None:
    """Escape codes in ids, commands and suite names never reach the terminal."""
    evil = "\x1b]0;owned\x07\x1b[2J\u202e[red]x[/red]\r\n"
    tasks = [{"task_id": evil, "expected_artifacts": [evil], "forbidden_first_routes": [evil]}]
    packets = [{"task_id": evil, "first_contact_command": evil, "wall_ms": 9999}]
    ran = _score(
        tmp_path, "--out", str(tmp_path / "out"), "--suite", evil, tasks=tasks, packets=packets
    )
    assert ran.status == 0
    assert not set(ran.out) & set("\x1b\x07\r\u202e")
    assert "\\x1b[2J" in ran.out
    assert "[red]" in ran.out
    ran = _score(tmp_path, tasks=tasks, packets=[{"task_id": evil + "2"}])
    assert ran.status == 2
    assert not set(ran.err) & set("\x1b\x07\r\u202e")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-16"])
def test_any_output_encoding_works(tmp_path: Path, encoding: str) -> None:
    """A terminal that can't show a sign gets its escape, and JSON stays UTF-8."""
    env = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    tasks = [{"task_id": "漢字 é 😀", "expected_artifacts": ["ß"]}]
    paths = (
        write_lines(tmp_path / "tasks.jsonl", tasks),
        write_lines(tmp_path / "packets.jsonl", []),
    )
    arguments = ("fitness", "score", "--tasks", paths[0], "--packets", paths[1])
    out = tmp_path / "out"
    assert run_wayproof(*arguments, "--out", out, env=env).status == 0
    ran = run_wayproof(*arguments, "--json", "--suite", "é", env=env)
    assert json.loads(ran.out)["suite"] == "é"


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    """`wayproof … | head` ends quietly."""
    import subprocess
    import sys

    command = f"{sys.executable} -m wayproof schema manifest | head -c 1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert done.stdout == "{"
    assert done.stderr == ""


def test_set_aside_packets_are_said(tmp_path: Path) -> None:
    """Nothing is dropped in silence."""
    packets = [*PACKETS, {"task_id": "other"}]
    assert _score(tmp_path, packets=packets).status == 2
    ran = _score(tmp_path, "--ignore-unknown", packets=packets)
    assert ran.status == 0
    assert "set aside: 1 packet without task" in ran.out


def test_exported_cases_score_as_the_cases_do(tmp_path: Path, wayproof: RunWayproof) -> None:
    """Five tasks, five packets, and the same verdicts as in the case files."""
    ran = wayproof("fitness", "export-cases", "--builtin", "--out", tmp_path / "cases")
    assert (ran.status, len(ran.out.splitlines())) == (0, 2)
    ran = wayproof(
        "fitness",
        "score",
        "--tasks",
        tmp_path / "cases" / "tasks.jsonl",
        "--packets",
        tmp_path / "cases" / "packets.jsonl",
        "--json",
    )
    summary = json.loads(ran.out)["summary"]
    assert (summary["task_count"], summary["sufficiency_pass_count"]) == (5, 3)
    assert summary["failure_kind_counts"]["forbidden_route"] == 1
    assert summary["failure_kind_counts"]["missing_id"] == 1
    assert summary["latency_fail_count"] == 1
    again = wayproof("fitness", "export-cases", "--builtin", "--out", tmp_path / "cases")
    assert again.status == 2
    nameless = {"benchmark": {"cases": [{"task": {}, "packet": {}}]}, "expected_status": "pass"}
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "case.json").write_text(json.dumps(nameless))
    ran = wayproof("fitness", "export-cases", "--input", tmp_path / "one", "--out", tmp_path / "x")
    assert ran.status == 2
    assert "one task for each id" in ran.err
    assert not (tmp_path / "x").exists()


def test_failing_tasks_are_shown_without_a_bundle(tmp_path: Path) -> None:
    """Whoever only looks sees what to repair; nothing stays behind."""
    ran = _score(tmp_path)
    assert re.search(r"^wrong +missing_id +a ", ran.out, re.MULTILINE)
    assert re.search(r"^slow +late +900 +100$", ran.out, re.MULTILINE)
    assert "written:" not in ran.out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["packets.jsonl", "tasks.jsonl"]
    assert "wrong" not in _score(tmp_path, "--summary-only").out


def test_a_near_twin_is_pointed_out(tmp_path: Path) -> None:
    """The id is missing all the same."""
    packets = [{"task_id": "wrong", "selected_artifacts": ["./a"]}, *PACKETS[:2], PACKETS[3]]
    ran = _score(tmp_path, packets=packets)
    assert "near twins of missing ids: 1" in ran.out
    assert re.search(r"^wrong +a +\./a +a leading \./", ran.out, re.MULTILINE)
    assert "sufficiency debts: 1" in ran.out
    document = {"cases": [{"task": TASKS[2], "packet": packets[0]}]}
    (tmp_path / "b.json").write_text(json.dumps(document))
    shown = run_wayproof("fitness", "evaluate-benchmark", "--benchmark", tmp_path / "b.json")
    assert "near twins of missing ids: 1" in shown.out


def test_what_could_not_fail_is_said(tmp_path: Path) -> None:
    """On the terminal of all three commands; the seed's status stays."""
    tasks = [*TASKS, {"task_id": "v"}, {"task_id": "w", "expected_artifacts": [" "], "why": 1}]
    packets = [*PACKETS, {"task_id": "v"}, {"task_id": "w"}]
    ran = _score(tmp_path, tasks=tasks, packets=packets)
    assert "sufficient 3 of 4 results (6 tasks)" in ran.out
    assert "vacuous 2 of 6 results: nothing was expected of them" in ran.out
    assert "task keys passed over: why (1)" in ran.out
    benchmark = {"cases": [{"task": {"why": 1}, "packet": {}}]}
    (tmp_path / "b.json").write_text(json.dumps(benchmark))
    shown = run_wayproof("fitness", "evaluate-benchmark", "--benchmark", tmp_path / "b.json")
    assert shown.status == 0
    assert "vacuous 1 of 1 result: nothing was expected" in shown.out
    assert "sufficient 0 of 0 results (1 task)" in shown.out
    assert "task keys passed over: why (1)" in shown.out
    cases = tmp_path / "cases"
    cases.mkdir()
    case = {"benchmark": benchmark, "expected_summary": {"task_count": 1, "vacuous_count": 1}}
    (cases / "c.json").write_text(json.dumps(case))
    fixtures = run_wayproof("fitness", "evaluate-fixtures", "--input", cases)
    assert fixtures.status == 0
    assert "vacuous 1 of 1 result" in fixtures.out


def test_swapped_files_are_refused(tmp_path: Path) -> None:
    """The product once said "sufficient 287 of 287" to tasks and packets swapped."""
    ran = _score(tmp_path, "--min-sufficient", "0", tasks=PACKETS, packets=TASKS)
    assert (ran.status, ran.out) == (2, "")
    assert "--tasks" in ran.err
    assert "swapped" in ran.err


def test_attempts_show_the_share_per_task(tmp_path: Path) -> None:
    """Nine good attempts of one task are one good task."""
    tasks = [{"task_id": name, "expected_artifacts": ["x"]} for name in "ab"]
    packets = [
        *[{"task_id": "a", "attempt": n, "selected_artifacts": ["x"]} for n in range(1, 10)],
        {"task_id": "b", "selected_artifacts": ["y"]},
    ]
    ran = _score(
        tmp_path, "--min-sufficient", "0.9", "--min-sufficient-tasks", "60%", tasks=tasks,
        packets=packets,
    )  # fmt: skip
    assert "sufficient 9 of 10 results (2 tasks)" in ran.out
    assert "sufficient share per task 0.500000 over 2 tasks" in ran.out
    assert "gate pass: min-sufficient: 0.9 (bound: >= 0.9); 10 measured, 0 not" in ran.out
    assert "gate FAIL: min-sufficient-tasks: 0.5 (bound: >= 60%); 2 measured, 0 not" in ran.out
    assert ran.status == 1
    assert "60 % or 0.6?" in _score(tmp_path, "--min-sufficient", "60").err


@pytest.mark.parametrize("read", ["tasks.jsonl", "packets.jsonl"])
@pytest.mark.parametrize("form", ["csv", "json", "junit", "markdown"])
def test_a_form_never_replaces_what_is_scored(tmp_path: Path, read: str, form: str) -> None:
    """The input is still there after a slip in ``--format``, and nothing was written."""
    refused = _score(
        tmp_path, "--out", str(tmp_path / "out"), "--format", f"{form}={tmp_path / read}"
    )
    assert refused.status == 2
    assert "would replace what is read" in refused.err
    rows = [json.loads(line) for line in (tmp_path / read).read_text().splitlines()]
    assert rows == (TASKS if read == "tasks.jsonl" else PACKETS)
    assert not (tmp_path / "out").exists()


def test_two_forms_do_not_share_a_file(tmp_path: Path) -> None:
    """The second would replace the first, unsaid."""
    place = tmp_path / "result"
    refused = _score(tmp_path, "--format", f"csv={place}", "--format", f"json={place}")
    assert refused.status == 2
    assert not place.exists()


def test_a_form_never_replaces_a_case(tmp_path: Path, wayproof: RunWayproof) -> None:
    """A case file that is read stays; a new file beside it may be written."""
    case = tmp_path / "case.json"
    text = (PUBLIC / "heldout_paraphrase_pass.json").read_text()
    case.write_text(text)
    refused = wayproof(
        "fitness", "evaluate-fixtures", "--input", tmp_path, "--format", f"json={case}"
    )
    assert refused.status == 2
    assert case.read_text() == text
    report = tmp_path / "report.xml"
    written = wayproof(
        "fitness", "evaluate-fixtures", "--input", tmp_path, "--format", f"junit={report}"
    )
    assert written.status == 0
    assert "<testsuite" in report.read_text()


@pytest.mark.parametrize(
    "asked",
    [
        *(["--format", "json=out"], ["--format", "json=out/x.json"], ["--format", "csv=taken"]),
        *(["--format", "junit=no/such/place"], ["--measures", "bogus"], ["--measures", "R"]),
        *(["--measures", ","], ["--must-pass", "latin1"], ["--format", "csv=a", "--format", "x"]),
    ],
)
def test_what_is_asked_for_is_refused_before_anything_is_written(
    tmp_path: Path, asked: list[str], wayproof: RunWayproof
) -> None:
    """Status 2 means that nothing was written, the bundle included."""
    write_lines(tmp_path / "tasks.jsonl", TASKS)
    write_lines(tmp_path / "packets.jsonl", PACKETS)
    (tmp_path / "latin1").write_bytes(b"caf\xe9\n")
    (tmp_path / "taken").mkdir()
    before = sorted(tmp_path.rglob("*"))
    ran = wayproof(
        *("fitness", "score", "--tasks", "tasks.jsonl", "--packets", "packets.jsonl"),
        *("--out", "out", *asked),
        cwd=tmp_path,
    )
    assert (ran.status, ran.out) == (2, "")
    assert len(ran.err.splitlines()) == 1
    assert "another --out" not in ran.err
    assert sorted(tmp_path.rglob("*")) == before


def test_a_form_goes_to_stdout_by_a_dash(tmp_path: Path) -> None:
    """As everywhere; no file of that name is made."""
    ran = _score(tmp_path, "--format", "json=-")
    assert json.loads(ran.out)["summary"]["task_count"] == len(TASKS)
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("number", ["\uff11", "\u0663", "1_0", " 1", "1.0", "", "9" * 5000])
def test_numbers_are_ascii_digits(number: str, wayproof: RunWayproof) -> None:
    """What Python's int() would take beyond them is refused in words, by every command."""
    for words in (
        ["fitness", "score", "--tasks", "t", "--packets", "p", f"--processes={number}"],
        ["recovery", "run", "--out", "o", f"--processes={number}"],
        ["recovery", "generate", "--out", "o", f"--seed={number}"],
        ["trec", "import", "q", "r", f"--min-relevance={number}"],
        ["tasks", "from-git", f"--max-files={number}"],
    ):
        ran = wayproof(*words)
        assert (ran.status, ran.out) == (2, "")
        assert "expected a whole number" in ran.err
        assert len(ran.err.splitlines()) == 1
