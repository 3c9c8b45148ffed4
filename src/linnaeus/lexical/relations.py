"""How the candidates of a document lie to each other in the taxonomy.

For every candidate: the shares of the other candidates of its document that are above it, below it, or next to it (a
child of one of its parents), and how near the nearest of them is. The distance of two nodes is the number of edges
up to a common ancestor and down again, where the root is not an ancestor: everything has it in common.

Nothing compares candidates in pairs. Every candidate is listed under all of its ancestors, so that relatives meet at
the entries of one document and one ancestor; a document costs its candidates times their depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import expanded, row_numbers
from linnaeus.typing import FloatArray, IntArray

__all__ = ["Relations", "Relatives"]

_MAX_STEPS = 32  # edges up from a node within which ancestors are listed


@dataclass(frozen=True)
class Relatives:
    """Shares of the other candidates of the document, and nearness (1 / distance, 0 without a relative)."""

    above: FloatArray
    beside: FloatArray
    below: FloatArray
    nearness: FloatArray


class Relations:
    """Ancestors of all nodes with their distances, without the root.

    Parameters
    ----------
    taxonomy : Taxonomy
        Any taxonomy; nodes of a graph have no ancestors.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "a"), ("R", "b"), ("a", "a1"), ("a", "a2")])
    >>> near = Relations(tax).of(np.array([0, 2]), np.array([tax.index("a1"), tax.index("a2")]))
    >>> near.beside.tolist(), near.nearness.tolist()
    ([1.0, 1.0], [0.5, 0.5])
    """

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.n_nodes = taxonomy.n_nodes
        directed = taxonomy.kind != "graph"
        indptr = np.asarray(taxonomy.parent_indptr if directed else np.zeros(self.n_nodes + 1), dtype=np.int64)
        indices = np.asarray(taxonomy.parent_indices if directed else np.zeros(0), dtype=np.int64)
        kept = indices != (-1 if taxonomy.root is None else taxonomy.root)
        children = row_numbers(indptr)[kept]
        self._parents = indices[kept]
        self._parent_indptr = np.searchsorted(children, np.arange(self.n_nodes + 1))
        self._list_ancestors()

    def _list_ancestors(self) -> None:
        """Every node under all of its ancestors and itself, with the smallest number of edges."""
        below: IntArray = np.arange(self.n_nodes)
        above: IntArray = below
        keys, steps = [below * self.n_nodes + above], [np.zeros(self.n_nodes, dtype=np.int64)]
        for step in range(1, _MAX_STEPS + 1):
            rows, above = expanded(above, self._parent_indptr, self._parents)
            key = np.sort(below[rows] * self.n_nodes + above)
            key = key[np.append(True, key[1:] != key[:-1])] if len(key) else key
            if not len(key):
                break
            keys.append(key)
            steps.append(np.full(len(key), step))
            below, above = np.divmod(key, self.n_nodes)
        key, step_of = np.concatenate(keys), np.concatenate(steps)
        order = np.argsort(key, kind="stable")  # of two ways to an ancestor the shorter comes first
        key, step_of = key[order], step_of[order]
        shortest = np.append(True, key[1:] != key[:-1])
        nodes, self._ancestors = np.divmod(key[shortest], self.n_nodes)
        self._steps = step_of[shortest]
        self._indptr = np.searchsorted(nodes, np.arange(self.n_nodes + 1))

    def of(self, indptr: IntArray, nodes: IntArray) -> Relatives:
        """Relatives of candidates.

        Parameters
        ----------
        indptr : ndarray of shape (n_docs + 1,)
            Where the candidates of every document begin.
        nodes : ndarray of shape (n_candidates,)
            Their nodes, ascending in every document.

        Returns
        -------
        Relatives
            One value per candidate.
        """
        n = len(nodes)
        documents = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        others = np.maximum(np.diff(indptr)[documents] - 1, 1)
        own = documents * self.n_nodes + nodes  # ascending
        rows, ancestors = expanded(nodes, self._indptr, self._ancestors)
        _, steps = expanded(nodes, self._indptr, self._steps)
        keys = documents[rows] * self.n_nodes + ancestors
        place = np.minimum(np.searchsorted(own, keys), max(n - 1, 0))
        is_candidate = (own[place] == keys) & (steps > 0) if n else np.zeros(0, dtype=bool)
        above = np.bincount(rows[is_candidate], minlength=n)
        below = np.bincount(place[is_candidate], minlength=n)
        return Relatives(
            above / others, self._beside(documents, nodes) / others, below / others, _nearness(rows, keys, steps, n)
        )

    def _beside(self, documents: IntArray, nodes: IntArray) -> IntArray:
        """Numbers of candidates that share a parent, at most all others; several shared parents count several times."""
        rows, parents = expanded(nodes, self._parent_indptr, self._parents)
        _, place, counts = np.unique(documents[rows] * self.n_nodes + parents, return_inverse=True, return_counts=True)
        shared = np.bincount(rows, weights=counts[place] - 1, minlength=len(nodes)).astype(np.int64)
        return np.minimum(shared, np.bincount(documents, minlength=1)[documents] - 1 if len(nodes) else shared)


def _nearness(rows: IntArray, keys: IntArray, steps: IntArray, n: int) -> FloatArray:
    """1 / (smallest number of edges to another candidate); entries of one key are nodes below one ancestor."""
    order = np.lexsort((rows, steps, keys))
    rows, keys, steps = rows[order], keys[order], steps[order]
    first = np.ones(len(keys), dtype=bool)
    first[1:] = keys[1:] != keys[:-1]
    begin = np.flatnonzero(first)
    group = np.cumsum(first) - 1
    sizes = np.diff(np.append(begin, len(keys)))
    # The nearest of the others: the first of the group, or for the first one the second.
    partner = np.minimum(begin[group] + first, max(len(keys) - 1, 0))
    distance = np.where(sizes[group] > 1, steps + steps[partner] if len(keys) else 0, np.inf)
    nearest = np.full(n, np.inf)
    np.minimum.at(nearest, rows, distance)
    return np.where(np.isfinite(nearest), 1.0 / np.maximum(nearest, 1.0), 0.0)
