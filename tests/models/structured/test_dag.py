from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import HM3, Taxonomy
from linnaeus.errors import ParameterError
from linnaeus.losses.cost import symmetric_difference
from linnaeus.models.structured.dag import ClosureStructure
from linnaeus.models.structured.tree import TreeStructure
from tests.models.structured.solving import solved
from tests.strategies import label_sets, taxonomies


def closed_sets(dag: ClosureStructure) -> list[list[int]]:
    """All of them, as positions."""
    inner = dag.parent >= 0
    pairs = list(zip(dag.child[inner].tolist(), dag.parent[inner].tolist(), strict=True))
    every = itertools.chain.from_iterable(itertools.combinations(range(dag.n), k) for k in range(dag.n + 1))
    return [list(s) for s in every if all(p in s for c, p in pairs if c in s)]


def nodes_of(tax: Taxonomy) -> np.ndarray:
    return np.array([v for v in range(tax.n_nodes) if v != tax.root])


@settings(max_examples=40)
@given(taxonomies(kinds=("dag",), max_nodes=6), st.integers(0, 2**20))
def test_margins_and_weights_are_those_of_all_closed_sets(tax, seed) -> None:
    dag = ClosureStructure(tax, nodes_of(tax))
    F = np.random.default_rng(seed).normal(size=(2, dag.width))
    U, H, sets = dag.node_weights(F), dag.edge_scores(F), closed_sets(dag)
    for d in range(2):
        values = np.array([U[d, s].sum() for s in sets])
        for s, value in zip(sets, values, strict=True):  # the definition: scores of the edges' labellings
            above = [1 if p < 0 else int(p in s) for p in dag.parent]
            u = [a + int(c in s) for a, c in zip(above, dag.child, strict=True)]
            empty = [1 if p < 0 else 0 for p in dag.parent]
            edges = np.arange(len(dag.child))
            assert H[d, edges, u].sum() - H[d, edges, empty].sum() == pytest.approx(value, abs=1e-9)
        margins = dag.margins(F)[d]
        for v in range(dag.n):
            on, off = (max(x for s, x in zip(sets, values, strict=True) if (v in s) == b) for b in (True, False))
            assert margins[v] == pytest.approx(on - off, abs=1e-9)
        assert (dag.best(F)[d] == (margins > 0)).all()


@settings(max_examples=40)
@given(st.data())
def test_edge_losses_sum_to_the_symmetric_difference(data) -> None:
    tax = data.draw(taxonomies(kinds=("dag",), max_nodes=6))
    dag = ClosureStructure(tax, nodes_of(tax))
    Y = tax.close(tax.indicator(data.draw(label_sets(tax, 2))), keep_root=False)
    blocks = dag.blocks(Y, np.ones(tax.n_nodes), "symmetric", np.ones(Y.shape[0]))
    slacks = blocks.slacks(np.zeros((Y.shape[0], dag.width)), np.arange(Y.shape[0]), np.ones(1))[:, 0]
    every = tax.indicator([[tax.names[dag.nodes[v]] for v in s] for s in closed_sets(dag)])
    expected = [
        symmetric_difference(every[[0] * every.shape[0]] * 0 + Y[[i] * every.shape[0]], every).max()
        for i in range(Y.shape[0])
    ]
    np.testing.assert_allclose(slacks, expected, atol=1e-9)


@pytest.mark.parametrize("cost", ["symmetric", "hierarchical"])
def test_a_tree_taken_as_a_dag_has_the_same_optimum(cost) -> None:
    tax = Taxonomy.from_paths([["A", "AA", "AAA"], ["A", "AB"], ["B", "BA"]])
    rng = np.random.default_rng(0)
    Y = tax.close(tax.indicator([list(rng.choice(tax.names, size=2, replace=False)) for _ in range(10)]))
    X = rng.normal(size=(10, 4))
    found = []
    for structure in (
        ClosureStructure(tax, nodes_of(tax)),
        TreeStructure(tax, nodes_of(tax), "super", consistent=True),
    ):
        blocks = structure.blocks(Y, np.ones(tax.n_nodes), cost, np.ones(10))
        found.append(solved(blocks, X @ X.T, structure.width, structure.columns, tol=1e-7).history[-1].primal)
    assert found[0] == pytest.approx(found[1], rel=1e-6)


@pytest.mark.parametrize("algorithm", ["moves", "conditional-gradient"])
def test_a_dag_is_learned_and_answered_consistently(diamond, algorithm) -> None:
    X = np.eye(4)[[0, 1, 2, 3] * 3]
    y = [["A"], ["B"], ["A", "B", "C"], ["B", "D"]] * 3
    model = HM3(diamond, C=10.0, algorithm=algorithm, tol=1e-2, random_state=0).fit(X, y)
    assert model.predict(X) == y
    assert 0 <= model.duality_gap_ <= 1e-2 * model.objective_
    with pytest.raises(ParameterError, match="consistent=False needs a tree"):
        model.predict(X, consistent=False)
    with pytest.raises(ParameterError, match="root='paper' needs a tree"):
        HM3(diamond, root="paper").fit(X, y)
