"""The index over several bundles: one row each, with its numbers; limits once."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import msgspec

from wayproof._version import __version__
from wayproof.bundles.reader import Bundle, read_record
from wayproof.evidence import fitness_names, recovery_names
from wayproof.report.frame import framed_page
from wayproof.report.run import ReportPlace, RunFacts, run_facts
from wayproof.web.page import Page
from wayproof.web.template import render

__all__ = ["index_page"]

_INDEX: Final = "index.html"


class _FitnessSummary(msgspec.Struct, frozen=True):
    task_count: int
    sufficiency_pass_count: int
    sufficiency_fail_count: int
    latency_fail_count: int
    vacuous_count: int | None = None


class _FitnessRecord(msgspec.Struct, frozen=True):
    suite: str
    summary: _FitnessSummary
    sufficiency_latency_matrix: dict[str, dict[str, int]]


class _Total(msgspec.Struct, frozen=True):
    cells: int
    completed: int
    verified: int


class _Policy(msgspec.Struct, frozen=True):
    policy: str
    total: _Total


class _RecoveryRecord(msgspec.Struct, frozen=True):
    suite_id: str
    policies: list[_Policy]


class SmallMatrix(NamedTuple):
    """The two axes in six counts: sufficient or not, by in time, late (timeouts too), no time."""

    sufficient: tuple[int, int, int]
    insufficient: tuple[int, int, int]


class PolicyCounts(NamedTuple):
    """One policy's cells."""

    policy: str
    cells: int
    completed: int
    verified: int


class IndexRow(NamedTuple):
    """One bundle: where its page is, and its numbers, as far as its kind has them.

    Attributes
    ----------
    share, could_fail
        Share of sufficient over the results that could fail; null where that is unknown.
    digest
        SHA-256 of its results, or of its summary where it holds no results.
    """

    stem: str
    name: str
    kind: str
    suite: str | None
    matrix: SmallMatrix | None
    share: float | None
    could_fail: int | None
    sufficiency_debts: int | None
    latency_debts: int | None
    policies: list[PolicyCounts]
    digest: str
    run: RunFacts


class _LimitsOnce(NamedTuple):
    """Limits that all bundles of some kinds share, said once."""

    limits: list[str]
    names: list[str]


def _small(table: dict[str, dict[str, int]]) -> SmallMatrix:
    def counts(rows: list[dict[str, int]]) -> tuple[int, int, int]:
        return (
            sum(row.get("pass", 0) for row in rows),
            sum(row.get("fail", 0) + row.get("timeout", 0) for row in rows),
            sum(row.get("unmeasured", 0) for row in rows),
        )

    sufficient = [row for name, row in table.items() if name == fitness_names.SUFFICIENT]
    others = [row for name, row in table.items() if name != fitness_names.SUFFICIENT]
    return SmallMatrix(counts(sufficient), counts(others))


def _row(bundle: Bundle, place: ReportPlace) -> IndexRow:
    named = ("results.jsonl", "summary.json", "result.json")
    digest = bundle.digest(next(name for name in named if bundle.has(name)))
    empty = IndexRow(
        stem=place.stem,
        name=place.name,
        kind=bundle.manifest.kind,
        suite=None,
        matrix=None,
        share=None,
        could_fail=None,
        sufficiency_debts=None,
        latency_debts=None,
        policies=[],
        digest=digest,
        run=run_facts(bundle, place.name),
    )
    if bundle.manifest.kind == fitness_names.BUNDLE_KIND:
        record = read_record(bundle, "summary.json", _FitnessRecord)
        summary = record.summary
        vacuous = summary.vacuous_count
        could_fail = None if vacuous is None else summary.task_count - vacuous
        passes = summary.sufficiency_pass_count - (vacuous or 0)
        return empty._replace(
            suite=record.suite,
            matrix=_small(record.sufficiency_latency_matrix),
            share=passes / could_fail if could_fail else None,
            could_fail=could_fail,
            sufficiency_debts=summary.sufficiency_fail_count,
            latency_debts=summary.latency_fail_count,
        )
    if bundle.manifest.kind == recovery_names.BUNDLE_KIND:
        record_of_run = read_record(bundle, "summary.json", _RecoveryRecord)
        return empty._replace(
            suite=record_of_run.suite_id,
            policies=[
                PolicyCounts(row.policy, row.total.cells, row.total.completed, row.total.verified)
                for row in record_of_run.policies
            ],
        )
    return empty


def _limits_once(bundles: Sequence[Bundle], places: Sequence[ReportPlace]) -> list[_LimitsOnce]:
    found: dict[tuple[str, ...], list[str]] = {}
    for bundle, place in zip(bundles, places, strict=True):
        found.setdefault(tuple(bundle.manifest.limits), []).append(place.name)
    return [_LimitsOnce(list(limits), names) for limits, names in found.items()]


def index_page(bundles: Sequence[Bundle], places: Sequence[ReportPlace]) -> Iterator[Page]:
    """Yield the index; each bundle has its own page beside it."""
    body = render(
        "report/templates/index.html.j2",
        rows=[_row(bundle, place) for bundle, place in zip(bundles, places, strict=True)],
        limit_sets=_limits_once(bundles, places),
        version=__version__,
    )
    title = f"{' · '.join(place.name for place in places[:4])} · wayproof reports"
    yield framed_page(_INDEX, title, "index", body, [])
