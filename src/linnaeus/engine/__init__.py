"""Where independent blocks of work run. Engines know callables only; results come back in the order of the tasks.

A fit keeps limits: how large blocks may be, how much memory it will take before it starts, how much time is left.

Sizes of blocks follow from memory, never from the number of threads, and so do results. The forecast is

    peak = now + max(preparing, once + n_workers x each worker + weights)

where ``now`` is what the process already holds (including the documents) and ``preparing`` what their preparation takes
temporarily. Under a limit, weights go to disk first, which costs little; then fewer workers run, which costs time; then
an error states the minimum. Pages of memory-mapped files are not counted: the system reclaims them on demand.
"""

from __future__ import annotations

import math
import os
import re
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

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

_BYTES = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BYTES |= {"K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BYTES |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "min": 60.0, "s": 1.0, "": 1.0}


# -- blocks ------------------------------------------------------------------------------------------------------------


def rows_that_fit(row_bytes: int, budget: int = 64 * 2**20, *, least: int = 1) -> int:
    """Number of rows of ``row_bytes`` that fit into ``budget`` bytes.

    Examples
    --------
    >>> rows_that_fit(1024, budget=10_240)
    10
    """
    return max(least, budget // max(1, row_bytes))


def blocks(n: int, size: int) -> Iterator[slice]:
    """Slices of at most ``size`` that cover 0..n.

    Examples
    --------
    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(a, min(a + size, n)) for a in range(0, n, size))


# -- memory ------------------------------------------------------------------------------------------------------------


def parse_bytes(value: object, name: str = "max_memory") -> int:
    """Bytes from a number or a text such as "4GB" (10^9) or "512 MiB" (2^20).

    Examples
    --------
    >>> parse_bytes("4GB"), parse_bytes("1.5 KiB"), parse_bytes(1000)
    (4000000000, 1536, 1000)
    """
    found = re.fullmatch(r"\s*([0-9]*\.?[0-9]+(?:e[0-9]+)?)\s*([A-Za-z]*)\s*", str(value))
    if isinstance(value, bool) or found is None or found[2].upper() not in _BYTES or not float(found[1]) > 0:
        raise ParameterError(f"{_shown(name, value)}; expected bytes as a number, or as '4GB' or '512MiB'.")
    return int(float(found[1]) * _BYTES[found[2].upper()])


def _shown(name: str, value: object) -> str:
    """A value in messages, with the name of a parameter or of an option of a command."""
    return f"{name} {value}" if name.startswith("--") else f"{name}={value!r}"


def format_bytes(n_bytes: float) -> str:
    """Bytes in a readable unit.

    Examples
    --------
    >>> format_bytes(1_234_567_890), format_bytes(20_000), format_bytes(12)
    ('1.23 GB', '20.0 kB', '12 bytes')
    """
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}" if n_bytes >= 100 * size else f"{n_bytes / size:#.3g} {unit}"
    return f"{n_bytes:.0f} bytes"


def own_memory() -> int:
    """Bytes that this process holds, without pages of files where the system distinguishes them.

    Examples
    --------
    >>> own_memory() > 10**6
    True
    """
    try:
        with open("/proc/self/status") as file:
            sizes = dict(line.split(":", 1) for line in file if line.startswith("Rss"))
        return sum(int(sizes[name].split()[0]) for name in ("RssAnon", "RssShmem")) * 1024
    except (OSError, KeyError, ValueError):
        return _peak_so_far()


def available_memory() -> float:
    """Bytes that this process can still get without swapping, within its container; infinite where unknown.

    Examples
    --------
    >>> available_memory() > 0
    True
    """
    found = [math.inf]
    for path, pattern in (("/proc/meminfo", r"MemAvailable:\s+(\d+) kB"), ("/sys/fs/cgroup/memory.max", r"(\d+)\s")):
        try:
            with open(path) as file:
                match = re.search(pattern, file.read())
            if match is not None:
                found.append(int(match[1]) * 1024 if path.startswith("/proc") else int(match[1]) - own_memory())
        except OSError:
            continue
    return min(found)


def _held() -> int:
    """`own_memory` after the C library has returned freed memory to the system, if it can; earlier fits leave a lot."""
    try:
        import ctypes

        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError):
        pass
    return own_memory()


def _peak_so_far() -> int:
    """The peak size so far, for systems that do not report the current size; 0 if it is unknown, too."""
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


@dataclass(frozen=True)
class Forecast:
    """What a fit will take: bytes by name, the number of workers, and whether weights are in memory or on disk.

    Examples
    --------
    >>> once, worker = {"documents": 4 * 10**8}, {"panels": 10**8}
    >>> plan = Forecast(once, worker, n_workers=2, weights=10**9, now=10**8)
    >>> plan.peak
    1700000000
    >>> print(plan)
    memory: 1.70 GB at the peak = 100 MB now + documents 400 MB + 2 x panels 100 MB + weights 1.00 GB
    """

    once: Mapping[str, int]
    each_worker: Mapping[str, int]
    n_workers: int
    weights: int
    merging: int = 0  # memory that weights on disk still need
    preparing: int = 0
    on_disk: bool = False
    now: int = field(default_factory=lambda: _held())

    @property
    def peak(self) -> int:
        """Bytes of the process at the worst moment."""
        # Blocks on disk are merged when the workers are done.
        solving = max(self._workers, self.merging) if self.on_disk else self._workers + self.weights
        return self.now + max(self.preparing, sum(self.once.values()) + solving)

    @property
    def _workers(self) -> int:
        return self.n_workers * sum(self.each_worker.values())

    def __str__(self) -> str:
        terms = [f"{format_bytes(self.now)} now"]
        terms += [f"{name} {format_bytes(size)}" for name, size in self.once.items() if size]
        count = f"{self.n_workers} x " if self.n_workers > 1 else ""
        if self.on_disk and self.merging > self._workers:
            terms.append(f"merging weights {format_bytes(self.merging)}")
        else:
            terms += [f"{count}{name} {format_bytes(size)}" for name, size in self.each_worker.items() if size]
        terms += [] if self.on_disk else [f"weights {format_bytes(self.weights)}"]
        text = f"memory: {format_bytes(self.peak)} at the peak = {' + '.join(terms)}"
        return f"{text}; {format_bytes(self.weights)} on disk" if self.on_disk else text

    def to_dict(self) -> dict[str, object]:
        """All figures as plain values, for JSON."""
        return {
            "peak_bytes": self.peak,
            "now_bytes": self.now,
            "once_bytes": dict(self.once),
            "each_worker_bytes": dict(self.each_worker),
            "n_workers": self.n_workers,
            "preparing_bytes": self.preparing,
            "weights_bytes": self.weights,
            "weights_on_disk": self.on_disk,
        }


def plan_memory(forecast: Forecast, limit: int | None, *, fewer_workers: bool = True) -> Forecast:
    """The forecast changed to stay below ``limit`` bytes: weights on disk, then fewer workers, otherwise an error.

    Examples
    --------
    >>> free = Forecast({"documents": 4 * 10**8}, {"panels": 10**8}, n_workers=4, weights=10**9, now=0)
    >>> plan_memory(free, None) == free
    True
    >>> tight = plan_memory(free, 7 * 10**8)
    >>> tight.on_disk, tight.n_workers, tight.peak
    (True, 3, 700000000)
    >>> plan_memory(free, 10**8)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: The memory limit is 100 MB, but the fit takes at least 500 MB (...); ...
    """
    if limit is None or forecast.peak <= limit:
        return forecast
    workers = range(forecast.n_workers, 0, -1) if fewer_workers else [forecast.n_workers]
    plans = [replace(forecast, n_workers=n, on_disk=on_disk) for n in workers for on_disk in (False, True)]
    for plan in plans:
        if plan.peak <= limit:
            return plan
    least = min(plans, key=lambda plan: plan.peak)
    how = "memory-mapped documents (`linnaeus data convert`) or fewer features take less"
    raise ParameterError(
        f"The memory limit is {format_bytes(limit)}, but the fit takes at least {format_bytes(least.peak)} ({least}); "
        f"{how}."
    )


# -- time --------------------------------------------------------------------------------------------------------------


def parse_seconds(value: object, name: str = "max_time") -> float:
    """Seconds from a number or a text such as "90", "10m" or "1h30m".

    Examples
    --------
    >>> parse_seconds("10m"), parse_seconds("1h30m"), parse_seconds(2.5)
    (600.0, 5400.0, 2.5)
    """
    text = str(value).replace(" ", "").lower()
    parts = re.findall(r"(\d+\.?\d*|\.\d+)(d|h|min|m|s|)", text)
    good = not isinstance(value, bool) and parts and "".join(a + b for a, b in parts) == text
    good = good and (len(parts) == 1 or all(unit for _, unit in parts))
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts) if good else 0.0
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        seconds = float(value)
    if not (seconds > 0 and math.isfinite(seconds)):
        raise ParameterError(
            f"{_shown(name, value)}; expected seconds, or a number with s, m, h or d, such as 90, 10m or 1h30m."
        )
    return seconds


def format_seconds(seconds: float) -> str:
    """Seconds in readable units.

    Examples
    --------
    >>> format_seconds(5400), format_seconds(90), format_seconds(2.5)
    ('1h30m', '1m30s', '2.5s')
    """
    if seconds < 60:
        return f"{seconds:.3g}s"
    parts, rest = [], round(seconds)
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, int(_SECONDS[unit]))
        parts.append(f"{count}{unit}" if count else "")
    return "".join(parts)


class Clock:
    """A time limit that starts on creation; without a limit there is always time left.

    Examples
    --------
    >>> Clock(None).remaining, Clock("1h").over
    (inf, False)
    """

    def __init__(self, limit: object = None) -> None:
        self.limit = math.inf if limit is None else parse_seconds(limit)
        self._start = time.time()  # not the monotonic clock: workers on other machines compare with `deadline`

    @property
    def deadline(self) -> float:
        """Seconds since the epoch at which the limit is reached."""
        return self._start + self.limit

    @property
    def remaining(self) -> float:
        return max(0.0, self.deadline - time.time())

    @property
    def over(self) -> bool:
        return self.remaining <= 0

    def part(self, n_left: float, n_workers: int = 1) -> Clock:
        """A clock of the time that one of ``n_left`` tasks may take, which ``n_workers`` work through, from now on.

        Of tasks of different sizes, ``n_left`` is the size of all that are left over that of this one.

        Examples
        --------
        >>> round(Clock(60).part(6, n_workers=2).remaining), Clock(None).part(6).remaining
        (20, inf)
        """
        part = Clock(None)
        part.limit = min(1.0, n_workers / max(1.0, n_left)) * self.remaining
        return part


_ON_GPU = (
    "OneVsRestSVM, OneVsRestLogistic, RRSVM and RRLogistic with the squared hinge or the logistic loss, "
    "and HBLR(model='M3', inference='map', likelihood='binary')"
)


class SerialEngine:
    """Runs every task in the calling thread.

    Examples
    --------
    >>> list(SerialEngine().map(lambda shared, task: shared * task, [1, 2, 3], 10))
    [10, 20, 30]
    """

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

    Examples
    --------
    >>> list(ThreadEngine(2).map(lambda shared, task: shared * task, [1, 2, 3], 10))
    [10, 20, 30]
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
    """A context in which BLAS uses one thread: the engine alone decides how many run, and no result depends on it.

    Returns
    -------
    context manager
        The limit holds inside of its block.

    Examples
    --------
    >>> with single_blas_thread():
    ...     pass
    """
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

    Examples
    --------
    >>> get_engine("threads", 2).n_workers, get_engine(None, None).n_workers
    (2, 1)
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
