"""All leaves of a network together: the recursively regularised problem on a device.

    min  1/2 sum over links r_uv |w_u - w_v|^2 + 1/2 sum_v a_v |w_v|^2 + sum over leaves and documents of c loss

A leaf's weights are a share of inner vertices and what it has of its own, w_n = sum_p s_np m_p + u_n. In these terms
the regulariser falls apart, 1/2 sum_n r_n |u_n|^2 + 1/2 tr m'E m. For fixed m the leaves are problems of their own,
solved in blocks by Newton's method (`newton`) with u_n = X'a_n / r_n. What is left is one smooth convex function of m,

    phi(m) = min over the leaves,     gradient  E m - s'X'A,     Hessian at most E + s'r s,

minimised by exact solves (`inner`) with momentum, and by moves of whole regions of the taxonomy (`Regions`). With R the
losses' derivatives by the scores, A = -R at the optimum, and anywhere

    gap = 1/2 sum_n |X'(a_n + r_n)|^2 / r_n + 1/2 tr G'E^-1 G,      G = E m + s'X'R

certifies how far it is. Only m, dual variables and scores are kept: nothing of size features x leaves. As in `flat`,
blocks of the squared hinge look at documents near the margin only, first of the weights w0 that all vertices would
share, and at all documents before anything is certified.

Whole regions of the taxonomy also move at once, which leaves and inner vertices in turn are slow to find.

Every leaf pulls a little too much or too little, and the sum of it is paid by the vertices far above. So inner vertices
are put together into regions of about as many leaves each, and the weights of a region and all its leaves move alike:

    m + C d,    C (n_inner x n_regions) of 0 and 1,    d (n_regions x n_features)

    min_d  1/2 tr (m + C d)'E (m + C d) + sum of the losses at S + X d'Q',      Q = s C: shares of the leaves

A leaf within one region has one share of 1, so that for Newton's method a document and a region are one pair, with the
sums of its leaves' derivatives. The problem has the size of the regions, whatever the number of leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse

from linnaeus.engine.gpu import GPUEngine
from linnaeus.models.gpu.columns import (
    DeviceLeaves,
    Positives,
    beyond,
    caught,
    grown,
    near_margin,
    shared_negative,
    with_rows,
)
from linnaeus.models.gpu.documents import SparseRows, Tensor, product, squares
from linnaeus.models.gpu.inner import Inner
from linnaeus.models.gpu.newton import Newton, ScaledVectors, conjugate_gradients
from linnaeus.models.gpu.streamed import Documents, placed, turned
from linnaeus.models.recursive.network import Network
from linnaeus.models.solvers.rows import with_constant
from linnaeus.typing import CSR, Array, FloatArray, IntArray, Matrix

__all__ = ["DevicePoint", "JointTraining", "Regions", "regions_of"]

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


_START_TOLERANCE = 1e-2
_FORCING = 0.2  # residual of a Newton step of the leaves; more is wasted while inner vertices move
_SCREEN_FIRST, _SCREEN_EVERY = 2, 8  # rounds after which all documents are looked at, beside the end
_REGIONS = 64
_MOVE_EVERY = 2  # rounds from one move of the regions to the next
_LOOSE = 0.1  # of its link, by which a leaf still holds where no document of it has the feature


@dataclass(frozen=True)
class DevicePoint:
    """Where a training stands, in the memory of the host: from here the same or a similar problem continues.

    Of every block: the documents that it looks at (``rows``; not there: all), and its dual variables that are not zero
    (``at``, positions in documents x leaves, row by row, and ``value``).
    """

    M: FloatArray
    blocks: list[dict[str, Array]]
    n_rounds: int = 0


class JointTraining:
    """The joint problem on a device; ``Y`` (CSC) has a column per leaf of ``network``, E is its `inner_matrix`."""

    def __init__(
        self, X: Matrix, Y: CSR, bound: FloatArray, network: Network, E: CSR, *, loss: str, bias: float,
        positive_weight: FloatArray, engine: GPUEngine, n_all: int | None = None,
    ) -> None:  # fmt: skip
        device = engine.device
        self.loss, self.device, self.engine, self.bias = loss, device, engine, bias
        self.storage = torch.bfloat16 if engine.storage == "bfloat16" else torch.float32
        self.X = placed(sparse.csr_array(with_constant(sparse.csr_array(X), bias)), engine)
        self.cost = torch.as_tensor(bound.astype(np.float32), device=device)
        self.inner = Inner(E, network, device)
        self.positive_weight = torch.as_tensor(positive_weight.astype(np.float32), device=device)
        start, scores = shared_negative(self.X, self.cost * (n_all or network.n_leaves), loss, _START_TOLERANCE)
        self.near = near_margin(loss, start, scores)
        self.M = torch.zeros((self.inner.n_inner, self.X.n_columns), device=device)
        self.M += product(self.X.T, start[:, None])[:, 0]
        self.blocks = [self._block(Y, network, part) for part in self._parts(network.n_leaves)]
        self.regions = Regions(E, regions_of(E, network, _REGIONS), self.X)
        self._always_held: Tensor | None = None
        self.n_rounds = self.n_products = 0
        self.objective = self.gap = float("inf")
        self.bound, self._bound_at = -float("inf"), (self.M, [block.A for block in self.blocks])

    # -- blocks --------------------------------------------------------------------------------------------------------

    def _parts(self, n_leaves: int) -> Iterator[slice]:
        width = self.engine.columns or 1024
        for first in range(0, n_leaves, width):
            yield slice(first, min(first + width, n_leaves))

    def _block(self, Y: CSR, network: Network, part: slice) -> DeviceLeaves:
        found, device = Y[:, part].tocoo(), self.device
        docs, labels = (torch.as_tensor(x.astype(np.int64), device=device) for x in (found.row, found.col))
        positives = Positives(docs, labels, self.cost[docs] * self.positive_weight[part][labels])
        leaves = np.arange(part.start, part.stop)
        indptr, inner, share, _ = network.links(leaves)
        vertices, place = np.unique(inner, return_inverse=True)
        shares = np.zeros((len(leaves), len(vertices)))
        np.add.at(shares, (np.repeat(np.arange(len(leaves)), np.diff(indptr)), place), share.astype(np.float64))
        rows = None if self.near is None else torch.unique(torch.cat([self.near, docs]))
        n_rows = self.X.n_rows if rows is None else len(rows)
        own = torch.as_tensor(1 / network.leaf_total[part].astype(np.float64), device=device)
        zero = torch.zeros((n_rows, len(leaves)), device=device)
        system, features = positives.looked_at(self.X, rows, self.cost, self.loss, self.storage, own)
        return DeviceLeaves(
            part, positives, rows, torch.as_tensor(vertices.astype(np.int64), device=device),
            torch.as_tensor(shares, device=device), own, system, features, zero, zero.clone(),
        )  # fmt: skip

    def point(self) -> DevicePoint:
        """Where the iteration stands."""
        blocks = []
        for block in self.blocks:
            at = torch.nonzero(block.A.flatten()).flatten()
            rows = {} if block.rows is None else {"rows": block.rows.cpu().numpy()}
            blocks.append(rows | {"at": at.cpu().numpy(), "value": block.A.flatten()[at].cpu().numpy()})
        return DevicePoint(self.M.cpu().numpy(), blocks, self.n_rounds)

    def start_at(self, point: DevicePoint, scale: float = 1.0) -> None:
        """Continue at a point of this problem, or of one whose costs were those of here divided by ``scale``."""
        self.M = torch.as_tensor(np.array(point.M), device=self.device)
        for block, kept in zip(self.blocks, point.blocks, strict=True):
            at, value = (torch.as_tensor(np.array(kept[name]), device=self.device) for name in ("at", "value"))
            if block.rows is None:
                block.A = torch.zeros_like(block.A)
                block.A.view(-1)[at] = scale * value
            else:
                rows = torch.as_tensor(np.array(kept["rows"]), device=self.device)
                block.rows = torch.unique(torch.cat([block.rows, rows]))
                block.A = torch.zeros((len(block.rows), block.n_columns), device=self.device)
                place = torch.searchsorted(block.rows, rows)[at // block.n_columns]
                block.A[place, at % block.n_columns] = scale * value
                self._look(block)
            block.S = block.system.apply(block.A)
        self.n_rounds = point.n_rounds
        self._bound_at = (self.M, [block.A.clone() for block in self.blocks])

    # -- the iteration -------------------------------------------------------------------------------------------------

    def run(self, tol: float, max_rounds: int, go_on: Callable[[float, float], bool]) -> bool:
        """Rounds until the gap over all documents is ``tol`` of the objective; ``go_on`` hears both and may end it."""
        momentum, solved = 1.0, self.M
        while True:
            gradient = self._round()
            self.n_rounds += 1
            if self.n_rounds <= 2 or self.n_rounds % 2:
                self.inner.with_diagonal.factor(self._held())
            found = self.M - self.inner.with_diagonal(gradient)
            following = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
            way = found - solved
            if bool(inner(self.M - found, way) > 0):  # uphill
                momentum = following = 1.0
            self.M, solved = found, found
            if self.n_rounds % _MOVE_EVERY == 0 or self.n_rounds <= 2:
                self.M = solved = self.regions.move(self.M, self._pairs())
                before = self.objective
                self._measure()
                if self.objective > before:
                    momentum = following = 1.0
                if self.near is not None and self._screened(tol):
                    self._measure()
                close = self.gap <= tol * self.objective and self._certified_within(tol)
                if close or not go_on(self.objective, self.gap):
                    return close
            if self.n_rounds >= max_rounds:
                return False
            self.M = self.M + (momentum - 1) / following * way
            momentum = following

    def _certified_within(self, tol: float) -> bool:
        """Whether float64 says so, too; if not, its bound counts from here on."""
        objective, gap = self.certificate()
        self.objective, self.gap, self.bound = objective, gap, objective - gap
        return gap <= tol * objective

    def _screened(self, tol: float) -> bool:
        """Whether documents joined, when it was time to look at all of them."""
        due = self.n_rounds == _SCREEN_FIRST or self.n_rounds % _SCREEN_EVERY == 0
        return (due or self.gap <= tol * self.objective) and self._join() > 0

    def _pairs(self) -> Iterator[tuple[DeviceLeaves, Tensor]]:
        """Blocks and their scores at M, with what the leaves have of their own as it is."""
        for block in self.blocks:
            yield block, block.S + block.centre_scores(self.M, self.storage)

    def _measure(self) -> None:
        """Note objective and gap at M, with what the leaves have of their own as it is."""
        energy = self.inner.times(self.M)
        value, gap = 0.5 * inner(energy, self.M), torch.zeros((), dtype=torch.float64, device=self.device)
        for block, S in self._pairs():
            own = block.own.float()
            XA = product(block.X.T, block.A.to(self.storage))
            XR = product(block.X.T, block.system.pairs.derivatives(S)[0].to(self.storage))
            block.pull(energy, XR)
            value = value + 0.5 * (XA**2 * own).sum(dtype=torch.float64) + block.system.pairs.value(S).sum()
            gap = gap + 0.5 * ((XA + XR) ** 2 * own).sum(dtype=torch.float64)
        gap = gap + 0.5 * inner(energy, self.inner.solve_E(energy.clone()))
        self._note(float(value), float(gap))

    def _held(self) -> Tensor:
        """What leaves hold inner vertices by, for every feature, n_inner x n_features.

        Squared hinge: r where a document within the margin has the feature; elsewhere a leaf follows its centre, and
        inner vertices need hardly wait for it. Logistic loss: r h / (r + h) with h_f = sum_i c_i / 4 |x_if| |x_i|_1,
        which bounds the curvature of the losses.
        """
        if self.near is None and self._always_held is not None:
            return self._always_held.clone()
        found = torch.zeros_like(self.M)
        for block, S in self._pairs() if self.near is not None else ((block, None) for block in self.blocks):
            r = (1 / block.own).float()
            if S is None:
                h = product(turned(block.X, _sized), 0.25 * self.cost[:, None])
                held = h * r / (h + r)
            else:
                within = (block.system.pairs.derivatives(S)[1] > 0).to(self.storage)
                held = torch.where(product(turned(block.X, _present), within) > 0, r, _LOOSE * r)
            # A diagonal above the coupling of a leaf with several parents: s_p sum_q s_q, for one parent s_p^2.
            block.pull(found, held, block.share * block.share.sum(1, keepdim=True))
        if self.near is None:
            self._always_held = found.clone()
        return found

    def _round(self) -> Tensor:
        """Visit the leaves; the gradient of phi at M."""
        pulled = torch.zeros_like(self.M)
        for block in self.blocks:
            newton = Newton(block.system, block.A, block.S, block.centre_scores(self.M, self.storage))
            newton.run(1e-5, 1 if self.n_rounds else 3, forcing=_FORCING, measure=False)
            self.n_products += newton.n_products
            block.A, block.S = newton.A, newton.S
            block.pull_of_duals(pulled, self.storage)
        return self.inner.times(self.M).sub_(pulled)

    def _note(self, objective: float, gap: float) -> None:
        """An objective, and a bound from below: the best of all bounds counts."""
        self.objective = objective
        if objective - gap > self.bound:
            self.bound, self._bound_at = objective - gap, (self.M, [block.A.clone() for block in self.blocks])
        self.gap = objective - self.bound

    # -- all documents -------------------------------------------------------------------------------------------------

    def _join(self) -> int:
        """Documents within the margin of some leaf join its block; how many did."""
        n_joined = 0
        for number, block in enumerate(self.blocks):
            assert block.rows is not None  # only blocks that look at some documents are asked
            more = caught(self.X, block.weights(self.M, block.A).to(self.storage), block.rows, self.engine)
            if len(more):
                n_joined += len(more)
                block.rows, order = with_rows(block.rows, more)
                block.A, self._bound_at[1][number] = grown(block.A, order), grown(self._bound_at[1][number], order)
                self._look(block)
                block.S = block.system.apply(block.A)
        return n_joined

    def _look(self, block: DeviceLeaves) -> None:
        """Give a block the documents that are its ``rows``."""
        place = (self.X, block.rows, self.cost)
        block.system, block.features = block.positives.looked_at(*place, self.loss, self.storage, block.own)

    def certificate(self) -> tuple[float, float]:
        """(objective, gap) in float64 over all documents; the bound is the better one of here and the best so far."""
        objective, gap = self._certified(self.M, [block.A for block in self.blocks])
        M, A = self._bound_at
        if M is not self.M:
            value, other = self._certified(M, A)
            gap = min(gap, objective - (value - other))
        return objective, gap

    def _certified(self, M: Tensor, A: list[Tensor]) -> tuple[float, float]:
        """(objective, gap) of weights and dual variables; see `flat.FlatBlock.certificate`."""
        M = M.double()
        energy = self.inner.times(M)
        objective, gap, losses = 0.5 * float((energy * M).sum()), 0.0, energy
        for block, a in zip(self.blocks, A, strict=True):
            XA, own = product(block.X.T, a.double(), exact=True), block.own
            S = product(block.X, block.centres(M) + XA * own, exact=True)
            objective += float(0.5 * (XA**2 * own).sum() + block.system.pairs.value(S).sum())
            XR = product(block.X.T, block.system.pairs.derivatives(S)[0], exact=True)
            block.pull(losses, XR)
            more = 0.0
            if block.rows is not None:
                more = float(beyond(self.X, block.weights(M.float(), a), block.rows, self.cost, self.engine).sum())
            gap += float(0.5 * ((XA + XR) ** 2 * own).sum()) + more
            objective += more
        gap += 0.5 * float((losses * self.inner.solve_E(losses.clone())).sum())
        return objective, gap

    def weights(self) -> Iterator[FloatArray]:
        """Weights of the blocks of leaves, n_features x n_columns, the constant feature last.

        Each is valid until the next is asked for: they come by way of one buffer, from which the host copies faster.
        """
        size = self.M.shape[1] * max(block.n_columns for block in self.blocks)
        buffer = torch.empty(size, pin_memory=self.M.is_cuda)
        for block in self.blocks:
            W = block.weights(self.M, block.A)
            yield buffer[: W.numel()].view(W.shape).copy_(W).numpy()


def _sized(X: SparseRows) -> SparseRows:
    """The transpose of |x_if| |x_i|_1."""
    T = X.T
    lengths = torch.zeros(X.n_rows, device=X.device).index_add_(0, T.indices.long(), T.values.abs())
    return SparseRows(T.indptr, T.indices, T.values.abs() * lengths[T.indices.long()], T.n_columns)


def _present(X: SparseRows) -> SparseRows:
    """The transpose, with 1 where a document has a feature."""
    return SparseRows(X.T.indptr, X.T.indices, torch.ones_like(X.T.values), X.T.n_columns, layout=X.T.layout)


def inner(a: Tensor, b: Tensor) -> Tensor:
    """<a, b> in float64, rows first: no array of products in float64."""
    return torch.linalg.vecdot(a, b).sum(dtype=torch.float64)
