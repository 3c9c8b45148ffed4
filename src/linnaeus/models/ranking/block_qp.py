"""A concave quadratic over a simplex, exactly: the problem of the few pairs of one document.

    max_b  c'b - 1/2 b'Qb        b >= 0,  sum b <= C

Q (m x m) is positive semi-definite and often singular. A null pair with c = 0 and a row of zeros in Q takes what is
left of C, so that sum b = C. Active set method: on the support, go to the optimum over sum d = 0 (or along a direction
of no curvature), as far as no b becomes negative, and drop what became 0; then let in the pair of largest gradient.
"""

from __future__ import annotations

import numpy as np

from linnaeus.typing import FloatArray, IntArray

__all__ = ["solve_block"]


def solve_block(Q: FloatArray, c: FloatArray, C: float, start: FloatArray | None = None) -> FloatArray:
    """The b of the module docstring (m), from a feasible start.

    Examples
    --------
    >>> solve_block(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([1.0, 0.5]), 10.0).round(12).tolist()
    [0.5, 0.5]
    >>> solve_block(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([1.0, 0.5]), 0.5).round(12).tolist()
    [0.333333333333, 0.166666666667]
    """
    m = len(c)
    Q = np.pad(np.asarray(Q, dtype=np.float64), ((0, 1), (0, 1)))
    c = np.append(np.asarray(c, dtype=np.float64), 0.0)
    b = np.zeros(m + 1)
    if start is not None:
        b[:m] = start
    b[m] = max(C - b[:m].sum(), 0.0)
    tau = 1e-10 * max(1.0, float(np.abs(c).max()))
    support: IntArray = np.flatnonzero(b > 0)
    for _ in range(50 * (m + 1)):
        support = _settle(Q, c, b, support, tau)
        g = c - Q @ b
        best = int(np.argmax(g))
        if not len(support) or g[best] - g[support].min() <= tau:
            break
        support = np.union1d(support, [best])
    return b[:m]


def _settle(Q: FloatArray, c: FloatArray, b: FloatArray, support: IntArray, tau: float) -> IntArray:
    """Move b to the optimum over its support, in place; the support that is left."""
    while len(support) > 1:
        g = (c - Q @ b)[support]
        d, newton = _direction(Q[np.ix_(support, support)], g - g.mean())
        if not d.any():
            break
        falls = d < 0
        ratios = np.full(len(d), np.inf)
        ratios[falls] = -b[support][falls] / d[falls]
        step = float(ratios.min())
        if newton and step >= 1.0:
            b[support] += d
            break
        if not np.isfinite(step):
            break
        b[support] = np.maximum(b[support] + step * d, 0.0)
        b[support[int(np.argmin(ratios))]] = 0.0
        support = support[b[support] > 0]
    return support


def _direction(Q: FloatArray, g: FloatArray) -> tuple[FloatArray, bool]:
    """The Newton step within sum d = 0, or a direction of ascent without curvature where there is one."""
    m = len(g)
    P = np.eye(m) - 1.0 / m
    values, vectors = np.linalg.eigh(P @ Q @ P)
    flat = values <= 1e-12 * max(float(values[-1]), 1e-300)
    along = vectors.T @ g
    ray = P @ (vectors[:, flat] @ along[flat])
    if np.abs(ray).max() > 1e-9 * max(1.0, float(np.abs(g).max())):
        return ray, False
    return P @ (vectors[:, ~flat] @ (along[~flat] / values[~flat])), True
