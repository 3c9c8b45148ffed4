"""Independent blocks of labels, solved in any order: kept as they come, resumed, and stopped when the time is over.

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
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from linnaeus.engine.limits import Clock, format_seconds
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.models.solvers.binary import BinaryTraining, solve_columns
from linnaeus.models.solvers.rows import BlockSolution
from linnaeus.models.weights_on_disk import InMemory, OnDisk, block_arrays, block_weights, pruned
from linnaeus.progress import progress
from linnaeus.typing import CSR, Engine, FloatArray, is_sparse

__all__ = ["BlockOutcome", "BlockRun", "block_key"]

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
    tells for every block that was reached what became of it.
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
