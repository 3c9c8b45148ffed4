"""A move of all vertices at once, by the same d (n_features), squared hinge:

    min_d   1/2 sum_v a_v |m_v + d|^2 + sum over pairs of leaf and document  c max(0, t - y d'x)^2

with a the inner vertices' pull to zero, m their weights, and t = 1 - y w'x before the move. Nothing changes between the
vertices. Leaves and inner vertices in turn are slowest in just this direction: every leaf pulls a little too much or
too little, and the lower bound pays for the sum of it. One problem with the shape of a single binary one sets that
right: Newton steps by conjugate gradients, on pairs near the margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus._kernels import dispatch
from linnaeus.models.solvers.rows import Rows
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["REACH", "Pairs", "common_move", "sparse_rows"]

REACH = 0.2  # margins this far on the right side are followed: they may become wrong by the move
_STEPS, _PRODUCTS, _HALVINGS = 4, 60, 10
_GRADIENT, _RESIDUAL = 1e-2, 1e-2  # of what they were: where Newton's method and conjugate gradients stop

Pairs = tuple[IntArray, FloatArray, FloatArray]  # documents, y c, t


def sparse_rows(rows: Rows) -> CSR:
    """Sparse documents as they were before they were laid out, features in the order of the kernels."""
    from scipy import sparse

    nnz = rows.indptr[-1]
    parts = rows.data[:nnz], rows.indices[:nnz], rows.indptr
    return sparse.csr_array(parts, shape=(rows.n_docs, rows.n_features))


def common_move(rows: Rows, pairs: Sequence[Pairs], pull: FloatArray, anchor: float) -> FloatArray:
    """d (n_features + 1, the constant last); ``pull`` is sum_v a_v m_v, ``anchor`` sum_v a_v."""
    problem = _Moves(rows, pairs, pull, anchor)
    move, now = np.zeros(len(pull)), problem.at(np.zeros(len(pull)))
    first = np.linalg.norm(now.gradient)
    for _ in range(_STEPS):
        if np.linalg.norm(now.gradient) <= _GRADIENT * first:
            break
        direction, length = problem.newton_step(now), 1.0
        for _ in range(_HALVINGS):
            tried = problem.at(move + length * direction)
            if tried.value < now.value:
                move, now = move + length * direction, tried
                break
            length /= 2
        else:
            break
    return move


@dataclass(frozen=True)
class _Point:
    value: float
    gradient: FloatArray
    curvature: FloatArray  # of every document


class _Moves:
    """The objective as a function of d, up to a constant."""

    def __init__(self, rows: Rows, pairs: Sequence[Pairs], pull: FloatArray, anchor: float) -> None:
        from scipy import sparse

        constant = sparse.csr_array(np.full((rows.n_docs, 1), float(rows.bias)))
        self.X = sparse.hstack([sparse_rows(rows).astype(np.float64), constant], format="csr")
        self.transposed = self.X.T.tocsr()
        self.pairs, self.pull, self.anchor = pairs, pull.astype(np.float64), anchor
        self.kernel = dispatch.best("screen")

    def at(self, d: FloatArray) -> _Point:
        way, slope, curvature = self.X @ d, np.zeros(self.X.shape[0]), np.zeros(self.X.shape[0])
        value = float(self.pull @ d + 0.5 * self.anchor * (d @ d))
        value += sum(self.kernel.moved(*part, way, slope, curvature) for part in self.pairs)
        return _Point(value, self.pull + self.anchor * d - self.transposed @ slope, curvature)

    def newton_step(self, now: _Point) -> FloatArray:
        """Conjugate gradients with the Hessian's diagonal, until the residual is small."""
        squares: Any = self.transposed.copy()
        squares.data **= 2
        diagonal = np.maximum(self.anchor + squares @ now.curvature, np.finfo(float).tiny)
        step, residual = np.zeros(len(diagonal)), -now.gradient
        scaled = residual / diagonal
        direction, rho = scaled.copy(), residual @ scaled
        target = _RESIDUAL**2 * rho
        for _ in range(_PRODUCTS):
            if rho <= target:
                break
            product = self.anchor * direction + self.transposed @ (now.curvature * (self.X @ direction))
            length = rho / (direction @ product)
            step += length * direction
            residual -= length * product
            scaled = residual / diagonal
            before, rho = rho, residual @ scaled
            direction = scaled + (rho / before) * direction
        return step
