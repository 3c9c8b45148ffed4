"""The last pass over all documents against its twin, and leaves that are given up; modes: tests/models/bayes."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from scipy import sparse

from linnaeus._kernels import dispatch, rare_leaves
from tests.kernels.twins import logistic_scan as reference

NAMES = ["rare_leaves", *(f"rare_leaves{suffix}" for suffix in dispatch.levels())]
each_variant = pytest.mark.parametrize("name", NAMES)


def problem(dtype, seed: int = 0, n: int = 1203, d: int = 90):
    rng = np.random.default_rng(seed)
    X = sparse.random(n, d, 0.1, format="csr", rng=rng, dtype=dtype)
    X.data += dtype(0.1)
    rows = np.array([0, 3, 3, 9, n - 1])
    columns = np.array([2, 0, 15, 2, 1])
    arrays = (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    return rng, X, arrays, rows, columns


@each_variant
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_and_information_equal_the_twin(name, dtype, weighted) -> None:
    kernel = importlib.import_module(f"{rare_leaves.__package__}.{name}")
    rng, X, arrays, rows, columns = problem(dtype)
    n, d = X.shape
    c = (rng.uniform(0.5, 2, n) if weighted else np.ones(n)).astype(dtype)
    W = rng.normal(scale=rng.uniform(0.1, 40, 16), size=(d, 16)).astype(dtype)
    inverse = (10 ** rng.uniform(-2, 6, 16)).astype(dtype)
    losses, information = np.zeros(16), np.ones((d, 16), dtype)
    kernel.describe(*arrays, arrays[2] ** 2, c, rows, columns, W, inverse, losses, information)
    signs = -np.ones((n, 16))
    signs[rows, columns] = 1
    expected = reference.describe(X.toarray(), signs, c.astype(np.float64), W, inverse)
    rough = dtype == np.float32
    np.testing.assert_allclose(losses, expected[0], rtol=1e-5 if rough else 1e-12)
    np.testing.assert_allclose(information, expected[1], rtol=2e-4 if rough else 1e-9, atol=1e-12)


@each_variant
def test_leaves_with_too_many_candidates_are_given_up(name) -> None:
    kernel = importlib.import_module(f"{rare_leaves.__package__}.{name}")
    _, X, arrays, rows, columns = problem(np.float64)
    d = X.shape[1]
    prior, before, distance, response = np.full(16, 1e-3), np.zeros(16), np.zeros(16), np.zeros(16)
    for most, expected in ((5000, 1), (20, 2)):
        W, status = np.zeros((d, 16)), np.zeros(16, np.uint8)
        kernel.solve(
            *arrays, np.ones(X.shape[0]), rows, columns, np.zeros((d, 16)), prior, before, 3, 1e-3,
            np.array([20, 300, 4, most]), W, np.empty((d, 16)), distance, response, status,
        )  # fmt: skip
        assert (status[:3] == expected).all()
        assert (W[:, 3:] == 0).all()
