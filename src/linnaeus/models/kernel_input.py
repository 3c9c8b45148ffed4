"""Documents of models that take a kernel: vectors, rows of a Gram matrix, or whatever the kernel prepares.

A model adds the parameter ``kernel`` to its constructor; the checks of its input are here, which also set ``kernel_``,
the kernel with everything fixed that it takes from the training documents. Vectors and Gram blocks are validated as
those of every model; documents of any other kind, such as sequences, by the kernel alone. `LinearOrKernel` is for
models that have weights of features with the linear kernel, and coefficients of documents with every other.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from linnaeus.errors import DataError
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.explaining import NodeExplanation
from linnaeus.models.kernels import RBF, Linear, Polynomial, Precomputed, fitted, kernel_of
from linnaeus.models.linear import MOST_BEST, LinearTaxonomyClassifier
from linnaeus.typing import FloatArray, IntArray, Kernel, Matrix, is_sparse

__all__ = ["KernelInput", "LinearOrKernel", "row_products"]

_LARGEST = 1e100  # of kernel values: learners square them and add them up
_MATRIX_KERNELS = (Linear, RBF, Polynomial, Precomputed)


class KernelInput(TaxonomyClassifier):
    """Mixin; see the module docstring."""

    kernel: str | Kernel
    kernel_: Kernel

    def _check_parameters(self) -> None:
        super()._check_parameters()
        kernel_of(self.kernel)

    def _check_X(self, X: object, *, reset: bool) -> Any:
        kernel = kernel_of(self.kernel) if reset else self.kernel_
        checked = super()._check_X(X, reset=reset) if isinstance(kernel, _MATRIX_KERNELS) else X
        prepared = kernel.prepare(checked)
        if not prepared.shape[0]:
            raise DataError("X has no documents; expected at least one row.")
        if reset:
            self.kernel_ = fitted(kernel, prepared)
        if isinstance(kernel, Polynomial):
            largest = float(self.kernel_.diagonal(prepared).max())
            if not largest <= _LARGEST:
                raise DataError(f"Kernel values reach {largest:g}, expected up to {_LARGEST:g}; scale the features.")
        return prepared

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(kernel_of(self.kernel), Precomputed)
        return tags


class LinearOrKernel(KernelInput, LinearTaxonomyClassifier):
    """Mixin; see the module docstring."""

    n_jobs: int | None

    @property
    def _linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear"

    def _best_of(self, X: Matrix, k: int) -> tuple[IntArray, FloatArray]:
        if self._linear and is_sparse(X) and k <= MOST_BEST:
            return self._linear_scorer().top(X, k, self.n_jobs)
        return TaxonomyClassifier._best_of(self, X, k)

    def explain(self, x: object, node: str | None = None, k: int | None = None) -> list[NodeExplanation]:
        """Exact contributions of the features of one document to the scored nodes of a path; for kernel="linear"."""
        self._refuse_kernel("explanations: its scores are not sums over features")
        return super().explain(x, node, k)

    def prune(self, *args: Any, **kwargs: Any) -> Self:
        """As for other linear models, for kernel="linear"; a pruned online model cannot be trained further."""
        self._refuse_kernel("weights of features to prune")
        super().prune(*args, **kwargs)
        return self

    def _refuse_kernel(self, what: str) -> None:
        if not self._linear:
            raise DataError(f"{type(self).__name__} with kernel={self.kernel!r} has no {what}.")


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
