"""Step three of scoring: sorted records in, counts and ordered result lines out."""

import struct
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

import msgspec

from wayproof.canonical import record_bytes
from wayproof.errors import InputError
from wayproof.evidence.fitness_records import LatencyDebt, SufficiencyDebt
from wayproof.fitness import chunks as at
from wayproof.fitness.aggregate import Shape, SuiteFold
from wayproof.fitness.chunks import Job
from wayproof.fitness.inputs import line_number_at
from wayproof.fitness.packet import NO_PACKET
from wayproof.parallel.external_sort import PieceFile, Run, SortingSpool, merge_runs

__all__ = ["WALL", "Merger", "Part", "Sink"]

WALL = struct.Struct(">d")
"""A wall time as a sorted record: doubles that are not negative sort as their bytes."""

Fields = Any
"""An unpacked record: a plain tuple, read by the places that ``judging`` names."""

_RANK = struct.Struct(">Q")
_debt_line = msgspec.json.Decoder(SufficiencyDebt | LatencyDebt)


class Sink(Protocol):
    """Something that takes bytes in order."""

    def write(self, data: bytes, /) -> object:
        """Append ``data``."""


class Part(NamedTuple):
    """A range of ranks, merged: its counts and its wall times in sorted runs."""

    fold: SuiteFold
    wall_runs: list[Run]
    wall_count: int


class Merger:
    """Merges the records of a range of ranks: counts them, writes them, refuses repeats."""

    def __init__(self, job: Job, ranks: range, results: Sink, debts: Sink) -> None:
        self._job = job
        self._ranks = ranks
        self._results = results
        self._debts = debts
        self._fold = SuiteFold()
        self._walls = SortingSpool(job.scratch, f"walls-{ranks.start:012d}")
        self._wall_count = 0
        self._stores: dict[int, PieceFile] = {}

    def merge(self, runs: list[Run]) -> Part:
        """Merge the part of ``runs`` that lies in the range."""
        try:
            return self._merge(runs)
        finally:
            for store in self._stores.values():
                store.close()

    def _merge(self, runs: list[Run]) -> Part:
        expected = self._ranks.start
        single = self._fold.single
        records = merge_runs(runs, _RANK.pack(expected), _RANK.pack(self._ranks.stop))
        record = next(records, None)
        while record is not None:
            following = next(records, None)
            fields: Fields = at.RECORD.unpack(record)
            rank = fields[at.RANK]
            if rank != expected:
                self._add_uncaptured(range(expected, rank))
            if following is None or following[:8] != record[:8]:
                single[fields[at.SHAPE]] += 1
                self._write(fields, numbered=False)
                record = following
            else:
                attempts = _Attempts(self._job, record, following, records)
                self._fold.add_task(self._write_each(attempts))
                record = attempts.following
            expected = rank + 1
        self._add_uncaptured(range(expected, self._ranks.stop))
        return Part(self._fold, self._walls.runs(on_disk=self._job.on_disk), self._wall_count)

    def _add_uncaptured(self, ranks: range) -> None:
        """Score tasks for which no packet was captured."""
        for rank in ranks:
            scored = at.score_packet(self._job, NO_PACKET, self._job.tasks.order[rank])
            self._fold.single[scored.shape] += 1
            self._results.write(scored.result)
            self._debts.write(scored.debts)

    def _write_each(self, attempts: Iterable[bytes]) -> Iterator[Shape]:
        for record in attempts:
            fields: Fields = at.RECORD.unpack(record)
            self._write(fields, numbered=True)
            yield fields[at.SHAPE]

    def _write(self, fields: Fields, *, numbered: bool) -> None:
        wall_ms = fields[at.WALL]
        if wall_ms != at.UNMEASURED_WALL:
            self._walls.add(WALL.pack(wall_ms))
            self._wall_count += 1
        result_bytes = fields[at.RESULT_BYTES]
        if not result_bytes:
            return
        debts_bytes = fields[at.DEBTS_BYTES]
        lines = self._store(fields[at.STORE]).read(fields[at.STORED_AT], result_bytes + debts_bytes)
        if debts_bytes:
            debts = lines[result_bytes:]
            self._debts.write(_numbered(debts, fields[at.ATTEMPT]) if numbered else debts)
            lines = lines[:result_bytes]
        self._results.write(lines)

    def _store(self, number: int) -> PieceFile:
        store = self._stores.get(number)
        if store is None:
            store = self._stores[number] = PieceFile(self._job.store(number))
        return store


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
        while self.following is not None and self.following[:8] == before[:8]:
            now = self.following
            if now[:16] == before[:16]:
                raise _repeat(self._job, before, now)
            yield now
            before, self.following = now, next(self._rest, None)


def _repeat(job: Job, *records: bytes) -> InputError:
    fields = [at.RECORD.unpack(record) for record in records]
    first, second = sorted(line_number_at(job.packets, row[at.OFFSET]) for row in fields)
    return InputError(
        "two packets for one task and attempt",
        file=job.shown,
        line=second,
        field="attempt",
        expected=f"another attempt than on line {first}",
        found=str(fields[0][at.ATTEMPT]),
        mend="give each packet of a task its own attempt number, from 1",
    )


def _numbered(lines: bytes, attempt: int) -> bytes:
    """Append ``#attempt`` to the ids of debts whose task turned out to have several."""
    renamed = []
    for line in lines.split(b"\n")[:-1]:
        debt = _debt_line.decode(line)
        debt = msgspec.structs.replace(debt, debt_id=f"{debt.debt_id}#{attempt}")
        renamed.append(record_bytes(debt) + b"\n")
    return b"".join(renamed)
