"""Measures on label sets that know the hierarchy: an answer next to the truth is better than one far away.

Both sides are closed (all ancestors added, the root left out: it is always right and would flatter everyone), then::

    hP = #(clo(Y) & clo(H)) / #clo(H),   hR = #(clo(Y) & clo(H)) / #clo(Y),   hF their harmonic mean

pooled over documents ("micro") or per document and then averaged ("document"). On a DAG nodes are counted, not edges,
and the level of a node is the longest path to it. Costs of `linnaeus.losses.cost` are averaged over documents.
Kiritchenko et al. (2005); Rousu et al. (2006) for levels and H-loss.

Precision, recall and F1 up to lowest common ancestors, so that long shared paths give no credit.

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
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from linnaeus.data.check import check_weights
from linnaeus.errors import ParameterError, check_choice
from linnaeus.losses import cost
from linnaeus.metrics.flat import zero_rule
from linnaeus.metrics.sets import Counts, Pair, Score, as_pair, by_document, by_node, need_taxonomy
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import FloatArray

__all__ = [
    "h_loss",
    "h_tilde_loss",
    "hamming_loss",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "lca_f1",
    "lca_precision",
    "lca_recall",
    "level_scores",
    "normalised_taxonomy_loss",
    "symmetric_difference",
    "taxonomy_loss",
    "tree_induced_error",
]


class HierarchicalOptions(TypedDict, total=False):
    """Options of precision, recall and F of closed sets; see `hierarchical_f1`."""

    average: str
    weights: FloatArray | None
    zero_division: float | None
    sample_weight: npt.ArrayLike | None


class LevelRow(TypedDict):
    """What `level_scores` says of one level."""

    level: int
    n_nodes: int
    n_gold: int
    n_predicted: int
    precision: float | None  # None where a level has neither gold nor predicted labels
    recall: float | None
    f1: float | None


# -- precision, recall, F ----------------------------------------------------------------------------------------------


def hierarchical_precision(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, **options: Unpack[HierarchicalOptions]
) -> Score:
    """Precision of the closed sets; see `hierarchical_f1`.

    Parameters
    ----------
    gold, predicted, taxonomy, **options : labels, Taxonomy, options
        As for `hierarchical_f1`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    >>> hierarchical_precision(["AA"], ["AB"], tax)
    0.5
    """
    return _hierarchical("precision", gold, predicted, taxonomy, **options)


def hierarchical_recall(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, **options: Unpack[HierarchicalOptions]
) -> Score:
    """Recall of the closed sets; see `hierarchical_f1`.

    Parameters
    ----------
    gold, predicted, taxonomy, **options : labels, Taxonomy, options
        As for `hierarchical_f1`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    >>> hierarchical_recall(["AA"], ["A"], tax)
    0.5
    """
    return _hierarchical("recall", gold, predicted, taxonomy, **options)


def hierarchical_f1(
    gold: object,
    predicted: object,
    taxonomy: Taxonomy | None = None,
    *,
    average: str = "micro",
    weights: FloatArray | None = None,
    zero_division: float | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> Score:
    """F1 of the closed sets.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.
    average : str, default="micro"
        "micro" pools all documents; "document" takes the mean over documents of their F.
    weights : ndarray of float, default=None
        One weight per node, for example its information content, in place of counting nodes.
    zero_division : float, default=None
        Value of 0/0; None: 1 where both sides are empty, else 0.
    sample_weight : object, default=None
        One weight per document.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")])
    >>> gold, predicted = [["AA"], ["AA", "BB"], ["BA"], ["AB"]], [["AA"], ["AA", "AB"], ["BB"], []]
    >>> round(hierarchical_f1(gold, predicted, tax), 4)
    0.5882
    """
    options = HierarchicalOptions(
        average=average, weights=weights, zero_division=zero_division, sample_weight=sample_weight
    )
    return _hierarchical("f1", gold, predicted, taxonomy, **options)


def _hierarchical(
    which: str,
    gold: object,
    predicted: object,
    taxonomy: Taxonomy | None,
    *,
    average: str = "micro",
    weights: FloatArray | None = None,
    zero_division: float | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> Score:
    pair = as_pair(gold, predicted, need_taxonomy(taxonomy)).closed()
    per_document = check_weights(sample_weight, pair.n_docs)
    counts = by_document(pair.Y, pair.H, None if weights is None else padded(pair, np.asarray(weights)))
    documents = "" if per_document is None else " over weighted documents"
    nodes = "nodes" if weights is None else "weighted nodes"
    kind = f"closed sets without the root, {nodes}, {zero_rule(zero_division)}"
    check_choice("average", average, ("micro", "document"))
    if average == "micro":
        value = getattr(counts.total(per_document), which)(zero_division)[0]
        return Score(value, pair.n_docs, 0, f"micro{documents}, {kind}")
    values = getattr(counts, which)(zero_division)
    return Score.mean(values, f"mean{documents or ' over documents'}, {kind}", weights=per_document)


def padded(pair: Pair, weights: FloatArray) -> FloatArray:
    """Node weights with one more for each label the taxonomy does not know: that of a mean top node."""
    taxonomy = need_taxonomy(pair.taxonomy)
    if weights.shape != (taxonomy.n_nodes,):
        raise ParameterError(f"weights has shape {weights.shape}, expected one per node: ({taxonomy.n_nodes},).")
    top = weights[taxonomy.tops].mean() if len(taxonomy.tops) else 1.0
    return np.concatenate([weights.astype(np.float64), np.full(pair.Y.shape[1] - len(weights), top)])


def level_scores(gold: object, predicted: object, taxonomy: Taxonomy | None = None) -> list[LevelRow]:
    """Micro precision, recall and F1 of the nodes of each level: rows with level, n_nodes, n_gold, n_predicted, ...

    The figures of a level without gold and predicted labels are None.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.

    Returns
    -------
    list of dict
        A row for each level.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    >>> [(row["level"], row["f1"]) for row in level_scores(["AA", "AA"], ["AA", "AB"], tax)]
    [(1, 1.0), (2, 0.5)]
    """
    pair = as_pair(gold, predicted, need_taxonomy(taxonomy)).closed()
    return level_rows(by_node(pair.Y, pair.H), need_taxonomy(taxonomy))


def level_rows(counts: Counts, taxonomy: Taxonomy) -> list[LevelRow]:
    """Rows of `level_scores` from counts per node of closed sets; labels outside the taxonomy have no level."""
    rows: list[LevelRow] = []
    for level, nodes in enumerate(taxonomy.levels):
        if level == 0:
            continue
        pooled = counts.take(nodes).total()
        empty = not pooled.gold[0] and not pooled.predicted[0]
        rows.append(
            {
                "level": level,
                "n_nodes": len(nodes),
                "n_gold": int(pooled.gold[0]),
                "n_predicted": int(pooled.predicted[0]),
                "precision": None if empty else float(pooled.precision()[0]),
                "recall": None if empty else float(pooled.recall()[0]),
                "f1": None if empty else float(pooled.f1()[0]),
            }
        )
    return rows


# -- costs -------------------------------------------------------------------------------------------------------------


def symmetric_difference(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, close: bool = True
) -> Score:
    """Mean number of nodes in exactly one of the two closed sets; of labels as given with ``close=False``.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.
    close : bool, default=True
        Whether ancestors are added.

    Returns
    -------
    Score
        The mean; 0 is best.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    >>> symmetric_difference(["AA"], ["A"], tax), symmetric_difference(["AA"], ["A"], close=False)
    (1.0, 2.0)
    """
    pair = _closed_if(close, as_pair(gold, predicted, taxonomy))
    return Score.mean(
        by_document(pair.Y, pair.H).difference(), "closed sets without the root" if close else "labels as given"
    )


def hamming_loss(gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, close: bool = True) -> Score:
    """Mean share of all nodes (without the root) that are in exactly one of the two closed sets.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.
    close : bool, default=True
        Whether ancestors are added.

    Returns
    -------
    Score
        The mean; 0 is best.

    Examples
    --------
    >>> hamming_loss(["AA"], ["A"], Taxonomy.from_paths([["A", "AA"], ["A", "AB"]]))
    0.3333333333333333
    """
    pair = _closed_if(close, as_pair(gold, predicted, taxonomy))
    n_columns = pair.Y.shape[1] - (pair.taxonomy is not None and pair.taxonomy.root is not None)
    values = by_document(pair.Y, pair.H).difference() / max(n_columns, 1)
    return Score.mean(values, f"{'closed sets' if close else 'labels as given'}, {n_columns} nodes without the root")


def h_loss(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, scaling: str | FloatArray = "uniform"
) -> Score:
    """Mean weight of the first mistakes on each path.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.
    scaling : str or ndarray, default="uniform"
        Weights of nodes, as in `linnaeus.losses.cost.node_weights`.

    Returns
    -------
    Score
        The mean; 0 is best.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
    >>> h_loss([["AA"]], [["BA"]], tax), h_loss([["AA"]], [["AB"]], tax)
    (2.0, 2.0)
    """
    pair = as_pair(gold, predicted, need_taxonomy(taxonomy)).closed()
    weights = weights_of(pair, scaling)
    name = scaling if isinstance(scaling, str) else "given"
    values = cost.h_loss(pair.Y, pair.H, need_taxonomy(taxonomy), weights, closed=True)
    return Score.mean(values, f"closed sets without the root, {name} weights")


def h_tilde_loss(
    gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, scaling: str | FloatArray = "uniform"
) -> Score:
    """Mean weight of the mistakes under parents that agree; on closed sets the same as `h_loss`.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.
    scaling : str or ndarray, default="uniform"
        Weights of nodes, as in `linnaeus.losses.cost.node_weights`.

    Returns
    -------
    Score
        The mean; 0 is best.

    Examples
    --------
    >>> h_tilde_loss(["AA"], ["A"], Taxonomy.from_paths([["A", "AA"]]))
    1.0
    """
    pair = as_pair(gold, predicted, need_taxonomy(taxonomy)).closed()
    values = cost.h_tilde_loss(pair.Y, pair.H, need_taxonomy(taxonomy), weights_of(pair, scaling))
    return Score.mean(values, "closed sets without the root")


def weights_of(pair: Pair, scaling: str | FloatArray) -> FloatArray:
    """Weights for all columns of a pair from a scaling or from weights of nodes."""
    taxonomy = need_taxonomy(pair.taxonomy)
    return padded(pair, cost.node_weights(taxonomy, scaling) if isinstance(scaling, str) else np.asarray(scaling))


def tree_induced_error(gold: object, predicted: object, taxonomy: Taxonomy | None = None) -> Score:
    """Mean number of edges between the true and the predicted node; for sets and on DAGs #(clo(Y) ^ clo(H)).

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.

    Returns
    -------
    Score
        The mean; 0 is best.

    Examples
    --------
    >>> tree_induced_error(["AA"], ["AB"], Taxonomy.from_paths([["A", "AA"], ["A", "AB"]]))
    2.0
    """
    return symmetric_difference(gold, predicted, need_taxonomy(taxonomy))


def taxonomy_loss(gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, half: bool = False) -> Score:
    """Mean of #(anc(y) ^ anc(y')), or half of it, which puts siblings at 1 (Cai and Hofmann).

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.
    half : bool, default=False
        Whether the distance is halved, so that siblings are at 1.

    Returns
    -------
    Score
        The mean; 0 is best.

    Examples
    --------
    >>> taxonomy_loss(["AA"], ["AB"], Taxonomy.from_paths([["A", "AA"], ["A", "AB"]]), half=True)
    1.0
    """
    whole = symmetric_difference(gold, predicted, need_taxonomy(taxonomy))
    return Score(whole / 2 if half else whole, whole.n, 0, f"{whole.convention}{', halved' if half else ''}")


def normalised_taxonomy_loss(gold: object, predicted: object, taxonomy: Taxonomy | None = None) -> Score:
    """Mean of the two shares of either side's closed set that the other side lacks, in 0..1.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.

    Returns
    -------
    Score
        The mean; 0 is best.

    Examples
    --------
    >>> normalised_taxonomy_loss(["AA"], ["AB"], Taxonomy.from_paths([["A", "AA"], ["A", "AB"]]))
    0.5
    """
    pair = as_pair(gold, predicted, need_taxonomy(taxonomy)).closed()
    counts = by_document(pair.Y, pair.H)
    missed = (counts.gold - counts.common) / np.maximum(counts.gold, 1)
    wrong = (counts.predicted - counts.common) / np.maximum(counts.predicted, 1)
    return Score.mean((missed + wrong) / 2, "closed sets without the root; a side without nodes adds 0")


def _closed_if(close: bool, pair: Pair) -> Pair:
    return pair.closed() if close else pair


ROOT = -1
MOST_COMBINATIONS = 64
Ways = tuple[tuple[frozenset[int], frozenset[int]], ...]  # alternatives: (nodes above gold, nodes above predicted)


def lca_precision(gold: object, predicted: object, taxonomy: Taxonomy | None = None) -> Score:
    """Mean over documents of the precision up to lowest common ancestors.

    Parameters
    ----------
    gold, predicted, taxonomy : labels, Taxonomy
        Label sets in any form of `linnaeus.metrics.sets`, and their taxonomy.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

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

    Returns
    -------
    Score
        The value in 0..1; larger is better.

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

    Returns
    -------
    Score
        The value in 0..1; larger is better.

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
