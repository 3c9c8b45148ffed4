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

from libc.math cimport INFINITY
from cython cimport floating

from linnaeus._kernels.panel cimport (
    PANEL, panel_axpy_d, panel_axpy_exact, panel_axpy_f,
    panel_dot_d, panel_dot_exact, panel_dot_f, panel_prefetch,
)

ctypedef long long i64

cdef extern from "step.h" nogil:
    enum: STEP_KEEP, STEP_MOVED
    enum: STEP_ABOVE, STEP_BELOW, STEP_OPEN, STEP_HIGH, STEP_LOW, STEP_GAP, STEP_PRIMAL, STEP_STATE
    int step_f(int loss, float Q, const float* S, const float* Y, const float* c, float* a, float* D, float[16]* state)
    int step_d(
        int loss, double Q, const double* S, const double* Y, const double* c, double* a, double* D, double[16]* state)
    void step_value(
        int loss, const double* S, const double* Y, const double* c, const double* a, double* primal, double* dual)

PANEL_WIDTH = int(PANEL)  # columns of a block, for the arrays that Python lays out

cdef enum:
    NEAR = 4  # rows between asking for a row and its turn
    FAR = 8  # and for the place where it begins


cdef inline void scores(
    Py_ssize_t n, const int* indices, const floating* data, const floating* W, const floating* bias_row, floating bias,
    floating* S,
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
    Py_ssize_t n, const int* indices, const floating* data, const floating* D, floating bias, floating* bias_row,
    floating* W,
) noexcept nogil:
    """W += x' D for one row, the constant feature included."""
    cdef int b
    if floating is float:
        panel_axpy_f(n, indices, data, D, W)
    else:
        panel_axpy_d(n, indices, data, D, W)
    for b in range(PANEL):
        bias_row[b] += bias * D[b]


cdef inline void ask_for(
    const i64* indptr, const int* indices, const floating* data, bint dense, const floating* alpha,
    Py_ssize_t near, Py_ssize_t far,
) noexcept nogil:
    """Rows lie anywhere in memory: have coming ones fetched while this one is worked on."""
    cdef Py_ssize_t n = indptr[near + 1] - indptr[near]
    panel_prefetch(indptr + far, 2 * sizeof(i64))
    panel_prefetch(alpha + near * PANEL, PANEL * sizeof(floating))
    panel_prefetch(data + indptr[near], n * sizeof(floating))
    if not dense:
        panel_prefetch(indices + indptr[near], n * sizeof(int))


def sweep(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense,
    const floating[::1] squared_norm, const floating[::1] bound, const floating[:, ::1] column_weight, int loss,
    floating bias, const i64[::1] positive_indptr, const unsigned char[::1] positive,
    int[::1] order, Py_ssize_t n_active,
    floating[:, ::1] W, floating[:, ::1] alpha,
    const floating[::1] shrink_above, const floating[::1] shrink_below, const unsigned char[::1] done,
    floating[::1] pg_max, floating[::1] pg_min, floating[:, ::1] shares=None,
):
    """One epoch over the rows ``order[:n_active]``; W and alpha move in place.

    Rows at which every unfinished column stands at a bound with slack (gradient above ``shrink_above`` at 0, below
    ``shrink_below`` at the upper bound) go behind the others in ``order``; the number of rows that stay is returned.
    ``pg_max`` and ``pg_min`` receive the extreme projected gradients per column, ``shares`` (2 x 16) the sums of the
    rows' shares of the duality gap and of the primal objective as they were met (for a centre of 0). Columns that are
    ``done`` still move (it costs nothing) but keep no row active.
    """
    cdef Py_ssize_t i, n, e, kept = 0, last = n_active - 1
    cdef int b, swap, outcome
    cdef floating S[PANEL]
    cdef floating minus[PANEL]
    cdef floating signs[PANEL]
    cdef floating D[PANEL]
    cdef floating c[PANEL]
    cdef const floating* Y
    cdef floating* w = &W[0, 0]
    cdef floating* bias_row = &W[W.shape[0] - 1, 0]
    cdef const floating* negative_weight = &column_weight[1, 0]
    cdef const int* row_indices = NULL
    cdef floating state[STEP_STATE][PANEL]
    for b in range(PANEL):
        minus[b] = -1
        state[STEP_ABOVE][b] = shrink_above[b]
        state[STEP_BELOW][b] = shrink_below[b]
        state[STEP_OPEN][b] = not done[b]
        state[STEP_HIGH][b] = -INFINITY
        state[STEP_LOW][b] = INFINITY
        state[STEP_GAP][b] = state[STEP_PRIMAL][b] = 0
    with nogil:
        while kept <= last:
            i = order[kept]
            if kept + FAR <= last:
                ask_for(&indptr[0], &indices[0], &data[0], dense, &alpha[0, 0], order[kept + NEAR], order[kept + FAR])
            n = indptr[i + 1] - indptr[i]
            if not dense:
                row_indices = &indices[0] + indptr[i]
            for b in range(PANEL):
                c[b] = bound[i] * negative_weight[b]
            Y = minus
            if positive_indptr[i] < positive_indptr[i + 1]:
                Y = signs
                for b in range(PANEL):
                    signs[b] = -1
                for e in range(positive_indptr[i], positive_indptr[i + 1]):
                    signs[positive[e]] = 1
                    c[positive[e]] = bound[i] * column_weight[0, positive[e]]
            scores(n, row_indices, &data[0] + indptr[i], w, bias_row, bias, S)
            if floating is float:
                outcome = step_f(loss, squared_norm[i], S, Y, c, &alpha[i, 0], D, state)
            else:
                outcome = step_d(loss, squared_norm[i], S, Y, c, &alpha[i, 0], D, state)
            if outcome & STEP_MOVED:
                add(n, row_indices, &data[0] + indptr[i], D, bias, bias_row, w)
            if outcome & STEP_KEEP:
                kept += 1
            else:
                swap = order[last]
                order[last] = <int> i
                order[kept] = swap
                last -= 1
    for b in range(PANEL):
        pg_max[b] = state[STEP_HIGH][b]
        pg_min[b] = state[STEP_LOW][b]
        if shares is not None:
            shares[0, b] = state[STEP_GAP][b]
            shares[1, b] = state[STEP_PRIMAL][b]
    return kept


def rebuild(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense, floating bias,
    const i64[::1] positive_indptr, const unsigned char[::1] positive,
    const floating[:, ::1] alpha, double[:, ::1] V,
):
    """V += sum_i alpha_i y_i x_i in double precision, so that rounding in W cannot fake a certificate."""
    cdef Py_ssize_t i, n, e, last = V.shape[0] - 1
    cdef int b
    cdef double D[PANEL]
    cdef bint some
    cdef const floating* a
    cdef const int* row_indices = NULL
    with nogil:
        for i in range(alpha.shape[0]):
            a = &alpha[i, 0]
            some = False
            for b in range(PANEL):
                D[b] = -a[b]
                some |= a[b] != 0
            if not some:
                continue
            for e in range(positive_indptr[i], positive_indptr[i + 1]):
                D[positive[e]] = -D[positive[e]]
            n = indptr[i + 1] - indptr[i]
            if not dense:
                row_indices = &indices[0] + indptr[i]
            if floating is float:
                panel_axpy_exact(n, row_indices, &data[0] + indptr[i], D, &V[0, 0])
            else:
                panel_axpy_d(n, row_indices, &data[0] + indptr[i], D, &V[0, 0])
            for b in range(PANEL):
                V[last, b] += bias * D[b]


def settle(const double[:, ::1] V, floating[:, ::1] W, double[::1] exact, double[::1] stored):
    """W = V, rounded; the squared norms of the columns of V and of W as it is stored."""
    cdef Py_ssize_t j
    cdef int b
    cdef const double* v
    cdef floating* w
    cdef double of_v[PANEL]
    cdef double of_w[PANEL]
    for b in range(PANEL):
        of_v[b] = of_w[b] = 0
    with nogil:
        for j in range(V.shape[0]):
            v = &V[j, 0]
            w = &W[j, 0]
            for b in range(PANEL):
                w[b] = <floating> v[b]
                of_v[b] += v[b] * v[b]
                of_w[b] += <double> w[b] * <double> w[b]
    for b in range(PANEL):
        exact[b] = of_v[b]
        stored[b] = of_w[b]


def certify(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense,
    const floating[::1] bound, const floating[:, ::1] column_weight, int loss, floating bias,
    const i64[::1] positive_indptr, const unsigned char[::1] positive,
    const floating[:, ::1] W, const floating[:, ::1] alpha, double[::1] primal, double[::1] dual,
):
    """primal = sum_i c_i loss(y_i w'x_i) of every column, dual = what its dual objective has that is local in alpha.

    Scores are computed in double precision from W as it is stored, so that P is the objective of just these weights.
    The caller adds the quadratic terms, P = 1/2 |w - m|^2 + primal; for m = 0, D = dual - 1/2 |v|^2, v = sum alpha y x.
    """
    cdef Py_ssize_t i, n, e
    cdef int b
    cdef double S[PANEL]
    cdef double Y[PANEL]
    cdef double c[PANEL]
    cdef double a[PANEL]
    cdef double P[PANEL]
    cdef double D[PANEL]
    cdef const int* row_indices = NULL
    cdef const floating* bias_row = &W[W.shape[0] - 1, 0]
    cdef const floating* negative_weight = &column_weight[1, 0]
    for b in range(PANEL):
        P[b] = D[b] = 0
    with nogil:
        for i in range(alpha.shape[0]):
            n = indptr[i + 1] - indptr[i]
            if not dense:
                row_indices = &indices[0] + indptr[i]
            if floating is float:
                panel_dot_exact(n, row_indices, &data[0] + indptr[i], &W[0, 0], S)
            else:
                panel_dot_d(n, row_indices, &data[0] + indptr[i], &W[0, 0], S)
            for b in range(PANEL):
                S[b] += <double> bias * bias_row[b]
                Y[b] = -1
                c[b] = bound[i] * negative_weight[b]
                a[b] = alpha[i, b]
            for e in range(positive_indptr[i], positive_indptr[i + 1]):
                Y[positive[e]] = 1
                c[positive[e]] = bound[i] * column_weight[0, positive[e]]
            step_value(loss, S, Y, c, a, P, D)
    for b in range(PANEL):
        primal[b] = P[b]
        dual[b] = D[b]
