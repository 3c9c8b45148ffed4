"""A joint solution that outlives its fit: kept for warm starts, stored in checkpoints, enlarged by updates.

Checkpoints hold what is needed to continue, to the same model bit for bit: leaves keep their dual variables and
candidates, inner vertices their weights. Regular checkpoints are written right after the weights of the leaves have
been recomputed from the dual variables, so that these need not be stored. Where a time limit stops the fit between two
such moments, the weights of the leaves are stored, too, and, where Newton's method was interrupted, its variables.

Updates add documents and nodes: with dual variables 0 for the new pairs the old dual point stays feasible, so the gap
of the enlarged problem is known at once and falls from there. Blocks of leaves are visited only if new documents carry
their labels or come too close to their margins, or if their own part of the gap grows because their neighbours moved;
the certificate at the end is of the whole problem all the same.

Weights alone are a start, too (`StartWeights`): inner vertices go to their optimum between the labels, and the dual
variables are those that the margins imply, alpha_i = C_i |loss'(t_i)|, which is feasible for any weights and exact at
the optimum. Loaded models, removed and merged nodes and migrated models begin in this way if they were solved well:
small errors of all leaves add up in the inner vertices, and where the gap is large, or every pair of document and leaf
has a dual variable (`suits_start`), a start from nothing is faster and is taken.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from linnaeus.data.check import Problem
from linnaeus.data.matrices import aligned_zeros
from linnaeus.errors import DataError, ParameterError, nearest
from linnaeus.losses.surrogate import SURROGATES
from linnaeus.models.checkpoint import Checkpoint, Pace
from linnaeus.models.fitting import document_weights
from linnaeus.models.recursive.coupled import CoupledLeaves, CoupledSolver
from linnaeus.models.recursive.leaves import SLACK, DenseLeaves, LeafBlock, LeafSolver
from linnaeus.models.recursive.network import Network
from linnaeus.models.recursive.paths import PathSolver, PathWeights
from linnaeus.models.recursive.solver import InnerWeights, JointSolver, JointState
from linnaeus.models.solvers.dual_cd import PANEL
from linnaeus.taxonomy import Taxonomy
from linnaeus.typing import CSR, Array, Engine, FloatArray, IntArray, Matrix

__all__ = [
    "JointCheckpoint",
    "JointSolution",
    "StartWeights",
    "carried_weights",
    "enlarged",
    "enlarged_solver",
    "grown_labels",
    "relabelled",
    "relatives",
    "start_at_weights",
    "suits_start",
]

_FAR = 0.1  # relative gap of given weights above which they are not used as a start
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
            type(mine) is type(solver)
            and type(mine.leaves) is type(solver.leaves)
            and mine.leaves.screens == solver.leaves.screens
            and mine.inner.solved.shape == solver.inner.solved.shape
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
        solver.inner.start_at(self.solver.inner.solved)


# -- checkpoints -------------------------------------------------------------------------------------------------------


class JointCheckpoint:
    """Writes the state of a solver into ``checkpoint``, and restores it."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint
        self._pace = Pace(checkpoint.every, _SHARE)

    def restore(self, solver: JointSolver, blocks: list[LeafBlock]) -> bool:
        """Bring the solver to where the last run stopped; False where there was none."""
        store = self.checkpoint
        if "joint" not in store.state:
            return False
        solver.state = _state_from(store.state["joint"])
        solver.blocks = [solver.leaves.resume(block, store.get(_key(block))) for block in blocks]
        inner = store.get("inner")
        solver.inner.solved[:] = inner["solved"]
        if inner["M"].shape == solver.inner.M.shape:
            solver.inner.M[:] = inner["M"]
        elif not solver.state.done:  # written before fits along paths: the dual variables are a start
            solver.state = JointState()
        if "newton" in store:
            solver.newton_at = np.array(store.get("newton")["along"])
        return True

    @property
    def due(self) -> bool:
        """Whether it is time to write the state again."""
        return self._pace.due

    def save_if_due(self, solver: JointSolver) -> None:
        if self.due:
            self.save(solver)

    def save(self, solver: JointSolver, *, finished: bool = False, weights: bool = False) -> None:
        """Write the state; ``weights`` of the leaves, too, where they are not what the dual variables give."""
        store, start = self.checkpoint, time.monotonic()
        for block in solver.blocks:
            store.put(_key(block), block.arrays() | ({"U": block.U} if weights else {}))
        store.put("inner", {"M": solver.inner.M, "solved": solver.inner.solved})
        store.discard("newton")
        if solver.newton_at is not None:
            store.put("newton", {"along": solver.newton_at})
        store.state["joint"] = asdict(solver.state)
        store.finish() if finished else store.commit()
        self._pace.wrote(start)


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
    shape, awake = InnerWeights.shape(network, leaves.n_features), set[int]()
    solved = aligned_zeros(shape, leaves.dtype)
    if isinstance(old.solver, PathSolver):
        M = aligned_zeros(PathWeights.path_shape(network, leaves.n_features), leaves.dtype)
        solver: JointSolver = PathSolver(leaves, [], PathWeights(network, M, solved), *engines, awake=awake)
    else:
        kind = CoupledSolver if isinstance(leaves, CoupledLeaves) else JointSolver
        inner = InnerWeights(network, aligned_zeros(shape, leaves.dtype), solved)
        solver = kind(leaves, [], inner, *engines, awake=awake)
    solver.inner.start_at(old.solver.inner.solved[:, _carried(old, network, problem.taxonomy)])
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


# -- starts at given weights -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StartWeights:
    """Weights W (n_features x n_labels) and intercepts of the labels ``nodes``."""

    nodes: IntArray
    W: FloatArray
    intercept: FloatArray

    def of(self, labels: IntArray) -> tuple[FloatArray, FloatArray]:
        """Weights and intercepts in the order of some labels, all of which have them."""
        order = np.argsort(self.nodes)
        columns = order[np.searchsorted(self.nodes[order], labels)]
        return self.W[:, columns], self.intercept[columns]

    def suit(self, problem: Problem, labels: IntArray) -> bool:
        """Whether all labels of a problem, and its features, have weights."""
        return len(self.W) == problem.X.shape[1] and bool(np.isin(labels, self.nodes).all())


def suits_start(leaves: LeafSolver) -> bool:
    """Whether a start at given weights is better than one from nothing."""
    return isinstance(leaves, DenseLeaves) or (leaves.loss != "logistic" and not isinstance(leaves, CoupledLeaves))


def start_at_weights(
    solver: JointSolver, blocks: list[LeafBlock], problem: Problem, labels: IntArray, start: StartWeights
) -> bool:
    """Inner vertices at their optimum between the labels, leaves at the dual variables that the margins imply.

    False, with the solver as it was, if the gap there is so large that a start from nothing is faster.
    """
    leaves, inner = solver.leaves, solver.inner
    weights, intercept = start.of(labels)
    W = np.zeros((leaves.n_features, len(labels)), leaves.dtype)
    W[np.arange(len(weights)) if leaves.rank is None else leaves.rank] = weights
    W[-1] = intercept
    every = np.arange(leaves.n_features, dtype=np.int32)
    fixed = [replace(block, features=every, U=_panel(W[:, block.columns])) for block in blocks]
    if not isinstance(solver, PathSolver):  # its inner vertices follow from the dual variables
        inner.step(fixed, 0.0, solver.local_engine)  # at M = 0, where the weights of a leaf are its U
        inner.M[:] = inner.solved
    for block, own in zip(blocks, fixed, strict=True):
        if isinstance(leaves, DenseLeaves):
            arrays: dict[str, Array] = {"U": own.U - inner.centres(block.columns, every, solved=True)}
            arrays["U"][:, block.n_columns :] = 0
        else:
            scores = np.asarray(problem.X @ weights[:, block.columns]) + intercept[block.columns]
            arrays = _implied_duals(leaves, block, scores)
        solver.blocks.append(leaves.resume(block, arrays))
    if not isinstance(leaves, DenseLeaves):  # Newton's method begins at any weights
        objective, gap = solver._measure(False)
        if gap > _FAR * objective:
            solver.blocks, solver.state = [], JointState()
            return False
    solver.state.measure_first = True
    return True


def _panel(columns: FloatArray) -> FloatArray:
    """Columns of a block, filled up to sixteen."""
    panel = aligned_zeros((len(columns), PANEL), columns.dtype)
    panel[:, : columns.shape[1]] = columns
    return panel


def _implied_duals(leaves: LeafSolver, block: LeafBlock, scores: FloatArray) -> dict[str, Array]:
    """Dual variables of a block from the scores of all documents, n_docs x n_columns."""
    n, weight = block.n_columns, block.weight(leaves.dtype)
    rows, columns = block.positives
    signs = np.full(scores.shape, -1, leaves.dtype)
    signs[rows, columns] = 1
    margins = signs * scores
    c = leaves.bound[:, None] * np.where(signs > 0, weight[0, :n], weight[1, :n])
    slope = np.abs(SURROGATES[leaves.loss].slope(margins.astype(np.float64)))
    alpha = np.zeros((len(scores), PANEL), leaves.dtype)
    alpha[:, :n] = c * slope
    if not leaves.screens:
        return {"alpha": alpha}
    candidates = np.flatnonzero((margins < 1 + SLACK).any(axis=1) | (signs > 0).any(axis=1)).astype(np.int32)
    return {"alpha": alpha[candidates], "candidates": candidates}


# -- nodes that are removed or merged ----------------------------------------------------------------------------------


def relabelled(
    problem: Problem, taxonomy: Taxonomy, replaced: Mapping[str, str | None]
) -> tuple[Problem, IntArray, IntArray]:
    """Documents over another taxonomy: (problem, documents that stay, number of every old node there or -1).

    Documents that lose their last label do not stay.
    """
    from scipy import sparse

    before, seen = problem.taxonomy, np.unique(problem.Y.indices)
    for name in replaced:
        before.index(name)  # an error that names the nearest node
    number = np.full(before.n_nodes, -1, np.int32)
    for node in range(before.n_nodes):
        name = str(before.names[node])
        target = replaced.get(name, name)
        if target is not None and target in taxonomy:
            number[node] = taxonomy.index(target)
        elif target is not None and name in replaced:
            raise ParameterError(
                f"replaced: {name!r} becomes {target!r}, which is not in the new taxonomy"
                f"{nearest(target, taxonomy.names)}"
            )
        elif target is not None and node in seen:
            raise ParameterError(
                f"the new taxonomy lacks the node {name!r} of the old one{nearest(name, taxonomy.names)}; name the "
                "node that replaces it in replaced, or None to remove it."
            )
    rows = np.repeat(np.arange(problem.n_docs), np.diff(problem.Y.indptr))
    columns = number[problem.Y.indices]
    kept = columns >= 0
    pairs = (np.ones(int(kept.sum()), problem.Y.dtype), (rows[kept], columns[kept]))
    Y = sparse.csr_array(pairs, shape=(problem.n_docs, taxonomy.n_nodes))
    Y.sum_duplicates()
    Y.data[:] = 1
    stay = np.flatnonzero((np.diff(Y.indptr) > 0) | (np.diff(problem.Y.indptr) == 0))
    weights = None if problem.weights is None else problem.weights[stay]
    return Problem(problem.X[stay], sparse.csr_array(Y[stay]), taxonomy, weights, problem.codec), stay, number


def carried_weights(
    old: tuple[IntArray, FloatArray, FloatArray],
    counts: IntArray,
    number: IntArray,
    taxonomy: Taxonomy,
    nodes: IntArray,
) -> StartWeights:
    """Start weights of ``nodes``: those of their old label, the mean of several by documents, or those of relatives.

    ``old`` are labels, weights (n_features x n_labels) and intercepts; ``counts`` documents of every old node and
    ``number`` its number in the new taxonomy.
    """
    from scipy import sparse

    labels, W, intercept = old
    to = number[labels]
    sources = [np.flatnonzero(to == node) for node in nodes.tolist()]
    known = [i for i, own in enumerate(sources) if len(own)]
    size = np.maximum(counts[labels].astype(np.float64), 1.0)
    entries: list[tuple[int, int, float]] = []
    for i, own in enumerate(sources):
        near = [i] if len(own) else relatives(taxonomy, int(nodes[i]), nodes, known)
        for j in near:
            total = float(size[sources[j]].sum()) * len(near)
            entries += [(int(row), i, float(size[row]) / total) for row in sources[j]]
    of, column, share = (np.array(part) for part in zip(*entries, strict=True))
    M = sparse.csc_array((share.astype(W.dtype), (of, column)), shape=(len(labels), len(nodes)))
    return StartWeights(nodes, np.asarray((M.T @ W.T).T), np.asarray(M.T @ intercept))


def relatives(taxonomy: Taxonomy, node: int, numbers: IntArray, known: Sequence[int]) -> Sequence[int]:
    """Labels with weights below the nearest node above that has some; all of them where there is none."""
    above = [int(v) for v in taxonomy.ancestors(node) if v != node]
    for parent in sorted(above, key=lambda v: -int(taxonomy.depth[v])):
        below = set(taxonomy.descendants(parent).tolist())
        near = [i for i in known if int(numbers[i]) in below]
        if near:
            return near
    return known
