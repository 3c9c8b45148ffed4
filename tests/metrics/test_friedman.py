from __future__ import annotations

import numpy as np
import pytest

from linnaeus import metrics
from linnaeus.errors import DataError

TABLE = [[0.80, 0.82, 0.85], [0.60, 0.66, 0.65], [0.71, 0.70, 0.75], [0.55, 0.58, 0.61], [0.90, 0.91, 0.93]]


def test_worked_example():
    found = metrics.friedman(TABLE)
    assert found.ranks == pytest.approx([2.8, 2.0, 1.2])
    assert (found.chi2, found.p_value) == pytest.approx((6.4, 0.0408), abs=1e-4)
    assert (found.F, found.F_p_value) == pytest.approx((7.111, 0.0168), abs=1e-3)
    assert (found.q, found.critical_difference) == pytest.approx((2.3437, 1.482), abs=1e-3)
    assert found.different == [(0, 2)]


def test_errors_are_ranked_the_other_way_round():
    assert metrics.friedman(-np.array(TABLE), higher_is_better=False).ranks == pytest.approx([2.8, 2.0, 1.2])


def test_agrees_with_scipy_without_ties():
    from scipy import stats

    scores = np.random.default_rng(0).random((8, 4))
    assert metrics.friedman(scores).p_value == pytest.approx(stats.friedmanchisquare(*scores.T).pvalue)


def test_one_data_set_is_not_enough():
    with pytest.raises(DataError, match=r"shape \(1, 3\)"):
        metrics.friedman(TABLE[:1])
