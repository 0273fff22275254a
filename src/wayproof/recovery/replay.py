"""Replay: the recorded actions, carried out in a fresh world."""

from collections.abc import Iterable, Iterator

from wayproof.evidence.recovery_records import Step
from wayproof.recovery.grid import Grid
from wayproof.recovery.world import State, reset, step

__all__ = ["first_difference", "replay"]


def replay(grid: Grid, steps: Iterable[Step]) -> Iterator[tuple[Step, Step]]:
    """Yield each recorded step beside the step that a fresh world makes of its action.

    The replay ends after an accepted finish; recorded steps beyond it are not made.
    """
    state: State = reset(grid)
    for recorded in steps:
        if state.finished:
            return
        outcome = step(grid, state, recorded.action)
        state = outcome.state
        yield (
            recorded,
            Step(
                accepted=outcome.rejection is None,
                action=recorded.action,
                phase=recorded.phase,
                position=state.position,
                rejection=outcome.rejection,
                spent=state.spent,
            ),
        )


def first_difference(grid: Grid, steps: tuple[Step, ...]) -> int | None:
    """Index of the first recorded step that a fresh world doesn't make; None when all are."""
    made = 0
    for recorded, again in replay(grid, steps):
        if recorded != again:
            return made
        made += 1
    return None if made == len(steps) else made
