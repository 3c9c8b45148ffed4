"""The best closed set on a forest where the number of chosen children has a score, document by document.

A chosen node v has the score s_v + b_v(k), where k is the number of its chosen children: the table b has the columns 0,
1 .. R, and last "more than R"; minus infinity forbids. The last row of b and of the children is for the place above
all tops. With gain(c) = s_c + V(c) of the children,

    V(v) = max_k  b_v(k) + the k largest gains     forced children come first; ties take fewer, then lower numbers

and "more than R" takes all positive gains, or the R + 1 largest if these are fewer: only R + 1 need to be sorted.
Nodes are in level order, so that children have larger numbers.
"""

import numpy as np

from cython cimport floating
from libc.math cimport INFINITY

ctypedef long long i64


include "largest_gains.pxi"


def branching_sets(
    const floating[:, ::1] S, const int[::1] position, const i64[::1] indptr, const int[::1] children,
    const double[:, ::1] table, const unsigned char[::1] forced, const floating[:, ::1] E
):
    """Best closed sets (indptr int64, indices int32, one sorted row for each row of S) and their scores (float64).

    ``position[v]`` is the column of node v in S, or -1 for a node of score 0. ``indptr`` has n_nodes + 1 rows of
    ``children``, the last one for tops; every node must be in one of them. ``E`` has the columns of S: scores added
    where a set ends at a node; it may have no columns. If no set is possible, the row is empty and the score is minus
    infinity.
    """
    cdef Py_ssize_t n_docs = S.shape[0], n = position.shape[0], d, v, i, out = 0
    cdef int R = <int> table.shape[1] - 2, f, q, need, n_others, n_positive, take
    cdef i64 e
    cdef int c
    cdef double g, total, sum_forced, sum_positive, value, prefix
    cdef double[::1] gain = np.zeros(n + 1)
    cdef int[::1] taken = np.zeros(n + 1, dtype=np.int32)  # how many that are not forced; -1: all of positive gain
    cdef double[::1] best = np.zeros(R + 2)
    cdef int[::1] who = np.zeros(R + 2, dtype=np.int32)
    cdef unsigned char[::1] kept = np.zeros(n + 1, dtype=np.uint8)
    indptr_array = np.zeros(n_docs + 1, dtype=np.int64)
    indices_array = np.empty(n_docs * n + 1, dtype=np.int32)
    scores_array = np.zeros(n_docs)
    cdef i64[::1] rows = indptr_array
    cdef int[::1] indices = indices_array
    cdef double[::1] scores = scores_array
    cdef const int* below = &children[0] if children.shape[0] else NULL
    cdef bint ending = E.shape[1] > 0
    with nogil:
        for d in range(n_docs):
            for v in range(n):
                kept[v] = 0
            for i in range(n + 1):
                v = n - 1 - i if i < n else n
                sum_forced = sum_positive = 0.0
                f = n_positive = 0
                for e in range(indptr[v], indptr[v + 1]):
                    c = below[e]
                    if forced[c]:
                        f += 1
                        sum_forced += gain[c]
                    elif gain[c] > 0.0:
                        n_positive += 1
                        sum_positive += gain[c]
                value = table[v, 0] if f == 0 else -INFINITY
                if ending and v < n and position[v] >= 0:
                    value += E[d, position[v]]
                take = 0
                if indptr[v] < indptr[v + 1]:
                    n_others = largest(&gain[0], below, indptr[v], indptr[v + 1], &forced[0], R + 1, &best[0], &who[0])
                    prefix = 0.0
                    for q in range(min(n_others, R) + 1):  # q that are not forced
                        if q > 0:
                            prefix += best[q - 1]
                        if 1 <= f + q <= R:
                            total = sum_forced + prefix + table[v, f + q]
                            if total > value:
                                value = total
                                take = q
                    need = max(R + 1 - f, 0)
                    if n_others >= need and table[v, R + 1] > -INFINITY:
                        if n_positive >= need:
                            total = sum_forced + sum_positive + table[v, R + 1]
                            q = -1
                        else:
                            prefix = 0.0
                            for q in range(need):
                                prefix += best[q]
                            total = sum_forced + prefix + table[v, R + 1]
                            q = need
                        if total > value:
                            value = total
                            take = q
                taken[v] = take
                if v < n:
                    g = S[d, position[v]] if position[v] >= 0 else 0.0
                    gain[v] = g + value
                else:
                    scores[d] = value
            if scores[d] > -INFINITY:
                kept[n] = 1
                choose(n, &indptr[0], below, &forced[0], &gain[0], &taken[0], R + 1, &best[0], &who[0], &kept[0])
                for v in range(n):
                    if kept[v]:
                        choose(
                            v, &indptr[0], below, &forced[0], &gain[0], &taken[0], R + 1, &best[0], &who[0], &kept[0]
                        )
                        indices[out] = <int> v
                        out += 1
            rows[d + 1] = out
    return indptr_array, indices_array[:out].copy(), scores_array


cdef void choose(
    Py_ssize_t v, const i64* indptr, const int* below, const unsigned char* forced, const double* gain,
    const int* taken,
    int most, double* best, int* who, unsigned char* kept
) noexcept nogil:
    """Keep the children of v that its best value was made of."""
    cdef i64 e
    cdef int c, q
    for e in range(indptr[v], indptr[v + 1]):
        c = below[e]
        kept[c] = forced[c] or (taken[v] < 0 and gain[c] > 0.0)
    if taken[v] > 0:
        largest(gain, below, indptr[v], indptr[v + 1], forced, min(most, taken[v]), best, who)
        for q in range(taken[v]):
            kept[who[q]] = 1
