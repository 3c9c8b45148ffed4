"""Passes over shards: what workers elsewhere are sent gives what it gives here."""

from __future__ import annotations

import pickle

import numpy as np
from scipy import sparse

from linnaeus.models.solvers.passive_aggressive import prepared
from linnaeus.models.structured.global_tree import Branching, Shards, TreeOfNodes, visit_shard
from tests.contracts.configurations import documents, taxonomy


def test_a_shard_that_was_sent_elsewhere_is_visited_alike() -> None:
    tax = taxonomy()
    X, labels = documents(tax)
    nodes = np.flatnonzero(np.arange(tax.n_nodes) != tax.root)
    tree = TreeOfNodes.of(tax, nodes)
    closed = sparse.csr_array(tax.close(tax.indicator(labels))[:, nodes[tree.order]])
    closed.sort_indices()
    ends = np.append(np.ones(len(nodes), dtype=bool), False)
    W = sparse.csr_array(1e-3 * np.random.default_rng(0).normal(size=(X.shape[1], len(nodes))))
    here = Shards(
        *(prepared(X, constant=False), np.ones(X.shape[0]), closed, tree, ends, False, 0.01, 1.0, W),
        Branching.zeros(len(nodes), 3),
    )
    first = visit_shard(here, np.arange(40))
    there = pickle.loads(pickle.dumps(here))
    for array in (there.X.data, there.W.data, there.tree.children, there.weight, there.branching.node):
        array.flags.writeable = False  # as arrays of an object store are
    second = visit_shard(there, np.arange(40))
    assert first.n_updates == second.n_updates > 0
    np.testing.assert_array_equal(first.coefficients.toarray(), second.coefficients.toarray())
    np.testing.assert_array_equal(first.branching.node, second.branching.node)
    assert not here.branching.node.any()  # what is shared does not move
