"""A file of records as a sequence: read when it is looked at, however long it is."""

from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import msgspec

from wayproof.api.html import table
from wayproof.bundles.reader import LineFile, decoded_line, read_lines

__all__ = ["Lines"]

T_co = TypeVar("T_co", covariant=True)

_SHOWN_ROWS = 20


class Lines(Sequence[T_co], Generic[T_co]):
    """The records of a JSON Lines file, typed.

    They are decoded as they are asked for, so a file of any size can be gone through. The
    file must stay where it is.

    Parameters
    ----------
    path
        The file.
    kind
        The type of its lines.
    keeper
        Held as long as the records are: the owner of a temporary folder.
    """

    def __init__(self, path: Path, kind: Any, keeper: object = None) -> None:
        self._path = path
        self._kind = kind
        self._keeper = keeper
        self._starts: array[int] | None = None

    def __iter__(self) -> Iterator[T_co]:
        return read_lines(self._path, self._kind)

    def __len__(self) -> int:
        return len(self._index())

    @overload
    def __getitem__(self, index: int) -> T_co: ...

    @overload
    def __getitem__(self, index: slice) -> list[T_co]: ...

    def __getitem__(self, index: int | slice) -> T_co | list[T_co]:
        if isinstance(index, slice):
            return [self._at(place) for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self._at(place)

    def __repr__(self) -> str:
        return f"<{len(self)} records of {self._path.name}>"

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the records as dicts with the wire names, for a data frame."""
        return [msgspec.to_builtins(record) for record in self]

    def _repr_html_(self) -> str:
        rows = [msgspec.to_builtins(record) for record in self[:_SHOWN_ROWS]]
        more = len(self) - len(rows)
        note = f"{more} more records" if more else ""
        return table(list(dict.fromkeys(name for row in rows for name in row)), rows, note=note)

    def _index(self) -> "array[int]":
        if self._starts is None:
            starts, at = array("Q"), 0
            with LineFile(self._path) as lines:
                for line in lines:
                    starts.append(at)
                    at += len(line) + 1
            self._starts = starts
        return self._starts

    def _at(self, place: int) -> T_co:
        with LineFile(self._path) as lines, self._path.open("rb") as file:
            file.seek(self._index()[place])
            line = file.readline().removesuffix(b"\n")
            record: T_co = decoded_line(lines, place, line, msgspec.json.Decoder(self._kind))
            return record
