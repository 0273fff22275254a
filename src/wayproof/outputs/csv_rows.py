"""CSV: one row a result, safe to open in a spreadsheet.

A cell that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return is run as a
formula by spreadsheets; text that does gets a leading apostrophe. Numbers stay numbers.
"""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

__all__ = ["RESULT_COLUMNS", "csv_lines", "safe_cell"]

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
RESULT_COLUMNS: Final = (
    "task_id",
    "attempt",
    "family",
    "route_type",
    "sufficiency_status",
    "sufficiency_failure_kind",
    "vacuous",
    "latency_status",
    "wall_ms",
    "latency_budget_ms",
    "recall_at_packet",
    "precision_at_packet",
    "scent_coverage",
    "missing_expected_artifacts",
    "selected_artifact_count",
    "first_contact_command",
    "error",
)


def safe_cell(value: Any) -> str:
    """Return a cell's text: empty for null, JSON for lists, never a formula."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"'{text}" if text.startswith(_FORMULA) else text


def csv_lines(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the header and one line a row (RFC 4180: CRLF, quotes doubled)."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\r\n", strict=True)
    for cells in _cells(columns, rows):
        writer.writerow(cells)
        yield buffer.getvalue()
        buffer.seek(0)
        buffer.truncate()


def _cells(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> Iterator[list[str]]:
    yield list(columns)
    for row in rows:
        yield [safe_cell(row.get(column)) for column in columns]
