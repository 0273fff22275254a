"""Means of measures over a bundle's results, attempts averaged within their task."""

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import groupby
from pathlib import Path

from wayproof.bundles.reader import read_lines
from wayproof.canonical import Record, canonical_number
from wayproof.measures.rows import Row
from wayproof.measures.values import Asked, Attempts, asked_measures, passes

__all__ = ["MeasureMean", "measure_means", "sufficiency_figures"]


class MeasureMean(Record, frozen=True):
    """One measure's mean.

    Attributes
    ----------
    left_out
        Tasks that are in no mean, by reason.
    mean
        Over ``tasks``; null when there are none.
    missing_packets
        Results without packet; they score 0.
    """

    left_out: dict[str, int]
    mean: float | None
    missing_packets: int
    name: str
    tasks: int


def measure_means(
    results: Path, names: Sequence[str], *, all_topics: bool = False
) -> list[MeasureMean]:
    """Average measures over the results of a bundle.

    Parameters
    ----------
    results
        Its ``results.jsonl``: a task's attempts stand together.
    names
        Measures as ir_measures spells them, ``pass@k`` and ``pass^k``.
    all_topics
        Count tasks that expect nothing as 0 instead of leaving them out.

    Raises
    ------
    InputError
        For an unknown measure, and for results that don't hold the packet's order.
    """
    asked = [one for one in asked_measures(names, all_topics=all_topics) if one.kind == "mean"]
    values: list[list[float]] = [[] for _ in asked]
    task_count = missing = 0
    for _, group in groupby(read_lines(results, Row), key=lambda row: row.task_id):
        attempts = Attempts(list(group))
        task_count += 1
        missing += sum(row.lacks_packet for row in attempts.rows)
        for one, found in zip(asked, values, strict=True):
            value = one.value(attempts)
            if value is not None:
                found.append(value)
    return [
        _mean(one, found, task_count, missing) for one, found in zip(asked, values, strict=True)
    ]


def sufficiency_figures(results: Path) -> dict[str, int | float | None]:
    """Count what the summary of a first-form bundle (``wayproof.fitness/1``) lacks.

    Returns
    -------
    dict
        ``vacuous_count``; ``mean_sufficiency``, each task's share of sufficient among its
        results that could fail, rounded down to 6 decimals; and over how many tasks.

    Raises
    ------
    InputError
        For what is no results file.
    """
    vacuous_count = 0
    shares: list[Fraction] = []
    for _, group in groupby(read_lines(results, Row), key=lambda row: row.task_id):
        rows = list(group)
        passed, able = passes(rows)
        vacuous_count += len(rows) - able
        if able:
            shares.append(Fraction(passed, able))
    mean = sum(shares) * 10**6 / len(shares) if shares else None
    return {
        "mean_sufficiency": None if mean is None else canonical_number((mean // 1) / 10**6),
        "mean_sufficiency_denominator": len(shares),
        "vacuous_count": vacuous_count,
    }


def _mean(asked: Asked, values: Sequence[float], task_count: int, missing: int) -> MeasureMean:
    left_out = task_count - len(values)
    return MeasureMean(
        left_out={asked.without: left_out} if left_out else {},
        mean=math.fsum(values) / len(values) if values else None,
        missing_packets=missing if asked.ranked else 0,
        name=asked.name,
        tasks=len(values),
    )
