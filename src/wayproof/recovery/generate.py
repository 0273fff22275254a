"""Suites from a seed: the same bytes on any machine, operating system and Python.

Each grid is drawn from a stream of its own, keyed by the generator's name, the seed, the
grid's number and the attempt, so that neither order nor parallelism can matter and grid
7 of 50 is grid 7 of 20,000. Draws, in order: for each cell, row by row, below(100)
(blocked when under ``blocked_percent``) and, when free, the cost; the start and the
target among the free cells; then, per failure kind, the prefix and the injected action.
What can't hold the three scenarios is thrown away and drawn again as the next attempt.
"""

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from typing import Final, NamedTuple, TypeVar

import msgspec

from wayproof.canonical import canonical_bytes, record_bytes, sha256_hex
from wayproof.errors import InputError
from wayproof.evidence.recovery_names import Kind
from wayproof.evidence.recovery_records import (
    FINISH,
    MAX_COST,
    SUITE_SCHEMA_VERSION,
    Action,
    Cell,
    GeneratorRecord,
    GridRecord,
    ScenarioRecord,
    SuiteHeader,
)
from wayproof.parallel.backend import backend
from wayproof.recovery.grid import NEIGHBOUR_OFFSETS, Grid, fingerprint
from wayproof.recovery.planner import cost_to_go, potential_rows, reference_path
from wayproof.recovery.rules import broken_rule
from wayproof.stats.seeded import SplitMix64, stream

__all__ = [
    "GENERATOR_NAME",
    "RECIPES",
    "Parameters",
    "Recipe",
    "custom_suite_id",
    "generate_grid",
    "suite_lines",
]

GENERATOR_NAME: Final = "wayproof.recovery.grids/1"
_MAX_ATTEMPTS: Final = 10_000
_BLOCK_GRIDS: Final = 64
_T = TypeVar("_T")


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """What the generator may be told. The defaults are the calibrated ones.

    Attributes
    ----------
    blocked_percent
        Chance of each cell to be blocked, in percent.
    budget_factor
        Proposals a policy may make, per remaining move of the reference path.
    cost_max
        Entry costs are uniform in 1 … ``cost_max``.
    grids
        How many grids; three scenarios each.
    prefix_min_moves
        Fewest moves of a prefix.
    remaining_min_moves
        Fewest moves of the reference path that a prefix leaves.
    side_max, side_min
        Rows and columns are drawn uniformly and separately in this range.
    """

    blocked_percent: int = 10
    budget_factor: int = 4
    cost_max: int = MAX_COST
    grids: int = 50
    prefix_min_moves: int = 1
    remaining_min_moves: int = 3
    side_max: int = 12
    side_min: int = 6

    def check(self) -> None:
        """Refuse what no suite can be made with.

        Raises
        ------
        InputError
            Naming the parameter and its range.
        """
        ranges = {
            "blocked_percent": (1, 60),
            "budget_factor": (1, 1000),
            "cost_max": (1, MAX_COST),
            "grids": (1, 10_000_000),
            "prefix_min_moves": (0, 1000),
            "remaining_min_moves": (1, 1000),
            "side_max": (self.side_min, 256),
            "side_min": (3, 256),
        }
        for name, (low, high) in ranges.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise InputError(
                    "parameter out of range",
                    field=name,
                    expected=f"{low} … {high}",
                    found=str(value),
                )


class Recipe(msgspec.Struct, frozen=True):
    """A suite: its id, seed and parameters. A hidden suite's seed is hex digits."""

    suite_id: str
    seed: int | str
    parameters: Parameters


RECIPES: Final = {
    recipe.suite_id: recipe
    for recipe in (
        Recipe("wfrb-v0", 0, Parameters()),
        Recipe("explorer-sample", 1_000, Parameters(grids=12, side_max=9)),
    )
}


def custom_suite_id(recipe: Recipe) -> str:
    """Id of a suite that isn't shipped: says by a digest what it was made from.

    A shipped suite's id stands for its exact bytes and is never given to others.
    """
    shipped = RECIPES.get(recipe.suite_id)
    if shipped == recipe:
        return recipe.suite_id
    made_from = [GENERATOR_NAME, recipe.seed, msgspec.to_builtins(recipe.parameters)]
    return f"custom-{sha256_hex(canonical_bytes(made_from))[:12]}"


def suite_lines(
    recipe: Recipe,
    *,
    processes: int = 1,
    executor: Executor | None = None,
    numbers: range | None = None,
) -> Iterator[bytes]:
    """Yield the lines of a suite, each with its line feed; few grids in memory at a time.

    The bytes are the same for any number of processes, and on any executor.

    Parameters
    ----------
    recipe
        What to make.
    processes, executor
        As for a run.
    numbers
        Only these grids after the header, numbered from 0; all when None.

    Raises
    ------
    InputError
        When the parameters are out of range, or no grid fits them.
    """
    recipe.parameters.check()
    yield record_bytes(_header(recipe)) + b"\n"
    wanted = range(recipe.parameters.grids) if numbers is None else numbers
    block_grids = 1 if processes == 1 and executor is None else _BLOCK_GRIDS
    blocks = (
        (recipe, wanted[first : first + block_grids])
        for first in range(0, len(wanted), block_grids)
    )
    with (
        backend(processes, executor) as place,
        contextlib.closing(place.map(_made_grids, blocks)) as made,
    ):
        seen: dict[bytes, int] = {}
        for block in made:
            for number in block.fingerprints:
                _check_new(seen, block.fingerprints[number], number)
            yield block.lines


def _check_new(seen: dict[bytes, int], fingerprint: bytes, number: int) -> None:
    first = seen.setdefault(fingerprint, number)
    if first != number:
        raise broken_rule(
            "grids_differ",
            index=f"grid {number}",
            found=f"grid {first} again",
            mend="allow larger sides, more costs or fewer grids",
        )


class _MadeGrids(NamedTuple):
    """The lines of some grids, and each grid's fingerprint by its number."""

    lines: bytes
    fingerprints: dict[int, bytes]


def _made_grids(recipe: Recipe, numbers: range) -> _MadeGrids:
    lines: list[bytes] = []
    fingerprints = {}
    for number in numbers:
        record = generate_grid(recipe, number)
        lines += (record_bytes(record), b"\n")
        grid = Grid.parse(record.rows, record.start, record.target)
        _check_budgets(grid, record)
        fingerprints[number] = fingerprint(grid)
    return _MadeGrids(b"".join(lines), fingerprints)


def _check_budgets(grid: Grid, record: GridRecord) -> None:
    """Refuse a budget under which no policy can finish."""
    for at, scenario in enumerate(record.scenarios):
        if scenario.budget > len(record.reference_path) - 1 - scenario.prefix_length:
            continue  # the reference path can be walked, and finished
        needed = 1 + _fewest_moves(grid, record.reference_path[scenario.prefix_length])
        if scenario.budget < needed:
            raise broken_rule(
                "budget_suffices",
                index=record.grid_id,
                field=f"scenarios[{at}].budget",
                found=f"{scenario.budget}, and {needed} proposals are needed",
                mend="a budget_factor of 2 always suffices",
            )


def _fewest_moves(grid: Grid, start: Cell) -> int:
    """Count the moves of a shortest way to the target, whatever it costs."""
    target, edge = grid.index_of(grid.target), [grid.index_of(start)]
    seen, moves = set(edge), 0
    while target not in seen:
        moves += 1
        steps = (cell + step for cell in edge for step in (-grid.stride, -1, 1, grid.stride))
        edge = [cell for cell in dict.fromkeys(steps) if grid.costs[cell] and cell not in seen]
        seen.update(edge)
    return moves


def _header(recipe: Recipe) -> SuiteHeader:
    return SuiteHeader(
        generator=GeneratorRecord(
            name=GENERATOR_NAME,
            parameters=msgspec.to_builtins(recipe.parameters),
            seed=recipe.seed,
        ),
        schema_version=SUITE_SCHEMA_VERSION,
        suite_id=recipe.suite_id,
    )


def generate_grid(recipe: Recipe, number: int) -> GridRecord:
    """Make grid ``number``: the first attempt that holds all three scenarios."""
    digits = max(3, len(str(recipe.parameters.grids - 1)))
    grid_id = f"{recipe.suite_id}-g{number:0{digits}d}"
    for attempt in range(_MAX_ATTEMPTS):
        draw = stream(GENERATOR_NAME, recipe.seed, number, attempt)
        record = _attempt(draw, recipe.parameters, grid_id)
        if record is not None:
            return record
    raise InputError(
        f"no grid fits the parameters in {_MAX_ATTEMPTS} attempts",
        index=f"grid {number}",
        mend="allow larger sides, shorter prefixes or fewer remaining moves",
    )


def _attempt(draw: SplitMix64, parameters: Parameters, grid_id: str) -> GridRecord | None:
    grid = _draw_grid(draw, parameters)
    if grid is None:
        return None
    field = cost_to_go(grid)
    if field[grid.index_of(grid.start)] < 0:
        return None
    path = reference_path(grid, field)
    lengths = range(parameters.prefix_min_moves, len(path) - parameters.remaining_min_moves)
    walled = [length for length in lengths if _blocked_beside(grid, path[length])]
    if not walled:
        return None
    length = _choose(draw, walled)
    collision = _choose(draw, _blocked_beside(grid, path[length]))
    invalid_path = _choose(draw, _free_elsewhere(grid, path[length]))
    premature_length = _choose(draw, lengths)

    def scenario(kind: Kind, prefix_length: int, injected: Action) -> ScenarioRecord:
        return ScenarioRecord(
            budget=parameters.budget_factor * (len(path) - 1 - prefix_length),
            failure_kind=kind,
            injected_action=injected,
            prefix_length=prefix_length,
            scenario_id=f"{grid_id}-{kind}",
        )

    return GridRecord(
        grid_id=grid_id,
        potentials=potential_rows(grid, field),
        reference_path=path,
        rows=grid.rows,
        scenarios=(
            scenario("collision", length, Action(move=collision)),
            scenario("invalid_path", length, Action(move=invalid_path)),
            scenario("premature_end", premature_length, FINISH),
        ),
        start=grid.start,
        target=grid.target,
    )


def _draw_grid(draw: SplitMix64, parameters: Parameters) -> Grid | None:
    sides = parameters.side_max - parameters.side_min + 1
    height = parameters.side_min + draw.below(sides)
    width = parameters.side_min + draw.below(sides)
    rows = [
        "".join(
            "#"
            if draw.below(100) < parameters.blocked_percent
            else str(1 + draw.below(parameters.cost_max))
            for _ in range(width)
        )
        for _ in range(height)
    ]
    free = [
        (row, column)
        for row in range(height)
        for column in range(width)
        if rows[row][column] != "#"
    ]
    if len(free) < 2:
        return None
    start = free.pop(draw.below(len(free)))
    return Grid.parse(rows, start, free[draw.below(len(free))])


def _choose(draw: SplitMix64, options: Sequence[_T]) -> _T:
    return options[draw.below(len(options))]


def _blocked_beside(grid: Grid, cell: Cell) -> list[Cell]:
    """Blocked neighbours on the grid; a wall outside it is not named by an injection."""
    beside = [(cell[0] + row, cell[1] + column) for row, column in NEIGHBOUR_OFFSETS]
    return [
        (row, column)
        for row, column in beside
        if 0 <= row < grid.height and 0 <= column < grid.width and not grid.cost_at((row, column))
    ]


def _free_elsewhere(grid: Grid, cell: Cell) -> list[Cell]:
    """Free cells that are neither ``cell`` nor one of its neighbours."""
    return [
        other
        for other in grid.cells()
        if abs(other[0] - cell[0]) + abs(other[1] - cell[1]) > 1 and grid.cost_at(other)
    ]
