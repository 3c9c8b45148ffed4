"""Features of a document that say how far to go down its ranking: its scores in order, whatever labels they are of.

    phi = (s_1, ..., s_L, s_1 - s_2, ..., s_(L-1) - s_L, mean, sd)        L best scores, best first; 2 L + 1 numbers

They say nothing about which labels the scores belong to, so that what is learned from frequent labels serves rare ones.
The target of a document is its best cut between two different scores: the sets it may answer are the k best labels,
k = 0, 1, ..., never split inside a group of equal scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linnaeus.decoding.held_out import HeldOut, TopScores
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["Target", "best_cuts", "score_features"]

_DEEPEST = 200  # ranks that are looked at for the F1 target


def score_features(S: FloatArray | TopScores, n_scores: int) -> FloatArray:
    """Features of every document, n_docs x (2 n_scores + 1), in double precision.

    A document with fewer scores repeats its last one.

    Examples
    --------
    >>> score_features(np.array([[0.2, 0.8, 0.5]]), 2).round(2).tolist()
    [[0.8, 0.5, 0.3, 0.65, 0.15]]
    """
    top = S.best(n_scores) if isinstance(S, TopScores) else TopScores.of(S, n_scores)
    scores = np.zeros((len(top), n_scores))
    scores[:, : top.k] = top.scores
    known = np.isfinite(scores[:, : top.k]).all(axis=1)
    if top.k and (top.k < n_scores or not known.all()):
        scores[:, top.k :] = scores[:, [top.k - 1]]
        least = np.where(np.isfinite(scores), scores, np.inf).min(axis=1, keepdims=True)
        least = np.where(np.isfinite(least), least, 0.0)
        scores = np.where(np.isfinite(scores), scores, least)
    mean, deviation = scores.mean(axis=1, keepdims=True), scores.std(axis=1, keepdims=True)
    return np.hstack([scores, scores[:, :-1] - scores[:, 1:], mean, deviation])


class Target(NamedTuple):
    """The best cut of every document: how many labels are kept, and the threshold that keeps them."""

    size: IntArray
    theta: FloatArray


def best_cuts(held: HeldOut, criterion: str) -> Target:
    """The best cut of every held-out document.

    Parameters
    ----------
    criterion : "errors" minimises #{gold: f <= t} + #{not gold: f >= t}, the lowest of several best intervals (it keeps
        recall); "f1" maximises F1 of the labels kept, the fewest of several best. The threshold is the middle of the
        interval; where it is unbounded, the extreme score -/+ 1.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.decoding.held_out import held_out
    >>> held = held_out([[0.9, 0.6, 0.5, 0.2]], [["A", "C"]], Taxonomy.flat("ABCD"))
    >>> best_cuts(held, "errors").theta.round(2).tolist(), best_cuts(held, "f1").size.tolist()
    ([0.35], [3])
    """
    n_gold = np.diff(held.gold.indptr).astype(np.int64)
    most = int(n_gold.max(initial=0))
    # More than twice as many labels as are right make more errors than none at all.
    depth = 2 * most + 1 if criterion == "errors" else max(2 * most + 1, _DEEPEST)
    top = held.top(depth)
    right = np.zeros((len(top), top.k + 1), dtype=np.int64)
    np.cumsum(held.is_gold(top), axis=1, out=right[:, 1:])
    sizes = np.arange(top.k + 1)
    allowed = _between_scores(top)
    if criterion == "errors":
        errors = np.where(allowed, n_gold[:, None] + sizes - 2 * right, np.iinfo(np.int64).max)
        size = top.k - errors[:, ::-1].argmin(axis=1)
    else:
        f1 = 2 * right / np.maximum(n_gold[:, None] + sizes, 1)
        f1[n_gold == 0, 0] = 1.0
        f1[:, 0][n_gold > 0] = -1.0  # something is answered where there is something to find
        size = np.where(allowed, f1, -2.0).argmax(axis=1)
    return Target(size, _thresholds(top, size))


def _between_scores(top: TopScores) -> BoolArray:
    """Which sizes 0..k fall between two different scores; the last only if nothing lies below it."""
    allowed = np.ones((len(top), top.k + 1), dtype=bool)
    allowed[:, 1:-1] = top.scores[:, :-1] > top.scores[:, 1:]
    if top.k:
        allowed[:, 1:] &= np.isfinite(top.scores)
        allowed[:, -1] &= top.k == top.n_columns
    return allowed


def _thresholds(top: TopScores, size: IntArray) -> FloatArray:
    """The middle between the last score kept and the first one not kept."""
    rows = np.arange(len(top))
    if not top.k:
        return np.zeros(len(top))
    scores = top.scores.astype(np.float64)
    kept = scores[rows, np.maximum(size - 1, 0)]
    left = scores[rows, np.minimum(size, top.k - 1)]
    left = np.where((size == top.k) | ~np.isfinite(left), kept - 2.0, left)
    first = np.where(np.isfinite(scores[:, 0]), scores[:, 0], 0.0)
    return np.where(size == 0, first + 1.0, kept + (left - kept) / 2)
