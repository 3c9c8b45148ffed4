from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus.models.published.hm3_variants import PathTree
from tests.models.structured import numbers
from tests.models.structured.oracles import Case, is_consistent, primal_optimum, taxonomy_of
from tests.models.structured.solving import solved


def optimum(case: Case, *, free: bool = False) -> float:
    tax = taxonomy_of(case.parents)
    structure = PathTree(tax, np.arange(tax.n_nodes), free=free)
    Y = tax.indicator([[f"n{v}" for v, on in enumerate(y) if on] for y in case.truth])
    blocks = structure.blocks(Y, case.weights, case.cost, np.full(len(case.truth), case.C))
    return solved(blocks, np.asarray(case.K), structure.width, structure.columns).history[-1].primal


@pytest.mark.parametrize("setting", numbers.PATHS_A, ids=str)
def test_partial_paths_have_the_worked_optima(setting) -> None:
    assert optimum(numbers.case_a(*setting)) == pytest.approx(numbers.PATHS_A[setting], abs=1e-6)


@pytest.mark.parametrize(("cost", "free"), [("symmetric", False), ("zero_one", False), ("hierarchical", True)])
def test_partial_paths_have_the_optimum_of_the_generic_solver(cost, free) -> None:
    case = numbers.case_b(cost, "uniform", 0.4, paths=True, without_truth=free)
    assert optimum(case, free=free) == pytest.approx(primal_optimum(case)[0], abs=1e-6)


@settings(max_examples=60)
@given(st.integers(1, 6), st.integers(0, 10**6))
def test_margins_are_differences_of_the_best_labellings(n, seed) -> None:
    rng = np.random.default_rng(seed)
    parents = [-1, *(int(rng.integers(-1, v)) for v in range(1, n))]
    tax = taxonomy_of(parents)
    structure = PathTree(tax, np.arange(n))
    parent = [int(tax.parent[v]) for v in range(n)]
    F = np.zeros((2, structure.width))
    F[:, :n] = rng.integers(-8, 9, size=(2, n)) / 4
    found = structure.margins(F)
    for f, margins in zip(F, found, strict=True):
        U = dict(zip(structure.nodes.tolist(), f[:n], strict=True))
        scores = {y: sum(U[v] for v in range(n) if y[v]) for y in product([0, 1], repeat=n) if is_consistent(parent, y)}
        for place, v in enumerate(structure.nodes.tolist()):
            on, off = (max(score for y, score in scores.items() if y[v] == b) for b in (1, 0))
            assert margins[place] == pytest.approx(on - off)
