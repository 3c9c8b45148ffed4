"""The vertices between the leaves on a device: products and exact solves with their matrix, for every feature at once.

    E = Laplacian of the links between inner vertices (leaves with several parents link these, too) + pulls to zero

Weights of inner vertices are arrays n_inner x n_features. A matrix is factored once, L D L', on the processor, in the
order of lowest degree, in which a tree has no fill. A triangular solve goes by levels: vertices of a level do not wait
for each other, so that each level is one gathered sum over all features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from linnaeus.models.gpu.documents import SparseRows, Tensor, on_device, product
from linnaeus.models.recursive.network import Links, Network
from linnaeus.typing import CSR, FloatArray, IntArray

__all__ = ["Inner", "inner_matrix"]


def inner_matrix(links: Links) -> CSR:
    """E (CSC, float64) of some links; as in a `Network`, one vertex on its own where there is none."""
    from scipy import sparse

    if not links.inner:
        return sparse.csc_array(np.ones((1, 1)))

    ends: list[tuple[int, int, float]] = []
    for u, near in enumerate(links.inner):
        ends += [(u, v, weight) for v, weight in near.items()]
    for near in links.leaves:
        total = sum(near.values())
        ends += [(p, q, near[p] * near[q] / total) for p in near for q in near if p != q]
    n = len(links.inner)
    rows, columns, weight = (np.array(x) for x in zip(*ends, strict=True)) if ends else (np.zeros(0, int),) * 3
    adjacency = sparse.coo_array((weight.astype(np.float64), (rows, columns)), shape=(n, n)).tocsr()
    degree = np.asarray(adjacency.sum(axis=1)).ravel() + np.asarray(links.anchor, np.float64)
    return sparse.csc_array(sparse.diags_array(degree) - adjacency)


class Inner:
    """E of a network, to multiply with and to solve, alone or with a diagonal for every feature."""

    def __init__(self, E: CSR, network: Network, device: str) -> None:
        from scipy import sparse

        self.n_inner = E.shape[0]
        self.E: SparseRows = on_device(sparse.csr_array(E), device)
        self.exact = torch.as_tensor(sparse.csr_array(E).data, device=device)
        self.solve_E = _Solve(sparse.csc_array(E), network.order, device)
        self.with_diagonal = DiagonalSolve(sparse.csc_array(E), network.order, device)

    def times(self, M: Tensor) -> Tensor:
        """E M."""
        if M.dtype == torch.float64:
            exact = SparseRows(self.E.indptr, self.E.indices, self.exact, self.E.n_columns)
            return product(exact, M, exact=True)
        return product(self.E, M)


def _factor(A: CSR, order: IntArray) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """L D L' of A in an order, without pivoting; entries of L below the diagonal by column, and D."""
    from scipy.sparse.linalg import splu

    found = splu(A[order][:, order], permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    L = found.L.tocoo()
    below = L.row > L.col
    rows, columns, data = L.row[below], L.col[below], L.data[below]
    by_column = np.lexsort((rows, columns))
    return rows[by_column], columns[by_column], data[by_column], found.U.diagonal()


@dataclass
class _Level:
    """Entries of L in the columns of one level: L[to, source] = factor."""

    source: Tensor
    to: Tensor
    factor: Tensor


class _Substitutions:
    """The levels of a triangular solve and of its transpose, on CUDA: rows of a level side by side."""

    def __init__(self, levels: list[tuple[Tensor, Tensor, Tensor]]) -> None:
        from linnaeus.models.gpu.triton_kernels import Substitution

        self.down = [Substitution.of(to, source, entry) for source, to, entry in levels]
        self.up = [Substitution.of(source, to, entry) for source, to, entry in reversed(levels)]


class _Solve:
    """A^-1 q for q (n x n_features)."""

    def __init__(self, A: CSR, order: IntArray, device: str) -> None:
        rows, columns, data, diagonal = _factor(A, order)
        number = np.asarray(order, np.int64)
        self._levels = []
        for here in _levels(rows, columns, len(number)):
            source, to = (torch.as_tensor(number[x[here]], device=device) for x in (columns, rows))
            self._levels.append(_Level(source, to, torch.as_tensor(data[here], device=device)[:, None]))
        inverse = np.empty(len(number))
        inverse[number] = 1 / diagonal
        self._inverse = torch.as_tensor(inverse, device=device)[:, None]
        self._L, self._substitutions = torch.as_tensor(data, device=device), None
        if self._L.is_cuda:
            places = [torch.as_tensor(here, device=device) for here in _levels(rows, columns, len(number))]
            self._substitutions = _Substitutions(
                [(level.source, level.to, place) for level, place in zip(self._levels, places, strict=True)]
            )

    def __call__(self, q: Tensor) -> Tensor:
        """In place."""
        if self._substitutions is not None:
            for substitute in self._substitutions.down:
                substitute(self._L, q)
            q *= self._inverse.to(q.dtype)
            for substitute in self._substitutions.up:
                substitute(self._L, q)
            return q
        for level in self._levels:
            q.index_add_(0, level.to, q[level.source] * -level.factor.to(q.dtype))
        q *= self._inverse.to(q.dtype)
        for level in reversed(self._levels):
            q.index_add_(0, level.source, q[level.to] * -level.factor.to(q.dtype))
        return q


@dataclass
class _Elimination:
    """One level of an elimination: its entries, and pairs of them that change what comes later."""

    entries: Tensor
    source: Tensor
    to: Tensor
    pair_one: Tensor  # entries (v, i) and (v, j) of a pair, and the entry (i, j) that they change
    pair_other: Tensor
    pair_changes: Tensor
    pair_source: Tensor


class DiagonalSolve:
    """(E + diag(h))^-1 q with a diagonal h of its own for every feature: h, q are n x n_features.

    The same elimination runs for all features side by side, its entries n_entries x n_features.
    """

    def __init__(self, E: CSR, order: IntArray, device: str) -> None:
        from scipy import sparse

        rows, columns, _, _ = _factor(E, order)
        n, number = E.shape[0], np.asarray(order, np.int64)
        permuted = sparse.csr_array(E[order][:, order])
        start = np.asarray(permuted[rows, columns]).ravel() if len(rows) else np.zeros(0)
        entry = {pair: e for e, pair in enumerate(zip(rows.tolist(), columns.tolist(), strict=True))}
        self._levels = [
            _Elimination(
                *(
                    torch.as_tensor(x.astype(np.int64), device=device)
                    for x in (here, number[columns[here]], number[rows[here]])
                ),
                *(torch.as_tensor(x, device=device) for x in _pairs(here, rows, columns, entry, number)),
            )
            for here in _levels(rows, columns, n)
        ]
        self._start = torch.as_tensor(start, device=device, dtype=torch.float32)[:, None]
        self._diagonal = torch.as_tensor(E.diagonal(), device=device, dtype=torch.float32)[:, None]
        self._entries = self._pivots = torch.zeros(0)
        self._substitutions = None
        if self._start.is_cuda:
            self._substitutions = _Substitutions([(level.source, level.to, level.entries) for level in self._levels])

    def factor(self, h: Tensor) -> None:
        """Eliminate with the diagonal h, which becomes the pivots: it must stay as it is until the last solve."""
        if self._entries.shape != (len(self._start), h.shape[1]):
            self._entries = torch.empty((len(self._start), h.shape[1]), device=h.device)
        pivots, entries = h.add_(self._diagonal), self._entries.copy_(self._start.expand_as(self._entries))
        for level in self._levels:
            a, pivot = entries[level.entries], pivots[level.source]
            pivots.index_add_(0, level.to, -(a * a) / pivot)
            if len(level.pair_one):
                change = entries[level.pair_one] * entries[level.pair_other] / pivots[level.pair_source]
                entries.index_add_(0, level.pair_changes, -change)
            entries[level.entries] = a / pivot
        self._pivots = pivots

    def __call__(self, q: Tensor) -> Tensor:
        """Solve in place."""
        if self._substitutions is not None:
            for substitute in self._substitutions.down:
                substitute(self._entries, q)
            q /= self._pivots
            for substitute in self._substitutions.up:
                substitute(self._entries, q)
            return q
        for level in self._levels:
            q.index_add_(0, level.to, -self._entries[level.entries] * q[level.source])
        q /= self._pivots
        for level in reversed(self._levels):
            q.index_add_(0, level.source, -self._entries[level.entries] * q[level.to])
        return q


def _levels(rows: IntArray, columns: IntArray, n: int) -> list[IntArray]:
    """Entries of L, by column, in levels: a column's entries come after all that change it."""
    level = np.zeros(n, np.int64)
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):  # columns ascend: level[column] is final
        level[row] = max(level[row], level[column] + 1)
    at = level[columns]
    return [np.flatnonzero(at == depth) for depth in range(int(at.max(initial=-1)) + 1)]


def _pairs(
    here: IntArray, rows: IntArray, columns: IntArray, entry: dict[tuple[int, int], int], number: IntArray
) -> IntArray:
    """Pairs of entries in the same column, and what they change."""
    found: list[tuple[int, int, int, int]] = []
    first = 0
    while first < len(here):
        last = first
        while last < len(here) and columns[here[last]] == columns[here[first]]:
            last += 1
        group = here[first:last].tolist()
        for k, one in enumerate(group):
            for other in group[k + 1 :]:
                found.append((one, other, entry[(int(rows[other]), int(rows[one]))], int(number[columns[one]])))
        first = last
    return np.array(found, np.int64).reshape(-1, 4).T.copy()
