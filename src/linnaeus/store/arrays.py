"""Arrays of a model: a safetensors file, written piece by piece and read memory-mapped; sparse matrices narrowed.

A safetensors file is the length of its header (8 bytes, little-endian), the header (JSON: type, shape and place of
every array), and the arrays one after the other without gaps. Wide types come first, so that every array is aligned. A
memory-mapped array is copied to it without ever being whole in memory.

Sparse matrices are written in as few bytes as lose nothing (`pack`):

    indptr       row lengths in 8, 16 or 32 bits
    indices      16 bits where there are at most 65,536 columns
    data         half precision where all values have it (`prune` of linear models rounds to it)

Very large matrices are kept as they are, so that a loaded model maps them from the file instead of reading them.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypedDict

import numpy as np

from linnaeus.errors import StoreError
from linnaeus.typing import CSR, Array, IntArray

__all__ = ["DAMAGED", "map_arrays", "pack", "unpack", "write_arrays"]

# What Python and NumPy raise where values are not what they should be.
DAMAGED = (
    LookupError,
    TypeError,
    AttributeError,
    ValueError,
    ArithmeticError,
    StopIteration,
    RecursionError,
    MemoryError,
)
MAX_PACKED = 2**27  # entries; a gigabyte after unpacking
# Names of types in the header -> numpy's.
DTYPES = {
    "F64": "f8", "F32": "f4", "F16": "f2",
    "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1",
    "U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in DTYPES.items()}
_PIECE = 16 * 2**20


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> tuple[str, int]:
    """Write arrays to a new file, to the disk; returns the file's SHA-256 and its size.

    Examples
    --------
    >>> import tempfile
    >>> from safetensors.numpy import load_file
    >>> path = Path(tempfile.mkdtemp(), "arrays.safetensors")
    >>> digest, size = write_arrays(path, {"weights": np.arange(3.0), "nodes": np.array([1, 2], np.int32)})
    >>> load_file(path)["weights"].tolist(), size == path.stat().st_size
    ([0.0, 1.0, 2.0], True)
    """
    state, size = hashlib.sha256(), 0
    with open(path, "xb") as file:
        for piece in _content(arrays):
            file.write(piece)
            state.update(piece)
            size += len(piece)
        file.flush()
        os.fsync(file.fileno())
    return state.hexdigest(), size


def _content(arrays: Mapping[str, Array]) -> Iterator[bytes | memoryview]:
    header: dict[str, dict[str, object]] = {}
    offset = 0
    ordered = sorted(arrays, key=lambda key: (-arrays[key].dtype.itemsize, key))
    for key in ordered:
        array = arrays[key]
        kind = _NAMES.get(array.dtype.newbyteorder("="))
        if kind is None:
            raise StoreError(f"An array of type {array.dtype} cannot be saved (as {key!r}).")
        header[key] = {"dtype": kind, "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    yield len(text).to_bytes(8, "little")
    yield text
    for key in ordered:
        yield from _pieces(arrays[key])


def _pieces(array: Array) -> Iterator[bytes | memoryview]:
    """The bytes of an array in C order, little-endian, some rows at a time."""
    array = np.atleast_1d(array)
    row = max(1, array.nbytes // max(1, len(array)))
    rows = max(1, _PIECE // row)
    for a in range(0, len(array), rows):
        piece = np.ascontiguousarray(array[a : a + rows])
        if piece.nbytes:
            yield piece.astype(piece.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8).data


def map_arrays(path: Path) -> dict[str, Array]:
    """Arrays of a safetensors file as read-only views of the mapped file: length (8 bytes), JSON header, data."""
    try:
        mapped = np.memmap(path, dtype=np.uint8, mode="r")
        start = 8 + int.from_bytes(mapped[:8].tobytes(), "little")
        if start > len(mapped):
            raise ValueError("the header is longer than the file")
        header = json.loads(mapped[8:start].tobytes())
        return {key: _mapped(mapped[start:], entry) for key, entry in header.items() if key != "__metadata__"}
    except DAMAGED as error:
        raise StoreError(f"{path} is not a safetensors file written by linnaeus: {error}.") from error


class ArrayEntry(TypedDict):
    """An array in the header of a safetensors file."""

    dtype: str
    shape: list[int]
    data_offsets: list[int]


def _mapped(content: Array, entry: ArrayEntry) -> Array:
    """One array of the file at the place in its header; aligned, as kernels expect it."""
    dtype, shape, (start, stop) = np.dtype(DTYPES[entry["dtype"]]), entry["shape"], entry["data_offsets"]
    sizes = [*shape, start, stop]
    if not all(isinstance(size, int) and not isinstance(size, bool) and size >= 0 for size in sizes):
        raise ValueError(f"shape {shape} and place {start, stop} are not integers")
    if not start <= stop <= len(content) or stop - start != dtype.itemsize * math.prod(shape):
        raise ValueError(f"an array of shape {shape} does not lie at {start} .. {stop}")
    if dtype.kind == "b" and stop > start and int(content[start:stop].max()) > 1:
        raise ValueError("truth values are not 0 or 1")
    array = np.frombuffer(content[start:stop], dtype).reshape(shape)
    return array if array.flags.aligned else array.copy()


def pack(matrix: CSR) -> dict[str, Array]:
    """The arrays of a CSR matrix, narrow.

    Examples
    --------
    >>> from scipy import sparse
    >>> {name: array.dtype.name for name, array in pack(sparse.csr_array(np.eye(2, dtype=np.float32))).items()}
    {'data': 'float16', 'indices': 'uint16', 'lengths': 'uint8'}
    """
    if matrix.nnz > MAX_PACKED:
        return {"data": matrix.data, "indices": matrix.indices, "indptr": matrix.indptr}
    lengths, indices = np.diff(matrix.indptr), matrix.indices
    indices = indices.astype(np.uint16 if matrix.shape[1] <= 2**16 else np.int32)
    return {"data": _half(matrix.data), "indices": indices, "lengths": lengths.astype(_narrowest(lengths))}


def unpack(arrays: Mapping[str, Array], dtype: str | None, shape: tuple[int, int]) -> CSR:
    """The inverse of `pack`; matrices of the first format have no ``dtype``, theirs is that of the data."""
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


def _narrowest(lengths: IntArray) -> type[np.uint8] | type[np.uint16] | type[np.int32]:
    longest = lengths.max(initial=0)
    return np.uint8 if longest < 2**8 else np.uint16 if longest < 2**16 else np.int32


def _half(data: Array) -> Array:
    """The data in half precision, if this is exact."""
    if data.dtype not in (np.float32, np.float64):
        return data
    with np.errstate(over="ignore"):
        half = data.astype(np.float16)
    exact = np.array_equal(half.astype(data.dtype), data)
    return half if exact else data
