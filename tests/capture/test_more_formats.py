"""Cursor, Copilot CLI, OpenCode, message lists, Claude Code's list; and what is refused."""

import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from capture.capture_logs import FIXTURES, WriteLog, packet_of, packets_of
from capture.test_sinks import events_of
from wayproof.capture import Problems
from wayproof.capture.adapter import head_of
from wayproof.capture.foreign import FOREIGN, refuse_foreign
from wayproof.capture.lines import Source
from wayproof.capture.registry import detect
from wayproof.capture.session import Call, Prompt, Result, Usage
from wayproof.cli import main


def _selected(packet: dict[str, Any]) -> list[tuple[str, str]]:
    return [(one["tier"], one["artifact"]) for one in packet["selections"]]


# -- Cursor ---------------------------------------------------------------------------


def test_cursor_route() -> None:
    """Ids pair results, names in fields are files, durations are the log's own, edits end it."""
    packet = packet_of("cursor/stream.jsonl", select="listed")
    assert packet["first_contact_command"] == 'grep {"path":"/repo","pattern":"label"}'
    assert packet["source"]["session_id"] == "6f1c1f6e-cursor"
    assert _selected(packet) == [
        ("matched", "src/label.py"), ("matched", "README.md"),
        ("listed", "src/main.py"), ("listed", "src/print/page.py"),
        ("read", "src/label.py"), ("read", "src/print/page.py"),
    ]  # fmt: skip
    # the batch of two counts once with its longest (30), then 12 by executionTime, then 8
    assert packet["wall_ms"] == 50
    assert packet["cut_reason"] == "mutation"
    assert packet["source"]["lines"] == {
        "first_contact": 6,
        "navigation": [6, 7, 10, 12],
        "cut": 14,
    }


def _cursor_call(tool: str, result: Any, args: Any = None) -> dict[str, Any]:
    call = {tool: {"args": args or {"path": "a.py"}} | ({"result": result} if result else {})}
    return {"type": "tool_call", "subtype": "completed", "call_id": "k", "tool_call": call}


CURSOR_OUTCOMES = [
    ({"success": {"content": "x"}}, None, ["a.py"], False),
    ({"error": {"errorMessage": "no such file"}}, "no such file", [], False),
    ({"rejected": {"reason": ""}}, None, [], False),
    ({"timeout": {}}, None, [], True),
]


@pytest.mark.parametrize(("result", "error", "selected", "timed_out"), CURSOR_OUTCOMES)
def test_cursor_outcomes(
    result: Any, error: str | None, selected: list[str], timed_out: bool, write_log: WriteLog
) -> None:
    """A result says success, error, rejected or timeout; a refusal is nobody's error."""
    log = write_log(_cursor_call("readToolCall", result))
    packet = packet_of(log)
    assert packet["error"] == error
    assert packet["selected_artifacts"] == selected
    assert packet["timed_out"] is timed_out


def test_cursor_mcp_and_functions(write_log: WriteLog) -> None:
    """An MCP call is named by server and tool; a generic function by its own name."""
    mcp = {"serverIdentifier": "docs", "toolName": "find", "args": {"q": "label"}}
    function = {"function": {"name": "lookup", "arguments": '{"q":1}'}}
    generic = {"type": "tool_call", "subtype": "started", "call_id": "f", "tool_call": function}
    log = write_log(_cursor_call("mcpToolCall", {"success": {"content": []}}, mcp))
    assert packet_of(log)["first_contact_command"] == 'mcp__docs__find {"q":"label"}'
    assert packet_of(write_log(generic))["first_contact_command"] == 'lookup {"q":1}'


def test_cursor_failed_shell(write_log: WriteLog) -> None:
    """A failure's exit status and output make the error."""
    result = {"failure": {"exitCode": 2, "stdout": "", "stderr": "cat: a.py: No such file"}}
    packet = packet_of(write_log(_cursor_call("shellToolCall", result, {"command": "cat a.py"})))
    assert packet["first_contact_command"] == "cat a.py"
    assert packet["error"] == "cat: a.py: No such file"
    assert packet["selected_artifacts"] == []


def test_cursor_without_calls_is_not_claude(write_log: WriteLog) -> None:
    """Both tools begin with a system line; which one it is, its keys tell."""
    init = {"type": "system", "subtype": "init", "session_id": "s", "cwd": "/repo"}
    cursor = write_log(init | {"apiKeySource": "login", "permissionMode": "default"})
    assert detect(Source(cursor, problems=Problems())) == "cursor"
    claude = write_log(init | {"apiKeySource": "none", "tools": [], "uuid": "u"})
    assert detect(Source(claude, problems=Problems())) == "claude-code"


# -- Copilot CLI ----------------------------------------------------------------------


def test_copilot_route() -> None:
    """Calls in the order of the model's message, results as they end, the user's own left out."""
    packet = packet_of("copilot_cli/events.jsonl", select="matched", root="/repo")
    assert packet["first_contact_command"] == "grep -rn label src"
    assert packet["source"]["agent_version"] == "1.0.77"
    assert _selected(packet) == [
        ("matched", "src/label.py"), ("matched", "src/print/page.py"), ("read", "src/label.py"),
    ]  # fmt: skip
    assert packet["selections"][2]["lines"] == [1, 20]
    assert packet["navigation_calls"] == 3
    assert packet["failed_calls"] == 1
    assert "wall_ms" not in packet
    # from the typed prompt (the skill's is none) to the answer
    assert packet["elapsed_ms"] == 15000


def test_copilot_live_branch_and_agent() -> None:
    """What a rewind left behind is no route; a sub-agent's calls are its parent's first move."""
    packet = packet_of("copilot_cli/rewound_with_agent.jsonl")
    assert packet["first_contact_command"] == 'grep {"path":"/repo/src","pattern":"label"}'
    assert packet["via"] == "subagent"
    assert packet["selected_artifacts"] == ["src/label.py"]


def test_copilot_what_no_person_asked(write_log: WriteLog) -> None:
    """A skill's text and a continuation are no prompts; a call of the user's own is no call."""

    def event(second: int, kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "timestamp": f"2026-06-22T10:00:{second:02}Z"}

    events = events_of(write_log(
        event(0, "session.start", sessionId="s", copilotVersion="1.0.77"),
        event(1, "user.message", content="The house has rules.", source="skill-house"),
        event(2, "user.message", content="Look"),
        event(3, "user.message", content="Go on.", isAutopilotContinuation=True),
        event(4, "tool.user_requested", toolCallId="u", toolName="bash"),
        event(5, "tool.execution_start", toolCallId="u", toolName="bash", arguments={}),
        event(6, "tool.execution_complete", toolCallId="u", success=True),
    ))  # fmt: skip
    assert [one.text for one in events if isinstance(one, Prompt)] == ["Look"]
    assert len(events) == 1


def test_copilot_refusal_and_exit_status(write_log: WriteLog) -> None:
    """A denied call is no error; a shell's exit status stands in a block or in the text."""

    def event(kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "timestamp": "2026-06-22T10:00:00Z"}

    def ended(name: str, **data: Any) -> dict[str, Any]:
        return event("tool.execution_complete", toolCallId=name, **data)

    def call(name: str, command: str) -> dict[str, Any]:
        arguments = {"command": command}
        return event("tool.execution_start", toolCallId=name, toolName="bash", arguments=arguments)

    denied = write_log(
        event("user.message", content="Look"),
        call("t", "cat a.py"),
        ended("t", success=False, error={"message": "Denied by hook", "code": "denied"}),
    )
    assert packet_of(denied)["error"] is None
    in_text = {"content": "cat: a.py: No such file\n<exited with exit code 1>"}
    in_block = {"content": "", "contents": [{"type": "shell_exit", "exitCode": 1, "shellId": "1"}]}
    for result in (in_text, in_block):
        failed = write_log(
            event("user.message", content="Look"),
            call("t", "cat a.py"),
            ended("t", success=True, result=result),
        )
        packet = packet_of(failed)
        assert packet["error"] is not None
        assert packet["selected_artifacts"] == []


# -- OpenCode -------------------------------------------------------------------------


def test_opencode_export() -> None:
    """Parts in steps, native times, exit status; a refusal, a summary, what was undone."""
    packet = packet_of("opencode/export.json", select="listed")
    assert packet["first_contact_command"] == 'grep {"path":"/repo","pattern":"label"}'
    assert packet["wall_ms"] == 75  # the longer of 40 and 20, then 30, then 5
    assert packet["error"] is None
    assert _selected(packet)[:4] == [
        ("matched", "src/label.py"), ("matched", "README.md"),
        ("listed", "src/print/page.py"), ("listed", "src/main.py"),
    ]  # fmt: skip
    assert ("read", "src/print/page.py") in _selected(packet)
    assert not [one for one in packet["selected_artifacts"] if "undone" in one or "secret" in one]
    assert packet["source"]["agent_version"] == "1.2.5"
    assert packet["cut_reason"] == "answer"
    assert not any("other.py" in one for one in packet["answer_artifacts"])
    prompts = [one.text for one in events_of(FIXTURES / "opencode/export.json")
               if isinstance(one, Prompt)]  # fmt: skip
    assert prompts == ["Where are labels printed?"]


def test_opencode_says_whether_a_file_was_there(tmp_path: Path) -> None:
    """A new file doesn't end the route, a rewritten one does: ``exists`` says which."""

    def tool(number: int, name: str, given: dict[str, Any], **metadata: Any) -> dict[str, Any]:
        times = {"start": 1790000000000 + number, "end": 1790000000001 + number}
        state = {"status": "completed", "input": given, "output": "", "title": "t", "time": times}
        return {"type": "tool", "callID": f"c{number}", "tool": name,
                "state": state | {"metadata": metadata}}  # fmt: skip

    for exists in (False, True):
        parts = [
            tool(1, "read", {"filePath": "/repo/a.py"}),
            tool(2, "write", {"filePath": "/repo/b.py", "content": "x"}, exists=exists),
            tool(3, "read", {"filePath": "/repo/c.py"}),
        ]
        log = {
            "info": {"id": "s", "directory": "/repo"},
            "messages": [
                {"info": {"role": "user"}, "parts": [{"type": "text", "text": "Look"}]},
                {"info": {"role": "assistant"}, "parts": parts},
            ],
        }
        path = tmp_path / "e.json"
        path.write_text(json.dumps(log))
        packet = packet_of(path)
        assert packet["selected_artifacts"] == (["a.py"] if exists else ["a.py", "c.py"])
        assert packet["cut_reason"] == ("mutation" if exists else "end_of_log")


def test_a_background_shell_is_asked_how_it_does(write_log: WriteLog) -> None:
    """Copilot's ``read_bash`` looks at a process, not at the repository."""

    def event(kind: str, **data: Any) -> dict[str, Any]:
        return {"type": kind, "data": data, "timestamp": "2026-06-22T10:00:00Z"}

    packet = packet_of(write_log(
        event("user.message", content="Look"),
        event("tool.execution_start", toolCallId="1", toolName="read_bash",
              arguments={"shellId": "1"}),
        event("tool.execution_start", toolCallId="2", toolName="view",
              arguments={"path": "/repo/a.py"}),
    ))  # fmt: skip
    assert packet["first_contact_command"] == 'view {"path":"/repo/a.py"}'


def test_opencode_undo_within_a_message(tmp_path: Path) -> None:
    """``revert`` may name a part: what stands before it in the message counts."""
    log = json.loads((FIXTURES / "opencode/export.json").read_text())
    log["info"]["revert"] = {"messageID": "msg_3", "partID": "p13"}
    path = tmp_path / "e.json"
    path.write_text(json.dumps(log))
    assert packet_of(path)["selected_artifacts"] == ["src/label.py", "src/print/page.py"]
    log["info"]["revert"] = {"messageID": "msg_3"}
    path.write_text(json.dumps(log))
    assert packet_of(path)["selected_artifacts"] == ["src/label.py"]


def test_opencode_run_lines() -> None:
    """The lines of ``run --format json``: no prompt, no folder, a time-out by its own words."""
    packet = packet_of("opencode/run.jsonl", select="listed", root="/repo")
    assert packet["start_reason"] == "start_of_log"
    assert packet["selected_artifacts"] == ["src/label.py", "src/main.py"]
    assert packet["failed_calls"] == 1
    assert packet["wall_ms"] == 120002


# -- message lists --------------------------------------------------------------------


@pytest.mark.parametrize("name", ["messages/openai_chat.json", "messages/one_a_line.jsonl"])
def test_openai_messages(name: str) -> None:
    """Results pair by id, and an id that begins anew is a call of its own."""
    packet = packet_of(name, root="/repo")
    assert packet["first_contact_command"] == 'list_dir {"path":"/repo/src"}'
    assert packet["selected_artifacts"] == ["src/label.py", "src/main.py"]
    assert packet["navigation_calls"] == 3
    assert "wall_ms" not in packet
    assert "elapsed_ms" not in packet


def test_anthropic_messages() -> None:
    """Blocks call and answer; ``is_error`` is the log's own word."""
    packet = packet_of("messages/anthropic.json", root="/repo")
    assert packet["first_contact_command"] == "cat /repo/src/label.py"
    assert packet["selected_artifacts"] == ["src/label.py"]
    assert packet["failed_calls"] == 1
    assert packet["source"]["session_id"] == "conv-9"


def test_response_items() -> None:
    """OpenAI's responses: items that call and items that answer, a shell among them."""
    packet = packet_of("messages/responses.json")
    assert packet["first_contact_command"] == "cat src/label.py"
    assert packet["selected_artifacts"] == ["src/label.py", "src/main.py"]


def test_requests_that_grow_are_one_conversation() -> None:
    """A log of requests repeats its history: the longest line is the conversation."""
    grown, other = packets_of("messages/grown_requests.jsonl", root="/repo")
    whole = packet_of("messages/openai_chat.json", root="/repo")
    for key in ("first_contact_command", "selected_artifacts", "navigation_calls", "cut_reason"):
        assert grown[key] == whole[key]
    assert other["selected_artifacts"] == ["b.py"]


def test_messages_as_text_in_a_table(write_log: WriteLog) -> None:
    """Rows of data sets hold the list as JSON text beside other columns."""
    chat = (FIXTURES / "messages/openai_chat.json").read_text()
    log = write_log({"instance_id": "i-1", "resolved": True, "messages": chat.strip()})
    packet = packet_of(log, root="/repo")
    assert packet["source"]["session_id"] == "i-1"
    assert packet["selected_artifacts"] == ["src/label.py", "src/main.py"]


def test_results_of_one_id_go_to_the_latest_message(write_log: WriteLog) -> None:
    """In the order of its calls; a call that an earlier message left open stays open."""

    def ask(*paths: str) -> dict[str, Any]:
        calls = [
            {"id": "c", "type": "function",
             "function": {"name": "read_file", "arguments": json.dumps({"path": path})}}
            for path in paths
        ]  # fmt: skip
        return {"role": "assistant", "content": None, "tool_calls": calls}

    log = write_log(
        {"role": "user", "content": "Look"},
        ask("a.py"),
        ask("b.py", "c.py"),
        {"role": "tool", "tool_call_id": "c", "content": "first"},
        {"role": "tool", "tool_call_id": "c", "content": "second"},
    )
    events = events_of(log)
    names = {one.call_id: one.arguments for one in events if isinstance(one, Call)}
    ended = [(names[one.call_id], one.body) for one in events if isinstance(one, Result)]
    assert ended == [({"path": "b.py"}, "first"), ({"path": "c.py"}, "second")]


def test_messages_without_calls_are_no_route(tmp_path: Path) -> None:
    """A chat in which no tool is called isn't taken: nothing in it could be a route."""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "Hi"}]))
    assert main(["capture", str(path)]) == 2


def test_old_function_calls(write_log: WriteLog) -> None:
    """The ``function`` role of 2023 pairs by name."""
    call = {"name": "read_file", "arguments": '{"path": "a.py"}'}
    log = write_log(
        {"role": "user", "content": "Look"},
        {"role": "assistant", "content": None, "function_call": call},
        {"role": "function", "name": "read_file", "content": "x"},
    )
    assert packet_of(log)["selected_artifacts"] == ["a.py"]


# -- Claude Code's list ---------------------------------------------------------------


def test_claude_list_is_its_stream(tmp_path: Path) -> None:
    """``--output-format json --verbose`` gives the packet of the stream's lines."""
    listed = FIXTURES / "claude_list/execution.json"
    log = json.loads(listed.read_text())
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps(one) + "\n" for one in log))
    one_line = tmp_path / "one_line.json"
    one_line.write_text(json.dumps(log))
    expected = packet_of(lines, select="matched")
    assert expected["selected_artifacts"] == ["src/label.py"]
    for path in (listed, one_line):
        packet = packet_of(path, select="matched")
        assert packet["source"].pop("file") != expected["source"]["file"]
        assert packet | {"source": packet["source"] | {"file": str(lines)}} == expected


def test_claude_list_damage_is_named(tmp_path: Path) -> None:
    """An element that is no message is a bad line of its own."""
    log = [*json.loads((FIXTURES / "claude_list/execution.json").read_text()), 42]
    path = tmp_path / "execution.json"
    path.write_text(json.dumps(log))
    problems = Problems()
    assert packets_of(path, problems=problems)[0]["navigation_calls"] == 2
    assert [(one.line, one.mended) for one in problems.named] == [(7, False)]


# -- events that no route shows -------------------------------------------------------

EVENTS = [
    ("cursor/stream.jsonl", 5, 5),
    ("copilot_cli/events.jsonl", 4, 4),
    ("copilot_cli/rewound_with_agent.jsonl", 3, 3),
    ("opencode/export.json", 5, 5),
    ("opencode/run.jsonl", 3, 3),
    ("messages/openai_chat.json", 3, 3),
    ("messages/anthropic.json", 2, 2),
    ("messages/responses.json", 2, 2),
    ("claude_list/execution.json", 2, 2),
]


@pytest.mark.parametrize(("name", "calls", "results"), EVENTS)
def test_every_call_is_fed_once(name: str, calls: int, results: int) -> None:
    """Counted by eye in the fixtures: no call disappears, and each result finds its own."""
    events = events_of(FIXTURES / name)
    called = [one.call_id for one in events if isinstance(one, Call)]
    ended = [one.call_id for one in events if isinstance(one, Result)]
    assert len(called) == len(set(called)) == calls
    assert len(ended) == len(set(ended)) == results
    assert set(ended) <= set(called)


def test_usage_of_opencode_and_copilot() -> None:
    """Tokens once a message: what a cache gave is part of what was read."""
    (usage,) = (one for one in events_of(FIXTURES / "opencode/export.json")
                if isinstance(one, Usage))  # fmt: skip
    assert (usage.input_tokens, usage.cached_tokens, usage.output_tokens) == (142, 40, 25)
    (usage,) = (one for one in events_of(FIXTURES / "copilot_cli/events.jsonl")
                if isinstance(one, Usage))  # fmt: skip
    assert (usage.input_tokens, usage.output_tokens) == (None, 33)


# -- other tools' files ---------------------------------------------------------------

REFUSED: dict[str, Any] = {
    "droid": [
        {"type": "tool_call", "session_id": "d", "toolCallId": "c", "toolName": "Shell",
         "parameters": {"command": "cat a.py"}},
    ],
    "Qwen Code": [
        {"type": "user", "uuid": "u", "sessionId": "s", "cwd": "/repo", "version": "0.5.0",
         "message": {"role": "user", "parts": [{"text": "Where?"}]}},
    ],
    "Gemini CLI's stream-json": [
        {"type": "init", "session_id": "s", "model": "m", "timestamp": "2026-01-01T00:00:00Z"},
        {"type": "tool_use", "tool_name": "read_file", "tool_id": "t", "parameters": {}},
    ],
    "Goose": [
        {"role": "assistant", "created": 1, "content": [{"type": "toolRequest", "id": "x"}]},
    ],
    "pi coding agent": [
        {"type": "session", "version": 3, "id": "s", "cwd": "/repo"},
        {"type": "message", "message": {"role": "assistant", "content": [{"type": "toolCall"}]}},
    ],
    "OpenTelemetry logs": [{"resourceLogs": []}],
    "without the calls": [
        {"type": "result", "subtype": "success", "session_id": "s", "result": "x"},
    ],
}  # fmt: skip
REFUSED_DOCUMENTS: dict[str, Any] = {
    "ui_messages.json": [{"ts": 1, "type": "say", "say": "text", "text": "x"}],
    "chat session of VS Code": {"version": 3, "responderUsername": "Copilot", "requests": []},
    "Jaeger": {"data": [{"traceID": "1", "spans": []}]},
    "Zipkin": [{"traceId": "1", "id": "2", "localEndpoint": {"serviceName": "x"}}],
    "console output": {"name": "x", "context": {}, "kind": "SpanKind.INTERNAL",
                       "start_time": "", "end_time": "", "attributes": {}},
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_other_tools_lines_are_called_what_they_are(
    what: str, write_log: WriteLog, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2 and a sentence; never another tool's session, never "0 sessions"."""
    log = write_log(*REFUSED[what])
    assert main(["capture", str(log)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "looks like" in said.err
    assert what in said.err


@pytest.mark.parametrize("what", REFUSED_DOCUMENTS)
def test_other_tools_documents_are_called_what_they_are(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for one JSON document."""
    path = tmp_path / "log.json"
    path.write_text(json.dumps(REFUSED_DOCUMENTS[what], indent=1))
    assert main(["capture", str(path)]) == 2
    assert what in capsys.readouterr().err


def test_every_foreign_row_is_tried() -> None:
    """A row that no test reaches could be dead."""
    tried = [*REFUSED, *REFUSED_DOCUMENTS]
    assert [one.title for one in FOREIGN if not any(what in one.title for what in tried)] == []


def _bytes_of(name: str, folder: Path) -> bytes:
    if name == "SQLite":
        with sqlite3.connect(folder / "db") as database:
            database.execute("create table message (id)")
        database.close()
        return (folder / "db").read_bytes()
    return {
        "LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
        "annex": b"/annex/objects/SHA256E-s1--00.jsonl\n",
        "tar": bytes(257) + b"ustar" + bytes(300),
        "web page": b"\n<!DOCTYPE html><html></html>",
        "PDF": b"%PDF-1.7\n",
        "Aider": b"\n# aider chat started at 2026-01-01 10:00:00\n",
    }[name]


@pytest.mark.parametrize("name", ["SQLite", "LFS", "annex", "tar", "web page", "PDF", "Aider"])
def test_files_that_are_no_logs_are_called_what_they_are(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also behind gzip, where the bytes are looked at as they come out."""
    path = tmp_path / "session.jsonl"
    plain = _bytes_of(name, tmp_path)
    for data in (plain, gzip.compress(plain)):
        path.write_bytes(data)
        assert main(["capture", str(path)]) == 2
        assert name in capsys.readouterr().err


def test_every_log_of_the_project_is_nobody_elses() -> None:
    """No row takes a file that an adapter reads."""
    for path in sorted(FIXTURES.rglob("*")):
        if path.is_file() and path.suffix in {".json", ".jsonl", ".traj"}:
            source = Source(path, problems=Problems())
            refuse_foreign(source, head_of(source))
