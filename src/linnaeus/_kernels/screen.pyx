"""One pass over documents for 16 columns: what they cost, which of them matter, and what a common move would change.

A row matters to a block if for some column b < n_columns its margin 1 - y_ib w_b'x_i is above zero, or not far below.
All other rows have dual variable 0 and stay out of the coordinate descent until the next pass finds them again.
"""

from libc.math cimport exp, fabs, log
from cython cimport floating

from linnaeus._kernels.panel cimport PANEL, panel_dot_d, panel_dot_exact, panel_dot_f, panel_prefetch

ctypedef long long i64

cdef enum:
    HINGE = 0
    SQUARED_HINGE = 1
    AHEAD = 6  # documents


cdef inline double largest(const double* Z) noexcept nogil:
    """By halves: a maximum need not wait for the one before."""
    cdef double M[PANEL]
    cdef int b
    for b in range(8):
        M[b] = Z[b] if Z[b] > Z[b + 8] else Z[b + 8]
    for b in range(4):
        M[b] = M[b] if M[b] > M[b + 4] else M[b + 4]
    for b in range(2):
        M[b] = M[b] if M[b] > M[b + 2] else M[b + 2]
    return M[0] if M[0] > M[1] else M[1]


def relevant(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, floating bias,
    const i64[::1] positive_indptr, const floating[:, ::1] W, int n_columns, double limit,
    floating[:, ::1] extremes, int[::1] rows,
):
    """Sparse rows with a positive column or whose margins 1 + w_b'x_i may be above ``limit``; returns how many.

    A score is at most the sum of x times the largest (where x < 0 the smallest) weight of the feature in any column:
    one product for all columns. Most rows that do not matter are found by that. ``extremes`` is (n_features, 2).
    """
    cdef Py_ssize_t i, e, f, found = 0, last = W.shape[0] - 1
    cdef int b
    cdef double t, second, always
    cdef floating high, low, x, y
    cdef const floating* w
    with nogil:
        for f in range(last + 1):
            w = &W[f, 0]
            high = low = w[0]
            for b in range(1, n_columns):
                high = w[b] if w[b] > high else high
                low = w[b] if w[b] < low else low
            extremes[f, 0] = high
            extremes[f, 1] = low
        always = 1 + <double> bias * extremes[last, 0 if bias > 0 else 1]
        for i in range(indptr.shape[0] - 1):
            t, second = always, 0  # two sums, so that an addition need not wait for the last
            for e in range(indptr[i], indptr[i + 1] - 1, 2):
                x, y = data[e], data[e + 1]
                t += <double> x * extremes[indices[e], 0 if x > 0 else 1]
                second += <double> y * extremes[indices[e + 1], 0 if y > 0 else 1]
            if (indptr[i + 1] - indptr[i]) & 1:
                x = data[indptr[i + 1] - 1]
                t += <double> x * extremes[indices[indptr[i + 1] - 1], 0 if x > 0 else 1]
            t += second
            rows[found] = <int> i
            if t > limit or positive_indptr[i] < positive_indptr[i + 1]:  # else the next one overwrites it
                found += 1
    return found


def screen(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense,
    const floating[::1] bound, const floating[:, ::1] column_weight, int loss, floating bias,
    const i64[::1] positive_indptr, const unsigned char[::1] positive,
    const floating[:, ::1] W, int n_columns, bint exact,
    double[::1] primal, float[::1] worst, const int[::1] rows=None,
):
    """primal[b] = sum_i c_ib loss(y_ib w_b'x_i); worst[i] = max_b 1 - y_ib w_b'x_i over the columns.

    With ``exact`` the scores are summed in double precision, for certificates. With ``rows``, only these are looked at.
    """
    cdef Py_ssize_t k, i, e, n, n_docs = indptr.shape[0] - 1, last = W.shape[0] - 1
    cdef Py_ssize_t n_rows = n_docs if rows is None else rows.shape[0], ahead
    cdef bint every = rows is None
    cdef int b
    cdef double most, c, t
    cdef floating S[PANEL]
    cdef double Z[PANEL]
    cdef double always[PANEL]
    cdef const int* row_indices = NULL
    for b in range(PANEL):
        always[b] = 1 + <double> bias * W[last, b] if b < n_columns else -1e30  # columns that are none never matter
    primal[:] = 0
    with nogil:
        for k in range(n_rows):
            i = k if every else rows[k]
            n = indptr[i + 1] - indptr[i]
            if not dense:
                row_indices = &indices[0] + indptr[i]
                if k + AHEAD < n_rows:  # the weights of all features are more than fits into the nearest caches
                    ahead = k + AHEAD if every else rows[k + AHEAD]
                    for e in range(indptr[ahead], indptr[ahead + 1]):
                        panel_prefetch(&W[indices[e], 0], PANEL * sizeof(floating))
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
                Z[b] += always[b]
            for e in range(positive_indptr[i], positive_indptr[i + 1]):
                if positive[e] < n_columns:
                    Z[positive[e]] = 2 - Z[positive[e]]
            most = largest(Z)
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


def near(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense,
    const floating[::1] bound, const floating[:, ::1] column_weight, floating bias,
    const i64[::1] positive_indptr, const unsigned char[::1] positive, const floating[:, ::1] W, floating reach,
    int[::1] row, floating[::1] coefficient, floating[::1] margin,
):
    """Pairs with t_ib = 1 - y_ib w_b'x_i > -reach: their rows, y_ib c_ib and t_ib; returns how many there are.

    Columns of weight 0 have none. The outputs have room for all pairs.
    """
    cdef Py_ssize_t i, e, found = 0, last = W.shape[0] - 1
    cdef int b
    cdef floating S[PANEL]
    cdef floating c[PANEL]
    cdef const int* row_indices = NULL
    with nogil:
        for i in range(indptr.shape[0] - 1):
            if not dense:
                row_indices = &indices[0] + indptr[i]
            if floating is float:
                panel_dot_f(indptr[i + 1] - indptr[i], row_indices, &data[0] + indptr[i], &W[0, 0], S)
            else:
                panel_dot_d(indptr[i + 1] - indptr[i], row_indices, &data[0] + indptr[i], &W[0, 0], S)
            for b in range(PANEL):
                S[b] = 1 + S[b] + bias * W[last, b]
                c[b] = -bound[i] * column_weight[1, b]
            for e in range(positive_indptr[i], positive_indptr[i + 1]):
                S[positive[e]] = 2 - S[positive[e]]
                c[positive[e]] = bound[i] * column_weight[0, positive[e]]
            for b in range(PANEL):
                row[found] = <int> i
                coefficient[found] = c[b]
                margin[found] = S[b]
                if c[b] != 0 and S[b] > -reach:  # else the next one overwrites it
                    found += 1
    return found


def moved(
    const int[::1] row, const floating[::1] coefficient, const floating[::1] margin,
    const double[::1] way, double[::1] slope, double[::1] curvature,
):
    """sum c max(0, t - y way)^2 over pairs as `near` gives them, ``way`` by row.

    Adds to ``slope`` and ``curvature`` of every row: minus the first derivative by ``way``, and the second.
    """
    cdef Py_ssize_t k, i
    cdef double c, t, total = 0
    with nogil:
        for k in range(row.shape[0]):
            i = row[k]
            c = coefficient[k]
            t = margin[k] - (way[i] if c > 0 else -way[i])
            if t > 0:
                total += fabs(c) * t * t
                slope[i] += 2 * c * t
                curvature[i] += 2 * fabs(c)
    return total
