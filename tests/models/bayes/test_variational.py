"""Variational inference: every step is the exact maximiser of its block, and the bound never falls."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from linnaeus.engine import Clock, SerialEngine, ThreadEngine
from linnaeus.models.bayes.precisions import MODELS
from linnaeus.models.bayes.variational import Variational, infer
from tests.models.bayes.worked import ONES, TREE, X, Y, ones, random_tree

# (bound at convergence, expected precisions) of the worked example
CONVERGED = {
    ("M1", True): (-10.146184, [0.761513, 0.549378]),
    ("M2", True): (-10.533220, [0.742148, 1.001235, 0.595492, 0.862106]),
    ("M3", True): (-10.521423, [1.00242, 0.585982, 0.874652, 0.754275]),
    ("M1", False): (-10.959609, [0.815048, 0.655539]),
    ("M2", False): (-11.328266, [0.80491, 0.999397, 0.698133, 0.886705]),
    ("M3", False): (-11.261694, [1.105415, 0.693679, 0.91228, 0.682221]),
}
each_variant = pytest.mark.parametrize(("model", "softmax"), CONVERGED)


def state_of(model: str, softmax: bool, full: bool = True, seed: int | None = None) -> Variational:
    """The worked example, or a random one."""
    if seed is None:
        return Variational(X, Y, ONES, TREE, ones(model), softmax, full, SerialEngine())
    rng = np.random.default_rng(seed)
    tree, data = random_tree(rng), rng.normal(size=(25, 3))
    labels = np.eye(tree.n_leaves)[rng.integers(tree.n_leaves, size=25)]
    c = rng.uniform(0.5, 2, 25)
    return Variational(data, labels, c, tree, ones(model, tree, 3), softmax, full, SerialEngine())


@each_variant
def test_the_worked_example_has_its_known_bound(model, softmax) -> None:
    state = state_of(model, softmax)
    assert state.bound() == pytest.approx(-16.068003, abs=1e-6)
    found, bounds = infer(state, learn=True, tol=1e-9, max_iter=1000, clock=Clock(None))
    bound, precisions = CONVERGED[model, softmax]
    assert bounds[-1] == pytest.approx(bound, abs=1e-5)
    np.testing.assert_allclose(found.precisions.mean.ravel(), precisions, atol=1e-5)
    assert np.diff(bounds).min() > -1e-12


@pytest.mark.parametrize("full", [True, False])
@each_variant
def test_no_step_lowers_the_bound(model, softmax, full) -> None:
    for seed in range(3):
        state = state_of(model, softmax, full, seed)
        last = state.bound()
        for _ in range(8):
            for step in (state.move_means, state.move_covariances, state.move_precisions, state.move_local):
                step()
                now = state.bound()
                assert now >= last - 1e-9 * abs(last)
                last = now


@each_variant
def test_updates_of_precisions_maximise_the_bound_numerically(model, softmax) -> None:
    state = state_of(model, softmax, seed=0)
    state.settle(1e-10)
    start = state.precisions

    def lost(logs: np.ndarray) -> float:
        tau, nu = np.exp(logs.reshape(2, *start.tau.shape))
        state.precisions = type(start)(start.owners, start.a, start.b, tau, nu)
        return -state.bound()

    best = minimize(lost, np.log(np.stack([start.tau, start.nu])).ravel(), method="BFGS", options={"gtol": 1e-7})
    state.precisions = start
    state.move_precisions()
    assert -state.bound() == pytest.approx(best.fun, abs=1e-7)


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("softmax", [True, False])
def test_updates_of_weights_and_bounds_maximise_the_bound_numerically(softmax, full) -> None:
    state = state_of("M3", softmax, full, seed=2)
    state.settle(1e-6)
    state.move_precisions()
    state.move_means(1e-14)
    _is_stationary(state, state.mean, (state.tree.leaves[1], slice(None)))
    _is_stationary(state, state.mean, (state.tree.inner[1], slice(None)))
    _is_stationary(state, state.local.xi, (3, slice(None)))
    if softmax:
        _is_stationary(state, state.local.beta, (slice(4),))
    if not full:
        state.move_covariances()
        _is_highest_in_variance(state, state.tree.leaves[1])


def _is_stationary(state: Variational, array: np.ndarray, place: tuple) -> None:
    """No small change of these entries raises the bound by more than the square of it."""
    best, kept = state.bound(), array[place].copy()
    for i in range(kept.size):
        for step in (1e-3, -1e-3):
            moved = kept.copy()
            moved[i] += step
            array[place] = moved
            assert state.bound() < best
            array[place] = kept
    small = kept + 1e-6
    array[place] = small
    assert abs(state.bound() - best) < 1e-8
    array[place] = kept


def _is_highest_in_variance(state: Variational, vertex: int) -> None:
    """The diagonal variances of a leaf against wider and narrower ones."""
    best, kept, leaf = state.bound(), state.variance[vertex].copy(), list(state.tree.leaves).index(vertex)
    for factor in (0.9, 1.1):
        state.variance[vertex] = factor * kept
        state.logdet[vertex] = np.log(factor * kept).sum()
        state.spread[:, leaf] = state.X**2 @ (factor * kept)
        assert state.bound() < best
    state.variance[vertex], state.logdet[vertex] = kept, np.log(kept).sum()


def test_covariances_maximise_the_bound() -> None:
    """A full covariance of a leaf against nearby ones; a wrong one (a precision in its place) is far worse."""
    state = state_of("M3", True, seed=4)
    for _ in range(3):
        state.settle(1e-10)
        state.move_precisions()
    state.move_covariances()
    best, leaf = state.bound(), 0
    A = np.linalg.inv(state.covariance[leaf])
    rng = np.random.default_rng(0)
    for _ in range(20):
        noise = rng.normal(size=A.shape)
        _put(state, leaf, np.linalg.inv(A + 0.05 * (noise @ noise.T)))
        assert state.bound() < best
    _put(state, leaf, A)
    assert state.bound() < best - 1


def _put(state: Variational, leaf: int, psi: np.ndarray) -> None:
    vertex = state.tree.leaves[leaf]
    state.covariance[leaf], state.variance[vertex] = psi, np.diag(psi)
    state.logdet[vertex] = np.linalg.slogdet(psi)[1]
    state.spread[:, leaf] = np.einsum("ij,jk,ik->i", state.X, psi, state.X)


@pytest.mark.parametrize("full", [True, False])
def test_sparse_documents_and_threads_change_nothing(full) -> None:
    state = state_of("M3", True, full, seed=1)
    thin = Variational(
        sparse.csr_array(state.X), state.Y, state.c, state.tree, state.precisions, True, full, ThreadEngine(2)
    )
    for _ in range(3):
        for each in (state, thin):
            each.settle(1e-12)
            each.move_precisions()
    np.testing.assert_allclose(thin.mean, state.mean, atol=1e-10)


def test_models_are_the_three_of_the_paper() -> None:
    assert {model for model, _ in CONVERGED} == set(MODELS)
