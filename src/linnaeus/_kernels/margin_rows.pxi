# Rows of scores as tables: what the kernels of the maximum-margin tree share.


cdef inline void raw(double* h, const floating* F, Py_ssize_t n, int columns, double scale) noexcept nogil:
    """h[v, u] = scale * F[v, u], all four of them."""
    cdef Py_ssize_t v
    cdef double* at
    for v in range(n):
        at = h + 4 * v
        if columns == 3:
            at[0], at[2], at[3] = scale * F[3 * v], scale * F[3 * v + 1], scale * F[3 * v + 2]
            at[1] = -(at[0] + at[2] + at[3])
        else:
            at[1], at[2], at[3] = 0.0, scale * F[2 * v], scale * F[2 * v + 1]
            at[0] = -(at[2] + at[3])


cdef inline void scores(double* h, const floating* F, const double* loss, const unsigned char* truth, Py_ssize_t n,
                        int columns, double scale) noexcept nogil:
    """h[v, u] = loss[v, truth[v], u] + scale * F[v, u]."""
    cdef Py_ssize_t v
    cdef int u
    cdef const double* l
    raw(h, F, n, columns, scale)
    for v in range(n):
        l = loss + 16 * v + 4 * truth[v]
        for u in range(4):
            h[4 * v + u] += l[u]
