"""The counts that describe a taxonomy are those of the taxonomy itself."""

from __future__ import annotations

from linnaeus import Taxonomy
from linnaeus.taxonomy.checks import shape


def test_the_root_is_no_level_and_no_top(diamond: Taxonomy) -> None:
    found = shape(diamond)
    assert (found["root"], found["n_tops"], found["depth"], found["nodes_per_level"]) == ("R", 2, 2, [2, 2])
    assert (found["n_multi_parent"], found["mean_children"], found["max_children"]) == (1, 5 / 3, 2)


def test_a_forest_and_a_graph_have_tops_too() -> None:
    forest = shape(Taxonomy.from_paths([["A", "B"], ["C"]]))
    assert (forest["root"], forest["n_tops"], forest["depth"], forest["nodes_per_level"]) == (None, 2, 2, [2, 1])
    graph = shape(Taxonomy.from_edges([("a", "b"), ("b", "c")], kind="graph"))
    assert (graph["n_tops"], graph["n_edges"], graph["n_multi_parent"]) == (3, 2, 0)
