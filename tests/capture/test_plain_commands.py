"""Commands read without the grammar give what the grammar gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wayproof.capture.shell.plain import plain_pipelines
from wayproof.capture.shell.reading import _parsed, read_command
from wayproof.capture.shell.records import Reading

_NAMES = ("cd", "ls", "cat", "rg", "sed", "git", "head", "./run.sh", "/usr/bin/tail", "python",
          "tee", "rm", "find", "if", "export", "sudo", "bash", "set", "time", "[", "test", "echo",
          "in", "X=1", "pytest", "Set-Location", "2", "mv", "touch", "true")  # fmt: skip
_WORDS = ("-n", "src", "a/b.py", "'1,20p'", "'x y'", "--", "5", "-", "a=b", "-c", "=", "a'b'",
          '"q"', "-20", "HEAD:a.py", "..", "+3", "100%", "''", "x@y,z", "then", "if", "-i",
          "'a\\b'", "$X", "*.py", "#c", "{}", "a:", "-e", "--name=x", "~", "show", "do",
          "-", "1.5", "0x1f", "2>&1", "&", "%", "@", "/", ":", ",", ".")  # fmt: skip
_OPERATORS = (" ", " ", " ", " ", "  ", " && ", "; ", ";", " | ", "|", "&&", " || ", "\n", "\t", "")


def _by_grammar(command: str) -> Reading:
    return _parsed(command, lambda _script, _backslashes: None, powershell=False)


@st.composite
def _commands(draw: st.DrawFn) -> str:
    parts = [draw(st.sampled_from(_NAMES))]
    for _ in range(draw(st.integers(0, 8))):
        joint = draw(st.sampled_from(_OPERATORS))
        words = _WORDS if not joint.strip() else _NAMES
        parts += [joint, draw(st.sampled_from(words))]
    return "".join(parts) + draw(st.sampled_from(["", " ", ";", " |"]))


@given(_commands())
def test_a_plain_command_reads_as_by_the_grammar(command: str) -> None:
    """Whatever is read without the grammar has the same segments as with it."""
    if plain_pipelines(command) is not None:
        assert read_command(command) == _by_grammar(command)


@pytest.mark.parametrize(
    "command",
    ["cd /app && rg -n 'value' src | head -20", "sed -n '1,80p' a.py; git log -- a.py"],
)
def test_usual_commands_need_no_grammar(command: str) -> None:
    """The commands that agents type most are read the cheap way."""
    assert plain_pipelines(command) is not None
    assert read_command(command) == _by_grammar(command)


@pytest.mark.parametrize(
    "command",
    [
        "ls > a",
        "a || b",
        "X=1 ls",
        "bash -c ls",
        "echo $X",
        "ls &",
        "if x",
        "ls |",
        "",
        "a | b | c && d",
        "'ls' a",
    ],
)
def test_anything_else_is_left_to_the_grammar(command: str) -> None:
    """Redirections, alternatives, assignments, shells and variables are not plain."""
    assert plain_pipelines(command) is None
