"""Small problems that the tests of the device solve, and the engine they solve them with."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from linnaeus import Taxonomy
from linnaeus.engine import GPUEngine
from tests.contracts.configurations import documents, taxonomy

CPU = GPUEngine("cpu")


def tree(kind: str) -> Taxonomy:
    """The taxonomies of the contract tests, and a graph with a cycle."""
    if kind != "graph":
        return taxonomy(kind)
    edges = [("A", "B"), ("B", "C"), ("C", "A"), ("C", "D"), ("D", "E"), ("E", "F"), ("F", "D"), ("G", "A")]
    return Taxonomy.from_edges(edges, kind="graph")


def problem(kind: str = "tree", n_docs: int = 80) -> tuple[Taxonomy, Any, list[list[str]]]:
    tax = tree(kind)
    if kind != "graph":
        return tax, *documents(tax, n_docs)
    rng = np.random.default_rng(1)
    names = list("ABDEFG")  # C has no document: a vertex between leaves
    y = [[names[rng.integers(6)]] for _ in range(n_docs)]
    X = (rng.random((n_docs, 20)) < 0.2) + np.array(
        [[names.index(labels[0]) == f // 3 for f in range(20)] for labels in y]
    )
    return tax, sparse.csr_array(X.astype(np.float32)), y


def random_csr(n_rows: int, n_columns: int, seed: int = 0, density: float = 0.2) -> Any:
    """Sparse numbers, with an empty row and an empty column."""
    X = sparse.random_array((n_rows, n_columns), density=density, rng=np.random.default_rng(seed), format="lil")
    X[n_rows // 2, :] = 0
    X[:, n_columns // 2] = 0
    return sparse.csr_array(X.astype(np.float32))
