"""Kernels on documents: K(x, z) = <phi(x), phi(z)> without phi, for models that see documents only through it.

    linear        x'z
    rbf           exp(-gamma |x - z|^2)
    poly          (gamma x'z + coef0)^degree
    precomputed   the caller's own: X is the Gram block, documents x training documents

``normalise=True`` divides by sqrt(K(x, x) K(z, z)); a document of norm 0 keeps zeros. A kernel that takes something
from the training documents (a gamma of "scale", the width of the Gram matrix) is fixed by `fitted` and is then a plain
value again, which is stored with the model. Any object with the methods of `linnaeus.typing.Kernel` will do.

A training Gram matrix must be symmetric and positive semi-definite (`check_gram`): otherwise the dual problems are not
concave, and no gap certifies anything.

The documents of such models are vectors, rows of a Gram matrix, or whatever the kernel prepares.

A model adds the parameter ``kernel`` to its constructor; the checks of its input are here, which also set ``kernel_``,
the kernel with everything fixed that it takes from the training documents. Vectors and Gram blocks are validated as
those of every model; documents of any other kind, such as sequences, by the kernel alone. `LinearOrKernel` is for
models that have weights of features with the linear kernel, and coefficients of documents with every other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from linnaeus.data.matrices import is_sparse
from linnaeus.errors import DataError, ParameterError, check_choice, check_number, nearest
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.models.explaining import NodeExplanation
from linnaeus.models.linear import MOST_BEST, LinearTaxonomyClassifier
from linnaeus.typing import FloatArray, IntArray, Kernel, Matrix

__all__ = [
    "RBF",
    "GramRows",
    "KernelInput",
    "Linear",
    "LinearOrKernel",
    "Polynomial",
    "Precomputed",
    "check_gram",
    "fitted",
    "kept_documents",
    "kernel_of",
    "normalise_gram",
    "row_products",
]

_WHOLE = 5000  # documents; above it the least eigenvalue comes from the Lanczos method


@dataclass(frozen=True)
class _VectorKernel(ABC):
    """What kernels on vectors share: documents are rows of a CSR or dense matrix."""

    normalise: bool = False

    def prepare(self, X: object) -> Matrix:
        """X as CSR or as a dense array of floats, n_docs x n_features."""
        if hasattr(X, "tocsr"):
            return X.tocsr()
        X = np.asarray(X)
        X = X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
        if X.ndim != 2:
            raise DataError(f"Documents have {X.ndim} dimension(s), expected 2: documents x features.")
        return X

    def __call__(self, A: Matrix, B: Matrix) -> FloatArray:
        """The Gram block, len(A) x len(B), in float64."""
        K = self._values(A, B)
        return normalise_gram(K, self._diagonal(A), self._diagonal(B)) if self.normalise else K

    def diagonal(self, A: Matrix) -> FloatArray:
        """K(x, x) of every row of A."""
        own = self._diagonal(A)
        return (own > 0).astype(np.float64) if self.normalise else own

    @abstractmethod
    def _values(self, A: Matrix, B: Matrix) -> FloatArray: ...

    @abstractmethod
    def _diagonal(self, A: Matrix) -> FloatArray: ...

    def to_dict(self) -> dict[str, object]:
        """Parameters as plain values."""
        return asdict(self)


@dataclass(frozen=True)
class Linear(_VectorKernel):
    """K(x, z) = x'z.

    Examples
    --------
    >>> Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0], [0.0, 0.0]])).tolist()
    [[5.0, 0.0]]
    >>> Linear(normalise=True).diagonal(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [1.0, 0.0]
    """

    def _values(self, A: Matrix, B: Matrix) -> FloatArray:
        return _products(A, B)

    def _diagonal(self, A: Matrix) -> FloatArray:
        return _squared_norms(A)


@dataclass(frozen=True)
class RBF(_VectorKernel):
    """K(x, z) = exp(-gamma |x - z|^2); gamma "scale" is 1 / (n_features * variance) of the training documents.

    Examples
    --------
    >>> RBF(gamma=0.5)(np.array([[0.0]]), np.array([[0.0], [2.0]])).round(3).tolist()
    [[1.0, 0.135]]
    >>> fitted(RBF(), np.array([[0.0, 2.0], [2.0, 0.0]])).gamma
    0.5
    """

    gamma: float | str = "scale"

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)

    def fixed(self, A: Matrix) -> RBF:
        """This kernel with the gamma that the training documents ask for."""
        return replace(self, gamma=_gamma(self.gamma, A))

    def _values(self, A: Matrix, B: Matrix) -> FloatArray:
        K = _products(A, B)
        K *= -2.0
        K += _squared_norms(A)[:, None]
        K += _squared_norms(B)
        np.maximum(K, 0.0, out=K)
        K *= -_gamma(self.gamma, None)
        return np.exp(K, out=K)

    def _diagonal(self, A: Matrix) -> FloatArray:
        return np.ones(A.shape[0])


@dataclass(frozen=True)
class Polynomial(_VectorKernel):
    """K(x, z) = (gamma x'z + coef0)^degree; gamma "scale" as in `RBF`.

    Examples
    --------
    >>> Polynomial(degree=2, gamma=1.0, coef0=1.0)(np.array([[1.0]]), np.array([[2.0]])).tolist()
    [[9.0]]
    """

    degree: int = 3
    coef0: float = 1.0
    gamma: float | str = "scale"

    def __post_init__(self) -> None:
        _check_gamma(self.gamma)
        check_number("degree", self.degree, least=1, whole=True)
        check_number("coef0", self.coef0, least=0)  # below 0 the kernel need not be positive semi-definite

    def fixed(self, A: Matrix) -> Polynomial:
        """This kernel with the gamma that the training documents ask for."""
        return replace(self, gamma=_gamma(self.gamma, A))

    def _values(self, A: Matrix, B: Matrix) -> FloatArray:
        return (_gamma(self.gamma, None) * _products(A, B) + self.coef0) ** self.degree

    def _diagonal(self, A: Matrix) -> FloatArray:
        return (_gamma(self.gamma, None) * _squared_norms(A) + self.coef0) ** self.degree


@dataclass(frozen=True)
class Precomputed:
    """X is the Gram block itself: one row per document, one column per training document.

    Fitting takes the whole Gram matrix, which must be symmetric and positive semi-definite. `normalise_gram` normalises
    a block where both diagonals are known.

    Parameters
    ----------
    n_docs : int, default=None
        Training documents, the width of every block; known after `fitted`.
    psd : str, default="error"
        "error" refuses a Gram matrix that is not positive semi-definite, "clip" sets its negative eigenvalues to 0 for
        training, "shift" adds the least one to its diagonal; scores of new documents are approximate then.

    Examples
    --------
    >>> K = Precomputed()
    >>> A = K.prepare([[1.0, 0.5], [0.5, 1.0]])
    >>> K(A[:1], A[[1]]).tolist(), K.diagonal(A).tolist()
    ([[0.5]], [1.0, 1.0])
    """

    n_docs: int | None = None
    psd: str = "error"

    def __post_init__(self) -> None:
        check_choice("psd", self.psd, ("error", "clip", "shift"))

    def prepare(self, X: object) -> GramRows:
        """X as rows of a Gram matrix, numbered as they come."""
        block = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if block.ndim != 2:
            raise DataError(
                f"The Gram block has {block.ndim} dimension(s), expected 2: documents x training documents."
            )
        if self.n_docs is not None and block.shape[1] != self.n_docs:
            raise DataError(
                f"The Gram block has {block.shape[1]} columns, expected {self.n_docs}: one for each training document."
            )
        if not np.isfinite(block).all():
            bad = int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
            raise DataError(f"Row {bad} of the Gram block holds NaN or infinity.")
        return GramRows(block, np.arange(len(block)))

    def fixed(self, A: GramRows) -> Precomputed:
        """This kernel bound to a training Gram matrix, which is validated (and repaired, if asked) here."""
        A.block = check_gram(A.block, self.psd)
        return replace(self, n_docs=A.block.shape[1])

    def __call__(self, A: GramRows, B: GramRows) -> FloatArray:
        """The columns of B's documents in the rows of A."""
        return A.block[:, B.numbers]

    def diagonal(self, A: GramRows) -> FloatArray:
        """K(x, x) of training documents."""
        return A.block[np.arange(len(A.block)), A.numbers]

    def to_dict(self) -> dict[str, object]:
        """Parameters as plain values."""
        return asdict(self)


_NAMED: dict[str, Callable[[], Kernel]] = {"linear": Linear, "rbf": RBF, "poly": Polynomial, "precomputed": Precomputed}


def kernel_of(kernel: str | Kernel) -> Kernel:
    """A kernel given by name or as an object.

    Examples
    --------
    >>> kernel_of("linear")
    Linear(normalise=False)
    >>> kernel_of("rbff")
    Traceback (most recent call last):
    linnaeus.errors.ParameterError: kernel='rbff'; expected one of linear, rbf, poly, precomputed; did you mean 'rbf'?
    """
    if isinstance(kernel, str):
        if kernel not in _NAMED:
            hint = nearest(kernel, _NAMED)
            raise ParameterError(f"kernel={kernel!r}; expected one of {', '.join(_NAMED)}{hint}")
        made: Kernel = _NAMED[kernel]()
        return made
    if not callable(kernel) or not hasattr(kernel, "prepare") or not hasattr(kernel, "diagonal"):
        raise ParameterError(
            f"kernel is a {type(kernel).__name__}; expected a name or an object with prepare, diagonal and a call."
        )
    return kernel


def fitted(kernel: Kernel, A: Any) -> Kernel:
    """The kernel with everything fixed that it takes from the (prepared) training documents."""
    fixed = getattr(kernel, "fixed", None)
    found: Kernel = kernel if fixed is None else fixed(A)
    return found


def kept_documents(A: Any, rows: IntArray) -> Any:
    """Training documents that a model keeps, as the right-hand side of a kernel only; a Gram row shrinks to its number.

    Examples
    --------
    >>> kept_documents(Precomputed().prepare(np.eye(3)), np.array([2])).numbers.tolist()
    [2]
    """
    kept = A[rows]
    return kept.columns_only() if hasattr(kept, "columns_only") else kept


def normalise_gram(K: FloatArray, rows: FloatArray, columns: FloatArray) -> FloatArray:
    """K(x, z) / sqrt(K(x, x) K(z, z)), given the two diagonals; zeros where a norm is 0.

    Examples
    --------
    >>> normalise_gram(np.array([[6.0, 1.0]]), np.array([4.0]), np.array([9.0, 0.0])).tolist()
    [[1.0, 0.0]]
    """
    return K * _inverse_norms(rows)[:, None] * _inverse_norms(columns)


def _inverse_norms(diagonal: FloatArray) -> FloatArray:
    norms = np.sqrt(np.maximum(diagonal, 0.0))
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)


def _products(A: Matrix, B: Matrix) -> FloatArray:
    K = A @ B.T
    return np.asarray(K.toarray() if hasattr(K, "toarray") else K, dtype=np.float64)


def _squared_norms(A: Matrix) -> FloatArray:
    if is_sparse(A):
        squares = A.astype(np.float64)
        squares.data **= 2
        return np.asarray(squares.sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", A, A, dtype=np.float64)


def _check_gamma(gamma: float | str) -> None:
    if gamma != "scale":
        check_number("gamma", gamma, above=0)


def _gamma(gamma: float | str, A: Matrix | None) -> float:
    if not isinstance(gamma, str):
        return float(gamma)
    if A is None:
        raise ParameterError("gamma='scale' is taken from training documents; use `fitted` first, or give a number.")
    size = max(1, A.shape[0] * A.shape[1])
    variance = _squared_norms(A).sum() / size - (float(A.sum(dtype=np.float64)) / size) ** 2
    return float(1.0 / (A.shape[1] * variance)) if variance > 0 else 1.0


# -- Gram matrices -----------------------------------------------------------------------------------------------------


class GramRows:
    """Documents as rows of a Gram matrix: ``block`` (n_docs x training documents), ``numbers`` their own columns."""

    def __init__(self, block: FloatArray, numbers: IntArray) -> None:
        self.block, self.numbers = block, numbers

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.numbers), int(self.block.shape[1])

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: slice | IntArray) -> GramRows:
        return GramRows(self.block[rows], self.numbers[rows])

    def columns_only(self) -> GramRows:
        """The same documents without their rows: all that the right-hand side of a kernel needs."""
        return GramRows(np.empty((len(self.numbers), 0)), self.numbers)

    def state(self) -> list[object]:
        """What makes it again, for model files."""
        return [self.numbers]

    @classmethod
    def from_state(cls, numbers: IntArray) -> GramRows:
        return cls(np.empty((len(numbers), 0)), np.asarray(numbers))


def check_gram(K: FloatArray, psd: str = "error") -> FloatArray:
    """K, unless it is not square, symmetric and positive semi-definite; where ``psd`` says so, a repaired copy.

    Examples
    --------
    >>> check_gram(np.array([[1.0, 1.2], [1.2, 1.0]]))
    Traceback (most recent call last):
    linnaeus.errors.DataError: The Gram matrix is not positive semi-definite: its least eigenvalue is -0.2; fix the \
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
            f"The Gram matrix is not positive semi-definite: its least eigenvalue is {least:.3g}; fix the kernel, "
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
        if self._linear and is_sparse(X) and k <= MOST_BEST and not self.ranks_by_probability:
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
