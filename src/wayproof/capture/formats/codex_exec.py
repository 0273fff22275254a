"""``codex exec --json``: items started and completed, without timestamps or a cwd."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw

from wayproof.capture.adapter import (
    ABSENT,
    Format,
    Head,
    decoded,
    inner_json,
    text_of,
    used,
    word,
)
from wayproof.capture.lines import Source
from wayproof.capture.results import first_line, outcome_from_text
from wayproof.capture.session import Answer, Call, Failure, Outcome, Prompt, Result
from wayproof.capture.sessions import Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="codex-exec",
    title="codex exec --json",
    files="the standard output of codex exec --json",
    versions="0.139 seen; item_type and assistant_message spellings of older ones",
    sampled="undated",
    detected_by="thread.started, turn.* and item.* lines",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "unknown",
        "wall_ms": "unknown",
        "elapsed_ms": "unknown",
        "error": "native",
        "timed_out": "derived",
        "prompt": "unknown",
        "subagent": "unknown",
        "version": "unknown",
    },
    limits=(
        "No timestamps and no durations: wall_ms and elapsed_ms are absent.",
        "No working directory: relative paths are taken as relative to the repository root.",
        "The prompt was an argument of the command and is not in the log.",
    ),
)


class _Item(msgspec.Struct):
    id: str | None = None
    type: str | None = None
    item_type: str | None = None
    command: Raw = ABSENT
    aggregated_output: Raw = ABSENT
    exit_code: int | None = None
    status: str | None = None
    text: Raw = ABSENT
    message: Raw = ABSENT
    server: str | None = None
    tool: str | None = None
    arguments: Raw = ABSENT
    result: Raw = ABSENT
    error: Raw = ABSENT
    changes: Raw = ABSENT
    query: Raw = ABSENT


class _Line(msgspec.Struct):
    type: str | None = None
    thread_id: str | None = None
    item: _Item | None = None
    error: Raw = ABSENT
    message: Raw = ABSENT
    usage: Raw = ABSENT


_line = msgspec.json.Decoder(_Line)


def claims(head: Head) -> bool:
    """Lines whose types are dotted: ``item.completed`` and its like."""
    for record in head.records[:50]:
        kind = word(record.get("type"))
        if kind in {"thread.started", "turn.started", "turn.completed", "turn.failed"}:
            return True
        if kind.startswith("item.") and isinstance(record.get("item"), dict):
            return True
    return False


def read(source: Source, sessions: Sessions) -> None:
    """Hand over one session for each ``thread.started``."""
    reader = _Reader(source, sessions)
    for number, line in source.records(_line):
        reader.take(number, line)


class _Reader:
    def __init__(self, source: Source, sessions: Sessions) -> None:
        self._source = source
        self._sessions = sessions
        self._session: Session | None = None
        self._threads = 0
        self._begun: set[str] = set()

    def _current(self) -> Session:
        if self._session is None:
            self._begin(None)
        session = self._session
        if session is None:  # pragma: no cover - _begin() has set it
            raise AssertionError
        return session

    def _begin(self, thread_id: str | None) -> None:
        self._threads += 1
        name = thread_id or f"thread {self._threads}"
        key = f"{self._source.name}\0{name}"
        self._session = self._sessions.of(key, prompts_logged=False)
        self._session.info.session_id = thread_id
        self._begun = set()

    def take(self, number: int, line: _Line) -> None:
        """Take one line."""
        if line.type is None:
            self._source.bad(number, "an object without a type")
        elif line.type == "thread.started":
            self._begin(line.thread_id)
        elif line.type in {"turn.failed", "error"}:
            said = decoded(line.error) or decoded(line.message)
            if isinstance(said, Mapping):
                said = said.get("message")
            text = said if isinstance(said, str) else "turn failed"
            self._current().feed(Failure(error=first_line(text), line=number))
        elif line.type == "turn.completed":
            counts = decoded(line.usage)
            names = ("input_tokens", "cached_input_tokens", "output_tokens")
            usage = used(number, counts, names) if isinstance(counts, Mapping) else None
            if usage is not None:
                self._current().feed(usage)
        elif line.item is not None and line.type.startswith("item."):
            self._item(number, line.item, completed=line.type == "item.completed")

    def _item(self, number: int, item: _Item, *, completed: bool) -> None:
        kind = item.type or item.item_type
        session = self._current()
        if kind in {"agent_message", "assistant_message"} and completed:
            text = text_of(decoded(item.text))
            if text.strip():
                session.feed(Answer(text=text, line=number))
        elif kind == "user_message" and completed:
            session.feed(Prompt(text=text_of(decoded(item.text)), line=number))
        elif kind in {"command_execution", "file_change", "mcp_tool_call", "web_search"}:
            call_id = item.id or f"line {number}"
            if call_id not in self._begun:
                self._begun.add(call_id)
                tool, arguments = _called(kind, item)
                session.feed(Call(call_id=call_id, tool=tool, arguments=arguments, line=number))
            if completed:
                self._begun.discard(call_id)  # a later turn may use the id again
                text, outcome = _ended(item)
                session.feed(Result(call_id=call_id, line=number, outcome=outcome, body=text))


def _called(kind: str, item: _Item) -> tuple[str, Any]:
    if kind == "command_execution":
        command = decoded(item.command)
        return kind, {"command": command} if isinstance(command, (str, list)) else None
    if kind == "file_change":
        return kind, {"changes": decoded(item.changes)}
    if kind == "mcp_tool_call":
        name = "__".join(part for part in ("mcp", item.server, item.tool) if part)
        arguments = decoded(item.arguments)
        if isinstance(arguments, str):
            inner = inner_json(arguments)
            return name, inner if isinstance(inner, dict) else arguments
        return name, arguments if isinstance(arguments, dict) else None
    return kind, {"query": decoded(item.query)}


def _ended(item: _Item) -> tuple[str, Outcome]:
    text = text_of(decoded(item.aggregated_output)) or text_of(decoded(item.result))
    error = decoded(item.error)
    if item.status == "declined":
        return text, Outcome(refused=True)
    if item.exit_code is not None:
        read = outcome_from_text(text, ok=item.exit_code == 0)
        if read.refused:
            return text, read
        return text, msgspec.structs.replace(read, exit_code=item.exit_code)
    if item.status == "failed" or error is not None:
        said = error.get("message") if isinstance(error, Mapping) else error
        message = said if isinstance(said, str) else text
        return text, outcome_from_text(message, ok=False)
    return text, Outcome(ok=True if item.status == "completed" else None)
