"""Labellings of nodes under scores of pairs: the best one, and the best one that is not the truth.

    score(y) = sum_p H[p, u_p(y)],      u_p(y) = 2 y_first(p) + y_second(p)

Pairs are the edges of a tree (numbered by their child; the label above a top is always 1) or of any graph. The best
labelling that differs from a given one y* differs from it at some node: it is the best over nodes v of those with v's
label turned round, which max-marginals find in two passes; one more programme with that label fixed then gives it.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count

import numpy as np

from linnaeus.decoding.sets.junction import JunctionTree, junction_tree
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["PairLabelings"]


@dataclass(frozen=True)
class PairLabelings:
    """Labellings of ``n`` nodes.

    Attributes
    ----------
    first, second : the nodes of every pair; -1 as first is a label that is always 1.
    counted : pairs that have scores; a free root of a tree has a pair of its own without.
    consistent : leave out labellings where a second node is 1 under a first one that is 0.
    tree : whether pair p is the edge above node p, parents before children.
    """

    n: int
    first: IntArray
    second: IntArray
    counted: BoolArray
    consistent: bool = False
    tree: bool = False

    @cached_property
    def junctions(self) -> JunctionTree:
        """Refuses graphs that are too wide."""
        return junction_tree(self.n, self.first, self.second)

    def pairs(self, labels: BoolArray) -> IntArray:
        """u of every pair, n_docs x n_pairs.

        Examples
        --------
        >>> chain = PairLabelings(2, np.array([-1, 0]), np.array([0, 1]), np.ones(2, bool), tree=True)
        >>> chain.pairs(np.array([[True, False]])).tolist()
        [[3, 2]]
        """
        above = np.where(self.first < 0, 1, labels[:, np.maximum(self.first, 0)])
        return (2 * above + labels[:, self.second]).astype(np.intp)

    def indicators(self, labels: BoolArray) -> FloatArray:
        """psi(y): 1 at the labelling of every counted pair, n_docs x n_pairs x 4."""
        found = np.zeros((len(labels), len(self.first), 4))
        np.put_along_axis(found, self.pairs(labels)[:, :, None], 1.0, axis=2)
        return found * self.counted[:, None]

    def best(self, H: FloatArray) -> BoolArray:
        """The labellings of largest score under H (n_docs x n_pairs x 4), n_docs x n; a tie prefers 0."""
        if self.tree:
            from linnaeus._kernels.tree_dp import edge_labellings

            parent = self.first.astype(np.int32)
            found: BoolArray = edge_labellings(np.ascontiguousarray(H), parent, self.consistent)[0].view(bool)
            return found
        return self.junctions.best(self._allowed(H))[0]

    def score(self, H: FloatArray, labels: BoolArray) -> FloatArray:
        """Scores of labellings (n x n_nodes) of one document under H (n_pairs x 4)."""
        picked = np.take_along_axis(H[None], self.pairs(labels)[:, :, None], axis=2)
        return np.asarray(picked[:, :, 0].sum(axis=1))

    def ranked(self, H: FloatArray, fixed: IntArray) -> Iterator[tuple[BoolArray, float]]:
        """All labellings of one document under H (n_pairs x 4), best first, each with its score.

        ``fixed`` holds labels that are given, -1 elsewhere. Lawler's partition: what is left beside the best labelling
        of a part splits by the first free node that is labelled differently.

        Examples
        --------
        >>> pair = PairLabelings(2, np.array([0]), np.array([1]), np.ones(1, bool))
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
        """Best score with a node less best score without it, n_docs x n."""
        marginals = self.junctions.max_marginals(self._allowed(H))
        found: FloatArray = marginals[:, :, 1] - marginals[:, :, 0]
        return found

    def _allowed(self, H: FloatArray) -> FloatArray:
        if not self.consistent:
            return H
        H = np.array(H)
        H[:, self.first >= 0, 1] = -np.inf
        return H
