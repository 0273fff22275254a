"""What a policy is, what it may see, and the three reference controls.

A policy is made fresh for each trial by a factory that gets a seeded stream of its own.
It is asked for one action at a time and sees the grid, its costs, where it stands, the
target, what it has spent, what was rejected and why, and how many proposals are left.
It never sees the optimum, the potentials or the reference path.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

import msgspec

from wayproof.evidence.recovery_names import AgentOutcome, EvidenceClass, Kind
from wayproof.evidence.recovery_records import FINISH, Action, Cell
from wayproof.recovery.grid import NEIGHBOUR_OFFSETS, Grid
from wayproof.recovery.planner import cost_to_go, next_cell
from wayproof.stats.seeded import SplitMix64, stream, stream_seed

__all__ = [
    "CONTROL_SOURCES",
    "BlindRepeat",
    "Observation",
    "Planner",
    "Policy",
    "PolicyFailedError",
    "PolicySource",
    "RandomWalk",
    "policy_stream",
    "policy_stream_seed",
]

_STREAM: Final = "wayproof.recovery.policy/1"


class Observation(msgspec.Struct, frozen=True, gc=False):
    """All that a policy sees when it is asked for an action.

    Attributes
    ----------
    grid
        Rows, costs, start and target.
    position
        Where it stands.
    spent
        Cost so far, the prefix included.
    rejected_action, rejection
        The latest action that was rejected, and why: the injected one at first.
    proposals_left
        How many proposals it may still make, this one included.
    """

    grid: Grid
    position: Cell
    spent: int
    rejected_action: Action
    rejection: Kind
    proposals_left: int

    @property
    def target(self) -> Cell:
        """The cell to finish on."""
        return self.grid.target


class Policy(Protocol):
    """Proposes one action at a time."""

    @property
    def name(self) -> str:
        """The name in results."""

    def propose(self, observation: Observation) -> Action:
        """Return the next action."""


class PolicyFailedError(Exception):
    """An outside agent itself went wrong: its trial ends there, the run goes on.

    Parameters
    ----------
    outcome
        How; one of the agent outcomes other than ``ok``.
    """

    def __init__(self, outcome: AgentOutcome) -> None:
        super().__init__(outcome)
        self.outcome = outcome


class PolicySource(NamedTuple):
    """A policy's name, its class of evidence, and the factory for one trial.

    ``make`` gets the trial's own stream; a policy that needs no randomness ignores it.
    """

    name: str
    evidence_class: EvidenceClass
    make: Callable[[SplitMix64], Policy]


def policy_stream_seed(suite_id: str, scenario_id: str, policy: str, policy_seed: int) -> int:
    """64-bit seed of one trial's stream; keyed by ids, so order can't matter."""
    return stream_seed(_STREAM, suite_id, scenario_id, policy, policy_seed)


def policy_stream(suite_id: str, scenario_id: str, policy: str, policy_seed: int) -> SplitMix64:
    """Return one trial's stream, at its beginning."""
    return stream(_STREAM, suite_id, scenario_id, policy, policy_seed)


class Planner:
    """Follows a shortest path from where it stands, recomputed after the rejection."""

    name: Final = "planner"

    def __init__(self, stream: SplitMix64) -> None:
        del stream  # it decides nothing by chance
        self._field: list[int] | None = None

    def propose(self, observation: Observation) -> Action:
        """Return the first optimal move in [row, column] order, or finish."""
        if observation.position == observation.grid.target:
            return FINISH
        if self._field is None:
            # Costs to go depend on the target alone: one field serves every position.
            self._field = cost_to_go(observation.grid)
        return Action(move=next_cell(observation.grid, self._field, observation.position))


class RandomWalk:
    """Proposes a cardinal move uniformly; finishes when it stands on the target."""

    name: Final = "random-walk"

    def __init__(self, stream: SplitMix64) -> None:
        self._below = stream.below

    def propose(self, observation: Observation) -> Action:
        """Draw up, left, right or down: 0 … 3. Moves off the grid are proposed too."""
        row, column = observation.position
        if observation.position == observation.grid.target:
            return FINISH
        row_step, column_step = NEIGHBOUR_OFFSETS[self._below(4)]
        return Action(move=(row + row_step, column + column_step))


class BlindRepeat:
    """Repeats the rejected action, whatever comes of it."""

    name: Final = "blind-repeat"

    def __init__(self, stream: SplitMix64) -> None:
        del stream

    def propose(self, observation: Observation) -> Action:
        """Return the rejected action."""
        return observation.rejected_action


CONTROL_SOURCES: Final[Mapping[str, PolicySource]] = MappingProxyType(
    {
        control.name: PolicySource(control.name, "reference_control", control)
        for control in (BlindRepeat, Planner, RandomWalk)
    }
)
"""The reference controls by name. No outside agent may use one of these names."""
