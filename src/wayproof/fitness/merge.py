"""Step three of scoring: sorted records in, counts and ordered result lines out."""

import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import msgspec

from wayproof.canonical import record_lines
from wayproof.errors import InputError
from wayproof.evidence.fitness_records import LatencyDebt, SufficiencyDebt
from wayproof.fitness.aggregate import Shape, SuiteTotals
from wayproof.fitness.chunks import Job, score_packet
from wayproof.fitness.debts import numbered_debt
from wayproof.fitness.inputs import line_number_at
from wayproof.fitness.packed import (
    ATTEMPT_KEY,
    RANK_KEY,
    SHAPE_BYTES,
    PackedRecord,
    rank_key,
    unpack,
    unpack_shape,
)
from wayproof.fitness.packet import NO_PACKET
from wayproof.fitness.task_index import TaskReader
from wayproof.parallel.external_sort import PieceFile, Run, Sink, SortingSpool, merge_runs

__all__ = ["WALL", "Merger", "Part"]

WALL = struct.Struct(">d")
"""A wall time as a sorted record: doubles that are not negative sort as their bytes."""

_debt_line = msgspec.json.Decoder(SufficiencyDebt | LatencyDebt)


class Part(NamedTuple):
    """A range of ranks, merged: its counts and its wall times in sorted runs."""

    totals: SuiteTotals
    wall_runs: list[Run]
    wall_count: int


class Merger:
    """Merges the records of a range of ranks: counts them, writes them, refuses repeats.

    Parameters
    ----------
    job
        The run.
    ranks
        Which tasks, by their ranks.
    stores
        Each chunk's stored lines, by the chunk's number.
    folder
        Where sorted wall times go when they are many.
    results, debts
        Where the lines go.
    """

    def __init__(
        self,
        job: Job,
        ranks: range,
        stores: Sequence[Path],
        folder: Path,
        sinks: tuple[Sink, Sink],
    ) -> None:
        self._job = job
        self._ranks = ranks
        self._stores = stores
        self._results, self._debts = sinks
        self._totals = SuiteTotals()
        self._walls = SortingSpool(folder, "walls")
        self._wall_count = 0
        self._lines: dict[int, PieceFile] = {}

    def merge(self, runs: list[Run]) -> Part:
        """Merge the part of ``runs`` that lies in the range."""
        with ExitStack() as stack:
            self._closing = stack
            tasks = stack.enter_context(self._job.tasks.open())
            self._merge(runs, tasks)
        return Part(self._totals, self._walls.runs(on_disk=self._job.on_disk), self._wall_count)

    def _merge(self, runs: list[Run], tasks: TaskReader) -> None:
        expected = self._ranks.start
        single: Counter[bytes] = Counter()
        records = merge_runs(runs, rank_key(expected), rank_key(self._ranks.stop))
        record = next(records, None)
        while record is not None:
            following = next(records, None)
            packed = unpack(record)
            if packed.rank != expected:
                self._add_uncaptured(range(expected, packed.rank), tasks)
            if following is None or following[RANK_KEY] != record[RANK_KEY]:
                single[record[SHAPE_BYTES]] += 1
                self._write(packed, numbered=False)
                record = following
            else:
                attempts = _Attempts(self._job, record, following, records)
                self._totals.add_task(self._write_each(attempts))
                record = attempts.following
            expected = packed.rank + 1
        self._add_uncaptured(range(expected, self._ranks.stop), tasks)
        for shape, count in single.items():
            self._totals.single[unpack_shape(shape)] += count

    def _add_uncaptured(self, ranks: range, tasks: TaskReader) -> None:
        """Score tasks for which no packet was captured."""
        order = tasks.index.order
        for rank in ranks:
            scored = score_packet(self._job, tasks, NO_PACKET, order[rank])
            self._totals.single[scored.shape] += 1
            self._results.write(scored.result)
            self._debts.write(scored.debts)

    def _write_each(self, attempts: Iterable[bytes]) -> Iterator[Shape]:
        for record in attempts:
            self._write(unpack(record), numbered=True)
            yield unpack_shape(record[SHAPE_BYTES])

    def _write(self, packed: PackedRecord, *, numbered: bool) -> None:
        wall_ms = packed.wall_ms
        if wall_ms is not None:
            self._walls.add(WALL.pack(wall_ms))
            self._wall_count += 1
        result_bytes, debts_bytes = packed.result_bytes, packed.debts_bytes
        if not result_bytes:
            return
        stored = self._store(packed.chunk_number)
        lines = stored.read(packed.stored_at, result_bytes + debts_bytes)
        if debts_bytes:
            debts = lines[result_bytes:]
            if numbered:
                debts = _numbered(debts, packed.attempt, first_form=self._job.first_form)
            self._debts.write(debts)
            lines = lines[:result_bytes]
        self._results.write(lines)

    def _store(self, chunk_number: int) -> PieceFile:
        lines = self._lines.get(chunk_number)
        if lines is None:
            lines = self._lines[chunk_number] = PieceFile(self._stores[chunk_number])
            self._closing.callback(lines.close)
        return lines


class _Attempts:
    """The records of one task that has several; what comes after them is ``following``."""

    def __init__(self, job: Job, first: bytes, second: bytes, rest: Iterator[bytes]) -> None:
        self._job = job
        self._first = first
        self.following: bytes | None = second
        self._rest = rest

    def __iter__(self) -> Iterator[bytes]:
        before = self._first
        yield before
        while self.following is not None and self.following[RANK_KEY] == before[RANK_KEY]:
            now = self.following
            if now[ATTEMPT_KEY] == before[ATTEMPT_KEY]:
                raise _repeat(self._job, unpack(before), unpack(now))
            yield now
            before, self.following = now, next(self._rest, None)


def _repeat(job: Job, *records: PackedRecord) -> InputError:
    first, second = sorted(line_number_at(job.packets, record.offset) for record in records)
    return InputError(
        "two packets for one task and attempt",
        file=job.shown,
        line=second,
        field="attempt",
        expected=f"another attempt than on line {first}",
        found=str(records[0].attempt),
        mend="give each packet of a task its own attempt number, from 1",
    )


def _numbered(lines: bytes, attempt: int, *, first_form: bool) -> bytes:
    """Append the attempt to the ids of debts whose task turned out to have several."""
    debts = [_debt_line.decode(line) for line in lines.split(b"\n")[:-1]]
    return record_lines([numbered_debt(debt, attempt, first_form=first_form) for debt in debts])
