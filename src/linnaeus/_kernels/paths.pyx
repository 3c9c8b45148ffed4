"""Sixteen leaves and the inner vertices on their paths to the top of a network, in single precision.

Eliminated one after the other, inner vertices have the weights m_v = z_v + sum over later neighbours u of share_vu m_u:
z_v is what v adds to those above it. The centre of a leaf is a sum over the vertices above it, and what a leaf pulls
moves z of these vertices only.

Z (n_groups, n_features, 16) holds sixteen vertices side by side. ``group`` lists the groups that a block of leaves has
vertices in, ``used`` these vertices, a bit for each; ``down[q, v, b]`` is the coefficient of a vertex in the weights of
leaf b, ``up[q, b, v]`` what a change of that leaf's u adds to z of the vertex.
"""

from linnaeus._kernels.panel cimport PANEL

ctypedef long long i64

cdef extern from "paths.h" nogil:
    enum: TOGETHER
    enum: SOON
    unsigned int nonzero_f(const float* row)
    void coupled_product(const float (*d)[16], const float* B, float (*out)[16])
    void paths_join(
        int n, const int* feature, const int* soon, Py_ssize_t n_groups, const int* group, const unsigned int* used,
        const float* down, const float* Z, Py_ssize_t stride, const float* u, float* w, float* copy)
    void paths_ask(int feature, Py_ssize_t n_groups, const int* group, const float* Z, Py_ssize_t stride)
    void paths_part(
        int n, const int* feature, const float (*change)[16], Py_ssize_t n_groups, const int* group, const float* up,
        float* Z, Py_ssize_t stride)


def join(
    const float[:, :, ::1] Z, const int[::1] features, const int[::1] group, const unsigned int[::1] used,
    const float[:, :, ::1] down, const float[:, ::1] U, float[:, ::1] W, float[:, ::1] copy,
):
    """W[f, b] = copy[f, b] = U[f, b] + the centre of leaf b in features[f]."""
    cdef Py_ssize_t f = 0, n_features = features.shape[0], n_groups = group.shape[0], stride = Z.shape[1] * PANEL
    cdef int n
    cdef const int* groups = &group[0] if n_groups else NULL
    cdef const unsigned int* bits = &used[0] if n_groups else NULL
    cdef const float* rows = &down[0, 0, 0] if n_groups else NULL
    with nogil:
        while f < n_features:
            n = TOGETHER if n_features - f > TOGETHER else <int> (n_features - f)
            paths_join(
                n, &features[f], &features[f] + SOON if f + SOON + TOGETHER <= n_features else NULL, n_groups,
                groups, bits, rows, &Z[0, 0, 0], stride, &U[f, 0], &W[f, 0], &copy[f, 0])
            f += TOGETHER


def part(
    const float[:, ::1] W, float[:, ::1] before, const float[:, ::1] inverse, const int[::1] features,
    const int[::1] group, const float[:, :, ::1] up, float[:, ::1] U, float[:, :, ::1] Z, int[::1] changed,
):
    """What a visit has changed becomes a change of u, (W - before) inverse, and of z of the vertices above.

    ``before`` and ``changed``, which has room for all features, are overwritten.
    """
    cdef Py_ssize_t f, n = 0, n_features = features.shape[0], n_groups = group.shape[0], stride = Z.shape[1] * PANEL
    cdef int b, r, some
    cdef float d[PANEL]
    cdef float last[TOGETHER][PANEL]
    cdef float change[TOGETHER][PANEL]
    cdef int feature[TOGETHER]
    cdef const float (*rows)[16]
    with nogil:
        for f in range(n_features):
            for b in range(PANEL):
                d[b] = W[f, b] - before[f, b]
            if nonzero_f(d):
                for b in range(PANEL):
                    before[n, b] = d[b]
                changed[n] = <int> f
                n += 1
        f = 0
        while f < n:
            some = TOGETHER if n - f > TOGETHER else <int> (n - f)
            rows = <const float (*)[16]> &before[f, 0]
            if some < TOGETHER:
                for r in range(some):
                    for b in range(PANEL):
                        last[r][b] = before[f + r, b]
                rows = <const float (*)[16]> last
            coupled_product(rows, &inverse[0, 0], change)
            for r in range(some):
                feature[r] = features[changed[f + r]]
                for b in range(PANEL):
                    U[changed[f + r], b] += change[r][b]
                if f + r + SOON < n:
                    paths_ask(features[changed[f + r + SOON]], n_groups, &group[0], &Z[0, 0, 0], stride)
            if n_groups:
                paths_part(
                    some, feature, <const float (*)[16]> change, n_groups, &group[0], &up[0, 0, 0], &Z[0, 0, 0], stride)
            f += TOGETHER


def descend(
    const int[::1] order, const i64[::1] later_ptr, const int[::1] later, const float[::1] share,
    const int[::1] place, const float[:, :, ::1] Z, float[:, :, ::1] M, Py_ssize_t first,
):
    """Weights of all vertices in the panels of M, m_v = z_v + sum share m_u; M[0] is panel ``first``.

    ``place`` is where a vertex lies in Z: sixteen times its group, and its number there.
    """
    cdef Py_ssize_t p, k, v, e, n = order.shape[0], feature
    cdef int l
    cdef float x[PANEL]
    cdef const float* z
    cdef const float* m
    with nogil:
        for p in range(M.shape[0]):
            feature = (first + p) * PANEL
            for k in range(n - 1, -1, -1):
                v = order[k]
                z = &Z[place[v] >> 4, feature, place[v] & 15]
                for l in range(PANEL):
                    x[l] = z[l * PANEL]
                for e in range(later_ptr[k], later_ptr[k + 1]):
                    m = &M[p, later[e], 0]
                    for l in range(PANEL):
                        x[l] += share[e] * m[l]
                for l in range(PANEL):
                    M[p, v, l] = x[l]
