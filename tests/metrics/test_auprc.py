from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import metrics
from linnaeus.errors import ParameterError, TaxonomyError
from linnaeus.metrics.auprc import area
from tests.metrics.worked import FOREST, GOLD, LEAVES, SCORES, TAX


@pytest.mark.parametrize("tax", [TAX, FOREST], ids=["root", "forest"])
@pytest.mark.parametrize(
    ("options", "value"),
    [
        ({}, 0.8534),
        ({"method": "average-precision"}, 0.8541),
        ({"method": "trapezoid"}, 0.8528),
        ({"method": "average-precision", "average": "macro"}, 0.8333),
        ({"method": "average-precision", "average": "weighted"}, 0.9000),
    ],
)
def test_worked_example(options, value, tax):
    assert metrics.au_prc(GOLD, SCORES, tax, labels=LEAVES, **options) == pytest.approx(value, abs=1e-4)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
@settings(max_examples=80)
def test_average_precision_agrees_with_scikit_learn(seed, n):
    from sklearn.metrics import average_precision_score

    rng = np.random.default_rng(seed)
    truth, scores = rng.random(n) < 0.5, rng.integers(0, 5, n) / 5
    truth[0] = True
    assert area(scores, truth, "average-precision") == pytest.approx(average_precision_score(truth, scores))


def davis_goadrich_by_hand(scores, truth):
    """Walk from point to point, adding one interpolated point per true positive."""
    points = [(0, 0)]
    for threshold in sorted(set(scores), reverse=True):
        points.append((sum(truth[scores >= threshold]), sum(~truth[scores >= threshold])))
    total = 0.0
    for (tp, fp), (next_tp, next_fp) in itertools.pairwise(points):
        for x in range(tp, next_tp):
            slope = (next_fp - fp) / (next_tp - tp)
            ends = [(y, fp + slope * (y - tp)) for y in (x, x + 1)]
            right = ends[1][0] / sum(ends[1])
            left = ends[0][0] / sum(ends[0]) if sum(ends[0]) > 0 else right
            total += (left + right) / 2
    return total / truth.sum()


@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
@settings(max_examples=80)
def test_davis_goadrich_agrees_with_its_definition(seed, n):
    rng = np.random.default_rng(seed)
    truth, scores = rng.random(n) < 0.5, rng.integers(0, 5, n) / 5
    truth[0] = True
    assert area(scores, truth) == pytest.approx(davis_goadrich_by_hand(scores, truth))


def test_constant_scores_give_the_share_of_positives():
    truth = np.array([True, False, False, True])
    for method in ("davis-goadrich", "average-precision", "trapezoid"):
        assert area(np.zeros(4), truth, method) == pytest.approx(0.5)


def test_nodes_can_be_excluded_by_name():
    without = metrics.au_prc(GOLD, SCORES, TAX, labels=LEAVES, exclude=["A", "B"])
    S = np.array(SCORES)
    Y = TAX.indicator(GOLD)[:, [TAX.index(name) for name in LEAVES]].toarray().astype(bool)
    assert without == pytest.approx(area(S.ravel(), Y.ravel()))
    with pytest.raises(TaxonomyError, match="'Q' is not a node"):
        metrics.au_prc(GOLD, SCORES, TAX, labels=LEAVES, exclude=["Q"])


def test_unseen_gold_labels_are_never_reached():
    perfect = [[0.9, 0.1, 0.1, 0.1]]
    assert metrics.au_prc([["AA"]], perfect, TAX, labels=LEAVES) == 1
    assert metrics.au_prc([["AA", "ZZ"]], perfect, TAX, labels=LEAVES) == pytest.approx(2 / 3)


def test_wrong_options_are_named():
    with pytest.raises(ParameterError, match="did you mean 'trapezoid'"):
        metrics.au_prc(GOLD, SCORES, TAX, labels=LEAVES, method="trapez")
    with pytest.raises(ParameterError, match="average='micro'"):
        metrics.au_prc(GOLD, SCORES, TAX, labels=LEAVES, average="micro")
