"""Splits of multi-label data that keep the share of every label, however rare.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas, 2011): take the label with the fewest documents not yet
assigned, and assign each of them to the part that lacks most documents of this label; ties are decided by the number of
documents that a part lacks in all, then at random. Rare labels come first because they are the most difficult to
distribute. The last document of a label goes to the least filled part among those that lack the label: parts then lack
only a fraction of a document, and if the largest fraction decided, labels of one or two documents would all go to the
largest part. No part is empty. Cost: O(nnz (log nnz + n_folds)).

Exact duplicates are found here as well: documents with the same features, or the same text up to case and white space.

Documents are compared by a 128-bit hash, so that n_docs x 16 bytes are kept in memory.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias, overload

import numpy as np
from scipy import sparse

from linnaeus.data.check import recognise
from linnaeus.data.dataset import Dataset
from linnaeus.errors import DataError, ParameterError
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, Array, BoolArray, IntArray, Matrix

__all__ = [
    "by_split",
    "drop_duplicates",
    "drop_overlap",
    "first_occurrence",
    "hash_split",
    "kfold",
    "share_seen",
    "sketch",
    "stratified_folds",
    "train_test_split",
]

Labels: TypeAlias = Sequence[object] | Matrix  # one label or a list of labels per document, paths, or 0/1 rows


@overload
def train_test_split(
    data: Dataset, test_size: float = ..., *, random_state: int | None = ..., stratify: bool = ...
) -> tuple[Dataset, Dataset]: ...
@overload
def train_test_split(
    data: Labels, test_size: float = ..., *, random_state: int | None = ..., stratify: bool = ...
) -> tuple[IntArray, IntArray]: ...
def train_test_split(
    data: Dataset | Labels, test_size: float = 0.25, *, random_state: int | None = None, stratify: bool = True
) -> tuple[Dataset, Dataset] | tuple[IntArray, IntArray]:
    """Split documents into a training and a test part.

    Parameters
    ----------
    data : Dataset or labels
        A data set, or the labels of the documents: one per document, lists of labels, paths (their last names count)
        or 0/1 rows.
    test_size : float or int, default=0.25
        Share of the test documents (a float below 1) or their number (an integer); approximate if stratified.
    random_state : int, default=None
        Seed.
    stratify : bool, default=True
        Whether both parts get the same share of every label.

    Returns
    -------
    tuple of Dataset or of int arrays
        The training and the test part: data sets if a `Dataset` is given, otherwise row numbers.

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
        raise ParameterError(
            f"test_size must leave documents in both parts of {n_docs:,} documents; got {test_size!r}."
        )
    fold = _folds(Y, [1 - share, share], random_state, stratify)
    rows = np.flatnonzero(fold == 0), np.flatnonzero(fold == 1)
    return (data.take(rows[0]), data.take(rows[1])) if isinstance(data, Dataset) else rows


def kfold(
    data: Dataset | Labels, n_splits: int = 5, *, random_state: int | None = None, stratify: bool = True
) -> Iterator[tuple[IntArray, IntArray]]:
    """Training and test rows of each fold of a cross-validation.

    Parameters
    ----------
    data : Dataset or labels
        A data set, or the labels of the documents, see `train_test_split`.
    n_splits : int, default=5
        Number of folds.
    random_state : int, default=None
        Seed.
    stratify : bool, default=True
        Whether every fold gets the same share of every label.

    Yields
    ------
    train, test : int array
        Row numbers of the training and of the test documents of a fold.

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
    """Select test documents: those whose md5 of the id, as a number, is divisible by ``k``.

    The part of a document depends only on its id, so that it does not change with the order of the files.

    Parameters
    ----------
    ids : iterable of str
        Ids of the documents.
    k : int
        One of ``k`` documents is a test document, on average.

    Returns
    -------
    bool array of shape (n_docs,)
        Whether each document is a test document.

    Examples
    --------
    >>> hash_split(["399296", "399297", "399298", "399299", "399301"], 2).tolist()
    [True, True, True, False, True]
    """
    digests = (hashlib.md5(i.encode(), usedforsecurity=False).hexdigest() for i in ids)
    return np.array([int(digest, 16) % k == 0 for digest in digests], dtype=bool)


def by_split(data: Dataset) -> dict[str, Dataset]:
    """The parts of a data set by the names in its file.

    Examples
    --------
    >>> data = Dataset(sequences=["AC", "GT"], split=["train", "test"])
    >>> {name: len(part) for name, part in by_split(data).items()}
    {'train': 1, 'test': 1}
    """
    if data.split is None:
        raise DataError(f"{data.source or 'The data set'} is not divided into parts.")
    part = np.array(data.split)
    return {name: data.take(part == name) for name in dict.fromkeys(data.split)}


# -- assignment to parts -----------------------------------------------------------------------------------------------


def _folds(Y: CSR, shares: Sequence[float], random_state: int | None, stratify: bool) -> IntArray:
    if stratify:
        fold = stratified_folds(Y, shares, random_state=random_state)
    else:
        order = np.random.default_rng(random_state).permutation(Y.shape[0])
        bounds = np.round(np.cumsum(shares) * Y.shape[0])
        fold = np.empty(Y.shape[0], dtype=np.int64)
        fold[order] = np.minimum(np.searchsorted(bounds, np.arange(Y.shape[0]), side="right"), len(shares) - 1)
    sizes = np.bincount(fold, minlength=len(shares))
    for empty in np.flatnonzero(sizes == 0).tolist():  # a share of less than one document still gets one
        largest = int(np.argmax(sizes))
        fold[np.flatnonzero(fold == largest)[0]] = empty
        sizes[[largest, empty]] += [-1, 1]
    return fold


def stratified_folds(Y: Matrix, shares: Sequence[float], *, random_state: int | None = None) -> IntArray:
    """Number of the fold of every document, so that every label is distributed in the given shares.

    Parameters
    ----------
    Y : matrix of shape (n_docs, n_labels)
        0/1 rows.
    shares : sequence of float
        Share of the documents that each fold gets; the sum is 1.
    random_state : int, default=None
        Seed.

    Returns
    -------
    int array of shape (n_docs,)
        The number of the fold of each document.
    """
    rows = sparse.csr_array(Y)
    rows = rows[:, np.flatnonzero(np.bincount(rows.indices, minlength=rows.shape[1]))]  # only labels with documents
    rng = np.random.default_rng(random_state)
    place = _Placement(rows, shares, rng)
    columns = sparse.csc_array(rows)
    turn = rng.permutation(rows.shape[1]).tolist()  # equally rare labels are taken in random order
    queue = [(count, turn[label], label) for label, count in enumerate(place.left)]
    heapq.heapify(queue)
    while queue:
        count, _, label = heapq.heappop(queue)
        if count == 0 or count != place.left[label]:
            continue  # outdated; a newer entry is in the queue
        documents = columns.indices[columns.indptr[label] : columns.indptr[label + 1]]
        for document in rng.permutation(documents[place.fold[documents] < 0]).tolist():
            for other in place.put(document, label):
                heapq.heappush(queue, (place.left[other], turn[other], other))
    for document in rng.permutation(np.flatnonzero(place.fold < 0)).tolist():  # without labels
        place.put(document, None)
    return place.fold


class _Placement:
    """Number of documents that each fold still lacks, in all and of each label."""

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
        """Assign a document to the fold that lacks most documents of a label; returns the labels of the document."""
        wanted = self.wanted_in_all if label is None else self.wanted[label]
        if label is not None and self.left[label] == 1:
            unfilled = [a / (size or 1.0) for a, size in zip(self.wanted_in_all, self.sizes, strict=True)]
            wanted = [u if w > 1e-9 else -np.inf for w, u in zip(wanted, unfilled, strict=True)]
        # Rounded, because with shares such as 1/3 equal numbers may differ in the last bit.
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


def _label_matrix(data: Dataset | Labels) -> CSR:
    """Labels of a data set or of any kind as CSR; the order of the columns does not matter."""
    if isinstance(data, Dataset):
        rows = data.labels if data.labels is not None else [[]] * len(data)
    else:
        given = recognise(data)
        if given.indicator is not None:
            return given.indicator
        rows = given.rows or []
    number: dict[str, int] = {}
    found = [{number.setdefault(label, len(number)) for label in row} for row in rows]
    indptr = pointers(list(map(len, found)))
    indices = np.fromiter((i for row in found for i in row), dtype=np.int32, count=int(indptr[-1]))
    ones = np.ones(len(indices), dtype=np.int8)
    return sparse.csr_array((ones, indices, indptr.astype(np.int32)), shape=(len(found), len(number)))


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
