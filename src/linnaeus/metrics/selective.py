"""Answers that may be withheld: how many documents are answered, and how many of these answers are wrong.

An answer is an error if it holds a node that is neither a gold label nor above one; a node above a gold label is right,
though coarse. With A the answered documents (those whose set is not empty)::

    coverage        |A| / n
    selective risk  |errors in A| / |A|

The coverage-risk curve orders documents by how certain their answers are and gives both for every threshold.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linnaeus.errors import DataError
from linnaeus.metrics.score import Score
from linnaeus.metrics.sets import as_pair
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import BoolArray

__all__ = ["binomial_interval", "coverage_risk_curve", "selective_risk"]


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
