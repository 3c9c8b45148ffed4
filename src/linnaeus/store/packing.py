"""Sparse matrices in as few bytes as lose nothing: narrow types, where every value is still exactly itself.

    indptr       row lengths in 8, 16 or 32 bits
    indices      16 bits where there are at most 65,536 columns
    data         half precision where all values have it (`prune` of linear models rounds to it)

Very large matrices are kept as they are, so that a loaded model maps them from the file instead of reading them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus.typing import CSR

__all__ = ["pack", "unpack"]

MOST_PACKED = 2**27  # entries; a gigabyte once they are unpacked


def pack(matrix: CSR) -> dict[str, Any]:
    """The arrays of a CSR matrix, narrow.

    Examples
    --------
    >>> from scipy import sparse
    >>> {name: array.dtype.name for name, array in pack(sparse.csr_array(np.eye(2, dtype=np.float32))).items()}
    {'data': 'float16', 'indices': 'uint16', 'lengths': 'uint8'}
    """
    if matrix.nnz > MOST_PACKED:
        return {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    lengths, indices = np.diff(matrix.indptr), matrix.indices
    indices = indices.astype(np.uint16 if matrix.shape[1] <= 2**16 else np.int32)
    return {"data": _half(matrix.data), "indices": indices, "lengths": lengths.astype(_narrowest(lengths))}


def unpack(arrays: dict[str, Any], dtype: str | None, shape: tuple[int, int]) -> CSR:
    """The inverse of `pack`; matrices of the first format say no ``dtype``, theirs is that of the data."""
    from scipy import sparse

    indices, data = arrays["indices"], arrays["data"]
    data = data if dtype is None else data.astype(dtype, copy=False)
    if indices.dtype == np.uint16:
        indices = indices.astype(np.int32)
    indptr = arrays.get("indptr")
    if indptr is None:
        indptr = np.concatenate([[0], np.cumsum(arrays["lengths"], dtype=np.int64)]).astype(np.int32)
    if indices.dtype not in (np.int32, np.int64) or indptr.dtype.kind not in "iu" or data.ndim != 1:
        raise ValueError(f"a sparse array has {indices.dtype} indices and {indptr.dtype} row ends")
    matrix = sparse.csr_array((data, indices, indptr), shape=shape)
    matrix.check_format(full_check=True)  # rows end in order, columns exist
    return matrix


def _narrowest(lengths: Any) -> Any:
    longest = lengths.max(initial=0)
    return np.uint8 if longest < 2**8 else np.uint16 if longest < 2**16 else np.int32


def _half(data: Any) -> Any:
    """The data in half precision, if this is exact."""
    if data.dtype not in (np.float32, np.float64):
        return data
    with np.errstate(over="ignore"):
        half = data.astype(np.float16)
    exact = np.array_equal(half.astype(data.dtype), data)
    return half if exact else data
