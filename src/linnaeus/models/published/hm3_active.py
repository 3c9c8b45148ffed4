"""Dual blocks of a few labellings per document, each with a weight; an oracle provides more of them.

For document i with weights a_y >= 0 of labellings, sum_y a_y = C_i, and d_y = psi(y_i) - psi(y) in the space of scores,

    D_i = sum_y a_y d_y,     dual = sum_i sum_y a_y loss(y_i, y) - 1/2 |w|^2,     its slope in a_y: loss - <F_i, d_y>.

A visit adds the labelling of largest slope to the active ones and moves weight among them, from the one of least slope
to the one of largest, by the exact step, until no move is worth it. The set of labellings needs nothing but an oracle,
so this serves where the marginals of a mixture have no short description:

    free slack       the truth does not compete: slacks may be negative, and all of C_i lies on wrong labellings
    zero-one cost    every wrong labelling costs 1, which is not a sum over edges
    any graph        with the oracle of its junction tree
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from linnaeus.models.published.hm3_labellings import LabellingSpace
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["ActiveBlocks", "LabellingOracle"]

_MOVES = 100  # of weight in one turn of a document
_SHARE = 0.05  # of its gap, at which a document's turn ends
_EVERY = 3  # every third multiple of the weights is tried for the certificate: oracles are expensive


@dataclass(frozen=True)
class LabellingOracle:
    """Losses and competitors of every document.

    ``table`` (n_pairs x 4 x 4) is the loss of every pair, or None for zero-one; ``free`` leaves the truth out.
    """

    space: LabellingSpace
    truth: BoolArray
    table: FloatArray | None
    free: bool = False

    def competitors(self, f: FloatArray, batch: IntArray, scale: float = 1.0) -> tuple[BoolArray, FloatArray]:
        """The labelling of largest loss + scale * score, and its loss; f is n_docs x size."""
        truth, labellings = self.truth[batch], self.space.labellings
        H = scale * self.space.pairs(f)
        if self.table is not None:
            true = labellings.pairs(truth)
            H += self.table[np.arange(true.shape[1]), true]
        apart = self.free or self.table is None
        labels = labellings.best_but(H, truth) if apart else labellings.best(H)
        return labels, self.losses(truth, labels)

    def losses(self, truth: BoolArray, labels: BoolArray) -> FloatArray:
        """loss(truth, labels) of every document."""
        if self.table is None:
            return (truth != labels).any(axis=1).astype(np.float64)
        true, pairs = self.space.labellings.pairs(truth), self.space.labellings.pairs(labels)
        return np.asarray(self.table[np.arange(true.shape[1]), true, pairs].sum(axis=1))


@dataclass
class _Active:
    """The labellings of a document: rows d_y (n_held x n_columns), their losses and weights."""

    rows: FloatArray
    losses: FloatArray
    weights: FloatArray

    @property
    def coefficients(self) -> FloatArray:
        return self.weights @ self.rows

    def add(self, row: FloatArray, loss: float) -> None:
        """Add a labelling with weight 0, unless it is there; drop those that have lost their weight."""
        if (self.rows == row).all(axis=1).any():
            return
        kept = self.weights > 0
        self.rows = np.vstack([self.rows[kept], row])
        self.losses, self.weights = np.append(self.losses[kept], loss), np.append(self.weights[kept], 0.0)

    def move(self, F: FloatArray, products: FloatArray, tol: float) -> None:
        """Increase the dual over these labellings; F are the scores of the document, products those of the d_y."""
        slopes = self.losses - self.rows @ F
        for _ in range(_MOVES):
            up = int(slopes.argmax())
            down = int(np.where(self.weights > 0, slopes, np.inf).argmin())
            gain = slopes[up] - slopes[down]
            if gain <= tol:
                break
            curve = products[up, up] + products[down, down] - 2 * products[up, down]
            step = self.weights[down] if curve <= 0 else min(self.weights[down], gain / curve)
            self.weights[up] += step
            self.weights[down] = 0.0 if step >= self.weights[down] else self.weights[down] - step
            slopes -= step * (products[up] - products[down])


class ActiveBlocks:
    """See the module docstring."""

    def __init__(self, oracle: LabellingOracle, C: FloatArray) -> None:
        self.oracle, self.space = oracle, oracle.space
        self.C = np.asarray(C, dtype=np.float64)
        self.gaps = np.full(len(self.C), np.inf)
        self.products: Callable[[FloatArray, int], FloatArray] | None = None
        self.true = self.space.vectors(oracle.truth)
        self.active = self._start()

    def _start(self) -> list[_Active]:
        """All weight on the truth, or, where it does not compete, on the labelling of largest loss."""
        if not self.oracle.free:
            return [_Active(np.zeros((1, self.true.shape[1])), np.zeros(1), np.array([C])) for C in self.C]
        everyone = np.arange(len(self.C))
        rows, losses = self._competitors(np.zeros_like(self.true), everyone)
        return [_Active(rows[[i]], losses[[i]], self.C[[i]]) for i in everyone]

    def _competitors(self, f: FloatArray, batch: IntArray, scale: float = 1.0) -> tuple[FloatArray, FloatArray]:
        """d_y of the documents' best competitors, and their losses."""
        labels, losses = self.oracle.competitors(f, batch, scale)
        return self.true[batch] - self.space.vectors(labels), losses

    def turn(self, F: FloatArray, gram: FloatArray, batch: IntArray, times: IntArray | None = None) -> FloatArray:
        scores = self.space.scores(F)
        rows, losses = self._competitors(scores, batch)
        changes = np.zeros_like(scores)
        for b, i in enumerate(batch.tolist()):
            own = self.active[i]
            here = scores[b] + gram[b, :b] @ changes[:b]
            slope = losses[b] - rows[b] @ here
            slope = slope if self.oracle.free else max(slope, 0.0)
            self.gaps[i] = max(self.C[i] * slope - own.weights @ (own.losses - own.rows @ here), 0.0)
            before = own.coefficients
            own.add(rows[b], float(losses[b]))
            own.move(
                here,
                self._products(own.rows, i, gram[b, b]),
                max(1e-12, _SHARE * self.gaps[i] / max(self.C[i], 1e-300)),
            )
            changes[b] = own.coefficients - before
        return self.space.rows(changes).astype(F.dtype)

    def _products(self, rows: FloatArray, i: int, norm: float) -> FloatArray:
        """<d_y, d_y'> in the space of weights: times K(x, x), unless the documents define other products."""
        return norm * (rows @ rows.T) if self.products is None else self.products(rows, i)

    def slacks(self, F: FloatArray, batch: IntArray, scales: FloatArray) -> FloatArray:
        scores, largest = self.space.scores(F), np.full((len(batch), len(scales)), np.inf)
        for k, scale in list(enumerate(np.asarray(scales, dtype=np.float64).tolist()))[::_EVERY]:
            rows, losses = self._competitors(scores, batch, scale)
            largest[:, k] = losses - scale * np.einsum("bp,bp->b", rows, scores)
        return largest if self.oracle.free else np.maximum(largest, 0.0)

    def linear_term(self) -> float:
        return float(sum(held.weights @ held.losses for held in self.active))

    def coefficients(self, batch: IntArray | slice) -> FloatArray:
        chosen = np.arange(len(self.C))[batch]
        return self.space.rows(np.array([self.active[i].coefficients for i in chosen.tolist()]))

    def take(self, before: ActiveBlocks) -> None:
        times = np.divide(self.C, before.C, out=np.zeros_like(self.C), where=before.C > 0)
        self.active = [
            _Active(held.rows.copy(), held.losses.copy(), held.weights * factor)
            for held, factor in zip(before.active, times.tolist(), strict=True)
        ]
