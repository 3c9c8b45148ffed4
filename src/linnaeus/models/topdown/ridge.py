"""Regularised least squares, several right-hand sides at once, on the side of features or of documents.

    min_w  1/2 |w|^2 + 1/2 |r - Z w|^2        Z (n_docs x n_features): documents times sqrt(C weight); r likewise

has the solution w = (I + Z'Z)^-1 Z'r = Z'(I + ZZ')^-1 r. Up to `DIRECT` features or documents, whichever are fewer, it
comes from a Cholesky factor, else from conjugate gradients. For any w with the residual g = Z'(r - Zw) - w of the
normal equations the objective is at most 1/2 |g|^2 above the optimum, because I + Z'Z is at least I: the certificate.

The leverage of a document x, with A = I + Z'Z and ``M M' = A^-1``, is x'A^-1x = |M'x|^2; on the side of documents, with
M M' = (I + ZZ')^-1, it is K(x, x) - |M'k|^2 where k = Z x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.errors import DataError
from linnaeus.typing import FloatArray, Matrix

__all__ = ["DIRECT", "Ridge", "inverse_root", "solve_features", "solve_gram"]

DIRECT = 2000  # rows of a system that a Cholesky factor solves at once


@dataclass(frozen=True)
class Ridge:
    """Weights (n_features x n_columns), or coefficients of documents, with objective and certified gap, summed."""

    weights: FloatArray
    objective: float
    gap: float
    n_iter: int = 1
    converged: bool = True
    root: FloatArray | None = None  # M of the leverages


def solve_features(Z: Matrix, R: FloatArray, *, tol: float, max_iter: int, root: bool = False) -> Ridge:
    """Weights for targets R (n_docs x n_columns); ``root`` asks for M, on the side of features."""
    n_docs, n_features = Z.shape
    if root or n_features <= min(n_docs, DIRECT):
        factor = _factor(_dense(Z.T @ Z))
        W = _solved(factor, np.asarray(Z.T @ R))
        return _certified(Z, R, W, root=inverse_root(factor) if root else None)
    if n_docs <= DIRECT:
        return _certified(Z, R, np.asarray(Z.T @ _solved(_factor(_dense(Z @ Z.T)), R)))
    return _conjugate_gradients(Z, R, tol, max_iter)


def solve_gram(G: FloatArray, R: FloatArray, *, root: bool = False) -> Ridge:
    """Coefficients a = (I + G)^-1 R of documents with the Gram matrix G; w = Z'a.

    Examples
    --------
    >>> found = solve_gram(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([[1.0], [-1.0]]))
    >>> found.weights.round(12).ravel().tolist(), round(found.objective, 12)
    ([0.6, -0.8], 0.7)
    """
    factor = _factor(G)
    A = _solved(factor, R)
    GA = G @ A
    norms, errors = np.einsum("ib,ib->b", A, GA), R - GA
    residual = errors - A  # g = Z'(r - Zw) - w = Z'(r - Ga - a)
    gap = 0.5 * np.einsum("ib,ib->", residual, G @ residual)
    objective = 0.5 * (norms.sum() + (errors**2).sum())
    return Ridge(A, float(objective), float(max(gap, 0.0)), root=inverse_root(factor) if root else None)


def inverse_root(factor: FloatArray) -> FloatArray:
    """M with M M' the inverse, from the lower Cholesky factor: its inverse, transposed."""
    from scipy.linalg import solve_triangular

    return np.ascontiguousarray(solve_triangular(factor, np.eye(len(factor)), lower=True).T)


def _factor(G: FloatArray) -> FloatArray:
    """The lower Cholesky factor of G + I; where I is lost in the rounding of G, of a little more than that."""
    from scipy.linalg import LinAlgError, cholesky

    places = np.diag_indices(len(G))
    for shift in (1.0, 1.0 + 1e-12 * len(G) * float(np.max(G[places], initial=0.0))):
        system = np.array(G, dtype=np.float64)
        system[places] += shift
        try:
            return np.asarray(cholesky(system, lower=True, overwrite_a=True, check_finite=False))
        except LinAlgError:
            continue
    raise DataError(
        "Documents are too large and too similar for least squares in double precision; scale the features."
    )


def _solved(factor: FloatArray, right: FloatArray) -> FloatArray:
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve((factor, True), right, check_finite=False))


def _certified(Z: Matrix, R: FloatArray, W: FloatArray, **more: Any) -> Ridge:
    errors = R - Z @ W
    residual = Z.T @ errors - W
    objective = 0.5 * float((W**2).sum() + (errors**2).sum())
    return Ridge(W, objective, 0.5 * float((residual**2).sum()), **more)


def _conjugate_gradients(Z: Matrix, R: FloatArray, tol: float, max_iter: int) -> Ridge:
    """All columns in step, each until its certified gap is ``tol`` of its objective."""
    B = np.asarray(Z.T @ R)
    W, residual = np.zeros_like(B), B.copy()
    direction, size = residual.copy(), (residual**2).sum(axis=0)
    constant, n_iter = 0.5 * (R**2).sum(axis=0), 0
    while n_iter < max_iter:
        # At W the objective is 1/2 W'AW - W'B + constant, and AW = B - residual.
        open_ = 0.5 * size > tol * (constant - 0.5 * np.einsum("fb,fb->b", W, B + residual))
        if not open_.any():
            break
        n_iter += 1
        image = direction + Z.T @ (Z @ direction)
        curvature = np.einsum("fb,fb->b", direction, image)
        step = np.where(open_, np.divide(size, curvature, out=np.zeros_like(size), where=curvature > 0), 0.0)
        W += step * direction
        residual -= step * image
        before, size = size, (residual**2).sum(axis=0)
        direction = residual + np.where(open_, size / np.maximum(before, 1e-300), 0.0) * direction
    found = _certified(Z, R, W)
    return Ridge(found.weights, found.objective, found.gap, n_iter, converged=not open_.any())


def _dense(G: Any) -> FloatArray:
    return np.asarray(G.toarray() if hasattr(G, "toarray") else G)
