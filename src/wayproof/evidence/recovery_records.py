"""What is written to a bundle's hashed files, as typed records.

Fields stand in the order of their names, so that the plain encoding of a record is its
RFC 8785 form. Cells are ``[row, column]`` from 0. Every number is an integer within
±(2^53-1): a reader in any language keeps it exactly.
"""

import re
from typing import Annotated, Final

import msgspec

from wayproof.canonical import MAX_SAFE_INTEGER, Record
from wayproof.evidence.recovery_names import (
    AgentKind,
    AgentOutcome,
    CheckName,
    EvidenceClass,
    Kind,
    Phase,
)

__all__ = [
    "FINISH",
    "IDENTIFIER_PATTERN",
    "MAX_COST",
    "MAX_TRIAL_STEPS",
    "SUITE_ID_PATTERN",
    "SUITE_SCHEMA_VERSION",
    "Action",
    "AgentRecord",
    "Cell",
    "Checks",
    "Count",
    "Digest",
    "GeneratorRecord",
    "GridRecord",
    "HexSeed",
    "Identifier",
    "Integer",
    "Result",
    "ScenarioRecord",
    "Step",
    "SuiteHeader",
    "Trace",
    "trial_id",
]

SUITE_SCHEMA_VERSION: Final = "wayproof.recovery-suite/1"
MAX_COST: Final = 9
"""Highest cost of entering a cell; the lowest is 1."""
MAX_TRIAL_STEPS: Final = 1 << 18
"""Most steps a trial may have: every run ends, and its trace fits in a line of 64 MiB."""

Integer = Annotated[int, msgspec.Meta(ge=-MAX_SAFE_INTEGER, le=MAX_SAFE_INTEGER)]
Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_SAFE_INTEGER)]
Budget = Annotated[int, msgspec.Meta(ge=1, le=MAX_TRIAL_STEPS)]
Cell = tuple[Integer, Integer]
# ASCII, so that every language sorts ids alike; "(?!\n)" because Python's "$" would
# let a final line feed through.
SUITE_ID_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""A suite's own id is shorter than other ids, which are made from it."""
IDENTIFIER_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
Identifier = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$(?!\n)")]
_Word = Annotated[str, msgspec.Meta(max_length=4096)]
HexSeed = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32,128}$(?!\n)")]
"""A seed of 128 bits or more: a suite that must stay hidden can't be found by trying seeds."""
Digest = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$(?!\n)")]


class Action(Record, frozen=True, omit_defaults=True, gc=False):
    """What a policy proposes: ``{"move": [row, column]}`` or ``{"finish": true}``.

    A move names the *cell*, not a direction, so that a move to a cell that isn't
    adjacent can be said.

    Attributes
    ----------
    finish
        True to ask for the end of the episode; left out of a move.
    move
        The cell to move to, [row, column]; left out of a finish.
    """

    finish: bool = False
    move: Cell | None = None

    def __post_init__(self) -> None:
        if self.finish is (self.move is not None):
            msg = 'an action is {"move": [row, column]} or {"finish": true}'
            raise ValueError(msg)

    @staticmethod
    def to(row: int, column: int) -> "Action":
        """Return the move to one cell."""
        return Action(move=(row, column))


FINISH: Final = Action(finish=True)
"""The request to end the episode."""


class ScenarioRecord(Record, frozen=True):
    """One way to fail on a grid.

    Attributes
    ----------
    budget
        How many proposals the policy may make after the rejection; at least 1.
    failure_kind
        Why the injected action is rejected.
    injected_action
        The action that is proposed after the prefix and must be rejected.
    prefix_length
        How many moves of the reference path are made before it.
    scenario_id
        Its name, once a suite.
    """

    budget: Budget
    failure_kind: Kind
    injected_action: Action
    prefix_length: Count
    scenario_id: Identifier


class GridRecord(Record, frozen=True):
    """One grid with its certificate and its scenarios: a line of ``suite.jsonl``.

    Attributes
    ----------
    grid_id
        Its name, once a suite.
    potentials
        Per cell the optimal cost from there to the target; null for a blocked cell and
        for one from which the target can't be reached.
    reference_path
        The cells of one optimal path, start and target included.
    rows
        One string a row: ``#`` is blocked, ``1`` … ``9`` the cost of entering.
    scenarios
        Three: one for each failure kind.
    start, target
        Two free cells, [row, column] from 0.
    """

    grid_id: Identifier
    potentials: tuple[tuple[Count | None, ...], ...]
    reference_path: tuple[Cell, ...]
    rows: tuple[str, ...]
    scenarios: tuple[ScenarioRecord, ...]
    start: Cell
    target: Cell


class GeneratorRecord(Record, frozen=True):
    """How the suite was made; enough to make the same bytes again.

    Attributes
    ----------
    name
        The generator's name.
    parameters
        What it was told, by name.
    seed
        The suite's seed: an integer, or hex digits where it must not be guessable.
    """

    name: str
    parameters: dict[str, Integer]
    seed: Integer | HexSeed


class SuiteHeader(Record, frozen=True):
    """The first line of ``suite.jsonl``.

    Attributes
    ----------
    generator
        How the suite was made.
    schema_version
        Form of the suite file.
    suite_id
        The suite's name; an official one stands for exact bytes.
    """

    generator: GeneratorRecord
    schema_version: str
    suite_id: Identifier


class Step(Record, frozen=True, gc=False):
    """One action and the state after it.

    Attributes
    ----------
    accepted
        Whether the action was carried out.
    action
        What was proposed.
    phase
        ``prefix`` (reference moves), ``injected`` (the rejected action), ``policy``.
    position
        Where the agent stands after the step.
    rejection
        Why it was rejected; null when accepted.
    spent
        Cost so far, after the step; the start's own cost isn't paid.
    """

    accepted: bool
    action: Action
    phase: Phase
    position: Cell
    rejection: Kind | None
    spent: Count


class AgentRecord(Record, frozen=True):
    """What the manifest's settings say of one client agent.

    Attributes
    ----------
    details
        What its runner says of it, by key: a factory's name, a command, a model.
    kind
        How it was brought to the bench.
    policy
        Its name in the records.
    """

    details: dict[str, _Word]
    kind: AgentKind
    policy: Identifier


class Trace(Record, frozen=True):
    """Every step of one trial: a line of ``traces.jsonl``.

    Attributes
    ----------
    policy, policy_seed, scenario_id
        Whose trial it is.
    steps
        Prefix, injected action, and the policy's proposals, in order.
    """

    policy: Identifier
    policy_seed: Integer
    scenario_id: Identifier
    steps: tuple[Step, ...]


class Checks(Record, frozen=True):
    """The verifier's checks: true, false, or null after the first failure.

    Attributes
    ----------
    prefix_valid
        Every move of the prefix was accepted.
    injection_rejected
        The injected action was rejected with the scenario's kind.
    state_unchanged
        No rejection moved the agent or cost anything.
    transitions_valid
        Every step follows from the rules.
    within_budget
        No more proposals than allowed.
    finished_at_target
        The episode ended on the target.
    optimum_certified
        The grid's potentials certify the optimal cost.
    cost_exact
        The final cost is the optimal one.
    replay_identical
        A fresh world gives the same steps.
    """

    cost_exact: bool | None
    finished_at_target: bool | None
    injection_rejected: bool | None
    optimum_certified: bool | None
    prefix_valid: bool | None
    replay_identical: bool | None
    state_unchanged: bool | None
    transitions_valid: bool | None
    within_budget: bool | None


class Result(Record, frozen=True):
    """What one trial came to: a line of ``results.jsonl``.

    Attributes
    ----------
    accepted_moves
        The policy's accepted moves; prefix and finish are not among them.
    agent_outcome
        ``ok``, or what went wrong with an outside agent itself.
    budget, prefix_length, injected_action
        The scenario's own.
    checks
        What the referee found.
    completed
        Finished on the target, with every earlier check true.
    evidence_class
        ``reference_control`` or ``client_agent``.
    excess_cost
        ``final_cost`` - ``optimal_cost``; null unless completed.
    failure_kind
        The scenario's: why its injected action must be rejected.
    final_cost, final_position
        What was spent, prefix included, and where the agent stood, after the last step.
    first_accepted_proposal
        Index from 0 of the policy's first accepted proposal; null when none was.
    first_failed_check
        The first check that is false; null when none is.
    optimal_cost
        The certified cost of an optimal path from start to target.
    policy, policy_seed, grid_id, scenario_id, suite_id
        Whose trial it is, and of what.
    proposals, rejected_proposals
        How many actions the policy proposed, and how many of them were rejected.
    rejection
        Why the injected action was rejected; null when it was not.
    repeated_rejected_action
        How many of the policy's proposals were the injected action again.
    trace_sha256
        SHA-256 of the trial's line in ``traces.jsonl``, without its line feed.
    verified_recovery
        Every check true: the target reached at exactly the original optimal cost.
    """

    accepted_moves: Count
    agent_outcome: AgentOutcome
    budget: Count
    checks: Checks
    completed: bool
    evidence_class: EvidenceClass
    excess_cost: Integer | None
    failure_kind: Kind
    final_cost: Count
    final_position: Cell
    first_accepted_proposal: Count | None
    first_failed_check: CheckName | None
    grid_id: Identifier
    injected_action: Action
    optimal_cost: Count
    policy: Identifier
    policy_seed: Integer
    prefix_length: Count
    proposals: Count
    rejected_proposals: Count
    rejection: Kind | None
    repeated_rejected_action: Count
    scenario_id: Identifier
    suite_id: Identifier
    trace_sha256: Digest
    verified_recovery: bool


def trial_id(policy: str, scenario_id: str, policy_seed: int) -> str:
    """Name of one trial, as errors spell it and a replay takes it."""
    return f"{policy}/{scenario_id}/{policy_seed}"
