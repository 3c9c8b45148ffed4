"""How large blocks may be: sizes follow from memory, never from the number of threads, and so do results."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["blocks", "rows_that_fit"]


def rows_that_fit(row_bytes: int, budget: int = 64 * 2**20, *, least: int = 1) -> int:
    """How many rows of ``row_bytes`` fit into ``budget`` bytes.

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
