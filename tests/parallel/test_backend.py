"""Units of work: anywhere, in order, twice if need be, and never waited for in vain."""

import multiprocessing
import os
import signal
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from wayproof.errors import InputError, WayproofError
from wayproof.parallel.backend import Backend, Shared, backend, unit_folder
from wayproof.parallel.pool import ProcessPool

needs_kill = pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")


def _square(number: int) -> int:
    time.sleep(0.002 * (number % 3))
    return number * number


def _rows(count: int) -> Iterator[tuple[int]]:
    return ((number,) for number in range(count))


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_come_in_the_order_of_the_units(processes: int) -> None:
    """Who did a unit, and when it was done, can't be told from the results."""
    with backend(processes) as workers:
        assert list(workers.map(_square, _rows(50))) == [number**2 for number in range(50)]


@pytest.mark.parametrize("processes", [1, 2])
def test_neither_arguments_nor_results_pile_up(processes: int) -> None:
    """Arguments are taken as results are: a suite of any size needs a few units of memory."""
    taken = 0

    def rows() -> Iterator[tuple[int]]:
        nonlocal taken
        for number in range(200):
            taken += 1
            yield (number,)

    with backend(processes) as workers:
        for done, _ in enumerate(workers.map(_square, rows()), 1):
            assert taken - done <= 3 * processes


def _refuse(number: int) -> int:
    time.sleep(0.05 if number == 4 else 0)
    if number >= 4:
        raise InputError("no such number", field=f"row {number}", found=str(number))
    return number


def _slip(number: int) -> int:
    return 1 // number


def test_the_first_error_in_order_is_the_one_that_is_raised() -> None:
    """A later unit that fails sooner doesn't decide which bad line is named."""
    with pytest.raises(InputError, match="row 4: no such number; found 4"), backend(2) as workers:
        list(workers.map(_refuse, _rows(20)))


def test_a_defect_in_a_worker_says_where_it_was() -> None:
    """The traceback of another process is not lost."""
    with pytest.raises(ZeroDivisionError) as caught, backend(2) as workers:
        list(workers.map(_slip, [(0,)]))
    assert "in _slip" in "".join(caught.value.__notes__)


class _Untold(Exception):  # noqa: N818 - an error that can't be pickled back
    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def _raise_untold() -> None:
    raise _Untold(1, 2)


def _unpicklable() -> Callable[[], None]:
    return lambda: None


@pytest.mark.parametrize(
    ("unit", "words"),
    [(_raise_untold, "_Untold: 1 and 2"), (_unpicklable, "pickle"), (_unpicklable(), "pickle")],
)
def test_what_cannot_travel_is_an_error_and_no_wait(unit: Callable[[], Any], words: str) -> None:
    """A result, an error or a unit that can't be sent is the outcome of its unit."""
    with pytest.raises(Exception, match=words), backend(2) as workers:
        list(workers.map(unit, [()]))


def _die(how: str) -> bytes:
    if how == "idle":
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGKILL)).start()
        return b""
    if how == "half":
        frame = sys._getframe()
        while frame.f_code.co_name != "_work":
            assert frame.f_back is not None
            frame = frame.f_back
        pipe: Connection = frame.f_locals["connection"]
        os.write(pipe.fileno(), struct.pack("!i", 1_000_000) + b"the first bytes of a result")
    os.kill(os.getpid(), signal.SIGKILL)
    return b""


def _slow(_: int) -> None:
    time.sleep(0.3)


@needs_kill
@pytest.mark.timeout(30)
@pytest.mark.parametrize("how", ["working", "half", "idle"])
def test_a_killed_worker_ends_the_run(how: str) -> None:
    """Killed at work, amid its result or between two units: the run ends, with exit status 2."""
    with (
        pytest.raises(WayproofError, match="worker process was killed") as caught,
        backend(3) as workers,
    ):
        deque(chain(workers.map(_die, [(how,)]), workers.map(_slow, _rows(6))))
    assert caught.value.exit_status == 2
    assert multiprocessing.active_children() == []


@needs_kill
@pytest.mark.timeout(30)
def test_a_broken_pool_takes_no_more_work() -> None:
    """Whoever submits later hears of it at once."""
    pool = ProcessPool(2)
    first = pool.submit(_die, "working")
    with pytest.raises(BrokenExecutor, match="a worker process died"):
        first.result(20)
    with pytest.raises(BrokenExecutor, match="a worker process died"):
        pool.submit(_square, 1)
    pool.shutdown()
    pool.stop()


def _echo(data: bytes) -> bytes:
    return data


@pytest.mark.timeout(60)
def test_large_calls_and_results_do_not_wait_for_each_other() -> None:
    """Calls that fill a pipe are read while results that fill it are written."""
    data = bytes(4 << 20)
    with backend(2) as workers:
        assert all(found == data for found in workers.map(_echo, ((data,) for _ in range(30))))


def test_leaving_early_leaves_no_process() -> None:
    """Work that nobody wants any more is not waited for."""
    started = time.monotonic()
    with backend(2) as workers:
        units = workers.map(time.sleep, [(0,), *[(30,)] * 5])
        next(units)
    assert time.monotonic() - started < 10
    assert multiprocessing.active_children() == []


def test_a_pool_is_an_executor() -> None:
    """It can be handed to whatever takes one: submit, cancel, shutdown, callbacks."""
    pool = ProcessPool(1)
    again: list[Future[int]] = []
    first = pool.submit(_square, 3)
    first.add_done_callback(lambda _: again.append(pool.submit(_square, 4)))
    assert first.result(10) == 9
    busy, _ahead, dropped = (pool.submit(_slow, number) for number in range(3))
    assert dropped.cancel()
    pool.shutdown()
    assert busy.done()
    assert [future.result(10) for future in again] == [16]
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(_square, 1)


def _spawning() -> Executor:
    return ProcessPoolExecutor(2, multiprocessing.get_context("spawn"))


@pytest.mark.parametrize("make", [lambda: ThreadPoolExecutor(2), _spawning])
def test_any_executor_will_do(make: Callable[[], Executor], tmp_path: Path) -> None:
    """Also one whose workers share no memory with us; it is left running."""
    with make() as executor, Shared({"factor": 7}, tmp_path / "state") as shared:
        with backend(2, executor) as workers:
            assert workers.is_remote
            assert list(workers.map(_times, ((shared, n) for n in range(9)))) == [
                7 * n for n in range(9)
            ]
        assert executor.submit(_square, 3).result() == 9


def _times(shared: Shared[dict[str, int]], number: int) -> int:
    return shared.get()["factor"] * number


def test_shared_state_is_written_once_and_is_what_was_written(tmp_path: Path) -> None:
    """A worker that finds another file in its place says so and computes nothing."""
    path = tmp_path / "state"
    with Shared([1, 2], path) as shared:
        path.unlink()
        assert shared.get() == [1, 2]  # this process, and all that fork from it, remember
    with pytest.raises(WayproofError, match="shared state: No such file"):
        shared.get()
    path.write_bytes(b"another run's")
    with pytest.raises(WayproofError, match="another run's shared state"):
        shared.get()


class Twice(Executor):
    """An engine that believes every machine lost: it runs each unit twice, side by side."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(4)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        first = self._threads.submit(fn, *args, **kwargs)
        second = self._threads.submit(fn, *args, **kwargs)
        first.exception()
        return second

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._threads.shutdown(wait, cancel_futures=cancel_futures)


def _write_once(folder: Path, number: int) -> Path:
    mine = unit_folder(folder, f"unit-{number}")
    with (mine / "lines").open("xb") as file:
        file.write(b"%d\n" % number)
    return mine / "lines"


def test_a_unit_that_runs_twice_does_no_harm(tmp_path: Path) -> None:
    """Each run of a unit writes under a name of its own and says which."""
    with Twice() as executor, backend(2, executor) as workers:
        paths = list(workers.map(_write_once, ((tmp_path, number) for number in range(5))))
    assert [path.read_bytes() for path in paths] == [b"%d\n" % number for number in range(5)]
    assert len(list(tmp_path.iterdir())) == 10


def test_the_default_is_this_process() -> None:
    """One process needs no pool, no pickling and no files."""
    with backend() as workers:
        assert isinstance(workers, Backend)
        assert not workers.is_remote
        assert [found() for found in workers.map(_unpicklable, [()])] == [None]
