"""A command as typed, parsed and taken apart."""

import shlex
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from wayproof.capture.shell.commands import script_of
from wayproof.capture.shell.plain import plain_pipelines
from wayproof.capture.shell.records import Reading, Segment
from wayproof.capture.shell.statements import Statements
from wayproof.capture.shell.words import Words

if TYPE_CHECKING:
    from tree_sitter import Parser

__all__ = ["MAX_COMMAND_BYTES", "read_command", "typed_text"]

MAX_COMMAND_BYTES = 1 << 20
"""Of a longer command only the beginning is parsed, and it counts as unparsed."""

_MAX_SHELLS = 3

# The grammar's scanner asks C's isdigit() about any character, which reads outside a table
# for characters beyond Latin-1 and can end the process. It is given a letter for each byte
# that is not ASCII: such bytes are parts of words for bash, too, and offsets stay true.
_SHADOW = bytes(code if code < 0x80 else ord("x") for code in range(256))


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
    def read_script(script: str, backslashes: bool) -> Reading | None:
        if depth >= _MAX_SHELLS:
            return None
        return _read(script, powershell=powershell or backslashes, depth=depth + 1)

    plain = None if powershell else plain_pipelines(command)
    if plain is not None:
        segments = Statements(Words(b"", powershell=False), read_script).plain(plain)
        return _reading(command, segments, unparsed=False)
    return _parsed(command, read_script, powershell=powershell)


def _parsed(
    command: str, read_script: Callable[[str, bool], Reading | None], *, powershell: bool
) -> Reading:
    """Read a command by its syntax tree."""
    data = command.encode("utf-8", "replace")
    cut = data[:MAX_COMMAND_BYTES]
    root = _parser().parse(cut.translate(_SHADOW)).root_node
    unparsed = root.has_error or len(cut) < len(data)
    try:
        segments = Statements(Words(cut, powershell=powershell), read_script).segments(root)
    except RecursionError:
        segments, unparsed = [], True
    return _reading(command, segments, unparsed=unparsed)


def _reading(command: str, segments: list[Segment], *, unparsed: bool) -> Reading:
    acting = tuple(segment for segment in segments if not segment.setup)
    first = command.strip() if unparsed or not acting else acting[0].text or command.strip()
    return Reading(first=first, segments=acting, unparsed=unparsed)
