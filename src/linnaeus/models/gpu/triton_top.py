"""The best k columns of X W + b by tiles, in Triton: see `top`.

bytes   non-zeros x columns x itemsize through the cache; a tile of W, n_features x 128, stays in it while all
        documents pass; documents x tiles written. Scores themselves never leave the registers.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from linnaeus.models.gpu.documents import SparseRows, Tensor

__all__ = ["top_by_tiles"]

_TILE, _AT_A_TIME = 128, 4


@triton.jit
def _scores_of_tile(
    document, tile, indptr, indices, values, W, intercept, n_columns, w_stride,
    TILE: tl.constexpr, AT_A_TIME: tl.constexpr,
):  # fmt: skip
    columns = tile * TILE + tl.arange(0, TILE)
    first = tl.load(indptr + document)
    last = tl.load(indptr + document + 1)
    lanes = tl.arange(0, AT_A_TIME)
    total = tl.load(intercept + columns, mask=columns < n_columns, other=float("-inf"))
    for k in range(first, last, AT_A_TIME):
        here = k + lanes
        present = here < last
        row = tl.load(indices + here, mask=present, other=0).to(tl.int64)
        value = tl.load(values + here, mask=present, other=0.0)
        w = tl.load(W + row[:, None] * w_stride + columns[None, :], mask=present[:, None], other=0.0)
        total += tl.sum(value[:, None] * w.to(tl.float32), axis=0)
    return total


@triton.jit
def _best_of_tiles(
    indptr, indices, values, W, intercept, best, n_columns, n_tiles, w_stride,
    TILE: tl.constexpr, AT_A_TIME: tl.constexpr,
):  # fmt: skip
    document = tl.program_id(0)
    tile = tl.program_id(1)
    total = _scores_of_tile(document, tile, indptr, indices, values, W, intercept, n_columns, w_stride, TILE, AT_A_TIME)
    tl.store(best + document.to(tl.int64) * n_tiles + tile, tl.max(total, axis=0))


@triton.jit
def _tiles_again(
    indptr, indices, values, W, intercept, tiles, out, n_columns, n_kept, w_stride,
    TILE: tl.constexpr, AT_A_TIME: tl.constexpr,
):  # fmt: skip
    document = tl.program_id(0)
    place = document.to(tl.int64) * n_kept + tl.program_id(1)
    tile = tl.load(tiles + place).to(tl.int32)
    total = _scores_of_tile(document, tile, indptr, indices, values, W, intercept, n_columns, w_stride, TILE, AT_A_TIME)
    tl.store(out + place * TILE + tl.arange(0, TILE), total)


def top_by_tiles(X: SparseRows, W: Tensor, intercept: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """(columns, scores) of the k best of every row; W is padded to whole tiles, ``intercept`` is not."""
    n_columns, n_tiles = len(intercept), W.shape[1] // _TILE
    best = torch.empty((X.n_rows, n_tiles), device=W.device)
    documents = (X.indptr, X.indices, X.values, W, intercept)
    options = {"TILE": _TILE, "AT_A_TIME": _AT_A_TIME, "num_warps": 1}
    _best_of_tiles[(X.n_rows, n_tiles)](*documents, best, n_columns, n_tiles, W.stride(0), **options)
    kept = min(k, n_tiles)
    tiles = torch.topk(best, kept, dim=1).indices.to(torch.int32)
    scores = torch.empty((X.n_rows, kept * _TILE), device=W.device)
    _tiles_again[(X.n_rows, kept)](*documents, tiles, scores, n_columns, kept, W.stride(0), **options)
    values, place = torch.topk(scores, k, dim=1)
    columns = torch.gather(tiles.long(), 1, place // _TILE) * _TILE + place % _TILE
    return columns, values
