"""What both sides of a private evaluation sign or disclose, as typed records.

The agreement is a TOML file, of which the exact bytes are signed. Everything else is one
canonical JSON value a file, or a line.
"""

from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec

from wayproof.canonical import Record
from wayproof.evidence.private_names import ClauseName, Enforcement, Receiver
from wayproof.evidence.recovery_names import CheckName
from wayproof.evidence.recovery_records import (
    Count,
    Digest,
    GridRecord,
    Identifier,
    Result,
    Trace,
)

__all__ = [
    "AGREEMENT_SCHEMA",
    "MOST_RUNS",
    "RESULT_SCHEMA",
    "START_SCHEMA",
    "TRIAL_SCHEMA",
    "AgentTerms",
    "Agreement",
    "Barrier",
    "EnforcedClause",
    "Keys",
    "Leaf",
    "Limit",
    "Limits",
    "PrivateResult",
    "PrivateTrial",
    "Receives",
    "ScenarioLeaf",
    "Start",
    "SuiteTerms",
    "Validity",
]

AGREEMENT_SCHEMA: Final = "wayproof.private-agreement/1"
START_SCHEMA: Final = "wayproof.private-start/1"
RESULT_SCHEMA: Final = "wayproof.private-result/1"
TRIAL_SCHEMA: Final = "wayproof.private-trial/1"
MOST_RUNS: Final = 9_999

_Line = Annotated[str, msgspec.Meta(min_length=1, max_length=500)]
_Word = Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
_Runs = Annotated[int, msgspec.Meta(ge=1, le=MOST_RUNS)]
_Seeds = Annotated[int, msgspec.Meta(ge=1, le=1000)]
_Positive = Annotated[int, msgspec.Meta(ge=1, le=1 << 50)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_Instant = Annotated[
    str, msgspec.Meta(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$(?!\n)", max_length=20)
]


_Before = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{64}|abandoned)$(?!\n)")]


class _Terms(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of the agreement's parts, which are read from TOML."""


class Validity(_Terms, frozen=True):
    """When runs may be started.

    Attributes
    ----------
    not_before, not_after
        Moments with an offset, both included.
    """

    not_before: _Time
    not_after: _Time


class Keys(_Terms, frozen=True):
    """Ed25519 public keys, 64 hex digits each.

    Attributes
    ----------
    client, evaluator
        Whose signatures count for which role; two different keys.
    """

    client: Digest
    evaluator: Digest


class AgentTerms(_Terms, frozen=True):
    """The agent, and nothing else that may be run.

    Attributes
    ----------
    command
        The program and its arguments, started in the folder of the agent's files.
    files
        SHA-256 of each file by its path below that folder. A copy that has these digests
        is what runs.
    name
        The ``policy`` of its records.
    runtime
        Folders of the machine that the agent may read: interpreter and libraries. No hash
        covers them.
    """

    command: Annotated[tuple[_Word, ...], msgspec.Meta(min_length=1, max_length=256)]
    files: Annotated[dict[str, Digest], msgspec.Meta(min_length=1, max_length=10_000)]
    name: Identifier
    runtime: Annotated[tuple[_Word, ...], msgspec.Meta(max_length=32)]


class SuiteTerms(_Terms, frozen=True):
    """The hidden suite, by its commitment.

    Attributes
    ----------
    root
        Root of the tree over its salted scenarios.
    scenarios
        How many there are.
    seeds
        How often each is run, each time with another seed.
    """

    root: Digest
    scenarios: _Positive
    seeds: _Seeds


class Limit(_Terms, frozen=True):
    """A bound.

    Attributes
    ----------
    at_most
        The bound itself.
    enforce
        ``required``: without it there is no run. ``best_effort``: what could not be
        enforced is written into the result.
    """

    at_most: _Positive
    enforce: Enforcement


class Barrier(_Terms, frozen=True):
    """Something that the agent may not reach at all.

    Attributes
    ----------
    enforce
        As for a bound.
    """

    enforce: Enforcement


class Limits(_Terms, frozen=True):
    """What the agent is held to.

    Attributes
    ----------
    moves
        Proposals in one trial.
    seconds
        Duration of one trial.
    memory_bytes
        Memory of all processes of one trial.
    processes
        Processes and threads at once in one trial.
    file_bytes
        The largest file, and the temporary folder as a whole.
    network
        No connection to anything outside.
    isolation
        No file, process or variable of the machine but those that are agreed.
    """

    moves: Limit
    seconds: Limit
    memory_bytes: Limit
    processes: Limit
    file_bytes: Limit
    network: Barrier
    isolation: Barrier


class Receives(_Terms, frozen=True):
    """Who gets what. What nobody receives is not kept.

    Attributes
    ----------
    results
        Records, counts and signatures.
    stderr
        What the agent writes to stderr: a way out for data.
    traces
        Every step of every trial.
    """

    results: Annotated[tuple[Receiver, ...], msgspec.Meta(min_length=1, max_length=3)]
    stderr: Annotated[tuple[Receiver, ...], msgspec.Meta(max_length=3)]
    traces: Annotated[tuple[Receiver, ...], msgspec.Meta(max_length=3)]


class Agreement(_Terms, frozen=True):
    """What client and evaluator agree on before anything runs.

    Attributes
    ----------
    schema_version
        Form of the agreement.
    authorised_by
        Who authorises the evaluation, in words.
    nonce
        64 hex digits that no other agreement has.
    runs
        How many runs may be started.
    checks
        Names of the referee's checks that count: a trial passes when all of them hold.
    keep
        ``records``, or ``traces`` too. Without traces a result is attested, and can't be
        derived again.
    validity, keys, agent, suite, limits, receives
        The parts.
    """

    schema_version: Literal["wayproof.private-agreement/1"]
    authorised_by: _Line
    nonce: Digest
    runs: _Runs
    checks: Annotated[tuple[CheckName, ...], msgspec.Meta(min_length=1)]
    keep: Literal["records", "traces"]
    validity: Validity
    keys: Keys
    agent: AgentTerms
    suite: SuiteTerms
    limits: Limits
    receives: Receives


class Start(Record, frozen=True):
    """The client's word that a run may begin. Starts form a chain.

    Attributes
    ----------
    agreement_sha256
        SHA-256 of the agreement's bytes.
    client_nonce
        64 hex digits; the seeds of the run's trials follow from them.
    not_after
        The run begins by then, or not at all.
    previous_result
        SHA-256 of the result of the run before, or ``abandoned``; null for the first.
    previous_start
        SHA-256 of the start before; null for the first.
    run
        Number of the run, from 1.
    schema_version
        Form of the record.
    """

    agreement_sha256: Digest
    client_nonce: Digest
    not_after: _Instant
    previous_result: _Before | None
    previous_start: Digest | None
    run: _Runs
    schema_version: Literal["wayproof.private-start/1"]


class EnforcedClause(Record, frozen=True):
    """What became of one limit in a run.

    Attributes
    ----------
    agreed
        ``required`` or ``best_effort``.
    at_most
        The bound; null for what is closed altogether.
    clause
        Which limit.
    enforced
        Whether it was.
    means
        By what, or why not.
    """

    agreed: Enforcement
    at_most: Count | None
    clause: ClauseName
    enforced: bool
    means: str


class PrivateResult(Record, frozen=True):
    """What the evaluator signs: one run, all that is known of it, in hashes and counts.

    Attributes
    ----------
    agreement_sha256, start_sha256
        What it was run under.
    completed, verified, passed, trials
        How many trials were completed, were verified recoveries, passed the agreed
        checks, and were made.
    enforced
        What became of each limit.
    keep
        ``records``, or ``traces`` too.
    leaf_count
        Leaves of the result tree: one a trial.
    not_hashed
        What the agent could use and no hash covers.
    result_root
        Root over the trials.
    results_sha256, summary_sha256
        Digests of the two files.
    run
        Number of the run.
    schema_version
        Form of the record.
    suite_root
        Root over the scenarios, as agreed.
    wayproof
        Version that ran.
    """

    agreement_sha256: Digest
    completed: Count
    enforced: tuple[EnforcedClause, ...]
    keep: Literal["records", "traces"]
    leaf_count: Count
    not_hashed: tuple[str, ...]
    passed: Count
    result_root: Digest
    results_sha256: Digest
    run: _Runs
    schema_version: Literal["wayproof.private-result/1"]
    start_sha256: Digest
    suite_root: Digest
    summary_sha256: Digest
    trials: Count
    verified: Count
    wayproof: str


class Leaf(Record, frozen=True):
    """One trial's leaf in the result tree.

    Attributes
    ----------
    index
        Which leaf, from 0: the trial's line in ``results.jsonl``.
    record_sha256, trace_sha256
        SHA-256 of the trial's lines, without their line feeds.
    salt
        64 hex digits: without them nobody can try out what a leaf's hash stands for.
    scenario_leaf
        The scenario's leaf hash in the suite's tree.
    """

    index: Count
    record_sha256: Digest
    salt: Digest
    scenario_leaf: Digest
    trace_sha256: Digest


class ScenarioLeaf(Record, frozen=True):
    """What a leaf of the suite's tree stands for: a scenario, on its whole grid.

    Attributes
    ----------
    grid
        The grid with potentials, reference path and all its scenarios.
    scenario_id
        Which of them.
    """

    grid: GridRecord
    scenario_id: Identifier


class PrivateTrial(Record, frozen=True):
    """One disclosed trial, with all that shows where it belongs.

    Attributes
    ----------
    leaf
        The trial's leaf.
    record
        Its record.
    result_proof
        Hashes from the leaf up to the result root, the lowest first.
    scenario
        Its scenario, on its grid.
    scenario_index
        Which leaf of the suite's tree that is, from 0.
    scenario_proof
        Hashes from there up to the suite root.
    scenario_salt
        The salt of that leaf.
    schema_version
        Form of the record.
    trace
        Every step; null where only records were kept.
    """

    leaf: Leaf
    record: Result
    result_proof: Annotated[tuple[Digest, ...], msgspec.Meta(max_length=64)]
    scenario: ScenarioLeaf
    scenario_index: Count
    scenario_proof: Annotated[tuple[Digest, ...], msgspec.Meta(max_length=64)]
    scenario_salt: Digest
    schema_version: Literal["wayproof.private-trial/1"]
    trace: Trace | None
