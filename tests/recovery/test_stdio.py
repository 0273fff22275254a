"""Agents over stdio: the conversation, and everything that can go wrong in it."""

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from wayproof.cli import main
from wayproof.errors import InputError
from wayproof.recovery.agents import processes
from wayproof.recovery.agents.processes import MARK
from wayproof.recovery.agents.stdio import Deadlines, stdio_agent
from wayproof.recovery.generate import Parameters, Recipe, suite_lines
from wayproof.recovery.run import RunRequest, run_suite
from wayproof.recovery.suite import suite_path

HERE = Path(__file__).parent
PYTHON = f"{shlex.quote(sys.executable)} -S -E"
BAD = f"{PYTHON} {shlex.quote(str(HERE / 'bad_agent.py'))}"
GOOD = f"{PYTHON} {shlex.quote(str(HERE.parents[1] / 'examples' / 'stdio_agent.py'))}"
SMALL = Recipe("stdio-sample", 5, Parameters(grids=1, side_max=7))

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="stdio agents need POSIX")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """One grid, three trials with one seed."""
    path = tmp_path / "suite.jsonl"
    path.write_bytes(b"".join(suite_lines(SMALL)))
    return path


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_bytes().splitlines()]


def outcomes(folder: Path) -> dict[str, str]:
    return {one["failure_kind"]: one["agent_outcome"] for one in results(folder)}


def agents_processes() -> list[int]:
    """Processes of any agent on this machine that this test started."""
    found = []
    signs = {
        "environ": f"{MARK}={os.getpid()}-".encode(),
        "cmdline": f"left by\0{os.getpid()}-".encode(),
    }
    for name, sign in signs.items():
        for path in Path("/proc").glob(f"[0-9]*/{name}"):
            with suppress(OSError):
                found += [int(path.parent.name)] if sign in path.read_bytes() else []
    return found


def run(suite: Path, out: Path, command: str, **deadlines: int) -> None:
    patient = {"hello_ms": 20_000, "move_ms": 20_000} | deadlines
    source = stdio_agent("bad", command, deadlines=Deadlines(**patient))
    run_suite(RunRequest(suite, policies=(source,), policy_seeds=(0,)), out)


# -- the conversation -------------------------------------------------------------------


@pytest.mark.parametrize("more", [[], ["--reuse-agent"]], ids=["a process a trial", "reused"])
def test_the_reference_agent_plans_and_walks(
    more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A planner verifies all; a walk from the seed that it is sent gives the control's records."""
    experiment = ["--suite", "explorer-sample", "--seeds", "0"]
    for mode in ("plan", "walk"):
        agent = ["--agent", f"{GOOD} {mode}", "--name", f"my-{mode}", *more]
        out = tmp_path / mode
        assert main(["recovery", "run", *experiment, *agent, "--out", str(out)]) == 0
        assert main(["verify", str(out)]) == 0
        assert f"agent my-{mode}, stdio: command" in capsys.readouterr().out
    assert main(["recovery", "run", *experiment, "--out", str(tmp_path / "controls")]) == 0
    for mode, control in (("plan", "planner"), ("walk", "random-walk")):
        theirs = [one for one in results(tmp_path / "controls") if one["policy"] == control]
        mine = results(tmp_path / mode)
        assert {one["policy"] for one in mine} == {f"my-{mode}"}
        aside = ("policy", "evidence_class", "trace_sha256")
        for one in (*mine, *theirs):
            for key in aside:
                del one[key]
        if mode == "walk":
            assert mine == theirs
        assert sum(one["verified_recovery"] for one in mine) == (
            sum(one["verified_recovery"] for one in theirs)
        )
    assert agents_processes() == []
    said = json.loads((tmp_path / "plan" / "manifest.json").read_bytes())["settings"]["agents"]
    assert said[0]["details"]["isolation"].startswith("none" if more else "one process a trial")


@pytest.mark.slow
def test_a_planning_program_verifies_the_official_suite(tmp_path: Path) -> None:
    """300 of 300, by a program of the standard library alone."""
    source = stdio_agent("mine", f"{GOOD} plan")
    report = run_suite(RunRequest(suite_path("wfrb-v0"), policies=(source,)), tmp_path / "out")
    total = report.summary.policies[0].total
    assert (total.cells, total.completed, total.verified) == (300, 300, 300)


def test_processes_of_others_are_left_alone() -> None:
    """A program that runs a suite may start processes of its own meanwhile, sessions and all."""
    before = processes.children()
    words = [shutil.which("sleep") or "", "60"]
    own = subprocess.Popen(words, start_new_session=True, env={})
    of_another_agent = os.posix_spawn(words[0], words, {MARK: "1-2"}, setsid=True)
    try:
        time.sleep(0.2)
        processes.end_orphans("1-1", before)
        assert own.poll() is None
        assert os.waitpid(of_another_agent, os.WNOHANG) == (0, 0)
    finally:
        for pid in (own.pid, of_another_agent):
            os.kill(pid, signal.SIGKILL)
        own.wait()
        with suppress(ChildProcessError):
            os.waitpid(of_another_agent, 0)


def test_an_agent_is_told_no_secret(suite: Path, tmp_path: Path) -> None:
    """Line by line: what the bench says is what the protocol lists, and nothing of the suite."""
    spy = tmp_path / "spy.py"
    spy.write_text(
        "import sys\n"
        "sys.argv = ['agent', 'walk']\n"
        f"log = open({str(tmp_path / 'said')!r}, 'a', encoding='utf-8')\n"
        "class Tee:\n"
        "    def __iter__(self):\n"
        "        for line in sys.__stdin__:\n"
        "            log.write(line)\n"
        "            log.flush()\n"
        "            yield line\n"
        "sys.stdin = Tee()\n"
        f"exec(open({str(HERE.parents[1] / 'examples' / 'stdio_agent.py')!r}).read())\n"
    )
    run(suite, tmp_path / "out", f"{PYTHON} {spy}")
    said = [json.loads(line) for line in (tmp_path / "said").read_text("utf-8").splitlines()]
    keys: dict[str, set[str]] = {}
    for message in said:
        keys.setdefault(message["type"], set()).update(message)
    assert keys == {
        "hello": {"type", "protocol", "limits"},
        "trial": {"type", "trial", "seed", "rows", "start", "target", "position", "spent"}
        | {"rejection", "budget"},
        "outcome": {"type", "trial", "step", "accepted", "rejection", "position", "spent"}
        | {"proposals_left"},
        "end": {"type", "trial"},
    }
    text = (tmp_path / "said").read_text("utf-8")
    assert SMALL.suite_id not in text
    trials = [message for message in said if message["type"] == "trial"]
    assert len({message["trial"] for message in trials}) == 3
    assert all(len(message["seed"]) == 16 for message in trials)
    lefts = [message["proposals_left"] for message in said if message["type"] == "outcome"]
    assert lefts.count(0) + sum(one["completed"] for one in results(tmp_path / "out")) >= 3


# -- what goes wrong ----------------------------------------------------------------------

EVERY = ("collision", "invalid_path", "premature_end")
MODES: dict[str, tuple[str, dict[str, int]]] = {
    "crash": ("crashed", {}),
    "crash_later": ("crashed", {}),
    "exit": ("crashed", {}),
    "half_a_line": ("crashed", {}),
    "close_stdout": ("crashed", {}),
    "orphan_holds_stdout": ("crashed", {}),
    "hang": ("timed_out", {"move_ms": 1_000}),
    "stops": ("timed_out", {"move_ms": 1_000}),
    "late": ("timed_out", {"move_ms": 1_000}),
    "close_stdin": ("timed_out", {"move_ms": 1_000}),
    "flood_stderr_for_ever": ("timed_out", {"move_ms": 1_000}),
    "no_json": ("malformed", {}),
    "empty_line": ("malformed", {}),
    "a_list": ("malformed", {}),
    "unknown_type": ("malformed", {}),
    "unknown_field": ("malformed", {}),
    "float_cell": ("malformed", {}),
    "text_cell": ("malformed", {}),
    "bool_cell": ("malformed", {}),
    "huge_cell": ("malformed", {}),
    "three_cells": ("malformed", {}),
    "field_twice": ("malformed", {}),
    "both_keys": ("malformed", {}),
    "no_key": ("malformed", {}),
    "false_finish": ("malformed", {}),
    "deep": ("malformed", {}),
    "not_utf8": ("malformed", {}),
    "long_line": ("malformed", {}),
    "flood_stdout": ("malformed", {}),
    "flood_actions": ("protocol_error", {}),
    "twice": ("protocol_error", {}),
    "wrong_step": ("protocol_error", {}),
    "wrong_trial": ("protocol_error", {}),
    "hello_again": ("protocol_error", {}),
    "flood_stderr": ("ok", {}),
    "children": ("ok", {}),
    "children_without_a_word": ("ok", {}),
    "ignore_everything": ("ok", {}),
    "talks_after_the_end": ("ok", {}),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_bad_agent_ends_its_own_trial(mode: str, suite: Path, tmp_path: Path) -> None:
    """Each way has its outcome, the other trials go on, and no process is left."""
    outcome, deadlines = MODES[mode]
    run(suite, tmp_path / "out", f"{BAD} {mode}", **deadlines)
    assert outcomes(tmp_path / "out") == dict.fromkeys(EVERY, "ok") | {"collision": outcome}
    assert main(["verify", str(tmp_path / "out")]) == 0
    assert agents_processes() == []
    left = {path.name for path in tmp_path.iterdir()} - {"out.agent.log"}
    assert left == {"out", "suite.jsonl"}
    if outcome != "ok":
        log = (tmp_path / "out.agent.log").read_text("utf-8")
        assert f"== bad/stdio-sample-g000-collision/0: {outcome}\n" in log
        assert 'hello from "bad", version "0"' in log


@pytest.mark.parametrize(
    ("mode", "outcome"),
    [
        ("crash_at_start", "crashed"),
        ("silent_at_start", "timed_out"),
        ("garbage_at_start", "malformed"),
        ("action_at_start", "protocol_error"),
    ],
)
def test_an_agent_that_never_begins(mode: str, outcome: str, suite: Path, tmp_path: Path) -> None:
    """Its every trial ends before the first action, with its outcome."""
    late = {"hello_ms": 1_000} if mode == "silent_at_start" else {}
    run(suite, tmp_path / "out", f"{BAD} {mode}", **late)
    assert outcomes(tmp_path / "out") == dict.fromkeys(EVERY, outcome)
    assert {one["proposals"] for one in results(tmp_path / "out")} == {0}
    assert main(["verify", str(tmp_path / "out")]) == 0
    assert agents_processes() == []


def test_a_trial_has_a_deadline_of_its_own(suite: Path, tmp_path: Path) -> None:
    """However quick each action is."""
    run(suite, tmp_path / "out", f"{BAD} hang", trial_ms=1_500)
    assert outcomes(tmp_path / "out")["collision"] == "timed_out"


def test_the_log_is_bounded(suite: Path, tmp_path: Path) -> None:
    """32 MiB of stderr leave 16 KiB and a count."""
    run(suite, tmp_path / "out", f"{BAD} flood_stderr")
    log = (tmp_path / "out.agent.log").read_bytes()
    assert len(log) < 32 << 10
    assert b"e" * 1000 in log


def test_a_reused_process_that_fails_is_replaced(suite: Path, tmp_path: Path) -> None:
    """The trial after a crash meets a fresh process."""
    source = stdio_agent("bad", f"{BAD} crash", reuse=True)
    run_suite(RunRequest(suite, policies=(source,), policy_seeds=(0,)), tmp_path / "out")
    assert outcomes(tmp_path / "out") == dict.fromkeys(EVERY, "ok") | {"collision": "crashed"}
    assert agents_processes() == []


def test_an_interrupted_run_leaves_no_agent(suite: Path, tmp_path: Path) -> None:
    """SIGTERM in the middle of a trial: status 143, no result, no process, no file."""
    command = [sys.executable, "-m", "wayproof", "recovery", "run", "--suite", str(suite)]
    agent = ["--agent", f"{BAD} ignore_everything hang", "--name", "bad"]
    hang = ["--agent", f"{BAD} hang", "--name", "bad"]
    for arguments in (agent, hang):
        process = subprocess.Popen([*command, *arguments, "--out", str(tmp_path / "out")])
        mark = f"{MARK}={process.pid}-".encode()
        assert wait_for(partial(marked, mark)), "no agent was started"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
        assert marked(mark) == []
        assert {path.name for path in tmp_path.iterdir()} == {"suite.jsonl"}


def marked(mark: bytes) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            found += [path.parent.name] if mark in path.read_bytes() else []
        except OSError:
            continue
    return found


def wait_for(condition: Any) -> bool:
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.05)
    return False


# -- the command line -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--agent", "no-such-program-here", "--name", "x"], "--agent: no such program; found"),
        (["--agent", "", "--name", "x"], "--agent: not a command"),
        (["--agent", "'unbalanced", "--name", "x"], "--agent: not a command"),
        (["--agent", "true"], "--name: an agent needs a name for its records"),
        (["--agent", "true", "--name", "planner"], "is the name of a reference control"),
        (["--agent", "true", "--name", "a b"], "not a name for a policy"),
        (["--agent", "true", "--name", "x", "--policy", "planner"], "--agent and --policy don't"),
        (["--agent", "true", "--name", "x", "--move-ms", "0"], "--move-ms: a deadline has to be"),
        (["--policy", "planner", "--name", "x"], "--name: a reference control keeps its name"),
        (["--policy", "a:b", "c:d", "--name", "x"], "--name names one agent"),
    ],
)
def test_bad_arguments_are_refused(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 2, one line, nothing written."""
    assert main(["recovery", "run", *arguments, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_log_that_is_in_the_way_is_kept(suite: Path, tmp_path: Path) -> None:
    """Without --overwrite nothing beside the bundle is replaced either."""
    (tmp_path / "out.agent.log").write_text("mine")
    with pytest.raises(InputError, match="already exists"):
        run(suite, tmp_path / "out", f"{BAD} crash")
    assert (tmp_path / "out.agent.log").read_text() == "mine"
    assert not (tmp_path / "out").exists()


def test_no_shell_reads_the_command(suite: Path, tmp_path: Path) -> None:
    """Quotes are minded; `;`, `$` and `>` mean nothing."""
    folder = tmp_path / "with a space"
    folder.mkdir()
    agent = Path(shutil.copyfile(HERE / "bad_agent.py", folder / "agent.py"))
    command = f"{PYTHON} '{agent}' fine '; touch {tmp_path}/made' '$HOME' '>' {tmp_path}/made"
    run(suite, tmp_path / "out", command)
    assert set(outcomes(tmp_path / "out").values()) == {"ok"}
    assert not (tmp_path / "made").exists()
