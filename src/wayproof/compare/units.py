"""What is resampled: which tasks belong together."""

import json
from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from wayproof.evidence.comparison_records import Unit
from wayproof.measures.rows import Row
from wayproof.stats.paired import LEAST_CLUSTERS, effective_number
from wayproof.text import clip

__all__ = ["Clusters", "Grouping", "unit_record"]

TASK = "task"
_FEW_EFFECTIVE = 10


class Clusters(NamedTuple):
    """The cluster of each compared task, by its place among them."""

    name: str
    why: str
    codes: Sequence[int]
    cluster_count: int
    labels: Sequence[str]


class Grouping:
    """Collects the clusters while tasks are paired, and chooses at the end."""

    def __init__(self, asked: str | None) -> None:
        self._asked = asked
        self._field = asked if asked not in {None, TASK} else "family"
        self._codes = array("q")
        self._known: dict[str, int] = {}
        self._all_given = True

    def add(self, row: Row) -> None:
        """Take the next compared task."""
        value: Any = getattr(row, str(self._field))
        label = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        self._codes.append(self._known.setdefault(label, len(self._known)))
        self._all_given = self._all_given and self._field not in row.defaulted_fields

    def clusters(self) -> Clusters:
        """Choose: what was asked for; else families that were given for all; else tasks."""
        labels = list(self._known)
        if self._asked not in {None, TASK}:
            return Clusters(str(self._asked), "asked for", self._codes, len(labels), labels)
        if self._asked is None and self._all_given and len(labels) >= LEAST_CLUSTERS:
            why = "every task gives its family, and there are at least 6 of them"
            return Clusters("family", why, self._codes, len(labels), labels)
        count = len(self._codes)
        why = "asked for"
        if self._asked is None:
            why = (
                f"fewer than {LEAST_CLUSTERS} families"
                if self._all_given
                else "not every task gives a family"
            )
        return Clusters(TASK, why, range(count), count, ())


def unit_record(clusters: Clusters) -> Unit:
    """Say what the unit is, what it is worth, and what to keep in mind."""
    sizes = Counter(clusters.codes) if clusters.labels else None
    total = len(clusters.codes)
    worth = float(clusters.cluster_count)
    largest, largest_share = "", 0.0
    if sizes:
        worth = effective_number(list(sizes.values()))
        code, size = max(sizes.items(), key=lambda item: (item[1], -item[0]))
        largest, largest_share = clip(clusters.labels[code], 200), size / total
    elif total:
        largest_share = 1 / total
    warnings = []
    if clusters.cluster_count < LEAST_CLUSTERS:
        warnings.append(
            f"{clusters.cluster_count} clusters: figures, no verdict; with fewer than "
            f"{LEAST_CLUSTERS} no difference can be told from chance"
        )
    elif worth < _FEW_EFFECTIVE:
        warnings.append(
            f"the clusters are worth {worth:.1f} of one size: intervals and tests are rough; the "
            f"largest ({largest or 'one task'}) holds {largest_share:.0%} of the tasks"
        )
    return Unit(
        cluster=clusters.name,
        clusters=clusters.cluster_count,
        effective=round(worth, 6),
        largest=largest,
        largest_share=round(largest_share, 6),
        warnings=warnings,
        why=clusters.why,
    )
