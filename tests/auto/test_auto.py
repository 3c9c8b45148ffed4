"""The search sees every family, keeps what is best on held-out documents, and says what it did."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from linnaeus import Taxonomy, load, save
from linnaeus.auto import AutoClassifier
from linnaeus.auto.candidates import FAMILIES, GRID, Candidate, Kept, first_candidate, models_for
from linnaeus.auto.evaluate import Evaluator, Outcome, splits_of
from linnaeus.auto.search import Search, search
from linnaeus.decoding import RCut
from linnaeus.errors import CheckpointError, LinnaeusError, ParameterError
from linnaeus.features import DenseFeatures, TextFeatures

TAX = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B", "BA"], ["B", "BB"]])
LEAVES = ["AA", "AB", "BA", "BB"]


def sets(n: int = 120, seed: int = 0) -> tuple[np.ndarray, list[list[str]]]:
    """Rare, noisy label sets: a threshold of 0 answers too little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    noisy = X + 1.2 * rng.normal(size=X.shape)
    return X, [[name for name, value in zip(LEAVES, row, strict=True) if value > 1.0] or ["AA"] for row in noisy]


def rings(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(n, 2))
    r = (X**2).sum(axis=1)
    return X, np.select([r < 0.6, r < 1.4, r < 2.5], LEAVES[:3], LEAVES[3])


class Fixed:
    """An evaluator whose values are given; a fit of all documents takes one second of a clock."""

    n_learn, variants, measure = 9_600, {"as they are": None, "rbf map": None}, "micro_f1"
    fixed: dict[str, object] = {}  # noqa: RUF012
    learnable, foldable, nearly_one_label, curve_seconds = ("given", "closed"), False, False, 0.0
    weight_bytes = 0.0
    measuring_seconds, mixes_first = 0.0, False

    def __init__(self, value, mixed: float = 0.0) -> None:
        self.value, self.mixed, self.calls, self.Y, self.now = value, mixed, [], np.zeros((12_800, 1)), 0.0
        self.rows, self.splits = np.arange(3_200), [0]

    def run(self, candidate, n_docs, **limits) -> Outcome:
        self.calls.append((candidate, n_docs))
        self.now += n_docs / self.n_learn
        value = self.value(candidate, n_docs)
        seconds = n_docs / self.n_learn
        return Outcome(candidate, n_docs, value, value, "own", seconds, fitting=seconds)

    def fit_seconds(self, outcome) -> float:
        return outcome.seconds

    def making_seconds(self, features) -> float:
        return 0.0

    def allowance(self, cut) -> float:
        return 0.0

    def mix(self, sources, like=None, *, rough=False) -> Outcome:
        made = Candidate("Mixture", sources=tuple(one.candidate for one in sources))
        return Outcome(made, self.n_learn, self.mixed, self.mixed, "own", 1.0, sources=tuple(sources))

    def resampled(self, outcome) -> np.ndarray:
        return outcome.value + 0.01 * np.linspace(-1, 1, 200) * (-1 if outcome.sources else 1)


def begun(evaluator: Fixed, budget: float | None = 1e9, kept: Kept | None = None) -> Search:
    models = [names[0] for names in FAMILIES.values()] + ["OneVsRestLogistic"]
    return Search(evaluator, budget, lambda line: None, models, kept=kept or Kept())


def prefers(model: str, C: float):
    return lambda candidate, n_docs: (
        0.5 + 0.3 * (candidate.model == model) - 0.02 * abs(np.log10((candidate.C or C) / C))
    )


def test_every_family_is_seen_once_before_any_is_tuned_further() -> None:
    evaluator = Fixed(prefers("OneVsRestLogistic", 1.0))
    begun(evaluator).run()
    first = {name: first_candidate(name).C for name in (candidate.model for candidate, _ in evaluator.calls)}
    tuned = next(i for i, (candidate, _) in enumerate(evaluator.calls) if candidate.C != first[candidate.model])
    assert {candidate.model for candidate, _ in evaluator.calls[:tuned]} >= {names[0] for names in FAMILIES.values()}
    order = models_for(TAX.indicator(LEAVES), TAX)
    flat, *others = FAMILIES
    families = [next(f for f, names in FAMILIES.items() if model in names) for model in order[:6]]
    assert families == [flat, flat, *others]


def test_later_rounds_have_fewer_candidates_and_more_documents_and_c_is_followed_to_its_best() -> None:
    evaluator = Fixed(prefers("RRSVM", 30.0))
    run = begun(evaluator)
    run.run()
    rounds = {n: len({candidate.place for candidate, m in evaluator.calls if m == n}) for n in (1_066, 3_200, 9_600)}
    assert rounds[1_066] > rounds[3_200] >= 2
    best = run.best().candidate
    assert (best.model, best.C) == ("RRSVM", 30.0)
    measured = [(one.candidate, one.n_docs) for one in run.tried]
    assert len(measured) == len(set(measured))  # nothing is measured twice


@pytest.mark.parametrize(("below", "followed"), [(0.015, True), (0.15, False)])
def test_c_of_a_fifth_model_is_followed_while_there_is_time_unless_it_is_far_below(
    below: float, followed: bool
) -> None:
    others = {"RRSVM": 0.604, "NodeSVM": 0.603, "OneVsRestSVM": 0.602, "OneVsRestPA": 0.601}

    def value(candidate, n_docs) -> float:
        if candidate.features != "as they are" or candidate.learn == "closed":
            return 0.1
        if candidate.model == "OneVsRestLogistic":
            return 0.9 if candidate.C == 100.0 else 0.604 - below
        return others.get(candidate.model, 0.1)

    evaluator = Fixed(value)
    evaluator.n_learn = 900  # one round
    run = begun(evaluator)
    run.run()
    assert (run.best().candidate.model == "OneVsRestLogistic") == followed


def test_a_model_that_is_searched_alone_is_tried_with_other_terms_on_all_documents() -> None:
    values = {"as they are": (0.5, 0.6), "all terms": (0.4, 0.7)}  # with few documents, and with all
    evaluator = Fixed(lambda candidate, n_docs: values.get(candidate.features, (0.1, 0.1))[n_docs == 9_600])
    evaluator.variants = dict.fromkeys(("as they are", "all terms", "characters", "texts"))
    run = Search(evaluator, 1e9, lambda line: None, ["OneVsRestSVM"])
    run.run()
    assert run.best().candidate.features == "all terms"
    assert ("characters", 9_600) not in [(candidate.features, n_docs) for candidate, n_docs in evaluator.calls]


def test_a_small_budget_ends_the_search_early_keeps_time_for_the_last_fit_and_is_reported(monkeypatch) -> None:
    evaluator = Fixed(prefers("RRSVM", 1.0))
    monkeypatch.setattr("linnaeus.auto.search.time.perf_counter", lambda: evaluator.now)
    run = begun(evaluator, budget=4.0)
    run.run()
    assert len(evaluator.calls) > 5
    assert run.spent + 1.4 <= 4.0 * 1.1
    assert any(note.startswith("The budget ended the search") for note in run.notes)
    evaluator = Fixed(prefers("RRSVM", 1.0))
    run = begun(evaluator, budget=0.5)
    run.run()
    assert len(run.tried) == 1
    assert "too small" in run.notes[0]


@pytest.mark.parametrize("budget", [8.0, 12.0, 30.0])
def test_a_fit_that_takes_all_the_time_it_gets_leaves_that_of_the_last_fit_of_the_best(monkeypatch, budget) -> None:
    """OneVsRestPA is nearly as good as the best with few documents, where it is quick, and never ends with all."""
    evaluator = Fixed(prefers("RRSVM", 1.0))
    monkeypatch.setattr("linnaeus.auto.search.time.perf_counter", lambda: evaluator.now)
    limits = []

    def run(candidate, n_docs, *, max_time=None):
        outcome = Fixed.run(evaluator, candidate, n_docs)
        if candidate.model != "OneVsRestPA":
            return outcome
        if n_docs < evaluator.n_learn:
            return replace(outcome, value=0.79)
        limits.append(max_time)
        evaluator.now += max_time - outcome.seconds
        return replace(outcome, value=0.79, seconds=max_time, stopped=True)

    evaluator.run = run
    search = begun(evaluator, budget)
    search.run()
    assert limits, "it is tried with all documents"
    assert search.best().candidate.model == "RRSVM"
    assert search.best().n_docs == evaluator.n_learn
    assert search.spent + 1.4 <= budget


def test_a_model_that_is_better_with_few_documents_than_the_others_with_all_is_chosen(monkeypatch) -> None:
    evaluator = Fixed(lambda candidate, n_docs: 0.9 if candidate.features == "rbf map" else 0.5)
    monkeypatch.setattr("linnaeus.auto.search.time.perf_counter", lambda: evaluator.now)
    run = begun(evaluator, budget=30.0)
    slow = evaluator.run

    def slower(candidate, n_docs, **limits) -> Outcome:
        seconds = (n_docs / 1_066) ** 1.1 if candidate.features == "rbf map" else 1.0
        return replace(slow(candidate, n_docs), seconds=seconds, fitting=seconds)

    evaluator.run = slower
    run.run()
    assert run.best().candidate.features == "rbf map"
    assert run.best().n_docs < evaluator.n_learn


@pytest.mark.parametrize(("making", "tried"), [(0.0, True), (9.0, False)])
def test_a_larger_map_is_tried_only_where_there_is_time_to_make_it(monkeypatch, making, tried) -> None:
    """Otherwise the smaller map, far better than none, could not be learned from all documents any more."""
    large = "rbf map of 2,000 landmarks"
    evaluator = Fixed(lambda candidate, n_docs: 0.9 if "rbf map" in candidate.features else 0.5)
    evaluator.variants = {**Fixed.variants, large: None}
    evaluator.making_seconds = lambda features: making if features == large else 0.0
    monkeypatch.setattr("linnaeus.auto.search.time.perf_counter", lambda: evaluator.now)
    run = Search(evaluator, 24.0, lambda line: None, ["OneVsRestSVM"], ("features",))
    run.run()
    assert any(candidate.features == large for candidate, _ in evaluator.calls) is tried
    assert "rbf map" in run.best().candidate.features


def test_the_seconds_of_a_map_are_forecast_by_those_of_another() -> None:
    X, y = rings()
    Y = Taxonomy.flat(sorted(set(y))).indicator([[label] for label in y])
    evaluator = Evaluator(X, Y, Taxonomy.flat(sorted(set(y))), {}, splits_of(Y, 0), "micro_f1", 0)
    assert evaluator.making_seconds("rbf map") == 0.0
    evaluator.seconds = {"as they are": 5.0, "rbf map": 2.0}
    assert evaluator.making_seconds("rbf map") == 0.0, "it is there"
    assert evaluator.making_seconds("as they are") == 0.0
    assert evaluator.making_seconds("wider rbf map") == 2.0
    assert evaluator.making_seconds("rbf map of 2,000 landmarks") == 16.0


def foldable(near: float) -> Fixed:
    """C 1 of OneVsRestLogistic is the best on the held-out quarter, ``near`` above C 3, which is the best in folds."""

    def value(candidate, n_docs):
        return (0.8 if candidate.model == "OneVsRestLogistic" else 0.5) - near * abs(
            np.log10(candidate.C or 1.0)
        ) / np.log10(3.0)

    evaluator = Fixed(value)
    folds = Fixed(prefers("OneVsRestLogistic", 3.0))
    folds.splits, folds.run = [0] * 5, lambda candidate, n_docs, **limits: Fixed.run(folds, candidate, n_docs)
    evaluator.foldable, evaluator.out_of_fold = True, lambda: folds
    evaluator.folds = folds
    return evaluator


def test_nearly_equal_candidates_are_decided_by_all_documents_in_folds() -> None:
    evaluator = foldable(0.001)
    run = begun(evaluator)
    run.run()
    assert (run.best().candidate.model, run.best().candidate.C) == ("OneVsRestLogistic", 3.0)
    assert run.tried[0].candidate.model == "OneVsRestSVM", "what was measured stays as it was"
    assert any(note.startswith("Nearly equal candidates, all documents in folds: OneVsRest") for note in run.notes)
    assert len(evaluator.folds.calls) == len(set(evaluator.folds.calls)) >= 2


def test_different_models_with_equal_values_are_decided_in_folds() -> None:
    evaluator = foldable(0.02)
    first = {first_candidate("OneVsRestSVM").place, first_candidate("RRSVM").place}
    evaluator.value = lambda candidate, n_docs: 0.8 if candidate.place in first and candidate.C == 1.0 else 0.5
    evaluator.folds.value = prefers("RRSVM", 1.0)
    run = begun(evaluator)
    run.run()
    assert run.best().candidate.model == "RRSVM"


def test_candidates_that_are_clearly_worse_are_not_looked_at_again() -> None:
    evaluator = foldable(0.02)
    run = begun(evaluator)
    run.run()
    assert run.best().candidate.C == 1.0
    assert not evaluator.folds.calls


def test_without_time_for_folds_the_held_out_quarter_decides(monkeypatch) -> None:
    evaluator = foldable(0.001)
    monkeypatch.setattr("linnaeus.auto.search.time.perf_counter", lambda: evaluator.now + evaluator.folds.now)
    run = begun(evaluator, budget=18.0)
    run.run()
    assert not evaluator.folds.calls
    assert run.best().candidate.C == 1.0


@pytest.mark.parametrize(("budget", "chosen"), [(None, "GlobalTreeModel"), (30.0, "OneVsRestSVM")])
def test_only_a_budget_that_was_given_is_worth_a_clearly_worse_model(monkeypatch, budget, chosen) -> None:
    evaluator = Fixed(prefers("GlobalTreeModel", 1.0))
    run = begun(evaluator, budget)
    monkeypatch.setattr("linnaeus.auto.search.time.perf_counter", lambda: evaluator.now)
    run.began = 0.0
    run.run()
    assert run.budget == 30.0
    evaluator.now = 1.2 * run.budget  # the machine was slower than forecast
    assert run.best().candidate.model == "GlobalTreeModel"  # its last fit takes one of thirty seconds
    evaluator.fit_seconds = lambda outcome: 6.0
    assert run.best().candidate.model == chosen


def test_with_enough_time_the_report_does_not_speak_of_the_clock() -> None:
    run = begun(Fixed(prefers("RRSVM", 1.0)))
    run.run()
    assert not any("budget" in note for note in run.notes)


def test_pull_of_joint_models_is_followed_with_c() -> None:
    def value(candidate, n_docs):
        joint = candidate.model == "RRSVM"
        return 0.5 + 0.3 * joint + 0.02 * (joint and candidate.pull == float("inf")) + 0.01 * (candidate.C == 3.0)

    run = begun(Fixed(value))
    run.run()
    assert (run.best().candidate.C, run.best().candidate.pull) == (3.0, float("inf"))
    assert "(C 3, pull inf (the flat model)" in str(run.best().candidate)


def test_a_joint_model_alone_begins_at_its_flat_end_and_ends_where_it_is_best() -> None:
    def value(candidate: Candidate, n_docs: int) -> float:
        return 0.5 + 0.2 * (candidate.pull == 0.0) + 0.01 * (candidate.C == 3.0)

    run = begun(Fixed(value))
    run.models = ["RRSVM"]
    run.run()
    assert run.tried[0].candidate.pull == float("inf")
    assert (run.best().candidate.pull, run.best().candidate.C) == (0.0, 3.0)
    fixed = begun(Fixed(value))
    fixed.models, fixed.tuned = ["RRSVM"], ()
    fixed.run()
    assert {one.candidate.pull for one in fixed.tried} == {0.0}


def test_a_joint_model_alone_has_the_C_of_the_flat_model_before_its_pull_is_followed() -> None:
    evaluator = Fixed(lambda candidate, n_docs: 0.6 - 0.05 * abs(np.log10(candidate.C) + 1))
    run = begun(evaluator)
    run.models = ["RRSVM"]
    run.run()
    pulled = next(i for i, (candidate, _) in enumerate(evaluator.calls) if candidate.pull != float("inf"))
    assert 0.1 in {candidate.C for candidate, n_docs in evaluator.calls[:pulled] if n_docs == evaluator.n_learn}
    candidate, n_docs = evaluator.calls[pulled]
    assert (candidate.C, n_docs) == (0.1, evaluator.n_learn)


def test_a_joint_model_at_its_flat_end_is_tried_with_other_maps_before_its_pull_is_followed() -> None:
    values = {"as they are": 0.5, "rbf map": 0.6, "wider rbf map": 0.5, "rbf map of 2,000 landmarks": 0.7}
    evaluator = Fixed(lambda candidate, n_docs: values[candidate.features] + 0.01 * (candidate.pull == 10.0))
    evaluator.variants = dict.fromkeys(values)
    run = begun(evaluator)
    run.models = ["RRSVM"]
    run.run()
    whole = [candidate for candidate, n_docs in evaluator.calls if n_docs == evaluator.n_learn]
    pulled = next(i for i, candidate in enumerate(whole) if candidate.pull != float("inf") and i)
    assert "rbf map of 2,000 landmarks" in {candidate.features for candidate in whole[:pulled]}
    best = run.best().candidate
    assert (best.features, best.pull) == ("rbf map of 2,000 landmarks", 10.0)


def test_nothing_more_is_tried_once_all_held_out_documents_are_right() -> None:
    evaluator = Fixed(lambda candidate, n_docs: 1.0)
    run = begun(evaluator)
    run.run()
    assert len(evaluator.calls) == 1
    assert "nothing more was tried" in run.notes[0]


@pytest.mark.parametrize(("mixed", "taken"), [(0.9, True), (0.805, False), (0.7, False)])
def test_a_mixture_is_taken_only_where_it_wins_by_more_than_chance(mixed: float, taken: bool) -> None:
    run = begun(Fixed(prefers("RRSVM", 1.0), mixed))
    run.run()
    assert (run.mixture is not None) == taken
    note = next(note for note in run.notes if "mixture" in note)
    assert ("it is taken" in note) == taken
    if taken:
        assert run.mixture.candidate.sources[0] == run.best().candidate


@pytest.mark.parametrize(("measure", "seconds", "budget"), [
    ("micro_f1", 6.0, 80.0), ("average_precision", 1.0, 53.3), ("average_precision", 6.0, 120.0),
    ("average_precision", 12.0, 160.0),
])  # fmt: skip
def test_folds_belong_to_the_trainings_of_the_usual_budget_by_a_measure_of_probabilities(
    measure, seconds, budget
) -> None:
    evaluator = Fixed(prefers("RRSVM", 1.0))
    evaluator.measure, evaluator.foldable = measure, True
    run = begun(evaluator, 30.0)
    run.usual = True
    first = first_candidate(run.models[0])
    run._raise_budget(Outcome(first, evaluator.n_learn, 0.5, 0.5, "own", seconds, fitting=seconds))
    assert run.budget == pytest.approx(budget, abs=0.1)


def test_the_best_candidate_is_mixed_with_the_one_that_adds_most_even_if_another_is_better_alone() -> None:
    values = {"as they are": 0.8, "profiles": 0.7, "rbf map": 0.6}
    evaluator = Fixed(lambda candidate, n_docs: values[candidate.features] - 0.01 * (candidate.model != "OneVsRestSVM"))
    evaluator.variants = dict.fromkeys(values)

    def mixed(sources, like=None, *, rough=False):
        names = {one.candidate.features for one in sources}
        evaluator.mixed = 0.95 if names == {"as they are", "rbf map"} else 0.81
        return Fixed.mix(evaluator, sources)

    evaluator.mix = mixed
    run = begun(evaluator)
    run.run()
    assert [one.features for one in run.mixture.candidate.sources] == ["as they are", "rbf map"]


def test_a_search_that_was_interrupted_continues_with_the_same_decisions(tmp_path) -> None:
    whole = Fixed(prefers("NodeSVM", 3.0))
    run = begun(whole)
    run.run()
    stopped = Fixed(prefers("NodeSVM", 3.0))

    def interrupted(candidate, n_docs, **limits):
        if len(stopped.calls) == 6:
            raise KeyboardInterrupt
        return Fixed.run(stopped, candidate, n_docs)

    stopped.run = interrupted
    with pytest.raises(KeyboardInterrupt):
        begun(stopped, kept=Kept.read(tmp_path, "these documents")).run()
    kept = Kept.read(tmp_path, "these documents")
    assert len(kept.rows) == 6
    rest = Fixed(prefers("NodeSVM", 3.0))
    again = begun(rest, kept=kept)
    again.run()
    assert [one.candidate for one in again.tried] == [one.candidate for one in run.tried]
    assert again.earlier > 0
    measured = [call for call in rest.calls if call not in whole.calls[:6]]
    assert measured == [call for call in whole.calls[6:] if call not in whole.calls[:6]]
    with pytest.raises(CheckpointError, match="another search, with other documents"):
        Kept.read(tmp_path, "other documents")


def test_what_another_search_has_measured_is_not_measured_again() -> None:
    runs, evaluators = [], [Fixed(prefers("NodeSVM", 3.0)) for _ in range(2)]
    for evaluator in evaluators:
        run = Search(evaluator, 1e9, lambda line: None, ["NodeSVM"])
        if runs:
            run.known = {(one.candidate, one.n_docs): one for one in runs[0].tried}
        run.run()
        runs.append(run)
    first, again = ([one.candidate for one in run.tried] for run in runs)
    assert again == first
    assert len(evaluators[0].calls) == len(first)
    assert evaluators[1].calls == []


def test_a_fit_that_was_stopped_is_known_as_such_after_an_interruption(tmp_path) -> None:
    stopped = Fixed(prefers("NodeSVM", 3.0))
    stopped.run = lambda candidate, n_docs, **limits: replace(Fixed.run(stopped, candidate, n_docs), stopped=True)
    begun(stopped, kept=Kept.read(tmp_path, "these documents")).measure(first_candidate("NodeSVM"), 9_600, must=True)
    again = begun(Fixed(prefers("NodeSVM", 3.0)), kept=Kept.read(tmp_path, "these documents"))
    assert again.measure(first_candidate("NodeSVM"), 9_600, must=True).stopped
    assert not again.evaluator.calls


def test_a_model_that_refuses_the_documents_is_left_out_and_named() -> None:
    def refusing(candidate, n_docs):
        if candidate.model == "GlobalTreeModel":
            raise ParameterError("it needs a tree")
        return 0.5

    run = begun(Fixed(refusing))
    run.run()
    assert "GlobalTreeModel was left out: it needs a tree" in run.notes
    assert any("same held-out" in note for note in run.notes)  # a constant measure


def test_label_sets_are_cut_where_they_are_best_and_probabilities_are_calibrated(tmp_path) -> None:
    X, y = sets()
    auto = AutoClassifier(TAX, budget=6).fit(X, y)
    report = auto.report_
    assert report.chosen.cut != "own"
    assert report.value > report.baseline.own
    low, high = report.interval
    assert low <= report.value <= high
    P = auto.predict_proba(X)
    assert ((P >= 0) & (P <= 1)).all()
    said = str(report)
    assert all(word in said for word in ("chosen:", "95% interval", "flat baseline", "folds"))
    assert json.loads(json.dumps(report.to_dict()))["measure"] == "hierarchical_f1"
    save(auto, tmp_path / "model")
    assert load(tmp_path / "model").predict(X) == auto.predict(X)


def test_rings_are_learned_through_a_map_and_the_same_seed_gives_the_same_answer() -> None:
    X, y = rings()
    first, second = (AutoClassifier(TAX, budget=1e6, features=DenseFeatures()) for _ in range(2))
    first.fit(X, y, models=["OneVsRestSVM"])
    second.fit(X, y, models=["OneVsRestSVM"])
    assert "rbf map" in first.report_.chosen.candidate.features
    assert [(o.candidate, o.value) for o in first.report_.tried] == [
        (o.candidate, o.value) for o in second.report_.tried
    ]
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))
    X_test, y_test = rings(seed=1)
    assert first.score(X_test, y_test) > 0.8
    assert first.predict(X_test).dtype.kind in "OU"


def test_the_last_fit_stays_within_the_budget_where_the_model_can_be_stopped() -> None:
    X, y = sets()
    auto = AutoClassifier(TAX, budget=50).fit(X, y, models=["RRSVM"], tuned=())
    report = auto.report_
    assert auto.pipeline_.model_.max_time == pytest.approx(max(1.4 * report.chosen.seconds, 50 - report.seconds))


def test_rankings_are_chosen_by_average_precision() -> None:
    X, y = sets()
    found = search(X, TAX.indicator(y), TAX, measure="average precision", budget=1e6, models=["NodeSVM"])
    report, evaluator = found
    assert report.measure == "average_precision"
    assert report.chosen.P.shape == (120, TAX.n_nodes)
    assert report.value == max(one.value for one in report.tried)
    assert isinstance(evaluator, Evaluator)


def test_text_tries_another_weighting() -> None:
    texts = [
        f"{word} {word} the {other}" for word in ("cat", "dog", "oak", "elm") for other in "abcdefgh" for _ in "12"
    ]
    y = [label for label in LEAVES for _ in range(16)]
    auto = AutoClassifier(TAX, features=TextFeatures(), budget=3).fit(texts, y)
    assert auto.predict(["a cat", "an elm"]).tolist() == ["AA", "BB"]
    assert {one.candidate.features for one in auto.report_.tried} >= {"as they are"}


def test_too_few_documents_are_answered_by_the_flat_model_with_a_warning() -> None:
    with pytest.warns(UserWarning, match="too few to hold any out"):
        auto = AutoClassifier(TAX).fit(np.eye(4), LEAVES)
    assert auto.report_ is None
    assert auto.predict(np.eye(4)).tolist() == LEAVES
    assert splits_of(TAX.indicator(LEAVES), 0) == []


def test_a_budget_for_one_fit_gives_the_flat_model_and_a_sentence() -> None:
    X, y = sets()
    auto = AutoClassifier(TAX, budget=0.001).fit(X, y)
    assert auto.report_.chosen.candidate == Candidate("OneVsRestSVM", C=1.0, learn="given")
    assert "too small" in auto.report_.notes[0]


def test_wrong_parameters_are_named() -> None:
    X, y = sets()
    with pytest.raises(ParameterError, match="did you mean 'micro_f1'"):
        AutoClassifier(TAX, measure="micro_f").fit(X, y)
    with pytest.raises(ParameterError, match="budget"):
        AutoClassifier(TAX, budget="long").fit(X, y)
    assert 1.0 in GRID


_BY_DOCUMENT = "documents are held out, so that two of weight 1 are not one of weight 2"
_NOT_EQUIVALENT = {f"check_sample_weight_equivalence_on_{kind}_data": _BY_DOCUMENT for kind in ("dense", "sparse")}


@parametrize_with_checks([AutoClassifier(budget=0.001)], expected_failed_checks=lambda estimator: _NOT_EQUIVALENT)
def test_scikit_learn_takes_it_as_one_of_its_own(estimator, check) -> None:
    check(estimator)


def test_the_chosen_model_ranks_and_explains_documents() -> None:
    texts = ["purr meow", "bark growl"] * 20
    features = TextFeatures(min_df=1)
    model = AutoClassifier(features=features, budget=60).fit(texts, ["cat", "dog"] * 20, models=["OneVsRestSVM"])
    names, scores = model.top(["meow"], k=2)
    assert names[0].tolist() == ["cat", "dog"]
    assert scores[0, 0] > scores[0, 1]
    assert model.explain("meow")[-1].features[0] == "meow"


def test_errors_about_documents_name_this_class() -> None:
    X, y = rings()
    model = AutoClassifier(budget=0.001).fit(X, y)
    with pytest.raises(ValueError, match="AutoClassifier is expecting 2 features"):
        model.predict(X[:, :1])
    with pytest.raises(LinnaeusError, match=r"AutoClassifier\(features=TextFeatures\(\)\)"):
        AutoClassifier().fit(["a text", "another"], ["a", "b"])


def test_a_parameter_that_no_model_for_the_documents_has_is_refused() -> None:
    X, y = rings()
    with pytest.raises(ParameterError, match="None of the models that fit the documents has all of pull"):
        AutoClassifier(budget=60).fit(X, y, parameters={"pull": 1.0})  # the labels are a flat list


def test_what_is_given_is_not_searched() -> None:
    X, y = sets(60)
    model = AutoClassifier(TAX, budget=60).fit(
        X, y, models=["OneVsRestSVM"], tuned=("C",), parameters={"C": 0.5}, decoder="own"
    )
    assert len(model.report_.tried) == 1
    assert model.pipeline_.model_.C == 0.5
    assert model.pipeline_.decoder_ is None


def test_a_given_cut_off_is_fitted_on_the_held_out_documents() -> None:
    X, y = sets(60)
    model = AutoClassifier(TAX, budget=60).fit(X, y, models=["NodeSVM"], tuned=("C",), decoder=RCut())
    assert {one.cut for one in model.report_.tried} == {"rcut"}
    assert model.pipeline_.decoder_.fitted


def test_only_models_with_the_given_parameters_are_tried() -> None:
    X, y = sets(60)
    model = AutoClassifier(TAX, budget=60).fit(X, y, tuned=(), parameters={"pull": 0.5})
    assert {one.candidate.model for one in model.report_.tried} == {"RRSVM", "RRLogistic"}
    assert model.pipeline_.model_.pull == 0.5


def test_columns_of_a_frame_are_matched_by_name() -> None:
    pd = pytest.importorskip("pandas")
    X, y = sets()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = AutoClassifier(TAX, budget=0.001).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(model.predict(frame)) == list(model.predict(frame))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame[list("dcba")])


@pytest.mark.parametrize("name", ["OneVsRestSVM", "NodeSVM", "RRSVM"])
def test_classes_are_the_labels_where_every_document_has_one(name) -> None:
    X, y = rings(160)
    model = AutoClassifier(TAX, budget=5).fit(X, y, models=[name], tuned=("C", "learn"))
    assert sorted(model.classes_) == sorted(set(y)), "not their ancestors"
    P = model.predict_proba(X)
    assert P.shape == model.decision_function(X).shape == (160, 4)
    assert np.allclose(P.sum(axis=1), 1.0)
    assert np.allclose(np.exp(model.predict_log_proba(X)), P)
    assert set(model.predict(X)) <= set(y)


def test_a_last_training_that_was_stopped_is_reported(monkeypatch) -> None:
    X, y = sets()
    monkeypatch.setattr("linnaeus.auto.classifier._LONGEST_LAST", 0.0)
    monkeypatch.setattr("linnaeus.auto.search.Search.spent", 1e9)  # nothing of the budget is left for it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = AutoClassifier(TAX, budget=5).fit(X, y, models=["OneVsRestSVM"])
    assert any("stopped before it had converged" in note for note in model.report_.notes)


def test_characters_are_tried_for_short_texts_only() -> None:
    titles = ["Bäckerin", "Backstube", "Tischlerin", "Möbeltischler"] * 6
    Y = TAX.indicator([["AA"], ["AB"], ["BA"], ["BB"]] * 6)
    for texts, short in ((titles, True), ([" ".join([title] * 30) for title in titles], False)):
        _, evaluator = search(texts, Y, TAX, TextFeatures(), models=["OneVsRestSVM"], budget=0.001)
        assert ("characters" in evaluator.variants) == short


def test_structured_models_are_left_out_of_searches_over_large_taxonomies() -> None:
    large = Taxonomy.from_edges([("all", f"g{i}") for i in range(50)] + [(f"g{i % 50}", f"n{i}") for i in range(2000)])
    order = models_for(large.indicator([["n1"], ["n2"]]), large)
    assert "GlobalTreeModel" not in order
    assert "RRSVM" in order
