"""A run: every scenario x policy x seed of a suite, streamed into a bundle.

The suite is checked once and copied into the bundle; trials are made in blocks of grids,
policy by policy, in the order of ``results.jsonl``. Workers make blocks side by side,
and they are written in their order: the bytes are the same for any number of processes.
"""

import contextlib
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from pathlib import Path
from typing import Any, Final, NamedTuple

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
from wayproof.evidence.recovery_records import AgentRecord, Count, Identifier
from wayproof.parallel.backend import backend
from wayproof.recovery.agents.controls import CONTROL_SOURCES
from wayproof.recovery.agents.policy import PolicySource
from wayproof.recovery.blocks import (
    AgentLog,
    Block,
    Job,
    check_portable,
    finished_blocks,
    sessions,
)
from wayproof.recovery.suite import PINNED_SUITES, SuiteReader
from wayproof.recovery.summary import Summary
from wayproof.recovery.track import SuiteTally
from wayproof.recovery.tracks.registry import TRACKS

__all__ = [
    "MAX_POLICY_SEEDS",
    "RunReport",
    "RunRequest",
    "RunSettings",
    "check_pin",
    "checked_seeds",
    "checked_sources",
    "run_settings",
    "run_suite",
]

MAX_POLICY_SEEDS: Final = 100_000

Progress = Callable[[int, int], None]


class RunSettings(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """What a run was asked for; stored in the manifest.

    Attributes
    ----------
    agents
        A record for each policy that is a client agent; controls need none, since their
        names say all that it takes to make the same bytes again.
    policies, policy_seeds
        Each rising.
    suite_id
        Id of the suite, which the bundle holds.
    """

    agents: tuple[AgentRecord, ...] = ()
    policies: tuple[Identifier, ...]
    policy_seeds: tuple[Count, ...]
    suite_id: Identifier


class RunReport(NamedTuple):
    """What a run came to.

    Attributes
    ----------
    agent_log
        The file beside the bundle with what agents left to read: tracebacks, stderr.
    """

    summary: Summary
    results: FileDigest
    suite: FileDigest
    official: bool
    agent_log: Path | None = None


def checked_sources(sources: tuple[PolicySource, ...]) -> tuple[PolicySource, ...]:
    """Return the sources of policies, sorted by name.

    Raises
    ------
    InputError
        For none, a name that stands twice, an outside agent under a control's name, or
        controls beside client agents.
    """
    _distinct(tuple(source.name for source in sources), "policies")
    for source in sources:
        is_control = CONTROL_SOURCES.get(source.name) == source
        if is_control is not (source.evidence_class == "reference_control") or (
            not is_control and (source.name in CONTROL_SOURCES or source.identity is None)
        ):
            raise InputError(
                "an outside policy can't be run as a control",
                setting="policies",
                found=source.name,
                mend="make its source with client_agent(name, factory)",
            )
    if len({source.evidence_class for source in sources}) > 1:
        raise InputError(
            "client agents are not run beside reference controls",
            setting="policies",
            found=", ".join(source.name for source in sources),
            mend="give them a bundle of their own, and compare the two",
        )
    return tuple(sorted(sources, key=lambda source: source.name))


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
            setting="policy_seeds",
            expected=f"at most {MAX_POLICY_SEEDS}",
            found=str(len(seeds)),
        )
    for seed in seeds:
        if not 0 <= seed < 1 << 53:
            raise InputError(
                "policy seed out of range",
                setting="policy_seeds",
                expected="0 … 2^53 - 1",
                found=str(seed),
            )
    return tuple(sorted(_distinct(seeds, "policy_seeds")))


def _distinct(values: tuple[Any, ...], setting: str) -> tuple[Any, ...]:
    if not values or len(set(values)) != len(values):
        raise InputError(
            "named twice" if values else "nothing named",
            setting=setting,
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
        Every scenario is run with each of both. The reference controls by default;
        :func:`wayproof.recovery.agents.policy.client_agent` brings a policy of one's own.
    processes
        How many worker processes; the bytes are the same for any number.
    executor
        Any ``concurrent.futures`` executor to run trials on instead; ``processes`` then
        says over how many of its workers they are spread.
    """

    suite: Path
    suite_name: str | None = None
    policies: tuple[PolicySource, ...] = tuple(CONTROL_SOURCES.values())
    policy_seeds: tuple[int, ...] = (0, 1)
    processes: int = 1
    executor: Executor | None = None


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
    sources = checked_sources(request.policies)
    log = AgentLog(out)
    if any(source.identity is not None for source in sources):
        log.refuse_taken(overwrite=overwrite)
    policy_seeds = checked_seeds(request.policy_seeds)
    suite_name = request.suite_name or str(request.suite)
    with BundleWriter(out, kind=BUNDLE_KIND, overwrite=overwrite) as bundle:
        track, suite_id, scenarios = _copy_suite(request.suite, suite_name, bundle)
        suite_digest = bundle.close(SUITE_NAME)
        official = check_pin(suite_id, suite_digest, suite_name)
        settings = run_settings(sources, policy_seeds, suite_id)
        job = Job(track, suite_id, policy_seeds)
        total = scenarios * len(sources) * len(policy_seeds)
        with sessions(sources), backend(request.processes, request.executor) as place:
            check_portable(sources, place)
            blocks = finished_blocks(place, bundle.path(SUITE_NAME), job, sources)
            with contextlib.closing(blocks) as finished:
                tally = TRACKS[track].tally()
                _write_trials(bundle, finished, tally, log, progress, total)
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
    return RunReport(summary, results, suite_digest, official, log.write())


def _copy_suite(suite: Path, name: str, bundle: BundleWriter) -> tuple[str, str, int]:
    """Check the suite and copy it into the bundle; return track, id and scenario count."""
    with SuiteReader(suite, name) as reader:
        writer = bundle.open(SUITE_NAME)
        writer.write(reader.header_line + b"\n")
        scenarios = 0
        for line, grid in reader.grids():
            writer.write(line + b"\n")
            scenarios += len(grid.cases())
        return reader.track.name, reader.header.suite_id, scenarios


def run_settings(
    sources: tuple[PolicySource, ...], policy_seeds: tuple[int, ...], suite_id: str
) -> RunSettings:
    """Return what a manifest says of a run."""
    return RunSettings(
        agents=tuple(source.identity for source in sources if source.identity is not None),
        policies=tuple(source.name for source in sources),
        policy_seeds=policy_seeds,
        suite_id=suite_id,
    )


def check_pin(suite_id: str, digest: FileDigest, name: str) -> bool:
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
    bundle: BundleWriter,
    blocks: Iterable[Block],
    tally: SuiteTally,
    log: AgentLog,
    progress: Progress,
    total: int,
) -> None:
    traces, results = bundle.open(TRACES_NAME), bundle.open(RESULTS_NAME)
    progress(0, total)
    for block in blocks:
        traces.write(block.traces)
        results.write(block.results)
        tally.merge(block.tally)
        log.add(block.logs)
        progress(tally.trials, total)
