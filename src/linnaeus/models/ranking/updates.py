"""Documents, classes and weights of mistake-driven rankers, and visits of documents that update the weights.

`RankedClasses` describes the classes, `AttributeWeights` is what was learned so far:

    W (n_rows x n_attributes)     the weights now
    U (n_rows x n_attributes)     sum over steps l of (l - 1) x what step l added
    mean of all steps             W - U / steps

Rows are features; in the dual they are training documents. A `DocumentSource` provides documents as rows of features,
or as rows of a Gram matrix, some at a time. Nothing here decides when to stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnaeus._kernels import dispatch
from linnaeus.data.matrices import is_sparse
from linnaeus.engine import blocks, rows_that_fit
from linnaeus.errors import ParameterError
from linnaeus.losses.cost import PairCost
from linnaeus.models.kernels import Linear, row_products
from linnaeus.typing import CSR, Array, FloatArray, IntArray, Kernel, Matrix

__all__ = [
    "AUGMENTED",
    "HIERON",
    "PERCEPTRON",
    "AttributeWeights",
    "DocumentSource",
    "FeatureSource",
    "GramSource",
    "PairVisits",
    "RankedClasses",
    "RankedDocuments",
    "kernel_scores",
    "stacked",
    "visit",
]

PERCEPTRON, HIERON, AUGMENTED = 0, 1, 2
_ROWS = 2048  # of weights at a time, where they are brought together
_CHUNK = 2**14  # documents between two updates of the progress bar
_WHOLE_GRAM = 2**28  # bytes up to which a Gram matrix is computed once, not in every pass


@dataclass(frozen=True)
class RankedClasses:
    """Attributes (n_classes x n_attributes, CSR) and costs of pairs of the classes that are ranked."""

    attributes: CSR
    cost: PairCost

    @property
    def n_classes(self) -> int:
        return int(self.attributes.shape[0])

    @property
    def n_attributes(self) -> int:
        return int(self.attributes.shape[1])

    @cached_property
    def arrays(self) -> tuple[Array | bool, ...]:
        """The arguments of the kernel that describe classes."""
        L, cost = self.attributes, self.cost
        places = cost.pattern
        return (
            *(L.indptr.astype(np.int64), _some(L.indices.astype(np.int32)), _some(L.data.astype(np.float64))),
            *(places.indptr.astype(np.int64), _some(places.indices.astype(np.int32))),
            *(_some(np.ascontiguousarray(a, dtype=np.float64)) for a in (cost.miss, cost.extra, cost.scale)),
            np.ascontiguousarray(cost.matrix, dtype=np.float64),
        )

    @cached_property
    def room(self) -> int:
        """Attributes of two classes, at most."""
        return max(1, 2 * int(np.diff(self.attributes.indptr).max(initial=0)))


@dataclass
class AttributeWeights:
    """What has been learned after ``steps`` steps; U has no rows where no mean is wanted (``averaged``)."""

    W: FloatArray
    U: FloatArray
    steps: int = 0
    averaged: bool = True

    @classmethod
    def zeros(cls, n_rows: int, n_attributes: int, dtype: npt.DTypeLike, *, averaged: bool) -> AttributeWeights:
        U = np.zeros((n_rows if averaged else 0, n_attributes))
        return cls(np.zeros((n_rows, n_attributes), dtype), U, averaged=averaged)

    @property
    def answer(self) -> FloatArray:
        """The mean of all steps, or the weights now."""
        if not self.averaged or not self.steps:
            return self.W
        found = np.empty_like(self.W)
        for part in blocks(len(found), _ROWS):
            found[part] = self.rows(part)
        return found

    def rows(self, part: slice) -> FloatArray:
        """Some rows of the answer, in double precision."""
        W = self.W[part].astype(np.float64)
        return W - self.U[part] / self.steps if self.averaged and self.steps else W

    def of_classes(self, attributes: CSR) -> FloatArray:
        """AttributeWeights of classes (n_rows x n_classes): the answer times the attributes of every class."""
        found = np.empty((len(self.W), attributes.shape[0]), self.W.dtype)
        for part in blocks(len(found), _ROWS):
            found[part] = (attributes @ self.rows(part).T).T
        return found

    def placed(self, rows: IntArray, n_rows: int, columns: IntArray, n_columns: int) -> AttributeWeights:
        """The same weights at other rows and columns; what is new is 0."""
        W = np.zeros((n_rows, n_columns), self.W.dtype)
        W[np.ix_(rows, columns)] = self.W
        U = np.zeros((n_rows if self.averaged else 0, n_columns))
        if self.averaged:
            U[np.ix_(rows, columns)] = self.U
        return AttributeWeights(W, U, self.steps, self.averaged)

    def only(self, rows: IntArray | slice = slice(None), columns: IntArray | slice = slice(None)) -> AttributeWeights:
        """Copies of some rows and columns."""
        U = self.U[rows] if self.averaged else self.U
        return AttributeWeights(self.W[rows][:, columns].copy(), U[:, columns].copy(), self.steps, self.averaged)


@dataclass(frozen=True)
class RankedDocuments:
    """Rows by which documents are scored and, where these are others, rows by which they are learned.

    ``labels`` (n_docs x n_classes, CSR, sorted) are the right classes, ``weight`` multiplies what a document teaches.
    """

    scored: Matrix
    labels: CSR
    squared_norm: FloatArray
    weight: FloatArray
    learned: Matrix | None = None

    @cached_property
    def arrays(self) -> tuple[Array | bool, ...]:
        """The arguments of the kernel that describe documents."""
        scored = _rows(self.scored)
        learned = scored if self.learned is None else _rows(self.learned)
        labels = self.labels.indptr.astype(np.int64), _some(self.labels.indices.astype(np.int32))
        return *scored, *learned, self.squared_norm, self.weight, *labels


@dataclass(frozen=True)
class PairVisits:
    """What visits have taught: pair (right, wrong) of classes, -1 for nothing, and the size of the step."""

    right: IntArray
    wrong: IntArray
    size: FloatArray

    @property
    def n_updates(self) -> int:
        return int((self.right >= 0).sum())


def visit(
    documents: RankedDocuments, order: IntArray, classes: RankedClasses, weights: AttributeWeights, rule: int
) -> PairVisits:
    """Visit documents in an order; ``weights`` move in place."""
    n, dtype = len(order), weights.W.dtype
    found = PairVisits(np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n))
    kernel = dispatch.best("perceptron")
    weights.steps = kernel.learn_rows(
        *documents.arrays,
        np.ascontiguousarray(order, dtype=np.int32),
        *classes.arrays,
        rule,
        weights.steps,
        weights.W,
        weights.U,
        *(found.right, found.wrong, found.size),
        np.empty(max(1, classes.n_attributes), dtype),
        np.empty(classes.n_classes),
        np.zeros(max(1, classes.n_attributes)),
        np.empty(classes.room, np.int32),
        np.zeros(max(1, classes.cost.pattern.shape[1]), np.int32),
    )
    return found


def _rows(X: Matrix) -> tuple[Array | bool, ...]:
    """(indptr, indices, data, dense) of CSR or C-ordered dense rows."""
    if is_sparse(X):
        return X.indptr.astype(np.int64), _some(X.indices.astype(np.int32, copy=False)), _some(X.data), False
    indptr = np.arange(X.shape[0] + 1, dtype=np.int64) * X.shape[1]
    return indptr, np.zeros(1, np.int32), _some(np.ascontiguousarray(X).reshape(-1)), True


def _some(array: Array) -> Array:
    """The array with at least one element, because kernels need a first one to point at."""
    return array if len(array) else np.zeros(1, array.dtype)


# -- where documents come from -----------------------------------------------------------------------------------------


class DocumentSource(Protocol):
    """Documents that are learned from, numbered from 0.

    Attributes
    ----------
    labels : sparse array of shape (n_docs, n_classes)
        The right classes.
    n_rows, dtype : int, dtype
        Of the weights.
    size : int
        The number of documents that may be visited at a time.
    diagonal : ndarray of shape (n_docs,)
        Kernel values of the documents with themselves.
    """

    labels: CSR
    n_rows: int
    size: int

    @property
    def dtype(self) -> np.dtype[np.floating]: ...
    @property
    def diagonal(self) -> FloatArray: ...

    def part(self, numbers: IntArray) -> tuple[RankedDocuments, IntArray]:
        """Documents, and the order among them that visits these numbers."""
        ...

    def column(self, i: int) -> FloatArray:
        """K(., x_i) of all documents."""
        ...

    def key(self, i: int) -> bytes:
        """Bytes that are the same for equal documents."""
        ...

    def gather(self, B: CSR) -> FloatArray:
        """Weights of attributes from coefficients of documents (n_docs x n_attributes)."""
        ...


class FeatureSource:
    """Rows of features (CSR or dense); weights have one row for each feature."""

    def __init__(self, X: Matrix, labels: CSR, weight: FloatArray) -> None:
        self.X, self.labels = X, labels
        self.n_rows, self.dtype, self.size = X.shape[1], X.dtype, _CHUNK
        parts = [Linear().diagonal(X[part]) for part in blocks(X.shape[0], 2**16)]
        self.diagonal: FloatArray = np.concatenate([np.zeros(0), *parts])
        self._whole = RankedDocuments(X, labels, self.diagonal, weight)
        self._columns: dict[int, FloatArray] = {}

    def part(self, numbers: IntArray) -> tuple[RankedDocuments, IntArray]:
        return self._whole, numbers

    def column(self, i: int) -> FloatArray:
        X = self.X
        if not is_sparse(X):
            return np.asarray(X @ X[i], dtype=np.float64)
        row = np.zeros(X.shape[1])
        np.add.at(row, X.indices[X.indptr[i] : X.indptr[i + 1]], X.data[X.indptr[i] : X.indptr[i + 1]])
        return np.asarray(X @ row, dtype=np.float64)

    def key(self, i: int) -> bytes:
        if not is_sparse(self.X):
            return bytes(np.ascontiguousarray(self.X[i]).tobytes())
        entries = slice(self.X.indptr[i], self.X.indptr[i + 1])
        return bytes(self.X.indices[entries].tobytes() + b"/" + self.X.data[entries].tobytes())

    def gather(self, B: CSR) -> FloatArray:
        """X'B (n_features x n_attributes) of coefficients B (n_docs x n_attributes)."""
        some = np.flatnonzero(np.diff(B.indptr))
        return np.ascontiguousarray(self.X[some].T @ B[some].toarray(), dtype=self.dtype)


class GramSource:
    """Prepared documents A behind a kernel, of which those from ``first`` on are learned from.

    AttributeWeights have one row for each document of A.
    """

    def __init__(self, kernel: Kernel, A: Matrix, labels: CSR, weight: FloatArray, first: int = 0) -> None:
        self.kernel, self.A, self.labels, self.weight, self.first = kernel, A, labels, weight, first
        self.n_rows, self.dtype = first + labels.shape[0], np.dtype(np.float64)
        self.diagonal: FloatArray = np.asarray(kernel.diagonal(A[np.arange(first, self.n_rows)]), dtype=np.float64)
        whole = 8 * labels.shape[0] * self.n_rows <= _WHOLE_GRAM
        self.size = max(1, labels.shape[0]) if whole else rows_that_fit(8 * self.n_rows)
        self._gram = self._rows(np.arange(labels.shape[0])) if whole else None

    def _rows(self, numbers: IntArray) -> FloatArray:
        K = self.kernel(self.A[self.first + numbers], self.A)
        return np.ascontiguousarray(K, dtype=np.float64)

    def part(self, numbers: IntArray) -> tuple[RankedDocuments, IntArray]:
        K = self._rows(numbers) if self._gram is None else self._gram[numbers]
        own = sparse.csr_array(
            (np.ones(len(numbers)), self.first + numbers, np.arange(len(numbers) + 1)),
            shape=(len(numbers), self.n_rows),
        )
        found = RankedDocuments(K, self.labels[numbers], self.diagonal[numbers], self.weight[numbers], own)
        return found, np.arange(len(numbers))

    def column(self, i: int) -> FloatArray:
        K = self._rows(np.array([i]))[0] if self._gram is None else self._gram[i]
        return np.ascontiguousarray(K[self.first :])

    def key(self, i: int) -> bytes:
        return self.column(i).tobytes()

    def gather(self, B: CSR) -> FloatArray:
        return np.asarray(B.toarray(), dtype=np.float64)


def kernel_scores(K: FloatArray, weights: FloatArray, attributes: CSR) -> FloatArray:
    """K W L' (n_docs x n_classes); sums of a document do not depend on how many documents there are."""
    return row_products(row_products(K, sparse.csr_array(weights)), attributes.T)


def stacked(A: Matrix, B: Matrix) -> Matrix:
    """Prepared documents of A, then of B; vectors are sparse or dense as those of A are."""
    if is_sparse(A):
        return sparse.csr_array(sparse.vstack([A, sparse.csr_array(B, dtype=A.dtype)], format="csr"))
    if isinstance(A, np.ndarray):
        return np.concatenate([A, B.toarray() if is_sparse(B) else B])
    if isinstance(A, list):
        return [*A, *B]
    if hasattr(A, "stack"):
        return A.stack(B)
    raise ParameterError(f"More documents cannot be joined to {type(A).__name__}; fit on all of them at once.")
