"""What became of each trial between two recovery bundles, made ready to show."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from wayproof.evidence.comparison_records import PolicyComparison, RecoveryComparison
from wayproof.report.recovery_numbers import CHECKS, FAILURE_KINDS, TrialColumns

__all__ = ["CHANGES", "KindRow", "TrialChange", "TrialSide", "kind_rows", "trial_changes"]

CHANGES: Final = ("gained", "lost", "completed", "uncompleted")
"""What can become of a trial: verified now, verified no more (these two are discordant),
completed now or completed no more, where it was verified on neither side."""


class TrialSide(NamedTuple):
    """One side of a trial.

    Attributes
    ----------
    place
        Its place among that side's results.
    failed
        The first check that failed; null for none.
    outcome
        What became of the agent.
    """

    place: int
    completed: bool
    verified: bool
    excess: int | None
    failed: str | None
    outcome: str

    @property
    def verdict(self) -> str:
        """``verified``, ``completed`` (at too high a cost, say) or ``open``."""
        return "verified" if self.verified else "completed" if self.completed else "open"


class TrialChange(NamedTuple):
    """One trial that ended otherwise on the two sides; ``policy`` is the pair's place."""

    policy: int
    scenario: str
    seed: int
    grid: str
    kind: str
    change: str
    base: TrialSide
    new: TrialSide


class KindRow(NamedTuple):
    """One policy's trials of one failure kind, on both sides."""

    policy: int
    kind: str
    cells: int
    base_completed: int
    new_completed: int
    base_verified: int
    new_verified: int
    gained: int
    lost: int


class _Pair(NamedTuple):
    """One trial that both sides have."""

    policy: int
    kind: int
    base: int
    new: int


def _places(columns: TrialColumns) -> dict[tuple[str, str, int], int]:
    policies, scenarios = list(columns.policies), list(columns.scenarios)
    return {
        (policies[policy], scenarios[scenario], seed): index
        for index, (policy, scenario, seed) in enumerate(
            zip(columns.policy, columns.scenario, columns.seed, strict=True)
        )
    }


def _pairs(
    policies: list[PolicyComparison], base: TrialColumns, new: TrialColumns
) -> Iterator[_Pair]:
    """Yield the trials of both sides, in the order of the base's results."""
    places = {one.base_policy: place for place, one in enumerate(policies)}
    there = _places(new)
    for (name, scenario, seed), index in _places(base).items():
        place = places.get(name)
        if place is None:
            continue
        other = there.get((policies[place].new_policy, scenario, seed))
        if other is not None:
            yield _Pair(place, base.kind[index], index, other)


def _side(columns: TrialColumns, index: int) -> TrialSide:
    failed = columns.failed[index]
    return TrialSide(
        place=index,
        completed=bool(columns.completed[index]),
        verified=bool(columns.verified[index]),
        excess=columns.excess[index],
        failed=None if failed < 0 else CHECKS[failed],
        outcome=columns.outcomes.get(index, "ok"),
    )


def _change(was: TrialSide, now: TrialSide) -> str | None:
    if was.verified != now.verified:
        return "gained" if now.verified else "lost"
    if was.completed != now.completed:
        return "completed" if now.completed else "uncompleted"
    return None


def trial_changes(
    comparison: RecoveryComparison, base: TrialColumns, new: TrialColumns
) -> list[TrialChange]:
    """List the trials that ended otherwise, those that verification tells apart first."""
    scenarios, grids = list(base.scenarios), list(base.grids)
    found = []
    for pair in _pairs(comparison.policies, base, new):
        was, now = _side(base, pair.base), _side(new, pair.new)
        change = _change(was, now)
        if change is not None:
            found.append(
                TrialChange(
                    policy=pair.policy,
                    scenario=scenarios[base.scenario[pair.base]],
                    seed=base.seed[pair.base],
                    grid=grids[base.grid[pair.base]],
                    kind=FAILURE_KINDS[pair.kind],
                    change=change,
                    base=was,
                    new=now,
                )
            )
    return sorted(found, key=lambda row: (CHANGES.index(row.change) > 1, row.policy))


def kind_rows(
    comparison: RecoveryComparison, base: TrialColumns, new: TrialColumns
) -> list[KindRow]:
    """Count each policy's trials by failure kind, on both sides."""
    counts: dict[tuple[int, int], list[int]] = {}
    for pair in _pairs(comparison.policies, base, new):
        was, now = base.verified[pair.base], new.verified[pair.new]
        row = counts.setdefault((pair.policy, pair.kind), [0] * 7)
        row[0] += 1
        row[1] += base.completed[pair.base]
        row[2] += new.completed[pair.new]
        row[3] += was
        row[4] += now
        row[5] += now > was
        row[6] += was > now
    return [
        KindRow(policy, FAILURE_KINDS[kind], *row) for (policy, kind), row in sorted(counts.items())
    ]
