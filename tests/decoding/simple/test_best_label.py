from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import BestLabel, BestLeaf
from linnaeus.errors import DataError
from tests.decoding.oracles import exact_scores, rows, some_columns
from tests.strategies import taxonomies


def test_best_leaf_of_the_worked_example(abc: Taxonomy) -> None:
    leaves = [abc.index(name) for name in ("AA", "AB", "BA", "BB")]
    S = [[0.9, 0.2, 0.1, 0.3], [0.8, 0.7, 0.1, 0.4], [0.1, 0.2, 0.5, 0.6], [0.4, 0.4, 0.1, 0.3]]
    assert abc.labels(BestLeaf()(S, abc, leaves)) == [["A", "AA"], ["A", "AA"], ["B", "BB"], ["A", "AA"]]
    assert abc.labels(BestLeaf(close=False)(S, abc, leaves)) == [["AA"], ["AA"], ["BB"], ["AA"]]


@settings(max_examples=100)
@given(st.data())
def test_best_leaf_is_the_scored_leaf_of_largest_sum(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    columns = data.draw(some_columns(tax))
    S = data.draw(exact_scores(len(columns)))
    score = [dict(zip(columns.tolist(), row, strict=True)) for row in S]
    leaves = sorted(v for v in columns.tolist() if tax.is_leaf[v])
    for path_sum in (False, True):
        decoder = BestLeaf(path_sum=path_sum)
        if not leaves:
            with pytest.raises(DataError, match="BestLabel"):
                decoder(S, tax, columns)
            continue
        for d, answer in enumerate(rows(decoder(S, tax, columns))):
            sums = {
                v: sum(score[d].get(int(a), 0.0) for a in tax.ancestors(v)) if path_sum else score[d][v] for v in leaves
            }
            best = max(leaves, key=lambda v: (sums[v], -v))
            assert answer == frozenset(tax.ancestors(best).tolist())


@settings(max_examples=100)
@given(st.data())
def test_best_label_by_path_is_the_scored_node_of_largest_sum(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    columns = data.draw(some_columns(tax))
    S = data.draw(exact_scores(len(columns)))
    for row, answer in zip(S, rows(BestLabel(path_sum=True)(S, tax, columns)), strict=True):
        score = dict(zip(columns.tolist(), row, strict=True))
        sums = {v: sum(score.get(int(a), 0.0) for a in tax.ancestors(v)) for v in score}
        best = max(sums, key=lambda v: (sums[v], -v))
        assert answer == frozenset(tax.ancestors(best).tolist())


@settings(max_examples=50)
@given(st.data())
def test_best_label_may_be_any_scored_node(data: st.DataObject) -> None:
    tax = data.draw(taxonomies())
    columns = data.draw(some_columns(tax))
    S = data.draw(exact_scores(len(columns)))
    answers = rows(BestLabel(close=False)(S, tax, columns))
    for row, answer in zip(S, answers, strict=True):
        assert answer == {min(columns[row == row.max()])}


def test_best_label_answers_with_the_root(abc: Taxonomy) -> None:
    S = np.zeros((1, abc.n_nodes))
    S[0, abc.root] = 1.0
    assert abc.labels(BestLabel()(S, abc)) == [["R"]]


def test_no_scored_node_is_an_error(abc: Taxonomy) -> None:
    with pytest.raises(DataError, match="no node has a score"):
        BestLabel()(np.zeros((2, 0)), abc, [])
