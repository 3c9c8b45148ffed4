"""H-M3 on the worked problems: optima, scores and answers to the digit, through the estimator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from linnaeus import HM3, Taxonomy
from linnaeus.models.structured.tree import edge_scores
from tests.models.structured import numbers
from tests.models.structured.oracles import TREE_A, TREE_B, Case, dual_optimum, taxonomy_of

each_a = pytest.mark.parametrize("setting", numbers.OPTIMA_A, ids=str)


def label_sets(truth: list[tuple[int, ...]]) -> list[list[str]]:
    return [[f"n{v}" for v, on in enumerate(y) if on] for y in truth]


def make(parents: list[int], setting: tuple[Any, ...], **more: Any) -> HM3:
    cost, scaling, C = setting if len(setting) == 3 else (*setting, 1.0)
    exact = {"root": "paper", "fit_intercept": False, "tol": 1e-9, "max_iter": 5000, "random_state": 0}
    return HM3(taxonomy_of(parents), C=C, cost=cost, scaling=scaling, **{**exact, **more})


def fit_a(setting: tuple[Any, ...], **more: Any) -> HM3:
    model = make(TREE_A, setting, kernel="precomputed", **more)
    return model.fit(numbers.GRAM_A, label_sets(numbers.TRUTH_A))


def all_scores(model: HM3, X: Any) -> np.ndarray:
    """Scores of all labellings of all edges, n_docs x n_nodes x 4, in the order of the nodes."""
    structure = model._labellings
    F = edge_scores(model._rows(model._check_X(X, reset=False)), structure.layout)
    return F[:, np.argsort(structure.nodes)]


@each_a
def test_case_a_has_its_optima(setting) -> None:
    every, _, consistent, *_ = numbers.OPTIMA_A[setting]
    assert fit_a(setting).objective_ == pytest.approx(every, abs=1e-6)
    assert fit_a(setting, train_labellings="consistent").objective_ == pytest.approx(consistent, abs=1e-6)


@pytest.mark.parametrize("setting", numbers.ABOVE_ROOT_A, ids=str)
def test_case_a_with_an_edge_above_the_root(setting) -> None:
    every, consistent = numbers.ABOVE_ROOT_A[setting]
    assert fit_a(setting, root="super").objective_ == pytest.approx(every, abs=1e-6)
    closed = fit_a(setting, root="super", train_labellings="consistent")
    assert closed.objective_ == pytest.approx(consistent, abs=1e-6)


@pytest.mark.parametrize("setting", numbers.SCORES_A, ids=str)
def test_case_a_has_its_scores(setting) -> None:
    expected, _ = numbers.SCORES_A[setting]
    F = all_scores(fit_a(setting), numbers.GRAM_A)
    np.testing.assert_allclose(F[0, 1:], expected, atol=2e-4)


@pytest.mark.parametrize(
    "form", ["dense", pytest.param("sparse", marks=pytest.mark.slow), pytest.param("gram", marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("setting", numbers.OPTIMA_B, ids=str)
def test_case_b_has_its_optima_in_every_form(setting, form) -> None:
    X = {"dense": numbers.X_B, "sparse": sparse.csr_array(numbers.X_B), "gram": numbers.X_B @ numbers.X_B.T}[form]
    kernel = "precomputed" if form == "gram" else "linear"
    every, consistent, _ = numbers.OPTIMA_B[setting]
    for labellings, expected in (("all", every), ("consistent", consistent)):
        model = make(TREE_B, setting, kernel=kernel, train_labellings=labellings).fit(X, label_sets(numbers.TRUTH_B))
        assert model.objective_ == pytest.approx(expected, abs=1e-6)


def test_case_b_has_its_weights_and_answers() -> None:
    model = make(TREE_B, ("symmetric", "uniform", 1.0)).fit(numbers.X_B, label_sets(numbers.TRUTH_B))
    np.testing.assert_allclose(all_scores(model, numbers.X_B[:2])[:, 1:], numbers.WEIGHTS_B, atol=2e-4)
    assert model.predict(numbers.X_B) == label_sets(numbers.TRUTH_B)
    for x, (y, _) in numbers.ANSWERS_B.items():
        if any(y):  # a document is given its best node where all training sets have one
            assert model.predict(np.array([x])) == label_sets([y])
    free = model.answers(np.array([[-1.0, -1.0]]), consistent=False)
    assert model.taxonomy_.labels(free) == [["n3", "n4"]]


def test_documents_without_labels_allow_empty_answers() -> None:
    X, y = np.vstack([numbers.X_B, [[-1.0, -1.0]]]), [*label_sets(numbers.TRUTH_B), []]
    model = make(TREE_B, ("symmetric", "uniform", 1.0)).fit(X, y)
    assert model.predict(X) == y
    assert model.predict(np.zeros((1, 2))) == [[]]


# -- small exact facts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("C", "optimum", "score"), [(0.1, 0.19, 0.1), (1.0, 1.0, 1.0)])
def test_one_node_is_the_support_vector_machine_of_twice_the_weight(C, optimum, score) -> None:
    tax = Taxonomy.flat(["a"])
    model = HM3(tax, C=C, kernel="precomputed", fit_intercept=False, tol=1e-9).fit(numbers.GRAM_A, [["a"], []])
    assert model.objective_ == pytest.approx(optimum, abs=1e-6)
    np.testing.assert_allclose(model.decision_function(numbers.GRAM_A).ravel(), [score, -score], atol=1e-4)


def test_two_copies_count_as_twice_the_weight() -> None:
    setting, twice = ("symmetric", "uniform", 0.25), np.tile(numbers.GRAM_A, (2, 2))
    double = make(TREE_A, setting, kernel="precomputed").fit(twice, label_sets(numbers.TRUTH_A) * 2)
    assert double.objective_ == pytest.approx(2.8125, abs=1e-6)
    single = fit_a(("symmetric", "uniform", 0.5))
    assert single.objective_ == pytest.approx(2.8125, abs=1e-6)
    weighted = make(TREE_A, setting, kernel="precomputed")
    weighted.fit(numbers.GRAM_A, label_sets(numbers.TRUTH_A), sample_weight=[2, 2])
    assert weighted.objective_ == pytest.approx(2.8125, abs=1e-6)
    np.testing.assert_allclose(all_scores(double, twice)[:2], all_scores(single, numbers.GRAM_A), atol=2e-4)


def test_one_document_twice_with_two_label_sets() -> None:
    model = make(TREE_A, ("symmetric", "uniform", 1.0), kernel="precomputed")
    model.fit(np.ones((2, 2)), label_sets(numbers.TRUTH_A))
    assert model.objective_ == pytest.approx(6.25, abs=1e-6)
    expected = [[-0.25, -0.25, 0.25, 0.25], [-0.25, -0.25, 0.25, 0.25], [0, 0, 0, 0]]
    np.testing.assert_allclose(all_scores(model, np.ones((2, 2)))[0, 1:], expected, atol=2e-4)


def test_a_document_of_norm_zero_pays_its_largest_loss() -> None:
    model = make(TREE_A, ("symmetric", "uniform", 1.0), kernel="precomputed")
    model.fit(np.zeros((1, 1)), label_sets(numbers.TRUTH_A[:1]))
    # a node that no document has is left out: three of the four nodes can be wrong
    case = Case([-1, 0, 1], np.zeros((1, 1)), [(1, 1, 1)])
    assert model.objective_ == pytest.approx(dual_optimum(case), abs=1e-6)


# -- properties --------------------------------------------------------------------------------------------------------


def test_the_order_of_documents_changes_nothing_but_the_order() -> None:
    setting, order = ("hierarchical", "subtree", 1.0), [2, 0, 1]
    first = make(TREE_B, setting).fit(numbers.X_B, label_sets(numbers.TRUTH_B))
    labels = [label_sets(numbers.TRUTH_B)[i] for i in order]
    other = make(TREE_B, setting).fit(numbers.X_B[order], labels)
    np.testing.assert_allclose(all_scores(first, numbers.X_B), all_scores(other, numbers.X_B), atol=2e-4)


def test_a_kernel_times_a_and_a_weight_over_a_leave_the_scores_as_they_are() -> None:
    once = fit_a(("symmetric", "uniform", 1.0))
    model = make(TREE_A, ("symmetric", "uniform", 0.25), kernel="precomputed")
    model.fit(4 * numbers.GRAM_A, label_sets(numbers.TRUTH_A))
    assert model.objective_ == pytest.approx(once.objective_ / 4, abs=1e-6)
    np.testing.assert_allclose(all_scores(model, 4 * numbers.GRAM_A), all_scores(once, numbers.GRAM_A), atol=2e-4)


def test_the_dual_rises_and_no_gap_is_negative() -> None:
    model = fit_a(("symmetric", "uniform", 1.0), algorithm="conditional-gradient", tol=1e-3)
    _, _, primal, dual, _ = model.history_.T
    assert (np.diff(dual) >= -1e-12).all()
    assert (primal >= dual).all()
    assert model.objective_ == pytest.approx(4.02127660, rel=1e-3)
