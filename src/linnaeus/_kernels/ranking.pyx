"""Block coordinate ascent for the hierarchical multi-label SVM (Cai and Hofmann), sixteen attribute nodes at a time.

For rows x_i with relevant classes Y_i and bounds c_i, over pairs p = (y, z), y in Y_i and z not, with attributes A(y),
costs D_p = D(y, z) >= 0, a_p = D_p (A(y) - A(z)) (x) x_i and H_p = D_p (1 - F(x_i, y) + F(x_i, z)), F(x, y) = A(y)'w x:

    P = 1/2 |w|^2 + sum_i c_i max(0, max_p H_p)        max_b  sum_p D_p b_p - 1/2 |sum_p b_p a_p|^2
                                                       b >= 0, sum_{p of i} b_p <= c_i      (one slack per example)

or with 0 <= b_p <= c_i and the sum of all max(0, H_p) (one slack per pair). dD/db_p is H_p. In every block stands a
null pair with H = 0 that holds what is left of c_i; a block is at its optimum when all pairs with mass have the largest
H.

W is (n_panels x n_features + 1 x 16): node v is column v % 16 of panel v // 16, the last feature is the constant
``bias``. With ``gram`` a row holds its products K(x_i, x_j) with all rows, W the coefficients of nodes per row, and an
update of row i touches nothing but W[:, i]. A row has room for ``capacity`` pairs: classes ys, zs, their cost, their
mass.
"""

from cython cimport floating
from libc.math cimport fabs

include "ranking_classes.pxi"

cdef double FAR = 1e30
cdef double SHARE = 0.5  # of the violation of a document that further pairs must have to be taken in, too


cdef void solve_block(int m, const double* Q, double* g, double* b, double tau) noexcept nogil:
    """max g'd - 1/2 d'Qd over b + d in the simplex, in place; entry m is the null pair, whose row of Q is 0.

    Mass goes to the pair of largest gradient, from the one with mass that gains most by it, as much as is best.
    """
    cdef int p, r, k, step
    cdef double eta, t, gain, best, low
    for step in range(1000 * (m + 1)):
        p = m
        for k in range(m):
            if g[k] > g[p]:
                p = k
        r = -1
        best = 0
        low = g[p]
        for k in range(m + 1):
            if b[k] <= 0 or g[k] >= g[p]:
                continue
            low = min(low, g[k])
            eta = (0 if p == m else Q[p * m + p]) + (0 if k == m else Q[k * m + k])
            if p < m and k < m:
                eta -= 2 * Q[p * m + k]
            t = b[k]
            if eta * t > g[p] - g[k]:
                t = (g[p] - g[k]) / eta
            gain = t * (g[p] - g[k] - 0.5 * eta * t)
            if gain > best:
                best, r = gain, k
        if r < 0 or g[p] - low <= tau:
            return
        eta = (0 if p == m else Q[p * m + p]) + (0 if r == m else Q[r * m + r])
        if p < m and r < m:
            eta -= 2 * Q[p * m + r]
        t = b[r]
        if eta * t > g[p] - g[r]:
            t = (g[p] - g[r]) / eta
            b[r] -= t
        else:
            b[r] = 0
        b[p] += t
        for k in range(m):
            g[k] -= t * ((0 if p == m else Q[p * m + k]) - (0 if r == m else Q[r * m + k]))


cdef void products(const Classes* c, int m, const int* ys, const int* zs, const double* cost, double norm,
                   double* node, double* Q) noexcept nogil:
    """Q[p, r] = norm D_p D_r (A(y_p) - A(z_p))'(A(y_r) - A(z_r)); ``node`` is 0 before and after."""
    cdef int p, r
    for p in range(m):
        scatter(c, ys[p], 1, node)
        scatter(c, zs[p], -1, node)
        for r in range(p, m):
            Q[p * m + r] = norm * cost[p] * cost[r] * (score(c, node, ys[r]) - score(c, node, zs[r]))
            Q[r * m + p] = Q[p * m + r]
        clear(c, ys[p], node)
        clear(c, zs[p], node)


cdef inline void panels_of(const Classes* c, int m, const int* ys, const int* zs, unsigned char* wanted) noexcept nogil:
    """Mark the panels that hold nodes of the classes of m pairs."""
    cdef int p
    cdef i64 e
    for p in range(m):
        for e in range(c.indptr[ys[p]], c.indptr[ys[p] + 1]):
            wanted[c.indices[e] // PANEL] = 1
        for e in range(c.indptr[zs[p]], c.indptr[zs[p] + 1]):
            wanted[c.indices[e] // PANEL] = 1


cdef inline int best_pairs(
    const Classes* c, const double* a, const int* labels, i64 n_labels, double low, unsigned char* relevant, double* F,
    double* row, double* found, double* high,
) noexcept nogil:
    """For every right class the pair of largest H, where it is above ``low``: right class, other class and cost of each
    in ``found``; returns their number and raises ``high``. F are the scores of the classes.
    """
    cdef i64 e
    cdef int y, z, best_z, most = 0
    cdef double own, h, best
    for z in range(c.n_classes):
        F[z] = score(c, a, z)
    for e in range(n_labels):
        relevant[labels[e]] = 1
    for e in range(n_labels):
        y = labels[e]
        own = 1 - F[y]
        cost_row(c, y, row)
        best, best_z = 0, -1
        for z in range(c.n_classes):
            h = row[z] * (own + F[z])
            if h > best and not relevant[z]:
                best, best_z = h, z
        if best > low * (1 + 1e-9) and best_z >= 0:
            found[3 * most] = y
            found[3 * most + 1] = best_z
            found[3 * most + 2] = row[best_z]
            most += 1
            high[0] = max(high[0], best)
    for e in range(n_labels):
        relevant[labels[e]] = 0
    return most


cdef inline int forget_idle(
    int m, int* ys, int* zs, double* cost, double* mass, unsigned char* idle
) noexcept nogil:
    """Leave out the pairs of a row that had no mass for two whole passes; returns how many are left."""
    cdef int b, p = 0
    for b in range(m):
        idle[b] = 0 if mass[b] > 0 else idle[b] + 1
        if idle[b] <= 2:
            ys[p], zs[p], cost[p] = ys[b], zs[b], cost[b]
            mass[p], idle[p] = mass[b], idle[b]
            p += 1
    return p


cdef inline int take_pairs(
    int most, const double* found, const double* F, double low, double share, int m, int capacity,
    int* ys, int* zs, double* cost, double* mass, double* g, unsigned char* idle, int* full
) noexcept nogil:
    """Add the ``most`` pairs of ``found`` whose H is at least ``share`` above ``low`` to the m pairs of a row, with
    mass 0; returns how many it has. ``full`` counts the pairs for which there is no room."""
    cdef int b, k, p, y, z
    cdef double h
    for k in range(most):
        y, z = <int> found[3 * k], <int> found[3 * k + 1]
        h = found[3 * k + 2] * (1 - F[y] + F[z])
        if h - low < share:
            continue
        p = m
        for b in range(m):
            if ys[b] == y and zs[b] == z:
                p = b
        if p < m:
            continue
        if m == capacity:  # a pair without mass makes room, the one of smallest H
            for b in range(m):
                if mass[b] == 0 and idle[b] > 0 and (p == m or g[b] < g[p]):
                    p = b
            full[0] += p == m
        if p < capacity:
            m = max(m, p + 1)
            ys[p], zs[p], cost[p], mass[p], g[p], idle[p] = y, z, found[3 * k + 2], 0, h, 0
    return m


def sweep(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense, bint gram,
    const floating[::1] squared_norm, floating bias, tuple of_classes, const i64[::1] label_indptr,
    const int[::1] labels, const double[::1] bound, const int[::1] order, bint whole, double skip,
    floating[:, :, ::1] W,
    int[::1] sizes, int[:, ::1] ys, int[:, ::1] zs, double[:, ::1] cost, double[:, ::1] mass,
    unsigned char[:, ::1] idle,
    double[::1] violation, double[::1] room, unsigned char[::1] relevant, unsigned char[::1] wanted,
):
    """One pass over the rows of ``order``, one slack per example: (sum of gaps, largest violation, by how much
    |w|^2 has grown, rows without room).

    ``whole``: look for the pair of largest H among all; otherwise only among the pairs that a row has, and only at rows
    whose last violation is above ``skip``. ``violation`` is brought up to date for the rows that were looked at.
    ``room``, ``relevant`` (n_classes) and ``wanted`` (n_panels) are scratch, the first two 0: nodes, changes, 5
    n_classes, 2 (capacity + 1), capacity squared.
    """
    cdef Classes c = classes_of(of_classes)
    cdef Py_ssize_t i, t, v, n, n_panels = W.shape[0], height = W.shape[1], n_nodes = PANEL * n_panels
    cdef int capacity = <int> ys.shape[1], m, p, q, most, full = 0
    cdef double* a = &room[0]
    cdef double* change = a + n_nodes
    cdef double* F = change + n_nodes
    cdef double* row = F + c.n_classes
    cdef double* found = row + c.n_classes  # right class, other class and cost of pairs that may come in
    cdef double* g = found + 3 * c.n_classes
    cdef double* after = g + capacity + 1
    cdef double* Q = after + capacity + 1
    cdef const int* at = NULL
    cdef double high, low, h, rest, tau, gap, gaps = 0, worst = 0, longer = 0
    cdef i64 e
    with nogil:
        for t in range(order.shape[0]):
            i = order[t]
            m = sizes[i]
            if not whole and (m == 0 or violation[i] <= skip):
                continue
            n = indptr[i + 1] - indptr[i]
            if not dense:
                at = &indices[0] + indptr[i]
            for q in range(<int> n_panels):
                wanted[q] = whole
            if not whole:
                panels_of(&c, m, &ys[i, 0], &zs[i, 0], &wanted[0])
            node_scores(n, at, &data[0] + indptr[i], bias, &W[0, 0, 0], height, n_panels, &wanted[0], False, a)
            rest = bound[i]
            high = 0
            for p in range(m):
                g[p] = cost[i, p] * (1 - score(&c, a, ys[i, p]) + score(&c, a, zs[i, p]))
                high = max(high, g[p])
                rest -= mass[i, p]
            rest = max(rest, 0)
            low = 0 if rest > 1e-12 * bound[i] else FAR
            for p in range(m):
                if mass[i, p] > 0:
                    low = min(low, g[p])
            most = 0
            if whole:
                e = label_indptr[i]
                most = best_pairs(
                    &c, a, &labels[e], label_indptr[i + 1] - e, low, &relevant[0], F, row, found, &high
                )
            gap = rest * high
            for p in range(m):
                gap += mass[i, p] * (high - g[p])
            violation[i] = high - low
            worst = max(worst, high - low)
            gaps += gap
            if most:
                sizes[i] = m = take_pairs(
                    most, found, F, low, SHARE * (high - low), m, capacity, &ys[i, 0], &zs[i, 0], &cost[i, 0],
                    &mass[i, 0], g, &idle[i, 0], &full
                )
            if m == 0 or high - low <= 1e-14:
                continue
            products(&c, m, &ys[i, 0], &zs[i, 0], &cost[i, 0], squared_norm[i], change, Q)
            tau = 1e-12
            for p in range(m):
                after[p] = mass[i, p]
                tau = max(tau, 1e-10 * fabs(g[p]))
            after[m] = rest
            g[m] = 0
            solve_block(m, Q, g, after, tau)
            for p in range(m):
                h = (after[p] - mass[i, p]) * cost[i, p]
                mass[i, p] = after[p]
                if h != 0:
                    scatter(&c, ys[i, p], h, change)
                    scatter(&c, zs[i, p], -h, change)
            for v in range(n_nodes):
                longer += change[v] * (2 * a[v] + squared_norm[i] * change[v])
            move(n, at, &data[0] + indptr[i], bias, i if gram else -1, change, n_panels, height, &W[0, 0, 0])
            if whole:
                sizes[i] = forget_idle(m, &ys[i, 0], &zs[i, 0], &cost[i, 0], &mass[i, 0], &idle[i, 0])
    return gaps, worst, longer, full
