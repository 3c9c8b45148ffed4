"""Inner vertices of a tree to their optimum between its leaves, in place, and what leaves tell about links.

`settle` eliminates the leaves. A leaf at w, the mode for its parent at m, follows the parent to first order: in a
feature of which its documents have the information h (0: none) it moves by f = rho / (rho + h) of what m does. With
h infinite leaves stay where they are, and this is `LabelTree.between`.

    upward       p_v = f_v h_v (leaf)                          or  rho_v S_v / (rho_v + S_v)
                 g_v = f_v (h_v w_v + rho_v (w_v - m)) (leaf)  or  rho_v H_v / (rho_v + S_v)
                 S_v, H_v: sums of p and g over the children of v
    downward     w_v = (rho_v w_parent + H_v) / (rho_v + S_v)              root: w_parent = 0

`links` finds how well every link is determined. Feature by feature the posterior of the weights is that of a tree of
conductances, rho_v on the links, h_v from the leaves to the ground, 1 from the root to the ground. With U_v what is
below the link (its p_v before rho_v is taken in series) and P_v what is above,

    q = U P / (U + P),      variance of w_v - w_parent = 1 / (rho_v + q),      determined share  s = q / (rho_v + q)

Children come after their parents. Sums are of double precision, whatever the weights are.
"""

from cython cimport floating
from libc.stdlib cimport free, malloc
from libc.string cimport memset

ctypedef long long i64

cdef enum:
    AT_ONCE = 128  # features


cdef void find_pivots(const i64[::1] parent, const i64[::1] row, const double[::1] rho, double* pivot) noexcept nogil:
    """Of the prior at the inner vertices; a leaf adds nothing: where documents are silent it follows."""
    cdef Py_ssize_t v
    for v in range(parent.shape[0]):
        if row[v] >= 0:
            pivot[row[v]] = rho[v]
    for v in range(parent.shape[0] - 1, 0, -1):
        if row[v] >= 0:
            pivot[row[parent[v]]] += rho[v] - rho[v] * rho[v] / pivot[row[v]]


cdef inline double slopes_upward(const floating* w, const floating* centre, const double* own, double* above, double r,
                                 double pivot, Py_ssize_t m) noexcept nogil:
    """Add the slopes of a link, r (w - centre), to those of its parent; ``own`` are those of an inner vertex, or NULL.

    Returns what the eliminated vertex could gain.
    """
    cdef double at, pulled, away = 0, down = r / pivot
    cdef Py_ssize_t k
    if own == NULL:
        for k in range(m):
            above[k] += r * (w[k] - centre[k])
        return 0
    for k in range(m):
        at = r * (w[k] - centre[k])
        pulled = own[k] - at
        away += pulled * pulled
        above[k] += at + down * pulled
    return 0.5 * away / pivot


def settle(floating[:, ::1] W, floating[:, ::1] last, double momentum, const floating[:, ::1] information,
           double share, const i64[::1] parent, const i64[::1] row, const double[::1] rho, Py_ssize_t n_inner,
           Py_ssize_t begin, Py_ssize_t end, double[::1] squares, double[::1] gap, double[::1] unsure,
           double[::1] against):
    """Features begin .. end - 1 of W; add to sums, one for every vertex.

    ``squares`` |w_v - w_parent|^2, ``unsure``, of leaves, |(1 - f) (m - m before)|^2. ``gap`` is what all inner
    vertices and leaves could gain together before they have moved, at most, if leaves are at their modes: 1/2 r'A^-1 r
    with the slopes r of the prior at the inner vertices and A, the curvature of the prior alone.

    ``row`` numbers the inner vertices, and leaves from -1 downwards. ``information`` (leaves x features) is multiplied
    by ``share``; if this is 0, leaves stay. Inner vertices go beyond their optimum by ``momentum`` times its distance
    from ``last``, the optimum of the call before; ``against`` is what this gave the last time, times the way back: a
    positive sum says that momentum does not pay.
    """
    cdef Py_ssize_t n = parent.shape[0], v, k, f, m
    cdef double away, late, turn, pulled, follows, at, r
    cdef double* memory = <double*> malloc(n_inner * (3 * AT_ONCE + 1) * sizeof(double))
    cdef double* S = memory  # later how far weights have moved
    cdef double* H = S + n_inner * AT_ONCE  # later the new weights
    cdef double* R = H + n_inner * AT_ONCE  # slopes, eliminated upwards; later weights with momentum
    cdef double* pivot = R + n_inner * AT_ONCE
    cdef double* s
    cdef double* h
    cdef double* g
    cdef double* above
    cdef double zero[AT_ONCE]
    cdef floating* w
    cdef const floating* known
    cdef const floating* centre
    cdef floating* old
    if memory == NULL:
        raise MemoryError
    with nogil:
        memset(&zero[0], 0, AT_ONCE * sizeof(double))
        find_pivots(parent, row, rho, pivot)
        f = begin
        while f < end:
            m = AT_ONCE if end - f > AT_ONCE else end - f
            memset(memory, 0, n_inner * 3 * AT_ONCE * sizeof(double))
            for v in range(n - 1, 0, -1):
                r, w, centre = rho[v], &W[v, f], &W[parent[v], f]
                s, h, g = S + row[parent[v]] * AT_ONCE, H + row[parent[v]] * AT_ONCE, R + row[parent[v]] * AT_ONCE
                if row[v] >= 0:
                    gap[v] += slopes_upward(w, centre, R + row[v] * AT_ONCE, g, r, pivot[row[v]], m)
                    above = S + row[v] * AT_ONCE
                    for k in range(m):
                        follows = r / (r + above[k])
                        s[k] += follows * above[k]
                        h[k] += follows * H[row[v] * AT_ONCE + k]
                    continue
                slopes_upward(w, centre, NULL, g, r, 1, m)
                if share > 0:
                    known = &information[-1 - row[v], f]
                    for k in range(m):
                        at = share * known[k]
                        follows = r / (r + at)
                        s[k] += follows * at
                        h[k] += follows * (at * w[k] + r * (w[k] - centre[k]))
                else:
                    for k in range(m):
                        s[k] += r
                        h[k] += r * w[k]
            away = 0
            for k in range(m):
                at = R[row[0] * AT_ONCE + k] - rho[0] * W[0, f + k]
                away += at * at
            gap[0] += 0.5 * away / pivot[row[0]]
            for v in range(n):
                r, w, above = rho[v], &W[v, f], &zero[0] if v == 0 else H + row[parent[v]] * AT_ONCE
                g = &zero[0] if v == 0 else R + row[parent[v]] * AT_ONCE
                away = late = turn = 0
                if row[v] >= 0:
                    s, h, old = S + row[v] * AT_ONCE, H + row[v] * AT_ONCE, &last[row[v], f]
                    for k in range(m):
                        pulled = (r * above[k] + h[k]) / (r + s[k])
                        at = pulled + momentum * (pulled - old[k])
                        turn += (w[k] - pulled) * (pulled - old[k])
                        s[k] = at - w[k]
                        away += (at - g[k]) * (at - g[k])
                        h[k] = pulled
                        R[row[v] * AT_ONCE + k] = at
                        old[k] = <floating> pulled
                        w[k] = <floating> at
                elif share > 0:
                    s, known = S + row[parent[v]] * AT_ONCE, &information[-1 - row[v], f]
                    for k in range(m):
                        follows = r / (r + share * known[k]) * s[k]
                        at = w[k] + follows
                        late += (s[k] - follows) * (s[k] - follows)
                        away += (at - g[k]) * (at - g[k])
                        w[k] = <floating> at
                else:
                    s = S + row[parent[v]] * AT_ONCE
                    for k in range(m):
                        late += s[k] * s[k]
                        away += (w[k] - g[k]) * (w[k] - g[k])
                squares[v] += away
                unsure[v] += late
                against[v] += r * turn
            f += AT_ONCE
        free(memory)


cdef inline double conductance_above(double whole, double u, double r) noexcept nogil:
    """What is above a link r: all that its upper vertex has, without what comes through the link from u below."""
    cdef double rest = whole - r * u / (r + u)
    return rest if rest > 0 else 0


cdef inline double determined_share(double u, double rest, double r) noexcept nogil:
    """q / (r + q) with q of u and ``rest`` in series."""
    cdef double through = u * rest
    return through / (r * (u + rest) + through + 1e-300)


def links(const floating[:, ::1] information, const i64[::1] parent, const i64[::1] row, const double[::1] rho,
          Py_ssize_t n_inner, Py_ssize_t begin, Py_ssize_t end, double[::1] determined, double[::1] bend):
    """Of the links above all vertices, features begin .. end - 1: add s to ``determined``, s (1 - s) to ``bend``."""
    cdef Py_ssize_t n = parent.shape[0], v, k, f, m
    cdef double r, u, rest, share, sum_s, sum_b
    cdef double* U = <double*> malloc(n_inner * AT_ONCE * sizeof(double))  # later all conductance at the vertex
    cdef double* here
    cdef double* above
    cdef const floating* known
    if U == NULL:
        raise MemoryError
    with nogil:
        f = begin
        while f < end:
            m = AT_ONCE if end - f > AT_ONCE else end - f
            memset(U, 0, n_inner * AT_ONCE * sizeof(double))
            for v in range(n - 1, 0, -1):
                r, above = rho[v], U + row[parent[v]] * AT_ONCE
                if row[v] >= 0:
                    here = U + row[v] * AT_ONCE
                    for k in range(m):
                        above[k] += r * here[k] / (r + here[k])
                else:
                    known = &information[-1 - row[v], f]
                    for k in range(m):
                        above[k] += r * known[k] / (r + known[k])
            for k in range(m):
                U[row[0] * AT_ONCE + k] += 1
            for v in range(1, n):
                r, above = rho[v], U + row[parent[v]] * AT_ONCE
                sum_s = sum_b = 0
                if row[v] >= 0:
                    here = U + row[v] * AT_ONCE
                    for k in range(m):
                        u = here[k]
                        rest = conductance_above(above[k], u, r)
                        share = determined_share(u, rest, r)
                        sum_s += share
                        sum_b += share * (1 - share)
                        here[k] = u + r * rest / (r + rest)
                else:
                    known = &information[-1 - row[v], f]
                    for k in range(m):
                        u = known[k]
                        rest = conductance_above(above[k], u, r)
                        share = determined_share(u, rest, r)
                        sum_s += share
                        sum_b += share * (1 - share)
                determined[v] += sum_s
                bend[v] += sum_b
            f += AT_ONCE
        free(U)
