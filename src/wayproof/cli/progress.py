"""Progress on stderr: only where a person looks, and only when something takes long."""

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["byte_progress", "count_progress"]

_WORTH_SHOWING_BYTES = 8 << 20
_WORTH_SHOWING_COUNT = 5_000


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
        auto_refresh=False,  # no thread of its own, which a fork could not take along
    )
    task = bar.add_task(label, total=None, visible=False)

    def show(done_bytes: int, total_bytes: int) -> None:
        if total_bytes > _WORTH_SHOWING_BYTES:
            bar.update(task, completed=done_bytes, total=total_bytes, visible=True)
            bar.refresh()

    with bar:
        yield show


@contextlib.contextmanager
def count_progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a ``(done, in all)`` callback that draws a bar on a terminal."""
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,  # no thread of its own, which a fork could not take along
    )
    task = bar.add_task(label, total=None, visible=False)
    shown = 0

    def show(done: int, total: int) -> None:
        nonlocal shown
        if total > _WORTH_SHOWING_COUNT and (done - shown >= total // 200 or done == total):
            shown = done
            bar.update(task, completed=done, total=total, visible=True)
            bar.refresh()

    with bar:
        yield show


def _silent(done: int, total: int) -> None:
    """Show nothing."""
