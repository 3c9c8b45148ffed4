"""Passive-aggressive classifiers of single labels against traces by hand and a plain loop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus import EdgePA, GlobalTreeModel, OneVsRestPA
from linnaeus.models.flat.passive_aggressive import visit_orders
from tests.contracts.configurations import documents, taxonomy


def test_three_visits_by_hand() -> None:
    x = np.array([[3.0, 4.0]])
    model = OneVsRestPA(average="none", fit_intercept=False)
    model.partial_fit(x, [["a"]], classes=[["a"], ["b"]])
    assert model.weights_[:, 0].tolist() == pytest.approx([0.12, 0.16])
    model.partial_fit(x, [["b"]])
    assert model.weights_[:, 0].tolist() == pytest.approx([-0.12, -0.16])
    before = model.weights_[:, 0].copy()
    model.partial_fit(x, [["b"]])
    np.testing.assert_array_equal(model.weights_[:, 0], before)


@pytest.mark.parametrize("average", ["trajectory", "none"])
def test_weights_are_those_of_a_plain_loop(average: str) -> None:
    tax = taxonomy()
    X, labels = documents(tax, 40)
    X = X.toarray().astype(np.float64)
    model = OneVsRestPA(tax, C=0.3, max_iter=3, average=average, fit_intercept=False, random_state=5).fit(X, labels)
    Y = tax.indicator(labels).toarray()[:, model.nodes_]
    W, after = np.zeros((X.shape[1], len(model.nodes_))), []
    for order in visit_orders(5, 40, 3):
        for i in order:
            y = 2.0 * Y[i] - 1
            loss = np.maximum(0, 1 - y * (X[i] @ W))
            W = W + np.outer(X[i], np.minimum(0.3, loss / (X[i] @ X[i])) * y)
            after.append(W)
    np.testing.assert_allclose(model.weights_, W if average == "none" else np.mean(after, axis=0), atol=1e-6)


def test_labels_that_come_later_join_with_weights_of_zero() -> None:
    X = np.eye(3)
    model = OneVsRestPA(taxonomy(), average="none", fit_intercept=False).partial_fit(X[:2], [["A"], ["B"]])
    model.partial_fit(X[2:], [["C"]])
    assert list(model.classes_) == ["A", "B", "C"]
    assert model.predict(X) == [["A"], ["B"], ["C"]]


@pytest.mark.parametrize("model", [OneVsRestPA, EdgePA, GlobalTreeModel])
def test_documents_whose_features_are_not_in_order_stay_as_they_are(model) -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    ends = list(zip(X.indptr[:-1], X.indptr[1:], strict=True))
    indices, data = (np.concatenate([part[a:b][::-1] for a, b in ends]) for part in (X.indices, X.data))
    turned = sparse.csr_array((data, indices, X.indptr.copy()), shape=X.shape)
    before = turned.indices.copy(), turned.data.copy()
    plain = {"fit_intercept": False, "random_state": 0}
    found = model(tax, **plain).fit(turned, labels)
    np.testing.assert_array_equal(turned.indices, before[0])
    np.testing.assert_array_equal(turned.data, before[1])
    np.testing.assert_allclose(found.weights_, model(tax, **plain).fit(X, labels).weights_, atol=1e-6)
