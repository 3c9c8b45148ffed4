# All documents against sixteen columns of weights at once.

from linnaeus._kernels.panel cimport panel_axpy_d, panel_axpy_f, panel_dot_d, panel_dot_f, panel_prefetch

cdef extern from "logistic_panel.h" nogil:
    void panel_logistic_f(const float* S, float* E, float* P)
    void panel_logistic_d(const double* S, double* E, double* P)
    void panel_totals_f(const float* B, const float* S, double* T, double* L)
    void panel_totals_d(const double* B, const double* S, double* T, double* L)
    void panel_factors_f(const float* E, double* M)
    void panel_factors_d(const double* E, double* M)

cdef enum:
    AHEAD = 6  # documents for which memory is asked in advance
    AT_ONCE = 500  # losses of which only the product is kept: at most 2^500


cdef struct Documents:
    Py_ssize_t n
    const i64* indptr
    const int* indices
    const i64* p_row  # positive pairs (document, column), by document
    const i64* p_col
    Py_ssize_t n_positive


cdef inline void scores(Py_ssize_t n, const int* indices, const floating* data, const floating* W, floating* S,
                        floating* E, floating* P) noexcept nogil:
    """S = x W, E = e^-|S|, P = 1 / (1 + e^-S)."""
    if floating is float:
        panel_dot_f(n, indices, data, W, S)
        panel_logistic_f(S, E, P)
    else:
        panel_dot_d(n, indices, data, W, S)
        panel_logistic_d(S, E, P)


cdef inline void add_row(Py_ssize_t n, const int* indices, const floating* data, const floating* D,
                         floating* W) noexcept nogil:
    if floating is float:
        panel_axpy_f(n, indices, data, D, W)
    else:
        panel_axpy_d(n, indices, data, D, W)


cdef int scan(Documents* X, const floating* data, const floating* c, const floating* W, const floating* inverse,
              const floating* cut, Py_ssize_t d, floating* pull, double* total, double* leaning, double* p_b,
              double* p_s, List** lists) noexcept nogil:
    """b_i of all pairs: positive ones to p_b (scores to p_s), those above ``cut`` to ``lists``, the others summed.

    ``inverse`` is 1 / precision; ``leaning`` is sum b_i s_i.
    """
    cdef Py_ssize_t i, e, n, p = 0
    cdef int b
    cdef floating S[PANEL]
    cdef floating E[PANEL]
    cdef floating B[PANEL]
    cdef double T[PANEL]
    cdef double L[PANEL]
    cdef floating weight, most
    cdef const int* at
    memset(pull, 0, d * PANEL * sizeof(floating))
    for b in range(PANEL):
        T[b] = L[b] = 0
    for i in range(X.n):
        n, at = X.indptr[i + 1] - X.indptr[i], X.indices + X.indptr[i]
        if i + AHEAD < X.n:
            for e in range(X.indptr[i + AHEAD], X.indptr[i + AHEAD + 1]):
                panel_prefetch(&W[X.indices[e] * PANEL], PANEL * sizeof(floating))
                panel_prefetch(&pull[X.indices[e] * PANEL], PANEL * sizeof(floating))
        scores(n, at, data + X.indptr[i], W, S, E, B)
        weight = c[i]
        for b in range(PANEL):
            B[b] *= weight * inverse[b]
        while p < X.n_positive and X.p_row[p] == i:
            b = <int> X.p_col[p]
            p_b[p], p_s[p] = <double> weight * inverse[b] * (E[b] if S[b] > 0 else 1) / (1 + E[b]), S[b]
            B[b] = 0
            p += 1
        most = -1
        for b in range(PANEL):
            most = B[b] - cut[b] if B[b] - cut[b] > most else most
        if most > 0:
            for b in range(PANEL):
                if B[b] > cut[b]:
                    if push(lists[b], <int> i, B[b], S[b]) < 0:
                        return -1
                    B[b] = 0
        if floating is float:
            panel_totals_f(B, S, T, L)
        else:
            panel_totals_d(B, S, T, L)
        add_row(n, at, data + X.indptr[i], B, pull)
    for b in range(PANEL):
        total[b], leaning[b] = T[b], L[b]
    return 0


def describe(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, const floating[::1] squares,
    const floating[::1] c, const i64[::1] p_row, const i64[::1] p_col, const floating[:, ::1] W,
    const floating[::1] inverse, double[::1] losses, floating[:, ::1] information,
):
    """Losses of every column, and sum_i x_i^2 c_i p_i (1 - p_i) / precision (features x columns)."""
    cdef Py_ssize_t i, e, n, p = 0, n_docs = indptr.shape[0] - 1, taken = 0
    cdef int b
    cdef floating S[PANEL]
    cdef floating E[PANEL]
    cdef floating P[PANEL]
    cdef floating D[PANEL]
    cdef floating weight, most
    cdef double product[PANEL]
    cdef double linear[PANEL]
    cdef const int* at
    with nogil:
        memset(&information[0, 0], 0, information.shape[0] * PANEL * sizeof(floating))
        for b in range(PANEL):
            product[b], linear[b] = 1, 0
        for i in range(n_docs):
            n, at = indptr[i + 1] - indptr[i], &indices[0] + indptr[i]
            if i + AHEAD < n_docs:
                for e in range(indptr[i + AHEAD], indptr[i + AHEAD + 1]):
                    panel_prefetch(&W[indices[e], 0], PANEL * sizeof(floating))
                    panel_prefetch(&information[indices[e], 0], PANEL * sizeof(floating))
            weight = c[i]
            scores(n, at, &data[0] + indptr[i], &W[0, 0], S, E, P)
            most = S[0]
            for b in range(PANEL):
                D[b] = weight * inverse[b] * E[b] / ((1 + E[b]) * (1 + E[b]))
                most = S[b] if S[b] > most else most
            if most > 0:
                for b in range(PANEL):
                    linear[b] += <double> weight * (S[b] if S[b] > 0 else 0)
            if weight == 1:
                if floating is float:
                    panel_factors_f(E, product)
                else:
                    panel_factors_d(E, product)
                taken += 1
                if taken == AT_ONCE:
                    taken = 0
                    for b in range(PANEL):
                        linear[b] += log(product[b])
                        product[b] = 1
            else:
                for b in range(PANEL):
                    linear[b] += <double> weight * log1p(<double> E[b])
            while p < p_row.shape[0] and p_row[p] == i:
                linear[p_col[p]] -= <double> weight * S[p_col[p]]
                p += 1
            add_row(n, at, &squares[0] + indptr[i], D, &information[0, 0])
        for b in range(PANEL):
            losses[b] = linear[b] + log(product[b])
