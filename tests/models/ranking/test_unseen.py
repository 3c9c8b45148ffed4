"""Ranking models that answer nodes without documents."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import linnaeus
from linnaeus import HierarchicalPerceptron, HierarchicalSVM, Hieron, Pipeline, Taxonomy
from linnaeus.decoding import RCut
from linnaeus.errors import ParameterError
from linnaeus.features.text import TextFeatures
from linnaeus.models.label_priors import label_features
from linnaeus.models.ranking.attributes import keyed_attributes
from linnaeus.models.ranking.unseen import SharedWeights

_TOPICS, _NODES = 4, 5
_TREE = [("R", f"t{i}") for i in range(_TOPICS)]
_TREE += [(f"t{i}", f"t{i}n{j}") for i in range(_TOPICS) for j in range(_NODES)]
_LABELS = {f"t{i}n{j}": f"own{i}{j} thing" for i in range(_TOPICS) for j in range(_NODES)}
TAX = Taxonomy.from_edges(_TREE, display_labels=_LABELS)
NEW = [f"own{i}4 own{i}4 topic{i}0 topic{i}1" for i in range(_TOPICS)]
UNSEEN = [f"t{i}n4" for i in range(_TOPICS)]
MODELS = [HierarchicalSVM, HierarchicalPerceptron, Hieron]
ALL = {"attributes": "taxonomy+text", "answer": "all", "random_state": 0}


def _documents(n: int = 200, several: bool = False, seed: int = 0) -> tuple[list[str], list[list[str]]]:
    """Documents repeat the names of their nodes and words of the topics; the last node of each topic has none."""
    rng = np.random.default_rng(seed)
    texts, labels = [], []
    for _ in range(n):
        chosen = {(int(rng.integers(_TOPICS)), int(rng.integers(_NODES - 1))) for _ in range(1 + several)}
        words = [f"noise{k}" for k in rng.integers(20, size=4)]
        for i, j in chosen:
            words += [f"own{i}{j}"] * 2 + [f"topic{i}{k}" for k in rng.integers(6, size=5)]
        texts.append(" ".join(words))
        labels.append([f"t{i}n{j}" for i, j in sorted(chosen)])
    words = "own00 own00 topic00 topic01 " + " ".join(f"own{i}4" for i in range(_TOPICS))  # known to the features
    return [*texts, words], [*labels, ["t0n0"]]


@pytest.fixture(scope="module", params=MODELS, ids=lambda model: model.__name__)
def pipe(request):
    texts, y = _documents()
    return Pipeline(request.param(TAX, **ALL), TextFeatures()).fit(texts, y)


def test_a_hidden_class_whose_text_occurs_is_ranked_above_other_hidden_classes(pipe):
    S = dict(zip(pipe.classes_, pipe.decision_function(NEW).T, strict=True))
    hidden = np.array([S[name] for name in UNSEEN])
    assert (hidden.argmax(axis=0) == np.arange(_TOPICS)).all()
    assert [names[0] for names in pipe.top(NEW, 1)[0].tolist()] == UNSEEN


def test_classes_are_all_nodes_with_texts(pipe):
    assert set(pipe.classes_) == set(_LABELS)
    documents = dict(zip(pipe.classes_, pipe.model_.n_documents_, strict=True))
    assert all((documents[name] == 0) == (name in UNSEEN) for name in _LABELS)


def test_classes_with_documents_are_still_found(pipe):
    texts, y = _documents(seed=1)
    best = [names[0] for names in pipe.top(texts[:-1], 1)[0].tolist()]
    assert np.mean([[name] == names for name, names in zip(best, y[:-1], strict=True)]) > 0.9


def test_a_stored_model_answers_and_explains_the_same(pipe, tmp_path):
    linnaeus.save(pipe, tmp_path / "model")
    loaded = linnaeus.load(tmp_path / "model")
    assert loaded.model_.answer == "all"
    np.testing.assert_array_equal(loaded.decision_function(NEW), pipe.decision_function(NEW))
    np.testing.assert_array_equal(loaded.model_.n_documents_, pipe.model_.n_documents_)
    assert loaded.explain(NEW[0], "t0n4")[0].evidence == pipe.explain(NEW[0], "t0n4")[0].evidence


def test_contributions_name_label_texts_and_nodes_above_and_sum_exactly(pipe):
    (step,) = pipe.explain(NEW[0], "t0n4")
    assert step.evidence[0].startswith("words of the label text of t0n4: own04 +")
    assert set(step.origins) == {"label", "parent"}
    score = float(pipe.decision_function(NEW[:1])[0][list(pipe.classes_).index("t0n4")])
    assert step.intercept + step.contributions.sum() == pytest.approx(score, abs=1e-4 * abs(score))
    (seen,) = pipe.explain("own00 topic00", "t0n0")
    assert set(seen.origins) == {"word"}


def test_decoders_and_calibration_take_the_wider_list(pipe):
    assert all(node in names for node, names in zip(UNSEEN, pipe.predict(NEW, decoder=RCut(2)), strict=True))
    texts, y = _documents(seed=2)
    calibrated = linnaeus.calibrate(pipe, texts, y)
    assert calibrated.predict_proba(NEW).shape == (_TOPICS, len(_LABELS))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("set_size", ["held_out", "training", "mean"])
def test_label_sets_may_have_classes_without_documents(model, set_size):
    texts, y = _documents(several=True)
    pipe = Pipeline(model(TAX, set_size=set_size, **ALL), TextFeatures()).fit(texts, y)
    both = "own04 own04 topic00 topic01 own10 own10 topic10 topic11"
    assert set(pipe.top([both], 3)[0][0].tolist()) >= {"t0n4", "t1n0"}
    assert 1 <= len(pipe.predict([both])[0]) <= 3


@pytest.mark.parametrize("model", MODELS)
def test_one_label_a_constant_feature_and_few_documents(model):
    texts = ["own00 topic00", "own01 topic01", "own10 topic10", "own11 topic11"]
    pipe = Pipeline(model(TAX, fit_intercept=True, **ALL), TextFeatures()).fit(texts, ["t0n0", "t0n1", "t1n0", "t1n1"])
    assert pipe.predict(["own10 topic10"]).tolist() == ["t1n0"]
    assert pipe.classes_.tolist() == sorted(_LABELS)


@pytest.mark.parametrize("model", MODELS)
def test_weights_of_a_class_without_documents_are_those_of_its_attributes_and_text(model):
    texts, y = _documents()
    features = TextFeatures().fit(texts)
    X, T = features.transform(texts), label_features(features, TAX)
    fitted = model(TAX, **ALL).fit(X, y, label_features=T)
    seen = model(TAX, **{**ALL, "answer": "seen"}).fit(X, y)
    classes, W = seen.nodes_, np.asarray(seen.weights_, dtype=np.float64)
    L, keys = keyed_attributes(TAX, classes, "taxonomy+text")
    w = W @ np.linalg.pinv(L.toarray()).T
    both = keyed_attributes(TAX, np.append(classes, TAX.index("t0n4")), "taxonomy+text")
    row = dict(zip(both[1].tolist(), both[0].toarray()[-1].tolist(), strict=True))
    inherited = w @ np.array([row.get(int(key), 0.0) for key in keys])
    column = fitted.classes_.tolist().index("t0n4")
    found = np.asarray(fitted.weights_[:, column] - fitted.label_weights_[:, [column]].toarray()[:, 0])
    slope = found @ inherited / (inherited @ inherited)
    assert slope > 0
    np.testing.assert_allclose(found, slope * inherited, atol=2e-3 * np.abs(found).max())


def test_attributes_of_other_nodes_keep_only_columns_that_were_learned():
    nodes = np.array([TAX.index("t0n0"), TAX.index("t0n1"), TAX.index("t1n0")])
    L, keys = keyed_attributes(TAX, nodes, "taxonomy+text")
    order = np.random.default_rng(0).permutation(len(keys))
    shared = SharedWeights(nodes, sparse.csr_array(L[:, order]), keys[order], np.zeros((3, len(keys))))
    found = shared.attributes_of(TAX, np.array([TAX.index("t0n4"), TAX.index("t2n0")])).toarray()
    column = keys[order].tolist().index(2 * TAX.index("t0"))
    assert found[0, column] > 0
    assert np.count_nonzero(found[0]) == 2  # the topic and the word "thing"
    assert np.count_nonzero(found[1]) == 1


@pytest.mark.parametrize("model", MODELS)
def test_seen_is_the_default_and_ignores_texts(model):
    texts, y = _documents()
    features = TextFeatures()
    X = features.fit_transform(texts)
    given = {"attributes": "taxonomy+text", "random_state": 0}
    plain, seen = model(TAX, **given).fit(X, y), model(TAX, answer="seen", **given)
    seen.fit(X, y, label_features=label_features(features, TAX))
    np.testing.assert_array_equal(seen.weights_, plain.weights_)
    assert seen.n_documents_ is None
    assert not set(seen.classes_) & set(UNSEEN)


@pytest.mark.parametrize("model", MODELS)
def test_the_same_seed_gives_the_same_model(model):
    texts, y = _documents()
    first, again = (Pipeline(model(TAX, **ALL), TextFeatures()).fit(texts, y) for _ in range(2))
    np.testing.assert_array_equal(first.decision_function(NEW), again.decision_function(NEW))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"answer": "every"}, "answer='every'"),
        ({"answer": "all"}, "got attributes='perclass', expected 'taxonomy\\+text'"),
        ({"answer": "all", "attributes": np.eye(TAX.n_nodes)}, "got attributes=a matrix"),
        ({"answer": "all", "attributes": "taxonomy+text", "kernel": "rbf"}, "needs kernel='linear'"),
        ({"answer": "all", "attributes": "taxonomy+text"}, "needs the texts of the nodes as features"),
    ],
)
def test_what_cannot_answer_all_nodes_is_refused(model, parameters, message):
    with pytest.raises(ParameterError, match=message):
        model(TAX, **parameters).fit(np.eye(3), [["t0n0"], ["t0n1"], ["t1n0"]])


def test_a_kernel_between_classes_has_no_texts():
    with pytest.raises(ParameterError, match="class_kernel has none"):
        HierarchicalSVM(TAX, class_kernel=np.eye(TAX.n_nodes), **ALL).fit(np.eye(2), ["t0n0", "t0n1"])


@pytest.mark.parametrize("model", MODELS)
def test_a_pruned_model_is_stored_with_all_classes(model, tmp_path):
    texts, y = _documents()
    pipe = Pipeline(model(TAX, **ALL), TextFeatures()).fit(texts, y)
    before = pipe.decision_function(NEW)
    pipe.prune(1e-6 * float(np.abs(pipe.model_.weights_).max()))
    np.testing.assert_allclose(pipe.decision_function(NEW), before, atol=1e-4 * np.abs(before).max())
    linnaeus.save(pipe, tmp_path / "model")
    np.testing.assert_array_equal(linnaeus.load(tmp_path / "model").decision_function(NEW), pipe.decision_function(NEW))
