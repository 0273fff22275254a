"""Replay: the recorded actions, carried out in a fresh world."""

from collections.abc import Sequence

from wayproof.evidence.recovery_records import Step
from wayproof.recovery.track import Episode

__all__ = ["first_difference"]


def first_difference(fresh: Episode, steps: Sequence[Step]) -> int | None:
    """Index of the first recorded step that a fresh world doesn't make; None when all are.

    The replay ends after an accepted finish; recorded steps beyond it are not made.
    """
    act = fresh.act
    for at, recorded in enumerate(steps):
        if fresh.finished or recorded != act(recorded.phase, recorded.action):
            return at
    return None
