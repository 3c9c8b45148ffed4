from __future__ import annotations

import json

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.decoding import InstanceCut, Threshold, TopScores, decoder
from linnaeus.decoding.cutoffs.by_document import best_cuts, ridge, score_features
from linnaeus.decoding.cutoffs.cut_off import micro_f1
from linnaeus.errors import ParameterError
from tests.decoding.oracles import rows


def shifted(n_docs: int = 300, n_nodes: int = 8, seed: int = 0) -> tuple[Taxonomy, np.ndarray, np.ndarray]:
    """Documents whose scores are good but all too high or too low, each by its own amount."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n_docs, n_nodes)) < 0.25
    Y[np.arange(n_docs), rng.integers(n_nodes, size=n_docs)] = True
    S = 2.0 * Y + 0.3 * rng.normal(size=Y.shape) + rng.normal(size=(n_docs, 1))
    return Taxonomy.flat(f"n{v}" for v in range(n_nodes)), S, Y.astype(np.int8)


@pytest.mark.parametrize("target", ["errors", "f1"])
def test_every_document_is_cut_where_its_own_scores_say(target: str) -> None:
    tax, S, Y = shifted()
    _, S_test, Y_test = shifted(seed=1)
    cut = InstanceCut(target=target).fit(S, Y, tax)
    gold = tax.indicator(tax.labels(Y_test))
    assert micro_f1(gold, cut(S_test, tax), tax) > 0.95
    assert micro_f1(gold, Threshold(repair=None)(S_test, tax), tax) < 0.8


def test_thresholds_are_the_ridge_regression_of_the_targets() -> None:
    tax, S, Y = shifted()
    from linnaeus.decoding.base import held_out

    F = score_features(S, 3)
    weights, constant = ridge(F, best_cuts(held_out(S, Y, tax), "errors").theta, 0.01)
    cut = InstanceCut(n_scores=3, penalty=0.01).fit(S, Y, tax)
    theta = F @ weights + constant
    np.testing.assert_allclose(cut.thresholds(S), theta)
    expected = [set(np.flatnonzero(row > t).tolist()) or {int(row.argmax())} for row, t in zip(S, theta, strict=True)]
    assert rows(cut(S, tax)) == expected


def test_the_best_scores_are_enough() -> None:
    tax, S, Y = shifted(n_nodes=30)
    whole, best = (InstanceCut(n_scores=5).fit(scores, Y, tax) for scores in (S, TopScores.of(S, 29)))
    np.testing.assert_allclose(whole.thresholds(S), best.thresholds(S))


def test_labels_that_no_fold_knew_do_no_harm() -> None:
    tax, S, Y = shifted()
    S[:100, 0] = -np.inf
    cut = InstanceCut().fit(S, Y, tax)
    assert np.isfinite(cut.thresholds(S)).all()
    assert not cut(S, tax)[:100, [0]].nnz


def test_it_survives_its_dictionary() -> None:
    tax, S, Y = shifted()
    cut = InstanceCut().fit(S, Y, tax)
    assert decoder(**json.loads(json.dumps(cut.to_dict()))) == cut


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="did you mean 'errors'"):
        InstanceCut(target="error")
    with pytest.raises(ParameterError, match="n_scores=0"):
        InstanceCut(n_scores=0)
    with pytest.raises(ParameterError, match="has not learned"):
        InstanceCut().thresholds(np.zeros((1, 2)))
