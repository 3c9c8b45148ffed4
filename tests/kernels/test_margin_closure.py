from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus._kernels import margin_closure
from linnaeus.models.structured.dag import ClosureStructure
from tests.kernels.twins import margin as reference_margin
from tests.strategies import taxonomies


@st.composite
def blocks(draw: st.DrawFn):
    """A DAG, slopes of its nodes and masses that do not grow downwards."""
    tax = draw(taxonomies(kinds=("dag",), max_nodes=7))
    nodes = np.array([v for v in range(tax.n_nodes) if v != tax.root])
    dag = ClosureStructure(tax, nodes)
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    m = rng.integers(0, 5, size=dag.n) / 4
    for v in range(dag.n):
        above = dag.parent_indices[dag.parent_indptr[v] : dag.parent_indptr[v + 1]]
        m[v] = min(m[v], m[above].min(initial=1.0))
    return dag, rng.normal(size=dag.n), m


def arrays(dag):
    return dag.parent_indptr, dag.parent_indices, dag.child_indptr, dag.child_indices


@settings(max_examples=80)
@given(blocks(), st.sampled_from([0.0, 0.5, 2.0]))
def test_move_nodes_as_its_twin_and_in_order(block, kappa) -> None:
    dag, U, m = block
    found = []
    for module in (margin_closure, reference_margin):
        slopes, mass = U.copy(), m.copy()
        module.move_nodes(slopes, mass, *arrays(dag), kappa, 1.0, 2)
        found.append((slopes, mass))
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    mass, inner = found[0][1], dag.parent >= 0
    assert (mass[dag.child[inner]] <= mass[dag.parent[inner]]).all()
    assert ((mass >= 0) & (mass <= 1)).all()


@settings(max_examples=80)
@given(blocks())
def test_the_worst_level_set_is_in_the_mixture(block) -> None:
    _, U, m = block
    level, weight = margin_closure.level_sets(U, m, 1.0)
    expected = reference_margin.level_sets(U, m, 1.0)
    assert U[m >= level].sum() == pytest.approx(U[m >= expected[0]].sum(), abs=1e-12)
    rest = m - weight * (m >= level)  # what remains is a mixture, too
    assert (rest >= -1e-12).all()
    assert rest.max(initial=0.0) <= 1 - weight + 1e-12


@settings(max_examples=80)
@given(blocks(), st.sampled_from([0.0, 0.5, 2.0]), st.integers(0, 2**20))
def test_move_to_set_as_its_twin(block, kappa, seed) -> None:
    dag, U, m = block
    toward = np.random.default_rng(seed).integers(-1, 2, size=dag.n).astype(np.float64)
    found = []
    for module in (margin_closure, reference_margin):
        slopes, mass = U.copy(), m.copy()
        module.move_to_set(slopes, mass, toward, *arrays(dag), kappa, 1.0, 0.25)
        found.append((slopes, mass))
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
