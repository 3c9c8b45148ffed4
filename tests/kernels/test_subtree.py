"""The compiled split along a tree is that of its readable twin."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus._kernels import subtree
from tests.kernels.twins import subtree as reference


def problem(seed: int, n_features: int, n_vertices: int, n_labels: int, dtype: type) -> tuple:
    """Quarters, which every order of subtraction leaves exact; every vertex has a child."""
    rng = np.random.default_rng(seed)
    above = [-1, *(rng.integers(0, v) for v in range(1, n_vertices))]
    parent = np.array([*above, *range(n_vertices), *rng.integers(0, n_vertices, n_labels)], np.int32)
    W = rng.integers(-3, 4, (n_features, n_vertices + n_labels)) / 4 + rng.integers(-2, 3, (n_features, 1))
    W[rng.random(W.shape) < 0.2] = 0
    children = np.argsort(parent, kind="stable")[1:].astype(np.int32)
    indptr = np.searchsorted(parent[children], np.arange(n_vertices + 1)).astype(np.int64)
    return W.astype(dtype), parent, indptr, children


@settings(max_examples=120)
@given(
    seed=st.integers(0, 10_000),
    n_features=st.integers(1, 5),
    n_vertices=st.integers(1, 9),
    n_labels=st.integers(0, 60),
    threshold=st.sampled_from([0.0, 0.25, 0.3, 1.0]),
    worth=st.integers(1, 8),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_the_kernel_does_what_its_twin_does(seed, n_features, n_vertices, n_labels, threshold, worth, dtype) -> None:
    W, parent, indptr, children = problem(seed, n_features, n_vertices, n_labels, dtype)
    found = []
    for module in (subtree, reference):
        out = np.zeros(n_features + 1, np.int64), np.zeros(W.size, np.int32), np.zeros(W.size, dtype)
        tops, buffers = np.zeros(n_features, dtype), np.empty((3, len(parent)), dtype)
        straight = module.split(W, parent, indptr, children, threshold, worth, buffers, tops, *out)
        found.append((straight, tops, *out))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("n", [1, 2, 13, 14, 15, 40, 1001])
def test_the_top_takes_the_middle_of_all_labels(n) -> None:
    for seed in range(5):
        W = np.random.default_rng(seed).normal(size=(1, n)) + 10
        parent = np.array([-1, *[0] * n], np.int32)
        edges = np.array([0, n], np.int64), np.arange(1, n + 1, dtype=np.int32)
        tops, out = np.zeros(1), (np.zeros(2, np.int64), np.zeros(n, np.int32), np.zeros(n))
        subtree.split(W, parent, *edges, 5.0, 1, np.empty((3, n + 1)), tops, *out)
        assert tops[0] == np.sort(W[0])[n // 2]
        assert out[0][-1] == 0
