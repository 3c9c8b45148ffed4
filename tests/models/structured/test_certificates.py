"""Gaps of fitted models against enumeration of all labellings and a generic solver."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from linnaeus import HM3, Taxonomy
from tests.models.structured.oracles import labellings, psi, psi_paths, solve_qp

KINDS = [("tree", "zero_one"), ("tree", "symmetric"), ("forest", "zero_one"), ("graph", "zero_one")]


def drawn(kind: str, seed: int) -> tuple[Taxonomy, Any, list[tuple[int, ...]], np.ndarray, list[tuple[int, ...]]]:
    """A taxonomy, its parents or pairs, all labellings that compete, documents and their labellings."""
    rng = np.random.default_rng(seed)
    k, n_docs = int(rng.integers(2, 5)), int(rng.integers(3, 7))
    names = [f"n{v}" for v in range(k)]
    X = rng.standard_normal((n_docs, 3)).astype(np.float32)
    Y = rng.random((n_docs, k)) < 0.4
    Y[0] = True  # every node is learned
    if kind == "graph":
        pairs = [(a, b) for b in range(k) for a in range(b) if rng.random() < 0.6]
        tax = Taxonomy.from_edges([(names[a], names[b]) for a, b in pairs], nodes=names, kind="graph")
        return tax, pairs, list(product([0, 1], repeat=k)), X, [tuple(row.astype(int).tolist()) for row in Y]
    parents = [-1, *(int(rng.integers(-1 if kind == "forest" else 0, v)) for v in range(1, k))]
    for v in range(k - 1, -1, -1):
        if parents[v] >= 0:
            Y[:, parents[v]] |= Y[:, v]
    tax = Taxonomy.from_edges([(names[p], names[v]) for v, p in enumerate(parents) if p >= 0], nodes=names, root=None)
    found = labellings(parents, consistent=kind == "forest")
    return tax, parents, found, X, [tuple(row.astype(int).tolist()) for row in Y]


def features(kind: str, shape: Any, y: tuple[int, ...]) -> np.ndarray:
    """Paths in forests, edges in trees and graphs; a node of a graph that touches no edge has one from a label 1."""
    if kind == "forest":
        return psi_paths(y)
    if kind == "tree":
        return psi(shape, y, above_root=True).ravel()
    touched = {v for pair in shape for v in pair}
    pairs = [2 * y[a] + y[b] for a, b in shape] + [2 + y[v] for v in range(len(y)) if v not in touched]
    return np.eye(4)[pairs].ravel()


def stored_weights(model: HM3, kind: str, names: list[str], shape: Any) -> np.ndarray:
    """The weights of the model, n_features + 1 x size of `features`, in double precision."""
    W = np.vstack([model.weights_, model.intercept_]).astype(np.float64)
    places = [model._labellings.nodes.tolist().index(model.taxonomy_.index(name)) for name in names]
    if kind == "forest":
        return W[:, places]
    if kind == "tree":
        edges = W[:, : 3 * len(names)].reshape(len(W), -1, 3)[:, places]
        return np.stack([edges[..., 0], -edges.sum(axis=2), edges[..., 1], edges[..., 2]], axis=2).reshape(len(W), -1)
    labellings = model._labellings.labellings
    own = list(zip(labellings.first.tolist(), labellings.second.tolist(), strict=True))
    touched = {v for pair in shape for v in pair}
    wanted = [(places[a], places[b]) for a, b in shape] + [
        (-1, places[v]) for v in range(len(names)) if v not in touched
    ]
    columns = []
    for a, b in wanted:
        at, order = (own.index((a, b)), [0, 1, 2, 3]) if (a, b) in own else (own.index((b, a)), [0, 2, 1, 3])
        columns += [4 * at + u for u in order]
    return W[:, columns]


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0, 100.0])
@pytest.mark.parametrize(("kind", "cost"), KINDS)
@pytest.mark.parametrize("dense", [False, True])
def test_a_fit_converges_or_warns_and_its_gap_is_that_of_the_stored_weights(kind, cost, dense, C) -> None:
    tax, shape, competitors, X, truth = drawn(kind, int(10 * C) + dense)
    names = [f"n{v}" for v in range(len(truth[0]))]
    labels = [[name for name, on in zip(names, y, strict=True) if on] for y in truth]
    settings = {"features": "paths"} if kind == "forest" else {}
    model = HM3(tax, C=C, cost=cost, tol=1e-3, max_iter=40, random_state=0, **settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X if dense else sparse.csr_array(X), labels)
    rows = np.hstack([X, np.ones((len(X), 1))]).astype(np.float64)
    W = stored_weights(model, kind, names, shape)
    owner, losses, vectors, slacks = [], [], [], np.zeros(len(X))
    for i, y in enumerate(truth):
        for u in competitors:
            wrong = sum(a != b for a, b in zip(y, u, strict=True))
            difference = np.outer(rows[i], features(kind, shape, y) - features(kind, shape, u))
            owner.append(i)
            losses.append(float(wrong > 0 if cost == "zero_one" else wrong))
            vectors.append(difference.ravel())
            slacks[i] = max(slacks[i], losses[-1] - float((W * difference).sum()))
    primal = 0.5 * float(np.square(W).sum()) + C * float(slacks.sum())
    assert model.objective_ == pytest.approx(primal, rel=1e-9)

    n, m = W.size, len(X)
    G = -np.hstack([np.array(vectors), np.eye(m)[owner]])
    linear = np.append(np.zeros(n), np.full(m, C))
    optimum = solve_qp(np.diag(np.append(np.ones(n), np.zeros(m))), linear, G, -np.array(losses))[1]
    assert model.objective_ - model.duality_gap_ <= optimum * (1 + 1e-6)
    warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
    assert warned == (model.duality_gap_ > 1e-3 * model.objective_ * (1 + 1e-6))
