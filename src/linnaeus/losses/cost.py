"""What a wrong answer costs on the taxonomy.

With Y the true and H the answered label sets (CSR 0/1 rows, n_docs x n_nodes), y_j and u_j their entries::

    symmetric difference   sum_j [y_j != u_j]
    additive               sum_j a_j [u_j > y_j] + b_j [y_j > u_j]
    H-loss                 sum_j c_j [y_j != u_j, and every proper ancestor of j agrees]
    H~-loss                sum_j c_j [y_j != u_j, and every parent of j agrees]
    tree distance          #(anc(a) ^ anc(b)) of two nodes; on a tree the edges between them

Every function takes rows as they are and returns one float64 per document; close the rows first where the closure is
meant (`Taxonomy.close`). For closed rows H-loss and H~-loss agree: parents that agree at 1 have all their ancestors on
both sides, and parents that agree at 0 leave nothing below to differ.

Weights after Cesa-Bianchi et al. (2006) and Rousu et al. (2006), subscription cost after Cai and Hofmann (2007).

What it costs to rank a wrong class above a right one: D(y, z) >= 0, first the right class, D(y, y) = 0.

With A_y the places of class y (`taxonomy.terminals`: its ancestors, itself, its own place if it is above others)::

    half         1/2 |A_y ^ A_z|             the default; siblings are at 1 on a tree
    distance     |A_y ^ A_z|                 on a tree the edges between the two
    normalised   1/2 (|A_y - A_z| / |A_y| + |A_z - A_y| / |A_z|)       for classes at different depths
    zero_one     1 for y != z
    subscription c_minus vol(A_y - A_z) + c_plus vol(A_z - A_y)        volumes of nodes, costs of misses and alarms

All of these are sums over places, D(y, z) = n_y sum_(A_y - A_z) miss + n_z sum_(A_z - A_y) extra: no matrix is
needed. A matrix of the user's own is taken as it is. After Cai and Hofmann (2007).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy import sparse

from linnaeus.errors import ParameterError, nearest
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import parent_sets, row_numbers, select
from linnaeus.taxonomy.terminals import terminals
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = [
    "PAIR_COSTS",
    "SCALINGS",
    "AdditiveCost",
    "PairCost",
    "check_pair_cost",
    "first_mistakes",
    "h_loss",
    "h_tilde_loss",
    "half",
    "holds",
    "mismatches",
    "node_weights",
    "normalised",
    "pair_cost",
    "row_sums",
    "subscription",
    "symmetric_difference",
    "tree_distance_cost",
]

SCALINGS = ("uniform", "sibling", "subtree")


# -- weights of nodes --------------------------------------------------------------------------------------------------


def node_weights(taxonomy: Taxonomy, scaling: str = "uniform") -> FloatArray:
    """Weights c_j of the H-loss, one per node.

    ``uniform``: 1. ``sibling``: the root has 1 and each node shares its parent's weight with its siblings; a node with
    several parents takes the mean of its shares. ``subtree``: nodes below, itself included, over nodes in all. A forest
    counts as having a root.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    >>> node_weights(tax, "sibling").tolist()
    [1.0, 0.5, 0.5, 0.25, 0.25]
    """
    if scaling not in SCALINGS:
        raise ParameterError(
            f"scaling={scaling!r} is not one of {', '.join(SCALINGS)}{nearest(str(scaling), SCALINGS)}"
        )
    n = taxonomy.n_nodes
    if scaling == "uniform":
        return np.ones(n)
    if scaling == "subtree":
        below = np.bincount(taxonomy.ancestor_matrix.indices, minlength=n).astype(np.float64)
        if taxonomy.root is not None:
            below[taxonomy.root] = n  # the ancestor relation leaves the root out
        return below / (n + (taxonomy.root is None))
    return _sibling_weights(taxonomy)


def _sibling_weights(taxonomy: Taxonomy) -> FloatArray:
    n = taxonomy.n_nodes
    if taxonomy.kind == "graph":
        return np.full(n, 1.0 / n)
    weights = np.ones(n)
    weights[taxonomy.tops] = 1.0 / max(len(taxonomy.tops), 1)
    n_children = np.diff(taxonomy.child_indptr)
    n_parents = np.diff(taxonomy.parent_indptr)
    parents_of = sparse.csr_array(
        (np.ones(len(taxonomy.parent_indices)), taxonomy.parent_indices, taxonomy.parent_indptr), shape=(n, n)
    )
    for level in taxonomy.levels[2:]:
        weights[level] = (parents_of[level] @ (weights / np.maximum(n_children, 1))) / n_parents[level]
    return weights


# -- costs of label sets -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AdditiveCost:
    """A cost that is a sum over nodes: ``false_positive[j]`` for a wrong node, ``miss[j]`` for a missing one.

    Examples
    --------
    >>> from scipy import sparse
    >>> cost = AdditiveCost(false_positive=np.array([1.0, 1.0]), miss=np.array([5.0, 1.0]))
    >>> cost(sparse.csr_array([[1, 0]]), sparse.csr_array([[0, 1]])).tolist()
    [6.0]
    """

    false_positive: FloatArray
    miss: FloatArray

    def __call__(self, Y: CSR, H: CSR) -> FloatArray:
        """Cost of every document (n_docs)."""
        difference = mismatches(Y, H)
        paid = np.where(difference.data > 0, self.miss[difference.indices], self.false_positive[difference.indices])
        return row_sums(difference.indptr, paid)


def subscription(volumes: FloatArray, c_plus: float = 1.0, c_minus: float = 1.0) -> AdditiveCost:
    """Cost of signing up wrongly (``c_plus``) or not (``c_minus``) for a node that delivers ``volumes[j]`` documents.

    Examples
    --------
    >>> subscription(np.array([10.0, 2.0]), c_plus=1.0, c_minus=3.0).miss.tolist()
    [30.0, 6.0]
    """
    volumes = np.asarray(volumes, dtype=np.float64)
    return AdditiveCost(c_plus * volumes, c_minus * volumes)


def mismatches(Y: CSR, H: CSR) -> CSR:
    """Y - H without stored zeros: +1 where a label is missed, -1 where one is wrong."""
    return sparse.csr_array(_signed(Y) - _signed(H))


def _signed(Y: CSR) -> CSR:
    Y = sparse.csr_array(Y)
    return Y if Y.dtype == np.int8 else Y.astype(np.int8)


def symmetric_difference(Y: CSR, H: CSR, weights: FloatArray | None = None) -> FloatArray:
    """Number (or weight) of nodes in exactly one of the two sets, per document.

    Examples
    --------
    >>> from scipy import sparse
    >>> symmetric_difference(sparse.csr_array([[1, 1, 0]]), sparse.csr_array([[0, 1, 1]])).tolist()
    [2.0]
    """
    difference = mismatches(Y, H)
    if weights is None:
        return np.diff(difference.indptr).astype(np.float64)
    return row_sums(difference.indptr, weights[difference.indices])


def h_loss(
    Y: CSR, H: CSR, taxonomy: Taxonomy, weights: FloatArray | str = "uniform", *, closed: bool = False
) -> FloatArray:
    """H-loss per document: a mistake counts unless there is one at a proper ancestor already.

    ``weights`` is a scaling of `node_weights` or one number per node. ``closed=True`` says that both sides are closed,
    where looking at the parents is enough.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["a", "b", "c"]])
    >>> Y, H = tax.indicator([[]]), tax.indicator([["a", "c"]])
    >>> h_loss(Y, H, tax).tolist(), h_tilde_loss(Y, H, tax).tolist()
    ([1.0], [2.0])
    """
    return _first_mistakes_cost(Y, H, taxonomy, weights, parents_only=closed)


def h_tilde_loss(Y: CSR, H: CSR, taxonomy: Taxonomy, weights: FloatArray | str = "uniform") -> FloatArray:
    """H~-loss per document: a mistake counts unless there is one at a parent already.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["a", "b"]])
    >>> h_tilde_loss(tax.indicator([["a", "b"]]), tax.indicator([[]]), tax).tolist()
    [1.0]
    """
    return _first_mistakes_cost(Y, H, taxonomy, weights, parents_only=True)


def _first_mistakes_cost(
    Y: CSR, H: CSR, taxonomy: Taxonomy, weights: FloatArray | str, *, parents_only: bool
) -> FloatArray:
    c = node_weights(taxonomy, weights) if isinstance(weights, str) else weights
    difference = mismatches(Y, H)
    first = first_mistakes(difference, taxonomy, parents_only=parents_only)
    return row_sums(difference.indptr, np.where(first, c[difference.indices], 0.0))


def first_mistakes(difference: CSR, taxonomy: Taxonomy, *, parents_only: bool) -> BoolArray:
    """Which stored entries of ``difference`` have no stored entry above them, at a parent or at any proper ancestor.

    Columns past the nodes of the taxonomy (labels it does not know) have nothing above them.
    """
    rows = row_numbers(difference.indptr)
    entries = np.flatnonzero(difference.indices < taxonomy.n_nodes)
    nodes = difference.indices[entries]
    indptr, indices = parent_sets(taxonomy) if parents_only else _proper_ancestor_arrays(taxonomy)
    counts = np.diff(indptr)[nodes]
    above = indices[_ranges(indptr[:-1][nodes], counts)]
    entries = np.repeat(entries, counts)
    first = np.ones(difference.nnz, dtype=bool)
    first[entries[holds(difference, rows[entries], above)]] = False
    return first


def _proper_ancestor_arrays(taxonomy: Taxonomy) -> tuple[IntArray, IntArray]:
    matrix = taxonomy.ancestor_matrix
    return select(matrix.indptr, matrix.indices, matrix.indices != row_numbers(matrix.indptr))


# -- costs of pairs of nodes -------------------------------------------------------------------------------------------


def tree_distance_cost(taxonomy: Taxonomy, a: IntArray, b: IntArray) -> FloatArray:
    """#(anc(a) ^ anc(b)) for pairs of node numbers; on a tree the number of edges between them.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("B", "BA"), ("B", "BB")])
    >>> distance = tree_distance_cost(tax, np.array([tax.index("BA")] * 2), np.array([tax.index("BB"), tax.index("A")]))
    >>> distance.tolist(), half(distance).tolist()
    ([2.0, 3.0], [1.0, 1.5])
    """
    only_a, only_b, _, _ = _ancestor_differences(taxonomy, a, b)
    return only_a + only_b


def half(distance: FloatArray) -> FloatArray:
    """Half of a distance: the scale of Cai and Hofmann's experiments, where siblings are at 1."""
    return np.asarray(distance, dtype=np.float64) / 2.0


def normalised(taxonomy: Taxonomy, a: IntArray, b: IntArray) -> FloatArray:
    """Mean of the shares of either node's ancestors that the other one lacks, in 0..1.

    On a DAG the share is taken of the number of ancestors, which on a tree is the depth.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "B"), ("B", "BA"), ("B", "BB")])
    >>> normalised(tax, np.array([tax.index("BA")]), np.array([tax.index("BB")])).tolist()
    [0.5]
    """
    only_a, only_b, n_a, n_b = _ancestor_differences(taxonomy, a, b)
    return (only_a / np.maximum(n_a, 1) + only_b / np.maximum(n_b, 1)) / 2.0


def _ancestor_differences(
    taxonomy: Taxonomy, a: IntArray, b: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """#(anc(a) - anc(b)), #(anc(b) - anc(a)), #anc(a), #anc(b); the root has no ancestors, not even itself."""
    matrix, a, b = taxonomy.ancestor_matrix, np.asarray(a), np.asarray(b)
    A, B = matrix[a], matrix[b]
    n_a, n_b = np.diff(A.indptr).astype(np.float64), np.diff(B.indptr).astype(np.float64)
    common = np.diff(sparse.csr_array(A.multiply(B)).indptr).astype(np.float64)
    if taxonomy.root is not None:
        common[(a == taxonomy.root) & (b == taxonomy.root)] = 0
        n_a[a == taxonomy.root] = 0
        n_b[b == taxonomy.root] = 0
    return n_a - common, n_b - common, n_a, n_b


# -- rows --------------------------------------------------------------------------------------------------------------


def holds(Y: CSR, rows: IntArray, columns: IntArray) -> BoolArray:
    """Whether Y has a stored entry at each (row, column); Y has sorted rows.

    Examples
    --------
    >>> from scipy import sparse
    >>> holds(sparse.csr_array([[0, 1], [1, 0]]), np.array([0, 0, 1]), np.array([0, 1, 0])).tolist()
    [False, True, True]
    """
    if not Y.nnz or not len(rows):
        return np.zeros(len(rows), dtype=bool)
    width = np.int64(Y.shape[1] + 1)
    stored = row_numbers(Y.indptr).astype(np.int64) * width + Y.indices
    asked = rows.astype(np.int64) * width + columns
    at = np.minimum(np.searchsorted(stored, asked), len(stored) - 1)
    return np.asarray((stored[at] == asked) & (columns >= 0))


def row_sums(indptr: IntArray, values: FloatArray) -> FloatArray:
    """Sums of the stored values of every row, in float64."""
    return np.bincount(row_numbers(indptr), weights=values, minlength=len(indptr) - 1).astype(np.float64)


def _ranges(starts: IntArray, counts: IntArray) -> IntArray:
    """The concatenation of ``start .. start + count - 1``."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - counts), counts)


PAIR_COSTS = ("half", "distance", "normalised", "zero_one", "subscription")


@dataclass(frozen=True)
class PairCost:
    """Costs of pairs of classes: sums over places, or a matrix (n_classes x n_classes).

    ``pattern`` (n_classes x n_places, CSR of ones) are the places; ``miss`` and ``extra`` have one entry per place,
    ``scale`` (n_y above) one per class. Where ``matrix`` is not empty it is the cost.
    """

    pattern: CSR
    miss: FloatArray
    extra: FloatArray
    scale: FloatArray
    matrix: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))

    @property
    def n_classes(self) -> int:
        return int(self.pattern.shape[0])

    def row(self, y: int) -> FloatArray:
        """D(y, z) for all z (n_classes)."""
        if self.matrix.size:
            return self.matrix[y]
        A = self.pattern
        own = np.zeros(A.shape[1])
        own[A.indices[A.indptr[y] : A.indptr[y + 1]]] = 1.0
        missed = self.miss @ own - A @ (self.miss * own)
        cost: FloatArray = self.scale[y] * missed + self.scale * (A @ (self.extra * (1.0 - own)))
        cost[y] = 0.0
        return cost

    def dense(self) -> FloatArray:
        """All costs, n_classes x n_classes; for few classes."""
        return np.array([self.row(y) for y in range(self.n_classes)])


def check_pair_cost(cost: object) -> None:
    """Refuse what is neither a name nor a matrix."""
    if isinstance(cost, str):
        if cost not in PAIR_COSTS:
            raise ParameterError(
                f"cost={cost!r}; expected one of {', '.join(PAIR_COSTS)}, or a matrix{nearest(cost, PAIR_COSTS)}"
            )
    elif not hasattr(cost, "shape") or len(cost.shape) != 2:
        given = type(cost).__name__
        raise ParameterError(f"cost is a {given}; expected one of {', '.join(PAIR_COSTS)}, or a matrix.")


def pair_cost(
    taxonomy: Taxonomy,
    classes: IntArray,
    cost: str | npt.ArrayLike = "half",
    *,
    volumes: FloatArray | None = None,
    c_minus: float = 1.0,
    c_plus: float = 1.0,
) -> PairCost:
    """Costs of pairs of classes, given by node numbers.

    ``cost`` is a name of the module docstring, or a matrix (n_nodes x n_nodes, right class first). ``volumes`` (one per
    node, default 1), ``c_minus`` and ``c_plus`` belong to "subscription".

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB")])
    >>> classes = np.array([tax.index(name) for name in ("AA", "AB", "B")])
    >>> pair_cost(tax, classes).row(0).tolist(), pair_cost(tax, classes, "zero_one").row(0).tolist()
    ([0.0, 1.0, 1.5], [0.0, 1.0, 1.0])
    """
    check_pair_cost(cost)
    n_classes = len(classes)
    if not isinstance(cost, str):
        return _given(taxonomy, classes, cost)
    if cost == "zero_one":
        half = np.full(n_classes, 0.5)
        return PairCost(sparse.csr_array(sparse.identity(n_classes, format="csr")), half, half, np.ones(n_classes))
    found = terminals(taxonomy, classes)
    unit = np.ones(len(found.nodes))
    scale = np.ones(n_classes)
    if cost == "normalised":
        scale = 1.0 / np.maximum(found.sizes, 1)
    if cost == "subscription":
        weights = unit if volumes is None else _volumes(taxonomy, volumes)[found.nodes]
        return PairCost(found.pattern, c_minus * weights, c_plus * weights, scale)
    factor = 1.0 if cost == "distance" else 0.5
    return PairCost(found.pattern, factor * unit, factor * unit, scale)


def _volumes(taxonomy: Taxonomy, volumes: object) -> FloatArray:
    given = np.asarray(volumes, dtype=np.float64)
    if given.shape != (taxonomy.n_nodes,) or not np.isfinite(given).all() or (given < 0).any():
        raise ParameterError(
            f"volumes has shape {given.shape}; expected {taxonomy.n_nodes} finite numbers of at least 0, one per node."
        )
    return given


def _given(taxonomy: Taxonomy, classes: IntArray, matrix: npt.ArrayLike) -> PairCost:
    D = np.asarray(matrix.toarray() if hasattr(matrix, "toarray") else matrix, dtype=np.float64)
    n = taxonomy.n_nodes
    if D.shape != (n, n):
        raise ParameterError(f"The matrix of costs has shape {D.shape}; expected {n} x {n}, one row for each node.")
    if not np.isfinite(D).all() or (D < 0).any() or np.diag(D).any():
        raise ParameterError("A matrix of costs has finite entries of at least 0, and zeros on its diagonal.")
    classes, q = np.asarray(classes), len(classes)
    nothing = np.zeros(q)
    D = np.ascontiguousarray(D[np.ix_(classes, classes)])
    return PairCost(sparse.csr_array(sparse.identity(q, format="csr")), nothing, nothing, nothing, D)
