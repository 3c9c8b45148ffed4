"""Blocks of a worked case, solved: what the tests of the variants share."""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus import Taxonomy
from linnaeus.engine import Clock, SerialEngine
from linnaeus.models.kernels import Precomputed
from linnaeus.models.structured.block_ascent import BlockAscent
from linnaeus.models.structured.documents import GramDocuments
from linnaeus.models.structured.tree import Layout, edge_losses, make_layout
from tests.models.structured.oracles import Case, taxonomy_of


def layout_of(case: Case) -> Layout:
    """The case's tree; nodes are numbered breadth first there, depth first here."""
    tax = taxonomy_of(case.parents)
    root = "super" if case.above_root else "paper"
    return make_layout(tax, np.arange(tax.n_nodes), root, consistent=case.consistent)


def pieces(case: Case) -> tuple[Layout, np.ndarray, np.ndarray, np.ndarray]:
    """Layout, losses of edges, true labels in its order, C of documents."""
    layout = layout_of(case)
    truth = np.array(case.truth, dtype=bool)[:, layout.nodes]
    table = edge_losses(layout, case.weights[layout.nodes], case.cost) if case.cost != "zero_one" else None
    return layout, table, truth, np.full(len(truth), case.C)


def solved(blocks: Any, K: np.ndarray, width: int, columns: int, tol: float = 1e-9) -> BlockAscent:
    """Block ascent to a relative gap of ``tol``."""
    kernel = Precomputed()
    documents = GramDocuments(kernel, kernel.prepare(K), width, columns, np.float64)
    documents.restart(blocks.coefficients(slice(None)))
    solver = BlockAscent(documents, blocks, np.random.default_rng(0), SerialEngine(), batch=2)
    solver.run(tol, 3000, Clock(None), lambda measure: None)
    return solver


def flat(n: int) -> Taxonomy:
    return Taxonomy.flat([f"n{v}" for v in range(n)])
