"""Newton's method by conjugate gradients for regularised linear models, written in dual variables.

Weights are W = K X'A, with K the inverse of the regulariser's matrix (a number for every label here) and A (documents x
labels) dual variables. With S = X W and R, D the first and second derivatives of the losses by the scores,

    gradient of the objective       X'(A + R)
    objective                       1/2 <A, S> + sum of the losses
    gap to a feasible dual point    1/2 <A + R, X K X'(A + R)>       at alpha = -R: a certificate with every step
    Newton direction B              (1 + D o X K X') B = -(A + R),   conjugate gradients preconditioned by K

All vectors have the shape of the scores. One product with X', one with K, one with X is what an iteration costs; the
Hessian's own product needs none, since X (K X'p) is carried along. Nothing of size features x labels is ever kept.

Columns are problems of their own, in lock-step: sums, lengths and gaps are numbers for every column, and columns that
are done rest. What conjugate gradients do to arrays takes one pass over memory each:

    dots      <a, b> of every column, in float64
    follow    b += t p,  xb += t xp,  r -= t (p + d xp)
    turn      p = r + t p,  xp = xr + t xp,  and <xp, p + d xp> of every column for the next step

t is a number for every column, or one for all. On CUDA these are Triton kernels (`triton_kernels`), which read and
write each array once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from linnaeus.models.gpu.documents import Tensor

__all__ = ["Newton", "System", "bend", "dots", "follow", "turn"]


def _fused(a: Tensor) -> bool:
    return a.is_cuda and a.dtype == torch.float32


def dots(a: Tensor, b: Tensor) -> Tensor:
    """<a, b> of every column."""
    if _fused(a):
        from linnaeus.models.gpu import triton_kernels

        return triton_kernels.dots(a, b)
    return (a * b).sum(0, dtype=torch.float64)


def bend(p: Tensor, xp: Tensor, d: Tensor) -> Tensor:
    """<xp, p + d xp> of every column."""
    if _fused(p):
        from linnaeus.models.gpu import triton_kernels

        return triton_kernels.bend(p, xp, d)
    return (xp * torch.addcmul(p, d, xp)).sum(0, dtype=torch.float64)


def follow(t: Tensor, p: Tensor, xp: Tensor, d: Tensor, b: Tensor, xb: Tensor, r: Tensor) -> None:
    """A step of length t along p."""
    if _fused(p):
        from linnaeus.models.gpu import triton_kernels

        triton_kernels.follow(t, p, xp, d, b, xb, r)
        return
    t = t.to(p.dtype)
    b.addcmul_(t, p)
    xb.addcmul_(t, xp)
    r.addcmul_(t, torch.addcmul(p, d, xp), value=-1)


def turn(t: Tensor, r: Tensor, xr: Tensor, d: Tensor, p: Tensor, xp: Tensor) -> Tensor:
    """The next direction, in p and xp; returns its `bend`."""
    if _fused(p):
        from linnaeus.models.gpu import triton_kernels

        return triton_kernels.turn(t, r, xr, d, p, xp)
    t = t.to(p.dtype)
    p.mul_(t).add_(r)
    xp.mul_(t).add_(xr)
    return bend(p, xp, d)


_ARMIJO, _HALVINGS = 1e-4, 30
_TINY = 1e-300


class System(Protocol):
    """What Newton's method needs to know of a problem."""

    def apply(self, rho: Tensor) -> Tensor:
        """X K X' rho."""

    def losses(self, S: Tensor) -> Tensor:
        """Losses of every column, in float64."""

    def derivatives(self, S: Tensor) -> tuple[Tensor, Tensor]:
        """(first, second) derivatives by the scores."""


@dataclass
class Newton:
    """The iteration: dual variables A, scores S = X W, and where it stands."""

    system: System
    A: Tensor
    S: Tensor
    centre: Tensor | None = None  # scores that do not depend on A; S is beside them
    n_steps: int = 0
    n_products: int = 0  # pairs of products with X' and X

    def run(
        self, tol: float, max_steps: int, *, forcing: float = 0.1, max_products: int = 40, measure: bool = True
    ) -> tuple[Tensor, Tensor]:
        """Steps until every gap is ``tol`` of its objective; (objective, gap) of every column.

        A direction is followed until its residual is ``forcing`` of the gradient. Without ``measure`` figures are those
        before the last step.
        """
        system = self.system
        while True:
            scores = self._scores(self.S)
            objective = 0.5 * dots(self.A, self.S) + system.losses(scores)
            R, D = system.derivatives(scores)
            del scores
            rho = -(self.A + R)
            del R
            image = self._apply(rho)
            gamma = dots(rho, image)
            gap = 0.5 * gamma
            done = gap <= tol * objective
            if self.n_steps >= max_steps or bool(done.all()):
                return objective, gap
            B, XB, fall = self._direction(rho, image, D, torch.where(done, torch.inf, forcing**2 * gamma), max_products)
            del rho, image, D
            if not self._move(objective, fall, B, XB):
                return objective, gap
            self.n_steps += 1
            if not measure and self.n_steps >= max_steps:
                return objective, gap

    def _scores(self, S: Tensor) -> Tensor:
        return S if self.centre is None else S + self.centre

    def _apply(self, rho: Tensor) -> Tensor:
        self.n_products += 1
        return self.system.apply(rho)

    def _direction(
        self, rho: Tensor, image: Tensor, D: Tensor, target: Tensor, max_products: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(B, X K X'B, how steeply the objective falls along it); changes ``rho`` and ``image``.

        Columns whose squared residual is below ``target`` rest.
        """
        gamma = dots(rho, image)
        fall = torch.zeros_like(gamma)
        way, image_of_way = rho.clone(), image
        B, XB = torch.zeros_like(rho), torch.zeros_like(rho)
        curvature = bend(way, image_of_way, D)
        for _ in range(max_products):
            length = torch.where(gamma > target, gamma / curvature.clamp(min=_TINY), 0)
            fall += length * gamma
            follow(length, way, image_of_way, D, B, XB, rho)
            image = self._apply(rho)
            before, gamma = gamma, dots(rho, image)
            done = _Flag((gamma <= target).all())
            share = gamma / before.clamp(min=_TINY)
            curvature = turn(share, rho, image, D, way, image_of_way)
            if done:  # asked for only now: the device turns while the answer travels
                break
        return B, XB, fall

    def _move(self, objective: Tensor, fall: Tensor, B: Tensor, XB: Tensor) -> bool:
        """Go along B, every column by a length of its own, halved until the objective falls; False if none moves."""
        a_s, b_s, b_b = dots(self.A, self.S), dots(B, self.S), dots(B, XB)
        length = torch.ones_like(objective)
        for _ in range(_HALVINGS):
            t = length.to(B.dtype)
            moved = torch.addcmul(self.S, t, XB)
            new = 0.5 * (a_s + 2 * length * b_s + length**2 * b_b) + self.system.losses(self._scores(moved))
            # Sums of float32 scores waver by about 1e-7 of the objective.
            risen = new > objective - _ARMIJO * length * fall + 1e-7 * objective.abs()
            if not bool(risen.any()):
                break
            length = torch.where(risen, 0.5 * length, length)
        else:
            length = torch.where(risen, 0.0, length)
            t = length.to(B.dtype)
            moved = torch.addcmul(self.S, t, XB)
        self.A.addcmul_(t, B)
        self.S = moved
        return bool((length > 0).any())


class _Flag:
    """A truth value on its way from the device; asking for it waits for no more than what came before it."""

    def __init__(self, value: Tensor) -> None:
        self._event, self._value = None, value
        if value.is_cuda:
            self._value = torch.empty((), dtype=torch.bool, pin_memory=True)
            self._value.copy_(value, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record()

    def __bool__(self) -> bool:
        if self._event is not None:
            self._event.synchronize()
        return bool(self._value)
