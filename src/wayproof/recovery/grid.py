"""A weighted grid, parsed once at the boundary and never changed.

Text form: one string a row, ``#`` for a blocked cell, ``1`` … ``9`` for the cost of
entering a free one. Inside, the grid is one flat run of bytes with a blocked border all
round, so that the four neighbours of any cell of the grid can be looked up unchecked.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from wayproof.errors import InputError
from wayproof.evidence.recovery_records import Cell
from wayproof.text import quoted

__all__ = ["MAX_CELLS", "NEIGHBOUR_OFFSETS", "Grid", "fingerprint"]

MAX_CELLS: Final = 1 << 20
"""Largest grid that is read, in cells: 1,024 squared."""

NEIGHBOUR_OFFSETS: Final = ((-1, 0), (0, -1), (0, 1), (1, 0))
"""Up, left, right, down: the neighbours in the order of their [row, column]."""

_CELL_CHARACTERS: Final = frozenset("#123456789")
_COST_OF_BYTE: Final = bytes.maketrans(b"#123456789", bytes(range(10)))


class Grid(msgspec.Struct, frozen=True):
    """Rows, start and target of one episode. Make it with :meth:`parse`.

    Attributes
    ----------
    rows
        The text form.
    height, width
        In cells.
    stride
        ``width`` + 2: the distance between a cell and the one below it in ``costs``.
    costs
        Entry cost of each cell of the bordered grid, row by row; 0 is blocked.
    start, target
        Distinct free cells.
    """

    rows: tuple[str, ...]
    height: int
    width: int
    stride: int
    costs: bytes
    start: Cell
    target: Cell

    @classmethod
    def parse(cls, rows: Sequence[str], start: Cell, target: Cell) -> "Grid":
        """Read the text form.

        Raises
        ------
        InputError
            Naming the field, for a ragged row, another character, a grid without cells
            or beyond :data:`MAX_CELLS`, and a start or target that is blocked, outside,
            or the same cell.
        """
        height, width = len(rows), len(rows[0]) if rows else 0
        if not 0 < height * width <= MAX_CELLS:
            raise InputError(
                "grid without cells" if height * width == 0 else "grid is too large",
                field="rows",
                expected=f"1 to {MAX_CELLS} cells",
                found=f"{height} rows of {width}",
            )
        for number, row in enumerate(rows):
            _check_row(row, number, width)
        grid = cls(
            rows=tuple(rows),
            height=height,
            width=width,
            stride=width + 2,
            costs=_bordered(rows, width),
            start=start,
            target=target,
        )
        for field, cell in (("start", start), ("target", target)):
            if not grid.cost_at(cell):
                raise InputError(
                    "not a free cell of the grid",
                    field=field,
                    expected=f"a free cell within {height} rows of {width}",
                    found=_shown(cell),
                )
        if start == target:
            raise InputError(
                "start and target are the same cell",
                field="target",
                expected="another cell than the start",
                found=_shown(target),
            )
        return grid

    def index_of(self, cell: Cell) -> int:
        """Index in ``costs`` of a cell of the grid or of its border."""
        return (cell[0] + 1) * self.stride + cell[1] + 1

    def cell_at(self, index: int) -> Cell:
        """Return the cell that stands at ``index`` in ``costs``."""
        row, column = divmod(index, self.stride)
        return row - 1, column - 1

    def cost_at(self, cell: Cell) -> int:
        """Cost of entering a cell; 0 when it is blocked or outside."""
        row, column = cell
        if 0 <= row < self.height and 0 <= column < self.width:
            return self.costs[self.index_of(cell)]
        return 0

    def cells(self) -> Iterator[Cell]:
        """Every cell, row by row."""
        for row in range(self.height):
            for column in range(self.width):
                yield row, column


def fingerprint(grid: Grid) -> bytes:
    """Return 16 bytes that two grids share only when rows, start and target are the same."""
    text = f"{chr(10).join(grid.rows)} {grid.start} {grid.target}"
    return hashlib.blake2b(text.encode("ascii"), digest_size=16).digest()


def _check_row(row: str, number: int, width: int) -> None:
    if len(row) != width:
        raise InputError(
            "ragged row",
            field=f"rows[{number}]",
            expected=f"{width} cells, as in rows[0]",
            found=f"{len(row)} cells",
        )
    if not _CELL_CHARACTERS.issuperset(row):
        column, strange = next(
            (at, character) for at, character in enumerate(row) if character not in _CELL_CHARACTERS
        )
        raise InputError(
            "not a cell",
            field=f"rows[{number}][{column}]",
            expected="# (blocked) or an entry cost 1 … 9",
            found=quoted(strange),
        )


def _bordered(rows: Sequence[str], width: int) -> bytes:
    border = "#" * (width + 2)
    text = "".join([border, *(f"#{row}#" for row in rows), border])
    return text.encode("ascii").translate(_COST_OF_BYTE)


def _shown(cell: Cell) -> str:
    return f"[{cell[0]}, {cell[1]}]"
