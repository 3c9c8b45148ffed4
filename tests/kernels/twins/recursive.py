"""Readable twin of `recursive`: dense matrices over the inner nodes, one feature at a time, in double precision.

For every feature, with A the Laplacian of the conductances plus the anchors on the diagonal:

    step           (A + diag(count)) x = pull + count * m,     M <- x + momentum (x - before),   before <- x
    least_energy   1/2 pull' A^-1 pull
    energy         1/2 m' A m

where every leaf that differs from its centre by u != 0 adds weight * u to the pull and weight to the count of each of
its neighbours. How the nodes are eliminated, in which order and through which meshes, makes no difference to that.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

__all__ = ["energy", "gather", "least_energy", "step", "write_leaves"]

LANES = 16


def gather(M: Any, features: Any, indptr: Any, node: Any, share: Any, W: Any) -> None:
    """W[f, b] = sum over the neighbours of leaf b of share times their weight of feature f."""
    for row, feature in zip(W, features, strict=True):
        panel, lane = divmod(int(feature), LANES)
        for b in range(len(indptr) - 1):
            links = slice(indptr[b], indptr[b + 1])
            row[b] = (share[links].astype(float) * M[panel, node[links], lane]).sum()


def _laplacian(order: Any, later_ptr: Any, later: Any, conductance: Any) -> Any:
    L = np.zeros((len(order), len(order)))
    for k, v in enumerate(order):
        for e in range(later_ptr[k], later_ptr[k + 1]):
            u, c = later[e], float(conductance[e])
            L[[u, v], [u, v]] += c
            L[[u, v], [v, u]] -= c
    return L


def _at(address: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """The array that begins at an address."""
    n_bytes = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_char * n_bytes).from_address(int(address)), dtype).reshape(shape)


def _collect(
    feature: int, n_inner: int, U: Any, features: Any, length: Any, column_ptr: Any, inner: Any, weight: Any
) -> tuple[Any, Any]:
    """(pull, count) of every inner node, for one feature."""
    pull, count = np.zeros(n_inner), np.zeros(n_inner)
    for block in range(len(U)):
        n = int(length[block])
        if not n:
            continue
        rows = _at(U[block], (n, LANES), weight.dtype)
        for at in np.flatnonzero(_at(features[block], (n,), np.int32) == feature):
            for b in np.flatnonzero(rows[at]):
                for e in range(column_ptr[block, b], column_ptr[block, b + 1]):
                    pull[inner[e]] += float(weight[e]) * float(rows[at, b])
                    count[inner[e]] += float(weight[e])
    return pull, count


def _solve(A: Any, b: Any, order: Any, stay: Any) -> Any:
    """A x = b; where nothing holds a group of nodes, all of it goes to where its last node in ``order`` was."""
    from scipy.sparse.csgraph import connected_components

    x = np.empty(len(b))
    n_groups, group = connected_components(A, directed=False)
    for g in range(n_groups):
        nodes = np.flatnonzero(group == g)
        part = A[np.ix_(nodes, nodes)]
        if part.sum() > 1e-12 * np.trace(part):  # what the anchors and leaves hold it by
            x[nodes] = np.linalg.solve(part, b[nodes])
        else:
            x[nodes] = stay[[v for v in order if group[v] == g][-1]]
    return x


def step(
    order: Any, later_ptr: Any, later: Any, conductance: Any, mesh_ptr: Any, mesh: Any, slot: Any, always: Any,
    anchor: Any,
    U: Any, features: Any, length: Any, column_ptr: Any, inner: Any, weight: Any, cursor: Any,
    first_panel: int, M: Any, before: Any, momentum: float, work: Any, edge_work: Any, touched: Any,
) -> float:  # fmt: skip
    A = _laplacian(order, later_ptr, later, conductance) + np.diag(anchor.astype(float))
    uphill = 0.0
    for panel in range(len(M)):
        for lane in range(LANES):
            m, old = M[panel, :, lane].astype(float), before[panel, :, lane].astype(float)
            pull, count = _collect(
                (first_panel + panel) * LANES + lane, len(order), U, features, length, column_ptr, inner, weight
            )
            x = _solve(A + np.diag(count), pull + count * m, order, m)
            uphill += (m - x) @ (x - old)
            M[panel, :, lane] = x + momentum * (x - old)
            before[panel, :, lane] = x
    return uphill


def least_energy(
    order: Any, later_ptr: Any, later: Any, conductance: Any, mesh_ptr: Any, mesh: Any, slot: Any, always: Any,
    anchor: Any,
    U: Any, features: Any, length: Any, column_ptr: Any, inner: Any, weight: Any, cursor: Any,
    first_panel: int, n_panels: int, work: Any, edge_work: Any, touched: Any,
) -> float:  # fmt: skip
    A = _laplacian(order, later_ptr, later, conductance) + np.diag(anchor.astype(float))
    total = 0.0
    for feature in range(first_panel * LANES, (first_panel + n_panels) * LANES):
        pull, _ = _collect(feature, len(order), U, features, length, column_ptr, inner, weight)
        total += pull @ _solve(A, pull, order, np.zeros(len(order)))
    return 0.5 * total


def energy(order: Any, later_ptr: Any, later: Any, conductance: Any, anchor: Any, M: Any) -> float:
    A = _laplacian(order, later_ptr, later, conductance) + np.diag(anchor.astype(float))
    return 0.5 * float(np.einsum("pvl,vu,pul->", M.astype(float), A, M.astype(float)))


def write_leaves(
    M: Any, first_panel: int, leaf_ptr: Any, node: Any, share: Any, U: Any, features: Any, length: Any, cursor: Any,
    first_leaf: Any, row: Any, W: Any,
) -> None:  # fmt: skip
    for panel in range(len(M)):
        for lane in range(LANES):
            feature = (first_panel + panel) * LANES + lane
            if feature >= len(row) or row[feature] < 0:
                continue
            for n in range(len(leaf_ptr) - 1):
                links = slice(leaf_ptr[n], leaf_ptr[n + 1])
                W[row[feature], n] = (share[links].astype(float) * M[panel, node[links], lane]).sum()
            for block in range(len(U)):
                size = int(length[block])
                rows = _at(U[block], (size, LANES), M.dtype) if size else np.empty((0, LANES))
                numbers = _at(features[block], (size,), np.int32) if size else np.empty(0, np.int32)
                columns = slice(first_leaf[block], first_leaf[block + 1])
                for at in np.flatnonzero(numbers == feature):
                    W[row[feature], columns] += rows[at, : columns.stop - columns.start]
