"""Losses of blocks of pairs against their formulas, pair by pair, and their derivatives against differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from linnaeus.models.gpu.columns import LossPairs

LOSS = {"squared_hinge": lambda m: max(0.0, 1 - m) ** 2, "logistic": lambda m: float(np.log1p(np.exp(-m)))}


@pytest.mark.parametrize("loss", LOSS)
def test_values_and_derivatives(loss) -> None:
    rng = np.random.default_rng(0)
    S, cost = rng.normal(0, 1.5, (6, 4)), rng.uniform(0.5, 2, 6)
    rows, columns, positive = np.array([0, 2, 5]), np.array([1, 1, 3]), np.array([3.0, 0.7, 1.2])
    sign, weight = -np.ones((6, 4)), np.repeat(cost[:, None], 4, axis=1)
    sign[rows, columns], weight[rows, columns] = 1, positive
    pairs = LossPairs(loss, *(torch.as_tensor(x) for x in (cost[:, None], rows, columns, positive)))

    def value(scores: np.ndarray) -> np.ndarray:
        return weight * np.vectorize(LOSS[loss])(sign * scores)

    np.testing.assert_allclose(pairs.value(torch.as_tensor(S)), value(S).sum(axis=0))
    R, D = pairs.derivatives(torch.as_tensor(S))
    h = 1e-4
    np.testing.assert_allclose(R, (value(S + h) - value(S - h)) / (2 * h), atol=1e-5)
    np.testing.assert_allclose(D, (value(S + h) - 2 * value(S) + value(S - h)) / h**2, atol=1e-5)
