"""Perceptrons that rank classes: exact traces, duals, means, streams, MinOver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import HierarchicalPerceptron, Taxonomy
from linnaeus.data.corpora import overlapping
from linnaeus.errors import ParameterError
from linnaeus.models.kernels import Linear
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


# -- edges -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"variant": "avaraged"}, "did you mean 'averaged'"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"shuffle": "yes"}, "shuffle='yes'"),
        ({"kernel": "rbf", "fit_intercept": True}, "needs kernel='linear'"),
        ({"attributes": "deep"}, "attributes='deep'"),
        ({"cost": "hinge"}, "cost='hinge'"),
        ({"random_state": "x"}, "x"),
    ],
)
def test_wrong_parameters_are_named(settings, message) -> None:
    with pytest.raises(ParameterError, match=message):
        HierarchicalPerceptron(four()[0], **settings).fit(X4, Y4)
