"""A fitness bundle as pages: the first with everything counted, more when panels need room."""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from markupsafe import Markup

from wayproof._version import __version__
from wayproof.bundles.reader import Bundle, LineFile, identities
from wayproof.evidence.fitness_names import LATENCY_STATUS_NAMES
from wayproof.report.chart import Bar, bar_chart, column_chart
from wayproof.report.fitness_numbers import (
    FitnessNumbers,
    first_debts,
    fitness_numbers,
)
from wayproof.report.frame import framed_page
from wayproof.report.provenance import Provenance, read_provenance
from wayproof.report.run import ReportPlace, RunFacts, run_facts
from wayproof.report.task_columns import TaskColumns, task_columns
from wayproof.web.page import DataBlock, Page
from wayproof.web.template import hash_part, render

__all__ = ["FitnessLimits", "fitness_pages", "pages_of"]

_RATIO_LABELS: Final = ("≤ ⅛", "≤ ¼", "≤ ½", "≤ 1", "≤ 2", "≤ 4", "≤ 8", "> 8")
_WITHIN_BINS: Final = 4


class FitnessLimits(NamedTuple):
    """How much one file may hold before it says what it leaves out."""

    listed_results: int = 200_000
    panel_bytes: int = 12 << 20


class _ChartBar(NamedTuple):
    column: Bar
    bar: Bar
    meaning: str
    label: str | None
    task_count: int
    href: str


class _Selection(NamedTuple):
    """Which results are listed, and on which page each has its panel (-1: on none)."""

    listed: list[int]
    page_of: "array[int]"
    page_count: int


def _debts_first(columns: TaskColumns) -> list[int]:
    indexes = range(len(columns))
    return sorted(indexes, key=lambda index: not columns.is_debt(index))


def _select(
    columns: TaskColumns, lines: LineFile, limits: FitnessLimits, *, may_page: bool
) -> _Selection:
    """Give debts their panel first; fill pages up to their size."""
    ranked = _debts_first(columns)[: limits.listed_results]
    page_of = array("i", [-1]) * len(columns)
    page_number, used_bytes = 0, 0
    for index in ranked:
        size_bytes = lines.size_bytes(index)
        if used_bytes and used_bytes + size_bytes > limits.panel_bytes:
            if not may_page:
                break
            page_number, used_bytes = page_number + 1, 0
        used_bytes += size_bytes
        page_of[index] = page_number
    return _Selection(sorted(ranked), page_of, page_number + 1)


def _details(
    lines: LineFile, indexes: Iterable[int], columns: TaskColumns, provenance: Provenance
) -> Iterator[bytes]:
    """Yield a line of the details block per result: its record, and what else is known."""
    for index in indexes:
        parts = [b'{"result":', lines.line(index)]
        for name, value in provenance.extras(*columns.key(index)):
            parts += [b',"', name, b'":', value.replace(b"\n", b" ")]
        yield b"".join([*parts, b"}\n"])


def _page_name(stem: str, number: int) -> str:
    return f"{stem}-panels-{number:04d}.html"


def _column_block(
    columns: TaskColumns, selection: _Selection, place: ReportPlace, number: int
) -> DataBlock:
    """Return the lists' columns for page ``number`` (0: the first, which lists everything)."""
    page_of = selection.page_of
    listed = selection.listed
    if number:
        listed = [index for index in listed if page_of[index] == number]
    chosen = columns.chosen(listed)
    detail, count = [], 0
    for index in listed:
        here = page_of[index] == number
        detail.append(count if here else -1)
        count += here
    chosen["bundle"] = place.name
    chosen["detail"] = detail
    chosen["line"] = [index + 1 for index in listed]
    if selection.page_count > 1 and not number:
        chosen["panel_link"] = _panel_links(listed, page_of, columns, place.stem)
    return DataBlock("columns", [msgspec.json.encode(chosen)])


def _panel_links(
    listed: list[int], page_of: "array[int]", columns: TaskColumns, stem: str
) -> list[str | None]:
    """Where each listed result has its panel, by its id; None: on this page, or nowhere."""
    links: list[str | None] = []
    for index in listed:
        number = page_of[index]
        if number <= 0:
            links.append(None)
            continue
        task, attempt = columns.key(index)
        more = "" if attempt is None else f"&attempt={attempt}"
        links.append(f"{_page_name(stem, number)}#task={hash_part(task)}{more}")
    return links


def _chart(numbers: FitnessNumbers) -> list[_ChartBar]:
    timeouts = sum(row.cells[2].task_count for row in numbers.matrix)
    unmeasured = sum(row.cells[3].task_count for row in numbers.matrix)
    counts = [*(each.task_count for each in numbers.ratio_bins), timeouts, unmeasured]
    within = ["pass"] * _WITHIN_BINS
    meanings = [
        *within,
        *["fail"] * (len(numbers.ratio_bins) - _WITHIN_BINS),
        "timeout",
        "unmeasured",
    ]
    labels = [*_RATIO_LABELS, None, None]
    hrefs = [f"#queue=all&ratio={place}" for place in range(len(numbers.ratio_bins))]
    hrefs += [f"#queue=all&latency={meaning}" for meaning in meanings[-2:]]
    parts = (column_chart(counts), bar_chart(counts), meanings, labels, counts, hrefs)
    return [_ChartBar(*each) for each in zip(*parts, strict=True)]


class _Metric(NamedTuple):
    name: str
    mean: float | None
    denominator: int
    vacuous: int


def _metrics(summary: dict[str, Any]) -> list[_Metric]:
    fields = {
        "recall": "mean_recall_at_packet",
        "precision": "mean_precision_at_packet",
        "scent": "mean_scent_coverage",
    }
    return [
        _Metric(
            name,
            summary[field],
            summary[f"{field}_denominator"],
            summary["distinct_task_count"] - summary[f"{field}_denominator"],
        )
        for name, field in fields.items()
    ]


def _totals(numbers: FitnessNumbers) -> dict[str, int]:
    return {
        status: sum(row.cells[place].task_count for row in numbers.matrix)
        for place, status in enumerate(LATENCY_STATUS_NAMES)
    }


def _first_body(bundle: Bundle, numbers: FitnessNumbers, place: ReportPlace, **more: Any) -> Markup:
    return render(
        "report/templates/fitness.html.j2",
        numbers=numbers,
        identities=identities(bundle),
        statuses=LATENCY_STATUS_NAMES,
        totals=_totals(numbers),
        chart=_chart(numbers) if numbers.ratio_bins else [],
        metrics=_metrics(numbers.summary),
        version=__version__,
        stem=place.stem,
        run=run_facts(bundle, place.name),
        **more,
    )


def _listing_body(
    bundle: Bundle,
    numbers: FitnessNumbers,
    columns: TaskColumns,
    selection: _Selection,
    place: ReportPlace,
) -> Markup:
    """Body of the first page, which lists everything that is listed."""
    listed = selection.listed
    return _first_body(
        bundle,
        numbers,
        place,
        columns=True,
        listed=len(listed),
        debts=columns.debt_counts(listed),
        first_debts=first_debts(columns),
        left_out={
            "list": len(columns) - len(listed),
            "panels": sum(selection.page_of[index] != 0 for index in listed),
        },
        has_further=selection.page_count > 1,
    )


def _further_body(
    run: RunFacts,
    numbers: FitnessNumbers,
    columns: TaskColumns,
    listed: list[int],
    **more: Any,
) -> Markup:
    """Body of a page of further panels."""
    return render(
        "report/templates/panels.html.j2",
        run=run,
        suite=numbers.suite,
        listed=len(listed),
        debts=columns.debt_counts(listed),
        version=__version__,
        **more,
    )


def fitness_pages(
    bundle: Bundle,
    provenance: Provenance,
    place: ReportPlace | None = None,
    *,
    may_page: bool,
    limits: FitnessLimits | None = None,
) -> Iterator[Page]:
    """Yield the report's pages, the first one named ``STEM.html``.

    Parameters
    ----------
    bundle
        A fitness bundle, its digests checked.
    provenance
        What its inputs add.
    place
        Where the pages stand; alone and under the folder's name when omitted.
    may_page
        Whether there may be more than one file. If not, the first says what it leaves out.
    """
    place = place or ReportPlace("index", bundle.name)
    limits = limits or FitnessLimits()
    first = f"{place.stem}.html"
    if not bundle.has("results.jsonl"):
        numbers = fitness_numbers(bundle, None)
        left_out = {"list": 0, "panels": 0}
        body = _first_body(
            bundle, numbers, place, columns=False, left_out=left_out, has_further=False
        )
        yield framed_page(first, _title(place, numbers), "fitness", body, [])
        return
    with LineFile(bundle.folder / "results.jsonl") as lines:
        columns = task_columns(lines)
        numbers = fitness_numbers(bundle, columns)
        selection = _select(columns, lines, limits, may_page=may_page)
        for number in range(selection.page_count):
            here = [index for index in selection.listed if selection.page_of[index] == number]
            body = (
                _further_body(
                    run_facts(bundle, place.name),
                    numbers,
                    columns,
                    here,
                    back=first,
                    number=number + 1,
                    count=selection.page_count,
                )
                if number
                else _listing_body(bundle, numbers, columns, selection, place)
            )
            blocks = [
                _column_block(columns, selection, place, number),
                DataBlock("details", _details(lines, here, columns, provenance)),
            ]
            name = _page_name(place.stem, number) if number else first
            yield framed_page(name, _title(place, numbers), "fitness", body, blocks)


def _title(place: ReportPlace, numbers: FitnessNumbers) -> str:
    return f"{place.name} · fitness · {numbers.suite}"


def pages_of(
    bundle: Bundle, sources: Mapping[str, Path], place: ReportPlace, *, may_page: bool
) -> Iterator[Page]:
    """Yield a fitness bundle's pages; its inputs, where given, add what it doesn't hold."""
    provenance = read_provenance(bundle.manifest, sources.get("tasks"), sources.get("packets"))
    return fitness_pages(bundle, provenance, place, may_page=may_page)
