"""Work outside memory: sorting byte records, and reading pieces of large files.

A record is one ``bytes`` object that begins with its sort key; records compare as bytes.
They go in one by one and come out as one merged stream. Memory is bounded by a budget,
whatever the number of records.
"""

import heapq
import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

__all__ = ["PieceFile", "Run", "Sink", "SortingSpool", "copy_records", "merge_runs"]

DEFAULT_BUDGET_BYTES = 16 << 20
_OVERHEAD_BYTES = 49  # of a bytes object and its place in a list
_MARK_EVERY = 256
_MAX_OPEN_RUNS = 64
_LENGTH = struct.Struct(">I")
_BUFFER_BYTES = 1 << 16
_WINDOW_BYTES = 1 << 16


class Sink(Protocol):
    """Something that takes bytes in order."""

    def write(self, data: bytes, /) -> object:
        """Append ``data``."""


class Run(NamedTuple):
    """One sorted run: on disk (with a sparse index of where records start) or in memory."""

    path: Path | None
    marks: tuple[tuple[bytes, int], ...]
    records: tuple[bytes, ...]

    def read(self, low: bytes = b"", high: bytes | None = None) -> Iterator[bytes]:
        """Yield the records r with low ≤ r < high, in order."""
        source = iter(self.records) if self.path is None else self._from_disk(self.path, low)
        for record in source:
            if high is not None and record >= high:
                return
            if record >= low:
                yield record

    def _from_disk(self, path: Path, low: bytes) -> Iterator[bytes]:
        place = max(0, bisect_left(self.marks, (low, -1)) - 1)
        with path.open("rb", buffering=_BUFFER_BYTES) as file:
            if self.marks:
                file.seek(self.marks[place][1])
            yield from _records(file)


def _records(file: BinaryIO) -> Iterator[bytes]:
    read = file.read
    while head := read(4):
        yield read(_LENGTH.unpack(head)[0])


class SortingSpool:
    """Collects records and cuts them into sorted runs.

    Parameters
    ----------
    folder
        Where runs go.
    name
        Prefix of their file names; distinct for spools that share a folder.
    budget_bytes
        Memory for records that are not on disk yet.
    """

    def __init__(
        self, folder: Path, name: str, *, budget_bytes: int = DEFAULT_BUDGET_BYTES
    ) -> None:
        self._folder = folder
        self._name = name
        self._budget_bytes = budget_bytes
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._runs: list[Run] = []
        self._written = 0

    def add(self, record: bytes) -> None:
        """Take in one record."""
        self._held.append(record)
        self._held_bytes += len(record) + _OVERHEAD_BYTES
        if self._held_bytes > self._budget_bytes:
            self._spill()

    def _spill(self) -> None:
        self._held.sort()
        self._runs.append(self._write(iter(self._held)))
        self._held = []
        self._held_bytes = 0
        if len(self._runs) >= _MAX_OPEN_RUNS:
            self._runs = compact(self._runs, self._next_path())

    def _next_path(self) -> Path:
        self._written += 1
        return self._folder / f"{self._name}-{self._written:06d}.run"

    def _write(self, records: Iterator[bytes]) -> Run:
        return _write_run(self._next_path(), records)

    def runs(self, *, on_disk: bool = False) -> list[Run]:
        """Finish and return the runs; with ``on_disk`` nothing stays in memory."""
        if self._held:
            self._held.sort()
            if on_disk:
                self._runs.append(self._write(iter(self._held)))
            else:
                self._runs.append(Run(None, (), tuple(self._held)))
            self._held = []
            self._held_bytes = 0
        return self._runs


def _write_run(path: Path, records: Iterator[bytes]) -> Run:
    marks: list[tuple[bytes, int]] = []
    offset = 0
    with path.open("xb", buffering=_BUFFER_BYTES) as file:
        for count, record in enumerate(records):
            if count % _MARK_EVERY == 0:
                marks.append((record[:16], offset))
            file.write(_LENGTH.pack(len(record)))
            file.write(record)
            offset += 4 + len(record)
    return Run(path, tuple(marks), ())


def copy_records(records: Iterator[bytes], sink: Sink) -> None:
    """Write sorted records as one run, to be read as ``Run(path, (), ())``."""
    for record in records:
        sink.write(_LENGTH.pack(len(record)) + record)


def compact(runs: Sequence[Run], path: Path) -> list[Run]:
    """Merge runs into one on disk, so that the number of open files stays bounded."""
    merged = _write_run(path, merge_runs(runs))
    for run in runs:
        if run.path is not None:
            run.path.unlink()
    return [merged]


def merge_runs(runs: Sequence[Run], low: bytes = b"", high: bytes | None = None) -> Iterator[bytes]:
    """Yield all records r of ``runs`` with low ≤ r < high, in order."""
    if len(runs) == 1:
        return runs[0].read(low, high)
    return heapq.merge(*(run.read(low, high) for run in runs))


class PieceFile:
    """Pieces of a file: a walk through it reads ahead, a jump reads what is asked for.

    (Mapping the file into memory is no faster once its pages have to be handed back, and
    they have to, or they count as this process's memory.)
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        # One buffer for good: a fresh one for each window would fragment the heap.
        self._window = memoryview(bytearray(_WINDOW_BYTES))
        self._window_start = self._window_end = 0
        self._end = 0

    def read(self, offset: int, size: int) -> bytes:
        """Return ``size`` bytes from ``offset``."""
        is_walk = 0 <= offset - self._end < _WINDOW_BYTES
        self._end = offset + size
        if not self._window_start <= offset <= offset + size <= self._window_end:
            self._file.seek(offset)
            if not is_walk or size > _WINDOW_BYTES:
                return self._file.read(size)
            self._window_start = offset
            self._window_end = offset + self._file.readinto(self._window)
        place = offset - self._window_start
        return bytes(self._window[place : place + size])

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()
