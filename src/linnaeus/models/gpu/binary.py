"""Blocks of binary problems on a device, as `linnaeus.models.flat` runs them: plain data, and a plain method to solve.

Documents travel to the device with the first block that a process solves, and stay. What travels between processes
(with Ray, one task per GPU) are the arrays themselves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from linnaeus.engine.gpu import GPUEngine
from linnaeus.engine.memory import format_bytes
from linnaeus.errors import EngineError
from linnaeus.models.gpu.flat import FlatBlock, FlatTraining
from linnaeus.models.solvers.solution import BlockSolution
from linnaeus.typing import FloatArray, Matrix

__all__ = ["DeviceTraining", "device_block_size", "forecast"]

_MOST = 1024  # labels of a block: more fill no device better, and share fewer documents
_VECTORS = 11  # arrays of the shape of the scores that a block holds at a time
_SLACK = 1.05  # float32 and float64 do not agree to the last digit on what is small enough


class _Held:
    """What a process holds on its device; another process gets an empty one."""

    def __init__(self) -> None:
        self.value: FlatTraining | None = None

    def __reduce__(self) -> Any:
        return _Held, ()


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
        W = block.weights().cpu().numpy().astype(self.X.dtype, copy=False)
        intercept = W[-1] * self.bias if self.bias else np.zeros(n_columns, W.dtype)
        converged = bool((gap <= _SLACK * self.tol * objective).all())
        return BlockSolution(W[:-1] if self.bias else W, intercept, objective, gap, block.n_steps, converged)


def forecast(X: Matrix, columns: int) -> dict[str, int]:
    """Bytes on the device: documents and their transpose, and a block of labels at the most."""
    nnz = X.nnz if hasattr(X, "nnz") else X.size
    documents = 2 * (8 * nnz + 8 * sum(X.shape))
    return {"documents": int(documents), "block": 4 * columns * (_VECTORS * X.shape[0] + 3 * X.shape[1])}


def device_block_size(X: Matrix, engine: GPUEngine, n_labels: int) -> int:
    """Labels at a time that fit beside the documents; an error where not one does."""
    free = engine.free_memory()
    sizes = forecast(X, 1)
    left = free - sizes["documents"]
    if left < sizes["block"]:
        docs = max(0, int(X.shape[0] * free / (sizes["documents"] + sizes["block"])))
        raise EngineError(
            f"The documents take {format_bytes(sizes['documents'])} on {engine.device} and a label "
            f"{format_bytes(sizes['block'])}, but {format_bytes(free)} are free; about {docs:,} documents would fit."
        )
    most = engine.columns or _MOST
    return int(max(1, min(n_labels, most, left // sizes["block"])))
