"""Anderson's acceleration of a fixed-point iteration x <- F(x): the next point mixes the last few.

With residuals f_k = F(x_k) - x_k, the mixture is the one whose residual, if F were linear, would be least:

    min over gamma |f_k - D gamma|,      x_{k+1} = F(x_k) - (E + D) gamma,      D, E: differences of f and of x
"""

from __future__ import annotations

import numpy as np

from linnaeus.typing import FloatArray

__all__ = ["Anderson"]


class Anderson:
    """Feed it x and F(x), it answers where to look next; steps are never longer than ``most`` in any coordinate.

    Examples
    --------
    >>> mix, x = Anderson(), np.array([0.0, 0.0])
    >>> for _ in range(5):
    ...     x = mix(x, np.array([0.9 * x[0] + 0.1, 0.5 * x[1] - 1]))
    >>> x.round(6).tolist()
    [1.0, -2.0]
    """

    def __init__(self, memory: int = 6, most: float = 2.0) -> None:
        self.memory, self.most = memory, most
        self.points: list[FloatArray] = []
        self.residuals: list[FloatArray] = []

    def __call__(self, x: FloatArray, image: FloatArray) -> FloatArray:
        residual = (image - x).ravel()
        if self.residuals and np.linalg.norm(residual) > 2 * np.linalg.norm(self.residuals[-1]):
            self.points, self.residuals = [], []  # too bold: begin anew
        self.points.append(x.ravel().copy())
        self.residuals.append(residual)
        del self.points[: -self.memory], self.residuals[: -self.memory]
        step = residual
        if len(self.points) > 1:
            E, D = (np.diff(np.array(A), axis=0).T for A in (self.points, self.residuals))
            gamma = np.linalg.lstsq(D, residual, rcond=1e-8)[0]
            step = residual - (E + D) @ gamma
        return x + np.clip(step, -self.most, self.most).reshape(x.shape)
