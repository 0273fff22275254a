"""The sufficiency ladder: five rungs, and the first one that fails names the failure.

Each rung says in one place what it is called, which fact makes it fail, what it means,
why it stands where it stands, and how one usually mends it. The order of :data:`RUNGS`
*is* the ladder.
"""

from typing import NamedTuple

__all__ = ["FAILURE_KINDS", "RUNGS", "Facts", "Rung", "fact_mask", "failed_checks", "rung_of"]


class Facts(NamedTuple):
    """What the ladder looks at, each True when it went wrong."""

    timed_out: bool
    error: bool
    missing: bool
    weak: bool
    forbidden: bool


class Rung(NamedTuple):
    """One check of the ladder."""

    failure_kind: str
    fact: str
    """Name of the field of :class:`Facts` that makes this rung fail."""
    meaning: str
    why_here: str
    mend: str


RUNGS: tuple[Rung, ...] = (
    Rung(
        "route_timeout",
        "timed_out",
        "The route was cut off before it returned (`timed_out` is true).",
        "A packet that was cut off may hold anything or nothing: what it lacks says nothing "
        "about the surface's aim, so no later rung may name the failure.",
        "Find out what the route waited for: an index built on demand, an unbounded search, a "
        "network call. Raise the time limit only if a slow answer is still useful to an agent.",
    ),
    Rung(
        "route_error",
        "error",
        "The route reported an error (`error` is a non-empty text or object), or no packet was "
        "captured for the task.",
        "A broken route has no aim to judge. It stands after the timeout because a route that is "
        "cut off often reports an error too, and the cause is the time.",
        "Read the error. `no packet captured` means that the capture lost the session or that "
        "the ids of tasks and packets don't match.",
    ),
    Rung(
        "missing_id",
        "missing",
        "At least one expected stable id was not selected.",
        "From here on the route worked and its aim is judged. Pointing at the wrong rows is the "
        "costly defect, so it comes before how well the rows are described.",
        "Look at what was selected instead (extra ids): a near neighbour asks for better ranking "
        "or aliases; nothing near asks for the id to be indexed at all.",
    ),
    Rung(
        "weak_scent",
        "weak",
        "Every expected id was selected, but the packet's text lacks at least one scent term.",
        "The right rows are there, but an agent that reads the packet would not see that they "
        "are right (Pirolli & Card 1999: a forager follows the scent, not the food).",
        "Put the missing terms where the agent reads: title, summary or reason of the row, or the "
        "route hint. If the term is not natural there, the task's term may be wrong.",
    ),
    Rung(
        "forbidden_route",
        "forbidden",
        "The first command contains a text that the task forbids as a first route.",
        "Last, because it can only be the only thing that is wrong once everything else is "
        "right: a correct id does not rescue a banned first move.",
        "Make the allowed route the one an agent finds first: in its instructions, in the name of "
        "the command, in the help text. Or lift the ban, if the route has become acceptable.",
    ),
)

FAILURE_KINDS: tuple[str, ...] = tuple(rung.failure_kind for rung in RUNGS)


def fact_mask(facts: Facts) -> int:
    """Pack the facts into one small integer: bit *i* is field *i* of :class:`Facts`."""
    return sum(bool(fact) << bit for bit, fact in enumerate(facts))


def _failed(mask: int) -> tuple[str, ...]:
    bits = {name: mask >> bit & 1 for bit, name in enumerate(Facts._fields)}
    return tuple(rung.failure_kind for rung in RUNGS if bits[rung.fact])


# All 32 combinations, worked out once: judging a packet is then one look-up.
_FAILED_BY_MASK: tuple[tuple[str, ...], ...] = tuple(_failed(mask) for mask in range(32))


def failed_checks(mask: int) -> tuple[str, ...]:
    """Return every failure kind that fires for the facts in ``mask``, in ladder order.

    Empty means sufficient; otherwise the first one is the ``sufficiency_failure_kind``.
    """
    return _FAILED_BY_MASK[mask]


def rung_of(failure_kind: str) -> Rung:
    """Return the rung that a failure kind names; KeyError for an unknown one."""
    return {rung.failure_kind: rung for rung in RUNGS}[failure_kind]
