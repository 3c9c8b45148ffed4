"""The common start is the best that all nodes can do with the same weights."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus.data.matrices import prepare_rows
from linnaeus.models.recursive.solver import shared_start
from tests.models.recursive.oracles import LOSSES, losses, optimum


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 6)) * (rng.random((50, 6)) < 0.6)
    X[3] = 0
    return X, rng.uniform(0.5, 2, 50), rng.integers(0, 4, 50).astype(float)


def value(w, X, bound, n_labels, n_leaves, loss) -> float:
    t = X @ w
    return 0.5 * w @ w + bound @ ((n_leaves - n_labels) * losses(-t, loss) + n_labels * losses(t, loss))


@pytest.mark.parametrize("bias", [0.0, 1.0])
@pytest.mark.parametrize("loss", LOSSES)
def test_the_start_is_nearly_the_optimum_of_shared_weights(loss, bias) -> None:
    X, bound, n_labels = problem()
    smooth = "logistic" if loss == "logistic" else "squared_hinge"
    found = shared_start(X, bound, n_labels, 3, loss, bias)
    assert found.shape == (7,)
    whole = np.hstack([X, np.full((50, 1), bias)])
    both, Y = np.vstack([whole, whole]), np.repeat([-1.0, 1.0], 50)[:, None]
    c = np.concatenate([bound * (3 - n_labels), bound * n_labels])[:, None]
    best, _ = optimum(np.ones((1, 1)), both, Y, c, smooth)
    assert best * (1 - 1e-9) <= value(found, whole, bound, n_labels, 3, smooth) <= 1.01 * best


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_rows_as_the_kernels_have_them_give_the_same_start(bias) -> None:
    X, bound, n_labels = problem()
    expected = shared_start(X, bound, n_labels, 7, "squared_hinge", bias)
    rows = prepare_rows(X, bias)
    np.testing.assert_allclose(shared_start(rows, bound, n_labels, 7, "hinge", bias), expected, atol=1e-10)
    rows = prepare_rows(sparse.csr_array(X), bias)
    found = shared_start(rows, bound, n_labels, 7, "hinge", bias)
    np.testing.assert_allclose(np.append(found[:-1][rows.rank], found[-1]), expected, atol=1e-10)


def test_documents_without_any_feature_are_legal() -> None:
    rows = prepare_rows(sparse.csr_array((4, 3), dtype=np.float32), 1.0)
    start = shared_start(rows, np.ones(4, np.float32), np.array([0.0, 1, 0, 0]), 5, "squared_hinge", 1.0)
    assert start.dtype == np.float32
    assert (start[:-1] == 0).all()
    assert start[-1] < 0
