"""A W for sparse rows A and a dense block W, in Triton: rows of W gathered by the non-zeros of A.

A program sums one row of A (or a piece of it) times a tile of columns. Tiles are the slow dimension of the grid: while
one is in work, its part of W, n x tile columns, is what the cache holds, and the frequent features stay in it.

    bytes   non-zeros x columns x itemsize read through the cache, n x columns read and rows x columns written at least

Word frequencies make some rows of X' a thousand times as long as others. Rows longer than ``PIECE`` are cut into
pieces, whose sums go to rows behind the result and are summed in a second launch: no atomics, so that the result does
not depend on the order in which programs run.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from linnaeus.models.gpu.documents import SparseRows, Tensor

__all__ = ["PIECE", "gathered_product"]

PIECE = 256  # non-zeros that one program sums at most
_TILE = 128  # columns of a program
_AT_A_TIME = 8  # non-zeros whose rows are under way at a time


@triton.jit
def _gather_rows(
    start, end, target, indices, values, W, out, n_columns, w_stride, out_stride,
    TILE: tl.constexpr, AT_A_TIME: tl.constexpr, EXACT: tl.constexpr,
):  # fmt: skip
    piece = tl.program_id(0)
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    first = tl.load(start + piece)
    last = tl.load(end + piece)
    lanes = tl.arange(0, AT_A_TIME)
    if EXACT:
        total = tl.zeros((TILE,), tl.float64)
    else:
        total = tl.zeros((TILE,), tl.float32)
    for k in range(first, last, AT_A_TIME):
        here = k + lanes
        present = here < last
        row = tl.load(indices + here, mask=present, other=0).to(tl.int64)
        value = tl.load(values + here, mask=present, other=0.0)
        w = tl.load(W + row[:, None] * w_stride + columns[None, :], mask=present[:, None] & inside[None, :], other=0.0)
        if EXACT:
            total += tl.sum(value[:, None].to(tl.float64) * w.to(tl.float64), axis=0)
        else:
            total += tl.sum(value[:, None] * w.to(tl.float32), axis=0)
    to = tl.load(target + piece).to(tl.int64)
    tl.store(out + to * out_stride + columns, total, mask=inside)


@dataclass
class _Pieces:
    """Rows cut into pieces: where they begin and end, the row of the result or behind it that they go to."""

    start: Tensor
    end: Tensor
    target: Tensor
    n_extra: int  # rows behind the result
    long_start: Tensor  # of the rows that were cut: their pieces behind the result
    long_end: Tensor
    long_target: Tensor
    extra: Tensor  # rows behind the result, and a factor of 1 for each
    ones: Tensor


def _pieces(A: SparseRows) -> _Pieces:
    if A.layout is None:
        device, length = A.device, A.indptr.diff()
        n_pieces = torch.clamp((length + PIECE - 1) // PIECE, min=1)
        row = torch.repeat_interleave(torch.arange(A.n_rows, device=device), n_pieces)
        before = torch.cumsum(n_pieces, 0) - n_pieces
        number = torch.arange(len(row), device=device) - before[row]
        start = A.indptr[row] + number * PIECE
        end = torch.minimum(start + PIECE, A.indptr[row + 1])
        cut = n_pieces[row] > 1
        place = torch.cumsum(cut, 0) - 1
        target = torch.where(cut, A.n_rows + place, row)
        long_rows = torch.nonzero(n_pieces > 1).flatten()
        long_count = n_pieces[long_rows]
        long_end = torch.cumsum(long_count, 0)
        if len(long_rows):  # pieces that begin near each other read the same rows of W: let them run together
            order = torch.argsort(A.indices[start.clamp(max=max(0, len(A.indices) - 1))])
            start, end, target = start[order], end[order], target[order]
        n_extra = int(cut.sum())
        extra, ones = torch.arange(A.n_rows, A.n_rows + n_extra, device=device), torch.ones(n_extra, device=device)
        A.layout = _Pieces(start, end, target, n_extra, long_end - long_count, long_end, long_rows, extra, ones)
    return A.layout


def gathered_product(A: SparseRows, W: Tensor, *, exact: bool = False) -> Tensor:
    """A W with sums in float32, or in float64 where ``exact``; W is float32 or bfloat16."""
    pieces, n_columns = _pieces(A), W.shape[1]
    dtype = torch.float64 if exact else torch.float32
    if W.stride(1) != 1:
        W = W.contiguous()
    whole = torch.empty((A.n_rows + pieces.n_extra, n_columns), dtype=dtype, device=W.device)
    tile = min(_TILE, max(16, triton.next_power_of_2(n_columns)))
    options = {"TILE": tile, "AT_A_TIME": _AT_A_TIME, "EXACT": exact, "num_warps": max(1, tile // 128)}

    def launch(start: Tensor, end: Tensor, target: Tensor, indices: Tensor, values: Tensor, operand: Tensor) -> None:
        if len(start):
            grid = (len(start), triton.cdiv(n_columns, tile))
            _gather_rows[grid](
                start, end, target, indices, values, operand, whole, n_columns, operand.stride(0), whole.stride(0),
                **options,
            )  # fmt: skip

    launch(pieces.start, pieces.end, pieces.target, A.indices, A.values, W)
    if pieces.n_extra:
        launch(pieces.long_start, pieces.long_end, pieces.long_target, pieces.extra, pieces.ones, whole)
    return whole[: A.n_rows]
