from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import SCut, Threshold
from linnaeus.decoding.base import HeldOut, held_out
from linnaeus.decoding.cutoffs.scut import LabelThresholds, pooled_threshold
from tests.decoding.cutoffs.test_label_cuts import all_cuts, f1
from tests.strategies import taxonomies


def problem(tax: Taxonomy, n_docs: int, seed: int, close: bool = False) -> HeldOut:
    """Labels anywhere, scores in quarters that know something of them."""
    rng = np.random.default_rng(seed)
    Y = tax.close(tax.indicator([[v] for v in rng.choice(tax.names, size=n_docs)])).toarray() > 0
    if tax.root is not None:
        Y[:, tax.root] = False
    S = np.round(4 * (Y + 0.8 * rng.normal(size=Y.shape))) / 4
    nodes = np.array([v for v in range(tax.n_nodes) if v != tax.root])
    return held_out(S[:, nodes], Y.astype(np.int8), tax, nodes, close=close)


def node_f1(held: HeldOut, theta: np.ndarray, v: int, repair: str | None) -> float:
    answer = Threshold(theta, repair=repair, at_least_one=False)(held.S, held.taxonomy, held.columns).toarray()[:, v]
    gold = held.gold.toarray()[:, v]
    return f1((answer & gold).sum(), answer.sum(), gold.sum())


def pooled_f1(held: HeldOut, theta: np.ndarray) -> float:
    answers = held.S > theta[held.columns]
    gold = held.gold.toarray()[:, held.columns] > 0
    return f1((answers & gold).sum(), answers.sum(), gold.sum())


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_micro_thresholds_are_the_best_of_all_combinations(seed: int) -> None:
    held = problem(Taxonomy.flat("ABC"), 6, seed)
    theta = LabelThresholds(held, "micro", min_positives=0).final()
    used = [
        v for v in range(3) if held.gold.toarray()[:, v].any()
    ]  # a label without positives has the pooled threshold
    cuts = [all_cuts(held.S[:, v]) if v in used else [np.inf] for v in range(3)]
    best = max(pooled_f1(held, np.array(choice)) for choice in product(*cuts))
    theta[[v for v in range(3) if v not in used]] = np.inf
    assert pooled_f1(held, theta) == pytest.approx(best)


@settings(max_examples=80)
@given(st.data(), st.integers(0, 10_000))
@pytest.mark.parametrize("repair", [None, "closure", "suppress"])
def test_no_other_threshold_of_a_label_alone_gives_it_a_better_f1_after_the_repair(
    repair: str | None, data: st.DataObject, seed: int
) -> None:
    tax = data.draw(taxonomies(max_nodes=6))
    held = problem(tax, 8, seed, close=repair is not None)
    theta = LabelThresholds(held, min_positives=0, repair=repair).final()
    for k, v in enumerate(held.columns):
        if not held.gold.toarray()[:, v].any():
            continue
        reached = node_f1(held, theta, v, repair)
        for other in all_cuts(held.S[:, k]):
            changed = theta.copy()
            changed[v] = other
            assert node_f1(held, changed, v, repair) <= reached + 1e-12


def test_labels_with_few_positives_take_the_threshold_of_their_parent_or_of_all() -> None:
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"], ["B"]])
    rng = np.random.default_rng(0)
    labels = [["A"]] * 10 + [["AA"]] * 2 + [["B"]] * 3
    S = rng.normal(size=(15, tax.n_nodes))
    held = held_out(S, labels, tax)
    a, b, aa, ab = (tax.index(name) for name in ("A", "B", "AA", "AB"))
    by_parent, by_all, by_top = (LabelThresholds(held, fallback=how).final() for how in ("parent", "global", "top"))
    assert by_parent[aa] == by_parent[ab] == by_parent[a] == by_all[a]
    assert by_all[aa] == by_all[ab] == by_all[b] == by_parent[b]  # B has no parent
    assert by_top[aa] == S[:, aa].max()
    assert by_top[b] == S[:, b].max()
    assert by_top[ab] == by_all[ab]  # no positive at all
    assert LabelThresholds(held, min_positives=2).final()[aa] != by_parent[aa]


def test_a_parent_that_is_always_right_once_sets_are_closed_does_not_hand_its_low_threshold_down() -> None:
    tax = Taxonomy.from_paths([["A", "AA"], ["A", "AB"]])
    labels = [["A"]] * 6 + [["AA"]] * 20 + [["AB"]]
    S = np.random.default_rng(0).normal(size=(27, 3)) + 3 * tax.indicator(labels).toarray()
    a, ab = tax.index("A"), tax.index("AB")
    closed = LabelThresholds(held_out(S, labels, tax, close=True), repair="closure", fallback="parent")
    bare = LabelThresholds(held_out(S, labels, tax), fallback="parent")
    assert closed.theta[a] < bare.theta[a]  # all documents are about A
    assert closed.theta[ab] == bare.theta[ab] == bare.theta[a] > 0


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_labels_with_few_positives_share_the_threshold_that_is_best_for_them_pooled(average: str) -> None:
    tax = Taxonomy.flat("ABCDE")
    rng = np.random.default_rng(3)
    labels = [["A"]] * 20 + [["B"]] * 12 + [["C"]] * 4 + [["D"]] * 3 + [["E"]] * 2
    S = rng.normal(size=(len(labels), tax.n_nodes)) + 2 * tax.indicator(labels).toarray()
    held = held_out(S, labels, tax)
    found = LabelThresholds(held, average)
    rare = [tax.index(name) for name in "CDE"]
    theta, gold = found.final(), tax.indicator(labels).toarray() > 0
    assert len(set(theta[rare])) == 1

    def value(cut: float) -> float:
        kept = S[:, rare] > cut
        right = (kept & gold[:, rare]).sum()
        f1 = 2 * right / max(1, kept.sum() + gold[:, rare].sum())
        return f1 if average == "macro" else 2 * right - found.price * kept.sum()

    assert value(theta[rare[0]]) == pytest.approx(max(value(cut) for cut in all_cuts(S[:, rare].ravel())))


def test_a_rare_label_below_a_parent_of_nearly_all_documents_is_not_answered_for_all_of_them() -> None:
    tax = Taxonomy.from_paths([["A", f"A{i}"] for i in range(8)])
    rng = np.random.default_rng(0)
    labels = [["A", f"A{i % 8}"] for i in range(24)]
    Y = tax.indicator(labels).toarray()
    S = np.where(Y > 0, -0.5, -0.9) + 0.1 * rng.normal(size=Y.shape)  # scores of rare labels are low, but in order
    S[:, tax.index("A")] = rng.normal(size=24) - 3.0  # the best cut of A keeps all documents
    cut = SCut().fit(S, labels, tax)
    kept = tax.indicator(tax.labels(cut(S, tax))).toarray()
    assert kept[:, [tax.index(f"A{i}") for i in range(8)]].sum() < 40  # 24 are right; by the parent's threshold 192


def test_with_too_few_positives_of_all_rare_labels_they_take_the_threshold_of_all() -> None:
    tax = Taxonomy.flat("AB")
    S = np.array([[6.0, 1], [5, 2], [4, 3], [3, 4], [2, 5], [1, 6]])
    labels = [["A"]] * 5 + [["B"]]
    held = held_out(S, labels, tax)
    assert LabelThresholds(held).final()[tax.index("B")] == pooled_threshold(held)


def test_labels_of_low_f1_are_refused_or_need_the_best_score() -> None:
    tax = Taxonomy.flat("AB")
    S = np.array([[6.0, 1], [5, 2], [4, 3], [3, 4], [2, 5], [1, 6]])
    labels = [["A"], ["A"], ["A", "B"], ["B"], [], []]  # A is ranked well, B is not
    found = LabelThresholds(held_out(S, labels, tax), min_positives=1)
    assert found.f1.tolist() == pytest.approx([1.0, 4 / 6])
    assert found.final(0.5).tolist() == found.final(0.0).tolist() == [3.5, 2.5]
    assert found.final(0.8, "top").tolist() == [3.5, 6.0]
    assert found.final(0.8, "none").tolist() == [3.5, np.inf]


def test_a_label_without_scores_in_a_fold_neither_breaks_nor_decides() -> None:
    tax = Taxonomy.flat("AB")
    S = np.array([[0.9, -np.inf], [0.1, -np.inf], [0.8, 0.3], [0.2, 0.4]])
    found = LabelThresholds(held_out(S, [["A"], ["B"], ["A"], ["A"]], tax), min_positives=1)
    assert found.enough.tolist() == [True, False]
    assert found.final()[1] == found.theta[1]
    assert np.isfinite(found.final()).all()
