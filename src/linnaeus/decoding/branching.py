"""Scores of branching: how many children of a chosen node are chosen, beside the scores of the nodes (Murawaki 2013).

    score(U) = sum_{v in U} s_v + sum_{v in U and the top} b_v(k_v(U)),   b_v(k) = node_v[bucket(k)] + shared[bucket(k)]

k_v is the number of chosen children; buckets are 1 .. R and "more than R". Exact on trees: for a fixed k the best
choice are the k best subtrees, so one sort per node decides (`best_sets`). On a DAG a child counts for all its parents.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from linnaeus.decoding.base import Decoder, as_given, hierarchy
from linnaeus.decoding.best_sets import best_sets
from linnaeus.decoding.set_weights import SetWeights
from linnaeus.errors import DataError
from linnaeus.taxonomy.rows import pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["BestBranching", "branching_counts", "branching_scores", "branching_table"]


def branching_table(taxonomy: Taxonomy, shared: Any = None, node: Any = None, *, stop: str = "leaves") -> FloatArray:
    """The table b, (n_nodes + 1) x (R + 2): no child, 1 .. R children, more than R; the last row is for the tops.

    Parameters
    ----------
    shared : R + 1 weights of 1 .. R and more children, for every node that has children.
    node : (n_nodes + 1) x (R + 1) weights of single nodes; the last row for the tops (a root of the taxonomy has none).
    stop : "leaves" where sets end at leaves and are not empty; "anywhere" where every node may be an end.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"]])
    >>> branching_table(tax, [-0.1, -0.5]).tolist()
    [[-inf, -0.1, -0.5], [0.0, -0.1, -0.5], [-inf, -0.1, -0.5]]
    """
    n = taxonomy.n_nodes
    width = (
        1 if shared is None and node is None else len(np.atleast_1d(shared)) if shared is not None else node.shape[1]
    )
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

    Column v (R + 1) + bucket is set where node v is in the set and has so many children there; v = n_nodes are the
    tops.

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
    shared : weights of 1 .. R and more children that all nodes share.
    node : weights of single nodes, (n_nodes + 1) x (R + 1), or None.
    stop : "leaves" or "anywhere", see `branching_table`.

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
    shared: Any = None
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

    def set_weights(self, S: Any, taxonomy: Taxonomy, columns: Any = None) -> SetWeights:
        """The scores that are summed, beside those of branching (`table`)."""
        return SetWeights(as_given(S, taxonomy, columns)[0])

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        return best_sets(S, taxonomy, columns, table=self.table(taxonomy)).best
