"""Walks over a directed acyclic graph in CSR form.

A graph is (indptr, indices): the neighbours of node v are ``indices[indptr[v]:indptr[v + 1]]``. Sets of nodes come as
CSR rows too: set r is ``set_indices[set_indptr[r]:set_indptr[r + 1]]``. All arrays are int32, index pointers int64.
"""

import numpy as np

ctypedef long long i64


def topological_depth(const i64[::1] child_indptr, const int[::1] child_indices, const int[::1] n_parents):
    """Longest path from a parentless node, 0 for these; -1 for nodes on or below a cycle."""
    cdef Py_ssize_t n = n_parents.shape[0], head = 0, tail = 0, e
    cdef int v, c
    depth_array = np.full(n, -1, dtype=np.int32)
    cdef int[::1] depth = depth_array
    cdef int[::1] left = np.array(n_parents, dtype=np.int32)
    cdef int[::1] best = np.zeros(n, dtype=np.int32)
    cdef int[::1] queue = np.empty(n, dtype=np.int32)
    with nogil:
        for v in range(<int> n):
            if left[v] == 0:
                queue[tail] = v
                tail += 1
        while head < tail:
            v = queue[head]
            head += 1
            depth[v] = best[v]
            for e in range(child_indptr[v], child_indptr[v + 1]):
                c = child_indices[e]
                if best[v] + 1 > best[c]:
                    best[c] = best[v] + 1
                left[c] -= 1
                if left[c] == 0:
                    queue[tail] = c
                    tail += 1
    return depth_array


def upward_closure(
    const i64[::1] set_indptr, const int[::1] set_indices, const i64[::1] parent_indptr,
    const int[::1] parent_indices, int barrier
):
    """Add to every set all ancestors of its members; ``barrier`` (a node or -1) is never added by walking up.

    Returns (indptr int64, indices int32) with sorted, unique rows. Each node of an answer is visited once.
    """
    cdef Py_ssize_t n_sets = set_indptr.shape[0] - 1, n = parent_indptr.shape[0] - 1, r, e, out = 0, head
    cdef int fill
    cdef int[::1] stamp = np.full(n, -1, dtype=np.int32)
    cdef int[::1] queue = np.empty(n, dtype=np.int32)
    indptr_array = np.zeros(n_sets + 1, dtype=np.int64)
    cdef i64[::1] indptr = indptr_array
    cdef int[::1] indices
    indices_array = None
    for fill in range(2):  # the first round counts, the second writes
        if fill == 1:
            indices_array = np.empty(out, dtype=np.int32)
            stamp[:] = -1
        else:
            indices_array = np.empty(0, dtype=np.int32)
        indices = indices_array
        out = 0
        with nogil:
            for r in range(n_sets):
                head = out
                out += walk_up(r, set_indptr, set_indices, parent_indptr, parent_indices, barrier, stamp, queue)
                if fill == 1:
                    sort_ints(&queue[0], out - head)
                    for e in range(out - head):
                        indices[head + e] = queue[e]
                else:
                    indptr[r + 1] = out
    return indptr_array, indices_array


cdef Py_ssize_t walk_up(
    Py_ssize_t r, const i64[::1] set_indptr, const int[::1] set_indices, const i64[::1] parent_indptr,
    const int[::1] parent_indices, int barrier, int[::1] stamp, int[::1] queue
) noexcept nogil:
    """Members of set r and their ancestors into ``queue``, each once; returns how many."""
    cdef Py_ssize_t tail = 0, e
    cdef int v
    for e in range(set_indptr[r], set_indptr[r + 1]):
        v = set_indices[e]
        if stamp[v] != <int> r:
            stamp[v] = <int> r
            queue[tail] = v
            tail += 1
    return climb(<int> r, tail, parent_indptr, parent_indices, barrier, stamp, queue)


cdef Py_ssize_t climb(
    int mark, Py_ssize_t tail, const i64[::1] parent_indptr, const int[::1] parent_indices, int barrier, int[::1] stamp,
    int[::1] queue
) noexcept nogil:
    """The ancestors of the first ``tail`` nodes of ``queue`` behind them, each once; returns the number of nodes."""
    cdef Py_ssize_t head = 0
    while head < tail:
        tail = add_parents(queue[head], mark, tail, parent_indptr, parent_indices, barrier, stamp, queue)
        head += 1
    return tail


cdef inline Py_ssize_t add_parents(
    int v, int mark, Py_ssize_t tail, const i64[::1] parent_indptr, const int[::1] parent_indices, int barrier,
    int[::1] stamp, int[::1] queue
) noexcept nogil:
    """The parents of v that are not stamped with ``mark`` yet to the end of ``queue``; returns its new length."""
    cdef Py_ssize_t e
    cdef int p
    for e in range(parent_indptr[v], parent_indptr[v + 1]):
        p = parent_indices[e]
        if p != barrier and stamp[p] != mark:
            stamp[p] = mark
            queue[tail] = p
            tail += 1
    return tail


cdef void sort_ints(int* a, Py_ssize_t n) noexcept nogil:
    """Insertion sort for the short rows that closures are, heap sort for the long ones."""
    cdef Py_ssize_t i, j, start, end, root, child
    cdef int key
    if n <= 64:
        for i in range(1, n):
            key = a[i]
            j = i - 1
            while j >= 0 and a[j] > key:
                a[j + 1] = a[j]
                j -= 1
            a[j + 1] = key
        return
    start = n // 2
    end = n
    while end > 1:
        if start > 0:
            start -= 1
            key = a[start]
        else:
            end -= 1
            key = a[end]
            a[end] = a[0]
            if end == 1:
                a[0] = key
                return
        root = start
        child = 2 * root + 1
        while child < end:
            if child + 1 < end and a[child + 1] > a[child]:
                child += 1
            if a[child] <= key:
                break
            a[root] = a[child]
            root = child
            child = 2 * root + 1
        a[root] = key


def covered_members(
    const i64[::1] set_indptr, const int[::1] set_indices, const i64[::1] parent_indptr, const int[::1] parent_indices
):
    """For every member of every set: is it a proper ancestor of another member? (uint8, as ``set_indices``)."""
    cdef Py_ssize_t n_sets = set_indptr.shape[0] - 1, n = parent_indptr.shape[0] - 1, r, e, tail
    cdef int[::1] stamp = np.full(n, -1, dtype=np.int32)
    cdef int[::1] queue = np.empty(n, dtype=np.int32)
    covered_array = np.zeros(set_indices.shape[0], dtype=np.uint8)
    cdef unsigned char[::1] covered = covered_array
    with nogil:
        for r in range(n_sets):
            tail = 0  # the walk starts at the parents: a member is stamped only if it is above another one
            for e in range(set_indptr[r], set_indptr[r + 1]):
                tail = add_parents(set_indices[e], <int> r, tail, parent_indptr, parent_indices, -1, stamp, queue)
            climb(<int> r, tail, parent_indptr, parent_indices, -1, stamp, queue)
            for e in range(set_indptr[r], set_indptr[r + 1]):
                covered[e] = stamp[set_indices[e]] == <int> r
    return covered_array
