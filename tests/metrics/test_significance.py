from __future__ import annotations

import numpy as np
import pytest

from linnaeus import metrics
from linnaeus.errors import DataError, ParameterError
from tests.metrics.worked import GOLD, PREDICTED, TAX

D = [0.03, 0.01, 0.04, -0.02, 0.05, 0.06, 0.015, 0.025]


def test_worked_sign_test():
    assert metrics.sign_test(8, 2).p_value == pytest.approx(0.1094, abs=1e-4)
    assert metrics.sign_test(0, 0).p_value == 1


def test_worked_wilcoxon():
    found = metrics.wilcoxon(D)
    assert found.statistic == 3
    assert found.p_value == pytest.approx(0.0391, abs=1e-4)
    assert found.details["exact"]


def test_wilcoxon_drops_zeros_or_ranks_them():
    assert metrics.wilcoxon([*D, 0.0]).p_value == pytest.approx(metrics.wilcoxon(D).p_value)
    assert metrics.wilcoxon([*D, 0.0]).n == 8
    assert metrics.wilcoxon([*D, 0.0, 0.0], zeros="pratt").n == 10
    assert not metrics.wilcoxon([0.1, 0.1, -0.2, 0.3]).details["exact"]  # ties
    assert metrics.wilcoxon([0.0, 0.0]).p_value == 1
    with pytest.raises(ParameterError, match="zeros='keep'"):
        metrics.wilcoxon(D, zeros="keep")


def test_worked_mcnemar():
    assert metrics.mcnemar(10, 3, "exact").p_value == pytest.approx(0.0923, abs=1e-4)
    assert metrics.mcnemar(10, 3, "mid-p").p_value == pytest.approx(0.0574, abs=1e-4)
    chi2 = metrics.mcnemar(10, 3, "chi2")
    assert (chi2.statistic, chi2.p_value) == pytest.approx((2.769, 0.0961), abs=1e-3)
    assert metrics.mcnemar(10, 3).name == "McNemar, exact"
    assert metrics.mcnemar(20, 10).name == "McNemar, mid-p"
    assert metrics.mcnemar(0, 0).p_value == 1


def test_decisions_are_counted_where_exactly_one_system_is_right():
    # d2: AB wrong and BB missed, d3: BB wrong and BA missed, d4: AB missed
    found = metrics.decision_sign_test(GOLD, GOLD, PREDICTED, TAX)
    assert found.details == {"wins": 5, "losses": 0}
    assert found.p_value == pytest.approx(2 / 2**5)
    assert metrics.decision_sign_test(GOLD, PREDICTED, GOLD).details == {"wins": 0, "losses": 5}
    assert metrics.decision_sign_test([["AA"]], [["ZZ"]], [["ZZ"]], TAX).n == 0


def test_corrected_resampled_t():
    differences = np.array([0.02, 0.03, 0.01, 0.04])
    t = differences.mean() / np.sqrt((1 / 4 + 20 / 80) * differences.var(ddof=1))
    found = metrics.corrected_resampled_t(differences, n_train=80, n_test=20)
    assert found.statistic == pytest.approx(t)
    assert found.interval[0] < found.effect < found.interval[1]
    from scipy import stats

    plain = stats.ttest_1samp(differences, 0.0).pvalue
    assert found.p_value > plain  # more cautious than the plain test, which it is without overlap
    assert metrics.corrected_resampled_t(differences, n_train=10**12, n_test=1).p_value == pytest.approx(plain)
    with pytest.raises(DataError, match="at least 2"):
        metrics.corrected_resampled_t([0.1], 1, 1)


def test_holm_steps_down():
    assert metrics.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert metrics.holm([0.6, 0.9]) == pytest.approx([1, 1])


def test_results_are_plain_values():
    plain = metrics.sign_test(8, 2).to_dict()
    assert plain["wins"] == 8
    assert plain["interval"] is None
