"""Values of whole labellings of a tree from scores of edges: dynamic programs, one document at a time.

Nodes are in depth-first order, parent[v] < v, -1 at the top (whose parent counts as labelled 1); a table has the
labelling u = 2 a + b for label a of the parent and b of the node. Rows of F are as in `margin_tree`.

slacks           max_y sum_v h[v, u_v(y)] with h = losses + scale * F, less that of the true labelling, for scales.
margins          best labelling with v at 1 less best labelling with v at 0, for every node.
losses_held      the linear term of the dual.
"""

import numpy as np

from cython cimport floating
from libc.math cimport INFINITY

include "margin_rows.pxi"


cdef inline double best_value(
    const double* h, const int* parent, Py_ssize_t n, bint consistent, double* S, double* T
) noexcept nogil:
    """max_y sum_v h[v, u_v(y)]; S[v, b]: best below v given its label b; T[v, a]: at or below v given label a above."""
    cdef Py_ssize_t v, k
    cdef int p, a
    cdef double zero, one, value = 0.0
    for k in range(2 * n):
        S[k] = 0.0
    for v in range(n - 1, -1, -1):
        p = parent[v]
        for a in range(2):
            zero = h[4 * v + 2 * a] + S[2 * v]
            one = h[4 * v + 2 * a + 1] + S[2 * v + 1]
            if consistent and a == 0:
                one = -INFINITY
            T[2 * v + a] = one if one > zero else zero
            if p >= 0:
                S[2 * p + a] += T[2 * v + a]
        if p < 0:
            value += T[2 * v + 1]
    return value


def slacks(const floating[:, ::1] F, const unsigned char[:, ::1] truth, const double[:, :, ::1] loss,
           const int[::1] parent,
           int columns, const double[::1] scales, double[:, ::1] out):
    """out[d, s] = max_y sum_v loss + scales[s] (F[y] - F[truth]) of every row of F; truth has the same rows."""
    cdef Py_ssize_t n_docs = F.shape[0], n = parent.shape[0], d, s, v
    cdef double value
    cdef double[::1] h = np.empty(4 * n), S = np.empty(2 * n), T = np.empty(2 * n)
    with nogil:
        for d in range(n_docs):
            for s in range(scales.shape[0]):
                scores(&h[0], &F[d, 0], &loss[0, 0, 0], &truth[d, 0], n, columns, scales[s])
                value = best_value(&h[0], &parent[0], n, columns == 2, &S[0], &T[0])
                for v in range(n):
                    value -= h[4 * v + truth[d, v]]  # the loss is 0 there
                out[d, s] = value


def margins(const floating[:, ::1] F, const int[::1] parent, int columns, bint consistent, double[:, ::1] out):
    """out[d, v] = max over labellings with v at 1 less max over those with v at 0; consistent ones only, or all."""
    cdef Py_ssize_t n_docs = F.shape[0], n = parent.shape[0], d, v
    cdef int p, a, b
    cdef double value, best
    cdef double[::1] h = np.empty(4 * n), S = np.empty(2 * n), T = np.empty(2 * n), A = np.empty(2 * n)
    with nogil:
        for d in range(n_docs):
            raw(&h[0], &F[d, 0], n, columns, 1.0)
            best_value(&h[0], &parent[0], n, consistent, &S[0], &T[0])
            for v in range(n):  # A: best of all but what is below v, given its label
                p = parent[v]
                for b in range(2):
                    best = h[4 * v + 2 + b] if p < 0 else -INFINITY
                    for a in range(2 if p >= 0 else 0):
                        if consistent and a == 0 and b == 1:
                            continue
                        value = A[2 * p + a] + S[2 * p + a] - T[2 * v + a] + h[4 * v + 2 * a + b]
                        if value > best:
                            best = value
                    A[2 * v + b] = best
                out[d, v] = A[2 * v + 1] + S[2 * v + 1] - A[2 * v] - S[2 * v]


def losses_held(const double[:, :, ::1] mu, const unsigned char[:, ::1] truth, const double[:, :, ::1] loss):
    """sum over documents, nodes and labellings of mu * loss: the linear term of the dual."""
    cdef Py_ssize_t d, v, u
    cdef double held = 0.0
    with nogil:
        for d in range(mu.shape[0]):
            for v in range(mu.shape[1]):
                for u in range(4):
                    held += mu[d, v, u] * loss[v, truth[d, v], u]
    return held
