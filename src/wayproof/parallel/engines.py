"""Engines of other packages as places to work: Ray (extra ``[ray]``) and Dask (``[dask]``).

An engine runs units on processes of this machine or of a cluster, and runs those again whose
worker or machine is gone. A cluster that this program is already connected to is used as it
is; otherwise one is started on this machine, or the one that the engine's own settings name
(``RAY_ADDRESS``, ``DASK_SCHEDULER_ADDRESS``) is joined, and left again at the end.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from wayproof.errors import InputError, WayproofError

__all__ = ["Place", "engine"]

_RETRIES: Final = 5


class Place(NamedTuple):
    """Where to work.

    Attributes
    ----------
    executor
        What takes units; None for processes of this machine.
    width
        Over how many workers work is worth spreading.
    """

    executor: Executor | None
    width: int


@contextmanager
def engine(name: str | None, processes: int | None) -> Iterator[Place]:
    """Give the executor of an engine.

    Parameters
    ----------
    name
        One of :data:`wayproof.parallel.ENGINES`; None is ``local``.
    processes
        How many processes of this machine; None: one, or as many as there are processors when
        an engine starts them. A cluster that is there already is used with all that it has.

    Raises
    ------
    InputError
        When the engine isn't installed.
    WayproofError
        When it can't be started or reached.
    """
    if name is None or name == "local":
        yield Place(None, processes or 1)
        return
    joined = _ray if name == "ray" else _dask
    with joined(processes or os.cpu_count() or 1) as place:
        yield place


def _missing(name: str) -> InputError:
    return InputError(
        f"{name} is not installed",
        setting="backend",
        mend=f'python -m pip install "wayproof[{name}]"',
    )


class _Translating(Executor):
    """An executor whose futures speak as those of this package's own pool do.

    A unit's own error is raised as it is. That the engine gave up on a unit is a
    :class:`~concurrent.futures.BrokenExecutor`. A unit that was handed out counts as running,
    since it may write files until it is done.
    """

    def __init__(
        self,
        submit: Callable[..., "Future[Any]"],
        own_error: Callable[[BaseException], BaseException],
    ) -> None:
        self._submit = submit
        self._own_error = own_error

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """Hand a unit out."""
        told: Future[Any] = Future()
        told.set_running_or_notify_cancel()

        def tell(done: "Future[Any]") -> None:
            error = done.exception()
            if error is None:
                told.set_result(done.result())
            else:
                told.set_exception(self._own_error(error))

        self._submit(fn, *args, **kwargs).add_done_callback(tell)
        return told


# -- Ray ----------------------------------------------------------------------------------


@contextmanager
def _ray(processes: int) -> Iterator[Place]:
    try:
        import ray
        from ray.exceptions import RayError, RayTaskError
    except ImportError:
        raise _missing("ray") from None

    def own_error(error: BaseException) -> BaseException:
        if isinstance(error, RayTaskError):
            cause: BaseException = getattr(error, "cause", error)
            return cause
        return BrokenExecutor(str(error)) if isinstance(error, RayError) else error

    started = not ray.is_initialized()
    if started:
        # A cluster that is joined has its own size.
        size = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": processes}
        try:
            ray.init(log_to_driver=False, include_dashboard=False, logging_level="warning", **size)
        except (RayError, OSError, RuntimeError, ValueError, ConnectionError) as error:
            raise WayproofError(f"Ray can't be started or reached: {error}") from None
    try:
        task = ray.remote(num_cpus=1, max_retries=_RETRIES)(_called)

        def submit(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> "Future[Any]":
            future: Future[Any] = task.remote(fn, args, kwargs).future()
            return future

        width = max(1, int(ray.cluster_resources().get("CPU", processes)))
        yield Place(_Translating(submit, own_error), width)
    finally:
        if started:
            ray.shutdown()


def _called(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return fn(*args, **kwargs)


# -- Dask ---------------------------------------------------------------------------------


@contextmanager
def _dask(processes: int) -> Iterator[Place]:
    try:
        import dask
        import distributed
    except ImportError:
        raise _missing("dask") from None

    def own_error(error: BaseException) -> BaseException:
        gave_up = (distributed.scheduler.KilledWorker, distributed.CancelledError)
        return BrokenExecutor(str(error)) if isinstance(error, gave_up) else error

    try:
        client, started = distributed.get_client(), False
    except ValueError:
        joins = dask.config.get("scheduler-address", None) is not None
        local = {"dashboard_address": None, "n_workers": processes, "threads_per_worker": 1}
        try:
            client, started = distributed.Client(**({} if joins else local)), True
        except (OSError, RuntimeError, ValueError) as error:
            raise WayproofError(f"Dask can't be started or reached: {error}") from None
    try:
        executor = client.get_executor(pure=False, retries=0)
        width = max(1, sum(client.ncores().values()))
        yield Place(_Translating(executor.submit, own_error), width)
    finally:
        if started:
            client.close()
