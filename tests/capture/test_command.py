"""The capture command as a user meets it."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from capture.capture_logs import FIXTURES, WriteLog, claude_call, claude_line, claude_result
from conftest import RunWayproof
from wayproof.capture.adapter import FIELDS
from wayproof.capture.registry import FORMATS, formats
from wayproof.cli import main

ONE = str(FIXTURES / "claude_code/mutated_first.jsonl")
TWO = str(FIXTURES / "claude_code/two_sessions.jsonl")


def _packets(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def _tasks(path: Path, *names: str) -> str:
    path.write_text("".join(json.dumps({"task_id": name}) + "\n" for name in names))
    return str(path)


def test_one_task_and_one_session_are_a_pair(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the session is called."""
    tasks = _tasks(tmp_path / "t.jsonl", "the-task")
    assert main(["capture", ONE, "--tasks", tasks]) == 0
    (packet,) = _packets(capsys.readouterr().out)
    assert packet["task_id"] == "the-task"
    assert "attempt" not in packet


def test_sessions_are_matched_by_their_id(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What finds no partner is listed, on stderr and in the report."""
    tasks = _tasks(tmp_path / "t.jsonl", "ffffffff-0002", "missing")
    report = tmp_path / "report.json"
    assert main(["capture", TWO, "--tasks", tasks, "--report", str(report)]) == 0
    captured = capsys.readouterr()
    assert [one["task_id"] for one in _packets(captured.out)] == ["ffffffff-0002"]
    assert "session without a task: ffffffff-0001" in captured.err
    assert "task without a session: missing" in captured.err
    said = json.loads(report.read_text())
    assert said["unmatched_sessions"] == ["ffffffff-0001"]
    assert said["unmatched_tasks"] == ["missing"]
    assert said["packet_count"] == 1


def test_task_ids_from_the_file_the_prompt_and_a_sidecar(
    tmp_path: Path, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """By file stem, by a pattern in the first prompt, by a sidecar before both."""
    log = str(write_log(claude_line("user", "TASK-17: fix it", 1), name="run-3.jsonl"))
    for source, expected in (
        ("session", "s-1"), ("file", "run-3"), (r"prompt:TASK-\d+", "TASK-17"),
        (r"prompt:TASK-(\d+)", "17"), (r"TASK-\d+", "TASK-17"), ("file_stem", "run-3"),
    ):  # fmt: skip
        assert main(["capture", log, "--task-id-from", source]) == 0
        assert _packets(capsys.readouterr().out)[0]["task_id"] == expected
    sidecar = tmp_path / "side.json"
    sidecar.write_text('{"s-1": "from-the-side"}')
    assert main(["capture", log, "--task-id-from", "file", "--sidecar", str(sidecar)]) == 0
    assert _packets(capsys.readouterr().out)[0]["task_id"] == "from-the-side"


def test_several_sessions_of_one_task_are_attempts(
    write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbered in the order of the logs."""
    first = write_log(claude_call(1, "Read", {"file_path": "/repo/a"}), name="a.jsonl")
    second = write_log(claude_call(2, "Read", {"file_path": "/repo/b"}), name="b.jsonl")
    assert main(["capture", str(second), str(first)]) == 0
    found = _packets(capsys.readouterr().out)
    assert [(one["attempt"], one["source"]["file"]) for one in found] == [
        (1, str(second)), (2, str(first)),
    ]  # fmt: skip


BAD_ARGUMENTS: list[tuple[list[str], str]] = [
    (["--format", "nonsense"], "--format"),
    (["--task-id-from", "prompt:("], "regular expression"),
    (["--task-id-from", "whatever"], "session, file or prompt:REGEX"),
    (["--map", "nothing"], "FROM=TO"),
    (["--tasks", "{gone}"], "can't be read"),
    (["--sidecar", "{list}"], "sidecar"),
    (["--tasks", "{noid}"], "task_id"),
    (["--tasks", "{broken}"], "not a task"),
    (["--select", "all"], "--select"),
]


@pytest.mark.parametrize(("arguments", "what"), BAD_ARGUMENTS)
def test_bad_arguments(
    tmp_path: Path, arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One clear line, status 2, nothing written."""
    contents = {"list": "[1]", "noid": '{"task_id": ""}\n', "broken": '{"task_id"\n'}
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    out = tmp_path / "out.jsonl"
    filled = [one.format(**{key: tmp_path / key for key in (*contents, "gone")})
              for one in arguments]  # fmt: skip
    assert main(["capture", ONE, *filled, "--out", str(out)]) == 2
    captured = capsys.readouterr()
    assert what in captured.err
    assert len(captured.err.splitlines()) == 1
    assert not out.exists()


def test_options_may_stand_between_logs(capsys: pytest.CaptureFixture[str]) -> None:
    """As with any command."""
    assert main(["capture", ONE, "--select", "read", TWO]) == 0
    assert len(_packets(capsys.readouterr().out)) == 3


def test_a_log_named_like_a_verb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The old spelling of a command is taken as one; a file of that name is written ./formats."""
    (tmp_path / "formats").write_text(Path(ONE).read_text())
    monkeypatch.chdir(tmp_path)
    assert main(["capture", "./formats"]) == 0
    assert len(_packets(capsys.readouterr().out)) == 1
    assert main(["capture", "formats"]) == 0
    assert "Claude Code" in capsys.readouterr().out


def test_formats_are_described_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Every adapter says of every field whether the log has it."""
    described = list(formats())
    assert [one.name for one in described] == list(FORMATS)
    for one in described:
        assert set(one.fields) == set(FIELDS)
        assert set(one.fields.values()) <= {"native", "derived", "unknown"}
    assert main(["formats", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == list(FORMATS)


def test_the_documented_table_is_the_registrys() -> None:
    """The formats page says what the adapters say."""
    page = (Path(__file__).parents[2] / "docs/capture/formats.md").read_text(encoding="utf-8")
    for one in formats():
        cells = " | ".join(one.fields[key] for key in FIELDS)
        assert f"| `{one.name}` | {cells} |" in page


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_detection_is_by_content(name: str, tmp_path: Path) -> None:
    """No adapter's log is claimed by another, whatever the file is called."""
    from wayproof.capture import Problems
    from wayproof.capture.lines import Source
    from wayproof.capture.registry import detect

    folder = FIXTURES / {"trec-run": "trec", "inspect": "inspect"}.get(name, name.replace("-", "_"))
    logs = [one for one in folder.rglob("*.*") if one.is_file()]
    found = set()
    for number, log in enumerate(sorted(logs)):
        if log.name.endswith(".meta.json") or log.name == "qrels.trec":
            continue
        path = tmp_path / f"log-{number}"
        path.write_bytes(log.read_bytes())
        found.add(detect(Source(path, problems=Problems())))
    assert found == {name}


def test_inspect_shows_why(capsys: pytest.CaptureFixture[str]) -> None:
    """First contact, selections and cut are marked, with the log's lines."""
    log = str(FIXTURES / "claude_code/listing_tiers.jsonl")
    assert main(["inspect", log]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(index for index, line in enumerate(lines) if "FIRST CONTACT" in line)
    assert any('LS {"path"' in line and " 2  look" in line for line in lines[:first])
    assert any(line.split() == ["read", "src/pack.py"] for line in lines)
    assert any(line.split() == ["listed", "docs/a.md"] for line in lines)
    assert any("CUT: answer" in line for line in lines)


@pytest.mark.parametrize(
    "name", sorted(str(one.relative_to(FIXTURES)) for one in FIXTURES.rglob("*")
                   if one.suffix in {".jsonl", ".json", ".traj"} and ".meta" not in one.name)
)  # fmt: skip
def test_inspect_agrees_with_the_packet(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each session's timeline has one cut and at most one first contact: the packet's."""
    assert main(["inspect", str(FIXTURES / name), "--select", "read", "--json"]) == 0
    for shown in _packets(capsys.readouterr().out):
        packet, entries = shown["packet"], shown["timeline"]
        notes = [note for entry in entries for note in entry.get("notes", [])]
        assert sum(note.startswith("CUT: ") for note in notes) == 1
        assert f"CUT: {packet['cut_reason']}" in notes
        firsts = [one for one in entries if "FIRST CONTACT" in one.get("notes", [])]
        assert len(firsts) == (packet["source"]["lines"]["first_contact"] is not None)
        selected = {one[1] for entry in entries for one in entry.get("selects", [])}
        assert selected == set(packet["selected_artifacts"])


def test_out_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An existing file stays as it was when writing fails, and nothing is left behind."""
    out = tmp_path / "packets.jsonl"
    out.write_text("before")

    def full(_: Path, __: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert main(["capture", ONE, "--out", str(out)]) == 2
    assert out.read_text() == "before"
    assert sorted(one.name for one in tmp_path.iterdir()) == ["packets.jsonl"]


def test_out_into_places_that_are_no_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder or a missing folder is refused; a pipe is written through, not replaced."""
    assert main(["capture", ONE, "--out", str(tmp_path)]) == 2
    assert main(["capture", ONE, "--out", str(tmp_path / "no" / "where")]) == 2
    capsys.readouterr()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    assert main(["capture", ONE, "--out", str(pipe)]) == 0
    reader.join(timeout=10)
    assert len(_packets(read[0])) == 1
    assert pipe.is_fifo()


def test_stdin_and_folders(wayproof: RunWayproof, tmp_path: Path) -> None:
    """A log may come through a pipe; a folder is searched, and what is no log left out."""
    ran = wayproof("capture", "-", stdin=Path(ONE).read_bytes())
    assert ran.status == 0
    assert _packets(ran.out)[0]["source"]["file"] == "<stdin>"
    (tmp_path / "a.jsonl").write_text(Path(ONE).read_text())
    (tmp_path / "other.json").write_text('{"no": "log"}')
    (tmp_path / "notes.txt").write_text("hello")
    ran = wayproof("capture", tmp_path)
    assert ran.status == 0
    assert len(_packets(ran.out)) == 1
    assert "left out" in ran.err
    assert "other.json" in ran.err


def test_the_same_bytes_everywhere(wayproof: RunWayproof) -> None:
    """Hash seed, locale and time zone change nothing."""
    logs = sorted(FIXTURES.rglob("*.jsonl"))
    runs = [
        wayproof("capture", *logs, env={"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": locale})
        for seed, zone, locale in (("0", "UTC", "C"), ("4242", "Asia/Tokyo", "C.UTF-8"))
    ]
    assert runs[0].status == 0
    assert runs[0].out
    assert runs[0] == runs[1]


def test_drafts_are_refused_by_scoring_until_filled_in(
    wayproof: RunWayproof, tmp_path: Path
) -> None:
    """A draft expects nothing, which would score as perfect; so it is no task yet."""
    log = FIXTURES / "claude_code/injected_prompts.jsonl"
    tasks, packets = tmp_path / "tasks.jsonl", tmp_path / "packets.jsonl"
    ran = wayproof("capture", log, "--draft-tasks", tasks, "--out", packets)
    assert ran.status == 0
    (draft,) = _packets(tasks.read_text())
    assert draft["draft"] is True
    assert draft["task_prompt"] == "Which tests cover shelves?"
    assert draft["expected_artifacts"] == []
    refused = wayproof("fitness", "score", "--tasks", tasks, "--packets", packets)
    assert refused.status == 2
    assert "draft" in refused.err


def test_capture_into_score_as_a_pipe(wayproof: RunWayproof, tmp_path: Path) -> None:
    """``wayproof capture … | wayproof fitness score --packets -``, every number by hand."""
    log = FIXTURES / "codex/rollout.jsonl"
    captured = wayproof("capture", log)
    task = {
        "task_id": "0199-a",
        "expected_artifacts": ["src/label.py", "src/missing.py", "docs/*"],
        "forbidden_first_routes": ["find /"],
        "scent_terms": ["label"],
        "latency_budget_ms": 800,
    }
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps(task) + "\n")
    scored = wayproof(
        "fitness", "score", "--tasks", tasks, "--packets", "-", "--json",
        stdin=captured.out.encode(),
    )  # fmt: skip
    assert scored.status == 0, scored.err
    text = scored.out
    summary = json.loads(text)["summary"]
    # selected: src/label.py, docs/label.md, src/print.py; two of three needs, two of three hits
    assert summary["mean_recall_at_packet"] == round(2 / 3, 6)
    assert summary["mean_precision_at_packet"] == round(2 / 3, 6)
    assert summary["mean_scent_coverage"] == 1
    assert summary["p50_wall_ms"] == 900
    assert summary["latency_fail_count"] == 1
    assert summary["failure_kind_counts"]["missing_id"] == 1


def test_nothing_of_a_log_is_run(
    write_log: WriteLog, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log full of commands changes nothing."""
    victim = tmp_path / "victim"
    victim.write_text("here")
    log = write_log(
        claude_line("user", f"$(rm {victim})", 1),
        claude_call(2, "Bash", {"command": f"rm {victim}; $(rm {victim})"}),
        claude_result(3, 2),
        name="`rm victim`.jsonl",
    )
    assert main(["capture", str(log)]) == 0
    assert main(["inspect", str(log)]) == 0
    capsys.readouterr()
    assert victim.read_text() == "here"


def test_a_folder_of_events_is_one_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OpenHands keeps each event in a file of its own."""
    events = tmp_path / "conversation" / "events"
    events.mkdir(parents=True)
    lines = (FIXTURES / "openhands/v1.jsonl").read_text().splitlines()
    for number, line in enumerate(lines):
        text = json.dumps(json.loads(line), indent=2)
        (events / f"event-{number:05}-x.json").write_text(text)
    assert main(["capture", str(tmp_path)]) == 0
    (packet,) = _packets(capsys.readouterr().out)
    assert packet["first_contact_command"] == "cat label.py"
    assert packet["source"]["file"] == str(events)


def test_a_sub_agents_recording_is_no_session(capsys: pytest.CaptureFixture[str]) -> None:
    """In a folder of recordings the child is read with its parent."""
    assert main(["capture", str(FIXTURES / "gemini/with_agent")]) == 0
    captured = capsys.readouterr()
    assert len(_packets(captured.out)) == 1
    assert "a sub-agent of session" in captured.err


def test_a_pipe_is_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As from ``<(zcat log.gz)``: it is read once, though its format must be told first."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(Path(ONE).read_bytes()))
    writer.start()
    assert main(["capture", str(pipe)]) == 0
    writer.join(timeout=10)
    assert len(_packets(capsys.readouterr().out)) == 1


def test_inspect_puts_an_agents_calls_below_its_call(capsys: pytest.CaptureFixture[str]) -> None:
    """The order in which things were asked for."""
    log = str(FIXTURES / "claude_code/with_agents/bbbbbbbb-aaaa.jsonl")
    assert main(["inspect", log, "--json"]) == 0
    (shown,) = _packets(capsys.readouterr().out)
    threads = [entry["thread"] for entry in shown["timeline"] if entry["kind"] != "answer"]
    assert threads == ["", "", "b1", "b1", "", "b2", "b2"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_stdout_that_cannot_be_written() -> None:
    """A full disk is one clear line and status 2; nobody at stdout is nobody's error."""
    import subprocess
    import sys

    for redirection, status in ((">/dev/full", 2), (">&-", 0)):
        command = f"{sys.executable} -m wayproof capture '{ONE}' {redirection}"
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert done.returncode == status, redirection
        assert "Traceback" not in done.stderr
        assert status == 0 or len(done.stderr.splitlines()) == 1, done.stderr
