"""Modes by parts on a GPU: `stages.InTurn` with blocks of a thousand leaves, solved in dual variables.

A leaf is w = w_parent + X'a / prec. The dual variables a of all leaves stay on the device from round to round and are
the start of the next, whatever has become of parents and precisions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnaeus.engine.gpu import GPUEngine
from linnaeus.engine.limits import blocks, format_bytes
from linnaeus.errors import EngineError, ParameterError
from linnaeus.models.bayes.stages import InTurn
from linnaeus.typing import FloatArray

__all__ = ["OnDevice"]

_BLOCK = 1024
_TOLERANCE = 1e-6
_VECTORS = 11  # arrays of the shape of the scores that a block holds at a time


@dataclass
class OnDevice(InTurn):
    """`InTurn` whose engine is a `GPUEngine`."""

    duals: dict[int, Any] = field(default_factory=dict)
    documents: Any = None

    def __post_init__(self) -> None:
        assert isinstance(self.engine, GPUEngine)
        if self.engine.cluster is not None:
            raise ParameterError("GPUEngine(cluster=...) trains flat models; HBLR needs one GPU here.")
        n_docs, n_leaves = self.Y.shape
        nnz = self.X.nnz if hasattr(self.X, "nnz") else self.X.size
        width, free = min(n_leaves, self.engine.columns or _BLOCK), self.engine.free_memory()
        needed = 24 * nnz + 4 * n_docs * n_leaves + 4 * width * (_VECTORS * n_docs + 4 * self.X.shape[1])
        if needed > free:
            raise EngineError(
                f"HBLR needs {format_bytes(needed)} on {self.engine.device} for {n_docs:,} documents and {n_leaves:,} "
                f"labels, of which {format_bytes(free)} are free; about {int(n_leaves * free / needed):,} labels would "
                "fit. engine='threads' needs no device memory."
            )
        super().__post_init__()

    def _solved(self, rho: FloatArray) -> Iterator[tuple[slice, tuple[FloatArray, FloatArray, float]]]:
        assert isinstance(self.engine, GPUEngine)
        for part in blocks(self.tree.n_leaves, self.engine.columns or _BLOCK):
            yield part, self._block(part, rho)

    def _block(self, part: slice, rho: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        import torch
        from scipy import sparse

        from linnaeus.models.gpu.columns import LabelColumns, LossPairs
        from linnaeus.models.gpu.documents import on_device, product, squares
        from linnaeus.models.gpu.newton import Newton

        assert isinstance(self.engine, GPUEngine)
        device = self.engine.device
        if self.documents is None:
            X = on_device(sparse.csr_array(self.X), device)
            cost = torch.as_tensor(self.c.astype(np.float32), device=device)
            self.documents = X, squares(X), cost
        X, X_squares, cost = self.documents
        leaves = self.tree.leaves[part]
        Y = self.Y[:, part].tocoo()
        rows, columns = (torch.as_tensor(x.astype(np.int64), device=device) for x in (Y.row, Y.col))
        prior = torch.as_tensor(rho[leaves, 0], device=device)
        centre = torch.as_tensor(self.weights[self.tree.parent[leaves]].astype(np.float32), device=device).T
        system = LabelColumns(X, LossPairs("logistic", cost[:, None], rows, columns, cost[rows]), inverse=1 / prior)
        A = self.duals.get(part.start)
        if A is None:
            A = torch.zeros((X.n_rows, len(leaves)), device=device)
        start = product(X, centre.contiguous())
        newton = Newton(system, A, system.apply(A), start)
        newton.run(_TOLERANCE, self.shared.n_steps, measure=False)
        self.duals[part.start] = newton.A
        S = newton.S + start
        W = centre + product(X.T, newton.A) / prior.float()
        curvature = product(X_squares, system.pairs.derivatives(S)[1])
        variance = 1 / (prior.float() + curvature)
        value = float(system.pairs.value(S).sum())
        return W.T.cpu().numpy(), variance.T.cpu().numpy(), value
