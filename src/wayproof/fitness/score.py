"""Tasks and packets as separate files, joined, judged and written as a bundle.

Three steps, none of which holds the packets in memory:

1. the tasks are indexed by id (:mod:`~wayproof.fitness.task_index`);
2. the packets are judged as they come, chunk by chunk. Result lines go into a store as
   they are made, and a small record under (rank of the task, attempt) into a sorting
   spool (:mod:`~wayproof.fitness.chunks`);
3. the records are merged in that order: counted, checked for repeats, and the result
   lines copied from the stores (:mod:`~wayproof.fitness.merge`).

Steps 2 and 3 split over processes, by chunk and by rank, so the bytes are the same for
any number of them and for any order of the input lines.
"""

import gc
import itertools
import tempfile
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from wayproof.bundles.manifest import FileDigest, digest_file
from wayproof.bundles.writer import BundleWriter
from wayproof.canonical import canonical_bytes
from wayproof.errors import InputError
from wayproof.evidence.fitness_names import (
    BUNDLE_KIND,
    DEBTS_NAME,
    LIMITS,
    RESULTS_NAME,
    SUMMARY_NAME,
)
from wayproof.fitness.aggregate import SuiteFold, suite_record
from wayproof.fitness.chunks import (
    Chunk,
    Job,
    JudgedChunk,
    Progress,
    chunks_of,
    judge_chunk,
    no_progress,
)
from wayproof.fitness.inputs import plain_file
from wayproof.fitness.merge import WALL, Merger, Part, Sink
from wayproof.fitness.suite import DEFAULT_SUITE
from wayproof.fitness.task_index import index_tasks, refuse_bad_tasks
from wayproof.parallel.backend import worker_pool
from wayproof.parallel.external_sort import Run, merge_runs
from wayproof.stats.intervals import nearest_rank
from wayproof.strict_json import STDIN_NAME, blocks

__all__ = ["ScoreRequest", "score"]

_CHUNKS_PER_PROCESS = 4


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


def _rank_ranges(count: int, parts: int) -> list[range]:
    """Share the ranks out evenly; no range is empty."""
    parts = min(count, parts)
    borders = [count * part // parts for part in range(parts + 1)] if parts else []
    return [range(low, high) for low, high in itertools.pairwise(borders)]


# -- workers --------------------------------------------------------------------------

_shared_job: Job | None = None


def _share_job(job: Job) -> None:
    global _shared_job  # noqa: PLW0603 - set once, before a worker's first task
    _shared_job = job
    gc.disable()  # see _without_cycle_search


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


class Total(NamedTuple):
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
        value = float(WALL.unpack(record)[0])
        return int(value) if value.is_integer() else value


def _count_here(job: Job, results: Sink, debts: Sink, progress: Progress) -> Total:
    chunk = judge_chunk(job, Chunk(0, 0, job.packets.stat().st_size), progress)
    part = Merger(job, range(len(job.tasks)), results, debts).merge(chunk.runs)
    return Total(part.fold, part.wall_runs, part.wall_count, chunk.ignored_count)


def _count_in_workers(
    job: Job, pool: Executor, processes: int, results: Sink, debts: Sink, progress: Progress
) -> Total:
    runs: list[Run] = []
    ignored_count = done = 0
    size = job.packets.stat().st_size
    chunks = chunks_of(job.packets, processes * _CHUNKS_PER_PROCESS)
    # In the order of the file, so that the first bad line is the one that is named.
    for chunk in pool.map(_judge_in_worker, chunks):
        runs += chunk.runs
        ignored_count += chunk.ignored_count
        done += chunk.size_bytes
        progress(done, size)
    ranges = _rank_ranges(len(job.tasks), processes)
    fold, wall_runs, wall_count = SuiteFold(), [], 0
    parts = pool.map(_merge_in_worker, itertools.repeat(runs), ranges)
    for ranks, part in zip(ranges, parts, strict=True):
        fold.merge(part.fold)
        wall_runs += part.wall_runs
        wall_count += part.wall_count
        for path, sink in zip(_part_paths(job, ranks), (results, debts), strict=True):
            _append_file(path, sink)
            path.unlink()
    return Total(fold, wall_runs, wall_count, ignored_count)


@contextmanager
def _without_cycle_search() -> Iterator[None]:
    """Let the collector rest: records hold no cycles, and looking for them takes a sixth."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Nowhere:
    """A sink for what isn't wanted."""

    def write(self, data: bytes, /) -> None:
        """Take ``data`` and drop it."""


def score(
    request: ScoreRequest,
    out: Path | None,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
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
        stack.enter_context(_without_cycle_search())
        if out is None:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wayproof-")))
            record, _ = _score_inputs(
                msgspec.structs.replace(request, summary_only=True),
                scratch,
                (_Nowhere(), _Nowhere()),
                progress,
            )
            return record
        bundle = stack.enter_context(BundleWriter(out, kind=BUNDLE_KIND, overwrite=overwrite))
        sinks: tuple[Sink, Sink] = (_Nowhere(), _Nowhere())
        if not request.summary_only:
            sinks = (bundle.open(RESULTS_NAME), bundle.open(DEBTS_NAME))
        record, inputs = _score_inputs(request, bundle.scratch, sinks, progress)
        bundle.write(SUMMARY_NAME, canonical_bytes(record) + b"\n")
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
    progress: Progress,
) -> tuple[dict[str, Any], dict[str, FileDigest]]:
    tasks = plain_file(request.tasks, scratch / "tasks.copy")
    index = index_tasks(tasks)
    packets = plain_file(request.packets, scratch / "packets.copy")
    job = Job(
        packets=packets.path,
        shown=packets.shown,
        scratch=scratch,
        tasks=index,
        ignore_unknown=request.ignore_unknown,
        summary_only=request.summary_only,
        on_disk=request.processes > 1,
    )
    with ExitStack() as stack:
        stack.callback(index.close)
        pool = None
        if request.processes > 1:
            pool = stack.enter_context(worker_pool(request.processes, _share_job, job))
        # Beside the scoring, once no more process will be forked.
        background = stack.enter_context(ThreadPoolExecutor(1))
        digests = {
            role: background.submit(digest_file, file.given)
            for role, file in (("tasks", tasks), ("packets", packets))
        }
        try:
            if pool is None:
                total = _count_here(job, *sinks, progress)
            else:
                total = _count_in_workers(job, pool, request.processes, *sinks, progress)
        except InputError:
            refuse_bad_tasks(tasks)  # what is wrong with the tasks comes first
            raise
        inputs = {role: digest.result() for role, digest in digests.items()}
    tasks.refuse_change()
    packets.refuse_change()
    record = {
        **suite_record(
            total.fold,
            total.percentile,
            suite=request.suite,
            route_types=list(index.route_codes),
        ),
        "sufficiency_latency_matrix": total.fold.matrix(),
        "ignored_packet_count": total.ignored_count,
    }
    return record, inputs
