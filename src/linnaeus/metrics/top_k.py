"""Measures on the k best labels of every document: what a person sees who is shown k suggestions.

With hit_r = 1 if the label in place r is gold::

    P@k    = (1/k) sum_{r<=k} hit_r
    nDCG@k = sum_{r<=k} hit_r / log2(r+1)  divided by  sum_{r<=min(k, #Y)} 1 / log2(r+1)
    PSP@k  = (1/k) sum_{r<=k} hit_r / p_{l(r)}  divided by the best that can be had on the same documents

where p_l is the propensity of a label (Jain et al., 2016): rare labels are more often missing from the gold sets and so
a hit on one counts more. Documents without gold labels count 0. Scores in any form of `linnaeus.metrics.ranking_input`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from linnaeus.errors import ParameterError
from linnaeus.losses.cost import row_sums
from linnaeus.metrics.ranking_input import as_ranking
from linnaeus.metrics.ranking_measures import Labels, top_hits
from linnaeus.metrics.score import Score
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import row_numbers
from linnaeus.typing import CSR, FloatArray

__all__ = ["ndcg_at_k", "precision_at_k", "propensities", "propensity_scored_precision_at_k", "recall_at_k"]


def precision_at_k(
    gold: object, scores: object, k: int, taxonomy: Taxonomy | None = None, *, labels: Labels = None
) -> Score:
    """Mean over documents of the share of the k best labels that are gold.

    Parameters
    ----------
    gold : labels
        Gold labels in any form of `linnaeus.metrics.sets`.
    scores : array-like or list
        Scores of labels in any form of `linnaeus.metrics.ranking_input`.
    k : int
        Number of best labels.
    taxonomy : Taxonomy, default=None
        The taxonomy of the nodes.
    labels : sequence of str, default=None
        Names of the columns of the scores; None: all nodes of the taxonomy.

    Examples
    --------
    >>> precision_at_k([["A", "B"]], [[0.9, 0.1, 0.4]], 2, labels=["A", "B", "C"])
    0.5
    """
    ranking = as_ranking(gold, scores, taxonomy, labels)
    return ranking.mean(top_hits(ranking.Y, ranking.top(k)).sum(axis=1) / k, f"hits among the best {k}, over {k}")


def recall_at_k(
    gold: object, scores: object, k: int, taxonomy: Taxonomy | None = None, *, labels: Labels = None
) -> Score:
    """Mean over documents of the share of the gold labels that are among the k best; 0 without gold labels.

    Parameters
    ----------
    gold, scores, k, taxonomy, labels : labels, array-like, int, Taxonomy, sequence of str
        As for `precision_at_k`.

    Examples
    --------
    >>> recall_at_k([["A", "B"]], [[0.9, 0.1, 0.4]], 2, labels=["A", "B", "C"])
    0.5
    """
    ranking = as_ranking(gold, scores, taxonomy, labels)
    sizes = np.maximum(np.diff(ranking.Y.indptr), 1)
    return ranking.mean(top_hits(ranking.Y, ranking.top(k)).sum(axis=1) / sizes, f"hits among the best {k}, over #Y")


def ndcg_at_k(
    gold: object, scores: object, k: int, taxonomy: Taxonomy | None = None, *, labels: Labels = None
) -> Score:
    """Mean over documents of the discounted gain of the k best labels over the best attainable.

    Parameters
    ----------
    gold, scores, k, taxonomy, labels : labels, array-like, int, Taxonomy, sequence of str
        As for `precision_at_k`.

    Examples
    --------
    >>> round(ndcg_at_k([["B"]], [[0.9, 0.4]], 2, labels=["A", "B"]), 4)
    0.6309
    """
    ranking = as_ranking(gold, scores, taxonomy, labels)
    discount = 1.0 / np.log2(np.arange(k) + 2.0)
    gain = top_hits(ranking.Y, ranking.top(k)) @ discount
    ideal = np.concatenate([[1.0], np.cumsum(discount)])  # without gold labels the gain is 0, whatever it is divided by
    return ranking.mean(gain / ideal[np.minimum(np.diff(ranking.Y.indptr), k)], f"gain over the best attainable at {k}")


def propensities(n_positive: npt.ArrayLike, n_train: int, A: float = 0.55, B: float = 1.5) -> FloatArray:
    """Propensity of every label from its number of training documents: 1 / (1 + C exp(-A ln(N_l + B))).

    C = (ln N - 1)(B + 1)^A. The defaults of A and B are the ones commonly used where nothing better is known.

    Parameters
    ----------
    n_positive : array-like of int
        Number of training documents of every label.
    n_train : int
        Number of training documents.
    A : float, default=0.55
        Parameter of the propensity model.
    B : float, default=1.5
        Parameter of the propensity model.

    Examples
    --------
    >>> propensities([500, 3], 1000).round(4).tolist()
    [0.7576, 0.1895]
    """
    if n_train < 3:
        raise ParameterError(f"n_train={n_train}: propensities need at least 3 training documents.")
    counts = np.asarray(n_positive, dtype=np.float64)
    C = (np.log(n_train) - 1.0) * (B + 1.0) ** A
    return np.asarray(1.0 / (1.0 + C * np.exp(-A * np.log(counts + B))))


def propensity_scored_precision_at_k(
    gold: object,
    scores: object,
    k: int,
    propensity: FloatArray,
    taxonomy: Taxonomy | None = None,
    *,
    labels: Labels = None,
    normalise: bool = True,
) -> Score:
    """Precision at k with each hit weighed by 1/propensity, over the best attainable on the same documents.

    ``propensity`` has one number per column of the scores (see `propensities`); ``normalise=False`` gives the raw mean.
    A gold label that is not ranked weighs as much as the rarest label.

    Parameters
    ----------
    gold, scores, k : labels, array-like, int
        As for `precision_at_k`.
    propensity : ndarray
        One propensity per column of the scores, see `propensities`.
    taxonomy : Taxonomy, default=None
        The taxonomy of the nodes.
    labels : sequence of str, default=None
        Names of the columns of the scores; None: all nodes of the taxonomy.
    normalise : bool, default=True
        Whether the value is divided by the best attainable.

    Examples
    --------
    >>> p = propensities([500, 3], 1000)
    >>> round(propensity_scored_precision_at_k([["A"], ["B"]], [[0.9, 0.1], [0.8, 0.2]], 1, p, labels=["A", "B"]), 4)
    0.2001
    """
    ranking = as_ranking(gold, scores, taxonomy, labels)
    p = np.asarray(propensity, dtype=np.float64)
    n_given = ranking.n_labels + (ranking.left_out is not None)
    if p.shape != (n_given,):
        raise ParameterError(f"propensity has shape {p.shape}, expected one per label: ({n_given},).")
    p = p if ranking.left_out is None else np.delete(p, ranking.left_out)
    gain = np.concatenate([1.0 / p, np.full(ranking.Y.shape[1] - len(p), (1.0 / p).max(initial=1.0))])
    top = ranking.top(k)
    raw = (top_hits(ranking.Y, top) * gain[np.maximum(top, 0)]).sum(axis=1) / k
    if not normalise:
        return ranking.mean(raw, f"raw, hits among the best {k} over their propensity")
    best = _best_gain(ranking.Y, gain, k).sum() / k
    value = raw.sum() / best if best > 0 else 0.0
    return Score(value, ranking.n_docs, 0, f"at {k}, over the best attainable on the same documents; {ranking.ranked}")


def _best_gain(Y: CSR, gain: FloatArray, k: int) -> FloatArray:
    """Sum of the k largest gains among the gold labels of every document."""
    rows = row_numbers(Y.indptr)
    values = gain[Y.indices]
    values = values[np.lexsort((-values, rows))]
    place = np.arange(len(values)) - np.repeat(Y.indptr[:-1], np.diff(Y.indptr))
    return row_sums(Y.indptr, np.where(place < k, values, 0.0))
