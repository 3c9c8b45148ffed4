"""Documents of models that take a kernel: vectors, rows of a Gram matrix, or whatever the kernel prepares.

A model adds the parameter ``kernel`` to its constructor and sets ``kernel_`` (see `linnaeus.models.kernels.fitted`)
when it is fitted; the checks of its input are here. Vectors and Gram blocks are doubted as those of every model;
documents of any other kind, such as sequences, by the kernel alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.errors import DataError
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.kernels import RBF, Linear, Polynomial, Precomputed, kernel_of
from linnaeus.typing import FloatArray, Kernel

__all__ = ["KernelInput", "row_products"]

_MATRIX_KERNELS = (Linear, RBF, Polynomial, Precomputed)


class KernelInput(TaxonomyClassifier):
    """Mixin; see the module docstring."""

    kernel: str | Kernel
    kernel_: Kernel

    def _check_parameters(self) -> None:
        super()._check_parameters()
        kernel_of(self.kernel)

    def _check_X(self, X: Any, *, reset: bool) -> Any:
        kernel = kernel_of(self.kernel) if reset else self.kernel_
        if not isinstance(kernel, _MATRIX_KERNELS):
            return kernel.prepare(X)
        X = super()._check_X(X, reset=reset)
        if isinstance(kernel, Precomputed) and reset and X.shape[0] != X.shape[1]:
            raise DataError(f"kernel='precomputed' takes a square Gram matrix in fit; got {X.shape[0]} x {X.shape[1]}.")
        return kernel.prepare(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(kernel_of(self.kernel), Precomputed)
        return tags


def row_products(K: FloatArray, coefficients: Any) -> FloatArray:
    """K @ coefficients, where the row of a document does not depend, to the last bit, on the others of the batch.

    ``coefficients`` is a CSR array. A product of dense matrices sums in blocks that depend on their number of rows.

    Examples
    --------
    >>> from scipy import sparse
    >>> row_products(np.array([[1.0, 2.0]]), sparse.csr_array([[1.0, 0.0], [0.0, 3.0]])).tolist()
    [[1.0, 6.0]]
    """
    return np.ascontiguousarray((coefficients.T @ np.ascontiguousarray(K.T)).T)
