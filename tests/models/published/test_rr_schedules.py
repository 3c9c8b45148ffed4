"""Who moves when: neighbours never in the same turn, unless all are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import RRSVM, RRLogistic, Taxonomy
from linnaeus.errors import ParameterError
from linnaeus.models.published.rr_schedules import colour, make_schedule, scheduled_order
from linnaeus.models.recursive.network import links_of, make_network
from tests.strategies import taxonomies


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 12) -> list[dict[int, float]]:
    """Random undirected graphs as lists of neighbours."""
    n = draw(st.integers(0, max_nodes))
    near: list[dict[int, float]] = [{} for _ in range(n)]
    for u in range(n):
        for v in draw(st.sets(st.integers(0, n - 1), max_size=4)) - {u}:
            near[u][v] = near[v][u] = 1.0
    return near


@st.composite
def labelled(draw: st.DrawFn, kinds: tuple[str, ...] = ("tree", "dag", "graph")):
    """A taxonomy of 1 to 10 nodes, some of its nodes as labels, and where leaves are spawned."""
    kind = draw(st.sampled_from(kinds))
    if kind == "graph":
        near = draw(graphs(10).filter(bool))
        edges = [(f"n{u}", f"n{v}") for u, row in enumerate(near) for v in row if u < v]
        tax = Taxonomy.from_edges(edges, nodes=[f"n{u}" for u in range(len(near))], kind="graph")
    else:
        tax = draw(taxonomies(max_nodes=10, kinds=(kind,)))
    labels = draw(st.sets(st.integers(0, tax.n_nodes - 1), min_size=1))
    return tax, np.array(sorted(labels)), draw(st.sampled_from(["inner", "all"]))


def ordered(tax, labels, spawn, name):
    """Links and schedule as a fit has them."""
    labels = labels[scheduled_order(links_of(tax, labels, spawn=spawn), name)]
    links = links_of(tax, labels, spawn=spawn)
    return links, make_schedule(links, name, np.float64)


@given(graphs())
def test_neighbours_differ_in_colour_and_colours_are_few(near) -> None:
    degree = [len(row) for row in near]
    found = colour(near, degree)
    assert all(found[u] != found[v] for u, row in enumerate(near) for v in row)
    assert sorted(set(found.tolist())) == list(range(len(set(found.tolist()))))
    assert found.max(initial=-1) <= max(degree, default=0)


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_two_colours_are_enough_without_odd_cycles(a, b, data) -> None:
    near: list[dict[int, float]] = [{} for _ in range(a + b)]
    for u in range(a):
        for v in data.draw(st.sets(st.integers(a, a + b - 1))):
            near[u][v] = near[v][u] = 1.0
    assert colour(near, [len(row) for row in near]).max() <= 1


def test_the_vertex_of_highest_degree_takes_the_first_colour() -> None:
    assert colour([{1: 1.0}, {0: 1.0}], [2, 3]).tolist() == [1, 0]


def test_an_odd_cycle_takes_three_colours() -> None:
    ring = [{(u - 1) % 5: 1.0, (u + 1) % 5: 1.0} for u in range(5)]
    assert colour(ring, [2] * 5).max() == 2


def assert_no_neighbours_in_a_turn(links, schedule) -> None:
    for u, row in enumerate(links.inner):
        assert all(schedule.inner_turn[u] != schedule.inner_turn[v] for v in row)
    for leaf, row in enumerate(links.leaves):
        assert all(schedule.leaf_turn[leaf] != schedule.inner_turn[u] for u in row)


@given(labelled(("tree",)))
def test_levels_alternate_on_trees(case) -> None:
    links, schedule = ordered(*case, "levels")
    assert_no_neighbours_in_a_turn(links, schedule)
    assert schedule.n_turns <= 2
    assert schedule.leaf_turn[int(np.argmax(links.leaf_level))] == 0  # from the deepest leaves upwards


@given(labelled())
def test_colours_separate_neighbours_on_any_taxonomy_and_the_leaves_begin(case) -> None:
    links, schedule = ordered(*case, "colours")
    assert_no_neighbours_in_a_turn(links, schedule)
    assert not schedule.leaf_turn.any()
    assert schedule.n_turns <= 3 or case[0].kind != "tree"


@given(labelled(("tree",)))
def test_leaves_are_in_the_order_of_their_turns_and_those_beside_a_vertex_share_one(case) -> None:
    links, schedule = ordered(*case, "levels")
    assert (np.diff(schedule.leaf_turn) >= 0).all()
    for u in range(len(links.inner)):
        beside = [leaf for leaf, row in enumerate(links.leaves) if u in row]
        assert len(set(schedule.leaf_turn[beside].tolist())) <= 1


@settings(max_examples=50)
@given(labelled(), st.sampled_from(["colours", "all"]))
def test_inner_vertices_take_means_of_their_neighbours_and_of_zero(case, name) -> None:
    links, schedule = ordered(*case, name)
    network = make_network(links, np.float64)
    assert schedule.between.shape == schedule.through.shape == (network.n_inner, network.n_inner)
    assert (schedule.total > 0).all()
    weights = schedule.between.sum(axis=1) + schedule.through.sum(axis=1) + network.anchor
    np.testing.assert_allclose(weights, schedule.total)


@pytest.mark.parametrize("kind", ["dag", "graph"])
def test_levels_are_refused_where_links_may_skip_them(kind) -> None:
    edges = [("R", "A"), ("R", "B"), ("A", "C"), ("B", "C")]
    tax = Taxonomy.from_edges(edges, kind="graph" if kind == "graph" else None)
    with pytest.raises(ParameterError, match=rf"schedule='levels' needs a tree, got a {kind}; schedule='colours'"):
        RRSVM(tax, schedule="levels").fit(np.eye(2), ["B", "C"])


@pytest.mark.parametrize("model", [RRSVM, RRLogistic])
def test_an_unknown_schedule_is_named_with_the_nearest(model) -> None:
    with pytest.raises(ParameterError, match="schedule='colors'.*did you mean 'colours'"):
        model(schedule="colors").fit(np.eye(2), ["A", "B"])
