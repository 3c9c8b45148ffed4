"""DAGs: consistent labellings only, exact by minimum cut.

A consistent labelling is a closed set of nodes. The mass of closed sets of a document, summed over those that hold a
node, is m (n_docs x n) with 0 <= m[child] <= m[parent] <= C, and every such m is a mixture of closed sets; the tables
of the edges follow from it: mu(1,1) = m[v], mu(1,0) = m[p] - m[v], mu(0,0) = C - m[p]. Edges are those of the taxonomy,
one from above to every top node. A document's turn: minimum cut finds the best closed set and so the gap; mass goes to
it from the worst set of the mixture by the exact step (pairwise Frank-Wolfe); then the nodes move one by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from linnaeus._kernels import margin_closure, max_flow
from linnaeus.decoding.base import hierarchy
from linnaeus.errors import ParameterError
from linnaeus.models.structured.blocks import Blocks
from linnaeus.models.structured.structure import Structure
from linnaeus.taxonomy import Taxonomy
from linnaeus.taxonomy.rows import pointers, row_numbers
from linnaeus.typing import CSR, BoolArray, FloatArray, IntArray

__all__ = ["ClosureBlocks", "ClosureStructure"]

_ROUNDS, _SWEEPS, _SHARE = 5, 3, 0.05
_FORCED = 1e6  # times the sum of all weights: in or out at any price


class ClosureStructure(Structure):
    """Nodes of a DAG in level order, and its edges child by child; ``parent`` is -1 for the edge above a top node."""

    def __init__(self, taxonomy: Taxonomy, nodes: IntArray) -> None:
        edges = hierarchy(taxonomy)
        self.nodes = np.unique(nodes).astype(np.int32)
        place = np.full(taxonomy.n_nodes, -1, dtype=np.int32)
        place[self.nodes] = np.arange(len(self.nodes), dtype=np.int32)
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
        self.columns, self.width = 2, -(-2 * len(self.child) // 16) * 16

    @property
    def n(self) -> int:
        return len(self.nodes)

    def blocks(self, Y: CSR, weights: FloatArray, cost: str, C: FloatArray, **options: Any) -> Blocks:
        truth = np.ascontiguousarray(Y[:, self.nodes].toarray()).astype(bool)
        return ClosureBlocks(self, self.losses(weights[self.nodes], cost), truth, C, **options)

    def losses(self, weights: FloatArray, cost: str) -> FloatArray:
        """Losses of all edges, n_edges x 4 x 4, as in `layout.edge_losses`.

        The hierarchical loss of a node with several parents is the mean over them: in the share of those that are
        right.
        """
        inner, above = self.parent >= 0, np.maximum(self.parent, 0)
        into = np.bincount(self.child, minlength=self.n)
        touching = into + np.bincount(self.parent[inner], minlength=self.n)
        t, u = np.arange(4)[:, None], np.arange(4)
        parent_differs, child_differs = (t >> 1) != (u >> 1), (t & 1) != (u & 1)
        if cost == "hierarchical":
            b = (weights / into)[self.child]
            return b[:, None, None] * (child_differs & ~parent_differs)
        share = weights / touching
        a, b = np.where(inner, share[above], 0.0), share[self.child]
        return a[:, None, None] * parent_differs + b[:, None, None] * child_differs

    def edge_scores(self, F: FloatArray) -> FloatArray:
        """F with the columns of u = 0, 2, 3, n_docs x n_edges x 3."""
        given = np.asarray(F[:, : 2 * len(self.child)], dtype=np.float64).reshape(len(F), -1, 2)
        return np.concatenate([-given.sum(axis=2, keepdims=True), given], axis=2)

    def slopes(self, H: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Node weights U (n_docs x n) and the constant: closed sets under edge scores H (n_docs x n_edges x 3)."""
        U, inner = np.zeros((len(H), self.n)), self.parent >= 0
        np.add.at(U, (slice(None), self.child), H[:, :, 2] - H[:, :, 1])
        np.add.at(U, (slice(None), self.parent[inner]), H[:, inner, 1] - H[:, inner, 0])
        return U, H[:, inner, 0].sum(axis=1) + H[:, ~inner, 1].sum(axis=1)

    def node_weights(self, F: FloatArray) -> FloatArray:
        return self.slopes(self.edge_scores(F))[0]

    def best(self, U: FloatArray) -> BoolArray:
        """The closed sets of largest total weight, n_docs x n; the smallest where several are best."""
        position = np.arange(self.n, dtype=np.int32)
        indptr, indices = max_flow.best_closures(
            *(np.ascontiguousarray(U), position, self.parent_indptr, self.parent_indices),
            *(self.child_indptr, self.child_indices, self.child_edges),
        )
        found = np.zeros(U.shape, dtype=bool)
        found[row_numbers(indptr), indices] = True
        return found

    def margins(self, F: FloatArray, *, consistent: bool = True) -> FloatArray:
        if not consistent:
            raise ParameterError("consistent=False asks for labellings of all kinds, which need a tree; this is a DAG.")
        U = self.node_weights(F)
        best = self.best(U)
        value = (U * best).sum(axis=1)
        margins = np.empty_like(U)
        for d in range(len(U)):  # a member is forced out, another node in: one cut each
            rows = np.tile(U[d], (self.n, 1))
            price = _FORCED * (np.abs(U[d]).sum() + 1.0)
            rows[np.diag_indices(self.n)] = np.where(best[d], -price, price)
            other = (self.best(rows) * U[d]).sum(axis=1)
            margins[d] = np.where(best[d], value[d] - other, other - value[d])
        return margins

    def decisive(self, F: FloatArray) -> FloatArray:
        U = self.node_weights(F)
        best = self.best(U)
        S = np.where(best, 1.0, -1.0)
        for d in np.flatnonzero(~best.any(axis=1)):  # no closed set is worth it: the least costly is the best top node
            tops = np.flatnonzero(np.diff(self.parent_indptr) == 0)
            S[d] = -np.inf
            S[d, tops] = np.minimum(U[d, tops], 0.0)
        return S


class ClosureBlocks(Blocks):
    """Mass m (n_docs x n) of the nodes of a DAG; see the module docstring."""

    def __init__(
        self, structure: ClosureStructure, loss: FloatArray, truth: BoolArray, C: FloatArray, steps: int | None = None
    ) -> None:
        self.structure, self.C, self.steps = structure, np.asarray(C, dtype=np.float64), steps
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
        change, losses = np.zeros_like(F), self._losses(batch)
        rounds = np.ones(len(batch), int) if times is None else times
        for j, i in enumerate(batch.tolist()):
            U, _ = self.structure.slopes(losses[[j]] + self.structure.edge_scores(F[[j]]))
            before = self.m[i].copy()
            self._solve(i, U[0], float(gram[j, j]), int(rounds[j]))
            change[j] = self._rows(self.m[i] - before).astype(F.dtype)
            F[j + 1 :] += gram[j, j + 1 :, None].astype(F.dtype) * change[j]
        return change

    def _rows(self, delta: FloatArray) -> FloatArray:
        """What is added to D where the mass of the nodes grows by delta."""
        at = self.structure
        above = np.where(at.parent < 0, 0.0, delta[np.maximum(at.parent, 0)])
        row = np.zeros(at.width)
        row[: 2 * len(at.child)] = np.column_stack([delta[at.child] - above, -delta[at.child]]).ravel()
        return row

    def _solve(self, i: int, U: FloatArray, kappa: float, times: int) -> None:
        """Raise the dual in document i; its gap at the beginning is kept."""
        at, m, C = self.structure, self.m[i], float(self.C[i])
        for k in range((self.steps or _ROUNDS) * times):
            best = at.best(U[None, :])[0]
            gap = C * float(U[best].sum()) - float(m @ U)
            if k == 0:
                self.gaps[i] = gap
            if gap <= max(0.0, _SHARE * self.gaps[i] if k else 0.0):
                return
            self._step(best, U, m, kappa, C, gap)
            if self.steps is None:
                margin_closure.move_nodes(
                    *(U, m, at.parent_indptr, at.parent_indices, at.child_indptr, at.child_indices, kappa, C, _SWEEPS)
                )

    def _step(self, best: BoolArray, U: FloatArray, m: FloatArray, kappa: float, C: float, gap: float) -> None:
        """Mass to the best set: from the worst set of the mixture, or from all of it."""
        if self.steps is None:
            level, most = margin_closure.level_sets(U, m, C)
            worst = m >= level
            gain, toward = float(U[best].sum() - U[worst].sum()), best.astype(np.float64) - worst
        else:
            gain, most, toward = gap, 1.0, C * best - m
        pull = self._curvature(toward)
        curve = kappa * float(toward @ pull)
        step = most if curve <= 0 else min(most, gain / curve)
        if step > 0 and gain > 0:
            m += step * toward
            np.clip(m, 0.0, C, out=m)
            U -= step * kappa * pull

    def _curvature(self, delta: FloatArray) -> FloatArray:
        """(2 Degree - Adjacency) delta: what the mass of nodes takes from the slopes, but for K(x, x)."""
        at, inner = self.structure, self.structure.parent >= 0
        degree = np.bincount(at.child, minlength=at.n) + np.bincount(at.parent[inner], minlength=at.n)
        pull = 2.0 * degree * delta
        np.subtract.at(pull, at.child[inner], delta[at.parent[inner]])
        np.subtract.at(pull, at.parent[inner], delta[at.child[inner]])
        return pull

    def slacks(self, F: FloatArray, batch: IntArray, scales: FloatArray) -> FloatArray:
        scores, losses = self.structure.edge_scores(F), self._losses(batch)
        kept = np.array([0, 2, 3])
        true = (scores * (self.truth[batch][:, :, None] == kept)).sum(axis=(1, 2))
        found = np.empty((len(batch), len(scales)))
        for s, scale in enumerate(scales):
            U, constant = self.structure.slopes(losses + scale * scores)
            found[:, s] = constant + (U * self.structure.best(U)).sum(axis=1) - scale * true
        return found

    def linear_term(self) -> float:
        return float((self._tables(slice(None)) * self._losses(slice(None))).sum())

    def coefficients(self, batch: IntArray | slice) -> FloatArray:
        mu, C = self._tables(batch)[:, :, 1:], self.C[batch][:, None, None]
        true = self.truth[batch][:, :, None] == np.array([2, 3])
        D = np.zeros((len(mu), self.structure.width))
        D[:, : 2 * len(self.structure.child)] = (true * C - mu).reshape(len(mu), -1)
        return D

    def take(self, before: Any) -> None:
        self.m[:] = before.m * (self.C / before.C)[:, None]
