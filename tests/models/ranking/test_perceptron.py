"""Perceptrons that rank classes: exact traces, duals, means, streams, MinOver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

import linnaeus
from linnaeus import HierarchicalPerceptron, Taxonomy
from linnaeus.data.synthetic import overlapping
from linnaeus.errors import DataError, LinnaeusError, ParameterError
from linnaeus.models.kernels import RBF, Linear
from tests.losses.test_pair_cost import four
from tests.strategies import taxonomies

X4 = np.array([[5.0, 0.0], [0.0, 5.0], [3.0, 4.0], [4.0, -3.0]])
Y4 = [["c1"], ["c3"], ["c2"], ["c1", "c4"]]
FLAT = {"attributes": "flat", "cost": "zero_one"}
ONE = {"attributes": "one"}


def perceptron(variant: str, **settings) -> HierarchicalPerceptron:
    return HierarchicalPerceptron(four()[0], variant=variant, shuffle=False, set_size="mean", **settings)


def weights_by_name(model: HierarchicalPerceptron, weights: np.ndarray) -> dict[str, list[float]]:
    names = model.taxonomy_.names[model.attribute_keys_ // 2]
    return {name: row.tolist() for name, row in zip(names, weights.T, strict=True)}


# -- traces ------------------------------------------------------------------------------------------------------------


def test_the_hierarchical_trace_is_exact() -> None:
    model = perceptron("averaged", **ONE).fit(X4, Y4)
    assert (model.n_steps_, model.n_updates_, model.n_iter_, model.converged_) == (8, 3, 2, True)
    assert weights_by_name(model, model.attribute_weights_) == {
        "A": [4.5, -4], "B": [-7.5, 10], "c1": [7.5, -10], "c2": [-3, 6], "c3": [-4.5, 4], "c4": [0, 0],
    }  # fmt: skip
    assert weights_by_name(model, model._weights().answer) == {
        "A": [3.375, -4.25], "B": [-7.5, 8.75], "c1": [7.5, -8.75], "c2": [-4.125, 4.5], "c3": [-3.375, 4.25],
        "c4": [0, 0],
    }  # fmt: skip


def test_the_flat_trace_is_exact() -> None:
    model = perceptron("averaged", **FLAT).fit(X4, Y4)
    assert (model.n_steps_, model.n_updates_) == (24, 11)
    assert model.attribute_weights_.T.tolist() == [[5, -5], [3, -1], [-12, 9], [4, -3]]
    assert (24 * model.weights_.T).round(9).tolist() == [[120, -115], [20, 35], [-192, 119], [52, -39]]
    online = perceptron("online", **FLAT).fit(X4, Y4)
    assert online.weights_.T.tolist() == [[5, -5], [3, -1], [-12, 9], [4, -3]]


def test_the_traces_of_minover_are_exact() -> None:
    model = perceptron("minover", **ONE).fit(X4, Y4)
    assert (model.n_updates_, model.converged_) == (12, True)
    assert weights_by_name(model, model.attribute_weights_) == {
        "A": [10, -7.5], "B": [-11, 12], "c1": [3, -6], "c2": [7, -1.5], "c3": [-18, 13.5], "c4": [8, -6],
    }  # fmt: skip
    assert model.active_ratio_ == 5 / 13  # five pairs of (3 + 3 + 3 + 4)
    flat = perceptron("minover", **FLAT).fit(X4, Y4)
    assert flat.n_updates_ == 13
    assert flat.active_ratio_ == 6 / 13


def test_minover_takes_the_worst_pair_of_all_documents() -> None:
    from linnaeus.losses.pair_cost import pair_cost
    from linnaeus.models.ranking.attributes import class_attributes
    from linnaeus.models.ranking.minover import minover
    from linnaeus.models.ranking.passes import Classes

    tax, classes = four()
    known = Classes(class_attributes(tax, classes, "one"), pair_cost(tax, classes))
    labels = sparse.csr_array(tax.indicator(Y4)[:, classes])
    labels.sort_indices()
    K = X4 @ X4.T
    steps = minover(lambda i: K[i].copy(), np.diag(K), labels, known, max_steps=100)
    expected = [(1, 1, 2), (3, 2, 1), (2, 3, 2), (3, 2, 3), (2, 3, 2), (3, 2, 3), (4, 4, 2), (2, 3, 2), (3, 2, 3)]
    expected += [(2, 3, 2), (3, 2, 3), (2, 3, 2)]
    found = zip(steps.document + 1, steps.right + 1, steps.wrong + 1, strict=True)
    assert [tuple(map(int, triple)) for triple in found] == expected


# -- equal in other ways -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["online", "averaged", "minover"])
@pytest.mark.parametrize("settings", [ONE, FLAT, {"cost": "normalised"}])
def test_the_dual_has_the_scores_of_the_primal(variant, settings) -> None:
    primal = perceptron(variant, **settings).fit(X4, Y4)
    for kernel in (Linear(), "precomputed"):
        dual = perceptron(variant, kernel=kernel, **settings)
        given, asked = (X4, X4) if kernel != "precomputed" else (X4 @ X4.T, X4 @ X4.T)
        np.testing.assert_allclose(
            dual.fit(given, Y4).decision_function(asked), primal.decision_function(X4), atol=1e-9
        )
        assert dual.n_updates_ == primal.n_updates_
        assert dual.n_support_ <= 4


def test_documents_of_weight_zero_are_left_out_of_gram_matrices_too() -> None:
    kept = np.array([0, 2, 3, 5, 6, 7])
    X, labels, tax = overlapping(8, seed=5)
    weight = np.isin(np.arange(8), kept).astype(float)
    settings = {"kernel": "precomputed", "shuffle": False, "set_size": "mean"}
    some = HierarchicalPerceptron(tax, **settings).fit(X @ X.T, labels, sample_weight=weight)
    alone = HierarchicalPerceptron(tax, **settings).fit(X[kept] @ X[kept].T, [labels[i] for i in kept])
    np.testing.assert_allclose(some.decision_function(X @ X.T), alone.decision_function(X @ X[kept].T), atol=1e-9)


@settings(max_examples=40)
@given(taxonomies(max_nodes=7, rooted=True), st.integers(0, 10**6))
def test_the_mean_is_that_of_all_weights(tax: Taxonomy, seed: int) -> None:
    rng = np.random.default_rng(seed)
    names = [name for i, name in enumerate(tax.names) if i != tax.root]
    if len(names) < 2:
        return
    X = rng.integers(-3, 4, size=(6, 3)).astype(float)
    y = [names[0], names[1], *rng.choice(names, 4)]
    settings = {"shuffle": False, "taxonomy": tax, "attributes": "one"}
    model = HierarchicalPerceptron(variant="averaged", max_iter=2, **settings).fit(X, y)
    online = HierarchicalPerceptron(variant="online", **settings)
    total, n = np.zeros((3, len(model.classes_))), 0
    X2, y2 = (np.concatenate([X, X]), y + y) if model.n_iter_ == 2 else (X, y)
    for x, label in zip(X2, y2, strict=True):
        if x.any():
            online.partial_fit(x[None], [label], classes=sorted(set(y)))
            total, n = total + online.weights_, n + 1
    np.testing.assert_allclose(model.weights_, total / max(n, 1), atol=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.sampled_from(["online", "minover"]))
def test_separable_documents_need_no_more_updates_than_the_bound_allows(seed: int, variant: str) -> None:
    tax, _ = four()
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 3))
    best = rng.normal(size=(3, 4))
    y = [f"c{1 + k}" for k in (X @ best).argmax(axis=1)]
    if len(set(y)) < 2:
        return
    settings = {"variant": variant, "shuffle": False, "max_iter": 3000, "attributes": "perclass"}
    model = HierarchicalPerceptron(tax, **settings).fit(X, y)
    assert model.converged_
    # Any separating weights have a margin; the model's own is one of them.
    L = model.attributes_
    W, S = model.attribute_weights_, model.decision_function(X)
    own = np.array([list(model.classes_).index(label) for label in y])
    rivals = np.where(np.eye(S.shape[1], dtype=bool)[own], -np.inf, S)
    gamma = (S[np.arange(12), own] - rivals.max(axis=1)).min() / np.linalg.norm(W)
    apart = max(np.linalg.norm((L[[a]] - L[[b]]).toarray()) for a in range(L.shape[0]) for b in range(a))
    cost = [1.5, 2.0]  # of the pairs of four classes
    bound = (cost[1] * np.linalg.norm(X, axis=1).max() * apart / (cost[0] * gamma)) ** 2
    assert model.n_updates_ <= bound


def test_a_star_is_flat_up_to_the_cost() -> None:
    tax = Taxonomy.from_edges([("R", c) for c in "abcd"])
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 4)), rng.choice(list("abcd"), 50)
    first = HierarchicalPerceptron(tax, random_state=0).fit(X, y)
    second = HierarchicalPerceptron(tax, random_state=0, attributes="flat", cost="zero_one").fit(X, y)
    np.testing.assert_array_equal(first.decision_function(X), second.decision_function(X))


# -- streams -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["online", "averaged"])
@pytest.mark.parametrize("dense", [False, True])
def test_chunks_of_a_stream_give_the_model_of_one_pass_bit_for_bit(variant, dense) -> None:
    X, labels, tax = overlapping(120, seed=0)
    X = X if dense else sparse.csr_array(X.astype(np.float32))
    whole = HierarchicalPerceptron(tax, variant=variant, max_iter=1, shuffle=False).fit(X, labels)
    chunks = HierarchicalPerceptron(tax, variant=variant)
    for a, b in ((0, 1), (1, 50), (50, 120)):
        chunks.partial_fit(X[a:b], labels[a:b], classes=list(whole.classes_))
    np.testing.assert_array_equal(chunks.attribute_weights_, whole.attribute_weights_)
    np.testing.assert_array_equal(chunks.decision_function(X), whole.decision_function(X))
    assert (chunks.n_steps_, chunks.n_updates_) == (whole.n_steps_, whole.n_updates_)


def test_a_kernel_model_goes_on_learning() -> None:
    X, labels, tax = overlapping(80, seed=1)
    settings = {"kernel": RBF(gamma=0.02), "variant": "averaged", "shuffle": False}
    whole = HierarchicalPerceptron(tax, max_iter=1, set_size="mean", **settings).fit(X, labels)
    chunks = HierarchicalPerceptron(tax, **settings)
    for a, b in ((0, 30), (30, 80)):
        chunks.partial_fit(X[a:b], labels[a:b], classes=list(whole.classes_))
    np.testing.assert_allclose(chunks.decision_function(X), whole.decision_function(X), atol=1e-9)
    assert chunks.n_support_ <= 80


def test_labels_that_are_met_later_join() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA")])
    model = HierarchicalPerceptron(tax).partial_fit(np.array([[1.0, 0, 0]]), ["AA"])
    assert list(model.classes_) == ["AA"]
    model.partial_fit(np.array([[0, 1.0, 0]]), ["BA"])
    before = model.decision_function(np.array([[1.0, 0, 0]]))
    model.partial_fit(np.zeros((1, 3)), ["A"])  # nothing is learned from a document of nothing
    assert list(model.classes_) == ["A", "AA", "BA"]
    after = model.decision_function(np.array([[1.0, 0, 0]]))[0]
    np.testing.assert_allclose(after[1:], [before[0] if before.ndim == 1 else before[0, 0], before[0, 1]], atol=0.3)
    for _ in range(5):
        model.partial_fit(np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]), ["AA", "BA", "A"])
    assert model.predict(np.eye(3)).tolist() == ["AA", "BA", "A"]


def test_a_stored_model_goes_on_where_it_was(tmp_path) -> None:
    X, labels, tax = overlapping(100, seed=2)
    model = HierarchicalPerceptron(tax, random_state=0).fit(X[:60], labels[:60])
    linnaeus.save(model, tmp_path / "model")
    again = linnaeus.load(tmp_path / "model")
    for one in (model, again):
        one.partial_fit(X[60:], labels[60:])
    np.testing.assert_array_equal(model.decision_function(X), again.decision_function(X))
    assert again.n_docs_ == 100


def test_what_cannot_go_on_says_so() -> None:
    with pytest.raises(ParameterError, match="'minover' needs all documents"):
        perceptron("minover").partial_fit(X4, Y4)
    with pytest.raises(ParameterError, match="precomputed"):
        perceptron("online", kernel="precomputed").partial_fit(X4 @ X4.T, Y4)
    model = perceptron("online").fit(X4, Y4).prune(0.1)
    assert model.predict(X4)
    with pytest.raises(DataError, match="was pruned"):
        model.partial_fit(X4, Y4)
    with pytest.raises(LinnaeusError, match="'c9'.*is not in the taxonomy"):
        perceptron("online").fit(X4, Y4).partial_fit(X4[:1], [["c9"]])


# -- edges -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda X: X @ X.T])
def test_documents_that_contradict_an_earlier_one_are_left_out_of_minover(form) -> None:
    X = np.array([[1.0, 0], [1.0, 0], [0, 1.0]])
    kernel = "precomputed" if form(X).shape == (3, 3) else "linear"
    with pytest.warns(UserWarning, match="1 documents are the same as an earlier one"):
        model = HierarchicalPerceptron(variant="minover", max_iter=5, kernel=kernel).fit(form(X), ["a", "b", "c"])
    assert model.converged_
    assert model.predict(form(X)).tolist() == ["a", "a", "c"]


def test_minover_gives_back_its_best_step_where_documents_cannot_be_separated() -> None:
    X = np.array([[1.0, 0.1], [1.0, 0.2], [1.0, 0.15], [0.0, 1.0]])
    with pytest.warns(ConvergenceWarning, match="cannot be separated"):
        model = HierarchicalPerceptron(variant="minover", max_iter=30).fit(X, ["a", "a", "b", "c"])
    assert not model.converged_
    assert model.margin_ < 0
    assert model.predict([[0.0, 1.0]]).tolist() == ["c"]


def test_minover_reaches_the_desired_margin() -> None:
    model = perceptron("minover", margin=50.0, **ONE).fit(X4, Y4)
    S = model.decision_function(X4)
    columns = {name: i for i, name in enumerate(model.classes_)}
    for scores, labels in zip(S, Y4, strict=True):
        own = [columns[label] for label in labels]
        assert scores[own].min() - np.delete(scores, own).max() > 50.0
    assert model.margin_ > 0
    with pytest.raises(ParameterError, match="margin=1.0 is for variant='minover'"):
        perceptron("online", margin=1.0).fit(X4, Y4)


def test_label_sets_have_the_size_that_documents_have() -> None:
    X, labels, tax = overlapping(200, seed=3)
    mean = HierarchicalPerceptron(tax, set_size="mean", random_state=0).fit(X, labels)
    expected = max(1, round(np.mean([len(row) for row in labels])))
    assert {len(row) for row in mean.predict(X)} == {expected}
    learned = HierarchicalPerceptron(tax, random_state=0).fit(X, labels)
    assert len({len(row) for row in learned.predict(X)}) > 1


def test_explanations_add_up_and_kernels_have_none() -> None:
    model = perceptron("averaged").fit(X4, Y4)
    step = model.explain(X4[0], node="c1")[-1]
    assert step.score == pytest.approx(model.decision_function(X4[:1])[0, list(model.classes_).index("c1")])
    with pytest.raises(DataError, match="no explanations"):
        perceptron("averaged", kernel="rbf").fit(X4, Y4).explain(X4[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "avaraged"}, "did you mean 'averaged'"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"shuffle": "yes"}, "shuffle='yes'"),
        ({"kernel": "rbf", "fit_intercept": True}, "kernel='linear' only"),
        ({"attributes": "deep"}, "attributes='deep'"),
        ({"cost": "hinge"}, "cost='hinge'"),
        ({"random_state": "x"}, "x"),
    ],
)
def test_wrong_parameters_are_named(settings, message) -> None:
    with pytest.raises(ParameterError, match=message):
        HierarchicalPerceptron(four()[0], **settings).fit(X4, Y4)
