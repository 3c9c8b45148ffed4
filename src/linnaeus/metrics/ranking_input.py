"""Scores of labels, in whatever form they come, as blocks of dense rows or as the best k labels.

Accepted are: a dense array (n_docs x n_labels) whose columns are ``labels`` (default: ``taxonomy.names``); a pair of
arrays (indices, scores), both n_docs x k, of column numbers (-1 for none); a list with one list of (label, score) pairs
per document. Of a label listed twice the first mention counts. Labels that are not listed score below all that are,
equal among themselves. The one order, where one is needed, is by score descending, then column ascending.

The root of a taxonomy says nothing about a document and is not ranked, whether it has a column, is listed or neither;
only if it is a gold label of some document is it ranked as any other node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np

from linnaeus.data.matrices import is_sparse
from linnaeus.engine import blocks, rows_that_fit
from linnaeus.errors import DataError, ParameterError
from linnaeus.metrics.sets import Score, as_sets, is_indicator, label_lists, rows_over
from linnaeus.order import best_columns
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pattern
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["Ranking", "as_ranking"]

NONE, STRANGE = -1, -2
BLOCK_BYTES = 32_000_000  # dense float64 scores looked at together


@dataclass(frozen=True)
class Ranking:
    """Gold rows Y (n_docs x (n_labels + n_unranked)) beside scores of the first n_labels columns.

    Either ``S`` (n_docs x n_labels) or ``indices`` and ``scores`` (n_docs x k, best first) is there; an index of -1 is
    no label, -2 a label that is none of the columns: it takes a place, and is wrong. ``left_out`` is the column of the
    root among the columns as given, if it has been taken out.
    """

    Y: CSR
    names: list[str]
    taxonomy: Taxonomy | None
    S: FloatArray | None = None
    indices: IntArray | None = None
    scores: FloatArray | None = None
    left_out: int | None = None

    @property
    def n_docs(self) -> int:
        return int(self.Y.shape[0])

    @property
    def n_labels(self) -> int:
        return len(self.names)

    @property
    def root_ranked(self) -> bool:
        """Whether the root is one of the labels, because it is a gold label."""
        taxonomy = self.taxonomy
        return taxonomy is not None and taxonomy.root is not None and taxonomy.names[taxonomy.root] in self.names

    @property
    def n_listed(self) -> IntArray:
        """How many of the labels the ranking of each document holds."""
        if self.indices is None:
            return np.full(self.n_docs, self.n_labels)
        return np.asarray((self.indices >= 0).sum(axis=1))

    @property
    def is_whole(self) -> bool:
        """Whether every document ranks all labels."""
        return bool((self.n_listed == self.n_labels).all())

    @property
    def ranked(self) -> str:
        """What was ranked, in words."""
        root = " with the root" if self.root_ranked else " without the root" if self.taxonomy is not None else ""
        return f"{self.n_labels} labels{root}"

    def mean(self, values: FloatArray, convention: str, *, n_skipped: int = 0) -> Score:
        """Mean of one value per document that says what was ranked."""
        return Score.mean(values, f"{convention}; {self.ranked}", n_skipped=n_skipped)

    def top(self, k: int) -> IntArray:
        """Columns of the k best labels (n_docs x k), -1 where there are fewer."""
        if k < 1:
            raise ParameterError(f"k={k} is not a positive number.")
        if self.indices is not None:
            found = self.indices[:, :k]
        else:
            assert self.S is not None
            parts = [best_columns(S, k) for _, S in self.blocks()]
            found = np.concatenate(parts) if parts else np.zeros((0, k), dtype=np.int64)
        return np.pad(found, ((0, 0), (0, k - found.shape[1])), constant_values=-1)

    def blocks(self) -> Iterator[tuple[IntArray, FloatArray]]:
        """(document numbers, dense scores) in blocks; labels that are not listed score -inf."""
        for part in blocks(self.n_docs, rows_that_fit(8 * self.n_labels, BLOCK_BYTES)):
            rows = np.arange(part.start, part.stop)
            if self.S is not None:
                yield rows, np.asarray(self.S[part], dtype=np.float64)
                continue
            assert self.indices is not None
            assert self.scores is not None
            listed = self.indices[part]
            S = np.full((len(rows), self.n_labels), -np.inf)
            at, place = np.nonzero(listed >= 0)
            S[at, listed[at, place]] = self.scores[part][at, place]
            yield rows, S


def as_ranking(
    gold: object, scores: object, taxonomy: Taxonomy | None = None, labels: Sequence[str] | None = None
) -> Ranking:
    """Gold labels beside scores in any accepted form; see the top of this module.

    Examples
    --------
    >>> ranking = as_ranking([["A"]], [[("B", 0.9), ("A", 0.4)]], Taxonomy.flat(["A", "B"]))
    >>> ranking.top(1).tolist()
    [[1]]
    """
    if isinstance(scores, Ranking):
        return scores
    lists = scores if _is_listed(scores) else None
    if labels is not None:
        names = [str(label) for label in labels]
    elif taxonomy is not None:
        names = list(taxonomy.names)
    elif lists is not None:
        rows = [] if is_indicator(gold) else label_lists(gold)
        names = sorted({str(x) for row in rows for x in row} | {str(label) for row in lists for label, _ in row})
    elif is_indicator(gold):
        names = [str(i) for i in range(as_sets(gold).Y.shape[1])]
    else:
        raise ParameterError("The columns of `scores` have no names: pass labels=... or taxonomy=...")
    if lists is not None:
        indices, values = _numbered(lists, names)
    elif isinstance(scores, tuple):
        indices, values = (np.asarray(part) for part in scores)
    else:
        S = _checked(scores, len(names))
        Y = _gold_rows(gold, names, taxonomy, S.shape[0])
        return _without_root(Ranking(Y, names, taxonomy, S=S))
    Y = _gold_rows(gold, names, taxonomy, len(indices))
    ranking = _without_root(Ranking(Y, names, taxonomy, None, *_checked_lists(indices, values, len(names))))
    return _best_first(ranking)


def _without_root(ranking: Ranking) -> Ranking:
    """The same without the root of the taxonomy, unless it is a gold label."""
    taxonomy, names = ranking.taxonomy, ranking.names
    if taxonomy is None or taxonomy.root is None or taxonomy.names[taxonomy.root] not in names:
        return ranking
    root = names.index(taxonomy.names[taxonomy.root])
    Y = ranking.Y
    if (Y.indices == root).any():
        return ranking
    Y = pattern(Y.indptr, Y.indices - (Y.indices > root), Y.shape[1] - 1)
    S, indices = ranking.S, ranking.indices
    if S is not None:
        S = S[:, 1:] if root == 0 else np.delete(S, root, axis=1)  # the root is usually first: no copy
    if indices is not None:
        indices = np.where(indices == root, NONE, indices - (indices > root))
    return Ranking(Y, names[:root] + names[root + 1 :], taxonomy, S, indices, ranking.scores, left_out=root)


def _is_listed(scores: object) -> TypeGuard[list[list[tuple[str, float]]]]:
    """Lists of (label, score) pairs rather than rows of numbers."""
    if not isinstance(scores, list) or not all(isinstance(row, (list, tuple)) for row in scores):
        return False
    return all(isinstance(entry, (list, tuple)) for row in scores for entry in row[:1])


def _numbered(lists: list[list[tuple[str, float]]], names: list[str]) -> tuple[IntArray, FloatArray]:
    """Lists of (label, score) as arrays; unknown labels are last distinguished here, so repeats are removed here."""
    index_of = {name: i for i, name in enumerate(names)}
    k = max((len(row) for row in lists), default=0)
    indices = np.full((len(lists), k), NONE, dtype=np.int64)
    values = np.full((len(lists), k), -np.inf)
    for i, row in enumerate(lists):
        once: dict[str, float] = {}
        for label, score in row:
            once.setdefault(str(label), score)
        for j, (name, score) in enumerate(once.items()):
            indices[i, j] = index_of.get(name, STRANGE)
            values[i, j] = score
    return indices, values


def _first_mentions(indices: IntArray) -> IntArray:
    """-1 in place of a column number that stands further left in its row already."""
    order = np.argsort(indices, axis=1, kind="stable")
    by_number = np.take_along_axis(indices, order, axis=1)
    again = np.zeros(indices.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], (by_number[:, 1:] == by_number[:, :-1]) & (by_number[:, 1:] >= 0), axis=1)
    return np.where(again, NONE, indices)


def _checked_lists(indices: IntArray, values: FloatArray, n_labels: int) -> tuple[IntArray, FloatArray]:
    if indices.shape != values.shape or indices.ndim != 2:
        raise DataError(f"indices have shape {indices.shape} and scores {values.shape}; both must be n_docs x k.")
    if indices.size and indices.max() >= n_labels:
        raise DataError(f"Column number {indices.max()} is not in 0..{n_labels - 1}.")
    values = np.where(indices == NONE, -np.inf, values.astype(np.float64))
    if np.isnan(values).any():
        raise DataError(f"The scores of document {np.argwhere(np.isnan(values))[0][0]} hold NaN.")
    return _first_mentions(indices), values


def _best_first(ranking: Ranking) -> Ranking:
    """Lists in the one order, places without a label last."""
    indices, scores = ranking.indices, ranking.scores
    assert indices is not None
    assert scores is not None
    values = np.where(indices == NONE, -np.inf, scores)
    order = np.lexsort((np.where(indices == NONE, ranking.n_labels, indices), -values), axis=1)
    return replace(
        ranking,
        indices=np.take_along_axis(indices, order, axis=1),
        scores=np.take_along_axis(values, order, axis=1),
    )


def _checked(scores: object, n_labels: int) -> FloatArray:
    S = scores.toarray() if is_sparse(scores) else np.asarray(scores)
    if S.ndim != 2 or S.shape[1] != n_labels:
        raise DataError(f"Scores have shape {S.shape}, expected (n_docs, {n_labels}): one column per label.")
    if S.dtype.kind not in "fiub":
        raise DataError(f"Scores are numbers, got an array of {S.dtype}.")
    if S.dtype.kind == "f" and np.isnan(S).any():
        raise DataError(f"The scores of document {np.argwhere(np.isnan(S))[0][0]} hold NaN.")
    return S


def _gold_rows(gold: object, names: list[str], taxonomy: Taxonomy | None, n_docs: int) -> CSR:
    """Gold over the ranked columns first, gold labels that are not ranked (they can only be missed) last."""
    if not is_indicator(gold):
        Y = rows_over(gold, names)
    elif (Y := as_sets(gold).Y).shape[1] != len(names):
        if taxonomy is None:
            raise DataError(
                f"gold has {Y.shape[1]} columns and scores have {len(names)}; they must be the same labels."
            )
        Y = rows_over(taxonomy.labels(as_sets(gold, taxonomy).Y), names)
    if Y.shape[0] != n_docs:
        raise DataError(f"gold has {Y.shape[0]} documents and scores have {n_docs}; they must be the same documents.")
    return Y
