"""Tasks and packets as separate files, joined, judged and written as a bundle.

Three steps, none of which holds the packets in memory:

1. the tasks are indexed: their ids, and where each task's line lies in the file;
2. the packets are judged as they come, chunk by chunk, and what was found goes into a
   sorting spool under (rank of the task, attempt);
3. the spool is merged in that order: counted, checked for repeats, and written.

Steps 2 and 3 split over processes, by chunk and by rank, so the bytes are the same for
any number of them and for any order of the input lines.
"""

import itertools
import os
import shutil
import stat
import struct
import tempfile
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from wayproof.bundle import BundleWriter, FileDigest, digest_file
from wayproof.canonical import canonical_bytes, record_bytes
from wayproof.errors import InputError
from wayproof.fitness.fold import LIMITS, SuiteFold, Tally, suite_record, tally_of
from wayproof.fitness.judge import judge, result_of
from wayproof.fitness.latency import LATENCY_STATUSES, LatencyStatus
from wayproof.fitness.packet import NO_PACKET, Packet, PacketLine
from wayproof.fitness.result import LatencyDebt, SufficiencyDebt, debts_of
from wayproof.fitness.suite import DEFAULT_SUITE
from wayproof.fitness.task import Need, TaskLine, need_of, refuse_draft
from wayproof.jsonin import (
    STDIN_NAME,
    blocks,
    explain_line,
    has_duplicate_key,
    is_compressed,
    open_input,
    shown_name,
    split_lines,
)
from wayproof.spool import Run, SortingSpool, merge_runs
from wayproof.statistics import nearest_rank
from wayproof.text import quoted
from wayproof.workers import worker_pool

__all__ = ["DEBTS", "RESULTS", "SUMMARY", "ScoreRequest", "score"]

RESULTS, DEBTS, SUMMARY = "results.jsonl", "debts.jsonl", "summary.json"
_CHUNKS_PER_PROCESS = 4

# A spooled record: rank and attempt (the sort key), where the packet's line starts, the
# tally, the lengths of the result and debt lines, and then those lines.
_HEAD = struct.Struct(">QQQBBBIIIIIIIdII")
_RANK = struct.Struct(">Q")
_WALL = struct.Struct(">d")
_STATUSES: tuple[LatencyStatus, ...] = tuple(row.status for row in LATENCY_STATUSES)
_STATUS_CODES = {status: code for code, status in enumerate(_STATUSES)}
_UNMEASURED_WALL = -1.0
_NO_LINE = 2**64 - 1

Progress = Callable[[int, int], None]
"""Called with (bytes judged, bytes in all)."""


class Sink(Protocol):
    """Something that takes bytes in order."""

    def write(self, data: bytes, /) -> object:
        """Append ``data``."""


class ScoreRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to score, and how.

    Attributes
    ----------
    tasks, packets
        JSON Lines files, plain or gzip; ``-`` for standard input (one of the two).
    suite
        Name that the summary carries.
    processes
        How many processes share the work; the bytes don't depend on it.
    ignore_unknown
        Set packets without task aside (they are counted) instead of refusing them.
    summary_only
        Write no per-task files.
    """

    tasks: Path
    packets: Path
    suite: str = DEFAULT_SUITE
    processes: int = 1
    ignore_unknown: bool = False
    summary_only: bool = False


# -- step 1: tasks --------------------------------------------------------------------


class PlainFile(NamedTuple):
    """An input as a plain file on disk, and the identity of what was given."""

    path: Path
    shown: str
    digest: "Future[FileDigest]"
    stamp: tuple[int, int]

    def refuse_change(self) -> None:
        """Refuse to give results for a file that changed while it was read."""
        if _stamp(self.path) != self.stamp:
            raise InputError(
                "file changed while it was read", file=self.shown, mend="score it again"
            )


def _stamp(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_size, status.st_mtime_ns


def plain_file(path: Path, copy: Path, background: Executor) -> PlainFile:
    """Make an input seekable: pipes and compressed files are unpacked into ``copy``.

    The digest, of the file as given (of the text itself for a pipe), is worked out
    beside the scoring.
    """
    shown = shown_name(path)
    given = plain = path
    with open_input(path) as stream:
        is_regular = str(path) != STDIN_NAME and stat.S_ISREG(path.stat().st_mode)
        if not is_regular or is_compressed(stream):
            plain = copy
            with copy.open("xb") as file:
                shutil.copyfileobj(stream, file, 1 << 20)
    if not is_regular:
        given = copy
    return PlainFile(plain, shown, background.submit(digest_file, given), _stamp(plain))


class TaskIndex:
    """Where each task lies, by the rank of its id among the UTF-8 bytes of all ids."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.ranks: dict[str, int] = {}
        self.offsets = array("Q")
        self.lengths = array("I")
        self.route_types: list[str] = []
        self.route_codes: dict[str, int] = {}
        self._fd: int | None = None

    def __len__(self) -> int:
        return len(self.ranks)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_fd": None}

    def need(self, rank: int) -> Need:
        """Read one task back, ready for judging."""
        if self._fd is None:
            self._fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        return need_of(_decode_task(_pread(self._fd, self.lengths[rank], self.offsets[rank])))

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def _pread(fd: int, size: int, offset: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(fd, size, offset)
    os.lseek(fd, offset, os.SEEK_SET)
    return os.read(fd, size)


_decode_task = msgspec.json.Decoder(TaskLine).decode
_decode_packet = msgspec.json.Decoder(PacketLine).decode
_field_values = msgspec.structs.astuple


def index_tasks(tasks: PlainFile) -> TaskIndex:
    """Read every task once, check it, and remember where it lies.

    Raises
    ------
    InputError
        Naming file, line and field: not a task, a duplicate key or id, a missing id (a
        task without id can't be joined with a packet), an unfilled draft.
    """
    index = TaskIndex(tasks.path)
    ids: dict[str, int] = {}
    offsets, lengths = array("Q"), array("I")
    route_types: set[str] = set()

    def take(line: bytes, offset: int) -> None:
        task = _checked_task(line)
        task_id = str(task.task_id)
        if ids.setdefault(task_id, len(offsets)) != len(offsets):
            raise InputError(
                "duplicate task_id", field="task_id", expected="each id once", found=quoted(task_id)
            )
        route_types.add(need_of(task).route_type)
        offsets.append(offset)
        lengths.append(len(line))

    _each_line(tasks.path, tasks.shown, take)
    order = sorted(ids, key=_utf8)
    index.ranks = {task_id: rank for rank, task_id in enumerate(order)}
    index.offsets = array("Q", (offsets[ids[task_id]] for task_id in order))
    index.lengths = array("I", (lengths[ids[task_id]] for task_id in order))
    index.route_types = sorted(route_types, key=_utf8)
    index.route_codes = {name: code for code, name in enumerate(index.route_types)}
    return index


def _each_line(
    path: Path,
    shown: str,
    take: Callable[[bytes, int], None],
    start: int = 0,
    end: int | None = None,
) -> None:
    """Hand every line of a part of a file to ``take``; its errors get file and line number."""
    offset = start
    with path.open("rb") as file:
        file.seek(start)
        source = blocks(file, None if end is None else end - start)
        try:
            for place, line in split_lines(source, at_start=start == 0):
                offset = start + place
                take(line, offset)
        except InputError as error:
            number = line_number_at(path, offset) if error.index is None else None
            raise error.at(file=shown, line=number) from None


def line_number_at(path: Path, offset: int) -> int:
    """Count the lines of a plain file up to a byte offset."""
    with path.open("rb") as file:
        return 1 + sum(block.count(b"\n") for block in blocks(file, offset))


def _utf8(text: str) -> bytes:
    return text.encode("utf-8")


def _checked_task(line: bytes) -> TaskLine:
    task: TaskLine = _decode_line(line, _decode_task, TaskLine)
    given = sum(value is not None for value in _field_values(task))
    if has_duplicate_key(line, given):
        raise explain_line(line, TaskLine)
    if task.task_id is None:
        raise InputError(
            "task has no task_id",
            field="task_id",
            expected="the id that joins it with its packets",
        )
    refuse_draft(task)
    return task


def _decode_line(line: bytes, decode: Callable[[bytes], Any], kind: type[Any]) -> Any:
    """Decode one line; what the fast decoder refuses or can't vouch for gets a second look."""
    try:
        record = decode(line)
        if not line.isascii():
            line.decode("utf-8")  # the decoder doesn't look into values that it skips
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise explain_line(line, kind) from None
    return record


# -- step 2: packets ------------------------------------------------------------------


class Job(NamedTuple):
    """What every worker needs to know."""

    packets: Path
    shown: str
    scratch: Path
    tasks: TaskIndex
    ignore_unknown: bool
    summary_only: bool
    on_disk: bool
    """Whether runs have to be readable by other processes."""


class Chunk(NamedTuple):
    """A part of the packets file that starts and ends at line borders."""

    number: int
    start: int
    end: int


class JudgedChunk(NamedTuple):
    """A chunk's sorted runs, and how many packets without task it set aside."""

    runs: list[Run]
    ignored_count: int
    size_bytes: int


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


def _next_line_start(file: Any, offset: int, size: int) -> int:
    file.seek(offset - 1)
    for block in blocks(file):
        place = block.find(b"\n")
        if place >= 0:
            return int(file.tell()) - len(block) + place + 1
    return size


def judge_chunk(job: Job, chunk: Chunk) -> JudgedChunk:
    """Judge every packet of a chunk.

    Raises
    ------
    InputError
        Naming file, line and field of the chunk's first bad packet.
    """
    spool = SortingSpool(job.scratch, f"chunk-{chunk.number:06d}")
    ignored_count = 0

    def take(line: bytes, offset: int) -> None:
        nonlocal ignored_count
        packet: PacketLine = _decode_line(line, _decode_packet, PacketLine)
        rank = _rank_of(job, packet)
        if rank is None:
            ignored_count += 1
        else:
            spool.add(judged_record(job, packet, rank=rank, offset=offset))

    _each_line(job.packets, job.shown, take, chunk.start, chunk.end)
    return JudgedChunk(spool.runs(on_disk=job.on_disk), ignored_count, chunk.end - chunk.start)


def _rank_of(job: Job, packet: PacketLine) -> int | None:
    if packet.task_id is None:
        raise InputError(
            "packet has no task_id",
            field="task_id",
            expected="the id of the task that it was captured for",
        )
    rank = job.tasks.ranks.get(packet.task_id)
    if rank is None and not job.ignore_unknown:
        raise InputError(
            "packet for an unknown task",
            field="task_id",
            expected="an id from the tasks file",
            found=quoted(packet.task_id),
            mend="add the task, or pass --ignore-unknown to set such packets aside",
        )
    return rank


def judged_record(job: Job, packet: Packet, *, rank: int, offset: int) -> bytes:
    """Judge a packet and pack what was found into one sortable record."""
    need = job.tasks.need(rank)
    found = judge(need, packet)
    result = debts = b""
    if not job.summary_only:
        written = result_of(need, packet, found)
        result = record_bytes(written) + b"\n"
        if found.fact_mask or found.latency_status in {"fail", "timeout"}:
            lines = [record_bytes(debt) + b"\n" for debt in debts_of(written, numbered=False)]
            debts = b"".join(lines)
    tally = tally_of(need, found)
    head = _HEAD.pack(
        rank,
        packet.attempt or 1,
        offset,
        tally.fact_mask,
        _STATUS_CODES[tally.latency_status],
        tally.first_contact_known,
        job.tasks.route_codes[tally.route_type],
        tally.found_count,
        tally.expected_count,
        tally.relevant_count,
        tally.selected_count,
        tally.found_term_count,
        tally.term_count,
        _UNMEASURED_WALL if tally.wall_ms is None else tally.wall_ms,
        len(result),
        len(debts),
    )
    return b"".join((head, result, debts))


class Judged(NamedTuple):
    """A spooled record, unpacked."""

    attempt: int
    offset: int
    tally: Tally
    result: bytes
    debts: bytes


def _unpack(record: bytes, route_types: list[str]) -> Judged:
    (
        _,
        attempt,
        offset,
        mask,
        status,
        known,
        route,
        found,
        expected,
        relevant,
        selected,
        found_terms,
        terms,
        wall_ms,
        result_bytes,
        _,
    ) = _HEAD.unpack_from(record)
    tally = Tally(
        mask,
        _STATUSES[status],
        None if wall_ms < 0 else wall_ms,
        found,
        expected,
        relevant,
        selected,
        found_terms,
        terms,
        known == 1,
        route_types[route],
    )
    middle = _HEAD.size + result_bytes
    return Judged(attempt, offset, tally, record[_HEAD.size : middle], record[middle:])


# -- step 3: merging ------------------------------------------------------------------


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
        self._walls = SortingSpool(job.scratch, f"walls-{ranks.start:012d}")
        self._wall_count = 0

    def merge(self, runs: list[Run]) -> Part:
        """Merge the part of ``runs`` that lies in the range."""
        fold = SuiteFold()
        expected = self._ranks.start
        records = merge_runs(runs, _RANK.pack(self._ranks.start), _RANK.pack(self._ranks.stop))
        for key, attempts in itertools.groupby(records, key=_rank_bytes):
            (rank,) = _RANK.unpack(key)
            for uncaptured in range(expected, rank):
                fold.add_task(self._take(self._without_packet(uncaptured)))
            fold.add_task(self._take(attempts))
            expected = rank + 1
        for uncaptured in range(expected, self._ranks.stop):
            fold.add_task(self._take(self._without_packet(uncaptured)))
        return Part(fold, self._walls.runs(on_disk=self._job.on_disk), self._wall_count)

    def _without_packet(self, rank: int) -> Iterator[bytes]:
        yield judged_record(self._job, NO_PACKET, rank=rank, offset=_NO_LINE)

    def _take(self, attempts: Iterator[bytes]) -> Iterator[Tally]:
        """Write one task's attempts, in order, and yield their tallies."""
        before: Judged | None = None
        record: bytes | None = next(attempts)
        while record is not None:
            following = next(attempts, None)
            now = _unpack(record, self._job.tasks.route_types)
            if before is not None and before.attempt == now.attempt:
                raise _repeat(self._job, before, now)
            self._write(now, numbered=before is not None or following is not None)
            yield now.tally
            before, record = now, following

    def _write(self, judged: Judged, *, numbered: bool) -> None:
        wall_ms = judged.tally.wall_ms
        if wall_ms is not None:
            self._walls.add(_WALL.pack(wall_ms))
            self._wall_count += 1
        if judged.result:
            self._results.write(judged.result)
        if judged.debts:
            self._debts.write(_numbered(judged.debts, judged.attempt) if numbered else judged.debts)


def _rank_bytes(record: bytes) -> bytes:
    return record[:8]


def _repeat(job: Job, one: Judged, two: Judged) -> InputError:
    first, second = sorted(line_number_at(job.packets, judged.offset) for judged in (one, two))
    return InputError(
        "two packets for one task and attempt",
        file=job.shown,
        line=second,
        field="attempt",
        expected=f"another attempt than on line {first}",
        found=str(two.attempt),
        mend="give each packet of a task its own attempt number, from 1",
    )


_debt_line = msgspec.json.Decoder(SufficiencyDebt | LatencyDebt)


def _numbered(lines: bytes, attempt: int) -> bytes:
    """Append ``#attempt`` to the ids of debts whose task turned out to have several."""
    renamed = []
    for line in lines.split(b"\n")[:-1]:
        debt = _debt_line.decode(line)
        debt = msgspec.structs.replace(debt, debt_id=f"{debt.debt_id}#{attempt}")
        renamed.append(record_bytes(debt) + b"\n")
    return b"".join(renamed)


def _rank_ranges(count: int, parts: int) -> list[range]:
    borders = [count * part // parts for part in range(parts + 1)]
    return [range(low, high) for low, high in itertools.pairwise(borders)]


# -- workers --------------------------------------------------------------------------

_shared_job: Job | None = None


def _share_job(job: Job) -> None:
    global _shared_job  # noqa: PLW0603 - set once, before a worker's first task
    _shared_job = job


def _job() -> Job:
    if _shared_job is None:
        msg = "worker was not initialised"
        raise RuntimeError(msg)
    return _shared_job


def _judge_in_worker(chunk: Chunk) -> JudgedChunk:
    return judge_chunk(_job(), chunk)


def _part_paths(job: Job, ranks: range) -> tuple[Path, Path]:
    return job.scratch / f"results-{ranks.start:012d}", job.scratch / f"debts-{ranks.start:012d}"


def _merge_in_worker(runs: list[Run], ranks: range) -> Part:
    job = _job()
    results, debts = _part_paths(job, ranks)
    with results.open("xb") as result_file, debts.open("xb") as debt_file:
        return Merger(job, ranks, result_file, debt_file).merge(runs)


def _append_file(path: Path, sink: Sink) -> None:
    with path.open("rb") as file:
        for block in blocks(file):
            sink.write(block)


# -- the whole ------------------------------------------------------------------------


class Scored(NamedTuple):
    """All that scoring counted."""

    fold: SuiteFold
    wall_runs: list[Run]
    wall_count: int
    ignored_count: int

    def percentile(self, percent: int) -> int | float | None:
        """Return the nearest-rank percentile of the wall times, from the sorted runs."""
        if not self.wall_count:
            return None
        place = nearest_rank(self.wall_count, percent) - 1
        record = next(itertools.islice(merge_runs(self.wall_runs), place, None))
        value = float(_WALL.unpack(record)[0])
        return int(value) if value.is_integer() else value


def _score_here(job: Job, results: Sink, debts: Sink, progress: Progress) -> Scored:
    size = job.packets.stat().st_size
    progress(0, size)
    chunk = judge_chunk(job, Chunk(0, 0, size))
    part = Merger(job, range(len(job.tasks)), results, debts).merge(chunk.runs)
    return Scored(part.fold, part.wall_runs, part.wall_count, chunk.ignored_count)


def _score_in_workers(
    job: Job, processes: int, results: Sink, debts: Sink, progress: Progress
) -> Scored:
    runs: list[Run] = []
    ignored_count = done = 0
    size = job.packets.stat().st_size
    with worker_pool(processes, _share_job, job) as pool:
        # In the order of the file, so that the first bad line is the one that is named.
        for chunk in pool.map(
            _judge_in_worker, chunks_of(job.packets, processes * _CHUNKS_PER_PROCESS)
        ):
            runs += chunk.runs
            ignored_count += chunk.ignored_count
            done += chunk.size_bytes
            progress(done, size)
        ranges = _rank_ranges(len(job.tasks), processes)
        fold, wall_runs, wall_count = SuiteFold(), [], 0
        for ranks, part in zip(
            ranges, pool.map(_merge_in_worker, itertools.repeat(runs), ranges), strict=True
        ):
            fold.merge(part.fold)
            wall_runs += part.wall_runs
            wall_count += part.wall_count
            for path, sink in zip(_part_paths(job, ranks), (results, debts), strict=True):
                _append_file(path, sink)
                path.unlink()
    return Scored(fold, wall_runs, wall_count, ignored_count)


class _Nowhere:
    """A sink for what isn't wanted."""

    def write(self, data: bytes, /) -> None:
        """Take ``data`` and drop it."""


def _no_progress(done: int, total: int) -> None:
    """Report nothing."""


def score(
    request: ScoreRequest,
    out: Path | None,
    *,
    overwrite: bool = False,
    progress: Progress = _no_progress,
) -> dict[str, Any]:
    """Score a packets file against a tasks file.

    A task without packet is scored as ``route_error`` ("no packet captured"). Results are
    ordered by task id (its UTF-8 bytes), then attempt.

    Parameters
    ----------
    request
        What to score, and how.
    out
        The bundle's folder; None writes nothing and returns the summary alone.
    overwrite
        Replace an existing bundle.
    progress
        Called now and then with (bytes judged, bytes in all).

    Returns
    -------
    dict
        What ``summary.json`` holds: the suite record, ``sufficiency_latency_matrix``
        and ``ignored_packet_count``.

    Raises
    ------
    InputError
        Naming file, line, field, what was expected and found. Nothing is written then.
    """
    if str(request.tasks) == STDIN_NAME and str(request.packets) == STDIN_NAME:
        raise InputError("tasks and packets can't both come from standard input")
    with ExitStack() as stack:
        background = stack.enter_context(ThreadPoolExecutor(1))
        if out is None:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wayproof-")))
            record, _ = _score_inputs(
                msgspec.structs.replace(request, summary_only=True),
                scratch,
                (_Nowhere(), _Nowhere()),
                background,
                progress,
            )
            return record
        bundle = stack.enter_context(BundleWriter(out, kind="fitness", overwrite=overwrite))
        sinks: tuple[Sink, Sink] = (_Nowhere(), _Nowhere())
        if not request.summary_only:
            sinks = (bundle.open(RESULTS), bundle.open(DEBTS))
        record, inputs = _score_inputs(request, bundle.scratch, sinks, background, progress)
        bundle.write(SUMMARY, canonical_bytes(record) + b"\n")
        bundle.commit(
            inputs=inputs,
            settings={
                "suite": request.suite,
                "ignore_unknown": request.ignore_unknown,
                "summary_only": request.summary_only,
            },
            limits=LIMITS,
            varies={"processes": request.processes},
        )
        return record


def _score_inputs(
    request: ScoreRequest,
    scratch: Path,
    sinks: tuple[Sink, Sink],
    background: Executor,
    progress: Progress,
) -> tuple[dict[str, Any], dict[str, FileDigest]]:
    tasks = plain_file(request.tasks, scratch / "tasks.copy", background)
    index = index_tasks(tasks)
    packets = plain_file(request.packets, scratch / "packets.copy", background)
    job = Job(
        packets=packets.path,
        shown=packets.shown,
        scratch=scratch,
        tasks=index,
        ignore_unknown=request.ignore_unknown,
        summary_only=request.summary_only,
        on_disk=request.processes > 1,
    )
    try:
        if request.processes > 1:
            scored = _score_in_workers(job, request.processes, *sinks, progress)
        else:
            scored = _score_here(job, *sinks, progress)
    finally:
        index.close()
    tasks.refuse_change()
    packets.refuse_change()
    record = {
        **suite_record(scored.fold, scored.percentile, suite=request.suite),
        "sufficiency_latency_matrix": scored.fold.matrix(),
        "ignored_packet_count": scored.ignored_count,
    }
    return record, {"tasks": tasks.digest.result(), "packets": packets.digest.result()}
