"""Weights of labels: what is given, what is balanced, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.class_weight import compute_class_weight

from linnaeus.errors import ParameterError
from linnaeus.models.fitting import check_class_weight, positive_weights

Y = sparse.csc_array(np.eye(3, dtype=np.int8)[[0, 0, 0, 1, 2, 2]])
LABELS = np.array(["a", "b", "c"], dtype=object)


@pytest.mark.parametrize("weight", [None, "balanced", {}, {"a": 2}, {"a": np.float32(0.5)}])
def test_valid_weights_pass_and_give_every_label_a_positive_weight(weight) -> None:
    check_class_weight(weight)
    assert (positive_weights(weight, Y, LABELS) > 0).all()


@pytest.mark.parametrize(("weight", "message"), [
    ("equal", "class_weight='equal'"), (3.0, "class_weight=3.0"), ([1, 2, 3], "expected None, 'balanced' or a dict"),
    ({"a": 0}, "'a' is 0"), ({"a": -1.0}, "above 0"), ({"a": np.inf}, "is inf"), ({"a": "2"}, "is '2'"),
    ({"a": float("nan")}, "is nan"),
])  # fmt: skip
def test_bad_weights_are_named(weight, message) -> None:
    with pytest.raises(ParameterError, match=message):
        check_class_weight(weight)


def test_labels_without_a_weight_count_once() -> None:
    assert positive_weights(None, Y, LABELS).tolist() == [1, 1, 1]
    assert positive_weights({"c": 3}, Y, LABELS).tolist() == [1, 1, 3]


def test_balanced_is_scikit_learns() -> None:
    y = LABELS[Y.toarray().argmax(axis=1)]
    expected = compute_class_weight("balanced", classes=LABELS, y=y)
    np.testing.assert_allclose(positive_weights("balanced", Y, LABELS), expected)


def test_a_label_without_documents_has_a_finite_weight() -> None:
    empty = sparse.csc_array((6, 2), dtype=np.int8)
    assert np.isfinite(positive_weights("balanced", empty, LABELS[:2])).all()


def test_labels_may_be_numbers_of_any_kind() -> None:
    assert positive_weights({np.int64(2): 5.0}, Y, np.array([1, 2, 3])).tolist() == [1, 5, 1]
    assert positive_weights({2: 5.0}, Y, np.array([1, 2, 3])).tolist() == [1, 5, 1]


def test_unknown_labels_are_named_with_the_nearest() -> None:
    with pytest.raises(ParameterError, match="'sprots'.*did you mean 'sports'"):
        positive_weights({"sprots": 2.0}, Y, ["sports", "art", "news"])
