"""Exact duplicates: documents with the same features, or the same text up to case and white space.

Documents are compared by a 128-bit hash, so that n_docs x 16 bytes are kept in memory.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus.data.dataset import Dataset
from linnaeus.errors import ParameterError
from linnaeus.typing import Array, IntArray

__all__ = ["drop_duplicates", "drop_overlap", "first_occurrence", "share_seen", "sketch"]

SKETCH = 64  # number of hashes that represent a set of documents
BLOCK = 4096  # dense rows converted at a time


def first_occurrence(data: Dataset) -> IntArray:
    """Row of the first identical document for every document; its own row if no earlier one is identical.

    Examples
    --------
    >>> first_occurrence(Dataset(fields={"text": ["A goal", "a vote", "a  goal"]})).tolist()
    [0, 1, 0]
    """
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(digest, row) for row, digest in enumerate(_digests(data))], dtype=np.int64)


def drop_duplicates(data: Dataset, labels: str = "first") -> Dataset:
    """Keep the first of identical documents.

    Parameters
    ----------
    data : Dataset
        Documents with or without labels.
    labels : {"first", "merge"}, default="first"
        "first" keeps the labels of the first, "merge" gives it the labels of all.

    Returns
    -------
    Dataset
        The distinct documents.

    Examples
    --------
    >>> data = Dataset(fields={"text": ["a", "b", "a"]}, labels=[["x"], ["y"], ["z"]])
    >>> drop_duplicates(data, labels="merge").labels
    [['x', 'z'], ['y']]
    """
    if labels not in ("first", "merge"):
        raise ParameterError(f"labels must be 'first' or 'merge'; got {labels!r}.")
    first = first_occurrence(data)
    if labels == "merge" and data.labels is not None:
        merged = [list(row) for row in data.labels]
        for row in np.flatnonzero(first != np.arange(len(first))).tolist():
            merged[first[row]] += data.labels[row]
        data = replace(data, labels=[list(dict.fromkeys(row)) for row in merged])
    return data.take(first == np.arange(len(first)))


def drop_overlap(train: Dataset, test: Dataset) -> Dataset:
    """The test documents that do not occur among the training documents.

    Parameters
    ----------
    train : Dataset
        Training documents.
    test : Dataset
        Test documents of the same kind.

    Returns
    -------
    Dataset
        The test documents that remain.

    Examples
    --------
    >>> train = Dataset(fields={"text": ["a goal"]})
    >>> len(drop_overlap(train, Dataset(fields={"text": ["A goal", "a vote"]})))
    1
    """
    precision = min((_precision(data) for data in (train, test)), key=lambda dtype: dtype.itemsize)
    known = set(_digests(train, precision))
    return test.take(np.array([digest not in known for digest in _digests(test, precision)], dtype=bool))


def sketch(data: Dataset, size: int = SKETCH) -> list[str]:
    """The smallest hashes of the documents, a sample that `share_seen` looks for among other documents.

    Parameters
    ----------
    data : Dataset
        Documents.
    size : int, default=64
        Maximum number of hashes.

    Returns
    -------
    list of str
        Hashes in hexadecimal digits, in increasing order.

    Examples
    --------
    >>> len(sketch(Dataset(fields={"text": ["a goal", "a vote", "A goal"]})))
    2
    """
    return [digest.hex() for digest in heapq.nsmallest(size, set(_digests(data)))]


def share_seen(data: Dataset, seen: Sequence[str]) -> float:
    """An estimate of the share of documents that occur among others, of which only the `sketch` is known.

    The sketch says for every hash up to its largest whether it occurs; documents with such hashes are a random sample.

    Parameters
    ----------
    data : Dataset
        Documents.
    seen : sequence of str
        The sketch of the other documents.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> train = Dataset(fields={"text": ["a goal", "a vote"]})
    >>> share_seen(Dataset(fields={"text": ["A goal", "a vote", "rain", "snow"]}), sketch(train))
    0.5
    """
    known, largest = set(seen), max(seen, default="") if len(seen) >= SKETCH else "g"  # "g" is above all hashes
    sample = [digest.hex() in known for digest in _digests(data) if digest.hex() <= largest]
    return sum(sample) / max(1, len(sample))


def _precision(data: Dataset) -> np.dtype[Any]:
    """The floating-point dtype of the features; integers are compared as float64."""
    X = data.X
    return X.dtype if X is not None and X.dtype.kind == "f" else np.dtype(np.float64)


def _digests(data: Dataset, precision: np.dtype[Any] | None = None) -> Iterator[bytes]:
    """A hash of every document; 0.1 read in single precision equals 0.1 only in single ``precision``."""
    for content in _contents(data, precision or _precision(data)):
        yield hashlib.blake2b(content, digest_size=16).digest()


def _contents(data: Dataset, precision: np.dtype[Any]) -> Iterator[bytes]:
    """The content of each document as bytes that are equal for equal documents."""
    if data.fields is not None:
        for texts in zip(*(data.fields[name] for name in sorted(data.fields)), strict=True):
            yield "\0".join(" ".join(text.casefold().split()) for text in texts).encode("utf-8", "surrogatepass")
    elif data.sequences is not None:
        for sequence in data.sequences:
            yield sequence.encode("utf-8", "surrogatepass")
    elif sparse.issparse(data.X):
        X = sparse.csr_array(data.X, copy=True)
        X.sum_duplicates()
        X.data = _values(X.data, precision)
        X.eliminate_zeros()
        columns, bounds = X.indices.astype(np.int64), X.indptr.tolist()
        for a, b in pairwise(bounds):
            yield columns[a:b].tobytes() + X.data[a:b].tobytes()
    else:
        X = np.asarray(data.X)
        for start in range(0, len(X), BLOCK):
            yield from (row.tobytes() for row in _values(X[start : start + BLOCK], precision))


def _values(array: Array, precision: np.dtype[Any]) -> Array:
    """Equal values as equal bytes: one precision, one zero, one NaN."""
    with np.errstate(over="ignore"):
        values = array.astype(precision) + precision.type(0)
    values[np.isnan(values)] = np.nan
    return values
