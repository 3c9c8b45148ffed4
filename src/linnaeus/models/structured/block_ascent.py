"""Block-coordinate ascent on the dual of a maximum-margin structured model, with a certified gap.

    min_w  P(w) = 1/2 |w|^2 + sum_i C_i max_y [ loss(y_i, y) - <w, phi(x_i, y_i) - phi(x_i, y)> ]

The dual has one block of variables per document (S. Lacoste-Julien et al. 2013). `TrainingDocuments` know the
documents, `DualBlocks` the labellings; here is only which documents are visited when, and when to stop:

* two passes in random order, then documents are drawn in proportion to their gaps (A. Osokin et al. 2016), without
  repetition within half a pass, and with a share for those whose gap looks closed, because gaps of documents that wait
  become outdated;
* the gap P - D is certified now and then, with weights recomputed from the dual variables, at the best of a few
  multiples a w of the weights: every one gives an upper bound, and far from the optimum w is too short. All sums of a
  certificate are in double precision: P is that of the weights as they are stored, whatever their precision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from linnaeus.engine.limits import Clock
from linnaeus.engine.limits import blocks as parts_of
from linnaeus.models.structured.contracts import DualBlocks, TrainingDocuments
from linnaeus.typing import Engine, FloatArray, IntArray

__all__ = ["BlockAscent", "Certificate"]

_SCALES = np.array([1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.4, 2.0])
_PART = 256  # documents scored at a time when the gap is certified
_FIRST, _WAIT = 4, 10  # passes before the first certificate, and between two of them at most
_STALE = 0.05  # share of the mean gap that is added to the chance of every document


@dataclass(frozen=True)
class Certificate:
    """A point of the objective curve: passes and seconds so far, primal and dual value, multiple of w at the primal."""

    passes: int
    seconds: float
    primal: float
    dual: float
    scale: float

    @property
    def gap(self) -> float:
        """Relative gap, of the primal value."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300)


@dataclass
class BlockAscent:
    """One fit: the state is in ``documents`` and ``blocks``; ``history`` are the certificates so far."""

    documents: TrainingDocuments
    blocks: DualBlocks
    rng: np.random.Generator
    engine: Engine
    batch: int = 32
    history: list[Certificate] = field(default_factory=list)
    passes: int = 0
    out_of_time: bool = False

    def run(self, tol: float, max_iter: int, clock: Clock, after: Callable[[Certificate], None]) -> bool:
        """Run passes until the relative gap is ``tol``; return whether it was reached."""
        self._start = time.perf_counter() - (self.history[-1].seconds if self.history else 0.0)
        while True:
            for batch, times in self._order():
                self._turn(batch, times)
                if clock.over:
                    break
            self.passes += 1
            self.out_of_time = clock.over
            if not (self.out_of_time or self.passes >= max_iter or self._looks_done(tol)):
                continue
            after(self.certify())
            if self.history[-1].gap <= tol:
                return True
            if self.out_of_time or self.passes >= max_iter:
                return False

    def _turn(self, batch: IntArray, times: IntArray | None) -> None:
        F = self.documents.rows(batch)
        change = self.blocks.turn(F, self.documents.gram(batch), batch, times)
        self.documents.add(batch, change)

    def _order(self) -> Iterator[tuple[IntArray, IntArray | None]]:
        """Batches of one pass, and the multiple of the usual effort for each document."""
        n = len(self.blocks.C)
        for order in [self.rng.permutation(n)] if self.passes < 2 else [self._draw(n) for _ in range(2)]:
            for part in parts_of(len(order), self.batch):
                yield order[part].astype(np.int64), None

    def _draw(self, n: int) -> IntArray:
        """Half of the documents, in proportion to their gaps, without repetition (Efraimidis and Spirakis 2006)."""
        gaps = np.maximum(self.blocks.gaps, 0.0)
        chance = gaps + _STALE * gaps.mean() + 1e-300
        keys = self.rng.exponential(size=n) / chance
        return np.argsort(keys, kind="stable")[: max(1, n // 2)]

    def _looks_done(self, tol: float) -> bool:
        """Whether it is worth certifying: gaps at the last visits of documents only estimate the gap."""
        if not self.history:
            return self.passes >= _FIRST
        last = self.history[-1]
        close = float(self.blocks.gaps.sum()) <= 1.5 * tol * abs(last.primal)
        return close or self.passes - last.passes >= _WAIT

    def certify(self) -> Certificate:
        """Primal and dual value of the weights that belong exactly to the dual variables; appended to the history."""
        exact_norm = self.documents.restart(self.blocks.coefficients(slice(None)))
        primal = self._primal(_SCALES)
        best = int(np.argmin(primal))
        dual = self.blocks.linear_term() - 0.5 * exact_norm
        seconds = time.perf_counter() - self._start
        self.history.append(Certificate(self.passes, seconds, float(primal[best]), float(dual), float(_SCALES[best])))
        return self.history[-1]

    def finish(self) -> Certificate:
        """Multiply the weights by the scale of the last certificate, which becomes that of the product."""
        last = self.history[-1]
        if last.scale != 1:
            self.documents.restart(last.scale * self.blocks.coefficients(slice(None)))
            self.history[-1] = replace(last, primal=float(self._primal(_SCALES[:1])[0]))
        return self.history[-1]

    def _primal(self, scales: FloatArray) -> FloatArray:
        """Primal values of multiples of the weights, as they are stored."""
        parts = [(part, scales) for part in parts_of(len(self.blocks.C), _PART)]
        slacks = np.concatenate(list(self.engine.map(_slacks, parts, self)))
        primal: FloatArray = 0.5 * self.documents.squared_norm() * scales**2 + self.blocks.C @ slacks
        return primal


def _slacks(solver: BlockAscent, task: tuple[slice, FloatArray]) -> FloatArray:
    part, scales = task
    batch = np.arange(part.start, part.stop, dtype=np.int64)
    return solver.blocks.slacks(solver.documents.exact_rows(batch), batch, scales)
