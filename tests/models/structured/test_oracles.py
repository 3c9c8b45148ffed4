"""The oracles agree with one another, with the definitions of the losses, and with the worked numbers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from linnaeus.losses.cost import node_weights
from tests.models.structured import numbers
from tests.models.structured.oracles import (
    TREE_A,
    TREE_B,
    Case,
    conditional_gradient,
    dual_optimum,
    edge_losses,
    edge_pairs,
    edge_slack_optimum,
    labellings,
    loss,
    marginal_optimum,
    primal_optimum,
    scores_of,
    solve_qp,
    taxonomy_of,
    weights_of_nodes,
)

SETTINGS = [("symmetric", "uniform"), *(("hierarchical", s) for s in ("uniform", "sibling", "subtree"))]


def test_the_solver_finds_the_projection_onto_a_simplex() -> None:
    x, value = solve_qp(np.eye(2), [-1.0, 0.0], -np.eye(2), np.zeros(2), [[1.0, 1.0]], [0.5])
    np.testing.assert_allclose(x, [0.5, 0.0], atol=1e-6)
    assert value == pytest.approx(-0.375, abs=1e-7)


# -- losses ------------------------------------------------------------------------------------------------------------

# truth (+,+,-,+) on tree A: zero-one, symmetric difference, then H / H~ uniform, sibling, subtree
LOSSES = {
    (1, 1, 0, 1): (0, 0, 0, 0, 0, 0, 0, 0),
    (1, 1, 0, 0): (1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25),
    (1, 0, 1, 0): (1, 3, 2, 2, 1, 1, 0.75, 0.75),
    (1, 0, 0, 1): (1, 1, 1, 1, 0.5, 0.5, 0.5, 0.5),
    (0, 0, 1, 0): (1, 4, 1, 1, 1, 1, 1, 1),
    (0, 1, 0, 0): (1, 2, 1, 2, 1, 1.5, 1, 1.25),
    (0, 0, 0, 0): (1, 3, 1, 1, 1, 1, 1, 1),
    (1, 1, 1, 1): (1, 1, 1, 1, 0.5, 0.5, 0.25, 0.25),
}


@pytest.mark.parametrize("answer", LOSSES)
def test_losses_are_the_worked_ones(answer: tuple[int, ...]) -> None:
    truth, found = (1, 1, 0, 1), []
    for cost in ("zero_one", "symmetric"):
        found.append(loss(TREE_A, cost, np.ones(4), truth, answer))
    for scaling, cost in product(("uniform", "sibling", "subtree"), ("h", "hierarchical")):
        found.append(loss(TREE_A, cost, weights_of_nodes(TREE_A, scaling), truth, answer))
    assert found == list(LOSSES[answer])


def test_weights_of_nodes_are_those_of_the_package_below_a_root() -> None:
    for parents in (TREE_A, TREE_B):
        rooted = taxonomy_of(parents)
        rooted = type(rooted).from_edges(
            [(rooted.names[p], rooted.names[v]) for v in range(rooted.n_nodes) for p in rooted.parents(v)]
        )
        for scaling in ("uniform", "sibling", "subtree"):
            np.testing.assert_allclose(node_weights(rooted, scaling), weights_of_nodes(parents, scaling))


@pytest.mark.parametrize("above_root", [False, True])
@pytest.mark.parametrize(("cost", "scaling"), [*SETTINGS, ("symmetric", "subtree")])
def test_edge_losses_sum_to_the_loss(cost: str, scaling: str, above_root: bool) -> None:
    rng = np.random.default_rng(0)
    for _ in range(6):
        parents = [-1, *(int(rng.integers(0, v)) for v in range(1, 5))]
        case = Case(parents, np.eye(1), [(0,) * 5], cost, scaling, above_root=above_root)
        table = edge_losses(case)
        for y, u in product(labellings(parents), repeat=2):
            pairs = zip(edge_pairs(parents, y), edge_pairs(parents, u), strict=True)
            total = sum(table[v, a, b] for v, (a, b) in enumerate(pairs))
            assert total == pytest.approx(case.loss(y, u), abs=1e-12)


def test_edge_losses_are_the_worked_ones() -> None:
    expected = {
        ("symmetric", "uniform"): [(0.5, 0.5), (0.5, 1), (0.5, 1)],
        ("symmetric", "subtree"): [(0.5, 0.25), (0.5, 0.25), (0.25, 0.25)],
        ("hierarchical", "uniform"): [(0.5, 1), (0.5, 1), (0, 1)],
        ("hierarchical", "sibling"): [(0.5, 0.5), (0.5, 0.5), (0, 0.5)],
        ("hierarchical", "subtree"): [(0.5, 0.5), (0.5, 0.25), (0, 0.25)],
    }
    for (cost, scaling), pairs in expected.items():
        table = edge_losses(numbers.case_a(cost, scaling))
        for v, (a, b) in enumerate(pairs, start=1):
            both = a + b if cost == "symmetric" else a
            np.testing.assert_allclose(table[v, 0], [0, b, a, both])
            np.testing.assert_allclose(table[v, 3], [both, a, b, 0])


# -- optima ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("setting", numbers.OPTIMA_A, ids=str)
def test_case_a_has_its_optima(setting: tuple[str, str, float]) -> None:
    every, slack, consistent, untied, by_edge, free = numbers.OPTIMA_A[setting]
    case = numbers.case_a(*setting)
    value, _, slacks = primal_optimum(case)
    assert value == pytest.approx(every, abs=1e-7)
    assert slacks == pytest.approx([slack, slack], abs=1e-5)
    assert dual_optimum(case) == pytest.approx(every, abs=1e-7)
    assert dual_optimum(case, equality=True) == pytest.approx(every, abs=1e-7)
    assert marginal_optimum(case) == pytest.approx(every, abs=1e-7)
    assert marginal_optimum(case, tie_root=False) == pytest.approx(untied, abs=1e-7)
    closed = numbers.case_a(*setting, consistent=True)
    assert dual_optimum(closed) == pytest.approx(consistent, abs=1e-7)
    assert marginal_optimum(closed) == pytest.approx(consistent, abs=1e-7)
    assert edge_slack_optimum(case) == pytest.approx(by_edge, abs=1e-7)
    free_case = numbers.case_a(*setting, without_truth=True)
    assert primal_optimum(free_case)[0] == pytest.approx(free, abs=1e-6)
    assert dual_optimum(free_case) == pytest.approx(free, abs=1e-6)


@pytest.mark.parametrize("setting", numbers.ABOVE_ROOT_A, ids=str)
def test_case_a_with_an_edge_above_the_root(setting: tuple[str, str]) -> None:
    every, consistent = numbers.ABOVE_ROOT_A[setting]
    assert dual_optimum(numbers.case_a(*setting, above_root=True)) == pytest.approx(every, abs=1e-7)
    case = numbers.case_a(*setting, above_root=True, consistent=True)
    assert marginal_optimum(case) == pytest.approx(consistent, abs=1e-7)


@pytest.mark.parametrize("setting", numbers.PATHS_A, ids=str)
def test_case_a_with_partial_paths(setting: tuple[str, str]) -> None:
    case = numbers.case_a(*setting, paths=True)
    assert primal_optimum(case)[0] == pytest.approx(numbers.PATHS_A[setting], abs=1e-7)
    assert dual_optimum(case) == pytest.approx(numbers.PATHS_A[setting], abs=1e-7)


@pytest.mark.parametrize("setting", numbers.SCORES_A, ids=str)
def test_case_a_has_its_scores(setting: tuple[str, str]) -> None:
    expected, norm = numbers.SCORES_A[setting]
    case = numbers.case_a(*setting)
    _, weights, _ = primal_optimum(case)
    F = scores_of(case, weights)
    np.testing.assert_allclose(F[0, 1:], expected, atol=1e-5)
    assert (weights**2).sum() == pytest.approx(norm, abs=1e-5)
    swapped = np.array(expected)
    swapped[:2] = swapped[:2][:, [1, 0, 3, 2]]
    swapped[2] = swapped[2][::-1]
    np.testing.assert_allclose(F[1, 1:], swapped, atol=1e-5)


@pytest.mark.parametrize("setting", numbers.OPTIMA_B, ids=str)
def test_case_b_has_its_optima(setting: tuple[str, str, float]) -> None:
    every, consistent, slacks = numbers.OPTIMA_B[setting]
    value, _, found = primal_optimum(numbers.case_b(*setting))
    assert value == pytest.approx(every, abs=1e-7)
    assert found == pytest.approx(slacks, abs=1e-5)
    assert dual_optimum(numbers.case_b(*setting, consistent=True)) == pytest.approx(consistent, abs=1e-7)


def test_case_b_has_its_weights() -> None:
    case = numbers.case_b()
    _, weights, _ = primal_optimum(case)
    np.testing.assert_allclose(scores_of(case, weights)[:2, 1:], numbers.WEIGHTS_B, atol=1e-5)


# -- steps -------------------------------------------------------------------------------------------------------------


def test_case_a_is_walked_in_the_worked_steps() -> None:
    steps = conditional_gradient(numbers.case_a(), [0, 1, 0, 1])
    for name, expected in numbers.TRACE_A.items():
        np.testing.assert_allclose([getattr(step, name) for step in steps], expected, atol=1e-8)


def test_case_b_is_walked_in_the_worked_steps() -> None:
    steps = conditional_gradient(numbers.case_b(), numbers.TRACE_B["order"])
    np.testing.assert_allclose([step.tau for step in steps], numbers.TRACE_B["tau"], atol=1e-8)
    np.testing.assert_allclose([step.dual for step in steps], numbers.TRACE_B_DUAL, atol=1e-8)
