"""Best sets under rules, with branching and in any number, against all closed sets of small taxonomies."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.decoding import BestClosure
from linnaeus.decoding.base import hierarchy
from linnaeus.decoding.rules import Rules
from linnaeus.decoding.sets.best_sets import BestBranching, RankedSets, best_sets, branching_counts, branching_table
from linnaeus.decoding.sets.dag import relaxed_sets
from linnaeus.errors import LinnaeusError
from tests.decoding.oracles import closed_sets, exact_scores, parents_of, rows, some_columns
from tests.strategies import taxonomies

Set = frozenset[int]


def labels_of(taxonomy: Taxonomy, members: Set) -> set[int]:
    return {v for v in members if not any(v in parents_of(taxonomy, c) for c in members)}


def allowed(taxonomy: Taxonomy, members: Set, rules: Rules) -> bool:
    """The definition of every rule, one after the other."""
    labels = labels_of(taxonomy, members)
    under = {name: set(taxonomy.descendants(name).tolist()) for name in taxonomy.names}
    depth, leaf = taxonomy.depth, taxonomy.is_leaf
    least = max(rules.depth or 0, rules.min_depth or 0)
    once = taxonomy.names[taxonomy.tops] if rules.one_per == "tops" else rules.one_per
    bounds = {**rules.at_most_under, **dict.fromkeys(once, 1)}
    for name in once:
        bounds[name] = 1
    fans = [len([c for c in members if p in parents_of(taxonomy, c)]) for p in members]
    fans.append(len([v for v in members if not parents_of(taxonomy, v)]))
    return (
        (not rules.only_under or all(any(v in under[x] for x in rules.only_under) for v in labels))
        and not any(v in under[x] for x in rules.exclude for v in members)
        and (rules.candidates is None or all(taxonomy.names[v] in rules.candidates for v in labels))
        and all(x in taxonomy.names[list(members)] for x in rules.require if taxonomy.index(x) != taxonomy.root)
        and rules.at_least <= len(labels) <= (10**9 if rules.at_most is None else rules.at_most)
        and all(len(labels & under[x]) <= most for x, most in bounds.items())
        and all(depth[v] >= least or (rules.keep_shallow and leaf[v]) for v in labels)
        and (rules.depth is None or all(depth[v] <= rules.depth for v in members))
        and (rules.max_children is None or max(fans) <= rules.max_children)
        and (not rules.leaves_only or all(leaf[v] for v in labels))
    )


def values(
    taxonomy: Taxonomy,
    weight: np.ndarray,
    rules: Rules,
    table: np.ndarray | None = None,
    ends: np.ndarray | None = None,
) -> dict[Set, float]:
    """The score of every allowed set."""
    found = {}
    for members in closed_sets(taxonomy):
        if allowed(taxonomy, members, rules):
            value = float(sum(weight[v] for v in members))
            if ends is not None:
                value += float(sum(ends[v] for v in labels_of(taxonomy, members)))
            if table is not None:
                for p in [*members, taxonomy.n_nodes]:
                    fan = [
                        v
                        for v in members
                        if (p in parents_of(taxonomy, v)) or (p == taxonomy.n_nodes and not parents_of(taxonomy, v))
                    ]
                    value += table[p, min(len(fan), table.shape[1] - 1)]
            if value > -np.inf:
                found[members] = value
    return found


@st.composite
def some_rules(draw: st.DrawFn, taxonomy: Taxonomy) -> Rules:
    names = [str(name) for v, name in enumerate(taxonomy.names) if v != taxonomy.root] or [str(taxonomy.names[0])]
    few = st.lists(st.sampled_from(names), max_size=2, unique=True)
    given: dict[str, Any] = {}
    for key in draw(st.sets(st.sampled_from(["only_under", "exclude", "require", "one_per"]), max_size=2)):
        given[key] = draw(few)
    if draw(st.booleans()):
        given["at_least"] = draw(st.integers(0, 3))
    if draw(st.booleans()):
        given["at_most"] = max(given.get("at_least", 0), draw(st.integers(1, 3)))
    if draw(st.booleans()):
        given[draw(st.sampled_from(["min_depth", "depth"]))] = draw(st.integers(1, 3))
        given["keep_shallow"] = draw(st.booleans())
    if draw(st.integers(0, 3)) == 0:
        given["max_children"] = draw(st.integers(1, 2))
    if draw(st.integers(0, 3)) == 0:
        given["at_most_under"] = {draw(st.sampled_from(names)): draw(st.integers(1, 2))}
    if draw(st.integers(0, 3)) == 0:
        given["leaves_only"] = True
    if draw(st.integers(0, 5)) == 0:
        given["one_per"] = "tops"
    if draw(st.integers(0, 3)) == 0:
        given["candidates"] = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
    return Rules(**given)


def assert_agreement(found: RankedSets, d: int, expected: dict[Set, float], k: int) -> None:
    """The k best values in order, each of a set that has it."""
    best = sorted(expected.values(), reverse=True)[:k]
    scores = found.scores[d]
    np.testing.assert_allclose(scores[: len(best)], best, atol=1e-9)
    assert (scores[len(best) :] == -np.inf).all()
    sets = rows(found.sets)[d * k : d * k + len(best)]
    assert len(set(sets)) == len(best)
    for members, value in zip(sets, best, strict=True):
        assert expected[members] == pytest.approx(value, abs=1e-9)


@settings(max_examples=200)
@given(st.data())
def test_sets_under_rules_on_trees_equal_enumeration(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("tree",)))
    columns = data.draw(some_columns(tax))
    S = data.draw(exact_scores(len(columns), max_docs=2))
    rules, k = data.draw(some_rules(tax)), data.draw(st.integers(1, 5))
    found = best_sets(S, tax, columns, k=k, rules=rules)
    for d, row in enumerate(S):
        weight = np.zeros(tax.n_nodes)
        weight[columns] = row
        assert_agreement(found, d, values(tax, weight, rules), k)
    assert found.proved.all()
    some = found.sets[np.flatnonzero(found.scores.ravel() > -np.inf)]
    assert rules.bind(tax).obeyed(some).all()


@settings(max_examples=60)
@given(st.data())
def test_sets_under_rules_on_dags_equal_enumeration(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("dag",)))
    S = data.draw(exact_scores(tax.n_nodes, max_docs=1))
    rules, k = data.draw(some_rules(tax)), data.draw(st.integers(1, 3))
    found = best_sets(S, tax, k=k, rules=rules)
    assert_agreement(found, 0, values(tax, S[0], rules), k)
    assert found.proved.all()


@settings(max_examples=150)
@given(st.data())
def test_candidates_of_each_document_equal_enumeration_of_each_alone(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("tree", "tree", "dag")))
    columns = data.draw(some_columns(tax))
    S = data.draw(exact_scores(len(columns), max_docs=3))
    common, k = replace(data.draw(some_rules(tax)), candidates=None), data.draw(st.integers(1, 3))
    names = st.lists(st.sampled_from(tax.names.tolist()), max_size=3)
    own = [data.draw(st.none() | names) for _ in S]
    ends = data.draw(st.none() | st.just(np.minimum(S, 0)))
    whole = best_sets(S, tax, columns, k=k, rules=replace(common, candidates=own), ends=ends)
    for d, (row, few) in enumerate(zip(S, own, strict=True)):
        weight, end = np.zeros(tax.n_nodes), np.zeros(tax.n_nodes)
        weight[columns] = row
        end[columns] = 0 if ends is None else ends[d]
        expected = values(tax, weight, common, None, end)
        if few is not None:
            expected = {m: v for m, v in expected.items() if {str(tax.names[i]) for i in labels_of(tax, m)} <= set(few)}
        assert_agreement(whole, d, expected, k)


@settings(max_examples=100)
@given(st.data())
def test_the_best_sets_of_a_dag_equal_enumeration(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("dag",)))
    S = data.draw(exact_scores(tax.n_nodes, max_docs=2))
    rules = Rules(at_least=data.draw(st.integers(0, 1)))
    found = best_sets(S, tax, k=6, rules=rules)
    for d, row in enumerate(S):
        assert_agreement(found, d, values(tax, row, rules), 6)


@settings(max_examples=150)
@given(st.data())
def test_branching_equals_enumeration(data: st.DataObject) -> None:
    assert_branching_equals_enumeration(data, "tree")


@settings(max_examples=80)
@given(st.data())
def test_branching_on_dags_equals_enumeration(data: st.DataObject) -> None:
    assert_branching_equals_enumeration(data, "dag")


def assert_branching_equals_enumeration(data: st.DataObject, kind: str) -> None:
    tax = data.draw(taxonomies(kinds=(kind,)))
    S = data.draw(exact_scores(tax.n_nodes, max_docs=2))
    R = data.draw(st.integers(0, 3))
    numbers = data.draw(exact_scores((tax.n_nodes + 1) * (R + 1), max_docs=1))
    table = branching_table(
        tax, None, numbers.reshape(tax.n_nodes + 1, R + 1), stop=data.draw(st.sampled_from(["leaves", "anywhere"]))
    )
    k, rules = data.draw(st.integers(1, 4)), data.draw(some_rules(tax))
    found = best_sets(S, tax, k=k, table=table, rules=rules)
    for d, row in enumerate(S):
        assert_agreement(found, d, values(tax, row, rules, table), k)
    assert found.proved.all()


@settings(max_examples=80)
@given(st.data())
def test_weights_of_labels_equal_enumeration(data: st.DataObject) -> None:
    tax = data.draw(taxonomies(kinds=("tree", "dag")))
    S, E = data.draw(exact_scores(tax.n_nodes, max_docs=1)), data.draw(exact_scores(tax.n_nodes, max_docs=1))[:1]
    if data.draw(st.booleans()):
        S, E = np.maximum(S, 0), np.minimum(S, 0)  # what labels score that need not be ends
    k, rules = data.draw(st.integers(1, 3)), data.draw(some_rules(tax))
    found = best_sets(S[:1], tax, k=k, rules=rules, ends=E)
    assert_agreement(found, 0, values(tax, S[0], rules, None, E[0]), k)


def test_what_the_relaxation_to_trees_is_certain_of_is_best(diamond: Taxonomy) -> None:
    rng, n_certain = np.random.default_rng(0), 0
    bound = Rules().bind(diamond)
    for _ in range(60):
        weights = rng.normal(size=(1, diamond.n_nodes))
        table = branching_table(diamond, None, 0.5 * rng.normal(size=(diamond.n_nodes + 1, 3)))
        sets, scores, certain = relaxed_sets(weights, bound, hierarchy(diamond), table)
        every = values(diamond, weights[0], Rules(), table)
        if certain[0]:
            n_certain += 1
            assert scores[0] == pytest.approx(max(every.values()))
            assert every[frozenset(sets[0].tolist())] == pytest.approx(scores[0])
    assert n_certain > 30


def test_without_rules_the_best_set_is_the_best_closure(abc: Taxonomy, diamond: Taxonomy) -> None:
    for tax in (abc, diamond):
        S = np.random.default_rng(0).normal(size=(50, tax.n_nodes))
        assert rows(best_sets(S, tax).best) == rows(BestClosure()(S, tax))


WORKED = {"A": -0.5, "B": 0.3, "AA": 1.0, "AB": -0.2, "BA": -0.4, "BB": -0.1}


def worked(abc: Taxonomy) -> tuple[np.ndarray, list[int]]:
    return np.array([list(WORKED.values())]), [abc.index(name) for name in WORKED]


def test_the_worked_ranking_of_all_leaf_sets(abc: Taxonomy) -> None:
    S, columns = worked(abc)
    table = branching_table(abc)
    found = best_sets(S, abc, columns, k=20, table=table).labels(abc, closed=False)[0]
    assert len(found) == 15
    names = ["".join(labels) for labels, _ in found]
    assert names[0] == "AABB"
    assert sorted(names[1:3]) == ["AA", "AAABBB"]
    expected = [0.7, 0.5, 0.5, 0.4, 0.3, 0.3, 0.2, 0.2, 0.1, -0.1, -0.2, -0.5, -0.7, -0.8, -0.9]
    np.testing.assert_allclose([score for _, score in found], expected, atol=1e-12)


def branched(abc: Taxonomy) -> np.ndarray:
    node = np.zeros((abc.n_nodes + 1, 4))
    node[-1, 1], node[abc.index("A"), 1] = -0.25, 0.10
    return branching_table(abc, [-0.05, -0.30, -0.45, -0.60], node)


@pytest.mark.parametrize(
    ("rules", "labels", "score"),
    [
        ({}, ["AA"], 0.4),
        ({"only_under": "B"}, ["BB"], 0.1),
        ({"exclude": "AA"}, ["BB"], 0.1),
        ({"require": "AB"}, ["AA", "AB"], 0.05),
        ({"at_most": 1}, ["AA"], 0.4),
        ({"at_least": 3}, ["AA", "AB", "BB"], -0.3),
        ({"at_least": 3, "at_most_under": {"A": 1}}, ["AA", "BA", "BB"], -0.6),
        ({"at_least": 5}, None, -np.inf),
        ({"only_under": "B", "require": "AA"}, None, -np.inf),
    ],
)
def test_the_worked_rules_with_branching(abc: Taxonomy, rules: dict, labels: list | None, score: float) -> None:
    S, columns = worked(abc)
    found = best_sets(S, abc, columns, rules=Rules(**rules), table=branched(abc))
    assert found.scores[0, 0] == pytest.approx(score)
    assert found.labels(abc, closed=False)[0] == ([] if labels is None else [(labels, pytest.approx(score))])


def test_the_worked_five_best_with_branching(abc: Taxonomy) -> None:
    S, columns = worked(abc)
    found = best_sets(S, abc, columns, k=5, table=branched(abc)).labels(abc, closed=False)[0]
    assert [score for _, score in found] == pytest.approx([0.4, 0.1, 0.05, 0.05, -0.2])
    assert [labels for labels, _ in found[:2]] == [["AA"], ["BB"]]
    assert found[4][0] == ["BA"]


def test_fixed_depth(abc: Taxonomy) -> None:
    S, columns = worked(abc)
    found = best_sets(S, abc, columns, rules=Rules(depth=1, at_least=1))
    assert found.labels(abc) == [[(["B"], 0.3)]]


def test_rows_do_not_depend_on_their_batch(abc: Taxonomy) -> None:
    S = np.random.default_rng(0).normal(size=(40, abc.n_nodes)).astype(np.float32)
    rules = Rules(at_most=2, at_least=1)
    whole = best_sets(S, abc, k=3, rules=rules)
    for d in range(len(S)):
        alone = best_sets(S[[d]], abc, k=3, rules=rules)
        assert (alone.scores[0] == whole.scores[d]).all()
        assert rows(alone.sets) == rows(whole.sets)[3 * d : 3 * d + 3]


def test_wide_families_take_no_more_than_they_need() -> None:
    tax = Taxonomy.from_edges([("R", f"n{i:02}") for i in range(40)])
    S = np.random.default_rng(1).normal(size=(3, 40))
    columns = np.flatnonzero(np.arange(41) != tax.root)
    for r in (1, 3, 39):
        found = best_sets(S, tax, columns, rules=Rules(at_least=1, max_children=r))
        expected = np.sort(S, axis=1)[:, ::-1][:, :r]
        np.testing.assert_allclose(found.scores[:, 0], np.where(expected > 0, expected, 0).sum(axis=1))
    pairs = sorted((S[0, a] + S[0, b] for a, b in combinations(range(40), 2)), reverse=True)[:7]
    found = best_sets(S, tax, columns, k=7, rules=Rules(at_least=2, at_most=2))
    np.testing.assert_allclose(found.scores[0], pairs)


def test_features_of_branching_are_counted(abc: Taxonomy) -> None:
    Y = abc.close(abc.indicator([["AA", "AB", "BB"], ["BB"], []]))
    found, total = branching_counts(Y, abc, 1)
    table = np.arange((abc.n_nodes + 1) * 2, dtype=float).reshape(-1, 2)
    tops, A, B = abc.n_nodes, abc.index("A"), abc.index("B")
    np.testing.assert_allclose(
        found @ table.ravel(), [table[tops, 1] + table[A, 1] + table[B, 0], table[tops, 0] + table[B, 0], 0]
    )
    assert total.tolist() == [[1, 2], [2, 0], [0, 0]]


def test_the_decoder_takes_a_table_of_weights(abc: Taxonomy) -> None:
    S, columns = worked(abc)
    node = np.zeros((abc.n_nodes + 1, 4))
    node[-1, 1], node[abc.index("A"), 1] = -0.25, 0.10
    decide = BestBranching(shared=[-0.05, -0.30, -0.45, -0.60], node=node)
    assert abc.labels(abc.frontier(decide(S, abc, columns))) == [["AA"]]
    assert hierarchy(abc).is_forest


def test_bounds_above_the_number_of_nodes_are_no_bounds(abc: Taxonomy) -> None:
    S, columns = worked(abc)
    free = best_sets(S, abc, columns, k=4)
    for rules in ({"at_most": 10**9}, {"at_most_under": {"A": 10**9}}, {"max_children": 10**9}):
        bound = Rules(**rules).bind(abc)
        assert bound.masks_only
        assert best_sets(S, abc, columns, k=4, rules=bound).scores.tolist() == free.scores.tolist()
    assert not best_sets(S, abc, columns, rules=Rules(at_least=10**9)).feasible.any()


@pytest.mark.parametrize(
    "given",
    [
        {"at_least": 2, "at_most": 1},
        {"candidates": []},
        {"candidates": [["Q"], None]},
        {"candidates": 3},
        {"at_most": 0},
        {"depth": 1.5},
        {"only_under": "Q"},
        {"at_most_under": {"A": 0}},
    ],
)
def test_rules_that_cannot_be_are_refused(abc: Taxonomy, given: dict) -> None:
    with pytest.raises(LinnaeusError):
        Rules(**given).bind(abc)


def test_a_rule_that_does_not_exist_is_named() -> None:
    with pytest.raises(LinnaeusError, match="no rule 'at_mots'.*did you mean 'at_most'"):
        Rules.of({"at_mots": 1})
