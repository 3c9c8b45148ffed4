"""The k best closed sets of every document, under rules and with scores of branching.

    max over closed U that the rules allow of   sum_{v in U} ( u_v + b_v(k_v(U)) ) + sum over labels v of U of e_v

u are the weights of nodes; b_v(k), if given, scores that k children of a chosen v are chosen, e_v that
the set ends at v, which makes it a label. Exact on trees and forests by dynamic programming: linear in nodes for the
best set, times k (and the number of labels, where rules count them) for more. On a DAG exact by minimum cuts where
rules only leave nodes out or in; with scores of branching by relaxation to trees (`relaxed_sets`) where that is exact;
else by integer programming (`dag`), which says for every document whether its answer is proved.

Scores of branching: how many children of a chosen node are chosen, beside the scores of the nodes (Murawaki 2013).

    score(U) = sum_{v in U} s_v + sum_{v in U and the top} b_v(k_v(U)),   b_v(k) = node_v[bucket(k)] + shared[bucket(k)]

k_v is the number of chosen children; buckets are 1 .. R and "more than R". Exact on trees: for a fixed k the best
choice are the k best subtrees, so one sort per node decides (`best_sets`). On a DAG a child counts for all its parents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import Decoder, Hierarchy, SetWeights, as_given, blocks, checked, hierarchy, positions
from linnaeus.decoding.rules import NO_BOUND, BoundRules, Rules
from linnaeus.decoding.sets.dag import on_dag
from linnaeus.errors import DataError, check_number
from linnaeus.taxonomy.closure import pattern, pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["BestBranching", "RankedSets", "best_sets", "branching_counts", "branching_scores", "branching_table"]


@dataclass(frozen=True)
class RankedSets:
    """The best sets of documents: rows d k .. d k + k - 1 of ``sets`` are those of document d, best first.

    ``scores`` (n_docs x k) are minus infinity where there is no further set; ``proved`` (n_docs) says for which
    documents the list is known to be the best.

    Parameters
    ----------
    sets : CSR array of shape (n_docs * k, n_nodes)
        The sets, best first within each document.
    scores : ndarray of shape (n_docs, k)
        Scores of the sets; minus infinity where there is no further set.
    proved : ndarray of bool
        Whether the sets of a document are proved to be the best.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.from_paths([["A"], ["B"]])
    >>> found = best_sets(np.array([[2.0, 1.0]]), tax, k=2)
    >>> found.scores.tolist(), found.proved.tolist()
    ([[3.0, 2.0]], [True])
    """

    sets: CSR
    scores: FloatArray
    proved: BoolArray

    @property
    def k(self) -> int:
        return int(self.scores.shape[1])

    @property
    def best(self) -> CSR:
        """The best set of every document (n_docs x n_nodes)."""
        return self.sets[:: self.k] if self.k > 1 else self.sets

    @property
    def feasible(self) -> BoolArray:
        """Of which documents there is any set at all."""
        return np.asarray(self.scores[:, 0] > -np.inf)

    def labels(self, taxonomy: Taxonomy, *, closed: bool = True) -> list[list[tuple[list[str], float]]]:
        """(names, score) of the sets of every document; ``closed=False`` leaves the most specific labels."""
        rows = taxonomy.labels(self.sets if closed else taxonomy.frontier(self.sets))
        found = []
        for d, scores in enumerate(self.scores.tolist()):
            pairs = zip(rows[d * self.k : (d + 1) * self.k], scores, strict=True)
            found.append([(names, score) for names, score in pairs if score > -np.inf])
        return found


def best_sets(
    U: npt.ArrayLike,
    taxonomy: Taxonomy,
    columns: npt.ArrayLike | None = None,
    *,
    k: int = 1,
    rules: Rules | BoundRules | None = None,
    table: npt.ArrayLike | None = None,
    ends: npt.ArrayLike | None = None,
) -> RankedSets:
    """The k best closed sets of every document.

    Parameters
    ----------
    U : object
        Weights, n_docs x n_weighted; minus infinity forbids a node.
    taxonomy : Taxonomy
        The taxonomy of the nodes.
    columns : object, default=None
        Node numbers of the columns; other nodes weigh 0. None: all nodes in order.
    k : int, default=1
        Number of sets of every document.
    rules : Rules or BoundRules, default=None
        Which sets are allowed; a set may be empty unless they ask for a label. Candidates of documents are one list
        for each row of U.
    table : object, default=None
        Scores of branching, (n_nodes + 1) x (R + 2): no child, 1 .. R children, more than R; the last row is for the
        number of top nodes. See `linnaeus.decoding.sets.best_sets`.
    ends : object, default=None
        Weights of nodes as labels, where the set has nothing below them; columns as U, minus infinity: none may end.

    Returns
    -------
    RankedSets
        Sets, their scores, and whether they are proved to be the best.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    >>> U = [[-0.5, 0.3, 1.0, -0.2, -0.4, -0.1]]                # A, B, AA, AB, BA, BB
    >>> found = best_sets(U, tax, k=2)
    >>> tax.labels(found.sets), found.scores.round(2).tolist()
    ([['A', 'B', 'AA'], ['A', 'B', 'AA', 'BB']], [[0.8, 0.7]])
    >>> best_sets(U, tax, rules=Rules(only_under="B", leaves_only=True, at_least=1)).labels(tax, closed=False)[0][0][0]
    ['BB']
    """
    check_number("k", k, least=1, whole=True)
    E = None if ends is None else checked(np.asarray(ends, dtype=np.asarray(U).dtype), taxonomy, columns)[0]
    U, _, nodes = checked(U, taxonomy, columns)
    bound = rules if isinstance(rules, BoundRules) else Rules.of(rules).bind(taxonomy)
    if bound.least[-1] > taxonomy.n_nodes:
        return RankedSets(
            _nothing(len(U) * int(k), taxonomy.n_nodes), np.full((len(U), int(k)), -np.inf), np.ones(len(U), dtype=bool)
        )
    edges = hierarchy(taxonomy)
    if bound.documents is not None:
        U, E, nodes = _masked(U, E, taxonomy, nodes, bound)
    if edges.is_forest:
        return _on_forest(U, taxonomy, nodes, int(k), bound, edges, table, E)
    scores = None if table is None else _with_rules(_checked_table(table, taxonomy.n_nodes), bound)
    return RankedSets(*on_dag(U, taxonomy, nodes, int(k), bound, edges, scores, E))


def _masked(
    U: FloatArray, E: FloatArray | None, taxonomy: Taxonomy, nodes: IntArray, rules: BoundRules
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Weights of nodes and ends with minus infinity where a document has other candidates, over all allowed nodes."""
    assert rules.documents is not None
    if len(rules.documents) != len(U):
        raise DataError(f"candidates has {len(rules.documents):,} lists for {len(U):,} documents.")
    usable = rules.allowed.copy()
    usable[nodes] = True
    columns = np.flatnonzero(usable).astype(nodes.dtype)
    place = np.searchsorted(columns, nodes)
    ends, inside = rules.documents.masks(taxonomy, columns)
    wide = np.zeros((len(U), len(columns)), dtype=U.dtype)
    wide[:, place] = U
    last = np.zeros_like(wide)
    if E is not None:
        last[:, place] = E
    return np.where(inside, wide, -np.inf).astype(U.dtype), np.where(ends, last, -np.inf).astype(U.dtype), columns


def _on_forest(
    U: FloatArray,
    taxonomy: Taxonomy,
    nodes: IntArray,
    k: int,
    rules: BoundRules,
    edges: Hierarchy,
    table: npt.ArrayLike | None,
    E: FloatArray | None,
) -> RankedSets:
    from linnaeus._kernels.best_changes import changed_sets
    from linnaeus._kernels.best_sets import best_sets as several
    from linnaeus._kernels.branching import branching_sets

    n = taxonomy.n_nodes
    indptr, children = allowed_children(edges, rules.allowed)
    plain = (
        table is None
        and E is None
        and not rules.counts
        and rules.max_children is None
        and rules.may_stop[rules.allowed].all()
    )
    table = _with_rules(_checked_table(table, n), rules)
    forced = np.append(rules.forced, False).astype(np.uint8)
    proved = np.ones(len(U), dtype=bool)
    if (rules.forced & ~rules.allowed).any():  # what is required is not allowed
        return RankedSets(_nothing(len(U) * k, n), np.full((len(U), k), -np.inf), proved)
    arrays = (positions(taxonomy, nodes), indptr, children, table, forced)
    parts: list[tuple[IntArray, IntArray, FloatArray]] = []
    most = np.where(rules.most < NO_BOUND, rules.most, 0)
    J = max(1, int(rules.least[-1]), int(most.max()) + int(most.any()))
    bounds = (rules.least, np.minimum(rules.most, J).astype(np.int32))
    E = np.ascontiguousarray(U[:, :0]) if E is None else E
    for rows in blocks(len(U), n * k):
        if k == 1 and not rules.counts:
            parts.append(branching_sets(U[rows], *arrays, E[rows]))
        elif plain:
            parts.append(changed_sets(U[rows], *arrays[:3], forced, bool(rules.least[-1] > 0), k))
        else:
            parts.append(several(U[rows], *arrays, E[rows], *bounds, J, k))
    ends = pointers([len(part[1]) for part in parts])
    starts = [np.zeros(1, dtype=np.int64), *(part[0][1:] + end for part, end in zip(parts, ends, strict=False))]
    indices = np.concatenate([np.empty(0, dtype=np.int32), *(part[1] for part in parts)])
    scores = np.concatenate([np.empty((0, k)), *(part[2].reshape(-1, k) for part in parts)])
    return RankedSets(pattern(np.concatenate(starts), indices, n), scores, proved)


def _nothing(n_rows: int, n: int) -> CSR:
    return pattern(np.zeros(n_rows + 1, dtype=np.int64), np.empty(0, dtype=np.int32), n)


def allowed_children(edges: Hierarchy, allowed: BoolArray) -> tuple[IntArray, IntArray]:
    """Children that are allowed, of every node and, last, of what stands above the tops, as CSR arrays."""
    n = len(allowed)
    children = np.concatenate([edges.child_indices, edges.tops]).astype(np.int32)
    parents = np.concatenate([row_numbers(edges.child_indptr), np.full(len(edges.tops), n)])
    keep = allowed[children]
    return pointers(np.bincount(parents[keep], minlength=n + 1)), children[keep]


def _checked_table(table: npt.ArrayLike | None, n: int) -> FloatArray:
    if table is None:
        return np.zeros((n + 1, 2))
    table = np.array(table, dtype=np.float64)  # a copy: rules write into it
    if table.ndim != 2 or len(table) != n + 1 or table.shape[1] < 2 or np.isnan(table).any() or (table == np.inf).any():
        raise DataError(
            f"Scores of branching have the shape {table.shape}, expected ({n + 1}, R + 2): numbers for no child, 1 .. "
            "R children and more, in a row for every node and one more for the tops."
        )
    return table


def _with_rules(table: FloatArray, rules: BoundRules) -> FloatArray:
    """The table with minus infinity where the rules do not let a node end, or have that number of children."""
    table[:-1][~rules.may_stop, 0] = -np.inf
    if rules.least[-1] > 0:
        table[-1, 0] = -np.inf
    if rules.max_children is not None:
        width = max(table.shape[1], rules.max_children + 2)
        table = np.column_stack([table[:, :-1], *[table[:, -1]] * (width - table.shape[1] + 1)])
        table[:, rules.max_children + 1 :] = -np.inf
    return np.ascontiguousarray(table)


def branching_table(
    taxonomy: Taxonomy, shared: npt.ArrayLike | None = None, node: npt.ArrayLike | None = None, *, stop: str = "leaves"
) -> FloatArray:
    """The table b, (n_nodes + 1) x (R + 2): no child, 1 .. R children, more than R; the last row is for the tops.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy of the nodes.
    shared : object, default=None
        R + 1 weights of 1 .. R and more children, for every node that has children.
    node : object, default=None
        (n_nodes + 1) x (R + 1) weights of single nodes; the last row for the tops (a root of the taxonomy has none).
    stop : str, default="leaves"
        "leaves" where sets end at leaves and are not empty; "anywhere" where every node may be an end.

    Returns
    -------
    ndarray
        The table, (n_nodes + 1) x (R + 2).

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"]])
    >>> branching_table(tax, [-0.1, -0.5]).tolist()
    [[-inf, -0.1, -0.5], [0.0, -0.1, -0.5], [-inf, -0.1, -0.5]]
    """
    n = taxonomy.n_nodes
    given = shared if shared is not None else node
    width = 1 if given is None else np.atleast_1d(given).shape[-1]
    table = np.zeros((n + 1, width + 1))
    if shared is not None:
        table[:, 1:] += np.asarray(shared, dtype=np.float64)
    if node is not None:
        node = np.asarray(node, dtype=np.float64)
        if node.shape != (n + 1, width):
            raise DataError(f"Weights of branching have the shape {node.shape}, expected ({n + 1}, {width}).")
        table[:, 1:] += node
    if stop == "leaves":
        table[:-1][~taxonomy.is_leaf, 0] = -np.inf
        table[-1, 0] = -np.inf
    return table


def branching_counts(Y: CSR, taxonomy: Taxonomy, R: int) -> tuple[CSR, IntArray]:
    """Which features of branching closed sets have: (n_docs x (n_nodes + 1) (R + 1)) 0/1, and sums over nodes.

    Column v (R + 1) + bucket is set where node v is in the set and has that number of children there; v = n_nodes
    are the tops.

    Parameters
    ----------
    Y : CSR array of shape (n_docs, n_nodes)
        Label sets as 0/1 rows.
    taxonomy : Taxonomy
        The taxonomy of the nodes.
    R : int
        Largest number of children that has a weight of its own.

    Returns
    -------
    tuple
        The features of each document (CSR), and their sums over nodes for each document.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> found, total = branching_counts(tax.indicator([["A", "AA", "AB"]]), tax, 1)
    >>> found.indices.tolist(), total.tolist()      # two children of A; one top
    ([1, 8], [[1, 1]])
    """
    from scipy import sparse

    n = taxonomy.n_nodes
    edges = hierarchy(taxonomy)
    above = edges.parent
    rows = np.repeat(np.arange(Y.shape[0], dtype=np.int64), np.diff(Y.indptr))
    parents = np.where(above[Y.indices] < 0, n, above[Y.indices]).astype(np.int64)
    pairs, counts = np.unique(rows * (n + 1) + parents, return_counts=True)
    bucket = np.minimum(counts, R + 1) - 1
    row, parent = pairs // (n + 1), pairs % (n + 1)
    shape = (Y.shape[0], (n + 1) * (R + 1))
    found = sparse.csr_array((np.ones(len(row), dtype=np.int8), (row, parent * (R + 1) + bucket)), shape=shape)
    total = np.zeros((Y.shape[0], R + 1), dtype=np.int64)
    np.add.at(total, (row, bucket), 1)
    return found, total


def branching_scores(Y: CSR, taxonomy: Taxonomy, table: FloatArray) -> FloatArray:
    """What the branching of closed sets scores: the sum over members, and what stands above the tops, of b_v(k_v).

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    >>> table = branching_table(tax, [-1.0, -5.0], stop="anywhere")
    >>> branching_scores(tax.indicator([["A", "AA", "AB"], ["B"]]), tax, table).tolist()
    [-6.0, -1.0]
    """
    from scipy import sparse

    edges, n = hierarchy(taxonomy), taxonomy.n_nodes
    rows = row_numbers(Y.indptr).astype(np.int64)
    lengths = np.diff(edges.parent_indptr)
    parents = np.where(lengths == 0, 1, lengths)  # tops stand below what stands above them all
    lists = np.full(parents.sum(), n)
    lists[np.repeat(lengths > 0, parents)] = edges.parent_indices
    above = sparse.csr_array((np.ones(len(lists), np.int8), lists, pointers(parents)), shape=(n, n + 1))[Y.indices]
    held = np.concatenate([Y.indices, np.full(Y.shape[0], n)])
    children = rows[row_numbers(above.indptr)] * (n + 1) + above.indices
    owners = np.concatenate([rows, np.arange(Y.shape[0])])
    members = owners * (n + 1) + held
    known, counts = np.unique(np.concatenate([members, children]), return_counts=True)
    k = np.minimum(counts[np.searchsorted(known, members)] - 1, table.shape[1] - 1)
    return np.asarray(np.bincount(owners, table[held, k], minlength=Y.shape[0]), dtype=np.float64)


@dataclass(frozen=True)
class BestBranching(Decoder):
    """The closed set of largest score with branching; by default sets that end at leaves, never empty.

    Parameters
    ----------
    shared : object, default=None
        Weights of 1 .. R and more children that all nodes share.
    node : object, default=field(default=None, repr=False)
        Weights of single nodes, (n_nodes + 1) x (R + 1), or None.
    stop : str, default="leaves"
        "leaves" or "anywhere", see `branching_table`.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    >>> S = [[-0.5, 0.3, 1.0, -0.2, -0.4, -0.1]]                # A, B, AA, AB, BA, BB
    >>> tax.labels(BestBranching()(S, tax))
    [['A', 'B', 'AA', 'BB']]
    >>> tax.labels(BestBranching(shared=(-0.05, -0.55))(S, tax))
    [['A', 'AA']]
    """

    name: ClassVar[str] = "best_branching"
    shared: npt.ArrayLike | None = None
    node: Any = field(default=None, repr=False)
    stop: str = "leaves"

    def __post_init__(self) -> None:
        if self.shared is not None:
            object.__setattr__(self, "shared", tuple(float(w) for w in np.atleast_1d(self.shared)))
        if self.node is not None:
            rows = tuple(tuple(float(w) for w in row) for row in self.node)
            object.__setattr__(self, "node", rows)

    def table(self, taxonomy: Taxonomy) -> FloatArray:
        """The table of `best_sets`."""
        node = None if self.node is None else np.array(self.node)
        return branching_table(taxonomy, self.shared, node, stop=self.stop)

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """The scores that are summed, beside those of branching (`table`)."""
        return SetWeights(as_given(S, taxonomy, columns)[0])

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        return best_sets(S, taxonomy, columns, table=self.table(taxonomy)).best
