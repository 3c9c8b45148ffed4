"""Scores of documents that the model has not seen, beside their labels: what cut-offs are fitted on.

Scores are a dense array (n_docs x n_scored) or, where that would be too large, the k best of each document
(`TopScores`). Labels that are not among the best count as not answered. Minus infinity means no score: a label that the
model of a fold has never seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from linnaeus.data.check import check_labels
from linnaeus.decoding.base import Decoder, blocks, checked
from linnaeus.errors import DataError
from linnaeus.order import best_columns
from linnaeus.taxonomy.closure import pattern, pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, Array, BoolArray, FloatArray, IntArray

__all__ = ["HeldOut", "TopScores", "held_out"]


@dataclass(frozen=True)
class TopScores:
    """The k best scores of each document, best first: ``positions`` of the columns and ``scores``, n_docs x k each.

    Parameters
    ----------
    positions : ndarray of shape (n_docs, k)
        Columns of the best scores, best first.
    scores : ndarray of shape (n_docs, k)
        The best scores.
    n_columns : int
        Number of columns of the scores.

    Examples
    --------
    >>> top = TopScores.of(np.array([[0.1, 0.7, 0.3]]), 2)
    >>> top.positions.tolist(), top.scores.tolist()
    ([[1, 2]], [[0.7, 0.3]])
    """

    positions: IntArray
    scores: FloatArray
    n_columns: int

    @classmethod
    def of(cls, S: FloatArray, k: int) -> TopScores:
        """The best of dense scores, block by block."""
        k = min(k, S.shape[1])
        positions = np.empty((len(S), k), dtype=np.int32)
        for rows in blocks(len(S), S.shape[1]):
            positions[rows] = best_columns(S[rows], k)
        return cls(positions, np.take_along_axis(S, positions, axis=1), S.shape[1])

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def k(self) -> int:
        return int(self.scores.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Of the scores as if all were there."""
        return len(self.scores), self.n_columns

    def __getitem__(self, rows: slice | Array) -> TopScores:
        return TopScores(self.positions[rows], self.scores[rows], self.n_columns)

    def best(self, k: int) -> TopScores:
        """The k best of these."""
        return self if k >= self.k else TopScores(self.positions[:, :k], self.scores[:, :k], self.n_columns)

    def dense(self) -> FloatArray:
        """All columns, minus infinity where the score is not among the best."""
        S = np.full((len(self), self.n_columns), -np.inf, dtype=self.scores.dtype)
        np.put_along_axis(S, self.positions, self.scores, axis=1)
        return S

    def members(self, keep: BoolArray, columns: IntArray, n_nodes: int) -> CSR:
        """The nodes that ``keep`` (n_docs x k) marks, as label rows."""
        indices = np.where(keep, columns[self.positions], n_nodes)
        indices.sort(axis=1)
        return pattern(pointers(keep.sum(axis=1)), indices[indices < n_nodes].astype(np.int32), n_nodes)


@dataclass(frozen=True)
class HeldOut:
    """Scores of ``columns`` (increasing node numbers) and labels (n_docs x n_nodes).

    ``gold`` is what answers are compared with, closed where they are; ``given`` are the labels as they were given.
    """

    S: FloatArray | TopScores
    columns: IntArray
    gold: CSR
    given: CSR
    taxonomy: Taxonomy

    def __len__(self) -> int:
        return len(self.S)

    @property
    def truncated(self) -> int | None:
        """How many scores of each document are known, None if all are."""
        return self.S.k if isinstance(self.S, TopScores) and self.S.k < self.S.n_columns else None

    def top(self, k: int) -> TopScores:
        """The k best scores of each document."""
        return self.S.best(k) if isinstance(self.S, TopScores) else TopScores.of(self.S, k)

    def is_gold(self, top: TopScores, labels: CSR | None = None) -> BoolArray:
        """Which of the best columns are labels of their document (n_docs x k); by default those of ``gold``."""
        labels = self.gold if labels is None else labels
        n_nodes = self.taxonomy.n_nodes
        pairs = np.arange(len(self), dtype=np.int64)[:, None] * n_nodes + self.columns[top.positions]
        gold = row_numbers(labels.indptr).astype(np.int64) * n_nodes + labels.indices  # increasing
        if not len(gold):
            return np.zeros(pairs.shape, dtype=bool)
        found: BoolArray = gold[np.minimum(np.searchsorted(gold, pairs), len(gold) - 1)] == pairs
        return found

    @cached_property
    def _by_column(self) -> CSR:
        from scipy import sparse

        assert isinstance(self.S, TopScores)
        indptr = np.arange(len(self) + 1, dtype=np.int64) * self.S.k
        parts = (self.S.scores.ravel(), self.S.positions.ravel(), indptr)
        return sparse.csr_array(parts, shape=(len(self), self.S.n_columns)).tocsc()

    def column(self, position: int) -> tuple[IntArray, FloatArray]:
        """(documents, scores) of one column, where there is a score."""
        if isinstance(self.S, TopScores):
            part = slice(*self._by_column.indptr[position : position + 2])
            docs, scores = self._by_column.indices[part], self._by_column.data[part]
        else:
            docs, scores = np.arange(len(self)), np.ascontiguousarray(self.S[:, position])
        known = np.isfinite(scores)
        return (docs, scores) if known.all() else (docs[known], scores[known])

    def take(self, docs: IntArray) -> HeldOut:
        """Some of the documents."""
        return HeldOut(self.S[docs], self.columns, self.gold[docs], self.given[docs], self.taxonomy)

    def dense_blocks(self) -> Iterator[FloatArray]:
        """Dense scores of some documents at a time."""
        for rows in blocks(len(self), len(self.columns)):
            yield self.S[rows].dense() if isinstance(self.S, TopScores) else self.S[rows]

    def answers(self, decoder: Decoder) -> CSR:
        """What a decoder makes of the scores."""
        return decoder.over_blocks(self.dense_blocks(), self.taxonomy, self.columns)


def held_out(
    S: npt.ArrayLike | TopScores,
    Y: object,
    taxonomy: Taxonomy,
    columns: npt.ArrayLike | None = None,
    *,
    close: bool = False,
) -> HeldOut:
    """Checked scores and labels of any kind; ``close`` compares with the labels and all that is above them.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> held = held_out([[0.1, 0.7, 0.3]], [["AA"]], tax, close=True)
    >>> tax.labels(held.gold)
    [['A', 'AA']]
    """
    if isinstance(S, TopScores):
        S, nodes = _checked_top(S, taxonomy, columns)
    else:
        S, _, nodes = checked(S, taxonomy, columns)
    if not len(S):
        raise DataError("There are no held-out documents to fit on; expected at least one.")
    given = check_labels(Y, taxonomy, len(S))[0]
    if not close:
        return HeldOut(S, nodes, given, given, taxonomy)
    return HeldOut(*_without_root(S, taxonomy, nodes), taxonomy.close(given, keep_root=False), given, taxonomy)


def _checked_top(S: TopScores, taxonomy: Taxonomy, columns: npt.ArrayLike | None) -> tuple[TopScores, IntArray]:
    if np.isnan(S.scores.min(initial=0.0)):
        raise DataError(f"A score of document {int(np.isnan(S.scores).any(axis=1).argmax())} is NaN.")
    _, _, nodes = checked(np.empty((0, S.n_columns)), taxonomy, columns)
    if columns is None or np.array_equal(nodes, columns):
        return S, nodes
    new = np.empty(S.n_columns, dtype=np.int32)
    new[np.argsort(np.asarray(columns), kind="stable")] = np.arange(S.n_columns, dtype=np.int32)
    return TopScores(new[S.positions], S.scores, S.n_columns), nodes


def _without_root(
    S: FloatArray | TopScores, taxonomy: Taxonomy, nodes: IntArray
) -> tuple[FloatArray | TopScores, IntArray]:
    """Closed answers never hold the root."""
    at = np.flatnonzero(nodes == taxonomy.root)
    if not len(at):
        return S, nodes
    if not isinstance(S, TopScores):
        return np.delete(S, at, axis=1), np.delete(nodes, at)
    scores = np.where(S.positions == at[0], -np.inf, S.scores)
    order = np.argsort(-scores, axis=1, kind="stable")
    positions, scores = (np.take_along_axis(array, order, axis=1) for array in (S.positions, scores))
    return TopScores(positions, scores, S.n_columns), nodes
