"""Labels become leaves, everything else is shared: who pulls at whom is what the definition says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.models.recursive.network import Links, links_of
from tests.models.recursive.oracles import FIVE, KINDS, kernel, links_kernel, random_taxonomy


def names_of(tax: Taxonomy, links: Links) -> list[str]:
    return [str(tax.names[v]) if v >= 0 else "-" for v in links.node]


def near(tax: Taxonomy, links: Links) -> list[dict[str, float]]:
    """Neighbours of every leaf by name."""
    names = names_of(tax, links)
    return [{names[u]: weight for u, weight in row.items()} for row in links.leaves]


def numbers(tax: Taxonomy, *labels: str) -> np.ndarray:
    return np.array([tax.index(label) for label in labels])


def test_a_tree_is_its_own_network(abc) -> None:
    links = links_of(abc, numbers(abc, "AA", "AB", "BA"))
    assert names_of(abc, links) == ["R", "A", "B"]
    assert links.anchor == [1, 0, 0]
    assert links.inner == [{1: 1, 2: 1}, {0: 1}, {0: 1}]
    assert near(abc, links) == [{"A": 1}, {"A": 1}, {"B": 1}]
    assert links.leaf_level == [2, 2, 2]
    assert links.level == [0, 1, 1]


def test_a_leaf_is_spawned_under_a_label_with_children_or_under_every_label(abc) -> None:
    some = numbers(abc, "A", "AA")
    links = links_of(abc, some)
    assert near(abc, links) == [{"A": 1}, {"A": 1}]
    assert links.leaf_level == [2, 2]
    links = links_of(abc, some, spawn="all")
    assert near(abc, links) == [{"A": 1}, {"AA": 1}]
    assert links.leaf_level == [2, 3]


def test_a_labelled_root_has_a_leaf_of_its_own(abc) -> None:
    links = links_of(abc, numbers(abc, "R", "B"), root=3.0)
    assert near(abc, links) == [{"R": 1}, {"B": 1}]
    assert links.anchor == [3, 0, 0]


def test_in_a_dag_all_parents_pull(diamond) -> None:
    links = links_of(diamond, numbers(diamond, "C", "D"))
    assert near(diamond, links) == [{"A": 1, "B": 1}, {"B": 1}]


def test_a_forest_hangs_on_an_artificial_root() -> None:
    tax = Taxonomy.from_edges([("A", "AA"), ("B", "BA")], nodes=["lone"])
    links = links_of(tax, numbers(tax, "AA", "BA", "lone"))
    top = names_of(tax, links).index("-")
    assert links.anchor[top] == 1
    assert sum(links.anchor) == 1
    assert sorted(names_of(tax, links)[u] for u in links.inner[top]) == ["A", "B"]
    assert near(tax, links)[2] == {"-": 1}


def test_flat_labels_share_one_vertex() -> None:
    tax = Taxonomy.flat(["a", "b", "c"])
    links = links_of(tax, np.arange(3))
    assert len(links.inner) == 1
    np.testing.assert_allclose(links_kernel(links), np.ones((3, 3)) + np.eye(3))


def test_between_adjacent_leaves_of_a_graph_stands_a_dummy() -> None:
    tax = Taxonomy.from_edges([("0", "3"), ("1", "3"), ("2", "3"), ("0", "1")], kind="graph")
    links = links_of(tax, numbers(tax, "0", "1", "2"))
    assert names_of(tax, links) == ["3", "-"]
    assert near(tax, links) == [{"3": 1, "-": 1}, {"3": 1, "-": 1}, {"3": 1}]
    assert links.anchor == [1, 0]
    np.testing.assert_allclose(links_kernel(links), [[1.75, 1.25, 1], [1.25, 1.75, 1], [1, 1, 2]])


def test_every_component_of_a_graph_is_anchored_once_and_a_lone_label_holds_itself() -> None:
    tax = Taxonomy.from_edges([("a", "b"), ("c", "d"), ("d", "e")], nodes=["lone"], kind="graph")
    links = links_of(tax, numbers(tax, "a", "b", "c", "e", "lone"), root=2.0)
    assert sorted(links.anchor) == [2, 2]
    assert links.leaves[4] == {}
    assert links_kernel(links)[4].tolist() == [0, 0, 0, 0, 1]


def test_the_number_of_shared_path_nodes_is_the_kernel_of_a_tree() -> None:
    links = links_of(FIVE, numbers(FIVE, "2", "3", "4"))
    np.testing.assert_allclose(links_kernel(links), [[3, 2, 1], [2, 3, 1], [1, 1, 2]])


@given(
    seed=st.integers(0, 10**6), kind=st.sampled_from(KINDS), n=st.integers(2, 10),
    spawn=st.sampled_from(["inner", "all"]), root=st.sampled_from([0.5, 1.0, 4.0]),
)  # fmt: skip
@settings(max_examples=150)
def test_the_links_are_those_of_the_definition(seed, kind, n, spawn, root) -> None:
    rng = np.random.default_rng(seed)
    tax = random_taxonomy(rng, kind, n)
    labels = rng.permutation(n)[: rng.integers(1, n + 1)]
    links = links_of(tax, labels, spawn=spawn, root=root)
    assert len(links.leaves) == len(links.leaf_level) == len(labels)
    np.testing.assert_allclose(links_kernel(links), kernel(tax, labels, spawn=spawn, root=root), atol=1e-10)


def test_parallel_links_add_up() -> None:
    links = Links()
    links.add_inner()
    links.add_inner()
    links.join(0, 1)
    links.join(1, 0, 0.5)
    assert links.inner == [{1: 1.5}, {0: 1.5}]
    with pytest.raises(IndexError):
        links.join(0, 2)
