"""Triton kernels: products of sparse rows, vectors of conjugate gradients, and the best columns of X W + b.

**Products.** A W for sparse rows A and a dense block W: rows of W gathered by the non-zeros of A. A program sums one
row of A (or a piece of it) times a tile of columns. Tiles are the slow dimension of the grid: while one is in work, its
part of W, n x tile columns, is what the cache holds, and the frequent features stay in it.

    bytes   non-zeros x columns x itemsize read through the cache, n x columns read and rows x columns written at least

Word frequencies make some rows of X' a thousand times as long as others. Rows longer than ``PIECE`` are cut into
pieces, whose sums go to rows behind the result and are summed in a second launch: no atomics, so that the result does
not depend on the order in which programs run.

**Vectors.** The operations of `newton` on arrays of the shape of the scores, and the losses of `columns`. A program
takes some rows of a tile of columns; its sums are added up afterwards.

**Best columns.** The best k columns of X W + b by tiles, see `top`: non-zeros x columns x itemsize through the cache; a
tile of W, n_features x 128, stays in it while all documents pass; scores never leave the registers.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl

from linnaeus.models.gpu.documents import SparseRows, Tensor

__all__ = ["PIECE", "bend", "dots", "follow", "gathered_product", "losses", "slopes", "top_by_tiles", "turn"]

PIECE = 256  # non-zeros that one program sums at most
_TILE = 128  # columns of a program
_ROWS, _PER_PROGRAM = 8, 64  # of vectors: rows at a time, rows of a program
_TOP_AT_A_TIME = 4  # non-zeros whose rows are under way at a time, for the best columns
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
    if not isinstance(A.layout, _Pieces):
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


@triton.jit
def _dots(a, b, sums, n_rows, n_columns, TILE: tl.constexpr, ROWS: tl.constexpr, PER: tl.constexpr):
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    total = tl.zeros((TILE,), tl.float32)
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        total += tl.sum(tl.load(a + at, mask=mask, other=0.0) * tl.load(b + at, mask=mask, other=0.0), axis=0)
    tl.store(sums + tl.program_id(1).to(tl.int64) * n_columns + columns, total, mask=inside)


@triton.jit
def _bend(p, xp, d, sums, n_rows, n_columns, TILE: tl.constexpr, ROWS: tl.constexpr, PER: tl.constexpr):
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    total = tl.zeros((TILE,), tl.float32)
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        x = tl.load(xp + at, mask=mask, other=0.0)
        total += tl.sum(x * (tl.load(p + at, mask=mask, other=0.0) + tl.load(d + at, mask=mask, other=0.0) * x), axis=0)
    tl.store(sums + tl.program_id(1).to(tl.int64) * n_columns + columns, total, mask=inside)


@triton.jit
def _follow(t, t_stride, p, xp, d, b, xb, r, n_rows, n_columns, TILE: tl.constexpr, ROWS: tl.constexpr,
            PER: tl.constexpr):  # fmt: skip
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    step = tl.load(t + columns * t_stride, mask=inside, other=0.0).to(tl.float32)[None, :]
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        way = tl.load(p + at, mask=mask, other=0.0)
        image = tl.load(xp + at, mask=mask, other=0.0)
        h = way + tl.load(d + at, mask=mask, other=0.0) * image
        tl.store(b + at, tl.load(b + at, mask=mask, other=0.0) + step * way, mask=mask)
        tl.store(xb + at, tl.load(xb + at, mask=mask, other=0.0) + step * image, mask=mask)
        tl.store(r + at, tl.load(r + at, mask=mask, other=0.0) - step * h, mask=mask)


@triton.jit
def _turn(t, t_stride, r, xr, d, p, xp, sums, n_rows, n_columns, TILE: tl.constexpr, ROWS: tl.constexpr,
          PER: tl.constexpr):  # fmt: skip
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    share = tl.load(t + columns * t_stride, mask=inside, other=0.0).to(tl.float32)[None, :]
    total = tl.zeros((TILE,), tl.float32)
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        way = tl.load(r + at, mask=mask, other=0.0) + share * tl.load(p + at, mask=mask, other=0.0)
        image = tl.load(xr + at, mask=mask, other=0.0) + share * tl.load(xp + at, mask=mask, other=0.0)
        tl.store(p + at, way, mask=mask)
        tl.store(xp + at, image, mask=mask)
        total += tl.sum(image * (way + tl.load(d + at, mask=mask, other=0.0) * image), axis=0)
    tl.store(sums + tl.program_id(1).to(tl.int64) * n_columns + columns, total, mask=inside)


@triton.jit
def _losses(S, cost, R, D, sums, n_rows, n_columns, LOGISTIC: tl.constexpr, SLOPES: tl.constexpr, TILE: tl.constexpr,
            ROWS: tl.constexpr, PER: tl.constexpr):  # fmt: skip
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    total = tl.zeros((TILE,), tl.float32)
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        s = tl.load(S + at, mask=mask, other=0.0)
        c = tl.load(cost + rows, mask=rows < n_rows, other=0.0)[:, None]
        if LOGISTIC:
            p = tl.sigmoid(s)
            first = p
            second = p * (1 - p)
            loss = tl.maximum(s, 0.0) + tl.log(1 + tl.exp(-tl.abs(s)))
        else:
            z = tl.maximum(s + 1, 0.0)
            first = 2 * z
            second = tl.where(z > 0, 2.0, 0.0)
            loss = z * z
        if SLOPES:
            tl.store(R + at, c * first, mask=mask)
            tl.store(D + at, c * second, mask=mask)
        else:
            total += tl.sum(tl.where(mask, c * loss, 0.0), axis=0)
    if not SLOPES:
        tl.store(sums + tl.program_id(1).to(tl.int64) * n_columns + columns, total, mask=inside)


def _grid(a: Tensor) -> tuple[int, int]:
    return triton.cdiv(a.shape[1], _TILE), triton.cdiv(a.shape[0], _PER_PROGRAM)


def _sizes(a: Tensor) -> dict[str, int]:
    return {"n_rows": a.shape[0], "n_columns": a.shape[1], "TILE": _TILE, "ROWS": _ROWS, "PER": _PER_PROGRAM}


def _sums(a: Tensor) -> Tensor:
    return torch.empty((_grid(a)[1], a.shape[1]), device=a.device)


def _spread(t: Tensor) -> tuple[Tensor, int]:
    """A number per column as (array, stride); one for all has stride 0."""
    return t, 0 if t.ndim == 0 else 1


def dots(a: Tensor, b: Tensor) -> Tensor:
    sums = _sums(a)
    _dots[_grid(a)](a, b, sums, **_sizes(a))
    return sums.sum(0, dtype=torch.float64)


def bend(p: Tensor, xp: Tensor, d: Tensor) -> Tensor:
    sums = _sums(p)
    _bend[_grid(p)](p, xp, d, sums, **_sizes(p))
    return sums.sum(0, dtype=torch.float64)


def follow(t: Tensor, p: Tensor, xp: Tensor, d: Tensor, b: Tensor, xb: Tensor, r: Tensor) -> None:
    _follow[_grid(p)](*_spread(t), p, xp, d, b, xb, r, **_sizes(p))


def turn(t: Tensor, r: Tensor, xr: Tensor, d: Tensor, p: Tensor, xp: Tensor) -> Tensor:
    sums = _sums(p)
    _turn[_grid(p)](*_spread(t), r, xr, d, p, xp, sums, **_sizes(p))
    return sums.sum(0, dtype=torch.float64)


def losses(S: Tensor, cost: Tensor, logistic: bool) -> Tensor:
    """The loss of every column, all pairs negative; ``cost`` of every row."""
    sums = _sums(S)
    _losses[_grid(S)](S, cost, S, S, sums, **_sizes(S), LOGISTIC=logistic, SLOPES=False)
    return sums.sum(0, dtype=torch.float64)


def slopes(S: Tensor, cost: Tensor, logistic: bool) -> tuple[Tensor, Tensor]:
    """First and second derivatives, all pairs negative."""
    R, D = torch.empty_like(S), torch.empty_like(S)
    _losses[_grid(S)](S, cost, R, D, S, **_sizes(S), LOGISTIC=logistic, SLOPES=True)
    return R, D


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
    options = {"TILE": _TILE, "AT_A_TIME": _TOP_AT_A_TIME, "num_warps": 1}
    _best_of_tiles[(X.n_rows, n_tiles)](*documents, best, n_columns, n_tiles, W.stride(0), **options)
    kept = min(k, n_tiles)
    tiles = torch.topk(best, kept, dim=1).indices.to(torch.int32)
    scores = torch.empty((X.n_rows, kept * _TILE), device=W.device)
    _tiles_again[(X.n_rows, kept)](*documents, tiles, scores, n_columns, kept, W.stride(0), **options)
    values, place = torch.topk(scores, k, dim=1)
    columns = torch.gather(tiles.long(), 1, place // _TILE) * _TILE + place % _TILE
    return columns, values
