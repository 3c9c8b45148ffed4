"""Streams of models that answer nodes without documents: partial_fit with answer="all"."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import linnaeus
from linnaeus import HierarchicalPerceptron, Hieron, Pipeline, Taxonomy
from linnaeus.errors import DataError, ParameterError
from linnaeus.features.hashed import HashedText
from linnaeus.features.text import TextFeatures
from linnaeus.models.label_priors import label_features
from linnaeus.models.ranking.attributes import keyed_attributes
from linnaeus.models.ranking.unseen import own_attributes
from linnaeus.models.ranking.unseen_stream import with_start
from linnaeus.models.ranking.updates import AttributeWeights

_TOPICS, _NODES = 4, 5
_TREE = [("R", f"t{i}") for i in range(_TOPICS)]
_TREE += [(f"t{i}", f"t{i}n{j}") for i in range(_TOPICS) for j in range(_NODES)]
_LABELS = {f"t{i}n{j}": f"own{i}{j} thing" for i in range(_TOPICS) for j in range(_NODES)}
TAX = Taxonomy.from_edges(_TREE, display_labels=_LABELS)
NEW = [f"own{i}4 own{i}4 topic{i}0 topic{i}1" for i in range(_TOPICS)]
UNSEEN = [f"t{i}n4" for i in range(_TOPICS)]
MODELS = [HierarchicalPerceptron, Hieron]
ALL = {"attributes": "taxonomy+text", "answer": "all", "random_state": 0}


def _documents(n: int = 300, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Documents repeat the names of their nodes and words of the topics; the last node of each topic has none."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        i, j = int(rng.integers(_TOPICS)), int(rng.integers(_NODES - 1))
        words = [f"noise{k}" for k in rng.integers(20, size=4)] + [f"own{i}{j}"] * 2
        texts.append(" ".join(words + [f"topic{i}{k}" for k in rng.integers(6, size=5)]))
        labels.append([f"t{i}n{j}"])
    return texts, labels


def _matrices() -> tuple[sparse.csr_array, list[list[str]], sparse.csr_array, sparse.csr_array]:
    """Documents, labels, texts of the nodes, and documents of nodes that have none."""
    texts, y = _documents()
    features = TextFeatures(min_df=1).fit([*texts, *NEW])
    return features.transform(texts), y, label_features(features, TAX), features.transform(NEW)


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: model.__name__)
def model(request):
    return request.param


def _stream(model, X, y, T, size, **parameters):
    made, known = model(TAX, **{**ALL, **parameters}), [sorted({label for row in y for label in row})]
    for i in range(0, len(y), size):
        first = {"classes": known, "label_features": T} if i == 0 else {}
        made.partial_fit(X[i : i + size], y[i : i + size], **first)
    return made


def test_nodes_without_documents_are_answered_after_every_call(model):
    X, y, T, new = _matrices()
    made = model(TAX, **ALL)
    for i in range(0, 300, 100):
        made.partial_fit(X[i : i + 100], y[i : i + 100], label_features=T if i == 0 else None)
        assert set(made.classes_) == set(_LABELS)
    assert [names[0] for names in made.top(new, 1)[0].tolist()] == UNSEEN
    found = [[names[0]] for names in made.top(X, 1)[0].tolist()]
    assert np.mean([a == b for a, b in zip(found, y, strict=True)]) > 0.9


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_parts_of_a_stream_give_the_model_of_the_whole_if_classes_are_declared(model, fit_intercept):
    X, y, T, new = _matrices()
    whole = _stream(model, X, y, T, 300, fit_intercept=fit_intercept)
    for size in (1, 37):
        parts = _stream(model, X, y, T, size, fit_intercept=fit_intercept)
        # sums of documents are added up in another order
        np.testing.assert_allclose(parts.decision_function(new), whole.decision_function(new), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(parts.n_documents_, whole.n_documents_)


def test_weights_of_classes_with_documents_are_those_of_a_stream_without_texts_and_one_scale(model):
    X, y, T, _ = _matrices()
    known = [sorted({label for row in y for label in row})]
    made = model(TAX, **ALL).partial_fit(X, y, known, label_features=T)
    seen = model(TAX, **{**ALL, "answer": "seen"}).partial_fit(X, y, known)
    columns = [made.classes_.tolist().index(name) for name in seen.classes_]
    groups = np.searchsorted([1, 3, 6], made.n_documents_[columns], side="right")
    assert (groups == 3).all()
    np.testing.assert_allclose(made.weights_[:, columns], seen.weights_, rtol=1e-5, atol=1e-6)


def test_documents_are_counted_over_all_calls(model):
    X, y, T, _ = _matrices()
    made = _stream(model, X, y, T, 50)
    counts = dict(zip(made.classes_, made.n_documents_.tolist(), strict=True))
    assert counts == {name: sum(name in row for row in y) for name in _LABELS}


def test_a_class_that_joins_starts_with_the_weights_of_its_text():
    nodes = np.array([TAX.index("t0n0"), TAX.index("t0n1"), TAX.index("t1n0")], np.int32)
    L, keys = keyed_attributes(TAX, nodes, "taxonomy+text")
    rng = np.random.default_rng(0)
    W = rng.normal(size=(6, len(keys)))
    known = AttributeWeights(W.copy(), rng.normal(size=W.shape), 7)
    prior = sparse.csr_array(rng.random((TAX.n_nodes, 6)) * (rng.random((TAX.n_nodes, 6)) < 0.5))
    before = known.of_classes(L)
    start = with_start(known, nodes, L, keys, prior, nodes[1:2])
    np.testing.assert_allclose(known.of_classes(L)[:, 1] - before[:, 1], prior[[nodes[1]]].toarray()[0])
    np.testing.assert_array_equal(known.of_classes(L)[:, [0, 2]], before[:, [0, 2]])
    own, size = own_attributes(nodes, L, keys)
    np.testing.assert_allclose(start[[int(keys[own[1]])]].toarray()[0] * size[1], prior[[nodes[1]]].toarray()[0])
    assert start.nnz == prior[[nodes[1]]].nnz


def test_the_first_document_of_a_later_class_does_not_undo_what_its_text_says(model):
    X, y, T, new = _matrices()
    made = model(TAX, **ALL).partial_fit(X, y, label_features=T)
    column = made.classes_.tolist().index("t0n4")
    before = made.weights_[:, column].copy()
    own = int(T[[TAX.index("t0n4")]].indices[0])
    weight = made.label_weights_[own, column]
    assert weight > 0
    far = sparse.csr_array(new[[1]] * 0)  # a document without any word
    made.partial_fit(far, [["t0n4"]])
    assert made.n_documents_[column] == 1
    assert made.weights_[own, column] > 0.5 * before[own]
    assert [names[0] for names in made.top(new[[0]], 1)[0].tolist()] == ["t0n4"]


@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_a_stored_model_continues_as_the_one_that_was_not_stored(model, begin, tmp_path):
    texts, y = _documents()
    pipe = Pipeline(model(TAX, **ALL), HashedText())
    getattr(pipe, begin)(texts[:150], y[:150])
    linnaeus.save(pipe, tmp_path / "model")
    loaded = linnaeus.load(tmp_path / "model")
    for one in (pipe, loaded):
        one.partial_fit([*texts[150:], "own04 wicket"], [*y[150:], ["t0n4"]])
    np.testing.assert_array_equal(loaded.decision_function(NEW), pipe.decision_function(NEW))
    assert loaded.top(["wicket own04"], 1)[0].tolist() == [["t0n4"]]
    linnaeus.save(loaded, tmp_path / "again")
    again = linnaeus.load(tmp_path / "again")
    np.testing.assert_array_equal(again.decision_function(NEW), pipe.decision_function(NEW))


def test_a_fitted_model_keeps_the_scales_of_its_fit(model):
    X, y, T, new = _matrices()
    made = model(TAX, **ALL).fit(X, y, label_features=T)
    before = made.text_strength_, made.group_slope_.tolist(), made.group_shift_.tolist()
    made.partial_fit(X[:20], y[:20])
    assert (made.text_strength_, made.group_slope_.tolist(), made.group_shift_.tolist()) == before
    assert made.trial_ is None
    assert [names[0] for names in made.top(new, 1)[0].tolist()] == UNSEEN


def test_documents_alone_are_answered_as_among_others(model):
    X, y, T, new = _matrices()
    made = _stream(model, X, y, T, 100)
    alone = np.concatenate([made.decision_function(new[[i]]) for i in range(_TOPICS)])
    np.testing.assert_allclose(alone, made.decision_function(new), rtol=1e-6)


def test_explanations_of_a_stream_sum_to_scores(model):
    X, y, T, new = _matrices()
    made = _stream(model, X, y, T, 100)
    (step,) = made.explain(new[[0]], "t0n4")
    score = float(made.decision_function(new[[0]])[0, made.classes_.tolist().index("t0n4")])
    assert step.intercept + step.contributions.sum() == pytest.approx(score, abs=1e-4 * abs(score))
    assert set(step.origins) == {"label", "parent"}


def test_one_document_and_one_label_at_the_beginning(model):
    X, y, T, _ = _matrices()
    made = model(TAX, **ALL).partial_fit(X[:1], y[:1], label_features=T)
    assert set(made.classes_) == set(_LABELS)
    for i in range(1, 12):
        made.partial_fit(X[i : i + 1], y[i : i + 1])
    assert np.isfinite(made.decision_function(X)).all()


def test_texts_are_needed_at_the_first_call(model):
    with pytest.raises(ParameterError, match="label_features \\(n_nodes x n_features\\) to partial_fit"):
        model(TAX, **ALL).partial_fit(np.eye(2), ["t0n0", "t0n1"])


def test_a_model_without_its_texts_says_what_to_do(model):
    X, y, T, _ = _matrices()
    made = model(TAX, **ALL).fit(X, y, label_features=T)
    made.label_features_ = None  # as one of an earlier version
    with pytest.raises(DataError, match="fit it again"):
        made.partial_fit(X, y)


def test_a_pipeline_begins_a_stream_with_hashed_features_only():
    texts, y = _documents(20)
    with pytest.raises(DataError, match="TextFeatures is learned from all documents: call fit"):
        Pipeline(Hieron(TAX), TextFeatures()).partial_fit(texts, y)
    with pytest.raises(DataError, match="SCut is fitted on held-out documents: call fit"):
        Pipeline(Hieron(TAX), HashedText(), decoder="scut").partial_fit(texts, y)
    assert Pipeline(Hieron(TAX), HashedText()).partial_fit(texts, y).predict(texts[:1]) == y[:1]
