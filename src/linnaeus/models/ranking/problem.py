"""The problem of a ranking SVM and its solution, laid out for the kernels.

Documents are rows of features, or rows of the Gram matrix of all documents (``gram``): then weights are stored as
coefficients of attribute nodes per document.

Kernels take attribute nodes sixteen at a time, so nodes of one path should be neighbours: columns of the attributes are
renamed in the order in which classes, sorted by their paths, first name them. Costs that are sums over places,

    D(y, z) = of_true[y] + of_other[z] - (share_true[y] + share_other[z]) sum_{v above both} volume[v],

are computed row by row from the places of y; others are a matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from linnaeus.losses.pair_cost import PairCost
from linnaeus.models.solvers.rows import Rows
from linnaeus.typing import CSR, Array, FloatArray, IntArray, Matrix

__all__ = [
    "ClassArrays",
    "Pairs",
    "RankingProblem",
    "RankingSolution",
    "class_arrays",
    "gram_rows",
    "matrix_of",
]

Pairs = tuple[IntArray, IntArray, IntArray, FloatArray]  # documents, right classes, other classes, alpha


@dataclass(frozen=True)
class ClassArrays:
    """Classes as the kernels take them; ``attributes`` (n_classes x n_nodes, CSR) has renamed columns."""

    attributes: CSR
    cost: PairCost
    arrays: tuple[Array, ...]

    @property
    def n_classes(self) -> int:
        return int(self.attributes.shape[0])

    @property
    def n_nodes(self) -> int:
        return int(self.attributes.shape[1])


@dataclass(frozen=True)
class RankingProblem:
    """Rows, their relevant classes (n_docs x n_classes, CSR), bounds c_i, and the classes.

    ``per_pair``: every pair of classes has a slack of its own.
    """

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


def matrix_of(rows: Rows) -> Matrix:
    """Rows of the kernels as a matrix (n_docs x n_features)."""
    if rows.dense:
        return rows.data.reshape(rows.n_docs, rows.n_features)
    data, indices = rows.data[: rows.indptr[-1]], rows.indices[: rows.indptr[-1]]
    return sparse.csr_array((data, indices, rows.indptr), shape=(rows.n_docs, rows.n_features))


# -- classes for the kernels -------------------------------------------------------------------------------------------


def class_arrays(attributes: CSR, cost: PairCost) -> ClassArrays:
    """Lay out attributes (n_classes x n_attributes) and costs of pairs of these classes.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.losses.pair_cost import pair_cost
    >>> from linnaeus.models.ranking.attributes import class_attributes
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("B", "BA"), ("A", "AB")])
    >>> leaves = np.array([tax.index(name) for name in ("AA", "BA", "AB")])
    >>> laid = class_arrays(class_attributes(tax, leaves, "one"), pair_cost(tax, leaves))
    >>> laid.attributes.toarray().astype(int).tolist()
    [[1, 1, 0, 0, 0], [0, 0, 0, 1, 1], [1, 0, 1, 0, 0]]
    """
    renamed = _by_paths(attributes)
    return ClassArrays(renamed, cost, (*_csr(renamed), *_cost_arrays(cost)))


def _by_paths(attributes: CSR) -> CSR:
    rows = np.split(attributes.indices, attributes.indptr[1:-1])
    order = sorted(range(len(rows)), key=lambda y: rows[y].tolist())
    named = np.concatenate([rows[y] for y in order]) if rows else attributes.indices
    _, first = np.unique(named, return_index=True)
    nodes = named[np.sort(first)]  # attributes without a class are left out
    place = np.zeros(attributes.shape[1], np.int64)
    place[nodes] = np.arange(len(nodes))
    parts = (attributes.data, place[attributes.indices], attributes.indptr)
    renamed = sparse.csr_array(parts, shape=(attributes.shape[0], max(len(nodes), 1)))
    renamed.sort_indices()
    return renamed


def _csr(matrix: CSR) -> tuple[IntArray, IntArray, FloatArray]:
    """Index arrays for the kernels, which need a first element to point at."""
    indices, data = matrix.indices.astype(np.int32), matrix.data.astype(np.float64)
    if not len(data):
        indices, data = np.zeros(1, np.int32), np.zeros(1)
    return matrix.indptr.astype(np.int64), indices, data


def _cost_arrays(cost: PairCost) -> tuple[Array, ...]:
    """Matrix, places of classes, classes at places, volumes and the four parts of the sides."""
    volume, of_miss, of_extra = _volumes(cost)
    nothing = np.zeros((0, 0))
    if cost.matrix.size or volume is None:
        pattern = sparse.csr_array(np.zeros((cost.n_classes, 1)))
        matrix = np.ascontiguousarray(cost.matrix if cost.matrix.size else cost.dense(), np.float64)
        volume, sides = np.zeros(1), np.zeros((4, cost.n_classes))
    else:
        pattern, matrix = cost.pattern, nothing
        sides = np.stack(
            [
                cost.scale * (pattern @ cost.miss),
                cost.scale * (pattern @ cost.extra),
                cost.scale * of_miss,
                cost.scale * of_extra,
            ]
        )
    indptr, members, _ = _csr(sparse.csr_array(pattern))
    below_indptr, below, _ = _csr(sparse.csr_array(sparse.csr_array(pattern).T))
    matrix = matrix if matrix.size else np.zeros((1, 1)) if cost.n_classes != 1 else np.zeros((2, 2))
    return matrix, indptr, members, below_indptr, below, volume, np.ascontiguousarray(sides)


def _volumes(cost: PairCost) -> tuple[FloatArray | None, float, float]:
    """One volume per place of which misses and extras are multiples; None where they are not."""
    miss, extra = cost.miss, cost.extra
    base = miss if miss.any() else extra
    top = int(np.argmax(base)) if len(base) else 0
    if not len(base) or base[top] == 0:
        return np.zeros(max(len(base), 1)), 0.0, 0.0
    of_miss, of_extra = float(miss[top] / base[top]), float(extra[top] / base[top])
    if not (np.allclose(miss, of_miss * base, rtol=1e-12) and np.allclose(extra, of_extra * base, rtol=1e-12)):
        return None, 0.0, 0.0
    return base.astype(np.float64), of_miss, of_extra
