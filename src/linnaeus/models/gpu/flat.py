"""Labels that know nothing of each other, a block at a time: the flat models on a device.

    min_w  1/2 |w|^2 + sum_i c_i loss(y_i w'x_i)       for every column of a block

Squared hinge: nearly every document is a negative of a label, and nine tenths of them are beyond the margin under the
weights w0 that say "no" to everything. w0 is solved once; a block starts there and looks only at documents near the
margin of w0 and at its own positives, with their features. Then all documents are looked at, those that the margin has
caught join, and the block goes on, until there are none or they change nothing. The logistic loss feels every
document: its blocks have all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from linnaeus.models.gpu.columns import Columns, Positives, shared_negative
from linnaeus.models.gpu.documents import Tensor, with_constant
from linnaeus.models.gpu.newton import Newton
from linnaeus.models.gpu.products import product
from linnaeus.models.gpu.screening import beyond, caught, grown, near_margin, with_rows
from linnaeus.models.gpu.streamed import Documents, placed
from linnaeus.typing import FloatArray, Matrix

__all__ = ["FlatBlock", "FlatTraining"]

_REFRESHES = 8  # of the scores, where operands are rounded to bfloat16


@dataclass
class FlatBlock:
    """The labels ``positives`` (CSC, n_docs x n_columns), solved on some documents, then on all."""

    training: FlatTraining
    positives: Any
    weight: Tensor  # of the columns' positives
    system: Columns = field(init=False)
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

    def __init__(self, X: Matrix, bound: FloatArray, *, loss: str, bias: float, tol: float, engine: Any) -> None:
        self.loss, self.device, self.engine = loss, engine.device, engine
        self.storage = torch.bfloat16 if engine.storage == "bfloat16" else torch.float32
        self.X = placed(with_constant(X, bias), engine)
        self.cost = torch.as_tensor(bound.astype(np.float32), device=engine.device)
        self.start, self.scores = shared_negative(self.X, self.cost, loss, 0.3 * tol)
        self.near = near_margin(loss, self.start, self.scores)  # documents of every block; None: all
