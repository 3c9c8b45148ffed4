"""One slack per pair: a mass for every right class of a document and every other class, each moved alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.models.ranking.problem import Pairs, RankingProblem
from linnaeus.models.ranking.run import Run
from linnaeus.typing import FloatArray, IntArray

__all__ = ["PairSlacks"]


class PairSlacks(Run):
    """One slack per pair: a mass for every relevant class of a document and every other class."""

    def __init__(self, problem: RankingProblem, seed: Any) -> None:
        super().__init__(problem, seed)
        self.mass = np.zeros((len(self.labels[1]), problem.classes.n_classes))

    def passes(self, tol: float, epsilon: float | None, left: int, clock: Any) -> int:
        rows, problem = self.problem.rows, self.problem
        n_passes = min(left, 5)
        for _ in range(n_passes):
            self.pairs_kernel.sweep_pairs(
                *rows.matrix, problem.gram, rows.squared_norm, rows.bias, problem.classes.arrays, *self.labels,
                self.bound, self.rng.permutation(self.order).astype(np.int32), self.W, self.mass, self.room(),
                self.relevant,
            )  # fmt: skip
        return n_passes

    def active(self) -> Pairs:
        entry, zs = np.nonzero(self.mass)
        docs = np.repeat(np.arange(self.problem.rows.n_docs), np.diff(self.labels[0]))[entry]
        ys = self.labels[1][entry]
        return docs, ys, zs.astype(np.int32), self.mass[entry, zs] * self._costs(ys, zs)

    def _costs(self, ys: IntArray, zs: IntArray) -> FloatArray:
        costs = np.zeros(len(ys))
        for y in np.unique(ys):
            costs[ys == y] = self.problem.classes.cost.row(int(y))[zs[ys == y]]
        return costs

    def linear(self) -> float:
        return float(self.active()[3].sum())

    def worst(self) -> float:
        return np.nan
