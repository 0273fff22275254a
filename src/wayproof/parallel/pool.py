"""Worker processes on this machine, each on a pipe of its own.

Why not ``concurrent.futures.ProcessPoolExecutor``: all its workers send through one pipe
under one lock. A worker that is killed while it sends leaves half a message in the pipe
and takes the lock along. The others still hold the pipe's writing end, so the reader gets
neither the rest nor an end of file, and waits for ever. Here nobody but the worker holds
the writing end of its pipe: when it dies, even in the middle of a message, the reader
sees the end of the file at once.
"""

import contextlib
import multiprocessing
import os
import queue
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from itertools import chain
from multiprocessing.connection import Connection, wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

__all__ = ["ProcessPool"]

_PARENT_CHECK_S = 0.5
_WORKER_CHECK_S = 1.0
_STOP_WAIT_S = 5.0
_STOP = b""
_CALLS_PER_WORKER = 2
_DIED = "a worker process died"

# Held from the making of a pipe until this process closed the worker's end of it: a
# process that another thread forks in between would keep that end open.
_starting = threading.Lock()


class _Worker(NamedTuple):
    process: BaseProcess
    connection: Connection


class _Call(NamedTuple):
    future: Future[Any]
    message: bytes


class ProcessPool(Executor):
    """An executor of worker processes that fails, and never waits, when one of them dies.

    Where the system can fork, workers inherit what this process holds in memory. They
    all start in the constructor. A worker whose parent was killed ends itself.

    Parameters
    ----------
    processes
        How many workers.
    """

    def __init__(self, processes: int) -> None:
        context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
        self._lock = threading.RLock()  # a future's callback may submit again
        self._waiting: deque[_Call] = deque()
        self._running: list[deque[_Call]] = [deque() for _ in range(processes)]
        self._closing = self._stopping = self._broken = self._woken = False
        self._wake_reader, self._wake_writer = context.Pipe(duplex=False)
        self._workers: list[_Worker] = []
        try:
            for _ in range(processes):
                self._workers.append(_start(context))
        except BaseException:
            _end(self._workers, kill=True)
            raise
        self._supervisor = threading.Thread(target=self._supervise, daemon=True)
        self._supervisor.start()

    # -- the caller's side ------------------------------------------------------------

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Run ``fn(*args, **kwargs)`` in a worker.

        Raises
        ------
        BrokenExecutor
            When a worker died.
        RuntimeError
            After :meth:`shutdown`.
        """
        future: Future[Any] = Future()
        try:
            message = bytes(ForkingPickler.dumps((fn, args, kwargs)))
        except Exception as error:  # noqa: BLE001 - whatever pickling raises is the call's outcome
            future.set_exception(error)
            return future
        with self._lock:
            if self._broken:
                raise BrokenExecutor(_DIED)
            if self._closing:
                raise RuntimeError("submit after shutdown")
            self._waiting.append(_Call(future, message))
            self._wake()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers once they have done what was submitted."""
        with self._lock:
            self._closing = True
            if cancel_futures:
                for call in self._waiting:
                    call.future.cancel()
            self._wake()
        if wait:
            self._supervisor.join()

    def stop(self) -> None:
        """End the workers now; calls that are not done are lost."""
        with self._lock:
            self._closing = self._stopping = True
            self._wake()
        self._supervisor.join()

    def _wake(self) -> None:
        """Let the supervisor look; one byte in the pipe is enough."""
        if not self._woken:
            self._woken = True
            self._wake_writer.send_bytes(b"\0")

    # -- the supervising thread -------------------------------------------------------

    def _supervise(self) -> None:
        try:
            while self._hand_out():
                self._collect()
        except (EOFError, OSError):
            self._break()  # a pipe ended: its worker is dead, and the run with it
        except BaseException:
            self._break()  # nobody may wait for a supervisor that is gone
            raise
        finally:
            with self._lock:
                self._wake_reader.close()
                self._wake_writer.close()
                self._woken = True  # nobody is there to be woken

    def _hand_out(self) -> bool:
        """Give workers their next calls; False when all is done and the workers ended."""
        with self._lock:
            if self._stopping:
                _end(self._workers, kill=any(self._running))
                self._fail_all("the pool was stopped")
                return False
            while (at := self._least_busy()) is not None and (call := self._next_call()):
                self._running[at].append(call)
                # A worker reads while it works, so this doesn't wait for its call to end.
                self._workers[at].connection.send_bytes(call.message)
            if self._closing and not any(self._running):
                _end(self._workers, kill=False)
                return False
        return True

    def _least_busy(self) -> int | None:
        """Return the worker with the fewest calls; None when all have enough.

        One call ahead keeps a worker busy while its result is on the way.
        """
        at = min(range(len(self._workers)), key=lambda one: len(self._running[one]))
        return at if len(self._running[at]) < _CALLS_PER_WORKER else None

    def _next_call(self) -> _Call | None:
        while self._waiting:
            call = self._waiting.popleft()
            if call.future.set_running_or_notify_cancel():
                return call
        return None

    def _collect(self) -> None:
        """Wait for results, for the death of a worker, or to be woken."""
        connections = [self._wake_reader, *(worker.connection for worker in self._workers)]
        ready = set(wait(connections, timeout=_WORKER_CHECK_S))
        if self._wake_reader in ready:
            with self._lock:
                self._wake_reader.recv_bytes()
                self._woken = False
        for at, worker in enumerate(self._workers):
            if worker.connection in ready:
                message = worker.connection.recv_bytes()
                with self._lock:
                    call = self._running[at].popleft()
                _settle(call.future, message)
        if not ready and not all(worker.process.is_alive() for worker in self._workers):
            raise EOFError

    def _break(self) -> None:
        with self._lock:
            self._broken = True
            _end(self._workers, kill=True)
            self._fail_all(_DIED)

    def _fail_all(self, why: str) -> None:
        for call in chain.from_iterable(self._running):
            call.future.set_exception(BrokenExecutor(why))
        for call in self._waiting:
            if call.future.set_running_or_notify_cancel():
                call.future.set_exception(BrokenExecutor(why))
        for calls in self._running:
            calls.clear()
        self._waiting.clear()


def _settle(future: Future[Any], message: bytes) -> None:
    try:
        done, value = ForkingPickler.loads(message)
    except Exception as error:  # noqa: BLE001 - a result that can't be read is the call's outcome
        done, value = False, error
    if done:
        future.set_result(value)
    else:
        future.set_exception(value)


def _start(context: BaseContext) -> _Worker:
    with _starting:
        ours, theirs = context.Pipe()
        process = context.Process(  # type: ignore[attr-defined] # of every concrete context
            target=_work, args=(theirs, os.getpid()), daemon=True
        )
        try:
            process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
    return _Worker(process, ours)


def _end(workers: list[_Worker], *, kill: bool) -> None:
    for worker in workers:
        if kill:
            worker.process.kill()
        else:
            with contextlib.suppress(OSError):
                worker.connection.send_bytes(_STOP)
        worker.connection.close()
    for worker in workers:
        worker.process.join(_STOP_WAIT_S)
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        worker.process.close()
    workers.clear()


# -- in a worker ----------------------------------------------------------------------


def _work(connection: Connection, parent_pid: int) -> None:
    """Answer calls until the pipe ends."""
    # The parent decides what an interrupt means; it ends its workers itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, args=(parent_pid,), daemon=True).start()
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, calls), daemon=True).start()
    with contextlib.suppress(ConnectionError):
        while (message := calls.get()) != _STOP:
            connection.send_bytes(_answer(message))


def _receive(connection: Connection, calls: "queue.SimpleQueue[bytes]") -> None:
    """Read calls while the worker works, so that nobody waits to send one."""
    message = b"more"
    while message != _STOP:
        try:
            message = connection.recv_bytes()
        except (EOFError, OSError):
            message = _STOP
        calls.put(message)


def _answer(message: bytes) -> bytes:
    try:
        fn, args, kwargs = ForkingPickler.loads(message)
        return bytes(ForkingPickler.dumps((True, fn(*args, **kwargs))))
    except Exception as error:  # noqa: BLE001 - whatever a call raises is its outcome
        return _written_error(error)


def _written_error(error: Exception) -> bytes:
    from wayproof.errors import WayproofError

    try:
        if not isinstance(error, WayproofError):
            error.add_note(f"in a worker process:\n{traceback.format_exc()}")
        message = bytes(ForkingPickler.dumps((False, error)))
        ForkingPickler.loads(message)
    except Exception:  # noqa: BLE001 - an error that can't travel is told in words
        told = RuntimeError(f"in a worker process: {type(error).__name__}: {error}")
        return bytes(ForkingPickler.dumps((False, told)))
    return message


def _end_with_parent(parent_pid: int) -> None:
    never = threading.Event()
    while os.getppid() == parent_pid:
        never.wait(_PARENT_CHECK_S)
    os._exit(1)
