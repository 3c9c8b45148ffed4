"""Footprints have the sizes of the arrays that the solvers make; that they sum up to the peak is measured elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.models.solvers.dual_cd import binary_footprint, prepare_training


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_blocks_have_the_width_that_the_solver_takes(loss, dtype, make) -> None:
    X = make(np.random.default_rng(0).random((300, 40)).astype(dtype))
    training = prepare_training(X, np.ones(300), loss=loss, bias=1.0, tol=0.1, max_iter=1)
    found = binary_footprint(X, loss)
    assert found.columns == training.block_size
    assert found.result == training.block_size * 40 * np.dtype(dtype).itemsize
    assert found.panels > found.result


def test_rows_are_as_large_as_forecast() -> None:
    X = sparse.random_array((2000, 500), density=0.05, format="csr", dtype=np.float32, rng=0)
    rows = prepare_training(X, np.ones(2000), loss="hinge", bias=1.0, tol=0.1, max_iter=1).documents
    arrays = (rows.indptr, rows.indices, rows.data, rows.squared_norm, rows.rank)
    assert binary_footprint(X, "hinge").rows == pytest.approx(sum(array.nbytes for array in arrays), rel=0.1)
