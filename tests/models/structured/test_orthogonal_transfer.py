"""Orthogonal transfer: the certificate, the optimum, and what the regulariser does."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from scipy.optimize import minimize

from linnaeus import HierarchicalSVM, OrthogonalTransfer
from linnaeus.engine import Clock
from linnaeus.models.structured.orthogonal_transfer import SaddlePoint, pair_weights
from tests.models.bayes.test_hblr import images

FAMILIES = [np.array([0, 1]), np.array([2, 3])]  # 2 and 3 below 0
K = pair_weights([np.array([2, 3]), *[np.array([], int)] * 3], 1.0)


def problem(seed: int, n_docs: int = 12) -> SaddlePoint:
    rng = np.random.default_rng(seed)
    paths = np.array([[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 0, 0]], float)
    return SaddlePoint(
        rng.normal(size=(n_docs, 2)), paths[rng.integers(3, size=n_docs)], FAMILIES, K, np.full(n_docs, 0.5)
    )


def primal(solver: SaddlePoint, W: np.ndarray) -> float:
    """Straight from the definition."""
    total = 0.5 * float((solver.K * np.abs(W @ W.T)).sum())
    for x, member, c in zip(solver.X, solver.member, solver.c, strict=True):
        pairs = [(a, b) for f in FAMILIES for a in f for b in f if member[a] and not member[b]]
        total += c * max([0.0, *(1 - (W[a] - W[b]) @ x for a, b in pairs)])
    return total


@pytest.mark.parametrize("seed", range(4))
def test_no_generic_search_finds_less_than_the_certified_bound(seed) -> None:
    solver = problem(seed)
    assert solver.run(1e-5, 5000, Clock(None), lambda gap: None)
    assert solver.objective == pytest.approx(primal(solver, solver.W), abs=1e-10)
    bound = solver.objective - solver.gap
    rng = np.random.default_rng(seed)
    for _ in range(3):
        start = solver.W.ravel() + 0.01 * rng.normal(size=solver.W.size)
        found = minimize(lambda w: primal(solver, w.reshape(4, 2)), start, method="Nelder-Mead")
        assert found.fun >= bound - 1e-9
    assert solver.objective <= found.fun + 1e-2


class Ticking:
    """A clock that is over after some looks at it."""

    def __init__(self, looks: int) -> None:
        self.looks = looks

    @property
    def over(self) -> bool:
        self.looks -= 1
        return self.looks < 0


def test_a_pass_ends_when_the_time_is_over_with_a_valid_certificate() -> None:
    best, stopped = problem(0), problem(0)
    best.run(1e-6, 5000, Clock(None), lambda gap: None)
    assert not stopped.run(1e-9, 5000, Ticking(6), lambda gap: None)
    assert stopped.n_iter == 1
    assert 1 <= np.count_nonzero(stopped.total) <= 5, "not all of the twelve documents"
    assert stopped.objective == pytest.approx(primal(stopped, stopped.W), abs=1e-10)
    assert stopped.objective - stopped.gap <= best.objective


def test_the_gap_is_never_below_what_is_left() -> None:
    best = problem(0)
    best.run(1e-6, 5000, Clock(None), lambda gap: None)
    for passes in (1, 2, 5, 20):
        early = problem(0)
        early.run(1e-9, passes, Clock(None), lambda gap: None)
        assert early.objective - early.gap <= best.objective
        assert early.objective >= best.objective - best.gap


def test_ancestors_and_descendants_are_pushed_apart() -> None:
    X, y, tax = images(n_docs=150)
    angles = []
    for transfer in (0.0, 20.0):
        model = OrthogonalTransfer(tax, C=1.0, transfer=transfer, random_state=0).fit(X, y)
        W = dict(zip(model.classes_, model.coef_, strict=True))
        pairs = [("A", "a1"), ("A", "a2"), ("B", "b1"), ("B", "b2"), ("B", "odd")]
        products = [abs(W[a] @ W[b]) / (np.linalg.norm(W[a]) * np.linalg.norm(W[b])) for a, b in pairs]
        angles.append(np.mean(products))
    assert angles[1] < 0.75 * angles[0]


def test_it_learns_and_answers_from_the_top() -> None:
    X, y, tax = images(n_docs=200)
    model = OrthogonalTransfer(tax, C=0.1, random_state=0).fit(X[:150], y[:150])
    assert model.duality_gap_ <= 1e-2 * model.objective_
    assert np.mean(model.predict(X[150:]) == np.array(y[150:])) > 0.5
    S = dict(zip(model.classes_, model.decision_function(X[:1])[0], strict=True))
    top = max(("A", "B"), key=S.get)
    assert model.predict(X[:1])[0] == max(list(tax.names[tax.children(tax.index(top))]), key=S.get)


@pytest.mark.parametrize("Model", [OrthogonalTransfer, HierarchicalSVM])
def test_verbose_shows_progress_and_an_engine_without_effect_is_deprecated(Model, monkeypatch) -> None:
    X, y, steps = np.eye(3), ["a", "b", "c"], []

    @contextlib.contextmanager
    def bar(description, total):
        yield steps.append

    monkeypatch.setattr("linnaeus.models.fitting.progress", bar)
    Model(random_state=0).fit(X, y)
    assert steps == []
    Model(verbose=1, random_state=0).fit(X, y)
    assert sum(steps) == 100
    with pytest.warns(FutureWarning, match="engine has no effect"):
        Model(engine="serial", random_state=0).fit(X, y)
