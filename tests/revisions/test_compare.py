"""What changed between two versions."""

from __future__ import annotations

from linnaeus import Taxonomy
from linnaeus.revisions import Correspondence, compare
from linnaeus.taxonomy import Deprecated, Texts


def tree(*edges: str, **labels: str) -> Taxonomy:
    pairs = [(a, b) for a, _, b in (edge.partition(">") for edge in edges) if b]
    return Taxonomy.from_edges(
        pairs, nodes=[e for e in edges if ">" not in e], root=None, display_labels=labels or None
    )


def changes(old: Taxonomy, new: Taxonomy, *pairs: tuple[str, str]) -> list[tuple[str, str, str]]:
    table = Correspondence.from_pairs(pairs) if pairs else None
    diff = compare(old, new, table, propose=False)
    return [(change.kind, " ".join(change.old), " ".join(change.new)) for change in diff.changes]


def test_equal_versions_have_no_changes() -> None:
    tax = tree("A>a", "A>b")
    diff = compare(tax, tax)
    assert diff.changes == ()
    assert diff.n_unchanged == 3


def test_each_kind_of_change_is_told_apart() -> None:
    old = tree("A>a", "A>b", "A>c", "A>d", "A>e", "A>f", "A>g", "A>z", "B")
    new = tree("A>a", "B>b", "A>cd", "A>e1", "A>e2", "A>f", "A>f2", "A>n")
    pairs = [("c", "cd"), ("d", "cd"), ("e", "e1"), ("e", "e2"), ("f", "f"), ("f", "f2"), ("g", "a")]
    assert changes(old, new, *pairs) == [
        ("added", "", "n"),
        ("removed", "z", ""),
        ("merged", "c d", "cd"),
        ("taken over", "g", "a"),
        ("split", "e", "e1 e2"),
        ("split off", "f", "f2"),
        ("moved", "b", "b"),
    ]


def test_a_part_that_goes_to_a_node_that_continues_is_transferred() -> None:
    assert changes(tree("A>a", "A>b"), tree("A>a", "A>b"), ("a", "a"), ("a", "b")) == [("transferred", "a", "b")]


def test_of_nodes_that_became_one_the_one_with_the_same_label_continues() -> None:
    old, new = tree("1", "2", **{"1": "Fish", "2": "Shrimps"}), tree("x", x="fish")
    assert changes(old, new, ("1", "x"), ("2", "x")) == [
        ("taken over", "2", "x"),
        ("renamed", "1", "x"),
        ("recoded", "1", "x"),
    ]


def test_children_of_a_recoded_parent_have_not_moved() -> None:
    old, new = tree("1>11", **{"1": "A", "11": "B"}), tree("x>xx", x="A", xx="B")
    assert {kind for kind, _, _ in changes(old, new, ("1", "x"), ("11", "xx"))} == {"recoded"}


def test_one_more_parent_is_a_move_that_says_so() -> None:
    diff = compare(tree("A>a", "B>b"), tree("A>a", "B>a", "B>b"))
    assert [(change.kind, change.detail) for change in diff.changes] == [("moved", "also to B")]
    assert any("several parents" in text for text in diff.assumptions)


def test_a_split_into_38_is_one_change_with_all_parts() -> None:
    new = Taxonomy.flat([f"n{i}" for i in range(38)])
    diff = compare(Taxonomy.flat(["o"]), new, Correspondence.from_pairs([("o", name) for name in new.names]))
    assert diff.counts == {"split": 1}
    assert len(diff.changes[0].new) == 38


def test_replacements_and_aliases_of_the_new_version_are_followed() -> None:
    old = tree("A>a", "A>b", "A>c", "A>d")
    new = tree("A>a").with_replacements({"d": "a"}, {"b": Deprecated(("a",)), "c": Deprecated()})
    diff = compare(old, new)
    assert [(change.kind, change.old) for change in diff.changes] == [
        ("removed", ("c",)),
        ("taken over", ("b",)),
        ("taken over", ("d",)),
    ]


def test_a_code_with_another_text_is_flagged_as_reused() -> None:
    old = tree("A>11", "A>12", A="Industry", **{"11": "Steel", "12": "Wood"})
    new = tree("A>11", "A>12", "A>13", A="Industry", **{"11": "Software", "12": "Wood", "13": "Steel"})
    diff = compare(old, new)
    assert diff.findings[0].code == "code-reused"
    assert diff.same["11"] == "13"
    assert ("added", (), ("11",)) in [(change.kind, change.old, change.new) for change in diff.changes]


def test_a_renamed_code_with_a_former_label_among_its_alternatives_is_not_reused() -> None:
    old = tree("A>1", A="A", **{"1": "Wireless"})
    new = tree("A>1", A="A", **{"1": "Radio"}).with_texts(
        Texts.from_entries(
            [(1, "preferred", "", "Radio"), (1, "alternative", "", "Wireless"), (0, "preferred", "", "A")]
        )
    )
    diff = compare(old, new)
    assert diff.findings == ()
    assert diff.counts == {"renamed": 1}


def test_unknown_codes_of_a_table_are_reported_and_left_out() -> None:
    diff = compare(tree("a", "b"), tree("a", "b"), Correspondence.from_pairs([("a", "q")]))
    assert not diff.ok
    assert diff.changes == ()
    assert any("1 pairs of the table with unknown codes are left out" in text for text in diff.assumptions)


def test_names_that_are_paths_are_paired_by_texts() -> None:
    old = Taxonomy.from_paths([["Shop", "Cats", "Toys"], ["Shop", "Dogs", "Food"]], separator=" > ")
    new = Taxonomy.from_paths([["Shop", "Cat Supplies", "Toys"], ["Shop", "Dogs", "Food"]], separator=" > ")
    diff = compare(old, new)
    assert diff.same["Shop > Cats > Toys"] == "Shop > Cat Supplies > Toys"
    assert diff.same["Shop > Cats"] == "Shop > Cat Supplies"
    assert any("whole paths" in text for text in diff.assumptions)
    assert all(change.confidence < 1 for change in diff.changes)


def test_a_root_that_becomes_an_ordinary_node_does_not_move_its_children() -> None:
    old = Taxonomy.from_edges([("S", "a"), ("S", "b")])
    new = Taxonomy.from_edges([("S", "a"), ("S", "b"), ("T", "c")])
    assert old.root is not None
    assert new.root is None
    assert compare(old, new).counts == {"added": 2}


def test_codes_and_iris_that_end_with_them_are_the_same_nodes() -> None:
    short = Taxonomy.from_edges([("ap", "ap-1"), ("ap", "ap-2")], root=None)
    iris = Taxonomy.from_edges([("gid://s/ap", "gid://s/ap-1"), ("gid://s/ap", "gid://s/ap-3")], root=None)
    for old, new in ((short, iris), (iris, short)):
        found = compare(old, new, propose=False)
        assert len(found.same) == 2
        assert any("last steps of IRIs" in line for line in found.assumptions)


def test_single_codes_that_happen_to_end_an_iri_are_not_paired() -> None:
    old = Taxonomy.flat(["1", "2", "3", "4", "x"])
    new = Taxonomy.flat(["http://e.org/x", "http://e.org/p", "http://e.org/q", "http://e.org/r"])
    assert compare(old, new, propose=False).counts == {"added": 4, "removed": 5}
