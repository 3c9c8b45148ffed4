"""Labellings of nodes under scores of pairs, and the spaces in which they are vectors.

    score(y) = sum_p H[p, u_p(y)],      u_p(y) = 2 y_first(p) + y_second(p)

Pairs are the edges of a tree (numbered by their child; the label above a top is always 1) or of any graph. The best
labelling that differs from a given one y* differs from it at some node: it is the best over nodes v of those with the
label of v inverted, which max-marginals find in two passes; one more program with that label fixed then returns it.

A `LabellingSpace` reads rows of scores (n_docs x width, see `structured.block_ascent`) as score(y) = <f, psi(y)>.
`EdgeSpace` has one coordinate for each labelling of each edge of a tree, `PathSpace` one for each node, on where the
node and all nodes above it are on, `GraphSpace` the edges of any graph.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Protocol

import numpy as np

from linnaeus.decoding.sets.junction import JunctionTree, junction_tree
from linnaeus.models.structured.tree import Layout, edge_scores, padded_width
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "EdgeSpace",
    "GraphSpace",
    "LabellingSpace",
    "PairLabellings",
    "PathSpace",
    "compressed",
    "tree_labellings",
]


@dataclass(frozen=True)
class PairLabellings:
    """Labellings of ``n`` nodes.

    Attributes
    ----------
    n : int
        The number of nodes.
    first, second : ndarray of int
        The nodes of every pair; -1 as first is a label that is always 1.
    counted : ndarray of bool
        Pairs that have scores; a free root of a tree has a pair of its own without.
    consistent : bool, default=False
        Leave out labellings where a second node is 1 under a first one that is 0.
    tree : bool, default=False
        Whether pair p is the edge above node p, parents before children.
    """

    n: int
    first: IntArray
    second: IntArray
    counted: BoolArray
    consistent: bool = False
    tree: bool = False

    @cached_property
    def junctions(self) -> JunctionTree:
        """The junction tree; graphs that are too wide are refused."""
        return junction_tree(self.n, self.first, self.second)

    def pairs(self, labels: BoolArray) -> IntArray:
        """u of every pair, n_docs x n_pairs.

        Examples
        --------
        >>> chain = PairLabellings(2, np.array([-1, 0]), np.array([0, 1]), np.ones(2, bool), tree=True)
        >>> chain.pairs(np.array([[True, False]])).tolist()
        [[3, 2]]
        """
        above = np.where(self.first < 0, 1, labels[:, np.maximum(self.first, 0)])
        return (2 * above + labels[:, self.second]).astype(np.intp)

    def indicators(self, labels: BoolArray) -> FloatArray:
        """psi(y): 1 at the labelling of every counted pair, n_docs x n_pairs x 4."""
        psi = np.zeros((len(labels), len(self.first), 4))
        np.put_along_axis(psi, self.pairs(labels)[:, :, None], 1.0, axis=2)
        return psi * self.counted[:, None]

    def best(self, H: FloatArray) -> BoolArray:
        """The labellings of largest score under H (n_docs x n_pairs x 4), n_docs x n; a tie prefers 0."""
        if self.tree:
            from linnaeus._kernels.tree_dp import edge_labellings

            parent = self.first.astype(np.int32)
            labels: BoolArray = edge_labellings(np.ascontiguousarray(H), parent, self.consistent)[0].view(bool)
            return labels
        return self.junctions.best(self._allowed(H))[0]

    def score(self, H: FloatArray, labels: BoolArray) -> FloatArray:
        """Scores of labellings (n x n_nodes) of one document under H (n_pairs x 4)."""
        picked = np.take_along_axis(H[None], self.pairs(labels)[:, :, None], axis=2)
        return np.asarray(picked[:, :, 0].sum(axis=1))

    def ranked(self, H: FloatArray, fixed: IntArray) -> Iterator[tuple[BoolArray, float]]:
        """All labellings of one document under H (n_pairs x 4), best first, each with its score.

        ``fixed`` holds labels that are given, -1 elsewhere. Lawler's partition: the rest of a part without its best
        labelling splits by the first free node that is labelled differently.

        Examples
        --------
        >>> pair = PairLabellings(2, np.array([0]), np.array([1]), np.ones(1, bool))
        >>> [(y.astype(int).tolist(), s) for y, s in pair.ranked(np.array([[0.0, 1.0, 2.0, 5.0]]), np.array([-1, -1]))]
        [([1, 1], 5.0), ([1, 0], 2.0), ([0, 1], 1.0), ([0, 0], 0.0)]
        """
        order = count()
        heap: list[tuple[float, int, BoolArray, IntArray]] = []

        def push(parts: IntArray) -> None:
            labels, scores = self.junctions.best(np.stack([self._with_fixed(H, part) for part in parts]))
            for y, score, part in zip(labels, scores.tolist(), parts, strict=True):
                if score > -np.inf:
                    heapq.heappush(heap, (-score, next(order), y, part))

        push(np.asarray(fixed)[None])
        while heap:
            negative, _, labels, part = heapq.heappop(heap)
            yield labels, -negative
            free = np.flatnonzero(part < 0)
            if len(free):
                parts = np.repeat(part[None], len(free), axis=0)
                for row, v in enumerate(free.tolist()):
                    parts[row, free[:row]] = labels[free[:row]]
                    parts[row, v] = not labels[v]
                push(parts)

    def _with_fixed(self, H: FloatArray, fixed: IntArray) -> FloatArray:
        """H with minus infinity at pairs of labels that contradict those that are given."""
        H = np.array(self._allowed(H[None])[0])
        first = np.where(self.first < 0, 1, fixed[np.maximum(self.first, 0)])
        for u in range(4):
            wrong = ((first >= 0) & (first != u >> 1)) | ((fixed[self.second] >= 0) & (fixed[self.second] != (u & 1)))
            H[wrong, u] = -np.inf
        return H

    def best_but(self, H: FloatArray, truth: BoolArray) -> BoolArray:
        """As `best`, of all labellings but ``truth`` (n_docs x n)."""
        labels = self.best(H)
        same = np.flatnonzero((labels == truth).all(axis=1))
        if len(same):
            labels[same] = self._second_best(self._allowed(H[same]), truth[same])
        return labels

    def _second_best(self, H: FloatArray, truth: BoolArray) -> BoolArray:
        """`best_but` of documents whose best labelling is the truth."""
        marginals = self.junctions.max_marginals(H)
        turned = np.take_along_axis(marginals, 1 - truth[:, :, None].astype(np.intp), axis=2)[:, :, 0]
        node = turned.argmax(axis=1)
        rows = np.arange(len(H))
        H = H.copy()
        for label in (0, 1):  # forbid the true label of that node in all its pairs
            fixed = rows[truth[rows, node] == label]
            at = node[fixed][:, None]
            seconds, firsts = at == self.second, at == self.first
            for mask, pairs_of in ((seconds, (label, 2 + label)), (firsts, (2 * label, 2 * label + 1))):
                document, pair = np.nonzero(mask)
                for u in pairs_of:
                    H[fixed[document], pair, u] = -np.inf
        return self.junctions.best(H)[0]

    def margins(self, H: FloatArray) -> FloatArray:
        """Best score with a node minus best score without it, n_docs x n."""
        marginals = self.junctions.max_marginals(self._allowed(H))
        return np.asarray(marginals[:, :, 1] - marginals[:, :, 0])

    def _allowed(self, H: FloatArray) -> FloatArray:
        if not self.consistent:
            return H
        H = np.array(H)
        H[:, self.first >= 0, 1] = -np.inf
        return H


# -- spaces ------------------------------------------------------------------------------------------------------------


class LabellingSpace(Protocol):
    """See the module docstring."""

    labellings: PairLabellings

    def scores(self, F: FloatArray) -> FloatArray:
        """Rows of scores in the space of psi, n_docs x size."""
        ...

    def vectors(self, labels: BoolArray) -> FloatArray:
        """psi(y) of the labelling of every document, n_docs x size."""
        ...

    def pairs(self, f: FloatArray) -> FloatArray:
        """The same scores as scores of pairs, n_docs x n_pairs x 4."""
        ...

    def rows(self, D: FloatArray) -> FloatArray:
        """Coefficients in the space of psi as rows, n_docs x width."""
        ...


class EdgeSpace:
    """Edges of a tree; rows leave out the column of every edge that follows from the others."""

    def __init__(self, layout: Layout) -> None:
        self.layout, self.labellings = layout, tree_labellings(layout)

    def scores(self, F: FloatArray) -> FloatArray:
        return edge_scores(F, self.layout).reshape(len(F), -1)

    def vectors(self, labels: BoolArray) -> FloatArray:
        return self.labellings.indicators(labels).reshape(len(labels), -1)

    def pairs(self, f: FloatArray) -> FloatArray:
        return f.reshape(len(f), -1, 4)

    def rows(self, D: FloatArray) -> FloatArray:
        return compressed(D.reshape(len(D), -1, 4), self.layout)


class PathSpace:
    """Partial paths of a tree: a node's score counts where the node is on; labellings are consistent."""

    def __init__(self, layout: Layout) -> None:
        self.n, self.labellings = layout.n, tree_labellings(layout)

    def scores(self, F: FloatArray) -> FloatArray:
        return np.asarray(F[:, : self.n], dtype=np.float64)

    def vectors(self, labels: BoolArray) -> FloatArray:
        return labels.astype(np.float64)

    def pairs(self, f: FloatArray) -> FloatArray:
        H = np.zeros((*f.shape, 4))
        H[:, :, 3] = f
        return H

    def rows(self, D: FloatArray) -> FloatArray:
        return np.pad(D, ((0, 0), (0, padded_width(self.n) - self.n)))


class GraphSpace:
    """Edges of any graph, all four columns of each."""

    def __init__(self, labellings: PairLabellings) -> None:
        self.labellings, self.size = labellings, 4 * len(labellings.first)

    def scores(self, F: FloatArray) -> FloatArray:
        return np.asarray(F[:, : self.size], dtype=np.float64)

    def vectors(self, labels: BoolArray) -> FloatArray:
        return self.labellings.indicators(labels).reshape(len(labels), -1)

    def pairs(self, f: FloatArray) -> FloatArray:
        return f.reshape(len(f), -1, 4)

    def rows(self, D: FloatArray) -> FloatArray:
        return np.pad(D, ((0, 0), (0, padded_width(self.size) - self.size)))


def tree_labellings(layout: Layout) -> PairLabellings:
    """The labellings of a tree; pair p is the edge above node p."""
    counted = layout.tied.astype(bool)
    return PairLabellings(layout.n, layout.parent, np.arange(layout.n), counted, layout.consistent, tree=True)


def compressed(D: FloatArray, layout: Layout) -> FloatArray:
    """Coefficients of all edges (n_docs x n x 4, each edge summing to 0) as rows: the inverse of `edge_scores`."""
    kept = [2, 3] if layout.consistent else [0, 2, 3]
    rows = np.zeros((len(D), layout.width))
    rows[:, : layout.n * layout.columns] = D[:, :, kept].reshape(len(D), -1)
    return rows
