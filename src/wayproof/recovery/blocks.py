"""Blocks of trials: what a run and a shard hand to whoever does the work.

A block is a few grids of one policy. It is a function of its arguments, so it may be made
anywhere, and twice.
"""

import contextlib
import pickle
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple

from wayproof.bundles.places import refuse_existing
from wayproof.bundles.whole_file import whole_file
from wayproof.canonical import record_bytes
from wayproof.errors import InputError
from wayproof.evidence.recovery_records import trial_id
from wayproof.parallel.backend import Backend
from wayproof.recovery.agents.policy import PolicySource
from wayproof.recovery.suite import SuiteReader
from wayproof.recovery.track import Agent, SuiteTally, WrittenTrace
from wayproof.recovery.tracks.registry import TRACKS
from wayproof.recovery.trial import run_trial

__all__ = [
    "AGENT_LOG_SUFFIX",
    "AgentLog",
    "Block",
    "Job",
    "check_portable",
    "finished_blocks",
    "sessions",
]

AGENT_LOG_SUFFIX: Final = ".agent.log"
_BLOCK_TRIALS: Final = 512
_MAX_LOG_CHARS: Final = 16 << 20


class Job(NamedTuple):
    """All that a worker needs to make its blocks: the same for each."""

    track: str
    suite_id: str
    policy_seeds: tuple[int, ...]


class Block(NamedTuple):
    """The finished trials of a few grids for one policy."""

    traces: bytes
    results: bytes
    tally: SuiteTally
    logs: tuple[str, ...]


@contextlib.contextmanager
def sessions(sources: tuple[PolicySource, ...]) -> Iterator[None]:
    """Enter what sources want around all their trials."""
    with contextlib.ExitStack() as stack:
        for source in sources:
            if source.session is not None:
                stack.enter_context(source.session())
        yield


class AgentLog:
    """What agents leave to read, kept beside the bundle: it is theirs, and no evidence."""

    def __init__(self, out: Path) -> None:
        self._path = out.with_name(f"{out.name}{AGENT_LOG_SUFFIX}")
        self._texts: list[str] = []
        self._left_chars = _MAX_LOG_CHARS
        self._lost = 0

    def refuse_taken(self, *, overwrite: bool) -> None:
        """Refuse a place that is taken."""
        refuse_existing(self._path, overwrite=overwrite)

    def add(self, texts: tuple[str, ...]) -> None:
        """Keep texts, as far as there is room."""
        for text in texts:
            if len(text) <= self._left_chars:
                self._texts.append(text)
                self._left_chars -= len(text)
            else:
                self._lost += 1

    def write(self) -> Path | None:
        """Write what was kept; return its file, None when there is nothing."""
        if not self._texts:
            return None
        if self._lost:
            self._texts.append(f"== {self._lost} more trials left something to read\n")
        with whole_file(self._path, overwrite=True) as file:
            file.write("".join(self._texts).encode("utf-8", "backslashreplace"))
        return self._path


def check_portable(sources: tuple[PolicySource, ...], place: Backend) -> None:
    """Refuse a policy that can't be brought to a worker process."""
    if not place.is_remote:
        return
    for source in sources:
        try:
            pickle.dumps(source)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise InputError(
                "the policy's factory can't be sent to another process",
                setting="policies",
                index=source.name,
                expected="a class or function of a module",
                found=str(error),
                mend="run it with processes=1",
            ) from None


def finished_blocks(
    place: Backend, suite: Path, job: Job, sources: tuple[PolicySource, ...]
) -> Generator[Block, None, None]:
    """Yield the finished blocks of a suite's grids, policy by policy, in the results' order."""
    return place.map(_run_block, _blocks(suite, job, sources))


def _blocks(
    suite: Path, job: Job, sources: tuple[PolicySource, ...]
) -> Iterator[tuple[Job, PolicySource, list[bytes]]]:
    """Yield each block's policy and suite lines, in the order of the results."""
    block_grids = max(1, _BLOCK_TRIALS // (3 * len(job.policy_seeds)))
    for source in sources:
        with SuiteReader(suite) as reader:
            lines = (line for _, line in reader.raw_grids())
            while block := list(islice(lines, block_grids)):
                yield job, source, block


def _run_block(job: Job, source: PolicySource, lines: list[bytes]) -> Block:
    """Run a block's trials; a function of its arguments, wherever and how often it runs."""
    track = TRACKS[job.track]
    traces: list[bytes] = []
    results: list[bytes] = []
    logs: list[str] = []
    tally = track.tally()
    for line in lines:
        for case in track.read_grid(line).cases():
            for seed in job.policy_seeds:
                ran = run_trial(job.suite_id, case, source, seed)
                written = WrittenTrace(ran.trace, record_bytes(ran.trace))
                agent = Agent(source.evidence_class, ran.agent_outcome)
                finding = case.find(job.suite_id, written, agent)
                tally.add(finding.result)
                traces += (written.line, b"\n")
                results += (finding.line, b"\n")
                if ran.log:
                    trial = trial_id(source.name, case.scenario_id, seed)
                    logs.append(f"== {trial}: {ran.agent_outcome}\n{ran.log.rstrip()}\n")
    return Block(b"".join(traces), b"".join(results), tally, tuple(logs))
