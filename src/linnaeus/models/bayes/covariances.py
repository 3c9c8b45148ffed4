"""Full posterior covariances of the leaves, each for itself: Psi_n = (X' Diag(b_n) X + Diag(prec_n))^-1.

b_n is how much the documents bend the (bound on the) loss of leaf n. Where features are correlated the inverse of the
diagonal is far narrower than the diagonal of the inverse: the data then seem to determine features that they do not,
precisions are learned too high, and rare labels suffer. With d features a leaf takes n_docs d^2 + d^3 operations and
d^2 numbers, so this is for some hundred features (`fits`).
"""

from __future__ import annotations

import numpy as np

from linnaeus.models.label_tree import LabelTree
from linnaeus.typing import Engine, FloatArray, Matrix

__all__ = ["fits", "leaf_covariances"]

_FEATURES, _NUMBERS = 300, 10**8
_LEAVES = 8  # to a task, however many threads there are


def fits(tree: LabelTree, n_features: int) -> bool:
    """Whether full covariances of all leaves are little work and memory."""
    return n_features <= _FEATURES and tree.n_leaves * n_features**2 <= _NUMBERS


def leaf_covariances(
    X: Matrix, bend: FloatArray, prior: FloatArray, engine: Engine, *, scores: bool = False
) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """(covariances, their log-determinants, x'Psi_n x if ``scores``); bend n_docs x n_leaves, prior n_leaves x d.

    Examples
    --------
    >>> from linnaeus.engine import SerialEngine
    >>> found = leaf_covariances(np.eye(2), np.array([[1.0], [3.0]]), np.ones((1, 2)), SerialEngine(), scores=True)
    >>> found[0].round(6).tolist(), found[2].round(6).tolist()
    ([[[0.5, 0.0], [0.0, 0.25]]], [[0.5], [0.25]])
    """
    n, d = prior.shape
    covariance, logdet = np.empty((n, d, d)), np.empty(n)
    spread = np.empty(bend.shape) if scores else None
    parts = [slice(i, i + _LEAVES) for i in range(0, n, _LEAVES)]
    tasks = [(bend[:, part], prior[part], scores) for part in parts]
    for part, found in zip(parts, engine.map(_invert, tasks, shared=X), strict=True):
        covariance[part], logdet[part] = found[:2]
        if spread is not None:
            spread[:, part] = found[2]
    return covariance, logdet, spread


def _invert(X: Matrix, task: tuple[FloatArray, FloatArray, bool]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of some leaves."""
    from scipy.linalg import cho_factor, cho_solve, solve_triangular

    bend, prior, scores = task
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    n, d = prior.shape
    covariance, logdet, spread = np.empty((n, d, d)), np.empty(n), np.empty((len(dense) if scores else 0, n))
    for k in range(n):
        A = (dense * bend[:, [k]]).T @ dense
        A[np.diag_indices(d)] += prior[k]
        factor = cho_factor(A, lower=True)
        covariance[k] = cho_solve(factor, np.eye(d))
        logdet[k] = -2 * np.log(np.diag(factor[0])).sum()
        if scores:
            spread[:, k] = (solve_triangular(factor[0], dense.T, lower=True) ** 2).sum(axis=0)
    return covariance, logdet, spread
