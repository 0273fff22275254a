"""What was written, told to whoever has to say so when something fails afterwards."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # pathlib is slow to import, and the command line's start needs none
    from pathlib import Path

__all__ = ["note_written", "written_places"]

_places: "ContextVar[list[Path] | None]" = ContextVar("written_places", default=None)


@contextmanager
def written_places() -> "Iterator[list[Path]]":
    """Yield a list to which every result's place is added when it is whole and in place."""
    places: list[Path] = []
    before = _places.set(places)
    try:
        yield places
    finally:
        _places.reset(before)


def note_written(path: "Path") -> None:
    """Say that a result stands at ``path``; only writers call it."""
    places = _places.get()
    if places is not None:
        places.append(path)
