"""What a ranking SVM is asked, and what comes of it.

Documents are rows of features, or rows of the Gram matrix of all documents (``gram``): then weights are kept as
coefficients of attribute nodes per document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from linnaeus.models.ranking.arrays import ClassArrays
from linnaeus.models.solvers.rows import Rows
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["Pairs", "RankingProblem", "RankingSolution", "gram_rows", "matrix_of"]

Pairs = tuple[IntArray, IntArray, IntArray, FloatArray]  # documents, right classes, other classes, alpha


@dataclass(frozen=True)
class RankingProblem:
    """Rows, their relevant classes (n_docs x n_classes, CSR), bounds c_i, and what is known of classes."""

    rows: Rows
    labels: CSR
    bound: FloatArray
    classes: ClassArrays
    gram: bool = False
    per_pair: bool = False

    @property
    def trained(self) -> IntArray:
        """Documents that have pairs: neither none nor all of the classes are theirs."""
        sizes = np.diff(self.labels.indptr)
        return np.flatnonzero((sizes > 0) & (sizes < self.classes.n_classes)).astype(np.int32)

    @property
    def n_pairs(self) -> int:
        sizes = np.diff(self.labels.indptr).astype(np.int64)
        return int((sizes * (self.classes.n_classes - sizes)).sum())


@dataclass(frozen=True)
class RankingSolution:
    """Weights of classes, or coefficients of documents where these are rows of a Gram matrix.

    ``pairs`` are the active dual variables: documents, right class, other class and alpha. ``curve`` has a row for
    every certificate: passes, objective, lower bound.
    """

    weights: FloatArray  # n_features x n_classes; with gram, n_docs x n_classes
    intercept: FloatArray
    objective: float
    gap: float
    violation: float
    n_iter: int
    converged: bool
    pairs: Pairs
    slack: FloatArray
    curve: FloatArray


def gram_rows(K: FloatArray) -> Rows:
    """A Gram matrix (n_docs x n_docs) as rows of a problem with ``gram``."""
    n_docs = len(K)
    indptr = np.arange(n_docs + 1, dtype=np.int64) * n_docs
    squared = np.ascontiguousarray(np.diag(K))
    return Rows(indptr, np.zeros(1, np.int32), np.ascontiguousarray(K).reshape(-1), True, squared, 0.0, n_docs, None)


def matrix_of(rows: Rows) -> Any:
    """Rows of the kernels as a matrix (n_docs x n_features)."""
    if rows.dense:
        return rows.data.reshape(rows.n_docs, rows.n_features)
    data, indices = rows.data[: rows.indptr[-1]], rows.indices[: rows.indptr[-1]]
    return sparse.csr_array((data, indices, rows.indptr), shape=(rows.n_docs, rows.n_features))
