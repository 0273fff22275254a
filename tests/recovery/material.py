"""Grids that ship with the package, loaded."""

from wayproof.recovery.suite import SuiteReader, suite_path
from wayproof.recovery.tracks.v0 import V0, LoadedGrid, V0Case


def shipped_grids(suite: str) -> list[LoadedGrid]:
    with SuiteReader(suite_path(suite)) as reader:
        return [V0.read_grid(line) for _, line in reader.raw_grids()]


def shipped_cases(suite: str) -> dict[str, V0Case]:
    return {case.scenario_id: case for grid in shipped_grids(suite) for case in grid.cases()}
