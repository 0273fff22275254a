"""Small tables for notebooks; whatever stands in a cell is escaped."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

from wayproof.text import clip, harmless

__all__ = ["table"]

_CELL_CHARS = 80


def table(columns: Sequence[str], rows: Sequence[Mapping[str, Any]], *, note: str = "") -> str:
    """Return rows as an HTML table, with a note below it."""
    head = "".join(f"<th>{_cell(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{_cell(row.get(name, ''))}</td>" for name in columns) + "</tr>"
        for row in rows
    )
    below = f"<p>{_cell(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def _cell(value: object) -> str:
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return html.escape(harmless(clip("" if value is None else str(value), _CELL_CHARS)))
