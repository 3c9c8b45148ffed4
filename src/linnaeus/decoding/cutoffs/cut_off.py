"""What all cut-offs share: decoders that learn from held-out scores where to cut, and repair what they cut.

A cut-off is a frozen value like every decoder. What it learns are fields, None as long as nothing is learned: `fit`
returns the same cut-off with these fields filled in. Fit it on scores of documents that the model has not seen
(`linnaeus.tuning.fit_decoder` makes them by cross-validation); scores of training documents are too good to learn from.

The taxonomy comes in through ``repair``: None leaves the bare labels, "closure" adds what is above them, "suppress"
drops those that lack something above. What is tuned is tuned after the repair, with the labels closed likewise.

Cut-offs are fitted on `HeldOut`: scores of documents that the model has not seen, beside their labels.

Scores are a dense array (n_docs x n_scored) or, where that would be too large, the k best of each document
(`TopScores`). Labels that are not among the best count as not answered. Minus infinity means no score: a label that the
model of a fold has never seen.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from linnaeus.data.check import check_labels
from linnaeus.decoding.base import Decoder, SetWeights, blocks, checked, hierarchy, positions
from linnaeus.decoding.simple.threshold import REPAIRS, best_nodes, repaired_weights
from linnaeus.engine import single_blas_thread
from linnaeus.errors import DataError, ParameterError, check_choice
from linnaeus.order import best_columns
from linnaeus.taxonomy.closure import pattern, pointers, row_numbers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, Array, BoolArray, FloatArray, IntArray

__all__ = ["CutOff", "HeldOut", "Metric", "TopScores", "best_of", "held_out", "micro_f1", "path_minima"]


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


Metric: TypeAlias = Callable[[CSR, CSR, Taxonomy], float]
Cut = TypeVar("Cut", bound="CutOff")


@dataclass(frozen=True)
class CutOff(Decoder):
    """A decoder that is fitted on held-out scores before it decides.

    Parameters
    ----------
    repair : {"closure", "suppress"} or None, default=None
        None leaves the bare labels. With "suppress", cut-offs that compare the scores of different nodes (all but
        `SCut`) take for each node the least score on its way to the top, so that what they cut is closed.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.decoding import RCut
    >>> tax = Taxonomy.flat(["A", "B"])
    >>> cut = RCut().fit(np.array([[0.9, 0.1], [0.2, 0.8]]), tax.indicator([["A"], ["B"]]), tax, tax.leaves)
    >>> isinstance(cut, CutOff), cut.r
    (True, 1)
    """

    repair: str | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_choice("repair", self.repair, REPAIRS)

    @property
    def closed(self) -> bool:
        return self.repair is not None

    @property
    def along_paths(self) -> bool:
        """Whether a node counts with the least score on its way to the top."""
        return self.repair == "suppress"

    @property
    def may_be_empty(self) -> bool:
        return not getattr(self, "at_least_one", False)

    def allowing_empty(self: Cut) -> Cut:
        """The same cut-off with answers that may be empty, where it has this choice."""
        change: Callable[..., Cut] = replace
        return change(self, at_least_one=False) if hasattr(self, "at_least_one") else self

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        self._check_fitted()
        return repaired_weights(self, self.repair, S, taxonomy, columns)

    @property
    @abstractmethod
    def fitted(self) -> bool:
        """Whether it can decide."""

    def fit(
        self: Cut,
        S: npt.ArrayLike | TopScores,
        Y: object,
        taxonomy: Taxonomy,
        columns: npt.ArrayLike | None = None,
        *,
        metric: Metric | None = None,
    ) -> Cut:
        """The same cut-off with what it learned; this one stays as it is.

        Parameters
        ----------
        S : object
            Scores of documents that the model has not seen, n_docs x n_scored, or the `TopScores` of each document.
        Y : object
            Their labels, of any kind.
        columns : object, default=None
            Node numbers of the columns of S; all nodes in order if None.
        metric : Metric, default=None
            What is maximised where there is a choice, called with (gold, answers, taxonomy), as the functions of
            `linnaeus.metrics` are; micro-averaged F1 if None. Answers are repaired, and gold is closed likewise.
        """
        held = held_out(S, Y, taxonomy, columns, close=self.closed)
        if self.along_paths and not isinstance(held.S, TopScores):
            held = replace(held, S=self._minima(held.S, taxonomy, held.columns))
        with single_blas_thread():  # the matrices are small: threads would only wait for each other
            return self._fit(held, metric or micro_f1)

    @abstractmethod
    def _fit(self: Cut, held: HeldOut, metric: Metric) -> Cut: ...

    def _decode(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        self._check_fitted()
        if self.closed and (columns == taxonomy.root).any():  # a bare set may hold the root, as labels may
            S, columns = S[:, columns != taxonomy.root], columns[columns != taxonomy.root]
        if self.along_paths:
            S = self._minima(S, taxonomy, columns)
        return self._cut(S, taxonomy, columns)

    def _minima(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        return path_minima(S, taxonomy, columns)

    def _check_fitted(self) -> None:
        if not self.fitted:
            given = [f for f in fields(self) if f.repr and getattr(self, f.name) != f.default]
            settings = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in given)
            raise ParameterError(
                f"{type(self).__name__}({settings}) has not learned where to cut; Pipeline(..., decoder={self.name!r}) "
                f"and `linnaeus train --decoder {self.name}` fit it with the model, fit_decoder afterwards."
            )

    def _best(self, S: FloatArray, columns: IntArray) -> Callable[[IntArray], IntArray] | None:
        """The best node of documents, where answers may not be empty."""
        return best_nodes(S, columns) if getattr(self, "at_least_one", False) and len(columns) else None

    @abstractmethod
    def _cut(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        """As `_decode`, of a fitted cut-off; a closed one sees no root."""


def path_minima(S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
    """The least score of every node and all that is above it; minus infinity under a node without a score.

    Examples
    --------
    >>> tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    >>> path_minima(np.array([[-1.0, 0.5, 2.0]]), tax, np.arange(3)).tolist()      # A, B, AA
    [[-1.0, 0.5, -1.0]]
    """
    edges, place = hierarchy(taxonomy), positions(taxonomy, columns, with_root=True)
    least = np.array(S)
    for v in columns.tolist():  # parents come before their children
        parents = place[edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]]
        if (parents < 0).any():
            least[:, place[v]] = -np.inf
        elif len(parents):
            least[:, place[v]] = np.minimum(least[:, place[v]], least[:, parents].min(axis=1))
    return least


def micro_f1(gold: CSR, answers: CSR, taxonomy: Taxonomy) -> float:
    """F1 of all documents and labels pooled: 2 #(gold & answers) / (#gold + #answers), 1 if both are empty.

    Examples
    --------
    >>> tax = Taxonomy.flat("AB")
    >>> micro_f1(tax.indicator([["A"], ["B"]]), tax.indicator([["A"], ["A", "B"]]), tax)
    0.8
    """
    size = gold.nnz + answers.nnz
    return 2.0 * float(gold.multiply(answers).nnz) / size if size else 1.0


def best_of(cuts: Iterable[Cut], held: HeldOut, metric: Metric) -> tuple[Cut, float]:
    """The first of the cut-offs with the largest metric on held-out documents, and that value."""
    scored = [(cut, float(metric(held.gold, held.answers(cut), held.taxonomy))) for cut in cuts]
    return scored[int(np.argmax([value for _, value in scored]))]
