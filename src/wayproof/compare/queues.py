"""Flips on both axes, and what became of every debt."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from wayproof.evidence.comparison_records import (
    Axis,
    Change,
    DebtChange,
    DebtChangeKind,
    DebtQueue,
    Flip,
)
from wayproof.evidence.fitness_names import FAILURE_KINDS
from wayproof.measures.rows import Row

__all__ = ["LATENCY", "SUFFICIENCY", "Ledger", "debt_id", "latency_debt", "why_not_paid"]

SUFFICIENCY, LATENCY = "sufficiency", "latency"
_DEBT_STATUSES = ("fail", "timeout")
_CHECKED: dict[str, Callable[[Row], bool]] = {
    "missing_id": lambda row: bool(row.expected_artifacts),
    "weak_scent": lambda row: row.scent_status != "unscored",
    "forbidden_route": lambda row: row.forbidden_status != "unscored",
}
"""Whether a result made the check that names a failure kind; the other two always are."""


def latency_debt(row: Row | None) -> str | None:
    """Return the latency status that makes a debt; None without debt."""
    return row.latency_status if row is not None and row.latency_status in _DEBT_STATUSES else None


def sufficiency_debt(row: Row | None) -> str | None:
    """Return the failure kind; None without debt."""
    return None if row is None else row.sufficiency_failure_kind


def debt_id(queue: str, task_id: str, attempt: int, *, numbered: bool) -> str:
    """Name a debt as bundles do: ``#<attempt>`` where the task has several."""
    tail = task_id.rpartition("#")[2]
    if numbered or ("#" in task_id and tail.isdecimal() and tail.isascii() and tail[0] != "0"):
        return f"{queue}:{task_id}#{attempt}"
    return f"{queue}:{task_id}"


def why_not_paid(queue: str, before: Row, after: Row | None) -> str | None:
    """Say why a debt that is gone was not paid; None when it was.

    A debt is paid only when the new result passes that very check: every check that the old
    result failed was made again, and passed.
    """
    if after is None:
        return "the result is gone"
    if queue == LATENCY:
        return None if after.latency_status == "pass" else "no time was measured"
    if after.state == "vacuous":
        return "the new result could not fail"
    kinds = before.failed_checks or [before.sufficiency_failure_kind or ""]
    skipped = [kind for kind in kinds if kind in _CHECKED and not _CHECKED[kind](after)]
    return f"the check of {skipped[0]} was not made" if skipped else None


class _Counts:
    """One axis being counted."""

    def __init__(self) -> None:
        self.compared = self.unchanged = 0
        self.measured_base = self.measured_new = self.lost = 0
        self.flips: list[Flip] = []

    def count(self, was_measured: bool, is_measured: bool) -> None:
        """Count a result on either side, and what NEW no longer measures."""
        self.measured_base += was_measured
        self.measured_new += is_measured
        self.lost += was_measured and not is_measured

    def axis(self, name: str) -> Axis:
        """Return the counts as a record."""
        counts = dict.fromkeys(
            ("newly_failing", "mended", "changed_kind", "no_longer_measured", "newly_measured"), 0
        )
        for flip in self.flips:
            counts[flip.change] += 1
        return Axis(
            axis="latency" if name == LATENCY else "sufficiency",
            compared=self.compared,
            lost=self.lost,
            measured_base=self.measured_base,
            measured_new=self.measured_new,
            unchanged=self.unchanged,
            flips=self.flips,
            **counts,
        )


def _is_good(row: Row) -> bool:
    return row.latency_status == "pass" and row.state == "sufficient"


def _states(row: Row | None) -> tuple[str | None, str | None]:
    """Return how a result reads on either axis."""
    return (None, None) if row is None else (row.state, row.latency_status)


class _Pair(NamedTuple):
    before: Row | None
    after: Row | None
    attempt: int
    numbered: bool

    @property
    def any(self) -> Row:
        row = self.after if self.after is not None else self.before
        if row is None:
            msg = "a pair has at least one side"
            raise ValueError(msg)
        return row


class Ledger:
    """Adds up flips and debts, result by result."""

    def __init__(self) -> None:
        self._axes = {SUFFICIENCY: _Counts(), LATENCY: _Counts()}
        self._debts: dict[str, list[DebtChange]] = {SUFFICIENCY: [], LATENCY: []}

    def add(self, before: Row | None, after: Row | None, attempt: int, *, numbered: bool) -> bool:
        """Add one task and attempt; one side may be missing. Tell whether anything changed."""
        if before is after and before is not None and _is_good(before):
            for counts in self._axes.values():
                counts.compared += 1
                counts.unchanged += 1
                counts.measured_base += 1
                counts.measured_new += 1
            return False
        pair = _Pair(before, after, attempt, numbered)
        changed = False
        was_states, now_states = _states(before), _states(after)
        for axis, was, now in zip(self._axes, was_states, now_states, strict=True):
            self._axes[axis].count(was not in _UNKNOWN, now not in _UNKNOWN)
            if was is not None and now is not None:
                changed |= self._flip(axis, pair, was, now)
        for queue, debt_of in ((SUFFICIENCY, sufficiency_debt), (LATENCY, latency_debt)):
            was, now = debt_of(before), debt_of(after)
            if was is not None or now is not None:
                changed |= self._debt(queue, pair, was, now)
        return changed

    def _flip(self, axis: str, pair: _Pair, was: str, now: str) -> bool:
        counts = self._axes[axis]
        counts.compared += 1
        if was == now:
            counts.unchanged += 1
            return False
        row = pair.any
        counts.flips.append(
            Flip(
                after=now,
                attempt=pair.attempt,
                before=was,
                change=_change(was, now),
                family=row.family,
                route_type=row.route_type,
                task_id=row.task_id,
            )
        )
        return True

    def _debt(self, queue: str, pair: _Pair, was: str | None, now: str | None) -> bool:
        row = pair.any
        reason = None
        change: DebtChangeKind = "new" if was is None else "carried"
        if now is None and pair.before is not None:
            reason = why_not_paid(queue, pair.before, pair.after)
            change = "paid" if reason is None else "no_longer_measured"
        self._debts[queue].append(
            DebtChange(
                after=now,
                attempt=pair.attempt,
                before=was,
                change=change,
                debt_id=debt_id(queue, row.task_id, pair.attempt, numbered=pair.numbered),
                family=row.family,
                reason=reason,
                route_type=row.route_type,
                task_id=row.task_id,
            )
        )
        return change != "carried" or was != now

    def axes(self) -> list[Axis]:
        """Return both axes."""
        return [counts.axis(name) for name, counts in self._axes.items()]

    def queues(self) -> list[DebtQueue]:
        """Return both queues."""
        return [_queue(name, debts) for name, debts in self._debts.items()]


def _queue(name: str, debts: Sequence[DebtChange]) -> DebtQueue:
    counts = dict.fromkeys(("new", "carried", "paid", "no_longer_measured"), 0)
    for debt in debts:
        counts[debt.change] += 1
    return DebtQueue(
        after=counts["new"] + counts["carried"],
        before=sum(counts.values()) - counts["new"],
        debts=list(debts),
        queue="latency" if name == LATENCY else "sufficiency",
        **counts,
    )


_BAD = frozenset({*FAILURE_KINDS, *_DEBT_STATUSES})
_UNKNOWN = frozenset({"vacuous", "unmeasured", None})


def _change(was: str, now: str) -> Change:
    if now in _BAD:
        return "changed_kind" if was in _BAD else "newly_failing"
    if now in _UNKNOWN:
        return "no_longer_measured"
    return "mended" if was in _BAD else "newly_measured"
