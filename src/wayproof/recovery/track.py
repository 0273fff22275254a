"""What a track is: a contract on grids that runs, checks and drawings are made through.

A track says how a line of its suite becomes grids and scenarios, what an action does,
what a policy is shown, and what the referee makes of a trace. Nothing outside a track's
own module assumes that a policy sees the true map, that the map stays as it is, or that
an accepted move ends on the cell that it named.

Every trial, of any track, goes through the same phases: reset, prefix, injected
rejection, policy, verdict, replay. :mod:`wayproof.recovery.trial` runs them.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from wayproof.evidence.recovery_names import AgentOutcome, EvidenceClass, Kind, Phase
from wayproof.evidence.recovery_records import Action, Step, Trace
from wayproof.recovery.agents.policy import Observation

__all__ = [
    "Agent",
    "Case",
    "Episode",
    "FailedCheck",
    "Finding",
    "GridCases",
    "SuiteTally",
    "Track",
    "TrialResult",
    "WrittenTrace",
]


class Agent(NamedTuple):
    """What a result says of the agent itself, beside what its trace shows."""

    evidence_class: EvidenceClass
    outcome: AgentOutcome


class WrittenTrace(NamedTuple):
    """A trace, and its line in ``traces.jsonl`` without the line feed."""

    trace: Trace
    line: bytes


class Episode(Protocol):
    """The world of one trial, from the reset on. It keeps the steps that were made."""

    @property
    def finished(self) -> bool:
        """Whether a finish was accepted; no further action is taken then."""

    def act(self, phase: Phase, action: Action) -> Step:
        """Carry out or reject one action, and return the step as it is recorded."""

    def observation(self, proposals_left: int) -> Observation:
        """Return what a policy is shown before its next proposal."""

    def trace(self, policy: str, policy_seed: int) -> Trace:
        """Return the record of all steps so far."""


class FailedCheck(Protocol):
    """The first check that a trace fails, at which step, and what it should have been."""

    @property
    def check(self) -> str:
        """Name of the check."""

    @property
    def step(self) -> int | None:
        """Index of the step; None when it is no single one."""

    @property
    def expected(self) -> str:
        """What would have passed."""

    @property
    def found(self) -> str:
        """What stood there."""


class TrialResult(Protocol):
    """What every track's result line says, by these names."""

    @property
    def agent_outcome(self) -> AgentOutcome:
        """What became of the agent itself."""

    @property
    def completed(self) -> bool:
        """Whether the target was reached by all the rules."""

    @property
    def evidence_class(self) -> EvidenceClass:
        """Whose result it is."""

    @property
    def failure_kind(self) -> Kind:
        """Why the injected action was rejected."""

    @property
    def final_cost(self) -> int:
        """Cost after the last step."""

    @property
    def first_failed_check(self) -> str | None:
        """Name of the first check that failed."""

    @property
    def grid_id(self) -> str:
        """The independent unit that the trial belongs to."""

    @property
    def optimal_cost(self) -> int:
        """The exact cost, as the track defines it."""

    @property
    def policy(self) -> str:
        """Name of the policy."""

    @property
    def policy_seed(self) -> int:
        """Which of the policy's seeds."""

    @property
    def proposals(self) -> int:
        """How many proposals the policy made."""

    @property
    def scenario_id(self) -> str:
        """Which scenario."""

    @property
    def suite_id(self) -> str:
        """Which suite."""

    @property
    def verified_recovery(self) -> bool | None:
        """Whether every check holds; None where the track makes no such claim of a trial."""


class Finding(NamedTuple):
    """What a trial comes to: its record, that record's line, and the first failed check."""

    result: TrialResult
    line: bytes
    failure: FailedCheck | None


class Case(Protocol):
    """One scenario on its grid, checked, ready to be run any number of times."""

    @property
    def scenario_id(self) -> str:
        """Id of the scenario."""

    @property
    def stream_id(self) -> str:
        """What the policy's stream is keyed by; scenarios with one id share their draws."""

    @property
    def prefix(self) -> Sequence[Action]:
        """The reference moves before the injection."""

    @property
    def injected_action(self) -> Action:
        """The action that must be rejected after the prefix."""

    @property
    def failure_kind(self) -> Kind:
        """Why it must be rejected."""

    @property
    def budget(self) -> int:
        """How many proposals the policy may make after it."""

    def begin(self) -> Episode:
        """Return a fresh world, at the reset."""

    def find(self, suite_id: str, written: WrittenTrace, agent: Agent) -> Finding:
        """Let the referee check a trace, replay it, and derive its record."""

    def drawing(self, steps: Sequence[Step]) -> Iterator[str]:
        """Draw a trace as blocks of plain text, the reset first."""


class GridCases(Protocol):
    """One line of a suite, checked and certified: a grid and its scenarios."""

    @property
    def grid_id(self) -> str:
        """Id of the grid."""

    @property
    def fingerprint(self) -> bytes:
        """A digest that two grids share only when they are the same grid."""

    def cases(self) -> Sequence[Case]:
        """Return the scenarios, by rising id."""


class SuiteHead(Protocol):
    """What every track's suite header says."""

    @property
    def suite_id(self) -> str:
        """Id of the suite."""


class SuiteTally(Protocol):
    """Gathers a run's results; neither order nor grouping matters."""

    trials: int

    def add(self, result: TrialResult) -> None:
        """Count one result."""

    def merge(self, other: Any) -> None:
        """Count everything that another tally of this track has counted."""

    def summary(self, results_sha256: str) -> Any:
        """Return the summary's record."""


class Track(Protocol):
    """A contract. One row of :data:`wayproof.recovery.tracks.registry.TRACKS` makes it known."""

    @property
    def name(self) -> str:
        """Name of the track; suites of other tracks than v0 say it in their header."""

    @property
    def suite_schema(self) -> str:
        """The ``schema_version`` of its suites' headers."""

    @property
    def measured(self) -> frozenset[str]:
        """Checks that an honest trial may fail; any other failed check is a false trace."""

    @property
    def trace_type(self) -> type[Trace]:
        """Record of a line of ``traces.jsonl``."""

    @property
    def result_type(self) -> type[msgspec.Struct]:
        """Record of a line of ``results.jsonl``."""

    def read_header(self, line: bytes) -> SuiteHead:
        """Read the first line of a suite."""

    def read_grid(self, line: bytes) -> GridCases:
        """Read and check one grid's line: its form, its certificate, its scenarios."""

    def tally(self) -> SuiteTally:
        """Return an empty tally."""
