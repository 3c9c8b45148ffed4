from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from linnaeus.errors import DataError, ParameterError
from linnaeus.metrics.sets import as_pair, as_pairs, as_sets
from tests.metrics.worked import GOLD, PREDICTED, TAX
from tests.strategies import label_sets, taxonomies


def test_all_kinds_of_labels_give_the_same_rows():
    rows = TAX.indicator([["AA"], ["B"], []]).toarray()
    kinds = [
        ["AA", "B", None],
        ["AA", "B", ""],
        [["AA"], {"B"}, ()],
        np.array(["AA", "B", ""]),
        np.array([["AA"], ["B"], [""]]),
        np.array([["AA", ""], ["", "B"], [None, ""]], dtype=object),
        rows,
        rows.astype(bool),
        rows.astype(float),
        sparse.csr_matrix(rows),
        sparse.coo_array(rows),
    ]
    for labels in kinds:
        assert as_sets(labels, TAX).Y.toarray().tolist() == rows.tolist()


def test_the_label_of_a_path_is_its_last_name():
    paths = np.array([["A", "AB"], ["B", ""]])
    assert TAX.labels(as_sets(paths, TAX).Y) == [["AB"], ["B"]]


def test_repeated_labels_count_once():
    assert as_sets([["AA"] * 300], TAX).Y.sum() == 1


def test_numbers_are_names():
    from linnaeus import Taxonomy

    assert as_sets([1, 2], Taxonomy.flat([1, 2])).Y.toarray().tolist() == [[1, 0], [0, 1]]


def test_unknown_labels_are_kept_and_never_meet():
    pair = as_pair([["AA", "ZZ"], ["YY"]], [["ZZ"], ["AA", "XX"]], TAX)
    assert (pair.n_unseen_gold, pair.n_unknown_predicted) == (2, 2)
    assert pair.Y.multiply(pair.H).nnz == 0
    assert pair.column_names()[-4:] == ["ZZ", "YY", "ZZ", "XX"]


def test_closing_adds_ancestors_and_keeps_unknown_labels_and_drops_the_root():
    pair = as_pair([["AA", "ZZ", "R"]], [["XX"]], TAX).closed()
    names = np.array(pair.column_names())
    assert sorted(names[pair.Y.indices]) == ["A", "AA", "ZZ"]
    assert sorted(names[pair.H.indices]) == ["XX"]


@given(st.data())
@settings(max_examples=60)
def test_blocks_together_are_the_whole(data):
    tax = data.draw(taxonomies())
    gold = data.draw(label_sets(tax, max_docs=6))
    pair = as_pair(gold, gold[::-1], tax)
    parts = list(pair.blocks(2))
    assert sparse.vstack([part.Y for part in parts]).toarray().tolist() == pair.Y.toarray().tolist()
    closed = sparse.vstack([part.closed().H for part in parts]).toarray().tolist()
    assert closed == pair.closed().H.toarray().tolist()


def test_two_systems_share_their_columns():
    first, second = as_pairs([["AA"]], [["ZZ"]], [["YY", "ZZ"]], TAX)
    assert first.column_names() == second.column_names()
    assert first.H.multiply(second.H).nnz == 1
    Y = [TAX.indicator(side) for side in (GOLD, PREDICTED, GOLD)]
    rows = [pair.H.toarray().tolist() for pair in as_pairs(*Y, TAX)]
    assert rows == [pair.H.toarray().tolist() for pair in as_pairs(GOLD, PREDICTED, GOLD, TAX)]


def test_without_a_taxonomy_the_labels_that_occur_are_the_columns():
    pair = as_pair([["b"]], [["a", "c"]])
    assert pair.column_names() == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("gold", "predicted", "message"),
    [
        (["AA"], ["AA", "AB"], "gold has 1 documents and predicted has 2"),
        (np.eye(3, dtype=int), np.eye(3, dtype=int), "3 columns; the taxonomy has 7 nodes"),
        (np.full((1, 7), 0.5), ["AA"], "contain the number 0.5"),
        ("AA", ["AA"], "one entry per document; got the string 'AA'"),
    ],
)
def test_errors_say_what_was_given_and_expected(gold, predicted, message):
    with pytest.raises(DataError, match=message):
        as_pair(gold, predicted, TAX)


def test_indicators_without_a_taxonomy_must_be_on_both_sides():
    with pytest.raises(DataError, match="give `taxonomy`"):
        as_pair(np.eye(2, dtype=int), ["a", "b"])
    with pytest.raises(DataError, match="2 columns and predicted has 3"):
        as_pair(np.zeros((2, 2), dtype=int), np.zeros((2, 3), dtype=int))


def test_closing_needs_the_taxonomy():
    with pytest.raises(ParameterError, match="needs the taxonomy"):
        as_pair(["a"], ["a"]).closed()
