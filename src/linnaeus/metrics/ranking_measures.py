"""Measures on rankings of all labels, with f_l the score of label l and Y the gold labels of a document.

Where a formula compares scores, ties count against the system; where one order is needed, labels go by score
descending, then by column. Average precision and ranking loss leave out documents whose gold set is empty or holds all
labels and say how many. A gold label that is not ranked at all can only be missed. Distances are half of #(anc(y) ^
anc(y')), so that siblings are at 1 (Cai and Hofmann, 2007).

In a list of only the best labels all others share the last place. Average precision, ranking loss, coverage and maximal
loss of such a list are therefore not those of the whole ranking; `linnaeus.metrics.evaluate` leaves them out. Measures
on the best k labels are in `linnaeus.metrics.ranking_measures`.

Other measures look at the k best labels of every document: what a person sees who is shown k suggestions.

With hit_r = 1 if the label in place r is gold::

    P@k    = (1/k) sum_{r<=k} hit_r
    nDCG@k = sum_{r<=k} hit_r / log2(r+1)  divided by  sum_{r<=min(k, #Y)} 1 / log2(r+1)
    PSP@k  = (1/k) sum_{r<=k} hit_r / p_{l(r)}  divided by the best that can be had on the same documents

where p_l is the propensity of a label (Jain et al., 2016): rare labels are more often missing from the gold sets and so
a hit on one counts more. Documents without gold labels count 0. Scores in any form of `linnaeus.metrics.ranking_input`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.losses.cost import half, holds, row_sums, tree_distance_cost
from linnaeus.metrics.ranking_input import Ranking, as_ranking
from linnaeus.metrics.sets import Score, need_taxonomy
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import parent_sets, row_numbers
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = [
    "average_precision",
    "coverage",
    "maximal_loss",
    "ndcg_at_k",
    "one_accuracy",
    "parent_accuracy",
    "precision_at_k",
    "propensities",
    "propensity_scored_precision_at_k",
    "r_precision",
    "ranking_loss",
    "recall_at_k",
    "top_loss",
]

Labels = Sequence[str] | None


def one_accuracy(gold: object, scores: object, taxonomy: Taxonomy | None = None, *, labels: Labels = None) -> Score:
    """Share of documents whose best label is a gold label.

    Parameters
    ----------
    gold : labels
        Gold labels in any form of `linnaeus.metrics.sets`.
    scores : array-like or list
        Scores of labels in any form of `linnaeus.metrics.ranking_input`.
    taxonomy : Taxonomy, default=None
        The taxonomy of the nodes.
    labels : sequence of str, default=None
        Names of the columns of the scores; None: all nodes of the taxonomy.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> one_accuracy(["A", "B"], [[0.9, 0.1], [0.6, 0.4]], labels=["A", "B"])
    0.5
    """
    ranking = as_ranking(gold, scores, taxonomy, labels)
    return ranking.mean(_top_hits(ranking), "best label, ties by column")


def parent_accuracy(gold: object, scores: object, taxonomy: Taxonomy | None = None, *, labels: Labels = None) -> Score:
    """Share of documents whose best label shares a parent with a gold label; top nodes share the root.

    Parameters
    ----------
    gold, scores, taxonomy, labels : labels, array-like, Taxonomy, sequence of str
        As for `one_accuracy`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
    >>> parent_accuracy(["AA", "AA"], [[0.2, 0.9, 0.1], [0.2, 0.3, 0.4]], tax, labels=["AA", "AB", "BA"])
    0.5
    """
    taxonomy = need_taxonomy(taxonomy)
    ranking = as_ranking(gold, scores, taxonomy, labels)
    node_of, parents = _nodes(ranking, taxonomy), _parents_with_root(taxonomy)
    top = ranking.top(1)[:, 0]
    right = _top_hits(ranking)
    rows, columns = _ranked_entries(ranking)
    answered = top[rows] >= 0
    rows, columns = rows[answered], columns[answered]
    shared = parents[node_of[columns]].multiply(parents[node_of[top[rows]]]).sum(axis=1)
    np.maximum.at(right, rows, (np.asarray(shared) > 0).astype(np.float64))
    return ranking.mean(right, "best label and a gold label have a common parent, the root included")


def average_precision(
    gold: object, scores: object, taxonomy: Taxonomy | None = None, *, labels: Labels = None
) -> Score:
    """Mean over documents of the mean over gold labels y of #{r in Y: f_r >= f_y} / #{r: f_r >= f_y}.

    Parameters
    ----------
    gold, scores, taxonomy, labels : labels, array-like, Taxonomy, sequence of str
        As for `one_accuracy`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> average_precision([["B"]], [[0.9, 0.4, 0.1]], labels=["A", "B", "C"])
    0.5
    """

    def one(f: FloatArray, gold: IntArray, n_gold: int) -> float:
        own = f[gold]
        at_least = len(f) - np.searchsorted(np.sort(f), own, side="left")
        gold_at_least = len(own) - np.searchsorted(np.sort(own), own, side="left")
        return float((gold_at_least / at_least).sum() / n_gold)

    return _per_document(as_ranking(gold, scores, taxonomy, labels), one, "per document, ties against")


def ranking_loss(gold: object, scores: object, taxonomy: Taxonomy | None = None, *, labels: Labels = None) -> Score:
    """Mean over documents of the share of pairs (gold y, other l) with f_y <= f_l.

    Parameters
    ----------
    gold, scores, taxonomy, labels : labels, array-like, Taxonomy, sequence of str
        As for `one_accuracy`.

    Returns
    -------
    Score
        The mean; 0 is best.

    Examples
    --------
    >>> ranking_loss([["B"]], [[0.9, 0.4, 0.1]], labels=["A", "B", "C"])
    0.5
    """

    def one(f: FloatArray, gold: IntArray, n_gold: int) -> float:
        others = np.sort(np.delete(f, gold))
        wrong = (len(others) - np.searchsorted(others, f[gold], side="left")).sum()
        wrong += (n_gold - len(gold)) * len(others)  # gold labels without a score are below everything
        return float(wrong / (n_gold * len(others)))

    return _per_document(as_ranking(gold, scores, taxonomy, labels), one, "per document, ties against")


def coverage(gold: object, scores: object, taxonomy: Taxonomy | None = None, *, labels: Labels = None) -> Score:
    """Mean number of labels to go through until all gold labels are met; ties against, 0 without gold labels.

    Parameters
    ----------
    gold, scores, taxonomy, labels : labels, array-like, Taxonomy, sequence of str
        As for `one_accuracy`.

    Returns
    -------
    Score
        The mean number of labels; smaller is better.

    Examples
    --------
    >>> coverage([["B"]], [[0.9, 0.4, 0.1]], labels=["A", "B", "C"])
    2.0
    """
    ranking = as_ranking(gold, scores, taxonomy, labels)
    values = np.zeros(ranking.n_docs)
    for row, f, ranked, n_gold in _documents(ranking):
        if len(ranked) < n_gold:
            values[row] = n_gold - len(ranked) + ranking.n_labels
        elif n_gold:
            values[row] = (f >= f[ranked].min()).sum()
    return ranking.mean(values, "ties against")


def r_precision(gold: object, scores: object, taxonomy: Taxonomy | None = None, *, labels: Labels = None) -> Score:
    """Mean over documents of the precision among the best #Y labels; 0 without gold labels.

    Parameters
    ----------
    gold, scores, taxonomy, labels : labels, array-like, Taxonomy, sequence of str
        As for `one_accuracy`.

    Returns
    -------
    Score
        The value in 0..1; larger is better.

    Examples
    --------
    >>> r_precision([["A", "B"]], [[0.9, 0.1, 0.4]], labels=["A", "B", "C"])
    0.5
    """
    ranking = as_ranking(gold, scores, taxonomy, labels)
    sizes = np.diff(ranking.Y.indptr)
    top = ranking.top(max(1, min(int(sizes.max(initial=1)), ranking.n_labels)))
    hits = top_hits(ranking.Y, top) * (np.arange(top.shape[1]) < sizes[:, None])
    return ranking.mean(hits.sum(axis=1) / np.maximum(sizes, 1), "precision at the number of gold labels")


def maximal_loss(gold: object, scores: object, taxonomy: Taxonomy | None = None, *, labels: Labels = None) -> Score:
    """Mean over documents of the largest half distance between a gold label and another that scores at least as much.

    Parameters
    ----------
    gold, scores, taxonomy, labels : labels, array-like, Taxonomy, sequence of str
        As for `one_accuracy`.

    Returns
    -------
    Score
        The mean; 0 is best.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
    >>> maximal_loss(["AA"], [[0.5, 0.6, 0.7]], tax, labels=["AA", "AB", "BA"])
    2.0
    """
    taxonomy = need_taxonomy(taxonomy)
    ranking = as_ranking(gold, scores, taxonomy, labels)
    node_of = _nodes(ranking, taxonomy)
    values = np.zeros(ranking.n_docs)
    for block, S in ranking.blocks():
        rows, columns = _entries(ranking.Y[block])
        ranked = columns < ranking.n_labels
        rows, columns = rows[ranked], columns[ranked]
        is_gold = np.zeros(S.shape, dtype=bool)
        is_gold[rows, columns] = True
        for y in np.unique(columns):  # label by label, so that each row of distances is made once
            with_y = rows[columns == y]
            wrong = ~is_gold[with_y] & (S[with_y] >= S[with_y, y][:, None])
            distances = half_distance(taxonomy, np.full(ranking.n_labels, node_of[y]), node_of)
            worst = np.where(wrong, distances, 0.0).max(axis=1, initial=0.0)
            values[block[with_y]] = np.maximum(values[block[with_y]], worst)
    return _mean_of_ranked(ranking, values, _ranked_entries(ranking)[0], "half distance, ties against")


def top_loss(gold: object, scores: object, taxonomy: Taxonomy | None = None, *, labels: Labels = None) -> Score:
    """Mean over documents of the largest half distance from the best label to a gold label, 0 if it is one itself.

    A document without any answer is charged the way from its gold labels to the root.

    Parameters
    ----------
    gold, scores, taxonomy, labels : labels, array-like, Taxonomy, sequence of str
        As for `one_accuracy`.

    Returns
    -------
    Score
        The mean; 0 is best.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])
    >>> top_loss(["AA"], [[0.5, 0.7, 0.6]], tax, labels=["AA", "AB", "BA"])
    1.0
    """
    taxonomy = need_taxonomy(taxonomy)
    ranking = as_ranking(gold, scores, taxonomy, labels)
    node_of, top = _nodes(ranking, taxonomy), ranking.top(1)[:, 0]
    rows, columns = _ranked_entries(ranking)
    distances = np.diff(taxonomy.ancestor_matrix.indptr)[node_of[columns]] / 2.0
    answered = top[rows] >= 0
    distances[answered] = half_distance(taxonomy, node_of[columns[answered]], node_of[top[rows[answered]]])
    values = np.zeros(ranking.n_docs)
    np.maximum.at(values, rows, distances)
    values[_top_hits(ranking) > 0] = 0.0
    return _mean_of_ranked(ranking, values, rows, "half distance, best label, ties by column")


# -- shared ------------------------------------------------------------------------------------------------------------


def top_hits(Y: CSR, top: IntArray) -> FloatArray:
    """1 where the label in a place of the ranking is gold (n_docs x k)."""
    rows = np.repeat(np.arange(len(top)), top.shape[1])
    return holds(Y, rows, top.ravel()).reshape(top.shape).astype(np.float64)


def _top_hits(ranking: Ranking) -> FloatArray:
    return top_hits(ranking.Y, ranking.top(1))[:, 0]


def _entries(Y: CSR) -> tuple[IntArray, IntArray]:
    return row_numbers(Y.indptr), Y.indices


def _ranked_entries(ranking: Ranking) -> tuple[IntArray, IntArray]:
    """Document and column of every gold label that is ranked."""
    rows, columns = _entries(ranking.Y)
    ranked = columns < ranking.n_labels
    return rows[ranked], columns[ranked]


def half_distance(taxonomy: Taxonomy, a: IntArray, b: IntArray) -> FloatArray:
    return half(tree_distance_cost(taxonomy, a, b))


def _mean_of_ranked(ranking: Ranking, values: FloatArray, rows: IntArray, convention: str) -> Score:
    """Mean over the documents that have a ranked gold label; the others have no distance."""
    kept = values[np.unique(rows)]
    note = f"{convention}; without documents that have no labels"
    return ranking.mean(kept, note, n_skipped=len(values) - len(kept))


def _documents(ranking: Ranking) -> Iterator[tuple[int, FloatArray, IntArray, int]]:
    """Of every document: its row, its scores, the columns of its gold labels that are ranked, and how many it has."""
    Y = ranking.Y
    for rows, S in ranking.blocks():
        for row, f in zip(rows.tolist(), S, strict=True):
            gold = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
            yield row, f, gold[gold < ranking.n_labels], len(gold)


def _per_document(ranking: Ranking, one: Callable[[FloatArray, IntArray, int], float], convention: str) -> Score:
    values = [
        one(f, ranked, n_gold)
        for _, f, ranked, n_gold in _documents(ranking)
        if n_gold and len(ranked) < ranking.n_labels
    ]
    note = f"{convention}; without documents that have no or all labels"
    return ranking.mean(np.array(values), note, n_skipped=ranking.n_docs - len(values))


def _nodes(ranking: Ranking, taxonomy: Taxonomy) -> IntArray:
    """Node numbers of the columns."""
    for name in ranking.names:
        if name not in taxonomy:
            raise DataError(f"Column {name!r} of the scores is not in the taxonomy{nearest(name, taxonomy.names)}")
    return np.array([taxonomy.index_of[name] for name in ranking.names], dtype=np.int64)


def _parents_with_root(taxonomy: Taxonomy) -> CSR:
    """Parents of every node; the last column is the root above the top nodes."""
    from scipy import sparse

    n = taxonomy.n_nodes
    indptr, parents = parent_sets(taxonomy, keep_root=True)
    rows, columns = row_numbers(indptr), np.where(parents == taxonomy.root, n, parents)
    if taxonomy.root is None:  # a root that is not written down has no edges
        tops = taxonomy.tops
        rows, columns = np.concatenate([rows, tops]), np.concatenate([columns, np.full(len(tops), n)])
    return sparse.csr_array((np.ones(len(rows), dtype=np.int32), (rows, columns)), shape=(n, n + 1))


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

    Returns
    -------
    Score
        The value in 0..1; larger is better.

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

    Returns
    -------
    Score
        The value in 0..1; larger is better.

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

    Returns
    -------
    Score
        The value in 0..1; larger is better.

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

    Returns
    -------
    ndarray
        The propensities, in the order of the counts.

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

    Returns
    -------
    Score
        The share of the best attainable value; larger is better.

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
