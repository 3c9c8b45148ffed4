from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.models.topdown import rls
from linnaeus.models.topdown.rls import solve_features, solve_gram


def problem(n_docs: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n_docs, n_features)) * (rng.random((n_docs, n_features)) < 0.5)
    return Z, np.sign(rng.normal(size=(n_docs, 3)))


def by_definition(Z: np.ndarray, R: np.ndarray) -> np.ndarray:
    return np.linalg.solve(np.eye(Z.shape[1]) + Z.T @ Z, Z.T @ R)


def objective(Z: np.ndarray, R: np.ndarray, W: np.ndarray) -> float:
    return 0.5 * float((W**2).sum() + ((R - Z @ W) ** 2).sum())


@pytest.mark.parametrize("direct", [1000, 1])
@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_every_way_leads_to_the_same_weights(kind, shape, direct, monkeypatch) -> None:
    monkeypatch.setattr(rls, "DIRECT", direct)
    Z, R = problem(*shape)
    found = solve_features(kind(Z), R, tol=1e-12, max_iter=500)
    np.testing.assert_allclose(found.weights, by_definition(Z, R), atol=1e-5)
    assert found.objective == pytest.approx(objective(Z, R, by_definition(Z, R)), rel=1e-8)
    assert found.converged


def test_coefficients_of_documents_give_the_same_weights() -> None:
    Z, R = problem(8, 20)
    found = solve_gram(Z @ Z.T, R)
    np.testing.assert_allclose(Z.T @ found.weights, by_definition(Z, R), atol=1e-9)
    assert found.objective == pytest.approx(objective(Z, R, by_definition(Z, R)))


def test_the_gap_of_an_early_stop_bounds_the_distance_from_the_optimum(monkeypatch) -> None:
    monkeypatch.setattr(rls, "DIRECT", 1)
    Z, R = problem(40, 12)
    best = objective(Z, R, by_definition(Z, R))
    for steps in range(1, 8):
        found = solve_features(Z, R, tol=1e-14, max_iter=steps)
        assert 0 <= found.objective - best <= found.gap
        assert not found.converged


def test_roots_give_leverages_on_both_sides() -> None:
    Z, R = problem(6, 9)
    x = np.random.default_rng(5).normal(size=9)
    expected = x @ np.linalg.solve(np.eye(9) + Z.T @ Z, x)
    features = solve_features(Z, R, tol=1, max_iter=1, root=True)
    assert ((x @ features.root) ** 2).sum() == pytest.approx(expected)
    documents = solve_gram(Z @ Z.T, R, root=True)
    assert x @ x - (((Z @ x) @ documents.root) ** 2).sum() == pytest.approx(expected)


def test_documents_that_hide_the_regulariser_are_solved_all_the_same() -> None:
    G = np.full((4, 4), 1e38)  # equal documents of large values: G + I is not positive definite after rounding
    found = solve_gram(G, np.array([[1.0], [1.0], [-1.0], [1.0]]))
    assert np.isfinite(found.objective)
    assert np.isfinite(found.gap)
