"""Calibrated scores are probabilities: right on average, and near their frequency where a node has few documents."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from benchmarks.accuracy.platt import fit_platt


def scored(n: int = 3000, seed: int = 0) -> tuple:
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, -2.0]
    odds = np.column_stack([2 * S[:, 0] - 1, 0.3 * (S[:, 1] - 5) - 2, np.full(n, -3.0)])
    return S, rng.random((n, 3)) < 1 / (1 + np.exp(-odds))


def test_the_curve_is_that_of_logistic_regression() -> None:
    S, truth = scored()
    found = fit_platt(S, truth)
    for k in (0, 1):
        one = LogisticRegression(C=1e6).fit(S[:, [k]], truth[:, k])
        assert found.slope[k] == pytest.approx(one.coef_[0, 0], rel=0.02)
        assert found(S)[:, k].mean() == pytest.approx(truth[:, k].mean(), abs=2e-3)


def test_a_node_without_documents_stays_near_nothing_whatever_its_scores() -> None:
    S, _ = scored(200)
    P = fit_platt(S, np.zeros(S.shape, dtype=bool))(S)
    assert P.max() < 0.02


def test_better_scores_never_make_a_node_less_likely() -> None:
    S, truth = scored(500)
    found = fit_platt(S, ~truth & (S < np.median(S, axis=0)))
    assert (found.slope >= 0).all()
