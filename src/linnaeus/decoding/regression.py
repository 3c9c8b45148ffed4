"""Regressions of a number per document on the features of its scores (`score_features`), all of them small.

ridge      min mean (phi'w + b - t)^2 + penalty |w|^2, the penalty by five-fold cross-validation
poisson    log E[size] = phi'w + b
ordinal    P(size > c_j) = 1 / (1 + exp(b_j - phi'w)), b_0 < b_1 < ..., one w for all (proportional odds)

Features are brought to mean 0 and deviation 1 for fitting; the weights that come back are for the features as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from linnaeus.typing import FloatArray, IntArray

__all__ = ["Ordinal", "ordinal", "poisson", "ridge"]

_PENALTIES = 10.0 ** np.arange(-6, 2)
_FOLDS = 5
_SLIGHT = 1e-3  # enough to keep weights of features that say the same from growing against each other


class _Scale(NamedTuple):
    """Mean and deviation of features, to fit on comparable ones and to give back weights for the given ones."""

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
