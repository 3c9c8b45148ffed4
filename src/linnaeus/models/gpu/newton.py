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
from typing import NamedTuple, Protocol

import torch

from linnaeus.models.gpu.documents import Tensor
from linnaeus.models.gpu.recorded import Flag, Piece

__all__ = [
    "ConjugateGradients",
    "Newton",
    "Pieces",
    "ScaledVectors",
    "System",
    "Vectors",
    "bend",
    "converge",
    "dots",
    "follow",
    "turn",
]


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


class Pieces(NamedTuple):
    """The pieces of a Newton step that repeat or depend on a flag, as methods of `Newton` or recorded."""

    follow: Piece
    turn: Piece
    arrive: Piece
    shorten: Piece
    accept: Piece


class Newton:
    """The iteration: dual variables A and scores S = X W, both changed in place, and where it stands.

    A step is made of pieces between which the host decides (`recorded`): `begin` and `aim`, then `follow` and `turn`
    until the direction is good enough, `arrive`, `shorten` until the objective falls, and `accept`.
    """

    def __init__(
        self, system: System, A: Tensor, S: Tensor, centre: Tensor | None = None, *, n_steps: int = 0, tol: float = 0.0,
        forcing: float = 0.1,
    ) -> None:  # fmt: skip
        self.system, self.A, self.S = system, A, S
        self.centre = centre  # scores that do not depend on A; S is beside them
        self.n_steps, self.n_products = n_steps, 0  # pairs of products with X' and X
        self.tol, self.forcing = tol, forcing
        self.solved, self.close, self.risen, self.moves = (Flag(A.device) for _ in range(4))
        self.pieces = Pieces(self.follow, self.turn, self.arrive, self.shorten, self.accept)

    def run(
        self, tol: float, max_steps: int, *, forcing: float = 0.1, max_products: int = 40, measure: bool = True
    ) -> tuple[Tensor, Tensor]:
        """Steps until every gap is ``tol`` of its objective; (objective, gap) of every column.

        A direction is followed until its residual is ``forcing`` of the gradient. Without ``measure`` figures are those
        before the last step.
        """
        self.tol, self.forcing = tol, forcing
        while True:
            self.begin()
            objective, gap = self.objective, self.gap
            if self.n_steps >= max_steps or self.solved.sent():
                break
            self.aim()
            if not self.finish_step(max_products) or (not measure and self.n_steps >= max_steps):
                break
        self.forget()
        return objective, gap

    def finish_step(self, max_products: int) -> bool:
        """What comes after `aim`; False if no column moved."""
        pieces = self.pieces
        self.n_products += 1 + converge(pieces.follow, pieces.turn, self.close, max_products, overlaps=True)
        pieces.arrive()
        while self.risen.sent():  # ends: lengths become 0, where nothing rises
            pieces.shorten()
        moved = bool(self.moves.sent())
        pieces.accept()
        self.n_steps += moved
        self.forget()
        return moved

    def begin(self) -> None:
        """Objective, gap, residual and curvatures where it stands."""
        scores = self._scores(self.S)
        self.energy = dots(self.A, self.S)
        self.objective = 0.5 * self.energy + self.system.losses(scores)
        R, self.D = self.system.derivatives(scores)
        del scores
        self.rho = R.add_(self.A).neg_()
        self.image = self.system.apply(self.rho)
        self.gamma = dots(self.rho, self.image)
        self.gap = 0.5 * self.gamma
        self.solved.put((self.gap <= self.tol * self.objective).all())

    def aim(self) -> None:
        """Begin conjugate gradients; columns that are solved rest."""
        target = (self.forcing**2 * self.gamma).masked_fill(self.gap <= self.tol * self.objective, torch.inf)
        self.vectors = _DualVectors(self.system.apply, self.rho, self.image, self.D)
        self.directions = ConjugateGradients(self.vectors, self.gamma, target, self.close)

    def follow(self) -> None:
        """A step of conjugate gradients."""
        self.directions.follow()

    def turn(self) -> None:
        """Their next direction."""
        self.directions.turn()

    def arrive(self) -> None:
        """Try the whole direction."""
        B, XB = self.vectors.B, self.vectors.XB
        self.slope, self.bent = dots(B, self.S), dots(B, XB)
        self.length = torch.ones_like(self.objective)
        self.rises = self._rises()

    def shorten(self) -> None:
        """Halve the lengths of columns whose objective rose, at last to 0, and try again."""
        halved = (0.5 * self.length).masked_fill(self.length < 0.5**_HALVINGS, 0)
        self.length.copy_(torch.where(self.rises, halved, self.length))
        self.rises.copy_(self._rises())

    def accept(self) -> None:
        """Go along the direction."""
        t = self.length.to(self.A.dtype)
        self.A.addcmul_(t, self.vectors.B)
        self.S.addcmul_(t, self.vectors.XB)

    def forget(self) -> None:
        """Let go of the arrays of a step."""
        for name in ("rho", "image", "D", "vectors", "directions"):
            self.__dict__.pop(name, None)

    def _rises(self) -> Tensor:
        """Whether objectives rise by the lengths; sums of float32 scores waver by about 1e-7 of them."""
        t = self.length.to(self.A.dtype)
        losses = self.system.losses(self._scores(torch.addcmul(self.S, t, self.vectors.XB)))
        new = 0.5 * (self.energy + 2 * self.length * self.slope + self.length**2 * self.bent) + losses
        rises = new > self.objective - _ARMIJO * self.length * self.directions.fall + 1e-7 * self.objective.abs()
        self.risen.put(rises.any())
        self.moves.put((self.length > 0).any())
        return rises

    def _scores(self, S: Tensor) -> Tensor:
        return S if self.centre is None else S + self.centre


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
        length = (self.gamma / self.curvature.clamp(min=_TINY)).masked_fill(~(self.gamma > self.target), 0)
        self.fall += length * self.gamma
        gamma = self.vectors.follow(length)
        torch.div(gamma, self.gamma.clamp(min=_TINY), out=self.share)
        self.gamma.copy_(gamma)
        self.close.put((gamma <= self.target).all())

    def turn(self) -> None:
        self.curvature.copy_(self.vectors.turn(self.share))


def converge(follow: Piece, turn: Piece, close: Flag, max_products: int, *, overlaps: bool) -> int:
    """Run conjugate gradients; the number of products. ``overlaps``: turning is cheap, and need not wait for the flag."""
    for n_products in range(1, max_products + 1):
        follow()
        close.sent()
        if not overlaps and close:
            break
        turn()
        if overlaps and close:  # asked for only now: the device turns while the answer travels
            break
    return n_products


class _DualVectors:
    """Directions p and X K X'p in dual variables, with fused operations; changes ``rho`` and ``image``."""

    def __init__(self, apply: Callable[[Tensor], Tensor], rho: Tensor, image: Tensor, D: Tensor) -> None:
        self.apply, self.rho, self.D = apply, rho, D
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
