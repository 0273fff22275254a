"""Suites: the file format, its checks, and the two suites that ship with the package.

A suite is canonical JSON Lines: a header, then a line a grid. Ids rise through the file
(by code point), which makes them distinct and lets a suite of any size be streamed.
"""

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final, NamedTuple, Self

import msgspec

from wayproof.canonical import canonical_bytes, decode_record_line
from wayproof.errors import InputError
from wayproof.evidence.recovery_records import (
    MAX_TRIAL_STEPS,
    SUITE_SCHEMA_VERSION,
    GridRecord,
    ScenarioRecord,
    SuiteHeader,
)
from wayproof.lines import evidence_lines
from wayproof.recovery.grid import Grid
from wayproof.recovery.referee import Referee
from wayproof.recovery.world import State, step
from wayproof.text import quoted

__all__ = [
    "DEFAULT_SUITE",
    "EXPECTED_RANDOM_WALK",
    "PINNED_SUITES",
    "REFERENCE_RESULTS_SHA256",
    "LoadedGrid",
    "SuiteReader",
    "decode_grid_line",
    "decode_header_line",
    "failure_state",
    "load_grid",
    "load_grid_line",
    "suite_path",
]

DEFAULT_SUITE: Final = "wfrb-v0"
PINNED_SUITES: Final = {
    "explorer-sample": "a5afe557b95e7aa4a8b7793a6e1996205e0417e7211d6b764645778aa23f110e",
    "wfrb-v0": "092ce6e8e0e470f49ea82a1f70d3e22d96537ab584374b463862aa0b9e3cdb23",
}
"""SHA-256 of the files of the official suites. Their ids are theirs alone."""

REFERENCE_RESULTS_SHA256: Final = "8520390d377dc63065e24930e370e0b0c914302e766c86edb3e3a095e3fee7b1"
"""SHA-256 of ``results.jsonl`` of the reference experiment: wfrb-v0, three controls, seeds 0, 1."""

EXPECTED_RANDOM_WALK: Final = {
    "explorer-sample": (4.626166, 0.557138),
    "wfrb-v0": (14.547135, 1.618782),
}
"""Expected completions and exact recoveries of a random walk, per policy seed.

From :mod:`wayproof.recovery.calibrate`, which takes too long to run each time; a test
makes them again.
"""

_REMEMBERED_LINE_BYTES: Final = 1 << 13
_DATA: Final = Path(__file__).parent / "data"
_header_decoder: Final = msgspec.json.Decoder(SuiteHeader)
_grid_decoder: Final = msgspec.json.Decoder(GridRecord)


class LoadedGrid(NamedTuple):
    """A grid of a suite, checked: its record, the world's grid, and its referee."""

    record: GridRecord
    grid: Grid
    referee: Referee


def suite_path(suite: str) -> Path:
    """Return the file of a shipped suite by its id, or of any suite by its path.

    Raises
    ------
    InputError
        When it is neither.
    """
    if suite in PINNED_SUITES:
        return _DATA / f"{suite}.jsonl"
    path = Path(suite)
    if not path.is_file():
        raise InputError(
            "no such suite",
            field="--suite",
            expected=f"{', '.join(sorted(PINNED_SUITES))}, or a suite file",
            found=quoted(suite),
        )
    return path


class SuiteReader:
    """Reads a suite file grid by grid, checking each. Use it in a ``with`` block.

    Parameters
    ----------
    path
        The file.
    name
        How errors call it; the path when omitted.

    Raises
    ------
    InputError
        Naming file, line and field of the first thing that is wrong.
    """

    def __init__(self, path: Path, name: str | None = None) -> None:
        self.name = str(path) if name is None else name
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise InputError("can't be read", file=self.name, found=str(error.strerror)) from None
        self._lines = evidence_lines(self._file, self.name)
        try:
            self.header_line, self.header = self._read_header()
        except InputError:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read_header(self) -> tuple[bytes, SuiteHeader]:
        number, line = next(self._lines, (1, b""))
        try:
            return line, decode_header_line(line)
        except InputError as error:
            raise error.at(file=self.name, line=number) from None

    def raw_grids(self) -> Iterator[tuple[int, bytes]]:
        """Yield line numbers and lines of the grids not read so far, unchecked."""
        yield from self._lines

    def grids(self) -> Iterator[tuple[bytes, LoadedGrid]]:
        """Yield each grid's line and the grid, checked; ids must rise through the file."""
        last_grid = last_scenario = ""
        count = 0
        for number, line in self._lines:
            try:
                loaded = load_grid_line(line)
                last_grid = _rising(last_grid, loaded.record.grid_id, "grid_id")
                for at, scenario in enumerate(loaded.record.scenarios):
                    field = f"scenarios[{at}].scenario_id"
                    last_scenario = _rising(last_scenario, scenario.scenario_id, field)
            except InputError as error:
                raise error.at(file=self.name, line=number) from None
            count += 1
            yield line, loaded
        if count == 0:
            raise InputError("suite without grids", file=self.name, expected="a line a grid")


def _rising(last: str, now: str, field: str) -> str:
    if now <= last:
        raise InputError(
            "ids don't rise",
            field=field,
            expected=f"an id above {quoted(last)}",
            found=quoted(now),
            mend="sort the grids and scenarios by id; each id occurs once",
        )
    return now


def decode_header_line(line: bytes) -> SuiteHeader:
    """Read the first line of a suite."""
    header = decode_record_line(line, _header_decoder)
    if canonical_bytes(msgspec.to_builtins(header)) != line:
        raise InputError(
            "line is not in canonical form", field="generator.parameters", expected="sorted keys"
        )
    if header.schema_version != SUITE_SCHEMA_VERSION:
        raise InputError(
            "suite of another version",
            field="schema_version",
            expected=quoted(SUITE_SCHEMA_VERSION),
            found=quoted(header.schema_version),
        )
    return header


def decode_grid_line(line: bytes) -> GridRecord:
    """Read one grid's line; its meaning is checked by :func:`load_grid`."""
    return decode_record_line(line, _grid_decoder)


def load_grid_line(line: bytes) -> LoadedGrid:
    """Read and check one grid's line; the last few of ordinary size are remembered.

    A grid is a function of its line alone, and a suite is walked once per policy.
    """
    if len(line) > _REMEMBERED_LINE_BYTES:
        return load_grid(decode_grid_line(line))
    return _remembered_grid(line)


@lru_cache(maxsize=128)
def _remembered_grid(line: bytes) -> LoadedGrid:
    return load_grid(decode_grid_line(line))


def load_grid(record: GridRecord) -> LoadedGrid:
    """Check what a grid's line says: text form, certificate, scenarios.

    Raises
    ------
    InputError
        Naming the field, what was expected and what was found.
    """
    grid = Grid.parse(record.rows, record.start, record.target)
    referee = Referee(record)
    fault = referee.certificate_fault
    if fault is not None:
        raise InputError(
            fault.problem, field=fault.field, expected=fault.expected, found=fault.found
        )
    if not record.scenarios:
        raise InputError("grid without scenarios", field="scenarios", expected="at least one")
    for at, scenario in enumerate(record.scenarios):
        _check_scenario(grid, record, scenario, f"scenarios[{at}]")
    return LoadedGrid(record, grid, referee)


def failure_state(record: GridRecord, scenario: ScenarioRecord) -> State:
    """State after the scenario's prefix, by adding up the reference path's costs."""
    path = record.reference_path[1 : scenario.prefix_length + 1]
    spent = sum(int(record.rows[row][column]) for row, column in path)
    return State(record.reference_path[scenario.prefix_length], spent, finished=False)


def _check_scenario(grid: Grid, record: GridRecord, scenario: ScenarioRecord, field: str) -> None:
    last = len(record.reference_path) - 2
    if scenario.prefix_length > last:
        raise InputError(
            "prefix leads to the target or beyond it",
            field=f"{field}.prefix_length",
            expected=f"at most {last}, one move before the target",
            found=str(scenario.prefix_length),
        )
    if scenario.prefix_length + 1 + scenario.budget > MAX_TRIAL_STEPS:
        raise InputError(
            "a trial would have too many steps",
            field=f"{field}.budget",
            expected=f"at most {MAX_TRIAL_STEPS} with prefix and injection",
            found=str(scenario.budget),
        )
    outcome = step(grid, failure_state(record, scenario), scenario.injected_action)
    if outcome.rejection != scenario.failure_kind:
        raise InputError(
            "injected action would be accepted"
            if outcome.accepted
            else "injected action is rejected for another reason",
            field=f"{field}.injected_action",
            expected=f"an action rejected as {scenario.failure_kind}",
            found="accepted" if outcome.accepted else str(outcome.rejection),
        )
