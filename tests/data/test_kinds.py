"""Labels of every kind are distinguished, and are returned as what they were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from linnaeus import Taxonomy, metrics
from linnaeus.data.check import check_labels, is_indicator, recognise
from linnaeus.errors import DataError, TaxonomyError


@pytest.mark.parametrize(
    "y",
    [
        [9007199254740993, 9007199254740992],
        np.array([3, 1], dtype=np.uint8),
        np.array([1, 2], dtype=object),
        np.array([True, False]),
        np.array([b"a", b"b"]),
        np.array([1.0, 2.0]),
        ["a", "b"],
    ],
    ids=str,
)
def test_label_values_survive_exactly(y) -> None:
    Y, tax, codec = check_labels(y, None)
    again = codec.decode(Y, tax, single=True)
    assert again.tolist() == np.asarray(y).tolist()
    assert type(again.tolist()[0]) is type(np.asarray(y).tolist()[0])


def test_sets_of_numbers_stay_numbers() -> None:
    Y, tax, codec = check_labels([[1, 2], [2]], None)
    assert codec.decode(Y, tax) == [[1, 2], [2]]


def test_nothing_is_an_empty_set_not_a_label() -> None:
    for y in (["a", None, "c"], ["a", "", "c"], np.array(["a", float("nan"), "c"], dtype=object)):
        assert recognise(y).rows == [["a"], [], ["c"]]


def test_whole_number_paths_keep_their_leaf() -> None:
    tax = Taxonomy.from_edges([(1, 11), (11, 111), (2, 21)], root=None)
    Y, _, codec = check_labels(np.array([[1, 111], [2, 21]]), tax)
    assert tax.labels(Y) == [["111"], ["21"]]
    assert codec.decode(Y, tax, single=True).tolist() == [[1, 11, 111], [2, 21, ""]]


def test_a_matrix_of_scores_is_not_labels() -> None:
    with pytest.raises(DataError, match=r"contain the number 0\.5"):
        recognise(np.array([[0.5, 1.0]]))
    assert not is_indicator(np.array([[0.5, 1.0]]))


def test_what_one_label_cannot_say_comes_as_lists(abc) -> None:
    Y, _, codec = check_labels(["AA", "BB"], abc)
    assert codec.decode(abc.close(Y), abc) == [["A", "AA"], ["B", "BB"]]
    assert codec.decode(Y, abc) == [["AA"], ["BB"]]


def test_the_columns_of_a_frame_are_put_in_their_places(abc) -> None:
    sets = [["AA"], ["B", "BA"]]
    Y = abc.indicator(sets).toarray()
    frame = pd.DataFrame(Y, columns=abc.names)[sorted(abc.names)]
    assert abc.labels(check_labels(frame, abc)[0]) == sets
    assert metrics.micro_f1(frame, sets, abc) == metrics.hierarchical_f1(frame, Y, abc) == 1
    assert abc.labels(check_labels(frame[["AA", "B", "BA"]], abc)[0]) == sets
    assert list(check_labels(frame, None)[1].names) == sorted(abc.names)
    with pytest.raises(TaxonomyError, match="'BX' is not a node"):
        check_labels(frame.rename(columns={"BA": "BX"}), abc)


def test_a_document_without_its_one_label_is_refused_in_training() -> None:
    for y in (["a", None, "c"], ["a", "", "c"], pd.Series(["a", float("nan"), "c"])):
        with pytest.raises(DataError, match="Document 1 has no label"):
            check_labels(y, None)


def test_a_data_frame_of_zeros_and_ones_comes_back_with_its_own_columns(tmp_path) -> None:
    from sklearn.metrics import f1_score
    from sklearn.model_selection import cross_val_score

    import linnaeus
    from linnaeus import NodeSVM, OneVsRestSVM

    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
    X = np.random.default_rng(0).normal(size=(60, 4))
    y = pd.DataFrame((X[:, [2, 0, 1]] > 0).astype(int), columns=["BA", "AA", "AB"])
    for kind in (OneVsRestSVM, NodeSVM):
        model = kind(tax, random_state=0).fit(X, y)
        answers = model.predict(X)
        assert isinstance(answers, pd.DataFrame)
        assert answers.columns.tolist() == y.columns.tolist()
        assert f1_score(y, answers, average="micro") > 0.9
        linnaeus.save(model, tmp_path / kind.__name__)
        assert linnaeus.load(tmp_path / kind.__name__).predict(X).equals(answers)
    assert cross_val_score(OneVsRestSVM(tax, random_state=0), X, y, cv=3, scoring="f1_micro").min() > 0.8


def test_numbered_labels_of_voting_and_stacking_name_the_limit() -> None:
    from sklearn.ensemble import VotingClassifier

    from linnaeus import OneVsRestSVM

    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    voting = VotingClassifier([("svm", OneVsRestSVM(tax))])
    with pytest.raises(DataError, match="voting, stacking and bagging replace labels by numbers"):
        voting.fit(np.eye(4), ["AA", "AB", "AA", "AB"])
