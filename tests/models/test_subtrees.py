"""Weights that subtrees share: few are kept, none moves by the threshold, and all that a model says counts them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import linnaeus
from linnaeus import RRSVM, OneVsRestSVM, Taxonomy
from linnaeus.models import pruning as module
from linnaeus.models.linear import Scorer
from linnaeus.models.pruning import (
    LinearWeights,
    Subtrees,
    best_precision,
    branching,
    half_of_each,
    split_along,
    split_weights,
)
from linnaeus.order import best_columns
from tests.strategies import taxonomies


def path(parent, n_vertices: int, column: int) -> list[int]:
    found, v = [], parent[n_vertices + column]
    while v >= 0:
        found.append(int(v))
        v = parent[v]
    return found


def whole(U, base, subtrees) -> np.ndarray:
    """The weights by their definition, label by label."""
    T, W = subtrees.weights.toarray(), U.toarray()
    for c in range(W.shape[1]):
        W[:, c] += T[:, path(subtrees.parent, T.shape[1], c)].sum(axis=1)
    return W if base is None else W + base[:, None]


@settings(max_examples=60)
@given(taxonomy=taxonomies(), seed=st.integers(0, 10_000), data=st.data())
def test_vertices_are_where_labels_branch(taxonomy, seed, data) -> None:
    nodes = np.flatnonzero(np.random.default_rng(seed).random(taxonomy.n_nodes) < 0.6)
    nodes = nodes if len(nodes) else np.array([0])
    parent = branching(taxonomy, nodes)
    if parent is None:
        return
    n_vertices = len(parent) - len(nodes)
    assert parent[0] == -1
    assert (parent[1:n_vertices] < np.arange(1, n_vertices)).all()
    assert (np.bincount(parent[1:], minlength=n_vertices)[1:] > 1).all()
    a, b = (data.draw(st.integers(0, len(nodes) - 1)) for _ in range(2))
    lines = [{int(nodes[c]), *_line(taxonomy, int(nodes[c]))} for c in (a, b)]
    if a != b and lines[0] & lines[1]:  # the nodes that two labels have in common end in a vertex they have in common
        assert set(path(parent, n_vertices, a)) & set(path(parent, n_vertices, b)) - {0}


def _line(taxonomy, v: int) -> list[int]:
    above = int(taxonomy.parent[v])
    return [] if above < 0 else [above, *_line(taxonomy, above)]


def test_labels_that_do_not_branch_have_no_subtrees() -> None:
    flat, graph = Taxonomy.flat(["a", "b", "c"]), Taxonomy.from_edges([("a", "b"), ("b", "c")], kind="graph")
    for taxonomy in (flat, graph):
        assert branching(taxonomy, np.arange(3)) is None


def families(seed: int, n_families: int = 5, size: int = 8, n_features: int = 6):
    """Weights of relatives are alike, but for some; and the tree they hang in."""
    rng = np.random.default_rng(seed)
    W = np.repeat(rng.normal(size=(n_features, n_families)), size, axis=1) + 0.02 * rng.normal(
        size=(n_features, n_families * size)
    )
    odd = rng.random(W.shape) < 0.1
    W[odd] += rng.normal(size=odd.sum())
    parent = np.array([-1, *[0] * n_families, *np.repeat(np.arange(1, n_families + 1), size)], np.int32)
    return W, parent


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), threshold=st.floats(0, 1), dtype=st.sampled_from([np.float32, np.float64]))
def test_no_weight_moves_by_the_threshold_and_no_more_are_kept_than_beside_one_base(seed, threshold, dtype) -> None:
    W, parent = families(seed)
    W = W.astype(dtype)
    found = split_along(W, threshold, parent, 16)
    if found is None:
        return
    U, base, subtrees = found
    rounding = 8 * np.finfo(dtype).eps
    assert (np.abs(whole(U, base, subtrees) - W) < threshold + rounding).all()
    assert LinearWeights(U, base, subtrees).size <= split_weights(W, threshold)[0].nnz


def test_weights_of_a_family_are_kept_once() -> None:
    W = np.zeros((2, 40))
    W[0, 8:16], W[1, :8], W[1, 3] = -0.5, 1.0, 3.0
    U, base, subtrees = split_along(W, 0.1, families(0)[1], 16)
    assert base is None
    assert subtrees.weights.toarray().tolist() == [[0, 0, -0.5, 0, 0, 0], [0, 1, 0, 0, 0, 0]]
    assert U.nnz == 1
    assert U[1, 3] == 2.0


def test_subtrees_that_save_little_are_not_used() -> None:
    W = np.random.default_rng(0).normal(size=(6, 40))
    assert split_along(W, 0.5, families(0)[1], 16) is None
    assert LinearWeights(W, None, None).pruned(0.5, families(0)[1], half=False).subtrees is None


def test_many_features_are_split_block_by_block(monkeypatch) -> None:
    W, parent = families(3, n_features=11)
    at_once = split_along(W, 0.1, parent, 16)
    monkeypatch.setattr(module, "rows_that_fit", lambda _: 4)
    in_blocks = split_along(W, 0.1, parent, 16)
    np.testing.assert_array_equal(whole(*at_once), whole(*in_blocks))


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), n_vertices=st.integers(1, 30), n_labels=st.integers(1, 40))
def test_scores_follow_paths_of_any_depth(seed, n_vertices, n_labels) -> None:
    rng = np.random.default_rng(seed)
    parent = [
        -1,
        *(rng.integers(max(0, v - 4), v) for v in range(1, n_vertices)),
        *rng.integers(0, n_vertices, n_labels),
    ]
    T, U, X = (
        sparse.csr_array((rng.integers(-3, 4, shape) * (rng.random(shape) < 0.4)).astype(np.float32))
        for shape in ((7, n_vertices), (7, n_labels), (5, 7))
    )
    subtrees, intercept = Subtrees(T, np.array(parent, np.int32)), rng.integers(-2, 3, n_labels).astype(np.float32)
    base = rng.integers(-2, 3, 7).astype(np.float32)
    expected = X @ whole(U, base, subtrees) + intercept
    scorer = Scorer(U, base, intercept, subtrees)
    np.testing.assert_array_equal(scorer.scores(X), expected)
    np.testing.assert_array_equal(scorer.top(X, 3)[0], best_columns(expected, 3))
    np.testing.assert_array_equal(subtrees.scores(X.toarray()), X @ whole(U * 0, None, subtrees))
    np.testing.assert_array_equal(subtrees.whole(), whole(U * 0, None, subtrees))
    for c in range(n_labels):
        np.testing.assert_array_equal(subtrees.of_label(c, np.arange(7)), subtrees.whole()[:, c])


@pytest.fixture(autouse=True, scope="module")
def contented():
    """Small models share less than large ones: here, subtrees need not halve the weights to be used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_WORTH", 0.8)
        yield


@pytest.fixture(scope="module")
def trained():
    """Five families of 16 labels: a word of the label, and six of the family."""
    rng = np.random.default_rng(0)
    edges = [("R", f"f{i}") for i in range(5)] + [(f"f{i}", f"f{i}-{j}") for i in range(5) for j in range(16)]
    y = rng.integers(0, 80, 900)
    X = np.zeros((900, 80 + 5 * 6))
    X[np.arange(900), y] = rng.random(900) < 0.7
    for j in range(6):
        X[np.arange(900), 80 + 6 * (y // 16) + j] = rng.random(900) < 0.5
    X = sparse.csr_array((X / np.maximum(1e-9, np.linalg.norm(X, axis=1, keepdims=True))).astype(np.float32))
    labels = [f"f{v // 16}-{v % 16}" for v in y]
    model = RRSVM(Taxonomy.from_edges(edges), random_state=0).fit(X[:600], labels[:600])
    return model, X, labels


@pytest.fixture(scope="module")
def pruned(trained):
    model = copy.deepcopy(trained[0]).prune(0.15)
    assert model.subtrees_ is not None
    return model


def test_the_model_is_smaller_than_beside_one_base_and_as_near(trained, pruned) -> None:
    W = trained[0].weights_
    assert LinearWeights.of(pruned).size < 0.8 * split_weights(W, 0.15)[0].nnz
    assert (np.abs(pruned.coef_.T - W) < 0.15 + 1e-5).all()


def test_scores_are_those_of_the_weights_kept(trained, pruned) -> None:
    _, X, _ = trained
    W = whole(pruned.weights_, pruned.base_weights_, pruned.subtrees_)
    np.testing.assert_allclose(pruned.coef_.T, W, atol=1e-6)
    S = pruned.decision_function(X)
    np.testing.assert_allclose(S, X.toarray().astype(float) @ W + pruned.intercept_, atol=1e-5)
    np.testing.assert_allclose(pruned.decision_function(X.toarray()), S, atol=1e-5)


@pytest.mark.parametrize("k", [1, 5, 80])
def test_the_best_are_those_of_all_scores_bit_for_bit(trained, pruned, k) -> None:
    _, X, _ = trained
    S = pruned.decision_function(X)
    columns = best_columns(S, k)
    names, scores = pruned.top(X, k)
    assert (names == pruned.classes_[columns]).all()
    np.testing.assert_array_equal(scores, np.take_along_axis(S, columns, axis=1))


def test_explanations_add_up_to_the_score(trained, pruned) -> None:
    _, X, _ = trained
    S = pruned.decision_function(X)
    for i in range(5):
        for x in (X[[i]], X[[i]].toarray()):
            step = pruned.explain(x)[-1]
            column = list(pruned.classes_).index(step.node)
            assert step.score == pytest.approx(S[i, column], abs=1e-5)
            assert step.score == pytest.approx(step.intercept + step.contributions.sum(), abs=1e-9)


def test_a_stored_model_is_the_same(trained, pruned, tmp_path) -> None:
    _, X, _ = trained
    linnaeus.save(pruned, tmp_path / "model")
    for again in (linnaeus.load(tmp_path / "model"), pickle.loads(pickle.dumps(pruned)), copy.deepcopy(pruned)):
        np.testing.assert_array_equal(again.decision_function(X), pruned.decision_function(X))
        assert LinearWeights.of(again).size == LinearWeights.of(pruned).size


def test_pruning_goes_on_with_the_weights_of_single_labels(trained, pruned) -> None:
    _, X, y = trained
    for further in (copy.deepcopy(pruned).prune(0.3), copy.deepcopy(pruned).prune(X=X[600:], y=y[600:], loss=0.02)):
        assert further.weights_.nnz < pruned.weights_.nnz
        assert further.subtrees_ is not None


def test_the_threshold_found_costs_no_more_than_allowed(trained) -> None:
    model, X, y = trained
    Y, halves = model.taxonomy_.indicator(y[:600]), half_of_each(X[:600])
    before = best_precision(model, halves, Y)
    found = copy.deepcopy(model).prune(X=X[:600], y=y[:600], loss=0.02, seen=True)
    assert found.subtrees_ is not None
    assert best_precision(found, halves, Y) >= before - 0.02
    error = np.abs(found.coef_.T - model.weights_).max()
    assert error < found.prune_threshold_ + 0.01  # and what half precision takes
    sizes = [W.data for W in (found.weights_, found.subtrees_.weights)]
    assert all((data == data.astype(np.float16)).all() for data in sizes)


def test_fitting_again_forgets_what_subtrees_share(trained, pruned) -> None:
    _, X, y = trained
    again = copy.deepcopy(pruned).fit(X[:600], y[:600])
    assert again.subtrees_ is None
    np.testing.assert_array_equal(again.decision_function(X), trained[0].decision_function(X))


def test_an_update_makes_the_weights_whole_again(trained) -> None:
    _, X, y = trained
    whole, pruned = (RRSVM(trained[0].taxonomy_, tol=1e-4, random_state=0).fit(X[:600], y[:600]) for _ in range(2))
    pruned.prune(0.15)
    for model in (whole, pruned):
        model.update(X[600:610], y[600:610])
    assert pruned.base_weights_ is None
    assert pruned.subtrees_ is None
    np.testing.assert_allclose(pruned.decision_function(X), whole.decision_function(X), atol=0.05)


def test_flat_models_may_share_too() -> None:
    tax = Taxonomy.from_edges(
        [("R", f"f{i}") for i in range(4)] + [(f"f{i}", f"{i}{j}") for i in range(4) for j in "abcd"]
    )
    model = OneVsRestSVM(tax, fit_intercept=False, random_state=0)
    X = np.vstack([np.eye(16), np.eye(16)]).astype(np.float32)
    names = [f"{i}{j}" for i in range(4) for j in "abcd"]
    model.fit(X, names * 2)
    W = np.repeat(np.random.default_rng(0).normal(size=(16, 4)), 4, axis=1).astype(np.float32)
    model.weights_ = W
    model.prune(0.01)
    assert model.weights_.nnz == 0
    np.testing.assert_allclose(model.coef_.T, W, atol=0.01)
