"""SWE-agent, mini-swe-agent, Inspect, ATIF, OpenHands and Gemini CLI."""

import json
import zipfile
from pathlib import Path

import pytest
import zstandard

from capture.capture_logs import FIXTURES, WriteLog, packet_of, packets_of
from wayproof.capture import Problems
from wayproof.cli import main

# -- SWE-agent ------------------------------------------------------------------------


def test_swe_agent_state_after_the_action() -> None:
    """New files: the state is the action's outcome, so a call starts where the last one ended."""
    packet = packet_of("swe_agent/state_object.traj")
    assert packet["first_contact_command"] == 'find_file "label.py" src'
    assert packet["selected_artifacts"] == ["src/label.py", "src/print.py", "README.md"]
    assert packet["wall_ms"] == 250 + 500 + 125 + 100
    assert packet["cut_reason"] == "mutation"
    assert packet["source"]["session_id"] == "shelf-1"


def test_swe_agent_state_before_the_action() -> None:
    """Old files: the state is a JSON text, and what the action started from."""
    packet = packet_of("swe_agent/state_string.traj")
    assert packet["first_contact_command"] == "cd /testbed/src"
    assert packet["failed_calls"] == 1  # open of a missing file; "No matches" is an answer
    assert packet["error"] == "exit_cost"
    assert "wall_ms" not in packet


def test_swe_agent_history_only() -> None:
    """Actions from the messages; a demonstration is somebody else's run."""
    packet = packet_of("swe_agent/history_only.traj")
    assert packet["first_contact_command"] == "cat src/a.py"
    assert packet["selected_artifacts"] == ["src/a.py"]
    assert packet["cut_reason"] == "mutation"


# -- mini-swe-agent -------------------------------------------------------------------


def test_mini_bare_list() -> None:
    """Fenced commands and <returncode>; the first cat fails and selects nothing."""
    packet = packet_of("mini_swe_agent/bare_list.traj.json")
    assert packet["first_contact_command"] == "cat /gone/label.py"
    assert packet["selected_artifacts"] == ["src/label.py"]
    assert packet["cut_reason"] == "mutation"
    assert packet["source"]["lines"]["cut"] == 7
    assert packet["error"] is None


def test_mini_version_2() -> None:
    """extra.actions, observations by id, seconds as floats, exit status 1 of rg."""
    packet = packet_of("mini_swe_agent/version_2.traj.json")
    assert packet["first_contact_command"] == "rg -n label"
    assert packet["selected_artifacts"] == ["src/a.py"]
    assert packet["elapsed_ms"] == 3500
    assert "failed_calls" not in packet
    assert packet["cut_reason"] == "answer"
    assert packet["source"]["session_id"] == "shelf__shelf-7"


def test_mini_time_out() -> None:
    """The tool's own phrase tells a time-out."""
    packet = packet_of("mini_swe_agent/timed_out.traj.json")
    assert packet["timed_out"] is True
    assert packet["error"] == "LimitsExceeded"


# -- Inspect --------------------------------------------------------------------------


def test_inspect_events_and_epochs() -> None:
    """Working time, attachments, typed errors; epochs of a sample are sessions of one id."""
    first, second = packets_of("inspect/events_and_messages.json")
    assert first["first_contact_command"] == "rg -n label /repo"
    assert first["wall_ms"] == 1250 + 500 + 5000 + 250
    assert first["elapsed_ms"] == 11_000
    assert first["selected_artifacts"] == ["external:/repo/src/a.py", "external:/repo/README.md"]
    assert first["failed_calls"] == 2
    assert first["error"] is None
    assert second["source"]["session_id"] == "task-9"
    assert second["source"]["part"] == "epoch 2"
    assert second["first_contact_command"] == "cat a.py"
    assert second["timed_out"] is True


def test_inspect_root_by_flag() -> None:
    """The log names no working directory; the flag does."""
    first, _ = packets_of("inspect/events_and_messages.json", root="/repo")
    assert first["selected_artifacts"] == ["src/a.py", "README.md"]


def _archive(path: Path, *, method: int = zipfile.ZIP_DEFLATED) -> Path:
    log = json.loads((FIXTURES / "inspect/events_and_messages.json").read_text())
    samples = log.pop("samples")
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", json.dumps(log))
        for sample in samples:
            name = f"samples/{sample['id']}_epoch_{sample['epoch']}.json"
            archive.writestr(name, json.dumps(sample))
    return path


def test_inspect_archive(tmp_path: Path) -> None:
    """An .eval archive says the same as the .json."""
    archived = packets_of(_archive(tmp_path / "a.eval"))
    plain = packets_of("inspect/events_and_messages.json")
    for packet in (*archived, *plain):
        del packet["source"]["file"]
    assert archived == plain


def _zstd_archive(path: Path) -> Path:
    """An archive of method 93, which zipfile can't write: stored bytes, relabelled."""
    log = json.loads((FIXTURES / "inspect/events_and_messages.json").read_text())
    samples = log.pop("samples")
    members = {"header.json": log} | {
        f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in samples
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, value in members.items():
            packed = zstandard.ZstdCompressor().compress(json.dumps(value).encode())
            archive.writestr(name, packed)
        for info in archive.infolist():
            info.compress_type = 93
    data = bytearray(path.read_bytes())
    position = data.find(b"PK\x03\x04")
    while position >= 0:
        data[position + 8 : position + 10] = (93).to_bytes(2, "little")
        position = data.find(b"PK\x03\x04", position + 4)
    path.write_bytes(bytes(data))
    return path


def test_inspect_zstd_archive(tmp_path: Path) -> None:
    """Newer archives use zstd inside the ZIP: read all the same."""
    archived = packets_of(_zstd_archive(tmp_path / "a.eval"))
    assert [one["first_contact_command"] for one in archived] == ["rg -n label /repo", "cat a.py"]


def test_inspect_zstd_archive_without_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What can't be read is said clearly, with the way out."""
    path = _zstd_archive(tmp_path / "a.eval")
    monkeypatch.setitem(__import__("sys").modules, "zstandard", None)
    assert main(["capture", str(path)]) == 2
    assert "method 93" in capsys.readouterr().err


@pytest.mark.parametrize("keep", [40, 300, 700])
def test_inspect_truncated_archive(tmp_path: Path, keep: int) -> None:
    """Half an archive is a named problem, not a traceback."""
    path = _archive(tmp_path / "a.eval")
    path.write_bytes(path.read_bytes()[:keep])
    problems = Problems()
    assert packets_of(path, problems=problems) == []
    assert problems.count == 1


# -- ATIF -----------------------------------------------------------------------------


def test_atif() -> None:
    """Results by id; a result without an owner is nobody's; no durations."""
    packet = packet_of("atif/trajectory.json")
    assert packet["first_contact_command"] == "cat src/a.py"
    assert packet["selected_artifacts"] == ["src/a.py", "src/b.py", "src/c.py", "src/d.py"]
    assert packet["answer_artifacts"] == ["src/a.py"]
    assert packet["elapsed_ms"] == 9000
    assert "wall_ms" not in packet
    assert packet["source"]["agent_version"] == "harness 1.2"


def test_atif_sub_agents() -> None:
    """Embedded, or in a file beside the log."""
    packet = packet_of("atif/subagents.json")
    assert packet["first_contact_command"] == 'read_file {"path":"kid.py"}'
    assert packet["selected_artifacts"] == ["kid.py", "kid2.py"]
    assert packet["via"] == "subagent"


def test_atif_opens_nothing_outside_its_folder(tmp_path: Path) -> None:
    """A reference that climbs out of the folder is not followed."""
    secret = tmp_path / "kid_file.json"
    secret.write_text((FIXTURES / "atif/kid_file.json").read_text())
    inner = tmp_path / "logs"
    inner.mkdir()
    log = json.loads((FIXTURES / "atif/subagents.json").read_text())
    results = log["steps"][1]["observation"]["results"]
    results[1]["subagent_trajectory_ref"][0]["trajectory_path"] = "../kid_file.json"
    (inner / "log.json").write_text(json.dumps(log))
    assert packet_of(inner / "log.json")["selected_artifacts"] == ["kid.py"]


# -- OpenHands ------------------------------------------------------------------------


def test_openhands_v0() -> None:
    """Observations by cause, naive times, the model's own tool call, recall is no call."""
    packet = packet_of("openhands/v0.json")
    assert packet["first_contact_command"] == "grep -rn label"
    assert packet["selected_artifacts"] == ["b.py", "a.py"]
    assert packet["elapsed_ms"] == 5900
    assert "failed_calls" not in packet  # grep's 1 is no failure
    assert packet["cut_reason"] == "answer"
    assert packet["answer_artifacts"] == ["a.py"]


def test_openhands_v1() -> None:
    """By tool_call_id; an orphan observation is nobody's; timeout is typed."""
    packet = packet_of("openhands/v1.jsonl")
    assert packet["first_contact_command"] == "cat label.py"
    assert packet["selected_artifacts"] == ["label.py", "print.py"]
    assert packet["navigation_calls"] == 3
    assert packet["timed_out"] is True


def test_openhands_evaluation_output() -> None:
    """A line for each instance, as pairs or flat."""
    first, second = packets_of("openhands/evaluation_output.jsonl")
    assert (first["source"]["session_id"], first["selected_artifacts"]) == ("shelf-1", ["a.py"])
    assert second["source"]["session_id"] == "shelf-2"


# -- Gemini CLI -----------------------------------------------------------------------


def test_gemini_document() -> None:
    """Calls with function responses; errors and cancellations are typed."""
    packet = packet_of("gemini/session.json")
    assert packet["first_contact_command"] == 'search_file_content {"pattern":"label"}'
    assert packet["selected_artifacts"] == ["src/b.py"]
    assert packet["failed_calls"] == 1
    assert packet["elapsed_ms"] == 4000
    assert packet["cut_reason"] == "mutation"


def test_gemini_replay() -> None:
    """Rewound messages are gone, a repeated id's last state counts, $set changes the session."""
    packet = packet_of("gemini/replayed.jsonl")
    assert packet["first_contact_command"] == 'read_file {"file_path":"right.py"}'
    assert packet["selected_artifacts"] == ["right.py"]
    assert packet["navigation_calls"] == 1
    assert packet["cut_reason"] == "answer"


def test_gemini_set_messages_and_unknown_rewind(write_log: WriteLog) -> None:
    """$set replaces the messages; a rewind to nowhere clears them, as the tool does."""

    def call(name: str) -> dict[str, object]:
        return {"id": name, "type": "gemini", "content": "", "toolCalls": [
            {"id": name, "name": "read_file", "args": {"path": f"{name}.py"},
             "status": "success", "result": "x"}]}  # fmt: skip

    path = write_log(
        {"sessionId": "g", "projectHash": "h"},
        call("gone"),
        {"$rewindTo": "nowhere"},
        {"$rewindTo": ["no", "id"]},
        call("old"),
        {"$set": {"messages": [call("new")]}},
        call("last"),
    )
    assert packet_of(path)["selected_artifacts"] == ["new.py", "last.py"]


def test_gemini_sub_agent_and_patch() -> None:
    """A patched message names its agent, whose recording lies in the session's folder."""
    packet = packet_of("gemini/with_agent/session-2026-06-22T14-31-0a900000.jsonl")
    assert packet["first_contact_command"] == 'read_file {"file_path":"deep.py"}'
    assert packet["via"] == "subagent"
    assert packet["selected_artifacts"] == ["deep.py"]
