"""A row of bundles: how queues and shares moved, and since when each open debt stands."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from wayproof.bundles.reader import Bundle
from wayproof.compare.columns import rounded
from wayproof.compare.queues import (
    LATENCY,
    SUFFICIENCY,
    debt_id,
    latency_debt,
    sufficiency_debt,
    why_not_paid,
)
from wayproof.compare.read import open_side
from wayproof.compare.request import CompareRequest
from wayproof.evidence.comparison_records import OpenDebt, Trend, TrendStep
from wayproof.measures.rows import Row
from wayproof.measures.values import Asked, Attempts, asked_measures, passes

__all__ = ["trend_of"]

_DEBT_OF = {SUFFICIENCY: sufficiency_debt, LATENCY: latency_debt}


class _Standing:
    """A debt that was not paid so far."""

    def __init__(self, row: Row, kind: str, since: int) -> None:
        self.row = row
        self.kind = kind
        self.since = since
        self.not_measured: list[int] = []


class _Key(NamedTuple):
    queue: str
    task_id: str
    attempt: int


class _Step:
    """What one bundle adds."""

    def __init__(self) -> None:
        self.new = {SUFFICIENCY: 0, LATENCY: 0}
        self.paid = {SUFFICIENCY: 0, LATENCY: 0}
        self.lost = {SUFFICIENCY: 0, LATENCY: 0}
        self.open = {SUFFICIENCY: 0, LATENCY: 0}


def trend_of(bundles: Sequence[Bundle], request: CompareRequest) -> Trend:
    """Follow every debt through the bundles, in the order given.

    A debt stands until a result passes its very check. A step that doesn't measure it pays
    nothing: the debt goes on standing, and the step is listed.
    """
    standing: dict[_Key, _Standing] = {}
    numbered: set[str] = set()
    steps = []
    names = () if request.measures is None else request.measures
    asked = [
        one for one in asked_measures(names, all_topics=request.all_topics) if one.kind == "mean"
    ]
    for number, bundle in enumerate(bundles, start=1):
        steps.append(_step(bundle, number, standing, numbered, asked))
    open_debts = [
        OpenDebt(
            attempt=key.attempt,
            debt_id=debt_id(key.queue, key.task_id, key.attempt, numbered=key.task_id in numbered),
            kind=debt.kind,
            not_measured=debt.not_measured,
            queue="latency" if key.queue == LATENCY else "sufficiency",
            since=debt.since,
            since_name=bundles[debt.since - 1].name,
            task_id=key.task_id,
        )
        for key, debt in sorted(
            standing.items(), key=lambda item: (item[0].queue == LATENCY, item[1].since, item[0])
        )
    ]
    return Trend(open_debts=open_debts, steps=steps)


def _step(
    bundle: Bundle,
    number: int,
    standing: dict[_Key, _Standing],
    numbered: set[str],
    asked: Sequence[Asked],
) -> TrendStep:
    counts = _Step()
    seen: set[_Key] = set()
    passed = able = measured = 0
    values: dict[str, list[float]] = {one.name: [] for one in asked}
    with open_side(bundle, None) as side:
        for task in side.tasks():
            if len(task.rows) > 1:
                numbered.add(task.task_id)
            task_passed, task_able = passes(task.rows)
            passed, able = passed + task_passed, able + task_able
            attempts = Attempts(task.rows)
            for one in asked:
                value = one.value(attempts)
                if value is not None:
                    values[one.name].append(value)
            for row in task.rows:
                measured += row.latency_status != "unmeasured"
                for queue in (SUFFICIENCY, LATENCY):
                    key = _Key(queue, row.task_id, row.attempt)
                    if key in standing:
                        seen.add(key)
                    _follow(key, row, number, standing, counts)
        for key, debt in standing.items():
            if key not in seen and debt.since < number:
                debt.not_measured.append(number)
                counts.lost[key.queue] += 1
        return TrendStep(
            latency_new=counts.new[LATENCY],
            latency_no_longer_measured=counts.lost[LATENCY],
            latency_open=counts.open[LATENCY],
            latency_paid=counts.paid[LATENCY],
            measured=measured,
            measures={name: rounded(_mean(found)) for name, found in values.items()},
            name=bundle.name,
            result_count=side.result_count,
            sufficiency_new=counts.new[SUFFICIENCY],
            sufficiency_no_longer_measured=counts.lost[SUFFICIENCY],
            sufficiency_open=counts.open[SUFFICIENCY],
            sufficiency_paid=counts.paid[SUFFICIENCY],
            sufficient_share=rounded(passed / able) if able else None,
            unmeasured=side.result_count - measured,
        )


def _mean(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


def _follow(
    key: _Key, row: Row, number: int, standing: dict[_Key, _Standing], counts: _Step
) -> None:
    kind = _DEBT_OF[key.queue](row)
    debt = standing.get(key)
    if kind is not None:
        counts.open[key.queue] += 1
        if debt is None:
            standing[key] = _Standing(row, kind, number)
            counts.new[key.queue] += 1
        else:
            debt.row, debt.kind = row, kind
    elif debt is not None:
        if why_not_paid(key.queue, debt.row, row) is None:
            del standing[key]
            counts.paid[key.queue] += 1
        else:
            debt.not_measured.append(number)
            counts.lost[key.queue] += 1
