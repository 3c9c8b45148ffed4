"""Hamiltonian moves: trajectories that diverge are refused without a warning."""

from __future__ import annotations

import warnings

import numpy as np

from linnaeus.models.bayes.corr_mnl import move


def test_a_trajectory_that_overflows_is_refused_silently() -> None:
    def energy(q: np.ndarray) -> tuple[float, np.ndarray]:
        return float((q**4).sum()), 4 * q**3

    rng, start = np.random.default_rng(0), np.full(3, 10.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (0.1, 1e3, 1e100):
            found, at, chance = move(energy, start, energy(start), np.ones(3), size, 10, rng)
            np.testing.assert_array_equal(found, start)
            assert (at[0], chance) == (energy(start)[0], 0.0)
