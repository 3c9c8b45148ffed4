"""Weights of the inner vertices: centres for the leaves, and the exact step between the leaves that pull at them.

Stored (n_panels, n_inner, 16), sixteen features to a panel: the vertices of a panel stay in cache while it is solved,
ranges of panels run on threads, and the whole may lie on disk.

Where elimination fills the network in (`Network.large_fill`), each feature is solved by conjugate gradients. Features
differ only in which leaves hold on, so that the network under a fraction of the hold of all leaves is a good
preconditioner; it is factorised once, for fractions from 2^-14 to 1.

Leaves may have prior weights p (`linnaeus.models.label_priors`): their links are at rest where w = centre + p. With
w = v + p this is the same network in v, so that only the centres that leaves are given, and the dual objective, differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from linnaeus._kernels import dispatch
from linnaeus.engine import blocks
from linnaeus.models.recursive.leaves import LeafBlock
from linnaeus.models.recursive.network import Network
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.models.solvers.rows import aligned_zeros
from linnaeus.typing import CSR, Array, Engine, FloatArray, IntArray

__all__ = ["InnerWeights", "entries_at"]

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
        padded = np.zeros((len(self.M), PANEL), self.M.dtype)
        padded.reshape(-1)[: len(vector)] = vector
        for M, solved, panel in zip(self.M, self.solved, padded, strict=True):
            every = np.tile(panel, (self.network.n_inner, 1))
            M += every
            solved += every

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
            for row, at, entries in entries_at(self.prior, columns, features):
                W[at, row] += self.prior.data[entries]
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
        if self.network.large_fill:
            work.factors = self.factors
        parts = list(engine.map(_energies, self._ranges(), shared=work))
        return float(sum(a for a, _ in parts)), float(sum(b for _, b in parts))

    def _ranges(self) -> Iterator[slice]:
        return blocks(len(self.M), -(-len(self.M) // _RANGES))


def entries_at(P: CSR, leaves: IntArray, features: IntArray) -> Iterator[tuple[int, IntArray, IntArray]]:
    """Entries of some rows of P at some (sorted) features: number of the row, places of the features, places in P."""
    for row, leaf in enumerate(leaves.tolist()):
        entries = np.arange(P.indptr[leaf], P.indptr[leaf + 1])
        at = np.minimum(np.searchsorted(features, P.indices[entries]), len(features) - 1)
        found = features[at] == P.indices[entries]
        yield row, at[found], entries[found]


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
