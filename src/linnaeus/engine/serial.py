"""One block after the other, in the calling thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from linnaeus.typing import R, S, T

__all__ = ["SerialEngine"]


class SerialEngine:
    """Runs every task in the calling thread."""

    n_workers = 1

    def map(self, function: Callable[[S, T], R], tasks: Iterable[T], shared: S) -> Iterator[R]:
        return (function(shared, task) for task in tasks)
