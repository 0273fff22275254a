"""A comparison of two bundles as one page: queues, differences, and what changed for each task."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from wayproof._version import __version__
from wayproof.bundles.reader import Bundle
from wayproof.evidence.comparison_records import (
    Comparison,
    DebtChange,
    MeasureChange,
    RecoveryComparison,
)
from wayproof.report.chart import (
    NARROW_FOREST,
    WIDE_FOREST,
    ForestChart,
    forest_chart,
)
from wayproof.report.compare_recovery_page import compare_recovery_page
from wayproof.report.first_rows import FIRST_ROWS, FirstRows
from wayproof.report.frame import framed_page
from wayproof.report.run import bundle_names, run_facts
from wayproof.web.page import DataBlock, Page
from wayproof.web.template import render

__all__ = ["compare_page"]

_TIMES: Final = ("censored_p50", "censored_p95")
"""Measures in milliseconds: they stand in the table, not on the axis of shares."""
_TABS: Final = ("new", "paid", "carried", "changed_kind", "no_longer_measured")
_PANEL_BYTES: Final = 12 << 20
_MOST_LISTED: Final = 200_000


class _Change(NamedTuple):
    """One row of the list: a debt, and what became of it."""

    tab: str
    queue: str
    debt: DebtChange


def _changes(comparison: Comparison) -> list[_Change]:
    """Debts by what became of them; a carried debt of another kind has a tab of its own."""
    rows = []
    for queue in comparison.queues:
        for debt in queue.debts:
            is_other = debt.change == "carried" and debt.before != debt.after
            rows.append(_Change("changed_kind" if is_other else debt.change, queue.queue, debt))
    return rows


def _forest(measures: list[MeasureChange]) -> dict[str, ForestChart]:
    rows = [
        (each.name, each.difference, each.low, each.high)
        for each in measures
        if each.difference is not None and each.name not in _TIMES
    ]
    return {
        "wide": forest_chart(rows, WIDE_FOREST),
        "narrow": forest_chart(rows, NARROW_FOREST),
    }


def _columns(
    changes: list[_Change], pairs: dict[tuple[str, int], int], names: list[str]
) -> dict[str, Any]:
    listed = changes[:_MOST_LISTED]
    return {
        "tab": [_TABS.index(row.tab) for row in listed],
        "queue": [row.queue for row in listed],
        "task": [row.debt.task_id for row in listed],
        "attempt": [row.debt.attempt for row in listed],
        "before": [row.debt.before for row in listed],
        "after": [row.debt.after for row in listed],
        "family": [row.debt.family for row in listed],
        "route": [row.debt.route_type for row in listed],
        "reason": [row.debt.reason for row in listed],
        "pair": [pairs.get((row.debt.task_id, row.debt.attempt), -1) for row in listed],
        "tabs": _TABS,
        "bundles": names,
    }


def _pair_lines(comparison: Comparison) -> tuple[dict[tuple[str, int], int], list[bytes]]:
    """Both results of what changed, a line a pair, as far as the page holds them."""
    places: dict[tuple[str, int], int] = {}
    lines: list[bytes] = []
    used_bytes = 0
    for pair in comparison.result_pairs:
        line = msgspec.json.encode({"base": pair.base, "new": pair.new}) + b"\n"
        used_bytes += len(line)
        if used_bytes > _PANEL_BYTES and lines:
            break
        places[pair.task_id, pair.attempt] = len(lines)
        lines.append(line)
    return places, lines


def compare_page(
    comparison: Comparison | RecoveryComparison, bundles: Sequence[Bundle]
) -> Iterator[Page]:
    """Yield the one page of a comparison.

    ``bundles`` are those of the trend, in their order; the last two are compared.
    """
    names = bundle_names([bundle.folder for bundle in bundles])
    base, new = bundles[-2:]
    runs = [run_facts(base, names[-2]), run_facts(new, names[-1])]
    title = f"{' → '.join(names[-4:])} · compare"
    if isinstance(comparison, RecoveryComparison):
        yield from compare_recovery_page(comparison, (base, new), runs, title)
        return
    changes = _changes(comparison)
    pairs, lines = _pair_lines(comparison)
    counts = {tab: sum(row.tab == tab for row in changes) for tab in _TABS}
    kinds = {
        queue.queue: sum(row.queue == queue.queue and row.tab == "changed_kind" for row in changes)
        for queue in comparison.queues
    }
    first = [row for row in changes if row.tab != "carried"]
    body = render(
        "report/templates/compare.html.j2",
        comparison=comparison,
        runs=runs,
        names=names,
        first_count=FIRST_ROWS,
        changed_kinds=kinds,
        carried={queue.queue: queue.carried - kinds[queue.queue] for queue in comparison.queues},
        counts=counts,
        tabs=_TABS,
        times=_TIMES,
        forest=_forest(comparison.measures),
        first_rows=FirstRows(first[:FIRST_ROWS], max(0, len(first) - FIRST_ROWS)),
        left_out=max(0, len(changes) - _MOST_LISTED),
        version=__version__,
    )
    blocks = [
        DataBlock("debts", [msgspec.json.encode(_columns(changes, pairs, names))]),
        DataBlock("pairs", lines),
    ]
    yield framed_page("index.html", title, "compare", body, blocks)
