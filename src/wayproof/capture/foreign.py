"""Files that are known and not read: they are called what they are, never taken for a log.

Each row has what the file looks like and what to do instead. They are asked before the
adapters, because several of these tools write lines that resemble another tool's.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from wayproof.capture.adapter import Head, word
from wayproof.capture.lines import Source
from wayproof.errors import InputError

__all__ = ["FOREIGN", "Foreign", "refuse_foreign"]

Record = Mapping[str, Any]


class Foreign(NamedTuple):
    """A kind of file that is not read.

    ``tells`` is asked of each of the first records; ``whole`` of the head.
    """

    title: str
    mend: str
    tells: Callable[[Record], bool] | None = None
    whole: Callable[[Head], bool] | None = None


_MAGIC = {
    b"SQLite format 3\x00": (
        "an SQLite database",
        (
            "OpenCode, Cursor and others keep sessions in one: let the tool export the session "
            "(opencode export SESSION), and give that file"
        ),
    ),
    b"version https://git-lfs.github.com/spec/": (
        "a Git LFS pointer, not the file it stands for",
        "fetch the file itself: git lfs pull",
    ),
    b"/annex/objects/": ("a git-annex pointer, not the file it stands for", "git annex get FILE"),
    b"%PDF-": ("a PDF document", "give the log itself"),
}
_MARKUP = (b"<!doctype html", b"<html", b"<?xml")
_TAR_AT, _TAR = 257, b"ustar"


def _has(record: Record, *names: str) -> bool:
    return all(name in record for name in names)


def _kind(record: Record) -> str:
    return word(record.get("type"))


def _block_types(record: Record) -> set[str]:
    content = record.get("content")
    return {
        word(one.get("type"))
        for one in (content if isinstance(content, list) else [])
        if isinstance(one, Mapping)
    }


def _is_droid(record: Record) -> bool:
    kind = _kind(record)
    if kind in {"tool_call", "tool_result"} and "toolCallId" in record:
        return _has(record, "session_id")
    return kind == "completion" and "finalText" in record


def _is_qwen(record: Record) -> bool:
    message = record.get("message")
    return _has(record, "sessionId", "uuid") and isinstance(message, Mapping) and "parts" in message


def _is_gemini_stream(record: Record) -> bool:
    return (_kind(record) == "tool_use" and _has(record, "tool_name", "tool_id")) or (
        _kind(record) == "init" and _has(record, "session_id", "model")
    )


def _is_goose(record: Record) -> bool:
    return "created" in record and bool(_block_types(record) & {"toolRequest", "toolResponse"})


def _is_pi(record: Record) -> bool:
    message = record.get("message")
    if _kind(record) == "session":
        return _has(record, "version", "cwd")
    return (
        _kind(record) == "message"
        and isinstance(message, Mapping)
        and "toolCall" in _block_types(message)
    )


def _is_only_result(head: Head) -> bool:
    records: list[Record] = [*head.records]
    if not records and head.document is not None:
        records = [_shallow(head)]
    return len(records) == 1 and _kind(records[0]) == "result" and "session_id" in records[0]


def _shallow(head: Head) -> Record:
    return {key: head.member(key) for key in ("type", "session_id") if head.has(key)}


def _is_first(head: Head, tells: Callable[[Record], bool]) -> bool:
    elements = [one for one in head.elements or [] if isinstance(one, Mapping)]
    return any(tells(one) for one in (*head.records[:50], *elements[:50]))


FOREIGN: tuple[Foreign, ...] = (
    Foreign(
        "the stream of Factory's droid exec",
        "this tool's logs are not read yet",
        _is_droid,
    ),
    Foreign(
        "a Qwen Code chat recording",
        "this tool's logs are not read yet",
        _is_qwen,
    ),
    Foreign(
        "Gemini CLI's stream-json output",
        "give the session's recording: ~/.gemini/tmp/<project>/chats/session-*.json",
        _is_gemini_stream,
    ),
    Foreign("a Goose session", "this tool's logs are not read yet", _is_goose),
    Foreign("a session of the pi coding agent", "this tool's logs are not read yet", _is_pi),
    Foreign(
        "Cline's or Roo Code's ui_messages.json",
        "give api_conversation_history.json from the same folder",
        lambda one: _has(one, "ts") and _kind(one) in {"say", "ask"} and _kind(one) in one,
    ),
    Foreign(
        "a chat session of VS Code",
        "export traces instead (github.copilot.chat.otel), or use Copilot CLI's events.jsonl",
        whole=lambda head: head.has("requests", "responderUsername"),
    ),
    Foreign(
        "OpenTelemetry logs or metrics, not traces",
        "export traces: the calls stand in resourceSpans",
        lambda one: "resourceLogs" in one or "resourceMetrics" in one,
        lambda head: head.has("resourceLogs") or head.has("resourceMetrics"),
    ),
    Foreign(
        "Jaeger's JSON",
        "export OTLP/JSON: the Collector's file exporter writes it",
        whole=lambda head: head.has("data") and _has_traces(head),
    ),
    Foreign(
        "Zipkin's JSON",
        "export OTLP/JSON: the Collector's file exporter writes it",
        lambda one: _has(one, "traceId", "id", "localEndpoint"),
    ),
    Foreign(
        "OpenTelemetry's console output",
        "export OTLP/JSON: the Collector's file exporter writes it",
        lambda one: _has(one, "context", "start_time", "end_time", "attributes", "kind"),
        lambda head: head.has("context", "start_time", "end_time", "attributes", "kind"),
    ),
    Foreign(
        "the final result of a print-mode run, without the calls",
        "run it with --output-format stream-json --verbose (Claude Code), or stream-json (Cursor)",
        whole=_is_only_result,
    ),
)


def _has_traces(head: Head) -> bool:
    traces = head.member("data")
    first = traces[0] if isinstance(traces, list) and traces else None
    return isinstance(first, Mapping) and {"traceID", "spans"} <= first.keys()


def refuse_foreign(source: Source, head: Head) -> None:
    """Refuse a file that is known to be something else.

    Raises
    ------
    InputError
        Saying what it looks like and what to give instead.
    """
    with source.open() as file:
        start = file.read(512)
    for magic, (title, mend) in _MAGIC.items():
        if start.startswith(magic):
            raise _looks_like(source, title, mend)
    if start[_TAR_AT:].startswith(_TAR):
        raise _looks_like(source, "a tar archive", "unpack it first")
    if start.lstrip()[:15].lower().startswith(_MARKUP):
        raise _looks_like(source, "a web page or XML", "save the raw file instead of its page")
    if start.lstrip().startswith(b"# aider chat started at"):
        raise _looks_like(source, "Aider's chat history", "it holds no tool calls")
    for one in FOREIGN:
        known = one.whole is not None and one.whole(head)
        if known or (one.tells is not None and _is_first(head, one.tells)):
            raise _looks_like(source, one.title, one.mend)


def _looks_like(source: Source, title: str, mend: str) -> InputError:
    return InputError(f"looks like {title}", file=source.name, mend=mend)
