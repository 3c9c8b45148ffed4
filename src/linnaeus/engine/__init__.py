"""Where independent blocks of work run. Engines know callables only; results come back in the order of the tasks."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager

from linnaeus.engine.gpu import GPUEngine
from linnaeus.engine.ray import RayEngine
from linnaeus.errors import ParameterError, check_number, nearest
from linnaeus.typing import Engine, R, S, T

__all__ = [
    "GPUEngine",
    "RayEngine",
    "SerialEngine",
    "ThreadEngine",
    "get_engine",
    "local_engine",
    "n_workers",
    "single_blas_thread",
]


_ON_GPU = (
    "OneVsRestSVM, OneVsRestLogistic, RRSVM and RRLogistic with the squared hinge or the logistic loss, "
    "and HBLR(model='M3', inference='map', likelihood='binary')"
)


class SerialEngine:
    """Runs every task in the calling thread."""

    n_workers = 1

    def map(self, function: Callable[[S, T], R], tasks: Iterable[T], shared: S) -> Iterator[R]:
        return (function(shared, task) for task in tasks)


class ThreadEngine:
    """Runs tasks on threads of this process: kernels release the GIL, arrays are shared, nothing is copied.

    At most twice as many results as threads wait at a time, so memory stays bounded.

    Parameters
    ----------
    n_workers : int
        Number of threads.
    """

    def __init__(self, n_workers: int) -> None:
        self.n_workers = n_workers

    def map(self, function: Callable[[S, T], R], tasks: Iterable[T], shared: S) -> Iterator[R]:
        pool = ThreadPoolExecutor(self.n_workers, thread_name_prefix="linnaeus")
        waiting: deque[Future[R]] = deque()
        try:
            for task in tasks:
                waiting.append(pool.submit(function, shared, task))
                if len(waiting) > 2 * self.n_workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # also on Ctrl-C: tasks that have not begun never begin
            pool.shutdown(wait=True, cancel_futures=True)


def n_workers(n_jobs: int | None) -> int:
    """Number of threads that ``n_jobs`` asks for.

    Parameters
    ----------
    n_jobs : int or None
        None is 1, -1 all cores, -2 all but one.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> n_workers(None), n_workers(3)
    (1, 3)
    """
    if n_jobs is None:
        return 1
    check_number("n_jobs", n_jobs, whole=True)
    if n_jobs == 0:
        raise ParameterError("n_jobs=0 has no meaning; expected None, a positive number, or -1 for all cores.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def single_blas_thread() -> AbstractContextManager[object]:
    """A context in which BLAS uses one thread: the engine alone decides how many run, and no result depends on it."""
    from threadpoolctl import threadpool_limits

    limited: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limited


def get_engine(engine: str | Engine | None, n_jobs: int | None, *, gpu: bool = False) -> Engine:
    """The engine for a fit.

    Parameters
    ----------
    engine : {"serial", "threads", "ray", "gpu"} or Engine or None
        By name, as an object, or from ``n_jobs`` when None. If "ray" starts a cluster, it ends when the fit releases
        the engine.
    n_jobs : int or None
        Number of workers; see `n_workers`.
    gpu : bool, default=False
        Whether the fit has a solver for a GPU; other fits refuse one.

    Returns
    -------
    Engine
        Where blocks of work run.
    """
    if engine is None:
        workers = n_workers(n_jobs)
        return SerialEngine() if workers == 1 else ThreadEngine(workers)
    if engine == "serial":
        return SerialEngine()
    if engine == "threads":
        return ThreadEngine(n_workers(-1 if n_jobs is None else n_jobs))
    if engine == "ray":
        return RayEngine(None if n_jobs is None else n_workers(n_jobs))
    if (isinstance(engine, str) and engine != "gpu") or (not isinstance(engine, str) and not hasattr(engine, "map")):
        hint = nearest(engine, ["serial", "threads", "ray", "gpu"]) if isinstance(engine, str) else ""
        raise ParameterError(
            f"engine={engine!r} is unknown; expected 'serial', 'threads', 'ray', 'gpu' or an engine{hint}"
        )
    if not gpu and (engine == "gpu" or isinstance(engine, GPUEngine)):
        raise ParameterError(f"engine='gpu' has no solver for this fit; it trains {_ON_GPU}.")
    return GPUEngine() if isinstance(engine, str) else engine


def local_engine(engine: Engine, n_jobs: int | None) -> Engine:
    """An engine of this process, for arrays that never travel.

    Parameters
    ----------
    engine : Engine
        The engine of the fit.
    n_jobs : int or None
        Threads, where the engine of the fit is a cluster.

    Returns
    -------
    Engine
        The given one, or threads next to a cluster.

    Examples
    --------
    >>> local_engine(SerialEngine(), None).n_workers
    1
    """
    return engine if isinstance(engine, (SerialEngine, ThreadEngine)) else get_engine(None, n_jobs)
