"""The task: what a cold agent was asked, and what a good first route must point at."""

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from wayproof.canonical import MAX_SAFE_INTEGER
from wayproof.errors import InputError
from wayproof.jsonin import convert_typed, plain_mapping

__all__ = [
    "DEFAULT_LATENCY_BUDGET_MS",
    "NavigationFitnessTask",
    "Need",
    "TaskLine",
    "fold",
    "need_of",
    "task_from_mapping",
]

DEFAULT_LATENCY_BUDGET_MS = 1500

PositiveInt = Annotated[int, msgspec.Meta(ge=1, le=MAX_SAFE_INTEGER)]


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


_DEFAULTS = NavigationFitnessTask()
TASK_FIELDS = tuple(name for name in TaskLine.__struct_fields__ if name != "draft")


class Need(msgspec.Struct, frozen=True, gc=False):
    """A task made ready for judging: ids as sets, terms folded, blanks dropped."""

    task_id: str
    family: str
    task_prompt: str
    route_type: str
    route_role: str
    latency_budget_ms: int
    expected: list[str]
    """Distinct expected ids, sorted."""
    exact: frozenset[str]
    """Expected ids that are no prefixes."""
    prefixes: tuple[str, ...]
    """Expected prefixes, without their ``*``."""
    forbidden: list[str]
    terms: list[str]
    """Scent terms, folded, in task order, each once."""
    defaulted: list[str]


def fold(text: str) -> str:
    """Fold case and composition, so that ``É``, ``é`` and ``e`` + accent are one.

    NFC, then full case folding, then NFC again, because folding can decompose.
    Plain ASCII needs only the middle step.
    """
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def _kept(texts: list[str]) -> list[str]:
    return [text for text in texts if text and not text.isspace()]


def need_of(line: TaskLine) -> Need:
    """Fill in the defaults of a task line, visibly, and prepare it for judging."""
    default = _DEFAULTS
    task_id, family, prompt = line.task_id, line.family, line.task_prompt
    route_type, role, budget_ms = line.route_type, line.route_role, line.latency_budget_ms
    expected = sorted(set(_kept(line.expected_artifacts or [])))
    prefixes = tuple([wanted[:-1] for wanted in expected if wanted[-1] == "*"])
    exact = frozenset(expected)
    if prefixes:
        exact = frozenset([wanted for wanted in expected if wanted[-1] != "*"])
    terms = line.scent_terms
    return Need(
        default.task_id if task_id is None else task_id,
        default.family if family is None else family,
        default.task_prompt if prompt is None else prompt,
        default.route_type if route_type is None else route_type,
        default.route_role if role is None else role,
        default.latency_budget_ms if budget_ms is None else budget_ms,
        expected,
        exact,
        prefixes,
        _kept(line.forbidden_first_routes or []),
        list(dict.fromkeys([fold(term) for term in _kept(terms)])) if terms else [],
        [name for name in TASK_FIELDS if getattr(line, name) is None],
    )


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
        name: tuple(value) if isinstance(value, list) else value
        for name in TASK_FIELDS
        if (value := getattr(line, name)) is not None
    }
    for name in ("expected_artifacts", "scent_terms", "forbidden_first_routes"):
        if name in given:
            given[name] = tuple(_kept(list(given[name])))
    defaulted = tuple(name for name in TASK_FIELDS if name not in given)
    return NavigationFitnessTask(**given, defaulted_fields=defaulted)


def need_of_task(task: NavigationFitnessTask) -> Need:
    """Prepare a task made by hand or by :func:`task_from_mapping`, checking its types."""
    row = {
        name: list(value) if isinstance(value, tuple) else value
        for name in TASK_FIELDS
        if (value := getattr(task, name)) is not None
    }
    need = need_of(task_line(row, prefix="task"))
    return msgspec.structs.replace(need, defaulted=list(task.defaulted_fields))
