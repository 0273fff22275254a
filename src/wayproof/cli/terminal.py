"""Text that fits the terminal: lines folded at words, tables that are lists where it is narrow.

A pipe has no width: it gets whole lines. Rich leaves colour and weight out of pipes and under
``NO_COLOR``; nothing here is said by colour alone.
"""

import shutil
import textwrap
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = ["NOTHING", "console", "fits", "print_rows", "say", "terminal_columns"]

_NARROWEST: Final = 60
_WIDEST: Final = 120
_UNLIMITED: Final = 10_000
NOTHING: Final = ("—", "·")
"""What a table's cell holds where there is nothing to say; a list leaves it out."""


def terminal_columns() -> int | None:
    """Return the columns to fill, 60 … 120; None in a pipe, which has no width."""
    columns = shutil.get_terminal_size((0, 0)).columns
    return min(_WIDEST, max(_NARROWEST, columns)) if columns > 0 else None


def console() -> Console:
    """Make a console that breaks no line by itself."""
    return Console(highlight=False, soft_wrap=True, width=terminal_columns() or _UNLIMITED)


def say(text: str | Text, *, indent: int = 0, breaks_words: bool = True) -> None:
    """Print a sentence, folded at words to the width; the style is that of the whole.

    Without ``breaks_words`` a word that is longer than a line (a digest, to copy) stays whole.
    """
    columns = terminal_columns()
    plain, style = (text.plain, text.style) if isinstance(text, Text) else (text, "")
    pad = " " * indent
    lines = [f"{pad}{plain}"]
    if columns is not None:
        lines = textwrap.wrap(
            plain,
            columns,
            initial_indent=pad,
            subsequent_indent=f"{pad}  ",
            break_on_hyphens=False,
            break_long_words=breaks_words,
        )
    out = console()
    for line in lines or [""]:
        out.print(Text(line, style=style))


def fits(rows: Sequence[Sequence[str]]) -> bool:
    """Tell whether rows fit into the width as a table, two spaces between columns."""
    columns = terminal_columns()
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return columns is None or sum(widths) + 2 * (len(widths) - 1) <= columns


def print_rows(
    headings: Sequence[str], rows: Sequence[Sequence[str]], *, is_number: Sequence[bool] = ()
) -> None:
    """Print rows as a table, or, where that is too wide, as a list with each cell named.

    The cells are harmless already. The first one names its row.
    """
    if not fits([headings, *rows]):
        for row in rows:
            say(row[0], indent=2)
            for heading, cell in zip(headings[1:], row[1:], strict=True):
                if cell not in NOTHING:
                    say(f"{heading}: {cell}", indent=4)
        return
    table = Table(box=None, pad_edge=False)
    for at, heading in enumerate(headings):
        table.add_column(heading, justify="right" if any(is_number[at : at + 1]) else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    console().print(table)
