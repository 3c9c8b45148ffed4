"""The product of sparse rows and a dense block, A W: the one operation that a solver's time goes into.

Forward it gives scores (A = X), transposed gradients (A = X'). On CUDA it is a Triton kernel (`triton_products`), on
the processor PyTorch's sparse product, which is also the reference. Sums are in float32, or in float64 where the
result is to certify something.
"""

from __future__ import annotations

import warnings
from typing import Protocol

import torch

from linnaeus.models.gpu.documents import SparseRows, Tensor

__all__ = ["Streamed", "product", "reference_product"]


class Streamed(Protocol):
    """A matrix that is not on the device and knows its own product (`streamed`)."""

    def times(self, W: Tensor, *, exact: bool = False) -> Tensor: ...


def product(A: SparseRows | Streamed, W: Tensor, *, exact: bool = False) -> Tensor:
    """A W (n_rows x n_columns of W); ``exact`` sums, and gives, in float64."""
    if not isinstance(A, SparseRows):
        return A.times(W, exact=exact)
    if W.is_cuda:
        from linnaeus.models.gpu.triton_products import gathered_product

        return gathered_product(A, W, exact=exact)
    return reference_product(A, W, exact=exact)


def reference_product(A: SparseRows, W: Tensor, *, exact: bool = False) -> Tensor:
    """The same through the sparse product of PyTorch: cuSPARSE on CUDA."""
    dtype = torch.float64 if exact else torch.float32
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*Sparse CSR tensor support is in beta")
        matrix = torch.sparse_csr_tensor(
            A.indptr, A.indices.long(), A.values.to(dtype), (A.n_rows, A.n_columns), check_invariants=False
        )
        return torch.sparse.mm(matrix, W.to(dtype))
