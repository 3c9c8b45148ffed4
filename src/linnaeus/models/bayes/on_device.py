"""Modes by parts on a GPU: `in_turn` with blocks of a thousand leaves, solved in dual variables.

A leaf is w = w_parent + X'a / prec. The dual variables a of all leaves stay on the device from round to round and are
the start of the next, whatever has become of parents and precisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnaeus.engine.gpu import GPUEngine
from linnaeus.engine.plan import blocks
from linnaeus.models.bayes.in_turn import InTurn
from linnaeus.typing import FloatArray

__all__ = ["OnDevice"]

_BLOCK = 1024
_TOLERANCE = 1e-6


@dataclass
class OnDevice(InTurn):
    """`InTurn` whose engine is a `GPUEngine`."""

    duals: dict[int, Any] = field(default_factory=dict)
    documents: Any = None

    def _solved(self, rho: FloatArray) -> Iterator[tuple[slice, tuple[FloatArray, FloatArray, float]]]:
        assert isinstance(self.engine, GPUEngine)
        for part in blocks(self.tree.n_leaves, self.engine.columns or _BLOCK):
            yield part, self._block(part, rho)

    def _block(self, part: slice, rho: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        import torch

        from linnaeus.models.gpu.documents import SparseRows, on_device, with_constant
        from linnaeus.models.gpu.flat import Columns
        from linnaeus.models.gpu.losses import Pairs
        from linnaeus.models.gpu.newton import Newton
        from linnaeus.models.gpu.products import product

        assert isinstance(self.engine, GPUEngine)
        device = self.engine.device
        if self.documents is None:
            X = on_device(with_constant(self.X, 0.0), device)
            squares = SparseRows(X.T.indptr, X.T.indices, X.T.values**2, X.T.n_columns)
            cost = torch.as_tensor(self.c.astype(np.float32), device=device)
            self.documents = X, squares, cost
        X, squares, cost = self.documents
        leaves = self.tree.leaves[part]
        Y = self.Y[:, part].tocoo()
        rows, columns = (torch.as_tensor(x.astype(np.int64), device=device) for x in (Y.row, Y.col))
        prior = torch.as_tensor(rho[leaves, 0], device=device)
        centre = torch.as_tensor(self.weights[self.tree.parent[leaves]].astype(np.float32), device=device).T
        system = Columns(X, Pairs("logistic", cost[:, None], rows, columns, cost[rows]), inverse=1 / prior)
        A = self.duals.get(part.start)
        if A is None:
            A = torch.zeros((X.n_rows, len(leaves)), device=device)
        start = product(X, centre.contiguous())
        newton = Newton(system, [A], system.apply([A]), centre=[start])
        newton.run(_TOLERANCE, self.shared.n_steps, measure=False)
        self.duals[part.start] = newton.A[0]
        S = newton.S[0] + start
        W = centre + product(X.T, newton.A[0]) / prior.float()
        curvature = product(squares, system.pairs.derivatives(S)[1])
        variance = 1 / (prior.float() + curvature)
        value = float(system.pairs.value(S).sum())
        return W.T.cpu().numpy(), variance.T.cpu().numpy(), value
