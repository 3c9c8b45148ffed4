"""Labels that know nothing of each other, a block at a time: the flat models on a device.

    min_w  1/2 |w|^2 + sum_i c_i loss(y_i w'x_i)       for every column of a block

Squared hinge: nearly every document is a negative of a label, and nine tenths of them are beyond the margin under the
weights w0 that say "no" to everything. w0 is solved once; a block starts there and looks only at documents near the
margin of w0 and at its own positives, with their features. Then all documents are looked at, those that the margin has
caught join, and the block goes on, until there are none or they change nothing. The logistic loss feels every
document: its blocks have all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from linnaeus.models.gpu.documents import Tensor, with_constant
from linnaeus.models.gpu.losses import Pairs
from linnaeus.models.gpu.newton import Newton
from linnaeus.models.gpu.products import product
from linnaeus.models.gpu.streamed import Documents, placed
from linnaeus.typing import FloatArray, Matrix

__all__ = ["Columns", "FlatBlock", "FlatTraining", "no_pairs", "pieces", "shared_negative"]

_NEAR = 0.1  # scores of w0 from which a document is looked at: above -1 - _NEAR
_STEPS_AT_START = 30
_REFRESHES = 8  # of the scores, where operands are rounded to bfloat16


@dataclass
class Columns:
    """A block as Newton's method sees it: independent columns, each with a number K of its own."""

    X: Documents
    pairs: Pairs
    storage: torch.dtype = torch.float32
    inverse: Tensor | None = None  # K of every column; None: 1

    def apply(self, rho: list[Tensor]) -> list[Tensor]:
        exact = self.storage == torch.float64
        weights = product(self.X.T, rho[0].to(self.storage), exact=exact)
        if self.inverse is not None:
            weights *= self.inverse.to(weights.dtype)
        return [product(self.X, weights.to(self.storage), exact=exact)]

    def total(self, columns: list[Tensor]) -> Tensor:
        return columns[0]

    def losses(self, S: list[Tensor]) -> Tensor:
        return self.pairs.value(S[0])

    def derivatives(self, S: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        R, D = self.pairs.derivatives(S[0])
        return [R], [D]


def no_pairs(device: Any) -> tuple[Tensor, Tensor, Tensor]:
    """No positives."""
    nowhere = torch.zeros(0, dtype=torch.int64, device=device)
    return nowhere, nowhere, torch.zeros(0, device=device)


def shared_negative(X: Documents, cost: Tensor, loss: str, tol: float) -> tuple[Tensor, Tensor]:
    """(dual variables, scores), n_docs each, of the label that no document has.

    In float64: for the joint problem costs are those of all leaves together, and float32 would not tell steps apart.
    """
    system = Columns(X, Pairs(loss, cost.double()[:, None], *no_pairs(X.device)), torch.float64)
    zero = torch.zeros((X.n_rows, 1), dtype=torch.float64, device=X.device)
    newton = Newton(system, [zero], [zero.clone()])
    newton.run(tol, _STEPS_AT_START)
    # At the optimum A = -R. Documents beyond the margin have R = 0, and nearly 0 shall be nothing.
    A = torch.where(system.derivatives(newton.S)[0][0] == 0, 0, newton.A[0])
    return A[:, 0].float(), system.apply([A])[0][:, 0].float()


@dataclass
class FlatBlock:
    """The labels ``positives`` (CSC, n_docs x n_columns), solved on some documents, then on all."""

    training: FlatTraining
    positives: Any
    weight: Tensor  # of the columns' positives
    X: Documents = field(init=False)
    system: Columns = field(init=False)
    rows: Tensor | None = field(init=False)  # documents that are looked at; None: all
    features: Tensor | None = field(init=False)  # that these have; None: all
    n_steps: int = 0
    n_products: int = 0

    def __post_init__(self) -> None:
        training, Y = self.training, self.positives.tocoo()
        self.docs = torch.as_tensor(Y.row.astype(np.int64), device=training.device)
        self.columns = torch.as_tensor(Y.col.astype(np.int64), device=training.device)
        self.rows = training.near if training.near is None else torch.unique(torch.cat([training.near, self.docs]))
        self._take_rows()
        self.A = self._at_start(training.start)
        self.S = [self.system.apply(self.A)[0]] if training.near is not None else [self._at_start(training.scores)[0]]

    @property
    def n_columns(self) -> int:
        return self.positives.shape[1]

    def _take_rows(self) -> None:
        """The part of X that the block looks at, and the pairs in it."""
        training = self.training
        cost = training.cost if self.rows is None else training.cost[self.rows]
        place = self.docs if self.rows is None else torch.searchsorted(self.rows, self.docs)
        if self.rows is None:
            self.X, self.features = training.X, None
        else:
            self.X, self.features = training.X.part(self.rows)
        positive = training.cost[self.docs] * self.weight[self.columns]
        pairs = Pairs(training.loss, cost[:, None], place, self.columns, positive)
        self.system = Columns(self.X, pairs, training.storage)

    def _at_start(self, start: Tensor) -> list[Tensor]:
        start = start if self.rows is None else start[self.rows]
        return [start[:, None].expand(-1, self.n_columns).contiguous()]

    def solve(self, tol: float, max_steps: int) -> tuple[Tensor, Tensor]:
        """(objective, gap) of every column, over all documents."""
        while True:
            objective, gap = self._newton(tol, max_steps)
            if self.rows is None:
                return objective, gap
            caught = self._caught()
            if not len(caught):
                return objective, gap
            self._join(caught)

    def _newton(self, tol: float, max_steps: int) -> tuple[Tensor, Tensor]:
        """Newton's method on the block's documents.

        Scores are carried along, and drift where operands are rounded: they are then computed anew in float32, and
        it goes on from there until that leaves nothing to do.
        """
        for _ in range(_REFRESHES):
            newton = Newton(self.system, self.A, self.S, n_steps=self.n_steps)
            objective, gap = newton.run(tol, max_steps)
            self.A, self.S = newton.A, newton.S
            self.n_products += newton.n_products
            rested, self.n_steps = newton.n_steps == self.n_steps, newton.n_steps
            if self.system.storage == torch.float32 or rested:
                break
            self.S = Columns(self.X, self.system.pairs).apply(self.A)
        return objective, gap

    def _caught(self) -> Tensor:
        """Documents within the margin of some column that the block does not look at."""
        training = self.training
        W = torch.zeros((training.X.n_columns, self.n_columns), device=training.device, dtype=training.storage)
        W[self.features] = product(self.X.T, self.A[0]).to(training.storage)
        hit = torch.zeros(training.X.n_rows, dtype=torch.bool, device=training.device)
        for part in training.parts(self.n_columns):
            hit[part] = (product(training.X.slice(part), W) > -1).any(1)
        hit[self.rows] = False
        return torch.nonzero(hit).flatten()

    def _join(self, caught: Tensor) -> None:
        assert self.rows is not None
        rows, order = torch.sort(torch.cat([self.rows, caught]))
        none = torch.zeros((len(caught), self.n_columns), device=self.training.device)
        self.rows, self.A = rows, [torch.cat([self.A[0], none])[order]]
        self._take_rows()
        self.S = self.system.apply(self.A)

    def certificate(self) -> tuple[Tensor, Tensor]:
        """(objective, gap) of every column in float64, over all documents.

        Dual variables are the loss's derivatives on the block's documents and 0 on the others, which is feasible
        whatever they score; what others cost, if anything, is part of the gap.
        """
        training, X, pairs = self.training, self.X, self.system.pairs
        weights = product(X.T, self.A[0].double(), exact=True)
        S = product(X, weights, exact=True)
        rho = pairs.derivatives(S)[0] + self.A[0].double()
        gradient = product(X.T, rho, exact=True)
        gap = 0.5 * (gradient**2).sum(0)
        objective = 0.5 * (weights**2).sum(0) + pairs.value(S)
        if self.rows is not None:
            W = torch.zeros((training.X.n_columns, self.n_columns), device=training.device)
            W[self.features] = weights.float()
            others = torch.ones(training.X.n_rows, dtype=torch.bool, device=training.device)
            others[self.rows] = False
            for part in training.parts(2 * self.n_columns):
                beyond = torch.clamp(product(training.X.slice(part), W, exact=True) + 1, min=0)
                cost = (training.cost[part] * others[part])[:, None]
                more = (cost * beyond**2).sum(0)
                objective, gap = objective + more, gap + more
        return objective, gap

    def weights(self) -> Tensor:
        """n_features x n_columns, the constant feature last."""
        found = product(self.X.T, self.A[0])
        if self.features is None:
            return found
        W = torch.zeros((self.training.X.n_columns, self.n_columns), device=found.device)
        W[self.features] = found
        return W


class FlatTraining:
    """What the blocks of a flat model share on a device: documents, costs, and the start."""

    def __init__(self, X: Matrix, bound: FloatArray, *, loss: str, bias: float, tol: float, engine: Any) -> None:
        self.loss, self.device, self.engine = loss, engine.device, engine
        self.storage = torch.bfloat16 if engine.storage == "bfloat16" else torch.float32
        self.X = placed(with_constant(X, bias), engine)
        self.cost = torch.as_tensor(bound.astype(np.float32), device=engine.device)
        self.start, self.scores = shared_negative(self.X, self.cost, loss, 0.3 * tol)
        self.near: Tensor | None = None  # documents of every block; None: all
        if loss == "squared_hinge":
            self.near = torch.nonzero((self.scores > -1 - _NEAR) | (self.start != 0)).flatten()

    def parts(self, n_columns: int) -> Iterator[slice]:
        """Documents in pieces whose scores take an eighth of the free memory at most."""
        return pieces(self.X.n_rows, 8 * n_columns + self.X.row_bytes, self.engine)


def pieces(n_rows: int, row_bytes: int, engine: Any) -> Iterator[slice]:
    """Rows in pieces that take an eighth of the device's free memory at most."""
    rows = max(1, min(n_rows, engine.free_memory() // (8 * max(1, row_bytes))))
    for first in range(0, n_rows, rows):
        yield slice(first, min(first + rows, n_rows))
