"""Whole regions of the taxonomy moving at once: the correction that leaves and inner vertices in turn are slow to find.

Every leaf pulls a little too much or too little, and the sum of it is paid by the vertices far above. So inner vertices
are put together into regions of about as many leaves each, and the weights of a region and all its leaves move alike:

    m + C d,    C (n_inner x n_regions) of 0 and 1,    d (n_regions x n_features)

    min_d  1/2 tr (m + C d)'E (m + C d) + sum of the losses at S + X d'Q',      Q = s C: shares of the leaves

A leaf within one region has one share of 1, so that for Newton's method a document and a region are one pair, with the
sums of its leaves' derivatives. The problem has the size of the regions, whatever the number of leaves.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch

from linnaeus.models.gpu.columns import DeviceLeaves
from linnaeus.models.gpu.documents import Tensor, product, squares
from linnaeus.models.gpu.newton import ScaledVectors, conjugate_gradients
from linnaeus.models.gpu.streamed import Documents, turned
from linnaeus.models.recursive.network import Network
from linnaeus.typing import CSR, IntArray

__all__ = ["Regions", "regions_of"]

_STEPS, _PRODUCTS, _HALVINGS = 3, 60, 8
_RESIDUAL, _GRADIENT = 0.1, 0.05
_FEATURES = 65_536  # at a time, in float64


def regions_of(E: CSR, network: Network, n_regions: int) -> IntArray:
    """The region of every inner vertex: pieces of a spanning tree, cut where enough leaves have come together."""
    from scipy.sparse.csgraph import breadth_first_order

    n = network.n_inner
    count = np.zeros(n)
    np.add.at(count, network.leaf_inner, network.leaf_share.astype(np.float64))
    enough = max(1.0, count.sum() / max(1, n_regions))
    parent, seen, order = np.full(n, -1), np.zeros(n, bool), []
    for anchor in np.argsort(-network.anchor, kind="stable"):
        if not seen[anchor]:
            found, above = breadth_first_order(E, anchor, directed=False, return_predecessors=True)
            found = found[~seen[found]]
            parent[found], seen[found] = above[found], True
            parent[anchor] = -1
            order += found.tolist()
    region = np.full(n, -1)
    for v in reversed(order):  # children before parents: what is not enough for a region goes to the parent's
        if count[v] >= enough or parent[v] < 0:
            region[v] = v
        else:
            count[parent[v]] += count[v]
    for v in order:
        if region[v] < 0:
            region[v] = region[parent[v]]
    return np.unique(region, return_inverse=True)[1]


class Regions:
    """Moves of regions, given E (SciPy), the region of every inner vertex, and the documents."""

    def __init__(self, E: CSR, region: IntArray, X: Documents) -> None:
        from scipy import sparse

        n = len(region)
        C = sparse.csr_array((np.ones(n), (np.arange(n), region)))
        self.n_regions, self.X = C.shape[1], X
        self.region = torch.as_tensor(region.astype(np.int64), device=X.device)
        self.E = torch.as_tensor((C.T @ E @ C).toarray(), device=X.device)
        self.pulled = torch.as_tensor((C.T @ E).toarray(), device=X.device)
        self.squares = turned(X, squares)

    def shares(self, block: DeviceLeaves) -> tuple[Tensor, Tensor]:
        """(regions that a block's leaves belong to, shares n_columns x these)."""
        regions, place = torch.unique(self.region[block.inner], return_inverse=True)
        Q = torch.zeros((block.n_columns, len(regions)), dtype=torch.float64, device=self.X.device)
        return regions, Q.index_add_(1, place, block.share)

    def move(self, M: Tensor, visits: Iterable[tuple[DeviceLeaves, Tensor]]) -> Tensor:
        """M moved; ``visits`` give (block, scores of its pairs) and are gone through repeatedly.

        In float64: the pulls of thousands of leaves all but cancel, and what is left is what the gap is made of.
        """
        pairs = [(block, S, *self.shares(block)) for block, S in visits]
        pull = torch.cat([self.pulled @ part.double() for part in M.split(_FEATURES, 1)], 1).T
        d = torch.zeros_like(pull)
        Xd = torch.zeros((self.X.n_rows, self.n_regions), device=M.device, dtype=torch.float64)
        value, gradient, bend = self._at(d, Xd, pull, pairs)
        first = gradient.norm()
        for _ in range(_STEPS):
            way = self._newton(gradient, bend)
            Xway, length = product(self.X, way, exact=True), 1.0
            for _ in range(_HALVINGS):
                tried = self._at(d + length * way, Xd + length * Xway, pull, pairs)
                if tried[0] < value:
                    break
                length /= 2
            else:
                break
            d, Xd = d + length * way, Xd + length * Xway
            value, gradient, bend = tried
            if gradient.norm() <= _GRADIENT * first:
                break
        return M + d.T.float()[self.region]

    def _at(
        self, d: Tensor, Xd: Tensor, pull: Tensor, visits: list[tuple[DeviceLeaves, Tensor, Tensor, Tensor]]
    ) -> tuple[float, Tensor, Tensor]:
        """(objective up to a constant, gradient, curvature of every document and region)."""
        value = (pull * d).sum() + 0.5 * ((d @ self.E) * d).sum()
        slope, bend = torch.zeros_like(Xd), torch.zeros_like(Xd)
        for block, S, regions, Q in visits:
            where: tuple[slice | Tensor, Tensor] = (
                (slice(None), regions) if block.rows is None else (block.rows[:, None], regions[None, :])
            )
            scores = S + (Xd[where] @ Q.T).float()
            R, D = block.system.pairs.derivatives(scores)
            value = value + block.system.pairs.value(scores).sum()
            slope[where] = slope[where] + R.double() @ Q
            bend[where] = bend[where] + D.double() @ Q**2
        return float(value), pull + d @ self.E + product(self.X.T, slope, exact=True), bend

    def _newton(self, gradient: Tensor, bend: Tensor) -> Tensor:
        """Conjugate gradients, scaled by the diagonal of the Hessian."""
        scale = 1 / (product(self.squares, bend, exact=True) + self.E.diagonal())

        def times(way: Tensor) -> Tensor:
            return way @ self.E + product(self.X.T, bend * product(self.X, way, exact=True), exact=True)

        vectors = ScaledVectors(times, -gradient, scale)
        gamma = vectors.gamma()
        conjugate_gradients(vectors, gamma, _RESIDUAL**2 * gamma, _PRODUCTS)
        return vectors.x
