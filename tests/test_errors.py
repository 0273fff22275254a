"""Errors say where, what, and how to mend it; settings are spelled by whoever shows them."""

import copy
import pickle

import pytest

from wayproof.cli import flag_of
from wayproof.errors import InputError, IntegrityError, LocatedError, OutputError

ERROR = InputError(
    "unknown policy", setting="policies", found="a*", mend="choose another, or set {allow_any}"
)


def test_python_reads_settings_as_arguments() -> None:
    """A script sees the argument that it passed."""
    assert str(ERROR) == (
        "`policies`: unknown policy; found a* (choose another, or set `allow_any`)"
    )


def test_the_command_line_reads_settings_as_flags() -> None:
    """The same error names the flag; the room that raised it knows of none."""
    assert ERROR.message(flag_of) == (
        "--policy: unknown policy; found a* (choose another, or set --allow-any)"
    )


def test_what_comes_from_outside_is_no_setting() -> None:
    """Braces in a file name, a field or a value stay what they are."""
    error = InputError("bad", file="{out}", field="{out}", found="{out}", expected="{out}")
    assert error.message(flag_of) == "{out}, {out}: bad; expected {out}; found {out}"


@pytest.mark.parametrize("kind", [InputError, OutputError, IntegrityError])
def test_every_part_survives_the_way_between_processes(kind: type[LocatedError]) -> None:
    """Workers' errors arrive whole, and ``at`` adds only what is missing."""
    error = kind(
        "bad",
        file="f",
        line=3,
        index="case 1",
        field="x",
        setting="out",
        expected="e",
        found="g",
        mend="m",
    )
    sent = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    for same in (sent, copy.copy(error), error.at(file="other")):
        assert type(same) is kind
        assert vars(same) == vars(error)
        assert str(same) == "f:3, case 1, `out`, x: bad; expected e; found g (m)"
