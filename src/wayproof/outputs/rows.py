"""What every format needs of results and debts, read once from a bundle."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from wayproof.errors import InputError

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
    decode = msgspec.json.Decoder(dict[str, Any]).decode
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield decode(line)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise InputError(
                    "not a result", file=str(path), line=number, found=str(error)
                ) from None
