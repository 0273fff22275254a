"""Proof of the optimal cost, checked without any search and without trust in a solver.

A suite carries a potential per free cell (its optimal cost-to-go) and one reference
path. They are accepted exactly when

1. the target's potential is 0;
2. every other free cell with a potential has the minimum, over its free neighbours v
   with one, of cost(v) + potential(v);
3. a free cell without a potential has no free neighbour with one, and a blocked cell
   has none;
4. the start has a potential;
5. the reference path leads from start to target over free neighbours and costs exactly
   the start's potential.

Why this is proof: costs are at least 1, so the system (1, 2) has one solution (follow
the minimising neighbours from any cell: potentials fall by at least 1 a move, so the
walk ends, and only the target has no such neighbour). The path shows that the cost can
be had. The time is linear in the number of cells; nothing here imports the planner.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from wayproof.evidence.recovery_records import MAX_COST, Cell, GridRecord

__all__ = ["Fault", "certificate_fault"]

_BLOCKED: Final = "#"
_NOWHERE: Final = 1 << 62
_COSTS: Final = {_BLOCKED: 0} | {str(cost): cost for cost in range(1, MAX_COST + 1)}


class Fault(NamedTuple):
    """The first thing that doesn't hold: where, what, and what would."""

    field: str
    problem: str
    expected: str
    found: str


def certificate_fault(grid: GridRecord) -> Fault | None:
    """Return the first fault of a grid's certificate; None when it proves the optimum."""
    return _shape_fault(grid) or _potential_fault(grid) or _path_fault(grid)


def _shape_fault(grid: GridRecord) -> Fault | None:
    rows, width = grid.rows, len(grid.rows[0]) if grid.rows else 0
    if width == 0:
        return Fault("rows", "grid without cells", "at least one cell", f"{len(rows)} rows")
    for number, row in enumerate(rows):
        if len(row) != width or any(character not in _COSTS for character in row):
            return Fault(
                f"rows[{number}]", "not a row of the grid", f"{width} of # and 1 … 9", repr(row)
            )
    widths = [len(row) for row in grid.potentials]
    if widths != [width] * len(rows):
        return Fault(
            "potentials",
            "not one potential a cell",
            f"{len(rows)} rows of {width}",
            f"{len(widths)} rows of {sorted(set(widths))}",
        )
    for field, cell in (("start", grid.start), ("target", grid.target)):
        if not _cost(rows, cell):
            return Fault(field, "not a free cell", "a free cell of the grid", _shown(cell))
    return None


def _potential_fault(grid: GridRecord) -> Fault | None:
    rows, width = grid.rows, len(grid.rows[0])
    # Cost of moving into each cell and on to the target; unreachable outside the grid.
    outside = [_NOWHERE] * (width + 2)
    onward = [outside]
    for row, potentials in zip(rows, grid.potentials, strict=True):
        onward.append(
            [
                _NOWHERE,
                *(
                    _NOWHERE if potential is None or cell == _BLOCKED else _COSTS[cell] + potential
                    for cell, potential in zip(row, potentials, strict=True)
                ),
                _NOWHERE,
            ]
        )
    onward.append(outside)
    for number, row in enumerate(rows):
        above, here, below = onward[number : number + 3]
        best = list(map(min, above[1:-1], here[:-2], here[2:], below[1:-1]))
        for column, found in enumerate(grid.potentials[number]):
            expected: int | None = best[column]
            if (number, column) == grid.target:
                expected = 0
            elif expected == _NOWHERE or row[column] == _BLOCKED:
                expected = None
            if found != expected:
                return Fault(
                    f"potentials[{number}][{column}]",
                    "potential doesn't certify",
                    _number(expected),
                    _number(found),
                )
    if grid.potentials[grid.start[0]][grid.start[1]] is None:
        return Fault("start", "the target can't be reached", "a potential at the start", "null")
    return None


def _path_fault(grid: GridRecord) -> Fault | None:
    path = grid.reference_path
    for at, expected in ((0, grid.start), (-1, grid.target)):
        if not path or path[at] != expected:
            return Fault(
                f"reference_path[{at}]" if path and at == 0 else "reference_path",
                "reference path doesn't lead from start to target",
                _shown(expected),
                _shown(path[at]) if path else "no cells",
            )
    spent = 0
    for number in range(1, len(path)):
        (row, column), cell = path[number - 1], path[number]
        cost = _cost(grid.rows, cell)
        if abs(cell[0] - row) + abs(cell[1] - column) != 1 or not cost:
            return Fault(
                f"reference_path[{number}]",
                "reference path makes a move that is rejected",
                f"a free neighbour of {_shown((row, column))}",
                _shown(cell),
            )
        spent += cost
    optimum = grid.potentials[grid.start[0]][grid.start[1]]
    if spent != optimum:
        return Fault(
            "reference_path", "reference path is not optimal", f"cost {optimum}", f"cost {spent}"
        )
    return None


def _cost(rows: Sequence[str], cell: Cell) -> int:
    row, column = cell
    if 0 <= row < len(rows) and 0 <= column < len(rows[0]):
        return _COSTS[rows[row][column]]
    return 0


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


def _shown(cell: Cell) -> str:
    return f"[{cell[0]}, {cell[1]}]"
