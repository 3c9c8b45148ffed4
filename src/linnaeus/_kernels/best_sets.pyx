"""The K best closed sets on a forest, with scores of branching and bounds on numbers of labels, by dynamic programming.

A closed set U has the score sum_{v in U} ( s_v + b_v(k_v) ), where k_v is the number of children of v in U; the table b
has the columns 0, 1 .. R and "more than R", and its last row is for the place above all tops; minus infinity forbids. A
label of U is a member without a child in U; least_v and most_v bound the number of labels at or below v if v is in U.

For every node, and every number of labels j = 1 .. J (J: J or more), a list of the K best selections at and below it.
The children of v are added one by one to states (k, j): k of them chosen (last: R + 1 or more), with j labels in all,

    F'(k, j) = K best of  F(k, j)  and  F(k - 1, j - i) (+) L_c(i)  over i        (+): all sums of two lists

and at the end L_v(j) = s_v + K best of F(k, j) + b_v(k) over k. Every set is built in exactly one way, so none occurs
twice. State 0 is "no child", the others are 1 + (k - 1) J + (j - 1). Each entry stores the entry before the child was
added, and the entry of the child or -1.

Most entries cannot be part of the result: an entry that is worse by w than the first of its list makes every set with
it worse by w. So only entries within a window are kept. The first window is the K-th smallest loss of adding or
removing one subtree of the best set; if fewer than K sets are within it, it is enlarged and the document is repeated.
"""

import numpy as np

from cython cimport floating
from libc.math cimport INFINITY, fabs
from libc.string cimport memset

ctypedef long long i64


include "best_lists.pxi"


cdef struct Work:
    int n, K, B, J, Q
    double window
    const i64* indptr
    const int* children
    const unsigned char* forced
    double* L           # lists of nodes: (v (J + 1) + j) K
    int* L_size         # v (J + 1) + j
    int* L_from
    double* F           # states of the node at work, two sides: (side Q + q) K
    int* F_size
    int* before         # where entries of the states come from, after each child: (c Q + q) K
    int* child


def best_sets(
    const floating[:, ::1] S, const int[::1] position, const i64[::1] indptr, const int[::1] children,
    const double[:, ::1] table, const unsigned char[::1] forced, const floating[:, ::1] E, const int[::1] least,
    const int[::1] most, int J, int K
):
    """Sets (indptr int64, indices int32; K sorted rows for each row of S, best first) and scores (n_docs x K float64).

    As for `branching_sets`: ``indptr`` has n_nodes + 1 rows of ``children``, the last one for tops; every node must
    be in one of them. ``E`` has the columns of S: scores added where a set ends at a node; may be empty. ``least``
    and ``most`` have n_nodes + 1 entries; J is above every bound in ``most`` that binds and at least every ``least``.
    Rows without a set are empty and score minus infinity.
    """
    cdef Py_ssize_t n_docs = S.shape[0], n = position.shape[0], d, v, r, out = 0
    cdef int B = <int> table.shape[1] - 1, Q = 1 + B * J, found
    cdef double[:, :, ::1] L = np.zeros((n + 1, J + 1, K))
    cdef int[:, :, ::1] L_from = np.zeros((n + 1, J + 1, K), dtype=np.int32)
    cdef int[:, ::1] sizes = np.zeros((n + 1, J + 1), dtype=np.int32), F_size = np.zeros((2, Q), dtype=np.int32)
    cdef double[:, :, ::1] F = np.zeros((2, Q, K))
    cdef int[:, :, ::1] before = np.zeros((n + 1, Q, K), dtype=np.int32)
    cdef int[:, :, ::1] child = np.zeros((n + 1, Q, K), dtype=np.int32)
    cdef int[:, ::1] stack = np.zeros((n + 1, 2), dtype=np.int32)
    cdef int[::1] order = np.zeros(K, dtype=np.int32)
    cdef unsigned char[::1] kept = np.zeros(n + 1, dtype=np.uint8)
    cdef bint ending = E.shape[1] > 0
    cdef double[::1] own = np.zeros(n + 1), end = np.zeros(n + 1), losses = np.zeros(K + 1)
    scores_array = np.full((n_docs, K), -np.inf)
    indptr_array = np.zeros(n_docs * K + 1, dtype=np.int64)
    cdef double[:, ::1] scores = scores_array
    cdef i64[::1] rows = indptr_array
    cdef i64 room = max(1024, n_docs * K * min(n, 8))
    indices_array = np.empty(room, dtype=np.int32)
    cdef int[::1] indices = indices_array
    cdef Work work
    work.n, work.K, work.B, work.J, work.Q = <int> n, K, B, J, Q
    work.indptr, work.forced = &indptr[0], &forced[0]
    work.children = &children[0] if children.shape[0] else NULL
    work.L, work.L_size, work.L_from = &L[0, 0, 0], &sizes[0, 0], &L_from[0, 0, 0]
    work.F, work.F_size = &F[0, 0, 0], &F_size[0, 0]
    work.before, work.child = &before[0, 0, 0], &child[0, 0, 0]
    for d in range(n_docs):
        if out + K * n > room:
            room = 2 * room + K * n
            indices_array = np.resize(indices_array, room)
            indices = indices_array
        with nogil:
            for v in range(n):
                own[v] = S[d, position[v]] if position[v] >= 0 else 0.0
                end[v] = E[d, position[v]] if ending and position[v] >= 0 else 0.0
            work.window = INFINITY
            work.K = 1  # the best set alone first
            found = solve(&work, &own[0], &end[0], table, &least[0], &most[0], &scores[d, 0], &order[0])
            if K > 1 and found:
                chosen(&work, order[0], &stack[0, 0], &kept[0])
                work.window = one_change(&work, &kept[0], K, &losses[0])
                work.K = K
                while True:
                    found = solve(&work, &own[0], &end[0], table, &least[0], &most[0], &scores[d, 0], &order[0])
                    if work.window == INFINITY or (found == K and scores[d, K - 1] >= scores[d, 0] - work.window):
                        break
                    work.window = 4.0 * work.window + 1e-3 if work.window < 1e6 else INFINITY
                    if found < K and work.window > 1e3 * (1.0 + fabs(scores[d, 0])):
                        work.window = INFINITY
            for r in range(K):
                if r < found:
                    chosen(&work, order[r], &stack[0, 0], &kept[0])
                    for v in range(n):
                        indices[out] = <int> v
                        out += kept[v]
                else:
                    scores[d, r] = -INFINITY
                rows[d * K + r + 1] = out
    return indptr_array, indices_array[:out].copy(), scores_array


cdef int solve(
    Work* work, const double* own, const double* end, const double[:, ::1] table, const int* least, const int* most,
    double* scores, int* order
) noexcept nogil:
    """Lists of all nodes from the bottom up; scores of the best sets and their entries, and how many there are."""
    cdef int n = work.n, K = work.K, J = work.J, w, v, j, k, i, q, side, top
    cdef i64 e
    cdef double s, bonus
    cdef double* F
    cdef int* F_size
    cdef int unused[1]
    cdef List T
    for w in range(n + 1):
        v = n - 1 - w if w < n else n
        if v < n and work.indptr[v] == work.indptr[v + 1]:  # a leaf: one label, or not allowed
            for j in range(J + 1):
                work.L_size[v * (J + 1) + j] = 0
            s = own[v] + table[v, 0] + end[v]
            if s > -INFINITY and least[v] <= 1 <= most[v]:
                work.L_size[v * (J + 1) + 1] = 1
                work.L[(v * (J + 1) + 1) * K] = s
                work.L_from[(v * (J + 1) + 1) * K] = 0
            continue
        side = 0
        memset(work.F_size, 0, work.Q * sizeof(int))
        work.F_size[0] = 1
        work.F[0] = 0.0
        for e in range(work.indptr[v], work.indptr[v + 1]):
            join(work, work.children[e], side)
            side = 1 - side
        # Close the node: what its number of children scores, then bounds on labels, then its own score.
        F, F_size = work.F + side * work.Q * K, work.F_size + side * work.Q
        s = own[v] if v < n else 0.0
        for j in range(J + 1):
            T.size = 0
            T.value = work.L + (v * (J + 1) + j) * K
            T.before = T.child = work.L_from + (v * (J + 1) + j) * K
            if s > -INFINITY and j >= least[v] and j <= most[v]:
                if j == (1 if v < n else 0) and F_size[0] and table[v, 0] + end[v] > -INFINITY:
                    put(&T, K, work.window, s + table[v, 0] + end[v], 0)
                if j > 0:
                    for k in range(1, work.B + 1):
                        q = 1 + (k - 1) * J + j - 1
                        bonus = s + table[v, k]
                        if bonus > -INFINITY:
                            for i in range(F_size[q]):
                                if T.size == K and F[q * K + i] + bonus <= T.value[K - 1]:
                                    break
                                put(&T, K, work.window, F[q * K + i] + bonus, q * K + i)
                trim(&T, work.window)
            work.L_size[v * (J + 1) + j] = T.size
    T.size = 0
    T.value, T.before, T.child = scores, order, order
    for j in range(J + 1):
        for i in range(work.L_size[n * (J + 1) + j]):
            put(&T, K, work.window, work.L[(n * (J + 1) + j) * K + i], j * K + i)
    trim(&T, work.window)
    return T.size


cdef inline void put(List* T, int K, double window, double value, int before) noexcept nogil:
    """`insert` into a list whose entries remember one number only."""
    insert(T, K, window, value, before, before)


cdef inline void join(Work* work, int c, int side) noexcept nogil:
    """States with one more child: from one side to the other."""
    cdef int K = work.K, B = work.B, J = work.J, Q = work.Q, q, k, j, i, h, p, source, i_top, n_skip, start
    cdef double w = work.window
    cdef const double* F = work.F + side * Q * K
    cdef const int* n_F = work.F_size + side * Q
    cdef double* G = work.F + (1 - side) * Q * K
    cdef int* n_G = work.F_size + (1 - side) * Q
    cdef const double* L = work.L + c * (J + 1) * K
    cdef const int* n_L = work.L_size + c * (J + 1)
    cdef int* before = work.before + c * Q * K
    cdef int* child = work.child + c * Q * K
    cdef bint forced = work.forced[c]
    cdef List T
    n_G[0] = 0 if forced else n_F[0]
    G[0] = 0.0
    before[0] = 0
    child[0] = -1
    for k in range(1, B + 1):
        for j in range(1, J + 1):
            q = 1 + (k - 1) * J + j - 1
            T.value = G + q * K
            T.before = before + q * K
            T.child = child + q * K
            # The list with most sums is merged in one pass with the entries without the child.
            source = q if k == B else (1 + (k - 2) * J + j - 1 if k > 1 else 0)
            i_top = J if j == J and source else (j if source == 0 else 0)
            n_skip = 0 if forced else n_F[q]
            if i_top > 0 and n_F[source] and n_L[i_top]:
                merge(
                    &T, K, w, F + q * K, n_skip, q * K, F + source * K, n_F[source], source * K, L[i_top * K], i_top * K
                )
            else:
                i_top = -1
                merge(&T, K, w, F + q * K, n_skip, q * K, NULL, 0, 0, 0.0, 0)
            if k == 1 and n_F[0] and n_L[j]:
                start = 1 if source == 0 and i_top == j else 0
                add_sums(&T, K, w, F, 1, 0, L + j * K, start, n_L[j], j * K)
            for i in range(1, J + 1):  # labels below the child; h: labels so far
                if n_L[i] == 0:
                    continue
                for h in range(max(1, j - i), (J if j == J else j - i) + 1):
                    if k > 1:
                        p = 1 + (k - 2) * J + h - 1
                        start = 1 if p == source and i == i_top else 0
                        add_sums(&T, K, w, F + p * K, n_F[p], p * K, L + i * K, start, n_L[i], i * K)
                    if k == B:
                        p = 1 + (k - 1) * J + h - 1
                        start = 1 if p == source and i == i_top else 0
                        add_sums(&T, K, w, F + p * K, n_F[p], p * K, L + i * K, start, n_L[i], i * K)
            trim(&T, w)
            n_G[q] = T.size


cdef void chosen(Work* work, int entry, int* stack, unsigned char* kept) noexcept nogil:
    """Mark the nodes that an entry of the top's lists is made of."""
    cdef int K = work.K, Q = work.Q, J = work.J, n = work.n, top = 1, v, end, c, q
    cdef i64 e
    memset(kept, 0, n)
    stack[0] = n
    stack[1] = work.L_from[n * (J + 1) * K + entry]
    while top > 0:
        top -= 1
        v = stack[2 * top]
        end = stack[2 * top + 1]
        for e in range(work.indptr[v + 1] - 1, work.indptr[v] - 1, -1):
            c = work.children[e]
            q = c * Q * K + end
            if work.child[q] >= 0:
                kept[c] = 1
                stack[2 * top] = c
                stack[2 * top + 1] = work.L_from[c * (J + 1) * K + work.child[q]]
                top += 1
            end = work.before[q]


cdef double one_change(Work* work, const unsigned char* kept, int K, double* losses) noexcept nogil:
    """A window: the K-th smallest size of a gain among the children of the best set, with room for rounding."""
    cdef int n = work.n, J = work.J, v, j, i, found = 0
    cdef i64 e
    cdef double loss, gain
    for v in range(n + 1):
        if v < n and not kept[v]:
            continue
        for e in range(work.indptr[v], work.indptr[v + 1]):
            gain = -INFINITY
            for j in range(1, J + 1):
                i = work.children[e] * (J + 1) + j
                if work.L_size[i] and work.L[i * work.K] > gain:
                    gain = work.L[i * work.K]
            loss = fabs(gain)
            if loss == INFINITY or (found == K and loss >= losses[K - 1]):
                continue
            i = found if found < K else K - 1
            found = min(found + 1, K)
            while i > 0 and losses[i - 1] > loss:
                losses[i] = losses[i - 1]
                i -= 1
            losses[i] = loss
    return (losses[found - 1] if found else 0.0) * (1.0 + 1e-9) + 1e-12
