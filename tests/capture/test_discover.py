"""Logs are found in folders, joined from many files, and read from streams, from Python too."""

import io
import json
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from capture.capture_logs import WriteLog, claude_call, claude_line, claude_result
from wayproof.capture import capture_logs
from wayproof.capture.discover import count_logs, find_logs
from wayproof.errors import InputError


def _session(write_log: WriteLog, name: str, path: str = "a.py") -> Path:
    lines = [
        claude_line("user", f"where is {path}?", 0),
        claude_call(1, "Read", {"file_path": f"/repo/{path}"}),
        claude_result(2, 1),
    ]
    named = [one | {"sessionId": name, "uuid": f"{name}-{one['uuid']}"} for one in lines]
    return write_log(*named, name=f"{name}.jsonl")


def test_a_folder_gives_sessions_packets_and_problems(write_log: WriteLog, tmp_path: Path) -> None:
    """One call takes a folder: what is no log is left out by name, what is damaged is counted."""
    _session(write_log, "one", "a.py")
    broken = _session(write_log, "two", "b.py")
    with broken.open("a", encoding="utf-8") as file:
        file.write('{"type": "user"')
    (tmp_path / "settings.json").write_text('{"theme": "dark"}')
    (tmp_path / "notes.md").write_text("nothing")
    found = capture_logs([tmp_path])
    assert [one["selected_artifacts"] for one in found.packets] == [["a.py"], ["b.py"]]
    assert [one.session_id for one in found.sessions] == ["one", "two"]
    assert found.left_out == [f"{tmp_path / 'settings.json'}: no known log format"]
    assert [(one.file, one.line) for one in found.problems.named] == [(str(broken), 4)]


def test_a_file_that_was_named_must_be_a_log(tmp_path: Path) -> None:
    """What a search found may be left out; what the user named may not."""
    settings = tmp_path / "settings.json"
    settings.write_text('{"theme": "dark"}')
    with pytest.raises(InputError, match="no known log format"):
        capture_logs([settings])
    with pytest.raises(InputError, match="no such format"):
        capture_logs([tmp_path], format_name="nonsense")


def test_events_in_files_of_their_own_are_one_log(tmp_path: Path) -> None:
    """They are joined in the order of their names, and the folder is the log's name."""
    folder = tmp_path / "conversation"
    folder.mkdir()
    events = [
        {"kind": "MessageEvent", "source": "user",
         "llm_message": {"content": [{"type": "text", "text": "look"}]}},
        {"kind": "ActionEvent", "tool_name": "terminal", "tool_call_id": "c1",
         "action": {"command": "cat a.py"}},
        {"kind": "ObservationEvent", "tool_call_id": "c1",
         "observation": {"exit_code": 0, "content": []}},
    ]  # fmt: skip
    for place in (2, 0, 1):
        (folder / f"event-0000{place}.json").write_text(json.dumps(events[place], indent=1))
    (session,) = capture_logs([tmp_path]).sessions
    assert session.file == str(folder)
    assert session.packet["first_contact_command"] == "cat a.py"


def test_a_plain_sibling_is_preferred(write_log: WriteLog, tmp_path: Path) -> None:
    """A compressed copy beside its plain file is not read, whether searched for or named."""
    plain = _session(write_log, "one")
    packed = tmp_path / "one.jsonl.zst"
    packed.write_bytes(b"not looked at")
    assert [log.path for log in find_logs([tmp_path])] == [plain]
    assert [(log.path, log.named) for log in find_logs([packed])] == [(plain, True)]
    assert [log.path for log in find_logs([str(packed), str(plain)])] == [plain]


def test_a_stream_stands_for_a_file(write_log: WriteLog) -> None:
    """The bytes of stdin are read like a file's, under the name ``<stdin>``."""
    stream = io.BytesIO(_session(write_log, "one").read_bytes())
    (session,) = capture_logs(["-"], stdin=stream).sessions
    assert (session.file, session.session_id) == ("<stdin>", "one")


def test_a_spooled_log_is_gone_afterwards(write_log: WriteLog) -> None:
    """The temporary file of a stream lives as long as its log is looked at."""
    stream = io.BytesIO(_session(write_log, "one").read_bytes())
    places = []
    for log in find_logs(["-"], stdin=stream):
        places.append(log.path)
        assert log.path.is_file()
    assert len(places) == 1
    assert not places[0].exists()


def test_every_log_is_read_once(
    write_log: WriteLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Telling a format takes the head of a file only: what is read stays near its size."""
    for name in ("one", "two", "three"):
        path = _session(write_log, name, f"{name}.py")
        filler = [
            claude_line("assistant", [{"type": "text", "text": "x" * 2000}], n) for n in range(9000)
        ]
        with path.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line | {"uuid": f"{name}-f{n}", "sessionId": name}) + "\n"
                            for n, line in enumerate(filler))  # fmt: skip
    read: dict[str, int] = {}
    opened: dict[str, int] = {}

    real_open: Any = Path.open

    class Counted(io.FileIO):
        def readinto(self, buffer: Any) -> int:
            count = super().readinto(buffer) or 0
            read[str(self.name)] = read.get(str(self.name), 0) + count
            return count

    def counting(path: Path, mode: str = "r", buffering: int = -1, **more: Any) -> Any:
        if mode != "rb":
            return real_open(path, mode, buffering, **more)
        opened[str(path)] = opened.get(str(path), 0) + 1
        return io.BufferedReader(Counted(str(path)), max(buffering, 1))

    monkeypatch.setattr(Path, "open", counting)
    assert len(capture_logs([tmp_path], edits=True).sessions) == 3
    assert len(opened) == 3
    for name, size_bytes in read.items():
        whole = Path(name).stat().st_size
        assert whole > 16 << 20
        assert whole <= size_bytes < 1.5 * whole
    assert max(opened.values()) <= 5  # all but one for the head


def _capture_with_stderr(folder: Path, stderr: int) -> None:
    command = [sys.executable, "-m", "wayproof", "capture", str(folder), "--out", os.devnull]
    subprocess.run(command, check=True, stderr=stderr, timeout=120)


def test_progress_is_for_terminals(tmp_path: Path) -> None:
    """A terminal sees how many files of how many are read; a pipe or file sees the summary only."""
    for number in range(120):
        line = claude_line("user", f"question {number}", 0)
        name = f"s{number:03}"
        text = json.dumps(line | {"sessionId": name, "uuid": name})
        (tmp_path / f"{name}.jsonl").write_text(text + "\n", "utf-8")
    log = tmp_path / "stderr.txt"
    with log.open("wb") as file:
        _capture_with_stderr(tmp_path, file.fileno())
    assert log.read_text("utf-8").startswith("120 sessions, 120 packets;")
    ours, theirs = pty.openpty()
    running = threading.Thread(target=_capture_with_stderr, args=(tmp_path, theirs))
    running.start()
    shown = b""
    while b"120 packets" not in shown:
        shown += os.read(ours, 1 << 16)
    running.join()
    os.close(theirs)
    os.close(ours)
    assert b"reading logs" in shown
    assert b"/120" in shown


def test_what_will_be_found_is_counted_without_opening(
    write_log: WriteLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The total of the progress is the number of calls; events of one log count once."""
    one = _session(write_log, "one")
    (tmp_path / "notes.md").write_text("no log")
    folder = tmp_path / "events"
    folder.mkdir()
    for number in range(3):
        (folder / f"event-{number}.json").write_text("{}")
    calls: list[tuple[int, int]] = []
    capture_logs([tmp_path, one], progress=lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]
    monkeypatch.setattr(Path, "open", None)
    assert count_logs([tmp_path, one]) == 3
