"""Area under the precision-recall curve over all (document, node) pairs.

One threshold for all nodes sweeps from high to low; pairs with equal scores enter together and make one point
(TP, FP) of the curve. Three areas are in use and differ:

``davis-goadrich``
    between points, FP grows linearly with TP: one more point for each true positive, precision TP/(TP+FP) there,
    straight lines between these
``average-precision``
    steps: the sum of (recall gained) x (precision there)
``trapezoid``
    straight lines between points; optimistic or pessimistic by turns, for comparison only

Pooled (AU(PRC) of the hierarchical multi-label literature), the mean over nodes with at least one positive ("macro"),
or that mean weighted by the number of positives ("weighted"). Gold sets are closed, the root is left out. Davis and
Goadrich (2006); Vens et al. (2008).

Scores or probabilities of nodes beside the closed gold sets, both dense (n_docs x nodes without the root).

Where the scores have no column for an internal node, the largest score of its descendants stands in for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from linnaeus.data.matrices import is_sparse
from linnaeus.errors import DataError, ParameterError, check_choice, nearest
from linnaeus.metrics.sets import Score, as_pair, need_taxonomy
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["NodeScores", "area", "as_node_scores", "au_prc", "curve_points", "lift"]


@dataclass(frozen=True)
class NodeScores:
    """``S`` and ``Y`` (n_docs x len(nodes)), the node numbers of the columns, and the gold labels without a column."""

    S: FloatArray
    Y: BoolArray
    nodes: IntArray
    n_unscored: int
    taxonomy: Taxonomy

    @property
    def n_docs(self) -> int:
        return len(self.S)

    def level(self, level: int | None) -> NodeScores:
        """Only the nodes of one level, or all."""
        if level is None:
            return self
        here = self.taxonomy.depth[self.nodes] == level
        if not here.any():
            raise ParameterError(f"level={level} has no nodes; levels are 1..{int(self.taxonomy.depth.max())}.")
        return NodeScores(self.S[:, here], self.Y[:, here], self.nodes[here], 0, self.taxonomy)


def as_node_scores(
    gold: object,
    scores: object,
    taxonomy: Taxonomy | None,
    labels: Sequence[str] | None = None,
    exclude: Iterable[str] = (),
) -> NodeScores:
    """Scores of all nodes but the root and the excluded ones, beside the closure of gold.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    >>> both = as_node_scores(["AB"], [[0.2, 0.7]], tax, labels=["AA", "AB"])
    >>> both.S.tolist(), both.Y.tolist()
    ([[0.7, 0.2, 0.7]], [[True, False, True]])
    """
    taxonomy = need_taxonomy(taxonomy)
    S = lift(scores, taxonomy, labels)
    nothing = sparse.csr_array((S.shape[0], taxonomy.n_nodes), dtype=np.int8)
    pair = as_pair(gold, nothing, taxonomy).closed()
    keep = np.ones(taxonomy.n_nodes, dtype=bool)
    keep[[taxonomy.index(name) for name in exclude]] = False
    if taxonomy.root is not None:
        keep[taxonomy.root] = False
    nodes = np.flatnonzero(keep)
    Y = pair.Y[:, : taxonomy.n_nodes].toarray().astype(bool)
    return NodeScores(S[:, nodes], Y[:, nodes], nodes, pair.n_unseen_gold, taxonomy)


def lift(scores: object, taxonomy: Taxonomy, labels: Sequence[str] | None = None) -> FloatArray:
    """Scores of every node (n_docs x n_nodes): those given, elsewhere the largest among the descendants, or -inf."""
    S = scores.toarray() if is_sparse(scores) else np.asarray(scores, dtype=np.float64)
    names = list(taxonomy.names) if labels is None else [str(label) for label in labels]
    if S.ndim != 2 or S.shape[1] != len(names):
        raise DataError(f"Scores have shape {S.shape}, expected (n_docs, {len(names)}): one column per label.")
    if np.isnan(S).any():
        raise DataError(f"The scores of document {np.argwhere(np.isnan(S))[0][0]} hold NaN.")
    if labels is None:
        return S
    strange = [name for name in names if name not in taxonomy]
    if strange:
        raise DataError(
            f"Column {strange[0]!r} of the scores is not in the taxonomy{nearest(strange[0], taxonomy.names)}"
        )
    columns = np.array([taxonomy.index_of[name] for name in names], dtype=np.int64)
    best = np.full((len(S), taxonomy.n_nodes), -np.inf)
    best[:, columns] = S
    if taxonomy.kind != "graph":
        for v in range(taxonomy.n_nodes - 1, -1, -1):  # children have larger numbers than their parents
            for p in taxonomy.parents(v):
                np.maximum(best[:, p], best[:, v], out=best[:, p])
    best[:, columns] = S
    return best


METHODS = ("davis-goadrich", "average-precision", "trapezoid")


def au_prc(
    gold: object,
    scores: object,
    taxonomy: Taxonomy | None = None,
    *,
    labels: Sequence[str] | None = None,
    method: str | None = None,
    average: str = "pooled",
    exclude: Iterable[str] = (),
) -> Score:
    """Area under the precision-recall curve; see the top of this module.

    Parameters
    ----------
    gold, scores, taxonomy : labels, array-like, Taxonomy
        Gold labels, scores in any form of `linnaeus.metrics.ranking_input`, and the taxonomy of the nodes.
    labels : Sequence[str], default=None
        Names of the columns of ``scores``, default ``taxonomy.names``; internal nodes without a column take the largest
        score of their descendants.
    method : str, default=None
        "davis-goadrich" (default for the pooled area), "average-precision" (default for means over nodes, where a node
        has few positives to interpolate between) or "trapezoid".
    average : str, default="pooled"
        "pooled", "macro" or "weighted".
    exclude : Iterable[str], default=()
        Names of nodes that do not count, as some benchmarks prescribe.

    Returns
    -------
    Score
        The area in 0..1; larger is better.

    Examples
    --------
    >>> tax = Taxonomy.flat(["A", "B"])
    >>> au_prc(["A", "B"], [[0.9, 0.1], [0.2, 0.8]], tax)
    1.0
    """
    if method is None:
        method = "davis-goadrich" if average == "pooled" else "average-precision"
    check_choice("method", method, METHODS)
    return area_of(as_node_scores(gold, scores, taxonomy, labels, exclude), method, average)


def area_of(given: NodeScores, method: str, average: str) -> Score:
    """The area from scores and gold sets that are already beside each other."""
    convention = f"{average}, {method}, {len(given.nodes)} nodes without the root"
    if average == "pooled":
        value = area(given.S.ravel(), given.Y.ravel(), method, given.n_unscored)
        return Score(value, given.n_docs, 0, convention)
    check_choice("average", average, ("pooled", "macro", "weighted"))
    positives = given.Y.sum(axis=0)
    counted = np.flatnonzero(positives)
    values = [area(given.S[:, v], given.Y[:, v], method) for v in counted]
    weights = positives[counted] if average == "weighted" else None
    value = float(np.average(values, weights=weights)) if values else float("nan")
    return Score(value, given.n_docs, 0, f"{convention}, {len(counted)} of them with positives")


def curve_points(scores: FloatArray, truth: BoolArray) -> tuple[FloatArray, FloatArray]:
    """(TP, FP) after each distinct score from the highest to the lowest.

    Examples
    --------
    >>> TP, FP = curve_points(np.array([0.9, 0.5, 0.5]), np.array([True, True, False]))
    >>> TP.tolist(), FP.tolist()
    ([1.0, 2.0], [0.0, 1.0])
    """
    order = np.argsort(-scores, kind="stable")
    sorted_scores = scores[order]
    last = np.flatnonzero(np.append(sorted_scores[1:] != sorted_scores[:-1], True)) if len(scores) else np.zeros(0, int)
    TP = np.cumsum(truth[order], dtype=np.float64)[last]
    return TP, last + 1.0 - TP


def area(scores: FloatArray, truth: BoolArray, method: str = "davis-goadrich", n_unscored: int = 0) -> float:
    """Area of one curve; ``n_unscored`` positives without a score are never reached. NaN without positives.

    Examples
    --------
    >>> area(np.array([0.9, 0.8, 0.7]), np.array([True, False, True]), "average-precision")
    0.8333333333333333
    """
    n_positive = float(truth.sum()) + n_unscored
    if not n_positive:
        return float("nan")
    TP, FP = curve_points(scores, truth)
    before_TP, before_FP = np.concatenate([[0.0], TP[:-1]]), np.concatenate([[0.0], FP[:-1]])
    gained = before_TP < TP
    TP, FP, before_TP, before_FP = (a[gained] for a in (TP, FP, before_TP, before_FP))
    step = TP - before_TP
    if method == "average-precision":
        return float((step * TP / (TP + FP)).sum() / n_positive)
    if method == "trapezoid":
        there = TP / (TP + FP)
        start = np.where(before_TP + before_FP > 0, before_TP / np.maximum(before_TP + before_FP, 1), there)
        return float((step * (there + start) / 2).sum() / n_positive)
    # One point per true positive: FP grows by dFP/dTP with each, precision is taken at both ends of the small step.
    n_steps = step.astype(np.int64)
    done = np.arange(n_steps.sum()) - np.repeat(np.cumsum(n_steps) - n_steps, n_steps)
    slope = np.repeat((FP - before_FP) / step, n_steps)
    x = np.repeat(before_TP, n_steps) + done
    f = np.repeat(before_FP, n_steps) + slope * done
    there = (x + 1) / (x + 1 + f + slope)
    start = np.divide(x, x + f, out=there.copy(), where=x + f > 0)
    return float(((start + there) / 2).sum() / n_positive)
