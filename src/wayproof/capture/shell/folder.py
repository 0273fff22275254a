"""The working directory of a script while it is read: followed through ``cd``."""

import posixpath
import re
from collections.abc import Iterator, Sequence

import msgspec

from wayproof.capture.shell.commands import Simple
from wayproof.capture.shell.records import FileRead

__all__ = ["Folder"]

_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


_PUSHES = frozenset({"pushd", "Push-Location"})
_POPS = frozenset({"popd", "Pop-Location"})
_State = tuple[str | None, bool]


class Folder:
    """Where a script stands, relative to where it was started; it may become unknown."""

    def __init__(self) -> None:
        self._path: str | None = None
        self._known = True
        self._stack: list[_State] = []
        self._before: _State = (None, False)

    @property
    def path(self) -> str | None:
        """The folder, relative to where the script was started; None: there, or not known."""
        return self._path if self._known else None

    @property
    def lost(self) -> bool:
        """Whether nobody knows where the script stands."""
        return not self._known

    def saved(self) -> _State:
        """Return the state, to come back to it at the end of a subshell."""
        return self._path, self._known

    def restore(self, state: _State) -> None:
        """Come back to a saved state."""
        self._path, self._known = state

    def change(self, name: str, words: Sequence[str | None], *, maybe: bool) -> None:
        """Follow ``cd``, ``pushd`` and ``popd``; after one that may not have run, be lost."""
        here = self.saved()
        if maybe:
            self._known = False
        elif name in _POPS:
            self.restore(self._stack.pop() if self._stack else (None, False))
        else:
            if name in _PUSHES:
                self._stack.append(here)
            self._go(words)
        self._before = here

    def _go(self, words: Sequence[str | None]) -> None:
        if list(words) == ["-"]:
            self.restore(self._before)
            return
        targets = [word for word in words if word is None or not word.startswith("-")]
        target = targets[0] if targets else None
        if target is None or target.startswith("~"):
            self._known = target is not None
            self._path = target
        elif self._known or _is_anchored(target):
            self._path = _joined(self._path, target)
            self._known = True

    def place(self, path: str, lines: tuple[int, int] | None) -> FileRead | None:
        """Return a read of ``path`` from here; None where nobody knows where that is."""
        if _is_anchored(path):
            return FileRead(path, None, lines)
        return FileRead(path, self._path, lines) if self._known else None

    def started(self, command: Simple) -> Simple:
        """Put a command of a script that is started here below this folder."""
        if not self._known:
            return msgspec.structs.replace(command, lost=True)
        if self._path is None:
            return command
        return msgspec.structs.replace(command, folder=_joined(self._path, command.folder))

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
    if _DRIVE.match(path):
        return path
    return path if folder is None else posixpath.normpath(posixpath.join(folder, path))
