"""Gemini CLI chat recordings: one JSON document, or JSON Lines that are replayed.

In the newer form a message is written again each time it changes (the last one wins),
``$set`` changes the session's data and ``$rewindTo`` takes a message and all behind it
back. What counts is the state after the replay, as the tool itself would load it.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from wayproof.capture.adapter import Format, Head, is_document, text_of, used, word
from wayproof.capture.clock import at_ms
from wayproof.capture.injected import genuine
from wayproof.capture.lines import Source
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
    Usage,
)
from wayproof.capture.sessions import Delegations, Session, Sessions

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="gemini",
    title="Gemini CLI chat recording",
    files="~/.gemini/tmp/<project>/chats/session-*.json and .jsonl",
    versions="JSON documents, and the JSON Lines of later versions",
    sampled="undated",
    detected_by="sessionId and projectHash with messages; messages of type gemini",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "derived",
        "wall_ms": "unknown",
        "elapsed_ms": "derived",
        "error": "native",
        "timed_out": "derived",
        "prompt": "native",
        "subagent": "native",
        "version": "unknown",
    },
    limits=(
        "No durations: wall_ms is absent.",
        "The project's folder is in the log only as a hash, or as directories in newer ones.",
        "After a compression only the messages that the tool itself would load are there.",
    ),
)

_any = msgspec.json.Decoder()
_KEPT_CHARS = 1 << 16


def claims(head: Head) -> bool:
    """Tell a recording, as a document or as lines."""
    if head.has("messages") and (head.has("sessionId") or head.has("projectHash")):
        return True
    for record in head.records[:50]:
        if "$rewindTo" in record or "$set" in record:
            return True
        if "projectHash" in record and "sessionId" in record:
            return True
        if record.get("type") == "gemini" and ("content" in record or "toolCalls" in record):
            return True
    return False


def read(source: Source, sessions: Sessions) -> None:
    """Hand over the one session of a recording."""
    lines = not is_document(source)
    replay = _Replay(source, document=not lines)
    if lines:
        for number, record in source.records(_any):
            replay.take(number, record)
    else:
        replay.take(1, source.document(_any))
    session = sessions.of(f"{source.name}\0gemini")
    replay.describe(session)
    delegations = Delegations()
    for number, message in replay.messages():
        for event in _events(number, message, MAIN_THREAD):
            if isinstance(event, Call):
                delegations.called(event)
            elif isinstance(event, Result):
                delegations.ended(event)
            session.feed(event)
    _read_children(source, session, delegations)


def _read_children(source: Source, session: Session, delegations: Delegations) -> None:
    """Read the recordings of sub-agents: ``<session>/<agent>.jsonl`` beside the session's."""
    session_id = session.info.session_id
    if session_id is None or not _is_name(session_id):
        return
    for call_id, name in delegations.unread():
        if name is None or not _is_name(name):
            continue
        path = source.path.parent / session_id / f"{name}.jsonl"
        if not path.is_file():
            continue
        shown = str(Path(source.name).parent / session_id / path.name)
        child = Source(path, name=shown, problems=source.problems)
        replay = _Replay(child, document=False)
        for number, record in child.records(_any):
            replay.take(number, record)
        session.feed(Spawn(child=name, line=0, parent_call=call_id, file=shown))
        for number, message in replay.messages():
            for event in _events(number, message, name):
                session.feed(event)


def _is_name(text: str) -> bool:
    return text.replace("-", "").replace("_", "").isalnum()


class _Replay:
    """The recording's state after all its lines; a document's messages count from 1."""

    def __init__(self, source: Source, *, document: bool) -> None:
        self._source = source
        self._document = document
        self._about: dict[str, Any] = {}
        self._messages: dict[str, tuple[int, dict[str, Any]]] = {}

    def take(self, number: int, record: Any) -> None:
        """Apply one line."""
        if record is None:
            return
        if not isinstance(record, dict):
            self._source.bad(number, "not an object")
        elif "$rewindTo" in record:
            self._rewind(record["$rewindTo"])
        elif "$set" in record:
            self._set(number, record["$set"])
        elif "$patch" in record:
            self._patch(number, record["$patch"])
        elif "messages" in record or "sessionId" in record or "projectHash" in record:
            self._set(number, record)
        elif "type" in record:
            self._put(number, record)
        else:
            self._source.bad(number, "neither a message nor session data")

    def _put(self, number: int, message: Any) -> None:
        if not isinstance(message, dict):
            self._source.bad(number, "a message that is not an object")
            return
        name = message.get("id")
        key = name if isinstance(name, str) else f"line {number}.{len(self._messages)}"
        place = self._messages.get(key, (number, {}))[0]
        self._messages[key] = (place, _reduced(message))

    def _set(self, number: int, patch: Any) -> None:
        if not isinstance(patch, dict):
            self._source.bad(number, "$set without an object")
            return
        self._about |= {key: value for key, value in patch.items() if key != "messages"}
        if isinstance(patch.get("messages"), list):
            kept, self._messages = self._messages, {}
            for place, message in enumerate(patch["messages"], start=1):
                self._put(place if self._document else number, message)
            for key, (line, _) in kept.items():
                if key in self._messages:
                    self._messages[key] = (line, self._messages[key][1])

    def _patch(self, number: int, patch: Any) -> None:
        updates = patch.get("updates") if isinstance(patch, dict) else None
        for update in updates if isinstance(updates, list) else []:
            known = self._messages.get(word(update.get("id"))) if isinstance(update, dict) else None
            if known is not None:
                known[1].update(_reduced(update))
            else:
                self._put(number, update)

    def _rewind(self, target: Any) -> None:
        names = list(self._messages)
        start = names.index(target) if word(target) in self._messages else 0
        for name in names[start:]:
            del self._messages[name]

    def messages(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield (line, message) in order."""
        yield from self._messages.values()

    def describe(self, session: Session) -> None:
        """Fill in what is known of the session."""
        session_id = self._about.get("sessionId")
        session.info.session_id = session_id if isinstance(session_id, str) else None
        if self._about.get("kind") == "subagent":
            session.info.parent_session = self._source.path.parent.name
        folders = self._about.get("directories")
        if isinstance(folders, list) and folders and isinstance(folders[0], str):
            session.info.cwd = folders[0]


def _reduced(message: dict[str, Any]) -> dict[str, Any]:
    """Keep what events need: long outputs are not held while the replay goes on."""
    names = ("type", "content", "timestamp", "tokens")
    kept: dict[str, Any] = {name: message[name] for name in names if name in message}
    calls = message.get("toolCalls")
    if isinstance(calls, list):
        kept["toolCalls"] = [_reduced_call(call) for call in calls if isinstance(call, dict)]
    return kept


def _reduced_call(call: dict[str, Any]) -> dict[str, Any]:
    names = ("id", "name", "args", "status", "timestamp", "agentId")
    kept = {key: call[key] for key in names if key in call}
    text, failed = _response(call.get("result"))
    kept["text"], kept["failed"] = text[:_KEPT_CHARS], failed
    kept["ended"] = call.get("result") is not None or word(call.get("status")) in _ENDED
    return kept


_ENDED = {"success", "error", "cancelled", "canceled"}


def _response(result: Any) -> tuple[str, bool]:
    """Return a result's text and whether it is an error."""
    texts: list[str] = []
    failed = False
    for part in result if isinstance(result, list) else [result]:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, Mapping):
            inner = part.get("functionResponse")
            response = inner.get("response") if isinstance(inner, Mapping) else None
            if isinstance(response, Mapping):
                if isinstance(response.get("error"), str):
                    texts.append(response["error"])
                    failed = True
                elif isinstance(response.get("output"), str):
                    texts.append(response["output"])
            elif isinstance(part.get("text"), str):
                texts.append(part["text"])
    return "\n".join(texts), failed


def _events(number: int, message: dict[str, Any], thread: str) -> Iterator[Any]:
    time_ms = at_ms(message.get("timestamp"))
    text = text_of(message.get("content"))
    kind = message.get("type")
    if kind == "user":
        said = genuine(text)
        if said and not said.startswith("/"):
            yield Prompt(text=said, line=number, at_ms=time_ms, thread=thread)
    elif kind == "gemini":
        if text.strip():
            yield Answer(text=text, line=number, at_ms=time_ms, thread=thread)
        calls = message.get("toolCalls", [])
        for place, call in enumerate(calls):
            yield _call(number, place, call, time_ms, thread)
        for place, call in enumerate(calls):
            if call["ended"]:
                yield _result(number, place, call, thread)
        yield from _tokens(number, message.get("tokens"), time_ms, thread)
    elif kind == "error" and thread == MAIN_THREAD:
        yield Failure(error=first_line(text), line=number)


def _tokens(number: int, counts: Any, time_ms: float | None, thread: str) -> Iterator[Usage]:
    if not isinstance(counts, Mapping):
        return
    usage = used(number, counts, ("input", "cached", "output"), at_ms=time_ms, thread=thread)
    thoughts = counts.get("thoughts")
    if usage is not None and usage.output_tokens is not None and isinstance(thoughts, int):
        # Thoughts are counted beside the output.
        usage = msgspec.structs.replace(usage, output_tokens=usage.output_tokens + thoughts)
    if usage is not None:
        yield usage


def _name(number: int, place: int, call: dict[str, Any]) -> str:
    name = call.get("id")
    return name if isinstance(name, str) and name else f"line {number}.{place}"


def _call(
    number: int, place: int, call: dict[str, Any], time_ms: float | None, thread: str
) -> Call:
    arguments = call.get("args")
    name = call.get("name")
    return Call(
        call_id=_name(number, place, call),
        tool=name if isinstance(name, str) and name else "tool",
        arguments=arguments if isinstance(arguments, (dict, str)) else None,
        line=number,
        at_ms=at_ms(call.get("timestamp")) or time_ms,
        thread=thread,
        batch=f"line {number}",
    )


def _result(number: int, place: int, call: dict[str, Any], thread: str) -> Result:
    child = call.get("agentId")
    return Result(
        call_id=_name(number, place, call),
        line=number,
        outcome=_outcome(call),
        thread=thread,
        body=_printed(call["text"]),
        child=child if isinstance(child, str) and child else None,
    )


_PRINTED = re.compile(
    r"(?:^|\n)(?:Output|Stdout): (.*?)(?:\n(?:Error|Stderr|Exit Code): |\Z)", re.DOTALL
)


def _printed(text: str) -> str:
    """Return a command's output without the labelled lines that a shell tool puts around it."""
    found = _PRINTED.search(text)
    return found[1] if found else text


def _outcome(call: dict[str, Any]) -> Outcome:
    status, text = word(call.get("status")), call["text"]
    if status in {"cancelled", "canceled"}:
        return Outcome(refused=True)
    found = re.search(r"(?:^|\n)Exit Code: (-?\d{1,6})\b", text)
    code = int(found[1]) if found else None
    if status == "error" or call["failed"] or code not in {None, 0}:
        read = outcome_from_text(text, ok=False)
        return msgspec.structs.replace(read, exit_code=code if code is not None else None)
    return Outcome(ok=True if status == "success" else None, exit_code=code)
