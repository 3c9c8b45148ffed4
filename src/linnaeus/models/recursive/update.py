"""A joint solution that outlives its fit: kept for warm starts, stored in checkpoints, enlarged by updates.

Checkpoints hold what is needed to continue, to the same model bit for bit: leaves keep their dual variables and
candidates, inner vertices their weights. Regular checkpoints are written right after the weights of the leaves have
been recomputed from the dual variables, so that these need not be stored. Where a time limit stops the fit between two
such moments, the weights of the leaves are stored, too, and, where Newton's method was interrupted, its variables.

Updates add documents and nodes: with dual variables 0 for the new pairs the old dual point stays feasible, so the gap
of the enlarged problem is known at once and falls from there. Blocks of leaves are visited only if new documents carry
their labels or come too close to their margins, or if their own part of the gap grows because their neighbours moved;
the certificate at the end is of the whole problem all the same.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from linnaeus.data.check import Problem
from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.models.checkpoint import Checkpoint
from linnaeus.models.fitting import document_weights
from linnaeus.models.recursive.coupled import CoupledLeaves, CoupledSolver
from linnaeus.models.recursive.leaves import SLACK, LeafBlock, LeafSolver
from linnaeus.models.recursive.network import Network
from linnaeus.models.recursive.solver import InnerWeights, JointSolver, JointState
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.models.solvers.rows import aligned_zeros
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Array, Engine, FloatArray, IntArray, Matrix

__all__ = ["JointCheckpoint", "JointSolution", "enlarged", "enlarged_solver", "grown_labels"]

_SHARE = 10  # at most one part in ten of the time is spent on writing


@dataclass
class JointSolution:
    """The last solution of a fit, with its documents: for warm starts and updates, not part of a stored model.

    ``labels`` are the leaves in the order of the blocks. Leaves of different ``groups`` never share a block: a group is
    a turn of the schedule, or the labels that one update added.
    """

    problem: Problem
    labels: IntArray
    groups: IntArray
    C: float
    schedule: str
    solver: JointSolver

    def can_start(self, solver: JointSolver, problem: Problem, labels: IntArray, schedule: str) -> bool:
        """Whether another problem has the same nodes, features and number of documents."""
        mine = self.solver
        return (
            type(mine.leaves) is type(solver.leaves)
            and mine.leaves.screens == solver.leaves.screens
            and mine.inner.M.shape == solver.inner.M.shape
            and self.schedule == schedule
            and np.array_equal(self.labels, labels)
            and self.problem.X.shape == problem.X.shape
            and self.problem.X.dtype == problem.X.dtype
            and self.problem.taxonomy is problem.taxonomy
        )

    def start(self, solver: JointSolver, blocks: list[LeafBlock], C: float) -> None:
        """Bring the solver of another problem here; dual variables are scaled to stay within the bounds of its C."""
        scale = C / self.C
        for block, old in zip(blocks, self.solver.blocks, strict=True):
            arrays = old.arrays()
            if "alpha" in arrays:
                arrays["alpha"] = arrays["alpha"] * arrays["alpha"].dtype.type(scale)
            solver.blocks.append(solver.leaves.resume(block, arrays))
        solver.inner.M[:] = solver.inner.solved[:] = self.solver.inner.solved


# -- checkpoints -------------------------------------------------------------------------------------------------------


class JointCheckpoint:
    """Writes the state of a solver into ``checkpoint``, and restores it."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._last, self._took = time.monotonic(), 0.0

    def restore(self, solver: JointSolver, blocks: list[LeafBlock]) -> bool:
        """Bring the solver to where the last run stopped; False where there was none."""
        store = self.checkpoint
        if "joint" not in store.state:
            return False
        solver.state = _state_from(store.state["joint"])
        solver.blocks = [solver.leaves.resume(block, store.get(_key(block))) for block in blocks]
        inner = store.get("inner")
        solver.inner.M[:], solver.inner.solved[:] = inner["M"], inner["solved"]
        if "newton" in store:
            solver.newton_pulls = np.array(store.get("newton")["pulls"])
        return True

    def save_if_due(self, solver: JointSolver) -> None:
        if time.monotonic() - self._last >= max(self.checkpoint.every, _SHARE * self._took):
            self.save(solver)

    def save(self, solver: JointSolver, *, finished: bool = False, weights: bool = False) -> None:
        """Write the state; ``weights`` of the leaves, too, where they are not what the dual variables give."""
        store, start = self.checkpoint, time.monotonic()
        for block in solver.blocks:
            store.put(_key(block), block.arrays() | ({"U": block.U} if weights else {}))
        store.put("inner", {"M": solver.inner.M, "solved": solver.inner.solved})
        store.discard("newton")
        if solver.newton_pulls is not None:
            store.put("newton", {"pulls": solver.newton_pulls})
        store.state["joint"] = asdict(solver.state)
        store.finish() if finished else store.commit()
        self._last, self._took = time.monotonic(), time.monotonic() - start


def _key(block: LeafBlock) -> str:
    return f"leaves {block.number}"


def _state_from(stored: Mapping[str, float]) -> JointState:
    """The state of a checkpoint; earlier versions had another name for one field."""
    return JointState(**{"measure_first" if name == "near" else name: value for name, value in stored.items()})  # type: ignore[arg-type]


# -- updates -----------------------------------------------------------------------------------------------------------


def grown_labels(old: JointSolution, taxonomy: Taxonomy, nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Labels and groups with those of ``nodes`` that are new at the end, in a group of their own."""
    labels = _renumbered(old.problem.taxonomy, taxonomy)[old.labels]
    added = np.setdiff1d(nodes, labels).astype(labels.dtype)
    groups = np.concatenate([old.groups, np.full(len(added), old.groups.max() + 1, np.int32)])
    return np.concatenate([labels, added]), groups


def enlarged_solver(
    old: JointSolution,
    problem: Problem,
    network: Network,
    leaves: LeafSolver,
    blocks: list[LeafBlock],
    Y: CSR,
    scores: FloatArray,
    engines: tuple[Engine, Engine],
) -> JointSolver:
    """A solver whose old leaves and inner vertices stand where they did, awake where the new documents matter.

    ``Y`` are the labels of all documents, in the order of the leaves; ``scores`` those of the new documents for the old
    leaves.
    """
    shape = InnerWeights.shape(network, leaves.n_features)
    inner = InnerWeights(network, aligned_zeros(shape, leaves.dtype), aligned_zeros(shape, leaves.dtype))
    inner.M[:] = old.solver.inner.solved[:, _carried(old, network, problem.taxonomy)]
    inner.solved[:] = inner.M
    awake: set[int] = set()
    kind = CoupledSolver if isinstance(leaves, CoupledLeaves) else JointSolver
    solver = kind(leaves, [], inner, *engines, awake=awake)
    n_old, n_new = old.problem.n_docs, problem.n_docs - old.problem.n_docs
    new = Y[n_old:, : len(old.labels)]
    close, wrong = (too_close(scores, new, slack).tocsc() for slack in (SLACK, -SLACK))
    for block in blocks:
        if block.number >= len(old.solver.blocks):
            awake.add(block.number)
            solver.blocks.append(leaves.begin(block))
            continue
        rows = np.unique(close[:, block.columns].indices)
        fill = float(np.minimum(1e-3 * leaves.bound.min() * block.weight(leaves.dtype).min(), 1e-8))
        arrays = with_new_rows(old.solver.blocks[block.number].arrays(), n_old, n_new, rows, fill)
        solver.blocks.append(leaves.resume(block, arrays))
        if wrong[:, block.columns].nnz or leaves.loss == "logistic":
            awake.add(block.number)
    return solver


def _renumbered(old: Taxonomy, new: Taxonomy) -> IntArray:
    """Numbers of the old taxonomy's nodes in one that has grown."""
    lost = [] if new is old else [str(name) for name in old.names if name not in new]
    if lost:
        raise ParameterError(
            f"the new taxonomy lacks the node {lost[0]!r} of the old one{nearest(lost[0], new.names)}; "
            "update adds nodes; use fit for another taxonomy."
        )
    return np.array([new.index(str(name)) for name in old.names], np.int32)


def enlarged(problem: Problem, X: Matrix, Y: CSR, taxonomy: Taxonomy, weights: FloatArray | None) -> Problem:
    """The old documents, then the new ones, over the new taxonomy."""
    from scipy import sparse

    if sparse.issparse(X) != sparse.issparse(problem.X):
        raise DataError("update needs documents of the kind of the last fit: both sparse or both dense.")
    stacked = sparse.vstack([problem.X, X], format="csr") if sparse.issparse(X) else np.concatenate([problem.X, X])
    if sparse.issparse(stacked):
        stacked = sparse.csr_array(stacked)
        stacked.indices = stacked.indices.astype(np.int32, copy=False)
    both = None
    if weights is not None or problem.weights is not None:
        both = np.concatenate([document_weights(problem), np.ones(X.shape[0]) if weights is None else weights])
    number = _renumbered(problem.taxonomy, taxonomy)
    shape = (problem.n_docs, taxonomy.n_nodes)
    old = sparse.csr_array((problem.Y.data, number[problem.Y.indices], problem.Y.indptr), shape=shape)
    rows = sparse.csr_array(sparse.vstack([old, Y], format="csr"))
    return Problem(stacked.astype(problem.X.dtype, copy=False), rows, taxonomy, both, problem.codec)


def _carried(old: JointSolution, network: Network, taxonomy: Taxonomy) -> IntArray:
    """For every vertex of the new network, the vertex of the old one whose weights it starts with: its own or above."""
    inner, before = old.solver.inner, old.problem.taxonomy
    names = {str(before.names[node]): i for i, node in enumerate(inner.network.node) if node >= 0}
    top = int(np.argmax(inner.network.anchor))
    carried = np.full(network.n_inner, top)
    for vertex, node in enumerate(network.node.tolist()):
        while node >= 0:
            name = str(taxonomy.names[node])
            if name in names:
                carried[vertex] = names[name]
                break
            above = taxonomy.parents(node)
            node = int(above[0]) if len(above) and taxonomy.kind != "graph" else -1
    return carried


def too_close(scores: FloatArray, Y: CSR, slack: float) -> CSR:
    """Pairs of new documents and columns that are not ``slack`` on the right side of the margin; all positive ones."""
    from scipy import sparse

    close = sparse.csr_array(scores > -1 - slack)
    return sparse.csr_array((close.astype(np.int8) + (Y != 0).astype(np.int8)) > 0)


def with_new_rows(arrays: dict[str, Array], n_old: int, n_new: int, close: IntArray, fill: float) -> dict[str, Array]:
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
