"""What a search can end with: any model, mixtures, weighted documents, large taxonomies; and its measures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from linnaeus import Pipeline, Taxonomy, load, metrics, save
from linnaeus.auto import AutoClassifier
from linnaeus.auto.candidates import Candidate, Outcome, feature_variants, first_candidate, parts_of, side_by_side
from linnaeus.auto.evaluate import Evaluator, of_answers, of_ranking, splits_of, wins
from linnaeus.auto.search import Search, search
from linnaeus.errors import LinnaeusError
from linnaeus.features import DenseFeatures, KernelMap, TextFeatures
from linnaeus.features.documents import default_features
from linnaeus.mixture import Mixture
from linnaeus.registry import MODELS
from tests.auto.test_auto import LEAVES, TAX, sets

QUICK = {"CorrMNL": {"n_iter": 20, "burn_in": 10, "n_chains": 1}, "HBLR": {"max_iter": 3}}


def one_label(n: int = 60, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, np.array(LEAVES)[(X + 0.3 * rng.normal(size=X.shape)).argmax(axis=1)]


def test_folds_have_the_widths_and_scales_of_the_quarter_also_after_a_search_was_resumed() -> None:
    """A resumed search does not compute features of the quarter again; folds must not choose their own widths."""
    X, labels = sets(420)
    Y = TAX.indicator(labels)

    def begun() -> Search:
        variants = feature_variants(DenseFeatures(), X, 0)
        evaluator = Evaluator(X, Y, TAX, variants, splits_of(Y, 0), "average_precision", 0)
        return Search(evaluator, 1e9, lambda line: None, ["OneVsRestSVM"])

    candidate, found = Candidate("OneVsRestSVM", "rbf map", 1.0, "given"), []
    for resumed in (False, True):
        search = begun()
        outcome = search.measure(candidate, search.evaluator.n_learn, must=True)
        if resumed:
            search = begun()
        assert outcome is not None
        folded = search._folded(outcome)
        found.append((folded.value, search.evaluator.widths, search.evaluator.scale("rbf map")))
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_every_registered_model_can_be_the_only_one(name: str) -> None:
    X, y = one_label()
    auto = AutoClassifier(TAX, budget=0.5).fit(X, y, models=[name], parameters=QUICK.get(name, {}), tuned=("C",))
    assert {one.candidate.model for one in auto.report_.tried} == {name}
    assert auto.score(X, y) > 0.5
    assert "flat baseline" in str(auto.report_) if name == "OneVsRestSVM" else "not tuned" in str(auto.report_)


def test_a_model_that_was_asked_for_and_cannot_learn_the_labels_is_an_error() -> None:
    X, y = sets(60)
    with pytest.raises(LinnaeusError, match="one label"):
        AutoClassifier(TAX, budget=1).fit(X, y, models=["SoftmaxRegression"])


@pytest.mark.parametrize(
    ("labels", "n_docs", "measure"),
    [
        (sets, 90, "hierarchical_f1"),
        (sets, 420, "average_precision"),
        (one_label, 90, "average_precision"),
        (one_label, 420, "hierarchical_f1"),
    ],
)
def test_a_mixture_is_refitted_saved_and_answers_as_it_was_measured(
    tmp_path, monkeypatch, labels, n_docs, measure
) -> None:
    monkeypatch.setattr("linnaeus.auto.search.wins", lambda first, second: True)
    real = Evaluator.mix
    monkeypatch.setattr(Evaluator, "mix", lambda self, *given, **how: _raised(real(self, *given, **how)))
    X, y = labels(n_docs)
    auto = AutoClassifier(TAX, budget=1e6, measure=measure, features=DenseFeatures())
    auto.fit(X, y, models=["OneVsRestSVM", "RRLogistic"], tuned=("features",))
    chosen = auto.report_.chosen
    assert chosen.candidate.model == "Mixture"
    assert len(chosen.candidate.sources) > 1
    assert isinstance(auto.pipeline_.model_, Mixture)
    assert "it is taken" in str(auto.report_)
    assert (auto.report_.refined is not None) == (n_docs >= 400)
    assert ("in folds: more than by chance" in str(auto.report_)) == (n_docs >= 400 and measure == "average_precision")
    assert len(auto.report_.to_dict()["chosen"]["sources"]) == len(chosen.candidate.sources)
    P = auto.predict_proba(X)
    assert ((P >= 0) & (P <= 1)).all()
    assert auto.score(X, y) > 0.6
    save(auto, tmp_path / "model")
    again = load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(X), P)
    assert list(again.predict(X)) == list(auto.predict(X))


def _raised(outcome):
    object.__setattr__(outcome, "value", outcome.value + 1.0)
    return outcome


def test_sources_with_a_map_see_the_features_of_the_mixture_through_it() -> None:
    X, y = sets(90)
    Y = TAX.indicator(y)
    variants = feature_variants(DenseFeatures(), X, 0)
    evaluator = Evaluator(X, Y, TAX, variants, splits_of(Y, 0), "micro_f1", 0)
    outcomes = [evaluator.run(Candidate("OneVsRestSVM", name, 1.0), 60) for name in ("as they are", "wider rbf map")]
    mixed = evaluator.mix(outcomes)
    assert mixed.candidate.features == "values"
    assert [len(one.held.documents) for one in (*outcomes, mixed)] == [90] * 3
    np.testing.assert_array_equal(mixed.held.documents, outcomes[0].held.documents)
    model = evaluator.model(mixed.candidate, max_time=8.0)
    (_, plain), (_, mapped) = model.sources
    assert isinstance(mapped.features, KernelMap)
    assert repr(plain.features) == repr(mapped.features.features) == "DenseFeatures()"
    assert plain.model.max_time == mapped.model.max_time == 4.0
    values = evaluator.features(mixed.candidate.features).fit_transform(X)
    np.testing.assert_array_equal(values, X)  # every source makes its features of the values


@pytest.mark.parametrize("measure", ["macro_f1", "average_precision"])
def test_with_time_cut_and_probabilities_are_learned_from_scores_of_all_documents(measure: str) -> None:
    X, y = sets(420)
    auto = AutoClassifier(TAX, budget=1e6, measure=measure).fit(X, y, models=["OneVsRestSVM"], tuned=("features",))
    report = auto.report_
    assert report.n_held_out < 150
    assert sorted(report.refined.held.documents) == list(range(420))
    assert report.learned_from is report.refined
    assert "all 420 documents in 3 folds" in str(report)
    assert auto.pipeline_.decoder_.name == report.refined.cut != "own"
    short = AutoClassifier(TAX, budget=0.001, measure=measure).fit(X, y, models=["OneVsRestSVM"], tuned=())
    assert short.report_.refined is None
    assert short.report_.learned_from is short.report_.chosen


def test_the_width_of_a_map_and_the_scale_of_c_are_those_of_the_search_in_all_fits() -> None:
    X, y = sets(420)
    Y = TAX.indicator(y)
    evaluator = Evaluator(X, Y, TAX, feature_variants(None, X, 0), splits_of(Y, 0), "micro_f1", 0)
    candidate = Candidate("OneVsRestSVM", "rbf map", 1.0)
    evaluator.run(candidate, 100)
    folds = evaluator.out_of_fold()
    chosen = evaluator.widths["rbf map"]
    for one in (folds.features("rbf map"), evaluator.features("rbf map")):
        assert (one.gamma, one.clip) == chosen
    assert folds.model(candidate).C == evaluator.model(candidate).C
    assert not folds.foldable
    assert evaluator.foldable
    assert len(folds.rows) == 420


def test_weights_of_documents_count_in_fits_and_in_the_measure() -> None:
    X, y = one_label(80)
    X, y = np.concatenate([X, X]), np.concatenate([y, np.roll(np.array(LEAVES), 1)[np.searchsorted(LEAVES, y)]])
    trusted = np.repeat([1.0, 1e-3], 80)
    auto = AutoClassifier(TAX, budget=1e6).fit(X, y, trusted, models=["OneVsRestSVM"], tuned=())
    assert auto.score(X[:80], y[:80]) > 0.8
    other = AutoClassifier(TAX, budget=1e6).fit(X, y, trusted[::-1], models=["OneVsRestSVM"], tuned=())
    assert other.score(X[80:], y[80:]) > 0.8
    assert auto.report_.value > 0.7  # the documents that do not count are answered wrongly


def test_labels_on_inner_nodes_are_learned_as_given_closed_or_the_most_specific() -> None:
    X, y = sets(60)
    Y = TAX.indicator([[*row, "A"] if "AA" in row else row for row in y])
    report, evaluator = search(X, Y, TAX, budget=1e6, models=["OneVsRestSVM"], tuned=("learn",))
    assert {one.candidate.learn for one in report.tried} == {"given", "closed", "frontier"}
    assert evaluator.learnable == ["given", "closed", "frontier"]


def test_a_larger_map_is_there_for_many_documents_only() -> None:
    X = np.zeros((3, 5))
    plain = ["as they are", "profiles", "values"]
    maps = [f"{width}{kind}" for kind in ("rbf map", "profile rbf map") for width in ("", "wider ", "narrower ")]
    assert sorted(feature_variants(None, X, 0, 700)) == sorted([*plain, *maps])
    for n_docs, most in ((900, "900"), (1_500, "1,500"), (10_000, "2,000")):
        larger = [f"{name} of {most} landmarks" for name in maps]
        assert sorted(feature_variants(None, X, 0, n_docs)) == sorted([*plain, *maps, *larger])
    assert not any("profile" in name for name in feature_variants(None, sparse.csr_array(X), 0, 700))
    assert not any("profile" in name for name in feature_variants(None, X[:, :2], 0, 700))  # one of two signs
    given = DenseFeatures(profiles=True)
    assert not any("profile" in name for name in feature_variants(given, X, 0, 700))  # all are of profiles


def test_maps_of_other_widths_have_multiples_of_the_width_that_was_chosen() -> None:
    X, y = one_label(420)
    Y = TAX.indicator(y)
    variants = feature_variants(None, X, 0, 315)
    for kind in ("rbf map", "profile rbf map"):
        for first in (kind, f"wider {kind}"):  # also where the first map comes from an earlier run
            evaluator = Evaluator(X, Y, TAX, variants, splits_of(Y, 0), "hierarchical_f1", 0)
            evaluator.matrix(first, 0)
            gamma, _ = evaluator.widths[kind]
            names = (f"wider {kind}", kind, f"narrower {kind}")
            assert [evaluator.features(name).gamma / gamma for name in names] == [0.5, 1.0, 2.0]


def test_matrices_side_by_side_are_those_that_the_chosen_features_make() -> None:
    X, y = one_label(120)
    Y = TAX.indicator(y)
    variants = feature_variants(DenseFeatures(), X, 0)
    name = side_by_side("wider rbf map", "profiles")
    assert name in variants
    assert name not in list(variants)
    assert side_by_side("rbf map", "words") not in variants
    evaluator = Evaluator(X, Y, TAX, variants, splits_of(Y, 0), "micro_f1", 0)
    learn, held = evaluator.splits[0]
    both = evaluator.features(name).fit(X[learn])
    assert both.parts[0].gamma == 0.5 * evaluator.widths["rbf map"][0]
    for found, rows in zip(evaluator.matrix(name, 0), (learn, held), strict=True):
        np.testing.assert_array_equal(found, both.transform(X[rows]))
    assert evaluator.scale(name) == 2.0


def test_maps_are_tried_side_by_side_and_can_be_chosen_and_saved(tmp_path, monkeypatch) -> None:
    worth = Evaluator.run

    def run(self, candidate, n_docs, **more):  # as if features were better the more of them there are
        outcome = worth(self, candidate, n_docs, **more)
        return replace(
            outcome, value=0.5 + 0.1 * len(parts_of(candidate.features)) + 0.1 * ("map" in candidate.features)
        )

    monkeypatch.setattr(Evaluator, "run", run)
    X, y = sets(90)
    models = ["OneVsRestSVM", "OneVsRestLogistic"]
    auto = AutoClassifier(TAX, budget=1e6, measure="average_precision").fit(X, y, models=models)
    tried = {one.candidate.features for one in auto.report_.tried if len(parts_of(one.candidate.features)) > 1}
    assert tried == {"rbf map beside profile rbf map", "rbf map beside profiles"}
    assert auto.report_.chosen.candidate.features == "rbf map beside profile rbf map"
    save(auto.pipeline_, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict_proba(X), auto.predict_proba(X))


def test_features_are_tried_with_a_fast_model_that_is_nearly_as_good() -> None:
    X, y = sets(90)
    Y = TAX.indicator(y)
    evaluator = Evaluator(X, Y, TAX, feature_variants(None, X, 0), splits_of(Y, 0), "micro_f1", 0)
    run = Search(evaluator, 1e6, lambda message: None, ["OneVsRestSVM", "RRSVM", "NodeSVM", "Hieron"])
    values = {
        "RRSVM": (0.9, 8.0, "rbf map"),
        "OneVsRestSVM": (0.897, 2.0, "rbf map"),
        "NodeSVM": (0.89, 1.0, "rbf map"),  # worse
        "Hieron": (0.9, 5.0, "rbf map"),  # hardly faster
    }
    plain = Outcome(Candidate("OneVsRestSVM"), evaluator.n_learn, 0.899, 0.0, "own", 0.1, fitting=0.1)
    run.tried = [plain]
    assert run._quickest() is plain
    run.tried += [
        Outcome(Candidate(model, features), evaluator.n_learn, value, 0.0, "own", seconds, fitting=seconds)
        for model, (value, seconds, features) in values.items()
    ]
    assert run.best().candidate.model == "RRSVM"
    assert run._quickest().candidate == Candidate("OneVsRestSVM", "rbf map")


@pytest.mark.parametrize("vectors", [DenseFeatures(), DenseFeatures(profiles=True)])
def test_a_map_that_is_given_is_kept_by_a_search(vectors: DenseFeatures) -> None:
    X, y = sets(420)
    auto = AutoClassifier(TAX, budget=1e6, features=KernelMap(vectors, 50)).fit(X, y, models=["OneVsRestSVM"])
    fitted = auto.pipeline_.features_
    assert isinstance(fitted, KernelMap)
    assert repr(fitted.features) == repr(vectors)
    assert {one.candidate.features for one in auto.report_.tried} == {"as they are"}


def test_a_large_taxonomy_has_cuts_and_probabilities() -> None:
    rng = np.random.default_rng(0)
    tax = Taxonomy.from_edges(
        [(f"n{(k - 1) // 8}", f"n{k}") for k in range(1, 3_300)] + [("n1", f"n{k}") for k in range(3_000, 3_300)]
    )
    topics = rng.integers(9, 30, size=500)
    X = np.eye(30)[topics] + 0.2 * rng.random((500, 30))
    y = [[f"n{topic}", f"n{rng.integers(1, 3_300)}"] for topic in topics]
    auto = AutoClassifier(tax, budget=1e6).fit(X, y, models=["OneVsRestPA"], tuned=())
    assert auto.report_.chosen.way == "min"
    assert auto.predict_proba(X[:3]).shape == (3, len(auto.classes_))
    evaluator_cuts = {one.cut for one in auto.report_.tried}
    assert evaluator_cuts <= {"own", "expected", "scut", "instance_cut"}


# -- measures ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["hierarchical_f1", "micro_f1", "macro_f1", "example_f1"])
def test_measures_of_weighted_documents_are_those_of_repeated_documents(measure: str) -> None:
    rng = np.random.default_rng(0)
    gold, answers = (TAX.indicator([[v for v in TAX.names if rng.random() < 0.3] for _ in range(30)]) for _ in "12")
    times = rng.integers(0, 4, size=30)
    W = np.array([np.ones(30), times, times * 0.25])
    values = of_answers(measure, gold, answers, TAX)(W)
    function, repeated = getattr(metrics, measure), np.repeat(np.arange(30), times)
    expected = [function(gold, answers, TAX), function(gold[repeated], answers[repeated], TAX)]
    assert values.tolist() == pytest.approx([*expected, expected[1]])


def test_average_precision_is_that_of_repeated_documents_with_ties() -> None:
    rng = np.random.default_rng(0)
    gold = TAX.indicator([[v for v in LEAVES if rng.random() < 0.3] for _ in range(30)])
    P = rng.integers(0, 8, size=(30, TAX.n_nodes)) / 8
    times = rng.integers(0, 4, size=30)
    repeated = np.repeat(np.arange(30), times)
    values = of_ranking(gold, P, TAX)(np.array([np.ones(30), times]))
    expected = [
        metrics.au_prc(gold[rows], P[rows], TAX, method="average-precision") for rows in (np.arange(30), repeated)
    ]
    assert values.tolist() == pytest.approx(expected)


def test_a_difference_by_chance_is_not_a_win() -> None:
    noise = np.random.default_rng(0).normal(size=200)
    assert wins(noise + 0.1, noise)
    assert not wins(noise, noise)
    assert not wins(noise[::-1] + 0.1, noise)


def test_candidates_begin_with_the_usual_parameters_and_step_along_grids() -> None:
    joint = first_candidate("RRSVM")
    assert (joint.C, joint.pull, joint.learn) == (1.0, 0.0, "given")
    assert joint.stepped("pull", -1) is None
    assert joint.stepped("pull", 1).stepped("pull", 1).stepped("pull", 1).pull == float("inf")
    assert first_candidate("RRSVM", fixed={"C": 2.0}).stepped("C", 1) is None
    assert first_candidate("HBLR").learn == "frontier"


def test_an_embedding_is_tried_where_labels_have_few_documents(monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    few = feature_variants(TextFeatures(), np.zeros((1, 1)), 3, n_docs=900, n_labels=10)
    names = ["as they are", "log2 weighting", "words and wordllama", "words, characters and wordllama"]
    assert list(few) == [*names, "texts"]
    assert (few[names[3]].characters, few[names[3]].features.min_df) == (0.7, 1)
    more = feature_variants(TextFeatures(), np.zeros((1, 1)), 3, n_docs=9000, n_labels=100)
    assert list(more) == [*names[:3], "texts"]
    embedded = few["words and wordllama"]
    assert (embedded.embedding, embedded.random_state, embedded.weight) == ("wordllama", 3, "auto")
    many = feature_variants(TextFeatures(), np.zeros((1, 1)), 3, n_docs=1100, n_labels=10)
    large = feature_variants(TextFeatures(), np.zeros((1, 1)), 3, n_docs=30_000, n_labels=9_000)
    assert "words and wordllama" not in large
    letters = feature_variants(TextFeatures(analyzer="char"), np.zeros((1, 1)), 3, n_docs=900, n_labels=10)
    assert list(many) == list(letters) == ["as they are", "log2 weighting", "texts"]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "words and wordllama" not in feature_variants(TextFeatures(), np.zeros((1, 1)), 3, n_docs=9, n_labels=10)


@pytest.mark.parametrize(("expected", "taken"), [(0.8995, "expected"), (0.895, "scut")])
def test_of_nearly_equal_cuts_the_expected_one_is_taken(monkeypatch, expected: float, taken: str) -> None:
    X, y = sets(420)
    Y = TAX.indicator(y)
    evaluator = Evaluator(X, Y, TAX, {"as they are": None}, splits_of(Y, 0), "micro_f1", 0)
    held = evaluator.run(first_candidate("OneVsRestSVM"), evaluator.n_learn).held
    values = {"expected": expected, "scut": 0.9, "instance_cut": 0.1}
    monkeypatch.setattr(Evaluator, "_crossed", lambda self, held, cut, way: cut.name)
    monkeypatch.setattr(Evaluator, "value", lambda self, answers: values[answers])
    assert evaluator.best_cut(held, 0.2, "project") == (values[taken], taken, taken)


@pytest.mark.parametrize(("expected", "taken"), [(0.8905, "expected"), (0.8895, "scut")])
def test_by_macro_f1_the_expected_cut_counts_a_point_more(monkeypatch, expected: float, taken: str) -> None:
    X, y = sets(420)
    Y = TAX.indicator(y)
    evaluator = Evaluator(X, Y, TAX, {"as they are": None}, splits_of(Y, 0), "macro_f1", 0)
    values = {"expected": expected, "scut": 0.9, "instance_cut": 0.1}
    monkeypatch.setattr(Evaluator, "_crossed", lambda self, held, cut, way: cut.name)
    monkeypatch.setattr(Evaluator, "value", lambda self, answers: values[answers] if isinstance(answers, str) else 0.2)
    found = evaluator.run(first_candidate("OneVsRestSVM"), evaluator.n_learn)
    assert (found.value, found.cut) == (values[taken], taken), "what is reported has no allowance"
    assert found.rank == pytest.approx(found.value + (taken == "expected") * 0.01)
    run = Search(evaluator, 1e9, print, ["OneVsRestSVM"])
    rival = replace(found, candidate=first_candidate("NodeSVM"), value=0.9, cut="scut", allowance=0.0)
    run.tried = [rival, found]
    assert run.best() is (found if taken == "expected" else rival)


def test_terms_of_one_document_are_tried_where_documents_are_few(monkeypatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)
    usual = default_features("text")
    few = feature_variants(usual, np.zeros((1, 1)), 0, n_docs=900, n_labels=10)
    assert [few[name].min_df for name in ("as they are", "all terms", "all terms, idf")] == [2, 1, 1]
    assert [few[name].weighting for name in ("all terms", "all terms, idf")] == ["tfidf", "idf"]
    assert few["words and wordllama"].features.min_df == 1
    many = feature_variants(usual, np.zeros((1, 1)), 0, n_docs=30_000, n_labels=10)
    given = feature_variants(default_features("text", min_df=3), np.zeros((1, 1)), 0, n_docs=900, n_labels=10)
    assert "all terms" not in many
    assert "all terms" not in given  # what a user asks for is not undone
    assert given["words and wordllama"].features.min_df == 3


def test_longer_substrings_of_sequences_are_tried_unless_there_are_very_many_letters() -> None:
    usual, few = default_features("sequence"), default_features("sequence", min_df=7)
    names = ["substrings of up to 4", "substrings of up to 5"]
    some = sparse.csr_array((3, 5))
    longer = feature_variants(usual, some, 0, 1_000, length=300)
    assert [(longer[name].ngram_range, longer[name].min_df) for name in names] == [((1, 4), 2), ((1, 5), 3)]
    given = feature_variants(few, some, 0, 1_000, length=300)
    assert [given[name].min_df for name in names] == [7, 7]
    assert not set(names) & set(feature_variants(usual, some, 0, 100_000, length=300))
    for other in (default_features("sequence", ngram_range=(1, 2)), TextFeatures(analyzer="char", ngram_range=(1, 3))):
        assert not set(names) & set(feature_variants(other, some, 0, 1_000, length=300))


def test_classes_told_by_five_letters_are_learned_from_substrings_of_five() -> None:
    rng = np.random.default_rng(0)
    marks = {label: "".join(rng.permutation(list("ABCDE"))) for label in LEAVES}
    y = [LEAVES[i] for i in rng.integers(len(LEAVES), size=300)]
    X = ["".join([*rng.choice(list("ABCDE"), size=40), marks[label], *rng.choice(list("ABCDE"), 40)]) for label in y]
    auto = AutoClassifier(TAX, budget=1e6, features=default_features("sequence"))
    auto.fit(X, y, models=["OneVsRestSVM"], tuned=("features",))
    assert auto.report_.chosen.candidate.features == "substrings of up to 5"


def test_cuts_are_tried_where_labels_are_whole_paths_but_not_single_labels() -> None:
    X, y = one_label(420)
    Y = TAX.indicator(y)
    for labels, tried in ((Y, 0), (TAX.close(Y, keep_root=False), 3)):
        evaluator = Evaluator(X, labels, TAX, {"as they are": None}, splits_of(labels, 0), "hierarchical_f1", 0)
        held = evaluator.run(first_candidate("OneVsRestSVM"), evaluator.n_learn).held
        assert held is not None
        assert len(evaluator.cuts(held)) == tried


def test_mixtures_of_vectors_with_huge_values_are_left_out_and_the_search_goes_on() -> None:
    X, y = sets(420)
    X = np.column_stack([X, 1.6e12 + 1e9 * X[:, 0]])
    auto = AutoClassifier(TAX, budget=1e6, measure="average_precision", features=DenseFeatures())
    auto.fit(X, y, models=["OneVsRestSVM", "RRLogistic"], tuned=("features",))
    assert auto.report_.chosen.candidate.model != "Mixture" or auto.report_.chosen.candidate.features != "values"
    assert auto.predict(X[:2])


def test_a_mixture_of_dense_vectors_knows_documents_of_zeros() -> None:
    X, y = sets(90)
    Y = TAX.indicator(y)
    evaluator = Evaluator(X, Y, TAX, feature_variants(DenseFeatures(), X, 0), splits_of(Y, 0), "micro_f1", 0)
    outcomes = [evaluator.run(Candidate("OneVsRestSVM", name, 1.0), 60) for name in ("as they are", "rbf map")]
    mixed = evaluator.mix(outcomes).candidate
    pipe = Pipeline(evaluator.model(mixed), evaluator.features(mixed.features)).fit(X, y)
    assert pipe.known_terms(np.zeros((1, X.shape[1])))[0] > 0  # 0 is a value like any other


def test_scores_that_were_not_kept_are_fitted_again_once_and_not_longer_than_before() -> None:
    X, y = sets(420)
    Y = TAX.indicator(y)
    evaluator = Evaluator(X, Y, TAX, feature_variants(None, X, 0), splits_of(Y, 0), "micro_f1", 0)
    run = Search(evaluator, 1e6, lambda line: None, ["OneVsRestSVM"])
    known = replace(run.measure(Candidate("OneVsRestSVM", C=1.0), evaluator.n_learn, must=True), stopped=True)
    run.tried = [known.without_scores()]
    limits = []
    real = evaluator.run
    evaluator.run = lambda *given, **limit: limits.append(limit) or real(*given, **limit)
    first, again = (run._with_scores(run.tried[0] if i else known.without_scores()) for i in range(2))
    assert first.held is not None
    assert again.held is first.held
    assert limits == [{"max_time": known.fitting}]
    assert (again.seconds, again.value) == (known.seconds, known.value)
