"""The compiled scores and best nodes are those of the readable twin, for every instruction set of this machine."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus._kernels import dispatch, sparse_top
from tests.kernels.twins import sparse_top as reference

LEVELS = dispatch.levels()
VARIANTS = [sparse_top, *(importlib.import_module(f"linnaeus._kernels.sparse_top{suffix}") for suffix in LEVELS)]


def problem(
    seed: int, n_docs: int, n_features: int, n_nodes: int, dtype: type, narrow: bool, n_vertices: int = 0
) -> dict:
    """Small whole numbers, so that every order of summation gives the same; ties abound, rows may be empty."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.integers(-2, 3, (n_docs, n_features)) * (rng.random((n_docs, n_features)) < 0.4))
    shape = (n_features, n_vertices + n_nodes)
    W = rng.integers(-3, 4, shape) * (rng.random(shape) < 0.4)
    above = [-1, *(rng.integers(0, v) for v in range(1, n_vertices)), *rng.integers(0, max(1, n_vertices), n_nodes)]
    is_dense = rng.random(n_features) < 0.3
    U = sparse.csr_array(np.where(is_dense[:, None], 0, W))
    return {
        "x_indptr": X.indptr.astype(np.int64),
        "x_indices": np.append(X.indices, 0).astype(np.int32),
        "x_data": np.append(X.data, 0).astype(dtype),
        "place": np.where(is_dense, np.cumsum(is_dense) - 1, -1).astype(np.int32),
        "w_indptr": U.indptr.astype(np.int64),
        "w_indices": np.append(U.indices, 0).astype(np.uint16 if narrow else np.int32),
        "w_data": np.append(U.data, 0).astype(dtype),
        "dense": np.vstack([W[is_dense], np.zeros((1, shape[1]))]).astype(dtype),
        "base": rng.integers(-2, 3, n_features).astype(dtype),
        "intercept": rng.integers(-1, 2, n_nodes).astype(dtype),
        "parent": np.array(above if n_vertices else [], np.int32),
        "levels": np.array([*range(1, n_vertices + 1), shape[1]] if n_vertices else [0], np.int32),
        "buffer": np.full(shape[1], np.nan, dtype),
    }


@pytest.mark.parametrize("kernel", VARIANTS, ids=["baseline", *LEVELS])
@settings(max_examples=60)
@given(
    seed=st.integers(0, 10_000),
    n_docs=st.integers(1, 6),
    n_features=st.integers(1, 12),
    n_nodes=st.sampled_from([1, 2, 63, 64, 65, 200]),
    k=st.integers(1, 8),
    dtype=st.sampled_from([np.float32, np.float64]),
    narrow=st.booleans(),
    n_vertices=st.integers(0, 9),
)
def test_the_kernel_does_what_its_twin_does(
    kernel, seed, n_docs, n_features, n_nodes, k, dtype, narrow, n_vertices
) -> None:
    p = problem(seed, n_docs, n_features, n_nodes, dtype, narrow, n_vertices)
    k = min(k, n_nodes)
    found = []
    for module in (kernel, reference):
        S = np.zeros((n_docs, n_nodes), dtype)
        columns, values = np.zeros((n_docs, k), np.int32), np.zeros((n_docs, k), dtype)
        module.scores(**p, S=S)
        module.top(**p, columns=columns, values=values)
        found.append((S, columns, values))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)
