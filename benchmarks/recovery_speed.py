"""Recovery's speed as ratios within one run; every compared result is checked to be equal.

    python benchmarks/recovery_speed.py [planner] [world] [runs]

Needs the ``dev`` extra (scipy, networkx) and, for the world's steps, ``gymnasium``.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from wayproof.evidence.recovery_records import Action
from wayproof.recovery.grid import Grid
from wayproof.recovery.planner import cost_to_go
from wayproof.recovery.world import reset, step

BIN = Path(sys.executable).parent


def best_s(work: Callable[[], Any], repeats: int) -> float:
    """Shortest of several times: the one least disturbed by others on the machine."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


# -- the planner's field ------------------------------------------------------------


def square(side: int) -> Grid:
    draw = random.Random(side)
    rows = ["".join(draw.choice("#123456789") for _ in range(side)) for _ in range(side)]
    rows[0] = "1" + rows[0][1:]
    rows[-1] = rows[-1][:-1] + "1"
    return Grid.parse(rows, (0, 0), (side - 1, side - 1))


def edges(grid: Grid) -> list[tuple[int, int, int]]:
    """From v to u at cost(v): the reversed graph, so that one source gives all costs to go."""
    return [
        (cell, near, cost)
        for cell, cost in enumerate(grid.costs)
        if cost
        for near in (cell - grid.stride, cell - 1, cell + 1, cell + grid.stride)
        if grid.costs[near]
    ]


def planner_rows() -> list[list[str]]:
    import networkx as nx
    import numpy as np
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    walk = nx.single_source_dijkstra_path_length
    rows = []
    for side in (8, 16, 64, 256, 1024):
        grid = square(side)
        target, size = grid.index_of(grid.target), len(grid.costs)
        arcs = edges(grid)

        def build(arcs: Sequence[tuple[int, int, int]] = arcs, size: int = size) -> Any:
            tails, heads, costs = zip(*arcs, strict=True)
            return csr_array((costs, (tails, heads)), shape=(size, size))

        graph = build()
        repeats = 300 if side <= 64 else 5 if side == 256 else 3
        ours = best_s(partial(cost_to_go, grid), repeats)
        scipy = best_s(partial(dijkstra, graph, indices=target), repeats)
        built = best_s(build, 3)
        field = cost_to_go(grid)
        theirs = dijkstra(graph, indices=target)
        reachable = np.isfinite(theirs)
        assert [int(value) for value in theirs[reachable]] == [
            field[at] for at in np.flatnonzero(reachable)
        ]
        assert all((value >= 0) == seen for value, seen in zip(field, reachable, strict=True))
        digraph = nx.DiGraph()
        digraph.add_weighted_edges_from(arcs)
        netx = best_s(partial(walk, digraph, target), 20 if side <= 64 else 1)
        assert walk(digraph, target) == {at: cost for at, cost in enumerate(field) if cost >= 0}
        rows.append(
            [
                f"{side} x {side}",
                f"{ours * 1e3:.3f}",
                f"{scipy * 1e3:.3f}",
                f"{(scipy + built) * 1e3:.3f}",
                f"{netx * 1e3:.3f}",
                f"{ours / scipy:.2f}",
                f"{netx / ours:.0f}",
            ]
        )
    return rows


# -- the world's steps --------------------------------------------------------------


def world_rows(steps: int = 100_000) -> list[list[str]]:
    import gymnasium

    grid = square(8)
    draw = random.Random(1)
    turns = [draw.randrange(4) for _ in range(steps)]
    offsets = ((-1, 0), (0, -1), (0, 1), (1, 0))

    def ours() -> None:
        state = reset(grid)
        for turn in turns:
            row, column = state.position
            row_step, column_step = offsets[turn]
            state = step(grid, state, Action(move=(row + row_step, column + column_step))).state

    rows = []
    own_s = best_s(ours, 5)
    for name, environment in (
        ("FrozenLake-v1 8 x 8, as made", gymnasium.make("FrozenLake-v1", map_name="8x8")),
        ("the same, unwrapped", gymnasium.make("FrozenLake-v1", map_name="8x8").unwrapped),
    ):

        def theirs(environment: Any = environment) -> None:
            environment.reset(seed=1)
            for turn in turns:
                _, _, terminated, truncated, _ = environment.step(turn)
                if terminated or truncated:
                    environment.reset()

        their_s = best_s(theirs, 3)
        rows.append(
            [name, f"{steps / own_s:,.0f}", f"{steps / their_s:,.0f}", f"{their_s / own_s:.1f}"]
        )
    return rows


# -- whole runs ---------------------------------------------------------------------


def run_s(*arguments: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        command = [str(BIN / "wayproof"), "recovery", "run", "--out", f"{folder}/bundle"]
        return best_s_once([*command, *arguments])


def best_s_once(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def whole_rows() -> list[list[str]]:
    imports = [sys.executable, "-c", "import msgspec, rfc8785"]
    base = min(best_s_once(imports) for _ in range(15))
    run = min(run_s() for _ in range(7))
    pairs = [
        (run_s("--seeds", "0-79"), run_s("--seeds", "0-79", "--processes", "2")) for _ in range(7)
    ]
    one, two = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    return [
        [
            "900 trials, start-up to files",
            f"{run:.3f} s",
            f"imports alone {base:.3f} s",
            f"{run / base:.1f}",
        ],
        ["36,000 trials, 1 and 2 processes", f"{one:.2f} s", f"{two:.2f} s", f"{one / two:.2f}"],
    ]


def table(title: str, header: Sequence[str], rows: list[list[str]]) -> None:
    print(f"\n{title}\n")
    lines = [list(header), ["---"] * len(header), *rows]
    for line in lines:
        print("| " + " | ".join(line) + " |")


def main() -> None:
    parts = sys.argv[1:] or ["planner", "world", "runs"]
    if "planner" in parts:
        header = (
            "grid",
            "ours",
            "scipy",
            "scipy with graph build",
            "networkx",
            "ours / scipy",
            "networkx / ours",
        )
        table("Whole cost-to-go field, ms; all equal exactly", header, planner_rows())
    if "world" in parts:
        table("World steps a second", ("against", "ours", "theirs", "ratio"), world_rows())
    if "runs" in parts:
        table("Whole runs", ("run", "time", "against", "ratio"), whole_rows())


if __name__ == "__main__":
    main()
