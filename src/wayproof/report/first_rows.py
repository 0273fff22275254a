"""Rows that stand in a page itself, so that a viewer that blocks scripts shows them."""

from typing import Any, Final, NamedTuple

__all__ = ["FIRST_ROWS", "FirstRows"]

FIRST_ROWS: Final = 200
"""As many rows as stand in the HTML; the script's list has all of them."""


class FirstRows(NamedTuple):
    """The rows, and how many more there are."""

    rows: list[Any]
    left_out: int
