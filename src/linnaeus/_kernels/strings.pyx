"""Gram blocks of sequences: sparse counts of pieces, and gap-weighted subsequences.

`piece_gram`: K = A B' for sparse A (rows: a_indptr int64, a_indices int32, a_data) and B given by columns (b_indptr
int64, b_indices int32: the documents, b_data). Every row of A adds to one row of K, in the order of its columns, so
that K does not depend on how rows are divided into blocks, and K(A, A) is symmetric to the last bit.

`gap_weighted`: K_1 .. K_p of documents s (codes, offsets int64) with as many t as a register row has lanes (16 in
single, 8 in double precision), side by side in T (longest x lanes, -1 where a t has ended); see `subsequence.h`. Codes
are whole numbers from 0 in the type of the sums. ``scratch`` has lanes x (p - 1) x (longest t + 2 x longest s) numbers,
or one.
"""

from cython cimport floating

ctypedef long long i64

cdef extern from "subsequence.h" nogil:
    int LANE_BYTES
    unsigned int flush_tiny()
    void flush_as_before(unsigned int before)
    void subsequence_float(
        int p, Py_ssize_t n_s, const float* s, Py_ssize_t n_t, const float* t, float decay, float* R, float* edge,
        float* out)
    void subsequence_double(
        int p, Py_ssize_t n_s, const double* s, Py_ssize_t n_t, const double* t, double decay, double* R, double* edge,
        double* out)


def piece_gram(
    const i64[::1] a_indptr, const int[::1] a_indices, const double[::1] a_data,
    const i64[::1] b_indptr, const int[::1] b_indices, const double[::1] b_data, double[:, ::1] K,
):
    """K = A B', into K (n_docs of A x n_docs of B)."""
    cdef Py_ssize_t i, j, n = K.shape[1]
    cdef i64 e, q
    cdef double x
    cdef double* row
    with nogil:
        for i in range(K.shape[0]):
            row = &K[i, 0]
            for j in range(n):
                row[j] = 0
            for e in range(a_indptr[i], a_indptr[i + 1]):
                x = a_data[e]
                for q in range(b_indptr[a_indices[e]], b_indptr[a_indices[e] + 1]):
                    row[b_indices[q]] += x * b_data[q]


def gap_weighted(
    const floating[::1] codes, const i64[::1] offsets, const floating[:, ::1] T, double decay,
    floating[::1] scratch, floating[:, :, ::1] out,
):
    """K_l of each s with each t, gaps alone weighted, into out (n_docs x p x lanes)."""
    cdef Py_ssize_t i, n_t = T.shape[0], lanes = T.shape[1]
    cdef int p = <int> out.shape[1]
    cdef i64 start
    cdef unsigned int before
    if lanes * sizeof(floating) != LANE_BYTES or out.shape[2] != lanes:
        raise ValueError("T and out have as many columns as a register row has lanes.")
    with nogil:
        before = flush_tiny()
        for i in range(out.shape[0]):
            start = offsets[i]
            if floating is float:
                subsequence_float(
                    p, offsets[i + 1] - start, &codes[start], n_t, &T[0, 0], <float> decay, &scratch[0],
                    &scratch[(p - 1) * n_t * lanes], &out[i, 0, 0])
            else:
                subsequence_double(
                    p, offsets[i + 1] - start, &codes[start], n_t, &T[0, 0], decay, &scratch[0],
                    &scratch[(p - 1) * n_t * lanes], &out[i, 0, 0])
        flush_as_before(before)
