"""Exact duplicates: documents with the same features, or the same text up to case and white space.

Documents are compared by a 128-bit hash, so that n_docs x 16 bytes are held and nothing is compared twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from scipy import sparse

from linnaeus.data.dataset import Dataset
from linnaeus.errors import ParameterError
from linnaeus.typing import IntArray

__all__ = ["drop_duplicates", "drop_overlap", "first_occurrence"]


def first_occurrence(data: Dataset) -> IntArray:
    """Row of the first identical document for every document; its own row if there is none before.

    Examples
    --------
    >>> first_occurrence(Dataset(fields={"text": ["A goal", "a vote", "a  goal"]})).tolist()
    [0, 1, 0]
    """
    seen: dict[bytes, int] = {}
    return np.array([seen.setdefault(digest, row) for row, digest in enumerate(_digests(data))], dtype=np.int64)


def drop_duplicates(data: Dataset, labels: str = "first") -> Dataset:
    """Every document once, the first time it occurs.

    Parameters
    ----------
    labels : "first" keeps the labels of the first, "merge" gives it the labels of all.

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

    Examples
    --------
    >>> train = Dataset(fields={"text": ["a goal"]})
    >>> len(drop_overlap(train, Dataset(fields={"text": ["A goal", "a vote"]})))
    1
    """
    known = set(_digests(train))
    return test.take(np.array([digest not in known for digest in _digests(test)], dtype=bool))


def _digests(data: Dataset) -> Iterator[bytes]:
    """A hash of every document."""
    for content in _contents(data):
        yield hashlib.blake2b(content, digest_size=16).digest()


def _contents(data: Dataset) -> Iterator[bytes]:
    """What makes two documents equal, as bytes."""
    if data.fields is not None:
        for texts in zip(*data.fields.values(), strict=True):
            yield "\0".join(" ".join(text.casefold().split()) for text in texts).encode("utf-8", "surrogatepass")
    elif data.sequences is not None:
        for sequence in data.sequences:
            yield sequence.encode("utf-8", "surrogatepass")
    elif sparse.issparse(data.X):
        X = sparse.csr_array(data.X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        columns, bounds = X.indices.astype(np.int64), X.indptr.tolist()
        for a, b in pairwise(bounds):
            yield columns[a:b].tobytes() + X.data[a:b].tobytes()
    else:
        for row in np.ascontiguousarray(data.X) + 0.0:  # -0.0 and 0.0 are the same value
            yield row.tobytes()
