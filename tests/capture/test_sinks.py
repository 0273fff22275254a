"""Events of a session go to sinks: the cutter is one of several, and needs only the route."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from capture.capture_logs import WriteLog, claude_call, claude_line, claude_result, packet_of
from wayproof.capture import FORMATS, Problems, capture_logs
from wayproof.capture.adapter import Format, Head
from wayproof.capture.lines import Source
from wayproof.capture.registry import read_log
from wayproof.capture.route import Route, RouteCutter
from wayproof.capture.session import (
    Answer,
    Call,
    Event,
    Failure,
    Outcome,
    Prompt,
    Result,
    SessionInfo,
    Spawn,
    Usage,
)
from wayproof.capture.sessions import Session, Sessions


class Listing:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def take(self, event: Event) -> bool:
        self.events.append(event)
        return True


def events_of(path: Path) -> list[Event]:
    """Read a log of one session into a list."""
    listing = Listing()
    problems = Problems()
    read_log(Source(path, problems=problems), Sessions(lambda _: [listing]))
    assert problems.count == 0
    return listing.events


def route_of(*events: Event) -> Route:
    """Cut the route of a session with these events."""
    info = SessionInfo(key="k")
    cutter = RouteCutter(info)
    session = Session(info, [cutter])
    for event in events:
        session.feed(event)
    return cutter.finish()


def look(number: int, path: str = "a.py") -> tuple[Call, Result]:
    """A call that reads a file, with its result."""
    name = f"c{number}"
    call = Call(call_id=name, tool="read_file", arguments={"path": path}, line=number)
    return call, Result(call_id=name, line=number, outcome=Outcome(ok=True))


# -- who listens, and how long ----------------------------------------------------------


def _edited(write_log: WriteLog) -> Path:
    return write_log(
        claude_line("user", "find it", 0),
        claude_call(1, "Read", {"file_path": "/repo/a.py"}),
        claude_result(2, 1),
        claude_call(3, "Edit", {"file_path": "/repo/a.py", "old_string": "x", "new_string": "y"}),
        claude_result(4, 3),
        claude_call(5, "Bash", {"command": "pytest"}),
        claude_result(6, 5),
    )


def test_events_go_on_after_the_mutation(write_log: WriteLog) -> None:
    """A sink that wants everything gets every call of the log; the route ends as before."""
    log = _edited(write_log)
    assert [one.tool for one in events_of(log) if isinstance(one, Call)] == ["Read", "Edit", "Bash"]
    assert packet_of(log)["source"]["lines"]["cut"] == 4


def test_the_cutter_stops_listening(write_log: WriteLog) -> None:
    """Once the route has ended, and all its calls have results, nothing more is handed over."""
    taken: list[Event] = []

    class Counting(RouteCutter):
        def take(self, event: Event) -> bool:
            taken.append(event)
            return super().take(event)

    log = Source(_edited(write_log), problems=Problems())
    read_log(log, Sessions(lambda info: [Counting(info)]))
    assert [type(one).__name__ for one in taken] == ["Prompt", "Call", "Result", "Call", "Result"]


def test_a_sink_that_has_enough_takes_nothing_from_the_others() -> None:
    """Each sink leaves on its own, and only the thread that it has enough of."""

    class Once(Listing):
        def take(self, event: Event) -> bool:
            super().take(event)
            return False

    once, listing = Once(), Listing()
    session = Session(SessionInfo(key="k"), [once, listing])
    said = [Answer(text="one", line=1), Answer(text="two", line=2)]
    aside: list[Event] = [Answer(text="three", line=3, thread="child"), Spawn(child="o", line=4)]
    for event in (*said, *aside):
        session.feed(event)
    assert once.events == [said[0], *aside]
    assert listing.events == [*said, *aside]
    assert session.listens()


def test_a_repeated_call_is_fed_once() -> None:
    """A resumed log repeats its history; what stood before the first prompt doesn't count."""
    listing = Listing()
    session = Session(SessionInfo(key="k"), [listing])
    call, _ = look(1)
    for event in (call, call, Prompt(text="find it", line=2), call, call):
        session.feed(event)
    assert [type(one).__name__ for one in listing.events] == ["Call", "Prompt", "Call"]


# -- what a route makes of events ---------------------------------------------------------


def test_going_on_clears_a_failure() -> None:
    """The log's word that the session failed counts only where the agent didn't go on."""
    prompt, failure = Prompt(text="find it", line=0), Failure(error="overloaded", line=3)
    assert route_of(prompt, *look(1), failure).error == "overloaded"
    assert route_of(prompt, *look(1), failure, *look(4)).error is None
    assert route_of(prompt, *look(1), failure, Answer(text="here", line=4)).error is None
    late = Failure(error="cut off", line=6)
    assert route_of(prompt, *look(1), failure, *look(4), late).error == "cut off"


def test_a_batch_of_one_message_counts_with_its_longest(write_log: WriteLog) -> None:
    """Claude Code's calls of one message ran side by side, wherever their results stand."""

    def glob(number: int, message: str) -> dict[str, Any]:
        line = claude_call(number, "Glob", {"pattern": f"*.{number}"})
        line["message"]["id"] = message
        return line

    def took(number: int, call: int, duration_ms: int) -> dict[str, Any]:
        return claude_result(
            number, call, toolUseResult={"filenames": [], "durationMs": duration_ms}
        )

    prompt = claude_line("user", "find it", 0)
    together = [glob(1, "m1"), took(2, 1, 100), glob(3, "m1"), took(4, 3, 300), glob(5, "m1"),
                took(6, 5, 200)]  # fmt: skip
    assert packet_of(write_log(prompt, *together))["wall_ms"] == 300
    apart = [glob(1, "m1"), glob(3, "m2"), took(4, 1, 100), took(5, 3, 300), glob(6, "m3"),
             took(7, 6, 200)]  # fmt: skip
    assert packet_of(write_log(prompt, *apart))["wall_ms"] == 600


def test_a_sub_agents_sub_agent(write_log: WriteLog) -> None:
    """Delegated calls stand for their child's calls, however deep they are nested."""

    def delegation(number: int) -> dict[str, Any]:
        return claude_call(number, "Task", {"prompt": f"do {number}"})

    def done(number: int, call: int, agent: str) -> dict[str, Any]:
        return claude_result(number, call, "done", toolUseResult={"agentId": agent})

    def below(line: dict[str, Any], agent: str) -> dict[str, Any]:
        return line | {"isSidechain": True, "agentId": agent, "uuid": f"{agent}-{line['uuid']}"}

    depth = 5
    log = write_log(claude_line("user", "find it", 0), delegation(1), done(2, 1, "agent0"))
    for level in range(depth):
        agent = f"agent{level}"
        lines = [claude_line("user", "do", 0), delegation(1), done(2, 1, f"agent{level + 1}")]
        if level == depth - 1:
            lines = [claude_line("user", "do", 0),
                     claude_call(1, "Read", {"file_path": "/repo/deep.py"}),
                     claude_result(2, 1)]  # fmt: skip
        write_log(*(below(one, agent) for one in lines), name=f"agent-{agent}.jsonl")
    packet = packet_of(log)
    assert packet["first_contact_command"] == 'Read {"file_path":"/repo/deep.py"}'
    assert packet["via"] == "subagent"
    assert packet["navigation_calls"] == 1
    assert packet["source"]["first_contact_file"].endswith(f"agent-agent{depth - 1}.jsonl")


# -- token usage ------------------------------------------------------------------------


def test_usage_is_an_event_once_a_message(write_log: WriteLog) -> None:
    """Each line of a message repeats its usage, and the last one has the whole count."""

    def said(number: int, message: str, block: dict[str, Any], written: int) -> dict[str, Any]:
        line = claude_line("assistant", [block], number)
        usage = {"input_tokens": 4, "cache_read_input_tokens": 100,
                 "cache_creation_input_tokens": 20, "output_tokens": written}  # fmt: skip
        line["message"] |= {"id": message, "usage": usage}
        return line

    read = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "/repo/a.py"}}
    log = write_log(
        claude_line("user", "find it", 0),
        said(1, "m1", {"type": "text", "text": "I look."}, 2),
        said(2, "m1", read, 31),
        claude_result(3, 1),
        said(4, "m2", {"type": "text", "text": "There."}, 7),
    )
    events = events_of(log)
    used = [one for one in events if isinstance(one, Usage)]
    assert [(one.input_tokens, one.cached_tokens, one.output_tokens, one.line) for one in used] == [
        (124, 100, 31, 3),
        (124, 100, 7, 5),
    ]
    kinds = [type(one).__name__ for one in events]
    assert kinds == ["Prompt", "Answer", "Call", "Usage", "Result", "Answer", "Usage"]


def _codex(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-02-03T10:00:00Z", "type": kind, "payload": payload}


def _codex_tokens(total: int, last: int) -> dict[str, Any]:
    counts = {"cached_input_tokens": 1, "output_tokens": 9}
    return _codex("event_msg", {"type": "token_count", "info": {
        "total_token_usage": counts | {"input_tokens": total},
        "last_token_usage": counts | {"input_tokens": last}}})  # fmt: skip


def _span(operation: str) -> dict[str, Any]:
    said = {"gen_ai.operation.name": {"stringValue": operation},
            "gen_ai.usage.input_tokens": {"intValue": "8"},
            "gen_ai.usage.output_tokens": {"intValue": 9}}  # fmt: skip
    attributes = [{"key": key, "value": value} for key, value in said.items()]
    return {"traceId": "t", "spanId": operation, "attributes": attributes}


USED: list[tuple[str, list[dict[str, Any]], list[tuple[int | None, int | None, int | None]]]] = [
    # a count is written again when only the rate limits have changed
    ("codex", [_codex("session_meta", {"id": "s", "cwd": "/r"}), _codex_tokens(5, 5),
               _codex_tokens(5, 5), _codex_tokens(12, 7)], [(5, 1, 9), (7, 1, 9)]),
    ("codex-exec", [{"type": "thread.started", "thread_id": "x"},
                    {"type": "turn.completed", "usage": {"input_tokens": 5, "output_tokens": 9}}],
     [(5, None, 9)]),
    # thoughts are counted apart; a message that is written again counts once
    ("gemini", [{"sessionId": "g", "projectHash": "h"},
                {"id": "1", "type": "gemini", "content": "", "tokens": {"input": 1, "output": 1}},
                {"id": "1", "type": "gemini", "content": "so",
                 "tokens": {"input": 5, "output": 6, "cached": 2, "thoughts": 3}}], [(5, 2, 9)]),
    ("atif", [{"schema_version": "ATIF-v1.4", "agent": {"name": "a"}, "steps": [
        {"step_id": 1, "source": "agent", "message": "so",
         "metrics": {"prompt_tokens": 5, "completion_tokens": 9, "cached_tokens": 1}}]}],
     [(5, 1, 9)]),
    ("mini-swe-agent", [{"trajectory_format": "mini-swe-agent-1.1", "messages": [
        {"role": "assistant", "content": "so", "extra": {"response": {"usage": {
            "prompt_tokens": 5, "completion_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 1}}}}}]}], [(5, 1, 9)]),
    # an agent's span repeats the sum of its requests
    ("otlp", [{"resourceSpans": [{"scopeSpans": [{"spans": [_span("chat"),
                                                            _span("invoke_agent")]}]}]}],
     [(8, None, 9)]),
    ("inspect", [{"eval": {}, "samples": [{"id": "1", "events": [{"event": "model", "output": {
        "usage": {"input_tokens": 3, "input_tokens_cache_read": 2, "output_tokens": 9,
                  "total_tokens": 14}}}]}]}], [(5, 2, 9)]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "records", "expected"), USED)
def test_usage_of_other_formats(
    name: str,
    records: list[dict[str, Any]],
    expected: list[tuple[int | None, int | None, int | None]],
    write_log: WriteLog,
) -> None:
    """Tokens read (cached ones included), cached, and written, once a message or turn."""
    listing = Listing()
    source = Source(write_log(*records), problems=Problems())
    assert read_log(source, Sessions(lambda _: [listing])) == name
    used = [one for one in listing.events if isinstance(one, Usage)]
    assert [(one.input_tokens, one.cached_tokens, one.output_tokens) for one in used] == expected


# -- a format is one module and one row -----------------------------------------------------


def _toy() -> ModuleType:
    """A format of lines like ``{"toy": "ask", "text": …}`` and ``{"toy": "open", "path": …}``."""
    module = ModuleType("toy_format")

    def claims(head: Head) -> bool:
        return any("toy" in record for record in head.records)

    def events(record: dict[str, Any], number: int) -> Iterator[Event]:
        if record["toy"] == "ask":
            yield Prompt(text=record["text"], line=number)
        else:
            yield Call(call_id=f"{number}", tool=record["toy"],
                       arguments={"path": record["path"]}, line=number)  # fmt: skip
            yield Result(call_id=f"{number}", line=number, outcome=Outcome(ok=True))

    def read(source: Source, sessions: Sessions) -> None:
        session = sessions.of(source.name)
        for number, line in source.lines():
            for event in events(json.loads(line), number):
                session.feed(event)

    module.FORMAT = Format(  # type: ignore[attr-defined]
        name="toy", title="Toy", files="*.toy", versions="1", detected_by="toy", fields={}
    )
    module.claims = claims  # type: ignore[attr-defined]
    module.read = read  # type: ignore[attr-defined]
    return module


def test_a_format_is_one_module_and_one_row(
    write_log: WriteLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module in the table is all that a new format takes: it is detected, read and cut."""
    monkeypatch.setitem(sys.modules, "toy_format", _toy())
    monkeypatch.setitem(FORMATS, "toy", "toy_format")
    log = write_log(
        {"toy": "ask", "text": "where?"}, {"toy": "open", "path": "src/a.py"},
        {"toy": "edit", "path": "src/a.py"}, {"toy": "open", "path": "src/b.py"},
    )  # fmt: skip
    packet = packet_of(log)
    assert packet["source"]["format"] == "toy"
    assert packet["first_contact_command"] == 'open {"path":"src/a.py"}'
    assert packet["selected_artifacts"] == ["src/a.py"]
    assert packet["cut_reason"] == "mutation"
    assert [one.route.prompt for one in capture_logs([log]).sessions] == ["where?"]
