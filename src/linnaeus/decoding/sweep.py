"""Where to cut the scores of one label: F1 = 2 tp / (kept + positives) over all cuts between different scores.

A best cut lies right below a positive: going on through negatives only adds to ``kept``. So there is one candidate for
each different score of a positive, and one that keeps nothing. Counts may start above zero, for documents that hold
the label whatever its own score says (because they hold a label below it).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linnaeus.decoding.held_out import HeldOut, TopScores
from linnaeus.typing import BoolArray, FloatArray

__all__ = ["Cuts", "label_cuts", "pooled_threshold"]


class Cuts(NamedTuple):
    """Candidates of one label, thresholds decreasing: documents kept, those of them that are right, thresholds."""

    kept: FloatArray
    right: FloatArray
    theta: FloatArray
    n_positive: float

    def f1(self) -> FloatArray:
        """F1 of each cut; 0 where there is nothing to find."""
        return 2 * self.right / np.maximum(self.kept + self.n_positive, 1)

    def best(self, price: float | None = None) -> int:
        """The cut of largest F1, or of largest 2 right - price kept; the higher threshold where several are."""
        value = self.f1() if price is None else 2 * self.right - price * self.kept
        return int(np.argmax(value))


def label_cuts(scores: FloatArray, positive: BoolArray, n_positive: int, *, kept: int = 0, right: int = 0) -> Cuts:
    """The candidates of one label from its scores and which of them are of positive documents.

    Parameters
    ----------
    n_positive : all documents that carry the label, with a score or without.
    kept, right : documents that hold the label anyway, and those of them that carry it.

    Examples
    --------
    >>> cuts = label_cuts(np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.4]), np.array([1, 0, 1, 1, 0, 0], dtype=bool), 3)
    >>> round(float(cuts.theta[cuts.best()]), 2), cuts.f1().round(4).tolist()
    (0.55, [0.0, 0.5, 0.6667, 0.8571])
    """
    n = len(scores)
    ordered = np.sort(scores).astype(np.float64)
    found, counts = np.unique(scores[positive], return_counts=True)
    found, counts = found[::-1].astype(np.float64), counts[::-1]
    above = n - np.searchsorted(ordered, found, side="left")
    below = np.where(above < n, ordered[np.minimum(n - above - 1, n - 1)], found - 2.0) if n else found
    theta = below + (found - below) / 2
    theta = np.where(theta < found, theta, below)  # neighbours among floating-point numbers have no middle
    nothing = ordered[-1] if n else 0.0
    return Cuts(
        np.concatenate([[0], above]) + float(kept),
        np.concatenate([[0], np.cumsum(counts)]) + float(right),
        np.concatenate([[nothing], theta]),
        float(n_positive),
    )


def pooled_threshold(held: HeldOut) -> float:
    """The one threshold for all labels that has the best F1 over all documents and labels pooled.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.decoding.held_out import held_out
    >>> pooled_threshold(held_out([[0.9, 0.2], [0.4, 0.6]], [["A"], ["B"]], Taxonomy.flat("AB")))
    0.5
    """
    gold = held.given[:, held.columns].tocoo()  # not closed: what has no score cannot be found
    if isinstance(held.S, TopScores):
        scores, positive = held.S.scores.ravel(), held.is_gold(held.S, held.given).ravel()
    else:
        scores = held.S.ravel()
        positive = np.zeros(held.S.shape, dtype=bool)
        positive[gold.row, gold.col] = True
        positive = positive.ravel()
    known = np.isfinite(scores)
    cuts = label_cuts(scores[known], positive[known], gold.nnz)
    return float(cuts.theta[cuts.best()])
