"""A fitness bundle's numbers, made ready to show."""

from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from wayproof.bundles.reader import Bundle, LineFile, decoded_lines, read_record
from wayproof.errors import IntegrityError
from wayproof.evidence.fitness_names import (
    FAILURE_KINDS,
    LATENCY_STATUS_NAMES,
    LATENCY_STATUSES,
    SUFFICIENT,
)
from wayproof.report.first_rows import FIRST_ROWS, FirstRows
from wayproof.stats.intervals import nearest_rank
from wayproof.text import clip

__all__ = [
    "FitnessNumbers",
    "TaskColumns",
    "first_debts",
    "fitness_numbers",
    "task_columns",
]

_ROWS: Final = (SUFFICIENT, *FAILURE_KINDS)
_KIND_CODES: Final[dict[str | None, int]] = {
    None: 0,
    **{kind: code for code, kind in enumerate(FAILURE_KINDS, start=1)},
}
_STATUS_CODES: Final[dict[str, int]] = {
    status: code for code, status in enumerate(LATENCY_STATUS_NAMES)
}
_DEBT_STATUS_CODES: Final = frozenset(
    code for code, row in enumerate(LATENCY_STATUSES) if row.is_debt
)
_RATIO_EDGES: Final = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Upper ends of the bins of wall time ÷ budget; the last bin is open."""
_TABLE_ROWS: Final = 100
_ID_CHARS: Final = 160
_MISSING_CHARS: Final = 80
_MOST_MISSING: Final = 3
_UNMEASURED: Final = -1.0


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


class _Task(msgspec.Struct, frozen=True, gc=False):
    task_id: str
    route_type: str
    sufficiency_failure_kind: str | None
    latency_status: str
    wall_ms: float | None
    latency_budget_ms: Annotated[int, msgspec.Meta(ge=1)]
    recall_at_packet: float
    precision_at_packet: float
    expected_artifacts: list[msgspec.Raw]
    missing_expected_artifacts: list[str]
    forbidden_first_route_hits: list[msgspec.Raw]
    scent_status: str
    forbidden_status: str
    attempt: int | None = None


def _is_vacuous(task: _Task) -> bool:
    """Whether no rung of the ladder was examined: such a result could not fail."""
    return (
        not task.expected_artifacts
        and task.scent_status == task.forbidden_status == "unscored"
        and task.sufficiency_failure_kind is None
    )


class TaskColumns:
    """What the page's lists show of each result, by column; codes instead of names."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.routes: dict[str, int] = {}
        self.route = array("I")
        self.kind = array("B")
        self.latency = array("B")
        self.wall_ms = array("d")
        self.budget_ms = array("d")
        self.recall = array("d")
        self.precision = array("d")
        self.missing_count = array("I")
        self.vacuous = array("B")
        # Names of the first missing ids, of the results that miss any.
        self.missing: dict[int, list[str]] = {}
        self.hit_count = array("I")
        # Whole ids and attempts, where the shown id differs.
        self._keys: dict[int, tuple[str, int | None]] = {}

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, task: _Task) -> None:
        """Take in one result."""
        name = clip(task.task_id, _ID_CHARS)
        if task.attempt is not None:
            name = f"{name} #{task.attempt}"
        if name is not task.task_id:
            self._keys[len(self.ids)] = (task.task_id, task.attempt)
        self.ids.append(name)
        self.route.append(self.routes.setdefault(task.route_type, len(self.routes)))
        self.kind.append(_KIND_CODES[task.sufficiency_failure_kind])
        self.latency.append(_STATUS_CODES[task.latency_status])
        self.wall_ms.append(_UNMEASURED if task.wall_ms is None else task.wall_ms)
        self.budget_ms.append(task.latency_budget_ms)
        self.recall.append(task.recall_at_packet)
        self.precision.append(task.precision_at_packet)
        self.missing_count.append(len(task.missing_expected_artifacts))
        self.vacuous.append(_is_vacuous(task))
        if task.missing_expected_artifacts:
            self.missing[len(self.ids) - 1] = [
                clip(each, _MISSING_CHARS)
                for each in task.missing_expected_artifacts[:_MOST_MISSING]
            ]
        self.hit_count.append(len(task.forbidden_first_route_hits))

    def is_debt(self, index: int) -> bool:
        """Whether a result stands in one of the two queues."""
        return bool(self.kind[index]) or self.latency[index] in _DEBT_STATUS_CODES

    def debt_counts(self, indexes: list[int]) -> dict[str, int]:
        """Count the debts of each queue among some results."""
        return {
            "sufficiency": sum(self.kind[index] > 0 for index in indexes),
            "latency": sum(self.latency[index] in _DEBT_STATUS_CODES for index in indexes),
        }

    def missing_text(self, index: int) -> str:
        """Names of a result's first missing ids, and how many more it misses."""
        named = self.missing.get(index, [])
        rest = self.missing_count[index] - len(named)
        return ", ".join(named) + (f" (+{rest})" if rest else "")

    def key(self, index: int) -> tuple[str, int | None]:
        """Task id and attempt of one result, whole."""
        return self._keys.get(index, (self.ids[index], None))

    def chosen(self, indexes: list[int]) -> dict[str, Any]:
        """Return the columns of some results, ready for JSON."""
        if len(indexes) == len(self):
            columns: dict[str, Any] = {name: list(getattr(self, name)) for name in _COLUMNS}
            columns["ids"] = self.ids
        else:
            columns = {name: [getattr(self, name)[index] for index in indexes] for name in _COLUMNS}
            columns["ids"] = [self.ids[index] for index in indexes]
        columns["routes"] = list(self.routes)
        columns["missing"] = {
            place: self.missing[index]
            for place, index in enumerate(indexes)
            if index in self.missing
        }
        return columns


_COLUMNS: Final = (
    "route",
    "kind",
    "latency",
    "wall_ms",
    "budget_ms",
    "recall",
    "precision",
    "missing_count",
    "hit_count",
    "vacuous",
)


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
                task=columns.ids[index],
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


def _checked(tasks: Iterator[_Task], name: str) -> Iterator[_Task]:
    for number, task in enumerate(tasks, start=1):
        if task.sufficiency_failure_kind not in _KIND_CODES:
            raise IntegrityError("unknown failure kind", file=name, line=number)
        if task.latency_status not in _STATUS_CODES:
            raise IntegrityError("unknown latency status", file=name, line=number)
        yield task


def task_columns(lines: LineFile) -> TaskColumns:
    """Read every result once."""
    columns = TaskColumns()
    add = columns.add
    for task in _checked(decoded_lines(lines, _Task), str(lines.path)):
        add(task)
    return columns


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
    if columns is not None:
        _require_same(bundle, "sufficiency_latency_matrix", _counted(columns), matrix)
        if record.summary.vacuous_count is not None:
            _require_same(
                bundle, "summary.vacuous_count", sum(columns.vacuous), record.summary.vacuous_count
            )
        budgets = _budget_rows(columns)
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
    )
