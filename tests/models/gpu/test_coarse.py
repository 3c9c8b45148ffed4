"""Regions of the taxonomy: of about equal numbers of leaves, connected; a move of them lowers the objective."""

from __future__ import annotations

import numpy as np
import pytest
import torch
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
    begin, move = Regions.begin, Regions.move
    before: list[float] = []
    after: list[float] = []

    def begun(self) -> None:
        begin(self)
        before.append(float(self.value))

    def moved(self) -> None:
        move(self)
        after.append(float(self.value))

    monkeypatch.setattr(Regions, "begin", begun)
    monkeypatch.setattr(Regions, "move", moved)
    RRSVM(tax, tol=1e-3, engine=CPU).fit(X, Y)
    assert len(before) == len(after) >= 2
    assert after[0] < before[0]
    assert all(there <= here for here, there in zip(before, after, strict=True))


def test_scores_move_with_the_regions(monkeypatch) -> None:
    tax, X, Y = problem("dag")
    move, seen = Regions.move, []

    def moved(self) -> None:
        move(self)
        for block, S in self.moved():
            torch.testing.assert_close(S, block.S + block.centre_scores(self.M, self.storage), rtol=1e-4, atol=1e-4)
        seen.append(float(self.d.abs().max()))

    monkeypatch.setattr(Regions, "move", moved)
    RRSVM(tax, tol=1e-3, engine=CPU).fit(X, Y)
    assert seen
    assert max(seen) > 0
