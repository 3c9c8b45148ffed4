"""Hamiltonian Monte Carlo with a diagonal mass: long moves through many dimensions at once, exact in the limit.

    H(q, p) = U(q) + 1/2 sum p^2 / mass,      p ~ N(0, mass),   leapfrog steps,   accepted with min(1, e^{H - H'})

The step is adapted by dual averaging (M. Hoffman and A. Gelman, JMLR 2014) towards a wanted acceptance while a chain
burns in, then frozen; each move shakes it by a fifth, for no number of steps returns to where it began.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linnaeus.typing import FloatArray

__all__ = ["Step", "move"]


@dataclass
class Step:
    """A step size that learns: ``heard`` after every move while burning in, then ``frozen``."""

    size: float = 0.1
    wanted: float = 0.75

    def __post_init__(self) -> None:
        self.aim, self.mean, self.smooth, self.n = np.log(10 * self.size), 0.0, np.log(self.size), 0

    def heard(self, acceptance: float) -> None:
        self.n += 1
        rate = 1 / (self.n + 10)
        self.mean = (1 - rate) * self.mean + rate * (self.wanted - acceptance)
        now = self.aim - np.sqrt(self.n) / 0.05 * self.mean
        share = self.n**-0.75
        self.smooth = share * now + (1 - share) * self.smooth
        self.size = float(np.exp(now))

    def freeze(self) -> None:
        self.size = float(np.exp(self.smooth))


def move(
    energy: Callable[[FloatArray], tuple[float, FloatArray]],
    q: FloatArray,
    at: tuple[float, FloatArray],
    mass: FloatArray,
    size: float,
    n_steps: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, tuple[float, FloatArray], float]:
    """(next point, its energy and gradient, probability of acceptance) from q with ``at`` = energy(q)."""
    size = size * rng.uniform(0.8, 1.2)
    p = rng.standard_normal(q.shape) * np.sqrt(mass)
    value, gradient = at
    start = value + 0.5 * float((p**2 / mass).sum())
    new = q.copy()
    with np.errstate(over="ignore", invalid="ignore"):  # a step that is too long diverges beyond every number
        for _ in range(n_steps):
            p = p - 0.5 * size * gradient
            new = new + size * p / mass
            value, gradient = energy(new)
            p = p - 0.5 * size * gradient
            if not np.isfinite(value) or value - start > 1000:  # diverged: refused
                return q, at, 0.0
        total = value + 0.5 * float((p**2 / mass).sum())
    chance = float(np.exp(min(0.0, start - total))) if np.isfinite(total) else 0.0
    if rng.random() < chance:
        return new, (value, gradient), chance
    return q, at, chance
