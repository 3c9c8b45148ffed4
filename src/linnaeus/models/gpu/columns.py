"""Columns of labels over some documents, as Newton's method sees them, and the one column that starts them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from linnaeus.models.gpu.documents import Tensor
from linnaeus.models.gpu.losses import Pairs
from linnaeus.models.gpu.newton import Newton
from linnaeus.models.gpu.products import product
from linnaeus.models.gpu.streamed import Documents

__all__ = ["Columns", "Positives", "shared_negative"]

_STEPS_AT_START = 30


@dataclass
class Columns:
    """A block as Newton's method sees it: independent columns, each with a number K of its own."""

    X: Documents
    pairs: Pairs
    storage: torch.dtype = torch.float32
    inverse: Tensor | None = None  # K of every column; None: 1

    def apply(self, rho: Tensor) -> Tensor:
        exact = self.storage == torch.float64
        weights = product(self.X.T, rho.to(self.storage), exact=exact)
        if self.inverse is not None:
            weights *= self.inverse.to(weights.dtype)
        return product(self.X, weights.to(self.storage), exact=exact)

    def losses(self, S: Tensor) -> Tensor:
        return self.pairs.value(S)

    def derivatives(self, S: Tensor) -> tuple[Tensor, Tensor]:
        return self.pairs.derivatives(S)


@dataclass(frozen=True)
class Positives:
    """Where the positives of a block of labels are among all documents, and what each costs."""

    docs: Tensor
    labels: Tensor
    cost: Tensor

    def looked_at(
        self,
        X: Documents,
        rows: Tensor | None,
        cost: Tensor,
        loss: str,
        storage: torch.dtype,
        inverse: Tensor | None = None,
    ) -> tuple[Columns, Tensor | None]:
        """(the columns over some documents, or over all; the features that these have, None: all)."""
        place, features = self.docs, None
        if rows is not None:
            cost, place = cost[rows], torch.searchsorted(rows, self.docs)
            X, features = X.part(rows)
        return Columns(X, Pairs(loss, cost[:, None], place, self.labels, self.cost), storage, inverse), features


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
    newton = Newton(system, zero, zero.clone())
    newton.run(tol, _STEPS_AT_START)
    # At the optimum A = -R. Documents beyond the margin have R = 0, and nearly 0 shall be nothing.
    A = torch.where(system.derivatives(newton.S)[0] == 0, 0, newton.A)
    return A[:, 0].float(), system.apply(A)[:, 0].float()
