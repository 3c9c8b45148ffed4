"""The joint problem: leaves and inner vertices in turn, accelerated, until the gap of the whole is certified.

    P(W) = 1/2 sum over links r_uv |w_u - w_v|^2 + 1/2 sum_v anchor_v |w_v|^2 + sum of C_i loss, leaves x documents

A sweep visits all leaves at the inner weights M, then moves the inner vertices to their exact optimum between the
leaves, extrapolated as in FISTA; momentum starts anew where it points uphill or P has risen. Since P and the dual D
bound the optimum from both sides, P - D is the certificate: D from the leaves' dual variables alone, inner vertices
eliminated exactly.

Sweeps are cheap, for they look at the leaves' candidates only. At first after every few sweeps, then rarely, a
screening looks at all documents; the last one certifies.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnaeus.engine import SerialEngine
from linnaeus.engine.limits import Clock
from linnaeus.models.recursive.inner import InnerWeights
from linnaeus.models.recursive.leaves import measure_block, near_block, screen_block, visit_block
from linnaeus.models.recursive.together import common_move
from linnaeus.typing import Engine, FloatArray

__all__ = ["JointSolver", "JointState"]

_MEASURE_EVERY, _MEASURE_LATEST = 4, 10
_SLOWER = 1.25  # than it fell before, the gap falls; a measure too early costs four sweeps
_ENOUGH = 0.95  # of the gap asked for, on the candidates: then all documents are looked at
_MOVE_EVERY = 4  # rarer common moves let momentum swing to and fro in the common direction
_SCREEN_FIRST, _SCREEN_GROWTH = 2, 2.0
_MISSED = 0.1  # momentum starts anew where the candidates missed this part of the objective
_SETTLED = 0.001  # where they missed less than this, the next screening has time


@dataclass
class JointState:
    """Where the iteration stands; with the inner weights and the blocks, all that a later run needs to go on."""

    sweep: int = 0
    momentum: float = 1.0  # FISTA's t
    next_screen: int = _SCREEN_FIRST
    next_measure: int = _MEASURE_EVERY
    next_move: int = _MOVE_EVERY
    measured: int = 0  # at this sweep the gap was last_gap
    last_gap: float = 1.0
    best_dual: float = float(np.finfo(np.float64).min)
    last_objective: float = float(np.finfo(np.float64).max)
    near: bool = False  # whether the start may be the solution already, and has not been measured yet
    newton_done: bool = False  # whether Newton's method, where it gives the start, has ended
    done: bool = False


@dataclass
class JointSolver:
    """Leaves (see `leaves`), their blocks, the inner weights, and the engines for both."""

    leaves: Any
    blocks: list[Any]
    inner: InnerWeights
    engine: Engine
    local_engine: Engine  # threads of this process: the inner weights never travel
    state: JointState = field(default_factory=JointState)
    objective: float = np.inf
    gap: float = np.inf
    out_of_time: bool = False
    newton_pulls: FloatArray | None = None  # where a time limit interrupted Newton's method
    certificate_seconds: float = 0.0  # what the last look at all documents took
    missed: float = 0.0  # what documents that were no candidates cost, when all were looked at last
    pairs: Any = None  # the blocks' own parts of the gap, as last measured
    awake: set[int] | None = None  # numbers of the blocks to visit; None: all

    def run(
        self,
        tol: float,
        max_iter: int,
        clock: Clock,
        after: Callable[[float], None],
        stopped: Callable[[], None] = lambda: None,
    ) -> bool:
        """Iterate until the certified gap is ``tol`` of the objective; False if it is not.

        ``after`` is called with the relative gap. ``stopped`` is called where a limit ends the iteration, before the
        last certificate changes the state: a later run that continues from there repeats what this one would do.
        """
        state = self.state
        if state.done:  # a finished training that was taken up again
            self.certify()
            return self.gap <= tol * self.objective
        if state.near and not clock.over:
            state.near = False
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
                continue
            objective, gap = self._measure(screening)
            state.next_measure = state.sweep + self._until(tol, gap / max(objective, np.finfo(float).tiny))
            if state.next_measure < state.next_screen < state.next_measure + _MEASURE_EVERY:
                state.next_measure = state.next_screen
            self._wake(0.5 * tol * objective)
            if objective > state.last_objective:  # momentum has carried too far
                state.momentum = 1.0
            state.last_objective = objective
            if gap <= _ENOUGH * tol * objective or (gap <= tol * objective and not self.leaves.screens):
                self.certify()
                if self.gap <= tol * self.objective:
                    state.done = True
                    after(self.gap / max(self.objective, np.finfo(float).tiny))
                    return True
                if self.leaves.screens and not screening:  # the candidates looked better than all documents do
                    state.next_screen = state.sweep
                    self._measure(True)
            self._move_together()
            after(gap / max(objective, np.finfo(float).tiny))
        stopped()
        self.certify()
        return self.gap <= tol * self.objective

    def _until(self, tol: float, gap: float) -> int:
        """Sweeps until the next measure: until the gap may be small enough, if it goes on falling as it did last."""
        state, gap = self.state, max(gap, np.finfo(float).tiny)
        swept, fell = state.sweep - state.measured, np.log(state.last_gap / gap)
        state.measured, state.last_gap = state.sweep, gap
        if self.leaves.loss == "hinge":  # it needs to hear early when P rises
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
        """Move all vertices by what is best for all of them; see `together`. An update leaves the others in peace."""
        if not self.leaves.moves_together or self.awake is not None:
            return
        self.state.next_move = self.state.sweep + _MOVE_EVERY
        ends = self.inner.network.leaf_ptr
        tasks = (
            (block, centre, ends[block.columns + 1] > ends[block.columns])  # a leaf linked to nothing does not follow
            for block, centre in self._with_centres(lambda block: block.features, solved=True)
        )
        pairs = list(self.engine.map(near_block, tasks, shared=self.leaves))
        self.inner.move(common_move(self.leaves.rows, pairs, *self.inner.pulled(self.leaves.n_features)))

    def _with_centres(self, features: Callable[[Any], Any], *, solved: bool) -> Iterator[tuple[Any, FloatArray]]:
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
        found = self._total(self.engine.map(screen_block, tasks, shared=self.leaves))
        self.certificate_seconds = time.perf_counter() - start
        return found

    def _total(self, measured: Iterator[Any]) -> tuple[float, float]:
        loss = dual = norm = dual_norm = self.missed = 0.0
        self.pairs = np.zeros(len(self.blocks))
        for i, found in enumerate(measured):
            self.blocks[i], self.pairs[i] = found.block, found.pairs
            loss, dual = loss + found.loss, dual + found.dual
            norm, dual_norm = norm + found.norm, dual_norm + found.dual_norm
            self.missed += found.missed
        energy, least = self.inner.energy(self.blocks, self.local_engine)
        objective = loss + 0.5 * norm + energy
        self.state.best_dual = max(self.state.best_dual, dual - 0.5 * dual_norm - least)
        return objective, max(0.0, objective - self.state.best_dual)

    def release(self) -> None:
        """Keep what a later start needs; let engines, the point with momentum and the blocks' own problems go."""
        self.engine = self.local_engine = SerialEngine()
        self.inner.release()
        for block in self.blocks:
            block.forget()

    def _wake(self, most: float) -> None:
        """Visit also the blocks with the largest parts of the gap, until the others' come to at most ``most``."""
        if self.awake is not None:
            asleep = np.array(sorted(set(range(len(self.blocks))) - self.awake), dtype=np.int64)
            asleep = asleep[np.argsort(self.pairs[asleep], kind="stable")]
            self.awake |= set(asleep[np.cumsum(self.pairs[asleep]) > most].tolist())

    def certify(self) -> None:
        """P and the gap of the weights as they are, on all documents, scores in double precision."""
        self.objective, self.gap = self._screen(exact=True)
