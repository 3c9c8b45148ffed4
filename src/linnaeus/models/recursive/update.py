"""More documents and more nodes for a joint training that is done: only what they touch is solved again.

With dual variables 0 for the new pairs the old dual point stays feasible, so the gap of the enlarged problem is known
at once and falls from there. Blocks of leaves are visited only if new documents carry their labels or come too close
to their margins, or if their own part of the gap grows because their neighbours moved; the certificate at the end is
of the whole problem all the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from linnaeus.data.check import Problem
from linnaeus.engine import SerialEngine, ThreadEngine, get_engine
from linnaeus.engine.limits import Clock
from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.models.fitting import positive_weights
from linnaeus.models.recursive.inner import InnerWeights
from linnaeus.models.recursive.leaves import leaf_blocks
from linnaeus.models.recursive.links import links_of
from linnaeus.models.recursive.network import Network, in_order, make_network, reduce_links
from linnaeus.models.recursive.resume import JointCheckpoint
from linnaeus.models.recursive.screened import SLACK
from linnaeus.models.recursive.solver import JointSolver
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.models.solvers.rows import aligned_zeros
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, IntArray

__all__ = ["Joint", "update_joint"]


@dataclass
class Joint:
    """The last solution, for warm starts and updates: not part of the model that is stored.

    ``labels`` are the leaves in the order of the blocks, ``generation`` the update that brought each.
    """

    problem: Problem
    labels: IntArray
    generation: IntArray
    C: float
    schedule: str
    solver: JointSolver


def update_joint(model: Any, X: Any, Y: CSR, taxonomy: Taxonomy, weights: Any, clock: Clock) -> None:
    """Enlarge the problem of a fitted model and solve it from where it stands."""
    old: Joint = model._joint
    problem = enlarged(old.problem, X, Y, taxonomy, weights)
    labels = _renumbered(old.problem.taxonomy, taxonomy)[old.labels]
    scores = model._all_scores(X)[:, np.argsort(model.nodes_)[np.argsort(np.argsort(old.labels))]]
    model.taxonomy_ = taxonomy
    if model.taxonomy is not None:
        model.taxonomy = taxonomy
    targets = model._targets(problem, model.learn).tocsc()
    added = np.setdiff1d(model.nodes_, labels).astype(labels.dtype)
    generation = np.concatenate([old.generation, np.full(len(added), old.generation.max() + 1, np.int32)])
    labels = np.concatenate([labels, added])
    links = in_order(reduce_links(links_of(taxonomy, labels, spawn=model.spawn, root=float(model.root))))
    network = make_network(links, problem.X.dtype)
    solver, documents = _enlarged_solver(model, old, problem, targets[:, labels], labels, generation, network, scores)
    model._run(solver, clock, JointCheckpoint(None))
    model.n_touched_ = sum(solver.blocks[i].n_columns for i in solver.awake or ())
    solver.awake = None
    model._joint = Joint(problem, labels, generation, model.C, "exact", solver)
    model._take_weights(solver, labels, documents, None)
    solver.release()


def _enlarged_solver(
    model: Any,
    old: Joint,
    problem: Problem,
    Y: CSR,
    labels: IntArray,
    generation: IntArray,
    network: Network,
    scores: Any,
) -> tuple[JointSolver, Any]:
    """A solver whose old leaves and inner vertices stand where they did, awake where the new documents matter."""
    leaves, documents = model._leaves(problem, getattr(old.solver.leaves, "seed", 0), _rank(old.solver.leaves))
    shape = InnerWeights.shape(network, leaves.n_features)
    inner = InnerWeights(network, aligned_zeros(shape, leaves.dtype), aligned_zeros(shape, leaves.dtype))
    inner.M[:] = old.solver.inner.solved[:, _carried(old, network, problem.taxonomy)]
    inner.solved[:] = inner.M
    awake: set[int] = set()
    engine = get_engine(model.engine, model.n_jobs)
    local = engine if isinstance(engine, (SerialEngine, ThreadEngine)) else get_engine(None, model.n_jobs)
    solver = JointSolver(leaves, [], inner, engine, local, awake=awake)
    n_old, n_all = old.problem.n_docs, problem.n_docs
    new = Y[n_old:, : len(old.labels)]
    close, wrong = (too_close(scores, new, slack).tocsc() for slack in (SLACK, -SLACK))
    weight = positive_weights(model.class_weight, Y, problem.codec.values(problem.taxonomy.names[labels]))
    for block in leaf_blocks(Y, network.leaf_total, weight.astype(leaves.dtype), generation):
        if block.number >= len(old.solver.blocks):
            awake.add(block.number)
            solver.blocks.append(leaves.begin(block))
            continue
        near = np.unique(close[:, block.columns].indices)
        fill = float(np.minimum(1e-3 * leaves.bound.min() * block.weight(leaves.dtype).min(), 1e-8))
        arrays = with_new_rows(old.solver.blocks[block.number].arrays(), n_old, n_all - n_old, near, fill)
        solver.blocks.append(leaves.resume(block, arrays))
        if wrong[:, block.columns].nnz or leaves.loss == "logistic":
            awake.add(block.number)
    return solver, documents


def _rank(leaves: Any) -> Any:
    """The order of the features in the old documents; None where it is their own."""
    return leaves.rows.rank if hasattr(leaves, "rows") else None


def _renumbered(old: Taxonomy, new: Taxonomy) -> IntArray:
    """Numbers of the old taxonomy's nodes in one that has grown."""
    lost = [] if new is old else [str(name) for name in old.names if name not in new]
    if lost:
        raise ParameterError(
            f"the new taxonomy lacks the node {lost[0]!r} of the old one{nearest(lost[0], new.names)}; "
            "update adds nodes, fit starts anew."
        )
    return np.array([new.index(str(name)) for name in old.names], np.int32)


def enlarged(problem: Problem, X: Any, Y: CSR, taxonomy: Taxonomy, weights: Any) -> Problem:
    """The old documents, then the new ones, over the new taxonomy."""
    from scipy import sparse

    if sparse.issparse(X) != sparse.issparse(problem.X):
        raise DataError("update takes documents of the kind of the last fit: sparse or dense, not the other.")
    stacked = sparse.vstack([problem.X, X], format="csr") if sparse.issparse(X) else np.concatenate([problem.X, X])
    if sparse.issparse(stacked):
        stacked = sparse.csr_array(stacked)
        stacked.indices = stacked.indices.astype(np.int32, copy=False)
    both = None
    if weights is not None or problem.weights is not None:
        parts = [
            np.ones(n) if given is None else given
            for given, n in ((problem.weights, problem.n_docs), (weights, X.shape[0]))
        ]
        both = np.concatenate(parts)
    number = _renumbered(problem.taxonomy, taxonomy)
    shape = (problem.n_docs, taxonomy.n_nodes)
    old = sparse.csr_array((problem.Y.data, number[problem.Y.indices], problem.Y.indptr), shape=shape)
    rows = sparse.csr_array(sparse.vstack([old, Y], format="csr"))
    return Problem(stacked.astype(problem.X.dtype, copy=False), rows, taxonomy, both, problem.codec)


def _carried(old: Joint, network: Network, taxonomy: Taxonomy) -> IntArray:
    """For every vertex of the new network, the vertex of the old one whose weights it starts with: its own or above."""
    inner, before = old.solver.inner, old.problem.taxonomy
    names = {str(before.names[node]): i for i, node in enumerate(inner.network.node) if node >= 0}
    top = int(np.argmax(inner.network.anchor))
    found = np.full(network.n_inner, top)
    for vertex, node in enumerate(network.node.tolist()):
        while node >= 0:
            name = str(taxonomy.names[node])
            if name in names:
                found[vertex] = names[name]
                break
            above = taxonomy.parents(node)
            node = int(above[0]) if len(above) and taxonomy.kind != "graph" else -1
    return found


def too_close(scores: Any, Y: CSR, slack: float) -> CSR:
    """Pairs of new documents and columns that are not ``slack`` on the right side of the margin; all positive ones."""
    from scipy import sparse

    close = sparse.csr_array(scores > -1 - slack)
    return sparse.csr_array((close.astype(np.int8) + (Y != 0).astype(np.int8)) > 0)


def with_new_rows(arrays: dict[str, Any], n_old: int, n_new: int, close: IntArray, fill: float) -> dict[str, Any]:
    """A block's arrays with the new documents: those in ``close`` become candidates, with dual variables 0.

    Without candidates (all documents are in work) every new document gets the dual variable ``fill``.
    """
    if "alpha" not in arrays:
        return arrays
    alpha = arrays["alpha"]
    if "candidates" not in arrays:
        return {"alpha": np.concatenate([alpha, np.full((n_new, PANEL), fill, alpha.dtype)])}
    rows = n_old + close
    added = np.zeros((len(rows), PANEL), alpha.dtype)
    return {
        "alpha": np.concatenate([alpha, added]),
        "candidates": np.concatenate([arrays["candidates"], rows]).astype(np.int32),
    }
