"""Dual coordinate descent for 16 leaves of a network whose inner vertices move with them.

The block's part of the joint problem, everything outside of it fixed and inner vertices eliminated, has the weights

    W = W0 + sum_i x_i (alpha_i o y_i)' T          T (16 x 16): what the pull of one leaf adds to the weights of another

with rows x_i (sparse, single precision), signs y, dual variables alpha (n_rows x 16), and the losses and bounds of
`dual_cd`. A visit of a row computes its 16 scores in one pass over its non-zeros, then moves the dual variables one
after the other, so that each meets the scores that the others left (`coupled.h`).
"""

from libc.math cimport INFINITY

from linnaeus._kernels.panel cimport PANEL, panel_axpy_f, panel_dot_f, panel_prefetch

ctypedef long long i64

cdef extern from "coupled.h" nogil:
    unsigned int coupled_moves(
        int loss, float reach, const float* counts, const float* S, const float* Y, const float* c, const float* a,
        const float* above, const float* below, float* high, float* low, float* gap, float* primal, float* gain)
    int coupled_step(
        int loss, unsigned int mask, float Q, const float* T, const float* own, const float* S, const float* Y,
        const float* c, float* a, float* D)
    void coupled_slope(
        float bias, const float* S, const float* Y, const float* c, const float* d, float* slope, float* curvature)
    enum: TOGETHER
    unsigned int nonzero_f(const float* row)
    void coupled_spread(
        int n, const Py_ssize_t* feature, const float (*d)[16], const float* inverse, const float* reach,
        Py_ssize_t n_panels, float* U, float* M)
    void coupled_join(
        Py_ssize_t n, const int* node, const float* share, const float* m, const float* u, float* w)

cdef enum:
    NEAR = 4  # rows between asking for a row and its turn
    FOLD = 64  # rows whose shares are summed in single precision


def sweep(
    const i64[::1] indptr, const int[::1] indices, const float[::1] data, const float[::1] squared_norm,
    const float[::1] bound, const float[:, ::1] column_weight, int loss, float bias,
    const i64[::1] positive_indptr, const unsigned char[::1] positive, const int[::1] order,
    const float[:, ::1] T, int n_columns, float reach, float[:, ::1] W, float[:, ::1] alpha,
    const float[::1] above, const float[::1] below, float[::1] high, float[::1] low,
    double[:, ::1] shares, float[::1] gain,
):
    """One epoch over the rows ``order``; W and alpha move in place.

    ``gain[k]`` receives the sum of the squared projected gradients of the columns that the row ``order[k]`` moved, as
    they were before; -1 where the row rests: all its columns stand at a bound with a gradient beyond ``above`` (at 0)
    or ``below`` (at the upper bound). With the logistic loss it is 0. ``high`` and ``low`` receive the extreme
    projected gradients, ``shares`` (2 x 16) the sums of the rows' shares of the duality gap and of the objective as
    they were met. ``reach``: how near its optimum a column is left alone, see ``coupled.h``.
    """
    cdef Py_ssize_t k, i, n, e, last = W.shape[0] - 1, n_rows = order.shape[0]
    cdef int b
    cdef unsigned int mask, real = (1u << n_columns) - 1
    cdef float S[PANEL]
    cdef float Y[PANEL]
    cdef float c[PANEL]
    cdef float D[PANEL]
    cdef float gap[PANEL]
    cdef float primal[PANEL]
    cdef float highest[PANEL]
    cdef float lowest[PANEL]
    cdef float beyond[PANEL]
    cdef float under[PANEL]
    cdef float positive_weight[PANEL]
    cdef float negative_weight[PANEL]
    cdef float own[PANEL]
    cdef float counts[PANEL]
    cdef float* w = &W[0, 0]
    cdef float* constant = &W[last, 0]
    cdef const int* row_indices
    shares[:, :] = 0
    for b in range(PANEL):
        gap[b] = primal[b] = 0
        highest[b] = -INFINITY
        lowest[b] = INFINITY
        beyond[b] = above[b]
        under[b] = below[b]
        positive_weight[b] = column_weight[0, b]
        negative_weight[b] = column_weight[1, b]
        own[b] = T[b, b]
        counts[b] = b < n_columns
    with nogil:
        for k in range(n_rows):
            i = order[k]
            if k + NEAR < n_rows:
                n = order[k + NEAR]
                panel_prefetch(&alpha[n, 0], PANEL * sizeof(float))
                panel_prefetch(&data[0] + indptr[n], (indptr[n + 1] - indptr[n]) * sizeof(float))
                panel_prefetch(&indices[0] + indptr[n], (indptr[n + 1] - indptr[n]) * sizeof(int))
            n = indptr[i + 1] - indptr[i]
            row_indices = &indices[0] + indptr[i]
            for b in range(PANEL):
                Y[b] = -1
                c[b] = bound[i] * negative_weight[b]
            for e in range(positive_indptr[i], positive_indptr[i + 1]):
                Y[positive[e]] = 1
                c[positive[e]] = bound[i] * positive_weight[positive[e]]
            panel_dot_f(n, row_indices, &data[0] + indptr[i], w, S)
            for b in range(PANEL):
                S[b] += bias * constant[b]
            mask = coupled_moves(
                loss, reach, counts, S, Y, c, &alpha[i, 0], beyond, under, highest, lowest, gap, primal, &gain[k])
            mask &= real
            if mask and coupled_step(
                    loss, mask, squared_norm[i], &T[0, 0], own, S, Y, c, &alpha[i, 0], D):
                panel_axpy_f(n, row_indices, &data[0] + indptr[i], D, w)
                for b in range(PANEL):
                    constant[b] += bias * D[b]
            if k % FOLD == FOLD - 1 or k == n_rows - 1:
                for b in range(PANEL):
                    shares[0, b] += gap[b]
                    shares[1, b] += primal[b]
                    gap[b] = primal[b] = 0
    for b in range(PANEL):
        high[b] = highest[b]
        low[b] = lowest[b]


def join(
    const float[:, ::1] M, const int[:, ::1] node, const float[:, ::1] share, const float[:, ::1] U, float[:, ::1] W,
):
    """W = U + the leaves' centres; M is (features, inner vertices), node and share (links, 16) those of the leaves."""
    cdef Py_ssize_t f
    with nogil:
        for f in range(W.shape[0]):
            coupled_join(node.shape[0], &node[0, 0], &share[0, 0], &M[f, 0], &U[f, 0], &W[f, 0])


def part(
    const float[:, ::1] W, const float[:, ::1] before, const float[:, ::1] inverse, const float[:, :, ::1] reach,
    float[:, ::1] U, float[:, ::1] M,
):
    """U += change and M += change reach with change = (W - before) inverse.

    ``reach`` is (panels, 16, 16), sixteen inner vertices to a panel; M has as many columns.
    """
    cdef Py_ssize_t f, n_panels = reach.shape[0], n_features = W.shape[0]
    cdef int b, n = 0
    cdef Py_ssize_t feature[TOGETHER]
    cdef float D[TOGETHER][16]
    with nogil:
        for f in range(n_features):
            for b in range(PANEL):
                D[n][b] = W[f, b] - before[f, b]
            if nonzero_f(D[n]):
                feature[n] = f
                n += 1
            if n == TOGETHER or (f == n_features - 1 and n):
                coupled_spread(n, feature, D, &inverse[0, 0], &reach[0, 0, 0], n_panels, &U[0, 0], &M[0, 0])
                n = 0


def scores(
    const i64[::1] indptr, const int[::1] indices, const float[::1] data, float bias, const float[:, ::1] W,
    float[:, ::1] S,
):
    """S = X W, the constant last."""
    cdef Py_ssize_t i, last = W.shape[0] - 1
    cdef int b
    with nogil:
        for i in range(S.shape[0]):
            panel_dot_f(indptr[i + 1] - indptr[i], &indices[0] + indptr[i], &data[0] + indptr[i], &W[0, 0], &S[i, 0])
            for b in range(PANEL):
                S[i, b] += bias * W[last, b]


def slopes(
    const float[:, ::1] S, const float[::1] bound, const float[:, ::1] column_weight, float bias,
    const i64[::1] positive_indptr, const unsigned char[::1] positive, const float[::1] move, double[:, ::1] sums,
):
    """First and second derivatives (2 x 16) of the squared hinge by the constants' weights, at scores S + bias move."""
    cdef Py_ssize_t i, e, n_rows = S.shape[0]
    cdef int b
    cdef float Y[PANEL]
    cdef float c[PANEL]
    cdef float slope[PANEL]
    cdef float curvature[PANEL]
    sums[:, :] = 0
    for b in range(PANEL):
        slope[b] = curvature[b] = 0
    with nogil:
        for i in range(n_rows):
            for b in range(PANEL):
                Y[b] = -1
                c[b] = bound[i] * column_weight[1, b]
            for e in range(positive_indptr[i], positive_indptr[i + 1]):
                Y[positive[e]] = 1
                c[positive[e]] = bound[i] * column_weight[0, positive[e]]
            coupled_slope(bias, &S[i, 0], Y, c, &move[0], slope, curvature)
            if i % FOLD == FOLD - 1 or i == n_rows - 1:
                for b in range(PANEL):
                    sums[0, b] += slope[b]
                    sums[1, b] += curvature[b]
                    slope[b] = curvature[b] = 0
