"""Leaves of dense documents under a smooth loss: a few Newton steps per visit, all columns in lock-step.

No dual variables are kept: alpha_i = c_i |loss'(t_i)| is feasible and makes the pair terms of the gap vanish.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnaeus.models.recursive.leaves import LeafBlock, Measured
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.models.solvers.newton_cg import NewtonBlock
from linnaeus.typing import FloatArray

__all__ = ["DenseBlock", "DenseLeaves"]


@dataclass
class DenseBlock(LeafBlock):
    """``dual_U`` is sum alpha y x / S at the weights that were measured last."""

    dual_U: FloatArray = field(default_factory=lambda: np.empty((0, PANEL)))

    def arrays(self) -> dict[str, Any]:
        return {"U": self.U}


@dataclass(frozen=True)
class DenseLeaves:
    """Documents X (n_docs x n_features), the weight C_i of each, the loss, the constant feature."""

    X: FloatArray
    bound: FloatArray
    loss: str
    bias: float
    steps: int = 2

    screens = moves_together = False

    @property
    def dtype(self) -> Any:
        return self.X.dtype

    @property
    def n_features(self) -> int:
        return self.X.shape[1] + 1

    def begin(self, block: LeafBlock) -> DenseBlock:
        return self.resume(block, {"U": np.zeros((self.n_features, PANEL), self.dtype)})

    def resume(self, block: LeafBlock, arrays: dict[str, Any]) -> DenseBlock:
        found = DenseBlock(**block.__dict__)
        found.features = np.arange(self.n_features, dtype=np.int32)
        found.U = np.array(arrays["U"], self.dtype)
        return found

    def visit(self, block: DenseBlock, centre: FloatArray, sweep: int) -> DenseBlock:
        n = block.n_columns
        newton = self._newton(block)
        U = np.zeros_like(block.U)
        U[:, :n] = newton.improve(centre[:, :n], centre[:, :n] + block.U[:, :n], self.steps) - centre[:, :n]
        block.U = U
        return block

    def measure(self, block: DenseBlock, centre: FloatArray) -> Measured:
        n = block.n_columns
        W = centre + block.U
        sums = np.zeros((2, PANEL))
        sums[0, :n], sums[1, :n], V = self._newton(block).dual(W[:, :n])
        block.dual_U = np.zeros_like(block.U)
        block.dual_U[:, :n] = V
        return block.measured(sums[0], sums[1], W, block.dual_U)

    def screen(self, block: DenseBlock, centre: FloatArray, exact: bool) -> Measured:
        return self.measure(block, centre)

    def _newton(self, block: DenseBlock) -> NewtonBlock:
        rows, columns = block.positives
        Y = np.full((len(self.X), block.n_columns), -1, self.dtype)
        Y[rows, columns] = 1
        weight = block.weight(self.dtype)[:, : block.n_columns]
        c = self.bound[:, None] * np.where(Y > 0, weight[0], weight[1])
        return NewtonBlock(self.X, Y, c, self.loss, self.dtype.type(self.bias))
