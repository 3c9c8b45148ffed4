"""Small models: W (n_features x n_nodes) as base weights that all nodes share, and the few weights that differ.

    W ~ w0 1' + U        |W - w0 1' - U| < threshold,  U sparse

A node of thousands learns from a handful of documents of its own and from all others as counter-examples, so the
weights of a frequent word are about the same for nearly all nodes: w0 is their median where this saves weights, else 0.
The ranking of the nodes does not even see w0. Of 250 million weights, one million may be left so. Models whose nodes
learn from those above them share more within a subtree of the taxonomy: there, every subtree has a base (`subtrees`).

The threshold may be found: the largest at which the precision of the best node on given documents falls by no more than
``loss``. What is measured is the model that is kept, weights rounded to half precision included.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from linnaeus.engine.limits import blocks, rows_that_fit
from linnaeus.models.subtrees import Subtrees, branching, split_along
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Matrix, is_sparse

if TYPE_CHECKING:
    from linnaeus.models.linear import LinearTaxonomyClassifier

__all__ = ["LinearWeights", "best_precision", "find_threshold", "half_of_each", "rounded", "split_weights", "thinned"]

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
    whole = LinearWeights.of(model)
    parent = branching(model.taxonomy_, model.nodes_)

    def good(kept: LinearWeights) -> bool:
        kept.give(model)
        return best_precision(model, X, Y) >= goal

    low, high = _first_threshold(whole.weights), np.inf
    while True:  # from few weights to many: a dense W may not fit into memory as a sparse one
        best = whole.pruned(low, parent, half=half)
        parent = None if best.subtrees is None else parent
        if low == 0 or good(best):
            break
        low, high = (low / 2 if low > 1e-6 else 0.0), low
    high = min(high, float(np.abs(best.weights.data).max(initial=0)))
    if low == 0:
        low = min(1e-6, high)
    # Steps along the paths of subtrees add up: they are recomputed from the whole weights, the others only thinned.
    start, near = (best, _NEAR) if parent is None or whole.is_sparse else (whole, _NEAR_SUBTREES)
    for _ in range(_STEPS):
        middle = _two_digits(float(np.sqrt(low * high)))
        if high <= near * low or not low < middle < high:
            break
        kept = start.pruned(middle, parent, half=half)
        if good(kept):
            low, best = middle, kept
        else:
            high = middle
    best.give(model)
    model.prune_threshold_ = low


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
