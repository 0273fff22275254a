"""Step two of scoring: packets in, sortable records and stored result lines out."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from wayproof.canonical import record_bytes, record_lines
from wayproof.errors import InputError
from wayproof.evidence.fitness_records import SECOND_FORM_FIELDS
from wayproof.fitness.aggregate import Shape, shape_of
from wayproof.fitness.debts import debts_of
from wayproof.fitness.inputs import decode_line, each_line
from wayproof.fitness.judge import judge, result_of
from wayproof.fitness.packed import pack
from wayproof.fitness.packet import Packet, PacketLine
from wayproof.fitness.task import need_of
from wayproof.fitness.task_index import TaskIndex, TaskReader
from wayproof.lines import blocks
from wayproof.parallel.backend import unit_folder
from wayproof.parallel.external_sort import Run, SortingSpool
from wayproof.strict_json import refuse_unsafe_numbers
from wayproof.text import quoted

__all__ = [
    "Chunk",
    "Job",
    "Progress",
    "Scored",
    "ScoredChunk",
    "chunks_of",
    "no_progress",
    "score_chunk",
    "score_packet",
    "shard_range",
]

_WRITE_BYTES = 1 << 20
_REPORT_BYTES = 4 << 20

Progress = Callable[[int, int], None]
"""Called with (bytes scored, bytes in all)."""


def no_progress(done_bytes: int, total_bytes: int) -> None:
    """Report nothing."""


_decode_packet = msgspec.json.Decoder(PacketLine).decode


class Job(NamedTuple):
    """What every unit of a run needs to know.

    ``packets`` is a plain file; ``shown`` is what the user called it. ``on_disk`` says
    whether runs have to be readable by other processes. ``first_form`` writes what
    ``wayproof.fitness/1`` did, to check a bundle of it.
    """

    packets: Path
    shown: str
    scratch: Path
    tasks: TaskIndex
    ignore_unknown: bool
    summary_only: bool
    on_disk: bool
    first_form: bool


class Chunk(NamedTuple):
    """A part of the packets file that starts and ends at line borders."""

    number: int
    start: int
    end: int


class ScoredChunk(NamedTuple):
    """A scored chunk.

    ``runs`` hold its packed records, sorted; ``store`` the lines that they point at.
    ``ignored_count`` packets without task were set aside, and ``draft_count`` of drafts.
    """

    runs: list[Run]
    store: Path
    ignored_count: int
    draft_count: int
    size_bytes: int


class Scored(NamedTuple):
    """One packet scored: its shape and time, and the lines to write (empty when brief)."""

    shape: Shape
    wall_ms: int | float | None
    result: bytes
    debts: bytes


def chunks_of(path: Path, count: int) -> Iterator[Chunk]:
    """Cut a plain file into about ``count`` chunks at line borders."""
    size = path.stat().st_size
    aim = max(1, -(-size // count))
    start = number = 0
    with path.open("rb") as file:
        while start < size:
            end = min(size, start + aim)
            if end < size:
                end = _next_line_start(file, end, size)
            yield Chunk(number, start, end)
            start, number = end, number + 1


def shard_range(path: Path, number: int, count: int) -> tuple[int, int]:
    """Return where shard ``number`` (from 1) of ``count`` starts and ends.

    A line belongs to the shard that its first byte lies in; a shard may hold none.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start, end = (
            0 if offset == 0 else _next_line_start(file, offset, size)
            for offset in (size * (number - 1) // count, size * number // count)
        )
    return start, end


def _next_line_start(file: Any, offset: int, size: int) -> int:
    file.seek(offset - 1)
    for block in blocks(file):
        place = block.find(b"\n")
        if place >= 0:
            return int(file.tell()) - len(block) + place + 1
    return size


def score_packet(job: Job, tasks: TaskReader, packet: Packet, number: int) -> Scored:
    """Score one packet of the task ``number``."""
    task = tasks.task(number)
    if job.first_form:  # which didn't know these keys
        task = msgspec.structs.replace(task, literal_ids=None, relevance=None)
    need = need_of(task)
    found = judge(need, packet)
    shape = shape_of(need, found, tasks.index.route_codes[need.route_type])
    if job.summary_only:
        return Scored(shape, found.wall_ms, b"", b"")
    written = result_of(task, need, packet, found)
    if job.first_form:
        written = msgspec.structs.replace(
            written, **dict.fromkeys(SECOND_FORM_FIELDS, msgspec.UNSET)
        )
    debts = b""
    if found.fact_mask or found.latency_status in {"fail", "timeout"}:
        debts = record_lines(debts_of(written, numbered=False))
    return Scored(shape, found.wall_ms, record_bytes(written) + b"\n", debts)


def score_chunk(job: Job, chunk: Chunk, progress: Progress = no_progress) -> ScoredChunk:
    """Score every packet of a chunk; ``progress`` hears of it every few megabytes.

    Raises
    ------
    InputError
        Naming file, line and field of the chunk's first bad packet.
    """
    folder = unit_folder(job.scratch, f"chunk-{chunk.number:06d}")
    spool = SortingSpool(folder, "records")
    store_path = folder / "lines"
    numbers, ranks, drafts = job.tasks.numbers, job.tasks.ranks, job.tasks.drafts
    ignored_count = draft_count = stored_bytes = 0
    report_at = chunk.start

    def take(line: bytes, offset: int) -> None:
        nonlocal ignored_count, draft_count, stored_bytes, report_at
        if offset >= report_at:
            progress(offset, chunk.end)
            report_at = offset + _REPORT_BYTES
        packet: PacketLine = decode_line(line, _decode_packet, PacketLine)
        if isinstance(packet.error, dict):
            refuse_unsafe_numbers(packet.error, "error")
        number = numbers.get(packet.task_id)  # type: ignore[arg-type]
        if number is None:
            if packet.task_id in drafts:
                draft_count += 1
            else:
                ignored_count += _ignored(job, packet)
            return
        shape, wall_ms, result, debts = score_packet(job, tasks, packet, number)
        spool.add(
            pack(
                shape,
                wall_ms,
                rank=ranks[number],
                attempt=packet.attempt or 1,
                offset=offset,
                chunk_number=chunk.number,
                stored_at=stored_bytes,
                result_bytes=len(result),
                debts_bytes=len(debts),
            )
        )
        if result:
            stored_bytes += store.write(result + debts)

    with job.tasks.open() as tasks, store_path.open("xb", buffering=_WRITE_BYTES) as store:
        if chunk.start < chunk.end:
            each_line(job.packets, job.shown, take, chunk.start, chunk.end)
    runs = spool.runs(on_disk=job.on_disk)
    size_bytes = chunk.end - chunk.start
    return ScoredChunk(runs, store_path, ignored_count, draft_count, size_bytes)


def _ignored(job: Job, packet: PacketLine) -> int:
    """Set a packet for an unknown task aside, where that was asked for."""
    if packet.task_id is None:
        raise InputError(
            "packet has no task_id",
            field="task_id",
            expected="the id of the task that it was captured for",
        )
    if not job.ignore_unknown:
        raise InputError(
            "packet for an unknown task",
            field="task_id",
            expected="an id from the tasks file",
            found=quoted(packet.task_id),
            mend="add the task, or set {ignore_unknown} to put such packets aside",
        )
    return 1
