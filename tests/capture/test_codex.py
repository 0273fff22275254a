"""Codex rollouts, new and legacy, and ``codex exec --json``."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import zstandard

from capture.capture_logs import FIXTURES, WriteLog, packet_of, packets_of
from wayproof.cli import main


def test_rollout() -> None:
    """Calls of all kinds, injected messages, three spellings of an exit status."""
    packet = packet_of("codex/rollout.jsonl")
    assert packet["first_contact_command"] == "rg -n label"
    assert packet["command_used"] == "bash -lc 'cd src && rg -n label'"
    assert packet["selected_artifacts"] == ["src/label.py", "docs/label.md", "src/print.py"]
    # a batch of 0.5 s and 0.2 s counts once; then 0.1 s; then 0.3 s
    assert packet["wall_ms"] == 500 + 100 + 300
    assert packet["elapsed_ms"] == 12_000
    assert packet["error"] is None
    assert packet["cut_reason"] == "mutation"
    assert packet["source"]["session_id"] == "0199-a"
    assert packet["source"]["agent_version"] == "0.98.0"


def test_text_that_looks_like_a_status_is_text() -> None:
    """Only what stands before the output is a status: a file may say anything."""
    packet = packet_of("codex/rollout.jsonl")
    assert "docs/label.md" in packet["selected_artifacts"]
    assert "failed_calls" not in packet


def test_code_mode_is_null() -> None:
    """The commands exist only inside JavaScript: null with the reason, never a guess."""
    packet = packet_of("codex/code_mode.jsonl")
    assert packet["first_contact_command"] is None
    assert packet["first_contact_reason"] == "code_mode"
    assert "tools.exec_command" in packet["command_used"]
    assert packet["selected_artifacts"] == ["a.py"]


def test_legacy_flat() -> None:
    """No envelope; the working directory stands only in the environment context."""
    packet = packet_of("codex/legacy_flat.jsonl")
    assert packet["first_contact_command"] == "cat /home/kim/shelf/README.md"
    assert packet["selected_artifacts"] == ["README.md"]
    assert packet["source"]["session_id"] == "5973b6c0"
    assert "elapsed_ms" not in packet


def test_oldest_document() -> None:
    """One JSON document with session and items."""
    packet = packet_of("codex/oldest_document.json")
    assert packet["first_contact_command"] == "cat README.md"
    assert packet["wall_ms"] == 400


def test_a_fork_and_a_sub_agent_repeat_their_parents_history() -> None:
    """The first session_meta owns identity; copies of a route are left out."""
    files = sorted((FIXTURES / "codex/family").iterdir())
    (packet,) = packets_of(*files)
    assert packet["source"]["session_id"] == "0199-parent-001"
    assert packet["first_contact_command"] == "rg -n pack"
    assert packet["selected_artifacts"] == ["src/pack.py"]
    assert packet["navigation_calls"] == 2
    assert packet["wall_ms"] == 100 + 200


def test_a_fork_alone_has_its_own_identity() -> None:
    """The parent's session_meta inside it doesn't rename it."""
    packet = packet_of("codex/family/rollout-2026-02-04T10-00-00-0199-fork-00001.jsonl")
    assert packet["source"]["session_id"] == "0199-fork-00001"
    assert packet["first_contact_command"] == "rg -n pack"


def test_time_out_and_rejection() -> None:
    """A typed exit status with the tool's phrase is a time-out; a rejection is no error."""
    packet = packet_of("codex/timed_out_and_rejected.jsonl")
    assert (packet["timed_out"], packet["error"]) == (True, None)
    assert packet["failed_calls"] == 1


def test_typed_events_come_first() -> None:
    """Where the log keeps typed events, their duration counts and not the text's."""
    assert packet_of("codex/typed_events.jsonl")["wall_ms"] == 1250


def test_compressed_rollouts(tmp_path: Path) -> None:
    """zstd is read as a stream, and in a folder the plain sibling is preferred."""
    plain = (FIXTURES / "codex/rollout.jsonl").read_bytes()
    packed = tmp_path / "rollout-a.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(plain))
    packet = packet_of(packed)
    expected = packet_of("codex/rollout.jsonl")
    assert packet["source"].pop("file") != expected["source"].pop("file")
    assert packet == expected
    shutil.copy(FIXTURES / "codex/rollout.jsonl", tmp_path / "rollout-a.jsonl")
    out = tmp_path / "packets.out"
    assert main(["capture", str(tmp_path), "--out", str(out)]) == 0
    (line,) = out.read_text().splitlines()
    assert json.loads(line)["source"]["file"].endswith("rollout-a.jsonl")
    both = [str(packed), str(tmp_path / "rollout-a.jsonl")]
    for named in ([both[0]], both):
        assert main(["capture", *named, "--out", str(out)]) == 0
        (line,) = out.read_text().splitlines()
        assert json.loads(line)["source"]["file"].endswith("rollout-a.jsonl")


def test_zstd_without_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can't be read is said, with how to mend it."""
    packed = tmp_path / "r.jsonl.zst"
    packed.write_bytes(zstandard.ZstdCompressor().compress(b"{}"))
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    assert main(["capture", str(packed)]) == 2
    assert "wayproof[zstd]" in capsys.readouterr().err


def test_damaged_zstd(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A truncated stream is an error of one line."""
    packed = tmp_path / "r.jsonl.zst"
    packed.write_bytes(b"\x28\xb5\x2f\xfdnot zstd at all")
    assert main(["capture", str(packed)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_working_directory_changes(write_log: WriteLog) -> None:
    """A later turn_context moves relative paths, not the root."""

    def line(kind: str, payload: object) -> dict[str, object]:
        return {"timestamp": "2026-02-03T10:00:00Z", "type": kind, "payload": payload}

    def read(number: int, path: str) -> list[dict[str, object]]:
        call = {"type": "function_call", "name": "read_file", "call_id": f"c{number}",
                "arguments": json.dumps({"path": path})}  # fmt: skip
        end = {"type": "function_call_output", "call_id": f"c{number}", "output": "x"}
        return [line("response_item", call), line("response_item", end)]

    path = write_log(
        line("session_meta", {"id": "s", "cwd": "/r"}),
        line("turn_context", {"cwd": "/r"}),
        *read(1, "a.py"),
        line("turn_context", {"turn_context": {"cwd": "/r/sub"}}),
        *read(2, "b.py"),
    )
    assert packet_of(path)["selected_artifacts"] == ["a.py", "sub/b.py"]


def test_exec() -> None:
    """No times at all: wall_ms and elapsed_ms are absent, not 0."""
    packet = packet_of("codex_exec/exec.jsonl")
    assert packet["first_contact_command"] == "cat README.md"
    assert packet["selected_artifacts"] == ["docs/a.md"]
    assert packet["failed_calls"] == 1
    assert packet["cut_reason"] == "mutation"
    assert "wall_ms" not in packet
    assert "elapsed_ms" not in packet


def test_exec_failed_turn() -> None:
    """A failed turn is the session's error; older logs spell item_type."""
    packet = packet_of("codex_exec/failed_turn.jsonl")
    assert packet["first_contact_command"] == "rg -n nothing"
    assert packet["error"] == "stream disconnected"
    assert "failed_calls" not in packet


def test_a_spawned_agent_named_by_an_event() -> None:
    """The thread stands in an event beside the call; unknown line types are skipped."""
    files = sorted((FIXTURES / "codex/collab").iterdir())
    (packet,) = packets_of(*files)
    assert packet["first_contact_command"] == "cat inside.py"
    assert packet["via"] == "subagent"
    assert packet["selected_artifacts"] == ["inside.py"]


def test_arguments_with_lone_surrogates(write_log: WriteLog) -> None:
    """JSON inside JSON is mended like any other: the command is still a command."""
    call = {"type": "function_call", "name": "shell_command", "call_id": "c1",
            "arguments": '{"command": "cat a.py # \\ud800", "limit": NaN}'}  # fmt: skip
    path = write_log(
        {"type": "session_meta", "payload": {"id": "s", "cwd": "/r"}},
        {"type": "response_item", "payload": call},
        {"type": "response_item", "payload": {
            "type": "function_call_output", "call_id": "c1", "output": "x"}},
    )  # fmt: skip
    assert packet_of(path)["selected_artifacts"] == ["a.py"]


def _one_command(write_log: WriteLog, output: str, *more: Any) -> Path:
    call = {"type": "function_call", "name": "exec_command", "call_id": "c1",
            "arguments": '{"cmd": "cat a.py"}'}  # fmt: skip
    end = {"type": "function_call_output", "call_id": "c1", "output": output}
    return write_log(
        {"type": "session_meta", "payload": {"id": "s", "cwd": "/r"}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "look"}},
        {"type": "response_item", "payload": call},
        {"type": "response_item", "payload": end},
        *more,
    )


def test_a_rejected_command(write_log: WriteLog) -> None:
    """The user's refusal, wrapped in the tool's own words, selects nothing and is no error."""
    said = "exec_command failed for `/bin/bash -lc 'cat a.py'`: CreateProcess { message: "
    refused = packet_of(_one_command(write_log, said + '"Rejected(\\"rejected by user\\")" }'))
    assert (refused["selected_artifacts"], refused["error"]) == ([], None)
    assert "failed_calls" not in refused
    broken = packet_of(_one_command(write_log, said + '"no such program" }'))
    assert (broken["selected_artifacts"], broken["failed_calls"]) == ([], 1)


def test_an_errors_text_is_the_commands_own(write_log: WriteLog) -> None:
    """What the tool put around the output says nothing of the error."""
    head = "Chunk ID: ab\nWall time: 0.3 seconds\nProcess exited with code 2\nOutput:\n"
    assert packet_of(_one_command(write_log, head + "cat: a.py: gone"))["error"] == (
        "cat: a.py: gone"
    )
    assert packet_of(_one_command(write_log, head))["error"] == "Process exited with code 2"


def test_a_retried_stream_is_no_error(write_log: WriteLog) -> None:
    """An error event followed by an answer was got over; one that ends the log was not."""
    error = {"type": "event_msg", "payload": {"type": "error", "message": "retrying 1/5"}}
    said = {"type": "event_msg", "payload": {"type": "agent_message", "message": "It is a."}}
    assert packet_of(_one_command(write_log, "x", error))["error"] == "retrying 1/5"
    assert packet_of(_one_command(write_log, "x", error, said))["error"] is None
    item = {"type": "agent_message", "text": "It is a."}
    path = write_log(
        {"type": "thread.started", "thread_id": "t"},
        {"type": "error", "message": "retrying 1/5"},
        {"type": "item.completed", "item": item},
    )
    assert packet_of(path)["error"] is None
