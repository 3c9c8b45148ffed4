"""The operations of `vectors` in Triton. A program takes some rows of a tile of columns; sums are added up after."""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl

from linnaeus.models.gpu.documents import Tensor

__all__ = ["bend", "dots", "follow", "losses", "slopes", "turn"]

_TILE, _ROWS, _PER_PROGRAM = 128, 8, 64  # columns; rows at a time; rows of a program


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


def _sizes(a: Tensor) -> dict[str, Any]:
    return {"n_rows": a.shape[0], "n_columns": a.shape[1], "TILE": _TILE, "ROWS": _ROWS, "PER": _PER_PROGRAM}


def _sums(a: Tensor) -> Tensor:
    return torch.empty((_grid(a)[1], a.shape[1]), device=a.device)


def _spread(t: Tensor, a: Tensor) -> tuple[Tensor, int]:
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
    _follow[_grid(p)](*_spread(t, p), p, xp, d, b, xb, r, **_sizes(p))


def turn(t: Tensor, r: Tensor, xr: Tensor, d: Tensor, p: Tensor, xp: Tensor) -> Tensor:
    sums = _sums(p)
    _turn[_grid(p)](*_spread(t, p), r, xr, d, p, xp, sums, **_sizes(p))
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
