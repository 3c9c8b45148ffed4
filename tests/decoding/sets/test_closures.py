from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus._kernels import max_flow
from linnaeus.decoding import BestClosure, BestSubtree, best_closures, closure_weights
from linnaeus.decoding.base import hierarchy, positions
from linnaeus.errors import DataError
from linnaeus.taxonomy.closure import is_closed, pattern
from tests.decoding.oracles import exact_scores, rows, smallest_best, some_columns
from tests.kernels.twins import decoding as reference_decoding
from tests.strategies import taxonomies


@pytest.mark.parametrize(
    ("B", "answer", "value"),
    [(-0.3, ["A", "B", "C"], 0.2), (-0.6, [], 0.0), (0.2, ["A", "B", "C"], 0.7)],
)
def test_the_worked_examples(diamond: Taxonomy, B: float, answer: list[str], value: float) -> None:
    columns = [diamond.index(name) for name in "ABCD"]
    S = np.array([[-0.4, B, 0.9, -0.1]])
    Y = BestClosure()(S, diamond, columns)
    assert diamond.labels(Y) == [answer]
    assert Y[:, columns].multiply(S).sum() == pytest.approx(value)


@settings(max_examples=150)
@given(st.data())
def test_best_closure_is_the_smallest_of_the_best_closed_sets(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    columns = data.draw(some_columns(tax))
    S = data.draw(exact_scores(len(columns)))
    for row, answer in zip(S, rows(BestClosure()(S, tax, columns)), strict=True):
        weight = np.zeros(tax.n_nodes)
        weight[columns] = row
        assert answer == smallest_best(tax, weight)


@settings(max_examples=80)
@given(st.data())
def test_the_cut_on_a_tree_is_the_dynamic_programme(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("tree",), max_nodes=30))
    S = data.draw(exact_scores(tax.n_nodes))
    by_cut = max_flow.best_closures(S, positions(tax, np.arange(tax.n_nodes)), *hierarchy(tax)[:5])
    assert rows(pattern(*by_cut, tax.n_nodes)) == rows(BestSubtree()(S, tax)) == rows(BestClosure()(S, tax))


@settings(max_examples=60)
@given(st.data())
def test_edge_scores_on_a_dag_are_node_weights(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(max_nodes=6))
    m = tax.n_edges
    flat = data.draw(exact_scores(4 * m))
    G = flat.reshape(len(flat), m, 4)
    U, constant = closure_weights(G, tax)
    child = tax.edges[1]
    Y = best_closures(U, tax, np.arange(tax.n_nodes), with_root=True).toarray()
    for d in range(len(G)):

        def score(y: tuple[int, ...], d: int = d) -> float:
            pairs = zip(tax.parent_indices.tolist(), child.tolist(), strict=True)
            return float(sum(G[d, e, 2 * y[p] + y[c]] for e, (p, c) in enumerate(pairs)))

        consistent = [
            y
            for y in product([0, 1], repeat=tax.n_nodes)
            if all(y[p] >= y[c] for p, c in zip(tax.parent_indices, child, strict=True))
        ]
        for y in consistent:
            assert score(y) == constant[d] + U[d] @ np.array(y)
        assert score(tuple(Y[d].tolist())) == max(map(score, consistent))


def test_edge_scores_of_a_wrong_shape_are_refused(diamond: Taxonomy) -> None:
    with pytest.raises(DataError, match=r"expected \(n_docs, 5, 4\)"):
        closure_weights(np.zeros((1, 4, 4)), diamond)


def layered_dag(n_nodes: int, seed: int) -> Taxonomy:
    """A DAG with many shared children, too large to enumerate."""
    rng = np.random.default_rng(seed)
    edges = [
        (f"n{p}", f"n{v}") for v in range(4, n_nodes) for p in set(rng.integers(max(0, v - 30), v, size=3).tolist())
    ]
    return Taxonomy.from_edges(edges, nodes=[f"n{v}" for v in range(n_nodes)], root=None)


@pytest.mark.parametrize("seed", range(4))
def test_large_dags_agree_with_the_textbook_network(seed: int) -> None:
    tax = layered_dag(150, seed)
    S = np.random.default_rng(seed).integers(-40, 41, size=(6, tax.n_nodes)) / 8
    arguments = (positions(tax, np.arange(tax.n_nodes)), *hierarchy(tax)[:5])
    slow = reference_decoding.best_closures(S, *arguments)
    Y = BestClosure()(S, tax)
    assert rows(Y) == rows(pattern(*slow, tax.n_nodes))
    assert 0 < Y.nnz < Y.shape[0] * Y.shape[1]


def test_the_maximum_flow_of_scipy_gives_the_same_value() -> None:
    from scipy import sparse
    from scipy.sparse.csgraph import maximum_flow

    tax = layered_dag(400, 7)
    n = tax.n_nodes
    u = np.random.default_rng(7).integers(-50, 50, size=n)
    child = tax.edges[1]
    start = np.concatenate([np.full((u > 0).sum(), n), np.flatnonzero(u < 0), child])
    end = np.concatenate([np.flatnonzero(u > 0), np.full((u < 0).sum(), n + 1), tax.parent_indices])
    capacity = np.concatenate([u[u > 0], -u[u < 0], np.full(len(child), np.abs(u).sum() + 1)])
    network = sparse.csr_matrix((capacity.astype(np.int32), (start, end)), shape=(n + 2, n + 2))
    expected = u[u > 0].sum() - maximum_flow(network, n, n + 1).flow_value
    Y = BestClosure()(u[None].astype(np.float64), tax)
    assert is_closed(tax, Y)
    assert (Y @ u)[0] == expected > 0


@pytest.mark.data
def test_no_single_change_improves_answers_on_the_gene_ontology(data_dir: Path) -> None:
    tax = Taxonomy.read(data_dir / "yeast" / "cellcycle_GO.train.arff.gz")
    assert tax.kind == "dag"
    S = np.random.default_rng(0).normal(-0.5, 1.0, size=(5, tax.n_nodes))
    Y = BestClosure()(S, tax)
    assert is_closed(tax, Y)
    kept = Y.toarray().astype(bool)
    for d in range(len(S)):
        gains = [
            S[d, tax.ancestors(v)][~kept[d, tax.ancestors(v)]].sum() for v in np.flatnonzero(~kept[d]) if v != tax.root
        ]
        losses = [S[d, tax.descendants(v)][kept[d, tax.descendants(v)]].sum() for v in np.flatnonzero(kept[d])]
        assert max(gains) <= 1e-9
        assert min(losses) > 0


@settings(max_examples=60)
@given(data=st.data())
def test_theta_is_taken_from_every_scored_node(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    columns = data.draw(some_columns(tax))
    S = data.draw(exact_scores(len(columns)))
    per_node = data.draw(exact_scores(tax.n_nodes, max_docs=1))[0]
    for theta in (0.25, per_node):
        expected = BestClosure()(S - np.broadcast_to(theta, tax.n_nodes)[columns], tax, columns)
        assert (BestClosure(theta=theta)(S, tax, columns) != expected).nnz == 0
        if tax.kind == "tree":
            assert (BestSubtree(theta=theta)(S, tax, columns) != expected).nnz == 0


def test_an_endless_theta_forbids_a_node(diamond: Taxonomy) -> None:
    theta = np.where(diamond.names == "B", np.inf, 0.0)
    assert diamond.labels(BestClosure(theta=theta)(np.ones((1, 5)), diamond)) == [["A"]]
