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
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from scipy import sparse

from linnaeus.data.matrices import with_constant
from linnaeus.engine.gpu import GPUEngine
from linnaeus.models.gpu.columns import (
    DeviceLeaves,
    LeafShares,
    Positives,
    beyond,
    caught,
    grown,
    near_margin,
    shared_negative,
    with_rows,
)
from linnaeus.models.gpu.documents import SparseRows, Tensor, on_device, product, squares
from linnaeus.models.gpu.inner import Inner
from linnaeus.models.gpu.margin import MarginNewton
from linnaeus.models.gpu.newton import ConjugateGradients, Newton, ScaledVectors, converge, dots
from linnaeus.models.gpu.recorded import Flag, Lanes, Piece, Recorder, Steps
from linnaeus.models.gpu.streamed import Documents, placed, turned
from linnaeus.models.recursive.network import Network
from linnaeus.typing import CSR, Array, FloatArray, IntArray, Matrix

__all__ = ["DevicePoint", "JointTraining", "Regions", "regions_of"]

_STEPS, _PRODUCTS, _HALVINGS = 2, 60, 8  # of a move of the regions
_RESIDUAL, _GRADIENT = 0.1, 0.05
_START_TOLERANCE = 1e-2
_FORCING = 0.2  # residual of a Newton step of the leaves; more is wasted while inner vertices move
_SHORTFALL = 1.0  # of a Newton step on lists: what it may leave of the fall that it gains
_VISITS = (3, 2)  # Newton steps on lists, in the first round and later
_LONG = 16384  # pairs of a leaf within the margin above which a block goes by products with all its documents
_SCREEN_FIRST, _SCREEN_EVERY = 4, 16  # rounds after which all documents are looked at, beside the end
_REGIONS = 64
_MOVE_EVERY = 2  # rounds from one move of the regions to the next
_SOLVED, _PRODUCTS_OF_LEAVES = 1e-5, 40  # gaps of leaves that rest; pairs of products of a direction at most
_UNRECORDED = 2  # rounds before operations are recorded: kernels are compiled on first use
_LOOSE = 0.1  # of its link, by which a leaf still holds where no document of it has the feature


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
    """Moves of regions, given E (SciPy), the region of every inner vertex, and the documents.

    In float64: the pulls of thousands of leaves all but cancel, and what is left is what the gap is made of. Sums over
    the leaves of a block are in float32, as exact as the scores that they come from.
    """

    def __init__(self, E: CSR, region: IntArray, X: Documents, recorder: Recorder) -> None:
        n = len(region)
        C = sparse.csr_array((np.ones(n), (np.arange(n), region)))
        pulled = sparse.csr_array(C.T @ E)
        self.n_regions, self.X, self.recorder = C.shape[1], X, recorder
        self.region = torch.as_tensor(region.astype(np.int64), device=X.device)
        self.E = torch.as_tensor((pulled @ C).toarray(), device=X.device)
        self.pulled = on_device(pulled, str(X.device))
        self.pulled.values = torch.as_tensor(pulled.data, device=X.device)
        self.squares = turned(X, squares)
        features, documents = (
            torch.zeros((size, self.n_regions), dtype=torch.float64, device=X.device)
            for size in (X.n_columns, X.n_rows)
        )
        self.d, self.way, self.pull, self.gradient = (features.clone() for _ in range(4))
        self.Xd, self.Xway, self.slope, self.bend = (documents.clone() for _ in range(4))
        self.value, self.tried, self.first, self.length = (features.new_zeros(()) for _ in range(4))
        self.falls, self.small, self.close = (Flag(X.device) for _ in range(3))

    def shares(self, block: DeviceLeaves) -> tuple[Tensor, LeafShares]:
        """(regions that a block's leaves belong to, shares n_columns x these)."""
        regions, place = torch.unique(self.region[block.inner], return_inverse=True)
        Q = torch.zeros((block.n_columns, len(regions)), dtype=torch.float64, device=self.X.device)
        return regions, LeafShares(Q.index_add_(1, place, block.shares.Q))

    def bind(self, M: Tensor, blocks: list[DeviceLeaves], storage: torch.dtype) -> None:
        """Move M, which changes in place, from now on, with the scores of these blocks."""
        self.M, self.blocks, self.storage = M, blocks, storage
        self.links = [self.shares(block) for block in blocks]
        self._recorded: list[Piece] | None = None

    def move(self) -> None:
        """Move M, and note the `moved` scores."""
        pieces = self._recorded or [
            self.begin, self.aim, self.follow, self.turn, self.arrive, self.evaluate, self.accept, self.finish,
        ]  # fmt: skip
        if self.recorder.recording and self._recorded is None:
            pieces = self._recorded = self.recorder.record(pieces)
        begin, aim, follow, turn, arrive, evaluate, accept, finish = pieces
        begin()
        for _ in range(_STEPS):
            aim()
            converge(follow, turn, self.close, _PRODUCTS)
            arrive()
            for _ in range(_HALVINGS):
                evaluate()
                if self.falls.sent():
                    break
                self.length.mul_(0.5)
            else:
                break
            accept()
            if self.small.sent():
                break
        finish()
        for name in ("vectors", "directions"):  # which refer to this object: a cycle would keep all arrays
            self.__dict__.pop(name, None)

    def begin(self) -> None:
        """Objective (up to a constant), gradient and curvatures where M is."""
        self.scores = [block.centre_scores(self.M, self.storage, block.S) for block in self.blocks]
        self.pull.copy_(product(self.pulled, self.M, exact=True).T)
        for zero in (self.d, self.way, self.Xd, self.Xway, self.length):
            zero.zero_()
        self.evaluate()
        self.value.copy_(self.tried)
        self.first.copy_(self.gradient.norm())

    def aim(self) -> None:
        """Begin conjugate gradients for a Newton direction, scaled by the diagonal of the Hessian."""
        scale = 1 / (product(self.squares, self.bend, exact=True) + self.E.diagonal())
        self.vectors = ScaledVectors(self._curved, -self.gradient, scale)
        gamma = self.vectors.gamma()
        self.directions = ConjugateGradients(self.vectors, gamma, _RESIDUAL**2 * gamma, self.close)

    def follow(self) -> None:
        """A step of conjugate gradients."""
        self.directions.follow()

    def turn(self) -> None:
        """Their next direction."""
        self.directions.turn()

    def arrive(self) -> None:
        """Set out along the direction, with length 1."""
        self.way.copy_(self.vectors.x)
        self.Xway.copy_(product(self.X, self.way, exact=True))
        self.length.fill_(1)

    def evaluate(self) -> None:
        """Objective, gradient and curvature of every document and region, a length of the way from d."""
        d, Xd = self.d + self.length * self.way, self.Xd + self.length * self.Xway
        value = (self.pull * d).sum() + 0.5 * ((d @ self.E) * d).sum()
        self.slope.zero_()
        self.bend.zero_()
        for block, S, (regions, Q) in zip(self.blocks, self.scores, self.links, strict=True):
            where = _where(block, regions)
            scores = Q.of_vertices(Xd[where].float(), S)
            R, D = block.system.pairs.derivatives(scores)
            value = value + block.system.pairs.value(scores).sum()
            q = Q.Q.float()
            self.slope[where] = self.slope[where] + (R @ q).double()
            self.bend[where] = self.bend[where] + (D @ q**2).double()
        self.tried.copy_(value)
        self.gradient.copy_(self.pull + d @ self.E + product(self.X.T, self.slope, exact=True))
        self.falls.put(self.tried < self.value)

    def accept(self) -> None:
        """Go there."""
        self.d.add_(self.length * self.way)
        self.Xd.add_(self.length * self.Xway)
        self.value.copy_(self.tried)
        self.small.put(self.gradient.norm() <= _GRADIENT * self.first)

    def finish(self) -> None:
        """Move M and the scores."""
        self.M.add_(self.d.T.float()[self.region])
        for block, S, (regions, Q) in zip(self.blocks, self.scores, self.links, strict=True):
            S.copy_(Q.of_vertices(self.Xd[_where(block, regions)].float(), S))

    def moved(self) -> Iterator[tuple[DeviceLeaves, Tensor]]:
        """Blocks and their scores after the last move."""
        yield from zip(self.blocks, self.scores, strict=True)

    def _curved(self, way: Tensor) -> Tensor:
        """The Hessian's product."""
        return way @ self.E + product(self.X.T, self.bend * product(self.X, way, exact=True), exact=True)


def _where(block: DeviceLeaves, regions: Tensor) -> tuple[slice | Tensor, Tensor]:
    """Where the documents and regions of a block are among all."""
    return (slice(None), regions) if block.rows is None else (block.rows[:, None], regions[None, :])


class _VisitPieces(NamedTuple):
    """What a visit runs beside the pieces of a Newton step."""

    begin: Piece
    pull: Piece
    hold: Piece


class _Visit:
    """Newton steps of a block's leaves at M; they then pull at ``pulled``, and hold ``held``, n_inner x n_features."""

    def __init__(
        self, block: DeviceLeaves, M: Tensor, pulled: Tensor, held: Tensor, weight: Tensor, storage: torch.dtype,
        recorder: Recorder,
    ) -> None:  # fmt: skip
        self.block, self.M, self.pulled, self.held = block, M, pulled, held
        self.storage, self.recorder = storage, recorder
        place, most = (block.system, block.A, block.S), _PRODUCTS_OF_LEAVES
        self._by_products = Newton(*place, tol=_SOLVED, forcing=_FORCING, max_products=most)
        self._by_lists: MarginNewton | None = None
        if block.rows is not None:
            self._by_lists = MarginNewton(*place, weight, tol=_SOLVED, forcing=_SHORTFALL, max_products=most)
        self.newton: Newton | MarginNewton = self._by_products
        self._recorded: _VisitPieces | None = None

    def steps(self, n_steps: int) -> Steps[None]:
        """Take some Newton steps."""
        if self.recorder.recording and self._recorded is None:
            self._record()
        for _ in range(n_steps):
            self._pieces.begin()
            moved = yield from self.newton.finish_step()
            if not moved:
                break

    @property
    def n_products(self) -> int:
        """Pairs of products of all steps."""
        return self._by_products.n_products + (0 if self._by_lists is None else self._by_lists.n_products)

    def choose(self) -> None:
        """Before steps: lists of the pairs within the margin, unless they are long, as when large problems begin."""
        if self._by_lists is not None and self._recorded is None:
            S = self.block.centre_scores(self.M, self.storage, self.block.S)
            n_within = int((self.block.system.pairs.derivatives(S)[1] > 0).sum())
            self.newton = self._by_products if n_within > _LONG * self.block.n_columns else self._by_lists

    def end(self, *, hold: bool) -> None:
        """Pull at the inner vertices, and hold them."""
        self._pieces.pull()
        if hold:
            self._pieces.hold()

    @property
    def _pieces(self) -> _VisitPieces:
        return self._recorded or _VisitPieces(self.begin, self.pull, self.hold)

    def begin(self) -> None:
        """Look at the leaves from where their centres are."""
        self.newton.begin(self.block.centre_scores(self.M, self.storage, self.block.S))

    def pull(self) -> None:
        """Pull at the inner vertices."""
        self.block.pull_of_duals(self.pulled, self.storage)

    def hold(self) -> None:
        """Hold them where a document within the margin has the feature.

        Elsewhere a leaf follows its centre, and inner vertices need hardly wait for it.
        """
        block, r = self.block, (1 / self.block.own).float()
        S = block.centre_scores(self.M, self.storage, block.S)
        within = (block.system.pairs.derivatives(S)[1] > 0).to(self.storage)
        held = torch.where(product(turned(block.X, _present), within) > 0, r, _LOOSE * r)
        block.pull(self.held, held, block.held_shares)

    def _record(self) -> None:
        newton = self.newton
        begin, *pieces, pull, hold = self.recorder.record([self.begin, *newton.pieces, self.pull, self.hold])
        if self.recorder.enabled:
            newton.keep(pieces)
            self._recorded = _VisitPieces(begin, pull, hold)
        newton.forget()


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
        positive_weight: FloatArray, engine: GPUEngine, n_all: int | None = None, n_lanes: int = 1,
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
        self.recorder, self.lanes = Recorder(device), Lanes(device, min(n_lanes, len(self.blocks)))
        self.regions = Regions(E, regions_of(E, network, _REGIONS), self.X, self.recorder)
        self.n_rounds = self.n_products = 0
        self.objective = self.gap = float("inf")
        self.bound, self._bound_at, self._bound_is_here = -float("inf"), self._here(), True
        self._certificate: tuple[float, float] | None = None  # of where the iteration stands
        # What is recorded works on these: what leaves pull by, then the gradient, then a step; and pivots of its solve.
        self._step, self._held = torch.zeros_like(self.M), torch.zeros_like(self.M)
        self._figures = torch.zeros(2, dtype=torch.float64, device=device)
        self._visits: dict[int, _Visit] = {}
        self._repeated: dict[str, Piece] = {}
        self._bind(range(len(self.blocks)))

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
            LeafShares(torch.as_tensor(shares, device=device)), own, system, features, zero, zero.clone(),
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
        self.M.copy_(torch.as_tensor(np.array(point.M), device=self.device))
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
        self._bound_at, self._bound_is_here, self._certificate = self._here(), True, None
        self._bind(range(len(self.blocks)))

    def _here(self) -> tuple[Tensor, list[Tensor]]:
        """Copies of M and of all dual variables."""
        return self.M.clone(), [block.A.clone() for block in self.blocks]

    def _bind(self, changed: Collection[int]) -> None:
        """Let visits, moves and the measure work on blocks whose documents changed."""
        for number in changed:
            block = self.blocks[number]
            place = (self.M, self._step, self._held, self.positive_weight[block.columns], self.storage)
            self._visits[number] = _Visit(block, *place, self.lanes.recorder(number))
        self.regions.bind(self.M, self.blocks, self.storage)
        self._repeated.pop("measure", None)

    # -- the iteration -------------------------------------------------------------------------------------------------

    def run(self, tol: float, max_rounds: int, go_on: Callable[[float, float], bool]) -> bool:
        """Rounds until the gap over all documents is ``tol`` of the objective; ``go_on`` hears both and may end it."""
        momentum, solved, first = 1.0, self.M.clone(), self.n_rounds
        while True:
            self.recorder.ready = self.n_rounds >= first + _UNRECORDED
            self.lanes.ready(self.recorder.ready)
            hold = self.n_rounds < 2 or self.n_rounds % 2 == 0
            self._round(hold=hold and self.near is not None)
            if hold if self.near is not None else self.n_rounds == first:
                self._repeat("factor", self._factor)
            self._repeat("solve", self._solve)
            self.n_rounds += 1
            self.M.sub_(self._step)
            way = self.M - solved
            following = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
            if bool(inner(self._step, way) > 0):  # uphill
                momentum = following = 1.0
            if self.n_rounds % _MOVE_EVERY == 0 or self.n_rounds <= 2:
                self.regions.move()
                before = self.objective
                self._repeat("measure", self._measure_moved)
                self._note()
                if self.objective > before:
                    momentum = following = 1.0
                if self.near is not None and self._screened(tol):
                    self._measure(self._pairs())
                    self._note()
                close = self.gap <= tol * self.objective and self._certified_within(tol)
                if close or not go_on(self.objective, self.gap):
                    return close
            if self.n_rounds >= max_rounds:
                return False
            solved.copy_(self.M)
            self.M.add_(way, alpha=(momentum - 1) / following)
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
            yield block, block.centre_scores(self.M, self.storage, block.S)

    def _round(self, *, hold: bool) -> None:
        """Visit the leaves, which pull, and hold, inner vertices."""
        self._bound_is_here, self._certificate = False, None
        self._step.zero_()
        if hold:
            self._held.zero_()
        first, later = (3, 1) if self.near is None else _VISITS
        n_steps = later if self.n_rounds else first
        visits = [self._visits[number] for number in range(len(self.blocks))]
        before = sum(visit.n_products for visit in visits)
        for visit in visits:
            visit.choose()
        self.lanes.run([visit.steps(n_steps) for visit in visits])
        for visit in visits:  # one after the other: leaves of different blocks have inner vertices in common
            visit.end(hold=hold)
        self.n_products += sum(visit.n_products for visit in visits) - before

    def _factor(self) -> None:
        """Factor what inner vertices and the leaves that hold them hold each other by."""
        if self.near is None:
            self._hold_always()
        self.inner.with_diagonal.factor(self._held)

    def _hold_always(self) -> None:
        """Leaves of the logistic loss hold by r h / (r + h) with h_f = sum_i c_i / 4 |x_if| |x_i|_1.

        That bounds the curvature of the losses.
        """
        self._held.zero_()
        for block in self.blocks:
            r = (1 / block.own).float()
            h = product(turned(block.X, _sized), 0.25 * self.cost[:, None])
            block.pull(self._held, h * r / (h + r), block.held_shares)

    def _solve(self) -> None:
        """The step of the inner vertices, from what the leaves pull and E M: the gradient of phi at M."""
        torch.sub(self.inner.times(self.M), self._step, out=self._step)
        self.inner.with_diagonal(self._step)

    def _measure(self, pairs: Iterable[tuple[DeviceLeaves, Tensor]]) -> None:
        """Objective and gap at M, given scores there, with what the leaves have of their own as it is."""
        energy = self.inner.times(self.M)
        value, gap = 0.5 * inner(energy, self.M), torch.zeros((), dtype=torch.float64, device=self.device)
        for block, S in pairs:
            XA = product(block.X.T, block.A.to(self.storage))
            XR = product(block.X.T, block.system.pairs.derivatives(S)[0].to(self.storage))
            block.pull(energy, XR)
            value = value + 0.5 * dots(XA, XA) @ block.own + block.system.pairs.value(S).sum()
            XR += XA
            gap = gap + 0.5 * dots(XR, XR) @ block.own
        gap = gap + 0.5 * inner(energy, self.inner.solve_E(energy.clone()))
        self._figures.copy_(torch.stack([value, gap]))

    def _measure_moved(self) -> None:
        """The same after a move of the regions."""
        self._measure(self.regions.moved())

    def _repeat(self, name: str, piece: Piece) -> None:
        """Run a piece that is always the same, recorded when the recorder is ready."""
        if self.recorder.recording and name not in self._repeated:
            (self._repeated[name],) = self.recorder.record([piece])
        self._repeated.get(name, piece)()

    def _note(self) -> None:
        """Note the objective that was measured, and a bound from below: the best of all bounds counts."""
        self.objective, gap = self._figures.tolist()
        if self.objective - gap > self.bound:
            self.bound, self._bound_at, self._bound_is_here = self.objective - gap, self._here(), True
        self.gap = self.objective - self.bound

    # -- all documents -------------------------------------------------------------------------------------------------

    def _join(self) -> int:
        """Documents within the margin of some leaf join its block; how many did."""
        n_joined, changed = 0, []
        for number, block in enumerate(self.blocks):
            assert block.rows is not None  # only blocks that look at some documents are asked
            more = caught(self.X, block.weights(self.M, block.A).to(self.storage), block.rows, self.engine)
            if len(more):
                n_joined += len(more)
                changed.append(number)
                block.rows, order = with_rows(block.rows, more)
                block.A, self._bound_at[1][number] = grown(block.A, order), grown(self._bound_at[1][number], order)
                self._look(block)
                block.S = block.system.apply(block.A)
        if changed:
            self._bind(changed)
        return n_joined

    def _look(self, block: DeviceLeaves) -> None:
        """Give a block the documents that are its ``rows``."""
        place = (self.X, block.rows, self.cost)
        block.system, block.features = block.positives.looked_at(*place, self.loss, self.storage, block.own)

    def certificate(self) -> tuple[float, float]:
        """(objective, gap) in float64 over all documents; the bound is the better one of here and the best so far."""
        if self._certificate is None:
            objective, gap = self._certified(self.M, [block.A for block in self.blocks])
            if not self._bound_is_here:
                value, other = self._certified(*self._bound_at)
                gap = min(gap, objective - (value - other))
            self._certificate = objective, gap
        return self._certificate

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
