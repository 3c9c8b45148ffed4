"""Weights of the inner nodes of a taxonomy: joined to the leaves' columns, and solved for exactly, feature by feature.

The inner nodes form a network: conductances between neighbours, an anchor (a conductance to zero) at some of them. For
every feature, with excess s_v >= 0 and source b_v at node v, the weights solve

    s_v x_v + sum_u c_uv (x_v - x_u) = b_v          for all v,

which is the minimum of 1/2 sum c_uv (x_u - x_v)^2 + 1/2 sum s_v x_v^2 - sum b_v x_v. Nodes are eliminated in a fixed
order by the star-mesh rule (all quantities stay positive, nothing cancels); ``later`` lists the neighbours that a node
still has when its turn comes. On a tree that is its parent alone.

Weights are stored (n_panels, n_inner, 16): sixteen features side by side, so that SIMD runs across features and the
nodes of a panel stay in cache.
"""

from cython cimport floating

ctypedef long long i64

ctypedef fused summed:  # of what: the step works in the precision of the weights, certificates in double
    float
    double

cdef extern from "network.h" nogil:
    enum: LANES
    double network_forward_f(
        Py_ssize_t n, const int* order, const i64* later_ptr, const int* later, const i64* mesh_ptr, const int* mesh,
        float* s, float* b, float* c)
    double network_forward_d(
        Py_ssize_t n, const int* order, const i64* later_ptr, const int* later, const i64* mesh_ptr, const int* mesh,
        double* s, double* b, double* c)
    void network_backward_f(
        Py_ssize_t n, const int* order, const i64* later_ptr, const int* later, const float* inverse, const float* b,
        const float* c, float* x)
    void network_backward_d(
        Py_ssize_t n, const int* order, const i64* later_ptr, const int* later, const double* inverse, const double* b,
        const double* c, double* x)
    void network_begin_f(Py_ssize_t n, const float* anchor, const float* m, float* s, float* b, float* x)
    void network_begin_d(Py_ssize_t n, const double* anchor, const double* m, double* s, double* b, double* x)
    double network_move_f(Py_ssize_t n, const float* x, float* m, float* old, float momentum)
    double network_move_d(Py_ssize_t n, const double* x, double* m, double* old, double momentum)


def gather(
    const floating[:, :, ::1] M, const int[::1] features,
    const i64[::1] indptr, const int[::1] node, const floating[::1] share, floating[:, ::1] W,
):
    """W[f, b] = sum over the inner neighbours e of leaf b of share[e] * M at (features[f], node[e])."""
    cdef Py_ssize_t f, e, b, n_columns = indptr.shape[0] - 1
    cdef int panel, lane
    cdef floating value
    with nogil:
        for f in range(features.shape[0]):
            panel, lane = features[f] >> 4, features[f] & 15
            for b in range(n_columns):
                value = 0
                for e in range(indptr[b], indptr[b + 1]):
                    value += share[e] * M[panel, node[e], lane]
                W[f, b] = value


cdef void collect(
    Py_ssize_t panel, const unsigned long long[::1] U, const unsigned long long[::1] features, const i64[::1] length,
    const i64[:, ::1] column_ptr, const int[::1] inner, const floating[::1] weight, i64[::1] cursor,
    summed* pull, summed* count,
) noexcept nogil:
    """What pulls at the inner nodes in one panel: where leaf b of a block differs from its centre by u != 0, each of its
    neighbours feels pull += weight * u and count += weight. Blocks list their features in order; ``cursor`` walks them.
    """
    cdef Py_ssize_t block, b, e, at, end = (panel + 1) * LANES
    cdef int lane
    cdef floating u
    cdef const floating* row
    cdef const int* feature
    for block in range(U.shape[0]):
        feature = <const int*> features[block]
        while cursor[block] < length[block] and feature[cursor[block]] < end:
            row = (<const floating*> U[block]) + cursor[block] * LANES
            lane = feature[cursor[block]] & 15
            cursor[block] += 1
            for b in range(LANES):
                u = row[b]
                if u != 0:
                    for e in range(column_ptr[block, b], column_ptr[block, b + 1]):
                        at = <Py_ssize_t> inner[e] * LANES + lane
                        pull[at] += weight[e] * u
                        count[at] += weight[e]


def step(
    const int[::1] order, const i64[::1] later_ptr, const int[::1] later, const floating[::1] conductance,
    const i64[::1] mesh_ptr, const int[::1] mesh, const floating[::1] anchor,
    const unsigned long long[::1] U, const unsigned long long[::1] features, const i64[::1] length,
    const i64[:, ::1] column_ptr, const int[::1] inner, const floating[::1] weight, i64[::1] cursor,
    Py_ssize_t first_panel, floating[:, :, ::1] M, floating[:, :, ::1] before, floating momentum,
    floating[:, :, ::1] work, floating[:, ::1] edge_work,
):
    """Move the inner nodes to the optimum between the leaves that pull at them, then on by ``momentum``.

    M holds the point at which the leaves were solved and receives x + momentum (x - before); ``before`` holds the last
    solution and receives x. Returns <M - x, x - before>: positive where the momentum points uphill. U and features hold
    the addresses of the blocks' arrays; ``work`` is (3, n_inner, 16).
    """
    cdef Py_ssize_t p, v, i, n = order.shape[0], n_edges = later.shape[0]
    cdef int l
    cdef double uphill = 0
    cdef floating* b = &work[0, 0, 0]
    cdef floating* s = &work[1, 0, 0]
    cdef floating* x = &work[2, 0, 0]
    cdef floating* c = &edge_work[0, 0]
    cdef floating* m
    cdef floating* old
    with nogil:
        for p in range(M.shape[0]):
            m = &M[p, 0, 0]
            old = &before[p, 0, 0]
            for i in range(n * LANES):
                b[i] = 0
                s[i] = 0
            collect(first_panel + p, U, features, length, column_ptr, inner, weight, cursor, b, s)
            for v in range(n_edges):
                for l in range(LANES):
                    c[v * LANES + l] = conductance[v]
            if floating is float:
                network_begin_f(n, &anchor[0], m, s, b, x)
                network_forward_f(n, &order[0], &later_ptr[0], &later[0], &mesh_ptr[0], &mesh[0], s, b, c)
                network_backward_f(n, &order[0], &later_ptr[0], &later[0], s, b, c, x)
                uphill += network_move_f(n, x, m, old, momentum)
            else:
                network_begin_d(n, &anchor[0], m, s, b, x)
                network_forward_d(n, &order[0], &later_ptr[0], &later[0], &mesh_ptr[0], &mesh[0], s, b, c)
                network_backward_d(n, &order[0], &later_ptr[0], &later[0], s, b, c, x)
                uphill += network_move_d(n, x, m, old, momentum)
    return uphill


def least_energy(
    const int[::1] order, const i64[::1] later_ptr, const int[::1] later, const floating[::1] conductance,
    const i64[::1] mesh_ptr, const int[::1] mesh, const floating[::1] anchor,
    const unsigned long long[::1] U, const unsigned long long[::1] features, const i64[::1] length,
    const i64[:, ::1] column_ptr, const int[::1] inner, const floating[::1] weight, i64[::1] cursor,
    Py_ssize_t first_panel, Py_ssize_t n_panels, double[:, :, ::1] work, double[:, ::1] edge_work,
):
    """1/2 <pull, x> for the x that solves the network under the leaves' pull alone, in double precision.

    It is the inner vertices' part of the dual objective.
    """
    cdef Py_ssize_t p, v, i, n = order.shape[0], n_edges = later.shape[0]
    cdef int l
    cdef double total = 0
    cdef double* b = &work[0, 0, 0]
    cdef double* s = &work[1, 0, 0]
    cdef double* c = &edge_work[0, 0]
    with nogil:
        for p in range(n_panels):
            for i in range(n * LANES):
                b[i] = 0
            collect(first_panel + p, U, features, length, column_ptr, inner, weight, cursor, b, s)
            for v in range(n):
                for l in range(LANES):
                    s[v * LANES + l] = anchor[v]
            for v in range(n_edges):
                for l in range(LANES):
                    c[v * LANES + l] = conductance[v]
            total += network_forward_d(n, &order[0], &later_ptr[0], &later[0], &mesh_ptr[0], &mesh[0], s, b, c)
    return 0.5 * total


def energy(
    const int[::1] order, const i64[::1] later_ptr, const int[::1] later, const floating[::1] conductance,
    const floating[::1] anchor, const floating[:, :, ::1] M,
):
    """1/2 sum c (m_u - m_v)^2 + 1/2 sum anchor m^2: the inner nodes' part of the regulariser."""
    cdef Py_ssize_t p, v, k, e, u, n = order.shape[0]
    cdef int l
    cdef double total = 0, line
    cdef double d
    with nogil:
        for p in range(M.shape[0]):
            for k in range(n):
                v = order[k]
                line = 0
                for l in range(LANES):
                    line += <double> anchor[v] * M[p, v, l] * M[p, v, l]
                for e in range(later_ptr[k], later_ptr[k + 1]):
                    u = later[e]
                    for l in range(LANES):
                        d = <double> M[p, v, l] - M[p, u, l]
                        line += conductance[e] * d * d
                total += line
    return 0.5 * total
