"""Hieron: exact traces, and each step against a generic solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from linnaeus import Hieron
from linnaeus.errors import ParameterError
from linnaeus.losses.cost import pair_cost
from linnaeus.models.ranking.attributes import class_attributes
from linnaeus.models.ranking.updates import AUGMENTED, HIERON, AttributeWeights, RankedClasses, RankedDocuments, visit
from tests.losses.test_pair_cost import four

X = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6]])
ONLINE = [(1, 0), (1, 0.353553), (3, 0.59681), (1, 0.54967), (4, 0.728622), (2, 0.759928), (3, 0.462218), (1, 0.734883)]
LOSS_AUGMENTED = [
    (3, 0.353553), (1, 0.353553), (4, 0.353553), (1, 0.738231), (4, 0.62171), (2, 0.508754), (3, 0.502348),
    (1, 0.599119),
]  # fmt: skip


def documents(rows: np.ndarray, own: list[int]) -> RankedDocuments:
    from scipy import sparse

    labels = sparse.csr_array(np.eye(4, dtype=np.int8)[own])
    return RankedDocuments(rows, labels, (rows**2).sum(axis=1), np.ones(len(rows)))


@pytest.mark.parametrize(("rule", "trace"), [(HIERON, ONLINE), (AUGMENTED, LOSS_AUGMENTED)])
def test_the_traces_are_exact(rule, trace) -> None:
    tax, nodes = four()
    classes = RankedClasses(class_attributes(tax, nodes, "one"), pair_cost(tax, nodes))
    weights = AttributeWeights.zeros(2, classes.n_attributes, np.float64, averaged=False)
    found = [visit(documents(X, [0, 2, 1, 3]), np.arange(4), classes, weights, rule) for _ in range(2)]
    right = [1, 3, 2, 4] * 2
    wrong = np.concatenate([v.wrong for v in found])
    assert [int(z) + 1 if z >= 0 else y for z, y in zip(wrong, right, strict=True)] == [z for z, _ in trace]
    np.testing.assert_allclose(np.concatenate([v.size for v in found]), [size for _, size in trace], atol=1e-6)


def test_a_step_is_the_smallest_change_that_reaches_the_margin() -> None:
    tax, nodes = four()
    classes = RankedClasses(class_attributes(tax, nodes, "perclass"), pair_cost(tax, nodes))
    rng = np.random.default_rng(0)
    L = classes.attributes.toarray()
    for _ in range(5):
        weights = AttributeWeights.zeros(2, classes.n_attributes, np.float64, averaged=False)
        weights.W[:] = rng.normal(size=weights.W.shape)
        before, x, y = weights.W.copy(), rng.normal(size=(1, 2)), int(rng.integers(4))
        found = visit(documents(x, [y]), np.arange(1), classes, weights, HIERON)
        if found.right[0] < 0:
            continue
        z = int(found.wrong[0])
        phi = np.outer(x[0], L[y] - L[z]).ravel()
        enough = {"type": "ineq", "fun": lambda w, phi=phi, z=z, y=y: w @ phi - classes.cost.row(y)[z] ** 0.5}
        best = minimize(lambda w, b=before: ((w - b.ravel()) ** 2).sum(), before.ravel(), constraints=[enough])
        np.testing.assert_allclose(weights.W.ravel(), best.x, atol=1e-5)


def test_scores_do_not_depend_on_the_scale_of_attributes_and_answers_not_on_that_of_costs() -> None:
    tax, nodes = four()
    y = ["c1", "c3", "c2", "c4"]
    settings = {"shuffle": False, "variant": "online", "augmented": False, "max_iter": 5}
    one = Hieron(tax, attributes="one", **settings).fit(X, y)
    matrix = np.zeros((tax.n_nodes, one.attributes_.shape[1]))
    matrix[nodes] = 7.0 * class_attributes(tax, nodes, "one").toarray()
    scaled = Hieron(tax, attributes=matrix, **settings).fit(X, y)
    np.testing.assert_allclose(scaled.decision_function(X), one.decision_function(X), atol=1e-12)
    whole = Hieron(tax, attributes="one", cost="distance", **settings).fit(X, y)
    np.testing.assert_allclose(whole.decision_function(X), 2**0.5 * one.decision_function(X), atol=1e-12)


def test_a_stream_is_learned_as_one_pass() -> None:
    tax, _ = four()
    y = ["c1", "c3", "c2", "c4"]
    whole = Hieron(tax, max_iter=1, shuffle=False).fit(X, y)
    stream = Hieron(tax)
    for i in range(4):
        stream.partial_fit(X[i : i + 1], y[i : i + 1], classes=y)
    np.testing.assert_array_equal(stream.decision_function(X), whole.decision_function(X))
    with pytest.raises(ParameterError, match="variant='minover'"):
        Hieron(tax, variant="minover").fit(X, y)
    with pytest.raises(ParameterError, match="augmented='yes'"):
        Hieron(tax, augmented="yes").fit(X, y)


def test_margins_that_are_too_small_teach_only_where_they_should() -> None:
    tax, _ = four()
    y = ["c1", "c3", "c2", "c4"]
    plain = Hieron(tax, augmented=False, shuffle=False, max_iter=50).fit(X, y)
    more = Hieron(tax, augmented=True, shuffle=False, max_iter=50).fit(X, y)
    assert plain.converged_
    assert more.n_updates_ > plain.n_updates_
