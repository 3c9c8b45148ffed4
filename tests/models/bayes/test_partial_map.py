"""Rounds of partial MAP keep a time limit: a round that would not fit is not started."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus.models.bayes.stages import Round, maximise


class Hourglass:
    """A clock whose time is spent by the stage, not by the machine."""

    def __init__(self, seconds: float) -> None:
        self.remaining = seconds

    @property
    def over(self) -> bool:
        return self.remaining <= 0


class Precisions:
    def at_vertices(self) -> np.ndarray:
        return np.ones((2, 1))


class Stage:
    variance = covariance = None

    def __call__(self, rho, tol, clock) -> Round:
        clock.remaining -= 3.0
        return Round(np.ones((2, 1)), 1.0, 1.0, False)


@pytest.mark.parametrize(("seconds", "rounds"), [(1.0, 1), (5.0, 1), (6.5, 2), (100.0, 7)])
def test_no_round_is_started_that_takes_longer_than_the_time_left(seconds, rounds) -> None:
    found = maximise(Stage(), Precisions(), learn=False, tol=1e-9, max_iter=7, clock=Hourglass(seconds))
    assert found.n_iter == rounds
