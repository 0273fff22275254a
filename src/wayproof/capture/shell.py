"""A shell command as typed, taken apart by bash's grammar; nothing is ever run.

The grammar is tree-sitter's. What it can't parse is kept whole: then the whole text is the
first segment, nothing is selected from it, and only a recognised writing command inside the
damaged tree still counts as a mutation (:attr:`Reading.unparsed` says so).

Values that only a running shell would know (command output, globs, unset variables) stay
unknown and select nothing; loops over literal words and variables set to literals are
followed.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from wayproof.capture.commands import (
    MAY_RUN_SHELLS,
    MAY_WRITE,
    READERS,
    WRAPPERS,
    Simple,
    read_paths,
    script_of,
    shell_in,
    unwrapped,
    writes,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

__all__ = ["FileRead", "Reading", "Segment", "read_command", "typed_text"]

MAX_COMMAND_BYTES = 1 << 20
"""Of a longer command only the beginning is parsed, and it counts as unparsed."""

_MAX_DEPTH = 60
_MAX_EXPANSION = 256
_MAX_SHELLS = 3
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_SEQUENCES = frozenset({"program", "list", "compound_statement", "subshell", "ERROR"})
_CHANGERS = frozenset({"cd", "pushd"})
_SETTING = frozenset({
    "variable_assignment", "variable_assignments", "declaration_command", "unset_command",
})  # fmt: skip
_SETUP = frozenset({"cd", "pushd", "popd", "export", "unset", "set", "declare", "typeset", "local"})
# These run a script once for each of many words, so it doesn't stand for them.
_REPEATERS = frozenset({"xargs", "find", "fd", "fdfind", "parallel"})
# What stands behind "cd folder ||" for the case that there is no such folder.
_GUARDS = frozenset({"exit", "return", "true", ":", "false", "break", "continue", "echo", "printf"})


# The grammar's scanner asks C's isdigit() about any character, which reads outside a table
# for characters beyond Latin-1 and can end the process. It is given a letter for each byte
# that is not ASCII: such bytes are parts of words for bash, too, and offsets stay true.
_SHADOW = bytes(code if code < 0x80 else ord("x") for code in range(256))


_PLAIN = re.compile(r"[\w./:=,@%+-]+")
_SPECIAL = re.compile(r"[\\*?\[]")
_GLOB = re.compile(r"(?<!\\)[*?\[]")
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_BRACES = re.compile(r"([^{}'\"$`]*)\{([^{}'\"$`]*,[^{}'\"$`]*)\}([^{}'\"$`]*)")


class FileRead(msgspec.Struct, frozen=True):
    """A file that a command reads: its path and the folder it is relative to.

    ``folder`` is None for the call's own working directory.
    """

    path: str
    folder: str | None = None
    lines: tuple[int, int] | None = None


class Segment(msgspec.Struct, frozen=True):
    """One pipeline, or one compound statement, with the simple commands in it."""

    text: str
    commands: tuple[Simple, ...]
    setup: bool = False
    mutates: bool = False
    reads: tuple[FileRead, ...] = ()


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a command says.

    Attributes
    ----------
    first
        The first segment with its whole pipeline: wrappers opened, leading ``cd``,
        ``export`` and assignments dropped.
    mutates, mutates_first
        Whether any segment writes files, and whether already the first one does.
    reads
        Files read before the first mutating segment.
    segments
        Those that do something, in order.
    unparsed
        The grammar found errors; see the module's docstring.
    """

    first: str
    mutates: bool = False
    mutates_first: bool = False
    reads: tuple[FileRead, ...] = ()
    segments: tuple[Segment, ...] = ()
    unparsed: bool = False

    @property
    def last_command(self) -> Simple | None:
        """The command whose exit status is the call's, as far as the text says."""
        for segment in reversed(self.segments):
            if segment.commands:
                return segment.commands[-1]
        return None


def typed_text(command: str | Sequence[Any]) -> str:
    """Return a command as text; a list of arguments is joined as a shell would need it."""
    if isinstance(command, str):
        return command
    words = [word for word in command if isinstance(word, str)]
    script = script_of(words)
    return script if script is not None else shlex.join(words)


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


def read_command(command: str, *, powershell: bool = False) -> Reading:
    """Take a command apart.

    Parameters
    ----------
    command
        The text as typed.
    powershell
        Backslashes are path separators, not escapes.
    """
    return _read(command, powershell=powershell, depth=0)


def _read(command: str, *, powershell: bool, depth: int) -> Reading:
    data = command.encode("utf-8", "replace")
    cut = data[:MAX_COMMAND_BYTES]
    root = _parser().parse(cut.translate(_SHADOW)).root_node
    walk = _Walk(cut, powershell=powershell, depth=depth)
    unparsed = root.has_error or len(cut) < len(data)
    try:
        segments = walk.statements(root)
    except RecursionError:
        segments, unparsed = [], True
    acting = [segment for segment in segments if not segment.setup]
    mutates = any(segment.mutates for segment in acting)
    if unparsed:
        return Reading(
            first=command.strip(),
            mutates=mutates,
            mutates_first=bool(acting) and acting[0].mutates,
            segments=tuple(acting),
            unparsed=True,
        )
    if not acting:
        return Reading(first=command.strip())
    reads: list[FileRead] = []
    for segment in acting:
        if segment.mutates:
            break
        reads.extend(segment.reads)
    return Reading(
        first=acting[0].text or command.strip(),
        mutates=mutates,
        mutates_first=acting[0].mutates,
        reads=tuple(reads),
        segments=tuple(acting),
    )


class _Unknown(Exception):  # noqa: N818 - a signal inside this module
    """A word whose value only a running shell would know."""


class _Walk:
    """One pass over a syntax tree, following ``cd`` and literal variables."""

    def __init__(self, data: bytes, *, powershell: bool, depth: int) -> None:
        self._data = data
        self._powershell = powershell
        self._depth = depth
        self._folder: str | None = None
        self._folder_known = True
        self._values: dict[str, list[str]] = {}

        # In ASCII, bytes and characters have the same offsets.
        self.ascii_text = data.decode("ascii") if data.isascii() else None

    def _text(self, node: "Node") -> str:
        return self._slice(node.start_byte, node.end_byte)

    def _slice(self, start: int, end: int) -> str:
        if self.ascii_text is not None:
            return self.ascii_text[start:end]
        return self._data[start:end].decode("utf-8", "replace")

    # -- statements -------------------------------------------------------------------

    def statements(self, node: "Node", *, maybe: bool = False, depth: int = 0) -> list[Segment]:
        """Return the segments of a statement or a list of statements, in order."""
        if depth > _MAX_DEPTH:
            raise RecursionError
        kind = node.type
        if kind in _SEQUENCES:
            return self._sequence(node, maybe=maybe, depth=depth)
        if kind == "redirected_statement":
            return self._redirected(node, maybe=maybe, depth=depth)
        if kind in {"comment", "function_definition"} or not node.is_named:
            return []
        return self._segments(node, maybe=maybe)

    def _sequence(self, node: "Node", *, maybe: bool, depth: int) -> list[Segment]:
        outer = (self._folder, self._folder_known)
        found: list[Segment] = []
        alternative = False
        for child in node.children:
            if child.type == "||":
                alternative = True
                continue
            if not child.is_named:
                continue
            segments = self.statements(child, maybe=maybe or alternative, depth=depth + 1)
            if alternative and all(one.setup for one in found):
                segments = [_as_guard(one) for one in segments]
            found += segments
            alternative = False
        if node.type == "subshell":
            self._folder, self._folder_known = outer
        return found

    def _redirected(self, node: "Node", *, maybe: bool, depth: int) -> list[Segment]:
        body = node.child_by_field_name("body")
        if body is None or body.type != "list":
            return self._segments(node, maybe=maybe)
        # The grammar hangs a redirection behind the last command of a list on the list.
        found = self.statements(body, maybe=maybe, depth=depth + 1)
        redirects = _Commands(self, maybe=maybe)
        for child in node.children_by_field_name("redirect"):
            redirects.redirect(child)
        if found:
            last = found[-1]
            text = last.text + self._slice(body.end_byte, node.end_byte)
            found[-1] = _segment(
                text.strip(),
                redirects.onto(last.commands),
                reads=last.reads + tuple(redirects.reads),
                mutates=last.mutates,
                setup=last.setup,
            )
        return found

    def _segments(self, node: "Node", *, maybe: bool) -> list[Segment]:
        """Return one segment, or those of the script that a lone ``bash -c`` runs."""
        commands = _Commands(self, maybe=maybe)
        commands.visit(node, 0)
        found = tuple(commands.found)
        body = node.child_by_field_name("body") if node.type == "redirected_statement" else node
        kind = node.type if body is None else body.type
        lone = found[0] if kind == "command" and len(found) == 1 else None
        name = lone.name if lone is not None else None
        if (kind in _SETTING or name in _SETUP) and not commands.inner:
            setup = _segment(self._text(node), found, setup=True)
            if not setup.mutates:
                return [setup]
        if lone is not None and commands.opened and not commands.inner and name not in _REPEATERS:
            return _under_shell(lone, commands)
        text = self._slice(_first_name_byte(node), node.end_byte)
        opened = commands.opened
        return [
            _segment(
                text.strip(),
                (*(one for segment in opened for one in segment.commands), *found),
                reads=tuple(commands.reads),
                mutates=any(segment.mutates for segment in opened),
            )
        ]

    def opened(self, shell: Simple, *, reads: bool) -> list[Segment]:
        """Return the segments of SCRIPT in ``bash -c SCRIPT``; without ``reads`` none of its."""
        script = script_of([shell.name, *shell.words]) if self._depth < _MAX_SHELLS else None
        if script is None:
            return []
        inner = _read(script, powershell=self._powershell, depth=self._depth + 1)
        reads = reads and not inner.unparsed
        return [
            Segment(
                text=one.text,
                commands=one.commands,
                mutates=one.mutates,
                reads=tuple(self._from_here(one.reads)) if reads else (),
            )
            for one in inner.segments
        ]

    def _from_here(self, reads: tuple[FileRead, ...]) -> Iterator[FileRead]:
        """Put a script's reads below the folder that its shell is started in."""
        for read in reads:
            anchored = read.path if read.folder is None else read.folder
            if self._folder_known or anchored.startswith(("/", "~")) or _DRIVE.match(anchored):
                folder = self._folder if self._folder_known else None
                yield FileRead(read.path, _joined(folder, read.folder), read.lines)

    # -- folders and variables --------------------------------------------------------

    def change_folder(self, words: Sequence[str | None], *, maybe: bool) -> None:
        """Follow a ``cd``; after one that may not have run the folder is unknown."""
        if maybe:
            self._folder_known = False
            return
        targets = [word for word in words if word is None or not word.startswith("-")]
        target = targets[0] if targets else None
        if target is None or target.startswith("~"):
            self._folder_known = target is not None
            self._folder = target
        elif self._folder_known or target.startswith("/"):
            self._folder = _joined(self._folder, target)
            self._folder_known = True

    def assign(self, node: "Node") -> None:
        """Remember a variable set to a literal; forget one set to anything else."""
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None:
            return
        try:
            self._values[self._text(name)] = self.words(value) if value is not None else [""]
        except _Unknown:
            self._values.pop(self._text(name), None)

    def loop(self, node: "Node") -> None:
        """Let a ``for`` loop's variable stand for all its literal words."""
        variable = node.child_by_field_name("variable")
        if variable is None:
            return
        values: list[str] = []
        try:
            for word in node.children_by_field_name("value"):
                values += self.words(word)
        except _Unknown:
            self._values.pop(self._text(variable), None)
        else:
            self._values[self._text(variable)] = values[:_MAX_EXPANSION]

    def place(self, path: str, lines: tuple[int, int] | None) -> FileRead | None:
        """Return a read of ``path`` from the current folder, if that is known."""
        if path.startswith(("/", "~")) or _DRIVE.match(path):
            return FileRead(path, None, lines)
        return FileRead(path, self._folder, lines) if self._folder_known else None

    # -- words ------------------------------------------------------------------------

    def words(self, node: "Node") -> list[str]:
        """Return the literal values a word stands for.

        Raises
        ------
        _Unknown
            When only a running shell would know.
        """
        kind = node.type
        if kind == "word" or kind == "number":  # noqa: PLR1714 - the hottest line of all
            return [self._plain(node)]
        if kind == "raw_string":
            return [self._text(node)[1:-1]]
        if kind == "ansi_c_string":
            return [_unescaped(self._text(node)[2:-1])]
        if kind == "string":
            return self._quoted(node)
        if kind in {"simple_expansion", "expansion"}:
            return self._variable(node)
        if kind == "concatenation":
            return self._concatenated(node)
        raise _Unknown

    def _plain(self, node: "Node") -> str:
        text = self._text(node)
        if _SPECIAL.search(text) is None or self._powershell or _DRIVE.match(text):
            return text
        if _GLOB.search(text):
            raise _Unknown
        return _ESCAPED.sub(lambda found: found[1].strip("\n"), text)

    def _variable(self, node: "Node") -> list[str]:
        name = self._text(node).lstrip("$").removeprefix("{").removesuffix("}")
        values = self._values.get(name)
        if values is None:
            raise _Unknown
        return values

    def _quoted(self, node: "Node") -> list[str]:
        values = [""]
        position = node.start_byte + 1
        for child in node.named_children:
            if child.type == "string_content":
                continue
            between = _unescaped(self._slice(position, child.start_byte), quoted=True)
            values = _product(values, _product([between], self.words(child)))
            position = child.end_byte
        rest = _unescaped(self._slice(position, node.end_byte - 1), quoted=True)
        return _product(values, [rest])

    def spelled(self, node: "Node") -> str:
        """Return a quoted text with its variables and substitutions as they are written."""
        return _unescaped(self._text(node)[1:-1], quoted=True)

    def _concatenated(self, node: "Node") -> list[str]:
        text = self._text(node)
        braces = _BRACES.fullmatch(text)
        if braces:
            if _GLOB.search(text):
                raise _Unknown
            return [f"{braces[1]}{one}{braces[3]}" for one in braces[2].split(",")]
        values = [""]
        for child in node.children:
            values = _product(values, self.words(child))
        return values


def _first_name_byte(node: "Node") -> int:
    """Where a pipeline begins, once assignments before its first command are dropped."""
    first: Node | None = node
    while first is not None and first.type in {"pipeline", "redirected_statement"}:
        first = first.named_child(0)
    inner = first.named_child(0) if first is not None and first.type == "command" else None
    if first is None or inner is None:
        return int(node.start_byte)
    if inner.type == "command_name":
        return int(first.start_byte)
    name = first.child_by_field_name("name")
    return int(name.start_byte if name is not None else node.start_byte)


def _segment(
    text: str,
    commands: tuple[Simple, ...],
    *,
    setup: bool = False,
    reads: tuple[FileRead, ...] = (),
    mutates: bool = False,
) -> Segment:
    for command in commands:
        if mutates:
            break
        # Most commands can't write, whatever their words are.
        mutates = bool(command.targets or command.name in MAY_WRITE) and writes(command)
    return Segment(text=text, commands=commands, setup=setup, mutates=mutates, reads=reads)


def _as_guard(segment: Segment) -> Segment:
    """``exit 1`` in ``cd folder || exit 1`` belongs to the setup."""
    if segment.mutates or any(one.name not in _GUARDS for one in segment.commands):
        return segment
    return Segment(text=segment.text, commands=segment.commands, setup=True)


def _under_shell(shell: Simple, commands: "_Commands") -> list[Segment]:
    """Let a lone shell stand for its script; what is redirected is its last output."""
    opened = list(commands.opened)
    own = tuple(commands.reads[sum(len(one.reads) for one in opened) :])
    last = opened[-1]
    if not (shell.targets or own) or not last.commands:
        return opened
    end = last.commands[-1]
    redirected = Simple(
        end.name, end.words, end.targets + shell.targets, end.heredoc or shell.heredoc
    )
    opened[-1] = _segment(
        last.text,
        (*last.commands[:-1], redirected),
        reads=last.reads + own,
        mutates=last.mutates,
    )
    return opened


def _product(left: list[str], right: list[str]) -> list[str]:
    if len(left) * len(right) > _MAX_EXPANSION:
        raise _Unknown
    return [a + b for a in left for b in right]


def _joined(folder: str | None, path: str | None) -> str | None:
    if path is None:
        return folder
    return path if folder is None else posixpath.normpath(posixpath.join(folder, path))


_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"', "r": "\r"}


def _unescaped(text: str, *, quoted: bool = False) -> str:
    if quoted:  # inside double quotes a backslash keeps its meaning before these only
        return re.sub(r'\\([$`"\\])', r"\1", text.replace("\\\n", ""))
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), text)


class _Commands:
    """The simple commands inside one segment, nested ones too."""

    def __init__(self, walk: _Walk, *, maybe: bool) -> None:
        self._walk = walk
        self._maybe = maybe
        self.found: list[Simple] = []
        self.reads: list[FileRead] = []
        self.opened: list[Segment] = []
        self.inner = False
        self._targets: list[tuple[str, str | None]] = []
        self._heredoc = False

    def onto(self, commands: tuple[Simple, ...]) -> tuple[Simple, ...]:
        """Put the redirections met so far on the last of ``commands``."""
        if not commands:
            return tuple(self.found)
        last = commands[-1]
        with_targets = Simple(
            last.name,
            last.words,
            targets=last.targets + tuple(self._targets),
            heredoc=last.heredoc or self._heredoc,
        )
        return (*commands[:-1], with_targets, *self.found)

    def visit(self, node: "Node", depth: int) -> None:
        """Collect commands below ``node``."""
        if depth > _MAX_DEPTH:
            raise RecursionError
        handler = _HANDLERS.get(node.type)
        if handler is not None:
            handler(self, node, depth)
        elif node.type != "function_definition":
            for child in node.named_children:
                self.visit(child, depth + 1)

    def _command(self, node: "Node", depth: int) -> None:
        # Half of all time is spent here: plain words are taken without another call.
        ascii_text = self._walk.ascii_text
        name: str | None = None
        words: list[str | None] = []
        spelled: dict[int, str] = {}
        for child in node.named_children:
            kind = child.type
            if ascii_text is not None and (kind == "word" or kind == "command_name"):  # noqa: PLR1714
                text = ascii_text[child.start_byte : child.end_byte]
                if _PLAIN.fullmatch(text):
                    if kind == "word":
                        words.append(text)
                    else:
                        name = text
                    continue
            if kind == "command_name":
                name = self._values(child.named_children[0], depth)[0]
            elif kind == "variable_assignment":
                self._inside(child, depth)
            elif kind in _REDIRECTS:
                self.redirect(child, depth)
            else:
                values = self._values(child, depth)
                if kind == "string" and values[0] is None:
                    spelled[len(words)] = self._walk.spelled(child)
                words += values
        self._add(Simple(_command_name(name), tuple(words)), spelled)

    def _values(self, node: "Node", depth: int) -> Sequence[str | None]:
        try:
            return self._walk.words(node)
        except _Unknown:
            self._inside(node, depth)
            return [None]

    def _inside(self, node: "Node", depth: int) -> None:
        """Commands in ``$(…)`` and ``<(…)`` run, too: visit each of them once."""
        if depth > _MAX_DEPTH:
            raise RecursionError
        entered = node.type in _SUBSTITUTIONS
        self.inner = self.inner or entered
        for child in node.named_children:
            if entered:
                self.visit(child, depth + 1)
            else:
                self._inside(child, depth + 1)

    def _add(self, command: Simple, spelled: Mapping[int, str]) -> None:
        bare = unwrapped(command) if command.name in WRAPPERS else command
        name = bare.name
        self.found.append(command)
        if name in _CHANGERS:
            self._walk.change_folder(bare.words, maybe=self._maybe)
        if command.name in MAY_RUN_SHELLS:
            self._open(command, spelled)
        # What xargs runs gets words that aren't here.
        if self._maybe or name not in READERS or command.name == "xargs":
            return
        for path, lines in read_paths(bare):
            place = self._walk.place(path, lines)
            if place is not None:
                self.reads.append(place)

    def _open(self, command: Simple, spelled: Mapping[int, str]) -> None:
        # A script whose values are partly unknown is read as it is spelled.
        words = [spelled.get(place, word) for place, word in enumerate(command.words)]
        shell = shell_in(Simple(command.name, tuple(words)))
        if shell is None:
            return
        reads = not self._maybe and command.name not in _REPEATERS
        for segment in self._walk.opened(shell, reads=reads):
            self.opened.append(segment)
            self.reads += segment.reads

    def _redirected(self, node: "Node", depth: int) -> None:
        start = len(self.found)
        for child in node.named_children:
            if "redirect" not in child.type:
                self.visit(child, depth + 1)
        outer_targets, outer_heredoc = self._targets, self._heredoc
        self._targets, self._heredoc = [], False
        after = len(self.found)
        for child in node.children_by_field_name("redirect"):
            self.redirect(child, depth)
        trailing = self.found[after:]
        body = self.onto(tuple(self.found[start:after]))
        # onto() puts the trailing commands behind the body already
        self.found[start:] = list(body[: after - start]) + trailing
        self._targets, self._heredoc = outer_targets, outer_heredoc

    def redirect(self, node: "Node", depth: int = 0) -> None:
        """Note where output goes; read what a heredoc's line says behind its marker."""
        if node.type == "heredoc_redirect":
            self._heredoc = True
            for child in node.named_children:
                if child.type == "file_redirect":
                    self.redirect(child, depth)
                elif not child.type.startswith("heredoc"):
                    self.visit(child, depth + 1)
            return
        if node.type != "file_redirect":
            return
        operator = next((child.type for child in node.children if not child.is_named), "")
        destination = node.child_by_field_name("destination")
        if destination is None:
            return
        value = self._values(destination, depth)[0]
        if operator.startswith("<"):
            place = self._walk.place(value, None) if value and not self._maybe else None
            if place is not None and operator == "<":
                self.reads.append(place)
            return
        self._targets.append((operator, value))

    def _assignment(self, node: "Node", depth: int) -> None:
        self._inside(node, depth)
        self._walk.assign(node)

    def _declaration(self, node: "Node", depth: int) -> None:
        for child in node.named_children:
            self.visit(child, depth + 1)

    def _for(self, node: "Node", depth: int) -> None:
        self._walk.loop(node)
        for child in node.named_children:
            if child.type == "do_group":
                self.visit(child, depth + 1)

    def _conditional(self, node: "Node", depth: int) -> None:
        """Bodies that may not have run: their writes count, their reads don't."""
        outer, self._maybe = self._maybe, True
        for child in node.named_children:
            self.visit(child, depth + 1)
        self._maybe = outer

    def _list(self, node: "Node", depth: int) -> None:
        outer = self._maybe
        for child in node.children:
            if child.type == "||":
                self._maybe = True
            elif child.is_named:
                self.visit(child, depth + 1)
                self._maybe = outer
        self._maybe = outer

    def _subshell(self, node: "Node", depth: int) -> None:
        folder = self._walk._folder, self._walk._folder_known  # noqa: SLF001 - one machine
        self._list(node, depth)
        self._walk._folder, self._walk._folder_known = folder  # noqa: SLF001


_HANDLERS: dict[str, Any] = {
    "command": _Commands._command,  # noqa: SLF001
    "redirected_statement": _Commands._redirected,  # noqa: SLF001
    "variable_assignment": _Commands._assignment,  # noqa: SLF001
    "declaration_command": _Commands._declaration,  # noqa: SLF001
    "for_statement": _Commands._for,  # noqa: SLF001
    "if_statement": _Commands._conditional,  # noqa: SLF001
    "while_statement": _Commands._conditional,  # noqa: SLF001
    "case_statement": _Commands._conditional,  # noqa: SLF001
    "list": _Commands._list,  # noqa: SLF001
    "subshell": _Commands._subshell,  # noqa: SLF001
}


def _command_name(name: str | None) -> str:
    if name is None:
        return ""
    return name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")
