"""One encoding of observations and actions, shared by training and evaluation.

Cells are numbered row by row on a bordered square of ``side_max`` + 2, so that what was
trained on one suite runs on another. The last action is the request to finish.
"""

from typing import Any, Final

import numpy as np
from gymnasium import spaces

from wayproof.errors import InputError
from wayproof.evidence.recovery_names import FAILURE_KINDS
from wayproof.evidence.recovery_records import FINISH, MAX_COST, MAX_TRIAL_STEPS, Action, Cell
from wayproof.recovery.agents.policy import Observation
from wayproof.recovery.grid import Grid

__all__ = ["KINDS", "MASKS", "Encoded", "Encoder"]

KINDS: Final = tuple(kind.name for kind in FAILURE_KINDS)
"""Failure kinds; an observation bears the place in this tuple."""
MASKS: Final = {
    "none": "every action; rejections are what the bench is about",
    "neighbours": "the four neighbouring cells, free or not, and finish",
    "accepted": "what would be accepted: free neighbours, and finish on the target",
}
"""Kinds of action masks, and which actions they leave."""

Encoded = dict[str, Any]
_KIND_NUMBERS: Final = {kind: number for number, kind in enumerate(KINDS)}
_MAX_SPENT: Final = MAX_COST * MAX_TRIAL_STEPS


class Encoder:
    """Turns observations into arrays, and numbers into actions.

    Parameters
    ----------
    side_max
        Longest side of a grid; a longer one is refused.

    Attributes
    ----------
    stride
        Cells a row of the bordered square.
    finish
        Number of the request to finish, and of cells.
    """

    def __init__(self, side_max: int) -> None:
        if not 2 <= side_max <= 1024:
            raise InputError(
                "side out of range", setting="side_max", expected="2 … 1024", found=str(side_max)
            )
        self.side_max = side_max
        self.stride = side_max + 2
        self.finish = self.stride * self.stride
        self._grid: Grid | None = None
        self._costs = np.zeros((self.stride, self.stride), np.uint8)
        self._every = np.ones(self.finish + 1, np.bool_)

    def action_space(self) -> spaces.Discrete:
        """Return the space of actions."""
        return spaces.Discrete(self.finish + 1)

    def observation_space(self) -> spaces.Dict:
        """Return the space of observations."""
        return spaces.Dict(
            {
                "costs": spaces.Box(0, MAX_COST, (self.stride, self.stride), np.uint8),
                "position": spaces.Discrete(self.finish),
                "proposals_left": spaces.Box(0, MAX_TRIAL_STEPS, (1,), np.int64),
                "rejected_action": spaces.Discrete(self.finish + 1),
                "rejection": spaces.Discrete(len(KINDS)),
                "spent": spaces.Box(0, _MAX_SPENT, (1,), np.int64),
                "target": spaces.Discrete(self.finish),
            }
        )

    def costs(self, grid: Grid) -> Any:
        """Return the cost of entering each cell; 0 is blocked or outside the grid.

        Raises
        ------
        InputError
            When a side is longer than ``side_max``.
        """
        if grid is not self._grid:
            if max(grid.height, grid.width) > self.side_max:
                raise InputError(
                    "the grid is larger than what the spaces were made for",
                    setting="side_max",
                    expected=f"at most {self.side_max} rows and columns",
                    found=f"{grid.height} rows of {grid.width}",
                )
            bordered = np.frombuffer(grid.costs, np.uint8).reshape(grid.height + 2, grid.stride)
            self._costs = np.zeros((self.stride, self.stride), np.uint8)
            self._costs[: grid.height + 2, : grid.stride] = bordered
            self._grid = grid
        return self._costs

    def number_of(self, cell: Cell) -> int:
        """Return the number of a cell."""
        return (cell[0] + 1) * self.stride + cell[1] + 1

    def encoded(self, seen: Observation) -> Encoded:
        """Return an observation as arrays and numbers of its own."""
        move = seen.rejected_action.move
        return {
            "costs": self.costs(seen.grid).copy(),
            "position": self.number_of(seen.position),
            "proposals_left": np.array((seen.proposals_left,), np.int64),
            "rejected_action": self.finish if move is None else self._clipped(move),
            "rejection": _KIND_NUMBERS[seen.rejection],
            "spent": np.array((seen.spent,), np.int64),
            "target": self.number_of(seen.grid.target),
        }

    def _clipped(self, cell: Cell) -> int:
        """Return a cell's number, the nearest one when it lies outside the square."""
        last = self.stride - 2
        return self.number_of((min(max(cell[0], -1), last), min(max(cell[1], -1), last)))

    def action(self, number: int) -> Action:
        """Return the action that a number stands for."""
        if number == self.finish:
            return FINISH
        row, column = divmod(int(number), self.stride)
        return Action(move=(row - 1, column - 1))

    def mask(self, kind: str, seen: Observation) -> Any:
        """Return which actions a mask leaves, as a boolean array.

        Raises
        ------
        InputError
            For an unknown kind of mask.
        """
        if kind == "none":
            return self._every.copy()
        here = self.number_of(seen.position)
        near = np.array((here - self.stride, here - 1, here + 1, here + self.stride))
        mask = np.zeros(self.finish + 1, np.bool_)
        if kind == "neighbours":
            mask[near] = True
            mask[self.finish] = True
        elif kind == "accepted":
            mask[near] = self.costs(seen.grid).reshape(-1)[near] > 0
            mask[self.finish] = seen.position == seen.grid.target
        else:
            raise InputError(
                "unknown mask", setting="mask", expected=", ".join(MASKS), found=repr(kind)
            )
        return mask
