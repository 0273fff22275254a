"""The three reference controls. They validate the bench; they are no competitive agents."""

from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Final

from wayproof.errors import InputError
from wayproof.evidence.recovery_records import FINISH, Action
from wayproof.recovery.agents.policy import Factory, Observation, Policy, PolicySource
from wayproof.recovery.grid import NEIGHBOUR_OFFSETS
from wayproof.recovery.planner import cost_to_go, next_cell
from wayproof.stats.seeded import SplitMix64
from wayproof.text import quoted

__all__ = ["CONTROL_SOURCES", "BlindRepeat", "Planner", "RandomWalk", "controls_named"]


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


def _make(control: Factory, seed: int) -> Policy:
    return control(SplitMix64(seed))


def _source(name: str, control: Factory) -> PolicySource:
    return PolicySource(name, "reference_control", partial(_make, control), name)


CONTROL_SOURCES: Final[Mapping[str, PolicySource]] = MappingProxyType(
    {control.name: _source(control.name, control) for control in (BlindRepeat, Planner, RandomWalk)}
)
"""The reference controls by name. No outside agent may use one of these names."""


def controls_named(names: Sequence[str]) -> tuple[PolicySource, ...]:
    """Look controls up by name.

    Raises
    ------
    InputError
        For a name that is no control's.
    """
    for name in names:
        if name not in CONTROL_SOURCES:
            raise InputError(
                "unknown policy",
                setting="policies",
                expected=", ".join(CONTROL_SOURCES),
                found=quoted(name),
            )
    return tuple(CONTROL_SOURCES[name] for name in names)
