"""Small models: W (n_features x n_nodes) as base weights that all nodes share, and the few weights that differ.

    W ~ w0 1' + U        |W - w0 1' - U| < threshold,  U sparse

A node of thousands learns from a handful of documents of its own and from all others as counter-examples, so the
weights of a frequent word are about the same for nearly all nodes: w0 is their median where this saves weights, else 0.
The ranking of the nodes does not even see w0. Of 250 million weights, one million may be left so. Models whose nodes
learn from those above them share more within a subtree of the taxonomy: there, every subtree has a base.

The threshold may be found: the largest at which the precision of the best node on given documents falls by no more than
``loss``. What is measured is the model that is kept, weights rounded to half precision included.

Weights that whole subtrees of the taxonomy share.

    w_c = w0 + sum_{v on the path from the top to label c} t_v + u_c

Nodes that learn from those above them have about the weights of their relatives. What a whole subtree shares, t_v, is
kept once, which leaves a label few weights u_c of its own. The tree has a vertex for every node below which labels
branch, along first parents where a node has several; vertex 0 is above all. Any tree would do: it only decides how many
weights there are, and scores are those of the weights kept.

`split_along` makes w0, T (n_features x n_vertices) and U of dense weights W (n_features x n_labels).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linnaeus.data.matrices import is_sparse
from linnaeus.engine import blocks, rows_that_fit
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.models.linear import LinearTaxonomyClassifier

__all__ = [
    "LinearWeights",
    "Subtrees",
    "best_precision",
    "branching",
    "find_threshold",
    "half_of_each",
    "largest_threshold",
    "rounded",
    "split_along",
    "split_weights",
    "thinned",
]

_WORTH = 0.5  # subtrees must halve the weights: one base for all is simpler and a little quicker


@dataclass(frozen=True)
class Subtrees:
    """What subtrees share.

    Attributes
    ----------
    weights : csr_array of shape (n_features, n_vertices)
        Weights of each vertex as they differ from those of the vertex above it.
    parent : ndarray of int, shape (n_vertices + n_labels,)
        The vertex above each vertex (``parent[v] < v``; -1 at the top, vertex 0), then above each label.
    """

    weights: CSR
    parent: IntArray

    @property
    def n_vertices(self) -> int:
        return int(self.weights.shape[1])

    def of_label(self, column: int, features: IntArray) -> FloatArray:
        """What a label takes over of some features from all vertices above it.

        Examples
        --------
        >>> from scipy import sparse
        >>> T = sparse.csr_array(np.array([[0.0, 1.0, 0.5], [0.0, 0.0, 2.0]]))
        >>> subtrees = Subtrees(T, np.array([-1, 0, 1, 2, 1]))
        >>> subtrees.of_label(0, [0, 1]).tolist()  # the first label is below vertex 2, which is below vertex 1
        [1.5, 2.0]
        """
        path, v = [], int(self.parent[self.n_vertices + column])
        while v >= 0:
            path.append(v)
            v = int(self.parent[v])
        return np.asarray(self.weights[features][:, path].sum(axis=1))

    def scores(self, X: Matrix) -> FloatArray:
        """What a dense X gets from the vertices above each label, n_docs x n_labels."""
        return self._taken_over(np.asarray(self.weights.T @ X.T)).T

    def whole(self) -> FloatArray:
        """What every label takes over, dense: n_features x n_labels."""
        return self._taken_over(self.weights.T.toarray()).T

    def _taken_over(self, S: FloatArray) -> FloatArray:
        """Rows of labels, the sums of the rows of S (n_vertices x anything) along their paths; S is changed."""
        for v in range(1, self.n_vertices):
            S[v] += S[self.parent[v]]
        return S[self.parent[self.n_vertices :]]

    def with_nodes(self, U: CSR) -> CSR:
        """The columns of the vertices, then those of the labels, as ``parent`` counts them."""
        from scipy import sparse

        return sparse.csr_array(sparse.hstack([self.weights, U], format="csr"))

    def levels(self) -> IntArray:
        """Where ranges of ``parent`` begin, and the last ends, all of whose parents are before the range.

        Examples
        --------
        >>> from scipy import sparse
        >>> Subtrees(sparse.csr_array((1, 4)), np.array([-1, 0, 0, 1, 3, 3])).levels().tolist()
        [1, 3, 4, 6]
        """
        starts = [1]
        for v in range(1, self.n_vertices):
            if self.parent[v] >= starts[-1]:
                starts.append(v)
        return np.unique([*starts, self.n_vertices, len(self.parent)]).astype(np.int32)

    def to_dict(self) -> dict[str, object]:
        return {"weights": self.weights, "parent": self.parent}


def branching(taxonomy: Taxonomy, nodes: IntArray) -> IntArray | None:
    """``parent`` of `Subtrees` for labels ``nodes``; None where they do not branch below the top.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA")])
    >>> leaves = np.array([tax.index(name) for name in ("AA", "AB", "BA")])
    >>> branching(tax, leaves).tolist()  # vertices: the top, R and A; B has a single label
    [-1, 0, 1, 2, 2, 1]
    """
    above = taxonomy.parent.tolist()
    n_below = np.bincount(nodes, minlength=taxonomy.n_nodes).tolist()  # branches with labels; a label itself is one
    for v in range(taxonomy.n_nodes - 1, -1, -1):
        if n_below[v] and above[v] >= 0:
            n_below[above[v]] += 1
    vertex, parent = [0] * taxonomy.n_nodes, [-1]  # the last vertex at or above each node
    for v, p in enumerate(above):
        vertex[v] = vertex[p] if p >= 0 else 0
        if n_below[v] > 1:
            parent.append(vertex[v])
            vertex[v] = len(parent) - 1
    if len(parent) == 1:
        return None
    return np.array(parent + [vertex[v] for v in nodes.tolist()], np.int32)


def split_along(
    W: FloatArray, threshold: float, parent: IntArray, worth: int
) -> tuple[CSR, FloatArray | None, Subtrees] | None:
    """(U, w0, subtrees) of a dense W, no weight off by ``threshold`` or more; None where subtrees save too little.

    w0 is None where no feature has one: it must save ``worth`` weights.

    Examples
    --------
    >>> W = np.array([[1.0, 1.0, 1.1, 0.0, 0.0]])
    >>> U, base, subtrees = split_along(W, 0.2, np.array([-1, 0, 1, 1, 1, 0, 0], np.int32), worth=16)
    >>> U.nnz, base, subtrees.weights.toarray().tolist()
    (0, None, [[0.0, 1.0]])
    """
    from scipy import sparse

    from linnaeus._kernels.subtree import split

    n_features, n_labels = W.shape
    n_vertices = len(parent) - n_labels
    edges = (parent, *_edges(parent, n_vertices))
    buffers, base = np.empty((3, len(parent)), W.dtype), np.zeros(n_features, W.dtype)
    parts, n_straight = [], 0
    for part in blocks(n_features, rows_that_fit((2 * W.itemsize + 4) * n_labels)):
        rows = np.ascontiguousarray(W[part])
        out = np.zeros(len(rows) + 1, np.int64), np.empty(rows.size, np.int32), np.empty(rows.size, W.dtype)
        n_straight += split(rows, *edges, threshold, worth, buffers, base[part], *out)
        indptr, indices, data = out[0], out[1][: out[0][-1]].copy(), out[2][: out[0][-1]].copy()
        parts.append(sparse.csr_array((data, indices, indptr), shape=(len(rows), len(parent))))
    steps = sparse.csr_array(sparse.vstack(parts, format="csr"))
    if steps.nnz >= _WORTH * n_straight:
        return None
    T, U = (sparse.csr_array(part) for part in (steps[:, :n_vertices], steps[:, n_vertices:]))
    return U, base if base.any() else None, Subtrees(T, parent)


def _edges(parent: IntArray, n_vertices: int) -> tuple[IntArray, IntArray]:
    """The children of every vertex: indptr (int64) and numbers as in ``parent``."""
    children = np.argsort(parent, kind="stable")[1:].astype(np.int32)  # but the top, which is nobody's child
    indptr = np.searchsorted(parent[children], np.arange(n_vertices + 1)).astype(np.int64)
    return indptr, children


_MOST_DOCS = 20_000  # documents that a threshold is tried on
_FIRST_SHARE = 0.03  # share of the weights that the search begins with
_STEPS = 9
_NEAR = 1.05  # the search ends where a threshold this many times as large costs too much
_NEAR_SUBTREES = 1.25  # with subtrees, where every step goes through all weights again
_WORTH_A_BASE = 16  # weights of a feature that its base must save: on few nodes, weights stay as they were learned


class LinearWeights(NamedTuple):
    """The weights of a linear model: its attributes ``weights_``, ``base_weights_`` and ``subtrees_``."""

    weights: Matrix
    base: FloatArray | None
    subtrees: Subtrees | None

    @classmethod
    def of(cls, model: LinearTaxonomyClassifier) -> LinearWeights:
        return cls(model.weights_, model.base_weights_, model.subtrees_)

    def give(self, model: LinearTaxonomyClassifier) -> None:
        model.weights_, model.base_weights_, model.subtrees_ = self

    @property
    def is_sparse(self) -> bool:
        return is_sparse(self.weights)

    @property
    def size(self) -> int:
        """How many weights there are, those of a base aside."""
        own = self.weights.nnz if is_sparse(self.weights) else int(np.count_nonzero(self.weights))
        return int(own) + (0 if self.subtrees is None else int(self.subtrees.weights.nnz))

    @property
    def nbytes(self) -> int:
        """What the weights take in memory."""
        parts = [self.weights, self.base, None if self.subtrees is None else self.subtrees.weights]
        return sum(_nbytes(part) for part in parts if part is not None)

    def pruned(self, threshold: float, parent: IntArray | None, *, half: bool) -> LinearWeights:
        """What stays at a threshold; of sparse weights, only those of single nodes become fewer.

        ``parent`` is the tree of `branching`, whose subtrees may share weights.
        """
        if is_sparse(self.weights):
            kept = self._replace(weights=thinned(self.weights, threshold))
        else:
            along = None if parent is None else split_along(self.weights, threshold, parent, _WORTH_A_BASE)
            kept = LinearWeights(*(along or (*split_weights(self.weights, threshold), None)))
        return kept.rounded() if half else kept

    def rounded(self) -> LinearWeights:
        assert is_sparse(self.weights)  # pruned weights are
        if self.subtrees is None:
            return self._replace(weights=rounded(self.weights))
        subtrees = Subtrees(rounded(self.subtrees.weights), self.subtrees.parent)
        return self._replace(weights=rounded(self.weights), subtrees=subtrees)


def _nbytes(part: Matrix) -> int:
    arrays = (part.data, part.indices, part.indptr) if is_sparse(part) else (part,)
    return sum(int(array.nbytes) for array in arrays)


def split_weights(W: FloatArray, threshold: float) -> tuple[CSR, FloatArray | None]:
    """(U, w0) of a dense W; w0 is None where no feature has one.

    Examples
    --------
    >>> W = np.array([[-1.0] * 99 + [2.0], [0.0] * 99 + [0.5]])
    >>> U, base = split_weights(W, 0.1)
    >>> U.nnz, U[:, -1].toarray().tolist(), base.tolist()
    (2, [3.0, 0.5], [-1.0, 0.0])
    """
    from scipy import sparse

    base = np.zeros(W.shape[0], W.dtype)
    parts = []
    for part in blocks(W.shape[0], rows_that_fit(4 * W.itemsize * max(1, W.shape[1]))):
        rows = np.asarray(W[part])
        middle = np.median(rows, axis=1).astype(W.dtype) if W.shape[1] else base[part]
        apart = rows - middle[:, None]
        saved = _large(rows, threshold).sum(axis=1) - _large(apart, threshold).sum(axis=1)
        without = saved < _WORTH_A_BASE
        apart[without], middle[without] = rows[without], 0
        apart[~_large(apart, threshold)] = 0
        base[part] = middle
        parts.append(sparse.csr_array(apart))
    U = sparse.csr_array(sparse.vstack(parts, format="csr")) if len(parts) > 1 else parts[0]
    return U, base if base.any() else None


def thinned(U: CSR, threshold: float) -> CSR:
    """A copy of U without entries below ``threshold``."""
    from scipy import sparse

    kept = _large(U.data, threshold)
    before = pointers(kept)
    return sparse.csr_array((U.data[kept], U.indices[kept], before[U.indptr].astype(U.indptr.dtype)), shape=U.shape)


def rounded(U: CSR) -> CSR:
    """U with values that half precision can say, so that a stored model has half the size and loses nothing.

    Values beyond its range, as features of large numbers may have, are left as they are.
    """
    from scipy import sparse

    limits = np.finfo(np.float16)
    fits = (np.abs(U.data) <= limits.max) & (np.abs(U.data) >= limits.tiny)
    data = U.data.copy()
    data[fits] = U.data[fits].astype(np.float16)
    return sparse.csr_array((data, U.indices, U.indptr), shape=U.shape)


def _large(values: FloatArray, threshold: float) -> BoolArray:
    return (np.abs(values) >= threshold) & (values != 0)


def best_precision(model: LinearTaxonomyClassifier, X: Matrix, Y: CSR) -> float:
    """Share of right nodes among the best: precision at 1; at the number of labels for a model of closed sets.

    The best node of a model that learned all ancestors, too, is mostly a top one: it would hide what pruning does.
    """
    sizes = np.minimum(np.diff(Y.indptr), len(model.nodes_)) if model.nested_ else np.ones(Y.shape[0], np.int64)
    k = int(min(100, max(1, sizes.max(initial=1))))
    nodes, _ = model.top_nodes(X, k)
    rows = np.repeat(np.arange(len(nodes)), nodes.shape[1])
    hits = np.asarray(Y[rows, nodes.ravel()]).reshape(nodes.shape) > 0
    sizes = np.clip(sizes, 1, nodes.shape[1])
    hits &= np.arange(nodes.shape[1]) < sizes[:, None]
    return float((hits.sum(axis=1) / sizes).mean()) if len(nodes) else 1.0


def find_threshold(
    model: LinearTaxonomyClassifier, X: Matrix, Y: CSR, loss: float, *, half: bool, seen: bool = False
) -> None:
    """Prune the (linear, fitted) model to the largest threshold that costs at most ``loss`` on X, Y.

    Of documents that the model has ``seen`` in training every second feature is left out: it knows them by heart, and
    would still do so when it has lost what it knows about others.

    Sets ``weights_``, ``base_weights_``, ``subtrees_`` and ``prune_threshold_`` of the model.
    """
    if X.shape[0] > _MOST_DOCS:
        rows = np.sort(np.random.default_rng(0).choice(X.shape[0], _MOST_DOCS, replace=False))
        X, Y = X[rows], Y[rows]
    X = half_of_each(X) if seen else X
    goal = best_precision(model, X, Y) - loss - 1e-12
    largest_threshold(model, lambda: best_precision(model, X, Y) >= goal, half=half)


def largest_threshold(
    model: LinearTaxonomyClassifier,
    good: Callable[[], bool],
    *,
    half: bool,
    most: int | None = None,
    near: float = _NEAR,
) -> float | None:
    """Prune the model to the largest threshold found at which it is ``good``; the threshold.

    None, and a whole model, where it is not good with ``most`` weights. Without ``most`` there is always a threshold:
    at 0 everything is kept.
    """
    whole = LinearWeights.of(model)
    parent = branching(model.taxonomy_, model.nodes_)
    low, high = _first_threshold(whole.weights), np.inf
    while True:  # from few weights to many: a dense W may not fit into memory as a sparse one
        best = whole.pruned(low, parent, half=half)
        parent = None if best.subtrees is None else parent
        best.give(model)
        enough = most is None or best.size <= most
        if enough and ((low == 0 and most is None) or good()):
            break
        if most is not None and (low == 0 or not enough):
            whole.give(model)
            return None
        low, high = (low / 2 if low > 1e-6 else 0.0), low
    high = min(high, float(np.abs(best.weights.data).max(initial=0)))
    if low == 0:
        low = min(1e-6, high)
    # Steps along the paths of subtrees add up: they are recomputed from the whole weights, the others only thinned.
    start, near = (best, near) if parent is None or whole.is_sparse else (whole, max(near, _NEAR_SUBTREES))
    for _ in range(_STEPS):
        middle = _two_digits(float(np.sqrt(low * high)))
        if high <= near * low or not low < middle < high:
            break
        kept = start.pruned(middle, parent, half=half)
        kept.give(model)
        if good():
            low, best = middle, kept
        else:
            high = middle
    best.give(model)
    model.prune_threshold_ = low
    return low


def half_of_each(X: Matrix) -> Matrix:
    """X with a random half of its entries."""
    rng = np.random.default_rng(0)
    if not is_sparse(X):
        return X * (rng.random(X.shape) < 0.5)
    from scipy import sparse

    kept = sparse.csr_array((X.data * (rng.random(X.nnz) < 0.5), X.indices.copy(), X.indptr.copy()), shape=X.shape)
    kept.eliminate_zeros()
    return kept


def _first_threshold(W: Matrix) -> float:
    """The size that few weights exceed, two digits of it."""
    if is_sparse(W):
        return 0.0
    some = np.linspace(0, W.shape[0] - 1, min(W.shape[0], 2000)).astype(int)
    rows = np.asarray(W[some])
    sizes = np.abs(rows - np.median(rows, axis=1)[:, None])
    return _two_digits(float(np.quantile(sizes, 1 - _FIRST_SHARE)))


def _two_digits(value: float) -> float:
    return float(f"{value:.1e}")
