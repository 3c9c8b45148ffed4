"""Rows of a CSR pattern as bare arrays: row r holds ``indices[indptr[r]:indptr[r + 1]]``."""

from __future__ import annotations

import numpy as np

from linnaeus.typing import BoolArray, IntArray

__all__ = ["pointers", "row_numbers", "select"]


def pointers(sizes: IntArray | BoolArray) -> IntArray:
    """``indptr`` of rows of these sizes.

    Examples
    --------
    >>> pointers(np.array([2, 0, 1])).tolist()
    [0, 2, 2, 3]
    """
    indptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=indptr[1:])
    return indptr


def row_numbers(indptr: IntArray) -> IntArray:
    """The row of every entry.

    Examples
    --------
    >>> row_numbers(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))


def select(indptr: IntArray, indices: IntArray, keep: BoolArray) -> tuple[IntArray, IntArray]:
    """The rows with those entries only that ``keep`` marks.

    Examples
    --------
    >>> indptr, indices = select(np.array([0, 2, 3]), np.array([4, 7, 5]), np.array([True, False, True]))
    >>> indptr.tolist(), indices.tolist()
    ([0, 1, 2], [4, 5])
    """
    return pointers(keep)[indptr], indices[keep]
