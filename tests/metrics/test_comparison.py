from __future__ import annotations

import pytest

from linnaeus import metrics
from tests.metrics.worked import GOLD, PREDICTED, TAX


def test_every_measure_has_its_test():
    rows = {row["measure"]: row for row in metrics.compare(GOLD, GOLD, PREDICTED, TAX, n_resamples=200)}
    assert list(rows) == [
        "micro_f1",
        "example_f1",
        "hierarchical_f1",
        "subset_accuracy",
        "macro_f1_occurring",
        "decisions",
    ]
    assert rows["hierarchical_f1"]["second"] == pytest.approx(0.5882, abs=1e-4)
    assert rows["micro_f1"]["difference"] == pytest.approx(1 - 4 / 9)
    assert rows["macro_f1_occurring"]["second"] == pytest.approx(0.25)
    assert (rows["subset_accuracy"]["only_first"], rows["subset_accuracy"]["only_second"]) == (3, 0)
    assert rows["micro_f1"]["low"] <= rows["micro_f1"]["difference"] <= rows["micro_f1"]["high"]
    assert all(row["p_holm"] >= row["p_value"] for row in rows.values())


def test_equal_systems_do_not_differ():
    for row in metrics.compare(GOLD, PREDICTED, PREDICTED, TAX, n_resamples=200):
        assert row["p_value"] == 1
        assert not row["difference"]


def test_without_a_taxonomy_there_is_nothing_hierarchical():
    assert "hierarchical_f1" not in {row["measure"] for row in metrics.compare(GOLD, GOLD, PREDICTED, n_resamples=200)}
