"""The summary of a run, derived from its results alone.

Completion and verified recovery are two measurements, each with its own interval; they
are never merged into one score.
"""

from collections.abc import Iterable
from typing import Annotated, Final, Literal

import msgspec

from wayproof.canonical import Record
from wayproof.evidence.recovery_names import (
    FAILURE_KINDS,
    INDEPENDENCE,
    LIMITS,
    PUBLISHED,
    EvidenceClass,
    Kind,
)
from wayproof.evidence.recovery_records import Count, Identifier, Integer
from wayproof.recovery.track import TrialResult
from wayproof.stats.intervals import MILLION, RESAMPLES, Interval, intervals_over_groups

__all__ = [
    "SUMMARY_SCHEMA_VERSION",
    "IntervalRecord",
    "PolicySummary",
    "PublishedRecord",
    "Stratum",
    "Summary",
    "Tally",
    "summarize",
]

SUMMARY_SCHEMA_VERSION: Final = "wayproof.recovery-summary/1"
_PUBLISHED_SUITE: Final = "wfrb-v0"
_KINDS: Final[tuple[Kind, ...]] = tuple(kind.name for kind in FAILURE_KINDS)
_METHOD: Final = (
    f"95 % intervals over grids in parts per million: percentile bootstrap, {RESAMPLES} "
    "resamples of grids, one fixed index table for all strata; where all grids agree, the "
    "exact binomial bound over grids"
)
_Ppm = Annotated[int, msgspec.Meta(ge=0, le=MILLION)]


class IntervalRecord(Record, frozen=True):
    """A 95 % interval over grids for a share of cells, in parts per million.

    Attributes
    ----------
    high_ppm, low_ppm
        Its ends.
    method
        ``bootstrap``, or ``agreement`` where all grids agree.
    """

    high_ppm: _Ppm
    low_ppm: _Ppm
    method: Literal["agreement", "bootstrap"]


class Stratum(Record, frozen=True):
    """Counts of one policy, over all failure kinds or for one.

    Attributes
    ----------
    cells
        Scenario x policy seed.
    completed, verified
        How many cells were completed, and how many are verified recoveries.
    completed_interval, verified_interval
        Of both shares.
    failure_kind
        Null when all kinds are counted together.
    first_failed_checks
        How many cells failed first at which check.
    grids
        How many independent units stand behind the cells.
    """

    cells: Count
    completed: Count
    completed_interval: IntervalRecord
    failure_kind: Kind | None
    first_failed_checks: dict[str, Count]
    grids: Count
    verified: Count
    verified_interval: IntervalRecord


class PolicySummary(Record, frozen=True):
    """One policy's counts, in all and by failure kind.

    Attributes
    ----------
    agent_outcomes
        How many of its trials came to which end.
    by_failure_kind, total
        Its counts, by kind and over all.
    evidence_class
        ``reference_control`` or ``client_agent``.
    policy
        Its name.
    """

    agent_outcomes: dict[str, Count]
    by_failure_kind: tuple[Stratum, ...]
    evidence_class: EvidenceClass
    policy: Identifier
    total: Stratum


class PublishedRecord(Record, frozen=True):
    """A published reference count, shown beside ours; their grids aren't public.

    Attributes
    ----------
    cells, completed, verified
        The published counts.
    policy
        The control that they are of.
    """

    cells: Count
    completed: Count
    policy: Identifier
    verified: Count


class Summary(Record, frozen=True):
    """``summary.json`` of a recovery bundle: it follows from the results alone.

    Attributes
    ----------
    grids, scenarios, trials
        How many there are; grids are the independent units.
    independence, intervals
        What may be taken for independent, and how intervals are made.
    limits
        What a result doesn't show.
    policies
        The counts of each policy.
    policy_seeds
        Each scenario was run once with each.
    published
        The published reference counts; empty for other suites.
    results_sha256
        SHA-256 of ``results.jsonl``.
    schema_version
        Form of the summary.
    suite_id
        The suite.
    """

    grids: Count
    independence: str
    intervals: str
    limits: tuple[str, ...]
    policies: tuple[PolicySummary, ...]
    policy_seeds: tuple[Integer, ...]
    published: tuple[PublishedRecord, ...]
    results_sha256: str
    scenarios: Count
    schema_version: str
    suite_id: Identifier
    trials: Count


class Tally:
    """Counts, gathered result by result or block by block; the order can't matter.

    Attributes
    ----------
    trials
        How many results were counted.
    suite_id, scenarios, seeds, classes
        Whose they are.
    cells
        Per policy and kind, per grid: cells, completed, verified.
    failed
        Per policy and kind: how many failed first at which check.
    outcomes
        Per policy: how many agents came to which end.
    """

    def __init__(self) -> None:
        self.trials = 0
        self.suite_id = ""
        self.scenarios: set[str] = set()
        self.seeds: set[int] = set()
        self.cells: dict[tuple[str, Kind], dict[str, list[int]]] = {}
        self.failed: dict[tuple[str, Kind], dict[str, int]] = {}
        self.outcomes: dict[str, dict[str, int]] = {}
        self.classes: dict[str, EvidenceClass] = {}

    def add(self, result: TrialResult) -> None:
        """Count one result."""
        self.trials += 1
        self.suite_id = result.suite_id
        self.scenarios.add(result.scenario_id)
        self.seeds.add(result.policy_seed)
        self.classes[result.policy] = result.evidence_class
        key = (result.policy, result.failure_kind)
        counts = self.cells.setdefault(key, {}).setdefault(result.grid_id, [0, 0, 0])
        counts[0] += 1
        counts[1] += result.completed
        counts[2] += result.verified_recovery is True
        failed = self.failed.setdefault(key, {})
        if result.first_failed_check is not None:
            failed[result.first_failed_check] = failed.get(result.first_failed_check, 0) + 1
        outcomes = self.outcomes.setdefault(result.policy, {})
        outcomes[result.agent_outcome] = outcomes.get(result.agent_outcome, 0) + 1

    def merge(self, other: "Tally") -> None:
        """Count everything that ``other`` has counted."""
        self.trials += other.trials
        self.suite_id = self.suite_id or other.suite_id
        self.scenarios |= other.scenarios
        self.seeds |= other.seeds
        self.classes |= other.classes
        for key, grids in other.cells.items():
            mine = self.cells.setdefault(key, {})
            for grid, counts in grids.items():
                mine[grid] = [a + b for a, b in zip(mine.get(grid, (0, 0, 0)), counts, strict=True)]
        for key, failed in other.failed.items():
            _add_counts(self.failed.setdefault(key, {}), failed)
        for policy, outcomes in other.outcomes.items():
            _add_counts(self.outcomes.setdefault(policy, {}), outcomes)

    def summary(self, results_sha256: str) -> Summary:
        """Return the summary of everything counted."""
        grids = sorted({grid for counts in self.cells.values() for grid in counts})
        strata = [
            (policy, kind)
            for policy in sorted(self.classes)
            for kind in (None, *_KINDS)
            if kind is None or (policy, kind) in self.cells
        ]
        counts = {stratum: self._counts(*stratum, grids) for stratum in strata}
        columns = [counts[stratum] for stratum in strata]
        intervals = intervals_over_groups(
            [column[measure] for measure in (1, 2) for column in columns],
            [column[0] for _ in (1, 2) for column in columns],
        )
        records = {
            stratum: self._stratum(
                stratum, counts[stratum], intervals[at], intervals[len(strata) + at]
            )
            for at, stratum in enumerate(strata)
        }
        return Summary(
            grids=len(grids),
            independence=INDEPENDENCE,
            intervals=_METHOD,
            limits=LIMITS,
            policies=tuple(
                PolicySummary(
                    agent_outcomes=dict(sorted(self.outcomes[policy].items())),
                    by_failure_kind=tuple(
                        records[policy, kind] for kind in _KINDS if (policy, kind) in records
                    ),
                    evidence_class=self.classes[policy],
                    policy=policy,
                    total=records[policy, None],
                )
                for policy in sorted(self.classes)
            ),
            policy_seeds=tuple(sorted(self.seeds)),
            published=_published(self.suite_id),
            results_sha256=results_sha256,
            scenarios=len(self.scenarios),
            schema_version=SUMMARY_SCHEMA_VERSION,
            suite_id=self.suite_id,
            trials=self.trials,
        )

    def _kinds(self, policy: str, kind: Kind | None) -> list[tuple[str, Kind]]:
        kinds = _KINDS if kind is None else (kind,)
        return [(policy, one) for one in kinds if (policy, one) in self.cells]

    def _counts(self, policy: str, kind: Kind | None, grids: list[str]) -> list[list[int]]:
        """Per measure (cells, completed, verified) the counts of every grid."""
        sums = {grid: [0, 0, 0] for grid in grids}
        for key in self._kinds(policy, kind):
            for grid, counts in self.cells[key].items():
                sums[grid] = [a + b for a, b in zip(sums[grid], counts, strict=True)]
        return [[sums[grid][measure] for grid in grids] for measure in range(3)]

    def _stratum(
        self,
        stratum: tuple[str, Kind | None],
        counts: list[list[int]],
        completed: Interval,
        verified: Interval,
    ) -> Stratum:
        failed: dict[str, int] = {}
        for key in self._kinds(*stratum):
            _add_counts(failed, self.failed.get(key, {}))
        return Stratum(
            cells=sum(counts[0]),
            completed=sum(counts[1]),
            completed_interval=_interval_record(completed),
            failure_kind=stratum[1],
            first_failed_checks=dict(sorted(failed.items())),
            grids=sum(cells > 0 for cells in counts[0]),
            verified=sum(counts[2]),
            verified_interval=_interval_record(verified),
        )


def summarize(results: Iterable[TrialResult], results_sha256: str) -> Summary:
    """Return the summary of a run's results."""
    tally = Tally()
    for result in results:
        tally.add(result)
    return tally.summary(results_sha256)


def _add_counts(into: dict[str, int], counts: dict[str, int]) -> None:
    for name, count in counts.items():
        into[name] = into.get(name, 0) + count


def _interval_record(interval: Interval) -> IntervalRecord:
    return IntervalRecord(
        high_ppm=interval.high_ppm,
        low_ppm=interval.low_ppm,
        method="agreement" if interval.method == "agreement" else "bootstrap",
    )


def _published(suite_id: str) -> tuple[PublishedRecord, ...]:
    if suite_id != _PUBLISHED_SUITE:
        return ()
    return tuple(PublishedRecord(**row._asdict()) for row in PUBLISHED)
