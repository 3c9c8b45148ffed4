"""What RRSVM and RRLogistic share: from checked data to the joint problem, its solution, and weights of every leaf."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import Problem, check_labels, check_weights, with_weight
from linnaeus.engine import GPUEngine, SerialEngine, ThreadEngine, get_engine, single_blas_thread
from linnaeus.engine.limits import Clock, Forecast
from linnaeus.errors import check_number
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.models.fitting import (
    LongFit,
    check_choice,
    check_class_weight,
    check_training,
    document_weights,
    engine_within_memory,
    gap_above,
    gap_progress,
    positive_weights,
    require_two_classes,
    warn_not_converged,
)
from linnaeus.models.linear import LinearTaxonomyClassifier
from linnaeus.models.recursive.dense import DenseLeaves
from linnaeus.models.recursive.footprint import joint_forecast
from linnaeus.models.recursive.inner import InnerWeights
from linnaeus.models.recursive.leaves import leaf_blocks
from linnaeus.models.recursive.links import Links, links_of
from linnaeus.models.recursive.network import Network, in_order, leaf_order, make_network, reduce_links
from linnaeus.models.recursive.newton import fits_newton, newton_start
from linnaeus.models.recursive.nodes import shares_of_leaves
from linnaeus.models.recursive.on_device import check_device_fit, joint_on_device
from linnaeus.models.recursive.resume import JointCheckpoint
from linnaeus.models.recursive.schedules import SCHEDULES, Schedule, check_kind, make_schedule, scheduled_order
from linnaeus.models.recursive.screened import ScreenedLeaves
from linnaeus.models.recursive.solver import JointSolver
from linnaeus.models.recursive.start import shared_start
from linnaeus.models.recursive.turns import TurnSolver, TurnWeights
from linnaeus.models.recursive.update import Joint, update_joint
from linnaeus.models.solvers import newton_cg
from linnaeus.models.solvers.rows import Rows, aligned_zeros, prepare_rows
from linnaeus.models.weights_on_disk import MERGE_BYTES, InMemory, OnDisk, block_arrays
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Engine, FloatArray, IntArray

__all__ = ["RecursiveModel"]

_TOGETHER = 8  # blocks whose weights are written at a time: longer pieces of each row of W


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
    _joint: Joint | None = None

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
        require_two_classes(problem, self.nodes_)
        labels, network, schedule = self._network(problem)
        device = get_engine(self.engine, self.n_jobs, gpu=self.loss in newton_cg.LOSSES)
        if isinstance(device, GPUEngine):
            check_device_fit(self, device)
            self._fit_on_device(problem, Y[:, labels], labels, network, device)
            return
        engine = get_engine(self.engine, self.n_jobs)
        in_turns = self.schedule != "exact"
        forecast = joint_forecast(problem.X, self.loss, network, engine.n_workers, in_turns=in_turns)
        engine, plan = engine_within_memory(self, engine, forecast)
        with single_blas_thread(), self._checkpointed(problem) as checkpoint:
            leaves, documents = self._leaves(problem, self._fit_seed(checkpoint))
            blocks = self._blocks(problem, Y[:, labels], labels, network, schedule)
            solver = self._solver(leaves, network, schedule, engine, plan)
            kept = JointCheckpoint(checkpoint)
            if not kept.take_up(solver, blocks):
                self._start(solver, blocks, problem, Y, labels, documents)
            self._run(solver, clock, kept)
            parts = np.zeros(len(labels), np.int32) if schedule is None else schedule.leaf_turn  # blocks stay apart
            self._joint = Joint(problem, labels, parts, self.C, self.schedule, solver)
            with self._block_store(None, plan) as store:
                self._take_weights(solver, labels, documents, store)
            solver.release()

    def _fit_on_device(self, problem: Problem, Y: CSR, labels: IntArray, network: Network, engine: GPUEngine) -> None:
        training, converged = joint_on_device(self, problem, Y, labels, network, engine)
        if not converged:
            self._warn_gap()
        self._joint = None
        dtype, n_features = problem.X.dtype, problem.X.shape[1]
        size = n_features * len(labels) * dtype.itemsize
        plan = self._plan_memory(Forecast({}, {}, 1, weights=size, merging=MERGE_BYTES), fewer_workers=False)
        parts = [block.columns for block in training.blocks]
        intercept = np.zeros(len(labels), dtype)

        def blocks() -> Iterator[FloatArray]:
            for part, W in training.weights():
                own = W.cpu().numpy().astype(dtype, copy=False)
                if self.fit_intercept:
                    intercept[part] = own[-1]
                yield own[:-1] if self.fit_intercept else own

        with self._block_store(None, plan) as store:
            self._put_weights(n_features, dtype, parts, blocks(), store)
        self._in_order_of_labels(labels, intercept, store)

    def _start(
        self, solver: JointSolver, blocks: list[Any], problem: Problem, Y: CSR, labels: IntArray, documents: Any
    ) -> None:
        """Leaves and inner vertices at the last fit's solution, for warm starts, or at weights that all nodes share."""
        leaves, before = solver.leaves, self._joint if self.warm_start else None
        if before is not None and self._continues(before, solver, problem, labels):
            scale, old = self.C / before.C, before.solver.blocks
            solver.blocks = [leaves.resume(b, _scaled(o, scale)) for b, o in zip(blocks, old, strict=True)]
            solver.inner.M[:] = solver.inner.solved[:] = before.solver.inner.solved
            return
        solver.blocks = [leaves.begin(block) for block in blocks]
        n_labels = np.diff(Y.tocsr().indptr).astype(np.float64)
        bias = 1.0 if self.fit_intercept else 0.0
        solver.inner.start_from(shared_start(documents, leaves.bound, n_labels, len(labels), self.loss, bias))

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
        links = in_order(reduce_links(links_of(problem.taxonomy, labels, **options)))
        return labels, make_network(links, problem.X.dtype), None

    def _leaves(self, problem: Problem, seed: int, rank: Any = None) -> tuple[Any, Any]:
        X = problem.X
        bound = (self.C * document_weights(problem)).astype(X.dtype)
        bias = 1.0 if self.fit_intercept else 0.0
        if isinstance(X, np.ndarray) and self.loss in newton_cg.LOSSES:
            return DenseLeaves(X, bound, self.loss, bias), X
        rows = prepare_rows(X, bias, rank)
        return ScreenedLeaves(rows, bound, self.loss, seed), rows

    def _blocks(
        self, problem: Problem, Y: CSR, labels: IntArray, network: Network, schedule: Schedule | None
    ) -> list[Any]:
        weight = positive_weights(self.class_weight, Y, problem.codec.values(problem.taxonomy.names[labels]))
        turn = None if schedule is None else schedule.leaf_turn
        return list(leaf_blocks(Y, network.leaf_total, weight.astype(problem.X.dtype), turn))

    def _solver(
        self, leaves: Any, network: Network, schedule: Schedule | None, engine: Engine, plan: Forecast
    ) -> JointSolver:
        shape = InnerWeights.shape(network, leaves.n_features)
        M, solved = (_inner_array(shape, leaves.dtype, plan.on_disk) for _ in range(2))
        local = engine if isinstance(engine, (SerialEngine, ThreadEngine)) else get_engine(None, self.n_jobs)
        if schedule is None:
            return JointSolver(leaves, [], InnerWeights(network, M, solved), engine, local)
        return TurnSolver(leaves, [], TurnWeights(network, M, solved, schedule), engine, local)

    def _continues(self, before: Joint, solver: JointSolver, problem: Problem, labels: IntArray) -> bool:
        """Whether the last solution fits this problem as a start: the same nodes, features and number of documents."""
        return (
            type(before.solver.leaves) is type(solver.leaves)
            and before.solver.leaves.screens == solver.leaves.screens
            and before.solver.inner.M.shape == solver.inner.M.shape
            and before.schedule == self.schedule
            and np.array_equal(before.labels, labels)
            and before.problem.X.shape == problem.X.shape
            and before.problem.X.dtype == problem.X.dtype
            and before.problem.taxonomy is problem.taxonomy
        )

    def update(self, X: Any, y: Any, *, taxonomy: Taxonomy | None = None, sample_weight: Any = None) -> RecursiveModel:
        """Learn from more documents, and more nodes if ``taxonomy`` has grown; only what they touch is solved again.

        The gap that is certified afterwards is of the whole problem, old documents included, which the model still
        holds from its fit (a model that was loaded does not). ``n_touched_`` says how many labels were solved again.
        """
        if self._joint is None:
            raise NotFittedError(
                "update needs the documents of the fit, which this model does not hold (it was loaded or not fitted); "
                "fit it on all documents."
            )
        taxonomy = self.taxonomy_ if taxonomy is None else taxonomy
        X = self._check_X(X, reset=False)
        Y, _, _ = check_labels(y, taxonomy, X.shape[0])
        X, Y, weights = with_weight(X, Y, check_weights(sample_weight, X.shape[0]))
        clock = Clock(self.max_time)
        with single_blas_thread():
            update_joint(self, X, Y, taxonomy, weights, clock)
        self.drop_calibration()
        return self

    def node_weights(self, node: str | int) -> tuple[FloatArray, float]:
        """Weights and intercept of any node of the taxonomy, labels and others; nodes without documents have their
        parent's, inner nodes what the regulariser makes of them.
        """
        check_is_fitted(self, "nodes_")
        number, coef = self.taxonomy_.index(node), self.coef_
        if number in self.nodes_:
            column = int(np.flatnonzero(self.nodes_ == number)[0])
            weights = coef[[column]]
            return np.asarray(weights.toarray() if hasattr(weights, "toarray") else weights)[0], self.intercept_[column]
        links = links_of(self.taxonomy_, self.nodes_, spawn=self.spawn, root=float(self.root))
        shares = shares_of_leaves(links, _vertices(links, self.taxonomy_, number)).astype(self.intercept_.dtype)
        return np.asarray(shares @ coef).ravel(), float(shares @ self.intercept_)

    # -- solving -------------------------------------------------------------------------------------------------------

    def _run(self, solver: JointSolver, clock: Clock, kept: JointCheckpoint) -> None:
        with gap_progress(self.tol, show=self.verbose > 0) as show:

            def after(gap: float) -> None:
                show(gap)
                kept.save_if_due(solver)

            leaves, network = solver.leaves, solver.inner.network
            smooth = isinstance(leaves, DenseLeaves) and self.schedule == "exact" and not solver.state.newton_done
            if smooth and fits_newton(len(leaves.X), network):
                newton_start(solver, self.tol, clock)
            converged = solver.run(self.tol, self.max_iter, clock, after, lambda: kept.save(solver, weights=True))
        if solver.state.done:  # a fit that a limit stopped is continued, even if its gap happens to be small enough
            kept.save(solver, finished=True)
        self.objective_, self.duality_gap_ = float(solver.objective), float(solver.gap)
        self.n_iter_, self.time_limit_reached_ = max(1, solver.state.sweep), solver.out_of_time
        if not converged:
            self._warn_gap()

    def _warn_gap(self) -> None:
        """Warn that the gap is above ``tol``."""
        limit = f"max_time={self.max_time}" if self.time_limit_reached_ else f"max_iter={self.max_iter}"
        gap = self.duality_gap_ / max(self.objective_, 1e-300)
        warn_not_converged(gap_above(self.tol, gap, limit), advice="increase the limit or tol")

    def _take_weights(self, solver: JointSolver, labels: IntArray, documents: Any, store: Checkpoint | None) -> None:
        """Weights of the leaves, relatives together; sorted by label where each document has one plain label."""
        self._forget()  # an update of a pruned model makes its weights whole again
        leaves, every = solver.leaves, np.arange(solver.leaves.n_features, dtype=np.int32)
        rank = documents.rank if isinstance(documents, Rows) else None
        groups = [solver.blocks[i : i + _TOGETHER] for i in range(0, len(solver.blocks), _TOGETHER)]
        parts = [slice(int(group[0].columns[0]), int(group[-1].columns[-1]) + 1) for group in groups]
        intercept = np.zeros(len(labels), leaves.dtype)

        def gathered(group: list[Any], part: slice) -> FloatArray:
            own = np.empty((leaves.n_features, part.stop - part.start), leaves.dtype)
            for block in group:
                found = solver.inner.centres(block.columns, every, solved=True)
                found[block.features] += block.U
                own[:, block.columns - part.start] = found[:, : block.n_columns]
            if self.fit_intercept:
                intercept[part] = own[-1]
            return own[:-1] if rank is None else own[rank]

        found = (gathered(group, part) for group, part in zip(groups, parts, strict=True))
        self._put_weights(leaves.n_features - 1, leaves.dtype, parts, found, store)
        self._in_order_of_labels(labels, intercept, store)

    def _put_weights(
        self, n_features: int, dtype: Any, parts: list[slice], found: Iterator[FloatArray], store: Checkpoint | None
    ) -> None:
        """``weights_`` from blocks of columns, in memory, or through a store where they do not fit."""
        weights: Any = InMemory(n_features, parts, dtype)
        if store is not None:
            weights = OnDisk(store, str, parts, budget=MERGE_BYTES)
        for number, own in enumerate(found):
            if store is not None:
                store.put(str(number), block_arrays(own))
            weights.put(number, own)
        self._forget()
        self.weights_ = weights.whole(range(len(parts)))

    def _in_order_of_labels(self, labels: IntArray, intercept: FloatArray, store: Checkpoint | None) -> None:
        """Columns sorted by label where each document has one plain label, relatives together otherwise."""
        self.intercept_ = intercept
        if self.codec_.kind == "labels" and store is None:
            place = {int(node): i for i, node in enumerate(labels)}
            order = np.array([place[int(node)] for node in self.nodes_])
            if (order != np.arange(len(order))).any():
                self.weights_, self.intercept_ = np.ascontiguousarray(self.weights_[:, order]), intercept[order]
        else:
            self.nodes_ = labels


def _vertices(links: Links, taxonomy: Taxonomy, node: int) -> list[int]:
    """The vertex of a node, or those of its parents where it has none for want of documents."""
    nodes = [node] if node in links.node else taxonomy.parents(node).tolist()
    return [links.node.index(v) for v in nodes] or [int(np.argmax(links.anchor))]


def _inner_array(shape: tuple[int, ...], dtype: Any, on_disk: bool) -> Any:
    """Zeros in memory, or in a file that vanishes with them."""
    if not on_disk:
        return aligned_zeros(shape, dtype)
    with tempfile.TemporaryFile(prefix="linnaeus-") as file:
        return np.memmap(file, dtype, "w+", shape=shape)


def _scaled(block: Any, scale: float) -> dict[str, Any]:
    """A block's arrays for another C: dual variables stay within their bounds."""
    return {
        name: array * array.dtype.type(scale) if name == "alpha" else array for name, array in block.arrays().items()
    }
