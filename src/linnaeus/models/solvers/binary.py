"""Many binary problems over the same documents, some columns at a time: which solver, and how many columns it takes.

A `BinaryTraining` is everything the blocks share; `solve_columns` is the task that an engine runs. Both are plain data
and a plain function, so that a block can be solved in this thread, in another, or on another machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.engine.plan import rows_that_fit
from linnaeus.models.solvers import newton_cg
from linnaeus.models.solvers.dual_cd import PANEL, solve_block
from linnaeus.models.solvers.newton_cg import solve_dense_block
from linnaeus.models.solvers.rows import Rows, prepare_rows
from linnaeus.models.solvers.solution import BlockSolution
from linnaeus.typing import CSR, FloatArray, Matrix

__all__ = ["BinaryTraining", "prepare_training", "solve_columns"]


@dataclass(frozen=True)
class BinaryTraining:
    """Documents laid out for their solver, the bound c_i of every document, the loss and when to stop."""

    documents: Rows | FloatArray
    bound: FloatArray
    loss: str
    bias: float
    tol: float
    max_iter: int

    @property
    def block_size(self) -> int:
        """How many columns are solved at a time; it depends on the documents, never on the number of workers."""
        X = self.documents
        if isinstance(X, Rows):
            return PANEL
        return min(32, rows_that_fit(8 * X.itemsize * max(X.shape), least=16))


def prepare_training(
    X: Matrix, bound: FloatArray, *, loss: str, bias: float, tol: float, max_iter: int
) -> BinaryTraining:
    """Lay out checked X (CSR or dense).

    Dense documents have correlated features, on which coordinate descent crawls: smooth losses go to Newton-CG.
    """
    smooth = isinstance(X, np.ndarray) and loss in newton_cg.LOSSES
    documents = X if smooth else prepare_rows(X, bias)
    return BinaryTraining(documents, bound.astype(X.dtype), loss, bias, tol, max_iter)


def solve_columns(training: BinaryTraining, task: tuple[CSR, Any]) -> BlockSolution:
    """Solve one block: ``task`` is (positives, n_docs x at most `block_size` columns of 0/1; seed of the row order)."""
    positives, seed = task
    stop: dict[str, Any] = {"loss": training.loss, "tol": training.tol, "max_iter": training.max_iter}
    if isinstance(training.documents, Rows):
        return solve_block(training.documents, positives, training.bound, seed=seed, **stop)
    return solve_dense_block(training.documents, positives, training.bound, bias=training.bias, **stop)
