"""Passes of mistake-driven learners over documents, as rows of features or as rows of a Gram matrix.

`Classes` is what the learner knows of the classes, `Weights` what it has learned so far:

    W (n_rows x n_attributes)     the weights now
    U (n_rows x n_attributes)     sum over steps l of (l - 1) x what step l added
    mean of all steps             W - U / steps

Rows are features; in the dual they are training documents. Nothing here decides when to stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.engine.limits import blocks
from linnaeus.losses.pair_cost import PairCost
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix, is_sparse

__all__ = ["AUGMENTED", "HIERON", "PERCEPTRON", "Classes", "Documents", "Visits", "Weights", "visit"]

PERCEPTRON, HIERON, AUGMENTED = 0, 1, 2
_ROWS = 2048  # of weights at a time, where they are brought together


@dataclass(frozen=True)
class Classes:
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
    def arrays(self) -> tuple[Any, ...]:
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
class Weights:
    """What has been learned after ``steps`` steps; U has no rows where no mean is wanted (``averaged``)."""

    W: FloatArray
    U: FloatArray
    steps: int = 0
    averaged: bool = True

    @classmethod
    def zeros(cls, n_rows: int, n_attributes: int, dtype: Any, *, averaged: bool) -> Weights:
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
        """Weights of classes (n_rows x n_classes): the answer times the attributes of every class."""
        found = np.empty((len(self.W), attributes.shape[0]), self.W.dtype)
        for part in blocks(len(found), _ROWS):
            found[part] = (attributes @ self.rows(part).T).T
        return found

    def placed(self, rows: IntArray, n_rows: int, columns: IntArray, n_columns: int) -> Weights:
        """The same weights at other rows and columns; what is new is 0."""
        W = np.zeros((n_rows, n_columns), self.W.dtype)
        W[np.ix_(rows, columns)] = self.W
        U = np.zeros((n_rows if self.averaged else 0, n_columns))
        if self.averaged:
            U[np.ix_(rows, columns)] = self.U
        return Weights(W, U, self.steps, self.averaged)

    def only(self, rows: IntArray | slice = slice(None), columns: IntArray | slice = slice(None)) -> Weights:
        """Copies of some rows and columns."""
        U = self.U[rows] if self.averaged else self.U
        return Weights(self.W[rows][:, columns].copy(), U[:, columns].copy(), self.steps, self.averaged)


@dataclass(frozen=True)
class Documents:
    """Rows by which documents are scored and, where these are others, rows by which they are learned.

    ``labels`` (n_docs x n_classes, CSR, sorted) are the right classes, ``weight`` multiplies what a document teaches.
    """

    scored: Matrix
    labels: CSR
    squared_norm: FloatArray
    weight: FloatArray
    learned: Matrix | None = None

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """The arguments of the kernel that describe documents."""
        scored = _rows(self.scored)
        learned = scored if self.learned is None else _rows(self.learned)
        labels = self.labels.indptr.astype(np.int64), _some(self.labels.indices.astype(np.int32))
        return *scored, *learned, self.squared_norm, self.weight, *labels


@dataclass(frozen=True)
class Visits:
    """What visits have taught: pair (right, wrong) of classes, -1 for nothing, and the size of the step."""

    right: IntArray
    wrong: IntArray
    size: FloatArray

    @property
    def n_updates(self) -> int:
        return int((self.right >= 0).sum())


def visit(documents: Documents, order: IntArray, classes: Classes, weights: Weights, rule: int) -> Visits:
    """Visit documents in an order; ``weights`` move in place."""
    n, dtype = len(order), weights.W.dtype
    found = Visits(np.empty(n, np.int32), np.empty(n, np.int32), np.zeros(n))
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


def _rows(X: Matrix) -> tuple[Any, ...]:
    """(indptr, indices, data, dense) of CSR or C-ordered dense rows."""
    if is_sparse(X):
        return X.indptr.astype(np.int64), _some(X.indices.astype(np.int32, copy=False)), _some(X.data), False
    indptr = np.arange(X.shape[0] + 1, dtype=np.int64) * X.shape[1]
    return indptr, np.zeros(1, np.int32), _some(np.ascontiguousarray(X).reshape(-1)), True


def _some(array: Any) -> Any:
    """The array with at least one element, for kernels want a first one to point at."""
    return array if len(array) else np.zeros(1, array.dtype)
