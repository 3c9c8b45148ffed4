"""Instance-based cut-off: one threshold for each document, predicted from the shape of its own scores.

    t(x) = phi(x)'w + b,  the answer is {v : f_v > t(x)}, at least the best label

phi are the best scores in order, their gaps, mean and deviation (`score_features`). For held-out documents the best
threshold is known; ridge regression learns it. After Gopal and Yang (2010), who used it for all multi-label data of
Gopal and Yang (2015).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from linnaeus.decoding.base import blocks
from linnaeus.decoding.cut import CutOff, Metric, check_choice
from linnaeus.decoding.held_out import HeldOut
from linnaeus.decoding.regression import ridge
from linnaeus.decoding.score_features import best_cuts, score_features
from linnaeus.decoding.threshold import members, repaired
from linnaeus.errors import check_number
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["InstanceCut"]


@dataclass(frozen=True)
class InstanceCut(CutOff):
    """Every label with a score above the document's own threshold.

    Parameters
    ----------
    target : what the thresholds of held-out documents are best for: "errors", the fewest labels missed or wrong (the
        lowest of several best intervals); or "f1", the F1 of the document (the fewest labels of several best).
    n_scores : how many of the best scores are features.
    penalty : of the ridge regression; None finds it by cross-validation.
    at_least_one : an empty answer becomes the label of largest score.
    weights, constant : learned.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> tax = Taxonomy.flat("ABC")
    >>> rng = np.random.default_rng(0)
    >>> level = rng.normal(size=(200, 1))               # scores of some documents are high, of others low
    >>> Y = rng.random((200, 3)) < 0.4
    >>> S = Y + level + 0.1 * rng.normal(size=(200, 3))
    >>> cut = InstanceCut().fit(S, Y.astype(int), tax)
    >>> tax.labels(cut([[2.0, 3.0, 2.1], [-2.0, -2.1, -3.0]], tax))
    [['B'], ['A', 'B']]
    """

    name: ClassVar[str] = "instance_cut"
    target: str = "errors"
    n_scores: int = 50
    penalty: float | None = None
    at_least_one: bool = True
    weights: Any = field(default=None, repr=False)
    constant: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("target", self.target, ("errors", "f1"))
        check_number("n_scores", self.n_scores, least=1, whole=True)
        if self.penalty is not None:
            check_number("penalty", self.penalty, least=0)
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))

    @property
    def fitted(self) -> bool:
        return self.weights is not None

    def _fit(self, held: HeldOut, metric: Metric) -> InstanceCut:
        n_scores = max(1, min(self.n_scores, held.S.shape[1]))
        F = score_features(held.S, n_scores)
        weights, constant = ridge(F, best_cuts(held, self.target).theta, self.penalty)
        return replace(self, weights=tuple(weights.tolist()), constant=constant)

    def margins(self, S: FloatArray, Y: CSR, taxonomy: Taxonomy, columns: IntArray) -> FloatArray:
        kept = columns != taxonomy.root if self.closed else slice(None)
        order = np.argsort(columns[kept], kind="stable")
        return np.asarray(S - self.thresholds(np.ascontiguousarray(S[:, kept][:, order]))[:, None])

    def _cut(self, S: FloatArray, taxonomy: Taxonomy, columns: IntArray) -> CSR:
        theta = self.thresholds(S)
        Y = members(S, lambda rows: S[rows] > theta[rows, None], columns, taxonomy)
        return repaired(Y, taxonomy, self.repair, self._best(S, columns))

    def thresholds(self, S: FloatArray) -> FloatArray:
        """The threshold of every document, from its scores."""
        self._check_fitted()
        weights = np.asarray(self.weights)
        theta = np.full(len(S), self.constant)
        for rows in blocks(len(S), S.shape[1] + 2 * len(weights)):
            # Row by row, not as a product of matrices, whose rounding depends on the number of rows.
            theta[rows] += (score_features(S[rows], len(weights) // 2) * weights).sum(axis=1)
        return theta
