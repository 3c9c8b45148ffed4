from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from linnaeus.engine import Clock, SerialEngine
from linnaeus.errors import ParameterError, UnknownLabelError
from linnaeus.models.published.hm3_local import AdditiveDocuments, LocalDocuments, local_columns
from linnaeus.models.published.hm3_variants import ActiveTree
from linnaeus.models.structured.block_ascent import BlockAscent
from linnaeus.models.structured.tree import TreeStructure, edge_scores
from tests.models.structured.oracles import edge_pairs, loss, solve_qp, taxonomy_of, weights_of_nodes

PARENTS = [-1, 0, 0, 1]
TRUTH = [(1, 1, 0, 1), (1, 0, 1, 0), (0, 0, 0, 0)]
OWN = {"n0": [2, 3], "n1": [4, 5], "n2": [6, 7], "n3": [8, 9]}  # columns 0 and 1 are global


def documents() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(3, 10))


def structure(*, active: bool = False) -> TreeStructure:
    tax = taxonomy_of(PARENTS)
    if active:
        return ActiveTree(tax, np.arange(4), "super", consistent=False)
    return TreeStructure(tax, np.arange(4), "super", consistent=False)


def local() -> Any:
    return local_columns(OWN, taxonomy_of(PARENTS), structure().nodes, 10)


def solved(kept: Any, cost: str = "symmetric", C: float = 0.5) -> BlockAscent:
    tax, at = taxonomy_of(PARENTS), structure(active=isinstance(kept, AdditiveDocuments))
    Y = tax.indicator([[f"n{v}" for v, on in enumerate(y) if on] for y in TRUTH])
    found = at.blocks(Y, np.ones(4), cost, np.full(3, C))
    if isinstance(kept, AdditiveDocuments):
        found.products = kept.products
    solver = BlockAscent(kept, found, np.random.default_rng(0), SerialEngine(), batch=1)
    solver.run(1e-9, 5000, Clock(None), lambda measure: None)
    return solver


def generic_optimum(map_of: Any, cost: str = "symmetric", C: float = 0.5) -> float:
    """The dual over all labellings; ``map_of(x, pairs)`` is the joint feature vector of a labelling."""
    X, c = documents(), weights_of_nodes(PARENTS, "uniform")
    owner, losses, rows = [], [], []
    for i, t in enumerate(TRUTH):
        for y in product([0, 1], repeat=4):
            owner.append(i)
            losses.append(loss(PARENTS, cost, c, t, y))
            rows.append(map_of(X[i], edge_pairs(PARENTS, t)) - map_of(X[i], edge_pairs(PARENTS, y)))
    A, totals = np.array(rows), np.eye(3)[owner].T
    G, h = np.vstack([-np.eye(len(owner)), totals]), np.append(np.zeros(len(owner)), np.full(3, C))
    return -solve_qp(A @ A.T, -np.array(losses), G, h)[1]


def seen(x: np.ndarray, v: int) -> np.ndarray:
    return np.append(x[OWN[f"n{v}"]], x[:2])


def orthogonal_map(x: np.ndarray, pairs: list[int]) -> np.ndarray:
    found = np.zeros((4, 4, 4))
    for v, u in enumerate(pairs):
        found[v, u] = seen(x, v)
    return found.ravel()


def additive_map(x: np.ndarray, pairs: list[int]) -> np.ndarray:
    found = np.zeros((4, 4))
    for v, u in enumerate(pairs):
        found[u] += seen(x, v)
    return found.ravel()


@pytest.mark.parametrize("cost", ["symmetric", "hierarchical"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_features_tied_to_nodes_have_the_optimum_of_the_generic_solver(kind, cost) -> None:
    at = structure()
    kept = LocalDocuments(kind(documents()), at.width, at.columns, local())
    assert solved(kept, cost).history[-1].primal == pytest.approx(generic_optimum(orthogonal_map, cost), abs=1e-6)


@pytest.mark.parametrize("cost", ["symmetric", "hierarchical"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_additive_features_have_the_optimum_of_the_generic_solver(kind, cost) -> None:
    at = structure()
    kept = AdditiveDocuments(kind(documents()), at.width, at.columns, local())
    assert solved(kept, cost).history[-1].primal == pytest.approx(generic_optimum(additive_map, cost), abs=1e-6)


@pytest.mark.parametrize("Kind", [LocalDocuments, AdditiveDocuments])
def test_weights_score_documents_as_the_kept_does(Kind) -> None:
    at, X = structure(), documents()
    kept = Kind(X, at.width, at.columns, local())
    solved(kept)
    F = kept.rows(np.arange(3))
    np.testing.assert_allclose(X @ kept.weights(), F, atol=1e-12)
    if Kind is LocalDocuments:
        H = np.einsum("ip,pnu->inu", X, edge_scores(kept.weights(), at.layout))
        np.testing.assert_allclose(edge_scores(F, at.layout), H, atol=1e-12)
        W = edge_scores(kept.weights(), at.layout)
        for v, columns in OWN.items():
            others = at.nodes != int(v[1:])
            assert not W[columns][:, others].any()
            assert W[columns][:, ~others].any()


def test_wrong_columns_are_named() -> None:
    tax, nodes = taxonomy_of(PARENTS), structure().nodes
    with pytest.raises(UnknownLabelError, match="'n9', which is not a node"):
        local_columns({"n9": [1]}, tax, nodes, 10)
    with pytest.raises(ParameterError, match=r"'n1' are not columns of X; expected numbers from 0 to 9"):
        local_columns({"n1": [10]}, tax, nodes, 10)
    with pytest.raises(ParameterError, match="Column 4 is tied to nodes twice"):
        local_columns({"n1": [4], "n2": [4, 5]}, tax, nodes, 10)
    with pytest.raises(ParameterError, match="expected a dict"):
        local_columns([1, 2], tax, nodes, 10)
    at = structure()
    with pytest.raises(ParameterError, match="the same number of columns"):
        AdditiveDocuments(documents(), at.width, at.columns, local_columns({"n1": [4]}, tax, nodes, 10))


def test_columns_of_nodes_that_are_not_learned_count_nowhere() -> None:
    tax = taxonomy_of(PARENTS)
    assert local_columns({"n3": [0]}, tax, np.array([0, 1, 2]), 2).owner.tolist() == [-2, -1]
