"""What adapters share: how a format is described, the head of a log, and undecoded JSON."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from wayproof.capture.lines import Source, clean_json
from wayproof.capture.session import MAIN_THREAD, Usage

__all__ = [
    "ABSENT",
    "BAD_JSON",
    "FIELDS",
    "Format",
    "Head",
    "Knowledge",
    "decoded",
    "first_byte",
    "head_of",
    "inner_json",
    "is_document",
    "text_of",
    "used",
    "word",
]

ABSENT = msgspec.Raw(b"")
"""Default of a member that is decoded later, if at all."""

BAD_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding can raise."""

Knowledge = Literal["native", "derived", "unknown"]

FIELDS: dict[str, str] = {
    "first_contact": "first contact",
    "selected": "selected artifacts",
    "cwd": "working directory",
    "wall_ms": "wall_ms",
    "elapsed_ms": "elapsed_ms",
    "error": "error",
    "timed_out": "timed out",
    "prompt": "prompt",
    "subagent": "sub-agents",
    "version": "agent version",
}
"""The fields of the formats table, with their column titles."""


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """A log format.

    Attributes
    ----------
    name
        The name that a caller asks for it by.
    title
        What people call it.
    files
        Where such logs lie, or what they are called.
    versions
        What was seen or read of it.
    detected_by
        What in its content tells it apart.
    fields
        For each of :data:`FIELDS`: ``native`` (the log has it), ``derived`` (worked out
        from other fields or from text) or ``unknown``.
    limits
        What a packet from this format can't tell, in whole sentences.
    sampled
        When the newest sample was written that the reader was made from, ``2026-08``;
        ``undated`` where it names no date.
    sources
        Where the shape is public: the tool's own types or page, and files or lines seen.
    """

    name: str
    title: str
    files: str
    versions: str
    detected_by: str
    fields: dict[str, Knowledge]
    limits: tuple[str, ...] = ()
    sampled: str = "undated"
    sources: tuple[str, ...] = ()


class Head(msgspec.Struct, kw_only=True):
    """The beginning of a log, for telling its format.

    Attributes
    ----------
    kind
        ``lines`` (one JSON value a line), ``document`` (one JSON value), ``both`` (one
        value that stands on one line), ``zip``, ``text`` or ``empty``.
    records
        The first JSON objects, in order (``lines`` and ``both``).
    document
        The top-level value with its members undecoded (``document`` and ``both``): a
        mapping, or a list of the first elements decoded.
    text
        The first lines as text (``text``).
    opened
        Members that were decoded already.
    """

    kind: str
    records: list[dict[str, Any]] = []
    document: Mapping[str, msgspec.Raw] | None = None
    elements: list[Any] | None = None
    text: list[str] = []
    opened: dict[str, Any] = {}

    def member(self, name: str) -> Any:
        """Decode one member of the document; None where it isn't there."""
        if name not in self.opened:
            raw = (self.document or {}).get(name)
            try:
                self.opened[name] = None if raw is None else msgspec.json.decode(raw)
            except BAD_JSON:
                self.opened[name] = None
        return self.opened[name]

    def has(self, *names: str) -> bool:
        """Whether the document has all these members."""
        return self.document is not None and all(name in self.document for name in names)


def first_byte(raw: msgspec.Raw) -> bytes:
    """Return the first byte of undecoded JSON (``b""`` when it is absent), copying nothing."""
    return memoryview(raw)[:1].tobytes()


def decoded(raw: msgspec.Raw) -> Any:
    """Decode a member; None where it is absent or broken."""
    if raw is ABSENT:
        return None
    try:
        return _loose.decode(raw)
    except BAD_JSON:
        documents, complete, _ = clean_json(bytes(raw))
    return _loose.decode(documents[0]) if documents and complete else None


def inner_json(value: Any) -> Any:
    """Decode a JSON text that stands inside JSON; None where it is none, or no text."""
    return (
        decoded(msgspec.Raw(value.encode("utf-8", "replace"))) if isinstance(value, str) else None
    )


def word(value: Any) -> str:
    """Return a text as it is and anything else as an empty one, for looking names up."""
    return value if isinstance(value, str) else ""


def text_of(content: Any) -> str:
    """Return the text of a message's content: a string, or blocks with a ``text``."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(text_of, content) if text)
    if isinstance(content, Mapping):
        text = content.get("text")
        return text if isinstance(text, str) else ""
    return ""


def used(
    line: int,
    counts: Mapping[str, Any],
    names: tuple[str, str, str],
    *,
    at_ms: float | None = None,
    thread: str = MAIN_THREAD,
) -> Usage | None:
    """Return a message's usage from a mapping of counts; None where it has none.

    Parameters
    ----------
    line
        Where the message stands.
    counts
        The log's own record.
    names
        Its names of the tokens read, of those that came from a cache, and of those written.
    """
    read, cached, written = (_count(counts.get(name)) for name in names)
    if read is None and written is None:
        return None
    return Usage(
        input_tokens=read,
        cached_tokens=cached,
        output_tokens=written,
        line=line,
        at_ms=at_ms,
        thread=thread,
    )


def _count(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= 0 else None


# -- the head -------------------------------------------------------------------------

_HEAD_LINES = 200
_HEAD_BYTES = 4 << 20
_loose = msgspec.json.Decoder()
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[msgspec.Raw])


def head_of(source: Source) -> Head:
    """Read as much of a log as telling its format needs.

    Raises
    ------
    InputError
        When the file can't be read.
    """
    with source.open() as file:
        start = file.read(4)
    if start.startswith(b"PK\x03\x04"):
        return Head(kind="zip")
    lines = _first_lines(source)
    if not lines:
        return Head(kind="empty")
    values = [_value(line) for line in lines]
    first = lines[0].lstrip(b"\x00 \t\r\n")[:1]
    if lines[0].strip() not in {b"[", b"{"} and any(isinstance(one, dict) for one in values):
        head = Head(kind="lines", records=[one for one in values if isinstance(one, dict)])
        return _document(source, head) if len(lines) == 1 else head
    if first in {b"{", b"["}:
        return _document(source, Head(kind="document"))
    text = [line.decode("utf-8", "replace").rstrip("\r\n") for line in lines[:20]]
    return Head(kind="text", text=text)


def _first_lines(source: Source, count: int = _HEAD_LINES) -> list[bytes]:
    """Return the first lines; problems met here are counted when the log is read."""
    quiet = source.quiet()
    lines: list[bytes] = []
    size_bytes = 0
    for _, line in quiet.lines():
        lines.append(line)
        size_bytes += len(line)
        if len(lines) >= count or size_bytes >= _HEAD_BYTES:
            break
    return lines


def is_document(source: Source) -> bool:
    """Whether a log is one JSON document over several lines, and not JSON Lines."""
    lines = _first_lines(source, 20)
    if len(lines) < 2:
        return False
    if lines[0].strip() in {b"[", b"{"}:
        return True
    return not any(isinstance(_value(line), dict) for line in lines)


def _value(line: bytes) -> Any:
    try:
        return _loose.decode(line)
    except BAD_JSON:
        pass
    documents, complete, _ = clean_json(line) if len(line) <= _HEAD_BYTES else ([], False, "")
    return _loose.decode(documents[0]) if documents and complete else None


def _document(source: Source, head: Head) -> Head:
    data = source.whole()
    try:
        return _filled(head, data)
    except BAD_JSON:
        documents, _, _ = clean_json(data)
    try:
        return _filled(head, documents[0]) if documents else head
    except BAD_JSON:
        return head


def _filled(head: Head, data: bytes) -> Head:
    kind = "both" if head.kind == "lines" else "document"
    if data.lstrip()[:1] == b"[":
        elements = [_loose.decode(one) for one in _list.decode(data)[:50]]
        return Head(kind=kind, records=head.records, elements=elements)
    return Head(kind=kind, records=head.records, document=_members.decode(data))
