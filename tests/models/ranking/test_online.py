"""Models that go on learning: chunks, new labels, kernels, model files."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import check_random_state

import linnaeus
from linnaeus import HierarchicalPerceptron, Hieron, Taxonomy
from linnaeus.data.corpora import overlapping
from linnaeus.errors import DataError, LinnaeusError, ParameterError
from linnaeus.models.kernels import RBF, Polynomial
from tests.models.ranking.test_perceptron import X4, Y4, perceptron


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


def test_a_stream_without_a_taxonomy_knows_its_labels_from_the_first_call() -> None:
    X, y = np.eye(3), ["a", "b", "c"]
    model = HierarchicalPerceptron().partial_fit(X[:1], y[:1], classes=y)
    for _ in range(3):
        model.partial_fit(X, y)
    assert model.predict(X).tolist() == y
    with pytest.raises(LinnaeusError, match="'d'"):
        model.partial_fit(X[:1], ["d"])
    with pytest.raises(DataError, match="no label at all"):
        HierarchicalPerceptron(Taxonomy.flat("ab")).partial_fit(X[:1], [[]])


def test_one_label_becomes_several_when_documents_have_them() -> None:
    model = HierarchicalPerceptron(Taxonomy.flat("abc")).partial_fit(np.eye(3), ["a", "b", "c"])
    assert isinstance(model.predict(np.eye(3)), np.ndarray)
    for _ in range(4):
        model.partial_fit(np.eye(3), [["a", "b"], ["b", "c"], ["a", "c"]])
    assert {len(row) for row in model.predict(np.eye(3))} == {2}


def test_a_document_of_no_label_or_of_all_labels_is_no_step() -> None:
    model = HierarchicalPerceptron(Taxonomy.flat("ab")).partial_fit(np.eye(2), [["a"], ["b"]])
    steps = model.n_steps_
    model.partial_fit(np.eye(2), [[], ["a", "b"]])
    assert (model.n_steps_, model.n_docs_) == (steps, 4)


def test_weights_that_overflow_are_an_error_and_not_an_answer() -> None:
    X, labels, tax = overlapping(30, seed=3)
    with pytest.raises(DataError, match="overflowed; scale the features, or use smaller sample weights"):
        Hieron(tax, kernel="poly", max_iter=20).fit(X, labels, np.full(30, 1e8))


def test_kernel_values_too_large_to_add_up_are_refused() -> None:
    X, labels, tax = overlapping(30, seed=3)
    with pytest.raises(DataError, match="Kernel values reach .*; scale the features"):
        HierarchicalPerceptron(tax, kernel=Polynomial(degree=8, gamma=1.0)).fit(1e9 * X, labels)


@pytest.mark.parametrize("kind", [Hieron, HierarchicalPerceptron])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_a_stream_may_change_its_precision(kind, kernel, convert) -> None:
    double, single = convert(X4.astype(np.float64)), convert(X4.astype(np.float32))
    mixed, plain = (kind(kernel=kernel, random_state=0).fit(single, Y4) for _ in range(2))
    mixed.partial_fit(double, Y4)
    plain.partial_fit(single, Y4)
    np.testing.assert_allclose(mixed.decision_function(double), plain.decision_function(single), rtol=1e-5, atol=1e-6)


def simulated(model, X, y, weights, rule: str):
    """AttributeWeights of classes, steps, updates and passes of a learner that is written down step by step."""
    L, names, cost = model.attributes_.toarray(), [str(c) for c in model.classes_], model._classes().cost.dense()
    W, total, n_steps, n_updates = np.zeros((X.shape[1], L.shape[1])), 0.0, 0, 0
    rng = check_random_state(0)
    for n_iter in range(1, model.max_iter + 1):  # noqa: B007
        before = n_updates
        for i in rng.permutation(len(X)):
            n_steps += 1
            F, right = L @ (W.T @ X[i]), names.index(y[i])
            root = np.sqrt(cost[right]) if rule == "augmented" else np.zeros(len(names))
            wrong = max((c for c in range(len(names)) if c != right), key=lambda c: (F[c] + root[c], -c))
            margin, D = F[right] - F[wrong], cost[right, wrong]
            difference = L[right] - L[wrong]
            tau = D if rule == "perceptron" else max(0.0, np.sqrt(D) - margin) / (difference @ difference * X[i] @ X[i])
            ranked_wrongly = margin <= 0 if rule != "hieron" else margin < 0 or (margin == 0 and wrong < right)
            if tau > 0 and (rule == "augmented" or ranked_wrongly):
                W += weights[i] * tau * np.outer(X[i], difference)
                n_updates += 1
            total = total + W
        if n_updates == before:
            break
    return (total / n_steps if model.variant == "averaged" else W) @ L.T, n_steps, n_updates, n_iter


@pytest.mark.parametrize("variant", ["averaged", "online"])
@pytest.mark.parametrize("rule", ["perceptron", "hieron", "augmented"])
@pytest.mark.parametrize("seed", range(6))
def test_fits_are_those_of_a_simulation_step_by_step(seed, rule, variant) -> None:
    rng = np.random.default_rng(seed)
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")])
    n_docs = int(rng.integers(5, 20))
    X, y = rng.standard_normal((n_docs, 4)), [*rng.choice(["AA", "AB", "BA", "BB"], n_docs - 2).tolist(), "AA", "BB"]
    weights = rng.choice([0.5, 1.0, 2.0], n_docs) if seed % 2 else np.ones(n_docs)
    settings = {"variant": variant, "random_state": 0}
    if rule == "perceptron":
        model = HierarchicalPerceptron(tax, **settings)
    else:
        model = Hieron(tax, augmented=rule == "augmented", **settings)
    model.fit(X, y, sample_weight=weights)
    W, n_steps, n_updates, n_iter = simulated(model, X, y, weights, rule)
    np.testing.assert_allclose(model.weights_, W, atol=1e-12)
    if rule != "augmented":  # there a margin that is exact up to rounding may count as an update, of size about 1e-16
        assert (model.n_steps_, model.n_updates_, model.n_iter_) == (n_steps, n_updates, n_iter)


def simulated_sets(model, K, learned, norms, sets, weights, rule: str):
    """As `simulated`, for label sets, and for documents that are scored by rows of K and learned as other rows."""
    L, names, cost = model.attributes_.toarray(), [str(c) for c in model.classes_], model._classes().cost.dense()
    W, total, n_steps = np.zeros((K.shape[1], L.shape[1])), 0.0, 0
    rng = check_random_state(0)
    for _ in range(model.max_iter):
        before = W.copy()
        for i in rng.permutation(len(K)):
            n_steps += 1
            F, right = L @ (W.T @ K[i]), [names.index(name) for name in sets[i]]
            pairs = [(y, z) for y in sorted(right) for z in range(len(names)) if z not in right]
            if rule == "augmented":
                y, z = max(pairs, key=lambda p: F[p[1]] - F[p[0]] + np.sqrt(cost[p]))
            else:
                y, z = min(pairs, key=lambda p: (F[p[0]] - F[p[1]], p))
            margin, difference = F[y] - F[z], L[y] - L[z]
            if rule == "perceptron":
                tau = cost[y, z] if margin <= 0 else 0.0
            else:
                tau = max(0.0, np.sqrt(cost[y, z]) - margin) / (difference @ difference * norms[i])
                if rule == "hieron" and (margin > 0 or (margin == 0 and y < z)):
                    tau = 0.0
            W += weights[i] * tau * np.outer(learned[i], difference)
            total = total + W
        if np.abs(W - before).max() <= 1e-12:
            break
    return (total / n_steps if model.variant == "averaged" else W) @ L.T


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("variant", ["averaged", "online"])
@pytest.mark.parametrize("rule", ["perceptron", "hieron", "augmented"])
@pytest.mark.parametrize("seed", range(4))
def test_fits_of_label_sets_and_kernels_are_those_of_a_simulation(seed, rule, variant, kernel) -> None:
    rng = np.random.default_rng(seed)
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")])
    names, n_docs = ["AA", "AB", "BA", "BB"], int(rng.integers(5, 12))
    sets = [rng.choice(names, size=1 + int(rng.integers(2)), replace=False).tolist() for _ in range(n_docs)]
    X, sets = rng.standard_normal((n_docs + 2, 4)), [*sets, ["AA", "BA"], ["AB", "BB"]]
    weights = rng.choice([0.5, 1.0, 2.0], len(X)) if seed % 2 else np.ones(len(X))
    settings = {"variant": variant, "set_size": "mean", "random_state": 0, "max_iter": 5}
    settings["kernel"] = kernel if kernel == "linear" else RBF(gamma=0.3)
    if rule == "perceptron":
        model = HierarchicalPerceptron(tax, **settings)
    else:
        model = Hieron(tax, augmented=rule == "augmented", **settings)
    model.fit(X, sets, sample_weight=weights)
    if kernel == "linear":
        W = simulated_sets(model, X, X, (X * X).sum(axis=1), sets, weights, rule)
        np.testing.assert_allclose(model.decision_function(X), X @ W, atol=1e-11)
    else:
        K = np.exp(-0.3 * np.square(X[:, None] - X).sum(axis=2))
        W = simulated_sets(model, K, np.eye(len(X)), np.ones(len(X)), sets, weights, rule)
        np.testing.assert_allclose(model.decision_function(X), K @ W, atol=1e-11)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("seed", range(6))
def test_minover_takes_the_steps_of_a_simulation(seed, kernel) -> None:
    rng = np.random.default_rng(seed)
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA"), ("A", "AB"), ("B", "BA"), ("B", "BB")])
    names, n_docs = ["AA", "AB", "BA", "BB"], int(rng.integers(4, 9))
    sets = [rng.choice(names, size=1 + int(rng.integers(2)), replace=False).tolist() for _ in range(n_docs)]
    X, sets = rng.standard_normal((n_docs + 2, 5)), [*sets, ["AA", "BA"], ["AB", "BB"]]
    kind = kernel if kernel == "linear" else RBF(gamma=0.3)
    model = HierarchicalPerceptron(tax, variant="minover", kernel=kind, set_size="mean", max_iter=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, sets)
    K = X @ X.T if kernel == "linear" else np.exp(-0.3 * np.square(X[:, None] - X).sum(axis=2))
    L, classes, cost = model.attributes_.toarray(), [str(c) for c in model.classes_], model._classes().cost.dense()
    B, best, reached, n_steps = np.zeros((len(X), len(L))), None, -np.inf, 0
    triples = [
        (i, y, z)
        for i, names_of in enumerate(sets)
        for y in range(len(L))
        if classes[y] in names_of
        for z in range(len(L))
        if classes[z] not in names_of
    ]
    while True:
        F = K @ B @ (L @ L.T)
        margins = [F[i, y] - F[i, z] for i, y, z in triples]
        length = np.sqrt(max(np.vdot(B, K @ B @ (L @ L.T)), 0.0))
        if n_steps and length > 1e-6 and min(margins) / length > reached:
            best, reached = F.copy(), min(margins) / length
        if min(margins) > 0 or n_steps == 10 * len(X):
            break
        i, y, z = triples[int(np.argmin(margins))]
        B[i, y] += cost[y, z]
        B[i, z] -= cost[y, z]
        n_steps += 1
    assert model.n_steps_ == n_steps
    assert model.converged_ == (min(margins) > 0)
    np.testing.assert_allclose(model.decision_function(X), F if model.converged_ else best, atol=1e-9)
