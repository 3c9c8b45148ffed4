"""The sampler of corrMNL: it leaves the joint distribution of parameters and data alone, and knows simple ones."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.models.bayes.corr_mnl import PathSum, Sampling, move, sample_chain
from linnaeus.models.label_tree import LabelTree
from tests.models.bayes.worked import TREE

PRIOR = (5.0, 5.0)


def posterior(X: np.ndarray, y: np.ndarray, tree: LabelTree = TREE) -> PathSum:
    return PathSum(X, y, np.ones(len(X)), tree, PRIOR, PRIOR)


def prior_draw(rng: np.random.Generator, d: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(phi, tau, sigma) from the prior."""
    tau, sigma = (rng.gamma(PRIOR[0], 1 / PRIOR[1], n) ** -0.5 for n in (len(TREE.inner), d))
    scale = posterior(np.zeros((1, d)), np.zeros(1, int)).scale(tau, sigma)
    return scale * rng.normal(size=(TREE.n_vertices - 1, d)), tau, sigma


def labels(rng: np.random.Generator, X: np.ndarray, beta: np.ndarray) -> np.ndarray:
    S = X @ beta.T
    P = np.exp(S - S.max(axis=1, keepdims=True))
    return ((P / P.sum(axis=1, keepdims=True)).cumsum(axis=1) < rng.random((len(X), 1))).sum(axis=1)


def iterate(target: PathSum, phi, sigma, rng, n_steps: int = 6):
    """One iteration, as in a chain, with a step that does not adapt."""
    tau, sigma = target.draw_scales(phi, sigma, rng)
    scale = target.scale(tau, sigma)

    def energy(q):
        return target.energy(q, scale)

    eps, _, chance = move(energy, phi / scale, energy(phi / scale), np.ones_like(phi), 0.3, n_steps, rng)
    return scale * eps, tau, sigma, chance


def test_gradients_are_those_of_the_energy() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 2))
    target = posterior(X, rng.integers(3, size=6))
    scale, eps = rng.uniform(0.5, 2, (4, 2)), rng.normal(size=(4, 2))
    value, gradient = target.energy(eps, scale)
    for place in np.ndindex(4, 2):
        moved = eps.copy()
        moved[place] += 1e-6
        assert (target.energy(moved, scale)[0] - value) / 1e-6 == pytest.approx(gradient[place], abs=1e-4)


def test_coefficients_are_sums_along_the_paths() -> None:
    phi = np.array([[1.0, 0], [0, 2], [0, 3], [5, 5]])  # of vertices 1, 2, 3, 4
    target = posterior(np.zeros((1, 2)), np.zeros(1, int))
    assert target.leaves_of(phi).tolist() == [[1, 2], [1, 3], [5, 5]]


def test_parameters_and_data_drawn_in_turn_have_the_prior_as_their_distribution() -> None:
    """Geweke's joint distribution test: any slip in gradient, acceptance or the Gibbs draws moves these means."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 2))
    phi, _, sigma = prior_draw(rng)
    draws = []
    for _ in range(1500):
        y = labels(rng, X, posterior(X, np.zeros(8, int)).leaves_of(phi))
        phi, tau, sigma, _ = iterate(posterior(X, y), phi, sigma, rng)
        draws.append([*tau**-2, *sigma**-2, *(phi**2).ravel()])
    found, errors = np.mean(draws, axis=0), _errors(np.array(draws))
    expected = np.array([1.0] * 4 + [(5 / 4) ** 2] * 8)  # E[1/tau^2] = 1, E[tau^2 sigma^2] = (5/4)^2
    assert (np.abs(found - expected) < 4 * errors).all()
    assert (errors < 0.5).all()


def _errors(draws: np.ndarray, n_batches: int = 30) -> np.ndarray:
    batches = draws[: len(draws) // n_batches * n_batches].reshape(n_batches, -1, draws.shape[1]).mean(axis=1)
    return batches.std(axis=0, ddof=1) / np.sqrt(n_batches)


def test_a_single_coefficient_has_the_posterior_of_a_fine_grid() -> None:
    """Two labels under the root, one feature, scales held: only the difference matters, and it is N(0, 2) a priori."""
    star = LabelTree(np.array([-1, 0, 0]), np.array([1, 2]), np.arange(3))
    rng = np.random.default_rng(1)
    X = rng.normal(size=(15, 1))
    y = (rng.random(15) < 1 / (1 + np.exp(-1.5 * X[:, 0]))).astype(int)
    target, scale = posterior(X, y, star), np.ones((2, 1))
    grid = np.linspace(-8, 8, 4001)
    signs = np.where(y == 1, 1, -1)
    logs = -(grid**2) / 4 - np.logaddexp(0, -signs[:, None] * X * grid).sum(axis=0)
    density = np.exp(logs - logs.max())
    density /= density.sum()
    mean = float(density @ grid)
    deviation = float(np.sqrt(density @ (grid - mean) ** 2))
    eps, draws = np.zeros((2, 1)), []
    for _ in range(2500):
        eps = move(lambda q: target.energy(q, scale), eps, target.energy(eps, scale), np.ones((2, 1)), 0.5, 5, rng)[0]
        draws.append(eps[1, 0] - eps[0, 0])
    assert np.mean(draws) == pytest.approx(mean, abs=0.1)
    assert np.std(draws) == pytest.approx(deviation, rel=0.08)


def test_without_documents_a_chain_gives_the_prior() -> None:
    target = PathSum(np.zeros((1, 2)), np.zeros(1, int), np.zeros(1), TREE, PRIOR, PRIOR)
    chain = sample_chain(target, (Sampling(1500, 100, 5, 10), 0))
    tau, sigma = chain.watched[:, :2], chain.watched[:, 2:4]
    np.testing.assert_allclose((tau**-2).mean(axis=0), 1, atol=0.17)
    np.testing.assert_allclose((sigma**-2).mean(axis=0), 1, atol=0.17)
    assert 0.5 < chain.acceptance <= 1
    assert chain.beta.shape == (10, 3, 2)


def test_a_burn_in_that_a_time_limit_ends_early_is_followed_by_draws() -> None:
    class Early(Sampling):
        def begins(self, number, clock) -> bool:
            return number >= 3

    target = PathSum(np.eye(2), np.array([0, 1]), np.ones(2), TREE, PRIOR, PRIOR)
    chain = sample_chain(target, (Early(40, 20, 3, 5), 0))
    assert chain.watched.shape[0] == 37
    assert np.isfinite(chain.beta).all()


@pytest.mark.slow
def test_simulation_based_calibration() -> None:
    """The rank of the true value among posterior draws is uniform over data sets drawn from the model."""
    ranks = []
    for seed in range(80):
        rng = np.random.default_rng([7, seed])
        X = rng.normal(size=(20, 2))
        phi, tau, _ = prior_draw(rng)
        beta = posterior(X, np.zeros(20, int)).leaves_of(phi)
        target = posterior(X, labels(rng, X, beta))
        chain = sample_chain(target, (Sampling(700, 100, 6, 60), seed))
        watched = chain.watched[::10, :2]
        ranks.append([(chain.beta[:, 0, 0] < beta[0, 0]).mean(), *(watched < tau).mean(axis=0)])
    for column in np.array(ranks).T:
        counts = np.histogram(column, bins=4, range=(0, 1))[0]
        assert ((counts - 20) ** 2 / 20).sum() < 16.3  # chi-squared with 3 degrees of freedom, p = 0.001
