"""Features, model and decoder as one object."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

import linnaeus
from linnaeus import Mixture, OneVsRestLogistic, OneVsRestSVM, Pipeline, Taxonomy, metrics
from linnaeus.decoding import BestLeaf, Threshold
from linnaeus.errors import ParameterError
from linnaeus.features import DenseFeatures, TextFeatures

TEXTS = ["cats purr", "dogs bark", "roses bloom", "cats and dogs", "a rose", "dogs bark again"] * 3
LABELS = [["Cats"], ["Dogs"], ["Plants"], ["Cats", "Dogs"], ["Plants"], ["Dogs"]] * 3


@pytest.fixture
def tax() -> Taxonomy:
    return Taxonomy.from_edges([("R", "Animals"), ("R", "Plants"), ("Animals", "Cats"), ("Animals", "Dogs")])


def test_documents_go_in_and_answers_come_out(tax) -> None:
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0), TextFeatures()).fit(TEXTS, LABELS)
    assert pipe.predict(["purr", "bloom"]) == [["Cats"], ["Plants"]]
    assert pipe.taxonomy_ is tax
    np.testing.assert_array_equal(np.concatenate(list(pipe.score_blocks(TEXTS))), pipe.decision_function(TEXTS))


def test_the_score_is_that_of_the_answers(tax) -> None:
    for decoder in (None, Threshold(5.0, at_least_one=False), BestLeaf(), "best_leaf"):
        pipe = Pipeline(OneVsRestSVM(tax, random_state=0), TextFeatures(), decoder=decoder).fit(TEXTS, LABELS)
        assert pipe.score(TEXTS, LABELS) == metrics.hierarchical_f1(LABELS, pipe.predict(TEXTS), tax)


def test_a_search_sees_decoders_and_features(tax) -> None:
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0), TextFeatures())
    y = tax.indicator(LABELS).toarray()
    grid = {"decoder": [None, Threshold(5.0, at_least_one=False)], "features__min_df": [1, 2], "model__C": [1.0]}
    assert GridSearchCV(pipe, grid, cv=2).fit(TEXTS, y).best_params_["decoder"] is None
    assert clone(pipe).model.taxonomy is tax


def test_probabilities_exist_where_the_model_has_them(tax) -> None:
    pipe = Pipeline(OneVsRestLogistic(tax, random_state=0), TextFeatures()).fit(TEXTS, LABELS)
    assert ((pipe.predict_proba(TEXTS) > 0) & (pipe.predict_proba(TEXTS) < 1)).all()
    assert not hasattr(Pipeline(OneVsRestSVM(tax), TextFeatures()), "predict_proba")


def test_vectors_are_explained_by_the_names_of_their_features(tax, tmp_path) -> None:
    X = np.eye(3)[[0, 1, 2] * 5]
    names = ["fur", "tail", "leaf"]
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0), DenseFeatures())
    pipe.fit(X, ["Cats", "Dogs", "Plants"] * 5, feature_names=names)
    linnaeus.save(pipe, tmp_path / "model")
    for model in (pipe, linnaeus.load(tmp_path / "model")):
        assert set(model.explain(X[0])[-1].features) == set(names)


def test_pieces_of_words_are_explained_by_words(tax) -> None:
    features = TextFeatures(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0), features).fit(TEXTS, LABELS)
    (step,) = pipe.explain("Dogs (bark), dogs purr")
    assert set(step.features) == {"dogs", "bark", "purr"}
    assert np.isclose(step.intercept + step.contributions.sum(), step.score, atol=1e-5)
    assert np.isclose(step.against.intercept + step.against.contributions.sum(), step.against.margin, atol=1e-5)
    assert pipe.explain("Dogs (bark), dogs purr", k=1)[0].features.tolist() == step.features[:1].tolist()
    plain = pipe.model_.explain(pipe.matrix(["dogs bark"]), "Dogs")[0]
    pieces = [name.strip() in "bark" for name in pipe.features_.get_feature_names_out()[plain.features]]
    named = pipe.explain("dogs bark", "Dogs")[0]
    assert np.isclose(named.contributions[named.features.tolist().index("bark")], plain.contributions[pieces].sum())


def test_sources_of_a_mixture_are_explained_by_words_too(tax) -> None:
    mixture = Mixture([("svm", OneVsRestSVM(tax)), ("logistic", OneVsRestLogistic(tax))], tax, cv=3)
    pipe = Pipeline(mixture, TextFeatures(analyzer="char_wb", ngram_range=(2, 3))).fit(TEXTS, LABELS)
    step = pipe.explain("dogs bark")[-1]
    for found in (step, *(source.explanation for source in step.sources)):
        assert set(found.features) <= {"dogs", "bark"}
        assert np.isclose(found.intercept + found.contributions.sum(), found.score, atol=1e-5)


def test_misuse_is_explained(tax) -> None:
    with pytest.raises(ParameterError, match="Pipeline\\(model, features\\)"):
        Pipeline(TextFeatures(), "text").fit(TEXTS, LABELS)
    with pytest.raises(NotFittedError):
        Pipeline(OneVsRestSVM(tax)).predict(np.eye(2))


def test_answers_as_a_data_frame_have_the_index_of_the_documents(tax) -> None:
    pd = pytest.importorskip("pandas")
    texts = pd.Series(TEXTS, index=np.arange(len(TEXTS))[::-1] + 100)
    columns = ["Cats", "Dogs", "Plants"]
    Y = pd.DataFrame([[int(name in row) for name in columns] for row in LABELS], columns=columns, index=texts.index)
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0), TextFeatures()).fit(texts, Y)
    pd.testing.assert_index_equal(pipe.predict(texts[3:7]).index, texts.index[3:7])
    X = pd.DataFrame(pipe.matrix(texts).toarray(), index=texts.index)
    model = OneVsRestSVM(tax, random_state=0).fit(X, Y)
    pd.testing.assert_index_equal(model.predict(X).index, X.index)
    assert model.predict(X.to_numpy()).index.tolist() == list(range(len(TEXTS)))
