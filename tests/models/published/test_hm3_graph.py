from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from linnaeus import Taxonomy
from linnaeus.errors import TaxonomyError
from linnaeus.models.published.hm3_variants import GraphStructure
from tests.models.structured.oracles import solve_qp
from tests.models.structured.solving import solved

SQUARE = Taxonomy.from_edges([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"), ("a", "c")], nodes=["e"], kind="graph")
LABELS = [["a", "b"], ["c", "e"], ["d"], []]


def documents() -> np.ndarray:
    return np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.5], [0.3, 0.0, 1.0], [0.1, 0.1, 0.1]])


def generic_optimum(structure: GraphStructure, truth: np.ndarray, X: np.ndarray, C: float, cost: str) -> float:
    """The dual over all labellings, features and losses straight from their definitions."""
    first, second = structure.labellings.first, structure.labellings.second

    def psi(y: tuple[int, ...]) -> np.ndarray:
        found = np.zeros((len(first), 4))
        for p, (a, b) in enumerate(zip(first, second, strict=True)):
            found[p, 2 * (1 if a < 0 else y[a]) + y[b]] = 1
        return found.ravel()

    owner, losses, rows = [], [], []
    for i, t in enumerate(truth):
        for y in product([0, 1], repeat=len(t)):
            wrong = sum(a != b for a, b in zip(t, y, strict=True))
            owner.append(i)
            losses.append(float(wrong if cost == "symmetric" else wrong > 0))
            rows.append(np.outer(psi(tuple(t)) - psi(y), X[i]).ravel())
    A, totals = np.array(rows), np.eye(len(truth))[owner].T
    G = np.vstack([-np.eye(len(owner)), totals])
    h = np.append(np.zeros(len(owner)), np.full(len(truth), C))
    return -solve_qp(A @ A.T, -np.array(losses), G, h)[1]


@pytest.mark.parametrize("cost", ["symmetric", "zero_one"])
def test_a_graph_with_cycles_has_the_optimum_of_the_generic_solver(cost) -> None:
    X, Y = documents(), SQUARE.indicator(LABELS)
    structure = GraphStructure(SQUARE, np.arange(5))
    blocks = structure.blocks(Y, np.ones(5), cost, np.full(4, 0.8))
    solver = solved(blocks, X @ X.T, structure.width, 0)
    assert solver.history[-1].primal == pytest.approx(generic_optimum(structure, Y.toarray(), X, 0.8, cost), abs=1e-6)


def test_margins_and_single_labels_are_those_of_all_labellings() -> None:
    structure = GraphStructure(SQUARE, np.arange(5))
    rng = np.random.default_rng(0)
    F = np.zeros((3, structure.width))
    F[:, : structure.space.size] = rng.normal(size=(3, structure.space.size))
    H = structure.space.pairs(F[:, : structure.space.size])
    first, second = structure.labellings.first, structure.labellings.second
    for d in range(3):
        scores = {}
        for y in product([0, 1], repeat=5):
            u = [2 * (1 if a < 0 else y[a]) + y[b] for a, b in zip(first, second, strict=True)]
            scores[y] = sum(H[d, p, k] for p, k in enumerate(u))
        for v in range(5):
            on, off = (max(s for y, s in scores.items() if y[v] == b) for b in (1, 0))
            assert structure.margins(F)[d, v] == pytest.approx(on - off)
            alone = tuple(int(w == v) for w in range(5))
            assert structure.node_weights(F)[d, v] == pytest.approx(scores[alone] - scores[(0,) * 5])


def test_only_the_edges_among_the_nodes_given_count() -> None:
    structure = GraphStructure(SQUARE, np.array([SQUARE.index(name) for name in "bde"]))
    assert (structure.labellings.first == -1).all()
    assert len(structure.labellings.second) == 3


def test_a_wide_graph_is_refused_with_its_width() -> None:
    names = [f"n{v}" for v in range(24)]
    clique = Taxonomy.from_edges([(a, b) for k, a in enumerate(names) for b in names[:k]], kind="graph")
    with pytest.raises(TaxonomyError, match="width 23"):
        GraphStructure(clique, np.arange(24))
