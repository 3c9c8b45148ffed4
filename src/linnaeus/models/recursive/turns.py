"""The joint problem in plain turns (see `schedules`): no momentum, every vertex at its own optimum, neighbours fixed.

    leaf    w = argmin  S/2 |w - m|^2 + losses,      m the mean of its neighbours (`visit` of the leaves)
    inner   w = (sum of r_v w_v over its neighbours v) / (sum of r_v + its pull to zero)

Here a leaf stays where it is while its neighbours move: w_l = m_l + u_l with m_l its mean at the last visit. These need
not be kept for every leaf: all leaves beside an inner vertex have the same turn, so that it is enough to remember where
the inner vertices were in it. With K the weights then, M those now and D = K - M, leaves give

    pull on the inner vertices    sum_l r_lu w_l = (through K)_u + sum_l r_lu u_l
    regulariser, beyond u and M   <sum_l r_l u_l, D> + 1/2 <D, through D>

which comes to zero where leaves move along with their neighbours, as in the accelerated solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.models.recursive.inner import LANES, InnerWeights
from linnaeus.models.recursive.leaves import visit_block
from linnaeus.models.recursive.network import Network
from linnaeus.models.recursive.schedules import Schedule
from linnaeus.models.recursive.solver import JointSolver
from linnaeus.typing import CSR, Engine, FloatArray, IntArray

__all__ = ["TurnSolver", "TurnWeights"]


class TurnWeights(InnerWeights):
    """``M``, the inner vertices now, and ``solved``, K: where they were when the leaves beside them were visited."""

    def __init__(self, network: Network, M: FloatArray, solved: FloatArray, schedule: Schedule) -> None:
        super().__init__(network, M, solved)
        self.schedule = schedule
        self.movers = [np.flatnonzero(schedule.inner_turn == turn) for turn in range(schedule.n_turns)]
        lengths = np.diff(network.leaf_ptr)
        turn_of_link = np.repeat(schedule.leaf_turn, lengths)
        self.beside = [np.unique(network.leaf_inner[turn_of_link == turn]) for turn in range(schedule.n_turns)]
        alone = np.setdiff1d(np.arange(network.n_inner), network.leaf_inner)
        self.beside[-1] = np.union1d(self.beside[-1], alone)  # beside no leaf: K is only where a later fit may start

    def release(self) -> None:
        """Nothing: both are needed to know where the leaves are."""

    def of(self, vertex: int) -> FloatArray:
        return self.M[:, vertex].ravel()

    def means(self, turn: int, leaves: Sequence[Any], engine: Engine) -> FloatArray:
        """Where the inner vertices of a turn move to, n_panels x vertices x 16."""
        movers, schedule = self.movers[turn], self.schedule
        found = np.empty((len(self.M), len(movers), LANES), self.M.dtype)
        if not len(movers):
            return found
        between, through = schedule.between[movers], schedule.through[movers]
        work = _Turn(self, _pulls(self.network, leaves, movers), between, through, movers, found)
        for _ in engine.map(_move, self._ranges(), shared=work):
            pass
        return found

    def settle(self, turn: int, means: FloatArray) -> None:
        """End a turn: its leaves were visited at M, then its inner vertices move."""
        self.solved[:, self.beside[turn]] = self.M[:, self.beside[turn]]
        self.M[:, self.movers[turn]] = means

    def energy(self, leaves: Sequence[Any], engine: Engine) -> tuple[float, float]:
        primal, least = InnerWeights(self.network, self.M, self.M).energy(leaves, engine)
        every = np.arange(self.network.n_inner)
        pulls = _pulls(self.network, leaves, every)
        work = _Turn(self, pulls, self.schedule.between, self.schedule.through, every, self.M)
        return primal + float(sum(engine.map(_stayed, self._ranges(), shared=work))), least


@dataclass
class TurnSolver(JointSolver):
    """Sweeps in turns; measured and certified as the accelerated one."""

    def _sweep(self) -> None:
        inner = self.inner
        assert isinstance(inner, TurnWeights)
        self.state.sweep += 1
        for turn in range(inner.schedule.n_turns):
            means = inner.means(turn, self.blocks, self.local_engine)  # before the leaves: some turns hold both
            self._visit(turn, inner)
            inner.settle(turn, means)

    def _move_together(self) -> None:
        """Nothing: turns are plain."""

    def _visit(self, turn: int, inner: TurnWeights) -> None:
        numbers = [i for i, x in enumerate(self.blocks) if inner.schedule.leaf_turn[x.columns[0]] == turn]
        chosen = [self.blocks[i] for i in numbers]
        tasks = ((x, inner.centres(x.columns, x.features), self.state.sweep) for x in chosen)
        for i, block in zip(numbers, self.engine.map(visit_block, tasks, shared=self.leaves), strict=True):
            self.blocks[i] = block


@dataclass(frozen=True)
class _BlockPull:
    """How a block pulls at some vertices: where they stand, link weights (vertices x 16), its features and U."""

    places: IntArray
    weights: FloatArray
    features: IntArray
    U: FloatArray


@dataclass(frozen=True)
class _Turn:
    """What the tasks of a turn share; ``found`` is written to, each task its own panels."""

    inner: TurnWeights
    pulls: list[_BlockPull]
    between: CSR
    through: CSR
    vertices: IntArray
    found: FloatArray

    def pull(self, part: slice) -> FloatArray:
        """sum_l r_lu u_l at the features of some panels, vertices of the turn x features."""
        first, last = part.start * LANES, part.stop * LANES
        total = np.zeros((len(self.vertices), last - first), self.inner.M.dtype)
        for block in self.pulls:
            a, b = np.searchsorted(block.features, (first, last))
            total[block.places[:, None], block.features[a:b] - first] += block.weights @ block.U[a:b].T
        return total


def _pulls(network: Network, leaves: Sequence[Any], vertices: IntArray) -> list[_BlockPull]:
    """The blocks that have leaves beside the vertices."""
    place = np.full(network.n_inner, -1)
    place[vertices] = np.arange(len(vertices))
    found = []
    for leaf in leaves:
        indptr, inner, _, weight = network.links(leaf.columns)
        column = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        some = place[inner] >= 0
        places, row = np.unique(place[inner[some]], return_inverse=True)
        if len(places):
            weights = np.zeros((len(places), LANES), weight.dtype)
            weights[row, column[some]] = weight[some]
            found.append(_BlockPull(places, weights, leaf.features, leaf.U))
    return found


def _by_vertex(panels: FloatArray) -> FloatArray:
    """n_panels x n_inner x 16 as n_inner x features."""
    return panels.transpose(1, 0, 2).reshape(panels.shape[1], -1)


def _move(work: _Turn, part: slice) -> None:
    inner = work.inner
    sums = work.between @ _by_vertex(inner.M[part]) + work.through @ _by_vertex(inner.solved[part])
    sums += work.pull(part)
    sums /= inner.schedule.total[work.vertices, None]
    work.found[part] = sums.reshape(len(sums), -1, LANES).transpose(1, 0, 2)


def _stayed(work: _Turn, part: slice) -> float:
    """What the regulariser has beyond u and M, for leaves that stayed where they were: in double precision."""
    inner = work.inner
    D = np.subtract(_by_vertex(inner.solved[part]), _by_vertex(inner.M[part]), dtype=np.float64)
    return float(np.vdot(D, work.pull(part) + 0.5 * (work.through @ D)))
