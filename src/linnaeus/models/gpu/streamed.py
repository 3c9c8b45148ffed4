"""Documents that do not fit on the device: X stays on the host, and every product sends it again, some rows at a time.

    X W     a chunk of rows gives a chunk of the scores
    X'A     chunks add up, each with its rows of A

What a block of labels looks at, `part`, is sent once and stays like any other `SparseRows`: with the squared hinge only
the start and the look at all documents stream. Blocks of the logistic loss have all documents, and stream them twice
for every product, which is what the bus between host and device makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch

from linnaeus.engine.gpu import GPUEngine
from linnaeus.models.gpu.documents import SparseRows, Tensor, on_device, product
from linnaeus.typing import CSR, Array, IntArray, Matrix

__all__ = ["Documents", "StreamedRows", "StreamedTranspose", "placed", "resident_bytes", "turned"]

_SHARE = 0.5  # of the free memory that documents and their transpose may take; more is streamed
_CHUNK_SHARE = 16  # a chunk, with what transposing it takes, is this part of the free memory
_TRANSPOSING = 5  # times its size is a chunk at most while it is transposed


def resident_bytes(X: Matrix, free: int, *, screened: float = 0.0) -> tuple[int, bool]:
    """(bytes that documents, SciPy or NumPy, take on a device with ``free`` bytes; whether they are streamed).

    Documents come with their transpose. Of streamed ones, a chunk and the share ``screened`` are there.
    """
    nnz = X.nnz if hasattr(X, "nnz") else X.size
    size = int(2 * (8 * nnz + 8 * sum(X.shape)))
    if size <= _SHARE * free:
        return size, False
    return _chunk_bytes(free) + int(screened * size), True


def placed(X: CSR, engine: GPUEngine) -> Documents:
    """Documents (CSR) on the device, or streamed to it where they would take more than half of its free memory."""
    free = engine.free_memory()
    if resident_bytes(X, free)[1]:
        return StreamedRows(X, engine.device, _chunk_bytes(free))
    return on_device(X, engine.device)


def _chunk_bytes(free: int) -> int:
    return max(1, free // _CHUNK_SHARE)


class StreamedRows:
    """A CSR matrix on the host with the products of `SparseRows`; ``most`` bytes are on the device at a time."""

    def __init__(self, X: CSR, device: str, most: int) -> None:
        self.device, (self.n_rows, self.n_columns) = torch.device(device), X.shape
        self._indptr = X.indptr.astype(np.int64)
        self._indices, self._values = (
            _host(x, pinned=self.device.type == "cuda") for x in (X.indices.astype(np.int32), X.data.astype(np.float32))
        )
        self._ends = _chunk_ends(self._indptr, max(1, most // (8 * _TRANSPOSING)))

    @property
    def row_bytes(self) -> int:
        """Bytes of a row on the device, on average."""
        return 8 + 8 * len(self._values) // max(1, self.n_rows)

    @property
    def T(self) -> StreamedTranspose:
        return StreamedTranspose(self, lambda chunk: chunk.T)

    def chunks(self) -> Iterator[tuple[slice, SparseRows]]:
        """Consecutive rows, one chunk after the other on the device."""
        first = 0
        for last in self._ends:
            yield slice(first, last), self.slice(slice(first, last))
            first = last

    def slice(self, part: slice) -> SparseRows:
        """Consecutive rows, sent."""
        first, last = int(self._indptr[part.start]), int(self._indptr[part.stop])
        return self._sent(
            self._indptr[part.start : part.stop + 1] - first, self._indices[first:last], self._values[first:last]
        )

    def rows(self, wanted: Tensor) -> SparseRows:
        """Some rows, in the order given, sent."""
        numbers = wanted.cpu().numpy()
        start, length = self._indptr[numbers], np.diff(self._indptr)[numbers]
        indptr = np.concatenate([[0], np.cumsum(length)])
        take = torch.as_tensor(np.repeat(start - indptr[:-1], length) + np.arange(indptr[-1]))
        return self._sent(indptr, self._indices[take], self._values[take])

    def part(self, wanted: Tensor) -> tuple[SparseRows, Tensor]:
        """As `SparseRows.part`."""
        return self.rows(wanted).with_own_features()

    def times(self, W: Tensor, *, exact: bool = False) -> Tensor:
        """X W."""
        out = torch.empty((self.n_rows, W.shape[1]), dtype=_sums(exact), device=W.device)
        for part, chunk in self.chunks():
            out[part] = product(chunk, W, exact=exact)
        return out

    def _sent(self, indptr: IntArray, indices: Tensor, values: Tensor) -> SparseRows:
        rows = torch.as_tensor(indptr, device=self.device)
        indices, values = (x.to(self.device, non_blocking=True) for x in (indices, values))
        return SparseRows(rows, indices, values, self.n_columns)


class StreamedTranspose:
    """The transpose of streamed rows, ``turn`` making that of a chunk: X' itself, or one with other values."""

    def __init__(self, X: StreamedRows, turn: Callable[[SparseRows], SparseRows]) -> None:
        self._X, self._turn = X, turn
        self.n_rows, self.n_columns, self.device = X.n_columns, X.n_rows, X.device

    @property
    def T(self) -> StreamedRows:
        return self._X

    def times(self, A: Tensor, *, exact: bool = False) -> Tensor:
        """X'A."""
        out = torch.zeros((self.n_rows, A.shape[1]), dtype=_sums(exact), device=A.device)
        for part, chunk in self._X.chunks():
            out += product(self._turn(chunk), A[part], exact=exact)
        return out


Documents = SparseRows | StreamedRows


def turned(X: Documents, turn: Callable[[SparseRows], SparseRows]) -> SparseRows | StreamedTranspose:
    """What ``turn`` makes of documents, a transpose with values of its own: now, or chunk by chunk when it is used."""
    return turn(X) if isinstance(X, SparseRows) else StreamedTranspose(X, turn)


def _sums(exact: bool) -> torch.dtype:
    return torch.float64 if exact else torch.float32


def _host(array: Array, *, pinned: bool) -> Tensor:
    """An array for sending; a device reads pinned memory at full speed and without waiting."""
    found = torch.as_tensor(array)
    return found.pin_memory() if pinned else found


def _chunk_ends(indptr: IntArray, most: int) -> list[int]:
    """Where chunks of at most ``most`` non-zeros end; a row is never cut."""
    ends, n_rows = [0], len(indptr) - 1
    while ends[-1] < n_rows:
        last = int(np.searchsorted(indptr, indptr[ends[-1]] + most, side="right")) - 1
        ends.append(min(n_rows, max(last, ends[-1] + 1)))
    return ends[1:]
