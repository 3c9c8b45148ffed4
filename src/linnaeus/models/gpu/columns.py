"""LabelColumns of labels over some documents, as Newton's method sees them, and the one column that starts them all.

Nearly all pairs document x label are negative. A block of losses is computed as if all were, and its positives, a short
list, are corrected (`LossPairs`):

    squared hinge   negative: c (1 + s)_+^2       positive: c (1 - s)_+^2
    logistic        negative: c log(1 + e^s)      positive: c log(1 + e^-s)

A block of leaves of the joint problem (`DeviceLeaves`) has the weights w_n = sum_p s_np m_p + u_n, u_n = X'a_n / r_n.

With the squared hinge, a block of labels looks only at the documents near its margin.

Every other document is a negative of all labels of the block, beyond the margin, with a loss and gradient of 0. Blocks
start with the documents near the margin of the weights that all labels share; all documents are scored from time to
time, and those within the margin join. The losses of the remaining documents, if any, are part of the certificate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from linnaeus.engine.gpu import GPUEngine
from linnaeus.losses.surrogate import SURROGATES, SquaredHinge
from linnaeus.models.gpu.documents import Tensor, product
from linnaeus.models.gpu.newton import Newton, dots
from linnaeus.models.gpu.streamed import Documents

__all__ = [
    "DeviceLeaves",
    "LabelColumns",
    "LeafShares",
    "LossPairs",
    "Positives",
    "beyond",
    "caught",
    "grown",
    "near_margin",
    "shared_negative",
    "with_rows",
]


def _fused(S: Tensor) -> bool:
    return S.is_cuda and S.dtype == torch.float32


@dataclass
class LossPairs:
    """The pairs of some documents and labels: costs of the documents, and where the positives are."""

    loss: str
    cost: Tensor  # n_rows x 1
    rows: Tensor  # of the positives
    columns: Tensor
    positive_cost: Tensor

    def value(self, S: Tensor, XB: Tensor | None = None, t: Tensor | None = None) -> Tensor:
        """The loss of every column at S, or at S + t XB, in float64."""
        s, c = S[self.rows, self.columns], self.cost[self.rows, 0]
        if XB is not None and t is not None:
            s = s + t.to(S.dtype)[self.columns] * XB[self.rows, self.columns]
        if _fused(S):
            from linnaeus.models.gpu import triton_kernels

            value = triton_kernels.losses(S.contiguous(), self.cost, self.loss == "logistic", XB, t)
        else:
            moved = S if XB is None or t is None else torch.addcmul(S, t.to(S.dtype), XB)
            value = (self.cost * self._loss(moved)).sum(0, dtype=torch.float64)
        return self._with_positives(value, s, c)

    def _with_positives(self, value: Tensor, s: Tensor, c: Tensor) -> Tensor:
        """Correct the losses of the columns, given scores s and costs c of the positives."""
        more = self.positive_cost.double() * self._loss(-s).double() - c.double() * self._loss(s).double()
        return value.index_add(0, self.columns, more)

    def derivatives(self, S: Tensor) -> tuple[Tensor, Tensor]:
        """(first, second) derivatives by the scores, as S is."""
        if _fused(S):
            from linnaeus.models.gpu import triton_kernels

            R, D = triton_kernels.slopes(S.contiguous(), self.cost, self.loss == "logistic")
        else:
            R, D = self._derivatives(S)
            R, D = R * self.cost, D * self.cost
        r, d = self._derivatives(-S[self.rows, self.columns])
        R[self.rows, self.columns] = -(r * self.positive_cost).to(R.dtype)
        D[self.rows, self.columns] = (d * self.positive_cost).to(D.dtype)
        return R, D

    def residual(self, S: Tensor, A: Tensor, own: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(`value`, <A, own> of every column, -(A + R), D) at scores S, with dual variables A and their scores."""
        if not _fused(S):
            R, D = self.derivatives(S)
            return self.value(S), dots(A, own), R.add_(A).neg_(), D
        from linnaeus.models.gpu import triton_kernels

        value, energy, rho, D = triton_kernels.residual(S, A, own, self.cost, self.loss == "logistic")
        s, c = S[self.rows, self.columns], self.cost[self.rows, 0]
        r, d = self._derivatives(-s)
        rho[self.rows, self.columns] = r * self.positive_cost - A[self.rows, self.columns]
        D[self.rows, self.columns] = d * self.positive_cost
        return self._with_positives(value, s, c), energy, rho, D

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

    @property
    def rounded(self) -> bool:
        return self.storage == torch.bfloat16

    def apply(self, rho: Tensor) -> Tensor:
        exact = self.storage == torch.float64
        weights = product(self.X.T, rho.to(self.storage), exact=exact, scale=self.inverse)
        return product(self.X, weights.to(self.storage), exact=exact)

    def losses(self, S: Tensor, XB: Tensor, t: Tensor) -> Tensor:
        return self.pairs.value(S, XB, t)

    def residual(self, S: Tensor, A: Tensor, own: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.pairs.residual(S, A, own)


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
    A = torch.where(system.pairs.derivatives(newton.S)[0] == 0, 0, newton.A)
    return A[:, 0].float(), system.apply(A)[:, 0].float()


class LeafShares:
    """Shares Q of the leaves of a block in inner vertices (n_columns x these, float64), of which few are not zero."""

    def __init__(self, Q: Tensor) -> None:
        self.Q = Q
        if Q.is_cuda:
            from linnaeus.models.gpu.triton_kernels import ColumnLists

            self._to_leaves, self._to_vertices = ColumnLists.of(Q.T), ColumnLists.of(Q)

    def of_vertices(self, V: Tensor, more: Tensor | None = None) -> Tensor:
        """V Q', and ``more``: from columns of vertices to columns of leaves."""
        if V.is_cuda and V.dtype == torch.float32:
            from linnaeus.models.gpu.triton_kernels import combined

            return combined(V, self._to_leaves, more)
        found = V @ self.Q.to(V.dtype).T
        return found if more is None else found.add_(more)

    def of_leaves(self, A: Tensor) -> Tensor:
        """A Q: from columns of leaves to columns of vertices."""
        if A.is_cuda and A.dtype == torch.float32:
            from linnaeus.models.gpu.triton_kernels import combined

            return combined(A, self._to_vertices)
        return A @ self.Q.to(A.dtype)


@dataclass
class DeviceLeaves:
    """Some leaves: their documents (None: all), features, pairs, links, dual variables A and own scores X u."""

    columns: slice
    positives: Positives
    rows: Tensor | None
    inner: Tensor  # inner vertices they are linked to
    shares: LeafShares
    own: Tensor  # 1 / r of every leaf
    system: LabelColumns
    features: Tensor | None
    A: Tensor
    S: Tensor
    held_shares: LeafShares = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # A diagonal above the coupling of a leaf with several parents: s_p sum_q s_q, for one parent s_p^2.
        self.held_shares = LeafShares(self.shares.Q * self.shares.Q.sum(1, keepdim=True))

    @property
    def n_columns(self) -> int:
        return len(self.own)

    @property
    def X(self) -> Documents:
        return self.system.X

    def centres(self, M: Tensor, *, every: bool = False) -> Tensor:
        """Shares of inner weights, features x leaves; of the block's features, or of all."""
        return self.shares.of_vertices(self._corner(M, every=every))

    def centre_scores(self, M: Tensor, storage: torch.dtype, more: Tensor | None = None) -> Tensor:
        """X `centres`, and ``more``, documents x leaves: by way of the inner vertices where these are fewer."""
        if len(self.inner) > self.n_columns:
            scores = product(self.X, self.centres(M).to(storage))
            return scores if more is None else scores.add_(more)
        return self.shares.of_vertices(product(self.X, self._corner(M).to(storage)), more)

    def pull_of_duals(self, q: Tensor, storage: torch.dtype) -> None:
        """Add to q what X'A pulls at the inner vertices; the sum over leaves comes first where that is less work."""
        if len(self.inner) > self.n_columns:
            self.pull(q, product(self.X.T, self.A.to(storage)))
        elif len(self.inner):
            self._add(q, product(self.X.T, self.shares.of_leaves(self.A).to(storage)))

    def pull(self, q: Tensor, gradients: Tensor, shares: LeafShares | None = None) -> None:
        """Add to q what the leaves' gradients, features x leaves, pull at the inner vertices."""
        if len(self.inner):
            self._add(q, (shares or self.shares).of_leaves(gradients.to(q.dtype)))

    def _corner(self, M: Tensor, *, every: bool = False) -> Tensor:
        """Features of the block, or all, x its inner vertices."""
        if every or self.features is None:
            return M[self.inner].T.contiguous()
        if M.is_cuda and M.dtype == torch.float32:
            from linnaeus.models.gpu.triton_kernels import corner

            return corner(M, self.inner, self.features)
        return M[self.inner[:, None], self.features[None, :]].T.contiguous()

    def _add(self, q: Tensor, pulled: Tensor) -> None:
        """Add to q what is pulled, the block's features x its inner vertices."""
        if self.features is None:
            q[self.inner] += pulled.T
        elif q.is_cuda and q.dtype == pulled.dtype == torch.float32:
            from linnaeus.models.gpu.triton_kernels import add_to_corner

            add_to_corner(q, self.inner, self.features, pulled)
        else:
            where = (self.inner[:, None], self.features[None, :])
            q[where] = q[where] + pulled.T

    def weights(self, M: Tensor, A: Tensor) -> Tensor:
        """All features x leaves, given inner weights and dual variables."""
        W = self.centres(M, every=True)
        own = product(self.X.T, A, scale=self.own)
        if self.features is None:
            return W.add_(own)
        W[self.features] += own
        return W


NEAR = 0.1  # scores from which a document is looked at: above -1 - NEAR


def near_margin(loss: str, start: Tensor, scores: Tensor) -> Tensor | None:
    """Documents that every block looks at, given dual variables and scores of the shared weights; None: all."""
    if loss != "squared_hinge":
        return None
    return torch.nonzero((scores > -1 - NEAR) | (start != 0)).flatten()


def caught(X: Documents, W: Tensor, rows: Tensor, engine: GPUEngine) -> Tensor:
    """Documents within the margin of some column of W that are not among ``rows``."""
    hit = torch.zeros(X.n_rows, dtype=torch.bool, device=W.device)
    for part in _pieces(X, W.shape[1], engine):
        hit[part] = (product(X.slice(part), W) > -1).any(1)
    hit[rows] = False
    return torch.nonzero(hit).flatten()


def beyond(X: Documents, W: Tensor, rows: Tensor, cost: Tensor, engine: GPUEngine) -> Tensor:
    """What documents that are not among ``rows`` cost every column, in float64."""
    others = torch.ones(X.n_rows, dtype=torch.bool, device=W.device)
    others[rows] = False
    more = torch.zeros(W.shape[1], dtype=torch.float64, device=W.device)
    for part in _pieces(X, 2 * W.shape[1], engine):
        losses = SquaredHinge().value(-product(X.slice(part), W, exact=True), torch)
        more += ((cost[part] * others[part])[:, None] * losses).sum(0)
    return more


def with_rows(rows: Tensor, more: Tensor) -> tuple[Tensor, Tensor]:
    """(``rows`` and more of them, sorted; where each was)."""
    return torch.sort(torch.cat([rows, more]))


def grown(A: Tensor, order: Tensor) -> Tensor:
    """Dual variables for more documents, `with_rows`, which begin at 0."""
    none = torch.zeros((len(order) - len(A), A.shape[1]), device=A.device)
    return torch.cat([A, none])[order]


def _pieces(X: Documents, n_columns: int, engine: GPUEngine) -> Iterator[slice]:
    """Documents in pieces whose scores take an eighth of the device's free memory at most."""
    row_bytes = max(1, 8 * n_columns + X.row_bytes)
    rows = max(1, min(X.n_rows, engine.free_memory() // (8 * row_bytes)))
    for first in range(0, X.n_rows, rows):
        yield slice(first, min(first + rows, X.n_rows))
