"""Set-size regression: how many labels a document has is predicted from its scores, and so many of the best are taken.

    the answer is the round(E[size | phi(x)]) best labels, at least one

phi are the best scores in order, their gaps, mean and deviation (`score_features`). This turns any ranking into sets
(Elisseeff and Weston 2001; named by Cai and Hofmann for the hierarchical SVM).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from linnaeus.decoding.base import blocks
from linnaeus.decoding.cut import CutOff, Metric, check_choice
from linnaeus.decoding.held_out import HeldOut, TopScores
from linnaeus.decoding.regression import Ordinal, ordinal, poisson, ridge
from linnaeus.decoding.score_features import best_cuts, score_features
from linnaeus.decoding.threshold import repaired
from linnaeus.errors import check_number
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["SetSize"]


@dataclass(frozen=True)
class SetSize(CutOff):
    """As many of the best labels as the document is expected to have.

    Parameters
    ----------
    method : "poisson", "ordinal" (proportional odds), or "ridge".
    target : the number that is learned: "size", how many labels a document has; "errors" or "f1", how many of its best
        ones make the fewest errors or the largest F1 (as for `InstanceCut`).
    n_scores : how many of the best scores are features.
    penalty : of the regression; None: slight, by cross-validation for "ridge".
    at_least_one : no answer is empty.
    weights, constant, cut_points, sizes : learned; ``sizes`` are those that occurred, no answer leaves their range.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.flat("ABC")
    >>> rng = np.random.default_rng(0)
    >>> Y = rng.random((300, 3)) < 0.5
    >>> cut = SetSize().fit(Y + 0.1 * rng.normal(size=(300, 3)), Y.astype(int), tax)
    >>> tax.labels(cut([[0.9, 0.1, 0.0], [1.1, 0.0, 0.9]], tax))
    [['A'], ['A', 'C']]
    """

    name: ClassVar[str] = "set_size"
    method: str = "poisson"
    target: str = "size"
    n_scores: int = 50
    penalty: float | None = None
    at_least_one: bool = True
    weights: Any = field(default=None, repr=False)
    constant: float = field(default=0.0, repr=False)
    cut_points: Any = field(default=(), repr=False)
    sizes: Any = field(default=(), repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("method", self.method, ("poisson", "ordinal", "ridge"))
        check_choice("target", self.target, ("size", "errors", "f1"))
        check_number("n_scores", self.n_scores, least=1, whole=True)
        if self.penalty is not None:
            check_number("penalty", self.penalty, least=0)
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))
        object.__setattr__(self, "cut_points", tuple(float(b) for b in self.cut_points))
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))

    @property
    def fitted(self) -> bool:
        return self.weights is not None

    def _fit(self, held: HeldOut, metric: Metric) -> SetSize:
        n_scores = max(1, min(self.n_scores, held.S.shape[1]))
        F = score_features(held.S, n_scores)
        sizes = np.diff(held.gold.indptr) if self.target == "size" else best_cuts(held, self.target).size
        occurred = tuple(np.unique(sizes).tolist())
        if self.method == "ordinal":
            found = ordinal(F, sizes, self.penalty)
            return replace(self, weights=found.weights, constant=0.0, cut_points=found.cut_points, sizes=occurred)
        regress = poisson if self.method == "poisson" else ridge
        weights, constant = regress(F, sizes, self.penalty)
        return replace(self, weights=weights, constant=constant, cut_points=(), sizes=occurred)

    def _cut(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        size = np.floor(self.expected(S) + 0.5).astype(np.int64)
        if self.at_least_one:
            size = np.maximum(size, 1)
        top = TopScores.of(S, int(size.max(initial=1)))
        keep = (np.arange(top.k) < size[:, None]) & np.isfinite(top.scores)
        return repaired(top.members(keep, columns, taxonomy.n_nodes), taxonomy, self.repair, self._best(S, columns))

    def expected(self, S: FloatArray) -> FloatArray:
        """The expected number of labels of every document, from its scores."""
        self._check_fitted()
        weights = np.asarray(self.weights)
        expected = np.empty(len(S))
        for rows in blocks(len(S), S.shape[1] + 2 * len(weights)):
            F = score_features(S[rows], len(weights) // 2)
            if self.method == "ordinal":
                expected[rows] = Ordinal(weights, np.asarray(self.cut_points), np.asarray(self.sizes)).expected(F)
                continue
            # Row by row, not as a product of matrices, whose rounding depends on the number of rows.
            expected[rows] = self.constant + (F * weights).sum(axis=1)
        low, high = (self.sizes[0], self.sizes[-1]) if self.sizes else (0, np.inf)
        if self.method == "poisson":
            expected = np.exp(np.minimum(expected, 50.0))
        return np.clip(expected, low, high)
