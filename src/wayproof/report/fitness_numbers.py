"""A fitness bundle's numbers, made ready to show."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import msgspec

from wayproof.bundles.reader import Bundle, read_record
from wayproof.errors import IntegrityError
from wayproof.evidence.fitness_names import (
    FAILURE_KINDS,
    LATENCY_STATUS_NAMES,
    SUFFICIENT,
)
from wayproof.first_contacts import ContactRow, ContactTally
from wayproof.report.first_rows import FIRST_ROWS, FirstRows
from wayproof.report.task_columns import TaskColumns
from wayproof.stats.intervals import nearest_rank

__all__ = [
    "FitnessNumbers",
    "first_debts",
    "fitness_numbers",
]

_ROWS: Final = (SUFFICIENT, *FAILURE_KINDS)
_RATIO_EDGES: Final = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Upper ends of the bins of wall time ÷ budget; the last bin is open."""
_TABLE_ROWS: Final = 100


class _Summary(msgspec.Struct, frozen=True):
    task_count: int
    distinct_task_count: int
    sufficiency_pass_count: int
    sufficiency_fail_count: int
    failure_kind_counts: dict[str, int]
    latency_pass_count: int
    latency_fail_count: int
    latency_unmeasured_count: int
    p50_wall_ms: float | None
    p95_wall_ms: float | None
    first_contact_unknown_count: int
    debt_candidate_count: int
    mean_recall_at_packet: float | None
    mean_recall_at_packet_denominator: int
    mean_precision_at_packet: float | None
    mean_precision_at_packet_denominator: int
    mean_scent_coverage: float | None
    mean_scent_coverage_denominator: int
    vacuous_count: int | None = None


class _RouteType(msgspec.Struct, frozen=True):
    task_count: int
    sufficiency_pass_count: int
    sufficiency_fail_count: int
    latency_fail_count: int
    vacuous_count: int | None = None


class _SuiteRecord(msgspec.Struct, frozen=True):
    suite: str
    status: str
    limits: list[str]
    summary: _Summary
    route_type_metrics: dict[str, _RouteType]
    sufficiency_latency_matrix: dict[str, dict[str, int]]
    ignored_packet_count: int = 0


class DebtRow(NamedTuple):
    """One debt as the page without scripts shows it; ``mark`` is the sign of its latency."""

    task: str
    kind: str
    missing: str
    latency: str
    mark: str
    wall_ms: float | None
    budget_ms: int
    route: str


_LATENCY_MARKS: Final = {"pass": "good", "fail": "bad", "timeout": "warn", "unmeasured": "none"}


def first_debts(columns: TaskColumns) -> FirstRows:
    """Results that stand in a queue, in the order of the file, as far as the page holds them."""
    routes = list(columns.routes)
    debts = [index for index in range(len(columns)) if columns.is_debt(index)]
    rows = []
    for index in debts[:FIRST_ROWS]:
        latency = LATENCY_STATUS_NAMES[columns.latency[index]]
        wall_ms = columns.wall_ms[index]
        rows.append(
            DebtRow(
                task=columns.shown_name(index),
                kind=_ROWS[columns.kind[index]],
                missing=columns.missing_text(index),
                latency=latency,
                mark=_LATENCY_MARKS[latency],
                wall_ms=None if wall_ms < 0 else wall_ms,
                budget_ms=int(columns.budget_ms[index]),
                route=routes[columns.route[index]],
            )
        )
    return FirstRows(rows, len(debts) - len(rows))


class MatrixCell(NamedTuple):
    """One cell of the matrix.

    Attributes
    ----------
    meaning
        ``good``, ``slow`` (a latency debt), ``aim`` (a sufficiency debt), ``both``, or
        ``unknown`` (sufficient, time not measured).
    depth
        0 … 4: how large the count is among the cells, for the shade.
    """

    status: str
    task_count: int
    meaning: str
    depth: int


class MatrixRow(NamedTuple):
    """Sufficient results, or those that one failure kind names."""

    name: str
    cells: list[MatrixCell]
    task_count: int


class BudgetRow(NamedTuple):
    """The results that share one budget."""

    budget_ms: int
    task_count: int
    pass_count: int
    fail_count: int
    timeout_count: int
    unmeasured_count: int
    p50_wall_ms: float | None
    p95_wall_ms: float | None


class RatioBin(NamedTuple):
    """Measured results whose wall time ÷ budget lies in (``above``, ``up_to``]."""

    above: float | None
    up_to: float | None
    task_count: int


class FamilyCell(NamedTuple):
    """Share of sufficient of one family on one route type; null where nothing could fail."""

    route: int
    task_count: int
    could_fail: int
    sufficient_share: float | None
    depth: int


class FamilyRow(NamedTuple):
    """One family's cells, in the order of the grid's route types."""

    family: int
    name: str
    cells: list[FamilyCell]


class FamilyGrid(NamedTuple):
    """Families crossed with route types, each as (code, name), the most frequent first."""

    routes: list[tuple[int, str]]
    rows: list[FamilyRow]
    families_left_out: int
    routes_left_out: int


class Shares(NamedTuple):
    """Both axes as shares, each over what it can speak of.

    Attributes
    ----------
    passes, could_fail
        Sufficient results and all results, without those that could not fail; null where a
        summary doesn't say how many these are.
    vacuous
        Results of which no rung was examined.
    timed
        Results with a verdict on their time.
    """

    sufficient: float | None
    passes: int | None
    could_fail: int | None
    vacuous: int | None
    within: float | None
    timed: int


class FitnessNumbers(NamedTuple):
    """All numbers of the report's first screens.

    Attributes
    ----------
    matrix
        The two axes crossed, in the order of the ladder and of the statuses.
    budgets_left_out, route_types_left_out
        Rows beyond the longest table that is shown.
    """

    suite: str
    status: str
    limits: list[str]
    summary: dict[str, Any]
    shares: Shares
    ignored_packet_count: int
    matrix: list["MatrixRow"]
    route_types: list[dict[str, Any]]
    route_types_left_out: int
    ratio_bins: list[RatioBin]
    budgets: list[BudgetRow]
    budgets_left_out: int
    contacts: list[ContactRow]
    contacts_left_out: int
    families: FamilyGrid | None


def _counted(columns: TaskColumns) -> dict[str, dict[str, int]]:
    counts = Counter(zip(columns.kind, columns.latency, strict=True))
    return {
        row: {status: counts[row_code, code] for code, status in enumerate(LATENCY_STATUS_NAMES)}
        for row_code, row in enumerate(_ROWS)
    }


def _meaning(row: str, status: str) -> str:
    is_slow = status in {"fail", "timeout"}
    if row != SUFFICIENT:
        return "both" if is_slow else "aim"
    if is_slow:
        return "slow"
    return "unknown" if status == "unmeasured" else "good"


def _depth(count: int, largest: int) -> int:
    if count == 0:
        return 0
    return 1 + sum(count > largest * share for share in (0.02, 0.1, 0.4))


def _matrix(table: dict[str, dict[str, int]]) -> list[MatrixRow]:
    largest = max((count for row in table.values() for count in row.values()), default=0)
    return [
        MatrixRow(
            name=row,
            cells=[
                MatrixCell(
                    status,
                    table[row][status],
                    _meaning(row, status),
                    _depth(table[row][status], largest),
                )
                for status in LATENCY_STATUS_NAMES
            ],
            task_count=sum(table[row].values()),
        )
        for row in _ROWS
    ]


def _ratio_bins(columns: TaskColumns) -> list[RatioBin]:
    counts: Counter[int] = Counter()
    for status, wall_ms, budget_ms in zip(
        columns.latency, columns.wall_ms, columns.budget_ms, strict=True
    ):
        if status <= 1:  # a cut-off route's time says when it was cut, not how long it takes
            counts[bisect_left(_RATIO_EDGES, wall_ms / budget_ms)] += 1
    lower = (None, *_RATIO_EDGES)
    upper = (*_RATIO_EDGES, None)
    return [
        RatioBin(above, up_to, counts[place])
        for place, (above, up_to) in enumerate(zip(lower, upper, strict=True))
    ]


def _percentile(ordered: list[float], percent: int) -> float | None:
    return ordered[nearest_rank(len(ordered), percent) - 1] if ordered else None


def _budget_rows(columns: TaskColumns) -> list[BudgetRow]:
    statuses: dict[float, Counter[int]] = {}
    walls: dict[float, list[float]] = {}
    for status, wall_ms, budget_ms in zip(
        columns.latency, columns.wall_ms, columns.budget_ms, strict=True
    ):
        statuses.setdefault(budget_ms, Counter())[status] += 1
        if wall_ms >= 0:
            walls.setdefault(budget_ms, []).append(wall_ms)
    rows = []
    for budget_ms in sorted(statuses, key=lambda budget: (-statuses[budget].total(), budget)):
        counts, ordered = statuses[budget_ms], sorted(walls.get(budget_ms, []))
        rows.append(
            BudgetRow(
                int(budget_ms),
                counts.total(),
                counts[0],
                counts[1],
                counts[2],
                counts[3],
                _percentile(ordered, 50),
                _percentile(ordered, 95),
            )
        )
    return rows


def _share(passes: int, results: int, vacuous: int | None) -> float | None:
    """Share of sufficient among the results that could fail; null where that is unknown."""
    if vacuous is None or results == vacuous:
        return None
    return (passes - vacuous) / (results - vacuous)


def _route_rows(record: _SuiteRecord, columns: TaskColumns | None) -> list[dict[str, Any]]:
    vacuous: dict[str, int] = {}
    if columns is not None:
        names = list(columns.routes)
        counted = Counter(
            names[route]
            for route, is_vacuous in zip(columns.route, columns.vacuous, strict=True)
            if is_vacuous
        )
        vacuous = {name: counted[name] for name in names}
    rows = []
    for name, row in record.route_type_metrics.items():
        count = vacuous.get(name, row.vacuous_count)
        rows.append(
            {
                **msgspec.to_builtins(row),
                "route_type": name,
                "vacuous_count": count,
                "could_fail": None if count is None else row.task_count - count,
                "sufficient_share": _share(row.sufficiency_pass_count, row.task_count, count),
            }
        )
    return sorted(rows, key=lambda row: (-row["sufficiency_fail_count"], row["route_type"]))


def _shares(summary: _Summary, columns: TaskColumns | None) -> Shares:
    vacuous = summary.vacuous_count if columns is None else sum(columns.vacuous)
    timed = summary.latency_pass_count + summary.latency_fail_count
    return Shares(
        sufficient=_share(summary.sufficiency_pass_count, summary.task_count, vacuous),
        passes=None if vacuous is None else summary.sufficiency_pass_count - vacuous,
        could_fail=None if vacuous is None else summary.task_count - vacuous,
        vacuous=vacuous,
        within=summary.latency_pass_count / timed if timed else None,
        timed=timed,
    )


class _Counts:
    """Results, those that could fail, and the sufficient ones among these."""

    __slots__ = ("could_fail", "passes", "results")

    def __init__(self) -> None:
        self.results = self.could_fail = self.passes = 0

    def add(self, columns: TaskColumns, index: int) -> None:
        self.results += 1
        if not columns.vacuous[index]:
            self.could_fail += 1
            self.passes += columns.kind[index] == 0

    @property
    def share(self) -> float | None:
        return self.passes / self.could_fail if self.could_fail else None


def _first_contacts(columns: TaskColumns) -> list[ContactRow]:
    programs = list(columns.programs)
    tally = ContactTally()
    for index, code in enumerate(columns.program):
        wall_ms = columns.wall_ms[index]
        tally.add(
            programs[code],
            could_fail=not columns.vacuous[index],
            is_sufficient=columns.kind[index] == 0,
            has_hit=columns.hit_count[index] > 0,
            wall_ms=None if wall_ms < 0 else wall_ms,
        )
    return tally.rows()


_GRID_FAMILIES: Final = 40
_GRID_ROUTES: Final = 12


def _most_frequent(codes: Iterable[int], names: dict[str, int], most: int) -> list[tuple[int, str]]:
    frequency = Counter(codes)
    ranked = sorted(names.items(), key=lambda item: (-frequency[item[1]], item[0]))
    return [(code, name) for name, code in ranked[:most]]


def _share_depth(share: float | None) -> int:
    """Shade of a share, 1 … 4; 0 where nothing could fail."""
    return 0 if share is None else 1 + min(3, int(4 * share))


def _family_grid(columns: TaskColumns) -> FamilyGrid:
    counts: dict[tuple[int, int], _Counts] = {}
    for index, key in enumerate(zip(columns.family, columns.route, strict=True)):
        counts.setdefault(key, _Counts()).add(columns, index)
    families = _most_frequent(columns.family, columns.families, _GRID_FAMILIES)
    routes = _most_frequent(columns.route, columns.routes, _GRID_ROUTES)
    empty = _Counts()
    rows = [
        FamilyRow(
            family,
            name,
            [
                FamilyCell(
                    route, each.results, each.could_fail, each.share, _share_depth(each.share)
                )
                for route, _ in routes
                for each in (counts.get((family, route), empty),)
            ],
        )
        for family, name in families
    ]
    return FamilyGrid(
        routes,
        rows,
        families_left_out=len(columns.families) - len(families),
        routes_left_out=len(columns.routes) - len(routes),
    )


def _require_same(bundle: Bundle, field: str, expected: Any, found: Any) -> None:
    if expected != found:
        raise IntegrityError(
            "the summary doesn't follow from the results",
            file=str(bundle.folder / "summary.json"),
            field=field,
            expected=str(expected),
            found=str(found),
        )


def fitness_numbers(bundle: Bundle, columns: TaskColumns | None) -> FitnessNumbers:
    """Gather what the first screens show.

    Parameters
    ----------
    bundle
        A fitness bundle.
    columns
        Its results, or None when it holds a summary only.

    Raises
    ------
    IntegrityError
        When the summary doesn't count what the results say.
    """
    record = read_record(bundle, "summary.json", _SuiteRecord)
    matrix = record.sufficiency_latency_matrix
    if [*matrix] != sorted(_ROWS) or any(
        set(row) != set(LATENCY_STATUS_NAMES) for row in matrix.values()
    ):
        raise IntegrityError(
            "not the two axes",
            file=str(bundle.folder / "summary.json"),
            field="sufficiency_latency_matrix",
        )
    route_rows = _route_rows(record, columns)
    budgets: list[BudgetRow] = []
    contacts: list[ContactRow] = []
    if columns is not None:
        _require_same(bundle, "sufficiency_latency_matrix", _counted(columns), matrix)
        if record.summary.vacuous_count is not None:
            _require_same(
                bundle, "summary.vacuous_count", sum(columns.vacuous), record.summary.vacuous_count
            )
        budgets = _budget_rows(columns)
        contacts = _first_contacts(columns)
    return FitnessNumbers(
        suite=record.suite,
        status=record.status,
        limits=record.limits,
        summary=msgspec.to_builtins(record.summary),
        shares=_shares(record.summary, columns),
        ignored_packet_count=record.ignored_packet_count,
        matrix=_matrix(matrix),
        route_types=route_rows[:_TABLE_ROWS],
        route_types_left_out=max(0, len(route_rows) - _TABLE_ROWS),
        ratio_bins=[] if columns is None else _ratio_bins(columns),
        budgets=sorted(budgets[:_TABLE_ROWS]),
        budgets_left_out=max(0, len(budgets) - _TABLE_ROWS),
        contacts=contacts[:_TABLE_ROWS],
        contacts_left_out=max(0, len(contacts) - _TABLE_ROWS),
        families=None if columns is None else _family_grid(columns),
    )
