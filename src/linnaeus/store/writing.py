"""Arrays into a safetensors file piece by piece: a memory-mapped array is copied without ever being whole in memory.

A safetensors file is the length of its header (8 bytes, little-endian), the header (JSON: type, shape and place of
every array), and the arrays one after the other without gaps. Wide types come first, so that every array is aligned.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from linnaeus.errors import StoreError

__all__ = ["DTYPES", "write_safetensors"]

# Names of types in the header -> numpy's.
DTYPES = {
    "F64": "f8", "F32": "f4", "F16": "f2",
    "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1",
    "U64": "u8", "U32": "u4", "U16": "u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip
_NAMES = {np.dtype(kind): name for name, kind in DTYPES.items()}
_PIECE = 16 * 2**20


def write_safetensors(path: Path, arrays: Mapping[str, Any]) -> tuple[str, int]:
    """Write arrays to a new file, to the disk; returns the file's SHA-256 and its size.

    Examples
    --------
    >>> import tempfile
    >>> from safetensors.numpy import load_file
    >>> path = Path(tempfile.mkdtemp(), "arrays.safetensors")
    >>> digest, size = write_safetensors(path, {"weights": np.arange(3.0), "nodes": np.array([1, 2], np.int32)})
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


def _content(arrays: Mapping[str, Any]) -> Iterator[Any]:
    header: dict[str, Any] = {}
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


def _pieces(array: Any) -> Iterator[Any]:
    """The bytes of an array in C order, little-endian, some rows at a time."""
    array = np.atleast_1d(array)
    row = max(1, array.nbytes // max(1, len(array)))
    rows = max(1, _PIECE // row)
    for a in range(0, len(array), rows):
        piece = np.ascontiguousarray(array[a : a + rows])
        if piece.nbytes:
            yield piece.astype(piece.dtype.newbyteorder("<"), copy=False).reshape(-1).view(np.uint8).data
