"""Results never replace what was read, nor each other, and no refusal leaves a part behind."""

import json
import os
import shutil
from pathlib import Path

import pytest

from capture.capture_logs import FIXTURES
from wayproof.cli import main


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a log, tasks and a sidecar, which is the working directory."""
    shutil.copy(FIXTURES / "claude_code/two_sessions.jsonl", tmp_path / "s.jsonl")
    (tmp_path / "t.jsonl").write_text(json.dumps({"task_id": "ffffffff-0002"}) + "\n")
    (tmp_path / "side.json").write_text("{}")
    (tmp_path / "hard.jsonl").hardlink_to(tmp_path / "s.jsonl")
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


ONE_FILE = [
    ["--out", "s.jsonl"],
    ["--out", "./sub/../s.jsonl"],
    ["--out", "hard.jsonl"],
    ["--draft-tasks", "s.jsonl"],
    ["--report", "s.jsonl"],
    ["--out", "t.jsonl", "--tasks", "t.jsonl"],
    ["--report", "t.jsonl", "--tasks", "t.jsonl"],
    ["--draft-tasks", "side.json", "--sidecar", "side.json"],
    ["--out", "new", "--report", "new"],
    ["--out", "new", "--draft-tasks", "sub/../new"],
    ["--report", "new", "--draft-tasks", "new"],
]


@pytest.mark.parametrize("options", ONE_FILE, ids=" ".join)
def test_two_names_of_one_file_are_refused(
    room: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, by whatever name the file goes, and every file is as it was."""
    before = _contents(room)
    assert main(["capture", "s.jsonl", *options]) == 2
    said = capsys.readouterr()
    assert not said.out
    assert "would replace what is read" in said.err or "is the place of" in said.err
    assert _contents(room) == before


def test_a_log_found_in_a_folder_is_an_input_too(room: Path) -> None:
    """A folder stands for its files; a new file in it is no harm."""
    before = _contents(room)
    assert main(["capture", ".", "--out", "s.jsonl"]) == 2
    assert _contents(room) == before
    assert main(["capture", ".", "--out", "packets.new"]) == 0


def test_stdin_is_an_input_too(room: Path) -> None:
    """The file behind stdin is not replaced."""
    before = _contents(room)
    descriptor = os.open("s.jsonl", os.O_RDONLY)
    kept = os.dup(0)
    try:
        os.dup2(descriptor, 0)
        assert main(["capture", "-", "--out", "s.jsonl"]) == 2
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(descriptor)
    assert _contents(room) == before


@pytest.mark.parametrize("place", ["nodir/x", "sub", "s.jsonl/x"])
@pytest.mark.parametrize("option", ["--report", "--draft-tasks"])
def test_every_place_is_looked_at_before_the_first_is_written(
    room: Path, option: str, place: str
) -> None:
    """A report that can't be written leaves no packets behind either."""
    before = _contents(room)
    assert main(["capture", "s.jsonl", "--out", "packets", option, place]) == 2
    assert _contents(room) == before


@pytest.mark.usefixtures("room")
def test_devices_may_be_named_twice() -> None:
    """Nothing is replaced there."""
    options = ["--out", "/dev/null", "--report", "/dev/null"]
    assert main(["capture", "s.jsonl", *options]) == 0


def test_trec_files_are_not_replaced_either(room: Path) -> None:
    """Import and export keep to the same rule."""
    (room / "q").write_text("1 0 a 1\n")
    (room / "r").write_text("1 Q0 a 1 0.5 tag\n")
    before = _contents(room)
    for options in (
        ["trec-import", "q", "--out", "q"],
        ["trec-import", "q", "r", "--out", "r", "--tasks-out", "new"],
        ["trec-import", "q", "r", "--out", "new", "--tasks-out", "new"],
        ["trec-import", "q", "r", "--out", "new", "--tasks-out", "nodir/x"],
        ["trec-export", "t.jsonl", "--out", "t.jsonl"],
    ):
        assert main(["capture", *options]) == 2
    assert _contents(room) == before
