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

    residual  losses, <a, s>, rho = -(a + r) and d, from scores (`columns`)
    curve     <r, xr> and <xr, r + d xr> of every column, in float64
    advance   p = r + beta p,  xp = xr + beta xp,  then  b += t p,  xb += t xp,  r -= t (p + d xp)
    accept    a += t b,  s += t xb

beta and t are numbers for every column. On CUDA these are Triton kernels (`triton_kernels`), which read and write each
array once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import torch

from linnaeus.models.gpu.documents import Tensor
from linnaeus.models.gpu.recorded import Flag, Piece, Steps, finished

__all__ = [
    "ConjugateGradients",
    "LineSearch",
    "Newton",
    "Pieces",
    "ScaledVectors",
    "System",
    "Vectors",
    "accept",
    "advance",
    "along",
    "converge",
    "curve",
    "dots",
    "set_out",
]


def _fused(a: Tensor) -> bool:
    return a.is_cuda and a.dtype == torch.float32


def dots(a: Tensor, b: Tensor) -> Tensor:
    """<a, b> of every column."""
    if _fused(a):
        from linnaeus.models.gpu import triton_kernels

        return triton_kernels.dots(a, b)
    return (a * b).sum(0, dtype=torch.float64)


def curve(r: Tensor, xr: Tensor, d: Tensor) -> tuple[Tensor, Tensor]:
    """<r, xr> and <xr, r + d xr> of every column."""
    if _fused(r):
        from linnaeus.models.gpu import triton_kernels

        return triton_kernels.curve(r, xr, d)
    return dots(r, xr), dots(xr, torch.addcmul(r, d, xr))


def set_out(t: Tensor, r: Tensor, xr: Tensor, d: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The first step, of length t along r: (a copy of r, t r, t xr); r -= t (r + d xr)."""
    if _fused(r):
        from linnaeus.models.gpu import triton_kernels

        return triton_kernels.set_out(t, r, xr, d)
    t, p = t.to(r.dtype), r.clone()
    r.addcmul_(t, torch.addcmul(p, d, xr), value=-1)
    return p, t * p, t * xr


def advance(
    beta: Tensor, t: Tensor, r: Tensor, xr: Tensor, d: Tensor, p: Tensor, xp: Tensor, b: Tensor, xb: Tensor
) -> None:
    """The next direction, in p and xp, and a step of length t along it, in b, xb and r."""
    if _fused(r):
        from linnaeus.models.gpu import triton_kernels

        triton_kernels.advance(beta, t, r, xr, d, p, xp, b, xb)
        return
    beta, t = beta.to(r.dtype), t.to(r.dtype)
    p.mul_(beta).add_(r)
    xp.mul_(beta).add_(xr)
    b.addcmul_(t, p)
    xb.addcmul_(t, xp)
    r.addcmul_(t, torch.addcmul(p, d, xp), value=-1)


def along(b: Tensor, xb: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
    """<b, s> and <b, xb> of every column."""
    if _fused(b):
        from linnaeus.models.gpu import triton_kernels

        return triton_kernels.along(b, xb, s)
    return dots(b, s), dots(b, xb)


def accept(t: Tensor, b: Tensor, xb: Tensor, a: Tensor, s: Tensor) -> None:
    """a += t b and s += t xb."""
    if _fused(b):
        from linnaeus.models.gpu import triton_kernels

        triton_kernels.accept(t, b, xb, a, s)
        return
    t = t.to(a.dtype)
    a.addcmul_(t, b)
    s.addcmul_(t, xb)


ARMIJO = 1e-4
TINY = 1e-300
LEAST = 1e-4  # curvature of a direction over that of the residual: what is less is rounding


class System(Protocol):
    """What Newton's method needs to know of a problem."""

    @property
    def rounded(self) -> bool:
        """Whether products are of rounded operands."""

    def apply(self, rho: Tensor) -> Tensor:
        """X K X' rho."""

    def losses(self, S: Tensor, XB: Tensor, t: Tensor) -> Tensor:
        """Losses of every column at scores S + t XB, in float64."""

    def residual(self, S: Tensor, A: Tensor, own: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """(losses of every column, <A, own>, -(A + R), D) at scores S; ``own`` are those of A."""


class Pieces(NamedTuple):
    """The pieces of a Newton step that come after `Newton.begin`, as its methods or recorded."""

    set_out: Piece
    look: Piece
    advance: Piece
    arrive: Piece
    shorten: Piece
    accept: Piece


class LineSearch:
    """The end of a Newton step: lengths t of all columns along a direction, halved until no objective rises.

    ``halvings`` are made before a column rests, ``rounding`` is how far sums of float32 waver, part of an objective.
    """

    halvings: int
    rounding: float
    system: System
    scores: Tensor
    XB: Tensor
    t: Tensor
    rises: Tensor
    energy: Tensor
    slope: Tensor
    bent: Tensor
    fall: Tensor
    objective: Tensor
    risen: Flag
    moves: Flag

    def search(self, shorten: Piece) -> Steps[bool]:
        """Shorten lengths until nothing rises, which ends when they are 0; False if no column moves."""
        while True:
            risen = self.risen.sent()
            yield
            if not risen:
                return self.moves.known
            shorten()

    def shorten(self) -> None:
        """Halve the lengths of columns whose objective rose, at last to 0, and try again."""
        halved = (0.5 * self.t).masked_fill(self.t < 0.5**self.halvings, 0)
        self.t.copy_(torch.where(self.rises, halved, self.t))
        self.rises.copy_(self._rises())

    def _rises(self) -> Tensor:
        """Whether objectives rise by the lengths; a column with length 0 does not."""
        t = self.t
        new = 0.5 * (self.energy + 2 * t * self.slope + t**2 * self.bent)
        new += self.system.losses(self.scores, self.XB, t)
        rises = new > self.objective - ARMIJO * t * self.fall + self.rounding * self.objective.abs()
        rises &= t > 0
        self.moves.put((t > 0).any())
        self.risen.put(rises.any())
        return rises


class Newton(LineSearch):
    """The iteration: dual variables A and scores S = X W, both changed in place, and where it stands.

    A step is made of pieces between which the host decides (`recorded`): `begin`, `set_out`, `look` and `advance`
    until the direction is good enough, `arrive`, `shorten` until the objective falls, and `accept`. Columns that are
    solved rest.
    """

    halvings, rounding = 30, 1e-7

    def __init__(
        self, system: System, A: Tensor, S: Tensor, centre: Tensor | None = None, *, n_steps: int = 0, tol: float = 0.0,
        forcing: float = 0.1, max_products: int = 40,
    ) -> None:  # fmt: skip
        self.system, self.A, self.S = system, A, S
        self.centre = centre  # scores that do not depend on A; S is beside them
        self.n_steps, self.n_products = n_steps, 0  # pairs of products with X' and X
        self.tol, self.forcing, self.max_products = tol, forcing, max_products
        self.solved, self.close, self.risen, self.moves = (Flag(A.device) for _ in range(4))
        self.recorded: Pieces | None = None

    @property
    def pieces(self) -> Pieces:
        """What a step runs after `begin`; bound methods are not kept, which would keep the arrays alive."""
        return self.recorded or Pieces(self.set_out, self.look, self.advance, self.arrive, self.shorten, self.accept)

    def keep(self, pieces: list[Piece]) -> None:
        """Run these recordings of `pieces` from now on."""
        self.recorded = Pieces(*pieces)

    def run(
        self, tol: float, max_steps: int, *, forcing: float = 0.1, max_products: int = 40, measure: bool = True
    ) -> tuple[Tensor, Tensor]:
        """Steps until every gap is ``tol`` of its objective; (objective, gap) of every column.

        A direction is followed until its residual is ``forcing`` of the gradient. Without ``measure`` figures are those
        before the last step.
        """
        self.tol, self.forcing, self.max_products = tol, forcing, max_products
        while True:
            self.begin(self.S if self.centre is None else self.S + self.centre)
            objective, gap = self.objective, self.gap
            if self.n_steps >= max_steps or self.solved.sent():
                break
            if not finished(self.finish_step()) or (not measure and self.n_steps >= max_steps):
                break
        self.forget()
        return objective, gap

    def finish_step(self) -> Steps[bool]:
        """What comes after `begin`; False if no column moved."""
        pieces = self.pieces
        self.n_products += 1
        pieces.set_out()
        for _ in range(self.max_products):
            pieces.look()
            self.n_products += 1
            close = self.close.sent()
            yield
            if close:
                break
            pieces.advance()
        pieces.arrive()
        moved = yield from self.search(pieces.shorten)
        pieces.accept()
        self.n_steps += moved
        self.forget()
        return moved

    def begin(self, scores: Tensor) -> None:
        """Objective, gap, residual and curvatures where it stands, and the length of a first step."""
        self.scores = scores
        losses, self.energy, self.rho, self.D = self.system.residual(scores, self.A, self.S)
        self.objective = 0.5 * self.energy + losses
        self.image_of_way = self.system.apply(self.rho)
        self.gamma, curvature = curve(self.rho, self.image_of_way, self.D)
        self.gap = 0.5 * self.gamma
        solved = self.gap <= self.tol * self.objective
        self.solved.put(solved.all())
        self.target = (self.forcing**2 * self.gamma).masked_fill(solved, torch.inf)
        self.length = self._length(self.gamma, curvature)
        self.share, self.fall = torch.zeros_like(self.gamma), torch.zeros_like(self.gamma)

    def set_out(self) -> None:
        """The first step of conjugate gradients."""
        self.way, self.B, self.XB = set_out(self.length, self.rho, self.image_of_way, self.D)
        self.fall += self.length * self.gamma

    def look(self) -> None:
        """After a step: the residual's image, and the share and length of the next direction.

        The curvature <p, H p> of the next direction p = r + beta p' follows from that of r, <r, H r> - beta gamma / t',
        so that one pass tells both: the recurrence of Chronopoulos and Gear, which rounded products would not keep.
        """
        self.image = self.system.apply(self.rho)
        gamma, curvature = curve(self.rho, self.image, self.D)
        torch.div(gamma, self.gamma.clamp(min=TINY), out=self.share)
        if self.system.rounded:
            share = self.share.to(self.rho.dtype)
            image = torch.addcmul(self.image, share, self.image_of_way)
            bent = dots(image, torch.addcmul(torch.addcmul(self.rho, share, self.way), self.D, image))
        else:
            less = self.share * gamma / self.length.clamp(min=TINY)
            bent = torch.maximum(curvature - less, LEAST * curvature)
        self.length.copy_(self._length(gamma, bent))
        self.gamma.copy_(gamma)
        self.close.put((gamma <= self.target).all())

    def advance(self) -> None:
        """Another step of conjugate gradients."""
        way = self.way, self.image_of_way, self.B, self.XB
        advance(self.share, self.length, self.rho, self.image, self.D, *way)
        self.fall += self.length * self.gamma

    def _length(self, gamma: Tensor, curvature: Tensor) -> Tensor:
        """Of a step; 0 where the target is reached."""
        return (gamma / curvature.clamp(min=TINY)).masked_fill(~(gamma > self.target), 0)

    def arrive(self) -> None:
        """Try the whole direction."""
        self.slope, self.bent = along(self.B, self.XB, self.S)
        self.t = torch.ones_like(self.objective)
        self.rises = self._rises()

    def accept(self) -> None:
        """Go along the direction."""
        accept(self.t, self.B, self.XB, self.A, self.S)

    def forget(self) -> None:
        """Let go of the arrays of a step."""
        for name in ("scores", "rho", "image_of_way", "D", "way", "B", "XB", "image"):
            self.__dict__.pop(name, None)


class Vectors(Protocol):
    """The arrays of conjugate gradients: a direction, the residual and what it is preconditioned to, the solution.

    They are changed in place.
    """

    def bend(self) -> Tensor:
        """<direction, H direction>."""

    def follow(self, length: Tensor) -> Tensor:
        """A step along the direction; the squared norm of the residual after it."""

    def turn(self, share: Tensor) -> Tensor:
        """The next direction, with ``share`` of the one before; returns its `bend`."""


class ConjugateGradients:
    """Steps until ``gamma``, the squared norm of the residual, is ``target``, which ``close`` tells.

    Both are numbers for every column, or one for all; columns that are done rest. ``fall`` says how steeply the
    objective falls along the solution.
    """

    def __init__(self, vectors: Vectors, gamma: Tensor, target: Tensor, close: Flag) -> None:
        self.vectors, self.gamma, self.target, self.close = vectors, gamma.clone(), target, close
        self.fall, self.share = torch.zeros_like(gamma), torch.zeros_like(gamma)
        self.curvature = vectors.bend()

    def follow(self) -> None:
        length = (self.gamma / self.curvature.clamp(min=TINY)).masked_fill(~(self.gamma > self.target), 0)
        self.fall += length * self.gamma
        gamma = self.vectors.follow(length)
        torch.div(gamma, self.gamma.clamp(min=TINY), out=self.share)
        self.gamma.copy_(gamma)
        self.close.put((gamma <= self.target).all())

    def turn(self) -> None:
        self.curvature.copy_(self.vectors.turn(self.share))


def converge(follow: Piece, turn: Piece, close: Flag, max_products: int) -> None:
    """Run the pieces of conjugate gradients."""
    for _ in range(max_products):
        follow()
        if close.sent():
            break
        turn()


class ScaledVectors:
    """Directions of a matrix H, preconditioned by a diagonal ``scale``; all columns are one problem."""

    def __init__(self, times: Callable[[Tensor], Tensor], right: Tensor, scale: Tensor) -> None:
        self.times, self.residual, self.scale = times, right.clone(), scale
        self.image = right * scale
        self.way, self.x = self.image.clone(), torch.zeros_like(right)
        self.H = torch.empty_like(right)

    def gamma(self) -> Tensor:
        """<residual, scaled residual>."""
        return (self.residual * self.image).sum()

    def bend(self) -> Tensor:
        self.H.copy_(self.times(self.way))
        return (self.way * self.H).sum()

    def follow(self, length: Tensor) -> Tensor:
        self.x += length * self.way
        self.residual -= length * self.H
        torch.mul(self.residual, self.scale, out=self.image)
        return self.gamma()

    def turn(self, share: Tensor) -> Tensor:
        self.way.mul_(share).add_(self.image)
        return self.bend()
