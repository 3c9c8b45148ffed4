"""Labels that know nothing of each other, a block at a time: the flat models on a device.

    min_w  1/2 |w|^2 + sum_i c_i loss(y_i w'x_i)       for every column of a block

Squared hinge: nearly every document is a negative of a label, and nine tenths of them are beyond the margin under the
weights w0 that say "no" to everything. w0 is solved once; a block starts there and looks only at documents near the
margin of w0 and at its own positives, with their features. Then all documents are looked at, those that the margin has
caught join, and the block continues, until there are none or they change nothing. The logistic loss feels every
document: its blocks have all of them.

`DeviceTraining` is what `linnaeus.models.flat` runs: plain data, and a plain method to solve a block. Documents travel
to the device with the first block that a process solves, and stay. What travels between processes (with Ray, one task
per GPU) are the arrays themselves.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse

from linnaeus.data.matrices import with_constant
from linnaeus.engine import format_bytes
from linnaeus.engine.gpu import GPUEngine
from linnaeus.errors import EngineError
from linnaeus.models.gpu.columns import (
    LabelColumns,
    Positives,
    beyond,
    caught,
    grown,
    near_margin,
    shared_negative,
    with_rows,
)
from linnaeus.models.gpu.documents import Tensor, product
from linnaeus.models.gpu.newton import Newton
from linnaeus.models.gpu.streamed import Documents, placed, resident_bytes
from linnaeus.models.solvers import BlockSolution, BlockTask
from linnaeus.typing import CSR, FloatArray, Matrix

__all__ = ["DeviceTraining", "FlatBlock", "FlatTraining", "device_block_size", "forecast"]

_REFRESHES = 8  # of the scores, where operands are rounded to bfloat16


@dataclass
class FlatBlock:
    """The labels ``positives`` (CSC, n_docs x n_columns), solved on some documents, then on all."""

    training: FlatTraining
    positives: CSR
    weight: Tensor  # of the columns' positives
    system: LabelColumns = field(init=False)
    rows: Tensor | None = field(init=False)  # documents that are looked at; None: all
    features: Tensor | None = field(init=False)  # that these have; None: all
    n_steps: int = 0
    n_products: int = 0

    def __post_init__(self) -> None:
        training, Y = self.training, self.positives.tocoo()
        docs, labels = (torch.as_tensor(x.astype(np.int64), device=training.device) for x in (Y.row, Y.col))
        self._positives = Positives(docs, labels, training.cost[docs] * self.weight[labels])
        self.rows = training.near if training.near is None else torch.unique(torch.cat([training.near, docs]))
        self._take_rows()
        self.A = self._at_start(training.start)
        self.S = self._at_start(training.scores) if self.rows is None else self.system.apply(self.A)

    @property
    def X(self) -> Documents:
        return self.system.X

    @property
    def n_columns(self) -> int:
        return self.positives.shape[1]

    def _take_rows(self) -> None:
        """The part of X that the block looks at, and the pairs in it."""
        training = self.training
        place = (training.X, self.rows, training.cost)
        self.system, self.features = self._positives.looked_at(*place, training.loss, training.storage)

    def _at_start(self, start: Tensor) -> Tensor:
        start = start if self.rows is None else start[self.rows]
        return start[:, None].expand(-1, self.n_columns).contiguous()

    def solve(self, tol: float, max_steps: int) -> tuple[Tensor, Tensor]:
        """(objective, gap) of every column, over all documents."""
        training = self.training
        while True:
            objective, gap = self._newton(tol, max_steps)
            if self.rows is None:
                return objective, gap
            more = caught(training.X, self.weights().to(training.storage), self.rows, training.engine)
            if not len(more):
                return objective, gap
            self.rows, order = with_rows(self.rows, more)
            self.A = grown(self.A, order)
            self._take_rows()
            self.S = self.system.apply(self.A)

    def _newton(self, tol: float, max_steps: int) -> tuple[Tensor, Tensor]:
        """Newton's method on the block's documents.

        Scores are carried along, and drift where operands are rounded: they are then recomputed in float32, and
        the method continues from there until that leaves nothing to do.
        """
        for _ in range(_REFRESHES):
            newton = Newton(self.system, self.A, self.S, n_steps=self.n_steps)
            objective, gap = newton.run(tol, max_steps)
            self.A, self.S = newton.A, newton.S
            self.n_products += newton.n_products
            rested, self.n_steps = newton.n_steps == self.n_steps, newton.n_steps
            if self.system.storage == torch.float32 or rested:
                break
            self.S = LabelColumns(self.X, self.system.pairs).apply(self.A)
        return objective, gap

    def certificate(self) -> tuple[Tensor, Tensor]:
        """(objective, gap) of every column in float64, over all documents.

        Dual variables are the loss's derivatives on the block's documents and 0 on the others, which is feasible
        whatever they score; what others cost, if anything, is part of the gap.
        """
        training, X, pairs = self.training, self.X, self.system.pairs
        weights = product(X.T, self.A.double(), exact=True)
        S = product(X, weights, exact=True)
        rho = pairs.derivatives(S)[0] + self.A.double()
        gap = 0.5 * (product(X.T, rho, exact=True) ** 2).sum(0)
        objective = 0.5 * (weights**2).sum(0) + pairs.value(S)
        if self.rows is not None:
            more = beyond(training.X, self._everywhere(weights.float()), self.rows, training.cost, training.engine)
            objective, gap = objective + more, gap + more
        return objective, gap

    def weights(self) -> Tensor:
        """n_features x n_columns, the constant feature last."""
        return self._everywhere(product(self.X.T, self.A))

    def _everywhere(self, found: Tensor) -> Tensor:
        """Weights of the block's features as weights of all features."""
        if self.features is None:
            return found
        W = torch.zeros((self.training.X.n_columns, self.n_columns), device=found.device)
        W[self.features] = found
        return W


class FlatTraining:
    """What the blocks of a flat model share on a device: documents, costs, and the start."""

    def __init__(self, X: Matrix, bound: FloatArray, *, loss: str, bias: float, tol: float, engine: GPUEngine) -> None:
        self.loss, self.device, self.engine = loss, engine.device, engine
        self.storage = torch.bfloat16 if engine.storage == "bfloat16" else torch.float32
        self.X = placed(sparse.csr_array(with_constant(sparse.csr_array(X), bias)), engine)
        self.cost = torch.as_tensor(bound.astype(np.float32), device=engine.device)
        self.start, self.scores = shared_negative(self.X, self.cost, loss, 0.3 * tol)
        self.near = near_margin(loss, self.start, self.scores)  # documents of every block; None: all


_MOST = 1024  # labels of a block: more fill no device better, and share fewer documents
_VECTORS = 11  # arrays of the shape of the scores that a block holds at a time
_SLACK = 1.05  # float32 and float64 do not agree to the last digit on what is small enough


class _Held:
    """What a process holds on its device. Another process begins with nothing, and then holds it from task to task."""

    def __init__(self) -> None:
        self.value: FlatTraining | None = None
        self.token = secrets.token_hex(16)

    def __reduce__(self) -> tuple[Callable[[str], _Held], tuple[str]]:
        return _held_here, (self.token,)


_HELD_HERE: dict[str, _Held] = {}


def _held_here(token: str) -> _Held:
    """What a worker holds of the fit that it works for; that of an earlier fit is released."""
    if token not in _HELD_HERE:
        _HELD_HERE.clear()
        _HELD_HERE[token] = _Held()
    return _HELD_HERE[token]


@dataclass(frozen=True)
class DeviceTraining:
    """Documents, the bound c_i of every document, the loss and when to stop; see `solvers.dual_cd.BinaryTraining`."""

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

    def solve(self, task: BlockTask) -> BlockSolution:
        """One block: (positives, seed, weights of the columns' positives)."""
        positives, _, *weight = task
        n_columns = positives.shape[1]
        weights = np.ones(n_columns) if not weight or weight[0] is None else weight[0]
        if self.held.value is None:
            self.held.value = FlatTraining(
                self.X, self.bound, loss=self.loss, bias=self.bias, tol=self.tol, engine=self.engine
            )
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


def _fetched(W: Tensor, prune_below: float, dtype: npt.DTypeLike) -> Matrix:
    """Weights on the host; where they are pruned only those that stay travel, as CSR."""
    if not prune_below:
        return W.cpu().numpy().astype(dtype, copy=False)
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
