"""Which lines an edit adds and takes away, whatever tool it is made with."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from wayproof.capture.shell.commands import Simple, unwrapped

__all__ = ["Edit", "edits_of_arguments", "edits_of_command", "edits_of_line", "edits_of_patch"]

_MAX_CHARS: Final = 1 << 20
_ESCAPED = re.compile(r"\\[nrt]")


_NUMBERED = re.compile(r"^\s*\d{1,6}(?:\t|→)")
_MIN_REST_CHARS: Final = 10
"""What is left of a line without what it replaces says too little below this."""


class Edit(NamedTuple):
    """What an edit does to one file, line by line, white space dropped.

    Attributes
    ----------
    path
        The file as the call names it; None: it names none.
    added, removed
        Lines that only the new text has, and that only the old one has.
    rests
        Of added lines that begin or end with a removed one: what they have beside it.
    joined
        The added lines as one text, without the old line that they begin or end with: the same
        words may be broken into lines in another way.
    """

    path: str | None
    added: frozenset[str]
    removed: frozenset[str]
    rests: tuple[tuple[str, str], ...] = ()
    joined: str = ""


def _lines(text: str) -> Iterator[str]:
    for line in text[:_MAX_CHARS].splitlines():
        bare = "".join(_NUMBERED.sub("", line).split())
        if bare:
            yield bare


def _decoded(text: str) -> str:
    """Undo escapes in a text whose line feeds were escaped as a whole."""
    if "\n" in text or "\\n" not in text:
        return text
    return text.replace("\\r", "").replace("\\n", "\n").replace("\\t", "\t")


def edit(path: str | None, old: str, new: str) -> Edit:
    """Return the edit that puts ``new`` where ``old`` stands."""
    before, after = list(_lines(_decoded(old))), list(_lines(_decoded(new)))
    had = frozenset(before)
    removed = had - frozenset(after)
    added = [line for line in after if line not in had]
    lengths = sorted({len(line) for line in removed}, reverse=True)
    rests = {line: _rest(line, removed, lengths) for line in added} if removed else {}
    return Edit(
        path,
        frozenset(added),
        removed,
        tuple((line, rest) for line, rest in rests.items() if rest != line),
        "".join(rests.get(line, line) for line in added),
    )


def _rest(line: str, removed: frozenset[str], lengths: Sequence[int]) -> str:
    """Return what an added line has beside the longest removed one at its begin or end."""
    for length in lengths:
        if len(line) - length < _MIN_REST_CHARS:
            continue
        if line[:length] in removed:
            return line[length:]
        if line[-length:] in removed:
            return line[:-length]
    return line


# -- tools ----------------------------------------------------------------------------------

_OLD = ("old_string", "old_str", "oldString", "oldText", "old_text", "search", "old")
_NEW = ("new_string", "new_str", "newString", "newText", "new_text", "replace", "new",
        "new_source", "insert_text", "content", "contents", "file_text", "text")  # fmt: skip
_PATHS = ("file_path", "path", "filePath", "absolute_path", "target_file", "notebook_path",
          "filename", "file", "TargetFile", "uri", "relative_path")  # fmt: skip
_LISTS = ("edits", "replacements", "changes")


def _first(arguments: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            return value
    return None


def edits_of_arguments(arguments: Mapping[str, Any] | str | None) -> Iterator[Edit]:
    """Yield the edits that an editing tool's input asks for."""
    if isinstance(arguments, str):
        yield from edits_of_patch(arguments)
        return
    if not isinstance(arguments, Mapping):
        return
    path = _first(arguments, _PATHS)
    several = next((arguments[key] for key in _LISTS if isinstance(arguments.get(key), list)), None)
    if several is not None:
        for one in several:
            if isinstance(one, Mapping):
                own = _first(one, _PATHS)
                yield edit(own or path, _first(one, _OLD) or "", _first(one, _NEW) or "")
        return
    patch = next(
        (value for value in arguments.values() if isinstance(value, str) and _is_patch(value)), None
    )
    if patch is not None and path is None:
        yield from edits_of_patch(patch)
        return
    old, new = _first(arguments, _OLD), _first(arguments, _NEW)
    if path is not None or old is not None or new is not None:
        yield edit(path, old or "", new or "")


# -- patches --------------------------------------------------------------------------------

_HEADING = re.compile(r"\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$")
_UNIFIED = re.compile(r"\+\+\+ (?:b/)?(\S+)")


def _is_patch(text: str) -> bool:
    return "*** Begin Patch" in text or "*** Update File:" in text or "\n@@ " in text


def edits_of_patch(text: str) -> Iterator[Edit]:
    """Yield a patch's edits, file by file."""
    path: str | None = None
    old: list[str] = []
    new: list[str] = []
    for line in text[:_MAX_CHARS].splitlines():
        heading = _HEADING.match(line) or _UNIFIED.match(line)
        if heading is not None:
            if old or new:
                yield edit(path, "\n".join(old), "\n".join(new))
            path, old, new = heading[1], [], []
        elif line.startswith("+"):
            new.append(line[1:])
        elif line.startswith("-") and not line.startswith("--- "):
            old.append(line[1:])
    if path is not None or old or new:
        yield edit(path, "\n".join(old), "\n".join(new))


# -- SWE-agent's own commands ----------------------------------------------------------------

_END = re.compile(r"\n?end_of_(?:edit|insert|append)\s*\Z")
_RANGE = re.compile(r"\d+:\d+")


def edits_of_line(typed: str, open_file: str | None) -> Iterator[Edit]:
    """Yield the edit that a command line of SWE-agent's own asks for.

    Parameters
    ----------
    typed
        ``edit 3:5 …``, ``edit OLD NEW``, ``insert``, ``append`` or ``create``, as typed.
    open_file
        The file that its editor shows.
    """
    head, _, body = typed.partition("\n")
    words = head.split()
    if words[:1] == ["create"]:
        yield Edit(words[1] if len(words) > 1 else None, frozenset(), frozenset())
        return
    if _END.search(typed) or len(words) < 2 or _RANGE.fullmatch(words[1]):
        yield edit(open_file, "", _END.sub("", body))
        return
    try:
        given = shlex.split(typed)
    except ValueError:
        yield edit(open_file, "", body)
        return
    if given[0] in {"insert", "append"}:
        yield edit(open_file, "", "\n".join(word for word in given[1:] if not word.isdecimal()))
    elif len(given) > 2:
        yield edit(open_file, given[1], given[2])


# -- shells ---------------------------------------------------------------------------------

_SED_TEXT = re.compile(r"\s*[\d,$]*\s*(?:/[^/\n]*/)?\s*([aic])\\?\s*(.*)\Z", re.DOTALL)


def edits_of_command(simple: Simple) -> Iterator[Edit]:
    """Yield what a command's heredoc puts into files, and the lines that sed adds."""
    bare = unwrapped(simple)
    if bare.name in {"cat", "tee"} and bare.body is not None:
        targets = [target for _, target in bare.targets]
        if bare.name == "tee":
            targets += [word for word in bare.words if word and not word.startswith("-")]
        for target in targets:
            if target is not None:
                yield edit(target, "", bare.body)
    elif bare.name in {"echo", "printf"} and bare.targets:
        text = "\n".join(word for word in bare.words if word and word not in {"-e", "-n"})
        for _, target in bare.targets:
            if target is not None and not target.startswith("/dev/"):
                yield edit(target, "", _decoded(text))
    elif bare.name == "apply_patch":
        yield from edits_of_patch(bare.body or "\n".join(word or "" for word in bare.words))
    elif bare.name in {"sed", "gsed"}:
        yield from _sed(bare)


def _sed(simple: Simple) -> Iterator[Edit]:
    words = [word for word in simple.words if word is not None]
    if not any(re.fullmatch(r"-[nErsuzabl]*i.*|--in-place.*", word) for word in words):
        return
    plain = [word for word in words if not word.startswith("-")]
    if len(plain) < 2:
        return
    script, *files = plain
    found = _SED_TEXT.match(script)
    added = found[2] if found is not None else ""
    for file in files:
        yield edit(file, "", _ESCAPED.sub("\n", added))
