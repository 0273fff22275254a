"""The planner's field is exact: against two other solvers, and by its own certificate."""

import random

import msgspec
import networkx as nx
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from wayproof.errors import InputError
from wayproof.evidence.recovery_records import GridRecord
from wayproof.recovery.certificate import certificate_fault
from wayproof.recovery.grid import Grid
from wayproof.recovery.planner import cost_to_go, next_cell, potential_rows, reference_path
from wayproof.recovery.tracks.v0 import LoadedGrid


def random_grid(seed: int) -> Grid:
    draw = random.Random(seed)
    height, width = draw.randint(1, 14), draw.randint(2, 14)
    blocked = draw.choice((0.0, 0.1, 0.3, 0.5))
    cells = [
        ["#" if draw.random() < blocked else str(draw.randint(1, 9)) for _ in range(width)]
        for _ in range(height)
    ]
    start, target = draw.sample([(r, c) for r in range(height) for c in range(width)], 2)
    for row, column in (start, target):
        cells[row][column] = str(draw.randint(1, 9))
    return Grid.parse(["".join(row) for row in cells], start, target)


def arcs(grid: Grid) -> list[tuple[int, int, int]]:
    """From v to u at cost(v): reversed, so that the target reaches all costs to go."""
    return [
        (cell, near, cost)
        for cell, cost in enumerate(grid.costs)
        if cost
        for near in (cell - grid.stride, cell - 1, cell + 1, cell + grid.stride)
        if grid.costs[near]
    ]


def wrong_potential(record: GridRecord, seed: int) -> GridRecord:
    """One potential of a free cell raised, lowered, or left out."""
    draw = random.Random(seed)
    free = [
        (r, c) for r, row in enumerate(record.rows) for c, cell in enumerate(row) if cell != "#"
    ]
    row, column = draw.choice(free)
    rows = [list(potentials) for potentials in record.potentials]
    old = rows[row][column]
    rows[row][column] = draw.choice([old + 1, max(0, old - 1) or 2, None]) if old else 7
    return msgspec.structs.replace(record, potentials=tuple(map(tuple, rows)))


def padded(record: GridRecord) -> GridRecord:
    """A reference path that steps back once before it goes on."""
    path = record.reference_path
    return msgspec.structs.replace(record, reference_path=(*path[:2], *path))


@pytest.mark.parametrize("hundred", range(10))
def test_the_field_equals_networkx_and_scipy(hundred: int, worked: LoadedGrid) -> None:
    """On 1,000 random grids every cell's cost-to-go is theirs, and it certifies."""
    for seed in range(100 * hundred, 100 * hundred + 100):
        grid = random_grid(seed)
        field, edges = cost_to_go(grid), arcs(grid)
        target = grid.index_of(grid.target)
        digraph = nx.DiGraph()
        digraph.add_node(target)
        digraph.add_weighted_edges_from(edges)
        reached = {at: cost for at, cost in enumerate(field) if cost >= 0}
        assert nx.single_source_dijkstra_path_length(digraph, target) == reached
        size = len(grid.costs)
        tails, heads, costs = zip(*edges, strict=True) if edges else ((), (), ())
        theirs = dijkstra(csr_array((costs, (tails, heads)), shape=(size, size)), indices=target)
        assert {at: int(cost) for at, cost in enumerate(theirs) if cost < float("inf")} == reached
        if field[grid.index_of(grid.start)] >= 0:
            record = msgspec.structs.replace(
                worked.record,
                rows=grid.rows,
                start=grid.start,
                target=grid.target,
                potentials=potential_rows(grid, field),
                reference_path=reference_path(grid, field),
            )
            assert certificate_fault(record) is None
            refused = [wrong_potential(record, seed), padded(record)]
            assert None not in [certificate_fault(wrong) for wrong in refused]


def test_ties_go_to_the_smallest_row_and_column() -> None:
    """On an even field the path goes left to right before it goes down."""
    grid = Grid.parse(["111", "111", "111"], (0, 0), (2, 2))
    assert reference_path(grid, cost_to_go(grid)) == ((0, 0), (0, 1), (0, 2), (1, 2), (2, 2))


def test_the_worked_example_comes_out(worked: LoadedGrid) -> None:
    """The potentials that the docs work out by hand are the planner's."""
    field = cost_to_go(worked.grid)
    assert potential_rows(worked.grid, field) == worked.record.potentials
    assert reference_path(worked.grid, field) == worked.record.reference_path


def test_no_path_is_said() -> None:
    """A walled-in start has no next cell."""
    grid = Grid.parse(["1#1"], (0, 0), (0, 2))
    with pytest.raises(InputError, match="the target can't be reached"):
        next_cell(grid, cost_to_go(grid), grid.start)
