"""Instance-based cut-off: one threshold for each document, predicted from the shape of its own scores.

    t(x) = phi(x)'w + b,  the answer is {v : f_v > t(x)}, at least the best label

phi are the best scores in order, their gaps, mean and deviation (`score_features`). For held-out documents the best
threshold is known; ridge regression learns it. After Gopal and Yang (2010), who used it for all multi-label data of
Gopal and Yang (2015).

`SetSize` predicts how many labels a document has from its scores instead, and takes that number of the best.

    the answer is the round(E[size | phi(x)]) best labels, at least one

phi are the best scores in order, their gaps, mean and deviation (`score_features`). This turns any ranking into sets
(Elisseeff and Weston 2001; named by Cai and Hofmann for the hierarchical SVM).

The features of a document say how far to go down its ranking: its scores in order, whatever labels they are of.

    phi = (s_1, ..., s_L, s_1 - s_2, ..., s_(L-1) - s_L, mean, sd)        L best scores, best first; 2 L + 1 numbers

They say nothing about which labels the scores belong to, so that what is learned from frequent labels serves rare ones.
The target of a document is its best cut between two different scores: the sets it may answer are the k best labels,
k = 0, 1, ..., never split inside a group of equal scores.

Regressions of a number per document on the features of its scores (`score_features`), all of them small.

ridge      min mean (phi'w + b - t)^2 + penalty |w|^2, the penalty by five-fold cross-validation
poisson    log E[size] = phi'w + b
ordinal    P(size > c_j) = 1 / (1 + exp(b_j - phi'w)), b_0 < b_1 < ..., one w for all (proportional odds)

Features are brought to mean 0 and deviation 1 for fitting; the weights that come back are for the features as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

import numpy as np

from linnaeus.decoding.base import HeldOut, TopScores, blocks
from linnaeus.decoding.cutoffs.cut_off import CutOff, Metric
from linnaeus.decoding.simple.threshold import members, repaired
from linnaeus.errors import check_choice, check_number
from linnaeus.taxonomy.taxonomy import Taxonomy
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["InstanceCut", "Ordinal", "SetSize", "Target", "best_cuts", "ordinal", "poisson", "ridge", "score_features"]

_DEEPEST = 200  # ranks that are looked at for the F1 target


def score_features(S: FloatArray | TopScores, n_scores: int) -> FloatArray:
    """Features of every document, n_docs x (2 n_scores + 1), in double precision.

    A document with fewer scores repeats its last one.

    Examples
    --------
    >>> score_features(np.array([[0.2, 0.8, 0.5]]), 2).round(2).tolist()
    [[0.8, 0.5, 0.3, 0.65, 0.15]]
    """
    top = S.best(n_scores) if isinstance(S, TopScores) else TopScores.of(S, n_scores)
    scores = np.zeros((len(top), n_scores))
    scores[:, : top.k] = top.scores
    known = np.isfinite(scores[:, : top.k]).all(axis=1)
    if top.k and (top.k < n_scores or not known.all()):
        scores[:, top.k :] = scores[:, [top.k - 1]]
        least = np.where(np.isfinite(scores), scores, np.inf).min(axis=1, keepdims=True)
        least = np.where(np.isfinite(least), least, 0.0)
        scores = np.where(np.isfinite(scores), scores, least)
    mean, deviation = scores.mean(axis=1, keepdims=True), scores.std(axis=1, keepdims=True)
    return np.hstack([scores, scores[:, :-1] - scores[:, 1:], mean, deviation])


class Target(NamedTuple):
    """The best cut of every document: how many labels are kept, and the threshold that keeps them."""

    size: IntArray
    theta: FloatArray


def best_cuts(held: HeldOut, criterion: str) -> Target:
    """The best cut of every held-out document.

    Parameters
    ----------
    criterion : str
        "errors" minimises #{gold: f <= t} + #{not gold: f >= t}, the lowest of several best intervals (it keeps
        recall); "f1" maximises F1 of the labels kept, the fewest of several best. The threshold is the middle of the
        interval; where it is unbounded, the extreme score -/+ 1.

    Examples
    --------
    >>> from linnaeus import Taxonomy
    >>> from linnaeus.decoding.base import held_out
    >>> held = held_out([[0.9, 0.6, 0.5, 0.2]], [["A", "C"]], Taxonomy.flat("ABCD"))
    >>> best_cuts(held, "errors").theta.round(2).tolist(), best_cuts(held, "f1").size.tolist()
    ([0.35], [3])
    """
    n_gold = np.diff(held.gold.indptr).astype(np.int64)
    most = int(n_gold.max(initial=0))
    # More than twice as many labels as are right make more errors than none at all.
    depth = 2 * most + 1 if criterion == "errors" else max(2 * most + 1, _DEEPEST)
    top = held.top(depth)
    right = np.zeros((len(top), top.k + 1), dtype=np.int64)
    np.cumsum(held.is_gold(top), axis=1, out=right[:, 1:])
    sizes = np.arange(top.k + 1)
    allowed = _between_scores(top)
    if criterion == "errors":
        errors = np.where(allowed, n_gold[:, None] + sizes - 2 * right, np.iinfo(np.int64).max)
        size = top.k - errors[:, ::-1].argmin(axis=1)
    else:
        f1 = 2 * right / np.maximum(n_gold[:, None] + sizes, 1)
        f1[n_gold == 0, 0] = 1.0
        f1[:, 0][n_gold > 0] = -1.0  # something is answered where there is something to find
        size = np.where(allowed, f1, -2.0).argmax(axis=1)
    return Target(size, _thresholds(top, size))


def _between_scores(top: TopScores) -> BoolArray:
    """Which sizes 0..k fall between two different scores; the last only if nothing lies below it."""
    allowed = np.ones((len(top), top.k + 1), dtype=bool)
    allowed[:, 1:-1] = top.scores[:, :-1] > top.scores[:, 1:]
    if top.k:
        allowed[:, 1:] &= np.isfinite(top.scores)
        allowed[:, -1] &= top.k == top.n_columns
    return allowed


def _thresholds(top: TopScores, size: IntArray) -> FloatArray:
    """The middle between the last score kept and the first one not kept."""
    rows = np.arange(len(top))
    if not top.k:
        return np.zeros(len(top))
    scores = top.scores.astype(np.float64)
    kept = scores[rows, np.maximum(size - 1, 0)]
    left = scores[rows, np.minimum(size, top.k - 1)]
    left = np.where((size == top.k) | ~np.isfinite(left), kept - 2.0, left)
    first = np.where(np.isfinite(scores[:, 0]), scores[:, 0], 0.0)
    return np.where(size == 0, first + 1.0, kept + (left - kept) / 2)


_PENALTIES = 10.0 ** np.arange(-6, 2)
_FOLDS = 5
_SLIGHT = 1e-3  # enough to keep weights of features that say the same from growing against each other


class _Scale(NamedTuple):
    """Mean and deviation of features, to fit on comparable ones and to return weights for the given ones."""

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, F: FloatArray) -> _Scale:
        deviation = F.std(axis=0)
        return cls(F.mean(axis=0), np.where(deviation > 1e-12, deviation, 1.0))

    def of_features(self, F: FloatArray) -> FloatArray:
        return (F - self.mean) / self.deviation

    def of_weights(self, weights: FloatArray) -> tuple[FloatArray, float]:
        """Weights for features as they are, and what is to be added to the constant."""
        weights = weights / self.deviation
        return weights, -float(weights @ self.mean)


def ridge(F: FloatArray, target: FloatArray | IntArray, penalty: float | None = None) -> tuple[FloatArray, float]:
    """Weights and constant; without a penalty the one of smallest squared error over five folds.

    Examples
    --------
    >>> weights, constant = ridge(np.array([[0.0], [1.0], [2.0]]), np.array([1.0, 3.0, 5.0]), penalty=0.0)
    >>> weights.round(6).tolist(), round(constant, 6)
    ([2.0], 1.0)
    """
    scale, target = _Scale.of(F), target.astype(np.float64)
    Z = np.hstack([scale.of_features(F), np.ones((len(F), 1))])
    folds: list[tuple[FloatArray, FloatArray]] = [
        (Z[k::_FOLDS].T @ Z[k::_FOLDS], Z[k::_FOLDS].T @ target[k::_FOLDS]) for k in range(_FOLDS)
    ]
    G, c = np.sum([gram for gram, _ in folds], axis=0), np.sum([moment for _, moment in folds], axis=0)
    if penalty is None:
        errors = [_fold_errors(G, c, folds, len(F), p) for p in _PENALTIES]
        penalty = float(_PENALTIES[int(np.argmin(errors))])
    solution = _solve(G, c, penalty * len(F))
    weights, constant = scale.of_weights(solution[:-1])
    return weights, constant + float(solution[-1])


def _solve(G: FloatArray, c: FloatArray, penalty: float) -> FloatArray:
    """Normal equations; the constant, which comes last, is not penalised."""
    ridge = np.full(len(G), penalty)
    ridge[-1] = 0.0
    solution: FloatArray = np.linalg.lstsq(G + np.diag(ridge), c, rcond=None)[0]
    return solution


def _fold_errors(
    G: FloatArray, c: FloatArray, folds: list[tuple[FloatArray, FloatArray]], n: int, penalty: float
) -> float:
    """Squared error of each fold under the weights of the others, but for a constant."""
    total = 0.0
    for gram, moment in folds:
        w = _solve(G - gram, c - moment, penalty * n * (_FOLDS - 1) / _FOLDS)
        total += float(w @ gram @ w - 2 * w @ moment)
    return total


def poisson(F: FloatArray, sizes: IntArray, penalty: float | None = None) -> tuple[FloatArray, float]:
    """Weights and constant of the logarithm of the expected size.

    Examples
    --------
    >>> weights, constant = poisson(np.array([[0.0], [1.0]] * 50), np.array([1, 3] * 50), penalty=0.0)
    >>> np.exp(constant + weights * [0, 1]).round(2).tolist()
    [1.0, 3.0]
    """
    from sklearn.linear_model import PoissonRegressor

    scale = _Scale.of(F)
    if not sizes.any():
        return np.zeros(F.shape[1]), -np.inf
    alpha = _SLIGHT if penalty is None else penalty
    model = PoissonRegressor(alpha=alpha, solver="newton-cholesky", max_iter=100).fit(scale.of_features(F), sizes)
    weights, constant = scale.of_weights(model.coef_)
    return weights, constant + float(model.intercept_)


class Ordinal(NamedTuple):
    """Weights, the increasing cut points b_j, and the sizes c_0 < c_1 < ... that they lie between."""

    weights: FloatArray
    cut_points: FloatArray
    sizes: IntArray

    def expected(self, F: FloatArray) -> FloatArray:
        """The expected size of every document."""
        from scipy.special import expit

        exceeds = expit((F * self.weights).sum(axis=1)[:, None] - self.cut_points)
        return self.sizes[0] + (exceeds * np.diff(self.sizes)).sum(axis=1)


def ordinal(F: FloatArray, sizes: IntArray, penalty: float | None = None) -> Ordinal:
    """Proportional odds by maximum likelihood.

    Examples
    --------
    >>> found = ordinal(np.array([[0.0], [1.0]] * 50), np.array([1, 1, 1, 3] * 25), penalty=0.0)
    >>> found.expected(np.array([[0.0], [1.0]])).round(1).tolist()
    [1.0, 2.0]
    """
    from scipy.optimize import minimize

    scale = _Scale.of(F)
    levels, level = np.unique(sizes, return_inverse=True)
    if len(levels) == 1:
        return Ordinal(np.zeros(F.shape[1]), np.empty(0), levels)
    shares = np.cumsum(np.bincount(level))[:-1] / len(level)
    first = np.log(shares / (1 - shares))  # cut points without features
    start = np.concatenate([np.zeros(F.shape[1]), first[:1], np.log(np.diff(first))])
    Z, alpha = scale.of_features(F), _SLIGHT if penalty is None else penalty
    found = minimize(_ordinal_loss, start, (Z, level, alpha), method="L-BFGS-B", jac=True, options={"maxiter": 500})
    weights, constant = scale.of_weights(found.x[: F.shape[1]])
    return Ordinal(weights, _increasing(found.x[F.shape[1] :]) - constant, levels)


def _increasing(steps: FloatArray) -> FloatArray:
    """b_0 and the logarithms of the steps from each cut point to the next, as cut points."""
    return np.cumsum(np.concatenate([steps[:1], np.exp(steps[1:])]))


def _ordinal_loss(parameters: FloatArray, Z: FloatArray, level: IntArray, penalty: float) -> tuple[float, FloatArray]:
    """Mean of -log P(level) plus the penalty, and the gradient in weights, b_0 and log steps."""
    from scipy.special import expit

    w, steps = parameters[: Z.shape[1]], parameters[Z.shape[1] :]
    b = np.concatenate([[-np.inf], _increasing(steps), [np.inf]])
    eta = Z @ w
    lower, upper = expit(eta - b[level]), expit(eta - b[level + 1])
    probability = np.maximum(lower - upper, 1e-300)
    from_lower, from_upper = lower * (1 - lower) / probability, upper * (1 - upper) / probability
    n, m = len(level), len(steps)
    by_eta = -(from_lower - from_upper) / n
    by_point = np.bincount(level, from_lower, m + 1)[1:] - np.bincount(level, from_upper, m + 1)[:-1]
    by_step = np.cumsum(by_point[::-1])[::-1] / n  # a step moves all cut points after it
    by_step[1:] *= np.exp(steps[1:])
    loss = float(-np.log(probability).mean() + penalty * (w @ w) / 2)
    return loss, np.concatenate([by_eta @ Z + penalty * w, by_step])


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
