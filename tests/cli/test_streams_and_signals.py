"""Standard streams that are closed, full or narrow, and signals in the middle of a run."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import write_lines

TASK = {"task_id": "a", "expected_artifacts": ["x"]}
GOOD = {"task_id": "a", "selected_artifacts": ["x"], "wall_ms": 1}


def _shell(command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command.replace("wayproof", f"{sys.executable} -m wayproof")],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        timeout=60,
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with one task, its packet, and a packet that can't be used."""
    write_lines(tmp_path / "t.jsonl", [TASK])
    write_lines(tmp_path / "p.jsonl", [GOOD])
    write_lines(tmp_path / "bad.jsonl", [{"task_id": "a", "wall_ms": -1}])
    return tmp_path


SCORE = "wayproof fitness score --tasks t.jsonl --packets p.jsonl"
BAD = "wayproof fitness score --tasks t.jsonl --packets bad.jsonl"


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (f"{SCORE} >&-", 0),
        (f"{SCORE} 2>&-", 0),
        (f"{SCORE} >&- 2>&-", 0),
        (f"{SCORE} --json --max-unmeasured 0 2>/dev/full", 0),
        (f"{SCORE} --json --min-sufficient 1 --max-p95-ms 0 2>/dev/full", 1),
        (f"{BAD} 2>/dev/full", 2),
        (f"{BAD} 2>&-", 2),
        (f"{SCORE} >/dev/full", 2),
        (f"{SCORE} --json >/dev/full", 2),
        ("wayproof explain >/dev/full", 2),
        ("wayproof schema task >/dev/full", 2),
        ("wayproof --version >/dev/full", 2),
        ("wayproof --help >/dev/full", 2),
        ("wayproof fitness evaluate-fixtures --builtin >/dev/full", 2),
        ("wayproof fitness score --packets p.jsonl --tasks - <&-", 2),
        ("wayproof fitness evaluate-benchmark --benchmark - <&-", 2),
    ],
)
def test_no_stream_changes_a_verdict(files: Path, command: str, status: int) -> None:
    """A closed stream is nobody reading; a full one is an error that says so; no traceback."""
    ran = _shell(command, files)
    assert ran.returncode == status
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr
    if status == 2 and "2>" not in command:
        assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "command",
    [
        f"{SCORE}",
        f"{SCORE} --json",
        f"{SCORE} --out out2",
        f"{SCORE} --out out2 --json --min-sufficient 100%",
        "wayproof fitness evaluate-fixtures --builtin",
        "wayproof fitness evaluate-fixtures --builtin --json",
        "wayproof recovery run --suite explorer-sample --policy planner --out run",
        "wayproof verify out",
        "wayproof explain",
        "wayproof schema task",
        "wayproof formats",
        "wayproof --help",
        "wayproof fitness --help",
        "wayproof --version",
    ],
)
def test_a_reader_that_goes_away_is_no_failed_gate(files: Path, command: str) -> None:
    """`… | head -1` leaves with 141 in every form, and says nothing; 1 means a failed gate."""
    assert _shell(f"{SCORE} --out out", files).returncode == 0
    # A reader that is gone before the first word: no race with what fits into the pipe.
    ran = _shell(f"{{ sleep 0.1; {command}; echo $? >status; }} | exec 0<&-", files)
    assert (files / "status").read_text() == "141\n"
    assert ran.stderr == ""


@pytest.mark.parametrize("more", ["", " --json"])
def test_a_full_stdout_does_not_hide_what_was_written(files: Path, more: str) -> None:
    """The status says that the output is not whole; the message, that the result is."""
    ran = _shell(f"{SCORE} --out out{more} >/dev/full", files)
    assert ran.returncode == 2
    assert ran.stderr == "wayproof: standard output: No space left on device; out was written\n"
    assert _shell("wayproof verify out", files).returncode == 0
    ran = _shell(f"{SCORE} >/dev/full", files)
    assert ran.stderr == "wayproof: standard output: No space left on device\n"


@pytest.mark.parametrize("columns", ["0", "1", "10", "20", "60", "300", "x"])
def test_a_narrow_terminal_loses_no_figure(files: Path, columns: str) -> None:
    """Lines may fold; labels, counts and ids are all there."""
    long_id = "module/" + "x" * 50
    write_lines(files / "t.jsonl", [{"task_id": long_id, "expected_artifacts": [long_id]}])
    write_lines(files / "p.jsonl", [])
    ran = _shell(f"COLUMNS={columns} {SCORE} --out out", files)
    assert ran.returncode == 0
    for label in ("route_timeout", "forbidden_route", "no time", "late", "route_error"):
        assert label in ran.stdout
    assert ran.stdout.replace("\n", "").replace(" ", "").count(long_id[:20]) >= 2
    assert "…" not in ran.stdout


def test_an_endless_input_is_refused(files: Path) -> None:
    """A device that never ends a line fills neither memory nor disk."""
    ran = _shell("wayproof fitness score --packets p.jsonl --tasks /dev/zero", files)
    assert ran.returncode == 2
    assert "line is too long" in ran.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_signal_ends_a_run_and_leaves_nothing(
    files: Path, tmp_path: Path, number: signal.Signals, processes: str
) -> None:
    """Half-written folders and temporary files go; workers don't outlive the run."""
    (tmp_path / "tmp").mkdir()
    pipe_read, pipe_write = os.pipe()
    run = subprocess.Popen(
        [
            *(sys.executable, "-m", "wayproof", "fitness", "score", "--tasks", "t.jsonl"),
            *("--packets", "-", "--out", "out", "--processes", processes),
        ],
        stdin=pipe_read,
        stderr=subprocess.PIPE,
        cwd=files,
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )
    os.close(pipe_read)
    os.write(pipe_write, b'{"task_id": "a"')
    for _ in range(500):
        if list(files.glob(".out.wayproof-partial-*/scratch/packets.copy")):
            break
        time.sleep(0.01)
    else:
        run.kill()
        run.communicate()
        pytest.fail("the run didn't start to read")
    run.send_signal(number)
    _, err = run.communicate(timeout=30)
    os.close(pipe_write)
    assert run.returncode == 128 + number
    assert b"nothing was written" in err
    assert b"Traceback" not in err
    assert not list(files.glob(".out*"))
    assert not (files / "out").exists()
    assert list((tmp_path / "tmp").iterdir()) == []
