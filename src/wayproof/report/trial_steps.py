"""The steps of recorded trials and the grids under them, packed for a page."""

from typing import Final, Literal

import msgspec

from wayproof.bundles.reader import Bundle, LineFile, decoded_line, decoded_lines
from wayproof.errors import IntegrityError
from wayproof.report.recovery_numbers import FAILURE_KINDS, TrialColumns

__all__ = ["TrialSteps", "grid_order", "grids_json"]

_PHASES: Final = ("prefix", "injected", "policy")
_REJECTIONS: Final[dict[str | None, int]] = {
    None: 0,
    **{kind: code for code, kind in enumerate(FAILURE_KINDS, start=1)},
}


class _Action(msgspec.Struct, frozen=True, gc=False):
    move: tuple[int, int] | None = None
    finish: bool = False


class _Step(msgspec.Struct, frozen=True, gc=False):
    action: _Action
    phase: Literal["prefix", "injected", "policy"]
    position: tuple[int, int]
    rejection: Literal["collision", "invalid_path", "premature_end"] | None
    spent: int


class _Trace(msgspec.Struct, frozen=True, gc=False):
    policy: str
    policy_seed: int
    scenario_id: str
    steps: list[_Step]


class _Grid(msgspec.Struct, frozen=True):
    """What the page draws of a grid."""

    grid_id: str
    potentials: list[list[int | None]]
    reference_path: list[tuple[int, int]]
    rows: list[str]
    start: tuple[int, int]
    target: tuple[int, int]


def _packed(step: _Step) -> list[int]:
    """One step as numbers: phase, cell (none: finish), rejection, position, spent."""
    cell = step.action.move
    return [
        _PHASES.index(step.phase),
        *(cell if cell is not None else ()),
        _REJECTIONS[step.rejection],
        *step.position,
        step.spent,
    ]


def grid_order(columns: TrialColumns) -> list[int]:
    """Trials grid by grid, so that what is left out is whole grids and no single policy."""
    return sorted(
        range(len(columns)), key=lambda index: (columns.grid[index], columns.scenario[index])
    )


def _trace_numbers(traces: LineFile, columns: TrialColumns) -> dict[tuple[int, int, int], int]:
    """Line of each trial's trace, by the codes of scenario and policy, and the seed."""

    class Key(msgspec.Struct, frozen=True, gc=False):
        policy: str
        policy_seed: int
        scenario_id: str

    numbers = {}
    for number, key in enumerate(decoded_lines(traces, Key)):
        scenario = columns.scenarios.get(key.scenario_id, -1)
        policy = columns.policies.get(key.policy, -1)
        numbers[scenario, policy, key.policy_seed] = number
    return numbers


class TrialSteps:
    """The steps of as many trials as fit, packed.

    Attributes
    ----------
    place_of
        Line of each embedded trial, by its index among the results.
    lines
        The packed steps, a line a trial.
    """

    def __init__(
        self, bundle: Bundle, columns: TrialColumns, listed: list[int], limit_bytes: int
    ) -> None:
        self.place_of: dict[int, int] = {}
        self.lines: list[bytes] = []
        decoder = msgspec.json.Decoder(_Trace)
        keep = set(listed)
        used_bytes = 0
        with LineFile(bundle.folder / "traces.jsonl") as traces:
            numbers = _trace_numbers(traces, columns)
            for index in grid_order(columns):
                if index not in keep:
                    continue
                key = (columns.scenario[index], columns.policy[index], columns.seed[index])
                number = numbers.get(key)
                if number is None:
                    raise IntegrityError(
                        "a result without a trace",
                        file=str(traces.path),
                        index=f"result {index + 1}",
                    )
                trace = decoded_line(traces, number, traces.line(number), decoder)
                line = msgspec.json.encode([_packed(step) for step in trace.steps]) + b"\n"
                used_bytes += len(line)
                if used_bytes > limit_bytes and self.lines:
                    break
                self.place_of[index] = len(self.lines)
                self.lines.append(line)


def grids_json(bundle: Bundle, columns: TrialColumns, steps: TrialSteps) -> bytes:
    """Return the grids that the embedded trials stand on, as one JSON object by id."""
    wanted = {columns.grid[index] for index in steps.place_of}
    drawn = {}
    decoder = msgspec.json.Decoder(_Grid)
    with LineFile(bundle.folder / "suite.jsonl") as lines:
        for number, line in enumerate(lines):
            if number == 0:
                continue  # the suite's header
            grid = decoded_line(lines, number, line, decoder)
            if columns.grids.get(grid.grid_id) in wanted:
                if not grid.rows or {len(row) for row in grid.rows} != {len(grid.rows[0])}:
                    raise IntegrityError(
                        "ragged or empty grid", file=str(lines.path), line=number + 1
                    )
                drawn[grid.grid_id] = grid
    for name, code in columns.grids.items():
        if code in wanted and name not in drawn:
            raise IntegrityError(
                "a result on a grid that the suite doesn't have",
                file=str(bundle.folder / "suite.jsonl"),
                expected=name,
            )
    return msgspec.json.encode(drawn)
