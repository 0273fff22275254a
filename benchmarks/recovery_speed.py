"""Recovery's speed as ratios within one run; every compared result is checked to be equal.

    python benchmarks/recovery_speed.py [planner] [world] [runs] [stdio] [gym]

Needs the ``dev`` extra (scipy, networkx, gymnasium).
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


# -- agents over stdio ----------------------------------------------------------------

ANSWERING = """
import json, sys
for line in sys.stdin:
    said = json.loads(line)
    if said["type"] == "hello":
        print(json.dumps({"type": "hello", "name": "x", "version": "1"}), flush=True)
    elif said["type"] != "end":
        step = said.get("step", -1) + 1
        action = {"type": "action", "trial": said["trial"], "step": step, "finish": True}
        print(json.dumps(action), flush=True)
"""


def bare_s(lines: list[bytes]) -> float:
    """Write each line to the same program and read its answer, with nothing in between."""
    command = [sys.executable, "-S", "-c", ANSWERING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        started = 0.0
        for number, line in enumerate(lines):
            if number == 2:  # after hello and trial
                started = time.perf_counter()
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline()
        taken = time.perf_counter() - started
        process.stdin.close()
    return taken


def stdio_rows(steps: int = 10_000) -> list[list[str]]:
    import shlex

    import msgspec

    from wayproof.recovery.agents.policy import Policy
    from wayproof.recovery.agents.stdio import _AgentProcess, stdio_agent
    from wayproof.recovery.suite import SuiteReader, suite_path
    from wayproof.recovery.tracks.v0 import V0
    from wayproof.recovery.trial import run_trial

    with SuiteReader(suite_path("wfrb-v0")) as reader:
        case = V0.read_grid(next(iter(reader.raw_grids()))[1]).cases()[0]
    scenario = msgspec.structs.replace(case.scenario, budget=steps)
    case = case._replace(scenario=scenario)
    source = stdio_agent("bench", shlex.join([sys.executable, "-S", "-c", ANSWERING]))
    begun: list[float] = []
    lines: list[bytes] = []
    send = _AgentProcess.send

    def noting(self: _AgentProcess, line: bytes, deadline: float) -> None:
        lines.append(line)
        begun.append(time.perf_counter())
        send(self, line, deadline)

    _AgentProcess.send = noting  # type: ignore[method-assign]
    made: list[Policy] = []
    starts, rounds, bare = [], [], []
    for _ in range(5):
        lines.clear()
        begun.clear()
        started = time.perf_counter()
        made.append(source.make(1))
        starts.append(time.perf_counter() - started)
        close = getattr(made.pop(), "close", None)
        assert close is not None
        close()
        lines.clear()
        begun.clear()
        ran = run_trial("wfrb-v0", case, source, 0)
        assert ran.agent_outcome == "ok"
        assert len(lines) == steps + 3
        rounds.append((begun[-1] - begun[2]) / (steps - 1))
        bare.append(bare_s(lines[:-2]) / (steps - 1))
    _AgentProcess.send = send  # type: ignore[method-assign]
    mine, theirs = min(rounds), min(bare)
    return [
        [
            "round trip of an action",
            f"{mine * 1e6:.0f} us",
            f"bare echo loop, same messages {theirs * 1e6:.0f} us",
            f"{mine / theirs:.2f}",
        ],
        ["process start and hello, once a trial", f"{min(starts) * 1e3:.1f} ms", "", ""],
    ]


# -- learners ---------------------------------------------------------------------------


def gym_rows(steps: int = 40_000) -> list[list[str]]:
    import gymnasium
    from gymnasium.vector import SyncVectorEnv

    name = "wayproof.gym:wayproof/WFRB-v0"

    def alone_s(environment: Any) -> float:
        environment.reset(seed=1)
        environment.action_space.seed(1)
        actions = [int(environment.action_space.sample()) for _ in range(steps)]

        def work() -> None:
            for action in actions:
                _, _, terminated, truncated, _ = environment.step(action)
                if terminated or truncated:
                    environment.reset()

        return best_s(work, 5) / steps

    def lanes_s(environment: Any, rounds: int) -> float:
        environment.reset(seed=1)
        actions = [environment.action_space.sample() for _ in range(rounds)]

        def work() -> None:
            for action in actions:
                environment.step(action)

        return best_s(work, 5) / rounds / int(environment.num_envs)

    lake = partial(gymnasium.make, "FrozenLake-v1", map_name="8x8")
    ours, theirs = alone_s(gymnasium.make(name)), alone_s(lake())
    rows = [
        [
            "one environment, as made",
            f"{1 / ours:,.0f}",
            f"FrozenLake {1 / theirs:,.0f}",
            f"{theirs / ours:.2f}",
        ]
    ]
    batch = lanes_s(gymnasium.make_vec(name, num_envs=256), 300)
    for what, environments in (
        ("SyncVectorEnv of our own", [partial(gymnasium.make, name)] * 256),
        ("SyncVectorEnv of FrozenLake", [lake] * 256),
    ):
        sync = lanes_s(SyncVectorEnv(environments), 10)
        rows.append(
            [
                "batch of 256 lanes",
                f"{1 / batch:,.0f}",
                f"{what} {1 / sync:,.0f}",
                f"{sync / batch:.0f}",
            ]
        )
    many = lanes_s(gymnasium.make_vec(name, num_envs=4096), 60)
    return [*rows, ["batch of 4,096 lanes", f"{1 / many:,.0f}", "", ""]]


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
    if "stdio" in parts:
        table("Agents over stdio", ("what", "ours", "against", "ratio"), stdio_rows())
    if "gym" in parts:
        table("Steps a second for learners", ("what", "ours", "against", "ratio"), gym_rows())
    if "runs" in parts:
        table("Whole runs", ("run", "time", "against", "ratio"), whole_rows())


if __name__ == "__main__":
    main()
