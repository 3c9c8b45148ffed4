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

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from linnaeus.models.gpu.documents import Tensor

__all__ = ["Newton", "ScaledVectors", "System", "Vectors", "bend", "conjugate_gradients", "dots", "follow", "turn"]


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
        vectors = _DualVectors(self._apply, rho, image, D)
        fall = conjugate_gradients(vectors, dots(rho, image), target, max_products)
        return vectors.B, vectors.XB, fall

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


class Vectors(Protocol):
    """The arrays of conjugate gradients: a direction, the residual and what it is preconditioned to, the solution."""

    overlaps: bool  # whether `turn` is cheap enough to run while the device tells that it is finished

    def bend(self) -> Tensor:
        """<direction, H direction>."""

    def follow(self, length: Tensor) -> Tensor:
        """A step along the direction; returns <residual, preconditioned residual>."""

    def turn(self, share: Tensor) -> Tensor:
        """The next direction, with ``share`` of the one before; returns its `bend`."""


def conjugate_gradients(vectors: Vectors, gamma: Tensor, target: Tensor, max_products: int) -> Tensor:
    """Steps until ``gamma``, the squared norm of the residual, is ``target``; how steeply the objective falls.

    Both are numbers for every column, or one for all; columns that are done rest.
    """
    fall = torch.zeros_like(gamma)
    curvature = vectors.bend()
    for _ in range(max_products):
        length = torch.where(gamma > target, gamma / curvature.clamp(min=_TINY), 0)
        fall += length * gamma
        before, gamma = gamma, vectors.follow(length)
        done = _Flag((gamma <= target).all())
        if not vectors.overlaps and done:
            break
        curvature = vectors.turn(gamma / before.clamp(min=_TINY))
        if vectors.overlaps and done:  # asked for only now: the device turns while the answer travels
            break
    return fall


class _DualVectors:
    """Directions p and X K X'p in dual variables, with fused operations; changes ``rho`` and ``image``."""

    overlaps = True

    def __init__(self, apply: Callable[[Tensor], Tensor], rho: Tensor, image: Tensor, D: Tensor) -> None:
        self.apply, self.rho, self.image, self.D = apply, rho, image, D
        self.way, self.image_of_way = rho.clone(), image
        self.B, self.XB = torch.zeros_like(rho), torch.zeros_like(rho)

    def bend(self) -> Tensor:
        return bend(self.way, self.image_of_way, self.D)

    def follow(self, length: Tensor) -> Tensor:
        follow(length, self.way, self.image_of_way, self.D, self.B, self.XB, self.rho)
        self.image = self.apply(self.rho)
        return dots(self.rho, self.image)

    def turn(self, share: Tensor) -> Tensor:
        return turn(share, self.rho, self.image, self.D, self.way, self.image_of_way)


class ScaledVectors:
    """Directions of a matrix H, preconditioned by a diagonal ``scale``; all columns are one problem."""

    overlaps = False

    def __init__(self, times: Callable[[Tensor], Tensor], right: Tensor, scale: Tensor) -> None:
        self.times, self.residual, self.scale = times, right.clone(), scale
        self.image = right * scale
        self.way, self.x = self.image.clone(), torch.zeros_like(right)

    def gamma(self) -> Tensor:
        """<residual, scaled residual>."""
        return (self.residual * self.image).sum()

    def bend(self) -> Tensor:
        self.H = self.times(self.way)
        return (self.way * self.H).sum()

    def follow(self, length: Tensor) -> Tensor:
        self.x += length * self.way
        self.residual -= length * self.H
        self.image = self.residual * self.scale
        return self.gamma()

    def turn(self, share: Tensor) -> Tensor:
        self.way = self.image + share * self.way
        return self.bend()


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
