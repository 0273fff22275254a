"""A pool of worker processes that ends cleanly, whatever happens to anybody."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from wayproof.errors import WayproofError

__all__ = ["MAX_PROCESSES", "worker_pool"]

MAX_PROCESSES = 64
_PARENT_CHECK_S = 0.5


@contextmanager
def worker_pool(
    processes: int, initializer: Callable[..., None], *initargs: Any
) -> Iterator[Executor]:
    """Run a pool; ``initializer(*initargs)`` hands every worker what all its jobs share.

    Where the system can fork, the shared state is inherited rather than copied. A worker
    whose parent was killed ends itself; when one dies, :class:`WayproofError` says so.
    """
    method = "fork" if sys.platform == "linux" else "spawn"
    context = multiprocessing.get_context(method)
    pool = ProcessPoolExecutor(
        processes, context, initializer=_start_worker, initargs=(os.getpid(), initializer, initargs)
    )
    try:
        pool.submit(_started).result()  # all workers are forked before anybody starts a thread
        yield pool
    except BrokenProcessPool:
        raise WayproofError(
            "a worker process was killed (out of memory?); nothing was written"
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _started() -> None:
    """Do nothing, in a worker."""


def _start_worker(parent_pid: int, initializer: Callable[..., None], initargs: Any) -> None:
    # The parent decides what an interrupt means; it ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, args=(parent_pid,), daemon=True).start()
    initializer(*initargs)


def _end_with_parent(parent_pid: int) -> None:
    never = threading.Event()
    while os.getppid() == parent_pid:
        never.wait(_PARENT_CHECK_S)
    os._exit(1)
