"""The border of training: labels of every kind are understood, and what cannot be is refused with a reason."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.data.check import Problem, check_labels, check_weights
from linnaeus.errors import DataError, UnknownLabelError
from tests.strategies import label_sets, taxonomies


def sets_of(y, taxonomy):
    Y, tax, codec = check_labels(y, taxonomy)
    return tax.labels(Y), codec


def test_labels_one_per_document(abc) -> None:
    for y in (["AA", "B"], np.array(["AA", "B"]), pd.Series(["AA", "B"]), ("AA", "B")):
        labels, codec = sets_of(y, abc)
        assert labels == [["AA"], ["B"]]
        assert codec.kind == "labels"


def test_lists_of_labels_even_when_all_have_one_length(abc) -> None:
    labels, codec = sets_of([["AA", "B"], ["A", "BA"]], abc)
    assert labels == [["B", "AA"], ["A", "BA"]]
    assert codec.kind == "sets"
    assert sets_of([["AA"], [], {"B"}], abc)[0] == [["AA"], [], ["B"]]


def test_paths_stand_for_their_last_name(abc) -> None:
    for y in (np.array([["A", "AA"], ["B", ""]]), pd.DataFrame([["A", "AA"], ["B", None]])):
        labels, codec = sets_of(y, abc)
        assert labels == [["AA"], ["B"]]
        assert codec.kind == "paths"


def test_paths_that_leave_the_taxonomy_are_refused(abc) -> None:
    with pytest.raises(DataError, match="'B' is not above 'AA'"):
        check_labels(np.array([["B", "AA"]]), abc)
    with pytest.raises(DataError, match="path of document 1 is empty"):
        check_labels(np.array([["A", "AA"], ["", ""]]), abc)


def test_paths_without_taxonomy_make_one() -> None:
    tax = check_labels(np.array([["A", "AA"], ["A", "AB"], ["B", ""]]), None)[1]
    assert tax.kind == "tree"
    assert [tax.names[p] for p in tax.parents("AB")] == ["A"]


def test_indicators_dense_sparse_and_as_lists(abc) -> None:
    Y = abc.indicator([["AA"], ["B", "BA"]])
    for y in (Y, sparse.csc_matrix(Y), Y.toarray(), Y.toarray().astype(bool), Y.toarray().tolist()):
        labels, codec = sets_of(y, abc)
        assert labels == [["AA"], ["B", "BA"]]
        assert codec.kind == "indicator"
    for narrow in (sparse.csr_array(np.eye(3)), np.eye(3), np.eye(3, dtype=int)):
        with pytest.raises(DataError, match="3 columns; the taxonomy has 7 nodes"):
            check_labels(narrow, abc)
    with pytest.raises(DataError, match="entries 0 and 1; got 2"):
        check_labels(sparse.csr_array(2 * np.eye(7)), abc)


def test_whole_numbers_are_names_and_come_back_as_numbers() -> None:
    tax = Taxonomy.from_edges([(0, 1), (0, 2)])
    Y, _, codec = check_labels([1, 2, 1], tax)
    assert tax.labels(Y) == [["1"], ["2"], ["1"]]
    assert codec.decode(Y, tax, single=True).tolist() == [1, 2, 1]
    assert check_labels([[1, 2], [2]], tax)[2].decode(Y, tax) == [[1], [2], [1]]


@given(taxonomies().flatmap(lambda tax: label_sets(tax).map(lambda sets: (tax, sets))))
def test_answers_come_back_as_they_were_given(case) -> None:
    tax, sets = case
    if not any(sets):
        return
    Y, _, codec = check_labels(sets, tax)
    assert [sorted(row) for row in codec.decode(Y, tax)] == [sorted(row) for row in sets]
    dense = Y.toarray()
    if dense.shape[1] > 1:
        np.testing.assert_array_equal(check_labels(dense, tax)[2].decode(Y, tax), dense)
    single = [row[0] if row else str(tax.names[0]) for row in sets]
    Y, _, codec = check_labels(single, tax)
    assert codec.decode(Y, tax, single=True).tolist() == single


def test_paths_are_decoded_from_the_top(abc) -> None:
    Y, _, codec = check_labels(np.array([["A", "AA"], ["B", ""]]), abc)
    assert codec.decode(Y, abc, single=True).tolist() == [["A", "AA"], ["B", ""]]
    assert codec.decode(Y, abc) == [["AA"], ["B"]]


def test_what_cannot_be_labels_is_refused(abc) -> None:
    with pytest.raises(UnknownLabelError, match=r"'AC' \(document 1\).*did you mean 'A"):
        check_labels(["AA", "AC"], abc)
    with pytest.raises(DataError, match="continuous"):
        check_labels([0.5, 1.5], None)
    with pytest.raises(DataError, match="NaN"):
        check_labels(np.array([0.0, np.nan]), None)
    with pytest.raises(DataError, match="3 dimensions"):
        check_labels(np.zeros((2, 2, 2)), None)
    with pytest.raises(DataError, match="y is None"):
        check_labels(None, None)


def test_closed_sets_are_noticed(abc) -> None:
    X = np.zeros((2, 1))
    closed = abc.indicator([["A", "AA"], ["B"]])
    assert Problem(X, closed, abc).is_closed
    assert not Problem(X, abc.indicator([["AA"], ["B"]]), abc).is_closed
    assert abc.labels(Problem(X, closed, abc).frontier) == [["AA"], ["B"]]
    flat = Taxonomy.flat(["a", "b"])
    assert not Problem(X, flat.indicator([["a"], ["b"]]), flat).is_closed


def test_weights_are_checked() -> None:
    assert check_weights(None, 3) is None
    assert check_weights(2, 2).tolist() == [2, 2]
    for weights, message in (([1], "shape"), ([1, -1], "not negative"), ([1, np.inf], "finite"), ([0, 0], "zero")):
        with pytest.raises(DataError, match=message):
            check_weights(weights, 2)
