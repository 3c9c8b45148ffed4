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

What the parts of a maximum-margin model require of each other.

    Structure           what is known of the taxonomy: which scores there are and which labellings they favour
    DualBlocks          the dual variables, one block per document
    TrainingDocuments   the training documents and the weights that belong to the dual variables

D (n_docs x width) are the dual coefficients, ``columns`` independent ones for each edge (that of the last labelling of
an edge is minus their sum; 0: all are independent); F = K D (n_docs x width) are the scores of the documents.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from linnaeus.engine import Clock
from linnaeus.engine import blocks as parts_of
from linnaeus.typing import CSR, BoolArray, Engine, FloatArray, IntArray, Kernel, Matrix

if TYPE_CHECKING:
    from typing import Self

    from linnaeus.decoding import RankedSets
    from linnaeus.decoding.rules import BoundRules

__all__ = ["BlockAscent", "Certificate", "DualBlocks", "Structure", "TrainingDocuments"]


class DualBlocks(Protocol):
    """Dual variables of the documents.

    Attributes
    ----------
    C : ndarray of shape (n_docs,)
        Weights of the documents.
    gaps : ndarray of shape (n_docs,)
        Gap of every document when it was last visited; infinity before the first visit.
    """

    @property
    def C(self) -> FloatArray: ...
    @property
    def gaps(self) -> FloatArray: ...

    def turn(self, F: FloatArray, gram: FloatArray, batch: IntArray, times: IntArray | None = None) -> FloatArray:
        """Increase the dual in these documents and return the change of D (batch x width).

        F (batch x width) are their scores, ``gram`` (batch x batch) their kernel values; ``times`` multiplies the
        effort for each document.
        """
        ...

    def slacks(self, F: FloatArray, batch: IntArray, scales: FloatArray) -> FloatArray:
        """max_y loss(y_i, y) + s (score(y) - score(y_i)) for every scale s, batch x len(scales)."""
        ...

    def linear_term(self) -> float:
        """Sum of the losses under the dual variables: dual = linear_term - |w|^2 / 2."""
        ...

    def coefficients(self, batch: IntArray | slice) -> FloatArray:
        """D of some documents."""
        ...

    def take(self, before: Self) -> None:
        """Start from the dual variables of the same documents under other weights C."""
        ...


class TrainingDocuments(Protocol):
    """Scores F = K D of the training documents, through weights or through a Gram matrix."""

    @property
    def dtype(self) -> np.dtype[np.floating]: ...

    def rows(self, batch: IntArray) -> FloatArray:
        """F of some documents, batch x width."""
        ...

    def gram(self, batch: IntArray) -> FloatArray:
        """Kernel values among some documents, batch x batch."""
        ...

    def add(self, batch: IntArray, change: FloatArray) -> None:
        """D[batch] += change."""
        ...

    def squared_norm(self) -> float:
        """|w|^2 of the weights as they are stored, dependent columns included."""
        ...

    def restart(self, D: FloatArray) -> float:
        """Start again from given coefficients, without accumulated rounding.

        Returns |w|^2 before the weights are rounded to ``dtype``.
        """
        ...

    def exact_rows(self, batch: IntArray) -> FloatArray:
        """F of some documents in double precision, from the weights as they are stored."""
        ...

    def weights(self) -> FloatArray | None:
        """Weights for new documents, n_features x width; None if only kernel values with documents score them."""
        ...


class Structure(Protocol):
    """Labellings of a taxonomy and their scores.

    Attributes
    ----------
    nodes : ndarray of int
        Numbers of the nodes, the columns of `margins`, `node_weights` and `best`.
    width, columns : int
        Of the rows of scores, see the module docstring.
    batch : int
        The number of documents that are visited at a time.
    solver : type
        The algorithm, `BlockAscent` or a subclass.
    """

    @property
    def nodes(self) -> IntArray: ...
    @property
    def width(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def batch(self) -> int: ...
    @property
    def solver(self) -> type[BlockAscent]: ...

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray) -> DualBlocks:
        """The blocks of documents with closed label sets Y.

        ``weights`` are those of all nodes of the taxonomy, C those of the documents.
        """
        ...

    def documents(self, kernel: Kernel, X: Matrix, bias: float, dtype: type[np.floating]) -> TrainingDocuments:
        """The (prepared) training documents; ``bias`` is a constant feature."""
        ...

    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        """Best labelling with a node minus best labelling without it, n_docs x len(nodes); above 0: in the best one."""
        ...

    def node_weights(self, F: FloatArray) -> FloatArray:
        """U, n_docs x len(nodes): a consistent labelling scores the sum of U over its nodes, and a constant."""
        ...

    def best(self, F: FloatArray, *, not_empty: bool = False) -> BoolArray:
        """The best consistent labelling, or the best one with a label, n_docs x len(nodes)."""
        ...

    def ranked(self, F: FloatArray, k: int, rules: BoundRules) -> RankedSets | None:
        """The k best labellings that the rules allow; None where `node_weights` rank them."""
        ...


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
