"""The task: what a cold agent was asked, and what a good first route must point at."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from wayproof.errors import InputError
from wayproof.evidence.fitness_records import PositiveInt
from wayproof.strict_json import convert_typed, plain_mapping

__all__ = [
    "DEFAULT_LATENCY_BUDGET_MS",
    "NavigationFitnessTask",
    "Need",
    "TaskLine",
    "defaulted_task_fields",
    "fold",
    "line_of_task",
    "need_of",
    "task_from_mapping",
]

DEFAULT_LATENCY_BUDGET_MS = 1500


class TaskLine(msgspec.Struct, frozen=True, gc=False, rename=None):
    """A task as it stands in a file: every field may be missing or null.

    Attributes
    ----------
    task_id
        The id that joins a task with its packets.
    family
        Grouping label.
    task_prompt
        What the cold agent was asked.
    route_type
        Kind of navigation surface; groups ``route_type_metrics``.
    expected_artifacts
        Stable ids the task needs; an id ending in ``*`` is a prefix.
    forbidden_first_routes
        Texts that must not occur in the first command.
    latency_budget_ms
        Milliseconds the route may take.
    route_role
        What the route was for.
    scent_terms
        Terms the packet's text must carry.
    draft
        True marks an unfilled draft, which scoring refuses.
    """

    task_id: str | None = None
    family: str | None = None
    task_prompt: str | None = None
    route_type: str | None = None
    expected_artifacts: list[str] | None = None
    forbidden_first_routes: list[str] | None = None
    latency_budget_ms: PositiveInt | None = None
    route_role: str | None = None
    scent_terms: list[str] | None = None
    draft: bool | None = None


@dataclass(frozen=True)
class NavigationFitnessTask:
    """A typed cold-start task.

    ``defaulted_fields`` names the fields that :func:`task_from_mapping` filled in; a task
    that is made directly has none, because its maker chose every value.
    """

    task_id: str = "unknown_task"
    family: str = "public_fixture"
    task_prompt: str = ""
    route_type: str = "context_pack"
    expected_artifacts: tuple[str, ...] = ()
    forbidden_first_routes: tuple[str, ...] = ()
    latency_budget_ms: int = DEFAULT_LATENCY_BUDGET_MS
    route_role: str = "first_contact"
    scent_terms: tuple[str, ...] = ()
    defaulted_fields: tuple[str, ...] = field(default=(), compare=False)


DEFAULTS = NavigationFitnessTask()
"""What a missing field degrades to."""

TASK_FIELDS = tuple(name for name in TaskLine.__struct_fields__ if name != "draft")


class Need(msgspec.Struct, frozen=True, gc=False):
    """What judging needs of a task: ids sorted, terms folded, blanks dropped."""

    expected: tuple[str, ...]
    """Distinct expected ids, sorted."""
    prefixes: tuple[str, ...]
    """Those that are prefixes, without their ``*``."""
    forbidden: tuple[str, ...]
    terms: tuple[str, ...]
    """Scent terms, folded, in task order, each once."""
    latency_budget_ms: int
    route_type: str


def fold(text: str) -> str:
    """Fold case and composition, so that ``É``, ``é`` and ``e`` + accent are one.

    NFC, then full case folding, then NFC again, because folding can decompose.
    Plain ASCII needs only the middle step.
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _kept(texts: Sequence[str]) -> Sequence[str]:
    """Drop blank texts (empty, or only white space)."""
    if all(map(str.strip, texts)):
        return texts
    return [text for text in texts if text and not text.isspace()]


def need_of(line: TaskLine) -> Need:
    """Prepare a task line for judging, its defaults filled in."""
    expected = line.expected_artifacts
    forbidden, terms = line.forbidden_first_routes, line.scent_terms
    budget_ms, route_type = line.latency_budget_ms, line.route_type
    ids: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    if expected:
        ids = tuple(sorted(set(_kept(expected))))
        if "*" in "".join(ids):
            prefixes = tuple([wanted[:-1] for wanted in ids if wanted[-1] == "*"])
    return Need(
        ids,
        prefixes,
        tuple(_kept(forbidden)) if forbidden else (),
        _folded(terms) if terms else (),
        DEFAULTS.latency_budget_ms if budget_ms is None else budget_ms,
        DEFAULTS.route_type if route_type is None else route_type,
    )


def _folded(terms: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([fold(term) for term in _kept(terms)]))


def defaulted_task_fields(line: TaskLine) -> list[str]:
    """List the fields that were missing or null, in the order of the contract."""
    values = _values(line)
    if None not in values[: len(TASK_FIELDS)]:
        return []
    return [name for name, value in zip(TASK_FIELDS, values, strict=False) if value is None]


_values = msgspec.structs.astuple


def refuse_draft(line: TaskLine) -> None:
    """Refuse an unfilled draft: its empty expectations would score as perfect."""
    if line.draft:
        raise InputError(
            "task is an unfilled draft",
            field="draft",
            expected="a task that a person has filled in",
            found="true",
            mend="fill in expected_artifacts and remove draft",
        )


def task_from_mapping(mapping: Mapping[str, Any]) -> NavigationFitnessTask:
    """Make a task from a raw row; missing and null fields take their public defaults.

    Parameters
    ----------
    mapping
        The row. Unknown keys are ignored.

    Returns
    -------
    NavigationFitnessTask
        With ``defaulted_fields`` naming what was filled in.

    Raises
    ------
    InputError
        For a field of the wrong type (which is never read as "missing"), a value out of
        range, or a draft.
    """
    return task_of(task_line(mapping))


def task_line(mapping: Any, *, prefix: str = "") -> TaskLine:
    """Read a mapping as a task line, strictly."""
    line = convert_typed(plain_mapping(mapping, prefix or "task"), TaskLine, prefix=prefix)
    refuse_unencodable(line, prefix or "task")
    refuse_draft(line)
    return line


def refuse_unencodable(record: msgspec.Struct, field_path: str) -> None:
    """Refuse text that can't be written as UTF-8 (lone surrogates from Python callers)."""
    try:
        msgspec.json.encode(record)
    except UnicodeEncodeError:
        raise InputError(
            "lone surrogate", field=field_path, expected="valid Unicode text"
        ) from None


def task_of(line: TaskLine) -> NavigationFitnessTask:
    """Fill in a task line's defaults as the public dataclass."""
    given: dict[str, Any] = {
        name: tuple(_kept(value)) if isinstance(value, list) else value
        for name in TASK_FIELDS
        if (value := getattr(line, name)) is not None
    }
    return NavigationFitnessTask(**given, defaulted_fields=tuple(defaulted_task_fields(line)))


def line_of_task(task: NavigationFitnessTask) -> TaskLine:
    """Turn a task back into a line, checking its types: defaults count as missing again."""
    row = {
        name: list(value) if isinstance(value, tuple) else value
        for name in TASK_FIELDS
        if name not in task.defaulted_fields and (value := getattr(task, name)) is not None
    }
    return task_line(row, prefix="task")
