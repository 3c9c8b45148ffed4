"""What a search keeps back of its budget, so that the whole command ends with it."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.auto import AutoClassifier
from linnaeus.auto.candidates import first_candidate
from linnaeus.auto.evaluate import Evaluator, Outcome, splits_of
from linnaeus.auto.search import Search

TAX = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"]])


def documents(n: int) -> tuple[np.ndarray, list[list[str]]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    order = np.argsort(-(X + 0.5 * rng.normal(size=X.shape)), axis=1)
    return X, [[("AA", "AB", "BA")[j] for j in row[: 1 + i % 2]] for i, row in enumerate(order)]


def begun(measure: str, budget: float) -> Search:
    X, y = documents(420)
    Y = TAX.indicator(y)
    evaluator = Evaluator(X, Y, TAX, {"as they are": None}, splits_of(Y, 0), measure, 0)
    search = Search(evaluator, budget, lambda line: None, ["OneVsRestSVM"])
    search.measure(first_candidate("OneVsRestSVM"), evaluator.n_learn, must=True)
    return search


@pytest.mark.parametrize(("measure", "times"), [("hierarchical_f1", 5), ("average_precision", 8)])
def test_time_for_the_last_cut_and_probabilities_is_kept_back(measure: str, times: float) -> None:
    search = begun(measure, 1000.0)
    search.evaluator.curve_seconds = 40.0
    assert search.left < 1000.0 - times * 40.0 < search.left + search.spent + 2.0 * search._last_fit() + 1.0


def test_documents_are_not_held_out_in_folds_where_their_probabilities_take_too_long() -> None:
    search = begun("average_precision", 1000.0)
    assert search._folds_fit(search._last_fit())
    search.evaluator.curve_seconds = 25.0  # 200 seconds after the last fit, or 800 with four times the documents
    assert not search._folds_fit(search._last_fit())
    assert search._refined(search.tried[0]) is not None
    search.earlier = 400.0
    assert search._refined(search.tried[0]) is None


@pytest.mark.parametrize(("measure", "kept"), [("average_precision", True), ("hierarchical_f1", False)])
def test_time_for_folds_is_kept_back_from_the_start_where_probabilities_are_measured(measure: str, kept: bool) -> None:
    search = begun(measure, 1000.0)
    search.evaluator.curve_seconds = 10.0
    more = search._after(folds=True) - search._after()
    search.share = 0.75  # the rounds
    assert (search.left < 1000.0 - search._after() - more) == kept


def test_seconds_before_the_search_count_and_its_last_fit_is_announced() -> None:
    X, y = documents(90)
    lines: list[str] = []
    auto = AutoClassifier(TAX, budget=1e4).fit(X, y, models=["OneVsRestSVM"], tuned=(), spent=500.0, say=lines.append)
    assert auto.report_.seconds > 500.0
    assert any(line.startswith("training OneVsRestSVM") and "all 90 documents" in line for line in lines)
    assert lines[-1] == "fitting its probabilities ..."


def test_at_most_half_of_a_given_budget_is_over_before_the_search() -> None:
    X, y = documents(90)
    auto = AutoClassifier(TAX, budget=100).fit(X, y, models=["OneVsRestSVM"], tuned=(), spent=500.0)
    assert 50.0 <= auto.report_.seconds < 90.0


def known(search: Search, model: str, n_docs: int, seconds: float) -> Outcome:
    one = replace(search.tried[0], candidate=first_candidate(model), n_docs=n_docs, seconds=seconds, fitting=seconds)
    search.tried.append(one)
    return one


def test_seconds_of_a_joint_model_are_forecast_by_the_growth_of_the_flat_one() -> None:
    search = begun("hierarchical_f1", 1000.0)
    search.tried[:] = [replace(search.tried[0], n_docs=9000, seconds=90.0, fitting=90.0)]
    joint = known(search, "RRSVM", 1000, 60.0)
    assert search._forecast(joint.candidate, 9000) == pytest.approx(60.0 * 9**0.75)
    known(search, "OneVsRestSVM", 1000, 30.0)  # three times the seconds for nine times the documents
    assert search._forecast(joint.candidate, 9000) == pytest.approx(180.0)
    assert search._forecast(first_candidate("TopDownSVM"), 9000) == pytest.approx(90.0)  # the flat model itself
    known(search, "RRSVM", 3000, 90.0)  # from now on by its own two sizes
    assert search._forecast(joint.candidate, 9000) == pytest.approx(135.0)
    search.tried[-1] = replace(search.tried[-1], seconds=100.0)  # measuring does not grow
    assert search._forecast(joint.candidate, 9000) == pytest.approx(145.0)


def test_time_for_pruning_and_saving_a_large_model_is_kept_back() -> None:
    search = begun("hierarchical_f1", 1000.0)
    assert 0 < search.evaluator.weight_bytes < 1e4
    before = search._after()
    search.evaluator.weight_bytes = 6e8
    assert search._after() == pytest.approx(before + 20.0)


def test_seconds_of_a_joint_model_that_shares_weights_are_not_those_of_its_flat_end() -> None:
    search = begun("hierarchical_f1", 1000.0)
    joint = known(search, "RRSVM", 9000, 60.0).candidate
    end = replace(joint, pull=float("inf"))
    search.tried.append(replace(search.tried[-1], candidate=end, seconds=5.0, fitting=5.0))
    assert search._forecast(replace(joint, C=3.0), 9000) == pytest.approx(60.0)
    assert search._forecast(replace(end, C=3.0), 9000) == pytest.approx(5.0)


def test_the_usual_budget_follows_the_flat_fit_with_the_features_that_take_longest() -> None:
    search = begun("hierarchical_f1", 30.0)
    flat, n_docs = search.tried[0], search.evaluator.n_learn
    times = search.evaluator.Y.shape[0] / n_docs
    search._raise_budget(replace(flat, fitting=20.0))
    assert search.budget == 30.0  # it was given
    search.usual = True
    search._raise_budget(replace(flat, fitting=20.0, candidate=replace(flat.candidate, C=10.0)))
    search._raise_budget(replace(flat, fitting=20.0, stopped=True))
    search._raise_budget(replace(flat, fitting=20.0, candidate=first_candidate("RRSVM")))
    assert search.budget == 30.0
    search._raise_budget(replace(flat, fitting=20.0, seconds=20.0))
    assert search.budget == pytest.approx(10.0 * times * 20.0, rel=0.01)
    search._raise_budget(replace(flat, fitting=20.0, seconds=25.0))  # with five of its cut and probabilities
    assert search.budget == pytest.approx(10.0 * times * 25.0, rel=0.01)


def test_a_costly_candidate_that_is_not_the_best_is_put_off() -> None:
    search = begun("hierarchical_f1", 100.0)
    n_docs = search.evaluator.n_learn
    best = known(search, "RRSVM", n_docs, 90.0)
    cheap, long = known(search, "NodeSVM", n_docs, 1.0), known(search, "TopDownSVM", n_docs, 60.0)
    stopped = replace(known(search, "EdgePA", n_docs, 1.0), stopped=True)
    now, later = search._by_cost([best, cheap, long, stopped], n_docs)
    assert now == [best.candidate, cheap.candidate]
    assert later == [long.candidate, stopped.candidate]


def test_the_last_fit_is_forecast_longer_the_more_documents_are_held_out() -> None:
    search = begun("hierarchical_f1", 1000.0)
    rows = np.arange(search.evaluator.Y.shape[0])
    search.evaluator.splits = [(rows[: len(rows) // 2], rows[len(rows) // 2 :])]
    assert search._last == pytest.approx(1.4)
    search.evaluator.splits = [(rows[4:], rows[:4])]
    assert 1.15 < search._last < 1.2


def test_a_round_is_left_out_where_it_would_leave_no_time_for_all_documents() -> None:
    search = begun("hierarchical_f1", 1000.0)
    search.tried[:] = [replace(search.tried[0], n_docs=search.evaluator.n_learn, seconds=10.0, fitting=10.0)]
    best = known(search, "RRSVM", search.evaluator.n_learn // 9, 30.0)
    assert search._time_for_both([best], search.evaluator.n_learn // 3)
    search.earlier = 700.0
    assert not search._time_for_both([best], search.evaluator.n_learn // 3)


def test_the_best_of_nearly_equal_candidates_in_folds_is_what_is_trained() -> None:
    X, y = documents(420)
    auto = AutoClassifier(TAX, budget=1e4, measure="average_precision").fit(X, y, models=["OneVsRestSVM"])
    report = auto.report_
    note = next(note for note in report.notes if note.startswith("Nearly equal candidates"))
    values = [float(value) for value in re.findall(r"\) (0\.\d{4})", note)]
    assert len(values) >= 2
    assert round(report.refined.value, 4) == max(values)
    assert f"{report.chosen.candidate} {max(values):.4f}" in note
    assert auto.pipeline_.estimator.get_params()["learn"] == report.chosen.candidate.learn
    assert auto.predict_proba(X[:3]).shape == (3, len(auto.classes_))


def test_the_best_of_the_first_rounds_may_use_a_tenth_of_the_usual_budget_more() -> None:
    search = begun("hierarchical_f1", 1000.0)
    n_docs = search.evaluator.n_learn
    search.tried[:] = [replace(search.tried[0], n_docs=n_docs, seconds=1.0, fitting=1.0)]
    best = known(search, "RRSVM", n_docs, 440.0).candidate
    new = replace(best, C=3.0)
    assert not search._affordable(new, n_docs)
    search.leader = new
    assert search._affordable(new, n_docs)
    longer = search._limit(new, n_docs, new=True, must=False)
    search.leader = None
    shorter = search._limit(new, n_docs, new=True, must=False)
    assert longer is not None
    assert shorter is not None
    assert longer > 440.0 > shorter
