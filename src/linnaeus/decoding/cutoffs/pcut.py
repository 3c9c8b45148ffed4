"""p-cut: every label goes to its share of a batch of documents, those with the highest scores of this label.

    k_v = round(x n p_v)        n documents in the batch, p_v the share of documents that carried label v

A method for batches: what a document gets depends on the documents that come with it. Use it where a whole collection
is labelled at once, never in a service that answers one document at a time; a batch of one is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from linnaeus.decoding.base import HeldOut, SetWeights, TopScores, checked
from linnaeus.decoding.cutoffs.cut_off import CutOff, Metric, path_minima
from linnaeus.decoding.simple.threshold import repaired
from linnaeus.errors import DataError, ParameterError, check_number
from linnaeus.taxonomy.closure import pattern, pointers
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["PCut"]

_GRID = tuple(round(0.5 + 0.05 * i, 2) for i in range(31))  # values of x that are tried: 0.5 to 2
_WHOLE = 50_000_000  # scores of a batch that are kept whole; beyond, the best of each document
_TOP = 200


@dataclass(frozen=True)
class PCut(CutOff):
    """Every label to its share of the batch.

    Parameters
    ----------
    x : float or None, default=1.0
        How many times the share of the training documents; None tunes it.
    at_least_one : bool, default=False
        A document without a label gets the one of largest score; the shares are then no longer kept.
    shares : object, default=field(default=None, repr=False)
        Learned: for each node the share of documents that carry it.
    repair : {"closure", "suppress"}, default=None
        How answers are made closed; None leaves the labels as they are, see `CutOff`.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.flat("AB")
    >>> cut = PCut().fit(np.zeros((4, 2)), [["A"], ["A"], ["A"], ["B"]], tax)
    >>> tax.labels(cut([[0.9, 0.8], [0.2, 0.7], [0.3, 0.1], [0.4, 0.9]], tax))
    [['A'], [], ['A'], ['A', 'B']]
    """

    name: ClassVar[str] = "pcut"
    whole_batch: ClassVar[bool] = True
    x: float | None = 1.0
    at_least_one: bool = False
    shares: Sequence[float] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.x is not None:
            check_number("x", self.x, above=0)
        if self.shares is not None:
            object.__setattr__(self, "shares", tuple(float(share) for share in self.shares))

    @property
    def fitted(self) -> bool:
        return self.x is not None and self.shares is not None

    def _fit(self, held: HeldOut, metric: Metric) -> PCut:
        shares = np.bincount(held.gold.indices, minlength=held.taxonomy.n_nodes) / len(held)
        cut = replace(self, shares=tuple(shares.tolist()))
        if self.x is not None:
            return cut
        cuts = [replace(cut, x=x) for x in _GRID]
        ranked = cuts[-1]._ranked(held)  # the largest x ranks as many documents as any of them takes
        values = [metric(held.gold, c._answers(ranked, held), held.taxonomy) for c in cuts]
        return cuts[int(np.argmax(values))]

    def set_weights(self, S: npt.ArrayLike, taxonomy: Taxonomy, columns: npt.ArrayLike | None = None) -> SetWeights:
        """Refused: answers depend on the batch."""
        raise ParameterError(
            "PCut does not rank label sets, so it takes no rules and no n_best: it decides a whole batch at once; fit "
            "another cut-off, such as SCut, for that."
        )

    def over_blocks(
        self, scores: Iterable[npt.ArrayLike], taxonomy: Taxonomy, columns: npt.ArrayLike | None = None
    ) -> CSR:
        """All blocks are one batch; of a very large one only the best scores of each document compete."""
        self._check_fitted()
        if self.along_paths:
            parts = (checked(S, taxonomy, columns) for S in scores)
            scores = (path_minima(S, taxonomy, nodes) for S, _, nodes in parts)
            columns = None if columns is None else np.sort(np.asarray(columns))
        S, nodes = gathered(scores, taxonomy, columns)
        return self(S, taxonomy, nodes) if not isinstance(S, TopScores) else self._assigned(S, taxonomy, nodes)

    def _cut(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        return self._assigned(S, taxonomy, columns)

    def _assigned(self, S: FloatArray | TopScores, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        if len(S) == 1:
            raise DataError("PCut gives every label to its share of a batch and cannot decide one document alone.")
        n_fitted = len(self.shares or ())
        if n_fitted != taxonomy.n_nodes:
            raise ParameterError(f"PCut was fitted on {n_fitted} nodes; this taxonomy has {taxonomy.n_nodes}.")
        no_labels = nothing(len(S), taxonomy)
        batch = HeldOut(S, columns, no_labels, no_labels, taxonomy)
        return self._answers(self._ranked(batch), batch)

    def _wanted(self, batch: HeldOut) -> IntArray:
        """To how many documents of a batch each column goes."""
        shares = np.asarray(self.shares)[batch.columns]
        if self.closed:
            shares = np.where(batch.columns == batch.taxonomy.root, 0.0, shares)
        return np.floor((self.x or 1.0) * len(batch) * shares + 0.5).astype(np.int64)

    def _ranked(self, batch: HeldOut) -> list[IntArray]:
        """The documents that each column goes to, best first."""
        ranked = []
        for k, wanted in enumerate(self._wanted(batch).tolist()):
            docs, scores = batch.column(k) if wanted else (np.empty(0, dtype=np.int64), np.empty(0))
            ranked.append(docs[np.argsort(-scores, kind="stable")[:wanted]])
        return ranked

    def _answers(self, ranked: list[IntArray], batch: HeldOut) -> CSR:
        docs = [best[:wanted] for best, wanted in zip(ranked, self._wanted(batch).tolist(), strict=True)]
        members = np.repeat(batch.columns, [len(part) for part in docs])
        rows = np.concatenate([*docs, np.empty(0, dtype=np.int64)]).astype(np.int64)
        order = np.argsort(rows, kind="stable")
        sizes = np.bincount(rows, minlength=len(batch))
        Y = pattern(pointers(sizes), members[order].astype(np.int32, copy=False), batch.taxonomy.n_nodes)
        return repaired(Y, batch.taxonomy, self.repair, self._best_of(batch))

    def _best_of(self, batch: HeldOut) -> Callable[[IntArray], IntArray] | None:
        if not self.at_least_one or not len(batch.columns):
            return None
        return lambda docs: batch.columns[batch.take(docs).top(1).positions[:, 0]]


def gathered(
    scores: Iterable[npt.ArrayLike], taxonomy: Taxonomy, columns: npt.ArrayLike | None
) -> tuple[FloatArray | TopScores, IntArray]:
    """Blocks of scores as one: dense, or the best of each document where that would be too large."""
    whole: list[FloatArray] = []
    top: list[TopScores] = []
    nodes: IntArray = np.arange(taxonomy.n_nodes, dtype=np.int32)
    for block in scores:
        S, _, nodes = checked(block, taxonomy, columns)
        whole.append(S)
        if top or sum(part.size for part in whole) > _WHOLE:
            top += [TopScores.of(part, _TOP) for part in whole]
            whole = []
    if not top:
        return (np.concatenate(whole) if whole else np.empty((0, len(nodes)))), nodes
    positions, values = (np.concatenate([getattr(part, name) for part in top]) for name in ("positions", "scores"))
    return TopScores(positions, values, len(nodes)), nodes


def nothing(n_docs: int, taxonomy: Taxonomy) -> CSR:
    """Rows without labels."""
    return pattern(np.zeros(n_docs + 1, dtype=np.int64), np.empty(0, dtype=np.int32), taxonomy.n_nodes)
