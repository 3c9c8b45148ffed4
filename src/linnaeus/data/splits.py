"""Splits of multi-label data that keep the share of every label, however rare.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011): take the label with the fewest documents not yet
placed, and put each of them where this label is wanted most; ties go where most documents are wanted, then to chance.
Rare labels are placed first because they are the ones that can go wrong. The last document of a label goes to the part
that is filled least in all, among those that want the label at all: its share is then a fraction of a document, and if
the largest fraction decided, labels of one or two documents would all go to the largest part. No part stays empty.
Cost: O(nnz (log nnz + n_folds)).
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus.data.dataset import Dataset
from linnaeus.data.kinds import recognise
from linnaeus.errors import DataError, ParameterError
from linnaeus.typing import CSR, BoolArray, IntArray

__all__ = ["by_split", "hash_split", "kfold", "stratified_folds", "train_test_split"]


def train_test_split(
    data: Any, test_size: float = 0.25, *, random_state: int | None = None, stratify: bool = True
) -> tuple[Any, Any]:
    """Two parts: data sets if a `Dataset` is given, row numbers if labels of any kind are.

    Labels are one per document, lists of labels, paths (their last names count) or 0/1 rows.

    Parameters
    ----------
    test_size : share of the documents (a float below 1) or their number (an integer); stratified parts come near it.

    Examples
    --------
    >>> train, test = train_test_split([["a"], ["a"], ["a", "b"], ["b"]] * 5, 0.4, random_state=0)
    >>> len(train), len(test)
    (12, 8)
    """
    Y = _label_matrix(data)
    n_docs = Y.shape[0]
    share = test_size / max(n_docs, 1) if isinstance(test_size, (int, np.integer)) else test_size
    if not 0 < share < 1 or n_docs < 2:
        raise ParameterError(f"test_size must leave documents on both sides of {n_docs:,}; got {test_size!r}.")
    fold = _folds(Y, [1 - share, share], random_state, stratify)
    rows = np.flatnonzero(fold == 0), np.flatnonzero(fold == 1)
    return (data.take(rows[0]), data.take(rows[1])) if isinstance(data, Dataset) else rows


def kfold(
    data: Any, n_splits: int = 5, *, random_state: int | None = None, stratify: bool = True
) -> Iterator[tuple[IntArray, IntArray]]:
    """(training rows, test rows) of each fold.

    Examples
    --------
    >>> [len(test) for _, test in kfold([["a"], ["b"]] * 6, 3, random_state=0)]
    [4, 4, 4]
    """
    Y = _label_matrix(data)
    if not 2 <= n_splits <= Y.shape[0]:
        raise ParameterError(f"n_splits must be between 2 and the number of documents, {Y.shape[0]}; got {n_splits}.")
    fold = _folds(Y, [1 / n_splits] * n_splits, random_state, stratify)
    for k in range(n_splits):
        yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


def hash_split(ids: Iterable[str], k: int) -> BoolArray:
    """Which documents are test documents: those whose md5 of the id, as a number, is divisible by ``k``.

    The part of a document depends on nothing but its id, so that files read in any order split alike.

    Examples
    --------
    >>> hash_split(["399296", "399297", "399298", "399299", "399301"], 2).tolist()
    [True, True, True, False, True]
    """
    digests = (hashlib.md5(i.encode(), usedforsecurity=False).hexdigest() for i in ids)
    return np.array([int(digest, 16) % k == 0 for digest in digests], dtype=bool)


def by_split(data: Dataset) -> dict[str, Dataset]:
    """The parts that the file names, by name.

    Examples
    --------
    >>> data = Dataset(sequences=["AC", "GT"], split=["train", "test"])
    >>> {name: len(part) for name, part in by_split(data).items()}
    {'train': 1, 'test': 1}
    """
    if data.split is None:
        raise DataError(f"{data.source or 'The data set'} names no parts.")
    part = np.array(data.split)
    return {name: data.take(part == name) for name in dict.fromkeys(data.split)}


# -- how documents are placed ------------------------------------------------------------------------------------------


def _folds(Y: CSR, shares: Sequence[float], random_state: int | None, stratify: bool) -> IntArray:
    if stratify:
        fold = stratified_folds(Y, shares, random_state=random_state)
    else:
        order = np.random.default_rng(random_state).permutation(Y.shape[0])
        bounds = np.round(np.cumsum(shares) * Y.shape[0])
        fold = np.empty(Y.shape[0], dtype=np.int64)
        fold[order] = np.minimum(np.searchsorted(bounds, np.arange(Y.shape[0]), side="right"), len(shares) - 1)
    sizes = np.bincount(fold, minlength=len(shares))
    for empty in np.flatnonzero(sizes == 0).tolist():  # small data: a share of less than a document still gets one
        largest = int(np.argmax(sizes))
        fold[np.flatnonzero(fold == largest)[0]] = empty
        sizes[[largest, empty]] += [-1, 1]
    return fold


def stratified_folds(Y: Any, shares: Sequence[float], *, random_state: int | None = None) -> IntArray:
    """Number of the fold of every document, so that every label is spread in the given shares.

    Parameters
    ----------
    Y : n_docs x n_labels 0/1 rows.
    shares : share of the documents that each fold gets; sums to one.
    """
    Y = sparse.csr_array(Y)
    Y = Y[:, np.flatnonzero(np.bincount(Y.indices, minlength=Y.shape[1]))]  # labels without documents want nothing
    rng = np.random.default_rng(random_state)
    place = _Placement(Y, shares, rng)
    columns = sparse.csc_array(Y)
    turn = rng.permutation(Y.shape[1]).tolist()  # equally rare labels in random order, not in that of their names
    queue = [(count, turn[label], label) for label, count in enumerate(place.left)]
    heapq.heapify(queue)
    while queue:
        count, _, label = heapq.heappop(queue)
        if count == 0 or count != place.left[label]:
            continue  # placed meanwhile; a newer entry stands in the queue
        documents = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
        for document in rng.permutation(documents[place.fold[documents] < 0]).tolist():
            for other in place.put(document, label):
                heapq.heappush(queue, (place.left[other], turn[other], other))
    for document in rng.permutation(np.flatnonzero(place.fold < 0)).tolist():  # without labels
        place.put(document, None)
    return place.fold


class _Placement:
    """How many documents each fold still wants, in all and of each label."""

    def __init__(self, Y: CSR, shares: Sequence[float], rng: np.random.Generator) -> None:
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        self.left: list[int] = counts.tolist()
        self.wanted: list[list[float]] = np.outer(counts, shares).tolist()
        self.sizes: list[float] = (np.array(shares) * Y.shape[0]).tolist()
        self.wanted_in_all = list(self.sizes)
        self.fold = np.full(Y.shape[0], -1, dtype=np.int64)
        self.chance = rng.random((Y.shape[0], len(shares)))
        self.indptr, self.indices = Y.indptr.tolist(), Y.indices.tolist()

    def put(self, document: int, label: int | None) -> list[int]:
        """Place a document where its label is wanted most; returns its labels."""
        wanted = self.wanted_in_all if label is None else self.wanted[label]
        if label is not None and self.left[label] == 1:
            unfilled = [a / (size or 1.0) for a, size in zip(self.wanted_in_all, self.sizes, strict=True)]
            wanted = [u if w > 1e-9 else -np.inf for w, u in zip(wanted, unfilled, strict=True)]
        # Rounded, since shares such as 1/3 make wishes that are equal but for the last bit.
        keys = [(round(w, 9), round(a, 9)) for w, a in zip(wanted, self.wanted_in_all, strict=True)]
        best = max(keys)
        tied = [k for k, key in enumerate(keys) if key == best]
        fold = tied[0] if len(tied) == 1 else max(tied, key=lambda k: self.chance[document, k])
        labels = self.indices[self.indptr[document] : self.indptr[document + 1]]
        self.fold[document] = fold
        self.wanted_in_all[fold] -= 1
        for other in labels:
            self.left[other] -= 1
            self.wanted[other][fold] -= 1
        return labels


def _label_matrix(data: Any) -> CSR:
    """Labels of a data set or of any kind as CSR; which column a name gets does not matter."""
    if isinstance(data, Dataset):
        rows = data.labels if data.labels is not None else [[]] * len(data)
    else:
        given = recognise(data)
        if given.indicator is not None:
            return given.indicator
        rows = given.rows or []
    number: dict[str, int] = {}
    found = [{number.setdefault(label, len(number)) for label in row} for row in rows]
    indptr = np.cumsum([0, *map(len, found)])
    indices = np.fromiter((i for row in found for i in row), dtype=np.int32, count=int(indptr[-1]))
    ones = np.ones(len(indices), dtype=np.int8)
    return sparse.csr_array((ones, indices, indptr.astype(np.int32)), shape=(len(found), len(number)))
