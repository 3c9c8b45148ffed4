"""Newton's method by conjugate gradients for regularised linear models, written in dual variables.

Weights are W = K X'A, with K the inverse of the regulariser's matrix (a number for every label here) and A (documents x
labels) dual variables. With S = X W and R, D the first and second derivatives of the losses by the scores,

    gradient of the objective       X'(A + R)
    objective                       1/2 <A, S> + sum of the losses
    gap to a feasible dual point    1/2 <A + R, X K X'(A + R)>       at alpha = -R: a certificate with every step
    Newton direction B              (1 + D o X K X') B = -(A + R),   conjugate gradients preconditioned by K

All vectors have the shape of the scores. One product with X', one with K, one with X is what an iteration costs; the
Hessian's own product needs none, since X (K X'p) is carried along. Nothing of size features x labels is ever kept.

Arrays come in lists, one per block of labels. ``total`` decides what is one problem: it gives a number for every
column where labels are independent, and one number where they are not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from linnaeus.models.gpu import vectors
from linnaeus.models.gpu.documents import Tensor

__all__ = ["Newton", "System"]

_ARMIJO, _HALVINGS = 1e-4, 30
_TINY = 1e-300


class System(Protocol):
    """What Newton's method needs to know of a problem."""

    def apply(self, rho: list[Tensor]) -> list[Tensor]:
        """X K X' rho."""

    def total(self, columns: list[Tensor]) -> Tensor:
        """Of a number for every column: these numbers, or their sum, whatever is one problem."""

    def losses(self, S: list[Tensor]) -> Tensor:
        """Losses, one number for each problem."""

    def derivatives(self, S: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """(first, second) derivatives by the scores."""


@dataclass
class Newton:
    """The iteration: dual variables A, scores S = X W, and where it stands."""

    system: System
    A: list[Tensor]
    S: list[Tensor]
    centre: list[Tensor] | None = None  # scores that do not depend on A; S is beside them
    n_steps: int = 0
    n_products: int = 0  # pairs of products with X' and X

    def run(
        self,
        tol: float,
        max_steps: int,
        *,
        forcing: float = 0.1,
        max_products: int = 40,
        measure: bool = True,
        go_on: Callable[[Tensor, Tensor], bool] = lambda objective, gap: True,
    ) -> tuple[Tensor, Tensor]:
        """Steps until every gap is ``tol`` of its objective; (objective, gap) as `System.total` shapes them.

        A direction is followed until its residual is ``forcing`` of the gradient. ``go_on`` hears (objective, gap)
        before every step and may end the iteration. Without ``measure`` figures are those before the last step.
        """
        system = self.system
        while True:
            scores = self._scores(self.S)
            objective = 0.5 * self._dot(self.A, self.S) + system.losses(scores)
            R, D = system.derivatives(scores)
            del scores
            rho = [-(a + r) for a, r in zip(self.A, R, strict=True)]
            del R
            image = self._apply(rho)
            gamma = self._dot(rho, image)
            gap = 0.5 * gamma
            done = gap <= tol * objective
            if self.n_steps >= max_steps or bool(done.all()) or not go_on(objective, gap):
                return objective, gap
            B, XB, fall = self._direction(rho, image, D, torch.where(done, torch.inf, forcing**2 * gamma), max_products)
            del rho, image, D
            if not self._move(objective, fall, B, XB):
                return objective, gap
            self.n_steps += 1
            if not measure and self.n_steps >= max_steps:
                return objective, gap

    def _scores(self, S: list[Tensor]) -> list[Tensor]:
        return S if self.centre is None else [s + c for s, c in zip(S, self.centre, strict=True)]

    def _apply(self, rho: list[Tensor]) -> list[Tensor]:
        self.n_products += 1
        return self.system.apply(rho)

    def _direction(
        self, rho: list[Tensor], image: list[Tensor], D: list[Tensor], target: Tensor, max_products: int
    ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """(B, X K X'B, how steeply the objective falls along it); changes ``rho`` and ``image``.

        Columns whose squared residual is below ``target`` rest.
        """
        total = self.system.total
        gamma = self._dot(rho, image)
        fall = torch.zeros_like(gamma)
        way, image_of_way = [x.clone() for x in rho], image
        B, XB = [torch.zeros_like(x) for x in rho], [torch.zeros_like(x) for x in rho]
        curvature = total([vectors.bend(*each) for each in zip(way, image_of_way, D, strict=True)])
        for _ in range(max_products):
            length = torch.where(gamma > target, gamma / curvature.clamp(min=_TINY), 0)
            fall += length * gamma
            for each in zip(way, image_of_way, D, B, XB, rho, strict=True):
                vectors.follow(length, *each)
            image = self._apply(rho)
            before, gamma = gamma, self._dot(rho, image)
            done = _Flag((gamma <= target).all())
            share = gamma / before.clamp(min=_TINY)
            found = [vectors.turn(share, *each) for each in zip(rho, image, D, way, image_of_way, strict=True)]
            curvature = total(found)
            if done:  # asked for only now: the device turns while the answer travels
                break
        return B, XB, fall

    def _dot(self, a: list[Tensor], b: list[Tensor]) -> Tensor:
        return self.system.total([vectors.dots(x, y) for x, y in zip(a, b, strict=True)])

    def _move(self, objective: Tensor, fall: Tensor, B: list[Tensor], XB: list[Tensor]) -> bool:
        """Go along B, every problem by a length of its own, halved until the objective falls; False if none moves."""
        a_s, b_s, b_b = self._dot(self.A, self.S), self._dot(B, self.S), self._dot(B, XB)
        length = torch.ones_like(objective)
        for _ in range(_HALVINGS):
            t = length.to(B[0].dtype)
            moved = [torch.addcmul(s, t, xb) for s, xb in zip(self.S, XB, strict=True)]
            new = 0.5 * (a_s + 2 * length * b_s + length**2 * b_b) + self.system.losses(self._scores(moved))
            # Sums of float32 scores waver by about 1e-7 of the objective.
            risen = new > objective - _ARMIJO * length * fall + 1e-7 * objective.abs()
            if not bool(risen.any()):
                break
            length = torch.where(risen, 0.5 * length, length)
        else:
            length = torch.where(risen, 0.0, length)
            t = length.to(B[0].dtype)
            moved = [torch.addcmul(s, t, xb) for s, xb in zip(self.S, XB, strict=True)]
        for a, b in zip(self.A, B, strict=True):
            a.addcmul_(t, b)
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
