"""The best nodes of documents on a device, against sorting all scores; ties go to the lower column."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus import RRSVM
from linnaeus.engine import GPUEngine
from linnaeus.models.gpu.top import DeviceScorer
from tests.models.gpu.worked import CPU, problem, random_csr

X, RNG = random_csr(30, 12), np.random.default_rng(2)
W = RNG.integers(-2, 3, (12, 50)).astype(np.float32)  # whole numbers: scores tie
B = RNG.integers(-1, 2, 50).astype(np.float32)
X.data[:] = 1


@pytest.mark.parametrize("memory", [None, 1000, 600])
@pytest.mark.parametrize("k", [1, 5, 50, 80])
def test_top_is_a_stable_sort(k, memory) -> None:
    scorer = DeviceScorer(W, None, B, GPUEngine("cpu", memory=memory))
    assert (scorer.width < 50) == (memory is not None)  # columns are sent again for every batch
    S = X @ W + B
    columns, scores = scorer.top(X, k)
    order = np.argsort(-S, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(scores, np.take_along_axis(S, order, axis=1))
    np.testing.assert_array_equal(columns, order)


def test_scores_with_base_weights_and_sparse_weights() -> None:
    base = RNG.standard_normal(12).astype(np.float32)
    few = np.where(RNG.random(W.shape) < 0.2, W, 0)
    for weights in (few, sparse.csr_array(few)):
        for memory in (None, 900):
            found = DeviceScorer(weights, base, B, GPUEngine("cpu", memory=memory)).scores(X)
            np.testing.assert_allclose(found, X @ (few + base[:, None]) + B, rtol=1e-4, atol=1e-5)


def test_a_model_scores_and_ranks_on_its_device() -> None:
    tax, X, Y = problem()
    model = RRSVM(tax, engine=CPU).fit(X, Y)
    names, scores = model.top(X, k=3)
    assert model._on_device is not None
    model.engine = None
    others, same = model.top(X, k=3)
    np.testing.assert_allclose(scores, same, rtol=1e-4, atol=1e-5)
    assert (names == others).mean() > 0.99
