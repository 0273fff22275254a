"""Two runs of the same tasks, compared by what happened after rejected calls."""

import json
from pathlib import Path

import pytest

import wayproof
from rejections.rejection_logs import NO_MATCH, ClaudeLog, edit
from wayproof.cli import main
from wayproof.errors import InputError


def _run(folder: Path, run: str, *, tasks: int = 8, mended: bool, more: int = 0) -> Path:
    """Write a run of some tasks: one rejected edit each, reached or not; ``more`` rejections."""
    logs = folder / run
    logs.mkdir()
    for number in range(tasks):
        log = ClaudeLog(session_id=f"{run}-{number}")
        log.no("Edit", NO_MATCH, **edit("/w/a.py", "old", "new line"))
        if mended:
            log.ok("Edit", **edit("/w/a.py", "x", "new line"))
        for one in range(more):
            log.no("Edit", NO_MATCH, **edit(f"/w/{one}.py", "old", "other line"))
        for one in range(5):
            log.ok("Read", file_path=f"/w/r{one}.py")
        log.say().write(logs / f"task-{number}.jsonl")
    out = folder / f"{run}-bundle"
    assert main(["rejections", str(logs), "--task-id-from", "file", "--out", str(out)]) == 0
    return out


def test_compare_by_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sessions are paired by task; more reached is better, more rejections are worse."""
    base = _run(tmp_path, "base", mended=False)
    new = _run(tmp_path, "new", mended=True, more=2)
    capsys.readouterr()
    assert main(["compare", str(base), str(new), "--format", "json", "--no-config"]) == 0
    found = json.loads(capsys.readouterr().out)
    measures = {row["name"]: row for row in found["measures"]}
    reached = measures["reached"]
    assert (reached["base"], reached["new"], reached["pairs"]) == (0.0, 0.333333333333, 8)
    assert (reached["better"], reached["worse"], reached["verdict"]) == (8, 0, "better")
    rejected = measures["invalid_per_100_calls"]
    assert (rejected["worse"], rejected["verdict"], rejected["direction"]) == (8, "worse", "lower")
    assert found["tasks"][0] == {
        "base_calls": 6, "base_episodes": 1, "base_invalid": 1, "base_reached": 0,
        "new_calls": 9, "new_episodes": 3, "new_invalid": 3, "new_reached": 1,
        "task_id": "task-0",
    }  # fmt: skip
    assert main(["compare", str(base), str(new), "--no-config"]) == 0
    said = capsys.readouterr().out
    assert "reached again" in said
    assert "better" in said
    assert "task-0: rejected 1 → 3, reached 0 of 1 → 1 of 3" in said
    assert wayproof.compare_bundles(base, new).kind == "rejections"
    assert main(["compare", str(base), str(base), "--no-config"]) == 0
    assert "no task changed" in capsys.readouterr().out


def test_compare_refuses_what_cant_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other tasks, other settings, gates: said, not guessed."""
    base = _run(tmp_path, "base", mended=False)
    less = _run(tmp_path, "less", tasks=6, mended=True)
    assert main(["compare", str(base), str(less), "--no-config"]) == 2
    assert "2 tasks only in base-bundle" in capsys.readouterr().err
    compared = [str(base), str(less), "--allow-different-suites", "--no-config"]
    assert main(["compare", *compared]) == 0
    assert "only in base: 2 tasks (task-6, task-7)" in capsys.readouterr().out
    assert main(["compare", *compared, "--max-drop", "recall=0.1"]) == 2
    assert main(["compare", *compared, "--format", "junit"]) == 2
    assert main(["compare", *compared, "--cluster", "family"]) == 2
    page = str(tmp_path / "page")
    assert main(["report", "--compare", str(base), str(base), "--out", page]) == 2
    assert main(["compare", str(base), str(base), "--report", page, "--no-config"]) == 2
    narrow = tmp_path / "narrow"
    logs = str(tmp_path / "base")
    assert main(["rejections", logs, "--task-id-from", "file", "--window", "3",
                 "--out", str(narrow)]) == 0  # fmt: skip
    with pytest.raises(InputError, match="other settings"):
        wayproof.compare_bundles(base, narrow)
    sessions = tmp_path / "sessions"
    assert main(["rejections", logs, "--out", str(sessions)]) == 0
    with pytest.raises(InputError, match="share no task"):
        wayproof.compare_bundles(base, sessions)


def test_compare_few_tasks_have_no_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Fewer than six tasks: figures, and no verdict."""
    base = _run(tmp_path, "base", tasks=3, mended=False)
    new = _run(tmp_path, "new", tasks=3, mended=True)
    capsys.readouterr()
    assert main(["compare", str(base), str(new), "--no-config", "--format", "json"]) == 0
    measures = json.loads(capsys.readouterr().out)["measures"]
    assert {row["verdict"] for row in measures} == {"too_few"}
