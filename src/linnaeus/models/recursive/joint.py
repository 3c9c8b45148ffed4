"""What RRSVM and RRLogistic share: from checked data to the joint problem, its solution, and weights of every leaf."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from linnaeus.data.check import Problem
from linnaeus.engine import get_engine, single_blas_thread
from linnaeus.engine.clock import Clock
from linnaeus.errors import DataError, check_number
from linnaeus.models.class_weight import check_class_weight, positive_weights
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.models.long_fit import LongFit
from linnaeus.models.parameters import check_choice, check_training
from linnaeus.models.recursive.dense import DenseLeaves
from linnaeus.models.recursive.inner import InnerWeights
from linnaeus.models.recursive.leaves import leaf_blocks
from linnaeus.models.recursive.links import links_of
from linnaeus.models.recursive.network import Network, leaf_order, make_network, reduce_links
from linnaeus.models.recursive.schedules import SCHEDULES, Schedule, check_kind, make_schedule, scheduled_order
from linnaeus.models.recursive.screened import ScreenedLeaves
from linnaeus.models.recursive.solver import JointSolver
from linnaeus.models.recursive.start import shared_start
from linnaeus.models.recursive.turns import TurnSolver, TurnWeights
from linnaeus.models.solvers import newton_cg
from linnaeus.models.solvers.rows import Rows, aligned_zeros, prepare_rows
from linnaeus.progress import progress
from linnaeus.typing import CSR, IntArray

__all__ = ["RecursiveModel"]


@dataclass
class _Joint:
    """The last solution, for warm starts and updates: not part of the model that is stored."""

    problem: Problem
    Y: CSR
    labels: IntArray  # leaves in the order of the blocks
    C: float
    schedule: str
    solver: JointSolver


class RecursiveModel(LongFit, LinearTaxonomyClassifier):
    """Base of the two; see `RRSVM` for the parameters."""

    loss: str
    C: float
    fit_intercept: bool
    learn: str
    spawn: str
    root: float
    class_weight: Any
    schedule: str
    tol: float
    max_iter: int
    n_jobs: int | None
    engine: Any
    warm_start: bool
    _losses: tuple[str, ...]
    _joint: _Joint | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_joint"}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        self._check_limits()
        check_choice("loss", self.loss, self._losses)
        check_choice("learn", self.learn, ("given", "closed", "frontier"))
        check_choice("spawn", self.spawn, ("inner", "all"))
        check_number("root", self.root, above=0)
        check_class_weight(self.class_weight)
        check_choice("schedule", self.schedule, SCHEDULES)

    # -- the problem ---------------------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> None:
        clock = Clock(self.max_time)
        Y = self._targets(problem, self.learn).tocsc()
        if problem.codec.single_label and len(self.nodes_) < 2:
            only = problem.taxonomy.names[self.nodes_[0]]
            raise DataError(f"y has only one class, {only!r}; a classifier needs two.")
        with single_blas_thread(), self._checkpointed(problem) as checkpoint:
            seed = self._fit_seed(checkpoint)
            labels, network, schedule = self._network(problem)
            leaves, documents = self._leaves(problem, seed)
            blocks = self._blocks(problem, Y[:, labels], labels, network, schedule)
            solver = self._solver(leaves, network, schedule)
            before = self._joint if self.warm_start else None
            if before is not None and self._continues(before, problem, labels):
                scale = self.C / before.C
                solver.blocks = [
                    leaves.resume(b, _scaled(o, scale)) for b, o in zip(blocks, before.solver.blocks, strict=True)
                ]
                solver.inner.M[:] = solver.inner.solved[:] = before.solver.inner.solved
            else:
                solver.blocks = [leaves.begin(block) for block in blocks]
                n_labels = np.diff(Y.tocsr().indptr).astype(np.float64)
                bias = 1.0 if self.fit_intercept else 0.0
                start = shared_start(documents, leaves.bound, n_labels, len(labels), self.loss, bias)
                solver.inner.start_from(start)
            self._run(solver, clock)
            self._joint = _Joint(problem, Y, labels, self.C, self.schedule, solver)
            self._take_weights(solver, labels, documents)

    def _network(self, problem: Problem) -> tuple[IntArray, Network, Schedule | None]:
        """Labels in the order of the leaves, relatives together, the network that joins them, and who moves when."""
        options: dict[str, Any] = {"spawn": self.spawn, "root": float(self.root)}
        if self.schedule != "exact":
            check_kind(self.schedule, problem.taxonomy.kind)
            order = scheduled_order(links_of(problem.taxonomy, self.nodes_, **options), self.schedule)
            labels = self.nodes_[order]
            links = links_of(problem.taxonomy, labels, **options)  # not reduced: levels are those of the taxonomy
            schedule = make_schedule(links, self.schedule, problem.X.dtype)
            return labels, make_network(links, problem.X.dtype), schedule
        labels = self.nodes_[leaf_order(reduce_links(links_of(problem.taxonomy, self.nodes_, **options)))]
        links = reduce_links(links_of(problem.taxonomy, labels, **options))
        return labels, make_network(links, problem.X.dtype), None

    def _leaves(self, problem: Problem, seed: int) -> tuple[Any, Any]:
        X = problem.X
        weights = np.ones(problem.n_docs) if problem.weights is None else problem.weights
        bound = (self.C * weights).astype(X.dtype)
        bias = 1.0 if self.fit_intercept else 0.0
        if isinstance(X, np.ndarray) and self.loss in newton_cg.LOSSES:
            return DenseLeaves(X, bound, self.loss, bias), X
        rows = prepare_rows(X, bias)
        return ScreenedLeaves(rows, bound, self.loss, seed), rows

    def _blocks(
        self, problem: Problem, Y: CSR, labels: IntArray, network: Network, schedule: Schedule | None
    ) -> list[Any]:
        weight = positive_weights(self.class_weight, Y, problem.codec.values(problem.taxonomy.names[labels]))
        turn = None if schedule is None else schedule.leaf_turn
        return list(leaf_blocks(Y, network.leaf_total, weight.astype(problem.X.dtype), turn))

    def _solver(self, leaves: Any, network: Network, schedule: Schedule | None) -> JointSolver:
        shape = InnerWeights.shape(network, leaves.n_features)
        M, solved = aligned_zeros(shape, leaves.dtype), aligned_zeros(shape, leaves.dtype)
        engine, local = get_engine(self.engine, self.n_jobs), get_engine(None, self.n_jobs)
        if schedule is None:
            return JointSolver(leaves, [], InnerWeights(network, M, solved), engine, local)
        return TurnSolver(leaves, [], TurnWeights(network, M, solved, schedule), engine, local)

    def _continues(self, before: _Joint, problem: Problem, labels: IntArray) -> bool:
        """Whether the last solution fits this problem as a start: the same nodes, features and number of documents."""
        return (
            before.schedule == self.schedule
            and np.array_equal(before.labels, labels)
            and before.problem.X.shape == problem.X.shape
            and before.problem.X.dtype == problem.X.dtype
            and before.problem.taxonomy is problem.taxonomy
        )

    # -- solving -------------------------------------------------------------------------------------------------------

    def _run(self, solver: JointSolver, clock: Clock) -> None:
        with progress("training", 100, show=self.verbose > 0) as advance:
            shown = 0

            def after(gap: float) -> None:
                nonlocal shown
                now = int(np.clip(100 * np.log(max(gap, 1e-300)) / np.log(min(self.tol, 0.5)), shown, 100))
                advance(now - shown)
                shown = now

            converged = solver.run(self.tol, self.max_iter, clock, after)
        self.objective_, self.duality_gap_ = float(solver.objective), float(solver.gap)
        self.n_iter_, self.time_limit_reached_ = solver.state.sweep, solver.out_of_time
        if not converged:
            limit = f"max_time={self.max_time}" if solver.out_of_time else f"max_iter={self.max_iter}"
            warnings.warn(
                f"stopped at {limit} with a gap of {self.duality_gap_ / max(self.objective_, 1e-300):.2g} of the "
                f"objective, before it was {self.tol:g}; give more, or raise tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _take_weights(self, solver: JointSolver, labels: IntArray, documents: Any) -> None:
        """Weights of the leaves as columns in the order of ``nodes_``."""
        place = {int(node): i for i, node in enumerate(self.nodes_)}
        column = np.array([place[int(node)] for node in labels])
        leaves, every = solver.leaves, np.arange(solver.leaves.n_features, dtype=np.int32)
        rank = documents.rank if isinstance(documents, Rows) else None
        W = np.empty((leaves.n_features - 1, len(labels)), leaves.dtype)
        self.intercept_ = np.empty(len(labels), leaves.dtype)
        for block in solver.blocks:
            own = solver.inner.centres(block.columns, every, solved=True)
            own[block.features] += block.U
            own = own[:, : block.n_columns]
            W[:, column[block.columns]] = own[:-1] if rank is None else own[:-1][rank]
            self.intercept_[column[block.columns]] = own[-1] if self.fit_intercept else 0
        self.weights_ = W


def _scaled(block: Any, scale: float) -> dict[str, Any]:
    """A block's arrays for another C: dual variables stay within their bounds."""
    return {
        name: array * array.dtype.type(scale) if name == "alpha" else array for name, array in block.arrays().items()
    }
