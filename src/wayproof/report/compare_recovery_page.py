"""A comparison of two recovery bundles as one page: verdicts, and both trials of what changed."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from wayproof._version import __version__
from wayproof.bundles.reader import Bundle, LineFile
from wayproof.evidence.comparison_records import PolicyComparison, RecoveryComparison
from wayproof.evidence.recovery_names import RESULTS_NAME, SUITE_NAME
from wayproof.report.chart import NARROW_FOREST, WIDE_FOREST, ForestChart, forest_chart
from wayproof.report.first_rows import FIRST_ROWS, FirstRows
from wayproof.report.frame import framed_page
from wayproof.report.recovery_changes import (
    CHANGES,
    TrialChange,
    TrialSide,
    kind_rows,
    trial_changes,
)
from wayproof.report.recovery_numbers import CHECKS, FAILURE_KINDS, TrialColumns, trial_columns
from wayproof.report.run import RunFacts
from wayproof.report.trial_steps import TrialSteps, grids_json
from wayproof.web.page import DataBlock, Page
from wayproof.web.template import render

__all__ = ["RecoveryComparisonLimits", "compare_recovery_page"]


class RecoveryComparisonLimits(NamedTuple):
    """How much the file may hold before it says what it leaves out; steps for each side."""

    listed_trials: int = 200_000
    step_bytes: int = 6 << 20


def _columns(bundle: Bundle) -> TrialColumns:
    with LineFile(bundle.folder / RESULTS_NAME) as lines:
        return trial_columns(lines)


def _side_columns(
    rows: list[TrialSide], columns: TrialColumns, steps: TrialSteps
) -> dict[str, Any]:
    indexes = [row.place for row in rows]
    return {
        "completed": [int(row.completed) for row in rows],
        "verified": [int(row.verified) for row in rows],
        "failed": [-1 if row.failed is None else CHECKS.index(row.failed) for row in rows],
        "excess": [row.excess for row in rows],
        "outcome": [row.outcome for row in rows],
        "optimal_cost": [columns.optimal_cost[index] for index in indexes],
        "final_cost": [columns.final_cost[index] for index in indexes],
        "steps": [steps.place_of.get(index, -1) for index in indexes],
    }


def _changes_block(
    comparison: RecoveryComparison,
    runs: list[RunFacts],
    listed: list[TrialChange],
    sides: dict[str, Any],
) -> DataBlock:
    pairs = comparison.policies
    record = {
        "policy": [row.policy for row in listed],
        "scenario": [row.scenario for row in listed],
        "seed": [row.seed for row in listed],
        "grid": [row.grid for row in listed],
        "kind": [FAILURE_KINDS.index(row.kind) for row in listed],
        "change": [CHANGES.index(row.change) for row in listed],
        "base": sides["base"],
        "new": sides["new"],
        "policies": [[one.base_policy, one.new_policy] for one in pairs],
        "bundles": [run.name for run in runs],
        "kinds": FAILURE_KINDS,
        "changes": CHANGES,
        "checks": CHECKS,
    }
    return DataBlock("trials", [msgspec.json.encode(record)])


class _PolicyRow(NamedTuple):
    """One policy's comparison, its name as both sides have it, and what became of its trials."""

    name: str
    compared: PolicyComparison
    changes: dict[str, int]


def _name(one: PolicyComparison) -> str:
    same = one.base_policy == one.new_policy
    return one.base_policy if same else f"{one.base_policy} → {one.new_policy}"


def _forest(policies: list[PolicyComparison]) -> dict[str, ForestChart]:
    rows = [(_name(one), one.difference, one.low, one.high) for one in policies if one.cells]
    return {"wide": forest_chart(rows, WIDE_FOREST), "narrow": forest_chart(rows, NARROW_FOREST)}


_MOST_ONE_SIDED: Final = 20


def compare_recovery_page(
    comparison: RecoveryComparison,
    bundles: tuple[Bundle, Bundle],
    runs: list[RunFacts],
    title: str,
    *,
    limits: RecoveryComparisonLimits | None = None,
) -> Iterator[Page]:
    """Yield the one page of a comparison of recovery bundles."""
    limits = limits or RecoveryComparisonLimits()
    columns = (_columns(bundles[0]), _columns(bundles[1]))
    changes = trial_changes(comparison, *columns)
    listed = changes[: limits.listed_trials]
    sides, blocks = {}, []
    for at, name in enumerate(("base", "new")):
        rows: list[TrialSide] = [getattr(row, name) for row in listed]
        indexes = [row.place for row in rows]
        steps = TrialSteps(bundles[at], columns[at], indexes, limits.step_bytes)
        sides[name] = _side_columns(rows, columns[at], steps)
        blocks.append(DataBlock(f"steps-{name}", steps.lines))
        if at == 0 or bundles[0].digest(SUITE_NAME) != bundles[1].digest(SUITE_NAME):
            grids = grids_json(bundles[at], columns[at], steps)
            blocks.append(DataBlock(f"grids-{name}", [grids]))
    by_policy = Counter((row.policy, row.change) for row in changes)
    policies = [
        _PolicyRow(_name(one), one, {name: by_policy[place, name] for name in CHANGES})
        for place, one in enumerate(comparison.policies)
    ]
    without = sum(
        -1 in ends for ends in zip(sides["base"]["steps"], sides["new"]["steps"], strict=True)
    )
    body = render(
        "report/templates/compare_recovery.html.j2",
        comparison=comparison,
        runs=runs,
        policies=policies,
        kinds=kind_rows(comparison, *columns),
        forest=_forest(comparison.policies),
        change_counts=Counter(row.change for row in changes),
        changes=CHANGES,
        first_rows=FirstRows(changes[:FIRST_ROWS], max(0, len(changes) - FIRST_ROWS)),
        left_out={"list": len(changes) - len(listed), "steps": without},
        most_one_sided=_MOST_ONE_SIDED,
        version=__version__,
    )
    yield framed_page(
        "index.html",
        title,
        "compare_recovery",
        body,
        [_changes_block(comparison, runs, listed, sides), *blocks],
    )
