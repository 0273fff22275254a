"""Tasks and packets as separate files, joined, scored and written as a bundle.

Three steps, none of which holds the packets in memory:

1. the tasks are indexed by id (:mod:`~wayproof.fitness.task_index`);
2. the packets are scored as they come, chunk by chunk. Result lines go into a store as
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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
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
from wayproof.fitness.aggregate import SuiteTotals, in_first_form, suite_record
from wayproof.fitness.benchmark import DEFAULT_SUITE
from wayproof.fitness.chunks import (
    Chunk,
    Job,
    Progress,
    ScoredChunk,
    chunks_of,
    no_progress,
    score_chunk,
)
from wayproof.fitness.inputs import PlainFile, line_number_at, plain_file
from wayproof.fitness.merge import WALL, Merger, Part
from wayproof.fitness.task_index import TaskIndex, index_tasks
from wayproof.lines import STDIN_NAME, blocks
from wayproof.parallel.backend import Backend, Shared, backend, unit_folder
from wayproof.parallel.external_sort import Run, Sink, merge_runs
from wayproof.stats.intervals import nearest_rank
from wayproof.text import quoted

__all__ = [
    "ScoreRequest",
    "Total",
    "bundle_sinks",
    "no_garbage_collection",
    "refuse_drafts",
    "refuse_nothing_stated",
    "score",
    "score_record",
    "suite_of_file",
    "write_bundle",
]

_CHUNKS_PER_WORKER = 4


class ScoreRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to score, and how.

    Attributes
    ----------
    tasks, packets
        JSON Lines files, plain or gzip; ``-`` for standard input (one of the two).
    suite
        Name that the summary carries; that of the tasks file when None.
    processes
        How many processes share the work; the bytes don't depend on it.
    ignore_unknown
        Set packets without task aside (they are counted) instead of refusing them.
    summary_only
        Write no per-task files.
    require_filled
        Refuse unfilled drafts among the tasks, instead of setting them aside (they and
        their packets are counted).
    """

    tasks: Path
    packets: Path
    suite: str | None = None
    processes: int = 1
    ignore_unknown: bool = False
    summary_only: bool = False
    require_filled: bool = False


def _rank_ranges(count: int, parts: int) -> list[range]:
    """Share the ranks out evenly; no range is empty."""
    parts = min(count, parts)
    borders = [count * part // parts for part in range(parts + 1)] if parts else []
    return [range(low, high) for low, high in itertools.pairwise(borders)]


# -- units of work --------------------------------------------------------------------


def _score_unit(shared: Shared[Job], chunk: Chunk) -> ScoredChunk:
    with no_garbage_collection():
        return score_chunk(shared.get(), chunk)


class _WrittenPart(NamedTuple):
    """A merged part and the files that hold its lines."""

    part: Part
    results: Path
    debts: Path


def _merge_unit(
    shared: Shared[Job], ranks: range, runs: list[Run], stores: list[Path]
) -> _WrittenPart:
    job = shared.get()
    folder = unit_folder(job.scratch, f"part-{ranks.start:012d}")
    results, debts = folder / RESULTS_NAME, folder / DEBTS_NAME
    with (
        no_garbage_collection(),
        results.open("xb") as result_file,
        debts.open("xb") as debt_file,
    ):
        part = Merger(job, ranks, stores, folder, (result_file, debt_file)).merge(runs)
    return _WrittenPart(part, results, debts)


def _append_file(path: Path, sink: Sink) -> None:
    with path.open("rb") as file:
        for block in blocks(file):
            sink.write(block)


# -- the whole ------------------------------------------------------------------------


class Total(NamedTuple):
    """All that scoring counted."""

    totals: SuiteTotals
    wall_runs: list[Run]
    wall_count: int
    ignored_count: int
    draft_count: int

    def percentile(self, percent: int) -> int | float | None:
        """Return the nearest-rank percentile of the wall times, from the sorted runs."""
        if not self.wall_count:
            return None
        place = nearest_rank(self.wall_count, percent) - 1
        record = next(itertools.islice(merge_runs(self.wall_runs), place, None))
        value = float(WALL.unpack(record)[0])
        return int(value) if value.is_integer() else value


def _count_here(job: Job, _workers: Backend, sinks: tuple[Sink, Sink], progress: Progress) -> Total:
    chunk = score_chunk(job, Chunk(0, 0, job.packets.stat().st_size), progress)
    ranks = range(len(job.tasks))
    part = Merger(job, ranks, [chunk.store], job.scratch, sinks).merge(chunk.runs)
    return Total(
        part.totals, part.wall_runs, part.wall_count, chunk.ignored_count, chunk.draft_count
    )


def _count_elsewhere(
    job: Job, workers: Backend, sinks: tuple[Sink, Sink], progress: Progress
) -> Total:
    with Shared(job, job.scratch / "job") as shared:
        runs: list[Run] = []
        stores: list[Path] = []
        ignored_count = draft_count = done_bytes = 0
        total_bytes = job.packets.stat().st_size
        chunks = chunks_of(job.packets, workers.width * _CHUNKS_PER_WORKER)
        # In the order of the file, so that the first bad line is the one that is named.
        for chunk in workers.map(_score_unit, ((shared, chunk) for chunk in chunks)):
            runs += chunk.runs
            stores.append(chunk.store)
            ignored_count += chunk.ignored_count
            draft_count += chunk.draft_count
            done_bytes += chunk.size_bytes
            progress(done_bytes, total_bytes)
        totals, wall_runs, wall_count = SuiteTotals(), [], 0
        ranges = _rank_ranges(len(job.tasks), workers.width)
        rows = ((shared, ranks, runs, stores) for ranks in ranges)
        for part, *paths in workers.map(_merge_unit, rows):
            totals.merge(part.totals)
            wall_runs += part.wall_runs
            wall_count += part.wall_count
            for path, sink in zip(paths, sinks, strict=True):
                _append_file(path, sink)
                path.unlink()
    return Total(totals, wall_runs, wall_count, ignored_count, draft_count)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable the cyclic garbage collector: records hold no cycles, and it takes a sixth."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _NullSink:
    """A sink for lines that nobody asked for."""

    def write(self, data: bytes, /) -> None:
        """Drop ``data``."""


def score(  # noqa: PLR0913 - each is a setting of its own
    request: ScoreRequest,
    out: Path | None,
    *,
    overwrite: bool = False,
    progress: Progress = no_progress,
    executor: Executor | None = None,
    first_form: bool = False,
    on_unknown_keys: Callable[[Counter[str]], None] | None = None,
    on_origins: Callable[[Counter[str]], None] | None = None,
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
        Called now and then with (bytes scored, bytes in all).
    executor
        A ``concurrent.futures`` executor to do the work, over ``request.processes`` of its
        workers; they read the inputs and write beside ``out``, so on other machines they
        need a disk that all of them see. None: processes of this machine.
    first_form
        Write what ``wayproof.fitness/1`` did, to check a bundle of it.
    on_unknown_keys
        Called with how many tasks carry each key that scoring doesn't know.
    on_origins
        Called with how many tasks say where their expectations are from, by what they say.

    Returns
    -------
    dict
        What ``summary.json`` holds: the suite record, ``sufficiency_latency_matrix``,
        ``ignored_packet_count``, ``draft_task_count`` and ``draft_packet_count``.

    Raises
    ------
    InputError
        Naming file, line, field, what was expected and found. Nothing is written then.
    """
    if str(request.tasks) == STDIN_NAME and str(request.packets) == STDIN_NAME:
        raise InputError("tasks and packets can't both come from standard input")
    with ExitStack() as stack:
        stack.enter_context(no_garbage_collection())
        how = _How(progress, executor, first_form, on_unknown_keys, on_origins)
        if out is None:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wayproof-")))
            brief = msgspec.structs.replace(request, summary_only=True)
            return _score_inputs(brief, scratch, (_NullSink(), _NullSink()), how).record
        bundle = stack.enter_context(BundleWriter(out, kind=BUNDLE_KIND, overwrite=overwrite))
        sinks = bundle_sinks(bundle, summary_only=request.summary_only)
        record, inputs = _score_inputs(request, bundle.scratch, sinks, how)
        settings = {
            "suite": record["suite"],
            "ignore_unknown": request.ignore_unknown,
            "summary_only": request.summary_only,
        }
        write_bundle(bundle, record, inputs, settings, {"processes": request.processes})
        return record


def bundle_sinks(bundle: BundleWriter, *, summary_only: bool) -> tuple[Sink, Sink]:
    """Open the files of results and debts, where they are wanted."""
    if summary_only:
        return _NullSink(), _NullSink()
    return bundle.open(RESULTS_NAME), bundle.open(DEBTS_NAME)


def write_bundle(
    bundle: BundleWriter,
    record: dict[str, Any],
    inputs: Mapping[str, FileDigest],
    settings: Mapping[str, Any],
    varies: Mapping[str, Any],
) -> None:
    """Write the summary and finish the bundle."""
    bundle.write(SUMMARY_NAME, canonical_bytes(record) + b"\n")
    bundle.commit(inputs=inputs, settings=settings, limits=LIMITS, varies=varies)


class _How(NamedTuple):
    """What doesn't belong to a request: how it is carried out."""

    progress: Progress
    executor: Executor | None
    first_form: bool
    on_unknown_keys: Callable[[Counter[str]], None] | None
    on_origins: Callable[[Counter[str]], None] | None = None


class _Outcome(NamedTuple):
    record: dict[str, Any]
    inputs: dict[str, FileDigest]


def _score_inputs(
    request: ScoreRequest, scratch: Path, sinks: tuple[Sink, Sink], how: _How
) -> _Outcome:
    tasks = plain_file(request.tasks, scratch / "tasks.copy")
    index = index_tasks(tasks, first_form=how.first_form)
    refuse_drafts(request, index, tasks)
    if how.on_unknown_keys is not None:
        how.on_unknown_keys(index.unknown_keys)
    if how.on_origins is not None:
        how.on_origins(index.origins)
    packets = plain_file(request.packets, scratch / "packets.copy")
    job = Job(
        packets=packets.path,
        shown=packets.shown,
        scratch=scratch,
        tasks=index,
        ignore_unknown=request.ignore_unknown,
        summary_only=request.summary_only,
        on_disk=request.processes > 1 or how.executor is not None,
        first_form=how.first_form,
    )
    with ExitStack() as stack:
        workers = stack.enter_context(backend(request.processes, how.executor))
        # Beside the scoring, once no more process will be forked.
        background = stack.enter_context(ThreadPoolExecutor(1))
        digests = {
            role: background.submit(digest_file, file.given)
            for role, file in (("tasks", tasks), ("packets", packets))
        }
        count = _count_elsewhere if workers.is_remote else _count_here
        total = count(job, workers, sinks, how.progress)
        inputs = {role: digest.result() for role, digest in digests.items()}
    tasks.refuse_change()
    packets.refuse_change()
    if not how.first_form:
        refuse_nothing_stated(index, tasks.shown)
    suite = suite_of_file(request.tasks) if request.suite is None else request.suite
    return _Outcome(score_record(total, index, suite, first_form=how.first_form), inputs)


def score_record(
    total: Total, index: TaskIndex, suite: str, *, first_form: bool = False
) -> dict[str, Any]:
    """Return what ``summary.json`` holds."""
    record = suite_record(
        total.totals, total.percentile, suite=suite, route_types=list(index.route_codes)
    )
    record["sufficiency_latency_matrix"] = total.totals.matrix()
    record["ignored_packet_count"] = total.ignored_count
    if first_form:
        return in_first_form(record)
    record["draft_task_count"] = len(index.drafts)
    record["draft_packet_count"] = total.draft_count
    return record


def suite_of_file(tasks: Path) -> str:
    """Name a suite after its tasks file; one that comes through a pipe has the default name."""
    name = tasks.name
    for suffix in (".gz", ".jsonl", ".ndjson", ".json"):
        name = name.removesuffix(suffix)
    return DEFAULT_SUITE if str(tasks) == STDIN_NAME or not name else name


def refuse_drafts(request: ScoreRequest, index: TaskIndex, tasks: PlainFile) -> None:
    """Refuse unfilled drafts where that was asked for, or where there is nothing else."""
    if index.drafts and (request.require_filled or not len(index)):
        count = len(index.drafts)
        raise InputError(
            f"unfilled drafts: {count} of {count + len(index)} tasks",
            file=tasks.shown,
            line=line_number_at(tasks.path, next(iter(index.drafts.values()))),
            field="draft",
            expected="tasks that a person has filled in",
            found="true",
            mend="fill in expected_artifacts and remove draft",
        )


def refuse_nothing_stated(index: TaskIndex, shown: str) -> None:
    """Refuse tasks that no packet could fail: every share would say "all of them"."""
    if len(index) and not index.states_anything:
        raise InputError(
            "no task states anything that a packet could fail",
            file=shown,
            field="expected_artifacts",
            expected="expected_artifacts, scent_terms or forbidden_first_routes in some task",
            found=_seen_instead(index),
            mend="is this the tasks file, are {tasks} and {packets} swapped, is a key misspelt?",
        )


def _seen_instead(index: TaskIndex) -> str:
    names = [quoted(key, 40) for key, _ in index.unknown_keys.most_common(5)]
    return f"{len(index)} tasks" + (f" with the unknown keys {', '.join(names)}" if names else "")
