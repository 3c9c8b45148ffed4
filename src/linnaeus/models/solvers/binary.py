"""Many binary problems over the same documents, some columns at a time: which solver, how many columns, what memory.

A `BinaryTraining` is everything the blocks share; `solve_columns` is the task that an engine runs. Both are plain data
and a plain function, so that a block can be solved in this thread, in another, or on another machine.
`binary_footprint` says how much memory they take, from the shape of the documents alone:

    rows       the documents laid out: once; making them takes about as much again for a moment
    panels     what one worker holds while it solves a block
    result     the weights of one finished block (n_features x columns)

The figures follow the arrays that `rows`, `dual_cd` and `cg` make; a test measures whether they still do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from linnaeus.engine import rows_that_fit
from linnaeus.models.solvers import cg
from linnaeus.models.solvers.cg import solve_dense_block
from linnaeus.models.solvers.dual_cd import negative_start, solve_block
from linnaeus.models.solvers.rows import PANEL, BlockSolution, BlockTask, Rows, prepare_rows, rows_bytes
from linnaeus.typing import FloatArray, Matrix, is_sparse

if TYPE_CHECKING:
    from linnaeus.models.gpu.flat import DeviceTraining

__all__ = ["BinaryTraining", "Footprint", "binary_footprint", "prepare_training", "solve_columns"]

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
    inverse: FloatArray | None = None  # what preconditions blocks of dense documents, where there are many of them

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
    documents = X if not is_sparse(X) and loss in cg.LOSSES else prepare_rows(X, bias)
    start = inverse = None
    if not isinstance(documents, Rows) and n_columns >= _MANY:
        inverse = cg.inverse_curvature(documents, bound, loss, bias)
    if isinstance(documents, Rows) and is_sparse(X) and n_columns >= _MANY:
        start = negative_start(documents, bound, loss=loss, tol=0.3 * tol, max_iter=min(max_iter, 100), seed=0)
    return BinaryTraining(documents, bound, loss, bias, tol, max_iter, start, inverse)


def solve_columns(training: BinaryTraining | DeviceTraining, task: BlockTask) -> BlockSolution:
    """Solve one block.

    ``task`` is (positives, n_docs x at most `block_size` columns of 0/1; seed of the row order; and, where labels have
    weights, those of the columns' positive documents).
    """
    if not isinstance(training, BinaryTraining):  # on a device, which has a way of its own
        return training.solve(task)
    positives, seed = task[:2]
    weight = task[2] if len(task) > 2 else None
    X, bound, loss, tol, most = training.documents, training.bound, training.loss, training.tol, training.max_iter
    if isinstance(X, Rows):
        return solve_block(
            X, positives, bound, loss=loss, tol=tol, max_iter=most, seed=seed, positive_weight=weight,
            start=training.start,
        )  # fmt: skip
    return solve_dense_block(
        X, positives, bound, loss=loss, bias=training.bias, tol=tol, max_iter=most, positive_weight=weight,
        precondition=training.inverse,
    )  # fmt: skip


@dataclass(frozen=True)
class Footprint:
    """Bytes of the parts of a training by blocks of ``columns``."""

    columns: int
    rows: int
    preparing: int
    panels: int
    result: int


def binary_footprint(X: Matrix, loss: str) -> Footprint:
    """The footprint of `solvers.binary` on checked X.

    Examples
    --------
    >>> import numpy as np
    >>> found = binary_footprint(np.zeros((1000, 50), np.float32), "hinge")
    >>> found.columns, found.result
    (16, 3200)
    """
    n_docs, n_features = X.shape
    size = X.dtype.itemsize
    rows, preparing = rows_bytes(X)
    if not is_sparse(X) and loss in cg.LOSSES:
        columns = min(32, rows_that_fit(8 * size * max(X.shape), least=16))
        panels = columns * size * (16 * n_docs + 14 * n_features)
        squared = (n_features + 1) ** 2 if n_features <= min(cg.MOST_SQUARED, n_docs) else 0
        rows, preparing = rows + size * squared, preparing + 24 * squared + (rows if squared else 0)
        return Footprint(columns, rows, preparing, panels, columns * size * n_features)
    # W and the result; V and its squares in double precision while the gap is certified; alpha; the order of the rows.
    panels = PANEL * n_features * (2 * size + 16) + n_docs * (PANEL * size + 12)
    return Footprint(PANEL, rows, preparing, panels, PANEL * size * n_features)
