"""Codex rollouts: ``rollout-*.jsonl`` (or ``.jsonl.zst``), new and legacy.

New lines are ``{timestamp, type, payload}``. Legacy ones (2025) have no envelope and name
the working directory only inside ``<environment_context>``; older still is one JSON
document with ``session`` and ``items``. Forks and sub-agents repeat their parent's history:
the first ``session_meta`` owns the identity, and calls are told apart by their id.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw

from wayproof.capture.adapter import (
    ABSENT,
    BAD_JSON,
    Format,
    Head,
    decoded,
    first_byte,
    inner_json,
    is_document,
    text_of,
    used,
    word,
)
from wayproof.capture.clock import at_ms
from wayproof.capture.injected import genuine
from wayproof.capture.lines import Source
from wayproof.capture.results import MAX_TEXT_CHARS, first_line, outcome_from_text
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
from wayproof.capture.sessions import Delegations, Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="codex",
    title="Codex rollout",
    files="~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl and .jsonl.zst",
    versions="legacy flat (2025) and session_meta rollouts",
    sampled="2026-01",
    detected_by="session_meta / response_item / event_msg lines; flat message and "
    "function_call lines under a header; a document with session and items",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "native",
        "wall_ms": "derived",
        "elapsed_ms": "derived",
        "error": "derived",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "derived",
        "version": "native",
    },
    limits=(
        (
            "In code mode a call holds JavaScript: what it ran is read from the events beside it; "
            "where there are none the first contact is null (code_mode)."
        ),
        "Exit status and duration stand in the output's text.",
        "Legacy logs name the working directory only inside the environment context.",
    ),
)

_ENVELOPES = frozenset({
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "session_state",
})  # fmt: skip
_FLAT = frozenset({
    "message", "function_call", "function_call_output", "local_shell_call", "reasoning",
    "custom_tool_call", "custom_tool_call_output",
})  # fmt: skip


class _Item(msgspec.Struct):
    """A line: an envelope with a payload, or (legacy, and inside a payload) an item itself."""

    type: str | None = None
    timestamp: Raw = ABSENT
    payload: Raw = ABSENT
    record_type: str | None = None
    role: str | None = None
    name: str | None = None
    call_id: str | None = None
    id: str | None = None
    arguments: Raw = ABSENT
    input: Raw = ABSENT
    output: Raw = ABSENT
    content: Raw = ABSENT
    action: Raw = ABSENT
    message: Raw = ABSENT
    status: Raw = ABSENT
    exit_code: int | None = None
    duration: Raw = ABSENT
    aggregated_output: Raw = ABSENT
    formatted_output: Raw = ABSENT
    new_thread_id: str | None = None
    info: Raw = ABSENT
    item: Raw = ABSENT
    command: Raw = ABSENT
    cwd: str | None = None
    source: Raw = ABSENT
    changes: Raw = ABSENT
    invocation: Raw = ABSENT
    result: Raw = ABSENT
    success: bool | None = None
    server: str | None = None
    tool: str | None = None
    thread_id: str | None = None


class _Document(msgspec.Struct):
    session: Raw = ABSENT
    items: list[Raw] = []


_item = msgspec.json.Decoder(_Item)
_document = msgspec.json.Decoder(_Document)

_CONTENT = frozenset({"response_item", "event_msg"})
_REPLAY_ID_CHARS = 20  # real call ids are long and random; short ones are made up


def claims(head: Head) -> bool:
    """Tell a rollout, a legacy flat log, or the oldest document."""
    for record in head.records[:50]:
        kind = word(record.get("type"))
        if kind in _ENVELOPES and "payload" in record:
            return True
        if kind in {"function_call", "function_call_output", "local_shell_call"}:
            return "call_id" in record or "arguments" in record or "action" in record
        if kind == "message" and record.get("role") and isinstance(record.get("content"), list):
            return True
    return head.has("session", "items") and isinstance(head.member("items"), list)


def record_ids(source: Source) -> set[int]:
    """Return what tells the records of a rollout apart: a fork repeats its parent's."""
    if is_document(source):
        return set()
    return {_name(item) for _, item in source.records(_item) if item.type in _CONTENT}


def _name(line: _Item) -> int:
    return hash(bytes(line.payload))


def read(source: Source, sessions: Sessions) -> None:
    """Hand over the one session of a rollout, its sub-agents' rollouts included."""
    key = f"{source.name}\0codex"
    session = sessions.of(key)
    delegations = Delegations()
    main = _Reader(source, session, delegations)
    main.known = sessions.known
    main.begin_anew = lambda: sessions.again(key)
    main.read()
    _read_children(main, delegations)


class _Reader:
    """One rollout to events of one thread.

    Parameters
    ----------
    delegations
        Noted for the whole session.
    parent
        The reader of the main thread, whose history a sub-agent's rollout repeats.
    """

    def __init__(
        self,
        source: Source,
        session: Session,
        delegations: Delegations,
        thread: str = MAIN_THREAD,
        parent: "_Reader | None" = None,
    ) -> None:
        self.source = source
        self.session = session
        self.calls: set[str] = set()
        self.made: set[int] = set()
        self.known: frozenset[int] = frozenset()
        self._delegations = delegations
        self._thread = thread
        self._parent = parent
        self._identified = False
        self._cwd: str | None = None
        self._last_prompt: str | None = None
        self._spawned: dict[str, str] = {}
        self._total: Any = None
        self._fork: str | None = None
        self._wrapper: Call | None = None
        self._done: set[str] = set()
        self.begin_anew: Callable[[], Session] | None = None

    @property
    def _main(self) -> bool:
        return self._thread == MAIN_THREAD

    def read(self) -> None:
        """Read lines, or the oldest logs' single document."""
        if is_document(self.source):
            self._read_document()
            return
        for number, item in self.source.records(_item):
            if self._fork is not None and item.type == "event_msg":
                self._fork_begins(item)
            if self.known and self._is_replayed(item):
                continue
            if self.session.listens(self._thread):
                self._line(number, item)
        self._unwrap()

    def _is_replayed(self, line: _Item) -> bool:
        """Whether a line belongs to another session: until the first that is this one's own."""
        if line.type not in _CONTENT:
            return False
        if _name(line) in self.known:
            return True
        if line.type == "response_item" and self._is_own(line):
            self.known = frozenset()
        return False

    @staticmethod
    def _is_own(line: _Item) -> bool:
        try:
            item = _item.decode(line.payload)
        except BAD_JSON:
            return False
        return item.call_id is not None or bool(genuine(text_of(decoded(item.content))))

    def _fork_begins(self, line: _Item) -> None:
        """Begin anew at a fork's own settings: what stood before is its parent's history."""
        try:
            event = _item.decode(line.payload)
        except BAD_JSON:
            return
        if event.type == "thread_settings_applied" and event.thread_id == self._fork:
            self._fork, self._last_prompt, self._wrapper = None, None, None
            self.calls, self._done = set(), set()
            self.known = frozenset()
            if self.begin_anew is not None:
                self.session = self.begin_anew()

    def _read_document(self) -> None:
        document = self.source.document(_document)
        if document is None:
            return
        session = decoded(document.session)
        if isinstance(session, Mapping):
            self._meta(session)
        for number, raw in enumerate(document.items, start=1):
            try:
                self._line(number, _item.decode(raw))
            except BAD_JSON as error:
                self.source.bad(1, f"item {number} can't be read ({error})")

    def _line(self, number: int, line: _Item) -> None:
        if line.type == "session_meta":
            self._meta(decoded(line.payload))
        elif line.type == "turn_context":
            self._context(decoded(line.payload))
        elif line.type in {"response_item", "event_msg"}:
            try:
                item = _item.decode(line.payload)
            except BAD_JSON as error:
                self.source.bad(number, f"a {line.type} that can't be read ({error})")
                return
            self._item(number, item, _time(line) or _time(item))
        elif line.type in _FLAT:
            self._item(number, line, _time(line))
        elif line.type is None and line.record_type is None:
            if line.id is None or self._identified:
                self.source.bad(number, "an object without a type")
            else:  # a legacy log's header
                self._meta({"id": line.id})

    # -- the session ------------------------------------------------------------------

    def _meta(self, meta: Any) -> None:
        if not isinstance(meta, Mapping):
            return
        if self._identified:  # a later one is a replayed parent's
            named = _text(meta, "id") or _text(meta, "session_id")
            if self._main and named != self.session.info.session_id:
                self.session.info.replays = True
            return
        self._identified = True
        self._cwd = _text(meta, "cwd")
        if not self._main:
            return
        info = self.session.info
        info.session_id = _text(meta, "id") or _text(meta, "session_id")
        info.cwd = self._cwd
        info.agent_version = _text(meta, "cli_version")
        info.forked_from = _text(meta, "forked_from_id")
        if info.forked_from is not None:
            self._fork = info.session_id
        parent = meta.get("source")
        for key in ("subagent", "thread_spawn"):
            parent = parent.get(key) if isinstance(parent, Mapping) else None
        if isinstance(parent, Mapping):
            info.parent_session = _text(parent, "parent_thread_id")

    def _context(self, context: Any) -> None:
        if not isinstance(context, Mapping):
            return
        inner = context.get("turn_context")
        cwd = _text(context, "cwd") or (_text(inner, "cwd") if isinstance(inner, Mapping) else None)
        self._in_folder(cwd)

    def _in_folder(self, cwd: str | None) -> None:
        if cwd:
            self._cwd = cwd
            if self._main and self.session.info.cwd is None:
                self.session.info.cwd = cwd

    # -- items ------------------------------------------------------------------------

    def _item(self, number: int, item: _Item, time_ms: float | None) -> None:
        if item.new_thread_id and item.call_id:
            self._spawned[item.call_id] = item.new_thread_id
        handler = _HANDLERS.get(item.type or "")
        if handler is not None:
            handler(self, number, item, time_ms)

    def _message(self, number: int, item: _Item, time_ms: float | None) -> None:
        text = text_of(decoded(item.content))
        if item.role == "user":
            self._prompt(number, text, time_ms)
        elif item.role == "assistant":
            self._answer(number, text, time_ms)

    def _user_message(self, number: int, item: _Item, time_ms: float | None) -> None:
        self._prompt(number, text_of(decoded(item.message)), time_ms)

    def _agent_message(self, number: int, item: _Item, time_ms: float | None) -> None:
        self._answer(number, text_of(decoded(item.message)), time_ms)

    def _prompt(self, number: int, text: str, time_ms: float | None) -> None:
        if "environment_context" in text.lower():
            found = re.search(
                r"(?:<cwd>|Current working directory:\s*)([^<\r\n]+)", text, re.IGNORECASE
            )
            self._in_folder(found[1].strip() if found else None)
        said = genuine(text)
        if not said or said == self._last_prompt:
            return  # a message is logged as an item and as an event
        self._last_prompt = said
        self.session.feed(Prompt(text=said, line=number, at_ms=time_ms, thread=self._thread))

    def _answer(self, number: int, text: str, time_ms: float | None) -> None:
        if text.strip():
            self._last_prompt = None
            self.session.feed(Answer(text=text, line=number, at_ms=time_ms, thread=self._thread))

    def _call(self, number: int, item: _Item, time_ms: float | None) -> None:
        call_id = item.call_id or item.id or f"line {number}"
        made = hash((call_id, item.name, bytes(item.arguments), bytes(item.input)))
        if self._parent is not None and made in self._parent.made:
            return  # a sub-agent's log begins with its parent's history
        self.made.add(made)
        self._unwrap()
        self.calls.add(call_id)
        self._last_prompt = None
        if self._main and self.session.info.origin is None and len(call_id) >= _REPLAY_ID_CHARS:
            self.session.info.origin = call_id
        call = Call(
            call_id=call_id,
            tool=item.name or item.type or "tool",
            arguments=_arguments(item),
            line=number,
            at_ms=time_ms,
            thread=self._thread,
            cwd=self._cwd,
            opaque=_is_code_mode(item),
        )
        if call.opaque:  # what it ran may stand in events before its output
            self._wrapper = call
            return
        self._delegations.called(call)
        self.session.feed(call)

    def _unwrap(self) -> None:
        """Feed a call whose program text nothing explained."""
        if self._wrapper is not None:
            wrapper, self._wrapper = self._wrapper, None
            self.session.feed(wrapper)

    def _output(self, number: int, item: _Item, time_ms: float | None) -> None:
        self._unwrap()
        text, outcome = _read_output(decoded(item.output))
        self._result(number, item, text, outcome, time_ms)

    def _result(
        self, number: int, item: _Item, text: str, outcome: Outcome, time_ms: float | None
    ) -> None:
        result = Result(
            call_id=item.call_id or item.id or "",
            line=number,
            outcome=outcome,
            at_ms=time_ms,
            thread=self._thread,
            body=text,
            child=self._spawned.get(item.call_id or "") or _agent_id(text),
        )
        self._delegations.ended(result)
        self.session.feed(result)

    def _command_end(self, number: int, item: _Item, time_ms: float | None) -> None:
        """Take a typed event beside the output, in logs that keep such events."""
        text = text_of(decoded(item.aggregated_output)) or text_of(decoded(item.formatted_output))
        duration_ms = _duration_ms(decoded(item.duration))
        code = item.exit_code
        call_id = item.call_id or item.id or f"line {number}"
        if decoded(item.source) == "user_shell":
            return  # a command that the person ran
        if call_id not in self.calls and call_id not in self._done:
            command = decoded(item.command)
            given = {"command": command} if isinstance(command, (str, list)) else None
            self._event_call(number, call_id, "exec_command", given, time_ms, cwd=item.cwd)
        if code is None or call_id in self._done:
            return
        self._done.add(call_id)
        timed_out = code == 124 and "timed out" in text[:2000]
        outcome = Outcome(
            ok=code == 0,
            exit_code=code,
            timed_out=timed_out,
            duration_ms=duration_ms,
            error=first_line(text) if code else None,
        )
        self._result(number, item, text, outcome, time_ms)

    def _event_call(
        self,
        number: int,
        call_id: str,
        tool: str,
        arguments: Any,
        time_ms: float | None,
        *,
        cwd: str | None = None,
    ) -> None:
        """Feed a call that only an event names: it explains the program text before it."""
        self._wrapper = None
        self._last_prompt = None
        self.calls.add(call_id)
        call = Call(
            call_id=call_id,
            tool=tool,
            arguments=arguments if isinstance(arguments, (dict, str)) else None,
            line=number,
            at_ms=time_ms,
            thread=self._thread,
            cwd=cwd or self._cwd,
        )
        self._delegations.called(call)
        self.session.feed(call)

    def _patched(self, number: int, item: _Item, time_ms: float | None) -> None:
        """Take a change of files, as an event of either spelling names it."""
        call_id = item.call_id or item.id or f"line {number}"
        if call_id in self._done or call_id in self.calls:
            return
        self._done.add(call_id)
        changes = {"changes": decoded(item.changes)}
        self._event_call(number, call_id, "file_change", changes, time_ms)
        status = decoded(item.status)
        ok = (
            item.success
            if item.success is not None
            else {"completed": True, "failed": False}.get(word(status))
        )
        outcome = Outcome(ok=ok, refused=status == "declined")
        self._result(number, item, "", outcome, time_ms)

    def _served(self, number: int, item: _Item, time_ms: float | None) -> None:
        """Take the call of a server's tool, as an event names it."""
        call_id = item.call_id or item.id or f"line {number}"
        if call_id in self._done or call_id in self.calls:
            return
        self._done.add(call_id)
        asked = decoded(item.invocation)
        asked = asked if isinstance(asked, Mapping) else {}
        names = (item.server or asked.get("server"), item.tool or asked.get("tool"))
        name = "__".join(["mcp", *(one for one in names if isinstance(one, str))])
        arguments = decoded(item.arguments)
        given = arguments if arguments is not None else asked.get("arguments")
        self._event_call(number, call_id, name, given, time_ms)
        outcome = Outcome(duration_ms=_duration_ms(decoded(item.duration)))
        self._result(number, item, text_of(decoded(item.result)), outcome, time_ms)

    def _completed(self, number: int, item: _Item, time_ms: float | None) -> None:
        """Take an item of a paginated log."""
        try:
            inner = _item.decode(item.item)
        except BAD_JSON as error:
            self.source.bad(number, f"an item that can't be read ({error})")
            return
        handler = _ITEM_HANDLERS.get(inner.type or "")
        if handler is not None:
            handler(self, number, inner, time_ms)

    def _user_item(self, number: int, item: _Item, time_ms: float | None) -> None:
        self._prompt(number, text_of(decoded(item.content)), time_ms)

    def _agent_item(self, number: int, item: _Item, time_ms: float | None) -> None:
        self._answer(number, text_of(decoded(item.content)), time_ms)

    def _search(self, number: int, item: _Item, time_ms: float | None) -> None:
        call_id = item.call_id or item.id or f"line {number}"
        action = decoded(item.action)
        self.session.feed(
            Call(
                call_id=call_id,
                tool="web_search",
                arguments=action if isinstance(action, dict) else None,
                line=number,
                at_ms=time_ms,
                thread=self._thread,
            )
        )
        ok = True if decoded(item.status) == "completed" else None
        self.session.feed(
            Result(call_id=call_id, line=number, outcome=Outcome(ok=ok), thread=self._thread)
        )

    def _tokens(self, number: int, item: _Item, time_ms: float | None) -> None:
        """Take a count of tokens; it is repeated when only the rate limits have changed."""
        info = decoded(item.info)
        total = info.get("total_token_usage") if isinstance(info, Mapping) else None
        last = info.get("last_token_usage") if isinstance(info, Mapping) else None
        if not isinstance(last, Mapping) or (total is not None and total == self._total):
            return
        self._total = total
        names = ("input_tokens", "cached_input_tokens", "output_tokens")
        usage = used(number, last, names, at_ms=time_ms, thread=self._thread)
        if usage is not None:
            self.session.feed(usage)

    def _aborted(self, number: int, item: _Item, time_ms: float | None) -> None:  # noqa: ARG002
        message = text_of(decoded(item.message))
        if item.type == "error" and self._main:
            self.session.feed(Failure(error=first_line(message), line=number))


_HANDLERS = {
    "message": _Reader._message,  # noqa: SLF001 - the class's own table
    "user_message": _Reader._user_message,  # noqa: SLF001
    "agent_message": _Reader._agent_message,  # noqa: SLF001
    "function_call": _Reader._call,  # noqa: SLF001
    "custom_tool_call": _Reader._call,  # noqa: SLF001
    "local_shell_call": _Reader._call,  # noqa: SLF001
    "function_call_output": _Reader._output,  # noqa: SLF001
    "custom_tool_call_output": _Reader._output,  # noqa: SLF001
    "local_shell_call_output": _Reader._output,  # noqa: SLF001
    "exec_command_end": _Reader._command_end,  # noqa: SLF001
    "web_search_call": _Reader._search,  # noqa: SLF001
    "error": _Reader._aborted,  # noqa: SLF001
    "token_count": _Reader._tokens,  # noqa: SLF001
    "item_completed": _Reader._completed,  # noqa: SLF001
    "patch_apply_end": _Reader._patched,  # noqa: SLF001
    "mcp_tool_call_end": _Reader._served,  # noqa: SLF001
}
_ITEM_HANDLERS = {
    "UserMessage": _Reader._user_item,  # noqa: SLF001
    "AgentMessage": _Reader._agent_item,  # noqa: SLF001
    "CommandExecution": _Reader._command_end,  # noqa: SLF001
    "FileChange": _Reader._patched,  # noqa: SLF001
    "McpToolCall": _Reader._served,  # noqa: SLF001
}


def _is_code_mode(item: _Item) -> bool:
    """Whether a call holds a program text that calls other tools."""
    if _bare(item.name) not in {"exec", "code"}:
        return False
    if item.type == "custom_tool_call":
        return True
    given = inner_json(decoded(item.arguments))
    return isinstance(given, Mapping) and any(key in given for key in ("source", "code", "script"))


def _read_children(main: _Reader, delegations: Delegations) -> None:
    """Read the rollouts of spawned agents that lie beside the main one."""
    source, done = main.source, set[str]()
    for _ in range(8):
        names = {child for _, child in delegations.unread() if child} - done
        if not names:
            return
        for name in sorted(names):
            done.add(name)
            path = _rollout_of(source, name)
            if path is not None:
                shown = str(Path(source.name).with_name(path.name))
                child = Source(path, name=shown, problems=source.problems)
                spawn = Spawn(child=name, line=0, file=shown)
                delegations.began(spawn)
                main.session.feed(spawn)
                _Reader(child, main.session, delegations, name, main).read()


def _rollout_of(source: Source, name: str) -> Path | None:
    if not re.fullmatch(r"[0-9A-Za-z\-]{8,64}", name):
        return None
    beside = sorted(source.path.parent.glob(f"*{name}.jsonl*"))
    return beside[0] if beside else None


def _text(value: Mapping[str, Any], key: str) -> str | None:
    found = value.get(key)
    return found if isinstance(found, str) and found else None


def _time(item: _Item) -> float | None:
    return at_ms(decoded(item.timestamp))


def _bare(name: str | None) -> str:
    return (name or "").rsplit(".", 1)[-1]


def _arguments(item: _Item) -> Any:
    """Arguments are a JSON text, a raw text (custom tools), or a local shell's action."""
    if first_byte(item.action):
        action = decoded(item.action)
        return action if isinstance(action, dict) else None
    if first_byte(item.input):
        text = decoded(item.input)
        return text if isinstance(text, (str, dict)) else None
    value = decoded(item.arguments)
    if not isinstance(value, str):
        return value if isinstance(value, dict) else None
    inner = inner_json(value)
    return inner if isinstance(inner, dict) else value


def _read_output(output: Any) -> tuple[str, Outcome]:
    """Return an output's text and outcome; exit status and time may stand inside the text."""
    if isinstance(output, str) and output.lstrip()[:1] == "{":
        inner = inner_json(output)
        if isinstance(inner, Mapping) and ("output" in inner or "metadata" in inner):
            output = inner
    if not isinstance(output, Mapping):
        text = text_of(output)
        if text.startswith("exec_command failed"):
            refused = _REJECTED.search(text[:MAX_TEXT_CHARS]) is not None
            return text, Outcome(refused=True) if refused else outcome_from_text(text, ok=False)
        return text, outcome_from_text(text)
    text = text_of(output.get("output", output.get("content")))
    metadata = output.get("metadata")
    if isinstance(metadata, Mapping):
        return text, _from_metadata(text, metadata)
    success = output.get("success")
    return text, outcome_from_text(text, ok=success if isinstance(success, bool) else None)


# The command stands before the reason, and may be long.
_REJECTED = re.compile(r'Rejected\(\\*"[\w ]{0,40}\b(?:rejected|denied|aborted) by (?:the )?user')


def _from_metadata(text: str, metadata: Mapping[str, Any]) -> Outcome:
    code, seconds = metadata.get("exit_code"), metadata.get("duration_seconds")
    duration_ms = None
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and 0 <= seconds < 1e9:
        duration_ms = round(seconds * 1000, 3)
    read = outcome_from_text(text)
    if not isinstance(code, int) or isinstance(code, bool) or read.refused:
        return msgspec.structs.replace(read, duration_ms=duration_ms)
    timed_out = read.timed_out and code != 0
    return Outcome(
        ok=code == 0,
        exit_code=code,
        timed_out=timed_out,
        duration_ms=duration_ms,
        error=first_line(text) if code else None,
    )


def _duration_ms(value: Any) -> float | None:
    if isinstance(value, Mapping):
        seconds, nanos = value.get("secs"), value.get("nanos", 0)
        if isinstance(seconds, int) and isinstance(nanos, int) and 0 <= seconds < 10**9:
            return round(seconds * 1000 + nanos / 1e6, 3)
    return None


def _agent_id(text: str) -> str | None:
    """Return a spawned agent's thread, from the output of the call that spawned it."""
    if len(text) > 4096 or "agent" not in text:
        return None
    found = re.search(r'"agent_id"\s*:\s*"([^"]{1,100})"|\bagent ([0-9a-f-]{36}) spawned', text)
    return (found[1] or found[2]) if found else None
