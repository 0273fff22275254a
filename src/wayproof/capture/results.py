"""Reading the text of tool results: failed or not, and which files it names.

Structured fields come first; text is read only where a log has nothing else, by the
phrases the tools themselves print.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

import msgspec

from wayproof.capture.session import Named, Outcome
from wayproof.capture.shell.commands import (
    LISTERS,
    SEARCHERS,
    Simple,
    git_words,
    positional,
    unwrapped,
)

__all__ = [
    "body_has",
    "body_text",
    "command_output",
    "listed_paths",
    "matched_paths",
    "outcome_from_text",
    "printed_paths",
    "search_or_list",
    "shown_files",
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
    for word in words:  # noqa: SIM110 - a generator costs more than the search
        if word.encode() in data:
            return True
    return False


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
    r"|User denied|The user rejected|User cancelled"
    r"|This command requires approval"
    r"|This Bash command contains multiple operations\. The following parts? requires? approval"
    r"|[\w ]{0,40}requires (?:approval|permission)\b"
    r"|Permission to use .{1,200}? has been (?:denied|blocked)"
    r"|Permission (?:for|to) .{1,200}? denied"
    r"|Claude requested permissions? to|[\w ]{0,40}(?:denied|blocked|rejected) by (?:a |the )?"
    r"(?:policy|hook|permission|sandbox|admin|configuration|settings|rule)"
    r"|[\w ]{0,40}denied (?:permission )?by (?:your |the )?(?:permission|policy)"
    r"|[\w ]{0,60}is denied by your permission settings|Blocked by auto mode"
    r"|.{0,200} was blocked\. For security, Claude Code"
    r"|(?:Tool|Command) (?:execution |call )?(?:was )?(?:denied|not allowed|not permitted)\b"
    r"|.{0,60}\bPreToolUse:\S{1,40} hook (?:error|blocked)|Hook PreToolUse:\S{1,40} denied)",
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
    text = text[:20_000]
    said = command_output(text)
    if not said.strip():
        found = _EXIT.search(text)
        return (found[0] if found else text).strip()[:limit_chars] or "failed without a message"
    for line in said.splitlines():
        stripped = re.sub(r"</?[a-z_]+>", "", line).strip()
        if stripped and not re.fullmatch(r"Exit code:?\s*-?\d+", stripped):
            return stripped[:limit_chars]
    return said.strip()[:limit_chars]


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

_NUMBERED = re.compile(r"^((?:[A-Za-z]:)?[^:\0\n]+?):\d+(?:[:\-]|$)")
_COUNTED = re.compile(r"^((?:[A-Za-z]:)?[^:\0\n]+?):(\d{1,18})$")
_UNNUMBERED = re.compile(r"^((?:[A-Za-z]:[\\/])?[^:\s\0]+):")
_BARE_NUMBER = re.compile(r"^\d+[:\-]")
_PATH_LIKE = re.compile(r"[^\s:\"'`<>|*?(){}=,;]*[./\\][^\s:\"'`<>|*?(){}=,;]*")
_SUFFIXED = re.compile(r"(?:.*[/\\])?[^/\\]*\.[A-Za-z0-9_]{1,10}")
_ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_NOISE = re.compile(
    r"^(?:\[[^\]]{0,80}[ :][^\]]*\]?$|New Terminal Output|Current Terminal Screen"
    r"|Command running in background|\((?:Open file|Current directory): |</?[a-z_]+>"
    r"|[\w./+\-]+: .*: (?:Permission denied|No such file|Not a directory|Is a directory)"
    r"|[\w.\-]+@[\w.\-]+:.*[#$] ?|\((?:no output|empty)\)$|\.\.\. )",
    re.IGNORECASE,
)
_BANNER = re.compile(
    r"\A\s*(?:(?:Chunk ID|Wall time|Exit code|Process exited|Process running|Original token count"
    r"|Total output lines|Command|Directory)\b.*\n)+(?:Output|Stdout):[ \t]*\n?"
)
_FOOTER = re.compile(
    r"\n(?:Stderr|Error|Exit Code|Signal|Background PIDs|Process Group PGID):.*\Z", re.DOTALL
)


def command_output(text: str) -> str:
    """Return what a command printed, without what its tool put around it."""
    banner = _BANNER.match(text)
    if banner is not None:
        text = text[banner.end() :]
        if banner[0].lstrip().startswith(("Command:", "Directory:")):
            text = _FOOTER.sub("", "\n" + text).lstrip("\n")
    tagged = re.match(r"\A\s*<returncode>-?\d+</returncode>\s*<output>\n?", text)
    if tagged is not None:
        text = text[tagged.end() :].removesuffix("\n").removesuffix("</output>")
    return text


_MAX_NAMES = 20_000


def search_or_list(commands: Sequence[Simple]) -> tuple[str, Simple] | None:
    """Return ("matched" or "listed", command) when one command's output names files."""
    first = unwrapped(commands[0]) if commands else None
    if first is None or not all(map(_only_filters, commands[1:])):
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
_SIEVES = frozenset({"grep", "egrep", "fgrep", "rg"})
_RESHAPED = re.compile(r"-[a-zA-Z]*[coqlLn][a-zA-Z]*|--(?:count|only-matching|quiet|line-number).*")


def _only_filters(command: Simple) -> bool:
    """Whether a command behind a pipe lets lines through as they are, or not at all."""
    bare = unwrapped(command)
    if bare.name in _FILTERS:
        return True
    return bare.name in _SIEVES and not any(_RESHAPED.fullmatch(word or "") for word in bare.words)


_SEARCH_VALUES = frozenset({
    "-A", "-B", "-C", "-e", "-f", "-m", "-g", "-t", "-T", "--glob", "--type", "--include",
    "--exclude", "--exclude-dir", "--max-count", "--context", "-M", "-j", "--iglob",
})  # fmt: skip


def printed_paths(tier: str, command: Simple, text: str) -> Iterator[Named]:
    """Yield the files that a search's or a listing's printed output names."""
    text = command_output(text)
    if tier == "matched":
        yield from _once(_searched(command, text))
    elif command.name in {"ls", "dir"}:
        yield from _ls(command, text)
    elif command.name != "tree":
        for line in _output_lines(text):
            if _is_name(line) and not line.startswith(("find:", "fd:", "rg:")):
                yield Named("listed", line)


def _output_lines(text: str) -> Iterator[str]:
    for count, line in enumerate(text.splitlines()):
        if count >= _MAX_NAMES:
            return
        yield _ANSI.sub("", line.strip("\r"))


def _is_name(line: str) -> bool:
    """Whether a line can be a file's name and is no word of a tool."""
    return bool(line.strip()) and ": " not in line and _NOISE.match(line) is None


def _once(names: Iterator[str]) -> Iterator[Named]:
    for name in dict.fromkeys(names):
        yield Named("matched", name)


def _has_flag(words: Sequence[str | None], letters: str, *names: str) -> bool:
    short = re.compile(rf"-[a-zA-Z]*[{letters}][a-zA-Z]*") if letters else None
    flags = [word for word in words if word is not None and word.startswith("-")]
    return any(word in names or (short and short.fullmatch(word)) for word in flags)


def _searched(command: Simple, text: str) -> Iterator[str]:
    words, is_rg = command.words, command.name == "rg"
    greps = command.name in {"grep", "egrep", "fgrep", "zgrep"}
    letters = "l" if is_rg or command.name in {"ag", "ack"} else "lL"
    operands = positional(words, _SEARCH_VALUES)
    explicit = any(word in {"-e", "-f"} for word in words)
    files = operands if explicit else operands[1:]
    unnamed = _has_flag(words, "I" if is_rg else "h", "--no-filename")
    recursive = _has_flag(words, "rR", "--recursive", "--dereference-recursive")
    one_file = files[0] if len(files) == 1 and not (greps and recursive) else None
    names_shown = not greps or recursive or len(files) > 1 or _has_flag(words, "H")
    lines = [line for line in _output_lines(text) if _NOISE.match(line) is None]
    if _has_flag(words, letters, "--files-with-matches", "--files-without-match"):
        yield from filter(_is_name, lines)
    elif _has_flag(words, "c", "--count", "--count-matches") and not unnamed:
        yield from _counted(lines, one_file)
    elif one_file and (greps or _is_single(one_file, lines)):
        if any(lines):
            yield one_file
    elif unnamed or not names_shown:
        return
    elif _has_flag(words, "p" if is_rg else "", "--heading", "--pretty", "--break"):
        yield from _headed(lines)
    else:
        yield from _lined(lines, unnumbered=not _has_flag(words, "n", "--line-number"))


def _is_single(operand: str, lines: Sequence[str]) -> bool:
    """Whether a search of one operand printed lines without names: the operand is a file."""
    said = [line for line in lines if line.strip()]
    if any(line.startswith((f"{operand}:", f"{operand.rstrip('/')}/")) for line in said):
        return False
    if said and all(line == "--" or _BARE_NUMBER.match(line) for line in said):
        return True
    named = any(found and _PATH_LIKE.fullmatch(found[1]) for found in map(_NUMBERED.match, said))
    return not named and _SUFFIXED.fullmatch(operand) is not None


def _counted(lines: Sequence[str], one_file: str | None) -> Iterator[str]:
    for line in lines:
        found = _COUNTED.match(line)
        if found is not None and int(found[2]) > 0:
            yield found[1]
        elif one_file and re.fullmatch(r"\s*0*[1-9]\d*\s*", line):
            yield one_file


def _headed(lines: Sequence[str]) -> Iterator[str]:
    before = ""
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        if not before and line and _BARE_NUMBER.match(after) and not _BARE_NUMBER.match(line):
            yield line
        before = line


def _lined(lines: Sequence[str], *, unnumbered: bool) -> Iterator[str]:
    """Yield the paths of ``path:number:text`` lines and, if wanted, of ``path:text`` ones."""
    for line in lines:
        found = _NUMBERED.match(line)
        if found is not None and _is_file(found[1]):
            yield found[1]
        elif unnumbered:
            found = _UNNUMBERED.match(line)
            if found is not None and _PATH_LIKE.fullmatch(found[1]):
                yield found[1]


def _is_file(path: str) -> bool:
    """Whether the text before ``:number:`` may be a path; one with spaces must show it."""
    if path.strip().isdecimal() or path != path.strip():
        return False
    return " " not in path or ("/" in path and _SUFFIXED.fullmatch(path) is not None)


_FOUND_IN = re.compile(r'^Found \d+ match(?:es)? for ".*" in (\S.*?):?$')
_WITH_COUNT = re.compile(r"^(\S.*?) \(\d+ match(?:es)?\)$")
_FOUND_FILES = re.compile(r"^Found \d+ files?(?:\(s\))?(?: |:|$)")
_GEMINI_FILE = re.compile(r"^File: (\S.*)$")


def matched_paths(text: str, arguments: Any = None) -> Iterator[Named]:
    """Yield the files that a search tool's text names, each once in order.

    ``arguments`` is the call's input: its ``output_mode`` and ``path`` tell how to read
    lines without a number or without a name.
    """
    given = arguments if isinstance(arguments, dict) else {}
    lines = [line for line in _output_lines(text) if _NOISE.match(line) is None]
    yield from _once(_tool_matches(lines, given))


def _tool_matches(lines: list[str], given: dict[str, Any]) -> Iterator[str]:
    mode, path = given.get("output_mode"), given.get("path")
    said = [line for line in lines if line.strip()]
    if mode == "count":
        yield from _counted(said, path if isinstance(path, str) else None)
        return
    if said and _FOUND_FILES.match(said[0]):
        yield from (line for line in said[1:] if _is_name(line) and not line.startswith("("))
        return
    if isinstance(path, str) and _SUFFIXED.fullmatch(path) and mode == "content":
        nameless = [line for line in said if not line.startswith(f"{path}:")]
        if nameless and all(_BARE_NUMBER.match(one) or one == "--" for one in nameless):
            yield path
            return
    special = list(_special(lines))
    if special:
        yield from special
        return
    if said and all(_PATH_LIKE.fullmatch(line) for line in said):
        yield from said
        return
    yield from _lined(lines, unnumbered=mode == "content")


def _special(lines: list[str]) -> Iterator[str]:
    """Yield the files in the forms of Gemini's and SWE-agent's own search tools."""
    for line, after in zip_longest(lines, lines[1:], fillvalue=""):
        counted = _WITH_COUNT.match(line)
        if counted is not None:
            yield counted[1]
            continue
        file = _GEMINI_FILE.match(line)
        if file is not None and re.match(r"L\d+[:\-]", after):
            yield file[1]
            continue
        found = _FOUND_IN.match(line)
        if found is not None and re.match(r"Line \d+:", after):
            yield found[1]


_LONG = re.compile(r"^[-dlbcps][rwxsStT@.+\-]{9,11}\s+\d+\s")


def _ls(command: Simple, text: str) -> Iterator[Named]:
    folders = positional(command.words, frozenset({"-I", "-w", "-T"}))
    folder = folders[0] if len(folders) == 1 and folders[0] else ""
    for line in _output_lines(text):
        if not line or line.startswith(("total ", "ls:")) or _NOISE.match(line):
            continue
        if line.endswith(":") and not _LONG.match(line):
            folder = line[:-1]
            continue
        is_long = _LONG.match(line) is not None
        if is_long and line.startswith("d"):
            continue
        name = _ls_name(line) if is_long else line
        if _is_name(name) and name not in {".", ".."} and not name.endswith("/"):
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


_SHOWN = re.compile(r"^--- (?!End of content)(\S.*?) ---$", re.MULTILINE)


def shown_files(text: str) -> Iterator[str]:
    """Yield the files whose content a tool printed, each below a heading of its own."""
    for found in _SHOWN.finditer(text):
        yield found[1]


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
