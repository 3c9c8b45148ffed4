"""Promises hold on average or with their confidence, whatever the probabilities are worth."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from linnaeus import Taxonomy
from linnaeus.decoding.probability.coherence import lowered
from linnaeus.decoding.probability.risk import fit_risk
from linnaeus.errors import LinnaeusError
from linnaeus.taxonomy.closure import is_closed
from tests.contracts.configurations import taxonomy
from tests.decoding.probability.test_curves import sample

TREE = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["A", "AC"], ["B", "BA"], ["B", "BB"], ["C"]])
DAG = Taxonomy.from_edges([("A", "AA"), ("A", "AB"), ("B", "AB"), ("B", "BB"), ("C", "CC"), ("AB", "X"), ("BB", "X")])


def probabilities(tax: Taxonomy, n_docs: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Coherent values that are bad probabilities: the promise may not depend on how good they are."""
    S, gold = sample(tax, n_docs, seed)
    return lowered(1 / (1 + np.exp(-S)), tax), gold


def one_label(tax: Taxonomy, n_docs: int, seed: int, noise: float = 1.0, temper: float = 1.0):
    """A label for each document and a distribution over all labels that guesses it; wrong by ``temper``."""
    rng = np.random.default_rng(seed)
    labels = np.array([v for v in range(tax.n_nodes) if tax.is_leaf[v]])
    truth = rng.integers(len(labels), size=n_docs)
    S = 3.0 * (np.arange(len(labels)) == truth[:, None]) + noise * rng.normal(size=(n_docs, len(labels)))
    Q = np.exp(temper * S)
    Q /= Q.sum(axis=1, keepdims=True)
    P = Q @ tax.ancestor_matrix[labels].toarray()
    return P, tax.close(tax.indicator([[str(tax.names[labels[t]])] for t in truth]))


@pytest.mark.parametrize("kind", ["tree", "dag"])
@pytest.mark.parametrize("loss", ["any_wrong", "wrong_share"])
@pytest.mark.parametrize("risk", [0.05, 0.2])
def test_the_mean_risk_over_many_calibrations_is_kept(kind: str, loss: str, risk: float) -> None:
    tax, n, repeats = taxonomy(kind), 120, 150
    nodes = np.flatnonzero(np.arange(tax.n_nodes) != tax.root)
    P, gold = probabilities(tax, repeats * (n + 1), 3)
    losses = np.zeros(repeats)
    for r in range(repeats):
        part = slice(r * (n + 1), r * (n + 1) + n)
        Y = tax.indicator(tax.labels(gold[part].astype(int)))
        control = fit_risk(P[part][:, nodes], Y, nodes, loss, ordering=np.zeros(n, dtype=bool))
        new = r * (n + 1) + n
        answer = control.answers(P[[new]][:, nodes], control.threshold(risk, tax), tax, nodes)
        assert is_closed(tax, answer)
        wrong = ~gold[new, answer.indices]
        losses[r] = wrong.any() if loss == "any_wrong" else wrong.sum() / len(nodes)
    band = 3 * max(losses.std(), np.sqrt(risk * (1 - risk)) if loss == "any_wrong" else 0.0) / np.sqrt(repeats)
    assert losses.mean() <= risk + band
    if loss == "any_wrong":
        assert losses.mean() >= risk - 2 / (n + 1) - band  # cautious, but not more than it must be


@pytest.mark.parametrize(
    ("tax", "rules", "of", "confidence"),
    [
        (TREE, None, "answered", 0.9),
        (TREE, {"leaves_only": True}, "answered", 0.9),
        (TREE, {"exclude": "C"}, "answered", 0.6),
        (DAG, None, "answered", 0.9),
        (DAG, None, "all", 0.9),
    ],
)
def test_promises_with_a_confidence_are_broken_no_more_often_than_it_says(tax, rules, of: str, confidence) -> None:
    risk, n, repeats = 0.1, 300, 150
    nodes = np.arange(tax.n_nodes)
    P, gold = one_label(tax, 20_000, seed=99, noise=1.6, temper=2.0)  # overconfident by far
    highest, wrong = fit_risk(P, gold, nodes, single=True)._levels(tax, rules)
    P, gold = one_label(tax, n * repeats, seed=1, noise=1.6, temper=2.0)
    broken = 0
    for r in range(repeats):
        part = slice(r * n, (r + 1) * n)
        control = fit_risk(P[part], gold[part], nodes, single=True)
        t = control.threshold(risk, tax, of=of, confidence=confidence, rules=rules)
        n_counted = len(wrong) if of == "all" else int((highest > t).sum())
        # 20,000 new documents tell the true risk up to three standard errors
        broken += (wrong > t).sum() > risk * n_counted + 3 * np.sqrt(risk * (1 - risk) * max(n_counted, 1))
    assert broken <= stats.binom.ppf(0.999, repeats, 1 - confidence)


@pytest.mark.parametrize("noise", [0.5, 1.6, 3.0])
def test_earlier_documents_that_fix_the_sequence_of_thresholds_break_no_promise(noise: float) -> None:
    risk, n, repeats, nodes = 0.1, 150, 150, np.arange(TREE.n_nodes)
    ordering = fit_risk(*one_label(TREE, 500, seed=7, noise=noise, temper=2.0), nodes, single=True)
    P, gold = one_label(TREE, 20_000, seed=99, noise=1.6, temper=2.0)
    highest, wrong = fit_risk(P, gold, nodes, single=True)._levels(TREE, None)
    P, gold = one_label(TREE, n * repeats, seed=1, noise=1.6, temper=2.0)
    broken, coverage = 0, np.zeros((repeats, 2))
    for r in range(repeats):
        part = slice(r * n, (r + 1) * n)
        for i, before in enumerate((None, ordering)):
            control = fit_risk(P[part], gold[part], nodes, ordered_by=before, single=True)
            t = control.threshold(risk, TREE, of="answered", confidence=0.9)
            coverage[r, i] = np.mean(highest > t)
        assert control.n == n  # all of them test
        n_answered = int((highest > t).sum())
        broken += (wrong > t).sum() > risk * n_answered + 3 * np.sqrt(risk * (1 - risk) * max(n_answered, 1))
    assert broken <= stats.binom.ppf(0.999, repeats, 0.1)
    if noise == 1.6:  # documents like those that test: more is answered than with half of them
        assert coverage[:, 1].mean() > coverage[:, 0].mean() + 0.1


def test_on_easy_documents_nearly_as_many_are_answered_as_with_the_best_threshold() -> None:
    risk, n = 0.05, 2000
    P_new, gold_new = one_label(TREE, 20_000, seed=99)
    nodes, shares = np.arange(TREE.n_nodes), []
    best_leaf = {"leaves_only": True}
    for seed in range(10):
        P, gold = one_label(TREE, n, seed)
        control = fit_risk(P, gold, nodes, single=True)
        t = control.threshold(risk, TREE, of="answered", rules=best_leaf)
        shares.append(np.mean(P_new[:, TREE.is_leaf].max(axis=1) > t))
    leaves = TREE.is_leaf
    order = np.argsort(-P_new[:, leaves].max(axis=1))
    right = gold_new.toarray()[np.arange(len(P_new)), np.flatnonzero(leaves)[P_new[:, leaves].argmax(axis=1)]] > 0
    risks = np.cumsum(~right[order]) / np.arange(1, len(order) + 1)
    best = (np.flatnonzero(risks <= risk)[-1] + 1) / len(order)
    assert 0.3 < best < 0.98  # not everything may be answered
    # 1,000 documents test; at most about 1.3 standard errors of a share of 5 % are given up: 0.9 points of risk
    slack = (np.flatnonzero(risks <= risk - 2 * 1.3 * np.sqrt(risk * (1 - risk) / (0.5 * n)))[-1] + 1) / len(order)
    assert min(shares) > 0.95 * slack
    assert np.mean(shares) > best - 0.1


@pytest.mark.parametrize("tax", [TREE, DAG], ids=["tree", "dag"])
@pytest.mark.parametrize("rules", [None, {"leaves_only": True}, {"at_most": 1}, {"only_under": "A"}, {"depth": 1}])
def test_an_answer_of_a_single_label_model_is_one_node_that_obeys_the_rules(tax, rules) -> None:
    from linnaeus.decoding.rules import Rules

    P, gold = one_label(tax, 400, seed=3, noise=2.5)
    nodes = np.arange(tax.n_nodes)
    control = fit_risk(P, gold, nodes, single=True)
    for threshold in (0.0, 0.2, 0.4, 0.6):
        Y = control.answers(P, threshold, tax, nodes, rules)
        assert is_closed(tax, Y)
        labels = tax.frontier(Y)
        assert np.diff(labels.indptr).max() <= 1
        answered = np.diff(labels.indptr) > 0
        assert Rules.of(rules).bind(tax).obeyed(Y[answered]).all()


@pytest.mark.parametrize("rules", [None, {"at_most": 2}, {"leaves_only": True, "at_most": 3}, {"exclude": "A"}])
def test_answers_of_sets_obey_the_rules_and_shrink_with_the_threshold(rules) -> None:
    from linnaeus.decoding.rules import Rules

    tax = taxonomy("dag")
    nodes = np.flatnonzero(np.arange(tax.n_nodes) != tax.root)
    P, gold = probabilities(tax, 300, 5)
    control = fit_risk(P[:, nodes], tax.indicator(tax.labels(gold.astype(int))), nodes)
    if rules and "exclude" in rules:
        rules = {"exclude": str(tax.names[tax.tops[0]])}
    sets = [control.answers(P[:, nodes], t, tax, nodes, rules) for t in (0.2, 0.5, 0.8)]
    for larger, smaller in pairwise(sets):
        assert smaller.multiply(larger).nnz == smaller.nnz < larger.nnz
    answered = np.diff(sets[1].indptr) > 0
    assert Rules.of(rules).bind(tax).obeyed(sets[1][answered]).all()


def test_the_worked_example() -> None:
    highest = np.array([0.62, 0.35, 0.80, 0.0, 0.20, 0.55, 0.10, 0.45, 0.0])
    tax = Taxonomy.flat("AB")
    P = np.stack([np.full(9, 0.9), highest], axis=1)
    control = fit_risk(P, tax.indicator(["A"] * 9), np.arange(2), ordering=np.zeros(9, dtype=bool))
    assert [round(control.threshold(risk, tax), 6) for risk in (0.1, 0.2, 0.3)] == [0.80, 0.62, 0.55]


def test_a_code_above_the_true_one_is_right() -> None:
    gold = TREE.close(TREE.indicator(["AA"] * 200))
    P = np.tile([0.8, 0.2, 0.0, 0.3, 0.5, 0.0, 0.1, 0.1], (200, 1))  # A, B, C, AA, AB, ...: the best leaf is wrong
    P = P[:, : TREE.n_nodes]
    control = fit_risk(P, gold, np.arange(TREE.n_nodes), single=True)
    t = control.threshold(0.1, TREE, of="answered")
    assert TREE.labels(control.answers(P[:1], t, TREE, np.arange(TREE.n_nodes))) == [["A"]]
    assert control.threshold(0.1, TREE, of="answered", rules={"leaves_only": True}) == 1.0  # nothing can be coded


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"risk": 0.001}, "cannot be promised from 10"),
        ({"risk": 1.5}, "between 0 and 1"),
        ({"risk": 0.2, "of": "answers"}, "did you mean 'answered'"),
        ({"risk": 0.05, "of": "answered"}, "with confidence 0.9 from 10 documents: at least 45"),
        ({"risk": 0.2, "confidence": 1.0}, "confidence=1.0"),
        ({"risk": 0.2, "rules": {"at_least": 2}}, "risk and at_least contradict"),
        ({"risk": 0.2, "rules": {"require": "A"}}, "risk and require contradict"),
        ({"risk": 0.2, "rules": {"max_children": 2}}, "cannot be combined with max_children"),
        ({"risk": 0.2, "rules": {"only_under": "A", "exclude": "A"}}, "leave no node"),
    ],
)
def test_promises_that_cannot_be_kept_are_refused(request_, message: str) -> None:
    P, gold = one_label(TREE, 20, 0)
    control = fit_risk(P, gold, np.arange(TREE.n_nodes))
    with pytest.raises(LinnaeusError, match=message):
        control.threshold(taxonomy=TREE, **request_)


def test_a_margin_is_kept_where_the_documents_were_used_for_the_model() -> None:
    P, gold = one_label(TREE, 1000, seed=4, noise=1.6)
    nodes = np.arange(TREE.n_nodes)
    exact, fitted = (
        fit_risk(P, gold, nodes, single=True, exact=exact, ordering=np.zeros(1000, bool)) for exact in (True, False)
    )
    bound = exact.threshold(0.1, TREE, confidence=0.9)
    assert exact.threshold(0.1, TREE) < bound == fitted.threshold(0.1, TREE)
    with pytest.raises(LinnaeusError, match="at least 22"):
        fit_risk(P[:21], gold[:21], nodes, single=True, exact=False).threshold(0.1, TREE)


@pytest.mark.parametrize("of", ["all", "answered"])
@pytest.mark.parametrize("exact", [True, False])
def test_the_smallest_risk_is_refused(of: str, exact: bool) -> None:
    P, gold = one_label(TREE, 100, seed=4)
    control = fit_risk(P, gold, np.arange(TREE.n_nodes), single=True, exact=exact)
    with pytest.raises(LinnaeusError, match="cannot be promised"):
        control.threshold(5e-324, TREE, of=of)
