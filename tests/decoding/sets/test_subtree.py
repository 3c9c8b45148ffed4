from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import BestSubtree, max_edge_labelling
from linnaeus.errors import DataError, TaxonomyError
from tests.decoding.oracles import exact_scores, parents_of, rows, smallest_best, some_columns
from tests.strategies import taxonomies


@settings(max_examples=100)
@given(st.data())
def test_best_subtree_is_the_best_of_all_closed_sets(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("tree",)))
    columns = data.draw(some_columns(tax))
    S = data.draw(exact_scores(len(columns), max_docs=10))
    for row, answer in zip(S, rows(BestSubtree()(S, tax, columns)), strict=True):
        weight = np.zeros(tax.n_nodes)
        weight[columns] = row
        assert answer == smallest_best(tax, weight)


def test_minus_infinity_forbids_a_node(abc: Taxonomy) -> None:
    S = np.ones((1, abc.n_nodes))
    S[0, abc.index("A")] = -np.inf
    assert abc.labels(BestSubtree()(S, abc)) == [["B", "BA", "BB"]]


def test_a_dag_is_refused_by_name(diamond: Taxonomy) -> None:
    with pytest.raises(TaxonomyError, match="'C' has 2 parents; use BestClosure"):
        BestSubtree()(np.zeros((1, 5)), diamond)
    with pytest.raises(TaxonomyError, match="'C' has 2 parents"):
        max_edge_labelling(np.zeros((1, 5, 4)), diamond)


def labellings(tax: Taxonomy, G: np.ndarray, consistent: bool) -> list[tuple[float, tuple[int, ...]]]:
    """Score and labels of every allowed labelling of one document."""
    found = []
    for y in product([0, 1], repeat=tax.n_nodes):
        above = [y[p[0]] if (p := parents_of(tax, v, with_root=True)) else 1 for v in range(tax.n_nodes)]
        if not consistent or all(a >= b for a, b in zip(above, y, strict=True)):
            found.append((sum(G[v, 2 * a + b] for v, (a, b) in enumerate(zip(above, y, strict=True))), y))
    return found


@settings(max_examples=80)
@given(st.data())
def test_edge_labellings_are_the_best_of_all(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("tree",), max_nodes=6))
    G = data.draw(exact_scores(4 * tax.n_nodes)).reshape(-1, tax.n_nodes, 4)
    for consistent in (True, False):
        labels, scores = max_edge_labelling(G, tax, consistent=consistent)
        for d in range(len(G)):
            everything = {y: score for score, y in labellings(tax, G[d], consistent)}
            assert scores[d] == max(everything.values())
            assert everything[tuple(labels[d].astype(int).tolist())] == scores[d]


def test_a_tied_edge_labelling_prefers_nothing(abc: Taxonomy) -> None:
    labels, scores = max_edge_labelling(np.zeros((2, 7, 4), dtype=np.float32), abc)
    assert not labels.any()
    assert not scores.any()


def test_the_entries_above_a_top_node_score_its_own_label(abc: Taxonomy) -> None:
    G = np.zeros((1, 7, 4))
    G[0, 0] = [9, 9, 0, 1]
    labels, scores = max_edge_labelling(G, abc)
    assert labels[0].tolist() == [True] + [False] * 6
    assert scores.tolist() == [1.0]


def test_edge_scores_of_a_wrong_shape_are_refused(abc: Taxonomy) -> None:
    with pytest.raises(DataError, match=r"shape \(2, 7\), expected \(n_docs, 7, 4\)"):
        max_edge_labelling(np.zeros((2, 7)), abc)
