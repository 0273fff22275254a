"""The world: one pure function, ``step(grid, state, action) -> outcome``.

Nothing else changes a state. An action is rejected for exactly one reason, found in
this order, and a rejection leaves position and cost as they were:

1. ``invalid_path``: the named cell isn't one of the four neighbours;
2. ``collision``: it is, but blocked or off the grid;
3. ``premature_end``: a request to finish anywhere but on the target.
"""

from typing import Final

import msgspec

from wayproof.errors import InputError
from wayproof.evidence.recovery_names import Kind
from wayproof.evidence.recovery_records import Action, Cell
from wayproof.recovery.grid import Grid

__all__ = ["Outcome", "State", "reset", "step"]

_COLLISION: Final = "collision"
_INVALID_PATH: Final = "invalid_path"
_PREMATURE_END: Final = "premature_end"


class State(msgspec.Struct, frozen=True, gc=False):
    """Where the agent stands, what it has spent, and whether the episode is over."""

    position: Cell
    spent: int
    finished: bool


class Outcome(msgspec.Struct, frozen=True, gc=False):
    """What came of one action: the state after it, and the reason when it was rejected."""

    state: State
    rejection: Kind | None = None

    @property
    def accepted(self) -> bool:
        """Whether the action was carried out."""
        return self.rejection is None


def reset(grid: Grid) -> State:
    """Return the state at the beginning: on the start, nothing spent."""
    return State(grid.start, 0, False)


def step(grid: Grid, state: State, action: Action) -> Outcome:
    """Carry out one action, or reject it.

    Raises
    ------
    InputError
        When the episode is over: it takes no further action.
    """
    if state.finished:
        raise InputError("the episode is over", mend="start a new one with reset(grid)")
    cell = action.move
    if cell is None:
        if state.position == grid.target:
            return Outcome(State(state.position, state.spent, True))
        return Outcome(state, _PREMATURE_END)
    row, column = state.position
    if abs(cell[0] - row) + abs(cell[1] - column) != 1:
        return Outcome(state, _INVALID_PATH)
    # A neighbour of a cell of the grid is inside its border, so the look-up is safe.
    cost = grid.costs[(cell[0] + 1) * grid.stride + cell[1] + 1]
    if cost == 0:
        return Outcome(state, _COLLISION)
    return Outcome(State(cell, state.spent + cost, False))
