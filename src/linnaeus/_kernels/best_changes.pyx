"""The K best closed sets on a forest as changes of the best one; every document is a problem of its own.

Nothing but scores counts: W(v) = s_v + sum over children c of max(0, W(c)) is what v and the best below it add. Every
child of a chosen node is a decision: to leave one with W(c) > 0 out loses W(c), to take another one in loses -W(c), and
decisions below it follow. L(v) are the least losses at and below a chosen v, 0 first,

    L(v) = K least sums of one choice for each child:   W(c) > 0:  L(c), or W(c) to leave it;   else  0, or -W(c) + L(c)

K single changes of the best set lose the K smallest |W(c)| among its decisions, so that nothing that loses more than
the largest of these matters. That leaves a few nodes of hundreds whose lists have more than one entry; for the others,
the sum that made W is all there is.
"""

import numpy as np

from cython cimport floating
from libc.math cimport INFINITY, fabs
from libc.string cimport memcpy

ctypedef long long i64


cdef struct Work:
    int n, K
    const i64* indptr
    const int* children
    const unsigned char* forced
    const double* W
    const double* least      # the smallest loss of a change below a node
    double window
    double* L                # lists of losses, K for each node
    int* size
    int* before              # of entries after a child was added: the entry before, and the choice for the child
    int* pick
    double* T                # two lists at work
    double* choices
    int* picks


def changed_sets(
    const floating[:, ::1] S, const int[::1] position, const i64[::1] indptr, const int[::1] children,
    const unsigned char[::1] forced, bint not_empty, int K
):
    """Sets (indptr int64, indices int32; K sorted rows for each row of S, best first) and scores (n_docs x K float64).

    As for `branching_sets`: ``indptr`` has n_nodes + 1 rows of ``children``, the last one for tops; every node must be
    in one of them, and those ``forced`` are in every set. ``not_empty`` leaves the empty set out. Rows without a
    set are empty and score minus infinity.
    """
    cdef Py_ssize_t n_docs = S.shape[0], n = position.shape[0], d, v, i
    cdef int M = K + 1 if not_empty else K, r, found, shown
    cdef i64 e, out = 0, start
    cdef int c
    cdef double total, w, low
    cdef double[::1] W = np.zeros(n + 1), least = np.zeros(n + 1), near = np.zeros(M + 1)
    cdef double[:, ::1] L = np.zeros((n + 1, M))
    cdef int[::1] size = np.ones(n + 1, dtype=np.int32)
    cdef int[:, ::1] before = np.zeros((n + 1, M), dtype=np.int32), pick = np.zeros((n + 1, M), dtype=np.int32)
    cdef double[:, ::1] T = np.zeros((2, M))
    cdef double[::1] choices = np.zeros(M + 1)
    cdef int[::1] picks = np.zeros(M + 1, dtype=np.int32), stack = np.zeros(2 * n + 4, dtype=np.int32)
    cdef unsigned char[::1] best = np.zeros(n + 1, dtype=np.uint8), kept = np.zeros(n + 1, dtype=np.uint8)
    scores_array = np.full((n_docs, K), -np.inf)
    indptr_array = np.zeros(n_docs * K + 1, dtype=np.int64)
    indices_array = np.empty(n_docs * K * n + 1, dtype=np.int32)
    cdef double[:, ::1] scores = scores_array
    cdef i64[::1] rows = indptr_array
    cdef int[::1] indices = indices_array
    cdef const int* below = &children[0] if children.shape[0] else NULL
    cdef Work work
    work.n, work.K, work.indptr, work.children, work.forced = <int> n, M, &indptr[0], below, &forced[0]
    work.W, work.least, work.L, work.size = &W[0], &least[0], &L[0, 0], &size[0]
    work.before, work.pick, work.T = &before[0, 0], &pick[0, 0], &T[0, 0]
    work.choices, work.picks = &choices[0], &picks[0]
    with nogil:
        for d in range(n_docs):
            for i in range(n + 1):
                v = n - 1 - i if i < n else n
                total = 0.0
                if v < n and position[v] >= 0:
                    total = S[d, position[v]]
                low = INFINITY
                for e in range(indptr[v], indptr[v + 1]):
                    c = below[e]
                    w = W[c]
                    if forced[c] or w > 0.0:
                        total += w
                        low = min(low, least[c] if forced[c] else min(w, least[c]))
                    else:
                        low = min(low, -w)
                W[v], least[v] = total, low
            # The best set, and the M smallest losses of a single change of it.
            found = 0
            best[n] = 1
            for i in range(-1, n):
                v = i if i >= 0 else n
                if not best[v]:
                    for e in range(indptr[v], indptr[v + 1]):
                        best[below[e]] = 0
                    continue
                for e in range(indptr[v], indptr[v + 1]):
                    c = below[e]
                    w = W[c]
                    best[c] = forced[c] or w > 0.0
                    w = fabs(w)
                    if not forced[c] and w < INFINITY and (found < M or w < near[M - 1]):
                        found = put(&near[0], found, M, w)
            found = 0 if W[n] == -INFINITY else prepared(&work, near[M - 1] if found == M else INFINITY)
            shown = 0
            for r in range(found):
                if shown == K:
                    break
                memcpy(&kept[0], &best[0], n + 1)
                if r > 0:
                    changed(&work, r, &stack[0], &kept[0])
                start = out
                for v in range(n):
                    indices[out] = <int> v
                    out += kept[v]
                if out == start and not_empty:
                    continue
                scores[d, shown] = W[n] - L[n, r]
                rows[d * K + shown + 1] = out
                shown += 1
            for r in range(shown, K):
                rows[d * K + r + 1] = out
    return indptr_array, indices_array[:out].copy(), scores_array


cdef inline int put(double* near, int found, int M, double w) noexcept nogil:
    """Insert a value into the M smallest, increasing; how many there are."""
    cdef int i = found if found < M else M - 1
    while i > 0 and near[i - 1] > w:
        near[i] = near[i - 1]
        i -= 1
    near[i] = w
    return min(found + 1, M)


cdef int prepared(Work* work, double window) noexcept nogil:
    """Lists of all nodes with a change that loses at most the window, from the bottom up; the length of the last."""
    cdef int n = work.n, i, v
    work.window = window + 1e-12 * (1.0 + window) if window < INFINITY else window
    for i in range(n + 1):
        v = n - 1 - i if i < n else n
        work.size[v] = 1
        work.L[v * work.K] = 0.0
        if work.least[v] <= work.window and work.least[v] < INFINITY:
            combine(work, v)
    return work.size[n]


cdef inline bint is_open(Work* work, int c) noexcept nogil:
    """Whether there is more than one choice for a child."""
    cdef double w = work.W[c]
    if work.forced[c]:
        return work.size[c] > 1
    return (w > 0.0 and work.size[c] > 1) or (fabs(w) <= work.window and w > -INFINITY)


cdef void combine(Work* work, int v) noexcept nogil:
    """L of a node from the choices for its children."""
    cdef int K = work.K, c, side = 0, t = 1, n_c, i, j, e, out, a
    cdef i64 f
    cdef double w, value
    cdef double* old
    cdef double* new
    cdef int* before
    cdef int* pick
    cdef double* L
    work.T[0] = 0.0
    for f in range(work.indptr[v], work.indptr[v + 1]):
        c = work.children[f]
        if not is_open(work, c):
            continue
        w = work.W[c]
        L = work.L + c * K
        n_c = 0
        if not work.forced[c] and w <= 0.0:
            work.choices[0] = 0.0
            work.picks[0] = -1
            n_c = 1
            for e in range(min(work.size[c], K - 1)):
                work.choices[n_c] = L[e] - w
                work.picks[n_c] = e
                n_c += 1
        else:
            for e in range(work.size[c]):
                if not work.forced[c] and n_c == e and w < L[e]:
                    work.choices[n_c] = w
                    work.picks[n_c] = -1
                    n_c += 1
                work.choices[n_c] = L[e]
                work.picks[n_c] = e
                n_c += 1
            if not work.forced[c] and n_c == work.size[c]:
                work.choices[n_c] = w
                work.picks[n_c] = -1
                n_c += 1
        old = work.T + side * K
        new = work.T + (1 - side) * K
        before = work.before + c * K
        pick = work.pick + c * K
        out = 0
        for i in range(t):
            for j in range(n_c):
                if (i + 1) * (j + 1) > K:
                    break
                value = old[i] + work.choices[j]
                if value > work.window or (out == K and value >= new[K - 1]):
                    break
                a = out if out < K else K - 1
                while a > 0 and new[a - 1] > value:
                    new[a] = new[a - 1]
                    before[a] = before[a - 1]
                    pick[a] = pick[a - 1]
                    a -= 1
                new[a] = value
                before[a] = i
                pick[a] = work.picks[j]
                if out < K:
                    out += 1
        t = out
        side = 1 - side
    L = work.L + v * K
    old = work.T + side * K
    for i in range(t):
        L[i] = old[i]
    work.size[v] = t


cdef void changed(Work* work, int entry, int* stack, unsigned char* kept) noexcept nogil:
    """Apply the changes of an entry of the last list to the best set."""
    cdef int K = work.K, top = 1, v, c, e, chosen, at
    cdef i64 f
    stack[0] = work.n
    stack[1] = entry
    while top > 0:
        top -= 1
        v = stack[2 * top]
        e = stack[2 * top + 1]
        if work.size[v] == 1:
            continue
        for f in range(work.indptr[v + 1] - 1, work.indptr[v] - 1, -1):
            c = work.children[f]
            if not is_open(work, c):
                continue
            chosen = work.pick[c * K + e]
            e = work.before[c * K + e]
            if chosen < 0:
                if kept[c]:
                    spread(work, c, False, stack + 2 * top, kept)
            else:
                if not kept[c]:
                    spread(work, c, True, stack + 2 * top, kept)
                if chosen > 0:
                    stack[2 * top] = c
                    stack[2 * top + 1] = chosen
                    top += 1


cdef void spread(Work* work, int c, bint keep, int* stack, unsigned char* kept) noexcept nogil:
    """Take a node in with the best below it, or leave it out with all below it."""
    cdef int top = 1, v
    cdef i64 f
    stack[0] = c
    while top > 0:
        top -= 1
        v = stack[top]
        kept[v] = keep
        for f in range(work.indptr[v], work.indptr[v + 1]):
            c = work.children[f]
            if (keep and work.W[c] > 0.0) or (not keep and kept[c]):
                stack[top] = c
                top += 1
