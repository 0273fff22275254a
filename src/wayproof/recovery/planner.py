"""Exact shortest paths: the whole cost-to-go field of a grid, by a bucket queue.

The potential of a cell is the optimal cost from it to the target, where entering a cell
costs its entry cost and the first cell is free. Costs are small integers, so the queue
is a list of buckets (R. B. Dial, "Algorithm 360: shortest-path forest with topological
ordering", CACM 12 (1969) 632-633). One property of this problem makes it faster still:
reaching v from *any* of its neighbours costs the same, cost(v) + potential(v). So a
cell enters the queue once, with that sum as its key, and whatever unlabelled neighbour
it meets when it leaves the queue gets exactly that potential, for good.
"""

from typing import Final

from wayproof.errors import InputError
from wayproof.evidence.recovery_records import MAX_COST, Cell
from wayproof.recovery.grid import NEIGHBOUR_OFFSETS, Grid

__all__ = ["UNREACHABLE", "cost_to_go", "next_cell", "potential_rows", "reference_path"]

UNREACHABLE: Final = -1
_BLOCKED: Final = -2
_FIELD_OF_COST: Final = [_BLOCKED] + [UNREACHABLE] * MAX_COST


def cost_to_go(grid: Grid) -> list[int]:
    """Potential of every cell, indexed like ``grid.costs``; negative where there is none."""
    costs, stride, target = grid.costs, grid.stride, grid.index_of(grid.target)
    field = list(map(_FIELD_OF_COST.__getitem__, costs))
    field[target] = 0
    # buckets[key] holds the cells v with cost(v) + potential(v) = key. New keys are at most
    # MAX_COST above the present one, so as many empty buckets in a row mean the end.
    key = costs[target]
    buckets: list[list[int]] = [[] for _ in range(key + MAX_COST + 1)]
    buckets[key].append(target)
    empty_in_a_row = 0
    while empty_in_a_row < MAX_COST:
        bucket = buckets[key]
        empty_in_a_row = 0 if bucket else empty_in_a_row + 1
        # Four times the same two lines: a loop over the neighbours costs a third more time.
        # -1 is UNREACHABLE, spelled out for the same reason.
        for cell in bucket:
            if field[near := cell - stride] == -1:
                field[near] = key
                buckets[key + costs[near]].append(near)
            if field[near := cell - 1] == -1:
                field[near] = key
                buckets[key + costs[near]].append(near)
            if field[near := cell + 1] == -1:
                field[near] = key
                buckets[key + costs[near]].append(near)
            if field[near := cell + stride] == -1:
                field[near] = key
                buckets[key + costs[near]].append(near)
        buckets.append([])
        key += 1
    return field


def next_cell(grid: Grid, field: list[int], cell: Cell) -> Cell:
    """Return the first cell, in [row, column] order, of an optimal continuation.

    Raises
    ------
    InputError
        When no path leads from ``cell`` to the target.
    """
    here = field[grid.index_of(cell)]
    for row_step, column_step in NEIGHBOUR_OFFSETS:
        neighbour = (cell[0] + row_step, cell[1] + column_step)
        index = grid.index_of(neighbour)
        if field[index] >= 0 and grid.costs[index] + field[index] == here:
            return neighbour
    raise InputError(
        "the target can't be reached", field="target", found=f"no path from [{cell[0]}, {cell[1]}]"
    )


def reference_path(grid: Grid, field: list[int]) -> tuple[Cell, ...]:
    """Return one optimal path, start and target included.

    Tie-break: of the optimal next cells, the one with the smallest [row, column].
    """
    path = [grid.start]
    while path[-1] != grid.target:
        path.append(next_cell(grid, field, path[-1]))
    return tuple(path)


def potential_rows(grid: Grid, field: list[int]) -> tuple[tuple[int | None, ...], ...]:
    """Return the potentials in the form a suite carries: rows of integers and nulls."""
    return tuple(
        tuple(
            value if value >= 0 else None
            for value in field[grid.index_of((row, 0)) : grid.index_of((row, grid.width))]
        )
        for row in range(grid.height)
    )
