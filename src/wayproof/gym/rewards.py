"""Named rewards. None of them is the bench's verdict: that is the referee's alone."""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from wayproof.errors import InputError

__all__ = ["REWARDS", "Reward", "reward_named"]


class Reward(NamedTuple):
    """A reward, from what came of a proposal. Works on numbers and on arrays.

    Attributes
    ----------
    name, meaning
        What it is called, and what it pays.
    pays
        Called with (entry cost or 0, rejected, finished, exact, budget): the cost of an
        accepted move; whether the proposal was rejected, or an accepted finish, or one at
        the optimal total cost; the trial's budget.
    """

    name: str
    meaning: str
    pays: Callable[[Any, Any, Any, Any, Any], Any]


REWARDS: Final = {
    reward.name: reward
    for reward in (
        Reward(
            "finish_bonus",
            "minus the entry cost, minus 1 for a rejection, and for an accepted finish 10 times "
            "the budget, which is more than any way can cost",
            lambda cost, rejected, finished, _exact, budget: (
                10 * budget * finished - cost - rejected
            ),
        ),
        Reward(
            "completed",
            "1 for an accepted finish, else 0",
            lambda _cost, _rejected, finished, _exact, _budget: finished,
        ),
        Reward(
            "exact",
            "1 for an accepted finish at exactly the optimal total cost, else 0",
            lambda _cost, _rejected, _finished, exact, _budget: exact,
        ),
        Reward(
            "entry_cost",
            "minus the entry cost, and nothing for a rejection or a finish: degenerate, the best "
            "policy is to be rejected until the budget ends",
            lambda cost, _rejected, _finished, _exact, _budget: -cost,
        ),
    )
}
"""Rewards by name; ``finish_bonus`` is the default."""


def reward_named(name: str) -> Reward:
    """Look a reward up.

    Raises
    ------
    InputError
        For an unknown one.
    """
    if name not in REWARDS:
        raise InputError(
            "unknown reward", setting="reward", expected=", ".join(REWARDS), found=repr(name)
        )
    return REWARDS[name]
