"""Linear models explain any form of one document, and take any legal matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from linnaeus import OneVsRestSVM, Taxonomy
from linnaeus.errors import DataError
from tests.contracts.configurations import documents, taxonomy


@pytest.fixture
def fitted():
    tax = taxonomy()
    X, labels = documents(tax)
    return OneVsRestSVM(tax, random_state=0).fit(X, labels), X


def test_one_document_in_any_form_is_explained_alike(fitted) -> None:
    model, X = fitted
    row = X[[3]].toarray()[0]
    forms = [X[[3]], X[3], sparse.csr_matrix(X)[3], row, row.tolist(), row[None, :]]
    found = [model.explain(form)[-1] for form in forms]
    assert {step.node for step in found} == {found[0].node}
    for step in found:
        assert step.score == pytest.approx(found[0].score, abs=1e-5)


def test_what_is_explained_is_an_answer_not_the_top_above_it() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    model = OneVsRestSVM(tax, learn="closed", random_state=0).fit(X, labels)
    for i in range(5):
        assert model.explain(X[[i]])[-1].node in model.predict(X[[i]], closed=False)[0]


@pytest.mark.parametrize(
    "change",
    [
        sparse.csc_array,
        sparse.coo_array,
        sparse.lil_array,
        sparse.csr_matrix,
        lambda X: sparse.csr_array(X).astype(np.float64),
        lambda X: X.toarray().astype(np.float16),
        lambda X: np.asfortranarray(X.toarray()),
        lambda X: _wide_indices(X),
    ],
    ids=["csc", "coo", "lil", "matrix", "float64", "float16", "fortran", "int64 indices"],
)
def test_any_legal_matrix_gives_the_same_scores(fitted, change) -> None:
    model, X = fitted
    np.testing.assert_allclose(model.decision_function(change(X)), model.decision_function(X), atol=5e-3)


def _wide_indices(X):
    X = sparse.csr_array(X, copy=True)
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def test_numbers_that_are_none_are_refused() -> None:
    X = np.eye(3)
    for odd in (np.nan, np.inf):
        X[0, 0] = odd
        with pytest.raises(DataError, match="NaN|infinity"):
            OneVsRestSVM().fit(X, ["a", "b", "c"])
        with pytest.raises(DataError, match="NaN|infinity"):
            OneVsRestSVM().fit(sparse.csr_array(X), ["a", "b", "c"])


def test_labels_at_the_root_can_be_answered() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "AA")])
    y = [["R"], ["A"], ["B"], ["AA"], ["R", "A"], ["B"]]
    model = OneVsRestSVM(tax, C=100, random_state=0).fit(np.eye(6) * 10, y)
    assert model.predict(np.eye(6) * 10) == y


def test_empty_answers_are_learned_from_empty_sets() -> None:
    X = np.random.default_rng(0).normal(size=(120, 8))
    y = [[] if x[0] > 0 else ["AA"] if x[1] > 0 else ["BA"] for x in X]
    model = OneVsRestSVM(C=10, random_state=0).fit(X, y)
    empty = np.array([not row for row in model.predict(X)])
    assert (empty == np.array([not row for row in y])).mean() > 0.85
    assert all(OneVsRestSVM(random_state=0).fit(X, [row or ["AA"] for row in y]).predict(X))


def test_the_parts_of_an_explanation_add_up_however_many_are_shown(fitted) -> None:
    model, X = fitted
    for k in (None, 2):
        text = str(model.explain(X[[3]], k=k)[-1])
        numbers = [float(word) for word in text.replace("=", " ").split() if word[0] in "+-" and word[1].isdigit()]
        assert numbers[0] == pytest.approx(sum(numbers[1:]), abs=5e-3)


def test_the_certificate_holds_for_the_stored_weights_in_double_precision() -> None:
    rng = np.random.default_rng(0)
    for scale in (1.0, 30.0, 3000.0):
        X = sparse.csr_array((rng.normal(size=(60, 20)) * scale).astype(np.float32))
        y = [["a"] if row > 0 else ["b"] for row in X.toarray()[:, 0]]
        model = OneVsRestSVM(C=1.0, tol=1e-4, fit_intercept=False, random_state=0).fit(X, y)
        W = model.weights_.astype(np.float64)
        signs = np.array([[1 if name in row else -1 for name in model.classes_] for row in y])
        slack = np.maximum(0, 1 - signs * (X.astype(np.float64) @ W))
        assert model.objective_ == pytest.approx(0.5 * (W**2).sum() + (slack**2).sum(), rel=1e-9)
