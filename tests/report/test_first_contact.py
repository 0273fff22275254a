"""Programs and tools told apart by the text of a first command."""

import pytest

from wayproof.report.first_contact import UNKNOWN, first_contact


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("git grep -n x", "git grep"),
        ("cd src && FOO=1 git -C x log", "git"),
        ("bash -lc 'rg foo'", "rg"),
        ("Read(src/a.py)", "Read"),
        ('Grep {"pattern": "x"}', "Grep"),
        ("sudo timeout 5 rg x", "rg"),
        ("/usr/bin/python3 -m pytest", "python3"),
        (r"'C:\x\tool.exe' y", "tool.exe"),
        ("(cd x; ls)", "cd"),
        ("npm run build", "npm run"),
        ("cd a", "cd"),
        ("|", "|"),
        (" \n", UNKNOWN),
        (None, UNKNOWN),
    ],
)
def test_a_first_command_is_named_by_program_and_subcommand(command: str | None, name: str) -> None:
    """Guards, assignments, wrappers and folders are no part of a name."""
    assert first_contact(command) == name


def test_a_name_is_bounded_and_never_fails() -> None:
    """Whatever stands in a log: a short name."""
    for command in ("x" * 10_000, "timeout 1 " * 500, "bash -c '" * 300, "\x1b[31m", "'"):
        assert len(first_contact(command)) < 100
