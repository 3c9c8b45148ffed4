"""Features tied to nodes: columns of X that only the edge above one node sees, in addition to those that all see.

With g the global columns of a document and l_v those tied to node v, the edge above v sees x_v = (g, l_v):

    orthogonal   score of labelling u of the edge above v: <w_{v,u}, x_v>;   weights of their own for every edge
    additive     <w_u, x_v>: one weight vector for each u, shared by all edges. Every node has equally many columns of
                 its own, and the k-th of each means the same: how the document looks from there

Both are linear in X, so new documents are scored by weights as usual: a weight is 0 where an edge does not see the
feature, or repeated for every edge. The kernel of a document with itself differs from edge to edge, or joins edges.
With weights of their own the solver takes the largest, |g|^2 + max_v |l_v|^2: its steps are cautious but never wrong,
the dual increases with every visit, and the certificate is exact. With shared weights it keeps a few labellings
(`hm3_active`), and their products are computed when they are needed. Documents are visited one at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from linnaeus.data.matrices import is_sparse, with_constant
from linnaeus.engine import Clock, blocks
from linnaeus.errors import ParameterError, UnknownLabelError
from linnaeus.models.kernels import Linear
from linnaeus.models.published.hm3_active import ActiveBlocks
from linnaeus.models.published.hm3_variants import ActiveTree
from linnaeus.models.structured.block_ascent import BlockAscent, Certificate, TrainingDocuments
from linnaeus.models.structured.documents import squares
from linnaeus.models.structured.tree import TreeStructure
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray, IntArray, Kernel, Matrix

__all__ = ["AdditiveDocuments", "AdditiveTree", "LocalColumns", "LocalDocuments", "LocalTree", "local_columns"]

_PART = 512
LocalFeatures = Mapping[str, Sequence[int]]


@dataclass(frozen=True)
class LocalColumns:
    """``owner`` of every feature: the place of a node, -1 where all see it, -2 where its node is not learned.

    ``table`` (n_nodes x n_own) lists the features of every node, where all have equally many.
    """

    owner: IntArray
    table: IntArray | None


def local_columns(given: object, taxonomy: Taxonomy, nodes: IntArray, n_features: int) -> LocalColumns:
    """Checked columns of nodes (names to lists of column numbers); ``nodes`` are those learned, in order.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B")])
    >>> local_columns({"A": [3], "B": [2]}, tax, np.array([1, 2]), 4).owner.tolist()
    [-1, -1, 1, 0]
    """
    if not isinstance(given, Mapping):
        raise ParameterError(f"local_features={given!r}; expected a dict of node names to lists of columns of X.")
    place = {int(v): k for k, v in enumerate(nodes)}
    owner, own = np.full(n_features, -1, dtype=np.int64), {}
    for name, columns in given.items():
        if name not in taxonomy:
            raise UnknownLabelError(
                f"local_features names {name!r}, which is not a node{taxonomy.hint(str(name)) or '.'}"
            )
        chosen = np.atleast_1d(np.asarray(columns))
        if chosen.dtype.kind not in "iu" or chosen.min(initial=0) < 0 or chosen.max(initial=0) >= n_features:
            raise ParameterError(
                f"local_features of {name!r} are not columns of X; expected numbers from 0 to {n_features - 1}."
            )
        taken = chosen[owner[chosen] != -1]
        if len(taken) or len(np.unique(chosen)) < len(chosen):
            raise ParameterError(f"Column {(taken if len(taken) else chosen)[0]} is tied to nodes twice ({name!r}).")
        k = place.get(taxonomy.index(name), -2)
        owner[chosen], own[k] = k, chosen
    counts = {len(own.get(k, ())) for k in range(len(nodes))}
    table = np.stack([own[k] for k in range(len(nodes))]) if len(counts) == 1 and counts != {0} else None
    return LocalColumns(owner, table)


class _OneByOne(ABC):
    """Common base: double precision, and kernel values of single documents only, or bounds of them."""

    bound: FloatArray  # of K(x, x), n_docs

    def __init__(self, X: Matrix, width: int, columns: int) -> None:
        self.n_docs, self.width, self.columns, self.dtype = X.shape[0], width, columns, np.dtype(np.float64)
        self.X = X

    def exact_rows(self, batch: IntArray) -> FloatArray:
        return self.rows(batch)

    def gram(self, batch: IntArray) -> FloatArray:
        if len(batch) != 1:
            raise ValueError("documents with features tied to nodes are visited one at a time")
        return self.bound[batch][:, None].copy()

    @abstractmethod
    def rows(self, batch: IntArray) -> FloatArray: ...


class LocalDocuments(_OneByOne):
    """Weights of their own for every edge: W (n_features x width), 0 where an edge does not see the feature.

    Edge v has the columns v * per_node .. of a row.
    """

    def __init__(self, X: Matrix, width: int, columns: int, local: LocalColumns) -> None:
        super().__init__(X, width, columns)
        self.owner, self.per_node = local.owner, max(columns, 1)
        self.W = np.zeros((X.shape[1], width))
        squared = X.multiply(X).tocsc() if hasattr(X, "multiply") else np.square(X, dtype=np.float64)
        self.bound = np.asarray(squared[:, local.owner == -1].sum(axis=1), dtype=np.float64).ravel()
        largest = np.zeros(self.n_docs)
        for k in np.unique(local.owner[local.owner >= 0]):
            largest = np.maximum(largest, np.asarray(squared[:, local.owner == k].sum(axis=1)).ravel())
        self.bound += largest

    def rows(self, batch: IntArray) -> FloatArray:
        return np.asarray(self.X[batch] @ self.W, dtype=self.dtype)

    def add(self, batch: IntArray, change: FloatArray) -> None:
        for i, row in zip(batch.tolist(), change, strict=True):
            features, values = _entries(self.X, i)
            self.W[features] += self._seen(np.outer(values, row), features)

    def _seen(self, change: FloatArray, features: IntArray) -> FloatArray:
        """The change of some features' weights, without the edges that do not see them."""
        owner = self.owner[features]
        tied = np.flatnonzero(owner >= 0)
        at = owner[tied, None] * self.per_node + np.arange(self.per_node)
        kept = change[tied[:, None], at]
        change[owner != -1] = 0.0
        change[tied[:, None], at] = kept
        return change

    def squared_norm(self) -> float:
        return squares(self.W, self.columns)

    def restart(self, D: FloatArray) -> float:
        self.W[:] = self._seen(np.asarray(self.X.T @ np.asarray(D, dtype=np.float64)), np.arange(len(self.W)))
        return self.squared_norm()

    def weights(self) -> FloatArray:
        return self.W


class AdditiveDocuments(_OneByOne):
    """One weight vector for each labelling of an edge, shared by all edges.

    w (n_own + n_global) x columns; ``tied`` is 0 at a node whose edge has no features.
    """

    def __init__(self, X: Matrix, width: int, columns: int, local: LocalColumns, tied: IntArray | None = None) -> None:
        super().__init__(X, width, columns)
        if local.table is None:
            raise ParameterError(
                "features='additive' needs local_features with the same number of columns for every node in y."
            )
        self.table, self.common = local.table, np.flatnonzero(local.owner == -1)
        self.tied = np.ones(len(self.table)) if tied is None else np.asarray(tied, dtype=np.float64)
        self.w = np.zeros((self.table.shape[1] + len(self.common), columns))
        self.bound = np.full(self.n_docs, np.nan)  # not used: `products` takes its place

    def _seen(self, batch: IntArray) -> FloatArray:
        """x_v of every node of some documents, batch x n_nodes x (n_own + n_global)."""
        rows = self.X[batch]
        rows = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
        common = np.repeat(rows[:, None, self.common], len(self.table), axis=1)
        return np.asarray(np.concatenate([rows[:, self.table], common], axis=2) * self.tied[:, None])

    def products(self, rows: FloatArray, i: int) -> FloatArray:
        """<d, d'> in the space of weights, for differences d of labellings of document i (n_held x 4 n_nodes)."""
        images = np.einsum("nq,anu->aqu", self._seen(np.array([i]))[0], rows.reshape(len(rows), -1, 4))
        images = images.reshape(len(rows), -1)
        return np.asarray(images @ images.T)

    def rows(self, batch: IntArray) -> FloatArray:
        F = np.zeros((len(batch), self.width), self.dtype)
        F[:, : self.table.shape[0] * self.columns] = (self._seen(batch) @ self.w).reshape(len(batch), -1)
        return F

    def add(self, batch: IntArray, change: FloatArray) -> None:
        per_edge = change[:, : self.table.shape[0] * self.columns].reshape(len(batch), -1, self.columns)
        self.w += np.einsum("bnq,bnc->qc", self._seen(batch), per_edge)

    def squared_norm(self) -> float:
        return squares(self.w, self.columns)

    def restart(self, D: FloatArray) -> float:
        self.w[:] = 0.0
        for part in blocks(self.n_docs, _PART):
            self.add(np.arange(part.start, part.stop), D[part])
        return self.squared_norm()

    def weights(self) -> FloatArray:
        n, c, own = len(self.table), self.columns, self.table.shape[1]
        W = np.zeros((self.X.shape[1], n, c))
        W[self.table, np.arange(n)[:, None]] = self.w[:own]
        W[self.common] = self.w[own:, None]
        W *= self.tied[:, None]
        wide = np.zeros((self.X.shape[1], self.width), self.dtype)
        wide[:, : n * c] = W.reshape(len(W), -1)
        return wide


def _entries(X: Matrix, i: int) -> tuple[IntArray, FloatArray]:
    """Features of a document and their values."""
    if is_sparse(X):
        part = slice(int(X.indptr[i]), int(X.indptr[i + 1]))
        return X.indices[part], X.data[part].astype(np.float64)
    features = np.flatnonzero(X[i])
    return features, X[i, features].astype(np.float64)


class LocalTree(TreeStructure):
    """A tree some of whose features are tied to nodes (``columns``: names of nodes to lists of columns)."""

    batch = 1

    def __init__(
        self, taxonomy: Taxonomy, nodes: IntArray, root: str, *, consistent: bool, columns: LocalFeatures
    ) -> None:
        super().__init__(taxonomy, nodes, root, consistent=consistent)
        self.taxonomy, self.local_features = taxonomy, columns

    def documents(self, kernel: Kernel, X: Matrix, bias: float, dtype: type[np.floating]) -> TrainingDocuments:
        X, local = _seen_by_nodes(self, kernel, X, bias)
        return LocalDocuments(X, self.width, self.columns, local)


class AdditiveTree(ActiveTree):
    """As `LocalTree`, with one set of weights for all edges."""

    batch = 1

    def __init__(
        self, taxonomy: Taxonomy, nodes: IntArray, root: str, *, consistent: bool, columns: LocalFeatures
    ) -> None:
        super().__init__(taxonomy, nodes, root, consistent=consistent)
        self.taxonomy, self.local_features, self.solver = taxonomy, columns, _AdditiveAscent

    def documents(self, kernel: Kernel, X: Matrix, bias: float, dtype: type[np.floating]) -> TrainingDocuments:
        X, local = _seen_by_nodes(self, kernel, X, bias)
        return AdditiveDocuments(X, self.width, self.columns, local, self.layout.tied)


class _AdditiveAscent(BlockAscent):
    def run(self, tol: float, max_iter: int, clock: Clock, after: Callable[[Certificate], None]) -> bool:
        if isinstance(self.blocks, ActiveBlocks) and isinstance(self.documents, AdditiveDocuments):
            self.blocks.products = self.documents.products
        return super().run(tol, max_iter, clock, after)


def _seen_by_nodes(
    structure: LocalTree | AdditiveTree, kernel: Kernel, X: Matrix, bias: float
) -> tuple[Matrix, LocalColumns]:
    """X with a constant feature if ``bias`` is not 0, and which edge sees which column."""
    if kernel != Linear():
        raise ParameterError("local_features need kernel='linear': they are columns of X.")
    local = local_columns(structure.local_features, structure.taxonomy, structure.nodes, X.shape[1])
    if not bias:
        return X, local
    return with_constant(X, bias), LocalColumns(np.append(local.owner, -1), local.table)
