"""The weights of a mixture are the minimum that a generic optimiser finds, and are certified."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from linnaeus import Taxonomy
from linnaeus.models.solvers.mixing import MixingProblem, pulls_of

TREE = [("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA")]
SHAPES = {
    "tree": Taxonomy.from_edges(TREE),
    "dag": Taxonomy.from_edges([*TREE, ("B", "AA")]),
    "forest": Taxonomy.from_edges([("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")]),
    "flat": Taxonomy.flat("ABCDE"),
    "graph": Taxonomy.from_edges([("A", "B"), ("B", "C"), ("C", "A"), ("D", "E")], kind="graph"),
}


def problem(tax: Taxonomy, single: bool, n_docs: int = 60, n_sources: int = 2, C: float = 0.5) -> MixingProblem:
    rng = np.random.default_rng(0)
    nodes = np.arange(tax.n_nodes)[-5:]
    Z = rng.normal(size=(n_docs, len(nodes), n_sources))
    hidden = Z[:, :, 0] + 0.3 * Z[:, :, -1] + rng.normal(size=Z.shape[:2])
    truth = hidden == hidden.max(axis=1, keepdims=True) if single else hidden > 0.5
    pulls = pulls_of(tax, nodes)
    return MixingProblem(
        Z.reshape(-1, n_sources),
        truth.ravel().astype(float),
        np.tile(np.searchsorted(pulls.vertices, nodes), n_docs),
        np.full(n_docs * len(nodes), C),
        pulls,
        np.arange(n_docs) * len(nodes) if single else None,
    )


def objective(p: MixingProblem, tax: Taxonomy, W: np.ndarray, single: bool) -> float:
    """Written out edge by edge, as the module's docstring says."""
    n_sources = p.n_terms - 1
    place = {int(v): i for i, v in enumerate(p.pulls.vertices)}
    scale = np.append(np.full(n_sources, float(n_sources)), 1.0)
    equal = np.append(np.full(n_sources, 1 / n_sources), 0.0)
    root = place[-1 if tax.root is None else int(tax.root)]
    value = 0.5 * float((scale * (W[root] - equal) ** 2).sum())
    pairs = {(min(v, q), max(v, q)) for v in place if v >= 0 for q in tax.parents(v).tolist()}
    if tax.kind == "graph":
        pairs |= {(-1, tax.index("A")), (-1, tax.index("D"))}  # the first of the vertices of most links
    elif tax.root is None:
        pairs |= {(-1, v) for v in place if v >= 0 and not len(tax.parents(v))}
    for u, v in pairs:
        value += 0.5 * float((scale * (W[place[u]] - W[place[v]]) ** 2).sum())
    t = (p.Z * W[p.vertex]).sum(axis=1)
    if single:
        rows, truth = t.reshape(-1, 5), p.truth.reshape(-1, 5)
        return value + float(p.weight[0] * (logsumexp(rows, axis=1) - (rows * truth).sum(axis=1)).sum())
    return value + float((p.weight * (np.logaddexp(0, t) - p.truth * t)).sum())


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_weights_are_the_minimum_that_a_generic_optimiser_finds(shape, single) -> None:
    tax = SHAPES[shape]
    p = problem(tax, single)
    found = p.solve(tol=1e-12)
    other = minimize(
        lambda w: objective(p, tax, w.reshape(found.weights.shape), single),
        np.zeros(found.weights.size),
        method="BFGS",
        options={"gtol": 1e-6},
    )
    assert found.converged
    assert found.objective == pytest.approx(other.fun, rel=1e-8)
    assert found.objective == pytest.approx(objective(p, tax, found.weights, single), rel=1e-12)
    np.testing.assert_allclose(found.weights, other.x.reshape(found.weights.shape), atol=1e-4)


@pytest.mark.parametrize("single", [False, True])
def test_the_certified_gap_bounds_how_far_the_objective_is_from_the_smallest(single) -> None:
    p = problem(SHAPES["dag"], single)
    best = p.solve(tol=1e-12).objective
    for steps in range(4):
        early = p.solve(tol=1e-12, max_iter=steps)
        assert early.objective - best <= early.gap * (1 + 1e-9)
        assert early.n_iter <= steps


def test_without_documents_of_weight_all_weights_are_equal() -> None:
    found = problem(SHAPES["tree"], False, C=1e-12).solve()
    np.testing.assert_allclose(found.weights[:, :-1], 0.5, atol=1e-9)
    np.testing.assert_allclose(found.weights[:, -1], 0.0, atol=1e-9)


@pytest.mark.parametrize("single", [False, True])
def test_a_source_given_twice_has_half_the_weight_each_time(single) -> None:
    p = problem(SHAPES["tree"], single, n_sources=1)
    twice = MixingProblem(np.repeat(p.Z[:, :1], 2, axis=1), p.truth, p.vertex, p.weight, p.pulls, p.starts)
    once, both = p.solve(tol=1e-12), twice.solve(tol=1e-12)
    np.testing.assert_allclose(both.weights[:, :2], np.repeat(once.weights[:, :1] / 2, 2, axis=1), atol=1e-6)
    np.testing.assert_allclose(both.weights[:, 2], once.weights[:, 1], atol=1e-6)
    assert both.objective == pytest.approx(once.objective, rel=1e-9)
