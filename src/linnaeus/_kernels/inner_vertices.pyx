"""Inner vertices of a tree to their optimum between leaves that stay: `LabelTree.between` in place, some features.

    upward       p_v = rho_v (leaf)  or  rho_v S_v / (rho_v + S_v),        S_v = sum of p over the children of v
                 g_v = rho_v w_v     or  rho_v H_v / (rho_v + S_v),        H_v = sum of g over the children of v
    downward     w_v = (rho_v w_parent + H_v) / (rho_v + S_v)              root: w_parent = 0

Children come after their parents. Sums are of double precision, whatever the weights are.
"""

from cython cimport floating
from libc.stdlib cimport free, malloc
from libc.string cimport memset

ctypedef long long i64

cdef enum:
    AT_ONCE = 128  # features


def settle(floating[:, ::1] W, const i64[::1] parent, const i64[::1] row, const double[::1] rho, Py_ssize_t n_inner,
           Py_ssize_t begin, Py_ssize_t end, double[::1] squares, double[::1] moved):
    """Features begin .. end - 1 of W; add |w_v - w_parent|^2 to ``squares``, |w_v - w_v before|^2 to ``moved``.

    ``row`` numbers the inner vertices; it is -1 for leaves.
    """
    cdef Py_ssize_t n = parent.shape[0], v, k, f, m
    cdef double share, away, change, pulled
    cdef double* held = <double*> malloc(n_inner * sizeof(double))  # S
    cdef double* H = <double*> malloc(n_inner * AT_ONCE * sizeof(double))  # later the new weights
    cdef double* h
    cdef double* above
    cdef double zero[AT_ONCE]
    cdef floating* w
    if held == NULL or H == NULL:
        free(held)
        free(H)
        raise MemoryError
    with nogil:
        memset(&zero[0], 0, AT_ONCE * sizeof(double))
        memset(held, 0, n_inner * sizeof(double))
        for v in range(n - 1, 0, -1):
            share = rho[v] if row[v] < 0 else rho[v] * held[row[v]] / (rho[v] + held[row[v]])
            held[row[parent[v]]] += share
        f = begin
        while f < end:
            m = AT_ONCE if end - f > AT_ONCE else end - f
            memset(H, 0, n_inner * AT_ONCE * sizeof(double))
            for v in range(n - 1, 0, -1):
                h = H + row[parent[v]] * AT_ONCE
                if row[v] < 0:
                    w = &W[v, f]
                    for k in range(m):
                        h[k] += rho[v] * w[k]
                else:
                    above = H + row[v] * AT_ONCE
                    share = rho[v] / (rho[v] + held[row[v]])
                    for k in range(m):
                        h[k] += share * above[k]
            for v in range(n):
                w, above = &W[v, f], &zero[0] if v == 0 else H + row[parent[v]] * AT_ONCE
                away = change = 0
                if row[v] < 0:
                    for k in range(m):
                        away += (w[k] - above[k]) * (w[k] - above[k])
                else:
                    h = H + row[v] * AT_ONCE
                    share = 1 / (rho[v] + held[row[v]])
                    for k in range(m):
                        pulled = share * (rho[v] * above[k] + h[k])
                        change += (pulled - w[k]) * (pulled - w[k])
                        away += (pulled - above[k]) * (pulled - above[k])
                        h[k] = pulled
                        w[k] = <floating> pulled
                squares[v] += away
                moved[v] += change
            f += AT_ONCE
        free(held)
        free(H)
