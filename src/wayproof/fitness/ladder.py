"""The sufficiency ladder: from facts to the rungs that fail.

The rungs themselves, with their meanings, stand in
:mod:`wayproof.evidence.fitness_names`; their order is the ladder.
"""

from typing import NamedTuple

from wayproof.evidence.fitness_names import RUNGS

__all__ = ["Facts", "fact_mask", "failed_checks"]


class Facts(NamedTuple):
    """What the ladder looks at, each True when it went wrong."""

    timed_out: bool
    error: bool
    missing: bool
    weak: bool
    forbidden: bool


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
