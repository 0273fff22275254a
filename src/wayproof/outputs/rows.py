"""What every format needs of results and debts, read once from a bundle."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from wayproof.bundles.reader import read_lines

__all__ = ["Scored", "read_rows"]


class Scored(msgspec.Struct, frozen=True, kw_only=True):
    """A scored suite as a document.

    Attributes
    ----------
    record
        What ``summary.json`` holds, with what was added for the reader (``gates``).
    results
        Where its results lie, a JSON line each; None where only the summary is known.
    gates
        The gates' lines.
    """

    record: dict[str, Any]
    results: Path | None
    gates: list[str]


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a bundle's results one by one."""
    return read_lines(path, dict[str, Any])
