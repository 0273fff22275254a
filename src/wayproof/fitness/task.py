"""The task: what a cold agent was asked, and what a good first route must point at."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

import msgspec

from wayproof.canonical import sha256_hex
from wayproof.errors import InputError
from wayproof.evidence.fitness_records import Grade, PositiveInt
from wayproof.fitness.near_miss import refuse_nearly, shown_key
from wayproof.fitness.plain import plain_object
from wayproof.strict_json import convert_typed

__all__ = [
    "DEFAULT_LATENCY_BUDGET_MS",
    "NavigationFitnessTask",
    "Need",
    "TaskLine",
    "defaulted_task_fields",
    "expected_from",
    "fold",
    "in_canonical_order",
    "is_stating",
    "line_of_task",
    "need_of",
    "refuse_near_miss",
    "task_from_mapping",
    "task_sha256",
    "unknown_keys",
]

DEFAULT_LATENCY_BUDGET_MS = 1500


class TaskLine(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A task as it stands in a file: every field may be missing or null.

    Fields stand in the order of their names, so that a plain encoding is canonical.

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
    literal_ids
        Expected or graded ids that end in ``*`` and mean themselves, not a prefix.
    relevance
        Grades of ids, ``{id: grade}``: whole numbers, 0 and less for what isn't relevant.
        Ranked measures read them; the verdict doesn't.
    draft
        True marks an unfilled draft, which is not scored.
    """

    draft: bool | None = None
    expected_artifacts: list[str] | None = None
    family: str | None = None
    forbidden_first_routes: list[str] | None = None
    latency_budget_ms: PositiveInt | None = None
    literal_ids: list[str] | None = None
    relevance: dict[str, Grade] | None = None
    route_role: str | None = None
    route_type: str | None = None
    scent_terms: list[str] | None = None
    task_id: str | None = None
    task_prompt: str | None = None


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
    literal_ids: tuple[str, ...] = ()
    relevance: Mapping[str, int] | None = field(default=None, hash=False)


DEFAULTS = NavigationFitnessTask()
"""What a missing field degrades to."""

TASK_FIELDS = (
    "task_id",
    "family",
    "task_prompt",
    "route_type",
    "expected_artifacts",
    "forbidden_first_routes",
    "latency_budget_ms",
    "route_role",
    "scent_terms",
)
"""The fields that have a default, in the order of the contract."""


class Need(msgspec.Struct, frozen=True, gc=False):
    """What judging needs of a task: ids sorted, terms folded, blanks dropped."""

    expected: tuple[str, ...]
    """Distinct expected ids, sorted."""
    prefixes: tuple[str, ...]
    """Those that are prefixes, without their ``*``."""
    literal: tuple[str, ...]
    """Expected or graded ids that end in ``*`` and are none, sorted."""
    forbidden: tuple[str, ...]
    terms: tuple[str, ...]
    """Scent terms, folded, in task order, each once."""
    latency_budget_ms: int
    route_type: str
    has_blanks: bool
    """Whether blank ids or terms were dropped."""


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
    expected: Sequence[str] | None = line.expected_artifacts
    forbidden: Sequence[str] | None
    terms: Sequence[str] | None
    forbidden, terms = line.forbidden_first_routes, line.scent_terms
    budget_ms, route_type = line.latency_budget_ms, line.route_type
    has_blanks = not all(map(str.strip, chain(expected or (), forbidden or (), terms or ())))
    if has_blanks:
        expected, forbidden, terms = map(_kept, (expected or (), forbidden or (), terms or ()))
    ids: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    literal = _literal(line) if line.literal_ids else ()
    if expected:
        ids = tuple(sorted(set(expected)))
        if "*" in "".join(ids):
            prefixes = tuple(
                [wanted[:-1] for wanted in ids if wanted[-1] == "*" and wanted not in literal]
            )
    return Need(
        ids,
        prefixes,
        literal,
        tuple(forbidden) if forbidden else (),
        _folded(terms) if terms else (),
        DEFAULTS.latency_budget_ms if budget_ms is None else budget_ms,
        DEFAULTS.route_type if route_type is None else route_type,
        has_blanks,
    )


def _literal(line: TaskLine) -> tuple[str, ...]:
    known = {*(line.expected_artifacts or ()), *(line.relevance or ())}
    return tuple(sorted({one for one in line.literal_ids or () if one[-1:] == "*"} & known))


def _folded(terms: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([fold(term) for term in terms]))


def defaulted_task_fields(line: TaskLine) -> list[str]:
    """List the fields that were missing or null, in the order of the contract."""
    values = _defaultable(line)
    if None not in values:
        return []
    return [name for name, value in zip(TASK_FIELDS, values, strict=True) if value is None]


_defaultable = attrgetter(*TASK_FIELDS)
_encode = msgspec.json.Encoder().encode


def task_sha256(line: TaskLine, need: Need) -> str:
    """Return the digest by which two suites know their tasks again.

    Of the canonical form of what the task gives: without what is missing or null, without
    blank ids and terms, and without keys that scoring doesn't know.
    """
    changes: dict[str, Any] = {}
    if need.has_blanks:
        for name in ("expected_artifacts", "forbidden_first_routes", "scent_terms"):
            texts = getattr(line, name)
            changes[name] = None if texts is None else _kept(texts)
    if line.literal_ids is not None:
        changes["literal_ids"] = line.literal_ids or None
    if line.relevance is not None:
        changes["relevance"] = in_canonical_order(line.relevance)
    if line.draft is not None:
        changes["draft"] = None
    if changes:
        line = msgspec.structs.replace(line, **changes)
    return sha256_hex(_encode(line))


def in_canonical_order(grades: Mapping[str, int]) -> dict[str, int]:
    """Order the keys as canonical JSON does: by UTF-16 code units (RFC 8785, 3.2.3)."""
    return dict(sorted(grades.items(), key=lambda item: item[0].encode("utf-16-be")))


def is_stating(line: TaskLine) -> bool:
    """Tell whether a task states anything that a packet could fail."""
    for texts in (line.expected_artifacts, line.forbidden_first_routes, line.scent_terms):
        if texts and any(map(str.strip, texts)):
            return True
    return False


# -- keys that scoring doesn't know ----------------------------------------------------

_KNOWN_KEYS = TaskLine.__struct_fields__
_PACKET_KEYS = frozenset(
    ("first_contact_command", "command_used", "wall_ms", "timed_out", "route_hint")
)


_NOTES = frozenset(("expected_from", "suggested_artifacts", "suggested_tests", "repo_revision"))
"""What drafts say beside a task, for people: no score depends on it."""


def unknown_keys(mapping: Mapping[str, Any]) -> list[str]:
    """List the keys of a task that scoring doesn't know, but for a draft's own notes."""
    return [key for key in mapping if key not in _KNOWN_KEYS and key not in _NOTES]


def expected_from(mapping: Mapping[str, Any]) -> str | None:
    """Return where a task's expectations are from, where it says so and no person did."""
    found = mapping.get("expected_from")
    return found if isinstance(found, str) and found else None


def refuse_near_miss(keys: Iterable[str], *, prefix: str = "") -> None:
    """Refuse a key that is a packet's own, or nearly a known one.

    A misspelt expectation would be passed over, and the task would expect nothing.
    """
    for key in keys:
        folded = key.casefold()
        if folded in _PACKET_KEYS or folded.startswith("selected_"):
            raise InputError(
                "a packet's key in a task",
                field=shown_key(key, prefix),
                expected="a task",
                mend="are {tasks} and {packets} swapped?",
            )
        refuse_nearly(key, _KNOWN_KEYS, prefix=prefix)


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
        The row. Unknown keys are passed over, unless they are nearly known ones.

    Returns
    -------
    NavigationFitnessTask
        With ``defaulted_fields`` naming what was filled in.

    Raises
    ------
    InputError
        For a field of the wrong type (which is never read as "missing"), a value out of
        range, a key that is nearly a known one, or a draft.
    """
    return task_of(task_line(mapping))


def task_line(mapping: Any, *, prefix: str = "") -> TaskLine:
    """Read a mapping as a task line, strictly."""
    row = plain_object(mapping, prefix or "task")
    line = convert_typed(row, TaskLine, prefix=prefix)
    refuse_near_miss(unknown_keys(row), prefix=prefix)
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
    return NavigationFitnessTask(
        **given,
        defaulted_fields=tuple(defaulted_task_fields(line)),
        literal_ids=tuple(line.literal_ids or ()),
        relevance=line.relevance,
    )


def line_of_task(task: NavigationFitnessTask) -> TaskLine:
    """Turn a task back into a line, checking its types: defaults count as missing again."""
    row = {
        name: list(value) if isinstance(value, tuple) else value
        for name in TASK_FIELDS
        if name not in task.defaulted_fields and (value := getattr(task, name)) is not None
    }
    row |= {"literal_ids": list(task.literal_ids), "relevance": task.relevance}
    return task_line(row, prefix="task")
