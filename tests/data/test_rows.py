"""Documents laid out for the kernels are the same documents."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.data.matrices import aligned_zeros, prepare_rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frequent_features_come_first_and_scores_stay(dtype) -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((20, 9), density=0.3, format="csr", rng=rng, dtype=dtype)
    rows = prepare_rows(X, bias=1.0)
    frequency = np.bincount(rows.indices[: rows.indptr[-1]], minlength=9)
    assert (np.diff(frequency) <= 0).all()
    np.testing.assert_allclose(rows.squared_norm, np.asarray(X.multiply(X).sum(axis=1)).ravel() + 1, rtol=1e-6)
    renamed = sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=X.shape)
    W = rng.normal(size=(10, 3)).astype(dtype)
    np.testing.assert_allclose(renamed @ W[:-1], X @ rows.to_features(W), rtol=1e-5, atol=1e-6)


def test_the_input_is_not_changed() -> None:
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    before = (X.data.copy(), X.indices.copy())
    prepare_rows(X, bias=0.0)
    assert (X.data == before[0]).all()
    assert (X.indices == before[1]).all()


def test_arrays_begin_on_a_cache_line() -> None:
    for shape in ((3, 16), (1, 16), (7,)):
        assert aligned_zeros(shape, np.float32).ctypes.data % 64 == 0
