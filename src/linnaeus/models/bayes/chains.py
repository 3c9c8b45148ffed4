"""Have chains of samples forgotten where they began, and how many independent draws are they worth?

    R-hat   chains cut in halves; sqrt of (pooled variance / variance within), 1 where all agree
    ESS     draws / (1 + 2 sum of autocorrelations), summed in pairs while these are positive (Geyer)

A. Gelman et al., "Bayesian Data Analysis", 3rd edition, section 11.
"""

from __future__ import annotations

import numpy as np

from linnaeus.typing import FloatArray

__all__ = ["effective_sample_size", "split_r_hat"]


def split_r_hat(draws: FloatArray) -> FloatArray:
    """R-hat of every quantity; ``draws`` is n_chains x n_draws x n_quantities.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> draws = rng.normal(size=(4, 500, 1))
    >>> bool(split_r_hat(draws)[0] < 1.02), bool(split_r_hat(draws + np.arange(4)[:, None, None])[0] > 1.3)
    (True, True)
    """
    halves = _halves(draws)
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = n * halves.mean(axis=1).var(axis=0, ddof=1)
    pooled = (n - 1) / n * within + between / n
    return np.sqrt(pooled / np.maximum(within, np.finfo(float).tiny))


def effective_sample_size(draws: FloatArray) -> FloatArray:
    """How many independent draws all chains together are worth, for every quantity.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> bool(1500 < effective_sample_size(rng.normal(size=(4, 500, 1)))[0] < 2600)
    True
    """
    halves = _halves(draws)
    m, n, _ = halves.shape
    centred = halves - halves.mean(axis=1, keepdims=True)
    size = 1 << (2 * n - 1).bit_length()
    spectrum = np.fft.rfft(centred, size, axis=1)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, size, axis=1)[:, :n] / n
    within = covariance[:, 0].mean(axis=0) * n / (n - 1)
    pooled = within * (n - 1) / n + halves.mean(axis=1).var(axis=0, ddof=1)
    rho = 1 - (within - covariance.mean(axis=0)) / np.maximum(pooled, np.finfo(float).tiny)
    pairs = rho[: n // 2 * 2].reshape(n // 2, 2, -1).sum(axis=1)
    pairs = np.minimum.accumulate(np.where(np.minimum.accumulate(pairs > 0, axis=0), pairs, 0), axis=0)
    return m * n / np.maximum(2 * pairs.sum(axis=0) - 1, 1 / np.log10(m * n))


def _halves(draws: FloatArray) -> FloatArray:
    n = draws.shape[1] // 2
    return np.concatenate([draws[:, :n], draws[:, -n:]]).astype(np.float64)
