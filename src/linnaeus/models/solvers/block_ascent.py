"""Block-coordinate ascent on the dual of a maximum-margin structured model, with a certified gap.

    min_w  P(w) = 1/2 |w|^2 + sum_i C_i max_y [ loss(y_i, y) - <w, phi(x_i, y_i) - phi(x_i, y)> ]

The dual has one block of variables per document (S. Lacoste-Julien et al. 2013). A `face` knows the documents, `blocks`
know the labellings; here is only who takes a turn when, and when to stop:

* two passes in random order, then documents are drawn in proportion to their gaps (A. Osokin et al. 2016), without
  repetition within half a pass, and with a share for those whose gap looks closed, since gaps of documents that wait
  grow stale;
* the gap P - D is certified now and then, with weights recomputed from the dual variables, at the best of a few
  multiples a w of the weights: every one gives an upper bound, and far from the optimum w is too short. All sums of a
  certificate are in double precision: P is that of the weights as they are stored, whatever their precision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from linnaeus.engine.limits import Clock
from linnaeus.engine.limits import blocks as parts_of
from linnaeus.typing import Engine, FloatArray, IntArray

__all__ = ["BlockAscent", "Measure"]

_SCALES = np.array([1.0, 1.01, 1.02, 1.05, 1.1, 1.2, 1.4, 2.0])
_PART = 256  # documents scored at a time when the gap is certified
_FIRST, _WAIT = 4, 10  # passes before the first certificate, and between two of them at most
_STALE = 0.05  # share of the mean gap that every document's chance is given


@dataclass(frozen=True)
class Measure:
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
    """One fit: the state is in ``face`` and ``blocks``; ``history`` are the certificates so far."""

    face: Any
    blocks: Any
    rng: np.random.Generator
    engine: Engine
    batch: int = 32
    chunk: int | None = None
    history: list[Measure] = field(default_factory=list)
    passes: int = 0
    out_of_time: bool = False

    def run(self, tol: float, max_iter: int, clock: Clock, after: Callable[[Measure], None]) -> bool:
        """Passes until the relative gap is ``tol``; whether it was reached."""
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
        F = self.face.rows(batch)
        effort = () if times is None else (times,)
        change = self.blocks.turn(F, self.face.gram(batch), batch, *effort)
        self.face.add(batch, change)

    def _order(self) -> Iterator[tuple[IntArray, IntArray | None]]:
        """Batches of one pass, and how much effort each document may take."""
        n = len(self.blocks.C)
        if self.chunk is not None:
            yield from self._chunks(n)
            return
        for order in [self.rng.permutation(n)] if self.passes < 2 else [self._draw(n) for _ in range(2)]:
            for part in parts_of(len(order), self.batch):
                yield order[part].astype(np.int64), None

    def _draw(self, n: int) -> IntArray:
        """Half of the documents, in proportion to their gaps, without repetition (Efraimidis and Spirakis 2006)."""
        gaps = np.maximum(self.blocks.gaps, 0.0)
        chance = gaps + _STALE * gaps.mean() + 1e-300
        keys = self.rng.exponential(size=n) / chance
        return np.argsort(keys, kind="stable")[: max(1, n // 2)]

    def _chunks(self, n: int) -> Iterator[tuple[IntArray, IntArray | None]]:
        """The working sets of the paper: drawn with repetition, a document drawn r times may take r times the steps."""
        size = min(n, self.chunk or n)
        for _ in range(-(-n // size)):
            gaps = self.blocks.gaps
            if not np.isfinite(gaps).all():  # some have not had a turn
                unknown = np.flatnonzero(~np.isfinite(gaps))
                yield self.rng.permutation(unknown)[:size].astype(np.int64), None
                continue
            chance = np.maximum(gaps, 0.0)
            chance = chance + 0.01 * chance.mean() + 1e-300
            drawn, times = np.unique(self.rng.choice(n, size=size, p=chance / chance.sum()), return_counts=True)
            yield drawn.astype(np.int64), times

    def _looks_done(self, tol: float) -> bool:
        """Whether it is worth certifying: gaps at the documents' last turns bound nothing, but tell the size."""
        if not self.history:
            return self.passes >= _FIRST
        last = self.history[-1]
        close = float(self.blocks.gaps.sum()) <= 1.5 * tol * abs(last.primal)
        return close or self.passes - last.passes >= _WAIT

    def certify(self) -> Measure:
        """Primal and dual value of the weights that belong to the dual variables exactly; appended to the history."""
        exact_norm = self.face.restart(self.blocks.coefficients(slice(None)))
        primal = self._primal(_SCALES)
        best = int(np.argmin(primal))
        dual = self.blocks.linear_term() - 0.5 * exact_norm
        seconds = time.perf_counter() - self._start
        self.history.append(Measure(self.passes, seconds, float(primal[best]), float(dual), float(_SCALES[best])))
        return self.history[-1]

    def finish(self) -> Measure:
        """Multiply the weights of the face by the scale of the last certificate, which becomes that of the product."""
        last = self.history[-1]
        if last.scale != 1:
            self.face.restart(last.scale * self.blocks.coefficients(slice(None)))
            self.history[-1] = replace(last, primal=float(self._primal(_SCALES[:1])[0]))
        return self.history[-1]

    def _primal(self, scales: FloatArray) -> FloatArray:
        """Primal values of multiples of the weights, as the face stores them."""
        parts = [(part, scales) for part in parts_of(len(self.blocks.C), _PART)]
        slacks = np.concatenate(list(self.engine.map(_slacks, parts, self)))
        found: FloatArray = 0.5 * self.face.squared_norm() * scales**2 + self.blocks.C @ slacks
        return found


def _slacks(solver: BlockAscent, task: tuple[slice, FloatArray]) -> FloatArray:
    part, scales = task
    batch = np.arange(part.start, part.stop, dtype=np.int64)
    found: FloatArray = solver.blocks.slacks(solver.face.exact_rows(batch), batch, scales)
    return found
