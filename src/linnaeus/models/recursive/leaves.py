"""Blocks of leaves and what is measured on them, whatever solver works on them.

A kind of leaves (`ScreenedLeaves`, `DenseLeaves`) is what all blocks share. It can ``begin`` a block, ``visit`` it
(move its leaves towards their optimum under given centres), ``measure`` it and ``screen`` it (measure on all
documents). The functions here do that as tasks of an engine: plain functions of what is shared and of (block, ...).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from linnaeus.models.solvers.dual_cd import PANEL, column_weights
from linnaeus.typing import FloatArray, IntArray

__all__ = ["LeafBlock", "Measured", "leaf_blocks", "measure_block", "near_block", "screen_block", "visit_block"]


@dataclass
class LeafBlock:
    """Up to 16 consecutive leaves; ``U`` (features x 16) is how far their weights are from their centres."""

    number: int
    columns: IntArray
    total: FloatArray  # S, the weight of all links of a leaf
    positive_weight: FloatArray
    positives: tuple[IntArray, IntArray]  # documents (sorted) and columns of the positive pairs
    features: IntArray = field(default_factory=lambda: np.empty(0, np.int32))
    U: FloatArray = field(default_factory=lambda: np.empty((0, PANEL)))

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    def forget(self) -> None:
        """Let go what can be made again."""

    def weight(self, dtype: Any) -> FloatArray:
        """Weights of positive and negative documents in the sub-problems, which are divided by S."""
        return column_weights(self.n_columns, dtype, self.positive_weight / self.total, 1 / self.total)

    def scaled(self, per_column: FloatArray) -> float:
        """A sum over the columns of what their sub-problems, multiplied by S again, come to."""
        return float(self.total.astype(np.float64) @ per_column[: self.n_columns])

    def measured(self, loss: FloatArray, dual: FloatArray, W: FloatArray, V: FloatArray) -> Measured:
        """What the columns' losses and dual sums come to with weights W, U = W - centre and V = sum alpha y x / S."""
        norm, dual_norm = (np.square(A, dtype=np.float64).sum(axis=0) for A in (self.U, V))
        pairs = loss - dual + np.einsum("ij,ij->j", V, W, dtype=np.float64)
        return Measured(self, *(self.scaled(sums) for sums in (loss, dual, norm, dual_norm, pairs)))


@dataclass
class Measured:
    """Sums over a block's leaves: losses, local dual objective, S |u|^2, S |v|^2 with v = sum alpha y x / S.

    ``pairs`` is their part of the gap: how far the leaves are from their optimum under their centres.
    """

    block: Any
    loss: float
    dual: float
    norm: float
    dual_norm: float
    pairs: float
    missed: float = 0.0  # losses of documents that were no candidates


def leaf_blocks(
    Y: Any, total: FloatArray, positive_weight: FloatArray, turn: IntArray | None = None
) -> Iterator[LeafBlock]:
    """Blocks of consecutive leaves, all of one turn; ``Y`` is n_docs x n_leaves, CSC."""
    ends = [] if turn is None else (np.flatnonzero(np.diff(turn)) + 1).tolist()
    runs = pairwise([0, *ends, Y.shape[1]])
    for number, (start, stop) in enumerate((i, min(i + PANEL, b)) for a, b in runs for i in range(a, b, PANEL)):
        columns = np.arange(start, stop)
        part = Y[:, columns].tocsr()
        part.sort_indices()
        rows = np.repeat(np.arange(part.shape[0], dtype=np.int32), np.diff(part.indptr))
        yield LeafBlock(
            number, columns, total[columns], positive_weight[columns], (rows, part.indices.astype(np.uint8))
        )


def visit_block(leaves: Any, task: tuple[Any, FloatArray, int]) -> Any:
    """Task: (block, centres at its features, number of the sweep)."""
    return leaves.visit(*task)


def measure_block(leaves: Any, task: tuple[Any, FloatArray]) -> Measured:
    """Task: (block, centres at its features)."""
    return leaves.measure(*task)


def near_block(leaves: Any, task: tuple[Any, FloatArray, Any]) -> Any:
    """Task: (block, centres at its features, which columns count)."""
    return leaves.near(*task)


def screen_block(leaves: Any, task: tuple[Any, FloatArray, bool]) -> Measured:
    """Task: (block, centres at all features, exact)."""
    return leaves.screen(*task)
