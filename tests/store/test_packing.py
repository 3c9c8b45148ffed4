"""Narrow arrays say exactly what wide ones said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus.store.folder import pack, unpack


@settings(max_examples=80)
@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(0, 6),
    n_columns=st.sampled_from([1, 5, 300, 2**16, 2**16 + 1]),
    density=st.sampled_from([0.0, 0.001, 0.5]),
    dtype=st.sampled_from(["float32", "float64", "int8"]),
    half=st.booleans(),
)
def test_packing_loses_nothing(seed, n_rows, n_columns, density, dtype, half) -> None:
    rng = np.random.default_rng(seed)
    nnz = int(density * n_rows * min(n_columns, 1000))
    places = rng.integers(0, max(1, n_rows), nnz), rng.integers(0, n_columns, nnz)
    values = rng.normal(size=nnz) * 100
    values = values.astype(np.float16).astype(float) if half else values
    matrix = sparse.csr_array(sparse.csr_array((values, places), shape=(n_rows, n_columns)).astype(dtype))
    packed = pack(matrix)
    again = unpack(packed, dtype, matrix.shape)
    assert again.dtype == matrix.dtype
    assert again.indices.dtype == np.int32
    np.testing.assert_array_equal(again.data, matrix.data)
    np.testing.assert_array_equal(again.indices, matrix.indices)
    np.testing.assert_array_equal(again.indptr, matrix.indptr)


def test_values_of_half_precision_take_half_the_bytes() -> None:
    data = np.array([[0.5, 0.25], [3.0, 0.0]], np.float32)
    assert pack(sparse.csr_array(data))["data"].dtype == np.float16
    data[0, 0] = 0.1
    assert pack(sparse.csr_array(data))["data"].dtype == np.float32
    data[0, 0] = 1e30
    assert pack(sparse.csr_array(data))["data"].dtype == np.float32


@pytest.mark.parametrize(("longest", "kind"), [(255, np.uint8), (256, np.uint16), (70_000, np.int32)])
def test_lengths_of_rows_are_as_narrow_as_they_can_be(longest, kind) -> None:
    matrix = sparse.csr_array(np.ones((1, longest), np.float32))
    assert pack(matrix)["lengths"].dtype == kind
    assert unpack(pack(matrix), "float32", matrix.shape).nnz == longest


def test_very_large_matrices_stay_as_they_are(monkeypatch) -> None:
    monkeypatch.setattr("linnaeus.store.folder.MAX_PACKED", 1)
    matrix = sparse.csr_array(np.eye(3, dtype=np.float32))
    packed = pack(matrix)
    assert packed["data"] is matrix.data
    again = unpack(packed, "float32", matrix.shape)
    assert np.shares_memory(again.data, matrix.data)
    assert np.shares_memory(again.indices, matrix.indices)
