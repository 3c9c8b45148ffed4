"""Readable twins of `ranking` and `ranking_pairs`: the same arguments, the same effects, one document at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["losses", "sweep", "sweep_pairs"]

_SHARE = 0.5


class _Classes:
    """Attributes as a dense matrix, costs row by row."""

    def __init__(self, arrays: tuple[Any, ...], width: int) -> None:
        indptr, indices, values, matrix, member_indptr, members, below_indptr, below, volume, sides = arrays
        self.n = len(indptr) - 1
        self.A = np.zeros((self.n, width))
        for y in range(self.n):
            at = slice(indptr[y], indptr[y + 1])
            self.A[y, indices[at]] = values[at]
        self.D = np.zeros((self.n, self.n))
        for y in range(self.n):
            if matrix.shape[0] == self.n:
                self.D[y] = matrix[y]
                continue
            shared = np.zeros(self.n)
            for v in members[member_indptr[y] : member_indptr[y + 1]]:
                shared[below[below_indptr[v] : below_indptr[v + 1]]] += volume[v]
            self.D[y] = sides[0, y] + sides[1] - (sides[2, y] + sides[3]) * shared
            self.D[y, y] = 0.0


def _row(indptr: Any, indices: Any, data: Any, dense: bool, i: int) -> tuple[Any, Any]:
    at = slice(indptr[i], indptr[i + 1])
    values = data[at]
    return (np.arange(len(values)) if dense else indices[at]), values


def _node_scores(row: tuple[Any, Any], bias: float, W: Any) -> Any:
    features, values = row
    a = np.einsum("qjb,j->qb", W[:, features].astype(np.float64), values.astype(np.float64))
    return (a + bias * W[:, -1]).ravel()


def _move(row: tuple[Any, Any], bias: float, gram: bool, i: int, change: Any, W: Any) -> None:
    panels = change.reshape(len(W), -1).astype(W.dtype)
    if gram:
        W[:, i] += panels
        return
    features, values = row
    W[:, features] += values[None, :, None] * panels[:, None, :]
    W[:, -1] += bias * panels


def solve_block(Q: Any, g: Any, b: Any, tau: float) -> None:
    """Move mass to the pair of largest gradient, from where it gains most; the last entry is the null pair."""
    m = len(b) - 1
    Q = np.pad(Q, ((0, 1), (0, 1)))
    for _ in range(1000 * (m + 1)):
        p = m if g[m] >= g[:m].max(initial=-np.inf) else int(np.argmax(g[:m]))
        givers = np.flatnonzero((b > 0) & (g < g[p]))
        if not len(givers) or g[p] - g[givers].min() <= tau:
            return
        ahead, curvature = g[p] - g[givers], Q[p, p] + np.diag(Q)[givers] - 2 * Q[p, givers]
        step = np.where(curvature * b[givers] > ahead, ahead / np.maximum(curvature, 1e-300), b[givers])
        r = int(givers[np.argmax(step * (ahead - 0.5 * curvature * step))])
        eta = Q[p, p] + Q[r, r] - 2 * Q[p, r]
        t = b[r]
        if eta * t > g[p] - g[r]:
            t = (g[p] - g[r]) / eta
            b[r] -= t
        else:
            b[r] = 0.0
        b[p] += t
        g[:m] -= t * (Q[p, :m] - Q[r, :m])


def sweep(
    indptr: Any, indices: Any, data: Any, dense: Any, gram: Any, squared_norm: Any, bias: Any, of_classes: Any,
    label_indptr: Any, labels: Any, bound: Any, order: Any, whole: Any, skip: Any, W: Any, sizes: Any, ys: Any,
    zs: Any, cost: Any, mass: Any, idle: Any, violation: Any, room: Any, relevant: Any, wanted: Any,
) -> Any:  # fmt: skip
    """See `ranking.sweep`."""
    c = _Classes(of_classes, W.shape[0] * W.shape[2])
    gaps = worst = longer = 0.0
    full = 0
    for i in order.tolist():
        m = int(sizes[i])
        if not whole and (m == 0 or violation[i] <= skip):
            continue
        row = _row(indptr, indices, data, dense, i)
        a = _node_scores(row, bias, W)
        F = c.A @ a
        y, z = ys[i, :m].copy(), zs[i, :m].copy()
        g = cost[i, :m] * (1 - F[y] + F[z])
        rest = max(bound[i] - mass[i, :m].sum(), 0.0)
        low = 0.0 if rest > 1e-12 * bound[i] else 1e30
        low = min(low, g[mass[i, :m] > 0].min(initial=np.inf))
        high = max(0.0, g.max(initial=0.0))
        right = labels[label_indptr[i] : label_indptr[i + 1]]
        wrong = np.setdiff1d(np.arange(c.n), right)
        found = []
        if whole:
            for own in right.tolist():
                H = c.D[own, wrong] * (1 - F[own] + F[wrong])
                if len(H) and H.max() > 0 and H.max() > low * (1 + 1e-9):
                    found.append((own, int(wrong[np.argmax(H)]), float(H.max())))
                    high = max(high, found[-1][2])
        gaps += rest * high + float((mass[i, :m] * (high - g)).sum())
        violation[i] = high - low
        worst = max(worst, high - low)
        pairs = list(zip(y.tolist(), z.tolist(), strict=True))
        for own, other, h in found:
            if h - low < _SHARE * (high - low) or (own, other) in pairs:
                continue
            p = len(pairs)
            if p == ys.shape[1]:
                spare = [b for b in range(p) if mass[i, b] == 0 and idle[i, b] > 0]
                if not spare:
                    full += 1
                    continue
                p = min(spare, key=lambda b: g[b])
                pairs[p], g[p] = (own, other), h
            else:
                pairs.append((own, other))
                g = np.append(g, h)
            ys[i, p], zs[i, p], cost[i, p], mass[i, p], idle[i, p] = own, other, c.D[own, other], 0.0, 0
        sizes[i] = m = len(pairs)
        if m == 0 or high - low <= 1e-14:
            continue
        V = cost[i, :m, None] * (c.A[ys[i, :m]] - c.A[zs[i, :m]])
        after = np.append(mass[i, :m], rest)
        solve_block(squared_norm[i] * V @ V.T, np.append(g, 0.0), after, max(1e-12, 1e-10 * np.abs(g).max()))
        change = (after[:m] - mass[i, :m]) @ V
        mass[i, :m] = after[:m]
        longer += float(change @ (2 * a + squared_norm[i] * change))
        _move(row, bias, gram, i, change, W)
        if whole:
            idle[i, :m] = np.where(mass[i, :m] > 0, 0, idle[i, :m] + 1)
            kept = np.flatnonzero(idle[i, :m] <= 2)
            for array in (ys, zs, cost, mass, idle):
                array[i, : len(kept)] = array[i, kept]
            sizes[i] = len(kept)
    return gaps, worst, longer, full


def sweep_pairs(
    indptr: Any, indices: Any, data: Any, dense: Any, gram: Any, squared_norm: Any, bias: Any, of_classes: Any,
    label_indptr: Any, labels: Any, weight: Any, order: Any, W: Any, mass: Any, room: Any, relevant: Any,
) -> Any:  # fmt: skip
    """See `ranking_pairs.sweep_pairs`."""
    c = _Classes(of_classes, W.shape[0] * W.shape[2])
    largest = 0.0
    for i in order.tolist():
        row = _row(indptr, indices, data, dense, i)
        a = _node_scores(row, bias, W)
        change = np.zeros(len(a))
        right = labels[label_indptr[i] : label_indptr[i + 1]]
        for e in range(label_indptr[i], label_indptr[i + 1]):
            y = labels[e]
            for z in np.setdiff1d(np.arange(c.n), right):
                v = c.D[y, z] * (c.A[y] - c.A[z])
                H, length = c.D[y, z] - v @ a, squared_norm[i] * v @ v
                if c.D[y, z] == 0 or (H <= 0 and mass[e, z] == 0) or (H >= 0 and mass[e, z] == weight[i]):
                    continue
                if length > 0:
                    new = min(max(mass[e, z] + H / length, 0.0), weight[i])
                else:
                    new = weight[i] if H > 0 else 0.0
                step = new - mass[e, z]
                largest = max(largest, abs(step) / weight[i])
                mass[e, z] = new
                change += step * v
                a += squared_norm[i] * step * v
        _move(row, bias, gram, i, change, W)
    return largest


def losses(
    indptr: Any, indices: Any, data: Any, dense: Any, bias: Any, of_classes: Any, label_indptr: Any, labels: Any,
    per_pair: Any, gram: Any, W: Any, loss: Any, norm: Any, room: Any, relevant: Any,
) -> Any:  # fmt: skip
    """See `ranking_pairs.losses`."""
    c = _Classes(of_classes, W.shape[0] * W.shape[2])
    for i in range(len(loss)):
        a = _node_scores(_row(indptr, indices, data, dense, i), bias, W)
        if gram:
            norm[i] = float(a @ W[:, i].ravel())
        right = labels[label_indptr[i] : label_indptr[i + 1]]
        wrong = np.setdiff1d(np.arange(c.n), right)
        F = c.A @ a
        H = c.D[np.ix_(right, wrong)] * (1 - F[right][:, None] + F[wrong])
        loss[i] = np.maximum(H, 0).sum() if per_pair else H.max(initial=0.0)
