"""A recovery bundle's numbers, made ready to show."""

from array import array
from collections import Counter
from typing import Annotated, Any, Final, NamedTuple

import msgspec

from wayproof.bundles.reader import Bundle, LineFile, decoded_lines, read_record
from wayproof.canonical import MAX_SAFE_INTEGER
from wayproof.errors import IntegrityError
from wayproof.evidence import recovery_names
from wayproof.report.first_rows import FIRST_ROWS, FirstRows

__all__ = [
    "RecoveryNumbers",
    "TrialColumns",
    "first_unverified",
    "recovery_numbers",
    "trial_columns",
]

CHECKS: Final = tuple(check.name for check in recovery_names.CHECKS)
FAILURE_KINDS: Final = tuple(kind.name for kind in recovery_names.FAILURE_KINDS)
_EXCESS_EDGES: Final = (0, 4, 9, 19, 49)
"""Upper ends of the bins of excess cost; the last bin is open."""
_KIND_CODES: Final[dict[str, int]] = {name: code for code, name in enumerate(FAILURE_KINDS)}
_CHECK_CODES: Final[dict[str, int]] = {name: code for code, name in enumerate(CHECKS)}
_PPM: Final = 1_000_000
_NOTHING: Final = -1

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]


class _Interval(msgspec.Struct, frozen=True):
    low_ppm: int
    high_ppm: int
    method: str


class _Stratum(msgspec.Struct, frozen=True):
    cells: int
    completed: int
    completed_interval: _Interval
    failure_kind: str | None
    first_failed_checks: dict[str, int]
    grids: int
    verified: int
    verified_interval: _Interval


class _Policy(msgspec.Struct, frozen=True):
    agent_outcomes: dict[str, int]
    by_failure_kind: list[_Stratum]
    evidence_class: str
    policy: str
    total: _Stratum


class _Published(msgspec.Struct, frozen=True):
    cells: int
    completed: int
    policy: str
    verified: int


class _Summary(msgspec.Struct, frozen=True):
    grids: int
    independence: str
    intervals: str
    limits: list[str]
    policies: list[_Policy]
    policy_seeds: list[int]
    published: list[_Published]
    results_sha256: str
    scenarios: int
    suite_id: str
    trials: int


class _Result(msgspec.Struct, frozen=True, gc=False):
    budget: Count
    completed: bool
    excess_cost: int | None
    failure_kind: str
    final_cost: Count
    first_failed_check: str | None
    grid_id: str
    optimal_cost: Count
    policy: str
    policy_seed: int
    proposals: Count
    scenario_id: str
    verified_recovery: bool
    agent_outcome: str = "ok"


class TrialColumns:
    """What the list of trials shows, by column; codes instead of names."""

    def __init__(self) -> None:
        self.scenarios: dict[str, int] = {}
        self.policies: dict[str, int] = {}
        self.grids: dict[str, int] = {}
        self.scenario = array("I")
        self.policy = array("I")
        self.grid = array("I")
        self.kind = array("B")
        self.seed: list[int] = []
        self.completed = array("B")
        self.verified = array("B")
        self.failed = array("b")
        self.excess: list[int | None] = []
        self.final_cost = array("Q")
        self.optimal_cost = array("Q")
        self.budget = array("Q")
        self.proposals = array("Q")
        # Agents' outcomes other than "ok", of the few trials that have one.
        self.outcomes: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self.scenario)

    def add(self, result: _Result) -> None:
        """Take in one result."""
        failed = result.first_failed_check
        if result.agent_outcome != "ok":
            self.outcomes[len(self)] = result.agent_outcome
        self.scenario.append(self.scenarios.setdefault(result.scenario_id, len(self.scenarios)))
        self.policy.append(self.policies.setdefault(result.policy, len(self.policies)))
        self.grid.append(self.grids.setdefault(result.grid_id, len(self.grids)))
        self.kind.append(_KIND_CODES[result.failure_kind])
        self.seed.append(result.policy_seed)
        self.completed.append(result.completed)
        self.verified.append(result.verified_recovery)
        self.failed.append(_NOTHING if failed is None else _CHECK_CODES[failed])
        self.excess.append(result.excess_cost)
        self.final_cost.append(result.final_cost)
        self.optimal_cost.append(result.optimal_cost)
        self.budget.append(result.budget)
        self.proposals.append(result.proposals)

    def chosen(self, indexes: list[int]) -> dict[str, Any]:
        """Return the columns of some trials, ready for JSON."""
        columns = {name: [getattr(self, name)[index] for index in indexes] for name in _COLUMNS}
        return {
            **columns,
            "scenarios": list(self.scenarios),
            "policies": list(self.policies),
            "grids": list(self.grids),
        }


_COLUMNS: Final = (
    "scenario",
    "policy",
    "grid",
    "kind",
    "seed",
    "completed",
    "verified",
    "failed",
    "excess",
    "final_cost",
    "optimal_cost",
    "budget",
    "proposals",
)


def trial_columns(lines: LineFile) -> TrialColumns:
    """Read every result once."""
    columns = TrialColumns()
    for number, result in enumerate(decoded_lines(lines, _Result), start=1):
        failed = result.first_failed_check
        if result.failure_kind not in FAILURE_KINDS or (failed and failed not in CHECKS):
            raise IntegrityError("unknown failure kind or check", file=str(lines.path), line=number)
        columns.add(result)
    return columns


class TrialRow(NamedTuple):
    """One trial as the page without scripts shows it."""

    scenario: str
    policy: str
    seed: int
    completed: bool
    excess: int | None
    failed: str | None


def first_unverified(columns: TrialColumns) -> FirstRows:
    """Trials that weren't verified, in the order of the file, as far as the page holds them."""
    scenarios, policies = list(columns.scenarios), list(columns.policies)
    unverified = [index for index in range(len(columns)) if not columns.verified[index]]
    rows = [
        TrialRow(
            scenario=scenarios[columns.scenario[index]],
            policy=policies[columns.policy[index]],
            seed=columns.seed[index],
            completed=bool(columns.completed[index]),
            excess=columns.excess[index],
            failed=None if columns.failed[index] == _NOTHING else CHECKS[columns.failed[index]],
        )
        for index in unverified[:FIRST_ROWS]
    ]
    return FirstRows(rows, len(unverified) - len(rows))


class Measured(NamedTuple):
    """A count of cells with its share and interval over grids."""

    reached: int
    cells: int
    share: float | None
    low: float
    high: float


class PolicyRow(NamedTuple):
    """One policy (and failure kind): the two measurements side by side."""

    policy: str
    evidence_class: str
    failure_kind: str | None
    grids: int
    completed: Measured
    verified: Measured
    first_failed: dict[str, int]


class ExcessRow(NamedTuple):
    """Excess cost of one policy's completed trials."""

    policy: str
    completed: int
    bins: list[int]
    median: int | None
    largest: int | None


class PublishedRow(NamedTuple):
    """Published counts beside ours."""

    policy: str
    ours: PolicyRow
    cells: int
    completed: int
    verified: int


class RecoveryNumbers(NamedTuple):
    """All numbers of the report's first screens."""

    suite_id: str
    trials: int
    grids: int
    scenarios: int
    policy_seeds: list[int]
    results_sha256: str
    limits: list[str]
    independence: str
    intervals: str
    totals: list[PolicyRow]
    by_kind: list[PolicyRow]
    failed_checks: list[str]
    excess: list[ExcessRow]
    published: list[PublishedRow]
    outcomes: list[tuple[str, str, int]]


def _measured(count: int, cells: int, interval: _Interval) -> Measured:
    share = count / cells if cells else None
    return Measured(count, cells, share, interval.low_ppm / _PPM, interval.high_ppm / _PPM)


def _row(policy: _Policy, stratum: _Stratum) -> PolicyRow:
    return PolicyRow(
        policy.policy,
        policy.evidence_class,
        stratum.failure_kind,
        stratum.grids,
        _measured(stratum.completed, stratum.cells, stratum.completed_interval),
        _measured(stratum.verified, stratum.cells, stratum.verified_interval),
        stratum.first_failed_checks,
    )


def _excess_rows(columns: TrialColumns) -> list[ExcessRow]:
    found: dict[str, list[int]] = {name: [] for name in columns.policies}
    names = list(columns.policies)
    for policy, excess in zip(columns.policy, columns.excess, strict=True):
        if excess is not None:
            found[names[policy]].append(excess)
    rows = []
    for name, values in found.items():
        values.sort()
        bins = Counter(sum(value > edge for edge in _EXCESS_EDGES) for value in values)
        rows.append(
            ExcessRow(
                name,
                len(values),
                [bins[place] for place in range(len(_EXCESS_EDGES) + 1)],
                values[(len(values) - 1) // 2] if values else None,
                values[-1] if values else None,
            )
        )
    return rows


def _require_counts(bundle: Bundle, summary: _Summary, columns: TrialColumns) -> None:
    names = list(columns.policies)
    completed: Counter[str] = Counter()
    verified: Counter[str] = Counter()
    for policy, is_completed, is_verified in zip(
        columns.policy, columns.completed, columns.verified, strict=True
    ):
        completed[names[policy]] += is_completed
        verified[names[policy]] += is_verified
    found = {row.policy: (row.total.completed, row.total.verified) for row in summary.policies}
    expected = {name: (completed[name], verified[name]) for name in names}
    if found != expected or summary.trials != len(columns):
        raise IntegrityError(
            "the summary doesn't follow from the results",
            file=str(bundle.folder / "summary.json"),
            field="policies",
            expected=str(expected),
            found=str(found),
        )


def recovery_numbers(bundle: Bundle, columns: TrialColumns) -> RecoveryNumbers:
    """Gather what the first screens show.

    Raises
    ------
    IntegrityError
        When the summary's counts don't follow from the results.
    """
    summary = read_record(bundle, "summary.json", _Summary)
    _require_counts(bundle, summary, columns)
    totals = [_row(policy, policy.total) for policy in summary.policies]
    own = {row.policy: row for row in totals}
    seen = {check for row in totals for check in row.first_failed}
    return RecoveryNumbers(
        suite_id=summary.suite_id,
        trials=summary.trials,
        grids=summary.grids,
        scenarios=summary.scenarios,
        policy_seeds=summary.policy_seeds,
        results_sha256=bundle.digest("results.jsonl"),
        limits=summary.limits,
        independence=summary.independence,
        intervals=summary.intervals,
        totals=totals,
        by_kind=[
            _row(policy, stratum)
            for policy in summary.policies
            for stratum in policy.by_failure_kind
        ],
        failed_checks=[check for check in CHECKS if check in seen],
        excess=_excess_rows(columns),
        published=[
            PublishedRow(row.policy, own[row.policy], row.cells, row.completed, row.verified)
            for row in summary.published
            if row.policy in own
        ],
        outcomes=[
            (policy.policy, outcome, count)
            for policy in summary.policies
            for outcome, count in sorted(policy.agent_outcomes.items())
            if outcome != "ok"
        ],
    )
