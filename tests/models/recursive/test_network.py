"""Fewer vertices, the same problem; and an order in which they can be solved one after the other."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from itertools import pairwise
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linnaeus import Taxonomy
from linnaeus.models.recursive import network as network_module
from linnaeus.models.recursive.network import (
    Links,
    Network,
    in_order,
    lay_out,
    leaf_order,
    links_of,
    make_network,
    reduce_links,
)
from tests.kernels.twins.recursive import _laplacian
from tests.models.recursive.oracles import KINDS, links_kernel, links_matrix, random_taxonomy

if TYPE_CHECKING:
    from _typeshed import TraceFunction

networks = {
    "seed": st.integers(0, 10**6),
    "kind": st.sampled_from(KINDS),
    "n": st.integers(2, 14),
    "spawn": st.sampled_from(["inner", "all"]),
}


def random_links(seed: int, kind: str, n: int, spawn: str, root: float = 1.0) -> Links:
    rng = np.random.default_rng(seed)
    tax = random_taxonomy(rng, kind, n)
    return links_of(tax, rng.permutation(n)[: rng.integers(1, n + 1)], spawn=spawn, root=root)


def matrix(net: Network) -> np.ndarray:
    """What the kernels solve."""
    return _laplacian(net.order, net.later_ptr, net.later, net.conductance) + np.diag(net.anchor)


def test_a_chain_of_vertices_is_one_link() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("A", "B"), ("B", "C"), ("R", "D")])
    links = reduce_links(links_of(tax, np.array([tax.index("C"), tax.index("D")])))
    assert [str(tax.names[v]) for v in links.node] == ["R"]
    assert links.leaves == [{0: pytest.approx(1 / 3)}, {0: 1}]
    assert links.leaf_level == [3, 1]


def test_vertices_without_leaves_below_them_are_dropped() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("A", "B"), ("B", "C"), ("R", "D"), ("D", "E"), ("D", "F")])
    links = reduce_links(links_of(tax, np.array([tax.index("E"), tax.index("F")])))
    assert [str(tax.names[v]) for v in links.node] == ["R", "D"]


def test_vertices_to_be_kept_are_kept() -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("A", "B"), ("B", "C")])
    whole = links_of(tax, np.array([tax.index("C")]))
    assert len(reduce_links(whole, keep={1}).inner) == 2
    assert len(reduce_links(whole).inner) == 1
    assert len(whole.inner) == 3  # untouched


@given(**networks, root=st.sampled_from([0.5, 1.0, 1e6]))
@settings(max_examples=150)
def test_reducing_changes_no_regulariser(seed, kind, n, spawn, root) -> None:
    links = random_links(seed, kind, n, spawn, root)
    fewer = reduce_links(links)
    assert len(fewer.inner) <= len(links.inner)
    np.testing.assert_allclose(links_kernel(fewer), links_kernel(links), atol=1e-9)


@given(**networks)
@settings(max_examples=100)
def test_nothing_is_left_to_reduce(seed, kind, n, spawn) -> None:
    links = reduce_links(random_links(seed, kind, n, spawn))
    beside = [sum(u in near for near in links.leaves) for u in range(len(links.inner))]
    for u, near in enumerate(links.inner):
        if not links.anchor[u]:
            assert len(near) + beside[u] > 2 or beside[u] == 2 or (len(near) + beside[u] == 1 and beside[u])


@given(**networks, reduced=st.booleans())
@settings(max_examples=150)
def test_the_network_is_the_problem_without_its_leaves(seed, kind, n, spawn, reduced) -> None:
    links = random_links(seed, kind, n, spawn)
    links = reduce_links(links) if reduced else links
    net = make_network(links, np.float64)
    A, k = links_matrix(links), len(links.inner)
    if not k:  # leaves that hold themselves: one vertex stands for none
        assert net.n_inner == 1
        assert net.anchor.tolist() == [1]
        return
    inner, across, leaves = A[:k, :k], A[:k, k:], A[k:, k:]
    np.testing.assert_allclose(matrix(net), inner - across @ np.linalg.inv(leaves) @ across.T, atol=1e-12)
    np.testing.assert_allclose(net.leaf_total, np.diag(leaves))
    shares = np.add.reduceat(np.append(net.leaf_share, 0), net.leaf_ptr[:-1]) * (np.diff(net.leaf_ptr) > 0)
    np.testing.assert_allclose(shares, np.diff(net.leaf_ptr) > 0)


@given(**networks)
@settings(max_examples=100)
def test_every_vertex_is_eliminated_once_and_its_neighbours_come_later(seed, kind, n, spawn) -> None:
    net = make_network(random_links(seed, kind, n, spawn), np.float32)
    turn = np.argsort(net.order)
    assert sorted(net.order.tolist()) == list(range(net.n_inner))
    edges, meshed = set(), np.flatnonzero(net.slot >= 0)
    for k in range(net.n_inner):
        later = net.later[net.later_ptr[k] : net.later_ptr[k + 1]]
        assert (turn[later] > k).all()
        edges |= {(k, int(turn[u])) for u in later}
        pairs = [tuple(sorted((turn[u], turn[w]))) for i, u in enumerate(later) for w in later[i + 1 :]]
        mesh = meshed[net.mesh[net.mesh_ptr[k] : net.mesh_ptr[k + 1]]]
        owner = np.searchsorted(net.later_ptr, mesh, side="right") - 1
        assert [(int(o), int(turn[net.later[e]])) for o, e in zip(owner, mesh, strict=True)] == pairs
        assert kind not in ("tree", "forest") or len(later) <= 1
    assert len(edges) == len(net.later)


@given(**networks)
@settings(max_examples=60)
def test_the_order_of_leaves_keeps_those_of_one_vertex_together(seed, kind, n, spawn) -> None:
    links = random_links(seed, kind, n, spawn)
    order = leaf_order(links)
    assert sorted(order.tolist()) == list(range(len(links.leaves)))
    if kind in ("tree", "forest"):
        homes = [next(iter(links.leaves[i])) for i in order]
        assert len({(a, b) for a, b in pairwise(homes) if a != b}) == len(set(homes)) - 1


def test_the_order_of_leaves_walks_the_tree_branch_by_branch(abc) -> None:
    tax = Taxonomy.from_edges([("R", "A"), ("R", "B"), ("A", "A1"), ("B", "B1"), *[
        (parent, f"{parent}{i}") for parent in ("A1", "B1", "A", "B") for i in (5, 6)
    ]])  # fmt: skip
    labels = np.flatnonzero(tax.is_leaf)
    names = [str(tax.names[v]) for v in labels[leaf_order(links_of(tax, labels))]]
    assert "".join(name[0] for name in names) in ("AAAABBBB", "BBBBAAAA")


def test_links_of_some_leaves_are_taken_from_the_rows() -> None:
    net = make_network(random_links(4, "dag", 12, "inner"), np.float64)
    columns = np.array([net.n_leaves - 1, 0])
    indptr, inner, share, weight = net.links(columns)
    for i, column in enumerate(columns):
        mine, rows = slice(indptr[i], indptr[i + 1]), slice(net.leaf_ptr[column], net.leaf_ptr[column + 1])
        np.testing.assert_array_equal(inner[mine], net.leaf_inner[rows])
        np.testing.assert_array_equal(share[mine], net.leaf_share[rows])
        np.testing.assert_array_equal(weight[mine], net.leaf_weight[rows])


def crossed_links(n_parents: int, n_children: int) -> Links:
    """A taxonomy of two levels in which every label has three random parents: most of its fill is one clique."""
    rng = np.random.default_rng(0)
    names = [f"parent {i}" for i in range(n_parents)]
    edges = [("root", name) for name in names]
    for child in range(n_children):
        edges += [(names[i], f"child {child}") for i in rng.choice(n_parents, 3, replace=False)]
    tax = Taxonomy.from_edges(edges)
    return links_of(tax, np.flatnonzero(tax.is_leaf))


def test_a_network_with_large_fill_is_laid_out_with_work_in_proportion_to_its_edges() -> None:
    links, n_lines = crossed_links(200, 500), 0

    def count(frame: FrameType, event: str, _: object) -> TraceFunction | None:
        nonlocal n_lines
        n_lines += event == "line"
        return count if frame.f_code.co_filename == network_module.__file__ else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        net = lay_out(links, np.float32)[2]
    finally:
        sys.settrace(before)
    n_edges, n_pairs = len(net.later), len(net.mesh)
    assert n_pairs > 20 * n_edges
    assert n_lines < 30 * n_edges  # of Python: one for every pair would be more


@given(**networks, sparse=st.integers(0, 3), pairs=st.integers(1, 5))
@settings(max_examples=60)
def test_bits_and_sets_give_the_same_order_and_network(seed, kind, n, spawn, sparse, pairs) -> None:
    links = random_links(seed, kind, n, spawn)
    expected = lay_out(links, np.float32)[2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(network_module, "_SPARSE", sparse)
        patch.setattr(network_module, "_PAIRS", pairs)
        net = lay_out(links, np.float32)[2]
    for field in fields(Network):
        np.testing.assert_array_equal(getattr(net, field.name), getattr(expected, field.name))


@given(**networks)
@settings(max_examples=60)
def test_vertices_in_order_need_no_second_search_for_one(seed, kind, n, spawn) -> None:
    links = in_order(random_links(seed, kind, n, spawn))
    net, searched = make_network(links, np.float32), make_network(replace(links, later=None), np.float32)
    for field in fields(Network):
        np.testing.assert_array_equal(getattr(net, field.name), getattr(searched, field.name))
