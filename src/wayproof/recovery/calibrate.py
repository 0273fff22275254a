"""What a random walk is expected to reach, exactly, by dynamic programming.

The random walk draws one of four moves uniformly and asks to finish on the target, so
after t draws each of 4^t sequences is equally likely. Counting the sequences that stand
on each cell, and letting the target absorb them, gives the probability of completing as
a fraction with denominator 4^(budget - 1): one proposal is kept for the finish.

For the exact-cost probability only moves that lose nothing are kept: those from u to v
with cost(v) + potential(v) = potential(u). A rejected draw stays where it is.

Integers throughout: the numbers are the same on every machine.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Final, NamedTuple

from wayproof.evidence.recovery_records import Cell, GridRecord, ScenarioRecord
from wayproof.recovery.grid import Grid
from wayproof.recovery.planner import cost_to_go

__all__ = [
    "ACCEPTED_COMPLETED",
    "ACCEPTED_VERIFIED",
    "Expectation",
    "expected_counts",
    "in_published_regime",
    "walk_probabilities",
]

ACCEPTED_COMPLETED: Final = (17, 37)
"""Range of expected completions, of 300 cells, around the published 27."""
ACCEPTED_VERIFIED: Final = (2, 8)
"""Range of expected exact recoveries, of 300 cells, around the published 4."""


class Expectation(NamedTuple):
    """Expected counts, or the probabilities of one scenario: exact fractions."""

    completed: Fraction
    verified: Fraction


def walk_probabilities(record: GridRecord, scenario: ScenarioRecord) -> Expectation:
    """Probabilities that a random walk completes, and recovers exactly, one scenario."""
    grid = Grid.parse(record.rows, record.start, record.target)
    field = cost_to_go(grid)
    here = record.reference_path[scenario.prefix_length]
    draws = scenario.budget - 1
    return Expectation(
        Fraction(_arriving(grid, field, here, draws, exact=False), 4**draws),
        Fraction(_arriving(grid, field, here, draws, exact=True), 4**draws),
    )


def _arriving(grid: Grid, field: list[int], here: Cell, draws: int, *, exact: bool) -> int:
    """Of the 4^draws sequences of draws, how many reach the target."""
    exits = {
        cell: _exits(grid, field, cell, exact=exact) for cell, cost in enumerate(grid.costs) if cost
    }
    target = grid.index_of(grid.target)
    standing = {grid.index_of(here): 1}
    arrived = 0
    for _ in range(draws):
        arrived *= 4
        after: dict[int, int] = {}
        for cell, count in standing.items():
            for neighbour in exits[cell]:
                if neighbour == target:
                    arrived += count
                else:
                    after[neighbour] = after.get(neighbour, 0) + count
        standing = after
    return arrived


def _exits(grid: Grid, field: list[int], cell: int, *, exact: bool) -> list[int]:
    """Where each of the four draws leads; a draw that loses the optimum leads nowhere."""
    exits = []
    for neighbour in (cell - grid.stride, cell - 1, cell + 1, cell + grid.stride):
        cost = grid.costs[neighbour]
        if cost == 0:
            exits.append(cell)
        elif not exact or cost + field[neighbour] == field[cell]:
            exits.append(neighbour)
    return exits


def expected_counts(grids: Iterable[GridRecord], policy_seeds: int = 2) -> Expectation:
    """Return expected completions and exact recoveries over all cells of a suite."""
    completed = verified = Fraction(0)
    for record in grids:
        for scenario in record.scenarios:
            chance = walk_probabilities(record, scenario)
            completed += policy_seeds * chance.completed
            verified += policy_seeds * chance.verified
    return Expectation(completed, verified)


def in_published_regime(expected: Expectation) -> bool:
    """Whether a 50-grid suite's expected counts lie in the accepted ranges."""
    return (
        ACCEPTED_COMPLETED[0] <= expected.completed <= ACCEPTED_COMPLETED[1]
        and ACCEPTED_VERIFIED[0] <= expected.verified <= ACCEPTED_VERIFIED[1]
    )
