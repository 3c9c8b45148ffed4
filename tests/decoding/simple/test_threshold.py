from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import Threshold
from linnaeus.errors import DataError, ParameterError
from tests.decoding.oracles import exact_scores, rows, some_columns
from tests.strategies import taxonomies


@settings(max_examples=150)
@given(st.data())
def test_repairs_follow_their_definitions(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    columns = data.draw(some_columns(tax))
    S = data.draw(exact_scores(len(columns)))
    theta = np.array(data.draw(st.lists(st.integers(-4, 4), min_size=tax.n_nodes, max_size=tax.n_nodes))) / 4
    above = {v: set(tax.ancestors(v).tolist()) for v in range(tax.n_nodes)}
    answers = {
        repair: rows(Threshold(theta=theta, repair=repair, at_least_one=False)(S, tax, columns))
        for repair in ("closure", "suppress", None)
    }
    for d, row in enumerate(S):
        bare = {int(v) for v, s in zip(columns, row, strict=True) if s > theta[v]}
        assert answers[None][d] == bare
        T = bare - {tax.root}
        assert answers["closure"][d] == set().union(*(above[v] for v in T))
        assert answers["suppress"][d] == {v for v in T if above[v] <= T}


@settings(max_examples=60)
@given(st.data())
def test_coherent_scores_need_no_repair(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    S = data.draw(exact_scores(tax.n_nodes))
    coherent = np.stack([S[:, tax.ancestors(v)].min(axis=1) for v in range(tax.n_nodes)], axis=1)
    bare, closed, suppressed = (
        rows(Threshold(theta=-0.25, repair=repair, at_least_one=False)(coherent, tax))
        for repair in (None, "closure", "suppress")
    )
    assert [answer - {tax.root} for answer in bare] == closed == suppressed


@settings(max_examples=60)
@given(st.data())
def test_an_empty_answer_becomes_the_best_label(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    S = data.draw(exact_scores(tax.n_nodes))
    for repair in ("closure", "suppress", None):
        nodes = np.array([v for v in range(tax.n_nodes) if repair is None or v != tax.root])
        bare = rows(Threshold(theta=1.0, repair=repair, at_least_one=False)(S, tax))
        for row, before, after in zip(S, bare, rows(Threshold(theta=1.0, repair=repair)(S, tax)), strict=True):
            best = int(nodes[row[nodes].argmax()])
            expected = {best} if repair is None else set(tax.ancestors(best).tolist())
            assert after == (before or expected)


@pytest.mark.parametrize("repair", ["closure", "suppress", None])
def test_a_root_that_alone_was_scored_is_better_than_nothing(abc: Taxonomy, repair: str | None) -> None:
    assert abc.labels(Threshold(repair=repair)([[-1.0], [1.0]], abc, [abc.root])) == [["R"], ["R"]]
    bare = abc.labels(Threshold(repair=repair, at_least_one=False)([[1.0]], abc, [abc.root]))
    assert bare == ([["R"]] if repair is None else [[]])


def test_at_least_one_needs_a_scored_node(abc: Taxonomy) -> None:
    with pytest.raises(DataError, match="no node has a score; at_least_one=False allows it"):
        Threshold()(np.zeros((2, 0)), abc, [])
    assert abc.labels(Threshold(at_least_one=False)(np.zeros((2, 0)), abc, [])) == [[], []]


def test_suppress_on_a_dag_needs_all_parents(diamond: Taxonomy) -> None:
    columns = [diamond.index(name) for name in "ABC"]
    decode = Threshold(repair="suppress", at_least_one=False)
    assert diamond.labels(decode([[1, -1, 1], [1, 1, 1]], diamond, columns)) == [["A"], ["A", "B", "C"]]


def test_a_node_without_score_is_never_above_its_threshold(abc: Taxonomy) -> None:
    leaf = [abc.index("AA")]
    assert abc.labels(Threshold(theta=-1e9)([[0.0]], abc, leaf)) == [["A", "AA"]]
    assert abc.labels(Threshold(repair="suppress", at_least_one=False)([[1.0]], abc, leaf)) == [[]]


def test_wrong_parameters_are_named(abc: Taxonomy) -> None:
    with pytest.raises(ParameterError, match="did you mean 'suppress'"):
        Threshold(repair="supress")
    with pytest.raises(ParameterError, match="3 values, expected one number or one for each of the 7 nodes"):
        Threshold(theta=[0.0, 1.0, 2.0])(np.zeros((1, 7)), abc)
    with pytest.raises(ParameterError, match="theta"):
        Threshold(theta=float("nan"))


def test_suppressing_is_the_walk_from_the_top_that_drops_what_hangs_on_nothing() -> None:
    tax = Taxonomy.from_edges([("a", "b"), ("a", "c"), ("b", "d")], root=None)
    S = np.array([[-1.0, 1, 1, 1], [1, -1, 1, 1]])
    found = Threshold(repair="suppress", at_least_one=False)(S, tax)
    assert tax.labels(found) == [[], ["a", "c"]]
