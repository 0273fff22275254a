"""Check a stored result against itself: whatever follows from its other fields is made again.

A result doesn't hold everything that its task and packet said. Where a value is not settled
by what it holds, it is held to the values that an honest run could have written.
"""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import msgspec

from wayproof.canonical import canonical_number
from wayproof.errors import IntegrityError
from wayproof.evidence.fitness_records import SECOND_FORM_FIELDS, TaskResult
from wayproof.fitness.aggregate import LATENCY_CODES, Shape
from wayproof.fitness.judge import ratio, vacuous_metrics
from wayproof.fitness.ladder import Facts, fact_mask, failed_checks
from wayproof.fitness.latency import latency_status
from wayproof.fitness.packet import PACKET_FIELDS
from wayproof.fitness.task import DEFAULTS, TASK_FIELDS, fold, in_canonical_order
from wayproof.lines import MAX_LINE_BYTES
from wayproof.text import quoted

__all__ = ["CheckedTask", "Place", "check_task", "first_contact_known"]

_DEFAULTABLE: Final = (*TASK_FIELDS, *(f"packet.{name}" for name in PACKET_FIELDS))
"""What a result may call defaulted, in its order."""
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MOST_TERMS: Final = MAX_LINE_BYTES // 4
"""More distinct terms don't fit into a task's line: each takes its quotes and a comma."""


class Place(NamedTuple):
    """Where a result stands."""

    file: str
    line: int
    task: str

    def fail(self, problem: str, **parts: Any) -> NoReturn:
        """Raise an error of this place."""
        index = self.task or None
        raise IntegrityError(problem, file=self.file, line=self.line, index=index, **parts)


class CheckedTask(NamedTuple):
    """One task's results, found to agree with themselves and with each other.

    Attributes
    ----------
    low, high
        What each result adds to the summary, for the smallest and for the largest number of
        scent terms that the task can have. Only the scent counts differ, and only for a
        task whose terms are too many for a share of four decimals to tell.
    """

    low: list[Shape]
    high: list[Shape]


def check_task(
    attempts: Sequence[tuple[Place, TaskResult]], route_codes: dict[str, int], *, first_form: bool
) -> CheckedTask:
    """Check the results of one task.

    Parameters
    ----------
    attempts
        The task's results, and where they stand.
    route_codes
        Numbers of the route types met so far; new ones are added.
    first_form
        Whether they are of ``wayproof.fitness/1``.

    Raises
    ------
    IntegrityError
        Naming file, line, task and field of the first thing that doesn't follow.
    """
    for place, result in attempts:
        _check_form(place, result, first_form=first_form)
        _check_texts(place, result)
        _check_defaults(place, result)
    if len(attempts) > 1:
        _check_one_task(attempts)
    terms = _term_range(attempts)
    low, high = [], []
    for place, result in attempts:
        missing_count = len(result.missing_scent_terms)
        shape = _check_derived(place, result, route_codes, terms.start)
        low.append(shape)
        most = terms.stop - 1
        if shape.term_count and most != terms.start and missing_count:
            shape = shape._replace(found_term_count=most - missing_count, term_count=most)
        high.append(shape)
    return CheckedTask(low, high)


def first_contact_known(result: TaskResult) -> bool:
    """Tell whether the packet named a first command."""
    return not _is_blank(result.first_contact_command or "")


def _is_blank(text: str) -> bool:
    return not text or text.isspace()


# -- form and texts -------------------------------------------------------------------


def _check_form(place: Place, result: TaskResult, *, first_form: bool) -> None:
    """Refuse a result with fields of the other form than its bundle's summary names."""
    for name in SECOND_FORM_FIELDS:
        if (getattr(result, name) is msgspec.UNSET) != first_form:
            place.fail(
                "field that this form doesn't have" if first_form else "field is missing",
                field=name,
            )


def _check_texts(place: Place, result: TaskResult) -> None:
    """Check texts that scoring drops, folds or looks for in what the result holds."""
    command = result.first_contact_command or ""
    hits = result.forbidden_first_route_hits
    if hits and not first_contact_known(result):
        place.fail(
            "a hit without a first command",
            field="forbidden_first_route_hits",
            expected="none: the check can't be made",
            found=quoted(hits[0]),
        )
    for field in ("expected_artifacts", "selected_artifacts", "forbidden_first_route_hits"):
        texts = getattr(result, field)
        if not all(map(str.strip, texts)):
            at = next(at for at, text in enumerate(texts) if not text.strip())
            place.fail("blank text, which scoring drops", field=f"{field}[{at}]")
    for at, text in enumerate(hits):
        field = f"forbidden_first_route_hits[{at}]"
        if text not in command:
            place.fail(
                "the first command doesn't contain this text",
                field=field,
                expected=f"a part of {quoted(command)}",
                found=quoted(text),
            )
    _check_missing_terms(place, result, command)


def _check_missing_terms(place: Place, result: TaskResult, command: str) -> None:
    terms = result.missing_scent_terms
    if not terms:
        return
    known = [fold(text) for text in (command, *result.selected_artifacts)]
    for at, term in enumerate(terms):
        field = f"missing_scent_terms[{at}]"
        if _is_blank(term) or fold(term) != term:
            place.fail(
                "not a folded scent term",
                field=field,
                expected=quoted(fold(term)) if term.strip() else "a term that is not blank",
                found=quoted(term),
            )
        if term in terms[:at]:
            place.fail("term stands twice", field=field, found=quoted(term))
        if any(term in text for text in known):
            place.fail(
                "term is not missing: the first command or a selected id has it",
                field=field,
                found=quoted(term),
            )


# -- defaults -------------------------------------------------------------------------


class _Default(NamedTuple):
    """What a result says when a field of its task or packet was missing."""

    field: str
    result_field: str
    holds: Callable[[TaskResult], bool]
    is_both_ways: bool = False
    """Whether the result can only say so when the field was missing."""


def _equals(field: str, value: object) -> Callable[[TaskResult], bool]:
    return lambda result: bool(getattr(result, field) == value)


_DEFAULTS: Final = (
    _Default("task_id", "task_id", lambda _: False),  # files are joined by it: it is given
    _Default("family", "family", _equals("family", DEFAULTS.family)),
    _Default("task_prompt", "task_prompt", _equals("task_prompt", DEFAULTS.task_prompt)),
    _Default("route_type", "route_type", _equals("route_type", DEFAULTS.route_type)),
    _Default("expected_artifacts", "expected_artifacts", lambda r: not r.expected_artifacts),
    _Default("forbidden_first_routes", "forbidden_status", _equals("forbidden_status", "unscored")),
    _Default(
        "latency_budget_ms",
        "latency_budget_ms",
        _equals("latency_budget_ms", DEFAULTS.latency_budget_ms),
    ),
    _Default("route_role", "route_role", _equals("route_role", DEFAULTS.route_role)),
    _Default("scent_terms", "scent_status", _equals("scent_status", "unscored")),
    _Default(
        "packet.first_contact_command",
        "first_contact_command",
        _equals("first_contact_command", None),
        is_both_ways=True,
    ),
    _Default(
        "packet.command_used",
        "command_used",
        lambda r: r.command_used == r.first_contact_command,
    ),
    _Default("packet.wall_ms", "wall_ms", _equals("wall_ms", None), is_both_ways=True),
    _Default("packet.timed_out", "timed_out", _equals("timed_out", False)),
    _Default("packet.error", "error", _equals("error", None)),
)


def _check_defaults(place: Place, result: TaskResult) -> None:
    """Check that what is said to be defaulted has its default, and the reverse where it must."""
    named = list(result.defaulted_fields)
    expected = [name for name in _DEFAULTABLE if name in named]
    if named != expected:
        place.fail(
            "result doesn't agree with itself",
            field="defaulted_fields",
            expected=f"each field once, in the order of the contract: {', '.join(expected)}",
            found=", ".join(map(quoted, named)),
        )
    for default in _DEFAULTS:
        is_named = default.field in named
        if not (is_named or default.is_both_ways):
            continue
        if default.holds(result) != is_named:
            place.fail(
                "field doesn't fit what was defaulted",
                field=default.result_field,
                expected=f"the default of {default.field}, and that it is named, or neither",
                found=quoted(getattr(result, default.result_field)),
            )
    if result.command_used is None and "packet.command_used" not in named:
        place.fail("field doesn't fit what was defaulted", field="command_used", found="null")
    sources = {"packet.selected_artifacts", "packet.selected_rows"}
    if result.selected_artifacts and sources <= set(named):
        place.fail(
            "field doesn't fit what was defaulted",
            field="selected_artifacts",
            expected="no selected id, when ids and rows were both missing",
            found=quoted(result.selected_artifacts[0]),
        )


# -- several results of one task ------------------------------------------------------

_OF_THE_TASK: Final = (
    "expected_artifacts",
    "family",
    "latency_budget_ms",
    "literal_ids",
    "relevance",
    "route_role",
    "route_type",
    "task_prompt",
    "task_sha256",
)


def _check_one_task(attempts: Sequence[tuple[Place, TaskResult]]) -> None:
    """Check that several results of one task tell of the same task."""
    _, first = attempts[0]
    forbids = any(result.forbidden_status != "unscored" for _, result in attempts)
    task_defaults = [name for name in first.defaulted_fields if name in TASK_FIELDS]
    for place, result in attempts:
        for field in _OF_THE_TASK:
            if getattr(result, field) != getattr(first, field):
                place.fail(
                    "results of one task tell of different tasks",
                    field=field,
                    expected=quoted(getattr(first, field)),
                    found=quoted(getattr(result, field)),
                )
        if [name for name in result.defaulted_fields if name in TASK_FIELDS] != task_defaults:
            place.fail("results of one task tell of different tasks", field="defaulted_fields")
        if (result.scent_status == "unscored") != (first.scent_status == "unscored"):
            place.fail("results of one task tell of different tasks", field="scent_status")
        if forbids and first_contact_known(result) and result.forbidden_status == "unscored":
            place.fail(
                "results of one task tell of different tasks",
                field="forbidden_status",
                expected="pass or fail: another result of the task was checked",
                found="unscored",
            )


# -- scent: a result keeps coverage and missing terms, not how many terms there were ------


def _term_range(attempts: Sequence[tuple[Place, TaskResult]]) -> range:
    """Return the numbers of terms that fit every result of a task; just 0 when unscored."""
    if attempts[0][1].scent_coverage is None:
        for place, result in attempts:
            if result.missing_scent_terms or result.scent_coverage is not None:
                _no_such_coverage(place, result)
        return range(1)
    missing = {term for _, result in attempts for term in result.missing_scent_terms}
    low, high = max(1, len(missing)), _MOST_TERMS
    for place, result in attempts:
        low, high = _narrowed(place, result, low, high)
    return range(low, high + 1)


def _narrowed(place: Place, result: TaskResult, low: int, high: int) -> tuple[int, int]:
    coverage, missing_count = result.scent_coverage, len(result.missing_scent_terms)
    if coverage is None or type(canonical_number(coverage)) is not type(coverage):
        _no_such_coverage(place, result)
    if not missing_count:
        if coverage != 1:
            _no_such_coverage(place, result)
        return low, high

    found = _fitting_counts(coverage, missing_count, low, high)
    if found is None:
        _no_such_coverage(place, result)
    return found


@functools.lru_cache(maxsize=1 << 14)
def _fitting_counts(
    coverage: float, missing_count: int, low: int, high: int
) -> tuple[int, int] | None:
    """Return the smallest and largest number of terms, ``low`` to ``high``, with this share."""

    def share(count: int) -> float:
        return ratio(count - missing_count, count)

    # The share rises with the number of terms: both ends are found by halving.
    low = _first(low, high, lambda count: share(count) >= coverage)
    last = _first(low, high, lambda count: share(count) > coverage) - 1
    return None if share(min(low, high)) != coverage or last < low else (low, last)


def _first(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """Return the first number from ``low`` for which ``holds``; ``high + 1`` when none does."""
    high += 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def _no_such_coverage(place: Place, result: TaskResult) -> NoReturn:
    place.fail(
        "scent_coverage doesn't fit the missing terms",
        field="scent_coverage",
        expected=f"a share that {len(result.missing_scent_terms)} missing terms can leave",
        found=msgspec.json.encode(result.scent_coverage).decode(),
    )


# -- what follows from the other fields -----------------------------------------------


def _check_derived(
    place: Place, result: TaskResult, route_codes: dict[str, int], term_count: int
) -> Shape:
    """Make every field again that follows from others, and compare."""
    selected, expected = list(result.selected_artifacts), list(result.expected_artifacts)
    literal = frozenset(() if result.literal_ids is msgspec.UNSET else result.literal_ids)
    chosen = set(selected)
    found = [wanted for wanted in expected if _is_found(wanted, chosen, literal)]
    relevant_count = _relevant_count(expected, selected, literal)
    was_found = set(found)
    missing = [wanted for wanted in expected if wanted not in was_found]
    mask = fact_mask(
        Facts(
            timed_out=result.timed_out,
            error=bool(result.error),
            missing=bool(missing),
            weak=bool(result.missing_scent_terms),
            forbidden=bool(result.forbidden_first_route_hits),
        )
    )
    failed = list(failed_checks(mask))
    vacuous = not (mask or expected or term_count or result.forbidden_status != "unscored")
    derived: dict[str, Any] = {
        "selected_artifacts": sorted(chosen),
        "expected_artifacts": sorted(set(expected)),
        "selected_artifact_count": len(selected),
        "found_expected_artifacts": found,
        "missing_expected_artifacts": missing,
        "recall_at_packet": ratio(len(found), len(expected)),
        "precision_at_packet": ratio(relevant_count, len(selected)),
        "vacuous_metrics": list(vacuous_metrics(len(expected), len(selected))),
        "failed_checks": failed,
        "sufficiency_failure_kind": failed[0] if failed else None,
        "sufficiency_status": "fail" if failed else "pass",
        "latency_status": latency_status(
            result.wall_ms, result.timed_out, result.latency_budget_ms
        ),
        "forbidden_status": _forbidden_status(result),
        "wall_ms": None if result.wall_ms is None else canonical_number(round(result.wall_ms, 3)),
        "scent_status": (
            "unscored" if not term_count else "fail" if result.missing_scent_terms else "pass"
        ),
        **_second_form(result, selected, expected, vacuous=vacuous),
    }
    for name, value in derived.items():
        stored = getattr(result, name)
        if stored != value or stored.__class__ is not value.__class__ or value.__class__ is dict:
            _compare(place, name, value, stored)
    return Shape(
        mask,
        LATENCY_CODES[result.latency_status],
        first_contact_known(result),
        route_codes.setdefault(result.route_type, len(route_codes)),
        len(found),
        len(expected),
        relevant_count,
        len(selected),
        term_count - len(result.missing_scent_terms),
        term_count,
        vacuous,
    )


def _compare(place: Place, field: str, value: Any, stored: Any) -> None:
    if isinstance(stored, (list, tuple)):
        stored = list(stored)
    is_reordered = isinstance(value, dict) and isinstance(stored, dict) and [*stored] != [*value]
    if stored != value or type(stored) is not type(value) or is_reordered:
        place.fail(
            "result doesn't agree with itself",
            field=field,
            expected=quoted(value),
            found=quoted(stored),
        )


def _second_form(
    result: TaskResult, selected: list[str], expected: list[str], *, vacuous: bool
) -> dict[str, Any]:
    """Make again what ``wayproof.fitness/2`` added, as far as a result tells."""
    order, grades, digest = result.selection_order, result.relevance, result.task_sha256
    literal = result.literal_ids
    if (
        order is msgspec.UNSET
        or grades is msgspec.UNSET
        or digest is msgspec.UNSET
        or literal is msgspec.UNSET
    ):
        return {}
    places, ranks = list(order), list(range(len(selected)))
    known = {*expected, *(grades or ())}
    return {
        "literal_ids": sorted({one for one in literal if one.endswith("*")} & known),
        "relevance": None if grades is None else in_canonical_order(grades),
        "selection_order": places if sorted(places) == ranks else ranks,
        "task_sha256": digest if _SHA256.fullmatch(digest) else "64 hexadecimal digits",
        "vacuous": vacuous,
    }


def _is_found(wanted: str, chosen: set[str], literal: frozenset[str]) -> bool:
    if wanted.endswith("*") and wanted not in literal:
        return any(one.startswith(wanted[:-1]) for one in chosen)
    return wanted in chosen


def _relevant_count(expected: list[str], selected: list[str], literal: frozenset[str]) -> int:
    prefixes = tuple(
        wanted[:-1] for wanted in expected if wanted.endswith("*") and wanted not in literal
    )
    if not prefixes:
        return len({*expected}.intersection(selected))
    exact = {wanted for wanted in expected if not wanted.endswith("*") or wanted in literal}
    return sum(one in exact or one.startswith(prefixes) for one in selected)


def _forbidden_status(result: TaskResult) -> str:
    """``pass`` and ``unscored`` differ by what the task forbids, which a result doesn't list."""
    if result.forbidden_first_route_hits:
        return "fail"
    if not first_contact_known(result) or result.forbidden_status == "unscored":
        return "unscored"
    return "pass"
