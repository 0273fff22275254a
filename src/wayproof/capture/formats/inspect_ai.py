"""Inspect AI logs: ``.json``, and ``.eval`` archives read one sample at a time.

A sample is a session; its epochs are attempts at one task. Tool events carry the call, its
error and its own working time; samples without events are read from their messages. Long
texts stand apart as ``attachment://`` references.
"""

import struct
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import msgspec
from msgspec import Raw

from wayproof.capture.adapter import ABSENT, BAD_JSON, Format, Head, decoded, text_of, used
from wayproof.capture.clock import at_ms
from wayproof.capture.lines import Source, clean_json
from wayproof.capture.results import first_line
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
from wayproof.errors import InputError

__all__ = ["FORMAT", "claims", "read"]

FORMAT = Format(
    name="inspect",
    title="Inspect AI log",
    files="logs/*.eval and logs/*.json",
    versions="log version 2; deflate and zstd archives",
    sampled="2025-02",
    detected_by="eval and samples; a ZIP archive",
    fields={
        "first_contact": "native",
        "selected": "derived",
        "cwd": "unknown",
        "wall_ms": "native",
        "elapsed_ms": "native",
        "error": "native",
        "timed_out": "native",
        "prompt": "native",
        "subagent": "native",
        "version": "native",
    },
    limits=(
        "No working directory: relative paths are taken as relative to the repository root.",
        "A sample without events has no times, and without the model's messages no arguments.",
        "An archive compressed with zstd needs the zstd extra.",
    ),
)

_ZSTD_METHOD = 93
_MAX_SAMPLE_BYTES = 1 << 30


class _Log(msgspec.Struct):
    eval: Raw = ABSENT
    samples: list[Raw] | None = None


_log = msgspec.json.Decoder(_Log)
_any = msgspec.json.Decoder()


def claims(head: Head) -> bool:
    """Tell an archive, or a document with ``eval`` and samples (or a plan)."""
    if head.kind == "zip":
        return True
    return head.has("eval") and (head.has("samples") or head.has("plan") or head.has("results"))


def read(source: Source, sessions: Sessions) -> None:
    """Hand over one session for each sample and epoch."""
    with source.open() as file:
        archive = file.read(4) == b"PK\x03\x04"
    if archive:
        _read_archive(source, sessions)
        return
    log = source.document(_log)
    if log is None:
        return
    about = decoded(log.eval)
    for place, raw in enumerate(log.samples or []):
        _sample(source, sessions, decoded(raw), about, f"sample {place}")


# -- archives -------------------------------------------------------------------------


def _read_archive(source: Source, sessions: Sessions) -> None:
    try:
        with source.path.open("rb") as file, zipfile.ZipFile(file) as archive:
            about = _header(source, archive, file)
            members = [
                one
                for one in archive.infolist()
                if one.filename.startswith("samples/") and one.filename.endswith(".json")
            ]
            if not members and about is None:
                raise InputError("a ZIP archive that is no Inspect log", file=source.name)
            for member in sorted(members, key=_natural):
                data = _member(source, archive, file, member)
                if data is not None:
                    _sample(source, sessions, _value(source, member, data), about, member.filename)
    except (zipfile.BadZipFile, OSError, EOFError, struct.error) as error:
        source.bad(0, f"not a whole ZIP archive ({error})")


def _natural(member: zipfile.ZipInfo) -> tuple[Any, ...]:
    stem = member.filename.removeprefix("samples/").removesuffix(".json")
    name, _, epoch = stem.rpartition("_epoch_")
    return (name.zfill(40) if name.isdigit() else name, int(epoch) if epoch.isdigit() else 0)


def _header(source: Source, archive: zipfile.ZipFile, file: BinaryIO) -> Any:
    names = set(archive.namelist())
    for name in ("header.json", "_journal/start.json"):
        if name in names:
            data = _member(source, archive, file, archive.getinfo(name))
            value = _value(source, archive.getinfo(name), data) if data is not None else None
            return value.get("eval") if isinstance(value, dict) else {}
    return None


def _member(
    source: Source, archive: zipfile.ZipFile, file: BinaryIO, member: zipfile.ZipInfo
) -> bytes | None:
    if member.file_size > _MAX_SAMPLE_BYTES:
        source.bad(0, f"{member.filename}: larger than {_MAX_SAMPLE_BYTES >> 30} GiB; skipped")
        return None
    if member.compress_type == _ZSTD_METHOD:
        return _zstd_member(source, file, member)
    try:
        with archive.open(member) as one:
            data = one.read(_MAX_SAMPLE_BYTES + 1)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        source.bad(0, f"{member.filename}: can't be read ({error})")
        return None
    except Exception as error:  # zlib.error has no common base with the others
        if type(error).__module__ != "zlib":
            raise
        source.bad(0, f"{member.filename}: damaged ({error})")
        return None
    return data


def _zstd_member(source: Source, file: BinaryIO, member: zipfile.ZipInfo) -> bytes | None:
    """Python's zipfile doesn't know method 93; the bytes are there all the same."""
    try:
        import zstandard
    except ImportError:
        raise InputError(
            "is an Inspect archive compressed with zstd (ZIP method 93), and the library "
            "that reads it is not installed",
            file=source.name,
            mend="pip install 'wayproof[zstd]', or: inspect log convert --to json",
        ) from None
    file.seek(member.header_offset)
    local = file.read(30)
    name_bytes, extra_bytes = struct.unpack("<HH", local[26:30])
    file.seek(name_bytes + extra_bytes, 1)
    packed = file.read(member.compress_size)
    try:
        plain = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        return plain.read(_MAX_SAMPLE_BYTES)
    except zstandard.ZstdError as error:
        source.bad(0, f"{member.filename}: damaged ({error})")
        return None


def _value(source: Source, member: zipfile.ZipInfo, data: bytes) -> Any:
    try:
        return _any.decode(data)
    except BAD_JSON:
        documents, complete, what = clean_json(data)
    if not documents or not complete:
        source.bad(0, f"{member.filename}: not JSON ({what})")
        return None
    source.bad(0, f"{member.filename}: not quite JSON ({what}); mended and read", mended=True)
    return _any.decode(documents[0])


# -- samples --------------------------------------------------------------------------


def _sample(source: Source, sessions: Sessions, sample: Any, about: Any, place: str) -> None:
    if not isinstance(sample, dict):
        if sample is not None:
            source.bad(0, f"{place} is not an object")
        return
    name, epoch = sample.get("id"), sample.get("epoch")
    key = f"{source.name}\0{place}"
    session = sessions.of(key, prompts_logged=False)
    session.info.session_id = str(name) if isinstance(name, (str, int)) else None
    if isinstance(epoch, int):
        session.info.part = f"epoch {epoch}"
    packages = about.get("packages") if isinstance(about, dict) else None
    version = packages.get("inspect_ai") if isinstance(packages, dict) else None
    session.info.agent_version = version if isinstance(version, str) else None
    attachments = sample.get("attachments")
    texts = attachments if isinstance(attachments, dict) else {}
    events = sample.get("events")
    if isinstance(events, list) and events:
        _Events(session, texts).take(sample, events)
    else:
        _messages(session, texts, sample)
    _ended(session, sample)


def _resolved(value: Any, texts: Mapping[str, Any], depth: int = 0) -> Any:
    """Put attached texts back where they are referred to."""
    if isinstance(value, str) and value.startswith("attachment://"):
        found = texts.get(value.removeprefix("attachment://"))
        return found if isinstance(found, str) else value
    if depth < 20 and isinstance(value, dict):
        return {key: _resolved(one, texts, depth + 1) for key, one in value.items()}
    if depth < 20 and isinstance(value, list):
        return [_resolved(one, texts, depth + 1) for one in value]
    return value


def _prompt(sample: dict[str, Any], texts: Mapping[str, Any]) -> str:
    given = _resolved(sample.get("input"), texts)
    if isinstance(given, list):
        users = [one for one in given if isinstance(one, dict) and one.get("role") == "user"]
        return text_of(users[0].get("content")) if users else ""
    return text_of(given)


def _ended(session: Session, sample: dict[str, Any]) -> None:
    error, limit = sample.get("error"), sample.get("limit")
    if isinstance(error, dict):
        said = error.get("message")
        session.feed(Failure(error=first_line(said if isinstance(said, str) else "error"), line=0))
    elif isinstance(limit, dict):
        kind = str(limit.get("type"))
        timed_out = kind in {"time", "working"}
        session.feed(
            Failure(error=None if timed_out else f"limit: {kind}", line=0, timed_out=timed_out)
        )


class _Events:
    """A sample's events; line numbers are event numbers from 1."""

    def __init__(self, session: Session, texts: Mapping[str, Any]) -> None:
        self._session = session
        self._texts = texts
        self._parents: dict[str, str | None] = {}
        self._delegating: dict[str, str] = {}
        self._batch = 0
        self._ends_ms: float | None = None

    def take(self, sample: dict[str, Any], events: list[Any]) -> None:
        """Hand over the sample's events."""
        dicts = [one for one in events if isinstance(one, dict)]
        started_ms = at_ms(dicts[0].get("timestamp")) if dicts else None
        said = _prompt(sample, self._texts)
        if said.strip():
            self._session.feed(Prompt(text=said, line=1, at_ms=started_ms))
        self._each(events, MAIN_THREAD, 0)

    def _each(self, events: list[Any], thread: str, depth: int) -> None:
        for number, event in enumerate(events, start=1):
            if not isinstance(event, dict):
                continue
            kind = event.get("event")
            if kind == "span_begin" and isinstance(event.get("id"), str):
                parent = event.get("parent_id")
                self._parents[event["id"]] = parent if isinstance(parent, str) else None
            elif kind == "tool":
                self._tool(number, event, self._thread(event, thread), depth)
            elif kind == "model":
                self._model(number, event, self._thread(event, thread))

    def _thread(self, event: dict[str, Any], thread: str) -> str:
        """Return the delegating call in whose span an event lies."""
        span = event.get("span_id")
        current = self._parents.get(span) if isinstance(span, str) else None
        for _ in range(100):
            if current is None:
                return thread
            if current in self._delegating:
                return self._delegating[current]
            current = self._parents.get(current)
        return thread

    def _model(self, number: int, event: dict[str, Any], thread: str) -> None:
        output = event.get("output")
        choices = output.get("choices") if isinstance(output, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if isinstance(message, dict):
            text = text_of(_resolved(message.get("content"), self._texts))
            if text.strip() and not message.get("tool_calls"):
                time_ms = at_ms(event.get("completed")) or at_ms(event.get("timestamp"))
                self._session.feed(Answer(text=text, line=number, at_ms=time_ms, thread=thread))

        counts = output.get("usage") if isinstance(output, dict) else None
        if isinstance(counts, dict):
            self._tokens(number, counts, thread)

    def _tokens(self, number: int, counts: dict[str, Any], thread: str) -> None:
        total, written = counts.get("total_tokens"), counts.get("output_tokens")
        if isinstance(total, int) and isinstance(written, int):
            # Whether input_tokens has the cached ones in it differs by provider.
            counts = counts | {"input_tokens": total - written}
        names = ("input_tokens", "input_tokens_cache_read", "output_tokens")
        usage = used(number, counts, names, thread=thread)
        if usage is not None:
            self._session.feed(usage)

    def _tool(self, number: int, event: dict[str, Any], thread: str, depth: int) -> None:
        name, call_id = event.get("function"), event.get("id")
        tool = name if isinstance(name, str) and name else "tool"
        key = call_id if isinstance(call_id, str) and call_id else f"event {thread} {number}"
        start_ms, end_ms = at_ms(event.get("timestamp")), at_ms(event.get("completed"))
        arguments = _resolved(event.get("arguments"), self._texts)
        if isinstance(event.get("agent"), str):
            tool = f"agent:{tool}" if not tool.startswith("transfer_to") else tool
            self._delegates(event, key)
        self._session.feed(
            Call(
                call_id=key,
                tool=_delegate_name(event, tool),
                arguments=arguments if isinstance(arguments, (dict, str)) else None,
                line=number,
                at_ms=start_ms,
                thread=thread,
                batch=self._overlapping(start_ms, end_ms),
            )
        )
        nested = event.get("events")
        if (
            isinstance(nested, list)
            and nested
            and isinstance(event.get("agent"), str)
            and depth < 8
        ):
            self._each(nested, key, depth + 1)
        if event.get("pending"):
            return
        self._session.feed(
            Result(
                call_id=key,
                line=number,
                outcome=_outcome(event, start_ms, end_ms),
                at_ms=end_ms,
                thread=thread,
                body=text_of(_resolved(event.get("result"), self._texts)),
            )
        )

    def _delegates(self, event: dict[str, Any], key: str) -> None:
        if isinstance(event.get("span_id"), str):
            self._delegating[event["span_id"]] = key
        self._session.feed(Spawn(child=key, line=0, parent_call=key))

    def _overlapping(self, start_ms: float | None, end_ms: float | None) -> str | None:
        if start_ms is None or end_ms is None:
            return None
        if self._ends_ms is None or start_ms >= self._ends_ms:
            self._batch += 1
            self._ends_ms = end_ms
        self._ends_ms = max(self._ends_ms, end_ms)
        return f"{self._batch}"


def _delegate_name(event: dict[str, Any], tool: str) -> str:
    return "agent" if isinstance(event.get("agent"), str) else tool


def _outcome(event: dict[str, Any], start_ms: float | None, end_ms: float | None) -> Outcome:
    seconds = event.get("working_time")
    duration_ms = None
    if isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and 0 <= seconds < 1e9:
        duration_ms = round(seconds * 1000, 3)
    elif start_ms is not None and end_ms is not None and end_ms >= start_ms:
        duration_ms = round(end_ms - start_ms, 3)
    outcome = _from_error(event.get("error"))
    if outcome.ok is not False and event.get("failed") is True:
        outcome = Outcome(ok=False, error="the tool failed")
    return msgspec.structs.replace(outcome, duration_ms=duration_ms)


def _from_error(error: Any) -> Outcome:
    if not isinstance(error, dict):
        return Outcome(ok=True)
    kind, said = str(error.get("type")), error.get("message")
    if kind == "approval":
        return Outcome(refused=True)
    message = said if isinstance(said, str) and said.strip() else kind
    return Outcome(ok=False, timed_out=kind == "timeout", error=f"{kind}: {first_line(message)}")


# -- messages, where there are no events ----------------------------------------------


def _messages(session: Session, texts: Mapping[str, Any], sample: dict[str, Any]) -> None:
    """Line numbers are message numbers from 1."""
    said = _prompt(sample, texts)
    if said.strip():
        session.feed(Prompt(text=said, line=1))
    known: set[str] = set()
    messages = sample.get("messages")
    for number, message in enumerate(messages if isinstance(messages, list) else [], start=1):
        if not isinstance(message, dict):
            continue
        if message.get("role") == "assistant":
            for call in _message_calls(message, number, texts):
                known.add(call.call_id)
                session.feed(call)
            text = text_of(_resolved(message.get("content"), texts))
            if text.strip() and not message.get("tool_calls"):
                session.feed(Answer(text=text, line=number))
        elif message.get("role") == "tool":
            _tool_message(session, message, number, known, texts)


def _message_calls(
    message: dict[str, Any], number: int, texts: Mapping[str, Any]
) -> Iterator[Call]:
    calls = message.get("tool_calls")
    for place, call in enumerate(calls if isinstance(calls, list) else []):
        if isinstance(call, dict):
            arguments = _resolved(call.get("arguments"), texts)
            yield Call(
                call_id=str(call.get("id") or f"message {number}.{place}"),
                tool=str(call.get("function") or "tool"),
                arguments=arguments if isinstance(arguments, (dict, str)) else None,
                line=number,
                batch=f"message {number}",
            )


def _tool_message(
    session: Session,
    message: dict[str, Any],
    number: int,
    known: set[str],
    texts: Mapping[str, Any],
) -> None:
    call_id = str(message.get("tool_call_id") or f"message {number}")
    if call_id not in known:  # the call itself is not in the log, only its result is
        known.add(call_id)
        session.feed(
            Call(
                call_id=call_id,
                tool=str(message.get("function") or "tool"),
                arguments=None,
                line=number,
            )
        )
    body = text_of(_resolved(message.get("content"), texts))
    outcome = _from_error(message.get("error"))
    session.feed(Result(call_id=call_id, line=number, outcome=outcome, body=body))
