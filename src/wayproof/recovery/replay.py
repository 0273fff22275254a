"""Replay: the recorded actions, carried out in a fresh world."""

from collections.abc import Iterator, Sequence

from wayproof.evidence.recovery_records import Step
from wayproof.recovery.track import Episode

__all__ = ["first_difference", "replay"]


def replay(fresh: Episode, steps: Sequence[Step]) -> Iterator[tuple[Step, Step]]:
    """Yield each recorded step beside the step that a fresh world makes of its action.

    The replay ends after an accepted finish; recorded steps beyond it are not made.
    """
    for recorded in steps:
        if fresh.finished:
            return
        yield recorded, fresh.act(recorded.phase, recorded.action)


def first_difference(fresh: Episode, steps: Sequence[Step]) -> int | None:
    """Index of the first recorded step that a fresh world doesn't make; None when all are."""
    made = 0
    for recorded, again in replay(fresh, steps):
        if recorded != again:
            return made
        made += 1
    return None if made == len(steps) else made
