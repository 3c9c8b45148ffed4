"""Recursive regularisation: classifiers of all nodes, each node's weights pulled towards those of its parents.

    min  1/2 sum over links |w_u - w_v|^2  +  pull/2 sum over inner nodes |w_v|^2
         +  C sum over leaves n and documents i of loss(y_in w_n'x_i)

with the hinge or its square (RR-SVM) or log(1 + exp(-t)) (RR-LR); S. Gopal and Y. Yang, ACM TKDD 9(3), 2015. Nodes with
few documents borrow from their relatives, which is where most labels of a large taxonomy are.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from linnaeus.data.check import Problem, check_labels, check_weights, with_weight
from linnaeus.data.matrices import aligned_zeros, is_sparse
from linnaeus.engine import Clock, Forecast, GPUEngine, get_engine, local_engine, single_blas_thread
from linnaeus.errors import DataError, ParameterError, check_choice, check_number
from linnaeus.models.all_nodes import AllNodes
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.models.explaining import KeptDocuments
from linnaeus.models.fitting import (
    ClassWeight,
    LongFit,
    Seed,
    check_class_weight,
    check_training,
    engine_within_memory,
    gap_above,
    gap_progress,
    positive_weights,
    require_two_classes,
    warn_not_converged,
)
from linnaeus.models.label_priors import check_label_features
from linnaeus.models.linear import MERGE_BYTES, OnDisk, block_arrays
from linnaeus.models.recursive.coupled import CoupledLeaves, CoupledSolver, fits_coupled, newton_start
from linnaeus.models.recursive.leaves import (
    DenseLeaves,
    LeafBlock,
    LeafSolver,
    ScreenedLeaves,
    leaf_blocks,
    make_leaf_solver,
)
from linnaeus.models.recursive.network import (
    Links,
    Network,
    in_order,
    lay_out,
    links_of,
    make_network,
    node_shares,
    reduce_links,
)
from linnaeus.models.recursive.paths import PathSolver, PathWeights, fits_paths
from linnaeus.models.recursive.solver import InnerWeights, JointSolver, fits_newton, joint_forecast, shared_start
from linnaeus.models.recursive.unseen import LabelTexts, answer_all_nodes, fit_all_nodes, prior_of_leaves
from linnaeus.models.recursive.update import (
    JointCheckpoint,
    JointSolution,
    StartWeights,
    carried_weights,
    enlarged,
    enlarged_solver,
    grown_labels,
    relabelled,
    start_at_weights,
    suits_start,
)
from linnaeus.models.solvers import cg
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Engine, FloatArray, IntArray, Matrix

if TYPE_CHECKING:
    from linnaeus.models.published.rr_schedules import Schedule
    from linnaeus.models.recursive.device import DeviceSolution

__all__ = ["RRSVM", "SCHEDULES", "RRLogistic", "RecursiveModel"]

SCHEDULES = ("exact", "levels", "colours", "all")  # all but the first are in `models.published`
_FILL_BYTES, _FILL_THREADS = 2**28, 8
_TOGETHER = 8  # blocks whose weights are written at a time: longer pieces of each row of W


class _LinkOptions(TypedDict):
    spawn: str
    root: float
    pull: float


@dataclass(frozen=True)
class _Layout:
    """Where the labels stand: ``order`` of the leaves among the nodes, links and network, and turns of a schedule."""

    order: IntArray
    links: Links
    network: Network
    schedule: Schedule | None = None

    @property
    def groups(self) -> IntArray:
        """Leaves of different groups never share a block."""
        return np.zeros(len(self.order), np.int32) if self.schedule is None else self.schedule.leaf_turn


class RecursiveModel(LongFit, AllNodes):
    """Base of `RRSVM` and `RRLogistic`: from validated data to the joint problem, its solution and the weights."""

    loss: str
    C: float
    fit_intercept: bool
    learn: str
    spawn: str
    root: float
    pull: float
    class_weight: ClassWeight
    schedule: str
    tol: float
    max_iter: int
    n_jobs: int | None
    engine: str | Engine | None
    warm_start: bool
    _losses: tuple[str, ...]
    _joint: JointSolution | None = None
    _alone: Problem | None = None  # of a fit of every label alone
    _device_joint: DeviceSolution | None = None
    _prior: LabelTexts | None = None  # of answer="all"

    def __getstate__(self) -> dict[str, object]:
        passing = ("_joint", "_device_joint", "_prior", "_alone")
        return {key: value for key, value in super().__getstate__().items() if key not in passing}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        self._check_limits()
        check_choice("loss", self.loss, self._losses)
        check_choice("learn", self.learn, ("given", "closed", "frontier"))
        check_choice("spawn", self.spawn, ("inner", "all"))
        check_number("root", self.root, above=0)
        if self.pull != float("inf"):
            check_number("pull", self.pull, least=0)
        check_class_weight(self.class_weight)
        check_choice("schedule", self.schedule, SCHEDULES)
        check_choice("answer", self.answer, ("seen", "all"))
        if self.answer == "all" and self.schedule != "exact":
            raise ParameterError(f"answer='all' with schedule={self.schedule!r}; expected schedule='exact'.")
        if self.answer == "all" and (self.engine == "gpu" or isinstance(self.engine, GPUEngine)):
            raise ParameterError("answer='all' with engine='gpu'; expected engine='threads' or None.")

    # -- fit -----------------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        super()._forget()
        self.__dict__.pop("_prior", None)

    def _fit(self, problem: Problem) -> None:
        if self.answer == "seen":
            solve = self._fit_alone if self._is_flat else self._fit_joint
            solve(problem)
            return
        fit_all_nodes(self, problem, self._label_texts(problem), self._n_embedding)

    def _fit_joint(
        self,
        problem: Problem,
        *,
        prior: CSR | None = None,
        clock: Clock | None = None,
        tol: float | None = None,
        on_trial: bool = False,
        warm: bool = False,
        start: StartWeights | None = None,
    ) -> None:
        """Solve the joint problem, with prior weights of the nodes (n_nodes x n_features) if given.

        A fit ``on_trial`` has no checkpoint; ``warm`` starts at the last solution whatever `warm_start` is, and
        ``start`` at given weights of all labels.
        """
        clock = clock or Clock(self.max_time)
        begin = start or (self._flat_weights(problem) if warm or self.warm_start else None)
        Y = self._targets(problem, self.learn).tocsc()
        require_two_classes(problem, self.nodes_)
        layout = self._lay_out(problem)
        labels, network = self.nodes_[layout.order], layout.network
        engine = get_engine(self.engine, self.n_jobs, gpu=self.loss in cg.LOSSES)
        if isinstance(engine, GPUEngine):
            self._fit_on_device(problem, Y[:, labels], labels, layout, engine)
            engine.release_memory()  # recordings keep arrays of their own, which no later fit would use again
            return
        in_turns = layout.schedule is not None
        coupled = not in_turns and fits_coupled(problem.X, self.loss, network)
        forecast = joint_forecast(problem.X, self.loss, network, engine.n_workers, in_turns=in_turns, coupled=coupled)
        engine, plan = engine_within_memory(self, engine, forecast)
        with single_blas_thread(), nullcontext() if on_trial else self._checkpointed(problem) as checkpoint:
            leaves = self._leaf_solver(problem, self._fit_seed(checkpoint), coupled=coupled)
            blocks = self._blocks(problem, Y[:, labels], labels, network, layout.groups)
            along_paths = not in_turns and not coupled and fits_paths(problem.X, self.loss, network)
            solver = self._solver(leaves, layout, engine, plan, along_paths=along_paths)
            solver.inner.prior = None if prior is None else prior_of_leaves(prior, labels, leaves)
            saved = None if checkpoint is None else JointCheckpoint(checkpoint)
            if saved is None or not saved.restore(solver, blocks):
                suits = begin is not None and layout.schedule is None and suits_start(leaves)
                if begin is not None and not (suits and begin.suit(problem, labels)):
                    begin = None
                if begin is None or not start_at_weights(solver, blocks, problem, labels, begin):
                    self._start(solver, blocks, problem, Y, labels, warm=warm or self.warm_start)
            self._run(solver, clock, saved, tol)
            if start is not None:
                self.n_touched_ = len(labels) if solver.state.sweep else 0
            self._joint = JointSolution(problem, labels, layout.groups, self.C, self.schedule, solver)
            self._alone = None
            with self._block_store(None, plan) as store:
                self._take_weights(solver, labels, store)
            solver.release()

    def _flat_weights(self, problem: Problem) -> StartWeights | None:
        """The weights of the last fit, if it learned every label on its own from dense documents of this taxonomy.

        They take copies that are small there, and starts from nothing are as fast for sparse documents. Pruned weights
        are not the solution; those of a fit that failed are not of these nodes.
        """
        before, W = self._alone, getattr(self, "weights_", None)
        if before is None or before.taxonomy is not problem.taxonomy or is_sparse(problem.X):
            return None
        if not isinstance(W, np.ndarray) or W.shape[1] != len(self.nodes_):
            return None
        return StartWeights(self.nodes_, W, self.intercept_ if self.fit_intercept else np.zeros_like(self.intercept_))

    @property
    def _is_flat(self) -> bool:
        """Whether every label is learned on its own, by the processor."""
        on_device = self.engine == "gpu" or isinstance(self.engine, GPUEngine)
        return bool(np.isinf(self.pull)) and self.schedule == "exact" and not on_device

    def _fit_alone(self, problem: Problem) -> None:
        """Every label on its own, by the solver of one-vs-rest models, which does not visit the inner vertices."""
        from linnaeus.models.flat.one_vs_rest import OneVsRestLogistic, OneVsRestSVM

        flat = OneVsRestLogistic() if self.loss == "logistic" else OneVsRestSVM()
        common = flat.get_params().keys() & self.get_params(deep=False).keys()
        flat.set_params(**{name: getattr(self, name) for name in common})
        self._targets(problem, self.learn)
        flat._solve(problem, self)
        self.nodes_, self.weights_, self.intercept_ = flat.nodes_, flat.weights_, flat.intercept_
        self.n_iter_, self.time_limit_reached_ = flat.n_iter_, flat.time_limit_reached_
        self.objective_, self.duality_gap_ = flat.objective_, flat.duality_gap_
        self._forecast, self._joint, self._alone = flat.memory_forecast, None, problem

    @property
    def _link_options(self) -> _LinkOptions:
        return {"spawn": self.spawn, "root": float(self.root), "pull": float(self.pull)}

    def _lay_out(self, problem: Problem) -> _Layout:
        links = links_of(problem.taxonomy, self.nodes_, **self._link_options)
        if self.schedule == "exact":
            return _Layout(*lay_out(links, problem.X.dtype))
        from linnaeus.models.published.rr_schedules import lay_out_in_turns

        return _Layout(*lay_out_in_turns(links, self.schedule, problem.taxonomy.kind, problem.X.dtype))

    def _leaf_solver(
        self, problem: Problem, seed: int, rank: IntArray | None = None, *, coupled: bool = False
    ) -> LeafSolver:
        bias = 1.0 if self.fit_intercept else 0.0
        leaves = make_leaf_solver(problem, loss=self.loss, C=self.C, bias=bias, seed=seed, rank=rank)
        if coupled and isinstance(leaves, ScreenedLeaves):
            return CoupledLeaves(leaves.rows, leaves.bound, leaves.loss, leaves.seed)
        return leaves

    def _blocks(
        self, problem: Problem, Y: CSR, labels: IntArray, network: Network, groups: IntArray
    ) -> list[LeafBlock]:
        weight = self._positive_weights(problem, Y, labels).astype(problem.X.dtype)
        return list(leaf_blocks(Y, network.leaf_total, weight, groups))

    def _positive_weights(self, problem: Problem, Y: CSR, labels: IntArray) -> FloatArray:
        return positive_weights(self.class_weight, Y, problem.codec.values(problem.taxonomy.names[labels]))

    def _solver(
        self, leaves: LeafSolver, layout: _Layout, engine: Engine, plan: Forecast, *, along_paths: bool
    ) -> JointSolver:
        network, local = layout.network, local_engine(engine, self.n_jobs)
        shape = InnerWeights.shape(network, leaves.n_features)
        solved = _inner_array(shape, leaves.dtype, plan.on_disk)
        if along_paths:
            shape = PathWeights.path_shape(network, leaves.n_features)
        M = _inner_array(shape, leaves.dtype, plan.on_disk)
        if along_paths:
            return PathSolver(leaves, [], PathWeights(network, M, solved), engine, local)
        if isinstance(leaves, CoupledLeaves):
            return CoupledSolver(leaves, [], InnerWeights(network, M, solved), engine, local)
        if layout.schedule is None:
            return JointSolver(leaves, [], InnerWeights(network, M, solved), engine, local)
        from linnaeus.models.published.rr_schedules import TurnSolver, TurnWeights

        return TurnSolver(leaves, [], TurnWeights(network, M, solved, layout.schedule), engine, local)

    def _start(
        self, solver: JointSolver, blocks: list[LeafBlock], problem: Problem, Y: CSR, labels: IntArray, *, warm: bool
    ) -> None:
        """Leaves and inner vertices at the last fit's solution, for warm starts, or at weights that all nodes share."""
        leaves, before = solver.leaves, self._joint if warm else None
        if before is not None and before.can_start(solver, problem, labels, self.schedule):
            before.start(solver, blocks, self.C)
            return
        solver.blocks = [leaves.begin(block) for block in blocks]
        if isinstance(solver, CoupledSolver | PathSolver):  # inner vertices follow from the leaves
            return
        n_labels = np.diff(Y.tocsr().indptr).astype(np.float64)
        bias = 1.0 if self.fit_intercept else 0.0
        shared = shared_start(leaves.documents, leaves.bound, n_labels, len(labels), self.loss, bias)
        solver.inner.start_from(shared)

    def _run(self, solver: JointSolver, clock: Clock, saved: JointCheckpoint | None, tol: float | None = None) -> None:
        tol = self.tol if tol is None else tol
        with gap_progress(tol, show=self.verbose > 0) as show:

            def after(gap: float) -> None:
                show(gap)
                if saved is not None:
                    saved.save_if_due(solver)

            def save() -> None:
                if saved is not None:
                    saved.save(solver, weights=True)

            def due() -> bool:
                return saved is not None and saved.due

            leaves, network = solver.leaves, solver.inner.network
            smooth = isinstance(leaves, DenseLeaves) and self.schedule == "exact" and not solver.state.newton_done
            if smooth and solver.inner.prior is None and fits_newton(len(leaves.bound), network):
                newton_start(solver, tol, clock)
            converged = solver.run(tol, self.max_iter, clock, after, save, due)
        if saved is not None and solver.state.done:  # a fit that a limit stopped is continued, whatever its gap
            saved.save(solver, finished=True)
        self.n_iter_ = max(1, solver.state.sweep)
        self._keep_figures(solver.objective, solver.gap, converged, solver.out_of_time)

    def _keep_figures(self, objective: float, gap: float, converged: bool, out_of_time: bool) -> None:
        self.objective_, self.duality_gap_, self.time_limit_reached_ = float(objective), float(gap), out_of_time
        if not converged:
            limit = f"max_time={self.max_time}" if out_of_time else f"max_iter={self.max_iter}"
            relative = self.duality_gap_ / max(self.objective_, 1e-300)
            warn_not_converged(gap_above(self.tol, relative, limit), advice="increase the limit or tol")

    def _fit_on_device(self, problem: Problem, Y: CSR, labels: IntArray, layout: _Layout, engine: GPUEngine) -> None:
        from linnaeus.models.recursive.device import DeviceSolution, check_device_fit, joint_on_device

        check_device_fit(self, engine)
        weight = self._positive_weights(problem, Y, labels)
        before = self._device_joint if self.warm_start else None
        with self._checkpointed(problem) as checkpoint:
            fitted = joint_on_device(
                self, problem, Y, weight, layout.links, layout.network, engine, checkpoint, before, labels
            )
        self._device_joint = None
        if self.warm_start:
            self._device_joint = DeviceSolution(problem, labels, self.C, fitted.training.point())
        self.n_iter_, self._joint, self._alone = fitted.training.n_rounds, None, None
        self._keep_figures(fitted.objective, fitted.gap, fitted.converged, fitted.out_of_time)
        dtype, n_features = problem.X.dtype, problem.X.shape[1]
        size = n_features * len(labels) * dtype.itemsize
        plan = self._plan_memory(Forecast({}, {}, 1, weights=size, merging=MERGE_BYTES), fewer_workers=False)
        parts = [block.columns for block in fitted.training.blocks]
        columns = (W.astype(dtype, copy=False) for W in fitted.training.weights())
        with self._block_store(None, plan) as store:
            self._put_weights(n_features, dtype, labels, parts, columns, None, store)

    # -- weights -------------------------------------------------------------------------------------------------------

    def _take_weights(self, solver: JointSolver, labels: IntArray, store: Checkpoint | None) -> None:
        """Weights of the leaves: their centres and what they add to them."""
        if store is None and solver.inner.prior is None:
            self._keep_weights(*_leaf_weights(solver), labels)
            return
        leaves, every = solver.leaves, np.arange(solver.leaves.n_features, dtype=np.int32)
        groups = [solver.blocks[i : i + _TOGETHER] for i in range(0, len(solver.blocks), _TOGETHER)]
        parts = [slice(int(group[0].columns[0]), int(group[-1].columns[-1]) + 1) for group in groups]

        def gathered(group: list[LeafBlock], part: slice) -> FloatArray:
            columns = np.empty((leaves.n_features, part.stop - part.start), leaves.dtype)
            for block in group:
                W = solver.inner.centres(block.columns, every, solved=True)
                W[block.features] += block.U
                columns[:, block.columns - part.start] = W[:, : block.n_columns]
            return columns

        columns = (gathered(group, part) for group, part in zip(groups, parts, strict=True))
        self._put_weights(leaves.n_features - 1, leaves.dtype, labels, parts, columns, leaves.rank, store)

    def _put_weights(
        self,
        n_features: int,
        dtype: npt.DTypeLike,
        labels: IntArray,
        parts: list[slice],
        columns: Iterable[FloatArray],
        rank: IntArray | None,
        store: Checkpoint | None,
    ) -> None:
        """``weights_`` and ``intercept_`` from blocks of columns whose last row is the constant, if it is used.

        Weights that do not fit into memory go through a store.
        """
        intercept = np.zeros(len(labels), dtype)
        W = np.empty((n_features if store is None else 0, len(labels)), dtype)
        for number, (part, own) in enumerate(zip(parts, columns, strict=True)):
            if self.fit_intercept:
                intercept[part] = own[-1]
            own = own[:n_features] if rank is None else own[rank]
            if store is None:
                _fill(W, part, own)
            else:
                store.put(str(number), block_arrays(own))
        if store is None:
            self._keep_weights(W, intercept, labels)
            return
        self.nodes_, self.intercept_ = labels, intercept
        self.weights_ = OnDisk(store, str, parts).whole(range(len(parts)))

    def _keep_weights(self, W: FloatArray, intercept: FloatArray, labels: IntArray) -> None:
        """Columns in the order of ``labels``, or sorted by label where each document has one plain label."""
        if self.codec_.kind == "labels":
            place = {int(node): i for i, node in enumerate(labels)}
            order = np.array([place[int(node)] for node in self.nodes_])
            if (order != np.arange(len(order))).any():
                W, intercept = np.ascontiguousarray(W[:, order]), intercept[order]
        else:
            self.nodes_ = labels
        self.weights_, self.intercept_ = W, intercept

    def node_weights(self, node: str | int) -> tuple[FloatArray, float]:
        """Weights and intercept of any node of the taxonomy, a label or not.

        Inner nodes have the weights that the regulariser gives them, nodes without documents those of their parents.

        Parameters
        ----------
        node : str or int
            Name or number of the node.

        Returns
        -------
        weights : ndarray of shape (n_features,)
            Weights of the features.
        intercept : float
            Weight of the constant feature.
        """
        check_is_fitted(self, "nodes_")
        number, coef = self.taxonomy_.index(node), self.coef_
        if number in self.nodes_:
            column = int(np.flatnonzero(self.nodes_ == number)[0])
            weights = coef[[column]]
            return np.asarray(weights.toarray() if is_sparse(weights) else weights)[0], self.intercept_[column]
        if self.n_documents_ is not None:
            raise ParameterError(
                f"node {self.taxonomy_.names[number]!r} has no weights: it has neither documents nor a text."
            )
        links = links_of(self.taxonomy_, self.nodes_, **self._link_options)
        shares = node_shares(links, self.taxonomy_, number).astype(self.intercept_.dtype)
        return np.asarray(shares @ coef).ravel(), float(shares @ self.intercept_)

    # -- update --------------------------------------------------------------------------------------------------------

    def update(
        self,
        X: Matrix | None = None,
        y: object = None,
        *,
        taxonomy: Taxonomy | None = None,
        replaced: Mapping[str, str | None] | None = None,
        sample_weight: npt.ArrayLike | None = None,
        label_features: object = None,
        n_embedding: int = 0,
    ) -> RecursiveModel:
        """Learn from more documents, and follow a taxonomy that has changed; only what they touch is solved again.

        The gap that is certified afterwards is of the whole problem, old documents included, which the model still
        holds from its fit. A model that was loaded has them if they were kept (`keep_documents`, `linnaeus train
        --keep-documents`), without document weights; it continues from its weights. With ``answer="all"`` a loaded
        model learns from all documents again: gains of words and scales are not stored.

        Parameters
        ----------
        X : matrix of shape (n_docs, n_features), default=None
            The new documents; None if there are none.
        y : labels, default=None
            Their labels, of any kind that `fit` takes.
        taxonomy : Taxonomy, default=None
            The new taxonomy; None keeps the one of the fit.
        replaced : dict of str to str or None, default=None
            What became of labels: the node that replaces a label (several labels with one node are merged), or None for
            a label that is removed. Needed for labels that ``taxonomy`` lacks. Documents that lose their last label are
            left out.
        sample_weight : float or array-like of shape (n_docs,), default=None
            Weights of the new documents.
        label_features : matrix of shape (n_nodes, n_features), default=None
            With ``answer="all"``, the texts of all nodes of ``taxonomy``; needed where it has new nodes, and by
            loaded models.
        n_embedding : int, default=0
            Number of last columns that are an embedding, as in `fit`; for a loaded model with ``answer="all"``.

        Returns
        -------
        RecursiveModel
            The model itself; ``n_touched_`` is the number of labels that were solved again.
        """
        if (X is None) != (y is None):
            raise ParameterError(
                "update got documents without labels, or labels without documents; give both or neither."
            )
        taxonomy = self.taxonomy_ if taxonomy is None and hasattr(self, "taxonomy_") else taxonomy
        if X is None or replaced is not None or self._loses_labels(taxonomy):
            return self._revise(X, y, taxonomy, replaced or {}, sample_weight)
        if self.answer == "all" and self._joint is None:
            return self._fit_again(X, y, taxonomy, sample_weight, label_features, n_embedding)
        old = self._joint or self._solved_again()
        if old is None:
            raise self._without_documents()
        assert taxonomy is not None
        X = self._check_X(X, reset=False)
        Y, _, _ = check_labels(y, taxonomy, X.shape[0])
        X, Y, weights = with_weight(X, Y, check_weights(sample_weight, X.shape[0]))
        clock = Clock(self.max_time)
        texts = self._texts_for(taxonomy, label_features)
        with single_blas_thread():
            if texts is not None:  # weights of the labels alone, on their own scale
                self._forget()
                self.nodes_ = self.nodes_[np.isin(self.nodes_, old.labels)]
                self._take_weights(old.solver, old.labels, None)
            problem = enlarged(old.problem, X, Y, taxonomy, weights)
            solver, labels, groups = self._enlarged_solver(old, problem, X)
            if texts is not None:
                solver.inner.prior = prior_of_leaves(texts.prior(labels), labels, solver.leaves)
            self._run(solver, clock, None)
            self.n_touched_ = sum(solver.blocks[i].n_columns for i in solver.awake or ())
            solver.awake = None
            self._joint = JointSolution(problem, labels, groups, self.C, "exact", solver)
            self._forget()  # an update of a pruned model makes its weights whole again
            self._take_weights(solver, labels, None)
            if texts is not None:
                answer_all_nodes(self, problem, texts)
            solver.release()
        self.drop_calibration()
        self._keep_new(problem, X.shape[0])
        return self

    def _keep_new(self, problem: Problem, n_new: int) -> None:
        """Keep the new documents of an update where those of the fit were kept."""
        if self.kept_ is not None:
            names = [*self.kept_.names.tolist(), *range(len(self.kept_.names), problem.n_docs)]
            whole = problem.n_docs == len(self.kept_.names) + n_new  # all documents of the fit were kept
            self.kept_ = KeptDocuments.of(problem.X, problem.closed, names, problem.Y) if whole else None

    def _fit_again(
        self,
        X: Matrix,
        y: object,
        taxonomy: Taxonomy | None,
        sample_weight: npt.ArrayLike | None,
        label_features: object,
        n_embedding: int,
    ) -> RecursiveModel:
        """An update of a loaded model with ``answer="all"``: a fit of the documents kept with it and the new ones."""
        held = self._held_problem()
        if held is None or taxonomy is None:
            raise self._without_documents()
        X = self._check_X(X, reset=False)
        Y, _, _ = check_labels(y, taxonomy, X.shape[0])
        X, Y, weights = with_weight(X, Y, check_weights(sample_weight, X.shape[0]))
        problem = enlarged(held, X, Y, taxonomy, weights)
        T = check_label_features(label_features, taxonomy.n_nodes, problem.X.shape[1], method="update")
        self._forget()
        self.taxonomy_ = taxonomy
        if self.taxonomy is not None:
            self.taxonomy = taxonomy
        with single_blas_thread():
            fit_all_nodes(self, problem, T, n_embedding)
        self.n_touched_ = len(self.nodes_)
        self.drop_calibration()
        self._keep_new(problem, X.shape[0])
        return self

    def _enlarged_solver(
        self, old: JointSolution, problem: Problem, X: Matrix
    ) -> tuple[JointSolver, IntArray, IntArray]:
        """The solver of the problem with the new documents ``X``, started from the old one; its labels, and groups."""
        taxonomy, before = problem.taxonomy, old.solver.leaves
        scores = self._all_scores(X)[:, np.argsort(self.nodes_)[np.argsort(np.argsort(old.labels))]]
        self.taxonomy_ = taxonomy
        if self.taxonomy is not None:
            self.taxonomy = taxonomy
        targets = self._targets(problem, self.learn).tocsc()
        labels, groups = grown_labels(old, taxonomy, self.nodes_)
        links = in_order(reduce_links(links_of(taxonomy, labels, **self._link_options)))
        network, Y = make_network(links, problem.X.dtype), targets[:, labels]
        engine = get_engine(self.engine, self.n_jobs)
        leaves = self._leaf_solver(problem, before.seed, before.rank, coupled=isinstance(before, CoupledLeaves))
        blocks = self._blocks(problem, Y, labels, network, groups)
        engines = engine, local_engine(engine, self.n_jobs)
        return enlarged_solver(old, problem, network, leaves, blocks, Y, scores, engines), labels, groups

    def _without_documents(self) -> NotFittedError:
        return NotFittedError(
            "update needs the documents of the fit, which this model does not hold (it was loaded, or not fitted); "
            "fit it on all documents, or keep them with the model before it is saved (keep_documents)."
        )

    def _held_problem(self) -> Problem | None:
        """The documents of the fit, from memory or kept with the model."""
        if self._joint is not None or self._alone is not None:
            return self._alone if self._joint is None else self._joint.problem
        kept = self.kept_
        if kept is None or kept.labels is None:
            return None
        X = kept.as_given
        assert X is not None
        return Problem(self._check_X(X, reset=False), kept.labels, self.taxonomy_, None, self.codec_)

    def _whole_weights(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Labels, weights (n_features x n_labels) and intercepts, whether the weights were pruned or not."""
        coef = self.coef_
        W = np.asarray(coef.toarray() if is_sparse(coef) else coef).T
        return self.nodes_.copy(), W, self.intercept_.copy()

    def _solved_again(self) -> JointSolution | None:
        """The solution of the documents that are kept with the model, if they are, from its weights."""
        problem = self._held_problem()
        if problem is None:
            return None
        nodes, W, intercept = self._whole_weights()
        seen = np.unique(self.taxonomy_.close(problem.Y).indices if self.learn == "closed" else problem.Y.indices)
        known = np.isin(seen, nodes).all()
        start = StartWeights(nodes, W, intercept) if known else None
        self._forget()
        self._fit_joint(problem, start=start, on_trial=True)
        return self._joint

    def _loses_labels(self, taxonomy: Taxonomy | None) -> bool:
        """Whether another taxonomy lacks a label of the model."""
        if taxonomy is None or taxonomy is self.taxonomy_:
            return False
        return any(str(name) not in taxonomy for name in self.taxonomy_.names[self.nodes_])

    def _revise(
        self,
        X: Matrix | None,
        y: object,
        taxonomy: Taxonomy | None,
        replaced: Mapping[str, str | None],
        sample_weight: npt.ArrayLike | None,
    ) -> RecursiveModel:
        """Remove, merge and add nodes: all documents over the new taxonomy, from the weights as they are."""
        held = self._held_problem()
        if held is None or taxonomy is None:
            raise self._without_documents()
        if self.answer != "seen":
            raise ParameterError("nodes cannot be removed or merged with answer='all'; fit the model again.")
        problem, stay, number = relabelled(held, taxonomy, replaced)
        n_old = len(stay)
        if X is not None:
            X = self._check_X(X, reset=False)
            Y, _, _ = check_labels(y, taxonomy, X.shape[0])
            X, Y, weights = with_weight(X, Y, check_weights(sample_weight, X.shape[0]))
            problem = enlarged(problem, X, Y, taxonomy, weights)
        if not n_old:
            raise DataError("No document has a label left; fit the model on documents of the new taxonomy.")
        counts = np.bincount(held.Y.indices, minlength=held.taxonomy.n_nodes)
        before, kept = self._whole_weights(), self.kept_
        self._forget()
        self.taxonomy_ = taxonomy
        if self.taxonomy is not None:
            self.taxonomy = taxonomy
        self._targets(problem, self.learn)
        start = carried_weights(before, counts, number, taxonomy, self.nodes_)
        self._fit_joint(problem, start=start, on_trial=True)
        self.drop_calibration()
        self.kept_ = None
        if kept is not None and len(kept.names) == held.n_docs:
            names = [*kept.names[stay].tolist(), *range(held.n_docs, held.n_docs + problem.n_docs - n_old)]
            self.kept_ = KeptDocuments.of(problem.X, problem.closed, names, problem.Y)
        return self

    def _texts_for(self, taxonomy: Taxonomy, label_features: object) -> LabelTexts | None:
        """Texts, gains and scales for an update; the texts of the fit where the taxonomy is the same."""
        kept = self._prior
        if kept is None:
            return None
        if label_features is None and taxonomy.n_nodes == kept.T.shape[0]:
            return kept
        return replace(kept, T=check_label_features(label_features, taxonomy.n_nodes, kept.T.shape[1]))

    def forget_documents(self) -> None:
        """Release the training documents, which a fitted model holds in memory for `update` and ``warm_start``.

        Saved, pickled and loaded models never hold them.
        """
        self._joint = self._device_joint = self._alone = None


def _leaf_weights(solver: JointSolver) -> tuple[FloatArray, FloatArray]:
    """(weights, features of X x leaves; weights of the constant feature)."""
    leaves, inner = solver.leaves, solver.inner
    n_features = leaves.n_features - 1
    row = np.arange(leaves.n_features, dtype=np.int32)
    if leaves.rank is not None:
        row[leaves.rank] = np.arange(n_features, dtype=np.int32)
    row[-1] = -1  # the constant
    W = np.empty((n_features, inner.network.n_leaves), leaves.dtype)
    inner.write_leaves(solver.blocks, row, W, solver.local_engine)
    intercept = np.zeros(W.shape[1], leaves.dtype)
    for block in solver.blocks:
        own = inner.centres(block.columns, np.array([n_features], np.int32), solved=True)[0]
        own[:] += block.U[-1] if len(block.features) and block.features[-1] == n_features else 0
        intercept[block.columns] = own[: block.n_columns]
    return W, intercept


def _fill(W: FloatArray, part: slice, own: FloatArray) -> None:
    """``W[:, part] = own``, by several threads where W is large: memory that is new comes page by page."""
    if W.nbytes < _FILL_BYTES:
        W[:, part] = own
        return
    with ThreadPoolExecutor(_FILL_THREADS) as pool:
        pieces = np.array_split(np.arange(len(W)), _FILL_THREADS)
        rows = [slice(int(piece[0]), int(piece[-1]) + 1) for piece in pieces]
        list(pool.map(lambda piece: np.copyto(W[piece, part], own[piece]), rows))


def _inner_array(shape: tuple[int, ...], dtype: npt.DTypeLike, on_disk: bool) -> FloatArray:
    """Zeros in memory, or in a file that vanishes with them."""
    if not on_disk:
        return aligned_zeros(shape, dtype)
    with tempfile.TemporaryFile(prefix="linnaeus-") as file:
        return np.memmap(file, dtype, "w+", shape=shape)


class RRSVM(RecursiveModel):
    """Recursively regularised support vector machines: all nodes are learned together.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        Tree, DAG or graph of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the loss against the pull between neighbours.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss of a document at a label: max(0, 1 - margin), or its square.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.
    learn : {"given", "closed", "frontier"}, default="given"
        Labels as given, with all ancestors, or only the most specific.
    spawn : {"inner", "all"}, default="inner"
        "inner" gives labels with children a leaf of their own below them, "all" gives one to every label.
    root : float, default=1.0
        Weight of the pull of the root's weights towards zero; a small number leaves the root nearly free.
    pull : float, default=0.0
        Weight of the pull of every inner node's weights towards zero, next to the weight 1 of the pull towards its
        parents. 0 shares as much as possible; the larger it is, the less nodes share, and ``float("inf")`` learns every
        label alone, as `OneVsRestSVM` does.
    class_weight : {"balanced"} or dict, default=None
        How much more the positive documents of a label count.
    schedule : {"exact", "levels", "colours", "all"}, default="exact"
        "exact" solves all inner nodes together between visits of the leaves, accelerated. The others are those of the
        publication, for comparison, and lead to the same model more slowly: "levels" (odd and even levels, trees only),
        "colours" (any taxonomy) and "all" (all nodes at once).
    tol : float, default=1e-2
        Relative duality gap of the whole problem at which the fit ends. Smaller values took up to twice as long and
        changed F1 by at most a third of a point on four data sets.
    max_iter : int, default=1000
        Maximum number of sweeps over all leaves.
    n_jobs : int, default=None
        Threads; None is 1, -1 all cores. The weights do not depend on it.
    engine : {"serial", "threads", "ray", "gpu"} or Engine, default=None
        Where blocks of leaves are solved; see `linnaeus.engine`.
    random_state : int or RandomState, default=None
        Seed of the order of documents and of the first candidates.
    verbose : int, default=0
        Show the memory forecast and a progress bar if above 0.
    warm_start : bool, default=False
        Begin at the solution of the last fit, for another C or changed documents of the same shape. Fits with an
        infinite ``pull`` do not use it; a finite ``pull`` begins at their weights if documents are dense.
    checkpoint : path-like, default=None
        Folder for finished work; the same fit with it continues after a kill, to the same model.
    max_time : float or str, default=None
        Seconds, or "10m": stop then, with the best certified model so far.
    max_memory : float or str, default=None
        Bytes, or "4GB": weights go to disk where the forecast is above it.
    answer : {"seen", "all"}, default="seen"
        Nodes that can be answered: those that training documents have as labels, or all nodes with texts. With "all"
        the weights of a node are pulled towards those of its parents plus a map of its text, and a node without
        documents has these; `fit` then needs ``label_features``.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features, n_classes)
        Weights of the labels.
    intercept_ : ndarray of shape (n_classes,)
        Weights of the constant feature.
    objective_ : float
        The joint objective; the optimum is at least ``objective_ - duality_gap_``.
    duality_gap_ : float
        The certified gap.
    n_iter_ : int
        Number of sweeps.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import RRSVM, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.1]])
    >>> model = RRSVM(taxonomy=tax, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'AA']
    >>> bool(model.duality_gap_ <= 1e-3 * model.objective_)
    True
    """

    _losses = ("squared_hinge", "hinge")

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        loss: str = "squared_hinge",
        fit_intercept: bool = True,
        learn: str = "given",
        spawn: str = "inner",
        root: float = 1.0,
        pull: float = 0.0,
        class_weight: ClassWeight = None,
        schedule: str = "exact",
        tol: float = 1e-2,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: Seed = None,
        verbose: int = 0,
        warm_start: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        max_time: float | str | None = None,
        max_memory: float | str | None = None,
        answer: str = "seen",
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.learn = learn
        self.spawn = spawn
        self.root = root
        self.pull = pull
        self.class_weight = class_weight
        self.schedule = schedule
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.max_time = max_time
        self.max_memory = max_memory
        self.answer = answer


class RRLogistic(RecursiveModel):
    """Recursively regularised logistic regressions: all nodes are learned together.

    Attributes are those of `RRSVM`.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        Tree, DAG or graph of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the loss against the pull between neighbours.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.
    learn : {"given", "closed", "frontier"}, default="given"
        Labels as given, with all ancestors, or only the most specific.
    spawn : {"inner", "all"}, default="inner"
        "inner" gives labels with children a leaf of their own below them, "all" gives one to every label.
    root : float, default=1.0
        Weight of the pull of the root's weights towards zero; a small number leaves the root nearly free.
    pull : float, default=0.0
        Weight of the pull of every inner node's weights towards zero, next to the weight 1 of the pull towards its
        parents. 0 shares as much as possible; the larger it is, the less nodes share, and ``float("inf")`` learns every
        label alone, as `OneVsRestLogistic` does.
    class_weight : {"balanced"} or dict, default=None
        How much more the positive documents of a label count.
    schedule : {"exact", "levels", "colours", "all"}, default="exact"
        "exact" solves all inner nodes together between visits of the leaves, accelerated. The others are those of the
        publication, for comparison, and lead to the same model more slowly: "levels" (odd and even levels, trees only),
        "colours" (any taxonomy) and "all" (all nodes at once).
    tol : float, default=1e-3
        Relative duality gap of the whole problem at which the fit ends.
    max_iter : int, default=1000
        Maximum number of sweeps over all leaves.
    n_jobs : int, default=None
        Threads; None is 1, -1 all cores. The weights do not depend on it.
    engine : {"serial", "threads", "ray", "gpu"} or Engine, default=None
        Where blocks of leaves are solved; see `linnaeus.engine`.
    random_state : int or RandomState, default=None
        Seed of the order of documents and of the first candidates.
    verbose : int, default=0
        Show the memory forecast and a progress bar if above 0.
    warm_start : bool, default=False
        Begin at the solution of the last fit, for another C or changed documents of the same shape. Fits with an
        infinite ``pull`` do not use it; a finite ``pull`` begins at their weights if documents are dense.
    checkpoint : path-like, default=None
        Folder for finished work; the same fit with it continues after a kill, to the same model.
    max_time : float or str, default=None
        Seconds, or "10m": stop then, with the best certified model so far.
    max_memory : float or str, default=None
        Bytes, or "4GB": weights go to disk where the forecast is above it.
    answer : {"seen", "all"}, default="seen"
        Nodes that can be answered: those that training documents have as labels, or all nodes with texts. With "all"
        the weights of a node are pulled towards those of its parents plus a map of its text, and a node without
        documents has these; `fit` then needs ``label_features``.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import RRLogistic, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.1]])
    >>> model = RRLogistic(taxonomy=tax, C=10.0, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'AA']
    """

    _losses = ("logistic",)
    loss = "logistic"

    def __init__(
        self,
        taxonomy: Taxonomy | None = None,
        *,
        C: float = 1.0,
        fit_intercept: bool = True,
        learn: str = "given",
        spawn: str = "inner",
        root: float = 1.0,
        pull: float = 0.0,
        class_weight: ClassWeight = None,
        schedule: str = "exact",
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: Seed = None,
        verbose: int = 0,
        warm_start: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        max_time: float | str | None = None,
        max_memory: float | str | None = None,
        answer: str = "seen",
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.fit_intercept = fit_intercept
        self.learn = learn
        self.spawn = spawn
        self.root = root
        self.pull = pull
        self.class_weight = class_weight
        self.schedule = schedule
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.max_time = max_time
        self.max_memory = max_memory
        self.answer = answer

    def predict_proba(self, X: object) -> FloatArray:
        """Probability of every label; rows sum to 1 where every training document had one label.

        Parameters
        ----------
        X : matrix of shape (n_docs, n_features)
            The documents.

        Returns
        -------
        ndarray of shape (n_docs, n_classes)
            Probabilities of the labels, in the order of ``classes_``.
        """
        return self._logistic_probabilities(X)
