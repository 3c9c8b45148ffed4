"""Gram matrices that callers bring: rows with the numbers of their documents, and their validation.

A training Gram matrix must be symmetric and positive semi-definite: otherwise the dual problems are not concave, and
no gap certifies anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.errors import DataError
from linnaeus.typing import FloatArray, IntArray

__all__ = ["GramRows", "check_gram"]

_WHOLE = 5000  # above it the least eigenvalue comes from Lanczos' method


class GramRows:
    """Documents as rows of a Gram matrix: ``block`` (n_docs x training documents), ``numbers`` their own columns."""

    def __init__(self, block: FloatArray, numbers: IntArray) -> None:
        self.block, self.numbers = block, numbers

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.numbers), int(self.block.shape[1])

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: Any) -> GramRows:
        return GramRows(self.block[rows], self.numbers[rows])

    def columns_only(self) -> GramRows:
        """The same documents without their rows: all that the right-hand side of a kernel needs."""
        return GramRows(np.empty((len(self.numbers), 0)), self.numbers)

    def state(self) -> list[Any]:
        """What makes it again, for model files."""
        return [self.numbers]

    @classmethod
    def from_state(cls, numbers: IntArray) -> GramRows:
        return cls(np.empty((len(numbers), 0)), np.asarray(numbers))


def check_gram(K: FloatArray, psd: str = "error") -> FloatArray:
    """K, unless it is not square, symmetric and positive semi-definite; where ``psd`` says so, a mended copy.

    Examples
    --------
    >>> check_gram(np.array([[1.0, 1.2], [1.2, 1.0]]))
    Traceback (most recent call last):
    linnaeus.errors.DataError: The Gram matrix is not positive semi-definite: its least eigenvalue is -0.2; mend the \
kernel, or take Precomputed(psd="clip") or "shift".
    """
    if K.shape[0] != K.shape[1]:
        raise DataError(f"The Gram matrix of the training documents is {K.shape[0]} x {K.shape[1]}, expected square.")
    largest = float(np.abs(K).max(initial=0.0))
    apart = float(np.abs(K - K.T).max(initial=0.0))
    if apart > 1e-6 * largest:
        raise DataError(
            f"The Gram matrix is not symmetric: entries differ by {apart:.3g}, the largest is {largest:.3g}."
        )
    if apart:
        K = (K + K.T) * 0.5
    least = _least_eigenvalue(K)
    if least >= -1e-8 * max(float(np.trace(K)), largest):
        return K
    if psd == "error":
        raise DataError(
            f"The Gram matrix is not positive semi-definite: its least eigenvalue is {least:.3g}; mend the kernel, "
            'or take Precomputed(psd="clip") or "shift".'
        )
    if psd == "shift":
        return K - least * np.eye(len(K))
    values, vectors = np.linalg.eigh(K)
    vectors *= np.sqrt(np.maximum(values, 0.0))
    return vectors @ vectors.T


def _least_eigenvalue(K: FloatArray) -> float:
    """0 where a Cholesky factor shows that there is none below it, give or take rounding."""
    n = len(K)
    if not n:
        return 0.0
    if n <= _WHOLE:
        from scipy.linalg import LinAlgError, cholesky

        shifted = K.copy()
        shifted[np.diag_indices(n)] += 1e-9 * max(float(np.trace(K)), float(np.abs(K).max(initial=0.0))) + 1e-300
        try:
            cholesky(shifted, lower=True, overwrite_a=True, check_finite=False)
        except LinAlgError:
            return float(np.linalg.eigvalsh(K)[0])
        return 0.0
    from scipy.sparse.linalg import eigsh

    return float(eigsh(K, k=1, which="SA", tol=1e-3, return_eigenvectors=False)[0])
