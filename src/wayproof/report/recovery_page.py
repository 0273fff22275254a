"""A recovery bundle as one page: counts, and every trial that fits, step by step."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from wayproof._version import __version__
from wayproof.bundles.reader import Bundle, LineFile, identities
from wayproof.report.chart import NARROW_SHARES, WIDE_SHARES, Interval, ShareChart, share_chart
from wayproof.report.frame import framed_page
from wayproof.report.recovery_numbers import (
    CHECKS,
    FAILURE_KINDS,
    RecoveryNumbers,
    TrialColumns,
    first_unverified,
    recovery_numbers,
    trial_columns,
)
from wayproof.report.run import ReportPlace, run_facts
from wayproof.report.trial_steps import TrialSteps, grid_order, grids_json
from wayproof.web.page import DataBlock, Page
from wayproof.web.template import render

__all__ = ["RecoveryLimits", "pages_of", "recovery_pages"]


class RecoveryLimits(NamedTuple):
    """How much the file may hold before it says what it leaves out."""

    listed_trials: int = 200_000
    step_bytes: int = 12 << 20


def _columns_block(
    columns: TrialColumns, listed: list[int], steps: TrialSteps, name: str
) -> DataBlock:
    chosen: dict[str, Any] = columns.chosen(listed)
    chosen["steps"] = [steps.place_of.get(index, -1) for index in listed]
    chosen["bundle"] = name
    chosen["checks"] = CHECKS
    chosen["kinds"] = FAILURE_KINDS
    return DataBlock("trials", [msgspec.json.encode(chosen)])


def _charts(numbers: RecoveryNumbers) -> dict[str, ShareChart]:
    """Completed and verified of each policy, laid out for wide and for narrow screens."""
    rows = [
        (
            row.policy,
            [
                Interval(
                    name, value.share, value.low, value.high, f"{value.reached} / {value.cells}"
                )
                for name, value in (("completed", row.completed), ("verified", row.verified))
            ],
        )
        for row in numbers.totals
    ]
    return {"wide": share_chart(rows, WIDE_SHARES), "narrow": share_chart(rows, NARROW_SHARES)}


def recovery_pages(
    bundle: Bundle, place: ReportPlace | None = None, *, limits: RecoveryLimits | None = None
) -> Iterator[Page]:
    """Yield the report's one page, ``STEM.html``."""
    place = place or ReportPlace("index", bundle.name)
    limits = limits or RecoveryLimits()
    with LineFile(bundle.folder / "results.jsonl") as lines:
        columns = trial_columns(lines)
    numbers = recovery_numbers(bundle, columns)
    listed = sorted(grid_order(columns)[: limits.listed_trials])
    steps = TrialSteps(bundle, columns, listed, limits.step_bytes)
    body = render(
        "report/templates/recovery.html.j2",
        numbers=numbers,
        charts=_charts(numbers),
        identities=identities(bundle),
        kinds=FAILURE_KINDS,
        left_out={
            "list": len(columns) - len(listed),
            "steps": len(listed) - len(steps.place_of),
        },
        stem=place.stem,
        run=run_facts(bundle, place.name),
        first_trials=first_unverified(columns),
        version=__version__,
    )
    blocks = [
        _columns_block(columns, listed, steps, place.name),
        DataBlock("grids", [grids_json(bundle, columns, steps)]),
        DataBlock("steps", steps.lines),
    ]
    title = f"{place.name} · recovery · {numbers.suite_id}"
    yield framed_page(f"{place.stem}.html", title, "recovery", body, blocks)


def pages_of(
    bundle: Bundle, sources: Mapping[str, Path], place: ReportPlace, *, may_page: bool
) -> Iterator[Page]:
    """Yield a recovery bundle's one page."""
    del sources, may_page
    return recovery_pages(bundle, place)
