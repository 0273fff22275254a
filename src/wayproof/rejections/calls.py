"""What a call is about, in the words that two calls are compared by."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from wayproof.capture.ids import PathMap, Roots, full_path, stable_id
from wayproof.capture.output import storable
from wayproof.capture.session import Call
from wayproof.capture.shell import typed_text
from wayproof.capture.tools import Tool, command_of, folder_of, named_files, tool_of
from wayproof.rejections.edits import (
    Edit,
    edits_of_arguments,
    edits_of_command,
    edits_of_line,
)
from wayproof.rejections.programs import (
    Program,
    Step,
    is_read_only,
    program_in,
    read_by,
    searched_by,
    steps_of,
)

__all__ = ["About", "Facet", "FileEdit", "Places", "about", "exact_key", "is_plan", "target_of"]

_PLANS: Final = frozenset({
    "todowrite", "taskcreate", "taskupdate", "updateplan", "think", "writetodos", "tasktracker",
})  # fmt: skip
_UNHEEDED: Final = frozenset({
    "description", "timeout", "timeout_ms", "timeoutMs", "timeout_seconds", "yield_time_ms",
    "security_risk", "explanation", "is_input",
})  # fmt: skip
_LEADING_CD = re.compile(r"\A\s*cd\s+(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s;&|]+)\s*(?:&&|;|\n)\s*")
_PATTERNS: Final = ("pattern", "regex", "query", "search_term", "glob_pattern", "Query")
_MOVERS: Final = frozenset({"open", "goto", "scrollup", "scrolldown", "scroll_up", "scroll_down"})


def is_plan(tool: Tool) -> bool:
    """Whether a tool only keeps the agent's plan: its calls don't count."""
    return tool.name in _PLANS


class Places(NamedTuple):
    """Where the paths of a call begin, and how they are mapped."""

    cwd: str | None = None
    maps: tuple[PathMap, ...] = ()

    def full(self, path: str, call: Call) -> str | None:
        """Return a path as the call names it, from its folders on."""
        full = full_path(path, folders=(self.cwd, call.cwd, folder_of(call.arguments)))
        if full is None or not self.maps:
            return full
        return stable_id(full, roots=Roots(maps=self.maps))


class FileEdit(NamedTuple):
    """An edit, and the full path of its file (None: nobody knows it)."""

    file: str | None
    edit: Edit


class Facet(NamedTuple):
    """One thing that a call asks for: one step of a command, or a whole call of another tool.

    Attributes
    ----------
    step
        Which step of the command; None: the call is no command.
    edits, reads, pattern, program
        What it edits, the files that it reads, the pattern that it looks for, and what it asks
        of a program.
    """

    step: int | None = None
    edits: tuple[FileEdit, ...] = ()
    reads: tuple[str, ...] = ()
    pattern: str | None = None
    program: Program | None = None


class About(NamedTuple):
    """What a call is about.

    Attributes
    ----------
    purpose
        What its tool is for.
    steps
        The parts of a command; None: no command, or one whose syntax isn't followed.
    facets
        What it asks for.
    key
        Equal for equal calls; None: the log doesn't keep the call's input.
    may_change
        It may change something, if it is accepted.
    """

    purpose: str
    steps: tuple[Step, ...] | None
    facets: tuple[Facet, ...]
    key: bytes | None
    may_change: bool


def about(
    call: Call, places: Places, *, open_file: str | None = None, with_edits: bool = True
) -> About:
    """Read a call.

    Parameters
    ----------
    call
        The call.
    places
        Where its paths begin.
    open_file
        The file that a line editor shows, for tools that edit what is open.
    with_edits
        Look which lines an edit adds and takes away: the dearest part, and rarely needed.
    """
    tool = tool_of(call.tool, call.arguments)
    key = exact_key(call, tool)
    if call.opaque:
        return About(tool.purpose, None, (), None, may_change=True)
    if tool.purpose == "shell":
        command = call.typed if call.typed is not None else command_of(call.arguments)
        steps = steps_of(typed_text(command)) if command is not None else None
        facets = tuple(_step_facets(steps or (), call, places, with_edits=with_edits))
        changes = steps is None or not all(map(is_read_only, steps))
        return About(tool.purpose, steps, facets, key, may_change=changes)
    facet = _tool_facet(call, tool, places, open_file, with_edits=with_edits)
    looks = tool.purpose in {"read", "matched", "listed", "search"} and tool.name not in _MOVERS
    return About(tool.purpose, None, (facet,), key, may_change=not looks)


def _step_facets(
    steps: tuple[Step, ...], call: Call, places: Places, *, with_edits: bool
) -> Iterator[Facet]:
    for number, step in enumerate(steps):
        if step.simple is None:
            continue
        folder = step.simple.folder
        yield Facet(
            step=number,
            edits=tuple(_placed(edits_of_command(step.simple), call, places, folder))
            if with_edits
            else (),
            reads=read_by(step.simple),
            pattern=searched_by(step.simple),
            program=program_in(step.simple),
        )


def _placed(
    edits: Iterator[Edit], call: Call, places: Places, folder: str | None = None
) -> Iterator[FileEdit]:
    for one in edits:
        path = one.path
        if path is not None and folder is not None and not path.startswith(("/", "~")):
            path = f"{folder.rstrip('/')}/{path}"
        file = places.full(path, call) if path is not None else None
        yield FileEdit(file, one)


def _tool_facet(
    call: Call, tool: Tool, places: Places, open_file: str | None, *, with_edits: bool
) -> Facet:
    if tool.purpose == "mutation":
        if not with_edits:
            return Facet()
        typed = call.typed
        if typed is not None and tool.name == "edit":
            edits = edits_of_line(typed, open_file)
        else:
            edits = edits_of_arguments(call.arguments)
        return Facet(edits=tuple(_placed(edits, call, places)))
    if tool.purpose == "read":
        return Facet(reads=tuple(one.path for one in named_files(call.arguments)))
    if tool.purpose in {"matched", "listed", "search"}:
        return Facet(pattern=_pattern(call.arguments))
    return Facet()


def _pattern(arguments: Mapping[str, Any] | str | None) -> str | None:
    if isinstance(arguments, Mapping):
        for name in _PATTERNS:
            value = arguments.get(name)
            if isinstance(value, str) and value:
                return value
    return None


def exact_key(call: Call, tool: Tool) -> bytes | None:
    """Return what is equal for two equal calls; None where the log doesn't keep the input."""
    if call.opaque:
        return None
    if tool.purpose == "shell":
        command = call.typed if call.typed is not None else command_of(call.arguments)
        if command is None:
            return None
        text = typed_text(command)
        return _joined(tool.name, _LEADING_CD.sub("", text).strip() or text.strip())
    given = call.arguments if call.typed is None else call.typed.strip()
    if given is None or isinstance(given, str):
        return None if given is None else _joined(call.tool, given)
    kept = {key: one for key, one in given.items() if key not in _UNHEEDED}
    if tool.purpose == "mutation":
        kept.pop("view_range", None)  # editors with several verbs heed it for viewing alone
    # Only compared, never shown: sorted keys are all that it takes.
    return _joined(call.tool, msgspec.json.encode(kept, order="sorted").decode())


def _joined(tool: str, rest: str) -> bytes:
    return f"{tool}\0{rest}".encode("utf-8", "surrogatepass")


_MAX_TARGET_CHARS: Final = 300


def target_of(call: Call, read: About, places: Places, roots: Roots) -> str | None:
    """Return what a call is about, shortly: a file's id, or a program and its subcommand."""
    for facet in read.facets:
        for one in facet.edits:
            if one.file is not None:
                return _short(stable_id(one.file, roots=roots))
        if read.purpose != "shell":
            for path in facet.reads:
                full = places.full(path, call)
                return _short(stable_id(full, roots=roots)) if full is not None else None
    for facet in read.facets:
        if facet.program is not None:
            program = facet.program
            return _short(f"{program.name} {program.sub}" if program.sub else program.name)
    return None


def _short(text: str | None) -> str | None:
    if text is None:
        return None
    shown: str = storable(text)
    return shown[:_MAX_TARGET_CHARS] or None
