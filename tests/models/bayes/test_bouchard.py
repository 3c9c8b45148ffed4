"""The bound with xi and beta at their best: least of all, convex in the means, with the derivatives it claims."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from linnaeus.models.bayes.variational import Bounded, Local, curvature_of


def made(softmax: bool, seed: int, wide: float = 1.0) -> tuple[Bounded, np.ndarray]:
    rng = np.random.default_rng(seed)
    S, v = wide * rng.normal(size=(5, 4)), rng.uniform(0, 2, size=(5, 4))
    v[0] = 0.0  # no variance: Bouchard's own bound
    Y = np.eye(4)[rng.integers(4, size=5)]
    return Bounded(Y, rng.uniform(0.5, 2, 5), v, Local.start(5, 4, softmax)), S


@pytest.mark.parametrize("wide", [0.1, 3.0, 40.0])
def test_no_beta_is_better(wide) -> None:
    seen, S = made(True, 0, wide)
    best = seen.at(S)[0]
    total = 0.0
    for i in range(5):
        one = Bounded(seen.Y[[i]], seen.c[[i]], seen.variances[[i]], Local.start(1, 4, True))

        def value(beta: float, one: Bounded = one, i: int = i) -> float:
            one.local.beta = np.array([beta])
            one.local.xi = np.sqrt(one.variances + (S[[i]] - beta) ** 2)
            return -one.local.expected(one.Y, one.c, S[[i]], one.variances)

        found = minimize_scalar(value, bounds=(S[i].min() - 10, S[i].max() + 20), method="bounded")
        total += found.fun
    assert best <= total + 1e-6
    assert best == pytest.approx(total, abs=1e-3)


@pytest.mark.parametrize("beta", [np.nan, -1e300, 1e300])
def test_beta_is_found_from_anywhere(beta) -> None:
    seen, S = made(True, 0)
    best = seen.at(S)[0]
    seen.local.beta = np.full(5, beta)
    assert seen.at(S)[0] == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("wide", [1e9, 1e18])
def test_beta_is_found_for_huge_scores_and_variances(wide) -> None:
    seen, S = made(True, 0, wide)
    seen.variances = seen.variances * wide**2
    seen.at(S)
    slopes = 0.5 + 2 * curvature_of(seen.local.xi) * (S - seen.local.beta[:, None])
    np.testing.assert_allclose(slopes.sum(axis=1), 1, atol=1e-6)


@pytest.mark.parametrize("softmax", [True, False])
def test_it_bounds_the_loss_and_has_the_derivatives_it_claims(softmax) -> None:
    seen, S = made(softmax, 1)
    value, R, D = seen.at(S)
    loss = np.logaddexp.reduce(S, axis=1) if softmax else np.logaddexp(0, S).sum(axis=1)
    assert value >= seen.c @ (loss - np.einsum("ij,ij->i", seen.Y, S))
    step, Q = 1e-5, np.random.default_rng(2).normal(size=S.shape)
    ahead, behind = seen.at(S + step * Q), seen.at(S - step * Q)
    assert (ahead[0] - behind[0]) / (2 * step) == pytest.approx(float((R * Q).sum()), rel=1e-6)
    np.testing.assert_allclose((ahead[1] - behind[1]) / (2 * step), seen.curve(D, Q), atol=1e-6)
    assert float((Q * seen.curve(D, Q)).sum()) >= 0


def test_one_label_alone_has_no_sum_to_bound() -> None:
    local = Local.start(3, 1, True)
    local.fit(np.ones((3, 1)), np.ones((3, 1)))
    np.testing.assert_array_equal(local.beta, 0)
