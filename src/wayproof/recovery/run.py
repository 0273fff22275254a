"""A run: every scenario x policy x seed of a suite, streamed into a bundle.

The suite is checked once and copied into the bundle; trials are made in blocks of grids,
policy by policy, in the order of ``results.jsonl``. With several processes each worker
takes every n-th block and the blocks are written in their order, so the bytes are the
same for any number of processes.
"""

import contextlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from wayproof.bundle import BundleWriter, FileDigest
from wayproof.canonical import record_bytes
from wayproof.errors import InputError, WayproofError
from wayproof.recovery.policies import CONTROL_SOURCES, PolicySource
from wayproof.recovery.records import Count, Identifier, ScenarioRecord
from wayproof.recovery.suite import (
    PINNED_SUITES,
    SUITE_NAME,
    LoadedGrid,
    SuiteReader,
    decode_grid_line,
    load_grid,
)
from wayproof.recovery.summary import Summary, Tally
from wayproof.recovery.taxonomy import LIMITS
from wayproof.recovery.trial import Agent, judge_trace, result_record, run_trial

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

__all__ = [
    "BUNDLE_KIND",
    "RESULTS_NAME",
    "SUMMARY_NAME",
    "TRACES_NAME",
    "RunReport",
    "RunSettings",
    "checked_policies",
    "checked_seeds",
    "run_suite",
]

BUNDLE_KIND: Final = "recovery"
TRACES_NAME: Final = "traces.jsonl"
RESULTS_NAME: Final = "results.jsonl"
SUMMARY_NAME: Final = "summary.json"
_BLOCK_TRIALS: Final = 128

Progress = Callable[[int, int], None]


class RunSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a run was asked for; stored in the manifest, enough to make the bytes again."""

    policies: tuple[Identifier, ...]
    policy_seeds: tuple[Count, ...]
    suite_id: Identifier


class RunReport(NamedTuple):
    """What a run came to."""

    summary: Summary
    results: FileDigest
    suite: FileDigest
    official: bool


class _Job(NamedTuple):
    """All that a worker needs to make its blocks: the same for each."""

    suite: Path
    settings: RunSettings
    block_grids: int


class _Block(NamedTuple):
    """The finished trials of a few grids for one policy."""

    traces: bytes
    results: bytes
    tally: Tally


def checked_policies(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the policies' names, sorted.

    Raises
    ------
    InputError
        For none, an unknown one, or one named twice.
    """
    for name in names:
        if name not in CONTROL_SOURCES:
            raise InputError(
                "unknown policy",
                field="--policy",
                expected=", ".join(CONTROL_SOURCES),
                found=name,
            )
    return tuple(sorted(_distinct(names, "--policy")))


def checked_seeds(seeds: tuple[int, ...]) -> tuple[int, ...]:
    """Return the policy seeds, sorted.

    Raises
    ------
    InputError
        For none, one out of range, or one named twice.
    """
    for seed in seeds:
        if not 0 <= seed < 1 << 53:
            raise InputError(
                "policy seed out of range",
                field="--seeds",
                expected="0 … 2^53 - 1",
                found=str(seed),
            )
    return tuple(sorted(_distinct(seeds, "--seeds")))


def _distinct(values: tuple[Any, ...], field: str) -> tuple[Any, ...]:
    if not values or len(set(values)) != len(values):
        raise InputError(
            "named twice" if values else "nothing named",
            field=field,
            expected="at least one, each once",
            found=", ".join(map(str, values)) or "none",
        )
    return values


def run_suite(
    suite: Path,
    out: Path,
    *,
    suite_name: str | None = None,
    policies: tuple[str, ...] = tuple(CONTROL_SOURCES),
    policy_seeds: tuple[int, ...] = (0, 1),
    processes: int = 1,
    overwrite: bool = False,
    progress: Progress = lambda _done, _total: None,
) -> RunReport:
    """Run a suite and write the bundle ``out``.

    Parameters
    ----------
    suite
        The suite's file; ``suite_name`` is how errors call it.
    processes
        How many worker processes; the bytes are the same for any number.
    progress
        Called with the trials done and the trials in all.

    Raises
    ------
    InputError
        For a suite, policies or seeds that can't be used. Nothing is written.
    """
    policies, policy_seeds = checked_policies(policies), checked_seeds(policy_seeds)
    with BundleWriter(out, kind=BUNDLE_KIND, overwrite=overwrite) as bundle:
        suite_id, scenarios = _copy_suite(suite, suite_name, bundle)
        suite_digest = bundle.close(SUITE_NAME)
        official = _check_pin(suite_id, suite_digest, suite_name or str(suite))
        settings = RunSettings(policies=policies, policy_seeds=policy_seeds, suite_id=suite_id)
        job = _Job(
            bundle.path(SUITE_NAME), settings, max(1, _BLOCK_TRIALS // (3 * len(policy_seeds)))
        )
        tally = _write_trials(
            bundle, job, processes, progress, scenarios * len(policies) * len(policy_seeds)
        )
        bundle.close(TRACES_NAME)
        results = bundle.close(RESULTS_NAME)
        summary = tally.summary(results.sha256)
        bundle.write(SUMMARY_NAME, record_bytes(summary) + b"\n")
        bundle.commit(
            inputs={"suite": suite_digest},
            settings=msgspec.to_builtins(settings),
            limits=LIMITS,
            varies={"processes": processes},
        )
    return RunReport(summary, results, suite_digest, official)


def _copy_suite(suite: Path, name: str | None, bundle: BundleWriter) -> tuple[str, int]:
    """Check the suite and copy it into the bundle; return its id and scenario count."""
    with SuiteReader(suite, name) as reader:
        writer = bundle.open(SUITE_NAME)
        writer.write(reader.header_line + b"\n")
        scenarios = 0
        for line, loaded in reader.grids():
            writer.write(line + b"\n")
            scenarios += len(loaded.record.scenarios)
        return reader.header.suite_id, scenarios


def _check_pin(suite_id: str, digest: FileDigest, name: str) -> bool:
    """Whether the suite is an official one; an official id with other bytes is refused."""
    pin = PINNED_SUITES.get(suite_id)
    if pin is not None and pin != digest.sha256:
        raise InputError(
            "uses the id of an official suite, with other bytes",
            file=name,
            line=1,
            field="suite_id",
            expected=f"SHA-256 {pin} for {suite_id}",
            found=digest.sha256,
            mend="give the suite an id of its own",
        )
    return pin is not None


def _write_trials(
    bundle: BundleWriter, job: _Job, processes: int, progress: Progress, total: int
) -> Tally:
    traces, results = bundle.open(TRACES_NAME), bundle.open(RESULTS_NAME)
    tally = Tally()
    progress(0, total)
    blocks = _blocks(job, 0, 1) if processes == 1 else _blocks_of_workers(job, processes)
    with contextlib.closing(blocks):
        for block in blocks:
            traces.write(block.traces)
            results.write(block.results)
            tally.merge(block.tally)
            progress(tally.trials, total)
    return tally


# -- blocks ---------------------------------------------------------------------------


def _blocks(job: _Job, first: int, every: int) -> Iterator[_Block]:
    """Make the blocks ``first``, ``first + every``, …: in the order of the results."""
    number = 0
    for policy in job.settings.policies:
        with SuiteReader(job.suite) as reader:
            lines = (line for _, line in reader.raw_grids())
            while block := list(islice(lines, job.block_grids)):
                if number % every == first:
                    yield _run_block(job.settings, CONTROL_SOURCES[policy], block)
                number += 1


def _run_block(settings: RunSettings, source: PolicySource, lines: list[bytes]) -> _Block:
    traces, results, tally = [], [], Tally()
    for line in lines:
        loaded = load_grid(decode_grid_line(line))
        for scenario in loaded.record.scenarios:
            for seed in settings.policy_seeds:
                trace_line, result_line = _run_cell(
                    settings.suite_id, loaded, scenario, source, seed, tally
                )
                traces += (trace_line, b"\n")
                results += (result_line, b"\n")
    return _Block(b"".join(traces), b"".join(results), tally)


def _run_cell(
    suite_id: str,
    loaded: LoadedGrid,
    scenario: ScenarioRecord,
    source: PolicySource,
    seed: int,
    tally: Tally,
) -> tuple[bytes, bytes]:
    trace, outcome = run_trial(suite_id, loaded, scenario, source, seed)
    verdict = judge_trace(loaded, scenario, trace)
    result = result_record(
        suite_id, loaded, scenario, trace, verdict, Agent(source.evidence_class, outcome)
    )
    tally.add(result)
    return record_bytes(trace), record_bytes(result)


# -- processes ------------------------------------------------------------------------


def _blocks_of_workers(job: _Job, processes: int) -> Iterator[_Block]:
    """Yield all blocks in order; worker i makes every block whose number is i modulo n.

    Workers are spawned, not forked: they hold none of this process's files and locks,
    and their pipe to it breaks when it dies, which ends them.
    """
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    workers, pipes = [], []
    try:
        for first in range(processes):
            receiving, sending = context.Pipe(duplex=False)
            worker = context.Process(
                target=_work, args=(sending, job, first, processes), daemon=True
            )
            worker.start()
            sending.close()
            workers.append(worker)
            pipes.append(receiving)
        number = 0
        while (block := _received(pipes[number % processes])) is not None:
            yield block
            number += 1
    finally:
        for pipe in pipes:
            pipe.close()
        for worker in workers:
            worker.terminate()
            worker.join()


def _received(pipe: "Connection") -> _Block | None:
    try:
        message = pipe.recv()
    except (EOFError, OSError):
        raise InputError(
            "a worker process died", mend="run with --processes 1, or free some memory"
        ) from None
    if isinstance(message, WayproofError):
        raise message
    return message if isinstance(message, _Block) else None


def _work(pipe: "Connection", job: _Job, first: int, every: int) -> None:
    """Make every ``every``-th block and send it; None at the end, or the error."""
    import signal

    # Ctrl-C reaches the whole group: the parent ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(BrokenPipeError):  # the parent is gone
        try:
            for block in _blocks(job, first, every):
                pipe.send(block)
            pipe.send(None)
        except WayproofError as error:
            pipe.send(error)
