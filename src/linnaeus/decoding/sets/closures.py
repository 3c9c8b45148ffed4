"""Exact decoding on DAGs: the closed set U that maximises sum_{v in U} u_v, by minimum cut.

Source to v with capacity u_v where u_v > 0, v to sink with capacity -u_v where u_v < 0, v to each parent without limit:
a cut of finite capacity is a closed set, and cuts are cheaper the more its members weigh. The smallest of the best sets
is returned. Where no node has two parents dynamic programming gives the same answer faster.

Many problems are closures under other weights u: consistent labellings under edge scores (`closure_weights`), additive
costs, isotonic smoothing, n-best sets. They share `best_closures`.

Exact decoding on trees and forests by dynamic programming, linear in documents x nodes.

Node weights: the closed set U that maximises sum_{v in U} u_v,

    W(v) = u_v + sum_{c child of v} max(0, W(c)),    keep v iff its parent is kept and W(v) > 0 (a tie: fewer nodes).

Edge weights: the labelling y that maximises sum_v g_v(y_parent(v), y_v), closed or unrestricted. Prediction with
a model of edge potentials (Rousu et al. 2006) uses the closed one, its training the unrestricted one.

Decoders of models that score label sets as wholes (`GlobalTreeModel`).

`BestTree` takes a table of branching as it was learned, minus infinity where a set may not end; `BestNonEmpty` needs
none and works on DAGs.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import (
    Decoder,
    Hierarchy,
    SetWeights,
    Theta,
    as_given,
    hierarchy,
    in_blocks,
    less_theta,
    plain_theta,
    positions,
    theta_per_node,
)
from linnaeus.decoding.rules import Rules
from linnaeus.decoding.sets.best_sets import best_sets, branching_scores
from linnaeus.errors import DataError, ParameterError, TaxonomyError
from linnaeus.taxonomy.closure import pattern, pointers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = [
    "BestClosure",
    "BestNonEmpty",
    "BestSubtree",
    "BestTree",
    "best_closures",
    "closure_weights",
    "max_edge_labelling",
]


@dataclass(frozen=True)
class BestClosure(Decoder):
    """The closed set of largest total score, on any taxonomy; may be empty.

    Nodes without a score weigh 0: they join as ancestors of nodes that are worth it. The root is left out.

    Parameters
    ----------
    theta : object, default=0.0
        One number, or one for each node of the taxonomy; a scored node weighs its score less theta. Below 0 the answers
        grow deeper, above 0 more cautious.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "C"), ("B", "C"), ("B", "D")])
    >>> nodes = [tax.index(name) for name in "ABCD"]
    >>> Y = BestClosure()([[-0.4, -0.3, 0.9, -0.1], [-0.4, -0.6, 0.9, -0.1]], tax, nodes)
    >>> tax.labels(Y)
    [['A', 'B', 'C'], []]
    """

    name: ClassVar[str] = "best_closure"
    theta: Theta = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "theta", plain_theta(self.theta))

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """The weights that are summed."""
        return SetWeights(less_theta(self.theta, as_given(S, taxonomy, columns)[0], taxonomy, columns))

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        theta = theta_per_node(self.theta, taxonomy)[columns].astype(S.dtype)
        return best_closures(S - theta if theta.any() else S, taxonomy, columns)


def best_closures(U: FloatArray, taxonomy: Taxonomy, columns: IntArray, *, with_root: bool = False) -> CSR:
    """Closed sets of largest total weight (CSR n_docs x n_nodes), the smallest where several are best.

    Parameters
    ----------
    U : ndarray of float
        Weights (n_docs x n_weighted), C-contiguous float32 or float64.
    taxonomy : Taxonomy
        The taxonomy of the nodes.
    columns : ndarray of int
        Node numbers of the columns, increasing; other nodes weigh 0.
    with_root : bool, default=False
        Treat the root as an ordinary node: everything needs it, and it may be in the answer.

    Returns
    -------
    csr_array
        The sets, n_docs x n_nodes, as 0/1 rows.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B")])
    >>> U, nodes = np.array([[-1.0, 0.7, 0.6]]), np.arange(3)
    >>> tax.labels(best_closures(U, tax, nodes)), tax.labels(best_closures(U - 0.4, tax, nodes, with_root=True))
    ([['A', 'B']], [[]])
    """
    from linnaeus._kernels.max_flow import best_closures as by_cut
    from linnaeus._kernels.tree_dp import best_subtrees as by_programme

    edges = hierarchy(taxonomy, with_root=with_root)
    position = positions(taxonomy, columns, with_root=with_root)
    if edges.is_forest:
        parent = edges.parent
        return in_blocks(lambda rows: by_programme(rows, position, parent), U, taxonomy.n_nodes)
    return in_blocks(lambda rows: by_cut(rows, position, *edges[:5]), U, taxonomy.n_nodes)


def closure_weights(G: npt.ArrayLike, taxonomy: Taxonomy) -> tuple[FloatArray, FloatArray]:
    """Node weights that decide consistent labellings under edge scores on any DAG.

    With the pair (0, 1) left out, g(a, b) = g(0,0) + a [g(1,0) - g(0,0)] + b [g(1,1) - g(1,0)] for the other three, so
    that a labelling scores ``constant + sum_{v labelled 1} U[v]`` with

        U[v] = sum_{edges into v} [g(1,1) - g(1,0)] + sum_{edges out of v} [g(1,0) - g(0,0)],
        constant = sum_{edges} g(0,0).

    Parameters
    ----------
    G : object
        N_docs x n_edges x 4; ``G[d, e, 2 a + b]`` scores label a of the parent and label b of the child of edge e;
        edges in the order of ``taxonomy.parent_indices`` (child by child).
    taxonomy : Taxonomy
        The taxonomy of the nodes.

    Returns
    -------
    U : ndarray of shape (n_docs, n_nodes)
        Weights for `best_closures` (``with_root=True`` where the root is a node to decide on).
    constant : ndarray of shape (n_docs,)
        What every labelling scores besides.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_edges([("A", "AA")])
    >>> U, constant = closure_weights([[[0.5, 5, 1, 2]]], tax)
    >>> U.tolist(), constant.tolist()
    ([[0.5, 1.0]], [0.5])
    """
    from scipy import sparse

    G = np.asarray(G, dtype=np.float64)
    n, m = taxonomy.n_nodes, len(taxonomy.parent_indices)
    if G.ndim != 3 or G.shape[1:] != (m, 4):
        raise DataError(f"Edge scores have the shape {G.shape}, expected (n_docs, {m}, 4): one row for each edge.")
    parent, child = taxonomy.edges
    ones, edge = np.ones(m), np.arange(m)
    into = sparse.csr_array((ones, (child, edge)), shape=(n, m))
    out_of = sparse.csr_array((ones, (parent, edge)), shape=(n, m))
    U = into @ (G[:, :, 3] - G[:, :, 2]).T + out_of @ (G[:, :, 2] - G[:, :, 0]).T
    return np.ascontiguousarray(U.T), G[:, :, 0].sum(axis=1)


@dataclass(frozen=True)
class BestSubtree(BestClosure):
    """`BestClosure` for a tree or forest only: where a node has two parents it is an error, not a slower answer.

    Parameters
    ----------
    theta : float or sequence of float, default=0.0
        One number, or one for each node of the taxonomy.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> tax.labels(BestSubtree()([[-0.5, -0.1, 0.8, -0.2]], tax))      # A, B, AA, AB
    [['A', 'AA']]
    """

    name: ClassVar[str] = "best_subtree"

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        edges = hierarchy(taxonomy)
        if not edges.is_forest:
            raise TaxonomyError(f"BestSubtree needs a tree, but {_several(edges, taxonomy)}; use BestClosure.")
        return super()._decode(S, taxonomy, columns)


def _several(edges: Hierarchy, taxonomy: Taxonomy) -> str:
    v = int(np.flatnonzero(np.diff(edges.parent_indptr) > 1)[0])
    return f"node {taxonomy.names[v]!r} has {edges.parent_indptr[v + 1] - edges.parent_indptr[v]} parents"


def max_edge_labelling(G: npt.ArrayLike, taxonomy: Taxonomy, consistent: bool = True) -> tuple[BoolArray, FloatArray]:
    """The best labelling of every document under edge scores, and its score.

    Parameters
    ----------
    G : object
        N_docs x n_nodes x 4; ``G[d, v, 2 a + b]`` scores label a of v's parent together with label b of v (0 or 1). A
        node without a parent has no edge above it: its entries 2 and 3 are scores of its own labels 0 and 1 (zeros
        leave it free, scored only through the edges below it), its entries 0 and 1 are not read. A root is an ordinary
        node here; a forest is the sum of its trees.
    taxonomy : Taxonomy
        The taxonomy of the nodes.
    consistent : bool, default=True
        Leave out labellings where a node is 1 under a parent that is 0. A tie prefers 0.

    Returns
    -------
    labels : ndarray of bool, shape (n_docs, n_nodes)
        The best labellings; dense, as half of an unrestricted labelling may be ones.
    scores : ndarray of shape (n_docs,)
        Their scores.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_edges([("A", "AA")])
    >>> G = [[[0, 0, 0, 0], [0, 5, 1, 2]]]              # AA without A: 5, A without AA: 1, both: 2
    >>> max_edge_labelling(G, tax)
    (array([[ True,  True]]), array([2.]))
    >>> max_edge_labelling(G, tax, consistent=False)
    (array([[False,  True]]), array([5.]))
    """
    from linnaeus._kernels.tree_dp import edge_labellings

    G = np.asarray(G)
    if G.ndim != 3 or G.shape[1:] != (taxonomy.n_nodes, 4):
        raise DataError(f"Edge scores have the shape {G.shape}, expected (n_docs, {taxonomy.n_nodes}, 4).")
    if G.dtype not in (np.float32, np.float64):
        G = G.astype(np.float64)
    edges = hierarchy(taxonomy, with_root=True)
    if not edges.is_forest:
        hint = "on a DAG, closure_weights and best_closures find the best closed labelling"
        raise TaxonomyError(f"Edge labelling needs a tree, but {_several(edges, taxonomy)}; {hint}.")
    labels, scores = edge_labellings(np.ascontiguousarray(G), edges.parent, consistent)
    return labels.view(bool), scores


@dataclass(frozen=True, eq=False)
class BestTree(Decoder):
    """The set of largest score under a table of branching.

    Parameters
    ----------
    scores : array-like of shape (n_nodes + 1, R + 2)
        Scores of no child, 1 .. R children and more, for every node and last for the tops; see `branching_table`.
    one : bool, default=False
        Whether answers are single labels.
    at_least_one : bool, default=True
        Whether answers have at least one label.

    Examples
    --------
    >>> from linnaeus.decoding import branching_table
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> tax.labels(BestTree(branching_table(tax, [-0.1, -0.6]))([[0.5, 0.2, 0.4, 0.3]], tax))  # A, B, AA, AB
    [['A', 'AA']]
    """

    name: ClassVar[str] = "best_tree"
    scores: npt.ArrayLike = field(default=(), repr=False)
    one: bool = False
    at_least_one: bool = True

    def __post_init__(self) -> None:
        table = np.asarray(self.scores, dtype=np.float64)
        if table.ndim != 2:
            raise ParameterError("best_tree needs scores, a table of branching for all nodes; see branching_table.")
        object.__setattr__(self, "scores", table)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BestTree) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def _content(self) -> tuple[bytes, tuple[int, ...], bool, bool]:
        table = np.asarray(self.scores)
        return table.tobytes(), table.shape, self.one, self.at_least_one

    def to_dict(self) -> dict[str, object]:
        """Name and parameters as plain values."""
        return super().to_dict() | {"scores": np.asarray(self.scores).tolist()}

    @property
    def single(self) -> bool:
        return self.one

    @property
    def may_be_empty(self) -> bool:
        return not self.at_least_one

    def table(self, taxonomy: Taxonomy) -> FloatArray:
        """The table of `best_sets`."""
        return np.asarray(self.scores)

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """The scores that are summed, without those of branching (`table`)."""
        return SetWeights(as_given(S, taxonomy, columns)[0])

    def label_scores(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> FloatArray:
        """Sums of the scores on the path to every node, and of its branching."""
        (S, nodes), table = as_given(S, taxonomy, columns), self.table(taxonomy)
        each = taxonomy.close(pattern(np.arange(len(nodes) + 1), nodes.astype(np.int32), taxonomy.n_nodes))
        above = branching_scores(taxonomy.close(each, keep_root=False), taxonomy, table)
        return np.asarray((each[:, nodes].astype(np.float64) @ S.T).T) + above

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        table = self.table(taxonomy)
        if self.one and not hierarchy(taxonomy).is_forest:
            scores = self.label_scores(S, taxonomy, columns)
            best = scores.argmax(axis=1)
            possible = np.isfinite(scores[np.arange(len(scores)), best])
            chosen = pattern(pointers(possible), columns[best[possible]].astype(np.int32), taxonomy.n_nodes)
            return taxonomy.close(chosen)
        if self.one:
            table = np.where(np.arange(table.shape[1]) < 2, table, -np.inf)
        return best_sets(S, taxonomy, columns, table=table).best


@dataclass(frozen=True)
class BestNonEmpty(BestClosure):
    """The closed set of largest score that ends at scored nodes, on any taxonomy.

    Parameters
    ----------
    theta : float or tuple of float, default=0.0
        One number, or one for each node of the taxonomy; a scored node weighs its score minus theta.
    at_least_one : bool, default=True
        Whether answers have at least one label.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> tax.labels(BestNonEmpty()([[-0.5, -0.2, 0.1]], tax))  # A, B, AA
    [['B']]
    """

    name: ClassVar[str] = "best_non_empty"
    at_least_one: bool = True

    @property
    def may_be_empty(self) -> bool:
        return not self.at_least_one

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        rules = Rules(at_least=int(self.at_least_one)).bind(taxonomy)
        scored = np.zeros(taxonomy.n_nodes, dtype=bool)
        scored[columns] = True
        rules = replace(rules, may_stop=rules.may_stop & scored)
        return best_sets(self.set_weights(S, taxonomy, columns).nodes, taxonomy, columns, rules=rules).best
