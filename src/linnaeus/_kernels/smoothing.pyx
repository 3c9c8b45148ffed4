"""Isotonic regression on forests: the nearest values that never grow from a parent to its child.

    min_z  sum_v w_v (z_v - x_v)^2    z_v <= z_parent(v)

From the bottom up every node is a block with the weighted mean of its members; as long as the highest block below it
has a larger mean, the two become one. Blocks below a block wait in a heap by mean (leftist heaps, which join in
logarithmic time), so a document takes O(n log n). Nodes are in level order.
"""

import numpy as np

from cython cimport floating

ctypedef long long i64


cdef int meld(int a, int b, const double* mean, int* left, int* right, int* rank) noexcept nogil:
    """Two heaps as one, the largest mean on top; -1 is an empty one. The depth of the recursion is logarithmic."""
    cdef int c
    if a < 0:
        return b
    if b < 0:
        return a
    if mean[b] > mean[a] or (mean[b] == mean[a] and b < a):
        c = a
        a = b
        b = c
    right[a] = meld(right[a], b, mean, left, right, rank)
    if left[a] < 0 or rank[left[a]] < rank[right[a]]:
        c = left[a]
        left[a] = right[a]
        right[a] = c
    rank[a] = 0 if right[a] < 0 else rank[right[a]] + 1
    return a


def isotonic_forest(const floating[:, ::1] X, const double[::1] weight, const int[::1] parent):
    """z (n_docs x n_nodes, float64) of x with positive weights; ``parent[v] < v``, -1 at the top."""
    cdef Py_ssize_t n_docs = X.shape[0], n = parent.shape[0], d, v
    cdef int t, rest
    Z_array = np.empty((n_docs, n))
    cdef double[:, ::1] Z = Z_array
    cdef double[::1] mean = np.zeros(n + 1), mass = np.zeros(n + 1)
    cdef int[:, ::1] links = np.zeros((5, n + 1), dtype=np.int32)
    cdef int *left = &links[0, 0]
    cdef int *right = &links[1, 0]
    cdef int *rank = &links[2, 0]
    cdef int *below = &links[3, 0]
    cdef int *owner = &links[4, 0]
    with nogil:
        for d in range(n_docs):
            for v in range(n):
                below[v] = -1
            for v in range(n - 1, -1, -1):
                mean[v] = X[d, v]
                mass[v] = weight[v]
                owner[v] = <int> v
                while below[v] >= 0 and mean[below[v]] > mean[v]:
                    t = below[v]
                    mean[v] += (mean[t] - mean[v]) * (mass[t] / (mass[v] + mass[t]))
                    mass[v] += mass[t]
                    owner[t] = <int> v
                    rest = meld(left[t], right[t], &mean[0], left, right, rank)
                    below[v] = meld(rest, below[t], &mean[0], left, right, rank)
                if parent[v] >= 0:
                    left[v] = right[v] = -1
                    rank[v] = 0
                    below[parent[v]] = meld(below[parent[v]], <int> v, &mean[0], left, right, rank)
            for v in range(n):
                Z[d, v] = mean[v] if owner[v] == v else Z[d, owner[v]]
    return Z_array
