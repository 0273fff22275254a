"""The working directory of a script while it is read: followed through ``cd``."""

import posixpath
import re
from collections.abc import Iterator, Sequence

from wayproof.capture.shell.records import FileRead

__all__ = ["Folder"]

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Folder:
    """Where a script stands, relative to where it was started; it may become unknown."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._known = True

    def saved(self) -> tuple[str | None, bool]:
        """Return the state, to come back to it at the end of a subshell."""
        return self._path, self._known

    def restore(self, state: tuple[str | None, bool]) -> None:
        """Come back to a saved state."""
        self._path, self._known = state

    def change(self, words: Sequence[str | None], *, maybe: bool) -> None:
        """Follow a ``cd``; after one that may not have run the folder is unknown."""
        if maybe:
            self._known = False
            return
        targets = [word for word in words if word is None or not word.startswith("-")]
        target = targets[0] if targets else None
        if target is None or target.startswith("~"):
            self._known = target is not None
            self._path = target
        elif self._known or target.startswith("/"):
            self._path = _joined(self._path, target)
            self._known = True

    def place(self, path: str, lines: tuple[int, int] | None) -> FileRead | None:
        """Return a read of ``path`` from here; None where nobody knows where that is."""
        if _is_anchored(path):
            return FileRead(path, None, lines)
        return FileRead(path, self._path, lines) if self._known else None

    def below(self, reads: Sequence[FileRead]) -> Iterator[FileRead]:
        """Put the reads of a script that is started here below this folder."""
        for read in reads:
            anchored = read.path if read.folder is None else read.folder
            if self._known or _is_anchored(anchored):
                folder = self._path if self._known else None
                yield FileRead(read.path, _joined(folder, read.folder), read.lines)


def _is_anchored(path: str) -> bool:
    return path.startswith(("/", "~")) or _DRIVE.match(path) is not None


def _joined(folder: str | None, path: str | None) -> str | None:
    if path is None:
        return folder
    return path if folder is None else posixpath.normpath(posixpath.join(folder, path))
