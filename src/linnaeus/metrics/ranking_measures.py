"""Measures on rankings of all labels, with f_l the score of label l and Y the gold labels of a document.

Where a formula compares scores, ties count against the system; where one order is needed, labels go by score
descending, then by column. Average precision and ranking loss leave out documents whose gold set is empty or holds all
labels and say how many. A gold label that is not ranked at all can only be missed. Distances are half of #(anc(y) ^
anc(y')), so that siblings are at 1 (Cai and Hofmann, 2007).

In a list of only the best labels all others share the last place. Average precision, ranking loss, coverage and maximal
loss of such a list are therefore not those of the whole ranking; `linnaeus.metrics.evaluate` leaves them out. Measures
on the best k labels are in `linnaeus.metrics.top_k`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from linnaeus.errors import DataError, nearest
from linnaeus.losses.cost import half, holds, tree_distance_cost
from linnaeus.metrics.ranking_input import Ranking, as_ranking
from linnaeus.metrics.score import Score
from linnaeus.metrics.sets import need_taxonomy
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import parent_sets, row_numbers
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = [
    "average_precision",
    "coverage",
    "maximal_loss",
    "one_accuracy",
    "parent_accuracy",
    "r_precision",
    "ranking_loss",
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
