"""Exact dynamic programs on trees and forests; every document is a separate problem, nodes are in level order.

``parent[v]`` is the parent of node v or -1 at the top; ``parent[v] < v``. Sums are double whatever the scores are.

best_subtrees       max over closed sets U of sum_{v in U} u_v:   W(v) = u_v + sum_{c child of v} max(0, W(c)),
                    a node is kept iff its parent is and W > 0 (a tie keeps fewer nodes).
edge_labellings     max over labellings y of sum_v g_v(y_parent(v), y_v), all of them or the closed ones only:
                    T_a(v) = max_b ( g_v(a, b) + sum_{c child of v} T_b(c) ), a tie prefers b = 0.
"""

import numpy as np

from cython cimport floating

ctypedef long long i64

cdef extern from *:
    """
    #include <string.h>
    /* Several documents side by side. The signs of scores are unpredictable, and branches on them would cost more than
       the sums, so a value is kept or zeroed by masking its bits. */
    enum { LANES = 8 };
    static inline double masked(int keep, double w) {
        long long bits;
        memcpy(&bits, &w, sizeof bits);
        bits &= -(long long)keep;
        memcpy(&w, &bits, sizeof bits);
        return w;
    }
    static inline void pass_up(const double *restrict here, double *restrict over) {
        for (int j = 0; j < LANES; j++) over[j] += masked(here[j] > 0.0, here[j]);
    }
    static inline void pass_down(double *restrict here, const double *restrict over) {
        for (int j = 0; j < LANES; j++) here[j] = masked((here[j] > 0.0) & (over[j] > 0.0), here[j]);
    }
    """
    enum: LANES
    void pass_up(const double* here, double* over) noexcept nogil
    void pass_down(double* here, const double* over) noexcept nogil


def best_subtrees(const floating[:, ::1] S, const int[::1] position, const int[::1] parent):
    """Closed sets of largest total score: (indptr int64, indices int32), one sorted row for each row of S.

    ``position[v]`` is the column of node v in S (n_docs x n_scored), or -1 for a node of weight 0.
    """
    cdef Py_ssize_t n_docs = S.shape[0], n = parent.shape[0], g, d, v, j, lanes, out = 0
    cdef int[::1] above = np.where(np.asarray(parent) < 0, n, parent).astype(np.int32)
    cdef double[:, ::1] W = np.zeros((n + 1, LANES))  # the last row is above all tops and collects their values
    indptr_array = np.zeros(n_docs + 1, dtype=np.int64)
    # One place too many: every node is written, and the place is kept only if the node is.
    indices_array = np.empty(n_docs * n + 1, dtype=np.int32)
    cdef i64[::1] indptr = indptr_array
    cdef int[::1] indices = indices_array
    with nogil:
        for g in range((n_docs + LANES - 1) // LANES):
            d = g * LANES
            lanes = min(LANES, n_docs - d)
            for v in range(n):
                for j in range(lanes):
                    W[v, j] = S[d + j, position[v]] if position[v] >= 0 else 0.0
            for v in range(n - 1, -1, -1):
                pass_up(&W[v, 0], &W[above[v], 0])
            for j in range(LANES):
                W[n, j] = 1.0
            for v in range(n):
                pass_down(&W[v, 0], &W[above[v], 0])
            for j in range(lanes):
                for v in range(n):
                    indices[out] = <int> v
                    out += W[v, j] > 0.0
                indptr[d + j + 1] = out
    return indptr_array, indices_array[:out].copy()


def edge_labellings(const floating[:, :, ::1] G, const int[::1] parent, bint consistent):
    """Best labellings (uint8 n_docs x n_nodes) and their scores (float64 n_docs).

    ``G[d, v, 2 a + b]`` is the score of the pair (label a of the parent, label b of v). The parent of a top node counts
    as labelled 1. ``consistent`` leaves the pair (0, 1) out.
    """
    cdef Py_ssize_t n_docs = G.shape[0], n = parent.shape[0], d, v
    cdef int p, a
    cdef double zero, one
    labels_array = np.zeros((n_docs, n), dtype=np.uint8)
    values_array = np.zeros(n_docs)
    cdef unsigned char[:, ::1] labels = labels_array
    cdef double[::1] values = values_array
    cdef double[:, ::1] T = np.zeros((n + 1, 2))
    cdef unsigned char[:, ::1] choice = np.zeros((n, 2), dtype=np.uint8)
    with nogil:
        for d in range(n_docs):
            for v in range(n + 1):
                T[v, 0] = 0.0
                T[v, 1] = 0.0
            for v in range(n - 1, -1, -1):
                p = parent[v]
                for a in range(2):
                    if p < 0 and a == 0:
                        continue
                    zero = G[d, v, 2 * a] + T[v, 0]
                    one = G[d, v, 2 * a + 1] + T[v, 1]
                    choice[v, a] = one > zero and not (consistent and a == 0)
                    T[n if p < 0 else p, a] += one if choice[v, a] else zero
            values[d] = T[n, 1]
            for v in range(n):
                p = parent[v]
                labels[d, v] = choice[v, 1 if p < 0 else labels[d, p]]
    return labels_array, values_array
