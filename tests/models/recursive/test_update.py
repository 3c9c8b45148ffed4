"""More documents and nodes: the enlarged problem is solved to the same optimum, from where it stood, and certified."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from linnaeus import RRSVM, RRLogistic, Taxonomy, load, save
from linnaeus.errors import CheckpointError, DataError, ParameterError
from linnaeus.models.solvers.dual_cd import PANEL

EDGES = [("R", f"T{i}") for i in range(12)] + [(f"T{i}", f"T{i}.{j}") for i in range(12) for j in range(8)]
GROWN = [*EDGES, ("T3", "T3.new"), ("R", "T99"), ("T99", "T99.0")]


def documents(labels: list[str], seed: int) -> sparse.csr_array:
    """Words of a topic and of its parent's; topics of different parents share none."""
    rng = np.random.default_rng(seed)
    X = np.zeros((len(labels), 2000), np.float32)
    for row, label in zip(X, labels, strict=True):
        for name, n_words in ((label, 3), (label.split(".")[0], 2)):
            words = np.random.default_rng([ord(c) for c in name]).integers(0, 2000, 6)
            row[rng.choice(words, n_words)] += 1
        row /= np.linalg.norm(row)
    return sparse.csr_array(X)


@pytest.fixture(scope="module")
def labels() -> list[str]:
    rng = np.random.default_rng(0)
    return [f"T{rng.integers(12)}.{rng.integers(8)}" for _ in range(600)]


@pytest.mark.parametrize(
    ("kind", "settings", "dense"),
    [
        (RRSVM, {}, False),
        (RRLogistic, {}, False),
        pytest.param(RRSVM, {"loss": "hinge"}, False, marks=pytest.mark.slow),
        pytest.param(RRSVM, {}, True, marks=pytest.mark.slow),
    ],
)
def test_new_documents_lead_to_the_optimum_of_all(kind, settings, dense, labels) -> None:
    X = documents(labels, 1)
    if dense:
        X = X @ np.random.default_rng(0).normal(size=(X.shape[1], 40))
    model = kind(Taxonomy.from_edges(EDGES), tol=1e-4, random_state=0, **settings)
    whole = kind(Taxonomy.from_edges(EDGES), tol=1e-4, random_state=0, **settings).fit(X, labels)
    model.fit(X[:580], labels[:580]).update(X[580:], labels[580:])
    assert model.duality_gap_ <= 1e-4 * model.objective_
    assert model.objective_ == pytest.approx(whole.objective_, rel=2e-4)
    order = [list(model.classes_).index(label) for label in whole.classes_]
    np.testing.assert_allclose(model.decision_function(X)[:, order], whole.decision_function(X), atol=0.1)


def test_new_leaves_and_new_inner_nodes(labels) -> None:
    X, new = documents(labels, 1), ["T3.new"] * 5 + ["T99.0"] * 5
    more, grown = documents(new, 2), Taxonomy.from_edges(GROWN)
    model = RRSVM(Taxonomy.from_edges(EDGES), tol=1e-4, random_state=0).fit(X, labels)
    model.update(more, new, taxonomy=grown)
    whole = RRSVM(grown, tol=1e-4, random_state=0).fit(sparse.vstack([X, more]), [*labels, *new])
    assert model.objective_ == pytest.approx(whole.objective_, rel=2e-4)
    assert model.predict(more).tolist() == new
    assert model.taxonomy_ is grown
    assert len(model.classes_) == len(whole.classes_)


def test_only_what_is_touched_is_solved_again() -> None:
    edges = [("R", f"T{i}") for i in range(40)] + [(f"T{i}", f"T{i}.{j}") for i in range(40) for j in range(16)]
    labels = [child for _, child in edges if "." in child] * 3
    X = documents(labels, 1)
    model = RRSVM(Taxonomy.from_edges(edges), tol=1e-2, random_state=0).fit(X, labels)
    model.update(X[:1], labels[:1])  # as the model expects it: hardly anybody has anything to learn
    assert PANEL <= model.n_touched_ < len(model.classes_) / 2
    assert model.duality_gap_ <= 1e-2 * model.objective_


def test_updates_follow_each_other_and_weights_count(labels) -> None:
    X = documents(labels, 1)
    weights = np.linspace(0.5, 2.0, 600)
    model = RRSVM(Taxonomy.from_edges(EDGES), tol=1e-4, random_state=0)
    model.fit(X[:500], labels[:500], sample_weight=weights[:500])
    for part in (slice(500, 550), slice(550, 600)):
        model.update(X[part], labels[part], sample_weight=weights[part])
    whole = RRSVM(Taxonomy.from_edges(EDGES), tol=1e-4, random_state=0).fit(X, labels, sample_weight=weights)
    assert model.objective_ == pytest.approx(whole.objective_, rel=2e-4)


def test_what_cannot_be_updated_says_so(labels, tmp_path) -> None:
    X, tax = documents(labels, 1), Taxonomy.from_edges(EDGES)
    model = RRSVM(tax, random_state=0)
    with pytest.raises(NotFittedError, match="holds?|hold"):
        model.update(X, labels)
    model.fit(X, labels)
    with pytest.raises(ParameterError, match="lacks the node 'T11"):
        model.update(X[:1], labels[:1], taxonomy=Taxonomy.from_edges([e for e in EDGES if "T11" not in e[1]]))
    with pytest.raises(DataError, match="kind of the last fit"):
        model.update(X[:1].toarray(), labels[:1])
    save(model, tmp_path / "model")
    with pytest.raises(NotFittedError, match="loaded"):
        load(tmp_path / "model").update(X[:1], labels[:1])


@pytest.mark.parametrize("learn", ["given", "closed", "frontier"])
def test_labels_that_are_learned_alone_are_updated_whatever_is_learned(learn, tmp_path) -> None:
    tax = Taxonomy.from_edges([("Top", "P"), ("Top", "Q"), ("P", "a"), ("P", "b"), ("Q", "c")])
    rng = np.random.default_rng(0)
    y = [[["P", "a"], ["b"], ["Q", "c"]][i] for i in rng.integers(0, 3, 90)]
    X = rng.random((90, 5)) + 2.0 * np.array([[row[-1] == label for label in "abcde"] for row in y])
    settings = {"pull": float("inf"), "learn": learn, "tol": 1e-5, "random_state": 0}
    model = RRSVM(tax, **settings).fit(X[:80], y[:80])
    model.update(X[80:], y[80:])
    whole = RRSVM(tax, **settings).fit(X, y)
    assert model.objective_ == pytest.approx(whole.objective_, rel=1e-4)


def test_labels_that_are_learned_alone_have_a_forecast_and_a_checkpoint_of_their_own(tmp_path) -> None:
    X, y = np.eye(6, 4) + 0.1, ["a", "b", "c", "a", "b", "c"]
    model = RRSVM(pull=float("inf"), max_memory="10GB", checkpoint=tmp_path / "kept", random_state=0).fit(X, y)
    assert model.memory_forecast is not None
    with pytest.raises(CheckpointError, match="pull was inf and is 1"):
        model.set_params(pull=1.0).fit(X, y)


def test_documents_of_weight_zero_do_not_take_part_in_an_update() -> None:
    X = np.eye(6, 4) + 0.1
    labels = ["a", "b", "c", "a", "b", "c"]
    weights = np.array([1.0, 0.0, 1.0, 0.0, 2.0, 1.0])
    scores = []
    for rows, given in ((slice(None), weights), (weights > 0, weights[weights > 0])):
        model = RRLogistic(random_state=0).fit(X, labels)
        model.update(X[rows], np.array(labels)[rows].tolist(), sample_weight=given)
        scores.append(model.decision_function(X))
    np.testing.assert_array_equal(*scores)
    assert np.isfinite(scores[0]).all()


def test_a_loaded_model_that_kept_its_documents_is_updated(tmp_path) -> None:
    tax = Taxonomy.from_edges([("Top", "P"), ("Top", "Q"), ("P", "a"), ("P", "b"), ("Q", "c")])
    grown = Taxonomy.from_edges([("Top", "P"), ("Top", "Q"), ("P", "a"), ("P", "b"), ("Q", "c"), ("Q", "d")])
    rng = np.random.default_rng(0)
    y = rng.choice(["a", "b", "c", "d"], 120)
    X = rng.random((120, 6)) * 0.3
    X[np.arange(120), ["abcd".index(label) for label in y]] += 2
    X = sparse.csr_array(X.astype(np.float32))
    first = np.flatnonzero(y[:60] != "d")
    model = RRSVM(tax, tol=1e-6, random_state=0).fit(X[first], y[first]).keep_documents(X[first], y[first])
    save(model, tmp_path / "kept")
    loaded = load(tmp_path / "kept")
    loaded.update(X[60:], y[60:], taxonomy=grown)
    rows = [*first.tolist(), *range(60, 120)]
    whole = RRSVM(grown, tol=1e-6, random_state=0).fit(X[rows], y[rows])
    np.testing.assert_allclose(loaded.decision_function(X), whole.decision_function(X), atol=0.02)
    assert loaded.duality_gap_ <= 1e-6 * loaded.objective_
    assert loaded.kept_.labels.shape == (len(rows), grown.n_nodes)
    save(loaded, tmp_path / "again")
    bare = RRSVM(tax, random_state=0).fit(X[first], y[first])
    save(bare, tmp_path / "bare")
    with pytest.raises(NotFittedError, match="keep_documents"):
        load(tmp_path / "bare").update(X[60:], y[60:], taxonomy=grown)


@pytest.mark.parametrize(
    ("kind", "settings", "dense"),
    [(RRSVM, {}, False), (RRLogistic, {}, False), (RRSVM, {"loss": "hinge"}, False), (RRSVM, {}, True)],
)
def test_a_loaded_model_removes_merges_and_adds_nodes_to_the_optimum_of_all(
    kind, settings, dense, labels, tmp_path
) -> None:
    edges, names = [e for e in EDGES if e[1][:2] in ("T0", "T2", "T3")], ("T0", "T2", "T3")
    labels = [label for label in labels if label.split(".")[0] in names]
    X, new = documents(labels, 1), ["T3.new"] * 5
    more = documents(new, 2)
    if dense:
        map_ = np.random.default_rng(0).normal(size=(X.shape[1], 30))
        X, more = X @ map_, more @ map_
    model = kind(Taxonomy.from_edges(edges), tol=1e-4, random_state=0, **settings).fit(X, labels)
    save(model.keep_documents(X, labels), tmp_path / "model")
    later = Taxonomy.from_edges([e for e in [*edges, ("T3", "T3.new")] if e[1] not in ("T0.1", "T2.5")])
    loaded = load(tmp_path / "model")
    loaded.update(more, new, taxonomy=later, replaced={"T0.1": "T0.0", "T2.5": None})
    rows = [i for i, label in enumerate(labels) if label != "T2.5"]
    moved = ["T0.0" if labels[i] == "T0.1" else labels[i] for i in rows]
    stack = np.concatenate if dense else sparse.vstack
    whole = kind(later, tol=1e-4, random_state=0, **settings).fit(stack([X[rows], more]), [*moved, *new])
    assert loaded.duality_gap_ <= 1e-4 * loaded.objective_
    assert loaded.objective_ == pytest.approx(whole.objective_, rel=2e-4)
    assert set(loaded.classes_) == set(whole.classes_)
    assert loaded.kept_.labels.shape == (len(rows) + 5, later.n_nodes)
    save(loaded, tmp_path / "again")
    again = load(tmp_path / "again").update(taxonomy=later, replaced={"T3.new": "T3.0"})
    assert "T3.new" not in again.classes_.tolist()
    assert again.duality_gap_ <= 1e-4 * again.objective_


def test_a_model_begins_at_its_weights_and_only_certifies_what_is_solved(labels) -> None:
    X = documents(labels, 1)
    model = RRSVM(Taxonomy.from_edges(EDGES), tol=1e-6, random_state=0).fit(X, labels)
    model.tol = 1e-2
    before = model.decision_function(X)
    model.update(replaced={})
    assert model.n_touched_ == 0
    np.testing.assert_allclose(model.decision_function(X), before, atol=0.1)


def test_replacements_that_do_not_exist_are_refused_and_the_model_stays(labels) -> None:
    X, tax = documents(labels, 1), Taxonomy.from_edges(EDGES)
    model = RRSVM(tax, random_state=0).fit(X, labels)
    with pytest.raises(ParameterError, match=r"'T3\.9', which is not in the new taxonomy"):
        model.update(replaced={"T3.1": "T3.9"})
    with pytest.raises(ParameterError, match="give both or neither"):
        model.update(X[:1])
    with pytest.raises(DataError, match="No document has a label left"):
        model.update(replaced=dict.fromkeys(set(labels)))
    assert model.taxonomy_ is tax
    assert model.predict(X[:3]).tolist() == labels[:3]
