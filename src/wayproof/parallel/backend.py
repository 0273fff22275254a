"""Where work is done: in this process, in worker processes, or on any executor.

A *unit of work* is a function of the top level of a module and its arguments. It may run
anywhere, and it may run twice, even at the same time (an engine that thinks a machine
lost runs its units again): so it writes only under names of its own (:func:`unit_folder`)
and says in its result what they are. Results come back in the order of the units, so
they don't depend on who did what.
"""

import hashlib
import pickle
import tempfile
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from wayproof.errors import WayproofError

__all__ = ["MAX_PROCESSES", "Backend", "Shared", "backend", "unit_folder"]

MAX_PROCESSES = 64
_UNITS_PER_WORKER = 3
_CACHED_STATES = 2
_T = TypeVar("_T")


class Backend:
    """Does units of work; made by :func:`backend`.

    Attributes
    ----------
    width
        How many units are worth making side by side; 1 where they are done in this process.
    is_remote
        Whether units may run outside this process, so that whatever they need has to be
        on disk or among their arguments.
    """

    def __init__(self, executor: Executor | None, width: int, *, waits: bool) -> None:
        self._executor = executor
        self._waits = waits
        self.width = width
        self.is_remote = executor is not None

    def map(
        self, unit: Callable[..., _T], arguments: Iterable[tuple[Any, ...]]
    ) -> Generator[_T, None, None]:
        """Yield ``unit(*row)`` for each row of ``arguments``, in their order.

        A bounded number of units is under way, so neither arguments nor results pile up.
        The first unit in order that raises is the one whose error is raised; the rest are
        cancelled then, and when the generator is closed early.
        """
        if self._executor is None:
            for row in arguments:
                yield unit(*row)
            return
        window: deque[Future[_T]] = deque()
        try:
            for row in arguments:
                window.append(self._executor.submit(unit, *row))
                if len(window) > _UNITS_PER_WORKER * self.width:
                    yield window.popleft().result()
            while window:
                yield window.popleft().result()
        finally:
            running = [future for future in window if not future.cancel()]
            if self._waits:  # what runs elsewhere must not write into folders that are gone
                wait(running)


@contextmanager
def backend(processes: int = 1, executor: Executor | None = None) -> Iterator[Backend]:
    """Give the place where work is done.

    Parameters
    ----------
    processes
        How many worker processes of this machine share the work; 1 does it here. With
        ``executor``, over how many of its workers the work is spread.
    executor
        Any ``concurrent.futures`` executor. It is used as it is and not shut down.

    Raises
    ------
    WayproofError
        When a worker died (exit status 2).
    """
    try:
        if executor is not None:
            yield Backend(executor, processes, waits=True)
        elif processes == 1:
            yield Backend(None, 1, waits=False)
        else:
            from wayproof.parallel.pool import ProcessPool

            pool = ProcessPool(processes)
            try:
                yield Backend(pool, processes, waits=False)
            finally:
                pool.stop()
    except BrokenExecutor:
        raise WayproofError(
            "a worker process was killed (out of memory?); nothing was written"
        ) from None


def unit_folder(parent: Path, name: str) -> Path:
    """Make a folder that this run of a unit has to itself, even if the unit runs twice."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=parent))


# -- what all units of a run need -----------------------------------------------------

_states: OrderedDict[str, Any] = OrderedDict()
_states_lock = threading.Lock()


class Shared(Generic[_T]):
    """State that every unit of a run needs: written once, read once by each process.

    The handle is small and goes to any worker: one that was forked from here finds the
    state in its memory, another reads it from ``path``, which it has to be able to reach.
    The state must not change. Small state is simpler passed as an argument.

    Parameters
    ----------
    value
        What is shared; it has to be picklable.
    path
        Where it is written.
    """

    def __init__(self, value: _T, path: Path) -> None:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._path = path
        self._sha256 = hashlib.sha256(data).hexdigest()
        path.write_bytes(data)
        with _states_lock:
            _remember(self._sha256, value)

    def get(self) -> _T:
        """Return the state.

        Raises
        ------
        WayproofError
            When the file can't be read, or is not the one that was written.
        """
        with _states_lock:
            if self._sha256 not in _states:
                _remember(self._sha256, self._read())
            value: _T = _states[self._sha256]
        return value

    def _read(self) -> Any:
        try:
            data = self._path.read_bytes()
        except OSError as error:
            raise WayproofError(
                f"a worker can't read the run's shared state: {error.strerror} "
                "(workers on other machines need a folder that all of them see)"
            ) from None
        if hashlib.sha256(data).hexdigest() != self._sha256:
            raise WayproofError("a worker found another run's shared state in its place")
        return pickle.loads(data)  # noqa: S301 - its digest says that the parent wrote it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with _states_lock:
            _states.pop(self._sha256, None)


def _remember(sha256: str, value: Any) -> None:
    _states[sha256] = value
    while len(_states) > _CACHED_STATES:  # a worker that lives on serves other runs
        _states.popitem(last=False)
