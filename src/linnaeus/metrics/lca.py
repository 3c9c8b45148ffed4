"""Precision, recall and F1 up to lowest common ancestors, so that long shared paths give no credit.

Each gold label is linked to its nearest predicted label and each predicted label to its nearest gold label (edges up to
a common ancestor and down). Y_aug holds the gold labels and, for every link, the nodes from the gold label up to the
lowest common ancestor; H_aug likewise from the predicted side; P = #(Y_aug & H_aug)/#H_aug, R = #(Y_aug &
H_aug)/#Y_aug. Among equally near links, and on a DAG among the deepest common ancestors and the shortest ways up to
them, the combination with the smallest #Y_aug + #H_aug counts, then the one with the most in common, then the first in
order of node numbers; beyond 64 combinations the first one. The root, written down or not, is a common ancestor here.
After Kosmopoulos et al. (2015), without their pruning of redundant ancestors: equal to it for single labels on trees.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np

from linnaeus.errors import ParameterError
from linnaeus.metrics.score import Score
from linnaeus.metrics.sets import as_pair, need_taxonomy
from linnaeus.taxonomy import Taxonomy

__all__ = ["lca_f1", "lca_precision", "lca_recall"]

ROOT = -1
MOST_COMBINATIONS = 64
Ways = tuple[tuple[frozenset[int], frozenset[int]], ...]  # alternatives: (nodes above gold, nodes above predicted)


def lca_precision(gold: object, predicted: object, taxonomy: Taxonomy | None = None) -> Score:
    """Mean over documents of the precision up to lowest common ancestors.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.

    Examples
    --------
    >>> lca_precision(["AA"], ["AB"], Taxonomy.from_paths([["A", "AA"], ["A", "AB"]]))
    0.5
    """
    return _mean_of(0, gold, predicted, taxonomy)


def lca_recall(gold: object, predicted: object, taxonomy: Taxonomy | None = None) -> Score:
    """Mean over documents of the recall up to lowest common ancestors.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.

    Examples
    --------
    >>> lca_recall(["AA"], ["A"], Taxonomy.from_paths([["A", "AA"], ["A", "AB"]]))
    0.5
    """
    return _mean_of(1, gold, predicted, taxonomy)


def lca_f1(gold: object, predicted: object, taxonomy: Taxonomy | None = None) -> Score:
    """Mean over documents of the F1 up to lowest common ancestors.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.

    Examples
    --------
    >>> lca_f1(["AA"], ["AB"], Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]]))
    0.5
    """
    return _mean_of(2, gold, predicted, taxonomy)


def _mean_of(which: int, gold: object, predicted: object, taxonomy: Taxonomy | None) -> Score:
    values = [row[which] for row in lca_by_document(gold, predicted, need_taxonomy(taxonomy))]
    return Score.mean(np.array(values), f"mean over documents, at most {MOST_COMBINATIONS} combinations of tied links")


def lca_by_document(gold: object, predicted: object, taxonomy: Taxonomy) -> list[tuple[float, float, float]]:
    """(P, R, F) of every document."""
    if taxonomy.kind == "graph":
        raise ParameterError("Lowest common ancestors need a tree or a DAG, got an undirected graph.")
    pair = as_pair(gold, predicted, taxonomy)
    links = _Links(taxonomy)
    rows = []
    for i in range(pair.n_docs):
        Y = pair.Y.indices[pair.Y.indptr[i] : pair.Y.indptr[i + 1]].tolist()
        H = pair.H.indices[pair.H.indptr[i] : pair.H.indptr[i + 1]].tolist()
        rows.append(_one_document(Y, H, links, taxonomy.n_nodes))
    return rows


def _one_document(Y: list[int], H: list[int], links: _Links, n_nodes: int) -> tuple[float, float, float]:
    if Y == H:
        return 1.0, 1.0, 1.0
    if not Y or not H:
        return 0.0, 0.0, 0.0
    known_Y, known_H = [v for v in Y if v < n_nodes], [v for v in H if v < n_nodes]
    choices: list[Ways] = []
    if known_Y and known_H:
        choices += [links.nearest([(y, h) for h in known_H]) for y in known_Y]
        choices += [links.nearest([(y, h) for y in known_Y]) for h in known_H]
    Y_aug, H_aug = _smallest({links.number(v) for v in Y}, {links.number(v) for v in H}, choices)
    common = len(Y_aug & H_aug)
    return common / len(H_aug), common / len(Y_aug), 2 * common / (len(Y_aug) + len(H_aug))


def _smallest(Y: set[int], H: set[int], choices: list[Ways]) -> tuple[set[int], set[int]]:
    choices = list(dict.fromkeys(_needed(Y, H, ways) for ways in choices))
    if math.prod(map(len, choices)) > MOST_COMBINATIONS:
        choices = [ways[:1] for ways in choices]
    best: tuple[set[int], set[int]] | None = None
    for combination in itertools.product(*choices):
        Y_aug = Y.union(*(up for up, _ in combination))
        H_aug = H.union(*(up for _, up in combination))
        if best is None or _order(Y_aug, H_aug) < _order(*best):
            best = Y_aug, H_aug
    assert best is not None  # an empty product still has one combination
    return best


def _needed(Y: set[int], H: set[int], ways: Ways) -> Ways:
    """What each way adds, without the ways that add all that another one does and more."""
    adds = tuple(dict.fromkeys((up_Y - Y, up_H - H) for up_Y, up_H in ways))
    return tuple(a for a in adds if not any(b != a and b[0] <= a[0] and b[1] <= a[1] for b in adds))


def _order(Y_aug: set[int], H_aug: set[int]) -> tuple[int, int, int, list[list[int]]]:
    """Smallest first; the same if the sides are swapped, or precision would not become recall.

    Node numbers come last: F depends on the sizes before them only, so it is the same however nodes are numbered.
    """
    n_Y, n_H = len(Y_aug), len(H_aug)
    return n_Y + n_H, len(Y_aug | H_aug), abs(n_Y - n_H), sorted([sorted(Y_aug), sorted(H_aug)])


class _Links:
    """Distances and ways between labels, remembered: the same pairs come again in document after document."""

    def __init__(self, taxonomy: Taxonomy) -> None:
        self.depth = taxonomy.depth.tolist()
        self.root = taxonomy.root
        indptr, indices = taxonomy.parent_indptr.tolist(), taxonomy.parent_indices.tolist()
        self.parents = [indices[a:b] for a, b in itertools.pairwise(indptr)]
        self.above = cache(self._above)
        self.link = cache(self._link)

    def number(self, v: int) -> int:
        """A root that is written down is the same as one that is not."""
        return ROOT if v == self.root else v

    def nearest(self, pairs: list[tuple[int, int]]) -> Ways:
        """The ways of the nearest of these pairs (gold, predicted), ties in their order."""
        linked = [self.link(y, h) for y, h in pairs]
        least = min(distance for distance, _ in linked)
        return tuple(dict.fromkeys(way for distance, ways in linked if distance == least for way in ways))

    def _above(self, v: int) -> dict[int, tuple[int, list[frozenset[int]]]]:
        """For every ancestor of v, itself and the root included: edges up to it and the nodes of each shortest way."""
        number = self.number(v)
        found = {number: (0, [frozenset({number})])}
        todo = [number] if number != ROOT else []
        for u in todo:  # breadth first: all ways to u are known when its turn comes, and the first ones are shortest
            steps, ways = found[u]
            for p in map(self.number, self.parents[u] or [ROOT]):
                if p not in found:
                    found[p] = steps + 1, []
                    if p != ROOT:
                        todo.append(p)
                if found[p][0] == steps + 1:
                    found[p][1].extend(way | {p} for way in ways[:MOST_COMBINATIONS])
        return found

    def _link(self, y: int, h: int) -> tuple[int, Ways]:
        up_y, up_h = self.above(y), self.above(h)
        common = sorted(up_y.keys() & up_h.keys())
        distance = min(up_y[c][0] + up_h[c][0] for c in common)
        level = {c: 0 if c == ROOT else self.depth[c] for c in common}
        deepest = max(level.values())
        pairs = (itertools.product(up_y[c][1], up_h[c][1]) for c in common if level[c] == deepest)
        return distance, tuple(itertools.islice(itertools.chain.from_iterable(pairs), MOST_COMBINATIONS + 1))
