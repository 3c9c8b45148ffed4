from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import RCut, TopScores
from linnaeus.decoding.cutoffs.cut_off import micro_f1
from linnaeus.errors import DataError, ParameterError
from tests.decoding.oracles import exact_scores, parents_of, rows
from tests.strategies import taxonomies


def scored(n_docs: int = 60, n_nodes: int = 8, seed: int = 0) -> tuple[Taxonomy, np.ndarray, np.ndarray]:
    """Documents with one to three labels, whose scores are a little higher."""
    rng = np.random.default_rng(seed)
    Y = rng.random((n_docs, n_nodes)) < 0.25
    Y[np.arange(n_docs), rng.integers(n_nodes, size=n_docs)] = True
    return Taxonomy.flat(f"n{v}" for v in range(n_nodes)), Y + 0.6 * rng.normal(size=Y.shape), Y.astype(np.int8)


def test_r_of_one_point_eighty_five_gives_a_second_label_to_the_85_percent_with_the_highest_second_score() -> None:
    tax, S, Y = scored(100)
    cut = RCut(1.85).fit(S, Y, tax)
    answers = rows(cut(S, tax))
    second = np.sort(S, axis=1)[:, -2]
    chosen = set(np.argsort(-second)[:85].tolist())
    for d, answer in enumerate(answers):
        best = np.argsort(-S[d])
        assert answer == set(best[: 2 if d in chosen else 1].tolist())


@settings(max_examples=60)
@given(st.integers(1, 9), st.integers(0, 50))
def test_a_whole_r_takes_the_r_best_with_ties_by_number(r: int, seed: int) -> None:
    S = np.random.default_rng(seed).integers(0, 4, size=(5, 6)) / 4
    tax = Taxonomy.flat("ABCDEF")
    expected = [set(sorted(range(6), key=lambda v: (-row[v], v))[:r]) for row in S]
    assert rows(RCut(r)(S, tax)) == expected


def test_the_tuned_r_is_the_best_whole_one_or_better() -> None:
    tax, S, Y = scored()
    gold = tax.indicator(tax.labels(Y))
    tuned = RCut().fit(S, Y, tax)
    value = micro_f1(gold, tuned(S, tax), tax)
    best = max(micro_f1(gold, RCut(r)(S, tax), tax) for r in range(1, 9))
    assert value >= best
    assert tuned.r is not None
    assert value == max(micro_f1(gold, RCut(round(r / 10, 1)).fit(S, Y, tax)(S, tax), tax) for r in range(1, 71))


def test_the_best_scores_are_enough_to_tune_on() -> None:
    tax, S, Y = scored()
    assert RCut().fit(TopScores.of(S, 6), Y, tax) == RCut().fit(S, Y, tax)


def test_the_metric_decides() -> None:
    tax, S, Y = scored()
    assert RCut().fit(S, Y, tax, metric=lambda gold, H, tax: float(H.nnz)).r == 8
    assert RCut().fit(S, Y, tax, metric=lambda gold, H, tax: -float(H.nnz)).r == 0.1


def test_a_fraction_needs_held_out_scores() -> None:
    tax, S, Y = scored()
    with pytest.raises(ParameterError, match="RCut.*r=1.5.*has not learned where to cut"):
        RCut(1.5)(S, tax)
    with pytest.raises(ParameterError, match="has not learned"):
        RCut()(S, tax)
    assert RCut(2).fit(S, Y, tax) == RCut(2)


@settings(max_examples=120)
@given(st.data(), st.integers(1, 3))
def test_per_parent_goes_down_through_the_r_best_children(data: st.DataObject, r: int) -> None:
    tax = data.draw(taxonomies())
    S = data.draw(exact_scores(tax.n_nodes))
    nodes = [v for v in range(tax.n_nodes) if v != tax.root]
    groups = [[v for v in nodes if not parents_of(tax, v)]]
    groups += [[v for v in nodes if p in parents_of(tax, v)] for p in nodes]
    for row, answer in zip(S, rows(RCut(r, per="parent")(S, tax)), strict=True):
        chosen = {v for group in groups for v in sorted(group, key=lambda v: (-row[v], v))[:r]}
        kept: set[int] = set()
        for v in nodes:  # parents come first
            if v in chosen and set(parents_of(tax, v)) <= kept:
                kept.add(v)
        assert answer == kept


def test_per_parent_always_reaches_leaves_of_a_tree(abc: Taxonomy) -> None:
    S = np.random.default_rng(0).normal(size=(20, 7)) - 5  # no sign test
    for labels in abc.labels(abc.frontier(RCut(1, per="parent")(S, abc))):
        assert len(labels) == 1
        assert abc.is_leaf[abc.index(labels[0])]


def test_per_parent_is_tuned_on_all_scores(abc: Taxonomy) -> None:
    rng = np.random.default_rng(0)
    gold = abc.indicator([["AA", "AB", "A"]] * 10)
    S = rng.normal(size=(10, 7)) * 0.1 + gold.toarray()
    assert RCut(per="parent").fit(S, gold, abc, metric=lambda Y, H, tax: H[:, [abc.index("AB")]].nnz).r == 2
    with pytest.raises(DataError, match="scores of all nodes"):
        RCut(per="parent").fit(TopScores.of(S, 3), gold, abc)


def test_per_parent_needs_scores_at_the_top(abc: Taxonomy) -> None:
    with pytest.raises(DataError, match="starts at the top nodes, but none of them has a score"):
        RCut(1, per="parent")([[1.0, 2.0]], abc, [abc.index("AA"), abc.index("AB")])


def test_leaves_can_be_ranked_by_their_paths(abc: Taxonomy) -> None:
    columns = [abc.index(name) for name in ("A", "B", "AA", "AB", "BA", "BB")]
    S = [[1.0, 0.0, 0.1, 0.2, 0.9, 0.3]]
    assert abc.labels(RCut(2, path_sum=True)(S, abc, columns)) == [["AA", "AB"]]
    assert abc.labels(RCut(2)(S, abc, columns)) == [["A", "BA"]]


def test_wrong_parameters_are_named() -> None:
    with pytest.raises(ParameterError, match="did you mean 'parent'"):
        RCut(1, per="parents")
    for wrong in (0, -1, "x", float("nan")):
        with pytest.raises(ParameterError, match="r="):
            RCut(wrong)
    with pytest.raises(ParameterError, match="whole number"):
        RCut(1.5, per="parent")
    with pytest.raises(ParameterError, match="takes no repair='closure'"):
        RCut(1, per="parent", repair="closure")
