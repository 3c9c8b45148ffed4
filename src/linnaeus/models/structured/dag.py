"""DAGs: consistent labellings only, exact by minimum cut.

A consistent labelling is a closed set of nodes. The mass of closed sets of a document, summed over those that hold a
node, is m (n_docs x n) with 0 <= m[child] <= m[parent] <= C, and every such m is a mixture of closed sets; the tables
of the edges follow from it: mu(1,1) = m[v], mu(1,0) = m[p] - m[v], mu(0,0) = C - m[p]. Edges are those of the taxonomy,
one from above to every top node. A document's turn: minimum cut finds the best closed set and so the gap; mass goes to
it from the worst set of the mixture by the exact step (pairwise Frank-Wolfe); then the nodes move one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from linnaeus._kernels.margin_closure import level_sets, move_nodes, move_to_set
from linnaeus._kernels.max_flow import best_closures
from linnaeus.decoding.base import hierarchy, positions
from linnaeus.errors import ParameterError
from linnaeus.models.structured.block_ascent import BlockAscent, DualBlocks, TrainingDocuments
from linnaeus.models.structured.documents import training_documents
from linnaeus.models.structured.tree import padded_width
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.closure import pointers, row_numbers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray, Kernel, Matrix

if TYPE_CHECKING:
    from linnaeus.decoding.rules import BoundRules

__all__ = ["ClosureBlocks", "ClosureStructure"]

_SWEEPS, _SHARE = 3, 0.05
_FORCED = 1e6  # times the sum of all weights: in or out at any price


class ClosureStructure:
    """Nodes of a DAG in level order, and its edges child by child; ``parent`` is -1 for the edge above a top node."""

    solver: type[BlockAscent] = BlockAscent
    batch, columns = 32, 2

    def __init__(self, taxonomy: Taxonomy, nodes: IntArray) -> None:
        edges = hierarchy(taxonomy)
        self.taxonomy = taxonomy
        self.nodes = np.unique(nodes).astype(np.int32)
        place = positions(taxonomy, self.nodes, with_root=True)
        above = [place[edges.parent_indices[edges.parent_indptr[v] : edges.parent_indptr[v + 1]]] for v in self.nodes]
        self.parent_indptr = pointers(np.array([len(p) for p in above], dtype=np.int64))
        self.parent_indices = np.concatenate([*above, np.empty(0, np.int32)]).astype(np.int32)
        order = np.argsort(self.parent_indices, kind="stable")
        self.child_indptr = pointers(np.bincount(self.parent_indices, minlength=self.n))
        self.child_indices = row_numbers(self.parent_indptr)[order].astype(np.int32)
        self.child_edges = order.astype(np.int64)
        with_top = [p if len(p) else np.array([-1], dtype=np.int32) for p in above]
        self.parent = np.concatenate(with_top).astype(np.int32)
        self.child = np.repeat(np.arange(self.n), [len(p) for p in with_top]).astype(np.int32)
        self.width = padded_width(2 * len(self.child))
        self.arrays = self.parent_indptr, self.parent_indices, self.child_indptr, self.child_indices
        self._positions = np.arange(self.n, dtype=np.int32)
        self.into, self.out_of = self._incidence()
        touching = self.into + self.out_of  # 2 Degree - Adjacency is what masses take from each other's slopes
        difference = self.into - self.out_of
        self.pull = sparse.csr_array(
            (self.into @ self.into.T) + (self.out_of @ self.out_of.T) + difference @ difference.T
        )
        self.degree = np.asarray(touching.sum(axis=1)).ravel()

    @property
    def n(self) -> int:
        return len(self.nodes)

    def _incidence(self) -> tuple[CSR, CSR]:
        """n x n_edges: which edges go into a node, and out of it."""
        edges, inner = np.arange(len(self.child)), self.parent >= 0
        shape = self.n, len(edges)
        into = sparse.csr_array((np.ones(len(edges)), (self.child, edges)), shape=shape)
        return into, sparse.csr_array((np.ones(inner.sum()), (self.parent[inner], edges[inner])), shape=shape)

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray) -> DualBlocks:
        truth = np.ascontiguousarray(Y[:, self.nodes].toarray()).astype(bool)
        return ClosureBlocks(self, self.losses(weights[self.nodes], cost), truth, C)

    def documents(self, kernel: Kernel, X: Matrix, bias: float, dtype: type[np.floating]) -> TrainingDocuments:
        return training_documents(kernel, X, self.width, self.columns, dtype, bias)

    def losses(self, weights: FloatArray, cost: str) -> FloatArray:
        """Losses of all edges, n_edges x 4 x 4, as in `tree.edge_losses`.

        The hierarchical loss of a node with several parents is the mean over them: in the share of those that are
        right.
        """
        inner, above = self.parent >= 0, np.maximum(self.parent, 0)
        into = np.bincount(self.child, minlength=self.n)
        t, u = np.arange(4)[:, None], np.arange(4)
        parent_differs, child_differs = (t >> 1) != (u >> 1), (t & 1) != (u & 1)
        if cost == "hierarchical":
            b = (weights / into)[self.child]
            return b[:, None, None] * (child_differs & ~parent_differs)
        share = weights / self.degree
        a, b = np.where(inner, share[above], 0.0), share[self.child]
        return a[:, None, None] * parent_differs + b[:, None, None] * child_differs

    def edge_scores(self, F: FloatArray) -> FloatArray:
        """F with the columns of u = 0, 2, 3, n_docs x n_edges x 3."""
        given = np.asarray(F[:, : 2 * len(self.child)], dtype=np.float64).reshape(len(F), -1, 2)
        return np.concatenate([-given.sum(axis=2, keepdims=True), given], axis=2)

    def slopes(self, H: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Node weights U (n_docs x n) and the constant: closed sets under edge scores H (n_docs x n_edges x 3)."""
        inner = self.parent >= 0
        U = self.into @ (H[:, :, 2] - H[:, :, 1]).T + self.out_of @ (H[:, :, 1] - H[:, :, 0]).T
        return np.ascontiguousarray(U.T), H[:, inner, 0].sum(axis=1) + H[:, ~inner, 1].sum(axis=1)

    def node_weights(self, F: FloatArray) -> FloatArray:
        return self.slopes(self.edge_scores(F))[0]

    def _best(self, U: FloatArray) -> tuple[IntArray, IntArray]:
        return best_closures(np.ascontiguousarray(U), self._positions, *self.arrays, self.child_edges)

    def best_of_one(self, U: FloatArray) -> FloatArray:
        """The best closed set of one document as zeros and ones."""
        found = np.zeros(self.n)
        found[self._best(U[None, :])[1]] = 1.0
        return found

    def closures(self, U: FloatArray) -> BoolArray:
        """The closed sets of largest total weight, n_docs x n; the smallest where several are best."""
        indptr, indices = self._best(U)
        members = np.zeros(U.shape, dtype=bool)
        members[row_numbers(indptr), indices] = True
        return members

    def best(self, F: FloatArray, *, not_empty: bool = False) -> BoolArray:
        U = self.node_weights(F)
        if not not_empty:
            return self.closures(U)
        from linnaeus.decoding import Rules, best_sets
        from linnaeus.models.requests import known_ends

        rules = known_ends(Rules(at_least=1).bind(self.taxonomy), self.nodes)
        sets = best_sets(U, self.taxonomy, self.nodes, rules=rules).best
        members: BoolArray = sets[:, self.nodes].toarray().astype(bool)
        return members

    def ranked(self, F: FloatArray, k: int, rules: BoundRules) -> None:
        return None

    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        if not consistent:
            raise ParameterError("consistent=False needs a tree, but this taxonomy is a DAG.")
        U = self.node_weights(F)
        best = self.closures(U)
        value = (U * best).sum(axis=1)
        margins = np.empty_like(U)
        for d in range(len(U)):  # a member is forced out, another node in: one cut each
            rows = np.tile(U[d], (self.n, 1))
            price = _FORCED * (np.abs(U[d]).sum() + 1.0)
            rows[np.diag_indices(self.n)] = np.where(best[d], -price, price)
            other = (self.closures(rows) * U[d]).sum(axis=1)
            margins[d] = np.where(best[d], value[d] - other, other - value[d])
        return margins


class ClosureBlocks:
    """Mass m (n_docs x n) of the nodes of a DAG; see the module docstring. ``rounds`` are the most of a visit."""

    rounds = 5

    def __init__(self, structure: ClosureStructure, loss: FloatArray, truth: BoolArray, C: FloatArray) -> None:
        self.structure, self.C = structure, np.asarray(C, dtype=np.float64)
        self.gaps = np.full(len(C), np.inf)
        self.m = np.ascontiguousarray(truth * self.C[:, None])
        above = np.where(structure.parent < 0, True, truth[:, np.maximum(structure.parent, 0)])
        self.truth = 2 * above.astype(np.uint8) + truth[:, structure.child]
        self.loss = loss[:, :, [0, 2, 3]]

    def _losses(self, batch: IntArray | slice) -> FloatArray:
        return self.loss[np.arange(len(self.loss)), self.truth[batch]]

    def _tables(self, batch: IntArray | slice) -> FloatArray:
        """mu of u = 0, 2, 3, n_docs x n_edges x 3."""
        at, m, C = self.structure, self.m[batch], self.C[batch][:, None]
        above = np.where(at.parent < 0, C, m[:, np.maximum(at.parent, 0)])
        here = m[:, at.child]
        return np.stack([C - above, above - here, here], axis=2)

    def turn(self, F: FloatArray, gram: FloatArray, batch: IntArray, times: IntArray | None = None) -> FloatArray:
        U, _ = self.structure.slopes(self._losses(batch) + self.structure.edge_scores(F))
        before, rounds = self.m[batch], np.ones(len(batch), int) if times is None else times
        for j, i in enumerate(batch.tolist()):
            self._solve(i, U[j], float(gram[j, j]), int(rounds[j]))
            U[j + 1 :] -= gram[j, j + 1 :, None] * (self.structure.pull @ (self.m[i] - before[j]))
        return self._rows(self.m[batch] - before).astype(F.dtype)

    def _rows(self, delta: FloatArray) -> FloatArray:
        """What is added to D where the mass of the nodes grows by delta, n_docs x width."""
        at = self.structure
        above = np.where(at.parent < 0, 0.0, delta[:, np.maximum(at.parent, 0)])
        rows = np.zeros((len(delta), at.width))
        rows[:, : 2 * len(at.child)] = np.stack([delta[:, at.child] - above, -delta[:, at.child]], 2).reshape(
            len(rows), -1
        )
        return rows

    def _solve(self, i: int, U: FloatArray, kappa: float, times: int) -> None:
        """Raise the dual in document i, whose slopes are U; its gap at the beginning is kept."""
        m, C = self.m[i], float(self.C[i])
        for k in range(self.rounds * times):
            best = self.structure.best_of_one(U)
            gap = C * float(best @ U) - float(m @ U)
            if k == 0:
                self.gaps[i] = gap
            if gap <= max(0.0, _SHARE * self.gaps[i] if k else 0.0):
                return
            self._step(U, m, best, kappa, C)

    def _step(self, U: FloatArray, m: FloatArray, best: FloatArray, kappa: float, C: float) -> None:
        """Move mass to the best set from the worst of the mixture, then node by node; U and m change in place."""
        arrays = self.structure.arrays
        level, most = level_sets(U, m, C)
        move_to_set(U, m, best - (m >= level), *arrays, kappa, C, most)
        move_nodes(U, m, *arrays, kappa, C, _SWEEPS)

    def slacks(self, F: FloatArray, batch: IntArray, scales: FloatArray) -> FloatArray:
        scores, losses = self.structure.edge_scores(F), self._losses(batch)
        kept = np.array([0, 2, 3])
        true = (scores * (self.truth[batch][:, :, None] == kept)).sum(axis=(1, 2))
        found = np.empty((len(batch), len(scales)))
        for s, scale in enumerate(scales):
            U, constant = self.structure.slopes(losses + scale * scores)
            found[:, s] = constant + (U * self.structure.closures(U)).sum(axis=1) - scale * true
        return found

    def linear_term(self) -> float:
        return float((self._tables(slice(None)) * self._losses(slice(None))).sum())

    def coefficients(self, batch: IntArray | slice) -> FloatArray:
        mu, C = self._tables(batch)[:, :, 1:], self.C[batch][:, None, None]
        true = self.truth[batch][:, :, None] == np.array([2, 3])
        D = np.zeros((len(mu), self.structure.width))
        D[:, : 2 * len(self.structure.child)] = (true * C - mu).reshape(len(mu), -1)
        return D

    def take(self, before: ClosureBlocks) -> None:
        self.m[:] = before.m * (self.C / before.C)[:, None]
