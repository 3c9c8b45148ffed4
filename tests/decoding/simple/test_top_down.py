from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import Threshold, TopDown
from linnaeus.errors import DataError, ParameterError
from linnaeus.taxonomy.closure import is_closed
from tests.decoding.oracles import exact_scores, rows
from tests.strategies import taxonomies


def descend(tax: Taxonomy, score: np.ndarray, leaf_mandatory: bool) -> set[int]:
    """The recursive definition on a tree."""

    def below(children: list[int]) -> set[int]:
        kept = [c for c in children if score[c] > 0]
        if not kept and leaf_mandatory and children:
            kept = [max(children, key=lambda c: (score[c], -c))]
        return set(kept).union(*(below(tax.children(c).tolist()) for c in kept))

    return below(tax.tops.tolist())


@settings(max_examples=100)
@given(st.data())
def test_on_a_tree_it_is_the_recursive_descent(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("tree",)))
    S = data.draw(exact_scores(tax.n_nodes))
    for leaf_mandatory in (True, False):
        answers = rows(TopDown(leaf_mandatory=leaf_mandatory)(S, tax))
        assert answers == [descend(tax, row, leaf_mandatory) for row in S]


@settings(max_examples=100)
@given(st.data())
def test_answers_on_a_dag_are_closed_and_hold_what_suppression_leaves(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("dag",)))
    S = data.draw(exact_scores(tax.n_nodes))
    suppressed = rows(Threshold(repair="suppress", at_least_one=False)(S, tax))
    assert rows(TopDown(leaf_mandatory=False)(S, tax)) == suppressed
    Y = TopDown()(S, tax)
    assert is_closed(tax, Y)
    for answer, least in zip(rows(Y), suppressed, strict=True):
        assert answer >= least
        assert tax.root not in answer
        assert answer


@settings(max_examples=100)
@given(st.data())
def test_leaf_mandatory_leaves_no_open_child_of_a_childless_node(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("dag",)))
    S = data.draw(exact_scores(tax.n_nodes))
    for answer in rows(TopDown(theta=1.0)(S, tax)):
        for v in answer:
            children = tax.children(v).tolist()
            is_open = [c for c in children if answer.issuperset(p for p in tax.parents(c).tolist() if p != tax.root)]
            assert answer.intersection(children) or not is_open


def test_a_dag_child_waits_for_all_its_parents(diamond: Taxonomy) -> None:
    columns = [diamond.index(name) for name in "ABCD"]
    S = [[1.0, -1.0, 9.0, -5.0], [1.0, 1.0, -3.0, -5.0]]
    assert diamond.labels(TopDown()(S, diamond, columns)) == [["A"], ["A", "B", "C"]]


def test_any_parent_is_enough_where_asked(diamond: Taxonomy) -> None:
    columns = [diamond.index(name) for name in "ABCD"]
    S = [[1.0, -1.0, 9.0, -5.0], [1.0, -1.0, -3.0, -5.0]]
    answers = diamond.labels(TopDown(parents="any", leaf_mandatory=False)(S, diamond, columns))
    assert answers == [["A", "B", "C"], ["A"]]


@settings(max_examples=100)
@given(st.data())
def test_with_any_parent_an_infinite_threshold_gives_one_node_that_is_a_leaf(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    S = data.draw(exact_scores(tax.n_nodes))
    decoder = TopDown(theta=np.inf, parents="any")
    assert decoder.single
    Y = tax.frontier(decoder(S, tax))
    assert np.diff(Y.indptr).tolist() == [1] * len(S)
    assert tax.is_leaf[Y.indices].all()


def test_a_wrong_word_for_parents_is_refused() -> None:
    with pytest.raises(ParameterError, match="parents='every'"):
        TopDown(parents="every")


def test_scores_for_leaves_only_are_refused(abc: Taxonomy) -> None:
    with pytest.raises(DataError, match="none of them has a score"):
        TopDown()(np.ones((1, 1)), abc, [abc.index("AA")])
