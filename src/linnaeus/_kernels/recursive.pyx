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

import numpy as np

from cython cimport floating

ctypedef long long i64

ctypedef fused summed:  # of what: the step works in the precision of the weights, certificates in double
    float
    double

cdef extern from "network.h" nogil:
    enum: LANES
    enum: AHEAD
    void prefetch(const void* address)
    unsigned int nonzero_f(const float* row)
    unsigned int nonzero_d(const double* row)
    int lowest_bit(unsigned int mask)
    void network_reach_f(Py_ssize_t v, unsigned char* touched, float* s, float* b)
    void network_begin_f(
        Py_ssize_t n, const unsigned char* always, const float* anchor, Py_ssize_t n_edges, const int* slot,
        const float* conductance, unsigned char* touched, float* s, float* b, float* c)
    double network_forward_f(
        Py_ssize_t n, const int* order, const i64* later_ptr, const int* later, const float* conductance,
        const i64* mesh_ptr, const int* mesh, const int* slot, unsigned char* touched, float* s, float* b, float* c)
    double network_move_f(
        Py_ssize_t n, const int* order, const i64* later_ptr, const int* later, const float* conductance,
        const int* slot, const unsigned char* touched, const float* inverse, const float* b, const float* c,
        float* m, float* old, float momentum)
    void network_reach_d(Py_ssize_t v, unsigned char* touched, double* s, double* b)
    void network_begin_d(
        Py_ssize_t n, const unsigned char* always, const double* anchor, Py_ssize_t n_edges, const int* slot,
        const double* conductance, unsigned char* touched, double* s, double* b, double* c)
    double network_forward_d(
        Py_ssize_t n, const int* order, const i64* later_ptr, const int* later, const double* conductance,
        const i64* mesh_ptr, const int* mesh, const int* slot, unsigned char* touched, double* s, double* b, double* c)
    double network_move_d(
        Py_ssize_t n, const int* order, const i64* later_ptr, const int* later, const double* conductance,
        const int* slot, const unsigned char* touched, const double* inverse, const double* b, const double* c,
        double* m, double* old, double momentum)
    int network_iterate_f(
        Py_ssize_t n, const int* order, const i64* later_ptr, const int* later, const float* share,
        const float* inverse, Py_ssize_t n_links, const int* ends, const float* conductance, const float* s, float* b,
        const float* m, float* x, float* z, float* p, float* q, double tol, int most)
    int network_iterate_d(
        Py_ssize_t n, const int* order, const i64* later_ptr, const int* later, const double* share,
        const double* inverse, Py_ssize_t n_links, const int* ends, const double* conductance, const double* s,
        double* b, const double* m, double* x, double* z, double* p, double* q, double tol, int most)


def gather(
    const floating[:, :, ::1] M, const int[::1] features,
    const i64[::1] indptr, const int[::1] node, const floating[::1] share, floating[:, ::1] W,
):
    """W[f, b] = sum over the inner neighbours e of leaf b of share[e] * M at (features[f], node[e])."""
    cdef Py_ssize_t f, e, b, n_columns = indptr.shape[0] - 1, n_links = indptr[n_columns]
    cdef int panel, lane, ahead = -1
    cdef floating value
    with nogil:
        for f in range(features.shape[0]):
            panel, lane = features[f] >> 4, features[f] & 15
            if f + AHEAD < features.shape[0] and features[f + AHEAD] >> 4 != ahead:
                ahead = features[f + AHEAD] >> 4
                for e in range(n_links):  # a few lines of each of thousands of panels
                    prefetch(&M[ahead, node[e], 0])
            for b in range(n_columns):
                value = 0
                for e in range(indptr[b], indptr[b + 1]):
                    value += share[e] * M[panel, node[e], lane]
                W[f, b] = value


cdef void collect(
    Py_ssize_t panel, const unsigned long long[::1] U, const unsigned long long[::1] features, const i64[::1] length,
    const i64[:, ::1] column_ptr, const int[::1] inner, const floating[::1] weight, i64[::1] cursor,
    const summed* m, unsigned char* touched, summed* pull, summed* count,
) noexcept nogil:
    """What pulls at the inner nodes in one panel.

    Where leaf b of a block differs from its centre by u != 0, each of its neighbours feels pull += weight * u. Given m,
    the leaf holds on to where its neighbour was: count += weight and pull += weight * m. Blocks list their features in
    order; ``cursor`` walks them.
    """
    cdef Py_ssize_t block, b, e, at, end = (panel + 1) * LANES
    cdef int lane
    cdef unsigned int left
    cdef floating u
    cdef const floating* row
    cdef const int* feature
    for block in range(U.shape[0]):
        if block + AHEAD < U.shape[0]:  # a few rows of each of a thousand blocks: no hardware foresees that
            prefetch((<const char*> U[block + AHEAD]) + cursor[block + AHEAD] * LANES * sizeof(floating))
            prefetch((<const char*> features[block + AHEAD]) + cursor[block + AHEAD] * sizeof(int))
        feature = <const int*> features[block]
        while cursor[block] < length[block] and feature[cursor[block]] < end:
            row = (<const floating*> U[block]) + cursor[block] * LANES
            lane = feature[cursor[block]] & 15
            cursor[block] += 1
            if floating is float:
                left = nonzero_f(row)
            else:
                left = nonzero_d(row)
            while left:
                b = lowest_bit(left)
                left &= left - 1
                u = row[b]
                for e in range(column_ptr[block, b], column_ptr[block, b + 1]):
                    at = <Py_ssize_t> inner[e] * LANES + lane
                    if summed is float:
                        network_reach_f(inner[e], touched, count, pull)
                    else:
                        network_reach_d(inner[e], touched, count, pull)
                    pull[at] += weight[e] * u
                    if m != NULL:
                        pull[at] += weight[e] * m[at]
                        count[at] += weight[e]


def step(
    const int[::1] order, const i64[::1] later_ptr, const int[::1] later, const floating[::1] conductance,
    const i64[::1] mesh_ptr, const int[::1] mesh, const int[::1] slot, const unsigned char[::1] always,
    const floating[::1] anchor,
    const unsigned long long[::1] U, const unsigned long long[::1] features, const i64[::1] length,
    const i64[:, ::1] column_ptr, const int[::1] inner, const floating[::1] weight, i64[::1] cursor,
    Py_ssize_t first_panel, floating[:, :, ::1] M, floating[:, :, ::1] before, floating momentum,
    floating[:, :, ::1] work, floating[:, ::1] edge_work, unsigned char[::1] touched,
):
    """Move the inner nodes to the optimum between the leaves that pull at them, then on by ``momentum``.

    M holds the point at which the leaves were solved and receives x + momentum (x - before); ``before`` holds the last
    solution and receives x. Returns <M - x, x - before>: positive where the momentum points uphill. U and features hold
    the addresses of the blocks' arrays; ``work`` is (2, n_inner, 16), ``edge_work`` (slots, 16).
    """
    cdef Py_ssize_t p, v, n = order.shape[0], n_edges = later.shape[0]
    cdef double uphill = 0
    cdef floating* b = &work[0, 0, 0]
    cdef floating* s = &work[1, 0, 0]
    cdef floating* c = &edge_work[0, 0]
    cdef floating* m
    with nogil:
        for p in range(M.shape[0]):
            m = &M[p, 0, 0]
            for v in range(n):  # the leaves will ask for them in no order
                prefetch(m + v * LANES)
            if floating is float:
                network_begin_f(n, &always[0], &anchor[0], n_edges, &slot[0], &conductance[0], &touched[0], s, b, c)
            else:
                network_begin_d(n, &always[0], &anchor[0], n_edges, &slot[0], &conductance[0], &touched[0], s, b, c)
            collect(
                first_panel + p, U, features, length, column_ptr, inner, weight, cursor, <const floating*> m,
                &touched[0], b, s,
            )
            if floating is float:
                network_forward_f(
                    n, &order[0], &later_ptr[0], &later[0], &conductance[0], &mesh_ptr[0], &mesh[0], &slot[0],
                    &touched[0], s, b, c)
                uphill += network_move_f(
                    n, &order[0], &later_ptr[0], &later[0], &conductance[0], &slot[0], &touched[0], s, b, c, m,
                    &before[p, 0, 0], momentum)
            else:
                network_forward_d(
                    n, &order[0], &later_ptr[0], &later[0], &conductance[0], &mesh_ptr[0], &mesh[0], &slot[0],
                    &touched[0], s, b, c)
                uphill += network_move_d(
                    n, &order[0], &later_ptr[0], &later[0], &conductance[0], &slot[0], &touched[0], s, b, c, m,
                    &before[p, 0, 0], momentum)
    return uphill


def least_energy(
    const int[::1] order, const i64[::1] later_ptr, const int[::1] later, const floating[::1] conductance,
    const i64[::1] mesh_ptr, const int[::1] mesh, const int[::1] slot, const unsigned char[::1] always,
    const floating[::1] anchor,
    const unsigned long long[::1] U, const unsigned long long[::1] features, const i64[::1] length,
    const i64[:, ::1] column_ptr, const int[::1] inner, const floating[::1] weight, i64[::1] cursor,
    Py_ssize_t first_panel, Py_ssize_t n_panels, double[:, :, ::1] work, double[:, ::1] edge_work,
    unsigned char[::1] touched,
):
    """1/2 <pull, x> for the x that solves the network under the leaves' pull alone, in double precision.

    It is the inner vertices' part of the dual objective.
    """
    cdef Py_ssize_t p, n = order.shape[0], n_edges = later.shape[0]
    cdef double total = 0
    cdef double* b = &work[0, 0, 0]
    cdef double* s = &work[1, 0, 0]
    cdef double* c = &edge_work[0, 0]
    cdef const double[::1] wide = np.asarray(conductance, np.float64)
    cdef const double[::1] held = np.asarray(anchor, np.float64)
    with nogil:
        for p in range(n_panels):
            network_begin_d(n, &always[0], &held[0], n_edges, &slot[0], &wide[0], &touched[0], s, b, c)
            collect(
                first_panel + p, U, features, length, column_ptr, inner, weight, cursor, <const double*> NULL,
                &touched[0], b, s,
            )
            total += network_forward_d(
                n, &order[0], &later_ptr[0], &later[0], &wide[0], &mesh_ptr[0], &mesh[0], &slot[0], &touched[0],
                s, b, c)
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


def write_leaves(
    const floating[:, :, ::1] M, Py_ssize_t first_panel, const i64[::1] leaf_ptr, const int[::1] node,
    const floating[::1] share, const unsigned long long[::1] U, const unsigned long long[::1] features,
    const i64[::1] length, i64[::1] cursor, const i64[::1] first_leaf, const int[::1] row, floating[:, ::1] W,
):
    """W[row[f], n] = the weight of feature f at leaf n, centre and u, for the features f of the panels M.

    M[0] is panel ``first_panel``; features of row -1 are left out. Block k has the leaves from first_leaf[k] on; U and
    features hold the addresses of the blocks' arrays, ``cursor`` walks them.
    """
    cdef Py_ssize_t p, n, tile, b, e, k, at, last, f, n_leaves = leaf_ptr.shape[0] - 1
    cdef int l, r
    cdef floating weights[LANES][LANES]
    cdef const floating* m
    cdef const floating* u
    cdef const int* feature
    with nogil:
        for p in range(M.shape[0]):
            f = (first_panel + p) * LANES
            n = 0
            while n < n_leaves:
                tile = LANES if n_leaves - n > LANES else n_leaves - n
                for b in range(tile):
                    for l in range(LANES):
                        weights[b][l] = 0
                    for e in range(leaf_ptr[n + b], leaf_ptr[n + b + 1]):
                        m = &M[p, node[e], 0]
                        for l in range(LANES):
                            weights[b][l] += share[e] * m[l]
                for l in range(LANES):
                    r = row[f + l] if f + l < row.shape[0] else -1
                    if r < 0:
                        continue
                    for b in range(tile):
                        W[r, n + b] = weights[b][l]
                n += LANES
            for k in range(U.shape[0]):
                if k + AHEAD < U.shape[0]:
                    prefetch((<const char*> U[k + AHEAD]) + cursor[k + AHEAD] * LANES * sizeof(floating))
                feature = <const int*> features[k]
                last = first_leaf[k + 1] - first_leaf[k]
                while cursor[k] < length[k] and feature[cursor[k]] < f + LANES:
                    at = cursor[k]
                    cursor[k] += 1
                    r = row[feature[at]]
                    if r < 0:
                        continue
                    u = (<const floating*> U[k]) + at * LANES
                    for b in range(last):
                        W[r, first_leaf[k] + b] += u[b]


include "iterated_steps.pxi"
