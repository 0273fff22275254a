"""Reading the text of tool results: failed or not, and which files it names.

Structured fields come first; text is read only where a log has nothing else, by the
phrases the tools themselves print.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wayproof.capture.commands import LISTERS, SEARCHERS, Simple, git_words, positional, unwrapped
from wayproof.capture.session import Named, Outcome

__all__ = [
    "body_has",
    "body_text",
    "listed_paths",
    "matched_paths",
    "outcome_from_text",
    "printed_paths",
    "search_or_list",
    "unread_paths",
]

MAX_TEXT_CHARS = 1 << 20
"""Of a longer result only the beginning is read."""

_decode = msgspec.json.Decoder().decode


def body_text(body: msgspec.Raw | str | None) -> str:
    """Return a result's text: a JSON string, blocks with a ``text``, or text itself."""
    if isinstance(body, str):
        return body[:MAX_TEXT_CHARS]
    if body is None:
        return ""
    try:
        return _flat(_decode(body))[:MAX_TEXT_CHARS]
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""


def _flat(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(text for text in (_flat(one) for one in value) if text)
    if isinstance(value, dict):
        for key in ("text", "output", "content", "stdout"):
            if isinstance(value.get(key), (str, list)):
                return _flat(value[key])
    return ""


def body_has(body: msgspec.Raw | str | None, words: Sequence[str]) -> bool:
    """Whether any of some ASCII ``words`` may stand in a body, without decoding it."""
    if isinstance(body, str):
        return any(word in body for word in words)
    if body is None:
        return False
    data = bytes(body)  # a copy, but a search in it is far cheaper than decoding
    return any(word.encode() in data for word in words)


# -- outcomes -------------------------------------------------------------------------

_EXIT = re.compile(
    r"^\s*(?:<returncode>|Exit code:?\s+|Process exited with code\s+"
    r"|Command exited with (?:non-zero )?(?:status |code )+)\s*(-?\d{1,6})\b",
    re.MULTILINE,
)
_WALL = re.compile(r"^Wall time: ([0-9.]{1,16}) ?(?:seconds|s)\b", re.MULTILINE)
_TIMED_OUT = re.compile(
    r"^.{0,40}?(?:command timed out|execution timed out|timeout: |tool call timed out"
    r"|timed out after \d|timeout expired|has no new output after \d+ seconds)",
    re.IGNORECASE | re.MULTILINE,
)
_REFUSED = re.compile(
    r"(?:The user doesn't want to (?:proceed|take this action)|User rejected tool use"
    r"|\[Request interrupted by user"
    r"|(?:[\w ]{0,40})(?:rejected|aborted|cancelled|denied) by (?:the )?user"
    r"|User denied|The user rejected|User cancelled)",
    re.IGNORECASE,
)
_HEADER_CHARS = 600


def _header(text: str) -> str:
    """Return what a tool put before a command's output: up to ``Output:``, else one line."""
    start = text[:_HEADER_CHARS].lstrip()
    before, mark, _ = start.partition("\nOutput:")
    return before if mark else start.split("\n", 1)[0]


def outcome_from_text(text: str, *, ok: bool | None = None) -> Outcome:
    """Read an outcome from a tool's own phrases; ``ok`` is what typed fields said.

    Only what stands before a command's output counts: a file that holds such a phrase
    must not make the call that read it a failure.
    """
    header = _header(text)
    found = None if ok is True else _EXIT.search(header)
    code = int(found[1]) if found else None
    if ok is not True and _REFUSED.match(header):
        return Outcome(ok=None, refused=True)
    said = text[:_HEADER_CHARS] if ok is False else header
    timed_out = ok is not True and code != 0 and _TIMED_OUT.search(said) is not None
    if ok is None and (code is not None or timed_out):
        ok = code == 0 and not timed_out
    wall = _WALL.search(header)
    return Outcome(
        ok=ok,
        exit_code=code,
        timed_out=timed_out,
        duration_ms=_milliseconds(wall[1]) if wall and code is not None else None,
        error=first_line(text) if ok is False else None,
    )


def _milliseconds(seconds: str) -> float | None:
    try:
        return round(float(seconds) * 1000, 3)
    except ValueError:
        return None


def first_line(text: str, limit_chars: int = 300) -> str:
    """Return the first line that says something, bounded."""
    for line in text[:20_000].splitlines():
        stripped = re.sub(r"</?[a-z_]+>", "", line).strip()
        if stripped and not re.fullmatch(r"Exit code:?\s*-?\d+", stripped):
            return stripped[:limit_chars]
    return text.strip()[:limit_chars] or "failed without a message"


UNREAD_WORDS = ("No such file", "Is a directory", "Permission denied", "Not a directory")
_UNREAD = re.compile(
    r"^(?:/\S*/)?(?:bash: |zsh: |sh: )?(?:line \d+: )?[a-z]+: "
    r"(?:can't (?:read|open) |cannot (?:open|access|read) |error reading )?"
    r"['\u2018\"]?(.+?)['\u2019\"]?(?: for reading)?: "
    r"(?:No such file|Is a directory|Permission denied|Not a directory)",
    re.MULTILINE,
)


def unread_paths(text: str) -> set[str]:
    """Return the paths that a reading command said it could not read."""
    return {found[1] for found in _UNREAD.finditer(text)}


# -- names in output ------------------------------------------------------------------

_MATCH_LINE = re.compile(r"^((?:[A-Za-z]:)?[^:\0\n]+?):(?:\d+[:\-]|\s|$)")
_MAX_NAMES = 20_000


def search_or_list(commands: Sequence[Simple]) -> tuple[str, Simple] | None:
    """Return ("matched" or "listed", command) when one command's output names files."""
    first = unwrapped(commands[0]) if commands else None
    if first is None or any(unwrapped(one).name not in _FILTERS for one in commands[1:]):
        return None
    name, words = first.name, first.words
    if name == "git":
        verb, rest, _ = git_words(words)
        name, words = f"git {verb}", tuple(rest)
    if name == "rg" and "--files" in words:
        name = "rg --files"
    command = Simple(name, words)
    if name in SEARCHERS:
        return "matched", command
    return ("listed", command) if name in LISTERS else None


_FILTERS = frozenset({"head", "tail", "sort", "uniq", "cat", "less"})
_SEARCH_VALUES = frozenset({
    "-A", "-B", "-C", "-e", "-f", "-m", "-g", "-t", "-T", "--glob", "--type", "--include",
    "--exclude", "--exclude-dir", "--max-count", "--context", "-M", "-j", "--iglob",
})  # fmt: skip


def printed_paths(tier: str, command: Simple, text: str) -> Iterator[Named]:
    """Yield the files that a search's or a listing's printed output names."""
    if tier == "matched":
        yield from _searched(command, text)
    elif command.name in {"ls", "dir"}:
        yield from _ls(command, text)
    elif command.name != "tree":
        for line in _output_lines(text):
            if line and not line.startswith(("find:", "fd:", "rg:")):
                yield Named("listed", line)


def _output_lines(text: str) -> Iterator[str]:
    for count, line in enumerate(text.splitlines()):
        if count >= _MAX_NAMES:
            return
        yield line.strip("\r")


def _searched(command: Simple, text: str) -> Iterator[Named]:
    words = command.words
    names_only = any(
        re.fullmatch(
            r"-[a-zA-Z]*[lL][a-zA-Z]*|--files-with-matches|--files-without-match", word or ""
        )
        for word in words
    )
    operands = positional(words, _SEARCH_VALUES)
    explicit = any(word in {"-e", "-f"} for word in words)
    files = operands if explicit else operands[1:]
    recursive = any(
        re.fullmatch(r"-[a-zA-Z]*[rRH][a-zA-Z]*|--recursive", word or "") for word in words
    )
    if names_only:
        for line in _output_lines(text):
            if line:
                yield Named("matched", line)
    elif command.name in {"grep", "egrep", "fgrep"} and len(files) == 1 and not recursive:
        if files[0] and text.strip():
            yield Named("matched", files[0])
    else:
        yield from matched_paths(text)


def matched_paths(text: str) -> Iterator[Named]:
    """Yield the files of ``path:line:text`` output, each once in order."""
    seen: set[str] = set()
    for line in _output_lines(text):
        found = _MATCH_LINE.match(line)
        if found and found[1] not in seen:
            seen.add(found[1])
            yield Named("matched", found[1])


_LONG = re.compile(r"^[-dlbcps][rwxsStT@.+\-]{9,11}\s+\d+\s")


def _ls(command: Simple, text: str) -> Iterator[Named]:
    folders = positional(command.words, frozenset({"-I", "-w", "-T"}))
    folder = folders[0] if len(folders) == 1 and folders[0] else ""
    for line in _output_lines(text):
        if not line or line.startswith(("total ", "ls:")):
            continue
        if line.endswith(":") and not _LONG.match(line):
            folder = line[:-1]
            continue
        is_long = _LONG.match(line) is not None
        if is_long and line.startswith("d"):
            continue
        name = _ls_name(line) if is_long else line
        if name not in {".", ".."} and not name.endswith("/"):
            single = folder.rsplit("/", 1)[-1] == name or folder == name
            yield Named(
                "listed",
                folder
                if single
                else f"{folder.rstrip('/')}/{name}".lstrip("/")
                if not folder.startswith("/")
                else f"{folder.rstrip('/')}/{name}",
            )


def _ls_name(line: str) -> str:
    """Name in ``ls -l``: behind the mode, four columns and a date of two or three."""
    found = re.match(
        r"^\S+\s+\d+\s+\S+\s+\S+\s+[\d,.KMGT]+\s+"
        r"(?:\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d\S* \S+)?|\S+\s+\d+\s+[\d:]+)\s(.*)$",
        line,
    )
    return (found[1] if found else line.rsplit(maxsplit=1)[-1]).split(" -> ")[0]


_TREE_ENTRY = re.compile(r"^(\s*)- (.*)$")


def listed_paths(text: str) -> Iterator[Named]:
    """Yield the files of an indented ``- name`` listing, folders (``name/``) left out."""
    parents: list[tuple[int, str]] = []
    for line in _output_lines(text):
        found = _TREE_ENTRY.match(line)
        if not found:
            continue
        indent, name = len(found[1]), found[2]
        while parents and parents[-1][0] >= indent:
            parents.pop()
        if name.endswith("/"):
            parents.append((indent, name))
        else:
            yield Named("listed", "".join(part for _, part in parents) + name)
