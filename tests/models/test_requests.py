"""Rules and n-best lists through models, whatever their scores mean."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import HM3, RRSVM, HierarchicalSVM, OneVsRestSVM, Pipeline, Taxonomy, TopDownSVM
from linnaeus.decoding import BestClosure, BestLeaf, Rules, Threshold
from linnaeus.errors import LinnaeusError
from linnaeus.taxonomy.closure import is_closed
from tests.contracts.configurations import documents, fitted, taxonomy

MODELS = [OneVsRestSVM, RRSVM, TopDownSVM, HM3, HierarchicalSVM]


@pytest.fixture(scope="module", params=["tree", "dag"])
def problem(request):
    tax = taxonomy(request.param)
    return tax, *documents(tax)


@pytest.mark.parametrize("kind", MODELS)
def test_answers_obey_rules(kind, problem) -> None:
    tax, X, _ = problem
    model = fitted(kind.__name__, {}, tax.kind)
    for given in ({"only_under": ["A"]}, {"exclude": ["AA", "C"], "at_most": 2}, {"depth": 2}, {"at_least": 3}):
        bound = Rules(**given).bind(tax)
        Y = model.answers(X[:12], rules=given, closed=True)
        assert is_closed(tax, Y)
        assert bound.obeyed(Y).all()
        assert (np.diff(Y.indptr) > 0).all()
        assert model.predict(X[:12], rules=given, closed=True) == tax.labels(Y)


@pytest.mark.parametrize("kind", MODELS)
def test_n_best_begins_with_the_best_set_and_falls(kind, problem) -> None:
    tax, X, _ = problem
    model = fitted(kind.__name__, {}, tax.kind)
    found = model.ranked_sets(X[:8], k=4)
    assert found.proved.all()
    assert (np.diff(found.scores, axis=1) <= 1e-9).all()
    assert (found.best != model.ranked_sets(X[:8]).best).nnz == 0
    for row in model.n_best(X[:8], 4):
        assert len({tuple(names) for names, _ in row}) == 4


def test_without_rules_the_best_set_of_a_flat_model_is_its_answer(problem) -> None:
    tax, X, labels = problem
    leaves = [[label for label in row if tax.is_leaf[tax.index(label)]] or ["CAA"] for row in labels]
    model = OneVsRestSVM(tax, random_state=0).fit(X, leaves)
    Y = model.ranked_sets(X).best
    assert (Y != model.answers(X, closed=True)).nnz == 0


def test_the_best_set_of_h_m3_is_its_answer(problem) -> None:
    tax, X, labels = problem
    model = HM3(tax).fit(X, labels)
    same = (model.ranked_sets(X).best != model.answers(X, closed=True)).sum(axis=1) == 0
    assert same.all()


def test_one_label_models_answer_the_best_allowed_label() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    single = np.array([row[0] for row in labels])
    model = OneVsRestSVM(tax, random_state=0).fit(X, single)
    answer = model.predict(X, rules={"exclude": "A"})
    S = model.decision_function(X)
    inside = np.array([tax.index("A") not in tax.ancestors(name) for name in model.classes_])
    expected = np.asarray(model.classes_)[np.where(inside, S, -np.inf).argmax(axis=1)]
    assert answer.tolist() == expected.tolist()
    best = model.n_best(X[:3], 2, closed=False)
    assert [row[0][0][0] for row in best] == model.predict(X[:3]).tolist()
    assert len(model.predict(X[:2], rules={"at_least": 2})[0]) == 2


def test_a_decoder_says_where_to_cut(problem) -> None:
    tax, X, labels = problem
    model = OneVsRestSVM(tax, random_state=0, learn="closed").fit(X, labels)
    high, low = (model.ranked_sets(X, decoder=Threshold(theta)).best.nnz for theta in (1.0, -1.0))
    assert high < low
    assert (
        model.ranked_sets(X, decoder=BestClosure()).best != model.answers(X, decoder=BestClosure(), closed=True)
    ).nnz == 0
    assert tax.is_leaf[tax.frontier(model.ranked_sets(X, decoder=BestLeaf()).best).indices].all()


def test_rules_that_leave_nothing_are_an_error_and_say_so() -> None:
    tax = Taxonomy.from_paths([["A", "AA"], ["B"]])
    model = OneVsRestSVM(tax).fit(np.eye(2), [["AA"], ["B"]])
    with pytest.raises(LinnaeusError, match="No label set of document 0 obeys only_under="):
        model.predict(np.eye(2), rules={"only_under": "A", "exclude": "A"})
    with pytest.raises(LinnaeusError, match="not calibrated"):
        model.predict(np.eye(2), risk=0.1)


def test_pipelines_pass_requests_on() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    pipe = Pipeline(OneVsRestSVM(tax, random_state=0)).fit(X, labels)
    assert pipe.predict(X[:5], rules={"at_most": 1}) == pipe.model_.predict(X[:5], rules={"at_most": 1})
    assert pipe.n_best(X[:2], 3) == pipe.model_.n_best(X[:2], 3)


def test_a_flat_model_of_labels_as_given_ranks_its_own_answer_first() -> None:
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    rng = np.random.default_rng(0)
    names = ["A", "AA", "AB", "B"]
    y = [sorted(set(rng.choice(names, size=2).tolist())) for _ in range(200)]
    y = [[n for n in row if n != "A" or not {"AA", "AB"} & set(row)] for row in y]  # A means: nothing below it
    X = np.array([[float(n in row) for n in names] for row in y]) + 0.3 * rng.normal(size=(200, 4))
    model = OneVsRestSVM(tax, random_state=0).fit(X, y)
    answers = tax.frontier(tax.close(model.answers(X)))
    best = [ranked[0][0] for ranked in model.n_best(X, 1, closed=False)]
    assert best == tax.labels(answers)


CANDIDATES = (["AA", "B"], ["CAA", "CA", "AB"], None, ["A"], ["B", "BA", "C"])


@pytest.mark.parametrize("kind", MODELS)
def test_candidates_of_documents_are_obeyed_and_a_batch_answers_as_each_document_alone(kind, problem) -> None:
    tax, X, _ = problem
    model = fitted(kind.__name__, {}, tax.kind)
    own = [[name for name in few if name in tax] if few else None for few in CANDIDATES] * 2
    whole = model.ranked_sets(X[:10], 2, rules={"candidates": own})
    labels = tax.labels(tax.frontier(whole.best))
    assert all(few is None or set(row) <= set(few) for row, few in zip(labels, own, strict=True))
    for d, few in enumerate(own):
        alone = model.ranked_sets(X[[d]], 2, rules=None if few is None else {"candidates": few})
        np.testing.assert_allclose(whole.scores[d], alone.scores[0], rtol=1e-6)
        assert tax.labels(whole.sets[2 * d : 2 * d + 2]) == tax.labels(alone.sets)


@pytest.mark.parametrize("kind", MODELS)
def test_rankings_hold_the_candidates_of_each_document_only(kind, problem) -> None:
    tax, X, _ = problem
    model = fitted(kind.__name__, {}, tax.kind)
    known = set(tax.names[model.ranked_nodes].tolist())
    own = [[name for name in few if name in known] if few else None for few in CANDIDATES]
    labels, scores = model.top(X[:5], 2, rules={"candidates": own})
    free = model.top(X[:5], 2)[0]
    for row, values, few, best in zip(labels.tolist(), scores, own, free.tolist(), strict=True):
        n_labels = 2 if few is None else min(2, len(few))
        assert row == best if few is None else set(row[:n_labels]) <= set(few)
        assert row[n_labels:] == [None] * (2 - n_labels)
        assert np.isfinite(values).tolist() == [True] * n_labels + [False] * (2 - n_labels)


def test_candidates_that_do_not_match_the_documents_are_refused(problem) -> None:
    tax, X, _ = problem
    model = fitted("RRSVM", {}, tax.kind)
    for own in ([["A"]], [["A"]] * 3):
        with pytest.raises(LinnaeusError, match="candidates has"):
            model.ranked_sets(X[:2], rules={"candidates": own})
        with pytest.raises(LinnaeusError, match="candidates has"):
            model.top(X[:2], rules={"candidates": own})
    with pytest.raises(LinnaeusError, match="No label set of document 1 obeys"):
        model.predict(X[:2], rules={"candidates": [["AA"], []]})
    with pytest.raises(LinnaeusError, match="'at_most' applies to label sets"):
        model.top(X[:2], rules={"at_most": 2})
