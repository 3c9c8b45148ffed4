"""The block of one document on a DAG, where consistent labellings compete: mass m[v] of every node, parents first.

With U the slope of the dual in m, and degree counting all edges of a node (one to the root above every top),

    max_delta  U'delta - kappa / 2 delta' (2 Degree - Adjacency) delta,      0 <= m[child] <= m[parent] <= C.

move_nodes     nodes take turns: each goes to the best mass between its children's and its parents'.
move_to_set    mass goes to a closed set: from another one, or from the whole mixture, by the exact step.
level_sets     m as a mixture of closed sets {v : m[v] >= level}; the one with the least sum of U, and its weight.
"""

import numpy as np

from libc.math cimport INFINITY


def move_nodes(double[::1] U, double[::1] m, const long long[::1] parent_indptr, const int[::1] parent_indices,
               const long long[::1] child_indptr, const int[::1] child_indices, double kappa, double C, int sweeps):
    """Sweeps over all nodes, parents first and back; U and m change."""
    cdef Py_ssize_t n = m.shape[0], v, k, sweep, turn
    cdef double low, high, to, delta, curve
    with nogil:
        for sweep in range(sweeps):
            for turn in range(2 * n):
                v = turn if turn < n else 2 * n - 1 - turn
                high, low = C, 0.0
                for k in range(parent_indptr[v], parent_indptr[v + 1]):
                    if m[parent_indices[k]] < high:
                        high = m[parent_indices[k]]
                for k in range(child_indptr[v], child_indptr[v + 1]):
                    if m[child_indices[k]] > low:
                        low = m[child_indices[k]]
                curve = parent_indptr[v + 1] - parent_indptr[v] + child_indptr[v + 1] - child_indptr[v]
                if parent_indptr[v + 1] == parent_indptr[v]:
                    curve += 1
                curve *= 2.0 * kappa
                if curve > 0:
                    to = m[v] + U[v] / curve
                else:
                    to = high if U[v] > 0 else (low if U[v] < 0 else m[v])
                if to > high:
                    to = high
                if to < low:
                    to = low
                delta = to - m[v]
                if delta == 0.0:
                    continue
                m[v] = to
                U[v] -= curve * delta
                for k in range(parent_indptr[v], parent_indptr[v + 1]):
                    U[parent_indices[k]] += kappa * delta
                for k in range(child_indptr[v], child_indptr[v + 1]):
                    U[child_indices[k]] += kappa * delta


def move_to_set(double[::1] U, double[::1] m, const double[::1] toward, const long long[::1] parent_indptr,
                const int[::1] parent_indices, const long long[::1] child_indptr, const int[::1] child_indices,
                double kappa,
                double C, double most):
    """m += step * toward with the best step up to ``most``; U and m change. toward is feasible up to there."""
    cdef Py_ssize_t n = m.shape[0], v, k
    cdef double gain = 0.0, curve = 0.0, step = most, degree
    cdef double[::1] pull = np.empty(n)
    with nogil:
        for v in range(n):
            degree = parent_indptr[v + 1] - parent_indptr[v] + child_indptr[v + 1] - child_indptr[v]
            if parent_indptr[v + 1] == parent_indptr[v]:
                degree += 1
            pull[v] = 2.0 * degree * toward[v]
            for k in range(parent_indptr[v], parent_indptr[v + 1]):
                pull[v] -= toward[parent_indices[k]]
            for k in range(child_indptr[v], child_indptr[v + 1]):
                pull[v] -= toward[child_indices[k]]
            gain += U[v] * toward[v]
            curve += kappa * toward[v] * pull[v]
        if curve > 0.0 and gain < most * curve:
            step = gain / curve
        if step > 0.0 and gain > 0.0:
            for v in range(n):
                m[v] += step * toward[v]
                if m[v] < 0.0:
                    m[v] = 0.0
                elif m[v] > C:
                    m[v] = C
                U[v] -= step * kappa * pull[v]


def level_sets(const double[::1] U, const double[::1] m, double C):
    """(level, weight): of the mixture, the set {v : m[v] >= level} has the least sum of U; level inf: the empty set."""
    cdef Py_ssize_t n = m.shape[0], k = 0
    cdef double total = 0.0, least = INFINITY, level = INFINITY, weight = 0.0, here, below
    order_array = np.argsort(-np.asarray(m), kind="stable").astype(np.int64)
    cdef long long[::1] order = order_array
    if n == 0 or C - m[order[0]] > 0.0:  # the empty set has what no node has
        least, level, weight = 0.0, INFINITY, (C - m[order[0]] if n else C)
    with nogil:
        while k < n:
            here = m[order[k]]
            while k < n and m[order[k]] == here:
                total += U[order[k]]
                k += 1
            below = here - (m[order[k]] if k < n else 0.0)
            if below > 0.0 and total < least:
                least, level, weight = total, here, below
    return level, weight
