"""What a solver asks of the documents' blocks, and the blocks of a tree.

The dual splits into one block of variables per document. Blocks take turns on batches:

    turn(F, gram, batch)        raise the dual in these documents, F (batch x width) being their scores and ``gram``
                                their kernel values; returns what is added to D (batch x width)
    slacks(F, batch, scales)    max_y loss(y_i, y) + s (score(y) - score(y_i)) for every scale s, batch x len(scales)
    linear_term()               sum of losses under the dual variables: dual = linear_term - |w|^2 / 2
    coefficients(batch)         D of some documents
    take(before)                begin at the dual variables of blocks of the same documents under other weights C
    C, gaps                     weights of the documents, and the gap of each when it last had its turn
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus._kernels.margin_scores import losses_held, slacks
from linnaeus.models.structured.layout import Layout
from linnaeus.typing import FloatArray, IntArray

__all__ = ["Blocks", "TreeBlocks"]

_SWEEPS, _SHARE = 10, 0.05


class Blocks(ABC):
    """Base; see the module docstring."""

    C: FloatArray
    gaps: FloatArray

    @abstractmethod
    def turn(self, F: FloatArray, gram: FloatArray, batch: IntArray) -> FloatArray: ...

    @abstractmethod
    def slacks(self, F: FloatArray, batch: IntArray, scales: FloatArray) -> FloatArray: ...

    @abstractmethod
    def linear_term(self) -> float: ...

    @abstractmethod
    def coefficients(self, batch: IntArray | slice) -> FloatArray: ...

    @abstractmethod
    def take(self, before: Any) -> None: ...


class TreeBlocks(Blocks):
    """Tables of mass mu (n_docs x n x 4) on the edges of a tree or forest, moved by a compiled solver.

    ``steps`` None: sweeps of moves of mass within subtrees (see `linnaeus._kernels.margin_tree`). A number: that many
    steps of conditional gradient.
    """

    def __init__(
        self, layout: Layout, loss: FloatArray, truth: IntArray, C: FloatArray, steps: int | None = None
    ) -> None:
        self.layout, self.loss, self.truth = layout, np.ascontiguousarray(loss), truth
        self.C, self.steps = np.asarray(C, dtype=np.float64), steps
        self.gaps = np.full(len(C), np.inf)
        self.mu = np.zeros((*truth.shape, 4))
        np.put_along_axis(self.mu, truth[:, :, None].astype(np.intp), self.C[:, None, None], axis=2)
        self.kernel = dispatch.best("margin_tree")

    def turn(self, F: FloatArray, gram: FloatArray, batch: IntArray, times: IntArray | None = None) -> FloatArray:
        """As in `Blocks`; ``times`` gives documents this many times the usual effort."""
        at, change = self.layout, np.zeros_like(F)
        limits = np.full(len(batch), self.steps or _SWEEPS, dtype=np.int32)
        if times is not None:
            limits *= times.astype(np.int32)
        self.kernel.solve_blocks(
            *(F, gram, self.mu, batch, self.truth, self.loss, self.C, at.parent, at.size, at.tied, at.columns),
            *(limits, _SHARE if self.steps is None else 1e-9, self.steps is not None, change, self.gaps),
        )
        return change

    def slacks(self, F: FloatArray, batch: IntArray, scales: FloatArray) -> FloatArray:
        found, at = np.empty((len(batch), len(scales))), self.layout
        slacks(F, self.truth[batch], self.loss, at.parent, at.columns, scales, found)
        return found

    def linear_term(self) -> float:
        return float(losses_held(self.mu, self.truth, self.loss))

    def coefficients(self, batch: IntArray | slice) -> FloatArray:
        at, mu, truth = self.layout, self.mu[batch], self.truth[batch]
        kept = np.array([2, 3] if at.consistent else [0, 2, 3])
        true = truth[:, :, None] == kept
        found = (true * self.C[batch][:, None, None] - mu[:, :, kept]) * at.tied[:, None]
        D = np.zeros((len(mu), at.width))
        D[:, : at.n * at.columns] = found.reshape(len(mu), -1)
        return D

    def take(self, before: Any) -> None:
        self.mu[:] = before.mu * (self.C / before.C)[:, None, None]
