"""Blocks on threads of this process: kernels release the GIL, arrays are shared, nothing is copied."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from linnaeus.typing import R, S, T

__all__ = ["ThreadEngine"]


class ThreadEngine:
    """Runs tasks on ``n_workers`` threads; at most twice as many results wait at a time, so memory stays bounded."""

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
