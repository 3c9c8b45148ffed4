"""One run: C is chosen without the test documents, everything is measured, and time is kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

from linnaeus import registry
from linnaeus.auto.candidates import at_flat_end
from linnaeus.experiments import measures
from linnaeus.experiments.candidates import why_not
from linnaeus.experiments.experiment import Experiment, Part
from linnaeus.experiments.measures import measures_of
from linnaeus.experiments.records import MEASURED, Run
from linnaeus.experiments.run_folder import RunFolder
from linnaeus.experiments.trial import try_model
from linnaeus.metrics import hierarchical_f1
from linnaeus.models.recursive.rr import RRSVM
from tests.experiments.toy import toy

# Nothing but features and the cut is left to choose, which is quick.
GIVEN = {"OneVsRestSVM": {"C": 1.0, "learn": "given"}, "NodeSVM": {"C": 1.0}}


def test_the_record_holds_every_group_of_measures_as_plain_values() -> None:
    experiment = toy(settings={"RRSVM": {"learn": "given", "pull": 0.0}})
    run, H, P, _ = try_model(experiment, "RRSVM", 60)
    assert run.status == "done"
    assert run.measures["hierarchical_f1"] == hierarchical_f1(experiment.gold, H, experiment.taxonomy)
    low, high = run.intervals["hierarchical_f1"]
    assert low < run.measures["hierarchical_f1"] < high
    groups = {row.group for row in measures_of(run.measures, "hierarchical_f1")}
    assert groups == {"flat", "hierarchical", "ranking"}
    assert len({row.C for row in run.tried}) > 1
    assert run.held_out == max(row.value for row in run.tried)
    assert run.parameters["C"] in {row.C for row in run.tried if row.value == run.held_out}
    assert P is not None
    assert P.shape == (experiment.n_test, experiment.taxonomy.n_nodes)
    assert run.peak_memory_mb > 0
    assert run.model_mb > 0
    json.dumps(run.to_json(), allow_nan=False)


@pytest.mark.parametrize("name", sorted(registry.MODELS))
def test_every_model_runs_through(name: str) -> None:
    quick = {"CorrMNL": {"n_iter": 20, "burn_in": 10}, "HBLR": {"tol": 1e-1}, "HM3": {"tol": 1e-1}}
    experiment = toy(one_label=True, n_docs=80, settings=quick)
    assert why_not(name, experiment) is None
    run, H, *_ = try_model(experiment, name, 1)
    assert run.status in MEASURED, run.reason
    assert H.shape == experiment.gold.shape
    assert run.measures["hierarchical_f1"] > 0


def test_test_labels_have_no_say() -> None:
    part = toy().parts[0]
    other = Part(part.X, part.Y, part.X_test, part.Y_test[::-1])
    first, second = (
        try_model(Experiment("x", toy().taxonomy, (one,), "given split", settings=GIVEN), "OneVsRestSVM", 60)
        for one in (part, other)
    )
    assert first[0].parameters == second[0].parameters
    assert (first[1] != second[1]).nnz == 0


def test_folds_are_answered_part_by_part() -> None:
    run, H, *_ = try_model(toy(n_parts=3, settings=GIVEN), "OneVsRestSVM", 60)
    assert H.shape[0] == 160
    assert run.measures["micro_f1"] > 0.2


def test_a_search_without_time_still_ends_in_a_model() -> None:
    run, *_ = try_model(toy(), "OneVsRestPA", 1e-3)
    assert run.status == "done"
    assert len(run.tried) >= 1


def test_curves_rise_with_documents_and_end_at_the_run() -> None:
    run, *_ = try_model(toy(curves=True, settings=GIVEN), "OneVsRestSVM", 60)
    assert [point.share for point in run.curve] == [0.125, 0.25, 0.5, 1.0]
    assert run.curve[-1].value == run.measures["hierarchical_f1"]
    assert run.curve[0].value < run.curve[-1].value


def test_features_learning_and_cut_are_chosen_on_training_documents() -> None:
    sparse_one = toy()
    part = sparse_one.parts[0]
    dense = Part(part.X.toarray(), part.Y, part.X_test.toarray(), part.Y_test)
    run, *_ = try_model(
        Experiment("x", sparse_one.taxonomy, (dense,), "given split", settings=GIVEN), "OneVsRestSVM", 60
    )
    assert {"as they are", "rbf map"} <= {row.features for row in run.tried}
    assert len({row.cut for row in run.tried}) > 1
    best = max(run.tried, key=lambda row: row.value)
    assert (run.features, run.cut, run.held_out) == (best.features, best.cut, best.value)


def test_settings_are_kept() -> None:
    run, *_ = try_model(toy(settings={"NodeSVM": {"C": 7.0}}), "NodeSVM", 60)
    assert run.parameters["C"] == 7.0


def test_a_joint_model_goes_on_from_what_its_flat_end_has_measured(monkeypatch) -> None:
    """No fit of the flat end is repeated but that of the choice, for its scores; the joint model is never behind it."""
    flat, _, _, measured = try_model(toy(n_parts=2), "OneVsRestSVM", 60)
    fits: list[float] = []
    fit_alone = RRSVM._fit_alone

    def counted(self, problem) -> None:
        fits.append(self.C)
        fit_alone(self, problem)

    monkeypatch.setattr(RRSVM, "_fit_alone", counted)
    known = [[at_flat_end(one, "RRSVM") for one in part] for part in measured]
    run, *_ = try_model(toy(n_parts=2), "RRSVM", 60, known)
    assert len(fits) <= 6, "at most the scores and the last fit of each part, and folds"
    assert run.held_out >= flat.held_out
    n_before = len(fits)
    alone, *_ = try_model(toy(n_parts=2), "RRSVM", 60)
    assert len(fits) - n_before > n_before, "without it, all of them are fitted"
    assert alone.held_out <= run.held_out


def test_runs_are_kept_with_their_problem(tmp_path) -> None:
    experiment = toy(settings=GIVEN)
    kept = RunFolder(tmp_path, experiment)
    run, H, P, _ = try_model(experiment, "OneVsRestSVM", 60)
    kept.write(run, H, P)
    again = kept.read("OneVsRestSVM")
    assert again is not None
    assert again.measures == run.measures
    sets, probabilities = kept.answers("OneVsRestSVM")
    assert (sets != H).nnz == 0
    assert np.abs(probabilities - P).max() < 1e-3
    assert RunFolder(tmp_path, toy(n_docs=80)).read("OneVsRestSVM") is None, "other documents"
    fixed = RunFolder(tmp_path, toy(settings={"OneVsRestSVM": {"C": 2.0}}))
    assert fixed.read("OneVsRestSVM") is None, "other settings"


def test_runs_that_had_no_time_are_tried_again_with_more(tmp_path) -> None:
    kept = RunFolder(tmp_path, toy())
    kept.write(Run(model="HM3", status="no time", budget=10.0))
    assert kept.read("HM3", 10.0) is not None
    assert kept.read("HM3", 60.0) is None


def test_damaged_runs_are_no_runs(tmp_path) -> None:
    (tmp_path / "HM3.json").write_text('{"model": ')
    assert RunFolder(tmp_path, toy()).read("HM3") is None


def test_too_many_pairs_are_ranked_by_their_best_and_closed_sets_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "_WHOLE", 10)
    flat, local = (try_model(toy(settings=GIVEN), name, 60)[0].measures for name in ("OneVsRestSVM", "NodeSVM"))
    assert flat["au_prc"] is local["au_prc"] is None
    assert flat["precision_at_1"] > 0.3
    assert "precision_at_1" not in local
