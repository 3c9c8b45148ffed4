"""Many binary problems over the same documents, some columns at a time: which solver, and how many columns it takes.

A `BinaryTraining` is everything the blocks share; `solve_columns` is the task that an engine runs. Both are plain data
and a plain function, so that a block can be solved in this thread, in another, or on another machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from linnaeus.engine.limits import rows_that_fit
from linnaeus.models.solvers import newton_cg
from linnaeus.models.solvers.dual_cd import PANEL, negative_start, solve_block
from linnaeus.models.solvers.newton_cg import solve_dense_block
from linnaeus.models.solvers.rows import Rows, prepare_rows
from linnaeus.models.solvers.solution import BlockSolution
from linnaeus.typing import FloatArray, Matrix, is_sparse

__all__ = ["BinaryTraining", "prepare_training", "solve_columns"]


_MANY = 8 * PANEL  # columns that pay for a common start


@dataclass(frozen=True)
class BinaryTraining:
    """Documents laid out for their solver, the bound c_i of every document, the loss and when to stop."""

    documents: Rows | FloatArray
    bound: FloatArray
    loss: str
    bias: float
    tol: float
    max_iter: int
    start: FloatArray | None = None  # dual variables at which blocks start, where there are many of them

    @property
    def block_size(self) -> int:
        """How many columns are solved at a time; it depends on the documents, never on the number of workers."""
        X = self.documents
        if isinstance(X, Rows):
            return PANEL
        return min(32, rows_that_fit(8 * X.itemsize * max(X.shape), least=16))


def prepare_training(
    X: Matrix, bound: FloatArray, *, loss: str, bias: float, tol: float, max_iter: int, n_columns: int = 0
) -> BinaryTraining:
    """Lay out checked X (CSR or dense) for about ``n_columns`` columns.

    Dense documents have correlated features, on which coordinate descent crawls: smooth losses go to Newton-CG. Where
    there are many columns the problem in which every document is negative is solved first, as a start for all of them.
    """
    bound = bound.astype(X.dtype)
    documents = X if not is_sparse(X) and loss in newton_cg.LOSSES else prepare_rows(X, bias)
    start = None
    if isinstance(documents, Rows) and is_sparse(X) and n_columns >= _MANY:
        stop: dict[str, Any] = {"loss": loss, "tol": 0.3 * tol, "max_iter": min(max_iter, 100)}
        start = negative_start(documents, bound, seed=0, **stop)
    return BinaryTraining(documents, bound, loss, bias, tol, max_iter, start)


def solve_columns(training: Any, task: tuple[Any, ...]) -> BlockSolution:
    """Solve one block.

    ``task`` is (positives, n_docs x at most `block_size` columns of 0/1; seed of the row order; and, where labels have
    weights, those of the columns' positive documents).
    """
    if not isinstance(training, BinaryTraining):  # on a device, which has a way of its own
        return training.solve(task)
    positives, seed, *weight = task
    stop: dict[str, Any] = {"loss": training.loss, "tol": training.tol, "max_iter": training.max_iter}
    stop["positive_weight"] = weight[0] if weight else None
    if isinstance(training.documents, Rows):
        return solve_block(training.documents, positives, training.bound, seed=seed, start=training.start, **stop)
    return solve_dense_block(training.documents, positives, training.bound, bias=training.bias, **stop)
