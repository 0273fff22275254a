"""Progress on stderr: only where a person looks, and only when something takes long."""

import contextlib
import sys
from collections.abc import Callable, Iterator

__all__ = ["byte_progress", "count_progress"]

_WORTH_SHOWING_BYTES = 8 << 20
_WORTH_SHOWING_COUNT = 5_001


Report = Callable[[int, int], None]
"""Called with (done, in all)."""


@contextlib.contextmanager
def byte_progress(label: str) -> Iterator[Report]:
    """Yield a ``(bytes done, bytes in all)`` callback that draws a bar on a terminal."""
    with _bar(label, figures="DownloadColumn") as draw:

        def show(done_bytes: int, total_bytes: int) -> None:
            if total_bytes > _WORTH_SHOWING_BYTES:
                draw(done_bytes, total_bytes)

        yield show


@contextlib.contextmanager
def count_progress(label: str, *, worth_showing: int = _WORTH_SHOWING_COUNT) -> Iterator[Report]:
    """Yield a ``(done, in all)`` callback that draws a bar on a terminal, of that many and more."""
    with _bar(label, figures="MofNCompleteColumn") as draw:
        shown = 0

        def show(done: int, total: int) -> None:
            nonlocal shown
            if total >= worth_showing and (done - shown >= total // 200 or done == total):
                shown = done
                draw(done, total)

        yield show


@contextlib.contextmanager
def _bar(label: str, *, figures: str) -> Iterator[Report]:
    """Yield what draws the bar; ``figures`` names rich's column of numbers."""
    if not sys.stderr.isatty():
        yield _silent
        return
    from rich import progress
    from rich.console import Console

    bar = progress.Progress(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        getattr(progress, figures)(),
        progress.TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,  # no thread of its own, which a fork could not take along
    )
    task = bar.add_task(label, total=None, visible=False)

    def draw(done: int, total: int) -> None:
        bar.update(task, completed=done, total=total, visible=True)
        bar.refresh()

    with bar:
        yield draw


def _silent(done: int, total: int) -> None:
    """Show nothing."""
