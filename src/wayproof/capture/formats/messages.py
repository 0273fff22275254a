"""Plain message lists: OpenAI's chat completions and responses, Anthropic's messages.

One JSON list, an object with ``messages`` (or ``input``), a message a line, or one such
list or object a line. Calls and results are paired by id. Some models begin their ids anew
every turn, so a result belongs to the calls of the latest message that has its id, in their
order. A line whose
messages begin with all those of the line before goes on with its conversation: that is how
logs of requests grow.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from wayproof.capture.adapter import Format, Head, inner_json, is_document, text_of, word
from wayproof.capture.clock import at_ms
from wayproof.capture.formats.loose import arguments_of, mapping, mappings
from wayproof.capture.injected import genuine
from wayproof.capture.lines import Source
from wayproof.capture.results import outcome_from_text
from wayproof.capture.session import Answer, Call, Outcome, Prompt, Result
from wayproof.capture.sessions import Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="messages",
    title="OpenAI or Anthropic messages",
    files="a list of messages as JSON, one message a line, or one conversation a line",
    versions="chat completions, responses (items), Anthropic messages; 2023 to 2026",
    detected_by="roles with tool_calls, tool_use blocks or function_call items",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "unknown",
        "wall_ms": "unknown",
        "elapsed_ms": "unknown",
        "error": "derived",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "unknown",
        "version": "unknown",
    },
    limits=(
        (
            "No times, no working directory and, except in Anthropic's results, no word on "
            "failure: failures are read from the tool's own phrases."
        ),
        (
            "A prompt is what has the role user: text that a harness put there counts, unless its "
            "tags are known."
        ),
        "A list in which the model calls no tool is not taken: nothing in it is a route.",
    ),
    sampled="2026-08",
    sources=(
        "platform.openai.com/docs/api-reference: chat, responses",
        "docs.anthropic.com/en/api/messages",
        "github.com/github/copilot-sdk, test/snapshots (chat completions with calls)",
    ),
)

_any = msgspec.json.Decoder()
_LISTS = ("messages", "input", "conversation", "trajectory", "history")


def claims(head: Head) -> bool:
    """Tell messages of which one calls a tool."""
    if head.elements is not None:
        return any(map(_calls_tool, mappings(head.elements)))
    if head.document is not None:
        for key in _LISTS:
            listed = _opened(head.member(key)) if head.has(key) else None
            if any(map(_calls_tool, mappings(listed))):
                return True
    return any(
        _calls_tool(record) or any(map(_calls_tool, _list_in(record) or []))
        for record in head.records
    )


def _calls_tool(message: Mapping[str, Any]) -> bool:
    if message.get("role") == "assistant":
        named = [mapping(one.get("function")) for one in mappings(message.get("tool_calls"))]
        named += [mapping(one.get("custom")) for one in mappings(message.get("tool_calls"))]
        named += [mapping(message.get("function_call"))]
        blocks = [one for one in mappings(message.get("content")) if one.get("type") == "tool_use"]
        return any(word(one.get("name")) for one in (*named, *blocks))
    kind = word(message.get("type"))
    if kind in {"function_call", "custom_tool_call"}:
        return bool(word(message.get("name")) and word(message.get("call_id")))
    return kind in {"local_shell_call", "shell_call"} and isinstance(message.get("action"), Mapping)


def _list_in(record: Any) -> list[Mapping[str, Any]] | None:
    """Return the messages of one conversation; None where a record holds none."""
    if isinstance(record, list):
        return list(mappings(record)) or None
    for key in _LISTS:
        listed = list(mappings(_opened(mapping(record).get(key))))
        if any("role" in one or "type" in one for one in listed):
            return listed
    return None


def _opened(value: Any) -> Any:
    """Tables hold a list as its JSON text."""
    return inner_json(value) if isinstance(value, str) and value[:1] == "[" else value


def read(source: Source, sessions: Sessions) -> None:
    """Hand over one session for each conversation."""
    if is_document(source):
        log: Any = source.document(_any)
        listed = _list_in(log)
        if listed is None:
            if log is not None:
                source.bad(1, "no list of messages")
            return
        _conversation(source, sessions, _identity(log), enumerate(listed, start=1))
        return
    _lines(source, sessions)


def _lines(source: Source, sessions: Sessions) -> None:
    alone: list[tuple[int, Mapping[str, Any]]] = []
    before: tuple[int, Any, list[Mapping[str, Any]]] | None = None
    for line, record in source.records(_any):
        listed = _list_in(record)
        if listed is not None:
            if before is not None and listed[: len(before[2])] != before[2]:
                _whole(source, sessions, before)
            before = line, record, listed
        elif isinstance(record, Mapping) and ("role" in record or "type" in record):
            alone.append((line, record))
        else:
            source.bad(line, "not a message")
    if before is not None:
        _whole(source, sessions, before)
    if alone:
        _conversation(source, sessions, "", iter(alone))


def _whole(
    source: Source, sessions: Sessions, found: tuple[int, Any, list[Mapping[str, Any]]]
) -> None:
    line, record, listed = found
    identity = _identity(record) or f"line {line}"
    _conversation(source, sessions, identity, ((line, message) for message in listed))


def _identity(log: Any) -> str:
    keys = ("id", "session_id", "sessionId", "conversation_id", "task_id", "instance_id")
    found = [mapping(log).get(key) for key in keys]
    return next((one for one in found if isinstance(one, str) and one), "")


def _conversation(
    source: Source,
    sessions: Sessions,
    identity: str,
    messages: Iterator[tuple[int, Mapping[str, Any]]],
) -> None:
    key = f"{source.name}\0{identity}"
    several = 1
    while key in sessions:  # an id may stand on several lines
        several += 1
        key = f"{source.name}\0{identity}\0{several}"
    listed = list(messages)
    prompts = any(message.get("role") == "user" for _, message in listed)
    session = sessions.of(key, prompts_logged=prompts)
    session.info.session_id = identity or None
    reader = _Reader(session)
    for line, message in listed:
        reader.take(line, message)


class _Reader:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._messages = 0
        self._calls = 0
        self._open: dict[str, tuple[int, list[str]]] = {}

    def take(self, line: int, message: Mapping[str, Any]) -> None:
        """Take one message, or one item of a response."""
        self._messages += 1
        role, kind = word(message.get("role")), word(message.get("type"))
        time_ms = at_ms(message.get("timestamp"))
        if kind in _CALL_ITEMS:
            tool, arguments = _item_call(kind, message)
            self._call(line, word(message.get("call_id")), tool, arguments, time_ms)
        elif kind in _RESULT_ITEMS:
            outcome = _status(message)
            body = _output(message.get("output"))
            self._result(line, word(message.get("call_id")), body, outcome, time_ms)
        elif role == "user":
            self._user(line, message, time_ms)
        elif role == "assistant":
            self._assistant(line, message, time_ms)
        elif role in {"tool", "function"}:
            body = text_of(message.get("content"))
            name = word(message.get("tool_call_id")) or f"function {word(message.get('name'))}"
            self._result(line, name, body, outcome_from_text(body), time_ms)

    def _user(self, line: int, message: Mapping[str, Any], at: float | None) -> None:
        content = message.get("content")
        for block in mappings(content):
            if block.get("type") == "tool_result":
                body = text_of(block.get("content"))
                failed = block.get("is_error")
                ok = None if failed is None else not failed
                outcome = outcome_from_text(body, ok=ok)
                self._result(line, word(block.get("tool_use_id")), body, outcome, at)
        said = genuine(_text(content))
        if said:
            self._session.feed(Prompt(text=said, line=line, at_ms=at))

    def _assistant(self, line: int, message: Mapping[str, Any], at: float | None) -> None:
        text = _text(message.get("content"))
        if text.strip():
            self._session.feed(Answer(text=text, line=line, at_ms=at))
        for block in mappings(message.get("content")):
            if word(block.get("type")) in {"tool_use", "server_tool_use"}:
                tool = word(block.get("name")) or "tool"
                arguments = arguments_of(block.get("input"))
                self._call(line, word(block.get("id")), tool, arguments, at)
        for call in mappings(message.get("tool_calls")):
            function = mapping(call.get("function")) or mapping(call.get("custom"))
            given = function.get("arguments", function.get("input"))
            tool = word(function.get("name")) or "tool"
            self._call(line, word(call.get("id")), tool, arguments_of(given), at)
        alone = mapping(message.get("function_call"))
        if alone:
            tool = word(alone.get("name")) or "tool"
            self._call(line, f"function {tool}", tool, arguments_of(alone.get("arguments")), at)

    def _call(
        self,
        line: int,
        name: str,
        tool: str,
        arguments: Mapping[str, Any] | str | None,
        at: float | None,
    ) -> None:
        self._calls += 1
        call_id = f"{self._calls}:{name}"
        asked_in, waiting = self._open.get(name, (0, []))
        if asked_in != self._messages:
            waiting = []
        self._open[name] = self._messages, [*waiting, call_id]
        self._session.feed(
            Call(
                call_id=call_id,
                tool=tool,
                arguments=arguments,
                line=line,
                at_ms=at,
            )
        )

    def _result(self, line: int, name: str, body: str, outcome: Outcome, at: float | None) -> None:
        _, waiting = self._open.get(name, (0, []))
        if waiting:
            call_id = waiting.pop(0)
            self._session.feed(
                Result(call_id=call_id, line=line, outcome=outcome, at_ms=at, body=body)
            )


_CALL_ITEMS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "shell_call"})
_RESULT_ITEMS = frozenset({
    "function_call_output", "custom_tool_call_output", "local_shell_call_output",
    "shell_call_output",
})  # fmt: skip


def _item_call(kind: str, item: Mapping[str, Any]) -> tuple[str, Mapping[str, Any] | str | None]:
    if kind.endswith("shell_call"):
        action = mapping(item.get("action"))
        given = {key: one for key, one in action.items() if key != "type"}
        commands = given.pop("commands", None)
        if isinstance(commands, list):
            given["command"] = "\n".join(one for one in commands if isinstance(one, str))
        return "shell", given
    given = item.get("arguments", item.get("input"))
    return word(item.get("name")) or "tool", arguments_of(given)


def _status(item: Mapping[str, Any]) -> Outcome:
    body = _output(item.get("output"))
    ok = False if word(item.get("status")) in {"failed", "incomplete"} else None
    return outcome_from_text(body, ok=ok)


def _output(output: Any) -> str:
    if isinstance(output, str):
        return output
    texts = [word(one.get("stdout")) or text_of(one) for one in mappings(output)]
    return "\n".join(text for text in texts if text)


def _text(content: Any) -> str:
    """Return what was said: a text, or its text blocks, without calls and results."""
    if isinstance(content, str):
        return content
    said = ("text", "input_text", "output_text")
    return "\n".join(
        word(one.get("text")) for one in mappings(content) if word(one.get("type")) in said
    )
