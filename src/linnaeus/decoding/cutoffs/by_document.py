"""Instance-based cut-off: one threshold for each document, predicted from the shape of its own scores.

    t(x) = phi(x)'w + b,  the answer is {v : f_v > t(x)}, at least the best label

phi are the best scores in order, their gaps, mean and deviation (`score_features`). For held-out documents the best
threshold is known; ridge regression learns it. After Gopal and Yang (2010), who used it for all multi-label data of
Gopal and Yang (2015).

Set-size regression: how many labels a document has is predicted from its scores, and that number of the best is taken.

    the answer is the round(E[size | phi(x)]) best labels, at least one

phi are the best scores in order, their gaps, mean and deviation (`score_features`). This turns any ranking into sets
(Elisseeff and Weston 2001; named by Cai and Hofmann for the hierarchical SVM).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from linnaeus.decoding.base import blocks
from linnaeus.decoding.cutoffs.cut_off import CutOff, Metric
from linnaeus.decoding.cutoffs.held_out import HeldOut, TopScores
from linnaeus.decoding.cutoffs.score_regression import Ordinal, best_cuts, ordinal, poisson, ridge, score_features
from linnaeus.decoding.simple.threshold import members, repaired
from linnaeus.errors import check_choice, check_number
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["InstanceCut", "SetSize"]


class _Regression(CutOff):
    """A number for every document, learned by a regression on its best scores.

    Not a dataclass itself: the fields are those of the cut-offs, in their own order.
    """

    n_scores: int
    penalty: float | None
    weights: Sequence[float] | None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number("n_scores", self.n_scores, least=1, whole=True)
        if self.penalty is not None:
            check_number("penalty", self.penalty, least=0)
        if self.weights is not None:
            object.__setattr__(self, "weights", tuple(float(w) for w in self.weights))

    @property
    def fitted(self) -> bool:
        return self.weights is not None

    def _features(self, held: HeldOut) -> FloatArray:
        return score_features(held.S, max(1, min(self.n_scores, held.S.shape[1])))


@dataclass(frozen=True)
class InstanceCut(_Regression):
    """Every label with a score above the document's own threshold.

    Parameters
    ----------
    target : str, default="errors"
        What the thresholds of held-out documents are best for: "errors", the fewest labels missed or wrong (the lowest
        of several best intervals); or "f1", the F1 of the document (the fewest labels of several best).
    n_scores : int, default=50
        How many of the best scores are features.
    penalty : float, default=None
        Of the ridge regression; None finds it by cross-validation.
    at_least_one : bool, default=True
        An empty answer becomes the label of largest score.
    weights, constant : object, default=field(default=None, repr=False)
        Learned.
    repair : {"closure", "suppress"}, default=None
        How answers are made closed; None leaves the labels as they are, see `CutOff`.

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
    weights: Sequence[float] | None = field(default=None, repr=False)
    constant: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("target", self.target, ("errors", "f1"))

    def _fit(self, held: HeldOut, metric: Metric) -> InstanceCut:
        F = self._features(held)
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


@dataclass(frozen=True)
class SetSize(_Regression):
    """As many of the best labels as the document is expected to have.

    Parameters
    ----------
    method : str, default="poisson"
        "poisson", "ordinal" (proportional odds), or "ridge".
    target : str, default="size"
        The number that is learned: "size", how many labels a document has; "errors" or "f1", how many of its best ones
        make the fewest errors or the largest F1 (as for `InstanceCut`).
    n_scores : int, default=50
        How many of the best scores are features.
    penalty : float, default=None
        Of the regression; None: slight, by cross-validation for "ridge".
    at_least_one : bool, default=True
        No answer is empty.
    weights, constant, cut_points, sizes : object, default=field(default=None, repr=False)
        Learned; ``sizes`` are those that occurred, no answer leaves their range.
    repair : {"closure", "suppress"}, default=None
        How answers are made closed; None leaves the labels as they are, see `CutOff`.

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
    weights: Sequence[float] | None = field(default=None, repr=False)
    constant: float = field(default=0.0, repr=False)
    cut_points: Sequence[float] = field(default=(), repr=False)
    sizes: Sequence[float] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("method", self.method, ("poisson", "ordinal", "ridge"))
        check_choice("target", self.target, ("size", "errors", "f1"))
        object.__setattr__(self, "cut_points", tuple(float(b) for b in self.cut_points))
        object.__setattr__(self, "sizes", tuple(int(size) for size in self.sizes))

    def _fit(self, held: HeldOut, metric: Metric) -> SetSize:
        F = self._features(held)
        sizes = np.diff(held.gold.indptr) if self.target == "size" else best_cuts(held, self.target).size
        occurred = tuple(np.unique(sizes).tolist())
        if self.method == "ordinal":
            found = ordinal(F, sizes, self.penalty)
            learned = {"weights": found.weights.tolist(), "cut_points": found.cut_points.tolist()}
            return replace(self, constant=0.0, sizes=occurred, **learned)
        regress = poisson if self.method == "poisson" else ridge
        weights, constant = regress(F, sizes, self.penalty)
        return replace(self, weights=weights.tolist(), constant=constant, cut_points=(), sizes=occurred)

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
