"""Programs and tools told apart by the text of a first command."""

import pytest

from wayproof.first_contacts import UNKNOWN, ContactRow, ContactTally, first_contact


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


def test_a_tally_counts_what_came_of_each_program() -> None:
    """The share is over what could fail, the median over what was measured, most frequent first."""
    tally = ContactTally()
    for program, could_fail, is_sufficient, has_hit, wall_ms in (
        ("rg", True, True, False, 30.0),
        ("rg", True, False, True, 10.0),
        ("rg", False, True, False, None),
        ("find", False, True, False, None),
        ("ask", False, True, False, None),
    ):
        tally.add(
            program,
            could_fail=could_fail,
            is_sufficient=is_sufficient,
            has_hit=has_hit,
            wall_ms=wall_ms,
        )
    assert tally.rows() == [
        ContactRow("rg", 3, 2, 0.5, 10.0, 1),
        ContactRow("ask", 1, 0, None, None, 0),
        ContactRow("find", 1, 0, None, None, 0),
    ]
