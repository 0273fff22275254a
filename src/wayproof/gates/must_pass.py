"""Tasks that must be sufficient: named one by one in a file, or by a pattern."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import msgspec

from wayproof.bundles.reader import read_lines
from wayproof.errors import InputError
from wayproof.evidence.comparison_records import GateLine
from wayproof.text import clip, harmless

__all__ = ["IdPattern", "Passed", "Wanted", "must_pass_gates", "read_passed", "read_wanted"]

_SHOWN = 3


class IdPattern(str):
    """A pattern over ids, even where a file has that name."""

    __slots__ = ()


class Passed(msgspec.Struct, frozen=True, gc=False):
    """Of one result: whose it is, and whether it passed and could have failed."""

    task_id: str
    expected_artifacts: list[str] = []
    forbidden_status: str = "unscored"
    scent_status: str = "unscored"
    sufficiency_failure_kind: str | None = None

    @property
    def why_not(self) -> str | None:
        """Why it is no pass; None when it is one."""
        if self.sufficiency_failure_kind is not None:
            return self.sufficiency_failure_kind
        checks = (self.scent_status, self.forbidden_status)
        if self.expected_artifacts or any(check != "unscored" for check in checks):
            return None
        return "vacuous"


class Wanted(NamedTuple):
    """Tasks that must pass: those of a file, or all that a pattern covers.

    Attributes
    ----------
    shown
        The file or the pattern, as the user wrote it.
    ids
        The file's ids; None: ``shown`` is a pattern.
    """

    shown: str
    ids: frozenset[str] | None

    def covers(self, task_id: str) -> bool:
        """Tell whether a task must pass."""
        if self.ids is None:
            return fnmatchcase(task_id, self.shown)
        return task_id in self.ids


def read_passed(results: Path) -> Iterable[Passed]:
    """Yield what the gate needs of each result of a bundle."""
    return read_lines(results, Passed)


def must_pass_gates(rows: Sequence[Wanted], results: Iterable[Passed]) -> list[GateLine]:
    """Hold results against files of ids and patterns, one line each.

    Every result of a task must pass; one that could not fail is no pass; a value that
    covers no task fails, and so does an id without results.
    """
    seen: list[set[str]] = [set() for _ in rows]
    failing: list[dict[str, str]] = [{} for _ in rows]
    for result in results:
        for row, ids, failed in zip(rows, seen, failing, strict=True):
            if row.covers(result.task_id):
                ids.add(result.task_id)
                why = result.why_not
                if why is not None:
                    failed.setdefault(result.task_id, why)
    return [_gate(*parts) for parts in zip(rows, seen, failing, strict=True)]


def read_wanted(values: Sequence[str]) -> list[Wanted]:
    """Read which tasks must pass.

    A value that is a file holds task ids, one a line; any other is a pattern over ids
    (``*``, ``?``, ``[…]``).

    Raises
    ------
    InputError
        When a file can't be read.
    """
    return [_wanted(value) for value in values]


def _wanted(value: str) -> Wanted:
    if isinstance(value, IdPattern):
        return Wanted(value, None)
    path = Path(value)
    try:
        if not path.is_file():
            return Wanted(value, None)
        text = path.read_text("utf-8-sig")
    except (OSError, ValueError) as error:
        raise InputError(
            "can't be read", file=value, setting="must_pass", found=str(error)
        ) from None
    lines = (line.removesuffix("\r") for line in text.split("\n"))
    return Wanted(value, frozenset(line for line in lines if line.strip()))


def _gate(wanted: Wanted, seen: set[str], failing: dict[str, str]) -> GateLine:
    absent = sorted((wanted.ids or frozenset()) - seen)
    name = f"must-pass {harmless(clip(wanted.shown, 80))}"
    total = len(seen) + len(absent)
    told = f"{len(seen) - len(failing)} of {total} tasks"
    bad = [*(f"{one} ({why})" for one, why in sorted(failing.items()))]
    bad += [f"{one} (no result)" for one in absent]
    if not total:
        told = "covers no task"
    elif bad:
        told += f"; not {', '.join(harmless(clip(one, 80)) for one in bad[:_SHOWN])}"
        told += f" and {len(bad) - _SHOWN} more" if len(bad) > _SHOWN else ""
    passed = total > 0 and not bad
    return GateLine(
        bound="all",
        line=f"gate {'pass' if passed else 'FAIL'}: {name}: {told} (bound: all)",
        name=name,
        state="pass" if passed else "fail",
        value=len(seen) - len(failing),
    )
