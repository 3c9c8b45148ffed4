"""From pairs and paths to a taxonomy; what is wrong is named."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from tests.strategies import taxonomies


def test_the_only_node_without_a_parent_is_the_root_if_it_has_children() -> None:
    assert Taxonomy.from_edges([("R", "A")]).root == 0
    assert Taxonomy.from_edges([("R", "A"), ("Q", "A")]).root is None
    assert Taxonomy.flat(["A"]).root is None


def test_a_root_may_be_named_or_denied() -> None:
    assert Taxonomy.from_edges([("R", "A")], root="R").root == 0
    assert Taxonomy.from_edges([("R", "A")], root=None).root is None
    with pytest.raises(TaxonomyError, match="Root 'A' is not a node without parents"):
        Taxonomy.from_edges([("R", "A")], root="A")
    with pytest.raises(TaxonomyError, match="2 orphans are not below the root 'R': 'P', 'Q'"):
        Taxonomy.from_edges([("R", "A"), ("P", "A"), ("Q", "A")], root="R")


def test_a_node_may_be_called_auto() -> None:
    assert Taxonomy.from_edges([("R", "auto"), ("R", "moto")]).root == 0
    assert Taxonomy.flat(["auto", "moto"]).root is None


def test_cycles_are_named() -> None:
    with pytest.raises(TaxonomyError, match=r"has a cycle: (A > B > C > A|B > C > A > B|C > A > B > C)\.$"):
        Taxonomy.from_edges([("R", "A"), ("A", "B"), ("B", "C"), ("C", "A"), ("C", "leaf")])
    with pytest.raises(TaxonomyError, match="^Node 'A' is its own parent"):
        Taxonomy.from_edges([("A", "A")])


def test_a_tree_has_one_parent_per_node() -> None:
    edges = [("A", "C"), ("B", "C")]
    assert Taxonomy.from_edges(edges).kind == "dag"
    with pytest.raises(TaxonomyError, match="node 'C' has the parents 'A' and 'B'"):
        Taxonomy.from_edges(edges, kind="tree")


def test_repeated_pairs_count_once() -> None:
    assert Taxonomy.from_edges([("A", "B"), ("A", "B")]).n_edges == 1
    assert Taxonomy.from_edges([("A", "B"), ("B", "A"), ("A", "A")], kind="graph").n_edges == 1


def test_nothing_is_no_taxonomy_and_kinds_are_three() -> None:
    with pytest.raises(TaxonomyError, match="empty"):
        Taxonomy.from_edges([])
    with pytest.raises(TaxonomyError, match="kind='trees' is not one of"):
        Taxonomy.from_edges([("A", "B")], kind="trees")


def test_a_zero_character_is_refused_in_names() -> None:
    with pytest.raises(TaxonomyError, match=r"The name 'a\\x00b' contains a null character"):
        Taxonomy.flat(["a\0b", "c"])


def test_nothing_is_no_name() -> None:
    with pytest.raises(TaxonomyError, match=r"The pair \(None, 'B'\) has no parent"):
        Taxonomy.from_edges([("A", "B"), (None, "B")])
    with pytest.raises(TaxonomyError, match=r"The pair \('A', ''\) has no child"):
        Taxonomy.from_edges([("A", "")])
    with pytest.raises(TaxonomyError, match=r"The pair \('A', nan\) has no child"):
        Taxonomy.from_edges([("A", float("nan"))])
    with pytest.raises(TaxonomyError, match="A node is None"):
        Taxonomy.flat(["A", None])


@pytest.mark.parametrize("separator", [None, "/"])
def test_what_is_empty_ends_a_path_and_stands_nowhere_else(separator: str | None) -> None:
    filled = [["A", "", ""], ["B", "C", None], np.array(["B", "D", ""])]
    assert Taxonomy.from_paths(filled, separator=separator) == Taxonomy.from_paths(
        [["A"], ["B", "C"], ["B", "D"]], separator=separator
    )
    with pytest.raises(TaxonomyError, match=r"Step 2 of the path \['A', '', 'B'\] is empty"):
        Taxonomy.from_paths([["A", "", "B"]], separator=separator)


def test_names_may_be_anything_that_has_a_text() -> None:
    assert Taxonomy.from_edges([(0, 1), (np.int64(0), 2)]).names.tolist() == ["0", "1", "2"]


def test_a_name_in_two_paths_is_one_node_unless_whole_paths_are_names() -> None:
    paths = [["A", "x"], ["B", "x"], ["C"]]
    assert len(Taxonomy.from_paths(paths).parents("x")) == 2
    whole = Taxonomy.from_paths(paths, separator="/")
    assert whole.names.tolist() == ["A", "B", "C", "A/x", "B/x"]
    assert whole.display("A/x") == "x"
    assert whole.kind == "tree"


@given(taxonomies(max_nodes=8), st.randoms(use_true_random=False))
@settings(max_examples=60)
def test_the_order_of_pairs_changes_only_the_numbering(tax: Taxonomy, random: object) -> None:
    edges = [(tax.names[p], tax.names[v]) for v in range(tax.n_nodes) for p in tax.parents(v)]
    random.shuffle(edges)  # type: ignore[attr-defined]
    root = None if tax.root is None else tax.names[tax.root]
    other = Taxonomy.from_edges(edges, nodes=tax.names[::-1], kind=tax.kind, root=root)
    assert sorted(other.names) == sorted(tax.names)
    for name in tax.names:
        assert set(tax.names[tax.parents(name)]) == set(other.names[other.parents(name)])
        assert tax.depth[tax.index(name)] == other.depth[other.index(name)]


def test_every_internal_node_but_the_root_gets_a_leaf_of_its_own(abc: Taxonomy) -> None:
    more = abc.with_misc_leaves()
    assert set(more.names) - set(abc.names) == {"A/self", "B/self"}
    assert set(more.names[more.leaves]) == {"AA", "AB", "BA", "BB", "A/self", "B/self"}
    assert more.names[more.parents("A/self")].tolist() == ["A"]
    assert more.root == 0


def test_only_the_internal_nodes_asked_for_get_a_leaf(abc: Taxonomy) -> None:
    assert set(abc.with_misc_leaves(["B", "AA", "R"]).names) - set(abc.names) == {"B/self", "R/self"}
    with pytest.raises(TaxonomyError, match=r"'A/self'.*already exists"):
        abc.with_misc_leaves(["A"]).with_misc_leaves(["A"])
