"""OpenCode: ``opencode export`` (one document), and ``opencode run --format json`` (lines).

A message holds parts; a part of type ``tool`` has the call and its ``state``, with input,
output, start and end. The calls between two ``step-start`` parts ran side by side. What a
person undid stands behind the message that ``revert`` names.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from wayproof.capture.adapter import Format, Head, is_document, used, word
from wayproof.capture.clock import at_ms
from wayproof.capture.formats.loose import arguments_of, joined, mapping, mappings, number
from wayproof.capture.injected import genuine
from wayproof.capture.lines import Source
from wayproof.capture.results import first_line, outcome_from_text
from wayproof.capture.session import Answer, Call, Failure, Named, Outcome, Prompt, Result, Usage
from wayproof.capture.sessions import Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="opencode",
    title="OpenCode",
    files="opencode export SESSION; opencode run --format json",
    versions="1.0 to 1.2 (the shape of its published types and of public exports)",
    detected_by="info and messages with parts; lines of type tool_use, step_start with a part",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "native",
        "wall_ms": "native",
        "elapsed_ms": "derived",
        "error": "native",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "unknown",
        "version": "native",
    },
    limits=(
        (
            "A sub-agent is a session of its own, in an export of its own: a route that delegates "
            "first has no first contact."
        ),
        "The lines of opencode run hold no prompt and no working directory.",
        "A call's time includes the wait for a permission, where one was asked.",
        (
            "No whole real export was at hand: fields are those of the published types and of "
            "parts quoted in public repositories."
        ),
    ),
    sampled="2026-08",
    sources=(
        "opencode.ai/docs: opencode export, opencode run --format json",
        "the package @opencode-ai/sdk: Session, Message, Part and ToolState",
        "github.com/kenn-io/agentsview, internal/parser/opencode.go",
    ),
)

_any = msgspec.json.Decoder()
_line = msgspec.json.Decoder(dict[str, Any])
_LINE_KINDS = frozenset({"tool_use", "step_start", "step_finish", "text", "reasoning"})


def claims(head: Head) -> bool:
    """Tell an export, or a run's lines."""
    if head.has("info", "messages"):
        messages = head.member("messages")
        first = messages[0] if isinstance(messages, list) and messages else None
        return isinstance(first, Mapping) and {"info", "parts"} <= first.keys()
    return any(
        word(record.get("type")) in _LINE_KINDS
        and isinstance(record.get("part"), Mapping)
        and "sessionID" in record
        for record in head.records[:50]
    )


def read(source: Source, sessions: Sessions) -> None:
    """Hand over an export's session, or a run's."""
    if is_document(source) or _is_export(source):
        log: Any = source.document(_any)
        if isinstance(log, dict):
            _Export(source, sessions, log).take()
        elif log is not None:
            source.bad(1, "not an export")
        return
    _run(source, sessions)


def _is_export(source: Source) -> bool:
    with source.open() as file:
        return b'"messages"' in file.read(1 << 16)


class _Export:
    """The messages of an export; line numbers are message numbers."""

    def __init__(self, source: Source, sessions: Sessions, log: Mapping[str, Any]) -> None:
        self._source = source
        self._log = log
        self._about = mapping(log.get("info"))
        session_id = word(self._about.get("id"))
        self._session = sessions.of(f"{source.name}\0{session_id}")
        info = self._session.info
        info.session_id = session_id or None
        info.parent_session = word(self._about.get("parentID")) or None
        info.agent_version = word(self._about.get("version")) or None
        info.cwd = word(self._about.get("directory")) or None

    def take(self) -> None:
        """Hand over the events of all messages that a person did not undo."""
        messages = self._log.get("messages")
        if not isinstance(messages, list):
            self._source.bad(1, "no list of messages")
            return
        revert = mapping(self._about.get("revert"))
        for place, message in enumerate(messages, start=1):
            if not isinstance(message, Mapping):
                self._source.bad(1, f"message {place} is not an object")
                continue
            parts = list(mappings(message.get("parts")))
            undone = word(mapping(message.get("info")).get("id")) == revert.get("messageID")
            if undone and revert:
                names = [part.get("id") for part in parts]
                part_id = revert.get("partID")
                end = names.index(part_id) if part_id in names else 0
                parts = parts[:end]
            self._message(place, mapping(message.get("info")), parts)
            if undone and revert:
                return

    def _message(
        self, place: int, about: Mapping[str, Any], parts: list[Mapping[str, Any]]
    ) -> None:
        created_ms = at_ms(mapping(about.get("time")).get("created"))
        if about.get("role") == "user":
            texts = [word(part.get("text")) for part in parts if _is_typed(part)]
            said = genuine("\n".join(text for text in texts if text))
            if said:
                self._session.feed(Prompt(text=said, line=place, at_ms=created_ms))
            return
        self._describe(mapping(about.get("path")))
        if about.get("summary") is True:
            return  # a compaction tells the story again
        events = list(_events(place, parts, created_ms))
        for event in events:
            self._session.feed(event)
        usage = _usage(place, mapping(about.get("tokens")), created_ms)
        if usage is not None:
            self._session.feed(usage)
        error = mapping(about.get("error"))
        if error:
            said = word(mapping(error.get("data")).get("message")) or word(error.get("name"))
            if error.get("name") != "MessageAbortedError":
                self._session.feed(Failure(error=first_line(said or "error"), line=place))

    def _describe(self, path: Mapping[str, Any]) -> None:
        info = self._session.info
        info.cwd = info.cwd or word(path.get("cwd")) or None
        root = word(path.get("root"))
        if info.root is None and root.strip("/"):
            info.root = root


def _is_typed(part: Mapping[str, Any]) -> bool:
    """Whether a part is what a person wrote: a file that was attached is put in as text."""
    return part.get("type") == "text" and not (part.get("synthetic") or part.get("ignored"))


def _run(source: Source, sessions: Sessions) -> None:
    step = 0
    for line, record in source.records(_line):
        part, kind = mapping(record.get("part")), record.get("type")
        session_id = word(record.get("sessionID")) or word(part.get("sessionID"))
        session = sessions.of(f"{source.name}\0{session_id}", prompts_logged=False)
        session.info.session_id = session_id or None
        if kind == "error":
            _failed(session, line, mapping(record.get("error")))
        step += kind == "step_start"
        for event in _events(line, [part], at_ms(record.get("timestamp")), step=f"step {step}"):
            session.feed(event)


def _failed(session: Session, line: int, error: Mapping[str, Any]) -> None:
    said = word(mapping(error.get("data")).get("message")) or word(error.get("name")) or "error"
    session.feed(Failure(error=first_line(said), line=line))


def _usage(place: int, tokens: Mapping[str, Any], at: float | None) -> Usage | None:
    """Return a message's tokens: what came from a cache stands beside the input, not in it."""
    cache = mapping(tokens.get("cache"))
    read = [tokens.get("input"), cache.get("read"), cache.get("write")]
    written = [tokens.get("output"), tokens.get("reasoning")]
    counts = {"read": _sum(read), "cached": cache.get("read"), "written": _sum(written)}
    return used(place, counts, ("read", "cached", "written"), at_ms=at)


def _sum(counts: list[Any]) -> int | None:
    known = [one for one in counts if isinstance(one, int) and not isinstance(one, bool)]
    return sum(known) if known else None


# -- parts ----------------------------------------------------------------------------


def _events(
    line: int, parts: list[Mapping[str, Any]], at: float | None, *, step: str = ""
) -> Iterator[Any]:
    batch = 0
    for place, part in enumerate(parts):
        kind = part.get("type")
        if kind == "step-start":
            batch += 1
        elif kind == "text" and word(part.get("text")).strip() and not part.get("synthetic"):
            said_ms = at_ms(mapping(part.get("time")).get("end")) or at
            yield Answer(text=part["text"], line=line, at_ms=said_ms)
        elif kind == "tool":
            yield from _tool(line, place, part, step or f"{line}.{batch}")


def _tool(line: int, place: int, part: Mapping[str, Any], batch: str) -> Iterator[Any]:
    state = mapping(part.get("state"))
    times = mapping(state.get("time")) or mapping(part.get("time"))
    call_id = f"{line}.{place}:{word(part.get('callID'))}"
    yield Call(
        call_id=call_id,
        tool=word(part.get("tool")) or "tool",
        arguments=arguments_of(state.get("input")),
        line=line,
        at_ms=at_ms(times.get("start")),
        batch=batch,
    )
    if word(state.get("status")) not in {"completed", "error"}:
        return  # pending or running: it never ended
    about = mapping(state.get("metadata"))
    there = about.get("exists")  # of a written file: whether there was one before
    child = word(about.get("sessionId")) or word(about.get("sessionID"))
    text = word(state.get("output")) or word(state.get("error"))
    yield Result(
        call_id=call_id,
        line=line,
        outcome=_outcome(state, about, text, _duration_ms(times)),
        at_ms=at_ms(times.get("end")),
        files=_files(word(part.get("tool")), mapping(state.get("input")), text),
        body=_METADATA.sub("", text),
        child=child or None,
        made=not there if isinstance(there, bool) else None,
    )


def _duration_ms(times: Mapping[str, Any]) -> float | None:
    start_ms, end_ms = number(times.get("start")), number(times.get("end"))
    if start_ms is None or end_ms is None or end_ms < start_ms:
        return None
    return end_ms - start_ms


_METADATA = re.compile(
    r"\n*<(?:bash|shell)_metadata>.*?(?:</(?:bash|shell)_metadata>|\Z)", re.DOTALL
)
_TIMED_OUT = "tool terminated command after exceeding timeout"
_REFUSED = re.compile(
    r"the user (?:rejected permission|dismissed this question|has specified a rule which prevents)",
    re.IGNORECASE,
)


def _outcome(
    state: Mapping[str, Any], about: Mapping[str, Any], text: str, duration_ms: float | None
) -> Outcome:
    if state.get("status") == "error":
        if _REFUSED.search(text[:2000]):
            return Outcome(refused=True, duration_ms=duration_ms)
        read = outcome_from_text(text or "failed without a message", ok=False)
        return msgspec.structs.replace(read, duration_ms=duration_ms)
    code = about.get("exit")
    code = code if isinstance(code, int) and not isinstance(code, bool) else None
    said = "".join(found[0] for found in _METADATA.finditer(text))
    if _TIMED_OUT in said:
        return Outcome(
            ok=False,
            exit_code=code,
            timed_out=True,
            duration_ms=duration_ms,
            error=first_line(said),
        )
    failed = code not in {None, 0}
    return Outcome(
        ok=not failed,
        exit_code=code,
        duration_ms=duration_ms,
        error=first_line(_METADATA.sub("", text) or f"exit code {code}") if failed else None,
    )


_NOT_A_FILE = ("(", "No files found", "Found ", "No matches")


def _files(tool: str, given: Mapping[str, Any], text: str) -> tuple[Named, ...] | None:
    """Return the files that a search's or a listing's text names, in its own layout."""
    lines = text.splitlines()[:20_000]
    if tool == "glob":
        names = [line for line in lines if line.strip() and not line.startswith(_NOT_A_FILE)]
        return tuple(Named("listed", joined(given.get("path"), name)) for name in names)
    if tool == "grep":
        headed = [line[:-1] for line in lines if line.endswith(":") and not line.startswith(" ")]
        return tuple(Named("matched", name) for name in headed if not name.startswith(_NOT_A_FILE))
    if tool == "list":
        return tuple(Named("listed", name) for name in _tree(lines))
    return None


def _tree(lines: list[str]) -> Iterator[str]:
    """Yield the files of a tree that is drawn by indents, folders ending in ``/``."""
    folders: list[str] = []
    for line in lines:
        name = line.strip()
        depth = (len(line) - len(line.lstrip(" "))) // 2
        if not name or line.startswith(_NOT_A_FILE):
            continue
        if name.endswith("/"):
            folders[depth:] = [name]
        else:
            yield "".join(folders[:depth]) + name
