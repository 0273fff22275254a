"""The formats, in the order in which they are asked whether a log is theirs."""

from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

from wayproof.capture.adapter import Format, Head, head_of
from wayproof.capture.foreign import refuse_foreign
from wayproof.capture.lines import Source
from wayproof.capture.sessions import Sessions
from wayproof.capture.trec import looks_like_qrels
from wayproof.errors import InputError

__all__ = ["FORMATS", "adapter_of", "detect", "formats", "known_format", "read_log"]

FORMATS: dict[str, str] = {
    "cursor": "wayproof.capture.formats.cursor",
    "claude-code": "wayproof.capture.formats.claude_code",
    "codex": "wayproof.capture.formats.codex",
    "codex-exec": "wayproof.capture.formats.codex_exec",
    "otlp": "wayproof.capture.formats.otlp",
    "copilot-cli": "wayproof.capture.formats.copilot_cli",
    "opencode": "wayproof.capture.formats.opencode",
    "swe-agent": "wayproof.capture.formats.swe_agent",
    "mini-swe-agent": "wayproof.capture.formats.mini_swe_agent",
    "inspect": "wayproof.capture.formats.inspect_ai",
    "atif": "wayproof.capture.formats.atif",
    "openhands": "wayproof.capture.formats.openhands",
    "gemini": "wayproof.capture.formats.gemini",
    "messages": "wayproof.capture.formats.messages",
    "trec-run": "wayproof.capture.formats.trec_run",
}
"""Name of each format and the module that reads it."""


def adapter_of(name: str) -> ModuleType:
    """Return the adapter module of a format."""
    return import_module(FORMATS[name])


def known_format(name: str | None) -> str | None:
    """Return a format's name as it is, or None for none.

    Raises
    ------
    InputError
        When there is no such format.
    """
    if name is not None and name not in FORMATS:
        raise InputError(
            "no such format",
            setting="format",
            expected=f"one of {', '.join(FORMATS)}",
            found=name,
        )
    return name


def formats() -> Iterator[Format]:
    """Yield the description of every format."""
    for name in FORMATS:
        described = adapter_of(name).FORMAT
        yield described


def detect(source: Source) -> str | None:
    """Tell a log's format from its content; None for an empty log.

    Raises
    ------
    InputError
        When no adapter knows it.
    """
    head = head_of(source)
    if head.kind == "empty":
        return None
    refuse_foreign(source, head)
    for name in FORMATS:
        if adapter_of(name).claims(head):
            return name
    if head.kind == "text" and looks_like_qrels(head.text):
        raise InputError(
            "these are TREC relevance judgments, which make tasks and not packets",
            file=source.name,
            mend="they make tasks, not packets: read them with TREC import",
        )
    raise InputError(
        "no known log format",
        file=source.name,
        expected=f"one of {', '.join(FORMATS)}",
        found=_described(head),
        mend="say which one it is with {format}",
    )


def _described(head: Head) -> str:
    if head.kind in {"lines", "both"} and head.records:
        keys = ", ".join(sorted(map(str, head.records[0]))[:8])
        return f"JSON Lines whose first object has the keys {keys}"
    if head.document is not None:
        return f"a JSON object with the keys {', '.join(sorted(head.document)[:8])}"
    if head.kind == "zip":
        return "a ZIP archive that is no Inspect log"
    return {"document": "JSON that can't be read"}.get(head.kind, "text")


def read_log(source: Source, sessions: Sessions, *, format_name: str | None = None) -> str | None:
    """Read one log into sessions and return its format's name (None: the log is empty).

    Raises
    ------
    InputError
        When the file can't be read or its format isn't known.
    """
    name = format_name if format_name is not None else detect(source)
    if name is None:
        source.bad(0, "empty log")
        return None
    adapter_of(name).read(source, sessions)
    return name
