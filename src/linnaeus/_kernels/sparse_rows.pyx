"""Sparse documents against a dense matrix of weights with many columns: a few rows read, a few rows added.

times      F[b] = sum_j X[rows[b], j] W[j]                  the scores of some documents
add_to     W[j] += X[rows[b], j] change[b]                  what they learn

Columns begin .. end only, so that threads can share an addition. Sums of a document do not depend on the others.
"""

from cython cimport floating

ctypedef fused result:
    float
    double


def times(const long long[::1] indptr, const int[::1] indices, const float[::1] data, const long long[::1] rows,
          const floating[:, ::1] W, result[:, ::1] F):
    """F (len(rows) x n_columns) of some rows of X, summed in the precision of F."""
    cdef Py_ssize_t n_columns = W.shape[1], b, k, c
    cdef result x
    cdef const floating* w
    cdef result* f
    with nogil:
        for b in range(rows.shape[0]):
            f = &F[b, 0]
            for c in range(n_columns):
                f[c] = 0
            for k in range(indptr[rows[b]], indptr[rows[b] + 1]):
                x, w = data[k], &W[indices[k], 0]
                for c in range(n_columns):
                    f[c] += x * w[c]


def add_to(const long long[::1] indptr, const int[::1] indices, const float[::1] data, const long long[::1] rows,
           const floating[:, ::1] change, floating[:, ::1] W, Py_ssize_t begin, Py_ssize_t end):
    """Add to columns begin .. end - 1 of W."""
    cdef Py_ssize_t b, k, c
    cdef floating x
    cdef floating* w
    cdef const floating* d
    with nogil:
        for b in range(rows.shape[0]):
            d = &change[b, 0]
            for k in range(indptr[rows[b]], indptr[rows[b] + 1]):
                x, w = data[k], &W[indices[k], 0]
                for c in range(begin, end):
                    w[c] += x * d[c]
