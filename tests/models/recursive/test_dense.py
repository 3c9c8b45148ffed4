"""Dense leaves under a smooth loss: Newton's steps reach the optimum, the dual point costs nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.models.recursive.leaves import DenseLeaves, leaf_blocks
from linnaeus.models.solvers.cg import LOSSES
from tests.models.recursive.test_screened import N_COLUMNS


def block_of(loss: str, dtype: type = np.float64):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 6)).astype(dtype)
    Y = sparse.csc_array((rng.random((60, N_COLUMNS)) < 0.2).astype(np.int8))
    leaves = DenseLeaves(X, rng.uniform(0.5, 2, 60).astype(dtype), loss, 1.0)
    total, weight = rng.uniform(0.5, 3, N_COLUMNS).astype(dtype), rng.uniform(1, 2, N_COLUMNS).astype(dtype)
    (block,) = leaf_blocks(Y, total, weight)
    centre = np.zeros((7, 16), dtype)
    centre[:, :N_COLUMNS] = 0.3 * rng.normal(size=(7, N_COLUMNS))
    return leaves, leaves.begin(block), centre


@pytest.mark.parametrize("loss", LOSSES)
def test_visits_bring_the_leaves_to_their_optimum(loss) -> None:
    leaves, block, centre = block_of(loss)
    residual = []
    for sweep in range(8):
        leaves.measure(block, centre)
        residual.append(np.abs(block.dual_U - block.U).max())  # the gradient, in units of the links
        leaves.visit(block, centre, sweep)
    assert residual[-1] < 1e-6 < 1e-2 * residual[0]
    assert (block.U[:, N_COLUMNS:] == 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_measured_is_the_definition(loss) -> None:
    leaves, block, centre = block_of(loss)
    leaves.visit(block, centre, 0)
    block.U[:, :N_COLUMNS] += 0.1
    found = leaves.measure(block, centre)
    X = np.hstack([leaves.X, np.ones((60, 1))])
    Y = -np.ones((60, N_COLUMNS))
    Y[block.positives] = 1
    c = leaves.bound[:, None] * np.where(Y > 0, block.positive_weight, 1)
    T = Y * (X @ (centre + block.U)[:, :N_COLUMNS])
    Z = np.maximum(0, 1 - T)
    if loss == "logistic":
        alpha = c / (1 + np.exp(T))
        values, dual = (
            c * np.logaddexp(0, -T),
            c * np.log(c) - alpha * np.log(alpha) - (c - alpha) * np.log(c - alpha),
        )
    else:
        alpha = 2 * c * Z
        values, dual = c * Z**2, alpha - alpha**2 / (4 * c)
    V = X.T @ (alpha * Y) / block.total
    assert found.loss == pytest.approx(values.sum())
    assert found.dual == pytest.approx(dual.sum())
    assert found.norm == pytest.approx((block.total * (block.U[:, :N_COLUMNS] ** 2).sum(axis=0)).sum())
    assert found.dual_norm == pytest.approx((block.total * (V**2).sum(axis=0)).sum())
    assert found.pairs == pytest.approx(0, abs=1e-8 * found.loss)
    np.testing.assert_allclose(block.dual_U[:, :N_COLUMNS], V, atol=1e-10)


def test_a_block_goes_on_from_its_arrays() -> None:
    leaves, block, centre = block_of("logistic", np.float32)
    leaves.visit(block, centre, 0)
    resumed = leaves.resume(block, block.arrays())
    leaves.visit(block, centre, 1)
    leaves.visit(resumed, centre, 1)
    np.testing.assert_array_equal(resumed.U, block.U)
    assert block.U.dtype == np.float32
