"""Regions of the taxonomy: of about equal numbers of leaves, connected; a move of them lowers the objective."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from linnaeus import RRSVM
from linnaeus.models.gpu.inner import inner_matrix
from linnaeus.models.gpu.joint import Regions, regions_of
from linnaeus.models.recursive.network import in_order, links_of, make_network, reduce_links
from tests.models.gpu.worked import CPU, problem, tree


@pytest.mark.parametrize("kind", ["tree", "dag", "graph"])
@pytest.mark.parametrize("n_regions", [1, 3, 1000])
def test_regions_are_connected_and_cover_everything(kind, n_regions) -> None:
    tax = tree(kind)
    labels = np.array([v for v in range(tax.n_nodes) if v != tax.root and tax.names[v] != "C"])
    links = in_order(reduce_links(links_of(tax, labels)))
    E, network = inner_matrix(links), make_network(links, np.float64)
    region = regions_of(E, network, n_regions)
    assert len(region) == network.n_inner
    assert set(region) == set(range(region.max() + 1))
    n_parts = connected_components(E, directed=False)[0]
    assert region.max() + 1 >= n_parts
    for one in range(region.max() + 1):
        inside = np.flatnonzero(region == one)
        assert connected_components(E[inside][:, inside], directed=False)[0] == 1


def test_a_move_never_raises_the_objective(monkeypatch) -> None:
    tax, X, Y = problem()
    figures: list[float] = []
    at = Regions._at

    def watched(self, d, *rest):
        found = at(self, d, *rest)
        if not d.any():
            figures.append(found[0])  # a move begins
            best.append(found[0])
        best[-1] = min(best[-1], found[0])
        return found

    best: list[float] = []
    monkeypatch.setattr(Regions, "_at", watched)
    RRSVM(tax, tol=1e-3, engine=CPU).fit(X, Y)
    assert len(figures) >= 2
    assert best[0] < figures[0]
