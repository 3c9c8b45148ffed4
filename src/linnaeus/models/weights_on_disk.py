"""Weights that come block by block of columns and need not fit into memory: W (n_features x n_columns) from its blocks.

Three places for the blocks, with one interface, ``put(number, weights)`` and ``whole(numbers)``:

    InMemory      dense, written into one array
    InMemory      with ``prune_below``: every block sparse, stacked in the end
    OnDisk        blocks in a `Checkpoint`; the whole is a file, written some features at a time and memory-mapped

The file has the layout that scoring wants, rows of W one after the other (for a sparse W its CSR arrays): a document
touches the rows of its features and nothing else, so scoring needs no more memory than the rows it reads.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from linnaeus.engine.limits import rows_that_fit
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.taxonomy.closure import pointers
from linnaeus.typing import CSR, Array, FloatArray, IntArray, Matrix, is_sparse

__all__ = ["MERGE_BYTES", "InMemory", "OnDisk", "block_arrays", "block_weights", "pruned"]

_Write = Callable[[str, Array], None]
_Map = Callable[[str, npt.DTypeLike, tuple[int, ...]], Array]
MERGE_BYTES = 64 * 2**20  # what merging blocks on disk may hold at a time


def pruned(weights: FloatArray, below: float) -> Matrix:
    """A block as it is kept: dense, or CSR without the weights smaller than ``below`` in size.

    Examples
    --------
    >>> pruned(np.array([[0.5, 0.01], [0.0, -0.3]]), 0.1).toarray().tolist()
    [[0.5, 0.0], [0.0, -0.3]]
    """
    from scipy import sparse

    return sparse.csr_array(np.where(np.abs(weights) < below, 0, weights)) if below > 0 else weights


def block_arrays(weights: Matrix) -> dict[str, Array]:
    """A block, dense or CSR, as named arrays."""
    if not is_sparse(weights):
        return {"weights": weights}
    return {"data": weights.data, "indices": weights.indices, "indptr": weights.indptr}


def block_weights(arrays: Mapping[str, Array], n_columns: int) -> Matrix:
    """The inverse of `block_arrays`."""
    from scipy import sparse

    if "weights" in arrays:
        return arrays["weights"]
    parts = arrays["data"], arrays["indices"], arrays["indptr"]
    return sparse.csr_array(parts, shape=(len(arrays["indptr"]) - 1, n_columns))


class InMemory:
    """Blocks in memory, ``parts[number]`` being the columns of a block.

    Examples
    --------
    >>> W = InMemory(2, [slice(0, 2), slice(2, 3)], np.float32)
    >>> W.put(1, np.ones((2, 1)))
    >>> W.put(0, np.zeros((2, 2)))
    >>> W.whole([0, 1]).tolist()
    [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    """

    def __init__(self, n_features: int, parts: Sequence[slice], dtype: npt.DTypeLike, *, sparse: bool = False) -> None:
        self.parts = parts
        self._sparse: dict[int, CSR] = {}
        n_columns = max((part.stop for part in parts), default=0)
        self._dense: FloatArray | None = None if sparse else np.zeros((n_features, n_columns), dtype)

    def put(self, number: int, weights: Matrix) -> None:
        if self._dense is not None:
            self._dense[:, self.parts[number]] = weights.toarray() if is_sparse(weights) else weights
        elif is_sparse(weights):
            self._sparse[number] = weights

    def whole(self, numbers: Sequence[int]) -> Matrix:
        """W of the blocks given, in their order."""
        if self._dense is None:
            from scipy import sparse

            return sparse.csr_array(sparse.hstack([self._sparse[i] for i in numbers], format="csr"))
        if list(numbers) == list(range(len(self.parts))):
            return self._dense
        return self._dense[:, np.concatenate([np.r_[self.parts[i]] for i in numbers])]


class OnDisk:
    """Blocks under the keys of a checkpoint, where they were put as `block_arrays`; ``key(number)`` names them.

    Examples
    --------
    >>> import tempfile
    >>> with Checkpoint(tempfile.mkdtemp(), {}) as store:
    ...     store.put("0", block_arrays(np.zeros((2, 2))))
    ...     store.put("1", block_arrays(np.ones((2, 1))))
    ...     W = OnDisk(store, str, [slice(0, 2), slice(2, 3)]).whole([0, 1])
    >>> W.tolist(), W.flags.writeable
    ([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]], False)
    """

    def __init__(
        self, store: Checkpoint, key: Callable[[int], str], parts: Sequence[slice], *, budget: int = MERGE_BYTES
    ) -> None:
        self.store, self.key, self.parts, self.budget = store, key, parts, budget

    def put(self, number: int, weights: Matrix) -> None:
        """Nothing: the block is in the store already."""

    def whole(self, numbers: Sequence[int]) -> Matrix:
        """W of the blocks given, memory-mapped from a file that vanishes with it."""
        found = [self.store.get(self.key(i), verify=False) for i in numbers]
        if "weights" in found[0]:
            return self._merge_dense([arrays["weights"] for arrays in found])
        widths = [self.parts[i].stop - self.parts[i].start for i in numbers]
        blocks = (block_weights(*pair) for pair in zip(found, widths, strict=True))
        return self._merge_sparse([block for block in blocks if is_sparse(block)])

    def _merge_dense(self, found: list[FloatArray]) -> FloatArray:
        n_features, dtype = found[0].shape[0], found[0].dtype
        n_columns = sum(block.shape[1] for block in found)
        rows = rows_that_fit(2 * dtype.itemsize * max(1, n_columns), self.budget)
        with _growing(self.store.folder) as (write, mapped):
            for a in range(0, n_features, rows):
                write("W", np.hstack([block[a : a + rows] for block in found]))
            return mapped("W", dtype, (n_features, n_columns))

    def _merge_sparse(self, found: list[CSR]) -> CSR:
        from scipy import sparse

        n_features, n_columns = found[0].shape[0], sum(block.shape[1] for block in found)
        counts = np.zeros(n_features, np.int64)
        for block in found:
            counts += np.diff(block.indptr)
        n_kept = int(counts.sum())
        # SciPy keeps both index arrays in one type and would copy the larger to change it.
        index = np.dtype(np.int32 if max(n_kept, n_columns) < 2**31 else np.int64)
        dtype = found[0].data.dtype
        with _growing(self.store.folder) as (write, mapped):
            for a, b in _row_ranges(counts, self.budget // (4 * (dtype.itemsize + index.itemsize))):
                rows = sparse.hstack([block[a:b] for block in found], format="csr")
                write("data", rows.data)
                write("indices", rows.indices.astype(index, copy=False))
            indptr = pointers(counts).astype(index)
            parts = mapped("data", dtype, (n_kept,)), mapped("indices", index, (n_kept,)), indptr
            return sparse.csr_array(parts, shape=(n_features, n_columns))


def _row_ranges(counts: IntArray, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows with at most ``most`` entries each, or of one row."""
    ends = np.cumsum(counts)
    a, before = 0, 0
    while a < len(counts):
        b = max(a + 1, int(np.searchsorted(ends, before + max(1, most), side="right")))
        yield a, b
        a, before = b, int(ends[b - 1])


@contextlib.contextmanager
def _growing(folder: Path) -> Iterator[tuple[_Write, _Map]]:
    """``write(name, array)`` appends to a file; ``mapped(name, dtype, shape)`` maps it, and it has no name any more."""
    files: dict[str, BinaryIO] = {}
    paths: dict[str, Path] = {}

    def write(name: str, array: Array) -> None:
        if name not in files:
            paths[name] = folder / f".{secrets.token_hex(8)}.part"
            files[name] = open(paths[name], "xb")  # noqa: SIM115
        files[name].write(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def mapped(name: str, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Array:
        if 0 in shape or name not in files:
            empty = np.zeros(shape, dtype)
            empty.flags.writeable = False
            return empty
        files[name].flush()
        return np.asarray(np.memmap(paths[name], dtype, "r", shape=shape))

    try:
        yield write, mapped
    finally:
        for name, file in files.items():
            file.close()
            # A file without a name lives as long as its mapping, also through a kill. Where the system refuses that
            # (Windows), it stays in the folder until the next fit there tidies up.
            with contextlib.suppress(OSError):
                os.unlink(paths[name])
