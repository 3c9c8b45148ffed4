"""Scores of branching on a DAG through trees: a bound that often is the answer itself (Lagrangian relaxation).

Every node keeps its first parent, and under each other parent q of c hangs a ghost, a leaf that stands for c there. The
best set of that tree, by `branching_sets`, is at least as good as that of the DAG, whatever multipliers lambda move
score from nodes to their ghosts:

    s_c - sum of its lambda,   s_ghost = lambda;     lambda -= step (ghost chosen - node chosen)

Where each ghost is chosen with its node and only with it, the set is one of the DAG, and so its best.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from linnaeus.decoding.base import Hierarchy
from linnaeus.decoding.rules import BoundRules
from linnaeus.taxonomy.rows import pointers, row_numbers
from linnaeus.typing import BoolArray, FloatArray, IntArray

__all__ = ["relaxed_sets"]

STEPS = 60


def relaxed_sets(
    weights: FloatArray, rules: BoundRules, edges: Hierarchy, table: FloatArray
) -> tuple[list[IntArray], FloatArray, BoolArray]:
    """Sets of every document, their scores, and which of them are certainly the best.

    ``weights`` are of all nodes (n_docs x n_nodes); rules are no bounds on numbers of labels.
    """
    from linnaeus._kernels.branching import branching_sets

    n = weights.shape[1]
    sets: list[IntArray] = [np.empty(0, dtype=np.int32)] * len(weights)
    scores, certain = np.full(len(weights), -np.inf), np.zeros(len(weights), dtype=bool)
    if (rules.forced & ~rules.allowed).any():
        return sets, scores, ~certain
    indptr, children, origin = _ghost_tree(edges, rules.allowed)
    g = len(origin)
    position = np.arange(n + g, dtype=np.int32)
    forced = np.concatenate([rules.forced, rules.forced[origin], [False]]).astype(np.uint8)
    grown = np.vstack([table[:-1], np.zeros((g, table.shape[1])), table[-1:]])
    usable = np.where(np.isfinite(weights), np.abs(weights), 0.0)
    size = 0.5 * usable.mean(axis=1, keepdims=True) if n else np.zeros((len(weights), 1))
    shift, never = np.zeros((len(weights), g)), np.isneginf(weights[:, origin])
    back = sparse.csr_array((np.ones(g), (np.arange(g), origin)), shape=(g, n))
    todo = np.arange(len(weights))
    for step in range(STEPS if g else 1):
        S = np.hstack([weights[todo] - shift[todo] @ back, np.where(never[todo], -np.inf, shift[todo])])
        rows, indices, values = branching_sets(S, position, indptr, children, grown, forced, np.empty((len(S), 0)))
        chosen = np.zeros(S.shape, dtype=bool)
        chosen[row_numbers(rows), indices] = True
        apart = chosen[:, n:].astype(np.int8) - chosen[:, origin]
        agreed = ~apart.any(axis=1)
        for at in np.flatnonzero(agreed).tolist():
            sets[todo[at]] = np.flatnonzero(chosen[at, :n]).astype(np.int32)
        scores[todo[agreed]], certain[todo[agreed]] = values[agreed], True
        if agreed.all():
            break
        shift[todo] -= size[todo] / np.sqrt(1.0 + step) * apart
        todo = todo[~agreed]
    return sets, scores, certain


def _ghost_tree(edges: Hierarchy, allowed: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Children of every node, of ghosts and, last, of what stands above the tops; and whose ghosts they are."""
    n = len(allowed)
    child = row_numbers(edges.parent_indptr)
    first = np.concatenate([[True], child[1:] != child[:-1]]) if len(child) else np.zeros(0, dtype=bool)
    usable = allowed[child] & allowed[edges.parent_indices]
    ghost = ~first & usable
    origin = child[ghost].astype(np.int64)
    tops = edges.tops[allowed[edges.tops]]
    g = len(origin)
    of_nodes, of_ghosts = edges.parent_indices[first & usable], edges.parent_indices[ghost]
    parents = np.concatenate([of_nodes, of_ghosts, np.full(len(tops), n + g)])
    below = np.concatenate([child[first & usable], n + np.arange(g), tops])
    order = np.argsort(parents, kind="stable")
    indptr = pointers(np.bincount(parents, minlength=n + g + 1)).astype(np.int64)
    return indptr, below[order].astype(np.int32), origin
