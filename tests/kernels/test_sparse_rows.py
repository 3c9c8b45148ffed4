from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus._kernels import dispatch
from tests.kernels.twins import margin as reference_margin


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_are_read_and_added_as_their_twins_do(dtype) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((6, 9), density=0.3, rng=rng, dtype=np.float32, format="csr")
    X = sparse.vstack([X, sparse.csr_array((1, 9), dtype=np.float32)], format="csr")
    arrays = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    rows = np.array([6, 2, 0, 2])
    W = rng.normal(size=(9, 20)).astype(dtype)
    fast, slow = np.ones((4, 20), dtype), np.zeros((4, 20), dtype)
    kernel = dispatch.best("sparse_rows")
    kernel.times(*arrays, rows, W, fast)
    reference_margin.times(*arrays, rows, W, slow)
    np.testing.assert_allclose(fast, slow, rtol=1e-5, atol=1e-6)
    assert not fast[0].any()
    V = W.copy()
    kernel.add_to(*arrays, rows, slow, V, 4, 12)
    reference_margin.add_to(*arrays, rows, slow, W, 4, 12)
    np.testing.assert_allclose(V, W, rtol=1e-5, atol=1e-6)


def test_wrong_types_are_refused() -> None:
    arrays = np.zeros(2, np.int64), np.zeros(1, np.int32), np.zeros(1, np.float32)
    with pytest.raises((TypeError, ValueError)):
        dispatch.best("sparse_rows").times(*arrays, np.zeros(1, np.int64), np.zeros((1, 4), np.int64), np.zeros((1, 4)))
