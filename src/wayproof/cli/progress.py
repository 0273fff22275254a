<<<<<<< HEAD
"""A progress line on stderr, when that is a terminal."""

import sys
from types import TracebackType
from typing import Self

__all__ = ["Progress"]


class Progress:
    """Call it with what is done and what there is in all; it redraws at most 200 times."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._shown = -1
        self._on = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __call__(self, done: int, total: int) -> None:
        """Show the progress."""
        if not self._on or total == 0:
            return
        part = done * 200 // total
        if part != self._shown:
            self._shown = part
            print(f"\r{done:,} of {total:,} {self._what}", end="", file=sys.stderr, flush=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._on and self._shown >= 0:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
=======
"""Progress on stderr: only where a person looks, and only when something takes long."""

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["byte_progress"]

_WORTH_SHOWING_BYTES = 8 << 20


@contextlib.contextmanager
def byte_progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a ``(bytes done, bytes in all)`` callback that draws a bar on a terminal."""
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(label, total=None, visible=False)

    def show(done_bytes: int, total_bytes: int) -> None:
        if total_bytes > _WORTH_SHOWING_BYTES:
            bar.update(task, completed=done_bytes, total=total_bytes, visible=True)

    with bar:
        yield show


def _silent(done_bytes: int, total_bytes: int) -> None:
    """Show nothing."""
>>>>>>> main
