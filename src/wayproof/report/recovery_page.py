"""A recovery bundle as one page: counts, and every trial that fits, step by step."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import msgspec

from wayproof._version import __version__
from wayproof.bundles.reader import Bundle, LineFile, decoded_line, decoded_lines, identities
from wayproof.errors import IntegrityError
from wayproof.report.chart import NARROW_SHARES, WIDE_SHARES, Interval, ShareChart, share_chart
from wayproof.report.frame import framed_page
from wayproof.report.recovery_numbers import (
    CHECKS,
    FAILURE_KINDS,
    RecoveryNumbers,
    TrialColumns,
    first_unverified,
    recovery_numbers,
    trial_columns,
)
from wayproof.report.run import ReportPlace, run_facts
from wayproof.web.page import DataBlock, Page
from wayproof.web.template import render

__all__ = ["RecoveryLimits", "pages_of", "recovery_pages"]

_PHASES: Final = ("prefix", "injected", "policy")
_REJECTIONS: Final[dict[str | None, int]] = {
    None: 0,
    **{kind: code for code, kind in enumerate(FAILURE_KINDS, start=1)},
}


class RecoveryLimits(NamedTuple):
    """How much the file may hold before it says what it leaves out."""

    listed_trials: int = 200_000
    step_bytes: int = 12 << 20


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


def _grid_order(columns: TrialColumns) -> list[int]:
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


class _Steps:
    """The steps of as many trials as fit, packed."""

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
            for index in _grid_order(columns):
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


def _grid_lines(bundle: Bundle, columns: TrialColumns, steps: _Steps) -> Iterator[bytes]:
    """Yield the grids that the embedded trials stand on, as one JSON object by id."""
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
    yield msgspec.json.encode(drawn)


def _columns_block(columns: TrialColumns, listed: list[int], steps: _Steps, name: str) -> DataBlock:
    chosen: dict[str, Any] = columns.chosen(listed)
    chosen["steps"] = [steps.place_of.get(index, -1) for index in listed]
    chosen["bundle"] = name
    chosen["checks"] = CHECKS
    chosen["kinds"] = FAILURE_KINDS
    return DataBlock("trials", [msgspec.json.encode(chosen)])


def _charts(numbers: RecoveryNumbers) -> dict[str, ShareChart]:
    """Completed and verified of each policy, laid out for wide and for narrow screens."""
    rows = [
        (
            row.policy,
            [
                Interval(
                    name, value.share, value.low, value.high, f"{value.reached} / {value.cells}"
                )
                for name, value in (("completed", row.completed), ("verified", row.verified))
            ],
        )
        for row in numbers.totals
    ]
    return {"wide": share_chart(rows, WIDE_SHARES), "narrow": share_chart(rows, NARROW_SHARES)}


def recovery_pages(
    bundle: Bundle, place: ReportPlace | None = None, *, limits: RecoveryLimits | None = None
) -> Iterator[Page]:
    """Yield the report's one page, ``STEM.html``."""
    place = place or ReportPlace("index", bundle.name)
    limits = limits or RecoveryLimits()
    with LineFile(bundle.folder / "results.jsonl") as lines:
        columns = trial_columns(lines)
    numbers = recovery_numbers(bundle, columns)
    listed = sorted(_grid_order(columns)[: limits.listed_trials])
    steps = _Steps(bundle, columns, listed, limits.step_bytes)
    body = render(
        "report/templates/recovery.html.j2",
        numbers=numbers,
        charts=_charts(numbers),
        identities=identities(bundle),
        kinds=FAILURE_KINDS,
        left_out={
            "list": len(columns) - len(listed),
            "steps": len(listed) - len(steps.place_of),
        },
        stem=place.stem,
        run=run_facts(bundle, place.name),
        first_trials=first_unverified(columns),
        version=__version__,
    )
    blocks = [
        _columns_block(columns, listed, steps, place.name),
        DataBlock("grids", _grid_lines(bundle, columns, steps)),
        DataBlock("steps", steps.lines),
    ]
    title = f"{place.name} · recovery · {numbers.suite_id}"
    yield framed_page(f"{place.stem}.html", title, "recovery", body, blocks)


def pages_of(
    bundle: Bundle, sources: Mapping[str, Path], place: ReportPlace, *, may_page: bool
) -> Iterator[Page]:
    """Yield a recovery bundle's one page."""
    del sources, may_page
    return recovery_pages(bundle, place)
