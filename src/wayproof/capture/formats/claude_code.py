"""Claude Code: session files, sub-agent files, and ``claude -p --output-format stream-json``.

Each content block has a line of its own, several under one ``message.id``: calls of one
message ran side by side. A resumed session repeats its history, so lines are told apart by
``uuid`` and calls by their id. A sub-agent is an inline side chain in old logs and a file
``<session>/subagents/agent-<id>.jsonl`` (or a sibling ``agent-<id>.jsonl``) in newer ones.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from wayproof.capture.adapter import (
    ABSENT,
    BAD_JSON,
    Format,
    Head,
    decoded,
    word,
)
from wayproof.capture.clock import at_ms
from wayproof.capture.formats.claude_branch import Branch, Link, live_lines
from wayproof.capture.formats.claude_list import as_lines, is_list
from wayproof.capture.injected import genuine, is_command
from wayproof.capture.lines import Problems, Source
from wayproof.capture.results import body_text, first_line, outcome_from_text
from wayproof.capture.session import (
    MAIN_THREAD,
    Answer,
    Call,
    Failure,
    Named,
    Outcome,
    Prompt,
    Result,
    Spawn,
    Usage,
)
from wayproof.capture.sessions import Delegations, Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="claude-code",
    title="Claude Code",
    files="~/.claude/projects/<slug>/<session>.jsonl; claude -p --output-format stream-json, or "
    "json --verbose (one list, as in claude-code-action's execution file)",
    versions="1.0.24 to 2.1 seen",
    sampled="2026-01",
    detected_by="lines with type, sessionId (session_id) and a message",
    fields={
        "first_contact": "native",
        "selected": "native",
        "cwd": "native",
        "wall_ms": "native",
        "elapsed_ms": "derived",
        "error": "native",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "native",
        "version": "native",
    },
    limits=(
        (
            "Only some tools log a duration (Glob, Grep, WebFetch): a route with a Read or Bash "
            "call has no wall_ms, and says how much of it was measured."
        ),
        "A time-out is read from the tool's own phrase.",
    ),
)

_PROMPTING = frozenset({"user", "assistant"})
_KNOWN = _PROMPTING | {
    "summary", "file-history-snapshot", "progress", "attachment", "permission-mode",
    "last-prompt", "queue-operation", "system", "result", "stream_event",
}  # fmt: skip
_RECENT = 4096


class _Block(msgspec.Struct):
    type: str | None = None
    text: Raw = ABSENT
    id: str | None = None
    name: str | None = None
    input: Raw = ABSENT
    tool_use_id: str | None = None
    content: Raw = ABSENT
    is_error: bool | None = None


class _Message(msgspec.Struct):
    id: str | None = None
    role: str | None = None
    content: str | list[_Block] | UnsetType = UNSET
    usage: Raw = ABSENT


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None


class _Kept(msgspec.Struct, frozen=True):
    """The usage on the latest line of a message, not decoded yet."""

    message_id: str | None
    raw: Raw
    line: int
    at_ms: float | None


class _File(msgspec.Struct):
    filePath: str | None = None
    startLine: int | None = None
    numLines: int | None = None
    totalLines: int | None = None


class _ToolUseResult(msgspec.Struct):
    filenames: list[str] | None = None
    durationMs: float | None = None
    durationSeconds: float | None = None
    file: _File | None = None
    mode: str | None = None
    interrupted: bool | None = None
    agentId: str | None = None
    runId: str | None = None


class _Line(msgspec.Struct):
    type: str | None = None
    subtype: str | None = None
    uuid: str | None = None
    parentUuid: str | None = None
    logicalParentUuid: str | None = None
    sessionId: str | None = None
    session_id: str | None = None
    agentId: str | None = None
    parent_tool_use_id: str | None = None
    isSidechain: bool | None = None
    isMeta: bool | None = None
    isCompactSummary: bool | None = None
    isApiErrorMessage: bool | None = None
    forkedFrom: Raw = ABSENT
    cwd: str | None = None
    version: str | None = None
    claude_code_version: str | None = None
    timestamp: str | int | float | None = None
    message: _Message | None = None
    toolUseResult: _ToolUseResult | str | list[Raw] | None = None
    tool_use_result: _ToolUseResult | str | list[Raw] | None = None
    is_error: bool | None = None
    result: Raw = ABSENT


class _LooseLine(_Line):
    """A line whose tool has a result of a shape that isn't known."""

    toolUseResult: Raw = ABSENT  # type: ignore[assignment]
    tool_use_result: Raw = ABSENT  # type: ignore[assignment]


# A result is decoded with its line: looking at it a second time takes longer than all of it.
_line = msgspec.json.Decoder(_Line)
_loose_line: "msgspec.json.Decoder[_Line]" = msgspec.json.Decoder(_LooseLine)
_any = msgspec.json.Decoder()
_usage_record = msgspec.json.Decoder(_Usage)


def _records(source: Source) -> Iterator[tuple[int, _Line]]:
    return source.records(_line, otherwise=_loose_line)


def claims(head: Head) -> bool:
    """Lines of a Claude Code session, however many summaries come first; a list of them."""
    if is_list(head):
        return True
    for record in head.records[:100]:
        kind = word(record.get("type"))
        if kind == "summary" and "leafUuid" in record:
            return True
        named = "sessionId" in record or "session_id" in record
        if named and kind and (kind in _KNOWN or "uuid" in record):
            message = record.get("message")
            if isinstance(message, dict) or kind not in _PROMPTING:
                return True
        if kind in _PROMPTING and "uuid" in record and isinstance(record.get("message"), dict):
            return True
    return False


def read(source: Source, sessions: Sessions) -> None:
    """Hand over the sessions of one file, its sub-agents' files included."""
    reader = _Reader(source, sessions)
    for number, line in _records(as_lines(source)):
        reader.take(number, line)
    if reader.rewound:
        reader = _live_again(source, sessions, reader)
    reader.end()
    reader.read_children()


def _live_again(source: Source, sessions: Sessions, reader: "_Reader") -> "_Reader":
    """Read a rewound session again, without its abandoned branches."""
    quiet = Source(source.path, name=source.name, problems=Problems())
    live = live_lines(_links(quiet))
    reader.forget()
    again = _Reader(source, sessions, live=live)
    for number, line in _records(quiet):
        again.take(number, line)
    return again


def record_ids(source: Source) -> set[int]:
    """Return what tells the records of a log apart, to find those that another one repeats."""
    return {hash(line.uuid) for _, line in _records(source) if line.uuid is not None}


def _links(source: Source) -> Iterator[Link]:
    for _, line in _records(source):
        if line.uuid is None:
            continue
        content = line.message.content if line.message is not None else UNSET
        blocks = content if isinstance(content, list) else []
        yield Link(
            uuid=line.uuid,
            parent=line.parentUuid or line.logicalParentUuid,
            main=not line.isSidechain and line.type in _PROMPTING,
            fresh=line.message is not None and _is_fresh(line, line.message),
            message=line.message.id if line.message is not None else None,
            calls=tuple(one.id for one in blocks if one.type == "tool_use" and one.id),
            answered=tuple(one.tool_use_id for one in blocks if one.tool_use_id),
        )


class _Memory(msgspec.Struct):
    """What is remembered of a session while its file is read."""

    delegations: Delegations
    branch: Branch
    seen: set[int] = set()
    last_uuid: str | None = None
    chains: dict[str, str] = {}
    spawned: set[str] = set()
    events: dict[str, "_Events"] = {}


class _Reader:
    """One file's lines to events."""

    def __init__(self, source: Source, sessions: Sessions, *, live: set[int] | None = None) -> None:
        self._live = live
        self._source = source
        self._sessions = sessions
        self._selective = live is not None or bool(sessions.known)
        self._open: dict[str, Session] = {}
        self._memories: dict[str, _Memory] = {}
        self._alone: str | None = None
        self._previous = ""

    @property
    def rewound(self) -> bool:
        """Whether a later line hangs on an earlier one that something else hung on before."""
        return any(memory.branch.rewound for memory in self._memories.values())

    def forget(self) -> None:
        """Take back what was fed."""
        for key in self._memories:
            self._sessions.drop(key)

    # -- which session, which thread --------------------------------------------------

    def take(self, number: int, line: _Line) -> None:
        """Take one line."""
        if line.type not in _PROMPTING:
            self._beside(number, line)
            return
        message = line.message
        if message is None or message.content is UNSET:
            self._source.bad(number, "a message without content")
            return
        if (self._selective or line.forkedFrom is not ABSENT) and self._is_elsewhere(line):
            return
        session = self._session(line)
        memory = self._memories[session.info.key]
        aside = line.isSidechain or line.parent_tool_use_id is not None
        thread = self._thread_of(session, memory, line) if aside else MAIN_THREAD
        if not aside and self._live is None:
            _watch(memory, line, message)
        if not session.listens(thread):
            memory.last_uuid = line.uuid or memory.last_uuid
            return
        if _is_copy(memory, line.uuid):
            return
        if session.info.cwd is None or session.info.agent_version is None:
            _describe(session, line)
        events = memory.events.get(thread)
        if events is None:
            events = _Events(session, memory.delegations, thread)
            memory.events[thread] = events
        events.take(number, line)

    def _is_elsewhere(self, line: _Line) -> bool:
        """Whether a line was read with another session, or lies on an abandoned branch."""
        if line.uuid is None:
            return False
        name = hash(line.uuid)
        if name in self._sessions.known or _is_forked(line):
            return True
        return self._live is not None and not line.isSidechain and name not in self._live

    def _session(self, line: _Line) -> Session:
        session_id = line.sessionId or line.session_id or self._previous
        session = self._open.get(session_id)
        if session is None:
            if not self._open and line.isSidechain and line.parentUuid is None:
                self._alone = line.agentId  # a sub-agent's own file
            session = self._continued(line) or self._new(session_id, line)
            self._open[session_id] = session
        self._previous = session_id
        return session

    def _continued(self, line: _Line) -> Session | None:
        """Return the session that a new id continues: its first line hangs on a known one."""
        if line.parentUuid is None:
            return None
        for session in self._open.values():
            memory = self._memories[session.info.key]
            if line.parentUuid == memory.last_uuid or hash(line.parentUuid) in memory.seen:
                return session
        return None

    def _new(self, session_id: str, line: _Line) -> Session:
        key = f"{self._source.name}\0{session_id}"
        # A stream from ``claude -p`` holds no prompt: it was an argument of the command.
        session = self._sessions.of(key, prompts_logged=line.session_id is None)
        session.info.session_id = session_id or None
        if self._alone:
            session.info.parent_session = session_id or None
            session.info.session_id = f"{session_id}/{self._alone}"
        self._memories[key] = _Memory(Delegations(), Branch())
        return session

    def _thread_of(self, session: Session, memory: _Memory, line: _Line) -> str:
        """Return the thread of a line, telling the session when a new one begins."""
        if line.parent_tool_use_id is not None:
            self._spawn(session, memory, line.parent_tool_use_id, line, line.parent_tool_use_id)
            return line.parent_tool_use_id
        if line.agentId is not None and line.agentId == self._alone:
            return MAIN_THREAD
        name = line.agentId or memory.chains.get(line.parentUuid or "") or line.uuid or "sidechain"
        if line.uuid is not None:
            memory.chains[line.uuid] = name
            if len(memory.chains) > _RECENT:
                del memory.chains[next(iter(memory.chains))]
        self._spawn(session, memory, name, line, None)
        return name

    def _spawn(
        self, session: Session, memory: _Memory, name: str, line: _Line, call: str | None
    ) -> None:
        if name in memory.spawned:
            return
        memory.spawned.add(name)
        prompt = _said(line.message.content) if line.message is not None else None
        spawn = Spawn(child=name, line=0, parent_call=call, prompt=prompt)
        memory.delegations.began(spawn)
        session.feed(spawn)

    def _beside(self, number: int, line: _Line) -> None:
        """Take a line that is no message: ``system`` and ``result`` lines of a stream count."""
        if line.type is None:
            self._source.bad(number, "an object without a type")
        if line.type not in {"system", "result"}:
            return
        if line.session_id is None and line.sessionId not in self._open:
            return
        if line.type == "system" and line.subtype != "init":
            return
        session = self._session(line)
        _describe(session, line)
        if line.type == "result" and (line.is_error or "error" in (line.subtype or "")):
            text = decoded(line.result)
            said = text if isinstance(text, str) and text else line.subtype or "error"
            session.feed(Failure(error=first_line(said), line=number))

    def end(self) -> None:
        """Hand over what waits for the end of the file."""
        for memory in self._memories.values():
            for events in memory.events.values():
                events.end()

    # -- sub-agents in files of their own ---------------------------------------------

    def read_children(self) -> None:
        """Read the files of the agents that the routes delegated to."""
        for session in list(self._open.values()):
            done: set[Path] = set()
            for _ in range(8):  # a sub-agent may have sub-agents
                files = [one for one in self._child_files(session) if one[1] not in done]
                if not files:
                    break
                for name, path in files:
                    done.add(path)
                    self._read_child(session, name, path)

    def _child_files(self, session: Session) -> Iterator[tuple[str, Path]]:
        unread = list(self._memories[session.info.key].delegations.unread())
        session_id = session.info.parent_session or session.info.session_id
        if not unread or not session_id or "/" in session_id or "\0" in session_id:
            return
        path = self._source.path
        folders = [path.parent / path.stem / "subagents", path.parent / session_id / "subagents"]
        if path.parent.name == "subagents":
            folders.append(path.parent)
        named = {child for _, child in unread if child and _is_name(child)}
        for name in sorted(named):
            files = (folder / f"agent-{name}.jsonl" for folder in (*folders, path.parent))
            file = next((one for one in files if one.is_file()), None)
            if file is not None:
                yield name, file
            for folder in folders:  # a workflow runs several agents
                for one in _agent_files([folder / "workflows" / name]):
                    yield name, one
        if any(child is None for _, child in unread):
            for file in _agent_files(folders):
                name = file.stem.removeprefix("agent-")
                if name not in named and file != path:
                    yield name, file

    def _read_child(self, session: Session, name: str, path: Path) -> None:
        shown = (
            str(Path(self._source.name).parent / path.relative_to(self._source.path.parent))
            if path.is_relative_to(self._source.path.parent)
            else str(path)
        )
        child = Source(path, name=shown, problems=self._source.problems)
        session.info.agents.append(str(path))
        begun = False
        delegations = self._memories[session.info.key].delegations
        events = _Events(session, delegations, name)
        for number, line in _records(child):
            if line.type not in _PROMPTING or line.message is None:
                continue
            if line.message.content is UNSET:
                child.bad(number, "a message without content")
                continue
            if not begun:
                begun = True
                prompt = _said(line.message.content)
                parent = _meta_parent(path)
                spawn = Spawn(
                    child=name, line=number, parent_call=parent, prompt=prompt, file=shown
                )
                delegations.began(spawn)
                session.feed(spawn)
            events.take(number, line)
        events.end()


def _watch(memory: _Memory, line: _Line, message: _Message) -> None:
    """Look whether a line of the main thread goes on from the one before."""
    turn = line.type == "assistant" or not _only_results(message)
    memory.branch.take(
        line.uuid,
        line.parentUuid,
        message.id,
        turn=turn,
        fresh=turn and line.parentUuid is None and _is_fresh(line, message),
        known=memory.seen,
    )


def _is_forked(line: _Line) -> bool:
    """Whether a fork's line is a copy of another session's, by its own word."""
    origin = decoded(line.forkedFrom)
    named = origin.get("sessionId") if isinstance(origin, dict) else None
    return isinstance(named, str) and named != line.sessionId


def _is_copy(memory: _Memory, uuid: str | None) -> bool:
    """Whether a line was read before; remember it if not."""
    if uuid is None:
        return False
    name = hash(uuid)
    if name in memory.seen:
        return True
    memory.seen.add(name)
    memory.last_uuid = uuid
    return False


def _only_results(message: _Message) -> bool:
    """Whether a user's message holds nothing but results of calls."""
    content = message.content
    if isinstance(content, list):
        for block in content:
            if block.tool_use_id:
                return True
    return False


def _is_fresh(line: _Line, message: _Message) -> bool:
    """Whether a person's prompt hangs on nothing: the first one, or written in its place."""
    if line.type != "user" or line.parentUuid or line.isMeta or line.isCompactSummary:
        return False
    return line.logicalParentUuid is None and bool(genuine(_said(message.content)))


def _is_name(text: str) -> bool:
    """Whether an agent's id may stand in a file name."""
    return text.replace("-", "").replace("_", "").isalnum()


def _agent_files(folders: list[Path]) -> Iterator[Path]:
    for folder in dict.fromkeys(folders):
        if folder.is_dir():
            yield from sorted(folder.glob("agent-*.jsonl"))


def _meta_parent(path: Path) -> str | None:
    """Return the calling tool's id, where ``agent-<id>.meta.json`` has it."""
    meta = path.with_suffix(".meta.json")
    if not meta.is_file():
        return None
    value: Any = Source(meta, problems=Problems()).document(_any)
    if isinstance(value, dict):
        for key in ("toolUseId", "tool_use_id", "parentToolUseId", "toolUseID"):
            if isinstance(value.get(key), str):
                return str(value[key])
    return None


def _describe(session: Session, line: _Line) -> None:
    info = session.info
    if info.cwd is None and line.cwd:
        info.cwd = line.cwd
    if info.agent_version is None:
        info.agent_version = line.version or line.claude_code_version


def _said(content: str | list[_Block] | UnsetType) -> str:
    if isinstance(content, list):
        texts = [decoded(block.text) for block in content if block.type == "text"]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


class _Events:
    """The lines of one thread to events."""

    def __init__(self, session: Session, delegations: Delegations, thread: str) -> None:
        self._session = session
        self._delegations = delegations
        self._thread = thread
        self._usage: _Kept | None = None
        self._command: str | None = None
        self._shell_calls: set[str] = set()
        self._says_exit_codes = False

    def take(self, number: int, line: _Line) -> None:
        """Hand over the events of a line."""
        content = line.message.content if line.message is not None else UNSET
        time_ms = at_ms(line.timestamp)
        if self._usage is not None and line.type == "user":
            self.end()
        if isinstance(content, list):
            if line.type == "assistant":
                self._assistant(number, line, content, time_ms)
            else:
                self._user(number, line, content, time_ms)
        elif isinstance(content, str):
            if line.type == "assistant":
                self._answer(number, line, content, time_ms)
            else:
                self._prompt(number, line, content, time_ms)

    def _uses(self, number: int, message: _Message, time_ms: float | None) -> None:
        """Keep a message's usage until the message ends: each of its lines repeats it."""
        if self._usage is not None and message.id != self._usage.message_id:
            self.end()
        self._usage = _Kept(message.id, message.usage, number, time_ms)

    def end(self) -> None:
        """Hand over the usage of the last message."""
        usage = _usage(self._usage, self._thread) if self._usage is not None else None
        self._usage = None
        if usage is not None:
            self._session.feed(usage)

    def _prompt(self, number: int, line: _Line, text: str, time_ms: float | None) -> None:
        expanded = self._command is not None and line.parentUuid == self._command
        if line.isCompactSummary or (line.isMeta and not expanded):
            return
        said = text.strip() if self._thread != MAIN_THREAD else genuine(text)
        self._command = line.uuid if is_command(text) and not said else None
        if said:
            if self._thread == MAIN_THREAD and self._session.info.origin is None:
                self._session.info.origin = line.uuid
            self._session.feed(Prompt(text=said, line=number, at_ms=time_ms, thread=self._thread))

    def _answer(self, number: int, line: _Line, text: str, time_ms: float | None) -> None:
        if line.isApiErrorMessage:
            self._session.feed(Failure(error=first_line(text), line=number))
        elif text.strip():
            self._session.feed(Answer(text=text, line=number, at_ms=time_ms, thread=self._thread))

    def _assistant(
        self, number: int, line: _Line, blocks: list[_Block], time_ms: float | None
    ) -> None:
        message = line.message
        if message is not None and message.usage is not ABSENT:
            self._uses(number, message, time_ms)
        for place, block in enumerate(blocks):
            if block.type == "tool_use" and block.name:
                call = Call(
                    call_id=block.id or f"line {number}.{place}",
                    tool=block.name,
                    arguments=_arguments(block.input),
                    line=number,
                    at_ms=time_ms,
                    thread=self._thread,
                    batch=message.id if message is not None else None,
                    cwd=line.cwd,
                )
                self._delegations.called(call)
                if call.tool == "Bash":
                    self._shell_calls.add(call.call_id)
                self._session.feed(call)
            elif block.type == "text":
                text = decoded(block.text)
                if isinstance(text, str):
                    self._answer(number, line, text, time_ms)

    def _user(self, number: int, line: _Line, blocks: list[_Block], time_ms: float | None) -> None:
        results = [block for block in blocks if block.type == "tool_result" and block.tool_use_id]
        structured = _structured(line) if len(results) == 1 else None
        for block in results:
            child = self._child(line, block, structured)
            result = self._result(number, block, structured, time_ms, child)
            self._delegations.ended(result)
            self._session.feed(result)
        said = _said(blocks) if len(results) < len(blocks) else ""
        if said:
            self._prompt(number, line, said, time_ms)

    def _child(self, line: _Line, block: _Block, structured: _ToolUseResult | None) -> str | None:
        """Return the agent that did a delegated call's work: typed, or named in the text."""
        if (self._thread, block.tool_use_id or "") not in self._delegations:
            return None
        if structured is not None and (structured.agentId or structured.runId):
            return structured.agentId or structured.runId
        if line.agentId and not line.isSidechain:
            return line.agentId
        found = re.search(r"\bagentId: ([\w-]{1,80})", body_text(block.content))
        return found[1] if found else None

    def _result(
        self,
        number: int,
        block: _Block,
        structured: _ToolUseResult | None,
        time_ms: float | None,
        child: str | None,
    ) -> Result:
        outcome = _outcome(block, structured)
        if block.tool_use_id in self._shell_calls:
            self._shell_calls.discard(block.tool_use_id)
            outcome = self._of_shell(outcome, block)
        return Result(
            call_id=block.tool_use_id or "",
            line=number,
            outcome=outcome,
            at_ms=time_ms,
            thread=self._thread,
            files=_files(structured),
            body=block.content,
            child=child,
        )

    def _of_shell(self, outcome: Outcome, block: _Block) -> Outcome:
        """Tell a person's words from a command's error.

        Before the tool had words of its own for it, what a person answered to the question
        whether a command may run stood in the log as the command's error. One sentence that no
        program would print is such an answer. Where commands' errors say their exit status,
        nobody knows what one without it is.
        """
        if outcome.ok is not False or outcome.timed_out:
            return outcome
        if outcome.exit_code is not None:
            self._says_exit_codes = True
            return outcome
        text = body_text(block.content).strip()
        if text.startswith("<tool_use_error>"):
            return outcome
        version = _VERSION.match(self._session.info.agent_version or "")
        says = version is not None and tuple(map(int, version.groups())) >= _SAYS_EXIT_CODES
        if self._says_exit_codes or says:
            return Outcome(duration_ms=outcome.duration_ms)
        if _is_said(text):
            return Outcome(refused=True, duration_ms=outcome.duration_ms)
        return outcome


_VERSION = re.compile(r"(\d{1,6})\.(\d{1,6})\.(\d{1,6})")
_SAYS_EXIT_CODES = (2, 0, 30)
"""From here on every failed command was seen to say ``Exit code``; 1.0.51 never did."""
_PROGRAM_SAYS = re.compile(
    r"^\S{1,60}:(?:\s|\d)|\b(?:error|fail|fatal|not found|cannot|can't|no such|usage|denied|invalid"
    r"|unknown|unrecognized|missing|exception|warning|unable|could not|couldn't|killed|traceback"
    r"|already exists|timed out|not a|is not|does not|did not|no \w+ (?:found|matching)|aborted)",
    re.IGNORECASE,
)
_FEW_WORDS = 4


def _is_said(text: str) -> bool:
    """Whether a command's error is one line of words as a person would write it."""
    words = text.split()
    return (
        "\n" not in text
        and len(words) >= _FEW_WORDS
        and text[0].isalpha()
        and _PROGRAM_SAYS.search(text) is None
    )


def _arguments(raw: Raw) -> Any:
    value = decoded(raw)
    return value if isinstance(value, (dict, str)) else None


def _usage(kept: _Kept, thread: str) -> Usage | None:
    try:
        said = _usage_record.decode(kept.raw)
    except BAD_JSON:
        return None
    if said.input_tokens is None and said.output_tokens is None:
        return None
    # The log counts what came from the cache, and what went into it, apart.
    cached = said.cache_read_input_tokens or 0
    read = (said.input_tokens or 0) + cached + (said.cache_creation_input_tokens or 0)
    return Usage(
        input_tokens=read,
        cached_tokens=said.cache_read_input_tokens,
        output_tokens=said.output_tokens,
        line=kept.line,
        at_ms=kept.at_ms,
        thread=thread,
    )


def _structured(line: _Line) -> _ToolUseResult | None:
    for found in (line.toolUseResult, line.tool_use_result):
        if isinstance(found, _ToolUseResult):
            return found
    return None


def _outcome(block: _Block, structured: _ToolUseResult | None) -> Outcome:
    duration_ms = None
    if structured is not None:
        duration_ms = structured.durationMs
        if duration_ms is None and structured.durationSeconds is not None:
            duration_ms = structured.durationSeconds * 1000
        if duration_ms is not None and not 0 <= duration_ms < 1e12:
            duration_ms = None
    if block.is_error:
        read = outcome_from_text(body_text(block.content), ok=False)
        return msgspec.structs.replace(read, duration_ms=duration_ms)
    if structured is not None and structured.interrupted:
        read = outcome_from_text(body_text(block.content), ok=False)
        refused = not read.timed_out
        return Outcome(ok=None, refused=refused, timed_out=read.timed_out, duration_ms=duration_ms)
    return _FINE if duration_ms is None else Outcome(ok=True, duration_ms=duration_ms)


_FINE = Outcome(ok=True)


def _files(structured: _ToolUseResult | None) -> tuple[Named, ...] | None:
    if structured is None:
        return None
    file = structured.file
    if file is not None and file.filePath:
        return (Named("read", file.filePath, _lines(file)),)
    if structured.filenames is None:
        return None
    if structured.mode == "content" and not structured.filenames:
        return None  # the names stand only in the text
    tier = "listed" if structured.mode is None else "matched"
    return tuple(Named(tier, name) for name in structured.filenames)


def _lines(file: _File) -> tuple[int, int] | None:
    start, count = file.startLine, file.numLines
    if start is None or count is None or count < 1 or start < 1 or count == file.totalLines:
        return None
    return (start, start + count - 1)
