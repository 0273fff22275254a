"""Check a suite's record: its form, its own arithmetic, and against one made from results."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from wayproof.bundles.manifest import read_small_file
from wayproof.canonical import MAX_SAFE_INTEGER, canonical_bytes
from wayproof.errors import InputError, IntegrityError
from wayproof.evidence.fitness_names import (
    FAILURE_KINDS,
    FIRST_SUITE_SCHEMA_VERSION,
    LATENCY_STATUS_NAMES,
    LIMITS,
    SUFFICIENT,
)
from wayproof.strict_json import convert_typed, strict_value
from wayproof.text import quoted

__all__ = ["StoredSummary", "check_against", "check_arithmetic", "read_summary"]

_Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)] | Annotated[int, msgspec.Meta(ge=0, le=1)]
_Wall = (
    Annotated[float, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
    | Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
)
_Added = _Count | msgspec.UnsetType
"""A count that came with ``wayproof.fitness/2``."""


class _Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the records below: every field is there, and no others."""


class _RouteRow(_Form, frozen=True):
    task_count: _Count
    sufficiency_pass_count: _Count
    sufficiency_fail_count: _Count
    latency_fail_count: _Count
    vacuous_count: _Added = msgspec.UNSET


class _Summary(_Form, frozen=True):
    task_count: _Count
    distinct_task_count: _Count
    sufficiency_pass_count: _Count
    sufficiency_fail_count: _Count
    failure_kind_counts: dict[str, _Count]
    latency_pass_count: _Count
    latency_fail_count: _Count
    latency_unmeasured_count: _Count
    p50_wall_ms: _Wall | None
    p95_wall_ms: _Wall | None
    first_contact_unknown_count: _Count
    debt_candidate_count: _Count
    mean_recall_at_packet: _Share | None
    mean_recall_at_packet_denominator: _Count
    mean_precision_at_packet: _Share | None
    mean_precision_at_packet_denominator: _Count
    mean_scent_coverage: _Share | None
    mean_scent_coverage_denominator: _Count
    vacuous_count: _Added = msgspec.UNSET
    mean_sufficiency: _Share | msgspec.UnsetType | None = msgspec.UNSET
    mean_sufficiency_denominator: _Added = msgspec.UNSET


class _SuiteRecord(_Form, frozen=True):
    schema_version: Literal["wayproof.fitness/1", "wayproof.fitness/2"]
    status: Literal["pass", "fail"]
    suite: str
    limits: list[str]
    summary: _Summary
    route_type_metrics: dict[str, _RouteRow]
    sufficiency_latency_matrix: dict[str, dict[str, _Count]]
    ignored_packet_count: _Count
    draft_packet_count: _Added = msgspec.UNSET
    draft_task_count: _Added = msgspec.UNSET


class StoredSummary(NamedTuple):
    """A bundle's ``summary.json``, its form checked.

    Attributes
    ----------
    path
        Where it lies, for messages.
    record
        Its plain values.
    typed
        The same, typed.
    """

    path: str
    record: dict[str, Any]
    typed: _SuiteRecord

    @property
    def is_first_form(self) -> bool:
        """Whether it is of ``wayproof.fitness/1``."""
        return self.typed.schema_version == FIRST_SUITE_SCHEMA_VERSION


def read_summary(path: Path) -> StoredSummary:
    """Read a stored summary: canonical, with every field of its form and no others.

    Raises
    ------
    IntegrityError
        Naming the field that doesn't fit.
    """
    try:
        data = read_small_file(path, "not a summary")
        record = strict_value(data)
        typed = convert_typed(record, _SuiteRecord)
        canonical = canonical_bytes(record) + b"\n"
    except InputError as error:
        raise IntegrityError(
            "not a summary" if error.field is None else f"not a summary: {error.problem}",
            file=str(path),
            field=error.field,
            expected=error.expected,
            found=error.found or (error.problem if error.field is None else None),
        ) from None
    if canonical != data:
        raise IntegrityError("not in canonical form", file=str(path))
    stored = StoredSummary(str(path), record, typed)
    for field, value in _added_fields(typed):
        if (value is msgspec.UNSET) != stored.is_first_form:
            raise IntegrityError(
                "field that this form doesn't have" if stored.is_first_form else "field is missing",
                file=str(path),
                field=field,
            )
    return stored


def _added_fields(record: _SuiteRecord) -> Iterator[tuple[str, object]]:
    """Yield what ``wayproof.fitness/2`` added."""
    yield "draft_packet_count", record.draft_packet_count
    yield "draft_task_count", record.draft_task_count
    for name in ("vacuous_count", "mean_sufficiency", "mean_sufficiency_denominator"):
        yield f"summary.{name}", getattr(record.summary, name)
    for route_type, row in record.route_type_metrics.items():
        yield f"route_type_metrics.{quoted(route_type)}.vacuous_count", row.vacuous_count


# -- its own arithmetic ---------------------------------------------------------------


class _Rule(NamedTuple):
    """Something that any honest record keeps: a field, and what it must be."""

    field: str
    expected: str
    found: object
    holds: bool


def check_arithmetic(stored: StoredSummary) -> None:
    """Check that a record's figures can belong together, whatever they were counted from.

    Raises
    ------
    IntegrityError
        Naming the first field that contradicts the others.
    """
    for rule in _rules(stored.typed):
        if not rule.holds:
            raise IntegrityError(
                "summary contradicts itself",
                file=stored.path,
                field=rule.field,
                expected=rule.expected,
                found=quoted(rule.found),
            )


def _rules(record: _SuiteRecord) -> Iterator[_Rule]:
    summary = record.summary
    count = summary.task_count
    yield _equal("limits", list(LIMITS), record.limits)
    yield _equal("status", "pass" if count else "fail", record.status)
    yield from _matrix_rules(record)
    failed = sum(summary.failure_kind_counts.values())
    late = summary.latency_fail_count
    yield _equal("summary.sufficiency_fail_count", failed, summary.sufficiency_fail_count)
    yield _equal("summary.sufficiency_pass_count", count - failed, summary.sufficiency_pass_count)
    yield _equal("summary.debt_candidate_count", failed + late, summary.debt_candidate_count)
    yield _at_most("summary.distinct_task_count", summary.distinct_task_count, count)
    yield _Rule(
        "summary.distinct_task_count",
        "0 exactly when there is no result",
        summary.distinct_task_count,
        bool(summary.distinct_task_count) == bool(count),
    )
    yield _at_most(
        "summary.first_contact_unknown_count", summary.first_contact_unknown_count, count
    )
    yield from _mean_rules(summary)
    yield from _wall_rules(record)
    yield from _route_rules(record)
    if record.draft_packet_count:
        yield _Rule(
            "draft_packet_count", "0 without a draft task", record.draft_packet_count,
            bool(record.draft_task_count),
        )  # fmt: skip


def _matrix_rules(record: _SuiteRecord) -> Iterator[_Rule]:
    matrix, summary = record.sufficiency_latency_matrix, record.summary
    rows = (SUFFICIENT, *FAILURE_KINDS)
    yield _equal("sufficiency_latency_matrix", sorted(rows), sorted(matrix))
    yield _equal(
        "summary.failure_kind_counts", sorted(FAILURE_KINDS), sorted(summary.failure_kind_counts)
    )
    for name in rows:
        row = matrix[name]
        place = f"sufficiency_latency_matrix.{name}"
        yield _equal(place, sorted(LATENCY_STATUS_NAMES), sorted(row))
        # What timed out fails first as such, and nothing else does.
        wrong = {k: n for k, n in row.items() if (k == "timeout") != (name == FAILURE_KINDS[0])}
        yield _equal(place, 0, sum(wrong.values()))
        total = sum(row.values())
        if name == SUFFICIENT:
            yield _equal("summary.sufficiency_pass_count", total, summary.sufficiency_pass_count)
        else:
            field = f"summary.failure_kind_counts.{name}"
            yield _equal(field, total, summary.failure_kind_counts[name])
    columns = {name: sum(row[name] for row in matrix.values()) for name in LATENCY_STATUS_NAMES}
    late = columns["fail"] + columns["timeout"]
    yield _equal("summary.task_count", sum(columns.values()), summary.task_count)
    yield _equal("summary.latency_pass_count", columns["pass"], summary.latency_pass_count)
    yield _equal("summary.latency_fail_count", late, summary.latency_fail_count)
    yield _equal(
        "summary.latency_unmeasured_count",
        columns["unmeasured"],
        summary.latency_unmeasured_count,
    )


def _mean_rules(summary: _Summary) -> Iterator[_Rule]:
    for name in ("mean_recall_at_packet", "mean_precision_at_packet", "mean_scent_coverage"):
        yield from _mean_rule(summary, name)
    yield from _success_rule(summary, "mean_recall_at_packet", "missing_id")
    yield from _success_rule(summary, "mean_scent_coverage", "weak_scent")
    vacuous = summary.vacuous_count
    if vacuous is msgspec.UNSET:
        return
    yield _at_most("summary.vacuous_count", vacuous, summary.sufficiency_pass_count)
    yield from _mean_rule(summary, "mean_sufficiency")
    if summary.distinct_task_count == summary.task_count:
        scored = summary.task_count - vacuous
        passed = summary.sufficiency_pass_count - vacuous
        share = Fraction(passed * 10**6 // scored, 10**6) if scored else None
        yield _equal(
            "summary.mean_sufficiency_denominator", scored, summary.mean_sufficiency_denominator
        )
        yield _equal(
            "summary.mean_sufficiency",
            None if share is None else float(share),
            None if summary.mean_sufficiency is None else float(summary.mean_sufficiency),  # type: ignore[arg-type]
        )


def _success_rule(summary: _Summary, name: str, kind: str) -> Iterator[_Rule]:
    """Let only failures lower a mean: a result that passes has all that was expected."""
    mean, denominator = getattr(summary, name), getattr(summary, f"{name}_denominator")
    failed, of_kind = summary.sufficiency_fail_count, summary.failure_kind_counts[kind]
    yield _Rule(
        f"summary.{name}_denominator",
        f"at least 1: {kind} was checked",
        denominator,
        bool(denominator) or not of_kind,
    )
    if mean is not None and denominator:
        least = max(0, denominator - failed) * 10**6 // denominator
        yield _Rule(
            f"summary.{name}",
            f"at least {least / 10**6}: {failed} results failed",
            mean,
            round(mean * 10**6) >= least,
        )


def _mean_rule(summary: _Summary, name: str) -> Iterator[_Rule]:
    mean, denominator = getattr(summary, name), getattr(summary, f"{name}_denominator")
    field = f"summary.{name}"
    yield _at_most(f"{field}_denominator", denominator, summary.distinct_task_count)
    yield _Rule(
        field, "null exactly when its denominator is 0", mean, (mean is None) == (not denominator)
    )
    yield _Rule(field, "at most six decimals", mean, mean is None or round(float(mean), 6) == mean)


def _wall_rules(record: _SuiteRecord) -> Iterator[_Rule]:
    summary = record.summary
    timed_out = sum(row["timeout"] for row in record.sufficiency_latency_matrix.values())
    measured = summary.latency_pass_count + summary.latency_fail_count - timed_out
    walls = (("p50_wall_ms", summary.p50_wall_ms), ("p95_wall_ms", summary.p95_wall_ms))
    for name, wall in walls:
        field = f"summary.{name}"
        is_none = wall is None
        fits = not is_none if measured else (is_none or bool(timed_out))
        yield _Rule(field, "a time exactly when one was measured", wall, fits)
        yield _Rule(
            field, "at most three decimals", wall, wall is None or round(float(wall), 3) == wall
        )
    low, high = summary.p50_wall_ms, summary.p95_wall_ms
    yield _Rule(
        "summary.p95_wall_ms",
        "at least p50_wall_ms",
        high,
        low <= high if low is not None and high is not None else low is high,
    )


def _route_rules(record: _SuiteRecord) -> Iterator[_Rule]:
    rows, summary = record.route_type_metrics, record.summary
    for route_type, row in rows.items():
        place = f"route_type_metrics.{quoted(route_type)}"
        both = row.sufficiency_pass_count + row.sufficiency_fail_count
        yield _equal(f"{place}.task_count", both, row.task_count)
        yield _Rule(f"{place}.task_count", "at least 1", row.task_count, row.task_count > 0)
        yield _at_most(f"{place}.latency_fail_count", row.latency_fail_count, row.task_count)
        yield _at_most(
            f"{place}.vacuous_count",
            0 if row.vacuous_count is msgspec.UNSET else row.vacuous_count,
            row.sufficiency_pass_count,
        )
    names = ["task_count", "sufficiency_pass_count", "latency_fail_count"]
    if summary.vacuous_count is not msgspec.UNSET:
        names.append("vacuous_count")
    for name in names:
        total = sum(getattr(row, name) for row in rows.values())
        yield _equal(f"summary.{name}", total, getattr(summary, name))


def _equal(field: str, expected: object, found: object) -> _Rule:
    return _Rule(field, quoted(expected), found, expected == found)


def _at_most(field: str, found: int, bound: int) -> _Rule:
    return _Rule(field, f"at most {bound}", found, found <= bound)


# -- against what follows from results ------------------------------------------------

_SCENT: Final = "mean_scent_coverage"


def check_against(
    stored: StoredSummary, low: Mapping[str, Any], high: Mapping[str, Any] | None
) -> None:
    """Compare a stored record with the one that follows from the results.

    Parameters
    ----------
    stored
        The bundle's summary.
    low, high
        The record for the smallest and for the largest possible numbers of scent terms;
        ``high`` is None where the results settle them. Between the two only the mean of
        scent coverage differs: any value between the two ends is accepted.

    Raises
    ------
    IntegrityError
        Naming the first field that doesn't follow.
    """
    expected = {**low, "summary": dict(low["summary"])}
    if high is not None:
        least, most = low["summary"][_SCENT], high["summary"][_SCENT]
        mean = stored.typed.summary.mean_scent_coverage
        if mean is not None and least <= mean <= most:
            expected["summary"][_SCENT] = mean
    difference = _first_difference(expected, stored.record, "")
    if difference is not None:
        field, wanted, found = difference
        raise IntegrityError(
            "summary doesn't follow from the results",
            file=stored.path,
            field=field,
            expected=wanted,
            found=found,
        )


_NO_FIELD: Final = "no such field"
"""Texts from the data are shown in quotes, so that none of them can look like this."""


def _first_difference(left: Any, right: Any, path: str) -> tuple[str, str, str] | None:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in sorted(left.keys() | right.keys()):
            place = f"{path}.{key}".lstrip(".")
            if key not in left:
                return place, _NO_FIELD, quoted(right[key])
            if key not in right:
                return place, quoted(left[key]), _NO_FIELD
            found = _first_difference(left[key], right[key], place)
            if found is not None:
                return found
        return None
    if canonical_bytes(left) != canonical_bytes(right):
        return path, quoted(left), quoted(right)
    return None
