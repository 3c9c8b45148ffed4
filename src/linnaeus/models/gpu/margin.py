"""Newton steps of the squared hinge on lists of the pairs of documents and labels within the margin.

At the end less than a hundredth of the pairs of a block have a loss. Beyond the margin a pair has no second derivative,
and Newton's equation (1 + D o X K X') B = -(A + R) of `newton` leaves no choice: B = -A, and its dual variable is 0.
What is left is a system of the pairs within the margin alone, and all vectors of conjugate gradients are lists:

    pairs     those within the margin, or with a dual variable, ordered by label, then by document
    begin     b = rho where d = 0; r = rho - d X K X'b where d > 0
    steps     as in `newton`, with X'r of every label kept beside it and changed by what r changes by
    until     1/2 <r, X K X'r>, a bound on what the model may still fall by, is part of what it fell by
    end       X'b, whose product with X says how all scores move

On CUDA one kernel does all of this for a block of labels (`triton_lists`): a program takes a label through all steps,
and the host waits for none of them. Elsewhere products over all pairs stand for sums over lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch

from linnaeus.models.gpu.columns import LabelColumns, LossPairs
from linnaeus.models.gpu.documents import SparseRows, Tensor, product
from linnaeus.models.gpu.newton import LEAST, TINY, LineSearch
from linnaeus.models.gpu.recorded import Flag, Piece, Steps

__all__ = ["MarginDirection", "MarginNewton", "MarginPieces", "PairLists", "list_pairs", "solve_lists"]

ROUNDING = 1e-10  # part of a squared norm at which rounding of float32 ends conjugate gradients


@dataclass(frozen=True)
class PairLists:
    """Pairs of documents and labels: those of label j are at ends[2 j] to ends[2 j + 2], first those within the margin.

    Those that only have a dual variable come behind ends[2 j + 1]. What is behind all pairs is not used.
    """

    ends: Tensor
    rows: Tensor
    slope: Tensor  # derivatives of the losses by the scores
    d: Tensor

    @property
    def columns(self) -> Tensor:
        """The label of every pair."""
        ends = self.ends[::2]
        return torch.repeat_interleave(torch.arange(len(ends) - 1, device=ends.device), ends.diff())


class MarginDirection(NamedTuple):
    """A Newton direction: b and -(a + r) of every pair, X'b (features x labels), <a, s> and losses before it."""

    b: Tensor
    rho: Tensor
    weights: Tensor
    energy: Tensor
    losses: Tensor


def list_pairs(scores: Tensor, A: Tensor, pairs: LossPairs, positive: Tensor | None, weight: Tensor) -> PairLists:
    """Pairs that are within the margin or have a dual variable.

    ``positive`` marks the positives among all pairs, and ``weight`` is what they cost more, a number for every label:
    the kernels read these instead of the lists of ``pairs``.
    """
    if scores.is_cuda and positive is not None:
        from linnaeus.models.gpu import triton_lists

        return triton_lists.list_pairs(scores, A, pairs.cost, positive, weight)
    R, D = pairs.derivatives(scores)
    kinds = torch.stack([D.T > 0, (D.T <= 0) & (A.T != 0)], 1)
    columns, _, rows = torch.nonzero(kinds, as_tuple=True)
    ends = torch.zeros(2 * A.shape[1] + 1, dtype=torch.int64, device=A.device)
    ends[1:] = torch.cumsum(kinds.sum(2).view(-1), 0)
    return PairLists(ends, rows, R[rows, columns], D[rows, columns])


def solve_lists(
    lists: PairLists, X: SparseRows, own: Tensor, A: Tensor, S: Tensor, tol: float, forcing: float, max_products: int
) -> MarginDirection:
    """The Newton direction of every label, until the model may fall by ``forcing`` of what it fell by.

    Labels that can gain no more than ``tol`` of their objectives rest.
    """
    if A.is_cuda:
        from linnaeus.models.gpu import triton_lists

        return MarginDirection(*triton_lists.solve_lists(lists, X, own, A, S, tol, forcing, max_products))
    rows, columns, d = lists.rows, lists.columns, lists.d

    def transposed(v: Tensor) -> Tensor:
        spread = torch.zeros_like(A)
        spread[rows, columns] = v
        return product(X.T, spread)

    def image_of(v: Tensor) -> Tensor:
        return product(X, transposed(v), scale=own)[rows, columns]

    def total(v: Tensor) -> Tensor:
        return torch.zeros(A.shape[1], dtype=torch.float64).index_add_(0, columns, v.double())

    a = A[rows, columns]
    within, rho = d > 0, -(a + lists.slope)
    energy, losses = total(a * S[rows, columns]), total(torch.where(within, lists.slope.double() ** 2 / (2 * d), 0))
    b = torch.where(within, 0, rho)
    image = image_of(b)
    r = torch.where(within, rho - d * image, 0)
    value = total(image * (0.5 * (b + d * image) - rho))  # of the quadratic model at b, 0 where b = 0
    p, image_of_p = torch.zeros_like(r), torch.zeros_like(r)
    before, length = torch.ones_like(energy), torch.ones_like(energy)
    least, solved = energy, torch.zeros_like(energy, dtype=torch.bool)
    for step in range(max_products):
        image = image_of(r)
        gamma, curvature = total(r * image), total(image * (r + d * image))
        if step == 0:
            least = ROUNDING * gamma
            solved = 0.5 * gamma - value <= tol * (0.5 * energy + losses)
        going = (0.5 * gamma > -forcing * value) & (gamma > least) & ~solved
        if not going.any():
            break
        share = gamma / before.clamp(min=TINY) if step else torch.zeros_like(gamma)
        bent = torch.maximum(curvature - share * gamma / length.clamp(min=TINY), LEAST * curvature)
        length, before = (gamma / bent.clamp(min=TINY)).masked_fill(~going, 0), gamma
        value = value - 0.5 * length * gamma
        t, beta = length.to(r.dtype)[columns], share.to(r.dtype)[columns]
        p, image_of_p = r + beta * p, image + beta * image_of_p
        b = b + t * p
        r = r - t * (p + d * image_of_p)
    b = b.masked_fill(solved[columns], 0)
    return MarginDirection(b, rho, transposed(b), energy, losses)


class MarginPieces(NamedTuple):
    """What may follow `MarginNewton.begin`, as its methods or recorded."""

    shorten: Piece
    accept: Piece


class MarginNewton(LineSearch):
    """Newton steps of a block of labels with the squared hinge: dual variables A and own scores S, changed in place.

    As `newton.Newton`, whose pieces are a step of conjugate gradients each; here `begin` is all of them and the first
    trial of the line search.
    """

    halvings, rounding = 5, 1e-6  # only rounding lets the objective rise so near
    system: LabelColumns

    def __init__(
        self, system: LabelColumns, A: Tensor, S: Tensor, weight: Tensor, *, tol: float, forcing: float,
        max_products: int,
    ) -> None:  # fmt: skip
        assert isinstance(system.X, SparseRows)
        assert system.inverse is not None
        self.system, self.A, self.S, self.weight = system, A, S, weight
        self.X, self.own = system.X, system.inverse
        self.tol, self.forcing, self.max_products = tol, forcing, max_products
        self.n_products = 0  # over all pairs
        self.risen, self.moves = Flag(A.device), Flag(A.device)
        self.recorded: MarginPieces | None = None
        self.positive: Tensor | None = None
        if A.is_cuda:
            self.positive = torch.zeros(A.shape, dtype=torch.int8, device=A.device)
            self.positive[system.pairs.rows, system.pairs.columns] = 1

    @property
    def pieces(self) -> MarginPieces:
        """What a step runs after `begin`."""
        return self.recorded or MarginPieces(self.shorten, self.accept)

    def keep(self, pieces: list[Piece]) -> None:
        """Run these recordings of `pieces` from now on."""
        self.recorded = MarginPieces(*pieces)

    def begin(self, scores: Tensor) -> None:
        """The direction of every label from these scores, and whether the objective rises along the whole of it."""
        self.scores = scores
        self.lists = list_pairs(scores, self.A, self.system.pairs, self.positive, self.weight)
        place = (self.lists, self.X, self.own, self.A, self.S)
        self.b, self.rho, weights, self.energy, losses = solve_lists(*place, self.tol, self.forcing, self.max_products)
        self.objective = 0.5 * self.energy + losses
        self.XB = product(self.X, weights.to(self.system.storage), scale=self.own)
        self.slope, self.bent, self.fall = self._along()
        self.t = torch.ones_like(self.objective)
        self.rises = self._rises()

    def finish_step(self) -> Steps[bool]:
        """What comes after `begin`; False if no label moved."""
        pieces = self.pieces
        moved = yield from self.search(pieces.shorten)
        pieces.accept()
        self.n_products += 1
        self.forget()
        return moved

    def _along(self) -> tuple[Tensor, Tensor, Tensor]:
        """<b, s>, <b, xb> and <rho, xb> of every label."""
        if self.A.is_cuda:
            from linnaeus.models.gpu import triton_lists

            return triton_lists.along(self.lists, self.b, self.rho, self.S, self.XB)
        rows, columns = self.lists.rows, self.lists.columns
        image, zero = self.XB[rows, columns], torch.zeros(self.A.shape[1], dtype=torch.float64)
        slope, bent, fall = (
            zero.index_add(0, columns, (one * other).double())
            for one, other in ((self.b, self.S[rows, columns]), (self.b, image), (self.rho, image))
        )
        return slope, bent, fall

    def accept(self) -> None:
        """Go along the direction."""
        if self.A.is_cuda:
            from linnaeus.models.gpu import triton_lists

            triton_lists.accept(self.lists, self.t, self.b, self.XB, self.A, self.S)
            return
        rows, columns = self.lists.rows, self.lists.columns
        t = self.t.to(self.A.dtype)
        self.A[rows, columns] += t[columns] * self.b
        self.S.addcmul_(t, self.XB)

    def forget(self) -> None:
        """Let go of the arrays of a step."""
        for name in ("scores", "lists", "b", "rho", "XB"):
            self.__dict__.pop(name, None)
