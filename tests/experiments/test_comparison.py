"""Differences: a real one is found, none is claimed between equals, and all comparisons are corrected together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from linnaeus.auto.evaluate import MEASURES, PRECISION_AT_1
from linnaeus.experiments.comparison import _Area, compare_runs
from linnaeus.experiments.measures import ModelAnswers, main_measure, measure
from linnaeus.experiments.records import Run
from linnaeus.experiments.run_folder import RunFolder
from linnaeus.metrics.auprc import area
from tests.experiments.toy import toy


def _worse(Y, share, seed):
    """The gold sets, some of them exchanged for those of the next document."""
    wrong = np.random.default_rng(seed).random(Y.shape[0]) < share
    order = np.where(wrong, np.roll(np.arange(Y.shape[0]), 1), np.arange(Y.shape[0]))
    return sparse.csr_array(Y[order])


def _runs(tmp_path, **shares):
    experiment = toy(n_docs=400)
    kept = RunFolder(tmp_path, experiment)
    runs = []
    for seed, (name, share) in enumerate(shares.items()):
        H = _worse(experiment.gold, share, seed)
        P = experiment.taxonomy.close(H).toarray().astype(np.float32)
        S = P[:, experiment.label_nodes]
        figures = measure(experiment, ModelAnswers(H, S, P))
        run = Run(model=name, status="done", seconds={"fit": 1.0}, **vars(figures))
        kept.write(run, H, P)
        runs.append(run)
    return experiment, kept, runs


@pytest.mark.parametrize("given", [name for name in MEASURES if name != PRECISION_AT_1])
def test_all_measures_of_answers_and_rankings_are_compared(tmp_path, given) -> None:
    experiment, kept, runs = _runs(tmp_path, RRSVM=0.1, OneVsRestSVM=0.6)
    key = main_measure(given)
    row = compare_runs(replace(experiment, measure=key), kept, runs)[0]
    assert (row.model, row.measure) == ("OneVsRestSVM", key)
    assert row.difference == pytest.approx(runs[1].measures[key] - runs[0].measures[key], abs=0.01)
    assert row.p < 0.01
    assert row.interval[1] < 0


def test_a_large_difference_is_found_and_a_small_one_is_not(tmp_path) -> None:
    found = compare_runs(*_runs(tmp_path, RRSVM=0.1, HM3=0.2, OneVsRestSVM=0.6))
    against_best = {row.model: row for row in found if row.kind == "best"}
    assert set(against_best) == {"HM3", "OneVsRestSVM"}
    assert against_best["OneVsRestSVM"].p < 0.01
    assert against_best["OneVsRestSVM"].interval[1] < 0
    assert against_best["HM3"].p > 0.05
    best_beside_flat = next(row for row in found if row.kind == "flat" and row.model == "RRSVM")
    assert best_beside_flat.difference > 0
    assert all(group.difference > 0 for group in best_beside_flat.by_size)
    assert all(row.p >= row.p_alone for row in found)


def test_the_best_and_the_flat_model_have_one_p_value_in_both_comparisons(tmp_path) -> None:
    found = compare_runs(*_runs(tmp_path, RRSVM=0.05, HM3=0.2, NodeSVM=0.3, OneVsRestSVM=0.22, TopDownSVM=0.4))
    (mine,) = (row for row in found if row.kind == "flat" and row.model == "RRSVM")
    (other,) = (row for row in found if row.kind == "best" and row.model == "OneVsRestSVM")
    assert other.against == "RRSVM"
    assert mine.p == other.p
    assert mine.difference == -other.difference
    assert mine.interval == [-other.interval[1], -other.interval[0]]


def test_nothing_is_compared_where_nothing_ran(tmp_path) -> None:
    experiment, kept, _ = _runs(tmp_path)
    assert compare_runs(experiment, kept, []) == []


def test_areas_by_weights_are_areas_of_repeated_documents() -> None:
    rng = np.random.default_rng(0)
    S, Y, often = rng.random((6, 5)), rng.random((6, 5)) < 0.4, np.array([0, 1, 2, 1, 0, 3])
    rows = np.repeat(np.arange(6), often)
    # Repeated documents tie with themselves: a small amount orders them as weights count them.
    expected = area(S[rows].ravel(), Y[rows].ravel(), "average-precision")
    assert abs(_Area.of(S, Y)(often) - expected) < 1e-12
    assert abs(_Area.of(S, Y)(np.ones(6)) - area(S.ravel(), Y.ravel(), "average-precision")) < 1e-12


def test_areas_are_compared_where_they_are_the_measure(tmp_path) -> None:
    experiment, kept, runs = _runs(tmp_path, RRSVM=0.1, OneVsRestSVM=0.6)
    object.__setattr__(experiment, "measure", "au_prc")
    found = compare_runs(experiment, kept, runs)
    assert {row.measure for row in found} == {"au_prc"}
    assert all(row.p < 0.05 for row in found)
