"""Suites: the file format, its checks, and the two suites that ship with the package.

A suite is canonical JSON Lines: a header, then a line a grid. Ids rise through the file
(by code point), which makes them distinct and lets a suite of any size be streamed.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, Self

from wayproof.errors import InputError
from wayproof.lines import evidence_lines
from wayproof.recovery.rules import broken_rule
from wayproof.recovery.track import GridCases, SuiteHead, Track
from wayproof.recovery.tracks.registry import track_of_header
from wayproof.text import quoted

__all__ = [
    "DEFAULT_SUITE",
    "EXPECTED_RANDOM_WALK",
    "PINNED_SUITES",
    "REFERENCE_RESULTS_SHA256",
    "AcrossGrids",
    "SuiteReader",
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

_OFFICIAL_ID: Final = re.compile(rf"(?:{'|'.join(map(re.escape, PINNED_SUITES))})-g[0-9]")
_DATA: Final = Path(__file__).parent / "data"


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
            setting="suite",
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

    Attributes
    ----------
    header, header_line
        The first line, as a record and as bytes.
    track
        The track that the header names: it reads the grids.

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
            self.header_line, self.track, self.header = self._read_header()
        except InputError:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def _read_header(self) -> tuple[bytes, Track, SuiteHead]:
        number, line = next(self._lines, (1, b""))
        try:
            track = track_of_header(line)
            return line, track, track.read_header(line)
        except InputError as error:
            raise error.at(file=self.name, line=number) from None

    def raw_grids(self) -> Iterator[tuple[int, bytes]]:
        """Yield line numbers and lines of the grids not read so far, unchecked."""
        yield from self._lines

    def grids(self) -> Iterator[tuple[bytes, GridCases]]:
        """Yield each grid's line and the grid, checked: by itself, and against those before."""
        rules = AcrossGrids(self.header.suite_id)
        for number, line in self._lines:
            try:
                grid = self.track.read_grid(line)
                rules.check(number, grid)
            except InputError as error:
                raise error.at(file=self.name, line=number) from None
            yield line, grid
        if rules.is_empty:
            raise InputError("suite without grids", file=self.name, expected="a line a grid")


class AcrossGrids:
    """What holds between the grids of a suite: ids rise, grids differ, ids are its own.

    It keeps a digest and a line number a grid, some 100 bytes, however large the grids.
    """

    def __init__(self, suite_id: str) -> None:
        self._is_official = suite_id in PINNED_SUITES
        self._grid = self._scenario = ""
        self._lines: dict[bytes, int] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no grid was checked."""
        return not self._lines

    def check(self, line: int, grid: GridCases) -> None:
        """Check the next grid.

        Raises
        ------
        InputError
            Naming the rule or the field.
        """
        self.check_names(
            line, grid.grid_id, [case.scenario_id for case in grid.cases()], grid.fingerprint
        )

    def check_names(
        self, line: int, grid_id: str, scenario_ids: Sequence[str], fingerprint: bytes
    ) -> None:
        """Check the next grid by what tells it from others.

        Raises
        ------
        InputError
            Naming the rule or the field.
        """
        self._grid = self._checked_id(self._grid, grid_id, "grid_id")
        for at, scenario_id in enumerate(scenario_ids):
            field = f"scenarios[{at}].scenario_id"
            self._scenario = self._checked_id(self._scenario, scenario_id, field)
        first = self._lines.setdefault(fingerprint, line)
        if first != line:
            raise broken_rule("grids_differ", field="rows", found=f"the grid of line {first} again")

    def _checked_id(self, last: str, now: str, field: str) -> str:
        if now <= last:
            raise InputError(
                "ids don't rise",
                field=field,
                expected=f"an id above {quoted(last)}",
                found=quoted(now),
                mend="sort the grids and scenarios by id; each id occurs once",
            )
        if not self._is_official and _OFFICIAL_ID.match(now):
            raise broken_rule("official_ids", field=field, found=quoted(now))
        return now
