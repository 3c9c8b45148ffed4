"""Suggestions of other tools as a source of a mixture: equal to a model with the same scores, stored, explained."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import linnaeus
from linnaeus import Mixture, OneVsRestSVM, Pipeline, SuggestedDocuments, SuggestionModel, calibrate
from linnaeus.data import Dataset, join_suggestions
from linnaeus.errors import DataError, ParameterError
from linnaeus.features.text import TextFeatures
from linnaeus.models.base import TaxonomyClassifier
from linnaeus.tuning import held_out_scores
from tests.contracts.configurations import documents, taxonomy

TAX = taxonomy()
X, Y = documents(TAX)


def tool(noise: float = 0.3) -> np.ndarray:
    """Scores of another tool, n_docs x n_nodes: the truth and noise, rounded; 0 where nothing is suggested."""
    rng = np.random.default_rng(0)
    S = TAX.indicator(Y).toarray() * 0.5 + noise * rng.random((len(Y), TAX.n_nodes))
    return np.where(S > 0.2, S.round(3), 0.0)


def rows_of(S: np.ndarray) -> list[dict[str, float]]:
    return [{str(TAX.names[v]): float(row[v]) for v in np.flatnonzero(row)} for row in S]


class Oracle(TaxonomyClassifier):
    """A model that has the scores of the tool as the first columns of its documents."""

    def __init__(self, taxonomy=None) -> None:
        self.taxonomy = taxonomy

    def _fit(self, problem) -> None:
        self._targets(problem, "given")
        self.nodes_ = np.arange(TAX.n_nodes, dtype=np.int32)

    def _scores(self, X) -> np.ndarray:
        return np.asarray(X[:, : TAX.n_nodes], dtype=np.float64)


class Rest(OneVsRestSVM):
    """An SVM that leaves out these columns."""

    def _check_X(self, X, *, reset):
        return super()._check_X(np.asarray(X)[:, TAX.n_nodes :], reset=reset)


@pytest.mark.parametrize("kind", ["sets", "single", "first"])
def test_suggestions_count_as_the_scores_of_a_model_with_the_same_scores(kind, monkeypatch) -> None:
    S, dense = tool(), np.asarray(X.toarray(), dtype=np.float64)
    assert (S > 0).any(axis=0).all()
    y = [row[:1] for row in Y] if kind == "single" else Y
    learn = "first" if kind == "first" else "closed"
    both = np.hstack([S, dense])
    monkeypatch.setattr("linnaeus.mixture._check_fitted", lambda *_: None)
    oracle = Mixture([("tool", Oracle()), ("svm", Rest(random_state=0))], TAX, cv=3, learn=learn).fit(both, y)
    given = SuggestedDocuments(dense, {"tool": rows_of(S)})
    sources = [("tool", SuggestionModel()), ("svm", OneVsRestSVM(random_state=0))]
    mixed = Mixture(sources, TAX, cv=3, learn=learn).fit(given, y)
    np.testing.assert_array_equal(mixed.nodes_, oracle.nodes_)
    np.testing.assert_allclose(mixed.weights_, oracle.weights_, atol=1e-5)
    np.testing.assert_allclose(mixed.decision_function(given), oracle.decision_function(both), atol=1e-4)


@pytest.fixture(scope="module")
def mixed() -> Mixture:
    sources = [("svm", OneVsRestSVM(random_state=0)), ("tool", SuggestionModel())]
    return Mixture(sources, TAX, cv=3).fit(SuggestedDocuments(X, {"tool": rows_of(tool())}), Y)


def test_documents_without_suggestions_are_answered_by_the_other_sources(mixed) -> None:
    rows: list = rows_of(tool())
    whole = mixed.decision_function(SuggestedDocuments(X, {"tool": rows}))
    rows[3] = None
    some = mixed.decision_function(SuggestedDocuments(X, {"tool": rows}))
    with pytest.warns(UserWarning, match="no suggestions of the source 'tool'; the other sources answer alone"):
        none = mixed.decision_function(X)
    assert np.isfinite(none).all()
    np.testing.assert_allclose(some[3], none[3], atol=1e-9)
    np.testing.assert_allclose(np.delete(some, 3, axis=0), np.delete(whole, 3, axis=0), atol=1e-9)
    assert np.abs(whole[3] - none[3]).max() > 0.1


def test_training_documents_may_lack_suggestions(mixed) -> None:
    rows = [None if d % 3 == 0 else row for d, row in enumerate(rows_of(tool()))]
    sources = [("svm", OneVsRestSVM(random_state=0)), ("tool", SuggestionModel())]
    model = Mixture(sources, TAX, cv=3).fit(SuggestedDocuments(X, {"tool": rows}), Y)
    assert model.weights_[:, 1].max() > 0
    assert np.isfinite(model.decision_function(SuggestedDocuments(X, {"tool": rows}))).all()


def test_a_stored_mixture_answers_the_same_and_stores_no_suggestions(mixed, tmp_path) -> None:
    given = SuggestedDocuments(X, {"tool": rows_of(tool())})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        linnaeus.save(mixed, tmp_path / "model")
        loaded = linnaeus.load(tmp_path / "model")
        np.testing.assert_allclose(loaded.decision_function(given), mixed.decision_function(given), atol=1e-5)
    assert loaded.suggesting == ["tool"]
    with pytest.warns(UserWarning, match="no suggestions"):
        assert len(loaded.predict(X)) == len(Y)


def test_explanations_name_the_tool(mixed) -> None:
    given = SuggestedDocuments(X, {"tool": rows_of(tool())})
    S = mixed.decision_function(given)
    steps = mixed.explain(given[[0]])
    for step in steps:
        assert [source.name for source in step.sources] == ["svm", "tool"]
        assert step.score == pytest.approx(step.constant + sum(source.contribution for source in step.sources))
        assert step.score == pytest.approx(S[0, list(mixed.classes_).index(step.node)], abs=1e-9)
        assert step.sources[1].explanation is None
    assert "(tool)" in str(steps[0])


def test_probabilities_are_calibrated_and_held_out_with_suggestions(mixed) -> None:
    given = SuggestedDocuments(X, {"tool": rows_of(tool())})
    held = held_out_scores(mixed, given, Y, cv=3)
    assert held.S.shape[0] == len(Y)
    P = calibrate(mixed, given, Y, cv=3).predict_proba(given)
    assert ((P >= 0) & (P <= 1)).all()


def annif(path: Path, ids: list[str], rows: list[list[tuple[str, float]]]) -> Path:
    lines = []
    for name, row in zip(ids, rows, strict=True):
        lines += [f"Suggestions for {name}", *(f"<{label}>\t{label.title()}\t{score}" for label, score in row)]
    path.write_text("\n".join(lines) + "\n")
    return path


TEXTS = ["cats purr", "dogs bark", "a cat purrs, a dog barks", "kittens and cats", "puppies and dogs"] * 6
LABELS = [["cat"], ["dog"], ["cat", "dog"], ["cat"], ["dog"]] * 6
IDS = [f"d{d}" for d in range(len(TEXTS))]


def test_texts_are_mixed_with_a_file_of_annif_by_ids(tmp_path) -> None:
    suggested = [[(label, 0.8) for label in row] + [("dog", 0.1)] * ("dog" not in row) for row in LABELS]
    file = annif(tmp_path / "train.tsv", IDS[::-1], suggested[::-1])
    sources = [("words", Pipeline(OneVsRestSVM(), TextFeatures())), ("annif", SuggestionModel())]
    train = join_suggestions(Dataset(fields={"text": TEXTS}, ids=IDS), {"annif": file})
    assert train.notes["suggestions of annif"] == "30 of 30 documents found"
    model = Mixture(sources, cv=3).fit(train.documents, LABELS)
    linnaeus.save(model, tmp_path / "model")
    new = annif(tmp_path / "new.tsv", ["n2"], [[("dog", 0.9)]])
    both = SuggestedDocuments.read(["unheard of", "unheard of"], {"annif": new}, ["n1", "n2"])
    S = linnaeus.load(tmp_path / "model").decision_function(both)
    column = list(model.classes_).index("dog")
    assert S[1, column] > S[0, column]
    step = model.explain(both[[1]], "dog")[0]
    assert [source.name for source in step.sources] == ["words", "annif"]


def test_a_folder_of_annif_has_one_file_per_document(tmp_path) -> None:
    (tmp_path / "d1.annif").write_text("<A>\tApples\t0.5\n<B>\tBees\t0.25\n")
    (tmp_path / "d2.annif").write_text("")
    found = SuggestedDocuments.read(["a", "b", "c"], {"annif": tmp_path}, ["d1.txt", "d2.txt", "d3.txt"])
    assert found.suggestions["annif"].tolist() == [{"A": 0.5, "B": 0.25}, {}, None]


def test_wrong_suggestions_are_refused(mixed, tmp_path) -> None:
    rows = rows_of(tool())
    with pytest.raises(ParameterError, match=r"expected .* or \(name, SuggestionModel\(\)\) for a label file"):
        Mixture([("svm", OneVsRestSVM()), ("theirs", "suggested.tsv")], TAX).fit(X, Y)
    with pytest.raises(DataError, match="have no suggestions of the source 'tool'"):
        Mixture([("svm", OneVsRestSVM()), ("tool", SuggestionModel())], TAX).fit(X, Y)
    with pytest.raises(DataError, match="suggestions of 'tol', which is not a source .* did you mean 'tool'"):
        mixed.predict(SuggestedDocuments(X, {"tol": rows}))
    with pytest.raises(DataError, match="for 2 documents; expected"):
        SuggestedDocuments(X, {"tool": rows[:2]})
    with pytest.raises(DataError, match="'Nowhere' is not in the taxonomy"):
        mixed.predict(SuggestedDocuments(X, {"tool": [{"Nowhere": 1.0}] * len(Y)}))
    file = tmp_path / "suggested.tsv"
    file.write_text("d1\tCAA\t0.5\nd2\tCXX\t0.1\n")
    with pytest.raises(DataError, match=r"Label 'CXX' \(.*suggested.tsv:2\) is not in the taxonomy"):
        SuggestedDocuments.read(["a", "b"], {"tool": file}, ["d1", "d2"], taxonomy=TAX)
    with pytest.raises(DataError, match="No document is named"):
        SuggestedDocuments.read(["a", "b"], {"tool": file}, ["x1", "x2"])
    file.write_text("d1\tCAA\nd2\tCAB\n")
    with pytest.raises(DataError, match="labels without scores"):
        SuggestedDocuments.read(["a", "b"], {"tool": file}, ["d1", "d2"])
