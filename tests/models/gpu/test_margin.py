"""Newton steps on lists of pairs within the margin, against the same step over all pairs."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch

from linnaeus.models.gpu.columns import LabelColumns, LossPairs
from linnaeus.models.gpu.documents import on_device, product
from linnaeus.models.gpu.margin import MarginNewton, list_pairs, solve_lists
from linnaeus.models.gpu.recorded import finished
from tests.models.gpu.worked import random_csr

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
N_DOCS, N_FEATURES, N_LABELS = 150, 60, 20


class Block:
    """Labels with dual variables, of which a tenth is not zero, and scores on both sides of the margin."""

    def __init__(self, device: str) -> None:
        rng = torch.Generator().manual_seed(0)
        X = random_csr(N_DOCS, N_FEATURES)
        rows = torch.arange(0, N_DOCS, 3)
        columns, cost = rows % N_LABELS, torch.rand((N_DOCS, 1), generator=rng)
        self.weight = 0.5 + torch.rand(N_LABELS, generator=rng)
        own = 0.5 + torch.rand(N_LABELS, dtype=torch.float64, generator=rng)
        positive_cost = cost[rows, 0] * self.weight[columns]
        A, centre = (torch.randn((N_DOCS, N_LABELS), generator=rng) for _ in range(2))
        A[torch.rand(A.shape, generator=rng) > 0.1] = 0
        self.weight, own, cost, rows, columns, positive_cost, self.A, centre = (
            x.to(device) for x in (self.weight, own, cost, rows, columns, positive_cost, A, centre)
        )
        pairs = LossPairs("squared_hinge", cost, rows, columns, positive_cost)
        self.system = LabelColumns(on_device(X, device), pairs, torch.float32, own)
        self.S = self.system.apply(self.A)
        self.centre = centre - 1.5
        place = (self.system, self.A, self.S, self.weight)
        self.newton = MarginNewton(*place, tol=1e-9, forcing=1e-6, max_products=200)

    def objective(self) -> torch.Tensor:
        losses = self.system.pairs.value((self.S + self.centre).double())
        return 0.5 * (self.A.double() * self.S).sum(0) + losses


@pytest.mark.parametrize("device", DEVICES)
def test_a_direction_solves_newtons_equation(device) -> None:
    block = Block(device)
    newton, pairs, own = block.newton, block.system.pairs, block.system.inverse
    scores = block.S + block.centre
    lists = list_pairs(scores, block.A, pairs, newton.positive, block.weight)
    found = solve_lists(lists, newton.X, own, block.A, block.S, 1e-9, 1e-6, 200)
    R, D = pairs.derivatives(scores)
    n = int(lists.ends[-1])
    B = torch.zeros_like(block.A)
    B[lists.rows[:n].long(), lists.columns] = found.b[:n]
    left, gradient = (product(newton.X.T, v) for v in (B + D * block.system.apply(B) + block.A + R, block.A + R))
    assert left.norm() < 2e-3 * gradient.norm()
    torch.testing.assert_close(found.weights, product(newton.X.T, B), rtol=1e-3, atol=1e-3)
    assert not B[(D == 0) & (block.A == 0)].any()
    torch.testing.assert_close(B[(D == 0)], -block.A[(D == 0)])


@pytest.mark.parametrize("device", DEVICES)
def test_pairs_within_the_margin_come_first(device) -> None:
    block = Block(device)
    scores = block.S + block.centre
    lists = list_pairs(scores, block.A, block.system.pairs, block.newton.positive, block.weight)
    R, D = block.system.pairs.derivatives(scores)
    for j in range(N_LABELS):
        first, middle, last = lists.ends[2 * j : 2 * j + 3].tolist()
        within, leaving = lists.rows[first:middle].long(), lists.rows[middle:last].long()
        assert torch.equal(within, torch.nonzero(D[:, j] > 0).flatten())
        assert torch.equal(leaving, torch.nonzero((D[:, j] == 0) & (block.A[:, j] != 0)).flatten())
        torch.testing.assert_close(lists.slope[first:middle], R[within, j])
        torch.testing.assert_close(lists.d[first:middle], D[within, j])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shortfall", [1.0, 0.1])
def test_objectives_fall_until_leaves_are_solved(device, shortfall) -> None:
    block = Block(device)
    block.newton.forcing, block.newton.max_products = shortfall, 40
    before = block.objective()
    for _ in range(30):
        block.newton.begin(block.S + block.centre)
        finished(block.newton.finish_step())
        after = block.objective()
        assert (after <= before + 1e-5 * before.abs()).all()
        before = after
    R = block.system.pairs.derivatives(block.S + block.centre)[0]
    gap = (block.A + R).double()
    gap = 0.5 * (gap * block.system.apply(gap.float())).sum(0)
    assert (gap <= 1e-4 * before.abs()).all()
    assert ((block.A == 0) | (R != 0)).all()  # what is beyond the margin has no dual variable


def test_documents_do_not_outlive_their_last_use() -> None:
    gc.disable()
    try:
        X = on_device(random_csr(20, 10), "cpu")
        assert torch.isfinite(X.T.values).all()
        seen = weakref.ref(X.T)
        del X
        assert seen() is None
    finally:
        gc.enable()
