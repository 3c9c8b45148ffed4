"""Documents on a device: X (n_docs x n_features) as CSR, parts of it, its transpose, its product with a dense block.

A block of labels looks at few documents, and those have few features. `part` takes just these, so that products and
weights of a block are small; `features` says which ones they are.

The product A W is the one operation that a solver's time goes into: scores with A = X, gradients with A = X'. On CUDA
it is a Triton kernel (`triton_kernels`), on the processor PyTorch's sparse product, which is also the reference. Sums
are in float32, or in float64 where the result is to certify something.
"""

from __future__ import annotations

import warnings
import weakref
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch

from linnaeus.typing import CSR

__all__ = ["SparseRows", "Streamed", "Tensor", "on_device", "product", "reference_product", "squares"]

Tensor = torch.Tensor


@dataclass
class SparseRows:
    """A CSR matrix on a device; int32 columns, float32 values, int64 row pointers."""

    indptr: Tensor
    indices: Tensor
    values: Tensor
    n_columns: int
    _transposed: SparseRows | None = field(default=None, repr=False)
    layout: object = field(default=None, repr=False)  # what the products keep beside it
    # What this is the transpose of. A cycle of references would keep the memory of both until it is collected.
    _origin: weakref.ref[SparseRows] | None = field(default=None, repr=False)

    @property
    def n_rows(self) -> int:
        return len(self.indptr) - 1

    @property
    def device(self) -> torch.device:
        return self.values.device

    @property
    def row_bytes(self) -> int:
        """Bytes that a slice takes, a row: none, it is a view."""
        return 0

    @property
    def T(self) -> SparseRows:
        """The transpose, made on first use and kept."""
        found = None if self._origin is None else self._origin()
        if found is not None:
            return found
        if self._transposed is None:
            order = torch.argsort(self.indices, stable=True)
            rows = torch.repeat_interleave(
                torch.arange(self.n_rows, device=self.device, dtype=torch.int32), self.indptr.diff()
            )
            indptr = torch.zeros(self.n_columns + 1, dtype=torch.int64, device=self.device)
            counts = torch.bincount(self.indices, minlength=self.n_columns)
            torch.cumsum(counts, 0, out=indptr[1:])
            self._transposed = SparseRows(indptr, rows[order], self.values[order], self.n_rows)
            self._transposed._origin = weakref.ref(self)
        return self._transposed

    def rows(self, wanted: Tensor) -> SparseRows:
        """Some rows, in the order given."""
        start, length = self.indptr[wanted], self.indptr.diff()[wanted]
        indptr = torch.zeros(len(wanted) + 1, dtype=torch.int64, device=self.device)
        torch.cumsum(length, 0, out=indptr[1:])
        take = torch.repeat_interleave(start - indptr[:-1], length)
        take += torch.arange(len(take), device=self.device)
        return SparseRows(indptr, self.indices[take], self.values[take], self.n_columns)

    def slice(self, part: slice) -> SparseRows:
        """Consecutive rows, without copying."""
        if part.start == 0 and part.stop >= self.n_rows:
            return self
        first, last = int(self.indptr[part.start]), int(self.indptr[part.stop])
        indptr = self.indptr[part.start : part.stop + 1] - first
        return SparseRows(indptr, self.indices[first:last], self.values[first:last], self.n_columns)

    def part(self, wanted: Tensor) -> tuple[SparseRows, Tensor]:
        """(some rows with the features that occur in them, renumbered; the numbers of these features)."""
        return self.rows(wanted).with_own_features()

    def with_own_features(self) -> tuple[SparseRows, Tensor]:
        """(all rows with the features that occur in them, renumbered; the numbers of these features)."""
        features, place = torch.unique(self.indices, return_inverse=True)
        return SparseRows(self.indptr, place.to(torch.int32), self.values, len(features)), features.to(torch.int64)


def on_device(X: CSR, device: str) -> SparseRows:
    """A SciPy CSR matrix on the device."""
    return SparseRows(
        torch.as_tensor(X.indptr.astype(np.int64), device=device),
        torch.as_tensor(X.indices.astype(np.int32), device=device),
        torch.as_tensor(X.data.astype(np.float32), device=device),
        X.shape[1],
    )


def squares(X: SparseRows) -> SparseRows:
    """The transpose of the squares of X."""
    return SparseRows(X.T.indptr, X.T.indices, X.T.values**2, X.T.n_columns)


class Streamed(Protocol):
    """A matrix that is not on the device and knows its own product (`streamed`)."""

    def times(self, W: Tensor, *, exact: bool = False) -> Tensor: ...


def product(A: SparseRows | Streamed, W: Tensor, *, exact: bool = False, scale: Tensor | None = None) -> Tensor:
    """A W (n_rows x n_columns of W), columns times ``scale``; ``exact`` sums, and gives, in float64."""
    if isinstance(A, SparseRows) and W.is_cuda:
        from linnaeus.models.gpu.triton_kernels import gathered_product

        return gathered_product(A, W, exact=exact, scale=scale)
    found = reference_product(A, W, exact=exact) if isinstance(A, SparseRows) else A.times(W, exact=exact)
    return found if scale is None else found.mul_(scale)


def reference_product(A: SparseRows, W: Tensor, *, exact: bool = False) -> Tensor:
    """The same through the sparse product of PyTorch: cuSPARSE on CUDA."""
    dtype = torch.float64 if exact else torch.float32
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*Sparse CSR tensor support is in beta")
        matrix = torch.sparse_csr_tensor(
            A.indptr, A.indices.long(), A.values.to(dtype), (A.n_rows, A.n_columns), check_invariants=False
        )
        return torch.sparse.mm(matrix, W.to(dtype))
