"""Newton's method finds the optimum that coordinate descent finds, and certifies it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.data.matrices import prepare_rows
from linnaeus.models.solvers.cg import LOSSES, principal_axes, solve_dense_block
from linnaeus.models.solvers.dual_cd import solve_block


def block(n_docs: int = 60, n_features: int = 8, n_columns: int = 5, dtype: type = np.float64):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_docs, n_features)).astype(dtype)
    Y = sparse.csr_array((X @ rng.normal(size=(n_features, n_columns)) > 1).astype(np.int8))
    return X, Y, rng.uniform(0.5, 2, n_docs).astype(dtype)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_both_solvers_reach_the_same_optimum(loss, bias) -> None:
    X, Y, bound = block()
    newton = solve_dense_block(X, Y, bound, loss=loss, bias=bias, tol=1e-10, max_iter=1000)
    descent = solve_block(prepare_rows(X, bias), Y, bound, loss=loss, tol=1e-10, max_iter=100000, seed=0)
    assert newton.converged
    np.testing.assert_allclose(newton.objective, descent.objective, rtol=1e-8)
    np.testing.assert_allclose(newton.weights, descent.weights, atol=1e-4)
    np.testing.assert_allclose(newton.intercept, descent.intercept, atol=1e-4)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_gap_bounds_the_distance_from_the_optimum(loss) -> None:
    X, Y, bound = block()
    best = solve_dense_block(X, Y, bound, loss=loss, bias=0.0, tol=1e-12, max_iter=1000).objective
    for products in (1, 2, 3, 5, 8):
        found = solve_dense_block(X, Y, bound, loss=loss, bias=0.0, tol=1e-12, max_iter=products)
        assert (found.objective - found.gap <= best * (1 + 1e-12)).all()
        assert (found.gap <= found.objective).all()


def test_single_precision_stops_where_rounding_does() -> None:
    X, Y, bound = block(dtype=np.float32)
    found = solve_dense_block(X, Y, bound, loss="logistic", bias=1.0, tol=1e-4, max_iter=1000)
    assert found.converged
    assert found.weights.dtype == np.float32
    hopeless = solve_dense_block(X, Y, bound, loss="logistic", bias=1.0, tol=1e-30, max_iter=1000)
    assert not hopeless.converged
    np.testing.assert_allclose(hopeless.objective, found.objective, rtol=1e-3)


def test_a_column_does_not_depend_on_its_block() -> None:
    X, Y, bound = block()
    together = solve_dense_block(X, Y, bound, loss="logistic", bias=1.0, tol=1e-8, max_iter=1000)
    alone = solve_dense_block(X, Y[:, [2]], bound, loss="logistic", bias=1.0, tol=1e-8, max_iter=1000)
    np.testing.assert_allclose(together.weights[:, 2], alone.weights[:, 0], atol=1e-6)


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_principal_axes_give_the_same_optimum_with_fewer_products(loss, bias) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 30)) * np.geomspace(1, 30, 30)  # a steep spectrum
    X = X @ np.linalg.qr(rng.normal(size=(30, 30)))[0]
    Y = sparse.csr_array((X @ rng.normal(size=(30, 7)) > 40).astype(np.int8))
    bound, weight = rng.uniform(0.5, 2, 200), rng.uniform(1, 3, 7)
    usual = {"loss": loss, "bias": bias, "tol": 1e-9, "max_iter": 5000, "positive_weight": weight}
    plain = solve_dense_block(X, Y, bound, **usual)
    along = solve_dense_block(X, Y, bound, along=principal_axes(X, bound, bias), **usual)
    assert plain.converged
    assert along.converged
    np.testing.assert_allclose(along.objective, plain.objective, rtol=1e-8)
    np.testing.assert_allclose(along.weights, plain.weights, atol=1e-4)
    np.testing.assert_allclose(along.intercept, plain.intercept, atol=1e-4)
    assert along.n_iter < 0.7 * plain.n_iter


def test_axes_need_more_documents_than_features() -> None:
    assert principal_axes(np.zeros((3, 4)), np.ones(3), 1.0) is None
