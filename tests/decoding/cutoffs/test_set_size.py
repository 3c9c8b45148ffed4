from __future__ import annotations

import json

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.decoding import SetSize, decoder
from linnaeus.decoding.cutoffs.cut_off import micro_f1
from linnaeus.errors import ParameterError
from tests.decoding.cutoffs.test_instance_cut import shifted
from tests.decoding.oracles import rows

every_method = pytest.mark.parametrize("method", ["poisson", "ordinal", "ridge"])


@pytest.mark.parametrize("target", ["size", "errors", "f1"])
@every_method
def test_sizes_are_read_off_the_scores(method: str, target: str) -> None:
    tax, S, Y = shifted()
    _, S_test, Y_test = shifted(seed=1)
    cut = SetSize(method, target).fit(S, Y, tax)
    sizes = np.array([len(answer) for answer in rows(cut(S_test, tax))])
    assert (sizes == Y_test.sum(axis=1)).mean() > 0.5
    assert micro_f1(tax.indicator(tax.labels(Y_test)), cut(S_test, tax), tax) > 0.85


@every_method
def test_the_answer_is_the_rounded_number_of_best_labels(method: str) -> None:
    tax, S, Y = shifted()
    cut = SetSize(method).fit(S, Y, tax)
    sizes = np.floor(cut.expected(S) + 0.5).astype(int)
    assert rows(cut(S, tax)) == [set(np.argsort(-row)[:k].tolist()) for row, k in zip(S, sizes, strict=True)]


@every_method
def test_no_answer_leaves_the_range_of_the_sizes_learned(method: str) -> None:
    tax, S, Y = shifted()
    cut = SetSize(method).fit(S, Y, tax)
    far = cut.expected(S * 1000)
    assert far.min() >= Y.sum(axis=1).min()
    assert far.max() <= Y.sum(axis=1).max()


def test_answers_may_be_empty_if_asked_and_learned() -> None:
    tax = Taxonomy.flat("AB")
    S = np.array([[2.0, 0.0], [-2.0, -3.0]] * 20)
    Y = np.array([[1, 0], [0, 0]] * 20)
    assert tax.labels(SetSize(at_least_one=False, penalty=1e-6).fit(S, Y, tax)(S[:2], tax)) == [["A"], []]
    assert tax.labels(SetSize(penalty=1e-6).fit(S, Y, tax)(S[:2], tax)) == [["A"], ["A"]]


@every_method
def test_it_survives_its_dictionary(method: str) -> None:
    tax, S, Y = shifted()
    cut = SetSize(method).fit(S, Y, tax)
    again = decoder(**json.loads(json.dumps(cut.to_dict())))
    assert again == cut
    assert rows(again(S, tax)) == rows(cut(S, tax))


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="did you mean 'poisson'"):
        SetSize("poison")
    with pytest.raises(ParameterError, match="target='sizes'"):
        SetSize(target="sizes")
    with pytest.raises(ParameterError, match="has not learned"):
        SetSize()(np.zeros((1, 1)), Taxonomy.flat("A"))
