from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import check_grad
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from linnaeus.decoding.cutoffs.by_document import _ordinal_loss, ordinal, poisson, ridge


@pytest.fixture
def F() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(300, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, -3.0]


def test_ridge_agrees_with_scikit_learn(F: np.ndarray) -> None:
    target = F @ [1.0, 0.2, -3.0, 0.0] + np.random.default_rng(1).normal(size=300)
    weights, constant = ridge(F, target, penalty=0.1)
    scaled = StandardScaler().fit_transform(F)
    expected = Ridge(alpha=0.1 * 300).fit(scaled, target).predict(scaled)
    np.testing.assert_allclose(F @ weights + constant, expected)


def test_the_penalty_follows_the_noise(F: np.ndarray) -> None:
    rng = np.random.default_rng(2)
    clear, noise = F[:, 0], rng.normal(size=300)
    np.testing.assert_allclose(F @ ridge(F, clear)[0] + ridge(F, clear)[1], clear, atol=1e-3)
    assert np.abs(F @ ridge(F, noise)[0] + ridge(F, noise)[1] - noise.mean()).max() < 0.2


def test_features_that_say_the_same_do_no_harm() -> None:
    x = np.linspace(0, 1, 50)
    F = np.stack([x, x, 1 - x, np.ones(50)], axis=1)
    weights, constant = ridge(F, 2 * x)
    np.testing.assert_allclose(F @ weights + constant, 2 * x, atol=1e-3)
    assert np.abs(weights).max() < 10


def test_poisson_finds_the_expected_sizes(F: np.ndarray) -> None:
    mean = np.exp(0.5 + 0.4 * F[:, 0])
    sizes = np.random.default_rng(3).poisson(mean)
    weights, constant = poisson(F, sizes)
    assert np.corrcoef(np.exp(F @ weights + constant), mean)[0, 1] > 0.9
    assert np.exp(poisson(F, np.zeros(300, dtype=int))[1]) == 0


def test_the_gradient_of_the_ordinal_likelihood_is_right(F: np.ndarray) -> None:
    level = np.random.default_rng(4).integers(0, 4, size=300)
    Z = (F - F.mean(axis=0)) / F.std(axis=0)
    at = np.array([0.3, -0.2, 0.1, 0.0, -0.5, -0.1, 0.2])
    wrong = check_grad(lambda p: _ordinal_loss(p, Z, level, 0.1)[0], lambda p: _ordinal_loss(p, Z, level, 0.1)[1], at)
    assert wrong < 1e-5


def test_ordinal_recovers_proportional_odds(F: np.ndarray) -> None:
    rng = np.random.default_rng(5)
    hidden = 2 * F[:, 0] + rng.logistic(size=300)
    sizes = np.array([1, 2, 5])[np.searchsorted([-1.0, 1.5], hidden)]
    found = ordinal(F, sizes)
    assert found.sizes.tolist() == [1, 2, 5]
    assert (np.diff(found.cut_points) > 0).all()
    assert found.weights[0] == pytest.approx(2.0, abs=0.5)
    expected = found.expected(F)
    assert ((expected >= 1) & (expected <= 5)).all()
    assert np.corrcoef(expected, sizes)[0, 1] > 0.6


def test_one_size_is_always_expected(F: np.ndarray) -> None:
    assert (ordinal(F, np.full(300, 2)).expected(F) == 2).all()
