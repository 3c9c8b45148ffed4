"""The joint problem: leaves and inner vertices in turn, accelerated, until the gap of the whole is certified.

    P(W) = 1/2 sum over links r_uv |w_u - w_v|^2 + 1/2 sum_v anchor_v |w_v|^2 + sum of C_i loss, leaves x documents

A sweep visits all leaves at the inner weights M, then moves the inner vertices to their exact optimum between the
leaves, extrapolated as in FISTA; momentum is reset where it points uphill or P has risen. Since P and the dual D
bound the optimum from both sides, P - D is the certificate: D from the leaves' dual variables alone, inner vertices
eliminated exactly.

Sweeps are cheap, for they look at the leaves' candidates only. At first after every few sweeps, then rarely, a
screening looks at all documents; the last one certifies.

Start: the weights w0 that all nodes would share if they had to be equal (`shared_start`),

    min_w  1/2 |w|^2 + sum_i C_i [ (n - k_i) loss(-w'x_i) + k_i loss(w'x_i) ]     n leaves, k_i labels of document i

Nearly every pair of leaf and document is a negative one, so that w0 rejects everything. All nodes begin there, and the
leaves have only their own documents to learn. The hinge starts as its square does.

Common moves: now and then all vertices move by the same d (squared hinge, `common_move`),

    min_d   1/2 sum_v a_v |m_v + d|^2 + sum over pairs of leaf and document  c max(0, t - y d'x)^2

with a the inner vertices' pull to zero, m their weights, and t = 1 - y w'x before the move. Nothing changes between the
vertices. Leaves and inner vertices in turn are slowest in just this direction: every leaf pulls a little too much or
too little, and the lower bound pays for the sum of it. One problem with the shape of a single binary one corrects that:
Newton steps by conjugate gradients, on pairs near the margin.

The weights of inner vertices are centres for the leaves, and take the exact step between the leaves that pull at them.

Stored (n_panels, n_inner, 16), sixteen features to a panel: the vertices of a panel stay in cache while it is solved,
ranges of panels run on threads, and the whole may lie on disk.

Where elimination fills the network in (`Network.large_fill`), each feature is solved by conjugate gradients. Features
differ only in which leaves hold on, so that the network under a fraction of the hold of all leaves is a good
preconditioner; it is factorised once, for fractions from 2^-14 to 1.

Leaves may have prior weights p (`linnaeus.models.label_priors`): their links are at rest where w = centre + p. With
w = v + p this is the same network in v, so that only the centres that leaves are given, and the dual objective, differ.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from linnaeus._kernels import dispatch
from linnaeus.data.matrices import Rows, aligned_zeros, is_sparse, rows_bytes
from linnaeus.engine import Clock, Forecast, SerialEngine, blocks
from linnaeus.models.linear import MERGE_BYTES
from linnaeus.models.recursive.leaves import (
    MOST,
    SAMPLE,
    LeafBlock,
    LeafMeasure,
    LeafSolver,
    MarginPairs,
    measure_block,
    pairs_of_block,
    screen_block,
    visit_block,
)
from linnaeus.models.recursive.network import Network
from linnaeus.models.solvers import cg
from linnaeus.models.solvers.cg import NewtonBlock, Which, conjugate_gradients, line_search
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.typing import CSR, Array, Engine, FloatArray, IntArray, Matrix

__all__ = [
    "InnerWeights",
    "JointSolver",
    "JointState",
    "add_entries",
    "common_move",
    "entries_at",
    "fits_newton",
    "joint_forecast",
    "shared_start",
]

_TOLERANCE, _MOST_STEPS = 1e-4, 30  # of conjugate gradients: squared error of a feature's move, relative to the move
_SMALL_SHARE = 0.01  # entries of the preconditioner up to here are left out; on MeSH seven of ten
_RANGES = 4  # of panels, however many threads there are


class InnerWeights:
    """``M``, the point at which the leaves are solved, and ``solved``, the last solution, before momentum."""

    prior: CSR | None = None  # of the leaves (n_leaves x n_features, in the order of M): added to their centres

    def __init__(self, network: Network, M: FloatArray, solved: FloatArray) -> None:
        self.network, self.M, self.solved = network, M, solved
        self.kernel = dispatch.best("recursive")
        self._factors: Factors | None = None

    @property
    def factored(self) -> bool:
        """Whether the dual objective is computed from the factors that all features share."""
        return self.network.large_fill

    @property
    def factors(self) -> Factors:
        """Factors that all features share, made at their first use."""
        if self._factors is None:
            self._factors = Factors(self.network)
        return self._factors

    @staticmethod
    def shape(network: Network, n_features: int) -> tuple[int, int, int]:
        return -(-n_features // PANEL), network.n_inner, PANEL

    def start_from(self, shared: FloatArray) -> None:
        """Set all vertices to the same weights."""
        padded = np.zeros(len(self.M) * PANEL, self.M.dtype)
        padded[: len(shared)] = shared
        self.M[:] = padded.reshape(-1, 1, PANEL)
        self.solved[:] = self.M

    def shift(self, vector: FloatArray) -> None:
        """Shift all vertices by the same vector."""
        self._shift(self.M, vector)
        self._shift(self.solved, vector)

    def _shift(self, weights: FloatArray, vector: FloatArray) -> None:
        padded = np.zeros((len(weights), PANEL), weights.dtype)
        padded.reshape(-1)[: len(vector)] = vector
        for panel, added in zip(weights, padded, strict=True):
            panel += np.tile(added, (self.network.n_inner, 1))

    def start_at(self, solved: FloatArray) -> None:
        """Set the vertices to a solution."""
        self.M[:] = self.solved[:] = solved

    def pulled(self, n_features: int) -> tuple[FloatArray, float]:
        """(sum_v a_v x_v at the last solution, sum_v a_v) over the pulls to zero a."""
        anchored = np.flatnonzero(self.network.anchor)
        anchor = self.network.anchor[anchored].astype(np.float64)
        return np.einsum("v,pvl->pl", anchor, self.solved[:, anchored]).reshape(-1)[:n_features], float(anchor.sum())

    def release(self) -> None:
        """Release the point with momentum; the solution stays."""
        self.M, self._factors = self.solved, None

    def of(self, vertex: int) -> FloatArray:
        """Weights of one vertex, padded to whole panels."""
        return self.solved[:, vertex].ravel()

    def centres(self, columns: IntArray, features: IntArray, *, solved: bool = False) -> FloatArray:
        """Centres of some leaves, features x 16: at M, or at the last solution."""
        indptr, inner, share, _ = self.network.links(columns)
        W = aligned_zeros((len(features), PANEL), self.M.dtype)
        self.kernel.gather(self.solved if solved else self.M, features, indptr, inner, share, W)
        if self.prior is not None:
            add_entries(W, self.prior, columns, features)
        return W

    def prior_product(self, block: LeafBlock) -> float:
        """sum_n S_n v_n'p_n over the leaves of a block: what the prior weights p take from the dual objective."""
        if self.prior is None:
            return 0.0
        sums = np.zeros(block.n_columns)
        for row, at, entries in entries_at(self.prior, block.columns, block.features):
            sums[row] = block.dual_U[at, row].astype(np.float64) @ self.prior.data[entries].astype(np.float64)
        return block.scaled(sums)

    def step(self, leaf_blocks: Sequence[LeafBlock], momentum: float, engine: Engine) -> float:
        """Exact optimum between the leaves, then extrapolated by momentum; see the kernel."""
        work = _Pull(self, leaf_blocks, momentum, dual=False)
        if self.network.large_fill:
            work.factors = self.factors
        return float(sum(engine.map(_step, self._ranges(), shared=work)))

    def energy(self, leaf_blocks: Sequence[LeafBlock], engine: Engine) -> tuple[float, float]:
        """(the inner vertices' part of the regulariser at the last solution, its minimum for the leaves' pull)."""
        work = _Pull(self, leaf_blocks, 0.0, dual=True)
        if self.factored:
            work.factors = self.factors
        parts = list(engine.map(_energies, self._ranges(), shared=work))
        return float(sum(a for a, _ in parts)), float(sum(b for _, b in parts))

    def write_leaves(self, leaf_blocks: Sequence[LeafBlock], row: IntArray, W: FloatArray, engine: Engine) -> None:
        """Weights of all leaves at the last solution into the rows of W: feature f into row[f], or nowhere (-1)."""
        work = _Leaves(_Pull(self, leaf_blocks, 0.0, dual=False), leaf_blocks, row, W)
        for _ in engine.map(_write, self._ranges(), shared=work):
            pass

    def _ranges(self) -> Iterator[slice]:
        return blocks(len(self.solved), -(-len(self.solved) // _RANGES))


def add_entries(W: FloatArray, P: CSR, leaves: IntArray, features: IntArray) -> None:
    """Add the entries of some rows of P at some (sorted) features to W, features x 16."""
    for row, at, entries in entries_at(P, leaves, features):
        W[at, row] += P.data[entries]


def entries_at(P: CSR, leaves: IntArray, features: IntArray) -> Iterator[tuple[int, IntArray, IntArray]]:
    """Entries of some rows of P at some (sorted) features: number of the row, places of the features, places in P."""
    in_order = bool(P.has_sorted_indices)
    for row, leaf in enumerate(leaves.tolist()):
        first, last = int(P.indptr[leaf]), int(P.indptr[leaf + 1])
        if in_order and last > first and P.indices[last - 1] == last - first - 1:  # no gaps: no search is needed
            at = np.arange(np.searchsorted(features, last - first))
            yield row, at, first + features[at]
            continue
        indices = P.indices[first:last]
        if in_order and len(features) < len(indices):  # the shorter is looked up in the longer
            places = np.minimum(np.searchsorted(indices, features), len(indices) - 1)
            at = np.flatnonzero(indices[places] == features)
            yield row, at, first + places[at]
            continue
        at = np.minimum(np.searchsorted(features, indices), len(features) - 1)
        found = np.flatnonzero(features[at] == indices)
        yield row, at[found], first + found


class Factors:
    """Eliminations that all features share: the anchors alone in double precision, and levels of the leaves' hold."""

    def __init__(self, network: Network) -> None:
        hold = np.bincount(network.leaf_inner, network.leaf_weight, network.n_inner)
        fraction = np.append(0.0, 2.0 ** np.arange(2 - PANEL, 1))
        excess = network.anchor[:, None] + np.outer(hold, fraction)
        conductance = network.conductance.astype(np.float64)
        share, inverse = np.empty((PANEL, len(network.later))), np.empty((PANEL, network.n_inner))
        dispatch.best("recursive").factor(
            network.order, network.later_ptr, network.later, conductance, network.mesh_ptr, network.mesh, network.slot,
            excess, share, inverse, aligned_zeros((2, network.n_inner, PANEL), np.float64),
            aligned_zeros((max(1, network.n_slots), PANEL), np.float64),
        )  # fmt: skip
        self.anchored = share[0].copy(), inverse[0].copy()
        turn = np.repeat(np.arange(network.n_inner), np.diff(network.later_ptr))
        kept = np.flatnonzero(share[1] > _SMALL_SHARE)
        self.later = network.later[kept]
        self.later_ptr = np.searchsorted(turn[kept], np.arange(network.n_inner + 1)).astype(np.int64)
        for row in share[1:]:  # the entries that stay stand for all: vertices that move together still do
            whole, part = (np.bincount(turn[some], row[some], network.n_inner) for some in (slice(None), kept))
            row[kept] *= (whole / np.maximum(part, np.finfo(float).tiny))[turn[kept]]
        dtype = network.anchor.dtype
        self.levels = np.ascontiguousarray(share[1:, kept], dtype), inverse[1:].astype(dtype), excess.sum(0)[1:]
        linked = np.flatnonzero(network.conductance)
        self.ends = np.stack([network.order[turn[linked]], network.later[linked]], axis=1).astype(np.int32)
        self.conductance = network.conductance[linked]


class _Pull:
    """The leaves' arrays as the kernel walks them: addresses, lengths and links of all blocks."""

    factors: Factors | None = None

    def __init__(self, weights: InnerWeights, leaf_blocks: Sequence[LeafBlock], momentum: float, *, dual: bool) -> None:
        network, dtype = weights.network, weights.M.dtype
        self.weights, self.momentum = weights, momentum
        self.arrays = [  # the kernel sees their addresses only
            (np.ascontiguousarray(x.dual_U if dual else x.U, dtype), np.ascontiguousarray(x.features, np.int32))
            for x in leaf_blocks
        ]
        ends = np.array([[u.ctypes.data, f.ctypes.data] for u, f in self.arrays], np.uint64).reshape(-1, 2)
        self.U, self.features = np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])
        self.length = np.array([len(f) for _, f in self.arrays], np.int64)
        self.column_ptr = np.empty((len(leaf_blocks), PANEL + 1), np.int64)
        for row, block in zip(self.column_ptr, leaf_blocks, strict=True):
            first, last = int(block.columns[0]), int(block.columns[-1])  # consecutive
            row[:] = network.leaf_ptr[last + 1]
            row[: last - first + 2] = network.leaf_ptr[first : last + 2]

    def arguments(self, part: slice) -> tuple[Array | int, ...]:
        """The pull of the leaves in some panels."""
        network = self.weights.network
        cursor = np.array([np.searchsorted(f, part.start * PANEL) for _, f in self.arrays], np.int64)
        return (
            self.U, self.features, self.length, self.column_ptr, network.leaf_inner, network.leaf_weight, cursor,
            part.start,
        )  # fmt: skip

    def scratch(self, dtype: npt.DTypeLike) -> tuple[FloatArray, FloatArray, Array]:
        network = self.weights.network
        nodes = aligned_zeros((2, network.n_inner, PANEL), dtype)
        return nodes, aligned_zeros((max(1, network.n_slots), PANEL), dtype), np.zeros(network.n_inner, np.uint8)


@dataclass(frozen=True)
class _Leaves:
    """Where the weights of the leaves go."""

    pull: _Pull
    blocks: Sequence[LeafBlock]
    row: IntArray
    W: FloatArray


def _write(work: _Leaves, part: slice) -> None:
    weights, network = work.pull.weights, work.pull.weights.network
    U, features, length, *_, cursor, _ = work.pull.arguments(part)
    first = np.array([block.columns[0] for block in work.blocks] + [network.n_leaves], np.int64)
    weights.kernel.write_leaves(
        weights.solved[part], part.start, network.leaf_ptr, network.leaf_inner, network.leaf_share, U, features, length,
        cursor, first, work.row, work.W,
    )  # fmt: skip


def _step(work: _Pull, part: slice) -> float:
    weights, network, factors = work.weights, work.weights.network, work.factors
    state = weights.M[part], weights.solved[part], work.momentum
    uphill: float
    if factors is None:
        uphill = weights.kernel.step(
            *network.elimination, *work.arguments(part), *state, *work.scratch(weights.M.dtype)
        )
        return uphill
    uphill, _ = weights.kernel.iterated_step(
        network.order, factors.later_ptr, factors.later, *factors.levels, factors.ends, factors.conductance,
        network.anchor, *work.arguments(part), *state, _TOLERANCE, _MOST_STEPS,
        aligned_zeros((6, network.n_inner, PANEL), weights.M.dtype), np.empty(network.n_inner, np.uint8),
    )  # fmt: skip
    return uphill


def _energies(work: _Pull, part: slice) -> tuple[float, float]:
    weights, network, factors = work.weights, work.weights.network, work.factors
    links = (network.order, network.later_ptr, network.later)
    primal = weights.kernel.energy(*links, network.conductance, network.anchor, weights.solved[part])
    pull, n_panels = work.arguments(part), part.stop - part.start
    if factors is None:
        return primal, weights.kernel.least_energy(*network.elimination, *pull, n_panels, *work.scratch(np.float64))
    nodes, touched = aligned_zeros((1, network.n_inner, PANEL), np.float64), np.empty(network.n_inner, np.uint8)
    return primal, weights.kernel.factored_energy(*links, *factors.anchored, *pull, n_panels, nodes, touched)


_MEASURE_EVERY, _MEASURE_LATEST = 4, 10
_SLOWER = 1.25  # the gap is expected to fall this much slower than before; a measure too early costs four sweeps
_ENOUGH = 0.95  # of tol, on the candidates: then all documents are looked at
_MOVE_EVERY = 4  # rarer common moves let momentum oscillate in the common direction
_SCREEN_FIRST, _SCREEN_GROWTH = 2, 2.0
_MISSED = 0.1  # momentum is reset where the candidates missed this part of the objective
_SETTLED = 0.001  # where they missed less than this, the next screening may come later
_MOST_PAIRS, _MOST_VERTICES = 5 * 10**7, 4000
_START_TOLERANCE, _START_PRODUCTS = 1e-2, 300
_STEPS, _PRODUCTS, _HALVINGS = 4, 60, 10
_GRADIENT, _RESIDUAL = 1e-2, 0.1  # relative: where the Newton steps and the conjugate gradients of a common move stop


@dataclass
class JointState:
    """Where the iteration stands; with the inner weights and the blocks, all that a later run needs to continue."""

    sweep: int = 0
    momentum: float = 1.0  # FISTA's t
    next_screen: int = _SCREEN_FIRST
    next_measure: int = _MEASURE_EVERY
    next_move: int = _MOVE_EVERY
    measured: int = 0  # at this sweep the gap was last_gap
    last_gap: float = 1.0
    met: float = 1.0  # relative gap as the last sweep has met it, where sweeps tell
    best_dual: float = float(np.finfo(np.float64).min)
    last_objective: float = float(np.finfo(np.float64).max)
    measure_first: bool = False  # the start may be the solution already, and has not been measured yet
    newton_done: bool = False  # whether Newton's method, where it gives the start, has ended
    done: bool = False


@dataclass
class JointSolver:
    """The solver of the leaves, their blocks, the inner weights, and the engines for both."""

    leaves: LeafSolver
    blocks: list[LeafBlock]
    inner: InnerWeights
    engine: Engine
    local_engine: Engine  # threads of this process: the inner weights never travel
    state: JointState = field(default_factory=JointState)
    objective: float = np.inf
    gap: float = np.inf
    out_of_time: bool = False
    newton_at: FloatArray | None = None  # where a time limit interrupted Newton's method
    certificate_seconds: float = 0.0  # duration of the last screening
    missed: float = 0.0  # losses of documents that were not candidates in the last screening
    pairs: FloatArray = field(default_factory=lambda: np.zeros(0))  # the blocks' own parts of the gap, last measured
    awake: set[int] | None = None  # numbers of the blocks to visit; None: all

    @property
    def measures_candidates(self) -> bool:
        """Whether a measure looks at candidates only, so that it certifies nothing."""
        return self.leaves.screens

    def run(
        self,
        tol: float,
        max_iter: int,
        clock: Clock,
        after: Callable[[float], None],
        save: Callable[[], None] = lambda: None,
        due: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Iterate until the certified gap is ``tol`` of the objective; False if it is not.

        ``after`` is called with the relative gap. ``save`` is called where a limit ends the iteration, before the last
        certificate changes the state, and after sweeps without a measure where it is ``due``: a later run that
        continues from there repeats what this one would do.
        """
        self._begin(tol, max_iter)
        state = self.state
        if state.done:  # a finished training that was resumed
            self.certify()
            return self.gap <= tol * self.objective
        if state.measure_first and not clock.over:
            state.measure_first = False
            objective, gap = self._measure(False)
            if gap <= tol * objective:
                self.certify()
                state.done = self.gap <= tol * self.objective
                if state.done:
                    after(self.gap / max(self.objective, np.finfo(float).tiny))
                    return True
        while True:
            late = clock.remaining <= self.certificate_seconds
            if state.sweep >= max_iter or late:
                self.out_of_time = late and state.sweep < max_iter
                break
            self._sweep()
            screening = self.leaves.screens and state.sweep >= state.next_screen
            if not screening and state.sweep < state.next_measure:
                if state.sweep >= state.next_move:
                    self._move_together()
                if due():
                    self._end()
                    save()
                continue
            objective, gap = self._measure(screening)
            state.next_measure = state.sweep + self._until(tol, gap / max(objective, np.finfo(float).tiny))
            if state.next_measure < state.next_screen < state.next_measure + _MEASURE_EVERY:
                state.next_measure = state.next_screen
            self._wake(0.5 * tol * objective)
            if objective > state.last_objective:  # momentum has carried too far
                state.momentum = 1.0
            state.last_objective = objective
            if gap <= _ENOUGH * tol * objective or (gap <= tol * objective and not self.measures_candidates):
                if self.measures_candidates:
                    self.certify()
                else:  # a measure of all documents is a certificate
                    self.objective, self.gap = objective, gap
                if self.gap <= tol * self.objective:
                    state.done = True
                    after(self.gap / max(self.objective, np.finfo(float).tiny))
                    return True
                if self.measures_candidates and not screening:  # the candidates looked better than all documents do
                    state.next_screen = state.sweep
                    self._measure(True)
            self._move_together()
            after(gap / max(objective, np.finfo(float).tiny))
        self._end()
        save()
        self.certify()
        return self.gap <= tol * self.objective

    def _begin(self, tol: float, max_iter: int) -> None:
        """What other sweeps need before the first one."""

    def _end(self) -> None:
        """Bring the state to that of the last sweep, to be saved."""

    def _until(self, tol: float, gap: float) -> int:
        """Sweeps until the next measure: until the gap may be small enough, if it continues to fall as it did last."""
        state, gap = self.state, max(gap, np.finfo(float).tiny)
        swept, fell = state.sweep - state.measured, np.log(state.last_gap / gap)
        state.measured, state.last_gap = state.sweep, gap
        if self.leaves.loss == "hinge":  # it must know early when P rises
            return _MEASURE_EVERY
        left = np.log(max(gap / (_ENOUGH * tol), 1.0))
        # Not sooner: a measure rebuilds u in fewer features than visits touch, and steps are too long for a while.
        return int(np.clip(np.ceil(_SLOWER * left * swept / max(fell, 1e-3)), _MEASURE_EVERY, _MEASURE_LATEST))

    def _sweep(self) -> None:
        state = self.state
        state.sweep += 1
        numbers = range(len(self.blocks)) if self.awake is None else sorted(self.awake)
        chosen = [self.blocks[i] for i in numbers]
        tasks = ((block, self.inner.centres(block.columns, block.features), state.sweep) for block in chosen)
        for i, block in zip(numbers, self.engine.map(visit_block, tasks, shared=self.leaves), strict=True):
            self.blocks[i] = block
        following = 0.5 * (1 + np.sqrt(1 + 4 * state.momentum**2))
        uphill = self.inner.step(self.blocks, (state.momentum - 1) / following, self.local_engine)
        state.momentum = 1.0 if uphill > 0 else float(following)

    def _move_together(self) -> None:
        """Shift all vertices by their common optimum; not in an update, which leaves blocks asleep unchanged."""
        if not self.leaves.moves_together or self.awake is not None:
            return
        self.state.next_move = self.state.sweep + _MOVE_EVERY
        self.inner.shift(self._common_move())

    def _common_move(self) -> FloatArray:
        """The move of all vertices by the same vector that is best for the last solution."""
        ends = self.inner.network.leaf_ptr
        tasks = (
            (block, centre, ends[block.columns + 1] > ends[block.columns])  # a leaf linked to nothing does not follow
            for block, centre in self._with_centres(lambda block: block.features, solved=True)
        )
        pairs = list(self.engine.map(pairs_of_block, tasks, shared=self.leaves))
        rows = self.leaves.documents
        assert isinstance(rows, Rows)
        return common_move(rows, pairs, *self.inner.pulled(self.leaves.n_features))

    def _with_centres(
        self, features: Callable[[LeafBlock], IntArray], *, solved: bool
    ) -> Iterator[tuple[LeafBlock, FloatArray]]:
        for block in self.blocks:
            yield block, self.inner.centres(block.columns, features(block), solved=solved)

    def _measure(self, screening: bool) -> tuple[float, float]:
        """(P, P - best D) at the last solution: of the candidates, or of all documents with new candidates."""
        state = self.state
        if not screening:
            tasks = self._with_centres(lambda block: block.features, solved=True)
            return self._total(self.engine.map(measure_block, tasks, shared=self.leaves))
        objective, gap = self._screen(exact=False)
        if self.missed > _MISSED * objective:
            state.momentum = 1.0
        growth = _SCREEN_GROWTH if self.missed > _SETTLED * objective else _SCREEN_GROWTH**2
        state.next_screen = max(state.next_screen, state.sweep) + max(_MEASURE_EVERY, int(state.sweep * (growth - 1)))
        return objective, gap

    def _screen(self, exact: bool) -> tuple[float, float]:
        every = np.arange(self.leaves.n_features, dtype=np.int32)
        tasks = ((block, centre, exact) for block, centre in self._with_centres(lambda _: every, solved=True))
        start = time.perf_counter()
        totals = self._total(self.engine.map(screen_block, tasks, shared=self.leaves))
        self.certificate_seconds = time.perf_counter() - start
        return totals

    def _total(self, measures: Iterator[LeafMeasure]) -> tuple[float, float]:
        loss = dual = norm = dual_norm = self.missed = 0.0
        self.pairs = np.zeros(len(self.blocks))
        for i, measured in enumerate(measures):
            self.blocks[i], self.pairs[i] = measured.block, measured.pairs
            loss, dual = loss + measured.loss, dual + measured.dual
            norm, dual_norm = norm + measured.norm, dual_norm + measured.dual_norm
            dual -= self.inner.prior_product(measured.block)
            self.missed += measured.missed
        energy, least = self.inner.energy(self.blocks, self.local_engine)
        objective = loss + 0.5 * norm + energy
        self.state.best_dual = max(self.state.best_dual, dual - 0.5 * dual_norm - least)
        return objective, max(0.0, objective - self.state.best_dual)

    def release(self) -> None:
        """Keep what a later start needs; release engines, the point with momentum and the blocks' own problems."""
        self.engine = self.local_engine = SerialEngine()
        self.inner.release()
        for block in self.blocks:
            block.release()

    def _wake(self, most: float) -> None:
        """Wake the blocks with the largest parts of the gap, until those of the others sum to less than ``most``."""
        if self.awake is not None:
            asleep = np.array(sorted(set(range(len(self.blocks))) - self.awake), dtype=np.int64)
            asleep = asleep[np.argsort(self.pairs[asleep], kind="stable")]
            self.awake |= set(asleep[np.cumsum(self.pairs[asleep]) > most].tolist())

    def certify(self) -> None:
        """P and the gap of the weights as they are, on all documents, scores in double precision."""
        self.objective, self.gap = self._screen(exact=True)


# -- start -------------------------------------------------------------------------------------------------------------


def shared_start(
    documents: Rows | Matrix, bound: FloatArray, n_labels: FloatArray, n_leaves: int, loss: str, bias: float
) -> FloatArray:
    """w0 (n_features + 1, the constant last); ``documents`` as the solver has them, ``n_labels`` of every document."""
    from scipy import sparse

    if isinstance(documents, Rows):
        shape = documents.n_docs, documents.n_features
        X = documents.data.reshape(shape) if documents.dense else _sparse_rows(documents)
    else:
        X = documents
    labelled = np.flatnonzero(n_labels)
    both = sparse.vstack([X, X[labelled]]).tocsr() if sparse.issparse(X) else np.concatenate([X, X[labelled]])
    negative, positive = bound * (n_leaves - n_labels), bound[labelled] * n_labels[labelled]
    c = np.concatenate([negative, positive]).astype(X.dtype)[:, None]
    Y = np.concatenate([-np.ones(len(negative)), np.ones(len(positive))]).astype(X.dtype)[:, None]
    smooth = "logistic" if loss == "logistic" else "squared_hinge"
    solution = NewtonBlock(both, Y, c, smooth, X.dtype.type(bias)).solve(_START_TOLERANCE, _START_PRODUCTS)
    last = solution.intercept[0] / bias if bias else 0.0
    return np.append(np.asarray(solution.weights)[:, 0], last).astype(X.dtype)


def _sparse_rows(rows: Rows) -> CSR:
    """Sparse documents as they were before they were laid out, features in the order of the kernels."""
    from scipy import sparse

    nnz = rows.indptr[-1]
    parts = rows.data[:nnz], rows.indices[:nnz], rows.indptr
    return sparse.csr_array(parts, shape=(rows.n_docs, rows.n_features))


# -- common moves ------------------------------------------------------------------------------------------------------


def common_move(rows: Rows, pairs: Sequence[MarginPairs], pull: FloatArray, anchor: float) -> FloatArray:
    """d (n_features + 1, the constant last); ``pull`` is sum_v a_v m_v, ``anchor`` sum_v a_v."""
    problem = _Moves(rows, pairs, pull, anchor)
    move: FloatArray = np.zeros(len(pull))
    now = problem.at(move)
    first = np.linalg.norm(now.gradient)
    for _ in range(_STEPS):
        if np.linalg.norm(now.gradient) <= _GRADIENT * first:
            break
        trial = _Trial(problem, move, problem.direction(now), now.value)
        length = line_search(trial, np.atleast_1d(now.gradient @ trial.direction), halvings=_HALVINGS)
        if not length[0]:
            break
        move, now = trial.found
    return move


@dataclass(frozen=True)
class _Point:
    value: float
    gradient: FloatArray
    curvature: FloatArray  # of every document


@dataclass
class _Trial:
    """The objective along a line; ``found`` is the last place, and what was found there."""

    problem: _Moves
    move: FloatArray
    direction: FloatArray
    value: float
    found: tuple[FloatArray, _Point] = field(init=False)

    def __call__(self, length: FloatArray, _: Which) -> FloatArray:
        place = self.move + length[0] * self.direction
        self.found = place, self.problem.at(place)
        return np.array([self.found[1].value - self.value])


class _Moves:
    """The objective as a function of d, up to a constant."""

    def __init__(self, rows: Rows, pairs: Sequence[MarginPairs], pull: FloatArray, anchor: float) -> None:
        from scipy import sparse

        constant = sparse.csr_array(np.full((rows.n_docs, 1), float(rows.bias)))
        self.X = sparse.hstack([_sparse_rows(rows).astype(np.float64), constant], format="csr")
        self.transposed = self.X.T.tocsr()
        self.pairs, self.pull, self.anchor = pairs, pull.astype(np.float64), anchor
        self.kernel = dispatch.best("screen")

    def at(self, d: FloatArray) -> _Point:
        moved, slope, curvature = self.X @ d, np.zeros(self.X.shape[0]), np.zeros(self.X.shape[0])
        value = float(self.pull @ d + 0.5 * self.anchor * (d @ d))
        value += sum(self.kernel.moved(*part, moved, slope, curvature) for part in self.pairs)
        return _Point(value, self.pull + self.anchor * d - self.transposed @ slope, curvature)

    def direction(self, now: _Point) -> FloatArray:
        """Newton's direction by conjugate gradients with the Hessian's diagonal."""
        squares = self.transposed.copy()
        squares.data **= 2
        diagonal = np.maximum(self.anchor + squares @ now.curvature, np.finfo(float).tiny)

        def product(d: FloatArray, _: FloatArray) -> tuple[FloatArray, None]:
            return self.anchor * d + self.transposed @ (now.curvature * (self.X @ d)), None

        def precondition(residual: FloatArray) -> FloatArray:
            return residual / diagonal

        return conjugate_gradients(
            product, -now.gradient, tolerance=_RESIDUAL, max_products=_PRODUCTS, precondition=precondition
        ).x


# -- memory ------------------------------------------------------------------------------------------------------------


def fits_newton(n_docs: int, network: Network) -> bool:
    """Whether scores of all documents and leaves, and the kernel between leaves, are small enough to hold."""
    vertices = max(network.n_leaves, network.n_inner)
    return n_docs * network.n_leaves <= _MOST_PAIRS and vertices <= _MOST_VERTICES


def joint_forecast(
    X: Matrix, loss: str, network: Network, n_workers: int, *, in_turns: bool = False, coupled: bool = False
) -> Forecast:
    """Documents, the leaves' dual variables and candidates, inner weights (twice) and the weights of all leaves.

    How many candidates the leaves will have is not known before: as many as a screening may add is the estimate. With a
    published schedule (``in_turns``) new inner weights wait in memory, and workers hold copies of their panels. With
    ``coupled`` leaves, dual variables are kept for all documents, and inner weights are copied in every sweep.
    """
    (n_docs, n_features), size = X.shape, X.dtype.itemsize
    dense = isinstance(X, np.ndarray)
    n_blocks = -(-network.n_leaves // PANEL)
    whole = n_features * PANEL * size
    if dense or coupled or loss == "logistic":
        dual = 0 if dense and loss in cg.LOSSES else n_docs * PANEL * size
        block = dual + 2 * whole
    else:
        candidates = min(n_docs, SAMPLE + MOST)
        entries = candidates * max(1, (X.nnz if is_sparse(X) else X.size) // max(1, n_docs))
        block = candidates * (PANEL * size + 24) + entries * (size + 4) + min(n_features, entries) * (PANEL * size + 4)
        if loss == "squared_hinge" and not in_turns:  # half of the pairs near the margin, for common moves
            block += candidates * PANEL // 2 * (2 * size + 4)
    inner = -(-(n_features + 1) // PANEL) * PANEL * network.n_inner * size
    documents, preparing = rows_bytes(X)
    weights = 2 * inner + network.n_leaves * n_features * size
    waiting = inner if in_turns else 2 * inner if coupled else 0
    newton = dense and loss in cg.LOSSES and not in_turns and fits_newton(n_docs, network)
    scores = 8 * n_docs * network.n_leaves * size if newton else 0  # signs, bounds, scores, their slopes and steps
    return Forecast(
        once={"documents": documents, "leaves": n_blocks * block, "scores": scores, "turns": waiting},
        each_worker={
            "panels": 4 * whole
            + n_docs * (8 + PANEL * size * coupled)
            + 6 * network.n_inner * PANEL * 8
            + (waiting // 4 if in_turns else 0)
        },
        n_workers=n_workers,
        weights=weights,
        merging=min(MERGE_BYTES, max(2**20, weights // 4)),
        preparing=preparing,
    )
