"""Trained models carried over to a new version of their taxonomy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from linnaeus import RRSVM, OneVsRestSVM, Pipeline, Taxonomy, TopDownSVM, calibrate, store
from linnaeus.errors import LinnaeusError, ParameterError
from linnaeus.features.text import TextFeatures
from linnaeus.migration import migrate_model
from linnaeus.revisions import Correspondence, compare

OLD = Taxonomy.from_edges([("Top", "P"), ("Top", "Q"), ("P", "a"), ("P", "b"), ("P", "c"), ("Q", "d"), ("Q", "e")])
NEW = Taxonomy.from_edges([("Top", "P"), ("Top", "Q"), ("P", "ab"), ("P", "c"), ("Q", "d1"), ("Q", "d2"), ("Q", "e")])
TABLE = Correspondence.from_pairs([("a", "ab"), ("b", "ab"), ("d", "d1"), ("d", "d2")])
REVISION = compare(OLD, NEW, TABLE, propose=False)
CENTRES = {"a": 0, "b": 1, "c": 2, "d1": 3, "d2": 4, "e": 5}


def corpus(n: int = 300) -> tuple[np.ndarray, list[str], list[str]]:
    rng = np.random.default_rng(0)
    topics = rng.choice(list(CENTRES), n).tolist()
    X = rng.normal(0, 0.4, (n, 8))
    X[np.arange(n), [CENTRES[topic] for topic in topics]] += 2
    old = [topic[0] for topic in topics]
    new = ["ab" if topic in "ab" else topic for topic in topics]
    return X, old, new


@pytest.fixture(scope="module", params=[OneVsRestSVM, RRSVM])
def fitted(request):
    X, old, _ = corpus()
    return request.param(OLD, random_state=0).fit(X, old)


def weights(model, name):
    return model.weights_[:, model.classes_.tolist().index(name)]


def test_kept_labels_keep_their_weights_and_merged_ones_are_averaged(fitted) -> None:
    found = migrate_model(fitted, REVISION)
    assert found.counts == {"kept": 2, "merged": 1, "part": 2}
    assert (weights(found.model, "c") == weights(fitted, "c")).all()
    np.testing.assert_allclose(weights(found.model, "ab"), (weights(fitted, "a") + weights(fitted, "b")) / 2, rtol=1e-6)
    for part in ("d1", "d2"):
        np.testing.assert_allclose(weights(found.model, part), weights(fitted, "d"))


def test_documents_teach_the_changed_labels_only(fitted) -> None:
    X, _, new = corpus()
    found = migrate_model(fitted, REVISION, X, new)
    assert (weights(found.model, "e") == weights(fitted, "e")).all()
    assert np.mean(found.model.predict(X) == np.array(new)) > 0.95
    assert {origin.node for origin in found.origins if origin.refitted} == {"ab", "d1", "d2"}


def test_labels_solved_alone_are_those_of_a_flat_model() -> None:
    X, old, new = corpus()
    found = migrate_model(OneVsRestSVM(OLD, random_state=0, tol=1e-6).fit(X, old), REVISION, X, new).model
    again = OneVsRestSVM(NEW, random_state=0, tol=1e-6).fit(X, new)
    for name in ("ab", "d1", "d2"):
        np.testing.assert_allclose(weights(found, name), weights(again, name), atol=2e-3)


def test_a_label_of_an_rr_model_is_solved_around_the_weights_of_its_parent() -> None:
    """With few documents, C small, a changed label stays near what the taxonomy gives it, not near zero."""
    X, old, new = corpus()
    model = RRSVM(OLD, C=1e-6, random_state=0).fit(X, old)
    model.weights_ = model.weights_ + 1.0
    found = migrate_model(model, REVISION, X, new, evaluate=False).model
    assert weights(found, "ab").mean() > 0.3


@pytest.mark.parametrize("pull", [0.0, float("inf")])
def test_a_migrated_rr_model_does_not_hold_the_documents_of_the_old_taxonomy(pull) -> None:
    X, old, new = corpus()
    found = migrate_model(RRSVM(OLD, pull=pull, random_state=0).fit(X, old), REVISION).model
    with pytest.raises(NotFittedError, match="update needs the documents"):
        found.update(X[:5], new[:5])


def test_the_report_has_f1_before_and_after(fitted) -> None:
    X, _, new = corpus()
    found = migrate_model(fitted, REVISION, X, new)
    known = {origin.node: origin for origin in found.origins}
    assert known["c"].before is not None
    assert known["c"].after is not None
    assert known["d1"].before is None
    assert known["d1"].after > 0.8
    assert found.worse == []


def test_calibration_is_dropped_and_said(fitted) -> None:
    X, old, _ = corpus()
    model = OneVsRestSVM(OLD, random_state=0).fit(X[:150], old[:150])
    calibrate(model, X[150:], old[150:], cv=None)
    found = migrate_model(model, REVISION)
    assert found.model.calibrator_ is None
    assert model.calibrator_ is not None
    assert any("calibration" in note for note in found.notes)


def test_texts_tell_the_parts_of_a_split_apart_and_name_new_nodes(tmp_path) -> None:
    old = Taxonomy.flat(["cars", "pets", "plants"])
    new = Taxonomy.flat(["cars", "cats", "dogs", "plants", "boats"])
    words = {"cars": "cars engine", "pets": "cats dogs animal", "plants": "plants leaf boats"}
    rng = np.random.default_rng(0)
    topics = rng.choice(list(words), 120).tolist()
    texts = [" ".join(rng.choice(words[topic].split(), 3)) for topic in topics]
    pipe = Pipeline(OneVsRestSVM(old, random_state=0), TextFeatures()).fit(texts, topics)
    table = Correspondence.from_pairs([("pets", "cats"), ("pets", "dogs")])
    found = migrate_model(pipe, compare(old, new, table, propose=False))
    assert found.counts == {"kept": 2, "part": 2, "new": 1}
    assert found.model.predict(["cats animal", "dogs animal", "cars"]).tolist() == ["cats", "dogs", "cars"]
    store.save(found.model, tmp_path / "model")
    again = store.load(tmp_path / "model")
    assert again.predict(["cats animal", "dogs animal"]).tolist() == ["cats", "dogs"]
    assert pipe.predict(["cats animal"]).tolist() == ["pets"]


def test_models_without_weights_of_single_labels_are_refused() -> None:
    X, old, _ = corpus(60)
    with pytest.raises(LinnaeusError, match="TopDownSVM has no weights of single labels"):
        migrate_model(TopDownSVM(OLD, random_state=0).fit(X, old), REVISION)
    with pytest.raises(LinnaeusError, match="documents with their labels"):
        migrate_model(OneVsRestSVM(OLD, random_state=0).fit(X, old), REVISION, X)


def test_a_certified_migration_is_the_optimum_of_the_whole_problem_and_names_both_versions() -> None:
    old = Taxonomy.from_edges([("P", "a"), ("P", "b"), ("Q", "c"), ("Q", "d")], root=None)
    new = Taxonomy.from_edges([("P", "ab"), ("Q", "c"), ("Q", "d1"), ("Q", "d2")], root=None)
    pairs = [("a", "ab"), ("b", "ab"), ("d", "d1"), ("d", "d2")]
    revision = compare(old, new, Correspondence.from_pairs(pairs), propose=False)
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c", "d1", "d2"], 150)
    X = 0.3 * rng.random((150, 8))
    X[np.arange(150), [["a", "b", "c", "d1", "d2"].index(label) for label in y]] += 2
    X = sparse.csr_array(X.astype(np.float32))
    before = RRSVM(old, tol=1e-5, random_state=0).fit(X, [label[0] for label in y])
    later = [{"a": "ab", "b": "ab"}.get(label, label) for label in y.tolist()]
    found = migrate_model(before, revision, X, later, certify=True)
    whole = RRSVM(new, tol=1e-5, random_state=0).fit(X, later)
    assert found.certificate is not None
    assert found.certificate["duality_gap"] <= 1e-5 * found.certificate["objective"]
    assert found.certificate["objective"] == pytest.approx(whole.objective_, rel=1e-4)
    assert found.certificate["old_taxonomy"] == old.fingerprint
    assert found.certificate["new_taxonomy"] == new.fingerprint
    assert found.certificate["table"] == revision.correspondence.fingerprint
    assert migrate_model(before, revision, X, later).certificate is None
    with pytest.raises(ParameterError, match="certify needs documents"):
        migrate_model(before, revision, certify=True)
