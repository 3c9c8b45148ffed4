"""The mode of the weights, against published optima and a generic optimiser."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize

from linnaeus.models.bayes.modes import BinaryLikelihood, SoftmaxLikelihood, find_mode
from tests.models.bayes.worked import ONES, TREE, X, Y, random_tree

SOFTMAX = [(0, 0), (0.546004, 0.261924), (1.324044, 0.195366), (0.313969, 0.590405), (-0.546004, -0.261924)]
BINARY = [
    (-0.24479046, -0.37147194),
    (0.23625572, -0.30309137),
    (1.04727891, -0.46924168),
    (-0.09372129, -0.06856050),
    (-0.97062709, -0.81132446),
]


@pytest.mark.parametrize(
    ("likelihood", "optimum", "weights"),
    [(SoftmaxLikelihood, 2.9188839769, SOFTMAX), (BinaryLikelihood, 6.5546682201, BINARY)],
)
def test_the_worked_example_has_its_known_optimum(likelihood, optimum, weights) -> None:
    found = find_mode(X, likelihood(Y, ONES), TREE, np.ones((5, 1)), np.zeros((3, 2)), 1e-13)
    assert found.objective == pytest.approx(optimum, abs=1e-9)
    np.testing.assert_allclose(found.weights, weights, atol=1e-6)


@pytest.mark.parametrize("per_feature", [False, True])
@pytest.mark.parametrize("likelihood", [SoftmaxLikelihood, BinaryLikelihood])
def test_a_generic_optimiser_finds_the_same(likelihood, per_feature) -> None:
    rng = np.random.default_rng(1)
    tree, data = random_tree(rng), rng.normal(size=(30, 3))
    labels = np.eye(tree.n_leaves)[rng.integers(tree.n_leaves, size=30)]
    c, rho = rng.uniform(0.5, 2, 30), rng.uniform(0.2, 3, (tree.n_vertices, 3 if per_feature else 1))
    rho[0] = 1
    losses = likelihood(labels, c)

    def objective(flat: np.ndarray) -> float:
        W = flat.reshape(tree.n_vertices, 3)
        above = np.vstack([np.zeros(3), W[tree.parent[1:]]])
        return 0.5 * float((rho * (W - above) ** 2).sum()) + losses.at(data @ W[tree.leaves].T)[0]

    expected = minimize(objective, np.zeros(3 * tree.n_vertices), method="BFGS", options={"gtol": 1e-7})
    found = find_mode(data, losses, tree, rho, np.zeros((tree.n_leaves, 3)), 1e-14)
    assert found.objective == pytest.approx(expected.fun, rel=1e-8)
    np.testing.assert_allclose(found.weights.ravel(), expected.x, atol=1e-5)
    again = find_mode(sparse.csr_array(data), losses, tree, rho, found.V, 1e-14)
    np.testing.assert_allclose(again.weights, found.weights, atol=1e-6)


def test_the_gap_bounds_what_is_left() -> None:
    losses = SoftmaxLikelihood(Y, ONES)
    best = find_mode(X, losses, TREE, np.ones((5, 1)), np.zeros((3, 2)), 1e-13).objective
    for steps in range(4):
        found = find_mode(X, losses, TREE, np.ones((5, 1)), np.zeros((3, 2)), 1e-13, max_steps=steps)
        assert best <= found.objective + 1e-12 <= best + found.gap + 1e-9


def test_features_of_extreme_size_raise_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (1e8, 1e10, 1e12):
            found = find_mode(size * X, SoftmaxLikelihood(Y, ONES), TREE, np.full((5, 1), 0.1), np.zeros((3, 2)), 1e-4)
            assert np.isfinite(found.objective)
            assert np.isfinite(found.weights).all()
