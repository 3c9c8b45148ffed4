"""Strings as arrays, as model folders keep them: all UTF-8 bytes in one array, and the offset where each begins."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from linnaeus.typing import Array, IntArray, ObjectArray

__all__ = ["packed", "unpacked"]


def packed(terms: Iterable[str]) -> tuple[Array, IntArray]:
    """Terms as an array of bytes and an array of offsets.

    Parameters
    ----------
    terms : iterable of str
        Any strings, also with half surrogate pairs.

    Returns
    -------
    bytes : ndarray of uint8
        All terms in UTF-8, one after the other.
    offsets : ndarray of int
        Where each begins, and the total length.

    Examples
    --------
    >>> packed(["ab", "c"])[1].tolist()
    [0, 2, 3]
    """
    encoded = [term.encode("utf-8", "surrogatepass") for term in terms]
    offsets = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpacked(terms: Array, offsets: IntArray) -> ObjectArray:
    """The inverse of `packed`.

    Parameters
    ----------
    terms : ndarray of uint8
        Bytes of all terms.
    offsets : ndarray of int
        Where each begins.

    Returns
    -------
    ndarray of str
        The terms.

    Examples
    --------
    >>> unpacked(*packed(["ab", "c"])).tolist()
    ['ab', 'c']
    """
    whole = np.asarray(terms, dtype=np.uint8).tobytes()
    bounds = np.asarray(offsets).tolist()
    found = np.empty(len(bounds) - 1, dtype=object)
    found[:] = [whole[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(bounds)]
    return found
