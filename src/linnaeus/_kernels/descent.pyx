"""Walks from the top of a hierarchy downwards, keeping a node only under kept parents.

The hierarchy is given by CSR arrays of parents and of children, without edges to a root: a node without parents is a
top node. Node numbers are in level order. Index pointers are int64, indices int32.
"""

import numpy as np

from cython cimport floating

ctypedef long long i64


def supported_members(
    const i64[::1] set_indptr, const int[::1] set_indices, const i64[::1] parent_indptr, const int[::1] parent_indices
):
    """For every member of every sorted set: are all its ancestors members too? (uint8, as ``set_indices``)."""
    cdef Py_ssize_t n_sets = set_indptr.shape[0] - 1, n = parent_indptr.shape[0] - 1, r, e, q
    cdef int v
    cdef bint keep
    cdef i64[::1] stamp = np.full(n, -1, dtype=np.int64)
    supported_array = np.zeros(set_indices.shape[0], dtype=np.uint8)
    cdef unsigned char[::1] supported = supported_array
    with nogil:
        for r in range(n_sets):
            for e in range(set_indptr[r], set_indptr[r + 1]):
                v = set_indices[e]
                keep = True
                for q in range(parent_indptr[v], parent_indptr[v + 1]):
                    keep = keep and stamp[parent_indices[q]] == r
                if keep:
                    stamp[v] = r
                    supported[e] = 1
    return supported_array


def descend(
    const floating[:, ::1] S, const int[::1] position, const double[::1] theta, const i64[::1] parent_indptr,
    const int[::1] parent_indices, const i64[::1] child_indptr, const int[::1] child_indices, const int[::1] tops,
    const int[::1] needed, bint leaf_mandatory
):
    """Greedy descent: (indptr int64, indices int32), rows in the order of the walk.

    A node is open when ``needed[v]`` of its parents are kept; an open node with a score above ``theta[v]`` is kept.
    With ``leaf_mandatory``, whenever nothing more can be kept, every kept node without a kept child (and the place
    above the tops) takes its best open child, all at once, and the walk continues. ``position[v]`` is the column
    of node v in S, or -1 for a node without a score, which is never kept.
    """
    cdef Py_ssize_t n_docs = S.shape[0], n = position.shape[0], d, e, i, out = 0, start, head, before
    cdef int p, c
    indptr_array = np.zeros(n_docs + 1, dtype=np.int64)
    indices_array = np.empty(n_docs * n, dtype=np.int32)
    cdef i64[::1] indptr = indptr_array
    cdef int[::1] indices = indices_array
    cdef i64[::1] kept = np.full(n, -1, dtype=np.int64)  # the document for which a node was kept last
    cdef i64[::1] satisfied = np.full(n, -1, dtype=np.int64)  # ... and for which it had a kept child
    cdef int[::1] n_kept_parents = np.zeros(n, dtype=np.int32)
    with nogil:
        for d in range(n_docs):
            start = out
            head = out
            for i in range(tops.shape[0]):
                c = tops[i]
                if position[c] >= 0 and S[d, position[c]] > theta[c]:
                    kept[c] = d
                    indices[out] = c
                    out += 1
            while True:
                while head < out:
                    p = indices[head]
                    head += 1
                    for e in range(parent_indptr[p], parent_indptr[p + 1]):
                        satisfied[parent_indices[e]] = d
                    for e in range(child_indptr[p], child_indptr[p + 1]):
                        c = child_indices[e]
                        n_kept_parents[c] += 1
                        if n_kept_parents[c] == needed[c] and position[c] >= 0:
                            if S[d, position[c]] > theta[c]:
                                kept[c] = d
                                indices[out] = c
                                out += 1
                if not leaf_mandatory:
                    break
                before = out
                if out == start:
                    c = best_open(S, d, position, tops, 0, tops.shape[0], needed, n_kept_parents)
                    if c >= 0:
                        kept[c] = d
                        indices[out] = c
                        out += 1
                for i in range(start, before):
                    p = indices[i]
                    if satisfied[p] != d:
                        c = best_open(
                            S, d, position, child_indices, child_indptr[p], child_indptr[p + 1], needed, n_kept_parents
                        )
                        if c >= 0 and kept[c] != d:
                            kept[c] = d
                            indices[out] = c
                            out += 1
                if out == before:
                    break
            for i in range(start, out):
                for e in range(child_indptr[indices[i]], child_indptr[indices[i] + 1]):
                    n_kept_parents[child_indices[e]] = 0
            indptr[d + 1] = out
    return indptr_array, indices_array[:out].copy()


cdef int best_open(
    const floating[:, ::1] S, Py_ssize_t d, const int[::1] position, const int[::1] nodes, Py_ssize_t first,
    Py_ssize_t last,
    const int[::1] needed, const int[::1] n_kept_parents
) noexcept nogil:
    """The open node of largest score among ``nodes[first:last]``, the first of equals; -1 if there is none."""
    cdef Py_ssize_t e
    cdef int c, best = -1
    for e in range(first, last):
        c = nodes[e]
        if position[c] >= 0 and n_kept_parents[c] >= needed[c]:
            if best < 0 or S[d, position[c]] > S[d, position[best]]:
                best = c
    return best
