"""R-hat and effective sample size on chains whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.models.bayes.corr_mnl import effective_sample_size, split_r_hat


def walk(correlation: float, n_draws: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x = np.empty(n_draws)
    x[0] = rng.normal()
    for t in range(1, n_draws):
        x[t] = correlation * x[t - 1] + np.sqrt(1 - correlation**2) * rng.normal()
    return x


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_autocorrelated_draws_are_worth_less(correlation) -> None:
    """n (1 - r) / (1 + r) for a first-order process."""
    draws = np.stack([walk(correlation, 4000, seed) for seed in range(4)])[:, :, None]
    expected = 16_000 * (1 - correlation) / (1 + correlation)
    assert effective_sample_size(draws)[0] == pytest.approx(expected, rel=0.2)
    assert split_r_hat(draws)[0] < 1.02


def test_a_drift_within_a_chain_is_seen() -> None:
    draws = np.random.default_rng(0).normal(size=(1, 1000, 1)) + np.linspace(0, 3, 1000)[None, :, None]
    assert split_r_hat(draws)[0] > 1.2
