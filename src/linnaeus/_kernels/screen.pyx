"""One pass over all documents for 16 columns: what they cost, and which of them matter.

A row matters to a block if for some column b < n_columns its margin 1 - y_ib w_b'x_i is above zero, or not far below. All
other rows have dual variable 0 and stay out of the coordinate descent until the next pass finds them again.
"""

from libc.math cimport log, exp
from cython cimport floating

ctypedef long long i64

cdef extern from "panel.h" nogil:
    enum: PANEL
    void panel_dot_f(Py_ssize_t n, const int* indices, const float* data, const float* W, float* S)
    void panel_dot_d(Py_ssize_t n, const int* indices, const double* data, const double* W, double* S)
    void panel_dot_exact(Py_ssize_t n, const int* indices, const float* data, const float* W, double* S)

cdef enum:
    HINGE = 0
    SQUARED_HINGE = 1


def screen(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense,
    const floating[::1] bound, const floating[:, ::1] column_weight, int loss, floating bias,
    const i64[::1] positive_indptr, const unsigned char[::1] positive,
    const floating[:, ::1] W, int n_columns, bint exact,
    double[::1] primal, float[::1] worst,
):
    """primal[b] = sum_i c_ib loss(y_ib w_b'x_i); worst[i] = max_b 1 - y_ib w_b'x_i over the columns.

    With ``exact`` the scores are summed in double precision, for certificates.
    """
    cdef Py_ssize_t i, e, n, last = W.shape[0] - 1
    cdef int b
    cdef double most, c, t
    cdef floating S[PANEL]
    cdef double Z[PANEL]
    cdef const int* row_indices = NULL
    primal[:] = 0
    with nogil:
        for i in range(indptr.shape[0] - 1):
            n = indptr[i + 1] - indptr[i]
            if not dense:
                row_indices = &indices[0] + indptr[i]
            if floating is float:
                if exact:
                    panel_dot_exact(n, row_indices, &data[0] + indptr[i], &W[0, 0], Z)
                else:
                    panel_dot_f(n, row_indices, &data[0] + indptr[i], &W[0, 0], S)
                    for b in range(PANEL):
                        Z[b] = S[b]
            else:
                panel_dot_d(n, row_indices, &data[0] + indptr[i], &W[0, 0], Z)
            for b in range(PANEL):
                Z[b] = 1 + Z[b] + bias * W[last, b]
            for e in range(positive_indptr[i], positive_indptr[i + 1]):
                Z[positive[e]] = 2 - Z[positive[e]]
            most = Z[0]
            for b in range(1, n_columns):
                most = max(most, Z[b])
            worst[i] = <float> most
            if most <= 0 and loss <= SQUARED_HINGE:
                continue
            for b in range(n_columns):
                t = Z[b]
                if loss <= SQUARED_HINGE and t <= 0:
                    continue
                c = bound[i] * column_weight[1, b]
                for e in range(positive_indptr[i], positive_indptr[i + 1]):
                    if positive[e] == b:
                        c = bound[i] * column_weight[0, b]
                if loss == HINGE:
                    primal[b] += c * t
                elif loss == SQUARED_HINGE:
                    primal[b] += c * t * t
                else:
                    t = 1 - t
                    primal[b] += c * (log(1 + exp(-t)) if t > 0 else log(1 + exp(t)) - t)
