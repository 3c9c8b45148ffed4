"""Scores of linear models, and the best k of them, for sparse documents.

A document x has the scores  s = b + (x'w0) 1 + x'U : intercepts b (n_nodes), base weights w0 (n_features) that all
nodes share, and U (n_features x n_nodes), whose rows are sparse (indices, data) where few nodes have a weight of their
own, and dense otherwise: ``place[j]`` is the number of the dense row of feature j, or -1. Scores are summed feature by
feature in the order of the document into one row of n_nodes numbers, so `scores` and `top` give the same numbers bit
for bit.

Subtrees may share weights: U has n_vertices more columns then, before those of the nodes, and every column has a parent
among the vertices (parents before children, vertex 0 above all). A column adds the sum of its parent to its own:

    s_v = s_parent(v) + x'u_v

Arrays: x_indptr int64, x_indices int32, x_data, then U as w_indptr int64, w_indices uint16 or int32, w_data; ``parent``
int32, of all columns, or empty where there are no vertices; ``levels`` int32, 1 < ... < the number of columns, such
that parents of columns levels[i] .. levels[i + 1] - 1 are before levels[i]; ``buffer`` has as many numbers as U has
columns.
"""

from cython cimport floating
from libc.math cimport INFINITY

ctypedef long long i64
ctypedef fused index:
    unsigned short
    int

DEF BLOCK = 64

cdef extern from *:
    """
    /* The columns of a level are not among their parents: with restrict the compiler gathers several at a time. */
    #define ADD_PARENTS(name, real) \\
        static inline void name(real *restrict own, const real *restrict s, const int *restrict parent, \\
                                Py_ssize_t n) { \\
            for (Py_ssize_t v = 0; v < n; v++) own[v] += s[parent[v]]; \\
        }
    ADD_PARENTS(add_parents_float, float)
    ADD_PARENTS(add_parents_double, double)
    """
    void add_parents_float(float* own, const float* s, const int* parent, Py_ssize_t n) noexcept nogil
    void add_parents_double(double* own, const double* s, const int* parent, Py_ssize_t n) noexcept nogil


cdef inline void accumulate(
    i64 begin, i64 end, const int* x_indices, const floating* x_data, const int* place,
    const i64* w_indptr, const index* w_indices, const floating* w_data, const floating* dense,
    const floating* base, const floating* intercept, const int* parent, const int* levels, Py_ssize_t n_levels,
    Py_ssize_t n_vertices, Py_ssize_t n_nodes, floating* s
) noexcept nogil:
    """s = the sums of vertices and the scores of nodes of one document."""
    cdef i64 e, q
    cdef Py_ssize_t v, n_columns = n_vertices + n_nodes
    cdef int j
    cdef floating x, shared
    cdef double common = 0
    cdef const floating* row
    cdef floating* own = s + n_vertices
    for e in range(begin, end):
        common += <double> x_data[e] * base[x_indices[e]]
    shared = <floating> common
    for v in range(n_vertices):
        s[v] = 0
    for v in range(n_nodes):
        own[v] = intercept[v] + shared
    for e in range(begin, end):
        j = x_indices[e]
        x = x_data[e]
        if place[j] >= 0:
            row = dense + place[j] * n_columns
            for v in range(n_columns):
                s[v] += x * row[v]
        else:
            for q in range(w_indptr[j], w_indptr[j + 1]):
                s[w_indices[q]] += x * w_data[q]
    for v in range(n_levels):
        if floating is float:
            add_parents_float(s + levels[v], s, parent + levels[v], levels[v + 1] - levels[v])
        else:
            add_parents_double(s + levels[v], s, parent + levels[v], levels[v + 1] - levels[v])


cdef inline void select(
    const floating* s, Py_ssize_t n_nodes, Py_ssize_t k, int* columns, floating* values
) noexcept nogil:
    """The k largest of s, by score descending, then column ascending; blocks without a candidate are passed over."""
    cdef Py_ssize_t start, stop, v, p, found = 0
    cdef floating bar = -INFINITY
    cdef int some
    for start in range(0, n_nodes, BLOCK):
        stop = min(start + BLOCK, n_nodes)
        if found == k:
            some = 0
            for v in range(start, stop):
                some |= s[v] > bar
            if not some:
                continue
        for v in range(start, stop):
            if found == k and not s[v] > bar:
                continue
            p = found if found < k else k - 1
            while p > 0 and values[p - 1] < s[v]:
                values[p] = values[p - 1]
                columns[p] = columns[p - 1]
                p -= 1
            values[p] = s[v]
            columns[p] = <int> v
            found = min(found + 1, k)
            if found == k:
                bar = values[k - 1]


def scores(
    const i64[::1] x_indptr, const int[::1] x_indices, const floating[::1] x_data, const int[::1] place,
    const i64[::1] w_indptr, const index[::1] w_indices, const floating[::1] w_data, const floating[:, ::1] dense,
    const floating[::1] base, const floating[::1] intercept, const int[::1] parent, const int[::1] levels,
    floating[::1] buffer, floating[:, ::1] S,
):
    """All scores of some documents, into S (n_docs x n_nodes)."""
    cdef Py_ssize_t i, v, n_nodes = intercept.shape[0], n_vertices = max(0, parent.shape[0] - n_nodes)
    with nogil:
        for i in range(x_indptr.shape[0] - 1):
            accumulate(
                x_indptr[i], x_indptr[i + 1], &x_indices[0], &x_data[0], &place[0], &w_indptr[0], &w_indices[0],
                &w_data[0], &dense[0, 0], &base[0], &intercept[0], &parent[0], &levels[0],
                levels.shape[0] - 1, n_vertices, n_nodes, &buffer[0],
            )
            for v in range(n_nodes):
                S[i, v] = buffer[n_vertices + v]


def top(
    const i64[::1] x_indptr, const int[::1] x_indices, const floating[::1] x_data, const int[::1] place,
    const i64[::1] w_indptr, const index[::1] w_indices, const floating[::1] w_data, const floating[:, ::1] dense,
    const floating[::1] base, const floating[::1] intercept, const int[::1] parent, const int[::1] levels,
    floating[::1] buffer, int[:, ::1] columns, floating[:, ::1] values,
):
    """The best k nodes of some documents, into columns and values (n_docs x k)."""
    cdef Py_ssize_t i, n_nodes = intercept.shape[0], k = columns.shape[1]
    cdef Py_ssize_t n_vertices = max(0, parent.shape[0] - n_nodes)
    with nogil:
        for i in range(x_indptr.shape[0] - 1):
            accumulate(
                x_indptr[i], x_indptr[i + 1], &x_indices[0], &x_data[0], &place[0], &w_indptr[0], &w_indices[0],
                &w_data[0], &dense[0, 0], &base[0], &intercept[0], &parent[0], &levels[0],
                levels.shape[0] - 1, n_vertices, n_nodes, &buffer[0],
            )
            select(&buffer[n_vertices], n_nodes, k, &columns[i, 0], &values[i, 0])
