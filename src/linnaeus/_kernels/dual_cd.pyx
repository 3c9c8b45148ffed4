"""Dual coordinate descent for 16 binary problems at once.

For every column b of a block, with rows x_i, signs y_ib = +1 or -1, bounds c_ib > 0 and a centre m,

    min_w  1/2 |w - m|^2 + sum_i c_ib loss(y_ib w'x_i),          w = m + sum_i alpha_ib y_ib x_i

    hinge          loss(t) = (1 - t)_+        0 <= alpha_i <= c_i
    squared hinge  loss(t) = (1 - t)_+^2      0 <= alpha_i
    logistic       loss(t) = log(1 + e^-t)    0 <  alpha_i <  c_i

where c_ib = bound_i times the column's weight for positive or for negative rows, ``column_weight[0]`` and ``[1]``.

W (n_features + 1 x 16) holds w, its last row the weight of the constant feature ``bias``; alpha is (n_rows x 16). The
columns are independent problems that share one order of the rows: a visit computes the 16 scores of a row in one pass
over its non-zeros and moves the 16 dual variables to their one-dimensional optimum.
"""

from libc.math cimport log, exp, fabs, INFINITY
cimport cython
from cython cimport floating

ctypedef long long i64

cdef extern from "panel.h" nogil:
    enum: PANEL
    void panel_dot_f(Py_ssize_t n, const int* indices, const float* data, const float* W, float* S)
    void panel_dot_d(Py_ssize_t n, const int* indices, const double* data, const double* W, double* S)
    void panel_dot_exact(Py_ssize_t n, const int* indices, const float* data, const float* W, double* S)
    void panel_axpy_f(Py_ssize_t n, const int* indices, const float* data, const float* D, float* W)
    void panel_axpy_d(Py_ssize_t n, const int* indices, const double* data, const double* D, double* W)

cpdef enum Loss:
    HINGE = 0
    SQUARED_HINGE = 1
    LOGISTIC = 2


cdef inline void scores(
    Py_ssize_t n, const int* indices, const floating* data, const floating* W, const floating* bias_row, floating bias, floating* S
) noexcept nogil:
    """S = x W for one row, the constant feature included."""
    cdef int b
    if floating is float:
        panel_dot_f(n, indices, data, W, S)
    else:
        panel_dot_d(n, indices, data, W, S)
    for b in range(PANEL):
        S[b] += bias * bias_row[b]


cdef inline void add(
    Py_ssize_t n, const int* indices, const floating* data, const floating* D, floating bias, floating* bias_row, floating* W
) noexcept nogil:
    """W += x' D for one row, the constant feature included."""
    cdef int b
    if floating is float:
        panel_axpy_f(n, indices, data, D, W)
    else:
        panel_axpy_d(n, indices, data, D, W)
    for b in range(PANEL):
        bias_row[b] += bias * D[b]


cdef inline void step_hinge(
    floating* S, const floating* Y, floating* a, floating Q, const floating* c, floating* D, floating* G
) noexcept nogil:
    """One exact step of each column in its box [0, c]."""
    cdef int b
    cdef floating new
    cdef floating inverse = 1 / Q if Q > 0 else INFINITY
    for b in range(PANEL):
        G[b] = Y[b] * S[b] - 1
        new = a[b] - G[b] * inverse
        new = new if new > 0 else 0
        new = new if new < c[b] else c[b]
        D[b] = (new - a[b]) * Y[b]
        a[b] = new


cdef inline void step_squared_hinge(
    floating* S, const floating* Y, floating* a, floating Q, const floating* c, floating* D, floating* G
) noexcept nogil:
    """One exact step of each column on [0, inf); the loss adds 1/(2c) to the curvature."""
    cdef int b
    cdef floating new, shift
    for b in range(PANEL):
        shift = <floating> 0.5 / c[b]
        G[b] = Y[b] * S[b] - 1 + shift * a[b]
        new = a[b] - G[b] / (Q + shift)
        new = new if new > 0 else 0
        D[b] = (new - a[b]) * Y[b]
        a[b] = new


cdef inline double newton_logistic(double z, double old, double Q, double c) noexcept nogil:
    """argmin over a in (0, c) of  Q/2 (a - old)^2 + z (a - old) + a log a + (c - a) log(c - a),  z = y w'x at old.

    Solved in the smaller of a and c - a, so that neither loses its digits (Yu, Huang & Lin 2011).
    """
    cdef double a, d, slope, curve
    cdef int step
    cdef bint upper = old > 0.5 * c or (z < 0 and 0.5 * Q * c < -z)
    if upper:  # by symmetry: the variable is c - a and z changes sign
        old = c - old
        z = -z
    a = old if old < 0.5 * c else 0.5 * c
    for step in range(50):
        slope = Q * (a - old) + z + log(a / (c - a))
        curve = Q + c / (a * (c - a))
        d = a - slope / curve
        if d <= 0:
            d = 0.1 * a
        elif d >= c:
            d = c - 0.1 * (c - a)
        if fabs(d - a) <= 1e-9 * a:
            a = d
            break
        a = d
    if a < 1e-300:
        a = 1e-300
    return c - a if upper else a


cdef inline void step_logistic(
    floating* S, const floating* Y, floating* a, floating Q, const floating* bound, floating* D, floating* G
) noexcept nogil:
    """One step of each column towards its one-dimensional optimum; G is the gradient before the step."""
    cdef int b
    cdef floating new, c
    cdef double t
    for b in range(PANEL):
        c = bound[b]
        t = Y[b] * S[b]
        G[b] = <floating> (t + log(a[b] / (c - a[b])))
        new = <floating> newton_logistic(t, a[b], Q, c)
        if new >= c:  # rounding to float may reach the end of the open interval
            new = <floating> (c * 0.9999999)
        if new <= 0:
            new = <floating> (c * 1e-30)
        D[b] = (new - a[b]) * Y[b]
        a[b] = new


def sweep(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense,
    const floating[::1] squared_norm, const floating[::1] bound, const floating[:, ::1] column_weight, int loss,
    floating bias, const i64[::1] positive_indptr, const unsigned char[::1] positive,
    int[::1] order, Py_ssize_t n_active,
    floating[:, ::1] W, floating[:, ::1] alpha,
    const floating[::1] shrink_above, const floating[::1] shrink_below, const unsigned char[::1] done,
    floating[::1] pg_max, floating[::1] pg_min,
):
    """One epoch over the rows ``order[:n_active]``; W and alpha move in place.

    Rows at which every unfinished column stands at a bound with slack (gradient above ``shrink_above`` at 0, below
    ``shrink_below`` at the upper bound) go behind the others in ``order``; the number of rows that stay is returned.
    ``pg_max`` and ``pg_min`` receive the extreme projected gradients per column. Columns that are ``done`` still move (it
    costs nothing) but keep no row active.
    """
    cdef Py_ssize_t k, i, n, e, kept = 0, last = n_active - 1
    cdef int b, swap
    cdef floating pg
    cdef floating S[PANEL]
    cdef floating Y[PANEL]
    cdef floating D[PANEL]
    cdef floating G[PANEL]
    cdef floating old[PANEL]
    cdef floating c[PANEL]
    cdef floating* a
    cdef floating* w = &W[0, 0]
    cdef floating* bias_row = &W[W.shape[0] - 1, 0]
    cdef const int* row_indices = NULL
    cdef bint keep, moved
    for b in range(PANEL):
        pg_max[b] = -INFINITY
        pg_min[b] = INFINITY
    with nogil:
        while kept <= last:
            i = order[kept]
            n = indptr[i + 1] - indptr[i]
            if not dense:
                row_indices = &indices[0] + indptr[i]
            a = &alpha[i, 0]
            for b in range(PANEL):
                Y[b] = -1
                old[b] = a[b]
                c[b] = bound[i] * column_weight[1, b]
            for e in range(positive_indptr[i], positive_indptr[i + 1]):
                Y[positive[e]] = 1
                c[positive[e]] = bound[i] * column_weight[0, positive[e]]
            scores(n, row_indices, &data[0] + indptr[i], w, bias_row, bias, S)
            keep = False
            if loss == LOGISTIC:
                step_logistic(S, Y, a, squared_norm[i], c, D, G)
                keep = True
                for b in range(PANEL):
                    pg_max[b] = max(pg_max[b], G[b])
                    pg_min[b] = min(pg_min[b], G[b])
            else:
                if loss == HINGE:
                    step_hinge(S, Y, a, squared_norm[i], c, D, G)
                else:
                    step_squared_hinge(S, Y, a, squared_norm[i], c, D, G)
                for b in range(PANEL):
                    pg = G[b]
                    if old[b] <= 0:
                        keep |= not (done[b] or pg > shrink_above[b])
                        pg = min(pg, 0)
                    elif loss == HINGE and old[b] >= c[b]:
                        keep |= not (done[b] or pg < shrink_below[b])
                        pg = max(pg, 0)
                    else:
                        keep |= not done[b]
                    pg_max[b] = max(pg_max[b], pg)
                    pg_min[b] = min(pg_min[b], pg)
            moved = False
            for b in range(PANEL):
                moved |= D[b] != 0
            if moved:
                add(n, row_indices, &data[0] + indptr[i], D, bias, bias_row, w)
            if keep:
                kept += 1
            else:
                swap = order[last]
                order[last] = <int> i
                order[kept] = swap
                last -= 1
    return kept


def rebuild(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense, floating bias,
    const i64[::1] positive_indptr, const unsigned char[::1] positive,
    const floating[:, ::1] alpha, double[:, ::1] V,
):
    """V += sum_i alpha_i y_i x_i in double precision, so that rounding in W cannot fake a certificate."""
    cdef Py_ssize_t i, k, e, j
    cdef int b
    cdef double D[PANEL]
    cdef bint some
    cdef double x
    with nogil:
        for i in range(alpha.shape[0]):
            some = False
            for b in range(PANEL):
                D[b] = -alpha[i, b]
                some |= D[b] != 0
            if not some:
                continue
            for e in range(positive_indptr[i], positive_indptr[i + 1]):
                D[positive[e]] = -D[positive[e]]
            for k in range(indptr[i], indptr[i + 1]):
                j = k - indptr[i] if dense else indices[k]
                x = data[k]
                for b in range(PANEL):
                    V[j, b] += x * D[b]
            j = V.shape[0] - 1
            for b in range(PANEL):
                V[j, b] += bias * D[b]


def certify(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense,
    const floating[::1] bound, const floating[:, ::1] column_weight, int loss, floating bias,
    const i64[::1] positive_indptr, const unsigned char[::1] positive,
    const floating[:, ::1] W, const floating[:, ::1] alpha, double[::1] primal, double[::1] dual,
):
    """Per column: primal = sum_i c_i loss(y_i w'x_i), dual = the part of the dual objective that is linear or local in alpha.

    Scores are computed in double precision from W as it is stored, so that P is the objective of just these weights.
    The caller adds the quadratic terms, P = 1/2 |w - m|^2 + primal; for m = 0, D = dual - 1/2 |v|^2 with v = sum alpha y x.
    """
    cdef Py_ssize_t i, e
    cdef int b
    cdef double t, z, c, a
    cdef double S[PANEL]
    cdef double Y[PANEL]
    cdef double bounds[PANEL]
    cdef const int* row_indices = NULL
    cdef Py_ssize_t last = W.shape[0] - 1
    primal[:] = 0
    dual[:] = 0
    with nogil:
        for i in range(alpha.shape[0]):
            if not dense:
                row_indices = &indices[0] + indptr[i]
            if floating is float:
                panel_dot_exact(indptr[i + 1] - indptr[i], row_indices, &data[0] + indptr[i], &W[0, 0], S)
            else:
                panel_dot_d(indptr[i + 1] - indptr[i], row_indices, &data[0] + indptr[i], &W[0, 0], S)
            for b in range(PANEL):
                S[b] += <double> bias * W[last, b]
                Y[b] = -1
                bounds[b] = bound[i] * column_weight[1, b]
            for e in range(positive_indptr[i], positive_indptr[i + 1]):
                Y[positive[e]] = 1
                bounds[positive[e]] = bound[i] * column_weight[0, positive[e]]
            for b in range(PANEL):
                c = bounds[b]
                t = Y[b] * S[b]
                a = alpha[i, b]
                z = 1 - t
                if loss == HINGE:
                    primal[b] += c * (z if z > 0 else 0)
                    dual[b] += a
                elif loss == SQUARED_HINGE:
                    primal[b] += c * (z * z if z > 0 else 0)
                    dual[b] += a - a * a / (4 * c)
                else:
                    primal[b] += c * (log(1 + exp(-t)) if t > 0 else log(1 + exp(t)) - t)
                    dual[b] += c * log(c) - a * log(a) - (c - a) * log(c - a)
