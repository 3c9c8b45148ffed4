"""Blocks of the maximum-margin Markov tree: everything that happens within one document, for batches of documents.

Nodes are in depth-first order: the subtree of v is v .. v + size[v] - 1, parent[v] < v, -1 at the top (whose parent
counts as labelled 1). A document has a table of mass mu[v, 2 a + b] for label a of v's parent and b of v; a table sums
to the document's C, and neighbouring tables agree on the node they share, so that mu is a mixture of labellings. With
scores h of the same shape, and all other documents fixed, the dual in one document is

    max_mu  sum_v,u  mu[v, u] h0[v, u]  -  kappa / 2 |mu - mu0|^2,       h = h0 - kappa (mu - mu0) its gradient.

solve_blocks     raises it by moves of mass: in each subtree, for either label above it, from the worst labelling that
                 has mass to the best one, by the exact step. Local moves give every node its own step, the move at the
                 top is the pairwise step of Frank-Wolfe. Documents of a batch take turns; what one changes reaches the
                 scores of those behind it through their kernel values. Or, for comparison, by conditional gradient:
                 steps towards the best labelling as a whole.
F holds the first 3 columns of scores of every node that are independent: those of u = 0, 2, 3; that of u = 1 is minus
their sum. Where only consistent labellings compete (u = 1 has no mass) those of 2 and 3 remain, and u = 0 is minus
their sum.
"""

import numpy as np

from cython cimport floating
from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc


cdef struct Room:
    double* h
    double* S
    double* A
    double* T
    double* Z
    unsigned char* best
    unsigned char* worst
    unsigned char* plus
    unsigned char* minus


cdef Room make_room(Py_ssize_t n) noexcept nogil:
    cdef Room room
    room.h = <double*> malloc(n * 12 * sizeof(double))
    room.S = room.h + 4 * n
    room.A = room.h + 6 * n
    room.T = room.h + 8 * n
    room.Z = room.h + 10 * n
    room.best = <unsigned char*> malloc(n * 6)
    room.worst = room.best + 2 * n
    room.plus = room.best + 4 * n
    room.minus = room.best + 5 * n
    return room


cdef inline void close_room(Room room) noexcept nogil:
    free(room.h)
    free(room.best)


cdef inline void decide(
    Room room, const double* mu, Py_ssize_t v, bint top, bint consistent, double least
) noexcept nogil:
    """T[v, a], Z[v, a]: best value, and worst value with mass, of v and all below it, given label a above."""
    cdef int a
    cdef double zero, one
    cdef const double* h = room.h + 4 * v
    for a in range(1 if top else 0, 2):
        zero = h[2 * a] + room.S[2 * v]
        one = h[2 * a + 1] + room.S[2 * v + 1]
        if consistent and a == 0:
            one = -INFINITY
        room.best[2 * v + a] = one > zero
        room.T[2 * v + a] = one if one > zero else zero
        zero = h[2 * a] + room.A[2 * v] if mu[4 * v + 2 * a] > least else INFINITY
        one = h[2 * a + 1] + room.A[2 * v + 1] if mu[4 * v + 2 * a + 1] > least else INFINITY
        room.worst[2 * v + a] = one < zero
        room.Z[2 * v + a] = one if one < zero else zero


cdef inline void hand_up(Room room, Py_ssize_t v, int p) noexcept nogil:
    if p >= 0:
        room.S[2 * p] += room.T[2 * v]
        room.S[2 * p + 1] += room.T[2 * v + 1]
        room.A[2 * p] += room.Z[2 * v]
        room.A[2 * p + 1] += room.Z[2 * v + 1]


cdef inline void clear(Room room, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(2 * begin, 2 * end):
        room.S[k] = 0.0
        room.A[k] = 0.0


cdef void upwards(Room room, const double* mu, const int* parent, Py_ssize_t begin, Py_ssize_t end, bint consistent,
                  double least) noexcept nogil:
    cdef Py_ssize_t w
    clear(room, begin, end)
    for w in range(end - 1, begin - 1, -1):
        decide(room, mu, w, parent[w] < 0, consistent, least)
        if w > begin:
            hand_up(room, w, parent[w])


cdef bint move(Room room, double* mu, const int* parent, const unsigned char* tied, Py_ssize_t v, Py_ssize_t end, int a,
               double kappa) noexcept nogil:
    """Mass of the subtree of v under label a goes from its worst labelling to its best; whether any could."""
    cdef Py_ssize_t w
    cdef int p, up, um, count = 0
    cdef double most = INFINITY, step, gain = room.T[2 * v + a] - room.Z[2 * v + a]
    cdef unsigned char* plus = room.plus
    cdef unsigned char* minus = room.minus
    for w in range(v, end):
        p = parent[w]
        if w == v:
            up = um = 2 * a
        else:
            up = 2 * plus[p]
            um = 2 * minus[p]
        plus[w] = room.best[2 * w + (up >> 1)]
        minus[w] = room.worst[2 * w + (um >> 1)]
        up += plus[w]
        um += minus[w]
        if up != um:
            count += tied[w]
            if mu[4 * w + um] < most:
                most = mu[4 * w + um]
    step = most
    if count > 0 and kappa > 0 and gain < most * 2.0 * kappa * count:
        step = gain / (2.0 * kappa * count)
    if not (step > 0.0 and step < INFINITY):
        return False
    for w in range(v, end):
        if w == v:
            up = um = 2 * a
        else:
            up = 2 * plus[parent[w]]
            um = 2 * minus[parent[w]]
        up += plus[w]
        um += minus[w]
        if up != um:
            mu[4 * w + up] += step
            mu[4 * w + um] -= step
            if mu[4 * w + um] < 0.0:
                mu[4 * w + um] = 0.0
            if tied[w]:
                room.h[4 * w + up] -= kappa * step
                room.h[4 * w + um] += kappa * step
    return True


cdef double gap_of(Room room, const double* mu, const int* parent, Py_ssize_t n, double C) noexcept nogil:
    cdef Py_ssize_t v, k
    cdef double best = 0.0, held = 0.0
    for v in range(n):
        if parent[v] < 0:
            best += room.T[2 * v + 1]
    for k in range(4 * n):
        held += mu[k] * room.h[k]
    return C * best - held


cdef void upwards_all(
    Room room, const double* mu, const int* parent, Py_ssize_t n, bint consistent, double least
) noexcept nogil:
    cdef Py_ssize_t w
    clear(room, 0, n)
    for w in range(n - 1, -1, -1):
        decide(room, mu, w, parent[w] < 0, consistent, least)
        hand_up(room, w, parent[w])


cdef void step_to_best(Room room, double* mu, const int* parent, const unsigned char* tied, Py_ssize_t n, double C,
                       double kappa, double gap) noexcept nogil:
    """The step of conditional gradient: towards the best labelling as a whole, by exact line search."""
    cdef Py_ssize_t v
    cdef int p, u, k
    cdef double r = 0.0, step = 1.0, d
    cdef unsigned char* plus = room.plus
    for v in range(n):
        p = parent[v]
        u = 2 * (1 if p < 0 else plus[p])
        plus[v] = room.best[2 * v + (u >> 1)]
        if tied[v]:
            u += plus[v]
            for k in range(4):
                d = (C if k == u else 0.0) - mu[4 * v + k]
                r += d * d
    r *= kappa
    if r > gap:
        step = gap / r
    for v in range(n):
        p = parent[v]
        u = 2 * (1 if p < 0 else plus[p]) + plus[v]
        for k in range(4):
            d = step * ((C if k == u else 0.0) - mu[4 * v + k])
            mu[4 * v + k] += d
            if tied[v]:
                room.h[4 * v + k] -= kappa * d


cdef double descend(Room room, double* mu, const int* parent, const unsigned char* tied, Py_ssize_t n, bint consistent,
                    double C, double kappa, int steps, double share) noexcept nogil:
    """Steps of conditional gradient until the gap is ``share`` of what it was; the gap at the beginning."""
    cdef int step
    cdef double before = 0.0, gap
    for step in range(steps):
        upwards_all(room, mu, parent, n, consistent, 0.0)
        gap = gap_of(room, mu, parent, n, C)
        if step == 0:
            before = gap
        if gap <= share * before or gap <= 0.0:
            break
        step_to_best(room, mu, parent, tied, n, C, kappa, gap)
    return before


cdef double solve(Room room, double* mu, const int* parent, const int* size, const unsigned char* tied, Py_ssize_t n,
                  bint consistent, double C, double kappa, int sweeps, double share) noexcept nogil:
    """Sweeps of moves until the gap is ``share`` of what it was; the gap at the beginning."""
    cdef Py_ssize_t v, end
    cdef int a, sweep
    cdef double least = 1e-13 * C, before, small
    upwards_all(room, mu, parent, n, consistent, least)
    before = gap_of(room, mu, parent, n, C)
    if before <= 0.0:
        return before
    small = share * before
    for sweep in range(sweeps):
        clear(room, 0, n)
        for v in range(n - 1, -1, -1):
            end = v + size[v]
            decide(room, mu, v, parent[v] < 0, consistent, least)
            for a in range(1 if parent[v] < 0 else 0, 2):
                if (room.T[2 * v + a] - room.Z[2 * v + a]) * C > 1e-3 * small:
                    if move(room, mu, parent, tied, v, end, a, kappa):
                        upwards(room, mu, parent, v, end, consistent, least)
            hand_up(room, v, parent[v])
        if gap_of(room, mu, parent, n, C) <= small:
            break
    return before


include "margin_rows.pxi"


def solve_blocks(floating[:, ::1] F, const double[:, ::1] gram, double[:, :, ::1] mu, const long long[::1] rows,
                 const unsigned char[:, ::1] truth, const double[:, :, ::1] loss, const double[::1] C,
                 const int[::1] parent, const int[::1] size, const unsigned char[::1] tied, int columns,
                 const int[::1] sweeps, double share, bint plain, floating[:, ::1] change, double[::1] gaps):
    """One turn of every document ``rows`` of a batch; F, mu and gaps change, ``change`` takes what is added to D.

    F, change : batch x width, width at least n_nodes x columns; gram : batch x batch; mu : n_docs x n_nodes x 4;
    truth : n_docs x n_nodes; loss : n_nodes x 4 x 4; C, gaps : n_docs; tied : whether a node's edge has features;
    sweeps : batch, how many each may take; plain : steps of conditional gradient in place of sweeps of moves.
    """
    cdef Py_ssize_t batch = rows.shape[0], n = parent.shape[0], width = F.shape[1], j, k, v, c, i
    cdef int u
    cdef floating weight
    cdef Room room
    cdef double* old
    cdef bint short_of_memory
    with nogil:
        room = make_room(n)
        old = <double*> malloc(4 * n * sizeof(double))
        short_of_memory = n > 0 and (room.h == NULL or room.best == NULL or old == NULL)
        for j in range(0 if short_of_memory else batch):
            i = rows[j]
            scores(room.h, &F[j, 0], &loss[0, 0, 0], &truth[i, 0], n, columns, 1.0)
            for v in range(4 * n):
                old[v] = (&mu[i, 0, 0])[v]
            if plain:
                gaps[i] = descend(room, &mu[i, 0, 0], &parent[0], &tied[0], n, columns == 2, C[i], gram[j, j],
                                  sweeps[j],
                                  share)
            else:
                gaps[i] = solve(room, &mu[i, 0, 0], &parent[0], &size[0], &tied[0], n, columns == 2, C[i], gram[j, j],
                                sweeps[j], share)
            for v in range(n):
                for c in range(columns):
                    u = c + 1 if (c > 0 and columns == 3) else (c + 2 if columns == 2 else c)
                    change[j, columns * v + c] = <floating> (old[4 * v + u] - mu[i, v, u]) if tied[v] else 0.0
            for k in range(j + 1, batch):
                weight = <floating> gram[j, k]
                if weight != 0:
                    for c in range(width):
                        F[k, c] += weight * change[j, c]
        free(old)
        close_room(room)
    if short_of_memory:
        raise MemoryError("the tables of a document do not fit into memory")
