"""How far probabilities can be trusted, over all nodes or level by level.

With P (n_docs x nodes) and y the closed gold sets::

    Brier = mean (P - y)^2
    ECE   = sum over bins of (share of the pairs in the bin) x |mean P - mean y|

Bins are of equal width, [lo, hi) with the last one closed, or of equal mass. ``conditional`` looks only at pairs whose
parents are truly there, with P(node)/P(parent) as the probability: are the children right given a right parent?
Coherence: a child must not be more probable than its parent.

Where answers may be withheld, they say how many documents are answered, and how many of these answers are wrong.

An answer is an error if it holds a node that is neither a gold label nor above one; a node above a gold label is right,
though coarse. With A the answered documents (those whose set is not empty)::

    coverage        |A| / n
    selective risk  |errors in A| / |A|

The coverage-risk curve orders documents by how certain their answers are and gives both for every threshold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from linnaeus.errors import DataError, ParameterError, check_choice
from linnaeus.metrics.auprc import NodeScores, as_node_scores, lift
from linnaeus.metrics.sets import Score, as_pair, need_taxonomy
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import parent_sets, places, row_numbers
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = [
    "binomial_interval",
    "brier",
    "calibration_by_level",
    "coherence_violations",
    "coverage_risk_curve",
    "expected_calibration_error",
    "reliability",
    "selective_risk",
]

Labels = Sequence[str] | None


class PairOptions(TypedDict, total=False):
    """Which pairs of document and node count.

    ``labels`` are the names of the columns of the probabilities, ``level`` the only level that counts, and
    ``conditional`` says that only nodes whose parents are all gold count, given these.
    """

    labels: Labels
    level: int | None
    conditional: bool


class ReliabilityRow(TypedDict):
    """A bin of probabilities: number of pairs, mean probability and frequency."""

    n: int
    probability: float
    frequency: float


def brier(gold: object, probabilities: object, taxonomy: Taxonomy | None = None, **which: Unpack[PairOptions]) -> Score:
    """Mean squared difference of probability and truth over documents and nodes (of one level).

    Parameters
    ----------
    gold, probabilities, taxonomy, **which : labels, array-like, Taxonomy, options
        As for `expected_calibration_error`.

    Returns
    -------
    Score
        The mean in 0..1; 0 is best.

    Examples
    --------
    >>> round(brier(["A"], [[0.9, 0.2]], Taxonomy.flat(["A", "B"])), 6)
    0.025
    """
    P, y, n, where = _pairs(gold, probabilities, taxonomy, **which)
    return Score(_brier(P, y), n, 0, where)


def expected_calibration_error(
    gold: object,
    probabilities: object,
    taxonomy: Taxonomy | None = None,
    *,
    n_bins: int = 15,
    bins: str = "width",
    **which: Unpack[PairOptions],
) -> Score:
    """Mean distance of probability and frequency over bins of equal ``"width"`` or equal ``"mass"``.

    Parameters
    ----------
    gold : labels
        Gold labels in any form of `linnaeus.metrics.sets`.
    probabilities : array-like of shape (n_docs, n_labels)
        Probabilities of labels.
    taxonomy : Taxonomy, default=None
        The taxonomy of the nodes.
    n_bins : int, default=15
        Number of bins.
    bins : {"width", "mass"}, default="width"
        Bins of equal width or of equal mass.
    **which : options
        Which pairs count: ``labels``, ``level`` and ``conditional`` of `PairOptions`.

    Returns
    -------
    Score
        The mean distance in 0..1; 0 is best.

    Examples
    --------
    >>> round(expected_calibration_error(["A"], [[0.9, 0.2]], Taxonomy.flat(["A", "B"]), n_bins=5), 4)
    0.15
    """
    P, y, n, where = _pairs(gold, probabilities, taxonomy, **which)
    return Score(_ece(P, y, n_bins, bins), n, 0, f"{where}, {n_bins} bins of equal {bins}")


def reliability(
    gold: object,
    probabilities: object,
    taxonomy: Taxonomy | None = None,
    *,
    n_bins: int = 15,
    bins: str = "width",
    **which: Unpack[PairOptions],
) -> list[ReliabilityRow]:
    """The bins behind `expected_calibration_error`: n, mean probability and frequency of each one that is not empty.

    Parameters
    ----------
    gold, probabilities, taxonomy, n_bins, bins, **which : labels, array-like, Taxonomy, int, str, options
        As for `expected_calibration_error`.

    Returns
    -------
    list of dict
        A row for each bin that is not empty.

    Examples
    --------
    >>> reliability(["A"], [[0.75, 0.25]], Taxonomy.flat(["A", "B"]), n_bins=2)[1]
    {'n': 1, 'probability': 0.75, 'frequency': 1.0}
    """
    P, y, _, _ = _pairs(gold, probabilities, taxonomy, **which)
    return bin_table(P, y, n_bins, bins)


def calibration_by_level(
    gold: object, probabilities: object, taxonomy: Taxonomy | None = None, *, labels: Labels = None, n_bins: int = 15
) -> list[dict[str, float]]:
    """Rows with level, brier, ece, ece_equal_mass and ece_conditional.

    Parameters
    ----------
    gold, probabilities, taxonomy, labels : labels, array-like, Taxonomy, sequence of str
        Gold labels, probabilities of ``labels`` (None: of all nodes), and the taxonomy.
    n_bins : int, default=15
        Number of bins.

    Returns
    -------
    list of dict
        A row for each level.

    Examples
    --------
    >>> calibration_by_level(["A"], [[1.0, 0.0]], Taxonomy.flat(["A", "B"]))[0]["brier"]
    0.0
    """
    given = _checked(gold, probabilities, taxonomy, labels)
    rows = []
    for level in range(1, int(given.taxonomy.depth.max(initial=0)) + 1):
        P, y = _flat(given.level(level))
        conditional = _conditional(given, level)
        rows.append(
            {
                "level": level,
                "brier": _brier(P, y),
                "ece": _ece(P, y, n_bins, "width"),
                "ece_equal_mass": _ece(P, y, n_bins, "mass"),
                "ece_conditional": _ece(*conditional, n_bins, "width"),
            }
        )
    return rows


def coherence_violations(
    probabilities: object, taxonomy: Taxonomy | None = None, *, labels: Labels = None, tolerance: float = 1e-9
) -> Score:
    """Share of (document, edge) pairs where the child is more probable than the parent; the root has no edges.

    Parameters
    ----------
    probabilities : array-like of shape (n_docs, n_labels)
        Probabilities of labels.
    taxonomy : Taxonomy, default=None
        The taxonomy of the nodes.
    labels : sequence of str, default=None
        Names of the columns of the scores; None: all nodes of the taxonomy.
    tolerance : float, default=1e-9
        Difference that does not count.

    Returns
    -------
    Score
        The share; 0 is best.

    Examples
    --------
    >>> coherence_violations([[0.5, 0.6], [0.5, 0.4]], Taxonomy.from_paths([["A", "AA"]]))
    0.5
    """
    taxonomy = need_taxonomy(taxonomy)
    P = lift(probabilities, taxonomy, labels)
    child, parent = _edges(taxonomy)
    if not len(child):
        return Score(0.0, len(P), 0, "no edges")
    n_wrong = sum(int((P[:, c] > P[:, p] + tolerance).sum()) for c, p in zip(child, parent, strict=True))
    return Score(n_wrong / (len(P) * len(child)) if len(P) else 0.0, len(P), 0, f"{len(child)} edges")


# -- shared ------------------------------------------------------------------------------------------------------------


def bin_table(P: FloatArray, y: FloatArray, n_bins: int, bins: str = "width") -> list[ReliabilityRow]:
    """n, mean probability and frequency of every bin that is not empty."""
    if n_bins < 1:
        raise ParameterError(f"n_bins={n_bins} is not a positive number.")
    check_choice("bins", bins, ("width", "mass"))
    if bins == "width":
        number = np.clip((P * n_bins).astype(np.int64), 0, n_bins - 1)
    else:
        number = np.empty(len(P), dtype=np.int64)
        number[np.argsort(P, kind="stable")] = np.arange(len(P)) * n_bins // max(len(P), 1)
    n = np.bincount(number, minlength=n_bins)
    sum_P = np.bincount(number, weights=P, minlength=n_bins)
    sum_y = np.bincount(number, weights=y, minlength=n_bins)
    return [
        {"n": int(n[b]), "probability": float(sum_P[b] / n[b]), "frequency": float(sum_y[b] / n[b])}
        for b in np.flatnonzero(n)
    ]


def _brier(P: FloatArray, y: FloatArray) -> float:
    return float(np.mean((P - y) ** 2)) if len(P) else float("nan")


def _ece(P: FloatArray, y: FloatArray, n_bins: int, bins: str) -> float:
    rows = bin_table(P, y, n_bins, bins)
    if not rows:
        return float("nan")
    return sum(row["n"] * abs(row["probability"] - row["frequency"]) for row in rows) / len(P)


def _checked(gold: object, probabilities: object, taxonomy: Taxonomy | None, labels: Labels) -> NodeScores:
    """Probabilities beside the truth, or an error that says that they are none."""
    given = as_node_scores(gold, probabilities, taxonomy, labels)
    finite = given.S[np.isfinite(given.S)]
    if len(finite) and (finite.min() < 0 or finite.max() > 1):
        raise DataError(f"Probabilities lie in 0..1, got {finite.min():g}..{finite.max():g}; calibrate scores first.")
    return given


def _pairs(
    gold: object,
    probabilities: object,
    taxonomy: Taxonomy | None,
    *,
    labels: Labels = None,
    level: int | None = None,
    conditional: bool = False,
) -> tuple[FloatArray, FloatArray, int, str]:
    """Probabilities and truth of the pairs that count, the number of documents, and the convention."""
    given = _checked(gold, probabilities, taxonomy, labels)
    P, y = _conditional(given, level) if conditional else _flat(given.level(level))
    where = f"{'all levels' if level is None else f'level {level}'}{', given true parents' if conditional else ''}"
    return P, y, given.n_docs, where


def _flat(given: NodeScores) -> tuple[FloatArray, FloatArray]:
    P = given.S.ravel()
    scored = np.isfinite(P)  # a node without any score below it has no probability
    return P[scored], given.Y.ravel()[scored].astype(np.float64)


def _conditional(given: NodeScores, level: int | None) -> tuple[FloatArray, FloatArray]:
    """Pairs whose parents are all gold, with P(node) over the smallest P(parent)."""
    taxonomy, n = given.taxonomy, given.n_docs
    place = places(given.nodes, taxonomy.n_nodes)
    indptr, indices = parent_sets(taxonomy)
    P_parts, y_parts = [], []
    for v in given.nodes:
        if level is not None and taxonomy.depth[v] != level:
            continue
        parents = place[indices[indptr[v] : indptr[v + 1]]]
        above = given.Y[:, parents].all(axis=1) & np.isfinite(given.S[:, place[v]])  # without a score, no probability
        P_above = given.S[:, parents].min(axis=1, initial=1.0)
        P = np.divide(given.S[:, place[v]], P_above, out=np.zeros(n), where=P_above > 0)
        P_parts.append(np.clip(P, 0.0, 1.0)[above])
        y_parts.append(given.Y[above, place[v]].astype(np.float64))
    return np.concatenate([*P_parts, np.zeros(0)]), np.concatenate([*y_parts, np.zeros(0)])


def _edges(taxonomy: Taxonomy) -> tuple[IntArray, IntArray]:
    indptr, indices = parent_sets(taxonomy)
    return row_numbers(indptr), indices


def selective_risk(gold: object, predicted: object, taxonomy: Taxonomy | None = None, *, of: str = "answered") -> Score:
    """Share of wrong answers among the answered documents, or among all.

    Parameters
    ----------
    gold, predicted : object
        Labels of any kind; an empty predicted set means no answer.
    taxonomy : Taxonomy, default=None
        With it a node above a gold label is right.
    of : {"answered", "all"}, default="answered"
        What the share is of.

    Returns
    -------
    Score
        NaN where no document is answered; ``n_skipped`` are the documents without an answer.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> selective_risk(["AA", "AA", "B", "B"], [["A"], ["B"], ["B"], []], tax)
    0.3333333333333333
    """
    if of not in ("answered", "all"):
        raise DataError(f"of={of!r} is not 'answered' or 'all'.")
    answered, wrong = _judged(gold, predicted, taxonomy)
    if of == "all":
        return Score.mean(wrong.astype(np.float64), "of all documents")
    return Score.mean(wrong[answered].astype(np.float64), "of answered documents", n_skipped=int((~answered).sum()))


def coverage_risk_curve(
    gold: object,
    predicted: object,
    certainty: npt.ArrayLike,
    taxonomy: Taxonomy | None = None,
    *,
    n_points: int = 100,
    confidence: float = 0.9,
) -> list[dict[str, float]]:
    """Coverage and selective risk where only answers above a threshold of certainty are given.

    Parameters
    ----------
    gold, predicted : object
        Labels of any kind; an empty predicted set means no answer at any threshold.
    certainty : array-like of shape (n_docs,)
        How certain each answer is, for example the probability of the best label.
    taxonomy : Taxonomy, default=None
        With it a node above a gold label is right.
    n_points : int, default=100
        The largest number of rows; thresholds are spread evenly over the documents.
    confidence : float, default=0.9
        Of the exact binomial intervals.

    Returns
    -------
    list of dict
        Rows with ``threshold`` (documents at least as certain are answered), ``coverage``, ``risk``, ``low`` and
        ``high``, by rising coverage.

    Examples
    --------
    >>> rows = coverage_risk_curve(["A", "B", "A", "B"], ["A", "B", "B", "B"], [0.9, 0.8, 0.6, 0.5])
    >>> [(row["coverage"], round(row["risk"], 3)) for row in rows]
    [(0.25, 0.0), (0.5, 0.0), (0.75, 0.333), (1.0, 0.25)]
    """
    answered, wrong = _judged(gold, predicted, taxonomy)
    certainty = np.asarray(certainty, dtype=np.float64)
    if certainty.shape != answered.shape or np.isnan(certainty).any():
        raise DataError(f"certainty has the shape {certainty.shape}; expected {answered.shape} numbers without NaN.")
    order = np.argsort(-certainty[answered], kind="stable")
    level, errors = certainty[answered][order], np.cumsum(wrong[answered][order])
    ends = np.flatnonzero(np.append(level[1:] != level[:-1], True)) if len(level) else np.zeros(0, dtype=int)
    ends = ends[np.unique(np.linspace(0, len(ends) - 1, min(n_points, len(ends))).round().astype(int))]
    rows = []
    for end in ends.tolist():
        n, k = end + 1, int(errors[end])
        low, high = binomial_interval(k, n, confidence)
        row = {"threshold": float(level[end]), "coverage": n / len(answered), "risk": k / n, "low": low, "high": high}
        rows.append(row)
    return rows


def binomial_interval(k: int, n: int, confidence: float = 0.9) -> tuple[float, float]:
    """The exact (Clopper-Pearson) interval of a share of which k of n were seen; (0, 1) where n is 0.

    Parameters
    ----------
    k, n : int
        How many of how many.
    confidence : float, default=0.9
        The probability with which the interval holds the share, at least.

    Returns
    -------
    tuple of float
        The lower and the upper bound.

    Examples
    --------
    >>> tuple(round(bound, 4) for bound in binomial_interval(0, 10))
    (0.0, 0.2589)
    """
    from scipy.stats import beta

    tail = (1.0 - confidence) / 2.0
    low = float(beta.ppf(tail, k, n - k + 1)) if k > 0 else 0.0
    high = float(beta.ppf(1.0 - tail, k + 1, n - k)) if k < n else 1.0
    return low, high


def _judged(gold: object, predicted: object, taxonomy: Taxonomy | None) -> tuple[BoolArray, BoolArray]:
    """Which documents are answered, and which of the answers are wrong."""
    pair = as_pair(gold, predicted, taxonomy)
    answered = np.diff(pair.H.indptr) > 0
    pair = pair if taxonomy is None else pair.closed()
    n_right = np.asarray(pair.H.multiply(pair.Y).sum(axis=1)).ravel()
    return answered, answered & (n_right < np.diff(pair.H.indptr))
