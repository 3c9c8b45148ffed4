"""Blocks of binary problems on a device, as `linnaeus.models.flat` runs them: plain data, and a plain method to solve.

Documents travel to the device with the first block that a process solves, and stay. What travels between processes
(with Ray, one task per GPU) are the arrays themselves.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from linnaeus.engine.gpu import GPUEngine
from linnaeus.engine.limits import format_bytes
from linnaeus.errors import EngineError
from linnaeus.models.gpu.documents import Tensor
from linnaeus.models.gpu.flat import FlatBlock, FlatTraining
from linnaeus.models.gpu.streamed import resident_bytes
from linnaeus.models.solvers.solution import BlockSolution
from linnaeus.typing import FloatArray, Matrix

__all__ = ["DeviceTraining", "device_block_size", "forecast"]

_MOST = 1024  # labels of a block: more fill no device better, and share fewer documents
_VECTORS = 11  # arrays of the shape of the scores that a block holds at a time
_SLACK = 1.05  # float32 and float64 do not agree to the last digit on what is small enough


class _Held:
    """What a process holds on its device. Another process begins with nothing, and then holds it from task to task."""

    def __init__(self) -> None:
        self.value: FlatTraining | None = None
        self.token = secrets.token_hex(16)

    def __reduce__(self) -> Any:
        return _held_here, (self.token,)


_HELD_HERE: dict[str, _Held] = {}


def _held_here(token: str) -> _Held:
    """What a worker holds of the fit that it works for; the fit before is let go."""
    if token not in _HELD_HERE:
        _HELD_HERE.clear()
        _HELD_HERE[token] = _Held()
    return _HELD_HERE[token]


@dataclass(frozen=True)
class DeviceTraining:
    """Documents, the bound c_i of every document, the loss and when to stop; see `solvers.binary.BinaryTraining`."""

    X: Matrix
    bound: FloatArray
    loss: str
    bias: float
    tol: float
    max_iter: int
    engine: GPUEngine
    block_size: int
    prune_below: float = 0.0
    held: _Held = field(default_factory=_Held, compare=False)

    def solve(self, task: tuple[Any, ...]) -> BlockSolution:
        """One block: (positives, seed, weights of the columns' positives)."""
        positives, _, *weight = task
        n_columns = positives.shape[1]
        weights = np.ones(n_columns) if not weight or weight[0] is None else weight[0]
        if self.held.value is None:
            options: dict[str, Any] = {"loss": self.loss, "bias": self.bias, "tol": self.tol, "engine": self.engine}
            self.held.value = FlatTraining(self.X, self.bound, **options)
        training = self.held.value
        weight_ = torch.as_tensor(np.asarray(weights, np.float32), device=training.device)
        block = FlatBlock(training, positives.tocsc(), weight_)
        block.solve(self.tol, self.max_iter)
        objective, gap = (x.cpu().numpy() for x in block.certificate())
        W, dtype = block.weights(), self.X.dtype
        intercept: FloatArray = np.zeros(n_columns, dtype)
        if self.bias:
            intercept, W = (W[-1] * self.bias).cpu().numpy().astype(dtype, copy=False), W[:-1]
        converged = bool((gap <= _SLACK * self.tol * objective).all())
        weights_ = _fetched(W, self.prune_below, dtype)
        return BlockSolution(weights_, intercept, objective, gap, block.n_steps, converged)


def _fetched(W: Tensor, prune_below: float, dtype: Any) -> Any:
    """Weights on the host; where they are pruned only those that stay travel, as CSR."""
    if not prune_below:
        return W.cpu().numpy().astype(dtype, copy=False)
    from scipy import sparse

    stays = (W.abs() >= prune_below) & (W != 0)
    indptr = torch.cat([torch.zeros(1, dtype=torch.int64, device=W.device), stays.sum(1).cumsum(0)])
    data, columns = W[stays], torch.nonzero(stays)[:, 1].to(torch.int32)
    parts = (data.cpu().numpy().astype(dtype, copy=False), columns.cpu().numpy(), indptr.cpu().numpy())
    return sparse.csr_array(parts, shape=tuple(W.shape))


def forecast(X: Matrix, columns: int, free: int, loss: str) -> dict[str, int]:
    """Bytes on a device with ``free`` bytes: documents, or what streaming them takes, and a block of labels at most."""
    # Of streamed documents the squared hinge keeps those near the margin, a third at most in all that was measured.
    documents, streamed = resident_bytes(X, free, screened=1 / 3 if loss == "squared_hinge" else 0.0)
    block = 4 * columns * (_VECTORS * X.shape[0] + 3 * X.shape[1])
    return {"documents, streamed" if streamed else "documents": documents, "block": block}


def device_block_size(X: Matrix, engine: GPUEngine, n_labels: int, loss: str) -> int:
    """Labels at a time that fit beside the documents; an error where not one does."""
    free = engine.free_memory()
    documents, block = forecast(X, 1, free, loss).values()
    left = free - documents
    if left < block:
        docs = max(0, int(X.shape[0] * free / (documents + block)))
        raise EngineError(
            f"The documents take {format_bytes(documents)} on {engine.device} and a label {format_bytes(block)}, but "
            f"{format_bytes(free)} are free; about {docs:,} documents would fit."
        )
    most = engine.columns or _MOST
    return int(max(1, min(n_labels, most, left // block)))
