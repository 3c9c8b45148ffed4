"""Readable twins of `margin_tree`, `margin_scores`, `margin_closure` and `sparse_rows`: same names, same answers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

__all__ = [
    "add_to",
    "level_sets",
    "losses_held",
    "margins",
    "move_nodes",
    "move_to_set",
    "slacks",
    "solve_blocks",
    "times",
]

_INFINITY = float("inf")


def times(indptr: Any, indices: Any, data: Any, rows: Any, W: Any, F: Any) -> None:
    for b, i in enumerate(rows):
        at = slice(indptr[i], indptr[i + 1])
        F[b] = data[at] @ W[indices[at]]


def add_to(indptr: Any, indices: Any, data: Any, rows: Any, change: Any, W: Any, begin: int, end: int) -> None:
    for b, i in enumerate(rows):
        for k in range(indptr[i], indptr[i + 1]):
            W[indices[k], begin:end] += data[k] * change[b, begin:end]


# -- labellings, all of them -------------------------------------------------------------------------------------------


def _tables(F: Any, n: int, columns: int) -> Any:
    """All four columns of scores, n x 4."""
    given = np.asarray(F[: n * columns], dtype=np.float64).reshape(n, columns)
    rest, zeros = -given.sum(axis=1), np.zeros(n)
    return np.stack([given[:, 0], rest, *given.T[1:]] if columns == 3 else [rest, zeros, *given.T], axis=1)


def _labellings(parent: Any, consistent: bool) -> list[Any]:
    """Labels (n) and indices u (n) of every labelling."""
    n, found = len(parent), []
    for bits in itertools.product((0, 1), repeat=n):
        above = [1 if p < 0 else bits[p] for p in parent]
        if not (consistent and any(b > a for a, b in zip(above, bits, strict=True))):
            found.append((np.array(bits), 2 * np.array(above) + bits))
    return found


def slacks(F: Any, truth: Any, loss: Any, parent: Any, columns: int, scales: Any, out: Any) -> None:
    nodes = np.arange(len(parent))
    for d, (row, t) in enumerate(zip(F, truth, strict=True)):
        H = _tables(row, len(parent), columns)
        for s, scale in enumerate(scales):
            values = [
                (loss[nodes, t, u] + scale * (H[nodes, u] - H[nodes, t])).sum()
                for _, u in _labellings(parent, columns == 2)
            ]
            out[d, s] = max(values)


def margins(F: Any, parent: Any, columns: int, consistent: bool, out: Any) -> None:
    nodes = np.arange(len(parent))
    for d, row in enumerate(F):
        H = _tables(row, len(parent), columns)
        values = [(bits, H[nodes, u].sum()) for bits, u in _labellings(parent, consistent)]
        for v in nodes:
            on, off = (max(value for bits, value in values if bits[v] == b) for b in (1, 0))
            out[d, v] = on - off


def losses_held(mu: Any, truth: Any, loss: Any) -> float:
    return float((mu * loss[np.arange(loss.shape[0]), truth]).sum())


# -- blocks of a tree --------------------------------------------------------------------------------------------------


def solve_blocks(
    F: Any, gram: Any, mu: Any, rows: Any, truth: Any, loss: Any, C: Any, parent: Any, size: Any, tied: Any,
    columns: int, sweeps: Any, share: float, plain: bool, change: Any, gaps: Any,
) -> None:  # fmt: skip
    n, kept = len(parent), [2, 3] if columns == 2 else [0, 2, 3]
    for j, i in enumerate(rows):
        h = _tables(F[j], n, columns) + loss[np.arange(n), truth[i]]
        old = mu[i].copy()
        block = _Block(h, mu[i], parent, size, tied, columns == 2, float(C[i]), float(gram[j, j]))
        gaps[i] = block.descend(int(sweeps[j]), share) if plain else block.sweep(int(sweeps[j]), share)
        change[j, : n * columns] = ((old - mu[i])[:, kept] * np.asarray(tied)[:, None]).ravel()
        for k in range(j + 1, len(rows)):
            F[k] += (gram[j, k] * change[j]).astype(F.dtype)


class _Block:
    """One document: scores h and mass mu, n x 4 each."""

    def __init__(self, h: Any, mu: Any, parent: Any, size: Any, tied: Any, consistent: bool, C: float, kappa: float):
        self.h, self.mu, self.parent, self.size, self.tied = h, mu, parent, size, tied
        self.consistent, self.C, self.kappa = consistent, C, kappa
        self.children = [[w for w in range(len(parent)) if parent[w] == v] for v in range(len(parent))]

    def best(self, v: int, a: int) -> tuple[float, dict[int, int]]:
        """Best value of v and all below it under label a, and its labels."""
        found: tuple[float, dict[int, int]] = (-_INFINITY, {})
        for b in (0, 1):
            if self.consistent and b > a:
                continue
            below = [self.best(c, b) for c in self.children[v]]
            value = self.h[v, 2 * a + b] + sum(value for value, _ in below)
            if value > found[0]:
                found = value, {v: b} | {w: y for _, labels in below for w, y in labels.items()}
        return found

    def worst(self, v: int, a: int, least: float) -> tuple[float, dict[int, int]]:
        """As `best`, the worst with mass on all its edges; infinite where there is none."""
        found: tuple[float, dict[int, int]] = (_INFINITY, {})
        for b in (0, 1):
            if self.mu[v, 2 * a + b] <= least:
                continue
            below = [self.worst(c, b, least) for c in self.children[v]]
            value = self.h[v, 2 * a + b] + sum(value for value, _ in below)
            if value < found[0]:
                found = value, {v: b} | {w: y for _, labels in below for w, y in labels.items()}
        return found

    def gap(self) -> float:
        tops = [v for v in range(len(self.parent)) if self.parent[v] < 0]
        return float(self.C * sum(self.best(v, 1)[0] for v in tops) - (self.mu * self.h).sum())

    def sweep(self, sweeps: int, share: float) -> float:
        before, least = self.gap(), 1e-13 * self.C
        if before <= 0:
            return before
        for _ in range(sweeps):
            for v in range(len(self.parent) - 1, -1, -1):
                for a in (0, 1) if self.parent[v] >= 0 else (1,):
                    (high, plus), (low, minus) = self.best(v, a), self.worst(v, a, least)
                    if (high - low) * self.C > 1e-3 * share * before:
                        self.move(v, a, plus, minus, high - low)
            if self.gap() <= share * before:
                break
        return before

    def move(self, v: int, a: int, plus: dict[int, int], minus: dict[int, int], gain: float) -> None:
        pairs = []
        for w in range(v, v + self.size[v]):
            p = self.parent[w]
            above = (a, a) if w == v else (plus[p], minus[p])
            up, um = 2 * above[0] + plus[w], 2 * above[1] + minus[w]
            if up != um:
                pairs.append((w, up, um))
        most = min(self.mu[w, um] for w, _, um in pairs)
        curve = 2 * self.kappa * sum(int(self.tied[w]) for w, _, _ in pairs)
        step = gain / curve if curve > 0 and gain < most * curve else most
        for w, up, um in pairs:
            self.mu[w, up] += step
            self.mu[w, um] = max(self.mu[w, um] - step, 0.0)
            self.h[w, up] -= self.kappa * step * self.tied[w]
            self.h[w, um] += self.kappa * step * self.tied[w]

    def descend(self, steps: int, share: float) -> float:
        before = 0.0
        for k in range(steps):
            gap = self.gap()
            before = gap if k == 0 else before
            if gap <= share * before or gap <= 0:
                break
            labels: dict[int, int] = {}
            for v in range(len(self.parent)):
                if self.parent[v] < 0:
                    labels |= self.best(v, 1)[1]
            target = np.zeros_like(self.mu)
            for v, b in labels.items():
                target[v, 2 * (1 if self.parent[v] < 0 else labels[self.parent[v]]) + b] = self.C
            toward = target - self.mu
            curve = self.kappa * float((toward**2 * np.asarray(self.tied)[:, None]).sum())
            step = gap / curve if curve > gap else 1.0
            self.mu += step * toward
            self.h -= self.kappa * step * toward * np.asarray(self.tied)[:, None]
        return before


# -- blocks of a DAG ---------------------------------------------------------------------------------------------------


def move_nodes(
    U: Any, m: Any, parent_indptr: Any, parent_indices: Any, child_indptr: Any, child_indices: Any,
    kappa: float, C: float, sweeps: int,
) -> None:  # fmt: skip
    n = len(m)
    for _ in range(sweeps):
        for v in [*range(n), *range(n - 1, -1, -1)]:
            above = parent_indices[parent_indptr[v] : parent_indptr[v + 1]]
            below = child_indices[child_indptr[v] : child_indptr[v + 1]]
            curve = 2 * kappa * (max(len(above), 1) + len(below))
            to = m[v] + U[v] / curve if curve > 0 else np.sign(U[v]) * _INFINITY if U[v] else m[v]
            delta = np.clip(to, m[below].max(initial=0.0), m[above].min(initial=C)) - m[v]
            m[v] += delta
            U[v] -= curve * delta
            U[above] += kappa * delta
            U[below] += kappa * delta


def move_to_set(
    U: Any, m: Any, toward: Any, parent_indptr: Any, parent_indices: Any, child_indptr: Any, child_indices: Any,
    kappa: float, C: float, most: float,
) -> None:  # fmt: skip
    pull = np.empty_like(toward)
    for v in range(len(m)):
        above = parent_indices[parent_indptr[v] : parent_indptr[v + 1]]
        below = child_indices[child_indptr[v] : child_indptr[v + 1]]
        pull[v] = 2 * (max(len(above), 1) + len(below)) * toward[v] - toward[above].sum() - toward[below].sum()
    gain, curve = float(U @ toward), kappa * float(toward @ pull)
    step = min(most, gain / curve) if curve > 0 else most
    if step > 0 and gain > 0:
        m[:] = np.clip(m + step * toward, 0.0, C)
        U -= step * kappa * pull


def level_sets(U: Any, m: Any, C: float) -> tuple[float, float]:
    levels = [_INFINITY, *sorted(set(m.tolist()), reverse=True)]
    weights = -np.diff([C, *levels[1:], 0.0])
    found = [(float(U[m >= level].sum()), level, float(w)) for level, w in zip(levels, weights, strict=True) if w > 0]
    return min(found, key=lambda one: one[0])[1:] if found else (_INFINITY, 0.0)
