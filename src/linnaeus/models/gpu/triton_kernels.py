"""Triton kernels: products of sparse rows, vectors of conjugate gradients, and the best columns of X W + b.

**Products.** A W for sparse rows A and a dense block W: rows of W gathered by the non-zeros of A. A program sums one
row of A (or a piece of it) times a tile of columns. Tiles are the slow dimension of the grid: while one is in work, its
part of W, n x tile columns, is what the cache holds, and the frequent features stay in it.

    bytes   non-zeros x columns x itemsize read through the cache, n x columns read and rows x columns written at least

Word frequencies make some rows of X' a thousand times as long as others. Rows longer than ``PIECE`` are cut into
pieces, whose sums go to rows behind the result and are summed in a second launch: no atomics, so that the result does
not depend on the order in which programs run.

**Leaves and inner vertices.** A leaf has few parents: what leaves and vertices give each other are short sums of
columns (`combined`), and a block's part of an array over all vertices and features is its `corner`.

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

__all__ = [
    "PIECE",
    "ColumnLists",
    "Substitution",
    "accept",
    "add_to_corner",
    "advance",
    "along",
    "combined",
    "corner",
    "curve",
    "dots",
    "gathered_product",
    "losses",
    "residual",
    "set_out",
    "slopes",
    "top_by_tiles",
]

PIECE = 256  # non-zeros that one program sums at most
_TILE = 128  # columns of a program
_ROWS, _PER_PROGRAM = 8, 64  # of vectors: rows at a time, rows of a program
_TOP_AT_A_TIME = 4  # non-zeros whose rows are under way at a time, for the best columns
_AT_A_TIME = 8  # non-zeros whose rows are under way at a time
_WIDE_TILE, _CACHE = 256, 48 * 2**20  # columns of a program where 256 columns of W fit into this part of the cache
_COMBINED_ROWS, _COMBINED_TILE = 16, 64
_SIDE = 32
_SUBSTITUTED = 1024  # columns of a program that substitutes


@triton.jit
def _gather_rows(
    start, end, target, indices, values, W, scale, out, n_columns, w_stride, out_stride,
    TILE: tl.constexpr, AT_A_TIME: tl.constexpr, EXACT: tl.constexpr, SCALED: tl.constexpr,
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
    if SCALED:
        total *= tl.load(scale + columns, mask=inside, other=0.0).to(total.dtype)
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


def gathered_product(A: SparseRows, W: Tensor, *, exact: bool = False, scale: Tensor | None = None) -> Tensor:
    """A W with sums in float32, or in float64 where ``exact``; W is float32 or bfloat16, ``scale`` one per column."""
    pieces, n_columns = _pieces(A), W.shape[1]
    dtype = torch.float64 if exact else torch.float32
    if W.stride(1) != 1:
        W = W.contiguous()
    whole = torch.empty((A.n_rows + pieces.n_extra, n_columns), dtype=dtype, device=W.device)
    wide = W.shape[0] * _WIDE_TILE * W.element_size() <= _CACHE
    tile = min(_WIDE_TILE if wide and not exact else _TILE, max(16, triton.next_power_of_2(n_columns)))
    at_a_time = _AT_A_TIME * _TILE // max(tile, _TILE)
    options = {"TILE": tile, "AT_A_TIME": at_a_time, "EXACT": exact, "num_warps": 1}

    def launch(
        start: Tensor, end: Tensor, target: Tensor, indices: Tensor, values: Tensor, operand: Tensor,
        scale: Tensor | None = None,
    ) -> None:  # fmt: skip
        if len(start):
            grid = (len(start), triton.cdiv(n_columns, tile))
            _gather_rows[grid](
                start, end, target, indices, values, operand, operand if scale is None else scale, whole, n_columns,
                operand.stride(0), whole.stride(0), **options, SCALED=scale is not None,
            )  # fmt: skip

    launch(pieces.start, pieces.end, pieces.target, A.indices, A.values, W, scale)
    if pieces.n_extra:
        launch(pieces.long_start, pieces.long_end, pieces.long_target, pieces.extra, pieces.ones, whole)
    return whole[: A.n_rows]


@triton.jit(do_not_specialize=["n_rows"])
def _combine(ends, source, weight, a, more, out, n_rows, n_columns, a_stride, MORE: tl.constexpr, TILE: tl.constexpr,
             ROWS: tl.constexpr):  # fmt: skip
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    mask = (rows < n_rows)[:, None]
    first = tl.load(ends + columns, mask=inside, other=0)
    last = tl.load(ends + columns + 1, mask=inside, other=0)
    total = tl.zeros((ROWS, TILE), tl.float32)
    for k in range(tl.max(last - first, axis=0)):
        here = first + k
        present = here < last
        column = tl.load(source + here, mask=present, other=0)
        share = tl.load(weight + here, mask=present, other=0.0)
        at = rows.to(tl.int64)[:, None] * a_stride + column[None, :]
        total += share[None, :] * tl.load(a + at, mask=mask & present[None, :], other=0.0)
    to = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
    if MORE:
        total += tl.load(more + to, mask=mask & inside[None, :], other=0.0)
    tl.store(out + to, total, mask=mask & inside[None, :])


@dataclass(frozen=True)
class ColumnLists:
    """Which columns, with which weights, every column of a combination is the sum of."""

    ends: Tensor
    source: Tensor
    weight: Tensor

    @classmethod
    def of(cls, Q: Tensor) -> ColumnLists:
        """For A Q, of the entries of Q (n x n_columns) that are not zero."""
        column, source = torch.nonzero(Q.T, as_tuple=True)
        ends = torch.zeros(Q.shape[1] + 1, dtype=torch.int32, device=Q.device)
        ends[1:] = torch.cumsum(torch.bincount(column, minlength=Q.shape[1]), 0)
        return cls(ends, source.to(torch.int32), Q[source, column].float())


def combined(A: Tensor, lists: ColumnLists, more: Tensor | None = None) -> Tensor:
    """A Q, and ``more`` beside it."""
    out = torch.empty((A.shape[0], len(lists.ends) - 1), device=A.device)
    grid = (triton.cdiv(out.shape[0], _COMBINED_ROWS), triton.cdiv(out.shape[1], _COMBINED_TILE))
    _combine[grid](
        lists.ends, lists.source, lists.weight, A, A if more is None else more, out, *out.shape, A.stride(0),
        MORE=more is not None, TILE=_COMBINED_TILE, ROWS=_COMBINED_ROWS,
    )  # fmt: skip
    return out


@triton.jit(do_not_specialize=["n_columns"])
def _corner(M, rows, columns, turned, n_rows, n_columns, m_stride, ADD: tl.constexpr, SIDE: tl.constexpr):
    r = tl.program_id(0) * SIDE + tl.arange(0, SIDE)
    c = tl.program_id(1) * SIDE + tl.arange(0, SIDE)
    row = tl.load(rows + r, mask=r < n_rows, other=0)
    column = tl.load(columns + c, mask=c < n_columns, other=0)
    mask = (r < n_rows)[:, None] & (c < n_columns)[None, :]
    at = M + row.to(tl.int64)[:, None] * m_stride + column[None, :]
    to = turned + c.to(tl.int64)[:, None] * n_rows + r[None, :]
    if ADD:
        pulled = tl.load(to, mask=tl.trans(mask), other=0.0)
        tl.store(at, tl.load(at, mask=mask, other=0.0) + tl.trans(pulled), mask=mask)
    else:
        tl.store(to, tl.trans(tl.load(at, mask=mask, other=0.0)), mask=tl.trans(mask))


def _on_corner(M: Tensor, rows: Tensor, columns: Tensor, turned: Tensor, *, add: bool) -> None:
    grid = (triton.cdiv(len(rows), _SIDE), triton.cdiv(len(columns), _SIDE))
    _corner[grid](M, rows, columns, turned, len(rows), len(columns), M.stride(0), ADD=add, SIDE=_SIDE)


def corner(M: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """M[rows, columns] transposed, len(columns) x len(rows)."""
    turned = torch.empty((len(columns), len(rows)), device=M.device)
    _on_corner(M, rows, columns, turned, add=False)
    return turned


def add_to_corner(M: Tensor, rows: Tensor, columns: Tensor, turned: Tensor) -> None:
    """M[rows, columns] += turned', in place."""
    _on_corner(M, rows, columns, turned, add=True)


@triton.jit
def _substitute(ends, target, source, entry, L, q, n_columns, EVERY: tl.constexpr, TILE: tl.constexpr):
    columns = tl.program_id(1) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    first = tl.load(ends + tl.program_id(0))
    last = tl.load(ends + tl.program_id(0) + 1)
    to = q + tl.load(target + tl.program_id(0)) * n_columns + columns
    total = tl.load(to, mask=inside, other=0.0)
    for k in range(first, last):
        x = tl.load(q + tl.load(source + k) * n_columns + columns, mask=inside, other=0.0)
        at = tl.load(entry + k)
        if EVERY:
            total -= tl.load(L + at * n_columns + columns, mask=inside, other=0.0).to(total.dtype) * x
        else:
            total -= tl.load(L + at).to(total.dtype) * x
    tl.store(to, total, mask=inside)


@dataclass(frozen=True)
class Substitution:
    """q[to] -= L[entry] q[source] for some entries, those of the same row summed by one program; rows are int64."""

    ends: Tensor
    target: Tensor
    source: Tensor
    entry: Tensor

    @classmethod
    def of(cls, to: Tensor, source: Tensor, entry: Tensor) -> Substitution:
        order = torch.argsort(to, stable=True)
        target, count = torch.unique_consecutive(to[order], return_counts=True)
        ends = torch.cat([count.new_zeros(1), torch.cumsum(count, 0)])
        return cls(ends, target, source[order], entry[order])

    def __call__(self, L: Tensor, q: Tensor) -> None:
        """L has a number for every entry, or one for every entry and column of q (contiguous, changed in place)."""
        if len(self.target):
            grid = (len(self.target), triton.cdiv(q.shape[1], _SUBSTITUTED))
            _substitute[grid](
                self.ends, self.target, self.source, self.entry, L, q, q.shape[1], EVERY=L.ndim > 1, TILE=_SUBSTITUTED
            )  # fmt: skip


@triton.jit(do_not_specialize=["n_rows"])
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


@triton.jit(do_not_specialize=["n_rows"])
def _curve(r, xr, d, sums, n_rows, n_columns, TILE: tl.constexpr, ROWS: tl.constexpr, PER: tl.constexpr):
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    one = tl.zeros((TILE,), tl.float32)
    other = tl.zeros((TILE,), tl.float32)
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        residual = tl.load(r + at, mask=mask, other=0.0)
        image = tl.load(xr + at, mask=mask, other=0.0)
        one += tl.sum(residual * image, axis=0)
        other += tl.sum(image * (residual + tl.load(d + at, mask=mask, other=0.0) * image), axis=0)
    to = sums + tl.program_id(1).to(tl.int64) * 2 * n_columns + columns
    tl.store(to, one, mask=inside)
    tl.store(to + n_columns, other, mask=inside)


@triton.jit(do_not_specialize=["n_rows"])
def _advance(beta, t, r, xr, d, p, xp, b, xb, n_rows, n_columns, FIRST: tl.constexpr, TILE: tl.constexpr,
             ROWS: tl.constexpr, PER: tl.constexpr):  # fmt: skip
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    step = tl.load(t + columns, mask=inside, other=0.0).to(tl.float32)[None, :]
    share = tl.load(beta + columns, mask=inside, other=0.0).to(tl.float32)[None, :]
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        residual = tl.load(r + at, mask=mask, other=0.0)
        way = residual
        image = tl.load(xr + at, mask=mask, other=0.0)
        if not FIRST:
            way += share * tl.load(p + at, mask=mask, other=0.0)
            image += share * tl.load(xp + at, mask=mask, other=0.0)
            tl.store(xp + at, image, mask=mask)
        tl.store(p + at, way, mask=mask)
        if FIRST:
            tl.store(b + at, step * way, mask=mask)
            tl.store(xb + at, step * image, mask=mask)
        else:
            tl.store(b + at, tl.load(b + at, mask=mask, other=0.0) + step * way, mask=mask)
            tl.store(xb + at, tl.load(xb + at, mask=mask, other=0.0) + step * image, mask=mask)
        h = way + tl.load(d + at, mask=mask, other=0.0) * image
        tl.store(r + at, residual - step * h, mask=mask)


@triton.jit(do_not_specialize=["n_rows"])
def _along(b, xb, s, sums, n_rows, n_columns, TILE: tl.constexpr, ROWS: tl.constexpr, PER: tl.constexpr):
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    one = tl.zeros((TILE,), tl.float32)
    other = tl.zeros((TILE,), tl.float32)
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        image = tl.load(xb + at, mask=mask, other=0.0)
        way = tl.load(b + at, mask=mask, other=0.0)
        one += tl.sum(way * tl.load(s + at, mask=mask, other=0.0), axis=0)
        other += tl.sum(way * image, axis=0)
    to = sums + tl.program_id(1).to(tl.int64) * 2 * n_columns + columns
    tl.store(to, one, mask=inside)
    tl.store(to + n_columns, other, mask=inside)


@triton.jit(do_not_specialize=["n_rows"])
def _accept(t, b, xb, a, s, n_rows, n_columns, TILE: tl.constexpr, ROWS: tl.constexpr, PER: tl.constexpr):
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    step = tl.load(t + columns, mask=inside, other=0.0).to(tl.float32)[None, :]
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        image = tl.load(xb + at, mask=mask, other=0.0)
        way = tl.load(b + at, mask=mask, other=0.0)
        tl.store(a + at, tl.load(a + at, mask=mask, other=0.0) + step * way, mask=mask)
        tl.store(s + at, tl.load(s + at, mask=mask, other=0.0) + step * image, mask=mask)


@triton.jit(do_not_specialize=["n_rows"])
def _losses(S, xb, t, A, own, cost, R, D, sums, n_rows, n_columns, LOGISTIC: tl.constexpr, SLOPES: tl.constexpr,
            VALUES: tl.constexpr, MOVED: tl.constexpr, DUALS: tl.constexpr, TILE: tl.constexpr, ROWS: tl.constexpr,
            PER: tl.constexpr):  # fmt: skip
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    total = tl.zeros((TILE,), tl.float32)
    energy = tl.zeros((TILE,), tl.float32)
    if MOVED:
        step = tl.load(t + columns, mask=inside, other=0.0).to(tl.float32)[None, :]
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        s = tl.load(S + at, mask=mask, other=0.0)
        if MOVED:
            s += step * tl.load(xb + at, mask=mask, other=0.0)
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
        slope = c * first
        if DUALS:
            a = tl.load(A + at, mask=mask, other=0.0)
            energy += tl.sum(a * tl.load(own + at, mask=mask, other=0.0), axis=0)
            slope = -(a + slope)
        if SLOPES:
            tl.store(R + at, slope, mask=mask)
            tl.store(D + at, c * second, mask=mask)
        if VALUES:
            total += tl.sum(tl.where(mask, c * loss, 0.0), axis=0)
    if VALUES:
        to = sums + tl.program_id(1).to(tl.int64) * 2 * n_columns + columns
        tl.store(to, total, mask=inside)
        tl.store(to + n_columns, energy, mask=inside)


def _grid(a: Tensor) -> tuple[int, int]:
    return triton.cdiv(a.shape[1], _TILE), triton.cdiv(a.shape[0], _PER_PROGRAM)


def _sizes(a: Tensor) -> dict[str, int]:
    return {"n_rows": a.shape[0], "n_columns": a.shape[1], "TILE": _TILE, "ROWS": _ROWS, "PER": _PER_PROGRAM}


def _sums(a: Tensor, n_each: int = 1) -> Tensor:
    return torch.empty((_grid(a)[1], n_each * a.shape[1]), device=a.device)


def _both(sums: Tensor) -> tuple[Tensor, Tensor]:
    """Two numbers of every column, of two sums each."""
    one, other = sums.sum(0, dtype=torch.float64).view(2, -1)
    return one, other


def dots(a: Tensor, b: Tensor) -> Tensor:
    sums = _sums(a)
    _dots[_grid(a)](a, b, sums, **_sizes(a))
    return sums.sum(0, dtype=torch.float64)


def curve(r: Tensor, xr: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    sums = _sums(r, 2)
    _curve[_grid(r)](r, xr, d, sums, **_sizes(r))
    return _both(sums)


def set_out(t: Tensor, r: Tensor, xr: Tensor, d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    p, b, xb = torch.empty_like(r), torch.empty_like(r), torch.empty_like(r)
    _advance[_grid(r)](t, t, r, xr, d, p, xr, b, xb, **_sizes(r), FIRST=True)
    return p, b, xb


def advance(
    beta: Tensor, t: Tensor, r: Tensor, xr: Tensor, d: Tensor, p: Tensor, xp: Tensor, b: Tensor, xb: Tensor
) -> None:
    _advance[_grid(r)](beta, t, r, xr, d, p, xp, b, xb, **_sizes(r), FIRST=False)


def along(b: Tensor, xb: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    sums = _sums(b, 2)
    _along[_grid(b)](b, xb, s, sums, **_sizes(b))
    return _both(sums)


def accept(t: Tensor, b: Tensor, xb: Tensor, a: Tensor, s: Tensor) -> None:
    _accept[_grid(b)](t, b, xb, a, s, **_sizes(b))


def losses(S: Tensor, cost: Tensor, logistic: bool, xb: Tensor | None = None, t: Tensor | None = None) -> Tensor:
    """The loss of every column at S + t xb, all pairs negative; ``cost`` of every row."""
    sums, moved = _sums(S, 2), (S, S) if xb is None or t is None else (xb, t)
    _losses[_grid(S)](
        S, *moved, S, S, cost, S, S, sums, **_sizes(S),
        LOGISTIC=logistic, SLOPES=False, VALUES=True, MOVED=t is not None, DUALS=False,
    )  # fmt: skip
    return _both(sums)[0]


def slopes(S: Tensor, cost: Tensor, logistic: bool) -> tuple[Tensor, Tensor]:
    """First and second derivatives, all pairs negative."""
    R, D = torch.empty_like(S), torch.empty_like(S)
    _losses[_grid(S)](
        S, S, S, S, S, cost, R, D, S, **_sizes(S),
        LOGISTIC=logistic, SLOPES=True, VALUES=False, MOVED=False, DUALS=False,
    )  # fmt: skip
    return R, D


def residual(S: Tensor, A: Tensor, own: Tensor, cost: Tensor, logistic: bool) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(loss of every column, <A, own>, -(A + R), D), all pairs negative."""
    rho, D, sums = torch.empty_like(S), torch.empty_like(S), _sums(S, 2)
    _losses[_grid(S)](
        S, S, S, A, own, cost, rho, D, sums, **_sizes(S),
        LOGISTIC=logistic, SLOPES=True, VALUES=True, MOVED=False, DUALS=True,
    )  # fmt: skip
    return *_both(sums), rho, D


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
