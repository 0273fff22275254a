"""The simple commands inside one segment of a script, nested ones included."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec

from wayproof.capture.shell.commands import (
    MAY_RUN_SHELLS,
    READERS,
    WRAPPERS,
    Simple,
    read_paths,
    shell_in,
    unwrapped,
)
from wayproof.capture.shell.folder import Folder
from wayproof.capture.shell.records import FileRead, Segment
from wayproof.capture.shell.words import UnknownWord, Words

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["MAX_DEPTH", "REPEATERS", "Collector", "Opener"]

MAX_DEPTH = 60
"""Deeper nesting is not followed: the command counts as unparsed."""

REPEATERS = frozenset({"xargs", "find", "fd", "fdfind", "parallel"})
"""These run a script once for each of many words, so it doesn't stand for them."""

Opener = Callable[..., list[Segment]]
"""Reads the script of a shell command: ``opener(shell, reads=True)`` gives its segments."""

_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_CHANGERS = frozenset({"cd", "chdir", "pushd", "popd", "Set-Location", "Push-Location",
                       "Pop-Location", "sl"})  # fmt: skip
_PLAIN = re.compile(r"[\w./:=,@%+-]+")


class Collector:
    """Collect the commands below a syntax node, in the order in which they stand.

    Parameters
    ----------
    words, folder
        The script's text and variables, and the folder it stands in; both are kept up to
        date while commands are collected.
    opener
        Reads the script that a command like ``bash -c SCRIPT`` runs.
    maybe
        The segment may not have run: its writes count, its reads don't.
    """

    def __init__(self, words: Words, folder: Folder, opener: Opener, *, maybe: bool) -> None:
        self._words = words
        self._folder = folder
        self._opener = opener
        self._maybe = maybe
        self.found: list[Simple] = []
        self.reads: list[FileRead] = []
        self.opened: list[Segment] = []
        self.inner = False
        self._targets: list[tuple[str, str | None]] = []
        self._heredoc = False
        self._body: str | None = None
        self._piped = False

    def onto(self, commands: tuple[Simple, ...]) -> tuple[Simple, ...]:
        """Put the redirections met so far on the last of ``commands``."""
        if not commands:
            return tuple(self.found)
        last = commands[-1]
        with_targets = msgspec.structs.replace(
            last,
            targets=last.targets + tuple(self._targets),
            heredoc=last.heredoc or self._heredoc,
            body=last.body if self._body is None else self._body,
        )
        return (*commands[:-1], with_targets, *self.found)

    def visit(self, node: "Node", depth: int) -> None:
        """Collect commands below ``node``.

        Raises
        ------
        RecursionError
            When nesting is deeper than :data:`MAX_DEPTH`.
        """
        if depth > MAX_DEPTH:
            raise RecursionError
        handler = _HANDLERS.get(node.type)
        if handler is not None:
            handler(self, node, depth)
        elif node.type != "function_definition":
            for child in node.named_children:
                self.visit(child, depth + 1)

    def plain(self, words: Sequence[str], *, piped: bool) -> None:
        """Collect a command that is nothing but literal words, its name first."""
        name = words[0]
        self._add(
            Simple(
                _command_name(name),
                tuple(words[1:]),
                piped=piped,
                folder=self._folder.path,
                lost=self._folder.lost,
                path=name if "/" in name else None,
            ),
            {},
        )

    # -- commands ---------------------------------------------------------------------

    def _command(self, node: "Node", depth: int) -> None:  # noqa: C901 - the hottest loop of all
        # Half of all time is spent here: plain words are taken without another call.
        ascii_text = self._words.ascii_text
        name: str | None = None
        words: list[str | None] = []
        spelled: dict[int, str] = {}
        body: str | None = None
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
            elif kind == "herestring_redirect":
                body = self._words.text(child)[3:].strip().strip("'\"")
            elif kind in _REDIRECTS:
                self.redirect(child, depth)
            else:
                values = self._values(child, depth)
                if kind == "string" and values[0] is None:
                    spelled[len(words)] = self._words.spelled(child)
                words += values
        path = name if name is not None and ("/" in name or "\\" in name) else None
        if spelled and (name or "") not in MAY_RUN_SHELLS:
            # An inline script with the shell's variables in it is read as it is spelled.
            words = [spelled.get(place, word) for place, word in enumerate(words)]
        self._add(
            Simple(
                _command_name(name),
                tuple(words),
                body=body,
                heredoc=body is not None,
                piped=self._piped,
                folder=self._folder.path,
                lost=self._folder.lost,
                path=path,
            ),
            spelled,
        )

    def _values(self, node: "Node", depth: int) -> Sequence[str | None]:
        try:
            return self._words.values(node)
        except UnknownWord:
            self._inside(node, depth)
            return [None]

    def _inside(self, node: "Node", depth: int) -> None:
        """Commands in ``$(…)`` and ``<(…)`` run, too: visit each of them once."""
        if depth > MAX_DEPTH:
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
            self._folder.change(name, bare.words, maybe=self._maybe)
        if command.name in MAY_RUN_SHELLS:
            self._open(command, spelled)
        # What xargs runs gets words that aren't here.
        if self._maybe or name not in READERS or command.name == "xargs":
            return
        for path, lines in read_paths(bare):
            place = self._folder.place(path, lines)
            if place is not None:
                self.reads.append(place)

    def _open(self, command: Simple, spelled: Mapping[int, str]) -> None:
        # A script whose values are partly unknown is read as it is spelled.
        words = [spelled.get(place, word) for place, word in enumerate(command.words)]
        shell = shell_in(Simple(command.name, tuple(words)))
        if shell is None:
            return
        reads = not self._maybe and command.name not in REPEATERS
        for segment in self._opener(shell, reads=reads):
            self.opened.append(segment)
            self.reads += segment.reads

    # -- redirections -----------------------------------------------------------------

    def _redirected(self, node: "Node", depth: int) -> None:
        start = len(self.found)
        for child in node.named_children:
            if "redirect" not in child.type:
                self.visit(child, depth + 1)
        outer = self._targets, self._heredoc, self._body
        self._targets, self._heredoc, self._body = [], False, None
        after = len(self.found)
        for child in node.children_by_field_name("redirect"):
            self.redirect(child, depth)
        trailing = self.found[after:]
        body = self.onto(tuple(self.found[start:after]))
        # onto() puts the trailing commands behind the body already
        self.found[start:] = list(body[: after - start]) + trailing
        self._targets, self._heredoc, self._body = outer

    def redirect(self, node: "Node", depth: int = 0) -> None:
        """Note where output goes; read what a heredoc's line says behind its marker."""
        if node.type == "heredoc_redirect":
            self._heredoc = True
            for child in node.named_children:
                if child.type == "file_redirect":
                    self.redirect(child, depth)
                elif child.type == "heredoc_body":
                    self._body = self._words.text(child)
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
            place = self._folder.place(value, None) if value and not self._maybe else None
            if place is not None and operator == "<":
                self.reads.append(place)
            return
        self._targets.append((operator, value))

    # -- compound statements ----------------------------------------------------------

    def _pipeline(self, node: "Node", depth: int) -> None:
        outer = self._piped
        for child in node.children:
            if child.type in {"|", "|&"}:
                self._piped = True
            elif child.is_named:
                self.visit(child, depth + 1)
        self._piped = outer

    def _assignment(self, node: "Node", depth: int) -> None:
        self._inside(node, depth)
        self._words.assign(node)

    def _declaration(self, node: "Node", depth: int) -> None:
        for child in node.named_children:
            self.visit(child, depth + 1)

    def _for(self, node: "Node", depth: int) -> None:
        self._words.loop(node)
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
        outside = self._folder.saved()
        self._list(node, depth)
        self._folder.restore(outside)


_HANDLERS: dict[str, Any] = {
    "command": Collector._command,  # noqa: SLF001 - the class's own table
    "pipeline": Collector._pipeline,  # noqa: SLF001
    "redirected_statement": Collector._redirected,  # noqa: SLF001
    "variable_assignment": Collector._assignment,  # noqa: SLF001
    "declaration_command": Collector._declaration,  # noqa: SLF001
    "for_statement": Collector._for,  # noqa: SLF001
    "if_statement": Collector._conditional,  # noqa: SLF001
    "while_statement": Collector._conditional,  # noqa: SLF001
    "case_statement": Collector._conditional,  # noqa: SLF001
    "list": Collector._list,  # noqa: SLF001
    "subshell": Collector._subshell,  # noqa: SLF001
}


@lru_cache(1024)
def _command_name(name: str | None) -> str:
    if name is None:
        return ""
    return name.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")
