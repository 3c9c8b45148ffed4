"""Triton kernels for lists of pairs of documents and labels (`margin`).

A program takes one label through all steps of conjugate gradients. X'v of a label is a column of an array features x
labels, which the program spreads v over and gathers X X'v from; rows of X are read by tiles of documents x non-zeros.
Programs have no column in common, and between spreading and gathering all threads of a program wait for each other.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from linnaeus.models.gpu.documents import SparseRows, Tensor
from linnaeus.models.gpu.margin import ROUNDING, PairLists
from linnaeus.models.gpu.newton import LEAST

__all__ = ["accept", "along", "list_pairs", "solve_lists"]

_TILE, _ROWS, _PER_PROGRAM = 128, 8, 64  # of dense passes: columns, rows at a time, rows of a program
_DOCUMENTS, _NON_ZEROS, _WARPS = 64, 16, 8  # of a tile of lists
_LIST = 256  # pairs of a list at a time, where no rows of X are read


@triton.jit(do_not_specialize=["n_rows", "n_parts"])
def _list_pairs(scores, A, positive, cost, weight, starts, counts, row, slope, d, n_rows, n_columns, n_parts,
                FILL: tl.constexpr, TILE: tl.constexpr, ROWS: tl.constexpr, PER: tl.constexpr):  # fmt: skip
    columns = tl.program_id(0) * TILE + tl.arange(0, TILE)
    inside = columns < n_columns
    part = columns.to(tl.int64) * 2 * n_parts + tl.program_id(1)
    if FILL:
        within_at = tl.load(starts + part, mask=inside, other=0)
        leaving_at = tl.load(starts + part + n_parts, mask=inside, other=0)
        more = tl.load(weight + columns, mask=inside, other=0.0)[None, :]
    else:
        within_at = tl.zeros((TILE,), tl.int64)
        leaving_at = tl.zeros((TILE,), tl.int64)
    for k in range(0, PER, ROWS):
        rows = tl.program_id(1) * PER + k + tl.arange(0, ROWS)
        mask = (rows < n_rows)[:, None] & inside[None, :]
        at = rows.to(tl.int64)[:, None] * n_columns + columns[None, :]
        a = tl.load(A + at, mask=mask, other=0.0)
        sign = tl.where(tl.load(positive + at, mask=mask, other=0) != 0, -1.0, 1.0)
        z = 1 + sign * tl.load(scores + at, mask=mask, other=-2.0)
        within = (z > 0) & mask
        leaving = (a != 0) & (z <= 0) & mask
        if FILL:
            c = tl.load(cost + rows, mask=rows < n_rows, other=0.0)[:, None] * tl.where(sign < 0, more, 1.0)
            one = within.to(tl.int32)
            other = leaving.to(tl.int32)
            to = tl.where(
                within,
                within_at[None, :] + tl.cumsum(one, axis=0) - one,
                leaving_at[None, :] + tl.cumsum(other, axis=0) - other,
            )
            listed = within | leaving
            tl.store(row + to, tl.broadcast_to(rows[:, None], (ROWS, TILE)), mask=listed)
            tl.store(slope + to, sign * 2 * c * tl.maximum(z, 0.0), mask=listed)
            tl.store(d + to, tl.where(within, 2 * c, 0.0), mask=listed)
        within_at += tl.sum(within.to(tl.int32), axis=0)
        leaving_at += tl.sum(leaving.to(tl.int32), axis=0)
    if not FILL:
        tl.store(counts + part, within_at.to(tl.int32), mask=inside)
        tl.store(counts + part + n_parts, leaving_at.to(tl.int32), mask=inside)


def list_pairs(scores: Tensor, A: Tensor, cost: Tensor, positive: Tensor, weight: Tensor) -> PairLists:
    n_rows, n_columns = A.shape
    grid = triton.cdiv(n_columns, _TILE), triton.cdiv(n_rows, _PER_PROGRAM)
    counts = torch.empty((n_columns, 2, grid[1]), dtype=torch.int32, device=A.device)
    ends = torch.zeros(counts.numel() + 1, dtype=torch.int64, device=A.device)
    row = torch.empty(A.numel(), dtype=torch.int32, device=A.device)
    slope, d = torch.empty(A.numel(), device=A.device), torch.empty(A.numel(), device=A.device)
    arrays = (scores, A, positive, cost, weight, ends, counts, row, slope, d, n_rows, n_columns, grid[1])
    sizes = {"TILE": _TILE, "ROWS": _ROWS, "PER": _PER_PROGRAM}
    _list_pairs[grid](*arrays, FILL=False, **sizes)
    torch.cumsum(counts.view(-1), 0, out=ends[1:])
    _list_pairs[grid](*arrays, FILL=True, **sizes)
    return PairLists(ends[:: grid[1]].contiguous(), row, slope, d)


@triton.jit
def _rows_of(row, here, last, indptr):
    """Where the non-zeros of a tile of documents begin and end."""
    inside = here < last
    document = tl.load(row + here, mask=inside, other=0)
    start = tl.load(indptr + document, mask=inside, other=0)
    return start, tl.load(indptr + document + 1, mask=inside, other=0)


@triton.jit
def _spread(start, end, v, indices, values, to, stride, NON_ZEROS: tl.constexpr):
    """Add X'v to a column."""
    for n in range(0, tl.max(end - start, axis=0), NON_ZEROS):
        at = start[:, None] + n + tl.arange(0, NON_ZEROS)[None, :]
        present = at < end[:, None]
        feature = tl.load(indices + at, mask=present, other=0).to(tl.int64)
        x = tl.load(values + at, mask=present, other=0.0)
        tl.atomic_add(to + feature * stride, v[:, None] * x, mask=present, sem="relaxed")


@triton.jit
def _clear(start, end, indices, to, stride, NON_ZEROS: tl.constexpr):
    """Set a column to 0 where documents have features."""
    for n in range(0, tl.max(end - start, axis=0), NON_ZEROS):
        at = start[:, None] + n + tl.arange(0, NON_ZEROS)[None, :]
        present = at < end[:, None]
        feature = tl.load(indices + at, mask=present, other=0).to(tl.int64)
        tl.store(to + feature * stride, tl.zeros_like(at).to(tl.float32), mask=present)


@triton.jit
def _gather(start, end, indices, values, of, stride, DOCUMENTS: tl.constexpr, NON_ZEROS: tl.constexpr):
    """X times a column; it was changed at the second level of the cache, from where it is read."""
    total = tl.zeros((DOCUMENTS,), tl.float32)
    for n in range(0, tl.max(end - start, axis=0), NON_ZEROS):
        at = start[:, None] + n + tl.arange(0, NON_ZEROS)[None, :]
        present = at < end[:, None]
        feature = tl.load(indices + at, mask=present, other=0).to(tl.int64)
        x = tl.load(values + at, mask=present, other=0.0)
        w = tl.load(of + feature * stride, mask=present, other=0.0, cache_modifier=".cg")
        total += tl.sum(x * w, axis=1)
    return total


@triton.jit
def _solve_lists(
    ends, row, slopes, d, rho, r, image, p, xp, b, indptr, indices, values, W, own, A, S, figures, n_columns,
    tol, forcing, max_products,
    LEAST: tl.constexpr, ROUNDING: tl.constexpr, DOCUMENTS: tl.constexpr, NON_ZEROS: tl.constexpr,
):  # fmt: skip
    column = tl.program_id(0)
    first = tl.load(ends + 2 * column)
    middle = tl.load(ends + 2 * column + 1)
    last = tl.load(ends + 2 * column + 2)
    scale = tl.load(own + column).to(tl.float32)
    w = W + column
    lanes = tl.arange(0, DOCUMENTS)
    energy = tl.zeros((), tl.float64)
    losses = tl.zeros((), tl.float64)
    for k in range(first, last, DOCUMENTS):  # beyond the margin nothing stays
        here = k + lanes
        inside = here < last
        at = tl.load(row + here, mask=inside, other=0).to(tl.int64) * n_columns + column
        a = tl.load(A + at, mask=inside, other=0.0)
        energy += tl.sum((a * tl.load(S + at, mask=inside, other=0.0)).to(tl.float64), axis=0)
        bend = tl.load(d + here, mask=inside, other=0.0)
        slope = tl.load(slopes + here, mask=inside, other=0.0)
        losses += tl.sum((slope * slope / tl.where(bend > 0, 2 * bend, 1.0)).to(tl.float64), axis=0)
        leaves = tl.where(bend > 0, 0.0, -(a + slope))
        tl.store(rho + here, -(a + slope), mask=inside)
        tl.store(b + here, leaves, mask=inside)
        start, end = _rows_of(row, here, last, indptr)
        _spread(start, end, leaves, indices, values, w, n_columns, NON_ZEROS)
    tl.debug_barrier()
    value = tl.zeros((), tl.float64)
    for k in range(first, last, DOCUMENTS):
        here = k + lanes
        inside = here < last
        start, end = _rows_of(row, here, last, indptr)
        xb = scale * _gather(start, end, indices, values, w, n_columns, DOCUMENTS, NON_ZEROS)
        bend = tl.load(d + here, mask=inside, other=0.0)
        residual = tl.load(rho + here, mask=inside, other=0.0)
        way = tl.load(b + here, mask=inside, other=0.0)
        model = xb * (0.5 * (way + bend * xb) - residual)
        value += tl.sum(tl.where(inside, model, 0.0).to(tl.float64), axis=0)
        tl.store(r + here, tl.where(bend > 0, residual - bend * xb, 0.0), mask=inside)
        tl.store(p + here, tl.zeros((DOCUMENTS,), tl.float32), mask=inside)
        tl.store(xp + here, tl.zeros((DOCUMENTS,), tl.float32), mask=inside)
    tl.debug_barrier()
    for k in range(first, last, DOCUMENTS):  # from X'b to X'r
        here = k + lanes
        inside = here < last
        change = tl.load(r + here, mask=inside, other=0.0) - tl.load(b + here, mask=inside, other=0.0)
        start, end = _rows_of(row, here, last, indptr)
        _spread(start, end, change, indices, values, w, n_columns, NON_ZEROS)
    tl.debug_barrier()
    step = 0
    share = 0.0
    length = 1.0
    gamma = 0.0
    least = 0.0
    solved = False
    going = last > first
    while going:
        before = gamma
        gamma = 0.0
        curvature = 0.0
        for k in range(first, middle, DOCUMENTS):
            here = k + lanes
            inside = here < middle
            start, end = _rows_of(row, here, middle, indptr)
            xr = scale * _gather(start, end, indices, values, w, n_columns, DOCUMENTS, NON_ZEROS)
            residual = tl.load(r + here, mask=inside, other=0.0)
            bend = tl.load(d + here, mask=inside, other=0.0)
            tl.store(image + here, xr, mask=inside)
            gamma += tl.sum(residual * xr, axis=0)
            curvature += tl.sum(tl.where(inside, xr * (residual + bend * xr), 0.0), axis=0)
        tl.debug_barrier()
        if step == 0:
            solved = 0.5 * gamma - value <= tol * (0.5 * energy + losses)
            least = ROUNDING * gamma
        else:
            share = gamma / tl.maximum(before, 1e-30)
        going = (0.5 * gamma > -forcing * value) & (gamma > least) & (not solved) & (step < max_products)
        if going:
            bent = tl.maximum(curvature - share * gamma / tl.maximum(length, 1e-30), LEAST * curvature)
            length = gamma / tl.maximum(bent, 1e-30)
            value -= 0.5 * (length * gamma).to(tl.float64)
            for k in range(first, middle, DOCUMENTS):
                here = k + lanes
                inside = here < middle
                residual = tl.load(r + here, mask=inside, other=0.0)
                way = residual + share * tl.load(p + here, mask=inside, other=0.0)
                xway = share * tl.load(xp + here, mask=inside, other=0.0)
                xway += tl.load(image + here, mask=inside, other=0.0)
                change = -length * (way + tl.load(d + here, mask=inside, other=0.0) * xway)
                solution = tl.load(b + here, mask=inside, other=0.0) + length * way
                tl.debug_barrier()  # several threads read what one of them writes
                tl.store(p + here, way, mask=inside)
                tl.store(xp + here, xway, mask=inside)
                tl.store(b + here, solution, mask=inside)
                tl.store(r + here, residual + change, mask=inside)
                start, end = _rows_of(row, here, middle, indptr)
                _spread(start, end, change, indices, values, w, n_columns, NON_ZEROS)
            tl.debug_barrier()
        step += 1
    for k in range(first, last, DOCUMENTS):  # from X'r to X'b, or to nothing
        here = k + lanes
        inside = here < last
        start, end = _rows_of(row, here, last, indptr)
        if solved:
            tl.store(b + here, tl.zeros((DOCUMENTS,), tl.float32), mask=inside)
            _clear(start, end, indices, w, n_columns, NON_ZEROS)
        else:
            change = tl.load(b + here, mask=inside, other=0.0) - tl.load(r + here, mask=inside, other=0.0)
            _spread(start, end, change, indices, values, w, n_columns, NON_ZEROS)
    tl.store(figures + column, energy)
    tl.store(figures + n_columns + column, losses)


def solve_lists(
    lists: PairLists, X: SparseRows, own: Tensor, A: Tensor, S: Tensor, tol: float, forcing: float, max_products: int
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    n_columns = A.shape[1]
    rho, r, image, p, xp, b = (torch.empty_like(lists.d) for _ in range(6))
    W = torch.zeros((X.n_columns, n_columns), device=A.device)
    figures = torch.empty((2, n_columns), dtype=torch.float64, device=A.device)
    _solve_lists[(n_columns,)](
        lists.ends, lists.rows, lists.slope, lists.d, rho, r, image, p, xp, b, X.indptr, X.indices, X.values, W, own,
        A, S, figures, n_columns, tol, forcing, max_products,
        LEAST=LEAST, ROUNDING=ROUNDING, DOCUMENTS=_DOCUMENTS, NON_ZEROS=_NON_ZEROS, num_warps=_WARPS,
    )  # fmt: skip
    return b, rho, W, figures[0], figures[1]


@triton.jit
def _along(ends, row, b, rho, S, XB, figures, n_columns, LIST: tl.constexpr):
    column = tl.program_id(0)
    last = tl.load(ends + 2 * column + 2)
    slope = tl.zeros((), tl.float32)
    bent = tl.zeros((), tl.float32)
    fall = tl.zeros((), tl.float32)
    for k in range(tl.load(ends + 2 * column), last, LIST):
        here = k + tl.arange(0, LIST)
        inside = here < last
        at = tl.load(row + here, mask=inside, other=0).to(tl.int64) * n_columns + column
        way = tl.load(b + here, mask=inside, other=0.0)
        xb = tl.load(XB + at, mask=inside, other=0.0)
        slope += tl.sum(way * tl.load(S + at, mask=inside, other=0.0), axis=0)
        bent += tl.sum(way * xb, axis=0)
        fall += tl.sum(tl.load(rho + here, mask=inside, other=0.0) * xb, axis=0)
    tl.store(figures + column, slope.to(tl.float64))
    tl.store(figures + n_columns + column, bent.to(tl.float64))
    tl.store(figures + 2 * n_columns + column, fall.to(tl.float64))


def along(lists: PairLists, b: Tensor, rho: Tensor, S: Tensor, XB: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    figures = torch.empty((3, S.shape[1]), dtype=torch.float64, device=S.device)
    _along[(S.shape[1],)](lists.ends, lists.rows, b, rho, S, XB, figures, S.shape[1], LIST=_LIST)
    return figures[0], figures[1], figures[2]


@triton.jit
def _accept(ends, row, t, b, A, n_columns, LIST: tl.constexpr):
    column = tl.program_id(0)
    last = tl.load(ends + 2 * column + 2)
    length = tl.load(t + column).to(tl.float32)
    for k in range(tl.load(ends + 2 * column), last, LIST):
        here = k + tl.arange(0, LIST)
        inside = here < last
        at = A + tl.load(row + here, mask=inside, other=0).to(tl.int64) * n_columns + column
        way = tl.load(b + here, mask=inside, other=0.0)
        tl.store(at, tl.load(at, mask=inside, other=0.0) + length * way, mask=inside)


def accept(lists: PairLists, t: Tensor, b: Tensor, XB: Tensor, A: Tensor, S: Tensor) -> None:
    """a += t b and s += t xb."""
    _accept[(A.shape[1],)](lists.ends, lists.rows, t, b, A, A.shape[1], LIST=_LIST)
    S.addcmul_(t.to(S.dtype), XB)
