"""Training of the hierarchical SVM on all documents or on some: features or Gram matrix, any solver, any slack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.engine.limits import Clock, available_memory, format_bytes
from linnaeus.errors import DataError
from linnaeus.models.ranking.algorithm2 import solve_by_worst
from linnaeus.models.ranking.arrays import ClassArrays
from linnaeus.models.ranking.problem import RankingProblem, RankingSolution, gram_rows
from linnaeus.models.ranking.solver import solve_ranking
from linnaeus.models.solvers.rows import prepare_rows
from linnaeus.typing import CSR, FloatArray, IntArray, Kernel, Matrix

__all__ = ["Training", "gram_matrix"]

_EXACT_GRAM = 4000  # documents up to which a Gram matrix is held in double precision


@dataclass(frozen=True)
class Training:
    """What all trainings of a fit share; ``documents`` are features, or with ``gram`` the Gram matrix.

    ``bias`` is the constant feature; that of a Gram matrix is in it already.
    """

    documents: Matrix
    gram: bool
    classes: ClassArrays
    bias: float
    slack: str
    algorithm: str
    tol: float
    epsilon: float | None
    max_iter: int
    seed: int
    clock: Clock

    def problem(self, labels: CSR, bound: FloatArray, rows: IntArray | None = None) -> RankingProblem:
        """The problem of some of the documents, or of all; labels and bounds are theirs."""
        if self.slack == "mean_pair":
            sizes = np.diff(labels.indptr)
            bound = bound / np.maximum(sizes * (self.classes.n_classes - sizes), 1)
        if self.gram:
            K = self.documents if rows is None else self.documents[np.ix_(rows, rows)]
            laid = gram_rows(np.ascontiguousarray(K))
        else:
            laid = prepare_rows(self.documents if rows is None else self.documents[rows], self.bias)
        return RankingProblem(laid, labels, bound, self.classes, self.gram, self.slack != "example")

    def solve(self, problem: RankingProblem, clock: Clock | None = None) -> RankingSolution:
        """Within the time of the fit, or of another clock."""
        stop: dict[str, Any] = {"tol": self.tol, "epsilon": self.epsilon, "max_iter": self.max_iter}
        stop["clock"] = clock or self.clock
        if self.algorithm != "sweep":
            return solve_by_worst(problem, every=self.algorithm == "8b", **stop)
        return solve_ranking(problem, seed=self.seed, **stop)

    def unseen(self, labels: CSR, bound: FloatArray, train: IntArray, test: IntArray) -> FloatArray:
        """Scores of the documents ``test`` by a model of the documents ``train``, in half of the time that is left."""
        left = self.clock.remaining
        clock = Clock(left / 2) if 0 < left < np.inf else None
        found = self.solve(self.problem(labels[train], bound[train], train), clock)
        S = self.documents[test][:, train] if self.gram else self.documents[test]
        return np.asarray(S @ found.weights + found.intercept)


def gram_matrix(kernel: Kernel, A: Any, *, constant: bool, exact: bool) -> FloatArray:
    """K of prepared documents, plus 1 for a constant feature; refused where it would not fit into memory."""
    n_docs = A.shape[0] if hasattr(A, "shape") else len(A)
    dtype = np.dtype(np.float64 if exact or n_docs <= _EXACT_GRAM else np.float32)
    needed = (8 + dtype.itemsize) * n_docs**2
    if needed > available_memory():
        raise DataError(
            f"The Gram matrix of {n_docs:,} documents takes {format_bytes(needed)}, more than there is; train on "
            "fewer documents, or with kernel='linear', which needs none."
        )
    K = kernel(A, A).astype(dtype, copy=False)
    return K + dtype.type(1) if constant else K
