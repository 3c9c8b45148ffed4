"""Scores of documents, and the best k nodes of each, on a device.

The best k without a docs x nodes array: nodes are tiles of columns; the k best scores of a document lie in the k tiles
whose best score is highest. A first pass keeps the best score of every tile, a second looks at k tiles again. On CUDA
both are Triton kernels that sum a tile of scores in registers (`triton_top`); elsewhere scores are computed for some
documents at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from linnaeus.engine.gpu import GPUEngine
from linnaeus.models.gpu.documents import SparseRows, Tensor, on_device, product
from linnaeus.typing import CSR, FloatArray, IntArray, Matrix

__all__ = ["DeviceScorer"]

_COLUMNS = 128  # widths of W are padded to whole tiles


class DeviceScorer:
    """W (n_features x n_nodes, dense or CSR), ``base`` (n_features) or None and ``intercept``, kept on the device.

    Where W does not fit beside a few documents, its columns are sent again for every batch, some at a time.
    """

    def __init__(self, weights: Matrix, base: FloatArray | None, intercept: FloatArray, engine: GPUEngine) -> None:
        self.engine, self.weights, self.base = engine, weights, base
        self.n_features, self.n_nodes = weights.shape
        self.intercept = torch.as_tensor(np.asarray(intercept, np.float32), device=engine.device)
        size = 2 if engine.storage == "bfloat16" else 4
        self.width = int(min(self.n_nodes, engine.free_memory() // 2 // max(1, size * self.n_features)))
        self.width = max(1, self.width)
        self._held: Tensor | None = self._columns(slice(0, self.n_nodes)) if self.width == self.n_nodes else None

    def _columns(self, part: slice) -> Tensor:
        found = self.weights[:, part]
        found = found.toarray() if hasattr(found, "toarray") else np.ascontiguousarray(found)
        W = torch.as_tensor(found, device=self.engine.device).float()
        if self.base is not None:
            W = W + torch.as_tensor(np.asarray(self.base, np.float32), device=W.device)[:, None]  # W may be theirs
        W = torch.nn.functional.pad(W, (0, -W.shape[1] % _COLUMNS))
        return W.to(torch.bfloat16) if self.engine.storage == "bfloat16" else W

    def _parts(self) -> Iterator[tuple[slice, Tensor]]:
        for first in range(0, self.n_nodes, self.width):
            part = slice(first, min(first + self.width, self.n_nodes))
            yield part, self._held if self._held is not None else self._columns(part)

    def scores(self, X: CSR) -> FloatArray:
        """n_docs x n_nodes, on the processor."""
        S = np.empty((X.shape[0], self.n_nodes), np.float32)
        documents = on_device(X, self.engine.device)
        for part, W in self._parts():
            for rows in self._batches(documents, W.shape[1]):
                found = product(documents.slice(rows), W)[:, : part.stop - part.start] + self.intercept[part]
                S[rows, part] = found.cpu().numpy()
        return S

    def top(self, X: CSR, k: int) -> tuple[IntArray, FloatArray]:
        """Columns (int32) and scores of the k best nodes of every document, best first, ties by column.

        Of nodes with the very score of the k-th best, CUDA keeps any.
        """
        k = min(k, self.n_nodes)
        documents = on_device(X, self.engine.device)
        best: tuple[Tensor, Tensor] | None = None
        for part, W in self._parts():
            found = self.top_of(documents, W, part, k)
            if best is not None:
                found = _merged(best, found, k)
            best = found
        assert best is not None
        columns, values = best
        return columns.to(torch.int32).cpu().numpy(), values.cpu().numpy()

    def top_of(self, X: SparseRows, W: Tensor, part: slice, k: int) -> tuple[Tensor, Tensor]:
        """(columns, scores) of the best k among the columns ``part``, whose weights are W."""
        intercept, n = self.intercept[part], part.stop - part.start
        k = min(k, n)
        found = []
        for rows in self._batches(X, W.shape[1] if not W.is_cuda else W.shape[1] // _COLUMNS + k * _COLUMNS):
            documents = X.slice(rows)
            if W.is_cuda:
                from linnaeus.models.gpu.triton_kernels import top_by_tiles

                columns, values = top_by_tiles(documents, W, intercept, k)
            else:
                scores = product(documents, W)[:, :n] + intercept
                values, columns = (x[:, :k] for x in torch.sort(scores, dim=1, descending=True, stable=True))
            found.append(_in_order(columns + part.start, values))
        return torch.cat([c for c, _ in found]), torch.cat([v for _, v in found])

    def _batches(self, X: SparseRows, n_columns: int) -> Iterator[slice]:
        rows = max(1, int(min(X.n_rows, self.engine.free_memory() // (4 * 4 * n_columns))))
        for first in range(0, X.n_rows, rows):
            yield slice(first, min(first + rows, X.n_rows))


def _in_order(columns: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
    """Best first, ties by column."""
    columns, order = torch.sort(columns, dim=1)
    values, place = torch.sort(torch.gather(values, 1, order), dim=1, descending=True, stable=True)
    return torch.gather(columns, 1, place), values


def _merged(one: tuple[Tensor, Tensor], other: tuple[Tensor, Tensor], k: int) -> tuple[Tensor, Tensor]:
    columns, values = _in_order(torch.cat([one[0], other[0]], 1), torch.cat([one[1], other[1]], 1))
    return columns[:, :k], values[:, :k]
