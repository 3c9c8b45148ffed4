"""Modes by parts, for binary likelihoods: blocks of leaves on an engine, then all inner vertices between them.

Given the inner vertices every leaf is a problem of its own,

    min_w  1/2 prec |w - w_parent|^2 + sum_i c_i log(1 + exp(-y_i w'x_i))

of which a block of sixteen takes a few Newton steps in lock-step (conjugate gradients, scaled by the diagonal of the
Hessian, which is also the Laplace precision). One call is one round of the paper's parallel scheme: leaves and inner
vertices do not wait for each other to settle before precisions move. Only sums over features are kept of variances and
differences, so that memory is that of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from linnaeus.engine.plan import blocks
from linnaeus.models.bayes.partial_map import Round, inner_stiffness
from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import Engine, FloatArray, IntArray, Matrix

__all__ = ["InTurn", "LeafTask", "Shared", "solve_leaves"]

_BLOCK, _STEPS, _PRODUCTS = 16, 3, 30
_FEATURES = 1024  # at a time, for the inner vertices
_HUGE = 5 * 10**7  # vertices x features from which weights are in single precision


@dataclass(frozen=True)
class Shared:
    """What all tasks need: documents, their squares, weights, and how many Newton steps to take."""

    X: Matrix
    squares: Matrix
    c: FloatArray
    n_steps: int


@dataclass(frozen=True)
class LeafTask:
    """Some leaves: documents and column of their positives, parents' weights, precisions, weights as they are."""

    positives: tuple[IntArray, IntArray]
    centre: FloatArray
    prior: FloatArray
    weights: FloatArray


@dataclass
class InTurn:
    """Y is n_docs x n_leaves, CSC; ``keep`` the variances of the leaves."""

    X: Matrix
    Y: Any
    c: FloatArray
    tree: LabelTree
    engine: Engine
    keep: bool = True
    constant: bool = False  # whether the last feature is one: it starts where a label of mean size would have it
    weights: FloatArray = field(init=False)
    variances: FloatArray | None = None

    def __post_init__(self) -> None:
        shape = (self.tree.n_vertices, self.X.shape[1])
        dtype = np.float32 if shape[0] * shape[1] > _HUGE else np.float64
        self.weights = np.zeros(shape, dtype)
        if self.constant:
            share = np.clip(self.Y.nnz / max(1, self.Y.shape[0] * self.Y.shape[1]), 1e-6, 0.5)
            self.weights[:, -1] = np.log(share / (1 - share))
        self.variances = np.zeros((self.tree.n_leaves, shape[1]), dtype) if self.keep else None
        X = self.X.astype(dtype)
        steps = 1 if dtype == np.float32 else _STEPS
        self.shared = Shared(
            X, X**2 if isinstance(X, np.ndarray) else X.multiply(X).tocsr(), self.c.astype(dtype), steps
        )

    def __call__(self, rho: FloatArray, tol: float) -> Round:
        tree, n = self.tree, self.tree.n_vertices
        trace, away, norm, loss = np.zeros(n), 0.0, 0.0, 0.0
        parts = list(blocks(tree.n_leaves, _BLOCK))
        tasks = (self._task(part, rho) for part in parts)
        for part, (W, variance, value) in zip(parts, self.engine.map(solve_leaves, tasks, self.shared), strict=True):
            leaves = tree.leaves[part]
            away += float(((W - self.weights[leaves]) ** 2).sum())
            norm += float((W**2).sum())
            loss += value
            self.weights[leaves], trace[leaves] = W, variance.sum(axis=1)
            if self.variances is not None:
                self.variances[part] = variance
        stiff = inner_stiffness(tree, rho)[tree.inner]
        trace[tree.inner] = (self.weights.shape[1] / stiff)[:, 0]
        differences = self._settle_inner(rho)
        own = trace[1:, None]
        q = own + trace[tree.parent[1:], None] + differences[1:, None]
        energy = 0.5 * float(rho[:, 0] @ differences)
        return Round(self.weights, q, own, loss + energy, float(np.sqrt(away / max(norm, 1e-300))), False)

    def _task(self, part: slice, rho: FloatArray) -> LeafTask:
        leaves = self.tree.leaves[part]
        Y = self.Y[:, part].tocoo()
        centre = self.weights[self.tree.parent[leaves]]
        return LeafTask((Y.row, Y.col), centre, rho[leaves].astype(centre.dtype), self.weights[leaves])

    def _settle_inner(self, rho: FloatArray) -> FloatArray:
        """Inner vertices to their optimum, some features at a time; |w_n - w_parent|^2 of all (root: |w|^2)."""
        squares = np.zeros(self.tree.n_vertices)
        for part in blocks(self.weights.shape[1], _FEATURES):
            W = self.tree.between(self.weights[:, part].astype(np.float64), rho)
            self.weights[:, part] = W
            W[1:] -= W[self.tree.parent[1:]]
            squares += (W**2).sum(axis=1)
        return squares

    def variance(self, rho: FloatArray) -> FloatArray | None:
        return self.variances


def solve_leaves(shared: Shared, task: LeafTask) -> tuple[FloatArray, FloatArray, float]:
    """(weights, Laplace variances, sum of the losses) of the leaves of a task, after some Newton steps."""
    X, squares, c, W = shared.X, shared.squares, shared.c, task.weights.copy()
    signs = np.full((X.shape[0], len(W)), -1, W.dtype)
    signs[task.positives] = 1
    S = np.asarray(X @ W.T)
    value, R, D = _losses(S, signs, c)
    for _ in range(shared.n_steps):
        G = task.prior * (W - task.centre) + np.asarray(X.T @ R).T
        diagonal = task.prior + np.asarray(squares.T @ D).T
        V, XV = _direction(X, D, task.prior, G, diagonal)
        step = np.ones(len(W))
        slope = _rows(G, V)
        start = value + 0.5 * _rows(task.prior * (W - task.centre), W - task.centre)
        for _ in range(30):
            t = step[:, None].astype(W.dtype)
            moved = W + t * V
            new, R, D = _losses(S + XV * t.T, signs, c)
            now = new + 0.5 * _rows(task.prior * (moved - task.centre), moved - task.centre)
            risen = now > start + 1e-4 * step * slope + 1e-6 * np.abs(start) * (W.dtype == np.float32)
            if not risen.any():
                break
            step[risen] *= 0.5
        W, S, value = moved, S + XV * t.T, new
    variance = 1 / (task.prior + np.asarray(squares.T @ D).T)
    return W, variance, float(value.sum())


def _losses(S: FloatArray, signs: FloatArray, c: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(sum of the losses of every leaf, derivatives, second derivatives)."""
    from scipy.special import expit

    T = signs * S
    miss = expit(-T)
    value = np.einsum("i,ij->j", c, np.logaddexp(0, -T), dtype=np.float64)
    return value, -c[:, None] * signs * miss, c[:, None] * miss * (1 - miss)


def _direction(
    X: Matrix, D: FloatArray, prior: FloatArray, G: FloatArray, diagonal: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(V, X V') with the Hessian's residual a tenth of the gradient in every row."""
    V, XV = np.zeros_like(G), np.zeros_like(D)
    residual = -G
    image = residual / diagonal
    direction = image.copy()
    rho = _rows(residual, image)
    target = 0.01 * rho
    for _ in range(_PRODUCTS):
        Q = np.asarray(X @ direction.T)
        H = prior * direction + np.asarray(X.T @ (D * Q)).T
        step = np.where(rho > target, rho / np.maximum(_rows(direction, H), 1e-300), 0)[:, None].astype(G.dtype)
        V += step * direction
        XV += step.T * Q
        residual -= step * H
        image = residual / diagonal
        before, rho = rho, _rows(residual, image)
        if (rho <= target).all():
            break
        direction = image + (rho / np.maximum(before, 1e-300))[:, None].astype(G.dtype) * direction
    return V, XV


def _rows(A: FloatArray, B: FloatArray) -> FloatArray:
    """Inner products of the rows, in double precision."""
    return np.einsum("ij,ij->i", A, B, dtype=np.float64)
