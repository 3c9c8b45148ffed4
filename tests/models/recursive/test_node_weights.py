"""Weights of nodes without documents: the minimiser of the regulariser, given the weights of the labels."""

from __future__ import annotations

import numpy as np
import pytest

from linnaeus import RRSVM, Taxonomy


def random_problem(seed: int) -> tuple[Taxonomy, np.ndarray, list[list[str]]]:
    """A tree, a DAG or a forest of DAGs, half of whose nodes are labels."""
    rng = np.random.default_rng(seed)
    n, shape = int(rng.integers(5, 14)), seed % 3
    edges = []
    for v in range(1, n):
        n_parents = 1 if shape == 0 else int(rng.integers(1, 3))
        edges += [(f"n{p}", f"n{v}") for p in rng.choice(v, size=min(v, n_parents), replace=False)]
    if shape == 2:
        edges = [edge for edge in edges if edge[0] != "n0"] or edges
    tax = Taxonomy.from_edges(edges)
    labels = rng.choice(tax.names, size=max(2, tax.n_nodes // 2), replace=False)
    return tax, rng.normal(size=(30, 4)), [[str(labels[i % len(labels)])] for i in range(30)]


def minimiser(tax: Taxonomy, labels: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Weights of all other nodes: links of weight 1, a leaf under each label with children, the top pulled to zero."""
    n = tax.n_nodes
    parents = [[int(p) for p in tax.parents(v)] for v in range(n)]
    inner = {p for above in parents for p in above}
    own = {v: n + i for i, v in enumerate(sorted(inner & labels.keys()))}
    root, tops = n + len(own), [v for v in range(n) if not parents[v]]
    links = [(v, p) for v in range(n) for p in parents[v]] + list(own.items())
    links += [(v, root) for v in tops] if len(tops) > 1 else []
    L = np.zeros((root + 1, root + 1))
    for u, v in links:
        L[[u, v], [u, v]] += 1.0
        L[[u, v], [v, u]] -= 1.0
    anchor = root if len(tops) > 1 else tops[0]
    L[anchor, anchor] += 1.0
    fixed = {own.get(v, v): weights for v, weights in labels.items()}
    free = [v for v in range(root + 1) if v not in fixed and L[v, v] > 0]
    B = L[np.ix_(free, list(fixed))] @ np.array(list(fixed.values()))
    return dict(zip(free, np.linalg.solve(L[np.ix_(free, free)], -B), strict=True))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("seed", range(15))
def test_nodes_without_documents_have_the_weights_that_minimise_the_regulariser(seed) -> None:
    tax, X, y = random_problem(seed)
    model = RRSVM(taxonomy=tax, C=1.0, random_state=0).fit(X, y)
    labels = {int(v): np.append(model.coef_[i], model.intercept_[i]) for i, v in enumerate(model.nodes_)}
    expected = minimiser(tax, labels)
    for v in set(range(tax.n_nodes)) - labels.keys():
        weights, intercept = model.node_weights(int(v))
        np.testing.assert_allclose(np.append(weights, intercept), expected[v], atol=1e-6)
