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
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from linnaeus.errors import check_choice
from linnaeus.metrics.node_scores import NodeScores, as_node_scores
from linnaeus.metrics.score import Score
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import BoolArray, FloatArray

__all__ = ["area", "au_prc", "curve_points"]

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
