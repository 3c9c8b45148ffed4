"""RRSVM and RRLogistic with the schedules of the publication: plain turns, no momentum (S. Gopal and Y. Yang, 2015).

    levels    odd and even levels of a tree alternately; every leaf belongs to its own level
    colours   all leaves, then one colour of inner vertices after the other; for DAGs and graphs too
    all       all vertices at once, as the publication ran it on a cluster

Vertices of one turn move at once, every vertex to its own optimum, neighbours fixed:

    leaf    w = argmin  S/2 |w - m|^2 + losses,      m the mean of its neighbours (`visit` of the leaves)
    inner   w = (sum of r_v w_v over its neighbours v) / (sum of r_v + its pull to zero)

In the first two schedules no vertex has a neighbour in its own turn, so that a turn minimises the objective over its
vertices and the objective never rises. The last converges because something is pulled to zero: every move is a mean of
the neighbours, or nearer to the optimum than one, and means that include the zero shrink all errors.

Here a leaf stays where it is while its neighbours move: w_l = m_l + u_l with m_l its mean at the last visit. These need
not be kept for every leaf: all leaves linked to an inner vertex have the same turn, so that it is enough to remember
where the inner vertices were in it. With K the weights then, M those now and D = K - M, leaves give

    pull on the inner vertices    sum_l r_lu w_l = (through K)_u + sum_l r_lu u_l
    regulariser, beyond u and M   <sum_l r_l u_l, D> + 1/2 <D, through D>

which comes to zero where leaves move along with their neighbours, as in the accelerated solver.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from linnaeus.errors import ParameterError
from linnaeus.models.recursive.leaves import LeafBlock, visit_block
from linnaeus.models.recursive.network import Links, Network, leaf_order, make_network, with_leaf_order
from linnaeus.models.recursive.solver import InnerWeights, JointSolver
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.taxonomy.closure import row_numbers
from linnaeus.typing import CSR, Engine, FloatArray, IntArray

__all__ = ["Schedule", "TurnSolver", "TurnWeights", "colour", "lay_out_in_turns", "make_schedule", "scheduled_order"]

# -- who moves when ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Schedule:
    """Turns of inner vertices and leaves, and the links along which inner vertices take their means.

    ``between`` (n_inner x n_inner) holds the weights of the links r_uv; ``through`` the sums over leaves l linked to
    both u and v, sum_l r_lu r_lv / S_l; ``total`` is the weight of all links of an inner vertex with its pull to zero.
    """

    inner_turn: IntArray
    leaf_turn: IntArray
    between: CSR
    through: CSR
    total: FloatArray

    @property
    def n_turns(self) -> int:
        return 1 + int(max(self.inner_turn.max(initial=0), self.leaf_turn.max(initial=0)))


def lay_out_in_turns(
    links: Links, schedule: str, kind: str, dtype: npt.DTypeLike
) -> tuple[IntArray, Links, Network, Schedule]:
    """Order of the leaves, their links, network and schedule; links stay those of the taxonomy, whose levels count.

    Examples
    --------
    >>> lay_out_in_turns(Links(), "levels", "dag", np.float32)
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: schedule='levels' needs a tree, got a dag; schedule='colours' takes any taxonomy.
    """
    if schedule == "levels" and kind != "tree":
        raise ParameterError(f"schedule='levels' needs a tree, got a {kind}; schedule='colours' takes any taxonomy.")
    order = scheduled_order(links, schedule)
    links = with_leaf_order(links, order)
    return order, links, make_network(links, dtype), make_schedule(links, schedule, dtype)


def scheduled_order(links: Links, schedule: str) -> IntArray:
    """Leaves by turn, relatives together within a turn, so that no block has to move in two turns."""
    order = leaf_order(links)
    return order[np.argsort(_turns(links, schedule)[1][order], kind="stable")]


def make_schedule(links: Links, schedule: str, dtype: npt.DTypeLike) -> Schedule:
    """The turns of "levels", "colours" or "all"; links as the taxonomy has them, leaves in the order of their turns."""
    from scipy import sparse

    n_inner, n_leaves = max(1, len(links.inner)), len(links.leaves)  # as in a Network, one vertex at least
    between = _matrix(links.inner, (n_inner, n_inner))
    linked = _matrix(links.leaves, (n_leaves, n_inner))
    leaf_total = np.maximum(linked.sum(axis=1), np.finfo(float).tiny)
    anchor = np.array(links.anchor or [1.0])
    inner_turn, leaf_turn = _turns(links, schedule)
    return Schedule(
        inner_turn=inner_turn if len(links.inner) else np.zeros(1, np.int64),
        leaf_turn=leaf_turn,
        between=between.astype(dtype),
        through=(linked.T @ sparse.diags_array(1 / leaf_total) @ linked).tocsr().astype(dtype),
        total=(between.sum(axis=1) + linked.sum(axis=0) + anchor).astype(dtype),
    )


def _matrix(rows: Sequence[Mapping[int, float]], shape: tuple[int, int]) -> CSR:
    from scipy import sparse

    indptr = np.zeros(shape[0] + 1, np.int64)
    indptr[1 : len(rows) + 1] = np.cumsum([len(row) for row in rows])
    indptr[len(rows) + 1 :] = indptr[len(rows)]
    indices = np.array([u for row in rows for u in row], np.int64)
    weights = np.array([r for row in rows for r in row.values()], float)
    return sparse.csr_array((weights, indices, indptr), shape=shape)


def _turns(links: Links, schedule: str) -> tuple[IntArray, IntArray]:
    """(turn of every inner vertex, turn of every leaf)."""
    if schedule == "levels":
        first = max(links.leaf_level, default=0)  # the deepest leaves begin
        return (np.array(links.level, np.int64) - first) % 2, (np.array(links.leaf_level, np.int64) - first) % 2
    if schedule == "colours":
        degree = [len(neighbours) for neighbours in links.inner]
        for neighbours in links.leaves:
            for u in neighbours:
                degree[u] += 1
        return 1 + colour(links.inner, degree), np.zeros(len(links.leaves), np.int64)
    return np.zeros(len(links.inner), np.int64), np.zeros(len(links.leaves), np.int64)


def colour(neighbours: Sequence[Mapping[int, float]], degree: Sequence[int]) -> IntArray:
    """A proper colouring, greedy: next comes the vertex whose neighbours have most colours, then that of high degree.

    Trees and other graphs without odd cycles get two colours, any graph at most one more than its highest degree.

    Examples
    --------
    >>> colour([{1: 1.0}, {0: 1.0, 2: 1.0}, {1: 1.0}], [1, 2, 1]).tolist()
    [1, 0, 1]
    """
    colours = np.full(len(neighbours), -1, np.int64)
    taken: list[set[int]] = [set() for _ in neighbours]
    heap = [(0, -degree[v], v) for v in range(len(neighbours))]
    heapq.heapify(heap)
    while heap:
        saturation, _, v = heapq.heappop(heap)
        if colours[v] >= 0 or -saturation != len(taken[v]):
            continue  # an old entry: the vertex was pushed again when its neighbours took another colour
        colours[v] = mine = next(c for c in itertools.count() if c not in taken[v])
        for u in neighbours[v]:
            if colours[u] < 0 and mine not in taken[u]:
                taken[u].add(mine)
                heapq.heappush(heap, (-len(taken[u]), -degree[u], u))
    return colours


# -- moving ------------------------------------------------------------------------------------------------------------


class TurnWeights(InnerWeights):
    """``M``, the inner vertices now, and ``solved``, K: where they were when the leaves linked to them were visited."""

    def __init__(self, network: Network, M: FloatArray, solved: FloatArray, schedule: Schedule) -> None:
        super().__init__(network, M, solved)
        self.schedule = schedule
        self.movers = [np.flatnonzero(schedule.inner_turn == turn) for turn in range(schedule.n_turns)]
        lengths = np.diff(network.leaf_ptr)
        turn_of_link = np.repeat(schedule.leaf_turn, lengths)
        self.linked = [np.unique(network.leaf_inner[turn_of_link == turn]) for turn in range(schedule.n_turns)]
        alone = np.setdiff1d(np.arange(network.n_inner), network.leaf_inner)
        self.linked[-1] = np.union1d(self.linked[-1], alone)  # without leaves: K is only where a later fit may start

    def release(self) -> None:
        """Keep both: they are needed to know where the leaves are."""

    def of(self, vertex: int) -> FloatArray:
        return self.M[:, vertex].ravel()

    def means(self, turn: int, leaf_blocks: Sequence[LeafBlock], engine: Engine) -> FloatArray:
        """Where the inner vertices of a turn move to, n_panels x vertices x 16."""
        movers, schedule = self.movers[turn], self.schedule
        means = np.empty((len(self.M), len(movers), PANEL), self.M.dtype)
        if not len(movers):
            return means
        between, through = schedule.between[movers], schedule.through[movers]
        work = _Turn(self, _pulls(self.network, leaf_blocks, movers), between, through, movers, means)
        for _ in engine.map(_move, self._ranges(), shared=work):
            pass
        return means

    def settle(self, turn: int, means: FloatArray) -> None:
        """End a turn: its leaves were visited at M, then its inner vertices move."""
        self.solved[:, self.linked[turn]] = self.M[:, self.linked[turn]]
        self.M[:, self.movers[turn]] = means

    def energy(self, leaf_blocks: Sequence[LeafBlock], engine: Engine) -> tuple[float, float]:
        primal, least = InnerWeights(self.network, self.M, self.M).energy(leaf_blocks, engine)
        every = np.arange(self.network.n_inner)
        pulls = _pulls(self.network, leaf_blocks, every)
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
    """What the tasks of a turn share; ``means`` is written to, each task its own panels."""

    inner: TurnWeights
    pulls: list[_BlockPull]
    between: CSR
    through: CSR
    vertices: IntArray
    means: FloatArray

    def pull(self, part: slice) -> FloatArray:
        """sum_l r_lu u_l at the features of some panels, vertices of the turn x features."""
        first, last = part.start * PANEL, part.stop * PANEL
        total = np.zeros((len(self.vertices), last - first), self.inner.M.dtype)
        for block in self.pulls:
            a, b = np.searchsorted(block.features, (first, last))
            total[block.places[:, None], block.features[a:b] - first] += block.weights @ block.U[a:b].T
        return total


def _pulls(network: Network, leaf_blocks: Sequence[LeafBlock], vertices: IntArray) -> list[_BlockPull]:
    """The blocks that have leaves linked to the vertices."""
    place = np.full(network.n_inner, -1)
    place[vertices] = np.arange(len(vertices))
    pulls = []
    for block in leaf_blocks:
        indptr, inner, _, weight = network.links(block.columns)
        column = row_numbers(indptr)
        some = place[inner] >= 0
        places, row = np.unique(place[inner[some]], return_inverse=True)
        if len(places):
            weights = np.zeros((len(places), PANEL), weight.dtype)
            weights[row, column[some]] = weight[some]
            pulls.append(_BlockPull(places, weights, block.features, block.U))
    return pulls


def _by_vertex(panels: FloatArray) -> FloatArray:
    """n_panels x n_inner x 16 as n_inner x features."""
    return panels.transpose(1, 0, 2).reshape(panels.shape[1], -1)


def _move(work: _Turn, part: slice) -> None:
    inner = work.inner
    sums = work.between @ _by_vertex(inner.M[part]) + work.through @ _by_vertex(inner.solved[part])
    sums += work.pull(part)
    sums /= inner.schedule.total[work.vertices, None]
    work.means[part] = sums.reshape(len(sums), -1, PANEL).transpose(1, 0, 2)


def _stayed(work: _Turn, part: slice) -> float:
    """What the regulariser has beyond u and M, for leaves that stayed where they were: in double precision."""
    inner = work.inner
    D = np.subtract(_by_vertex(inner.solved[part]), _by_vertex(inner.M[part]), dtype=np.float64)
    return float(np.vdot(D, work.pull(part) + 0.5 * (work.through @ D)))
