"""GitHub Copilot CLI: ``events.jsonl`` of a session.

Every line is an event with ``type`` and ``data``; what is marked ephemeral is not kept on
disk. The model's message names the calls it asks for, in order; each then has a start and
an end of its own. A sub-agent's events carry its ``agentId``, older ones the call that
began it (``parentToolCallId``). ``parentId`` names the event before: where two events have
the same one, the session was rewound, and only the branch of the last event counts.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from wayproof.capture.adapter import Format, Head, text_of, used, word
from wayproof.capture.clock import at_ms
from wayproof.capture.formats.loose import arguments_of, mapping, mappings
from wayproof.capture.injected import genuine
from wayproof.capture.lines import Problems, Source
from wayproof.capture.results import first_line, outcome_from_text
from wayproof.capture.session import (
    MAIN_THREAD,
    Answer,
    Call,
    Failure,
    Outcome,
    Prompt,
    Result,
    Spawn,
)
from wayproof.capture.sessions import Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="copilot-cli",
    title="GitHub Copilot CLI",
    files="~/.copilot/session-state/<session>/events.jsonl",
    versions="0.0.369 to 1.0.92 (the vendor's published event types of 2026-08)",
    detected_by="lines of type session.start, user.message, tool.execution_start with data",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "native",
        "wall_ms": "unknown",
        "elapsed_ms": "derived",
        "error": "native",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "native",
        "version": "native",
    },
    limits=(
        (
            "A call has a start and an end but no duration of its own: wall_ms is absent; "
            "elapsed time is from timestamps."
        ),
        "The text that the model got may be shorter than what the tool gave.",
        (
            "Fields are those of the vendor's published types and of public captures; of a "
            "sub-agent no whole real file was at hand."
        ),
    ),
    sampled="2026-08",
    sources=(
        "github.com/github/copilot-sdk, nodejs/src/generated/session-events.ts",
        "github.com/github/copilot-sdk, docs/features/streaming-events.md",
        "github.com/kenn-io/agentsview, internal/parser/copilot.go",
        "a captured session quoted in a public repository, 2026-07",
    ),
)

_line = msgspec.json.Decoder(dict[str, Any])
_KINDS = frozenset({
    "session.start", "session.resume", "user.message", "assistant.message",
    "assistant.turn_start", "tool.execution_start", "tool.execution_complete",
})  # fmt: skip


class _Place(msgspec.Struct):
    id: Any = None
    parentId: Any = None
    ephemeral: Any = None


_place = msgspec.json.Decoder(_Place)


def claims(head: Head) -> bool:
    """Tell an event with its data."""
    return any(
        word(record.get("type")) in _KINDS and isinstance(record.get("data"), Mapping)
        for record in head.records[:50]
    )


def read(source: Source, sessions: Sessions) -> None:
    """Hand over one session for each ``session.start``."""
    dead = _abandoned(source)
    reader = _Reader(source, sessions)
    for line, record in source.records(_line):
        if line not in dead:
            reader.take(line, record)


def _abandoned(source: Source) -> set[int]:
    """Return the lines of branches that a rewind left behind."""
    quiet = Source(source.path, name=source.name, problems=Problems(keep=0))
    parents: dict[str, str | None] = {}
    lines: dict[str, int] = {}
    for line, place in quiet.records(_place):
        if isinstance(place.id, str) and place.ephemeral is not True:
            parents[place.id] = place.parentId if isinstance(place.parentId, str) else None
            lines[place.id] = line
    children = Counter(one for one in parents.values() if one is not None)
    if not any(children[one] > 1 for one in children if one in parents):
        return set()
    live: set[str] = set()
    last: str | None = next(reversed(parents))
    while last is not None and last in parents and last not in live:
        live.add(last)
        last = parents[last]
    return {lines[one] for one in parents if one not in live and _hangs_on(one, parents, live)}


def _hangs_on(event: str, parents: Mapping[str, str | None], live: set[str]) -> bool:
    """Whether an event's chain leads to a live one: else it stands before a gap."""
    seen: set[str] = set()
    found: str | None = event
    while found is not None and found in parents and found not in seen:
        if found in live:
            return True
        seen.add(found)
        found = parents[found]
    return False


class _Reader:
    def __init__(self, source: Source, sessions: Sessions) -> None:
        self._source = source
        self._sessions = sessions
        self._session_id = ""
        self._cwd: str | None = None
        self._calls = 0
        self._open: dict[str, tuple[str, str]] = {}
        self._by_user: set[str] = set()
        self._agents: dict[str, str] = {}
        self._began: set[str] = set()

    def take(self, line: int, record: dict[str, Any]) -> None:
        """Take one line."""
        kind, data = record.get("type"), mapping(record.get("data"))
        if not isinstance(kind, str):
            self._source.bad(line, "an object without a type")
        elif kind in {"session.start", "session.resume", "session.context_changed"}:
            self._describe(kind, data)
        elif kind == "tool.user_requested":
            self._by_user.add(word(data.get("toolCallId")))
        elif kind in _TAKEN:
            thread = self._thread(word(record.get("agentId")), data)
            if self._session().listens(thread) or kind in _TOLD_BY_CALL:
                _TAKEN[kind](self, line, data, at_ms(record.get("timestamp")), thread)

    def _session(self) -> Session:
        return self._sessions.of(f"{self._source.name}\0{self._session_id}")

    def _describe(self, kind: str, data: Mapping[str, Any]) -> None:
        if kind == "session.start":
            self._session_id = word(data.get("sessionId"))
        context = mapping(data if kind == "session.context_changed" else data.get("context"))
        info = self._session().info
        info.session_id = self._session_id or info.session_id
        version = word(data.get("copilotVersion"))
        info.agent_version = info.agent_version or version or None
        self._cwd = word(context.get("cwd")) or self._cwd
        info.cwd = info.cwd or self._cwd
        info.root = info.root or word(context.get("gitRoot")) or None

    def _thread(self, agent: str, data: Mapping[str, Any]) -> str:
        """Return the thread of an event, beginning it when it is a new agent's."""
        parent = word(data.get("parentToolCallId"))
        name = self._agents.get(agent, agent) or parent
        if not name:
            return MAIN_THREAD
        if agent and parent:
            self._agents[agent] = name = parent
        if name not in self._began:
            self._began.add(name)
            call = self._open.get(name, ("", ""))[0] or None
            self._session().feed(Spawn(child=name, line=0, parent_call=call))
        return name

    def agent(self, line: int, data: Mapping[str, Any], _: float | None, thread: str) -> None:
        """Take ``subagent.started``: which call the agent answers to."""
        call = word(data.get("toolCallId"))
        if call and call not in self._began:
            self._began.add(call)
            parent_call = self._open.get(call, ("", ""))[0] or None
            self._session().feed(Spawn(child=call, line=line, parent_call=parent_call))
        if thread != MAIN_THREAD and call:
            self._agents[thread] = call

    def prompt(self, line: int, data: Mapping[str, Any], at: float | None, thread: str) -> None:
        """Take what a person typed; skills and continuations are put in by the tool."""
        text = text_of(data.get("content"))
        injected = word(data.get("source")).startswith("skill-") or text.lstrip().startswith(
            "<skill-context"
        )
        said = "" if injected or data.get("isAutopilotContinuation") is True else genuine(text)
        if said and thread == MAIN_THREAD:
            self._session().feed(Prompt(text=said, line=line, at_ms=at))

    def message(self, line: int, data: Mapping[str, Any], at: float | None, thread: str) -> None:
        """Take the model's text, and the calls that it asks for in their order."""
        text = text_of(data.get("content"))
        if text.strip():
            self._session().feed(Answer(text=text, line=line, at_ms=at, thread=thread))
        usage = used(line, data, ("", "", "outputTokens"), at_ms=at, thread=thread)
        if usage is not None:
            self._session().feed(usage)
        batch = word(data.get("messageId")) or f"line {line}"
        for request in mappings(data.get("toolRequests")):
            name = word(request.get("toolCallId"))
            if name and "arguments" in request:
                tool = word(request.get("name")) or "tool"
                self._call(line, name, _tool_name(tool, request), request, at, thread, batch)

    def started(self, line: int, data: Mapping[str, Any], at: float | None, thread: str) -> None:
        """Take a call that begins, unless the model's message named it."""
        name = word(data.get("toolCallId")) or f"line {line}"
        if name not in self._open and name not in self._by_user:
            tool = _tool_name(word(data.get("toolName")) or "tool", data)
            batch = word(data.get("turnId"))
            self._call(line, name, tool, data, at, thread, batch)

    def _call(
        self,
        line: int,
        name: str,
        tool: str,
        data: Mapping[str, Any],
        at: float | None,
        thread: str,
        batch: str,
    ) -> None:
        self._calls += 1
        call_id = f"{self._calls}:{name}"  # ids may begin anew
        self._open[name] = call_id, thread
        self._session().feed(
            Call(
                call_id=call_id,
                tool=tool,
                arguments=arguments_of(data.get("arguments")),
                line=line,
                at_ms=at,
                thread=thread,
                batch=batch or None,
                cwd=self._cwd,
            )
        )

    def ended(self, line: int, data: Mapping[str, Any], at: float | None, _: str) -> None:
        """Take a call's end."""
        name = word(data.get("toolCallId"))
        if name in self._by_user or data.get("isUserRequested") is True:
            return
        call_id, thread = self._open.pop(name, ("", MAIN_THREAD))
        if not call_id:
            self._source.bad(line, "the end of a call that did not begin")
            return
        self._session().feed(
            Result(
                call_id=call_id,
                line=line,
                outcome=_outcome(data),
                at_ms=at,
                thread=thread,
                body=_printed(_text(data.get("result"))),
                child=name if name in self._began else None,
            )
        )

    def failed(self, line: int, data: Mapping[str, Any], _: float | None, thread: str) -> None:
        """Take the session's own error."""
        if thread == MAIN_THREAD:
            said = word(data.get("message")) or word(data.get("errorType")) or "error"
            self._session().feed(Failure(error=first_line(said), line=line))


_TAKEN = {
    "user.message": _Reader.prompt,
    "assistant.message": _Reader.message,
    "tool.execution_start": _Reader.started,
    "tool.execution_complete": _Reader.ended,
    "subagent.started": _Reader.agent,
    "session.error": _Reader.failed,
}


# Which thread these belong to, the call tells: they are looked at in any case.
_TOLD_BY_CALL = frozenset({"tool.execution_complete", "subagent.started"})


def _tool_name(name: str, data: Mapping[str, Any]) -> str:
    server = word(data.get("mcpServerName"))
    return f"mcp__{server}__{word(data.get('mcpToolName')) or name}" if server else name


def _text(result: Any) -> str:
    if isinstance(result, str):
        return result
    found = mapping(result)
    return text_of(found.get("content")) or text_of(found.get("detailedContent"))


_EXITED = "<exited with exit code "


def _printed(text: str) -> str:
    """Return a command's output without the line that says how it ended."""
    before, mark, after = text.rpartition(_EXITED)
    return before.removesuffix("\n") if mark and after.rstrip().endswith(">") else text


def _exit_code(result: Any) -> int | None:
    for block in mappings(mapping(result).get("contents")):
        code = block.get("exitCode")
        if isinstance(code, int) and not isinstance(code, bool):
            return code
    _, mark, after = _text(result).rpartition(_EXITED)
    digits = after.split(">", 1)[0].strip()
    return int(digits) if mark and digits.lstrip("-").isdecimal() and len(digits) < 8 else None


_REFUSALS = ("denied", "rejected", "cancelled", "canceled", "user_cancelled", "aborted")


def _outcome(data: Mapping[str, Any]) -> Outcome:
    code = _exit_code(data.get("result"))
    if data.get("success") is True:
        return Outcome(ok=code in {None, 0}, exit_code=code, error=_failure(code))
    error = mapping(data.get("error"))
    said = word(error.get("message")) or _text(data.get("result")) or "failed without a message"
    if word(error.get("code")).lower() in _REFUSALS:
        return Outcome(refused=True)
    if data.get("success") is None and not error:
        return Outcome(ok=None, exit_code=code)
    timed_out = "timeout" in word(error.get("code")).lower()
    read = outcome_from_text(said, ok=False)
    return msgspec.structs.replace(
        read, exit_code=code, timed_out=read.timed_out or (timed_out and not read.refused)
    )


def _failure(code: int | None) -> str | None:
    return f"exit code {code}" if code else None
