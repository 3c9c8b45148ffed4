"""Newton's method in dual variables reaches the optimum of columns in lock-step, each with a certificate."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

from linnaeus.models.gpu.columns import LabelColumns, LossPairs
from linnaeus.models.gpu.documents import on_device
from linnaeus.models.gpu.newton import Newton
from tests.models.gpu.worked import random_csr

X, RNG = random_csr(25, 8, density=0.5), np.random.default_rng(5)
LABELS = RNG.random((25, 3)) < 0.3
CENTRE, INVERSE = RNG.normal(0, 0.3, (8, 3)), np.array([1.0, 0.25, 3.0])


def problem(loss: str) -> tuple[Newton, list[float]]:
    """LabelColumns with centres and precisions of their own, in float64, and their optima by scipy.optimize."""
    rows, columns = (torch.as_tensor(x) for x in np.nonzero(LABELS))
    cost = torch.ones((25, 1), dtype=torch.float64)
    pairs = LossPairs(loss, cost, rows, columns, torch.ones(len(rows), dtype=torch.float64))
    system = LabelColumns(on_device(X, "cpu"), pairs, torch.float64, torch.as_tensor(INVERSE))
    A = torch.zeros((25, 3), dtype=torch.float64)
    newton = Newton(system, A, A.clone(), torch.as_tensor(X @ CENTRE))

    def objective(u: np.ndarray, j: int) -> float:
        margins = np.where(LABELS[:, j], 1, -1) * (X @ (CENTRE[:, j] + u))
        losses = np.logaddexp(0, -margins) if loss == "logistic" else np.maximum(0, 1 - margins) ** 2
        return 0.5 / INVERSE[j] * float(u @ u) + float(losses.sum())

    return newton, [minimize(objective, np.zeros(8), args=(j,), tol=1e-10).fun for j in range(3)]


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_the_optimum_of_every_column(loss) -> None:
    newton, optima = problem(loss)
    objective, gap = newton.run(1e-9, 100)
    np.testing.assert_allclose(objective, optima, rtol=1e-6)
    assert (gap <= 1e-9 * objective).all()


@pytest.mark.parametrize("n_steps", [0, 1, 2])
def test_the_gap_is_an_upper_bound_on_the_way(n_steps) -> None:
    newton, optima = problem("squared_hinge")
    objective, gap = newton.run(1e-12, n_steps)
    assert newton.n_steps == n_steps
    assert (gap.numpy() >= objective.numpy() - optima - 1e-7).all()
