"""One slack for every document and edge: the problem falls apart into a small one for each edge.

    min_w  1/2 |w|^2 + C sum_{i,e} max_u [ l_e(t_ie, u) - (F_e,t - F_e,u)(x_i) ]        t_ie: true labelling of edge e

The tables of mass mu_e(i, .) need not agree on the nodes that edges share: each has its own C_i, and moves alone, from
the labelling of least slope to that of largest, by the exact step; all edges of a document at once. Its optimum is at
least that of one slack per document, because the sum of the largest is at least the largest sum.
"""

from __future__ import annotations

import numpy as np

from linnaeus.models.structured.blocks import Blocks
from linnaeus.models.structured.layout import Layout
from linnaeus.models.structured.tree import edge_scores
from linnaeus.models.structured.views import compressed
from linnaeus.typing import FloatArray, IntArray

__all__ = ["EdgeSlackBlocks"]

_MOVES = 8  # of mass at every edge in one turn of a document


class EdgeSlackBlocks(Blocks):
    """Tables of mass mu (n_docs x n x 4), each edge by itself; the rows of scores are those of the tree."""

    def __init__(self, layout: Layout, loss: FloatArray, truth: IntArray, C: FloatArray) -> None:
        self.layout, self.loss, self.truth = layout, loss, truth.astype(np.intp)
        self.C, self.gaps = np.asarray(C, dtype=np.float64), np.full(len(C), np.inf)
        self.mu = np.zeros((*truth.shape, 4))
        np.put_along_axis(self.mu, self.truth[:, :, None], self.C[:, None, None], axis=2)
        self.barred = np.zeros((layout.n, 4), dtype=bool)
        self.barred[layout.parent < 0, :2] = True  # above a top the label is always 1
        if layout.consistent:
            self.barred[:, 1] = True
        self.barred[layout.tied == 0] = True

    def turn(self, F: FloatArray, gram: FloatArray, batch: IntArray, times: IntArray | None = None) -> FloatArray:
        scores = edge_scores(F, self.layout)
        changes = np.zeros_like(scores)
        for b, i in enumerate(batch.tolist()):
            here = scores[b] + np.tensordot(gram[b, :b], changes[:b], axes=1)
            slopes = self._slopes(here, i)
            mu, norm = self.mu[i], float(gram[b, b])
            largest = np.where(self.barred, -np.inf, slopes).max(axis=1)
            gaps = self.C[i] * largest - (mu * slopes).sum(axis=1)
            self.gaps[i] = max(float(gaps[self.layout.tied == 1].sum()), 0.0)
            before = mu.copy()
            self._move(mu, slopes, norm)
            changes[b] = before - mu  # D = [u = t] C - mu
        return compressed(changes, self.layout).astype(F.dtype)

    def _slopes(self, F: FloatArray, i: int) -> FloatArray:
        edges = np.arange(self.layout.n)
        slopes: FloatArray = self.loss[edges, self.truth[i]] + F - F[edges, self.truth[i]][:, None]
        return slopes

    def _move(self, mu: FloatArray, slopes: FloatArray, norm: float) -> None:
        edges = np.arange(len(mu))
        for _ in range(_MOVES):
            up = np.where(self.barred, -np.inf, slopes).argmax(axis=1)
            down = np.where(mu > 0, slopes, np.inf).argmin(axis=1)
            gain = np.where(self.layout.tied == 1, slopes[edges, up] - slopes[edges, down], 0.0)
            if gain.max(initial=0.0) <= 1e-12:
                return
            # A move of mass s changes two scores of the edge by norm * s each way.
            step = mu[edges, down] if norm <= 0 else np.minimum(mu[edges, down], gain / (2 * norm))
            step = np.where((up == down) | (gain <= 0), 0.0, step)
            mu[edges, up] += step
            mu[edges, down] = np.where(step >= mu[edges, down], 0.0, mu[edges, down] - step)
            slopes[edges, up] -= norm * step
            slopes[edges, down] += norm * step

    def slacks(self, F: FloatArray, batch: IntArray, scales: FloatArray) -> FloatArray:
        scores, truth = edge_scores(F, self.layout), self.truth[batch]
        margins = scores - np.take_along_axis(scores, truth[:, :, None], axis=2)
        losses = self.loss[np.arange(self.layout.n), truth]
        found = np.empty((len(batch), len(scales)))
        for k, scale in enumerate(np.asarray(scales, dtype=np.float64).tolist()):
            largest = np.where(self.barred, -np.inf, losses + scale * margins).max(axis=2)
            found[:, k] = largest[:, self.layout.tied == 1].sum(axis=1)
        return found

    def linear_term(self) -> float:
        edges = np.arange(self.layout.n)
        return float(sum(np.vdot(self.loss[edges, t], mu) for t, mu in zip(self.truth, self.mu, strict=True)))

    def coefficients(self, batch: IntArray | slice) -> FloatArray:
        true = self.truth[batch][:, :, None] == np.arange(4)
        return compressed(true * self.C[batch][:, None, None] - self.mu[batch], self.layout)

    def take(self, before: EdgeSlackBlocks) -> None:
        times = np.divide(self.C, before.C, out=np.zeros_like(self.C), where=before.C > 0)
        self.mu = before.mu * times[:, None, None]
