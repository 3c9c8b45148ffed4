"""Scores of whole label sets that agree with a decision rule: the set of largest score is the answer of the rule.

A closed set U scores

    sum over v in U of nodes_v  +  sum over the most specific v in U of ends_v

Decoders that maximise a sum over nodes have these weights already. Decoders that decide node by node have margins m_v
(score less threshold), and U loses the margins of all decisions that would have to be different for U to be the answer:

    closure    U is answered where its most specific nodes pass and nothing outside U does:
               nodes_v = max(m_v, 0),   ends_v = min(m_v, 0)
    suppress   only nodes whose parents are all in U are decided on; those in U pass and the others do not:
               nodes_v = m_v - sum of max(m_c, 0) over the children c of v

Both are, up to a constant, minus the least total change of the margins for which the rule answers U. Where a rule
departs from its margins (the best label where nothing passes, ties, a limit on the number of labels), the signs of the
margins follow the answer. With several parents, a child that passes is charged to one parent: to the first one that is
not in the answer, if there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linnaeus.decoding.base import Hierarchy, hierarchy, positions
from linnaeus.taxonomy.closure import row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["SetWeights", "by_closure", "by_suppression", "families", "lowered", "midway_margins", "scored_inner"]

_STEP = 1e-6  # of the largest margin: what a decision counts for that the margins do not explain


class SetWeights(NamedTuple):
    """Weights of nodes and of most specific nodes, n_docs x n_scored each; no ``ends`` are zeros."""

    nodes: FloatArray
    ends: FloatArray | None = None

    def scores(self, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        """Scores of closed sets Y, one for each document (n_docs x n_nodes)."""
        total = _sums(self.nodes, Y, columns)
        return total if self.ends is None else total + _sums(self.ends, taxonomy.frontier(Y), columns)


def _sums(W: FloatArray, Y: CSR, columns: IntArray) -> FloatArray:
    inside = Y[:, columns].tocoo()
    found = np.zeros(len(W))
    np.add.at(found, inside.row, W[inside.row, inside.col])
    return found


def midway_margins(S: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray, *, closed: bool) -> FloatArray:
    """Scores less what lies midway between the lowest score of a label of the answer and the highest score outside."""
    answered = Y[:, columns].toarray() > 0
    labels = taxonomy.frontier(Y)[:, columns].toarray() > 0 if closed else answered
    low = np.where(labels, S, np.inf).min(axis=1, initial=np.inf)
    high = np.where(answered, -np.inf, S).max(axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        cut = np.where(np.isinf(low), high, np.where(np.isinf(high), low, 0.5 * (low + high)))
    return np.asarray(S - np.where(np.isfinite(cut), cut, 0.0)[:, None])


def by_closure(M: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray, *, closed: bool) -> SetWeights:
    """Weights of a rule that answers labels of positive margin M, with what is above them.

    ``Y`` are its answers; ``closed`` says that they hold all ancestors, so that only their most specific nodes are
    known to be labels.
    """
    answered = Y[:, columns].toarray() > 0
    labels = taxonomy.frontier(Y)[:, columns].toarray() > 0 if closed else answered
    step = _step(M)
    M = np.where(labels, np.maximum(M, step), np.where(answered, M, np.minimum(M, -step)))
    return SetWeights(np.maximum(M, 0.0), np.minimum(M, 0.0))


def by_suppression(M: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
    """Weights of nodes for a rule that answers nodes of positive margin M whose parents are all answered.

    ``Y`` are its answers, closed.
    """
    edges, place = hierarchy(taxonomy), positions(taxonomy, columns)
    inside = Y[:, columns].toarray() > 0
    step = _step(M)
    U = np.where(inside, np.maximum(M, step), M)
    above: list[tuple[int, IntArray]] = []
    for v in columns[place[columns] >= 0].tolist():
        at, parents = int(place[v]), place[edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]]
        above.append((at, parents[parents >= 0]))
        refused = inside[:, above[-1][1]].all(axis=1) & ~inside[:, at]
        U[:, at] = np.where(refused, np.minimum(-np.abs(U[:, at]), -step[:, 0]), U[:, at])
    passed = np.maximum(U, 0.0)
    for at, parents in above:
        if len(parents):
            charged = parents[inside[:, parents].argmin(axis=1)]  # the first parent, where none is missing
            U[np.arange(len(U)), charged] -= passed[:, at]
    return U


def lowered(
    M: FloatArray, S: FloatArray, taxonomy: Taxonomy, columns: IntArray, *, at_top: bool, inside: bool
) -> FloatArray:
    """Margins of a descent that takes the best child where none passes.

    Where no margin of a family (the scored children of a node; the scored tops) is positive, the threshold of the
    family falls to midway between its two best scores. ``at_top`` and ``inside`` say of which families.
    """
    M = np.array(M, dtype=np.float64)
    step = _step(S)[:, 0]
    for is_top, at in families(hierarchy(taxonomy), positions(taxonomy, columns)):
        if not (at_top if is_top else inside):
            continue
        rows = np.flatnonzero(M[:, at].max(axis=1) <= 0)
        if not len(rows):
            continue
        own = np.sort(S[np.ix_(rows, at)].astype(np.float64), axis=1)
        best, second = own[:, -1], own[:, -2] if len(at) > 1 else own[:, -1] - 2 * step[rows]
        second = np.where(np.isfinite(second), second, best - 2 * step[rows])
        cut = np.where(np.isfinite(best), 0.5 * (best + second), 0.0)
        M[np.ix_(rows, at)] = np.maximum(M[np.ix_(rows, at)], S[np.ix_(rows, at)] - cut[:, None])
    return M


def families(edges: Hierarchy, place: IntArray) -> Iterator[tuple[bool, IntArray]]:
    """(whether at the top, columns) of the scored tops and of the scored children of every node."""
    bounds = zip(edges.child_indptr[:-1].tolist(), edges.child_indptr[1:].tolist(), strict=True)
    for is_top, nodes in ((True, edges.tops), *((False, edges.child_indices[a:b]) for a, b in bounds if b > a)):
        at = place[nodes]
        if (at >= 0).any():
            yield is_top, at[at >= 0].astype(np.intp)


def scored_inner(edges: Hierarchy, place: IntArray) -> BoolArray:
    """Which nodes have a scored child."""
    inner = np.zeros(len(place), dtype=bool)
    inner[edges.parent_indices[place[row_numbers(edges.parent_indptr)] >= 0]] = True
    return inner


def _step(M: FloatArray) -> FloatArray:
    """What a decision without a margin counts for in each document, n_docs x 1."""
    size = np.where(np.isfinite(M), np.abs(M), 0.0).max(axis=1, initial=0.0)
    return np.asarray(_STEP * np.maximum(1.0, size))[:, None]
