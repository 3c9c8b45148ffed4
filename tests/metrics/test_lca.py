from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy, metrics
from linnaeus.errors import ParameterError
from linnaeus.metrics.hierarchical import lca_by_document
from tests.metrics.worked import FOREST, GOLD, PREDICTED, TAX
from tests.strategies import label_sets, taxonomies


@pytest.mark.parametrize("tax", [TAX, FOREST], ids=["root", "forest"])
def test_worked_example(tax):
    rows = lca_by_document(GOLD, PREDICTED, tax)
    expected = [(1, 1, 1), (0.75, 0.6, 0.6667), (0.5, 0.5, 0.5), (0, 0, 0)]
    assert [pytest.approx(row, abs=1e-4) for row in expected] == rows
    assert metrics.lca_precision(GOLD, PREDICTED, tax) == pytest.approx(0.5625, abs=1e-4)
    assert metrics.lca_recall(GOLD, PREDICTED, tax) == pytest.approx(0.525, abs=1e-4)
    assert metrics.lca_f1(GOLD, PREDICTED, tax) == pytest.approx(0.5417, abs=1e-4)


@given(st.data())
@settings(max_examples=80)
def test_single_labels_on_trees_score_the_path_to_the_lowest_common_ancestor(data):
    tax = data.draw(taxonomies(kinds=("tree",)))
    a, b = (data.draw(st.sampled_from(list(tax.names))) for _ in range(2))
    up_a, up_b = ([-1, *(v for v in tax.ancestors(x) if v != tax.root)] for x in (a, b))
    common = [v for v in up_a if v in up_b]
    n_a, n_b = (len(up) - len(common) + 1 for up in (up_a, up_b))  # the lowest common ancestor is shared
    P, R, F = lca_by_document([[a]], [[b]], tax)[0]
    assert pytest.approx((1 / n_b, 1 / n_a, 2 / (n_a + n_b))) == (P, R, F)


@given(st.data())
@settings(max_examples=60)
def test_swapping_the_sides_swaps_precision_and_recall(data):
    tax = data.draw(taxonomies())
    gold = data.draw(label_sets(tax))
    predicted = [data.draw(label_sets(tax, max_docs=1))[0] for _ in gold]
    one_way, other_way = lca_by_document(gold, predicted, tax), lca_by_document(predicted, gold, tax)
    for (P, R, F), swapped in zip(one_way, other_way, strict=True):
        assert (R, P, F) == swapped
        assert 0 <= P <= 1
        assert 0 <= R <= 1
    assert lca_by_document(gold, gold, tax) == [(1, 1, 1)] * len(gold)


def test_tied_combinations_are_chosen_the_same_way_from_both_sides():
    # two combinations have 14 nodes together: 7 and 7, or 6 and 8
    tax = Taxonomy.from_paths(
        [["n0", "n4"], ["n0", "n1", "n7"], *(["n0", "n1", "n2", "n3", x] for x in ("n5", "n6", "n8"))]
    )
    first, second = [["n6", "n7", "n5"]], [["n8", "n6", "n2", "n7", "n4"]]
    P, R, F = lca_by_document(first, second, tax)[0]
    assert lca_by_document(second, first, tax)[0] == (R, P, F)


def test_all_shortest_ways_up_are_tried_however_nodes_are_numbered():
    edges = [(p, c) for c, above in {"3": "012", "4": "013", "7": "013"}.items() for p in above]
    gold, predicted = [["3", "4", "6", "2", "1"]], [["3", "4", "7"]]
    for order in ("01234567", "10234567", "76543210"):
        tax = Taxonomy.from_edges(edges, nodes=order, kind="dag")
        assert lca_by_document(gold, predicted, tax)[0] == pytest.approx((5 / 6, 5 / 6, 5 / 6))


def test_ties_take_the_smallest_sets():
    # AA is as near to AB as B's children are to each other; linking through what is there already adds nothing
    assert lca_by_document([["AA", "AB"]], [["A"]], TAX)[0] == pytest.approx((1.0, 1 / 3, 0.5))


def test_a_node_with_two_parents_uses_its_deepest_common_ancestor(diamond):
    assert metrics.lca_f1(["C"], ["D"], diamond) == pytest.approx(0.5)  # {C, B} against {D, B}
    deep = Taxonomy.from_edges([("R", "A"), ("A", "B"), ("R", "C"), ("A", "C"), ("B", "D"), ("A", "D")])
    assert metrics.lca_f1(["C"], ["D"], deep) == pytest.approx(0.5)  # {C, A} against {D, A}


def test_unknown_labels_are_only_missed_or_wrong():
    assert lca_by_document([["AA", "ZZ"]], [["AA"]], TAX)[0] == pytest.approx((1, 0.5, 2 / 3))
    assert lca_by_document([["ZZ"]], [["AA"]], TAX)[0] == (0, 0, 0)


def test_many_ties_stay_quick():
    wide = Taxonomy.from_edges([("R", f"n{i}") for i in range(40)])
    names = [f"n{i}" for i in range(40)]
    assert 0 < metrics.lca_f1([names[:20]], [names[20:]], wide) < 1


def test_graphs_have_no_common_ancestors():
    with pytest.raises(ParameterError, match="undirected graph"):
        metrics.lca_f1(["a"], ["b"], Taxonomy.from_edges([("a", "b")], kind="graph"))
