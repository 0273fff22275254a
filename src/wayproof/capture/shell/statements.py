"""A script's statements, one after the other, as segments."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from wayproof.capture.shell.collector import MAX_DEPTH, REPEATERS, Collector
from wayproof.capture.shell.commands import Simple, is_windows_shell, script_of
from wayproof.capture.shell.effects import act_of
from wayproof.capture.shell.folder import Folder
from wayproof.capture.shell.plain import Pipeline
from wayproof.capture.shell.records import FileRead, Reading, Segment
from wayproof.capture.shell.words import Words

if TYPE_CHECKING:
    from tree_sitter import Node

__all__ = ["Statements"]

_SEQUENCES = frozenset({"program", "list", "compound_statement", "subshell", "ERROR"})
_SETTING = frozenset({
    "variable_assignment", "variable_assignments", "declaration_command", "unset_command",
})  # fmt: skip
_SETUP = frozenset({
    "cd", "chdir", "pushd", "popd", "export", "unset", "set", "declare", "typeset", "local",
    "Set-Location", "Push-Location", "Pop-Location",
})  # fmt: skip
# What stands behind "cd folder ||" for the case that there is no such folder.
_GUARDS = frozenset({"exit", "return", "true", ":", "false", "break", "continue", "echo", "printf"})


class Statements:
    """One pass over a syntax tree, following ``cd`` and literal variables.

    Parameters
    ----------
    words
        The script's text.
    read_script
        Reads a script inside this one: the command of ``bash -c``, and whether backslashes
        part folders in it.
    """

    def __init__(self, words: Words, read_script: Callable[[str, bool], Reading | None]) -> None:
        self._words = words
        self._folder = Folder()
        self._read_script = read_script

    def segments(self, node: "Node", *, maybe: bool = False, depth: int = 0) -> list[Segment]:
        """Return the segments of a statement or a list of statements, in order.

        Raises
        ------
        RecursionError
            When nesting is deeper than what is followed.
        """
        if depth > MAX_DEPTH:
            raise RecursionError
        kind = node.type
        if kind in _SEQUENCES:
            return self._sequence(node, maybe=maybe, depth=depth)
        if kind == "redirected_statement":
            return self._redirected(node, maybe=maybe, depth=depth)
        if kind in {"comment", "function_definition"} or not node.is_named:
            return []
        return self._one(node, maybe=maybe)

    def plain(self, pipelines: list[Pipeline]) -> list[Segment]:
        """Return the segments of pipelines of plain words, as :meth:`segments` would."""
        found: list[Segment] = []
        for text, commands in pipelines:
            collector = self._collector(maybe=False)
            for place, words in enumerate(commands):
                collector.plain(words, piped=place > 0)
            simple = tuple(collector.found)
            setup = len(simple) == 1 and simple[0].name in _SETUP
            reads = () if setup else tuple(collector.reads)
            found.append(_segment(text, simple, setup=setup, reads=reads))
        return found

    def _collector(self, *, maybe: bool) -> Collector:
        return Collector(self._words, self._folder, self._opened, maybe=maybe)

    def _sequence(self, node: "Node", *, maybe: bool, depth: int) -> list[Segment]:
        outside = self._folder.saved()
        found: list[Segment] = []
        alternative = False
        for child in node.children:
            if child.type == "||":
                alternative = True
                continue
            if not child.is_named:
                continue
            segments = self.segments(child, maybe=maybe or alternative, depth=depth + 1)
            if alternative and all(one.setup for one in found):
                segments = [_as_guard(one) for one in segments]
            found += segments
            alternative = False
        if node.type == "subshell":
            self._folder.restore(outside)
        return found

    def _redirected(self, node: "Node", *, maybe: bool, depth: int) -> list[Segment]:
        body = node.child_by_field_name("body")
        if body is None or body.type != "list":
            return self._one(node, maybe=maybe)
        # The grammar hangs a redirection behind the last command of a list on the list.
        found = self.segments(body, maybe=maybe, depth=depth + 1)
        redirects = self._collector(maybe=maybe)
        for child in node.children_by_field_name("redirect"):
            redirects.redirect(child)
        if found:
            last = found[-1]
            text = last.text + self._words.slice(body.end_byte, node.end_byte)
            found[-1] = _segment(
                text.strip(),
                redirects.onto(last.commands),
                reads=last.reads + tuple(redirects.reads),
                setup=last.setup,
            )
        return found

    def _one(self, node: "Node", *, maybe: bool) -> list[Segment]:
        """Return one segment, or those of the script that a lone ``bash -c`` runs."""
        commands = self._collector(maybe=maybe)
        commands.visit(node, 0)
        found = tuple(commands.found)
        body = node.child_by_field_name("body") if node.type == "redirected_statement" else node
        kind = node.type if body is None else body.type
        lone = found[0] if kind == "command" and len(found) == 1 else None
        name = lone.name if lone is not None else None
        if (kind in _SETTING or name in _SETUP) and not commands.inner:
            setup = _segment(self._words.text(node), found, setup=True)
            if not any(act.writes for act in setup.acts):
                return [setup]
        if lone is not None and commands.opened and not commands.inner and name not in REPEATERS:
            return _under_shell(lone, commands)
        text = self._words.slice(_first_name_byte(node), node.end_byte)
        opened = commands.opened
        return [
            _segment(
                text.strip(),
                (*(one for segment in opened for one in segment.commands), *found),
                reads=tuple(commands.reads),
            )
        ]

    def _opened(self, shell: Simple, *, reads: bool) -> list[Segment]:
        """Return the segments of SCRIPT in ``bash -c SCRIPT``; without ``reads`` none of its."""
        script = script_of([shell.name, *shell.words])
        windows = is_windows_shell(shell.name)
        inner = self._read_script(script, windows) if script is not None else None
        if inner is None:
            return []
        reads = reads and not inner.unparsed
        return [
            _segment(
                one.text,
                tuple(self._folder.started(command) for command in one.commands),
                reads=tuple(self._folder.below(one.reads)) if reads else (),
            )
            for one in inner.segments
        ]


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
) -> Segment:
    acts = tuple(act_of(command) for command in commands)
    return Segment(text=text, commands=commands, acts=acts, setup=setup, reads=reads)


def _as_guard(segment: Segment) -> Segment:
    """``exit 1`` in ``cd folder || exit 1`` belongs to the setup."""
    if any(act.writes for act in segment.acts):
        return segment
    if any(one.name not in _GUARDS for one in segment.commands):
        return segment
    return msgspec.structs.replace(segment, setup=True, reads=())


def _under_shell(shell: Simple, commands: Collector) -> list[Segment]:
    """Let a lone shell stand for its script; what is redirected is its last output."""
    opened = list(commands.opened)
    own = tuple(commands.reads[sum(len(one.reads) for one in opened) :])
    last = opened[-1]
    if not (shell.targets or own) or not last.commands:
        return opened
    end = last.commands[-1]
    redirected = msgspec.structs.replace(
        end, targets=end.targets + shell.targets, heredoc=end.heredoc or shell.heredoc
    )
    opened[-1] = _segment(last.text, (*last.commands[:-1], redirected), reads=last.reads + own)
    return opened
