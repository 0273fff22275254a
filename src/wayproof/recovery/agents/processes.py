"""Processes that leave nothing behind, and orphans that are found and ended.

Every agent's process gets a session of its own, so that its whole group can be ended at
once. A descendant that left the group becomes an orphan when the group ends. On Linux
this process declares itself the reaper of orphans below it: they become its children,
where they are found and ended.
"""

import contextlib
import ctypes
import functools
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

__all__ = [
    "MARK",
    "children",
    "descendants",
    "end",
    "end_group",
    "end_orphans",
    "reaping",
    "starting",
]

MARK: Final = "WAYPROOF_AGENT_PROCESS"
"""Environment variable by which an agent's descendants are known; children inherit it."""

_SET_CHILD_SUBREAPER: Final = 36
_GET_CHILD_SUBREAPER: Final = 37
_MAX_ROUNDS: Final = 64
_MAX_PROCESSES: Final = 10_000

_lock = threading.Lock()
starting: Final = threading.Lock()
"""Held while an agent is started: before it is its own program it bears no mark."""
_before: list[bool] = []
"""What each :func:`reaping` block found; the first block's is gone back to."""


@contextlib.contextmanager
def reaping() -> Iterator[None]:
    """Be the reaper of orphans below this process, where the system knows such a thing."""
    with _lock:
        _before.append(_is_reaper())
        _be_reaper(wanted=True)
    try:
        yield
    finally:
        with _lock:
            if len(_before) == 1:
                _be_reaper(wanted=_before[0])
            _before.pop()


@functools.cache
def _libc() -> ctypes.CDLL | None:
    return ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _is_reaper() -> bool:
    libc, answer = _libc(), ctypes.c_int(0)
    if libc is not None:
        libc.prctl(_GET_CHILD_SUBREAPER, ctypes.byref(answer), 0, 0, 0)
    return bool(answer.value)


def _be_reaper(*, wanted: bool) -> None:
    libc = _libc()
    if libc is not None:
        libc.prctl(_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0)


def end_group(pid: int, number: int) -> None:
    """Send a signal to all of a process's group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def descendants(pid: int) -> list[int]:
    """Return the processes below one, as far as they are still attached to it."""
    found: list[int] = []
    edge = [pid]
    while edge and len(found) < _MAX_PROCESSES:
        edge = [child for parent in edge for child in _children(parent)]
        found += edge
    return found


def end(pids: Iterable[int]) -> None:
    """End processes at once."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def children() -> frozenset[int]:
    """Return the processes that have this one as their parent; none where nobody can tell."""
    return frozenset(_children(os.getpid()))


def end_orphans(mark: str, before: frozenset[int]) -> None:
    """End what an agent left outside its group, and what that left in turn.

    Orphans below a reaper become its children. Those that carry the agent's mark in their
    environment are ended, and those without any mark that came since ``before``, made a session
    of their own and were started by nothing in this process. Other children are none of our
    business.
    """
    for _ in range(_MAX_ROUNDS):
        with starting:
            orphans = [
                pid for pid in _children(os.getpid()) if _is_orphan(pid, mark, pid in before)
            ]
        if not orphans:
            return
        end(orphans)
        for pid in orphans:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _is_orphan(pid: int, mark: str, was_there: bool) -> bool:
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        has_own_session = os.getsid(pid) != os.getsid(0)
    except OSError:
        return False  # it has ended, or belongs to somebody else
    if f"{MARK}={mark}".encode("ascii") in environment:
        return True
    if was_there or state == b"Z" or not has_own_session:
        return False
    is_marked = any(word.startswith(f"{MARK}=".encode("ascii")) for word in environment)
    return not is_marked and not _is_our_own(pid)


def _is_our_own(pid: int) -> bool:
    """Whether something in this process started it; asked for the rare stranger only."""
    return any(isinstance(one, subprocess.Popen) and one.pid == pid for one in gc.get_objects())


def _children(pid: int) -> Iterator[int]:
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError, ValueError):
            yield from map(int, path.read_text("ascii").split())
