"""Who may use a banned name: few, each with its reason, and none longer than needed."""

from fnmatch import fnmatch
from pathlib import Path

import pytest
from tools.walls import PERMITS, Permit, excepted_files, read_tree

SOURCE = Path(__file__).parents[2] / "src" / "wayproof"


def _patterns() -> set[str]:
    return {pattern for permit in PERMITS for pattern in permit.files}


def _files_of(pattern: str) -> list[str]:
    names = (path.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*.py"))
    return [name for name in names if fnmatch(name, pattern)]


def test_every_file_that_ruff_excepts_is_held_to_a_reason() -> None:
    """ruff excepts whole files; each of them is named again, with what for."""
    stray = [
        pattern
        for pattern in excepted_files()
        if not any(fnmatch(own, pattern) or fnmatch(pattern, own) for own in _patterns())
    ]
    assert stray == []


@pytest.mark.parametrize("permit", PERMITS, ids=lambda permit: permit.why)
def test_no_exception_outlives_its_use(permit: Permit) -> None:
    """An exception goes when nothing needs it any more."""
    assert [pattern for pattern in permit.files if not _files_of(pattern)] == []
    without = [row for row in PERMITS if row is not permit]
    assert read_tree(permits=without) != []
