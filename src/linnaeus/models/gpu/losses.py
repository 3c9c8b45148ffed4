"""Losses over blocks of pairs document x label, with their first and second derivatives by the score.

Nearly all pairs are negative. A block is computed as if all were, and its positives, a short list, are put right.

    squared hinge   negative: c (1 + s)_+^2       positive: c (1 - s)_+^2
    logistic        negative: c log(1 + e^s)      positive: c log(1 + e^-s)
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from linnaeus.models.gpu.documents import Tensor

__all__ = ["Pairs"]


@dataclass
class Pairs:
    """The pairs of some documents and labels: costs of the documents, and where the positives are."""

    loss: str
    cost: Tensor  # n_rows x 1
    rows: Tensor  # of the positives
    columns: Tensor
    positive_cost: Tensor

    def value(self, S: Tensor) -> Tensor:
        """The loss of every column, in float64."""
        if S.is_cuda and S.dtype == torch.float32:
            from linnaeus.models.gpu import triton_vectors

            value = triton_vectors.losses(S.contiguous(), self.cost, self.loss == "logistic")
        else:
            value = (self.cost * self._loss(S)).sum(0, dtype=torch.float64)
        s, c = S[self.rows, self.columns], self.cost[self.rows, 0]
        more = self.positive_cost.double() * self._loss(-s).double() - c.double() * self._loss(s).double()
        return value.index_add_(0, self.columns, more)

    def derivatives(self, S: Tensor) -> tuple[Tensor, Tensor]:
        """(first, second) derivatives by the scores, as S is."""
        if S.is_cuda and S.dtype == torch.float32:
            from linnaeus.models.gpu import triton_vectors

            R, D = triton_vectors.slopes(S.contiguous(), self.cost, self.loss == "logistic")
        else:
            R, D = self._derivatives(S)
            R, D = R * self.cost, D * self.cost
        r, d = self._derivatives(-S[self.rows, self.columns])
        R[self.rows, self.columns] = -(r * self.positive_cost).to(R.dtype)
        D[self.rows, self.columns] = (d * self.positive_cost).to(D.dtype)
        return R, D

    def _loss(self, s: Tensor) -> Tensor:
        """Of negatives."""
        if self.loss == "logistic":
            return torch.nn.functional.softplus(s)
        return torch.clamp(s + 1, min=0) ** 2

    def _derivatives(self, s: Tensor) -> tuple[Tensor, Tensor]:
        if self.loss == "logistic":
            p = torch.sigmoid(s)
            return p, p * (1 - p)
        z = torch.clamp(s + 1, min=0)
        return 2 * z, 2 * (z > 0).to(s.dtype)
