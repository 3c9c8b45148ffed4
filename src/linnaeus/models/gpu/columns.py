"""LabelColumns of labels over some documents, as Newton's method sees them, and the one column that starts them all.

Nearly all pairs document x label are negative. A block of losses is computed as if all were, and its positives, a short
list, are corrected (`LossPairs`):

    squared hinge   negative: c (1 + s)_+^2       positive: c (1 - s)_+^2
    logistic        negative: c log(1 + e^s)      positive: c log(1 + e^-s)

A block of leaves of the joint problem (`DeviceLeaves`) has the weights w_n = sum_p s_np m_p + u_n, u_n = X'a_n / r_n.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch

from linnaeus.losses.surrogate import SURROGATES
from linnaeus.models.gpu.documents import Tensor, product
from linnaeus.models.gpu.newton import Newton
from linnaeus.models.gpu.streamed import Documents

__all__ = ["DeviceLeaves", "LabelColumns", "LossPairs", "Positives", "shared_negative"]


@dataclass
class LossPairs:
    """The pairs of some documents and labels: costs of the documents, and where the positives are."""

    loss: str
    cost: Tensor  # n_rows x 1
    rows: Tensor  # of the positives
    columns: Tensor
    positive_cost: Tensor

    def value(self, S: Tensor) -> Tensor:
        """The loss of every column, in float64."""
        if S.is_cuda and S.dtype == torch.float32:
            from linnaeus.models.gpu import triton_kernels

            value = triton_kernels.losses(S.contiguous(), self.cost, self.loss == "logistic")
        else:
            value = (self.cost * self._loss(S)).sum(0, dtype=torch.float64)
        s, c = S[self.rows, self.columns], self.cost[self.rows, 0]
        more = self.positive_cost.double() * self._loss(-s).double() - c.double() * self._loss(s).double()
        return value.index_add_(0, self.columns, more)

    def derivatives(self, S: Tensor) -> tuple[Tensor, Tensor]:
        """(first, second) derivatives by the scores, as S is."""
        if S.is_cuda and S.dtype == torch.float32:
            from linnaeus.models.gpu import triton_kernels

            R, D = triton_kernels.slopes(S.contiguous(), self.cost, self.loss == "logistic")
        else:
            R, D = self._derivatives(S)
            R, D = R * self.cost, D * self.cost
        r, d = self._derivatives(-S[self.rows, self.columns])
        R[self.rows, self.columns] = -(r * self.positive_cost).to(R.dtype)
        D[self.rows, self.columns] = (d * self.positive_cost).to(D.dtype)
        return R, D

    def _loss(self, s: Tensor) -> Tensor:
        """Of negatives."""
        return SURROGATES[self.loss].value(-s, torch)

    def _derivatives(self, s: Tensor) -> tuple[Tensor, Tensor]:
        _, slope, curvature = SURROGATES[self.loss].expand(-s, torch)
        return -slope, curvature


_STEPS_AT_START = 30


@dataclass
class LabelColumns:
    """A block as Newton's method sees it: independent columns, each with a number K of its own."""

    X: Documents
    pairs: LossPairs
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
    ) -> tuple[LabelColumns, Tensor | None]:
        """(the columns over some documents, or over all; the features that these have, None: all)."""
        place, features = self.docs, None
        if rows is not None:
            cost, place = cost[rows], torch.searchsorted(rows, self.docs)
            X, features = X.part(rows)
        return LabelColumns(
            X, LossPairs(loss, cost[:, None], place, self.labels, self.cost), storage, inverse
        ), features


def no_pairs(device: torch.device | str) -> tuple[Tensor, Tensor, Tensor]:
    """No positives."""
    nowhere = torch.zeros(0, dtype=torch.int64, device=device)
    return nowhere, nowhere, torch.zeros(0, device=device)


def shared_negative(X: Documents, cost: Tensor, loss: str, tol: float) -> tuple[Tensor, Tensor]:
    """(dual variables, scores), n_docs each, of the label that no document has.

    In float64: for the joint problem costs are those of all leaves together, and float32 would not tell steps apart.
    """
    system = LabelColumns(X, LossPairs(loss, cost.double()[:, None], *no_pairs(X.device)), torch.float64)
    zero = torch.zeros((X.n_rows, 1), dtype=torch.float64, device=X.device)
    newton = Newton(system, zero, zero.clone())
    newton.run(tol, _STEPS_AT_START)
    # At the optimum A = -R. Documents beyond the margin have R = 0, and nearly 0 shall be nothing.
    A = torch.where(system.derivatives(newton.S)[0] == 0, 0, newton.A)
    return A[:, 0].float(), system.apply(A)[:, 0].float()


@dataclass
class DeviceLeaves:
    """Some leaves: their documents (None: all), features, pairs, links, dual variables A and own scores X u."""

    columns: slice
    positives: Positives
    rows: Tensor | None
    inner: Tensor  # inner vertices they are linked to
    share: Tensor  # n_columns x these
    own: Tensor  # 1 / r of every leaf
    system: LabelColumns
    features: Tensor | None
    A: Tensor
    S: Tensor

    @property
    def n_columns(self) -> int:
        return len(self.own)

    @property
    def X(self) -> Documents:
        return self.system.X

    def centres(self, M: Tensor, *, every: bool = False) -> Tensor:
        """Shares of inner weights, features x leaves; of the block's features, or of all."""
        part = M[self.inner] if every or self.features is None else M[self.inner[:, None], self.features[None, :]]
        return part.T @ self.share.to(M.dtype).T

    def pull(self, q: Tensor, gradients: Tensor, share: Tensor | None = None) -> None:
        """Add to q what the leaves' gradients, features x leaves, pull at the inner vertices."""
        if len(self.inner):
            pulled = (gradients @ (self.share if share is None else share).to(q.dtype)).T
            if self.features is None:
                q[self.inner] += pulled
            else:
                where = (self.inner[:, None], self.features[None, :])
                q[where] = q[where] + pulled

    def weights(self, M: Tensor, A: Tensor) -> Tensor:
        """All features x leaves, given inner weights and dual variables."""
        W = self.centres(M, every=True)
        own = product(self.X.T, A) * self.own.float()
        if self.features is None:
            return W.add_(own)
        W[self.features] += own
        return W
