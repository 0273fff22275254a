"""What kind of call it is: exactly one of six.

``edit`` changes what existed before the session, and ends the route. ``creation`` writes
only what did not exist, or what the session made itself. ``outside_write`` writes below a
temporary folder or the agent's own. ``execution`` runs what the session made, tests,
builds, installs and checks. ``bookkeeping`` keeps plans, asks, records work. ``navigation``
is everything else, and what both runs and looks.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from wayproof.capture import results
from wayproof.capture.route.call import ReadCall
from wayproof.capture.route.files import Files, parents
from wayproof.capture.route.records import Kind
from wayproof.capture.session import Result
from wayproof.capture.shell import Act, Segment, Write
from wayproof.capture.shell.commands import Simple
from wayproof.capture.shell.effects import LOOKS
from wayproof.capture.shell.patches import patch_writes
from wayproof.capture.shell.scripts import language_of, script_writes
from wayproof.capture.tools import tool_writes

__all__ = ["Verdict", "call_writes", "judged"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a call was found to be.

    Attributes
    ----------
    kind
        Its kind; None while only its result can tell.
    assumed
        That it is an edit is assumed: neither the log nor what was seen can tell.
    looks
        It shows something before it edits, if it edits.
    first
        The segment whose text is the call's as a first contact; None: the whole call's.
    until
        How many segments ran before an edit; None: all.
    makes
        Full paths of the files that it makes, if it succeeds.
    outside
        The same below a temporary folder or the agent's own.
    scripts
        What those of them that are scripts would write, if they were run.
    """

    kind: Kind | None
    assumed: bool = False
    looks: bool = False
    first: int | None = None
    until: int | None = None
    makes: tuple[str, ...] = ()
    outside: tuple[str, ...] = ()
    scripts: tuple[tuple[str, tuple[Write, ...]], ...] = ()


def judged(call: ReadCall, files: Files, *, result: Result | None = None) -> Verdict:
    """Return what a call is, as far as its input, its result and the session's files tell.

    Parameters
    ----------
    call
        The call as it was read.
    files
        What the session has seen and made so far.
    result
        Its result; None before there is one. A verdict without a kind asks to be judged
        again with it.
    """
    if call.reading is not None:
        return _shell(call, files)
    if call.tool.purpose == "mutation":
        return _tool(call, files, result)
    return _OF_PURPOSE.get(call.tool.purpose, _LOOKS_WHOLE)


_LOOKS_FIRST = Verdict(kind="navigation", first=0)
_LOOKS_WHOLE = Verdict(kind="navigation")
_BOOKKEEPING = Verdict(kind="bookkeeping")
_OF_PURPOSE = {
    "plan": _BOOKKEEPING,
    "answer": _BOOKKEEPING,
    "remote": _BOOKKEEPING,
    "run": Verdict(kind="execution"),
}


def call_writes(call: ReadCall, files: Files) -> Iterator[str]:
    """Yield the full paths that a call writes in the repository, its own files left out."""
    if call.reading is None:
        places = [(write, call.folders) for write in _tool_writes(call)]
    else:
        places = [
            (write, (*call.folders, command.folder))
            for segment in call.reading.segments
            for act, command in zip(segment.acts, segment.commands, strict=False)
            for write in act.writes
        ]
    for write, folders in places:
        path = files.full(write.path, folders) if write.path is not None else None
        if path is not None and not files.is_made(path) and not files.is_outside(path):
            yield path


# -- one write ----------------------------------------------------------------------------

_Found = tuple["_What", str | None]


def _written(write: Write, folders: tuple[str | None, ...], files: Files) -> _Found:
    """Return what a write is, and its full path; ``unsaid``: neither way can be told."""
    path = files.full(write.path, folders) if write.path is not None else None
    if path is None:
        return _NAMELESS.get(write.how, "assumed"), None
    if files.is_made(path):
        return "creation", path
    if files.is_outside(path):
        return "outside", path
    if write.how == "put":
        if files.knows(path):
            return "edit", path
        return ("assumed" if files.in_prompt(path) else "creation"), path
    # what the session made may be moved to the place of what was there
    replaces = write.how == "moved" and files.knows(path) and not files.holds(path)
    return "edit" if replaces else _BY_HOW[write.how], path


_What = Literal["edit", "assumed", "creation", "outside", "unsaid"]
_BY_HOW: dict[str, _What] = {
    "edit": "edit", "assumed": "assumed", "make": "creation", "new": "creation",
    "moved": "creation",
}  # fmt: skip
_NAMELESS: dict[str, _What] = {"edit": "edit", "make": "creation", "new": "creation"}


# -- shell commands -------------------------------------------------------------------------


class _Tally:
    """What the segments of a command did so far.

    ``looks``, ``runs`` and ``quiet`` are the first segments that look, that run something,
    and that write nothing.
    """

    def __init__(self, call: ReadCall, files: Files) -> None:
        self._call = call
        self._files = files
        self.looks: int | None = None
        self.runs: int | None = None
        self.quiet: int | None = None
        self.creates = False
        self.outside = False
        self.keeps = False
        self.makes: dict[str, None] = {}
        self.left: dict[str, None] = {}
        self.scripts: dict[str, tuple[Write, ...]] = {}

    @property
    def kind(self) -> Kind:
        """Who looks navigates, whatever else it does; who does nothing at all, too."""
        if self.looks is not None:
            return "navigation"
        if self.creates:
            return "creation"
        if self.runs is not None:
            return "execution"
        if self.outside:
            return "outside_write"
        return "bookkeeping" if self.keeps else "navigation"

    @property
    def first(self) -> int | None:
        """The first segment that shows, runs, or at least writes nothing."""
        if self.looks is None and self.runs is None:
            return None
        return min(one for one in (self.looks, self.runs, self.quiet) if one is not None)

    def take(self, place: int, segment: Segment) -> str | None:
        """Count a segment; return ``edit`` or ``assumed`` where it edits."""
        kept = self.keeps
        for act, command in zip(segment.acts, segment.commands, strict=False):
            folders = (*self._call.folders, command.folder)
            edit, only_outside = self._writes(act, command, folders)
            own = self._own_programs(act, folders) if act.programs else []
            if edit is None and any(self._rewrites(path, folders) for path in own):
                edit = "edit"
            if edit is not None:
                return edit
            if own or act.part == "run":
                self.runs = place if self.runs is None else self.runs
            elif act.part == "look" and (not act.writes or only_outside):
                self.looks = place if self.looks is None else self.looks
            self.keeps = self.keeps or act.part == "keep"
        if (
            self.quiet is None
            and self.keeps == kept
            and not any(one.writes for one in segment.acts)
        ):
            self.quiet = place
        return None

    def _writes(
        self, act: Act, command: Simple, folders: tuple[str | None, ...]
    ) -> tuple[str | None, bool]:
        """Count what a command writes: an edit, if it is one, and whether all lies outside."""
        only_outside = bool(act.writes)
        for write in act.writes:
            kind, path = _written(write, folders, self._files)
            if path is not None and self._is_new(path):
                kind = "creation"
            if kind in {"edit", "assumed"}:
                return kind, False
            if kind == "creation":
                self.creates, only_outside = True, False
            else:
                self.outside = True
            if path is not None:
                (self.makes if kind == "creation" else self.left)[path] = None
                self._keep_script(path, command.body)
        return None, only_outside

    def _is_new(self, path: str) -> bool:
        """Whether this command made a file, or a folder that it lies in and that was not there."""
        return path in self.makes or any(
            folder in self.makes and not self._files.knows_folder(folder)
            for folder in parents(path)
        )

    def _keep_script(self, path: str, text: str | None) -> None:
        language = language_of(path) if text is not None else None
        if language is not None and text is not None:
            self.scripts[path] = script_writes(language, text)

    def _own_programs(self, act: Act, folders: tuple[str | None, ...]) -> list[str]:
        """Return the files of the session's own that a command runs."""
        paths = (self._files.full(program, folders) for program in act.programs)
        return [path for path in paths if path is not None and self._is_own(path)]

    def _is_own(self, path: str) -> bool:
        return path in self.makes or path in self.left or self._files.is_program_made(path)

    def _rewrites(self, path: str, folders: tuple[str | None, ...]) -> bool:
        """Whether a script of the session's own changes a file that is known to have existed."""
        for write in self.scripts.get(path) or self._files.written_by(path):
            kind, written = _written(write, folders, self._files)
            if kind == "edit" and written is not None:
                return True
        return False


def _shell(call: ReadCall, files: Files) -> Verdict:
    reading = call.reading
    if reading is None or not reading.segments:
        return Verdict(kind="navigation")
    if all(act is LOOKS for segment in reading.segments for act in segment.acts):
        return _LOOKS_WHOLE if reading.unparsed else _LOOKS_FIRST
    tally = _Tally(call, files)
    for place, segment in enumerate(reading.segments):
        edit = tally.take(place, segment)
        if edit is not None:
            whole = not reading.unparsed
            return Verdict(
                kind="edit",
                assumed=edit == "assumed",
                looks=whole and tally.looks is not None,
                first=tally.first if whole else None,
                until=place,
            )
    return Verdict(
        kind=tally.kind,
        first=None if reading.unparsed else tally.first,
        makes=tuple(tally.makes),
        outside=tuple(tally.left),
        scripts=tuple(tally.scripts.items()),
    )


# -- tools ----------------------------------------------------------------------------------

_MADE = re.compile(
    r"(?:file )?(?:was |has been )?created (?:successfully|and wrote|new file)|successfully created"
    r"|created (?:a )?new file|\bcreated file\b|wrote to new file|\[File: .{0,300} created\]"
    r"|file created|new file created",
    re.IGNORECASE,
)
_THERE = re.compile(
    r"has been (?:updated|edited|overwritten)|overwrote|overwritten|successfully (?:updated|edited)"
    r"|not been read yet|already exists|has been modified since",
    re.IGNORECASE,
)
_SAID_CHARS = 1200


def _tool(call: ReadCall, files: Files, result: Result | None) -> Verdict:
    writes = list(_tool_writes(call))
    made: dict[str, None] = {}
    left: dict[str, None] = {}
    creates = not writes
    for write in writes:
        kind, path = _tool_written(write, call, files, result)
        if kind == "unsaid" and result is None:
            return Verdict(kind=None)
        if kind in {"edit", "assumed", "unsaid"}:
            return Verdict(kind="edit", assumed=kind != "edit", until=0)
        if kind == "creation":
            creates = True
            if path is not None:
                made[path] = None
        elif path is not None:
            left[path] = None
    if not writes:
        return Verdict(kind="edit", assumed=call.arguments is not None, until=0)
    return Verdict(
        kind="creation" if creates else "outside_write",
        makes=tuple(made),
        outside=tuple(left),
        scripts=_scripts(call, (*made, *left)),
    )


def _scripts(call: ReadCall, paths: tuple[str, ...]) -> tuple[tuple[str, tuple[Write, ...]], ...]:
    """Return what the scripts among some new files would write; their text is in the input."""
    texts = call.arguments if isinstance(call.arguments, Mapping) else {}
    text = next((texts[key] for key in _TEXT_KEYS if isinstance(texts.get(key), str)), None)
    language = language_of(paths[0]) if len(paths) == 1 else None
    if text is None or language is None:
        return ()
    return ((paths[0], script_writes(language, text)),)


_TEXT_KEYS = ("content", "file_text", "text", "contents", "code", "new_str", "CodeContent")


def _tool_writes(call: ReadCall) -> Iterator[Write]:
    for how, value in tool_writes(call.tool, call.arguments):
        if how == "patch":
            yield from patch_writes(value)
        else:
            yield Write(value, how)


def _tool_written(write: Write, call: ReadCall, files: Files, result: Result | None) -> _Found:
    path = files.full(write.path, call.folders) if write.path is not None else None
    if write.how != "put" or path is None or files.is_made(path) or files.is_outside(path):
        return _written(write, call.folders, files)
    if files.knows(path):
        return "edit", path
    said = _said(result)
    if said is not None:
        return ("creation" if said else "edit"), path
    return "unsaid", path


def _said(result: Result | None) -> bool | None:
    """Whether the log says that a file was made (True) or was there before (False)."""
    if result is None:
        return None
    if result.made is not None:
        return result.made
    text = results.body_text(result.body)[:_SAID_CHARS]
    if _THERE.search(text):
        return False
    return True if _MADE.search(text) and result.outcome.ok is not False else None
