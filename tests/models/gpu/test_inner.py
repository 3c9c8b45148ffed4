"""Inner vertices: the matrix against the energy it stands for, solves against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from linnaeus.models.gpu.inner import Inner, inner_matrix
from linnaeus.models.recursive.network import in_order, links_of, make_network, reduce_links
from tests.models.gpu.worked import tree


@pytest.mark.parametrize("kind", ["tree", "dag", "graph"])
def test_products_and_solves(kind) -> None:
    tax = tree(kind)
    labels = np.array([v for v in range(tax.n_nodes) if v != tax.root and tax.names[v] != "C"])
    links = in_order(reduce_links(links_of(tax, labels, spawn="inner", root=1.0)))
    E = inner_matrix(links)
    network = make_network(links, np.float64)
    inner, dense, n = Inner(E, network, "cpu"), E.toarray(), E.shape[0]
    assert n > 1
    np.testing.assert_allclose(dense, dense.T)
    rng = np.random.default_rng(0)
    q = rng.standard_normal((n, 5))
    np.testing.assert_allclose(inner.times(torch.as_tensor(q)), dense @ q)
    np.testing.assert_allclose(inner.times(torch.as_tensor(q).float()), dense @ q, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(inner.solve_E(torch.as_tensor(q.copy())), np.linalg.solve(dense, q))
    h = rng.uniform(0, 3, (n, 5))
    inner.with_diagonal.factor(torch.as_tensor(h).float())
    found = inner.with_diagonal(torch.as_tensor(q).float())
    wanted = np.column_stack([np.linalg.solve(dense + np.diag(h[:, f]), q[:, f]) for f in range(5)])
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)
