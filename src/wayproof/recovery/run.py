"""A run: every scenario x policy x seed of a suite, streamed into a bundle.

The suite is checked once and copied into the bundle; trials are made in blocks of grids,
policy by policy, in the order of ``results.jsonl``. Workers make blocks side by side,
and they are written in their order: the bytes are the same for any number of processes.
"""

import contextlib
from collections import deque
from collections.abc import Callable, Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from wayproof.bundles.manifest import FileDigest
from wayproof.bundles.writer import BundleWriter
from wayproof.canonical import record_bytes
from wayproof.errors import InputError
from wayproof.evidence.recovery_names import (
    BUNDLE_KIND,
    LIMITS,
    RESULTS_NAME,
    SUITE_NAME,
    SUMMARY_NAME,
    TRACES_NAME,
)
from wayproof.evidence.recovery_records import Count, Identifier
from wayproof.recovery.policies import CONTROL_SOURCES
from wayproof.recovery.suite import (
    PINNED_SUITES,
    SuiteReader,
    load_grid_line,
)
from wayproof.recovery.summary import Summary, Tally
from wayproof.recovery.trial import Agent, WrittenTrace, judge_trace, result_record, run_trial

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = [
    "MAX_POLICY_SEEDS",
    "RunReport",
    "RunRequest",
    "RunSettings",
    "checked_policies",
    "checked_seeds",
    "run_suite",
]

MAX_POLICY_SEEDS: Final = 100_000
_BLOCK_TRIALS: Final = 512
_BLOCKS_PER_WORKER: Final = 3

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
        For none, too many, one out of range, or one named twice.
    """
    if len(seeds) > MAX_POLICY_SEEDS:
        raise InputError(
            "too many policy seeds",
            field="--seeds",
            expected=f"at most {MAX_POLICY_SEEDS}",
            found=str(len(seeds)),
        )
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


class RunRequest(NamedTuple):
    """What to run.

    Attributes
    ----------
    suite
        The suite's file.
    suite_name
        How errors call it; the path when None.
    policies, policy_seeds
        Every scenario is run with each of both.
    processes
        How many worker processes; the bytes are the same for any number.
    """

    suite: Path
    suite_name: str | None = None
    policies: tuple[str, ...] = tuple(CONTROL_SOURCES)
    policy_seeds: tuple[int, ...] = (0, 1)
    processes: int = 1


def run_suite(
    request: RunRequest,
    out: Path,
    *,
    overwrite: bool = False,
    progress: Progress = lambda _done, _total: None,
) -> RunReport:
    """Run a suite and write the bundle ``out``.

    Parameters
    ----------
    request
        What to run.
    out
        The folder to make; an existing one is refused without ``overwrite``.
    progress
        Called with the trials done and the trials in all.

    Raises
    ------
    InputError
        For a suite, policies or seeds that can't be used. Nothing is written.
    """
    policies = checked_policies(request.policies)
    policy_seeds = checked_seeds(request.policy_seeds)
    suite_name = request.suite_name or str(request.suite)
    with BundleWriter(out, kind=BUNDLE_KIND, overwrite=overwrite) as bundle:
        suite_id, scenarios = _copy_suite(request.suite, suite_name, bundle)
        suite_digest = bundle.close(SUITE_NAME)
        official = _check_pin(suite_id, suite_digest, suite_name)
        settings = RunSettings(policies=policies, policy_seeds=policy_seeds, suite_id=suite_id)
        job = _Job(
            bundle.path(SUITE_NAME), settings, max(1, _BLOCK_TRIALS // (3 * len(policy_seeds)))
        )
        tally = _write_trials(
            bundle, job, request.processes, progress, scenarios * len(policies) * len(policy_seeds)
        )
        bundle.close(TRACES_NAME)
        results = bundle.close(RESULTS_NAME)
        summary = tally.summary(results.sha256)
        bundle.write(SUMMARY_NAME, record_bytes(summary) + b"\n")
        bundle.commit(
            inputs={"suite": suite_digest},
            settings=msgspec.to_builtins(settings),
            limits=LIMITS,
            varies={"processes": request.processes},
        )
    return RunReport(summary, results, suite_digest, official)


def _copy_suite(suite: Path, name: str, bundle: BundleWriter) -> tuple[str, int]:
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
    with contextlib.closing(_finished_blocks(job, processes)) as blocks:
        for block in blocks:
            traces.write(block.traces)
            results.write(block.results)
            tally.merge(block.tally)
            progress(tally.trials, total)
    return tally


# -- blocks ---------------------------------------------------------------------------


def _blocks(job: _Job) -> Iterator[tuple[str, list[bytes]]]:
    """Yield policy and suite lines of each block, in the order of the results."""
    for policy in job.settings.policies:
        with SuiteReader(job.suite) as reader:
            lines = (line for _, line in reader.raw_grids())
            while block := list(islice(lines, job.block_grids)):
                yield policy, block


def _run_block(settings: RunSettings, policy: str, lines: list[bytes]) -> _Block:
    source = CONTROL_SOURCES[policy]
    traces: list[bytes] = []
    results: list[bytes] = []
    tally = Tally()
    for line in lines:
        loaded = load_grid_line(line)
        for scenario in loaded.record.scenarios:
            for seed in settings.policy_seeds:
                trace, outcome = run_trial(settings.suite_id, loaded, scenario, source, seed)
                verdict = judge_trace(loaded, scenario, trace)
                agent = Agent(source.evidence_class, outcome)
                written = WrittenTrace(trace, record_bytes(trace))
                result = result_record(settings.suite_id, loaded, scenario, written, verdict, agent)
                tally.add(result)
                traces += (written.line, b"\n")
                results += (record_bytes(result), b"\n")
    return _Block(b"".join(traces), b"".join(results), tally)


# -- processes ------------------------------------------------------------------------

_shared: list[RunSettings] = []
"""In a worker: the settings of its run, handed over once."""


def _finished_blocks(job: _Job, processes: int) -> Generator[_Block, None, None]:
    """Yield the finished blocks in order, whoever made them."""
    if processes == 1:
        for policy, lines in _blocks(job):
            yield _run_block(job.settings, policy, lines)
        return
    from wayproof.parallel.backend import worker_pool

    with worker_pool(processes, _shared.append, job.settings) as pool:
        # A bounded window: as many blocks in flight as keep every worker busy.
        window: deque[Future[_Block]] = deque()
        for policy, lines in _blocks(job):
            window.append(pool.submit(_run_shared_block, policy, lines))
            if len(window) > _BLOCKS_PER_WORKER * processes:
                yield window.popleft().result()
        while window:
            yield window.popleft().result()


def _run_shared_block(policy: str, lines: list[bytes]) -> _Block:
    return _run_block(_shared[-1], policy, lines)
