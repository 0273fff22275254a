"""Control groups: where the kernel can count the memory and processes of a whole trial.

Versions 1 and 2, where a folder of theirs can be made. Each run gets a folder, each trial
one below it; at the end whatever still runs there is ended and the folders go.
"""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["Groups", "run_groups"]

_ROOT: Final = Path("/sys/fs/cgroup")
_OWN: Final = Path("/proc/self/cgroup")
_PREFIX: Final = "wayproof-"
_ROUNDS: Final = 50
_WAIT_S: Final = 0.02


class Groups(NamedTuple):
    """The folders of one run; None where memory or processes can't be counted.

    Attributes
    ----------
    version
        1 or 2; 0 without any.
    """

    memory: Path | None = None
    processes: Path | None = None
    version: int = 0

    def memory_limits(self, most_bytes: int) -> dict[str, str]:
        """Return what to write where, to bound the memory of a trial, swap included."""
        if self.version == 2:
            return {"memory.max": str(most_bytes), "memory.swap.max": "0"}
        limits = {"memory.limit_in_bytes": str(most_bytes)}
        if self.memory is not None and (self.memory / "memory.memsw.limit_in_bytes").exists():
            limits["memory.memsw.limit_in_bytes"] = str(most_bytes)
        return limits


@contextlib.contextmanager
def run_groups(root: Path = _ROOT, own: Path = _OWN) -> Iterator[Groups]:
    """Make a run's folders, and take them away at the end."""
    name = f"{_PREFIX}{os.getpid()}-{threading.get_ident()}"
    groups = _made(root, own, name)
    try:
        yield groups
    finally:
        for folder in {groups.memory, groups.processes} - {None}:
            if folder is not None:
                _remove(folder)


def _made(root: Path, own: Path, name: str) -> Groups:
    places = _places(own)
    memory = _first(root / "memory", places.get("memory"), name, "memory.limit_in_bytes")
    processes = _first(root / "pids", places.get("pids"), name, "pids.max")
    if memory is not None or processes is not None:
        return Groups(memory, processes, 1)
    return _made_2(root, places.get(""), name)


def _places(own: Path) -> dict[str, str]:
    """Return this process's own group by controller; that of version 2 under no name."""
    places: dict[str, str] = {}
    with contextlib.suppress(OSError, ValueError):
        for line in own.read_text("utf-8").splitlines():
            _, controllers, place = line.split(":", 2)
            places |= dict.fromkeys(controllers.split(","), place.lstrip("/"))
    return places


def _first(tree: Path, place: str | None, name: str, needed: str) -> Path | None:
    """Make a group below one's own, or at the top where that isn't to be seen."""
    if place is None:
        return None
    for parent in dict.fromkeys((tree / place, tree)):
        folder = parent / name
        _sweep(parent)
        if not parent.is_dir() or not _make(folder):
            continue
        if (folder / needed).exists() and os.access(folder / needed, os.W_OK):
            return folder
        _remove(folder)
    return None


def _made_2(root: Path, place: str | None, name: str) -> Groups:
    if place is None or not (root / "cgroup.controllers").exists():
        return Groups()
    for parent in dict.fromkeys((root / place, root)):
        folder = parent / name
        _sweep(parent)
        with contextlib.suppress(OSError):
            # Where the parent holds processes the kernel says no, and then it stays as it is.
            (parent / "cgroup.subtree_control").write_text("+memory +pids", "ascii")
        if not _make(folder):
            continue
        with contextlib.suppress(OSError):
            (folder / "cgroup.subtree_control").write_text("+memory +pids", "ascii")
            words = (folder / "cgroup.subtree_control").read_text("ascii").split()
            said = {word.lstrip("+") for word in words}
            found = Groups(
                folder if "memory" in said else None, folder if "pids" in said else None, 2
            )
            if found.memory is not None or found.processes is not None:
                return found
        _remove(folder)
    return Groups()


def _sweep(parent: Path) -> None:
    """Take away what runs that were killed left behind."""
    for folder in parent.glob(f"{_PREFIX}*-*"):
        pid = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if pid.isdigit() and not Path(f"/proc/{pid}").exists():
            _remove(folder)


def _make(folder: Path) -> bool:
    try:
        folder.mkdir()
    except OSError:
        return False
    return True


def _remove(folder: Path) -> None:
    """End what still runs in a run's groups, and take the folders away."""
    with contextlib.suppress(OSError):
        for group in (*folder.glob("trial-*"), folder):
            _empty(group)
            with contextlib.suppress(OSError):
                group.rmdir()


def _empty(group: Path) -> None:
    for _ in range(_ROUNDS):
        pids = []
        with contextlib.suppress(OSError, ValueError):
            pids = [int(word) for word in (group / "cgroup.procs").read_text("ascii").split()]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        threading.Event().wait(_WAIT_S)
