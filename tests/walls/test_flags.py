"""Flags are spelled by the command line alone: other rooms name settings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.pages.commands import leaves, parser_of

from wayproof.cli import COMMANDS

SOURCE = Path(__file__).parents[2] / "src" / "wayproof"
OTHER_PROGRAMS = ("capture/shell/", "capture/commands.py", "capture/results.py")
"""What is written here are the flags of programs in logs."""

FLAGS = {
    word
    for name in COMMANDS
    for parser in leaves(parser_of(name))
    for action in parser._actions
    for word in action.option_strings
    if word.startswith("--") and word not in {"--help", "--version"}
}
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_OTHERS = re.compile(r"(codex exec|claude -p|opencode run|inspect log convert) [^;`]*")
_COMMAND = re.compile(rf"\bwayproof ({'|'.join(COMMANDS)})\b")


def _spelled(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for flag in _FLAG.findall(_OTHERS.sub("", node.value)):
                if flag in FLAGS and not _is_of_another(path):
                    yield f"{path.name}:{node.lineno}: {flag}"


def _commands_in_errors(path: Path) -> Iterator[str]:
    for call in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("Error"):
            for node in ast.walk(call):
                if isinstance(node, ast.Constant) and _COMMAND.search(repr(node.value)):
                    yield f"{path.name}:{node.lineno}: {node.value!r}"


def _is_of_another(path: Path) -> bool:
    return path.relative_to(SOURCE).as_posix().startswith(OTHER_PROGRAMS)


def _rooms_below() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if "cli" not in path.parts]


@pytest.mark.parametrize("read", [_spelled, _commands_in_errors])
def test_no_room_below_spells_a_flag_or_a_command(read: object) -> None:
    """An error names a setting, and reads right in Python, too."""
    assert callable(read)
    assert [fault for path in _rooms_below() for fault in read(path)] == []
