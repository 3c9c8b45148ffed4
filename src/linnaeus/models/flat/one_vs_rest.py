"""One binary problem per label, each trained alone: the flat baselines BSVM and BLR.

    min_w  1/2 |w|^2 + C sum_i loss(y_i w'x_i)        y_i = +1 where document i carries the label, else -1

with the hinge (1 - t)_+, its square, or log(1 + e^-t). The taxonomy plays no part in training. Sixteen labels at a time
share one pass over the documents (`solvers.dual_cd`; `solvers.cg` for smooth losses on dense documents), blocks
run on threads, every label's gap is certified.

Blocks of labels are independent and solved in any order: kept as they come, resumed, stopped when the time is over.

Without a time limit every block is solved to ``tol`` or ``max_iter``: it is *final*. With one, time is shared out:

    first round    every block without a solution gets its share of the time left, counted in passes over the documents
                   by what passes have cost so far; most blocks of an ample limit are final after it
    second round   blocks that are not final are solved again, largest gap first, with all the time that is left

A block's solution depends on its labels and its seed alone, so that a final block is the same whether it was solved in
one fit or in the third that took up a checkpoint. Blocks that are not final are kept as drafts: a later fit without a
time limit ignores them, one with a limit spends no time on first drafts again.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.data.check import Problem
from linnaeus.data.matrices import is_sparse
from linnaeus.engine import (
    Clock,
    Forecast,
    GPUEngine,
    blocks,
    format_bytes,
    format_seconds,
    get_engine,
    single_blas_thread,
)
from linnaeus.errors import check_choice, check_number
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.models.fitting import (
    ClassWeight,
    LongFit,
    Seed,
    check_class_weight,
    check_training,
    document_weights,
    engine_within_memory,
    positive_weights,
    require_two_classes,
    warn_not_converged,
)
from linnaeus.models.linear import (
    MERGE_BYTES,
    InMemory,
    LinearTaxonomyClassifier,
    OnDisk,
    block_arrays,
    block_weights,
    pruned,
)
from linnaeus.models.solvers import BlockSolution, cg
from linnaeus.models.solvers.dual_cd import BinaryTraining, binary_footprint, prepare_training, solve_columns
from linnaeus.progress import note, progress
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Engine, FloatArray, Matrix

if TYPE_CHECKING:
    from linnaeus.models.gpu.flat import DeviceTraining

__all__ = ["BlockOutcome", "BlockRun", "OneVsRestLogistic", "OneVsRestSVM", "block_key"]

if TYPE_CHECKING:
    from linnaeus.models.gpu.flat import DeviceTraining

_PROBE = 4  # passes for the first block under a time limit, when nobody knows yet what a pass costs
_CAUTION = 0.9  # of the time is shared out at first: blocks differ, and the last ones shall have their share, too


Task = tuple[CSR, np.random.SeedSequence, FloatArray]  # positives, seed, weights of the positives: of a block


@dataclass(frozen=True)
class BlockOutcome:
    """The figures of a block without its weights, and whether more time would change it."""

    intercept: FloatArray
    objective: FloatArray
    gap: FloatArray
    n_iter: int
    converged: bool
    final: bool


@dataclass(frozen=True)
class _Task:
    """One block for a worker: what `solve_columns` takes, passes at most, when to end, and seconds of a pass (or 0)."""

    task: Task
    max_iter: int
    deadline: float
    pace: float


def solve_in_time(training: BinaryTraining | DeviceTraining, task: _Task) -> tuple[BlockSolution | None, int, float]:
    """The solution of a block, the passes it might have taken and the seconds it took; None when it is too late.

    Tasks wait for a worker, so that the worker looks at the clock again.
    """
    left = task.deadline - time.time()
    if left <= 0:
        return None, 0, 0.0
    budget = min(task.max_iter, _passes_in(left, task.pace))
    start = time.perf_counter()
    found = solve_columns(replace(training, max_iter=budget), task.task)
    return found, budget, time.perf_counter() - start


def _passes_in(seconds: float, pace: float) -> int:
    """Passes that fit into some seconds besides the certificate, and at least one."""
    fit = seconds / pace if pace > 0 else np.inf
    return int(max(1, fit - 2)) if np.isfinite(fit) else 2**31 - 1


def block_key(number: int) -> str:
    """The key of a block in a checkpoint."""
    return f"block {number}"


@dataclass
class BlockRun:
    """All blocks of a training: ``task(number)`` makes what `solve_columns` takes, ``weights`` keeps what it finds.

    ``store`` is a checkpoint, given by the user or only a place for weights that do not fit into memory; `outcomes`
    reports the result of every block that was reached.
    """

    training: BinaryTraining | DeviceTraining
    parts: Sequence[slice]
    task: Callable[[int], Task]
    weights: InMemory | OnDisk
    engine: Engine
    clock: Clock
    store: Checkpoint | None = None
    prune_below: float = 0.0
    outcomes: dict[int, BlockOutcome] = field(default_factory=dict)
    _seconds: float = 0.0
    _passes: int = 0

    def run(self, *, verbose: int = 0) -> None:
        """Solve what is not solved yet; everything finished is committed, also when it ends with an error."""
        limited = np.isfinite(self.clock.limit)
        self._take_up(drafts=bool(limited))
        done = sum(self._width(number) for number in self.outcomes)
        try:
            description = f"training (at most {format_seconds(self.clock.limit)})" if limited else "training"
            with progress(description, self.parts[-1].stop, done=done, show=verbose > 0) as advance:
                for number in self._round([i for i in range(len(self.parts)) if i not in self.outcomes]):
                    advance(self._width(number))
                while drafts := self._drafts():
                    for _ in self._round(drafts, again=True):
                        pass
        except BaseException:
            if self.store is not None:
                with contextlib.suppress(OSError):
                    self.store.commit()
            raise
        if self.store is not None:
            self.store.commit()

    @property
    def reached(self) -> list[int]:
        """Numbers of the blocks that have a solution, final or not."""
        return sorted(self.outcomes)

    @property
    def complete(self) -> bool:
        """Whether every block is final."""
        return len(self.outcomes) == len(self.parts) and all(found.final for found in self.outcomes.values())

    # -- solving -------------------------------------------------------------------------------------------------------

    def _round(self, numbers: list[int], *, again: bool = False) -> Iterator[int]:
        """Solve blocks; yields the numbers of those that are done."""
        n_done = 0

        def tasks() -> Iterator[_Task]:
            for position, number in enumerate(numbers):
                # Whatever the limit, something is learned: the first block of all is never too late.
                first = position == 0 and not self.outcomes
                if self.clock.over and not first:
                    return
                budget = self._budget(1 if again else len(numbers) - n_done)
                yield _Task(self.task(number), budget, np.inf if first else self.clock.deadline, self._pace)

        results = self.engine.map(solve_in_time, tasks(), shared=self.training)
        with contextlib.ExitStack() as stack:
            if isinstance(results, Generator):  # ends tasks that wait, also after an error
                stack.enter_context(contextlib.closing(results))
            for number, (found, budget, seconds) in zip(numbers, results, strict=False):
                n_done += 1
                if found is not None:
                    self._passes += found.n_iter + 2  # a pass to begin with and one to certify
                    self._seconds += seconds
                    self._keep(number, found, budget)
                    yield number

    def _budget(self, n_left: int) -> int:
        """Passes that a block may take when ``n_left`` blocks, those in work among them, share what is left."""
        most = self.training.max_iter
        if not np.isfinite(self.clock.limit):
            return most
        if not self._passes:
            return min(_PROBE, most)
        share = self.clock.remaining * min(self.engine.n_workers, n_left) / n_left
        share *= 1 if n_left == 1 else _CAUTION
        return min(most, _passes_in(share, self._pace))

    @property
    def _pace(self) -> float:
        """Seconds of a pass as measured so far, 0 before that."""
        return max(self._seconds, 1e-9) / self._passes if self._passes else 0.0

    def _drafts(self) -> list[int]:
        """Blocks that are not final and would now get more passes than they had, largest gap first."""
        passes = 0 if self.clock.over else self._budget(1)
        open_ = [i for i, found in self.outcomes.items() if not found.final and passes > 1.1 * found.n_iter]
        return sorted(open_, key=lambda number: (-self.outcomes[number].gap.sum(), number))

    def _width(self, number: int) -> int:
        return self.parts[number].stop - self.parts[number].start

    # -- keeping -------------------------------------------------------------------------------------------------------

    def _keep(self, number: int, found: BlockSolution, budget: int) -> None:
        # A solution that the budget cut short is not the one that an unlimited fit finds, even if its gap is small.
        final = budget >= self.training.max_iter or (found.converged and found.n_iter < budget)
        before = self.outcomes.get(number)
        if before is not None and not final and before.gap.sum() <= found.gap.sum():
            return
        weights = found.weights  # sparse where they were pruned already
        kept = weights if is_sparse(weights) else pruned(weights, self.prune_below)
        self._note(number, found.intercept, found.objective, found.gap, found.n_iter, found.converged, final)
        self.weights.put(number, kept)
        if self.store is not None:
            outcome = self.outcomes[number]
            flags = np.array([outcome.n_iter, outcome.converged, outcome.final], np.int64)
            figures = {"intercept": outcome.intercept, "objective": outcome.objective, "gap": outcome.gap}
            self.store.put(block_key(number), {**block_arrays(kept), **figures, "flags": flags})
            self.store.state["pace"] = [self._seconds, self._passes]  # a later fit knows at once what a pass costs
            self.store.commit_if_due()

    def _note(self, number: int, intercept: FloatArray, objective: FloatArray, gap: FloatArray, *flags: int) -> None:
        n_iter, converged, final = flags
        figures = np.array(intercept), np.array(objective), np.array(gap)  # copies: no view keeps a block alive
        self.outcomes[number] = BlockOutcome(*figures, int(n_iter), bool(converged), bool(final))

    def _take_up(self, *, drafts: bool) -> None:
        """Solutions that the store holds already."""
        if self.store is not None:
            self._seconds, self._passes = self.store.state.get("pace", (0.0, 0))
        for number in range(len(self.parts)):
            if self.store is None or block_key(number) not in self.store:
                continue
            found = self.store.get(block_key(number))
            if found["flags"][2] or drafts:
                self._note(number, found["intercept"], found["objective"], found["gap"], *found["flags"])
                self.weights.put(number, block_weights(found, self._width(number)))


_AT_ZERO = {"hinge": 1.0, "squared_hinge": 1.0, "logistic": math.log(2)}  # the loss of a document at w = 0


class _OneVsRest(LongFit, LinearTaxonomyClassifier):
    """What both share: blocks of labels through the solver that fits the documents."""

    loss: str
    C: float
    fit_intercept: bool
    learn: str
    class_weight: ClassWeight
    tol: float
    max_iter: int
    n_jobs: int | None
    engine: str | Engine | None
    random_state: Seed
    verbose: int
    prune_below: float
    _losses: tuple[str, ...]

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_training(self)
        check_number("prune_below", self.prune_below, least=0)
        self._check_limits()
        check_class_weight(self.class_weight)
        check_choice("loss", self.loss, self._losses)
        check_choice("learn", self.learn, ("given", "closed", "frontier"))

    def _fit(self, problem: Problem) -> None:
        self._solve(problem, self)

    def _solve(self, problem: Problem, owner: LongFit) -> None:
        """All labels of validated documents; ``owner`` is the model whose fit this is, and whose checkpoint."""
        clock = Clock(self.max_time)
        Y = self._targets(problem, self.learn).tocsc()
        require_two_classes(problem, self.nodes_)
        engine = get_engine(self.engine, self.n_jobs, gpu=self.loss in cg.LOSSES)
        engine, plan = engine_within_memory(self, engine, self._memory_needed(problem.X, engine.n_workers))
        with single_blas_thread(), owner._checkpointed(problem) as checkpoint:
            with self._block_store(checkpoint, plan) as store:
                run = self._block_run(problem, Y, clock, engine, store, self._fit_seed(checkpoint))
                run.run(verbose=self.verbose)
                self._collect(run)
            if checkpoint is not None and run.complete:
                checkpoint.finish()

    def _memory_needed(self, X: Matrix, n_workers: int) -> Forecast:
        size = binary_footprint(X, self.loss)
        # Pruned weights take twice the memory each, and once more while they are stacked: as much as dense ones if a
        # quarter of them stays.
        weights = X.shape[1] * len(self.nodes_) * X.dtype.itemsize
        return Forecast(
            once={"documents": size.rows},
            each_worker={"blocks": size.panels + 3 * size.result},  # one in work, up to three waiting to be stored
            n_workers=n_workers,
            weights=weights,
            merging=min(MERGE_BYTES, max(2**20, weights // 4)),
            preparing=size.preparing,
        )

    def _block_run(
        self, problem: Problem, Y: CSR, clock: Clock, engine: Engine, store: Checkpoint | None, seed: int
    ) -> BlockRun:
        X, nodes = problem.X, self.nodes_
        bound = self.C * document_weights(problem)
        training = self._training(X, bound, engine)
        parts = list(blocks(len(nodes), training.block_size))
        positive = positive_weights(self.class_weight, Y[:, nodes], problem.codec.values(problem.taxonomy.names[nodes]))
        # One seed per block, whatever thread solves it: the model does not depend on n_jobs.
        seeds = np.random.SeedSequence(seed).spawn(len(parts))
        weights: InMemory | OnDisk
        if store is not None and self._forecast is not None and self._forecast.on_disk:
            weights = OnDisk(store, block_key, parts, budget=self._forecast.merging)
        else:
            weights = InMemory(X.shape[1], parts, X.dtype, sparse=self.prune_below > 0)
        return BlockRun(
            training,
            parts,
            lambda number: (Y[:, nodes[parts[number]]], seeds[number], positive[parts[number]]),
            weights,
            engine,
            clock,
            store,
            self.prune_below,
        )

    def _training(self, X: Matrix, bound: FloatArray, engine: Engine) -> BinaryTraining | DeviceTraining:
        """What all blocks share, for the processor or sized to the memory of a device."""
        bias = 1.0 if self.fit_intercept else 0.0
        if not isinstance(engine, GPUEngine):
            return prepare_training(
                X, bound, loss=self.loss, bias=bias, tol=self.tol, max_iter=self.max_iter, n_columns=len(self.nodes_)
            )
        from linnaeus.models.gpu.flat import DeviceTraining, device_block_size, forecast

        size = device_block_size(X, engine, len(self.nodes_), self.loss)
        if self.verbose:
            free = engine.free_memory()
            parts = ", ".join(f"{name} {format_bytes(n)}" for name, n in forecast(X, size, free, self.loss).items())
            note(f"{engine.device}: {format_bytes(free)} free; {parts} of {size} labels")
        return DeviceTraining(
            X,
            bound,
            loss=self.loss,
            bias=bias,
            tol=self.tol,
            max_iter=self.max_iter,
            engine=engine.here(),
            block_size=size,
            prune_below=float(self.prune_below),
        )

    def _collect(self, run: BlockRun) -> None:
        """Weights and figures of the blocks that were reached; the others count as they are at zero weights."""
        reached = run.reached
        found = [run.outcomes[number] for number in reached]
        self.weights_ = run.weights.whole(reached)
        self.intercept_ = np.concatenate([block.intercept for block in found])
        self.objective_ = float(sum(float(block.objective.sum()) for block in found))
        self.duality_gap_ = float(sum(float(block.gap.sum()) for block in found))
        self.n_iter_ = max(block.n_iter for block in found)
        self.time_limit_reached_ = not run.complete
        n_wanted = len(self.nodes_)
        self.nodes_ = np.concatenate([self.nodes_[run.parts[number]] for number in reached])
        n_missing = n_wanted - len(self.nodes_)
        if n_missing:  # alpha = 0 is feasible with D = 0, so P at w = 0 is a gap that is certified
            bound, at_zero = run.training.bound.astype(np.float64), 0.0
            for number in set(range(len(run.parts))) - set(reached):
                positives, _, weight = run.task(number)
                at_zero += positives.shape[1] * bound.sum() + float((positives.T @ bound) @ (weight - 1))
            at_zero *= _AT_ZERO[self.loss]
            self.objective_ += at_zero
            self.duality_gap_ += at_zero
        self._warn(run, n_missing)

    def _warn(self, run: BlockRun, n_missing: int) -> None:
        if not run.complete:
            drafts = sum(len(block.gap) for block in run.outcomes.values() if not block.final)
            missing = f", {n_missing} were not reached and cannot be predicted" if n_missing else ""
            gap = self.duality_gap_ / max(self.objective_, 1e-300)
            resumed = f"fit again with checkpoint={str(self.checkpoint)!r} to continue, or increase max_time"
            warn_not_converged(
                f"max_time={self.max_time} is over, {drafts} labels are not at their optimum{missing}, and the gap is "
                f"{gap:.2g} of the objective",
                advice="increase max_time" if self.checkpoint is None else resumed,
            )
        elif not all(block.converged for block in run.outcomes.values()):
            unfinished = sum(not block.converged for block in run.outcomes.values())
            warn_not_converged(
                f"{unfinished} of {len(run.parts)} blocks of labels stopped at max_iter={self.max_iter} with a gap "
                f"above tol={self.tol:g} of the objective",
                advice="increase max_iter or tol, or scale the features",
            )


class OneVsRestSVM(_OneVsRest):
    """A linear support vector machine for every label (BSVM).

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the loss against 1/2 |w|^2.
    loss : {"squared_hinge", "hinge"}, default="squared_hinge"
        Loss of a document at a label: max(0, 1 - margin), or its square.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.
    learn : str, default="given"
        Labels as "given", "closed" (with all ancestors) or "frontier" (only the most specific).
    class_weight : {"balanced"} or dict, default=None
        How much more the positive documents of a label count.
    tol : float, default=0.001
        Relative duality gap at which a label is finished.
    max_iter : int, default=1000
        Maximum number of passes over the documents.
    n_jobs : int, default=None
        Threads; None is 1, -1 all cores. The weights do not depend on it.
    engine : {"serial", "threads", "ray", "gpu"} or Engine, default=None
        Where blocks of labels are solved; see `linnaeus.engine`.
    random_state : int or RandomState, default=None
        Seed of the order of documents.
    verbose : int, default=0
        Show the memory forecast and a progress bar if above 0.
    prune_below : float, default=0.0
        Drop weights smaller than this in size as they come, and keep the rest sparse.
    checkpoint : path-like, default=None
        Folder for finished work; the same fit with it continues after a kill, to the same model.
    max_time : float or str, default=None
        Seconds, or "10m": stop then, with the best certified model so far.
    max_memory : float or str, default=None
        Bytes, or "4GB": weights go to disk and fewer threads run where the forecast is above it.

    Attributes
    ----------
    weights_ : ndarray or csr_array of shape (n_features, n_classes)
        Weights of the labels.
    intercept_ : ndarray of shape (n_classes,)
        Weights of the constant feature.
    objective_ : float
        Sum of the labels' objectives; the optimum is at least ``objective_ - duality_gap_``.
    duality_gap_ : float
        The certified gap.
    n_iter_ : int
        Passes over the documents that the slowest block needed.
    time_limit_reached_ : bool
        Whether ``max_time`` stopped the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import OneVsRestSVM, Taxonomy
    >>> tax = Taxonomy.from_edges([("Root", "A"), ("Root", "B"), ("A", "AA"), ("A", "AB")])
    >>> X = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0.1]])
    >>> model = OneVsRestSVM(taxonomy=tax, random_state=0).fit(X, ["AA", "AB", "B", "AA"])
    >>> model.predict(X).tolist()
    ['AA', 'AB', 'B', 'AA']
    >>> round(model.objective_, 3), bool(model.duality_gap_ <= 1e-3 * model.objective_)
    (2.993, True)
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
        class_weight: ClassWeight = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: Seed = None,
        verbose: int = 0,
        prune_below: float = 0.0,
        checkpoint: str | os.PathLike[str] | None = None,
        max_time: float | str | None = None,
        max_memory: float | str | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.learn = learn
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose
        self.prune_below = prune_below
        self.checkpoint = checkpoint
        self.max_time = max_time
        self.max_memory = max_memory


class OneVsRestLogistic(_OneVsRest):
    """A logistic regression for every label (BLR).

    Attributes are those of `OneVsRestSVM`.

    Parameters
    ----------
    taxonomy : Taxonomy, default=None
        The taxonomy of the labels; None makes a flat one (or, for paths, a tree) from y.
    C : float, default=1.0
        Weight of the loss against 1/2 |w|^2.
    fit_intercept : bool, default=True
        Add a constant feature, regularised like the others.
    learn : str, default="given"
        Labels as "given", "closed" (with all ancestors) or "frontier" (only the most specific).
    class_weight : {"balanced"} or dict, default=None
        How much more the positive documents of a label count.
    tol : float, default=0.001
        Relative duality gap at which a label is finished.
    max_iter : int, default=1000
        Maximum number of passes over the documents.
    n_jobs : int, default=None
        Threads; None is 1, -1 all cores. The weights do not depend on it.
    engine : {"serial", "threads", "ray", "gpu"} or Engine, default=None
        Where blocks of labels are solved; see `linnaeus.engine`.
    random_state : int or RandomState, default=None
        Seed of the order of documents.
    verbose : int, default=0
        Show the memory forecast and a progress bar if above 0.
    prune_below : float, default=0.0
        Drop weights smaller than this in size as they come, and keep the rest sparse.
    checkpoint : path-like, default=None
        Folder for finished work; the same fit with it continues after a kill, to the same model.
    max_time : float or str, default=None
        Seconds, or "10m": stop then, with the best certified model so far.
    max_memory : float or str, default=None
        Bytes, or "4GB": weights go to disk and fewer threads run where the forecast is above it.

    Examples
    --------
    >>> import numpy as np
    >>> from linnaeus import OneVsRestLogistic
    >>> X = np.array([[1.0, 0], [0, 1], [1, 0.2], [0.1, 1]])
    >>> model = OneVsRestLogistic(C=10.0, random_state=0).fit(X, [["a"], ["b"], ["a"], ["a", "b"]])
    >>> model.predict_proba(X[:1]).round(2).tolist()
    [[0.93, 0.1]]
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
        class_weight: ClassWeight = None,
        tol: float = 1e-3,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        engine: str | Engine | None = None,
        random_state: Seed = None,
        verbose: int = 0,
        prune_below: float = 0.0,
        checkpoint: str | os.PathLike[str] | None = None,
        max_time: float | str | None = None,
        max_memory: float | str | None = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.C = C
        self.fit_intercept = fit_intercept
        self.learn = learn
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state
        self.verbose = verbose
        self.prune_below = prune_below
        self.checkpoint = checkpoint
        self.max_time = max_time
        self.max_memory = max_memory

    def predict_proba(self, X: object) -> FloatArray:
        """Probabilities of the labels, n_docs x len(classes_); rows sum to 1 where every document has one label."""
        return self._logistic_probabilities(X)
