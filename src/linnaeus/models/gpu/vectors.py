"""What conjugate gradients do to arrays of the shape of the scores, each in one pass over memory.

    dots      <a, b> of every column, in float64
    follow    b += t p,  xb += t xp,  r -= t (p + d xp)
    turn      p = r + t p,  xp = xr + t xp,  and <xp, p + d xp> of every column for the next step

t is a number for every column, or one for all. On CUDA these are Triton kernels (`triton_vectors`), which read and
write each array once; here is what they compute.
"""

from __future__ import annotations

import torch

from linnaeus.models.gpu.documents import Tensor

__all__ = ["bend", "dots", "follow", "turn"]


def _fused(a: Tensor) -> bool:
    return a.is_cuda and a.dtype == torch.float32


def dots(a: Tensor, b: Tensor) -> Tensor:
    """<a, b> of every column."""
    if _fused(a):
        from linnaeus.models.gpu import triton_vectors

        return triton_vectors.dots(a, b)
    return (a * b).sum(0, dtype=torch.float64)


def bend(p: Tensor, xp: Tensor, d: Tensor) -> Tensor:
    """<xp, p + d xp> of every column."""
    if _fused(p):
        from linnaeus.models.gpu import triton_vectors

        return triton_vectors.bend(p, xp, d)
    return (xp * torch.addcmul(p, d, xp)).sum(0, dtype=torch.float64)


def follow(t: Tensor, p: Tensor, xp: Tensor, d: Tensor, b: Tensor, xb: Tensor, r: Tensor) -> None:
    """A step of length t along p."""
    if _fused(p):
        from linnaeus.models.gpu import triton_vectors

        triton_vectors.follow(t, p, xp, d, b, xb, r)
        return
    t = t.to(p.dtype)
    b.addcmul_(t, p)
    xb.addcmul_(t, xp)
    r.addcmul_(t, torch.addcmul(p, d, xp), value=-1)


def turn(t: Tensor, r: Tensor, xr: Tensor, d: Tensor, p: Tensor, xp: Tensor) -> Tensor:
    """The next direction, in p and xp; returns its `bend`."""
    if _fused(p):
        from linnaeus.models.gpu import triton_vectors

        return triton_vectors.turn(t, r, xr, d, p, xp)
    t = t.to(p.dtype)
    p.mul_(t).add_(r)
    xp.mul_(t).add_(xr)
    return bend(p, xp, d)
