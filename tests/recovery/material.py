"""A 4 x 4 grid worked out by hand, and the grids that ship with the package, loaded."""

from wayproof.evidence.recovery_records import FINISH, Action, GridRecord, ScenarioRecord
from wayproof.recovery.suite import SuiteReader, suite_path
from wayproof.recovery.tracks.v0 import V0, LoadedGrid, V0Case

WORKED = GridRecord(
    grid_id="worked-g000",
    # From the target backwards, by hand: docs/recovery/certificate.md.
    potentials=((8, 9, 4, 1), (7, None, 1, 0), (6, 3, 2, 1), (5, 4, 3, 2)),
    reference_path=((0, 0), (1, 0), (2, 0), (3, 0), (3, 1), (3, 2), (2, 2), (2, 3), (1, 3)),
    rows=("1193", "1#91", "1911", "1119"),
    scenarios=(
        ScenarioRecord(
            budget=28,
            failure_kind="collision",
            injected_action=Action.to(1, 1),
            prefix_length=1,
            scenario_id="worked-g000-collision",
        ),
        ScenarioRecord(
            budget=28,
            failure_kind="invalid_path",
            injected_action=Action.to(2, 2),
            prefix_length=1,
            scenario_id="worked-g000-invalid_path",
        ),
        ScenarioRecord(
            budget=20,
            failure_kind="premature_end",
            injected_action=FINISH,
            prefix_length=3,
            scenario_id="worked-g000-premature_end",
        ),
    ),
    start=(0, 0),
    target=(1, 3),
)


def shipped_grids(suite: str) -> list[LoadedGrid]:
    with SuiteReader(suite_path(suite)) as reader:
        return [V0.read_grid(line) for _, line in reader.raw_grids()]


def shipped_cases(suite: str) -> dict[str, V0Case]:
    return {case.scenario_id: case for grid in shipped_grids(suite) for case in grid.cases()}
