"""The command, its bundle, and what verify makes of it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from rejections.rejection_logs import NO_FILE, NO_MATCH, REFUSED, ClaudeLog, edit, mini
from wayproof.bundles.check import check_bundle
from wayproof.bundles.kinds import CheckRequest
from wayproof.cli import main
from wayproof.errors import InputError, IntegrityError

_EVIDENCE = ("episodes.jsonl", "sessions.jsonl", "summary.json")


def logs_of(folder: Path, sessions: int = 8) -> Path:
    """Write some sessions with rejections of every stratum."""
    folder.mkdir(exist_ok=True)
    for number in range(sessions):
        log = ClaudeLog(session_id=f"s-{number}")
        path = f"/w/{number}.py"
        log.no("Edit", NO_MATCH, **edit(path, "old", "new line"))
        if number % 2:
            log.ok("Read", file_path=path)
        if number % 4 != 3:
            log.ok("Edit", **edit(path, "x", "new line"))
        log.no("Read", NO_FILE, file_path=f"/w/none{number}")
        log.no("Bash", "Exit code 1\nbad", command="make")
        log.no("Bash", REFUSED, command="git push").prompt("no")
        log.no("Bash", "Exit code 1", command="grep x a.py").say()
        log.write(folder / f"{number}.jsonl")
    (folder / "deep").mkdir(exist_ok=True)
    bad = "Please always provide EXACTLY ONE action in triple backticks, found 2 actions."
    mini(folder / "deep", [("ls", None, bad), ("ls", 0, "a"), ("foo", 127, ("bash: foo: command "
         "not found"))], submitted=True)  # fmt: skip
    return folder


def bundle_of(tmp_path: Path, *more: str) -> tuple[Path, Path]:
    """Return the logs and a bundle of them."""
    logs = logs_of(tmp_path / "logs")
    assert main(["rejections", str(logs), "--out", str(tmp_path / "b"), *more]) == 0
    return logs, tmp_path / "b"


def _bytes(bundle: Path) -> list[bytes]:
    return [(bundle / name).read_bytes() for name in _EVIDENCE]


def test_same_bytes_in_any_order(tmp_path: Path) -> None:
    """Files in any order, named or found in folders, here or elsewhere: the same bytes."""
    logs, bundle = bundle_of(tmp_path)
    files = sorted(map(str, logs.rglob("*.json*")), reverse=True)
    again = tmp_path / "again"
    assert main(["rejections", *files, files[0], "--out", str(again)]) == 0
    assert _bytes(again) == _bytes(bundle)
    moved = tmp_path / "elsewhere" / "of-the-logs"
    shutil.copytree(logs, moved)
    third = tmp_path / "third"
    assert main(["rejections", str(moved / "deep"), str(moved), "--out", str(third)]) == 0
    assert _bytes(third) == _bytes(bundle)
    manifests = [json.loads((one / "manifest.json").read_bytes()) for one in (bundle, third)]
    assert manifests[0]["inputs"] == manifests[1]["inputs"]
    assert set(manifests[0]["inputs"]) == {
        "log:deep/run.traj.json",
        *(f"log:{number}.jsonl" for number in range(8)),
    }


def test_verify_with_and_without_the_logs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the logs the records must agree; with them everything is made again."""
    logs, bundle = bundle_of(tmp_path)
    capsys.readouterr()
    assert main(["verify", str(bundle)]) == 0
    said = capsys.readouterr().out
    assert "9 sessions and 26 episodes agree with themselves" in said
    assert "Not detectable without the logs" in said
    assert main(["verify", str(bundle), "--logs", str(logs)]) == 0
    assert "logs: read again, byte for byte the same" in capsys.readouterr().out


def test_verify_names_the_log_that_changed(tmp_path: Path) -> None:
    """A log that isn't the one that was measured is named."""
    logs, bundle = bundle_of(tmp_path)
    log = logs / "3.jsonl"
    log.write_text(log.read_text() + "\n")
    with pytest.raises(IntegrityError, match="isn't the one that was measured") as caught:
        check_bundle(bundle, CheckRequest(logs=(logs,)))
    assert caught.value.file == "3.jsonl"
    log.unlink()
    with pytest.raises(IntegrityError, match="differs from what the logs give"):
        check_bundle(bundle, CheckRequest(logs=(logs,)))


def test_logs_belong_to_bundles_of_rejections(tmp_path: Path) -> None:
    """Logs beside another kind of bundle are refused, as any input that doesn't fit."""
    out = tmp_path / "r"
    assert main(["recovery", "run", "--policy", "planner", "--out", str(out)]) == 0
    with pytest.raises(InputError, match="no such inputs"):
        check_bundle(out, CheckRequest(logs=(tmp_path,)))


def test_summary_in_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts, both rates with their ends, and nothing that isn't there."""
    logs = logs_of(tmp_path / "logs")
    assert main(["rejections", str(logs), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["strata"] == {
        "cancelled": 0, "failed": 8, "invalid": 17, "malformed": 1, "refused": 8, "verdict": 8,
    }  # fmt: skip
    assert (summary["sessions"], summary["unknown"], summary["blind_repeats"]) == (9, 0, 0)
    reached = summary["reached"]
    assert (reached["episodes"], reached["sessions"]) == (17, 9)
    # Six of eight edits were reached, two cut short; eight files were never there; one command
    # was given up.
    assert reached["at_least"]["episodes"] == 6
    assert reached["at_least"]["share_ppm"] == 6 * 1_000_000 // 17
    assert reached["at_most"]["episodes"] == 16
    assert reached["at_least"]["low_ppm"] < reached["at_least"]["share_ppm"]
    assert summary["at_floor"]["at_least"]["episodes"] == 4
    assert summary["detour_calls"] == [2, 2]
    kinds = {
        (row["format"], kind["kind"]): kind for row in summary["formats"] for kind in row["kinds"]
    }
    assert kinds["claude-code", "edit_no_match"]["outcomes"] == {
        "recovered": 4, "recovered_detour": 2, "undecided": 2,
    }  # fmt: skip
    assert kinds["claude-code", "edit_no_match"]["reached"]["at_least"] is None  # 8 episodes
    assert kinds["claude-code", "by_person"]["reached"] is None
    assert kinds["mini-swe-agent", "command_not_found"]["outcomes"] == {"not_reached": 1}
    assert {row["rules"] for row in summary["formats"]} == {"checked"}


def test_no_rate_without_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log without a rejection gives null, never 100 %; so do few episodes or sessions."""
    log = ClaudeLog().ok("Read", file_path="/w/a").say().write(tmp_path / "a.jsonl")
    assert main(["rejections", str(log), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["reached"] == {"at_least": None, "at_most": None, "episodes": 0, "sessions": 0}
    assert summary["at_floor"]["at_least"] is None
    assert summary["detour_calls"] is None
    assert main(["rejections", str(log)]) == 0
    said = capsys.readouterr().out
    assert "no rate below 10 episodes and 5 sessions" in said
    assert "%" not in said.replace("'at least'", "")
    one = ClaudeLog()
    for number in range(12):
        path = f"/w/{number}.py"
        one.no("Edit", NO_MATCH, **edit(path, "old", "new line"))
        one.ok("Edit", **edit(path, "x", "new line"))
    assert main(["rejections", str(one.say().write(tmp_path / "b.jsonl")), "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["reached"] == {"at_least": None, "at_most": None, "episodes": 12, "sessions": 1}


def _codex(folder: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {"type": "session_meta", "payload": {"id": "c-1", "cwd": "/w"}},
        {"type": "response_item", "payload": {"type": "function_call", "name": "shell",
         "call_id": "1", "arguments": json.dumps({"command": ["bash", "-lc", "foo"]})}},
        {"type": "response_item", "payload": {"type": "function_call_output", "call_id": "1",
         "output": json.dumps({"output": "bash: foo: command not found",
                               "metadata": {"exit_code": 127}})}},
    ]  # fmt: skip
    path = folder / "rollout.jsonl"
    path.write_text("".join(json.dumps({"timestamp": "2026-01-01T00:00:00Z"} | row) + "\n"
                            for row in rows))  # fmt: skip
    return path


def _atif(folder: Path) -> Path:
    steps = [
        {"source": "user", "message": "mend it"},
        {"source": "agent", "message": "", "tool_calls": [
            {"tool_call_id": "1", "function_name": "bash", "arguments": {"command": "foo"}}],
         "observation": {"results": [
             {"source_call_id": "1", "content": "bash: foo: command not found"}]}},
    ]  # fmt: skip
    path = folder / "atif.json"
    agent = {"name": "a", "version": "1"}
    log = {"schema_version": "ATIF-v1.2", "session_id": "a-1", "agent": agent, "steps": steps}
    path.write_text(json.dumps(log))
    return path


def test_formats_without_labels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Codex says unchecked; ATIF says that it logs no outcomes, and has no episodes."""
    codex, atif = _codex(tmp_path), _atif(tmp_path)
    assert main(["rejections", str(codex), str(atif), "--json"]) == 0
    rows = {row["format"]: row for row in json.loads(capsys.readouterr().out)["formats"]}
    assert rows["codex"]["rules"] == "unchecked"
    assert rows["codex"]["strata"]["invalid"] == 1
    assert rows["atif"]["rules"] == "no_outcomes"
    assert (rows["atif"]["kinds"], rows["atif"]["unknown"]) == ([], 1)
    out = tmp_path / "b"
    assert main(["rejections", str(codex), str(atif), "--out", str(out)]) == 0
    assert "no outcomes logged" in capsys.readouterr().out
    assert main(["verify", str(out)]) == 0
    assert "atif: the format doesn't log how a call ended" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--window", "0"], "1 to 1000 calls"),
        (["--window", "1001"], "1 to 1000 calls"),
        (["--format", "nope"], "no such format"),
        (["--map", "x"], "FROM=TO"),
        (["--task-id-from", "x"], "session, file or prompt:REGEX"),
        (["--with-text"], "--with-text"),
    ],
)
def test_settings_that_cant_be(
    more: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A setting that can't be is refused, and nothing is written."""
    log = ClaudeLog().say().write(tmp_path / "a.jsonl")
    assert main(["rejections", str(log), *more]) == 2
    assert says in capsys.readouterr().err


def test_empty_log_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No session: exit 2, and no bundle that says that nothing was rejected."""
    (tmp_path / "a.jsonl").write_text("")
    out = tmp_path / "b"
    assert main(["rejections", str(tmp_path / "a.jsonl"), "--out", str(out)]) == 2
    assert "no session" in capsys.readouterr().err
    assert not out.exists()


def test_task_ids(tmp_path: Path) -> None:
    """Sessions are named by their task, as capture does it."""
    logs = logs_of(tmp_path / "logs", sessions=2)
    out = tmp_path / "b"
    assert main(["rejections", str(logs), "--task-id-from", "file", "--out", str(out)]) == 0
    rows = [json.loads(line) for line in (out / "sessions.jsonl").read_bytes().splitlines()]
    assert [row["task_id"] for row in rows] == ["0", "1", "run"]


def test_hostile_text_is_shown_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Escape codes and odd characters of a log reach neither the terminal nor break a bundle."""
    log = ClaudeLog(session_id="s\x1b[31m\u202e")
    log.no("Edit\x1b]0;x\x07", "File does not exist", file_path="/w/\x1b[2J\ud800.py")
    log.no("Edit", NO_MATCH, **edit("/w/\x1b[2J\u202e.py", "a", "b"))
    path = log.say().write(tmp_path / "a.jsonl")
    out = tmp_path / "b"
    assert main(["rejections", str(path), "--out", str(out), "--with-text"]) == 0
    assert main(["verify", str(out), "--logs", str(path)]) == 0
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "\u202e" not in said
