"""Logistic curves of many nodes at once, from held-out scores F and truth Y (n_docs x n_nodes).

    max  sum_i  t_i log p_i + (1 - t_i) log(1 - p_i),   p_i = 1 / (1 + exp(-(a f_i + b)))

with Platt's targets t = (N+ + 1)/(N+ + 2) for the positive and 1/(N- + 2) for the other documents, by Newton's method
in the two parameters of every node, with halved steps. Where a curve is expected beforehand, such as that of a node's
level, the parameters are pulled towards it: less tau/2 |(a, b) - (a0, b0)|^2, of standardised scores. Nodes whose
slope is given need only the offset with which the mean probability is a given share. Nodes are treated in blocks, so
that memory does not grow with their number.

Platt (1999); Lin, Lin and Weng (2007).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["offsets", "platt", "platt_columns"]

_PAIRS = 2_000_000  # pairs of documents and nodes of a block
_STEPS, _HALVINGS = 50, 20
_SHARE_STEPS, _SHARE_TOLERANCE = 60, 1e-10


def platt(f: FloatArray, y: BoolArray) -> tuple[float, float]:
    """Slope and offset of the logistic curve of largest likelihood.

    Parameters
    ----------
    f : ndarray of shape (n_docs,)
        Scores of one node.
    y : ndarray of bool, shape (n_docs,)
        The truth.

    Returns
    -------
    slope, offset : float
        Of the curve 1 / (1 + exp(-(slope * f + offset))).

    Examples
    --------
    >>> slope, offset = platt(np.array([-2.0, -1.0, 1.0, 2.0] * 5), np.array([False, False, True, True] * 5))
    >>> bool(slope > 1), bool(abs(offset) < 1e-9)
    (True, True)
    """
    slope, offset = platt_columns(f[:, None], y[:, None], np.ones((len(f), 1), dtype=bool))
    return float(slope[0]), float(offset[0])


def platt_columns(
    F: FloatArray,
    Y: BoolArray,
    use: BoolArray,
    expected: tuple[FloatArray, FloatArray] | None = None,
    tau: float = 0.0,
) -> tuple[FloatArray, FloatArray]:
    """Slopes and offsets of the logistic curves of largest likelihood, one for every column.

    Parameters
    ----------
    F : ndarray of shape (n_docs, n_nodes)
        Scores.
    Y : ndarray of bool, shape (n_docs, n_nodes)
        The truth.
    use : ndarray of bool, shape (n_docs, n_nodes)
        Which pairs count.
    expected : (slopes, offsets), default=None
        Curves that are expected beforehand; the targets are then 1 and 0.
    tau : float, default=0.0
        Strength of the pull towards these.

    Returns
    -------
    slope, offset : ndarrays of shape (n_nodes,)
        Of the curves 1 / (1 + exp(-(slope * f + offset))).

    Examples
    --------
    >>> F = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, 0.0], [2.0, 1.0]] * 5)
    >>> slope, offset = platt_columns(F, F > 0.5, np.ones(F.shape, dtype=bool))
    >>> bool((slope > 1).all())
    True
    """
    slope, offset = np.zeros(F.shape[1]), np.zeros(F.shape[1])
    for columns in _blocks(*F.shape):
        here = None if expected is None else (expected[0][columns], expected[1][columns])
        slope[columns], offset[columns] = _newton(F[:, columns], Y[:, columns], use[:, columns], here, tau)
    return slope, offset


class _Block(NamedTuple):
    """Standardised scores, targets and weights (n_docs x n_nodes); expected parameters; weights of their columns."""

    Z: FloatArray
    T: FloatArray
    weight: FloatArray
    n_docs: FloatArray
    a0: FloatArray
    b0: FloatArray
    tau: float

    def taken(self, columns: BoolArray) -> _Block:
        """Some of the columns."""
        Z, T, weight = (matrix[:, columns] for matrix in (self.Z, self.T, self.weight))
        return _Block(Z, T, weight, self.n_docs[columns], self.a0[columns], self.b0[columns], self.tau)

    def loss(self, a: FloatArray, b: FloatArray) -> FloatArray:
        margin = a * self.Z + b
        pull = 0.5 * self.tau * ((a - self.a0) ** 2 + (b - self.b0) ** 2)
        return np.asarray((self.weight * (np.logaddexp(0.0, margin) - self.T * margin)).sum(axis=0) + pull)

    def direction(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Newton's step in both parameters, and which gradients are small already."""
        from scipy.special import expit

        P = expit(a * self.Z + b)
        R = self.weight * (P - self.T)
        g_a, g_b = (R * self.Z).sum(axis=0) + self.tau * (a - self.a0), R.sum(axis=0) + self.tau * (b - self.b0)
        H = self.weight * P * (1 - P)
        HZ, least = H * self.Z, self.tau + 1e-9
        h_aa, h_ab, h_bb = (HZ * self.Z).sum(axis=0) + least, HZ.sum(axis=0), H.sum(axis=0) + least
        det = h_aa * h_bb - h_ab * h_ab
        small = (det <= 0) | (np.maximum(np.abs(g_a), np.abs(g_b)) < 1e-8 * self.n_docs)
        det = np.where(det > 0, det, 1.0)
        return (h_bb * g_a - h_ab * g_b) / det, (h_aa * g_b - h_ab * g_a) / det, small


def _newton(
    F: FloatArray, Y: BoolArray, use: BoolArray, expected: tuple[FloatArray, FloatArray] | None, tau: float
) -> tuple[FloatArray, FloatArray]:
    """`platt_columns` of one block; columns leave it as they converge."""
    n = np.maximum(use.sum(axis=0), 1).astype(np.float64)
    n_positive = (Y & use).sum(axis=0).astype(np.float64)
    centre = np.where(use, F, 0.0).sum(axis=0) / n
    Z = np.where(use, F - centre, 0.0)
    scale = np.sqrt((Z * Z).sum(axis=0) / n)
    scale[scale == 0] = 1.0
    Z /= scale
    weight = use.astype(np.float64)
    if expected is None:
        T = np.where(Y, (n_positive + 1) / (n_positive + 2), 1 / (n - n_positive + 2))
        share = np.clip((T * weight).sum(axis=0) / n, 1e-12, 1 - 1e-12)
        a, b, tau = np.zeros(F.shape[1]), np.log(share / (1 - share)), 0.0
    else:
        T = Y.astype(np.float64)
        a, b = expected[0] * scale, expected[1] + expected[0] * centre
    block = _Block(Z, T, weight, n, a.copy(), b.copy(), tau)
    now = block.loss(a, b)
    live: IntArray = np.arange(F.shape[1])
    for _ in range(_STEPS):
        if not len(live):
            break
        step_a, step_b, small = block.direction(a[live], b[live])
        size, new, worse = np.where(small, 0.0, 1.0), now[live].copy(), np.zeros(len(live), dtype=bool)
        for _ in range(_HALVINGS):
            trial = block.loss(a[live] - size * step_a, b[live] - size * step_b)
            worse = ~(trial <= now[live])
            if not worse.any():
                break
            size[worse] /= 2
        better = ~worse & (size > 0)
        new[better] = trial[better]
        a[live] -= np.where(better, size, 0.0) * step_a
        b[live] -= np.where(better, size, 0.0) * step_b
        going = better & (now[live] - new >= 1e-10 * np.maximum(1.0, np.abs(now[live])))
        now[live] = new
        if not going.all():
            live, block = live[going], block.taken(going)
    return a / scale, b - a * centre / scale


def offsets(F: FloatArray, use: BoolArray, slope: FloatArray, share: FloatArray) -> FloatArray:
    """Offsets with which the mean of every logistic curve is a given share.

    Parameters
    ----------
    F : ndarray of shape (n_docs, n_nodes)
        Scores.
    use : ndarray of bool, shape (n_docs, n_nodes)
        Which pairs count; where none of a node does, the offset alone gives the share.
    slope : ndarray of shape (n_nodes,)
        Slopes, all above 0.
    share : ndarray of shape (n_nodes,)
        Shares, between 0 and 1.

    Returns
    -------
    ndarray of shape (n_nodes,)

    Examples
    --------
    >>> F = np.array([[-1.0], [1.0]])
    >>> offsets(F, np.ones((2, 1), dtype=bool), np.ones(1), np.array([0.5])).round(6).tolist()
    [0.0]
    """
    b = np.zeros(F.shape[1])
    for columns in _blocks(*F.shape):
        b[columns] = _offsets(F[:, columns], use[:, columns], slope[columns], share[columns])
    return b


def _offsets(F: FloatArray, use: BoolArray, slope: FloatArray, share: FloatArray) -> FloatArray:
    """`offsets` of one block: Newton's steps on the log-odds of the mean, kept between bounds by bisection."""
    from scipy.special import expit, logit

    wanted = logit(share)
    n = use.sum(axis=0)
    G = np.where(use, slope * F, 0.0)
    least, most = (
        np.where(use, G, np.inf).min(axis=0, initial=np.inf),
        np.where(use, G, -np.inf).max(axis=0, initial=-np.inf),
    )
    least, most = np.where(n > 0, least, 0.0), np.where(n > 0, most, 0.0)
    low, high = wanted - most, wanted - least  # where all scores are the largest, or the least
    b, live = np.clip(wanted - G.sum(axis=0) / np.maximum(n, 1), low, high), np.flatnonzero(n > 0)
    b[n == 0] = wanted[n == 0]
    G, use = G[:, live], use[:, live]
    for _ in range(_SHARE_STEPS):
        if not len(live):
            break
        P = np.where(use, expit(G + b[live]), 0.0)
        mean, slopes = P.sum(axis=0) / n[live], (P * (1 - P)).sum(axis=0) / n[live]
        above = mean > share[live]
        high[live] = np.where(above, b[live], high[live])
        low[live] = np.where(above, low[live], b[live])
        mean = np.clip(mean, 1e-300, 1 - 1e-16)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = (logit(mean) - wanted[live]) * mean * (1 - mean) / slopes
        new = b[live] - step
        inside = np.isfinite(new) & (new >= low[live]) & (new <= high[live])
        new = np.where(inside, new, 0.5 * (low[live] + high[live]))
        going = np.abs(new - b[live]) > _SHARE_TOLERANCE * np.maximum(1.0, np.abs(new))
        b[live] = new
        live, G, use = live[going], G[:, going], use[:, going]
    return b


def _blocks(n_docs: int, n_columns: int) -> Iterator[slice]:
    size = max(1, _PAIRS // max(1, n_docs))
    return (slice(start, start + size) for start in range(0, n_columns, size))
