"""A block of leaves of the joint problem: w_n = sum_p s_np m_p + u_n, with u_n = X'a_n / r_n."""

from __future__ import annotations

from dataclasses import dataclass

from linnaeus.models.gpu.columns import Columns, Positives
from linnaeus.models.gpu.documents import Tensor
from linnaeus.models.gpu.products import product
from linnaeus.models.gpu.streamed import Documents

__all__ = ["LeafBlock"]


@dataclass
class LeafBlock:
    """Some leaves: their documents (None: all), features, pairs, links, dual variables A and own scores X u."""

    columns: slice
    positives: Positives
    rows: Tensor | None
    inner: Tensor  # inner vertices they are linked to
    share: Tensor  # n_columns x these
    own: Tensor  # 1 / r of every leaf
    system: Columns
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
