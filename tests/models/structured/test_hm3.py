from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import linnaeus
from linnaeus import HM3, Taxonomy
from linnaeus.decoding import Threshold, max_edge_labelling
from linnaeus.errors import DataError, LinnaeusError, ParameterError, TaxonomyError
from linnaeus.features.spectrum import SpectrumKernel
from linnaeus.models.kernels import RBF, Linear, Precomputed
from linnaeus.models.structured.tree import edge_scores
from linnaeus.store import folder
from tests.contracts.configurations import documents, taxonomy

TAX = taxonomy()
X, LABELS = documents(TAX)


def fit(**settings):
    return HM3(**{"taxonomy": TAX, "random_state": 0, **settings}).fit(X, LABELS)


# -- kernels -----------------------------------------------------------------------------------------------------------


def test_weights_and_gram_matrix_give_the_same_model() -> None:
    dense = X.toarray().astype(np.float64)
    K = dense @ dense.T
    exact = {"tol": 1e-6, "max_iter": 5000}
    through_weights = fit(**exact)
    through_gram = HM3(TAX, kernel="precomputed", random_state=0, **exact).fit(K, LABELS)
    np.testing.assert_allclose(through_weights.decision_function(X), through_gram.decision_function(K), atol=1e-2)
    assert through_gram.objective_ == pytest.approx(through_weights.objective_, rel=1e-5)
    assert through_gram.predict(K) == through_weights.predict(X)


@pytest.mark.parametrize("kernel", ["rbf", "poly", RBF(gamma=0.5), Linear(normalise=True)])
def test_kernels_learn_store_and_load(kernel, tmp_path) -> None:
    model = fit(kernel=kernel, C=10.0)
    assert model.score(X, LABELS) > 0.8
    assert model.coefficients_.shape[0] == model.documents_.shape[0]
    linnaeus.save(model, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    assert again.predict(X) == model.predict(X)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_a_precomputed_model_keeps_numbers_of_documents_only(tmp_path) -> None:
    K = (X @ X.T).toarray()
    model = HM3(TAX, kernel="precomputed", random_state=0).fit(K, LABELS)
    assert model.documents_.block.size == 0
    linnaeus.save(model, tmp_path / "model")
    assert linnaeus.load(tmp_path / "model").predict(K[:5]) == model.predict(K[:5])


def test_sequences_are_taken_as_they_are(tmp_path) -> None:
    sequences = ["ACGTACGT", "ACGAACGA", "TTTTGGGG", "CCCCCTTT"] * 3
    labels = [["AA"], ["AB"], ["BA"], ["B"]] * 3
    model = HM3(TAX, C=10.0, kernel=SpectrumKernel(3), random_state=0).fit(sequences, labels)
    assert model.predict(sequences) == labels
    linnaeus.save(model, tmp_path / "model")
    assert linnaeus.load(tmp_path / "model").predict(sequences[:2]) == labels[:2]
    with pytest.raises(DataError, match="Document 0 is 7"):
        model.predict([7])


def test_only_documents_that_count_are_kept() -> None:
    twice = sparse.vstack([X, sparse.csr_array(X.shape, dtype=np.float32)], format="csr")
    weights = np.r_[np.ones(X.shape[0]), np.zeros(X.shape[0])]
    model = HM3(TAX, kernel="rbf", random_state=0).fit(twice, LABELS * 2, sample_weight=weights)
    assert model.documents_.shape[0] <= X.shape[0]


def test_gram_matrices_that_are_none_are_refused() -> None:
    K = (X @ X.T).toarray().astype(np.float64)
    with pytest.raises(DataError, match="not symmetric"):
        HM3(TAX, kernel="precomputed").fit(np.triu(K), LABELS)
    with pytest.raises(DataError, match="not positive semi-definite"):
        HM3(TAX, kernel="precomputed").fit(K - np.eye(len(K)), LABELS)
    with pytest.raises(DataError, match="square"):
        HM3(TAX, kernel="precomputed").fit(K[:, :40], LABELS)
    model = HM3(TAX, kernel=Precomputed(psd="clip"), random_state=0).fit(K - 0.1 * np.eye(len(K)), LABELS)
    assert 0 <= model.duality_gap_ <= 1e-3 * model.objective_
    with pytest.raises(LinnaeusError, match="features|columns"):
        model.predict(K[:, :40])


# -- answers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", ["super", "paper"])
@pytest.mark.parametrize("labellings", ["all", "consistent"])
def test_the_answer_is_the_best_consistent_labelling(root, labellings) -> None:
    model = fit(root=root, train_labellings=labellings)
    layout = model._labellings.layout
    F = model._rows(X)
    G = np.zeros((X.shape[0], TAX.n_nodes, 4))
    G[:, layout.nodes] = edge_scores(F, layout)
    G[:, TAX.root] = [0, 0, -1e9, 0] if root == "super" else 0.0
    labels, _ = max_edge_labelling(G, TAX)
    expected = labels.copy()
    expected[:, TAX.root] = False
    answers = model.answers(X, closed=True).toarray().astype(bool)
    some = expected.any(axis=1)
    np.testing.assert_array_equal(answers[some], expected[some])
    assert (answers[~some].sum(axis=1) == 1).all()  # no training set was empty: at least the best top node
    margins = model.decision_function(X)
    np.testing.assert_array_equal(margins > 0, expected[:, model.nodes_])


def test_unrestricted_answers_may_break_the_hierarchy_and_score_no_less() -> None:
    model = fit(root="paper")
    layout, F = model._labellings.layout, model._rows(X)
    free = model.answers(X, consistent=False).toarray().astype(bool)
    G = np.zeros((X.shape[0], TAX.n_nodes, 4))
    G[:, layout.nodes] = edge_scores(F, layout)
    labels, _ = max_edge_labelling(G, TAX, consistent=False)
    np.testing.assert_array_equal(free[:, model.nodes_], labels[:, model.nodes_])
    assert len(model.predict(X, consistent=False)) == X.shape[0]


def test_a_single_label_is_the_end_of_the_best_path() -> None:
    single = [row[0] for row in LABELS]
    model = HM3(TAX, random_state=0).fit(X, single)
    answers = model.predict(X)
    assert set(answers) <= set(single)
    U, nodes = model._labellings.node_weights(model._rows(X)), model._labellings.nodes.tolist()
    best = [
        max(
            sorted(set(single), key=TAX.index), key=lambda label: sum(row[nodes.index(v)] for v in TAX.ancestors(label))
        )
        for row in U
    ]
    assert answers.tolist() == best


def test_a_document_without_known_features_scores_zero() -> None:
    model = HM3(TAX, fit_intercept=False, random_state=0).fit(X, [*LABELS[1:], []])
    nothing = sparse.csr_array((1, X.shape[1]), dtype=np.float32)
    assert not model.decision_function(nothing).any()
    assert model.predict(nothing) == [[]]


# -- training ----------------------------------------------------------------------------------------------------------


def test_the_curve_ends_at_the_certificate() -> None:
    model = fit(tol=1e-4)
    passes, seconds, primal, dual, scale = model.history_.T
    assert (passes[-1], primal[-1]) == (model.n_iter_, model.objective_)
    assert model.duality_gap_ == pytest.approx(primal[-1] - dual[-1])
    assert (np.diff(passes) > 0).all()
    assert (np.diff(seconds) > 0).all()
    assert (dual <= primal.min() * (1 + 1e-6)).all()
    assert ((scale >= 1) & (scale <= 2)).all()


def test_a_warm_start_saves_passes_and_ends_at_the_same_optimum() -> None:
    model = HM3(TAX, C=1.0, tol=1e-4, warm_start=True, random_state=0, max_iter=5000).fit(X, LABELS)
    first = model.n_iter_
    assert model.fit(X, LABELS).n_iter_ < first
    model.C = 1.1
    warm = model.fit(X, LABELS).objective_
    assert warm == pytest.approx(fit(C=1.1, tol=1e-4, max_iter=5000).objective_, rel=2e-4)


def test_weights_of_documents_are_repetitions() -> None:
    weights = np.where(np.arange(X.shape[0]) < 10, 2.0, 1.0)
    weighted = HM3(TAX, tol=1e-4, max_iter=5000, random_state=0).fit(X, LABELS, sample_weight=weights)
    rows = np.r_[np.arange(X.shape[0]), np.arange(10)]
    repeated = HM3(TAX, tol=1e-4, max_iter=5000, random_state=0).fit(X[rows], [LABELS[i] for i in rows])
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=2e-4)


def test_class_weights_are_means_over_the_labels_of_a_document() -> None:
    by_class = fit(class_weight={"A": 3.0}, tol=1e-4, max_iter=5000)
    weights = [np.mean([3.0 if label == "A" else 1.0 for label in row]) for row in LABELS]
    by_document = HM3(TAX, tol=1e-4, max_iter=5000, random_state=0).fit(X, LABELS, sample_weight=weights)
    assert by_class.objective_ == pytest.approx(by_document.objective_, rel=2e-4)
    assert fit(class_weight="balanced").score(X, LABELS) > 0.5


def test_nodes_without_documents_are_never_answered() -> None:
    grown = Taxonomy.from_edges(
        [(TAX.names[p], TAX.names[v]) for v in range(TAX.n_nodes) for p in TAX.parents(v)] + [("AA", "never")]
    )
    model = HM3(grown, random_state=0).fit(X, LABELS)
    assert "never" not in list(model.classes_)


@pytest.mark.filterwarnings("ignore:The fit did not converge")
@pytest.mark.parametrize("C", [1e-8, 1e6])
def test_extreme_weights_end_with_a_certificate(C) -> None:
    model = fit(C=C, max_iter=30)
    assert np.isfinite(model.objective_)
    assert model.duality_gap_ >= 0
    assert np.isfinite(model.decision_function(X)).all()


def test_contradictory_and_repeated_documents_are_fine() -> None:
    same = sparse.vstack([X[:1]] * 6, format="csr")
    model = HM3(TAX, random_state=0).fit(same, [["AA"], ["B"], ["AA"], ["AA"], [], ["C"]])
    assert model.duality_gap_ <= 1e-3 * model.objective_


def test_one_document_and_one_node_work() -> None:
    model = HM3(Taxonomy.flat(["a"]), random_state=0).fit(np.eye(2), [["a"], []])
    assert model.predict(np.eye(2)) == [["a"], []]
    assert HM3(TAX, random_state=0).fit(X[:1], LABELS[:1]).predict(X[:1]) == [LABELS[0]]


def test_a_fit_that_runs_out_of_passes_or_time_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1 with a gap"):
        assert fit(max_iter=1).duality_gap_ > 0
    with pytest.warns(ConvergenceWarning, match="max_time=1e-06"):
        assert fit(max_time=1e-6).time_limit_reached_


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"C": 0.0}, "C=0.0; expected a number above 0"),
        ({"C": float("inf")}, "C=inf"),
        ({"C": float("nan")}, "C=nan"),
        ({"cost": "symetric"}, "did you mean 'symmetric'"),
        ({"scaling": "subtrees"}, "did you mean 'subtree'"),
        ({"kernel": "gauss"}, "kernel='gauss'"),
        ({"root": "none"}, "root='none'"),
        ({"train_labellings": "some"}, "train_labellings"),
        ({"algorithm": "newton"}, "algorithm"),
        ({"max_time": "soon"}, "max_time"),
    ],
)
def test_wrong_parameters_are_named(settings, message) -> None:
    with pytest.raises(ParameterError, match=message):
        fit(**settings)


def test_wrong_taxonomies_and_labels_are_named() -> None:
    with pytest.raises(TaxonomyError, match="root='paper' needs one node above all others"):
        HM3(Taxonomy.flat(["a", "b"]), root="paper").fit(np.eye(2), [["a"], ["b"]])
    with pytest.raises(DataError, match="only one class"):
        HM3(TAX).fit(X[:2], ["A", "A"])
    bad = X.toarray()
    bad[3, 2] = np.nan
    with pytest.raises(DataError, match="NaN"):
        HM3(TAX).fit(bad, LABELS)


def test_c_by_position_and_the_old_spelling_still_work_with_a_warning() -> None:
    with pytest.warns(FutureWarning, match=r"C by position is deprecated.*use HM3\(taxonomy, C=...\)"):
        model = HM3(TAX, 3.0)
    assert model.C == 3.0
    with pytest.warns(FutureWarning, match="'train_labelings' is deprecated since 0.1.*use 'train_labellings'"):
        assert HM3(TAX, train_labelings="consistent").train_labellings == "consistent"
    with pytest.raises(TypeError, match="by position"):
        HM3(TAX, 1.0, C=2.0)
    assert "train_labelings" not in model.get_params()


def test_a_decoder_equal_to_the_default_answers_as_the_default() -> None:
    model = fit(tol=0.5)
    assert model.predict(X, decoder=Threshold(0.0, repair=None, at_least_one=not model.some_empty_)) == model.predict(X)


def test_models_stored_under_old_parameter_names_load() -> None:
    arrays: dict[str, Any] = {}
    model = fit(train_labellings="consistent", tol=0.5)
    stored = json.dumps(folder.encode(model, arrays, "model")).replace("train_labellings", "train_labelings")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = folder.decode(json.loads(stored), arrays, {})
    assert loaded.train_labellings == "consistent"
