"""The K best closed sets on a forest, with scores of branching and bounds on numbers of labels, by dynamic programming.

A closed set U scores sum_{v in U} ( s_v + b_v(k_v) ), k_v being how many children of v are in U; the table b has the columns
0, 1 .. R and "more than R", its last row belongs to what stands above all tops, minus infinity forbids. A label of U is a
member without a child in U; least_v and most_v bound how many labels may be at or below v, if v is in U.

For every node, and every number of labels j = 1 .. J (J: J or more), a list of the K best selections at and below it. The
children of v are added one by one to states (k, j): k of them chosen (last: R + 1 or more), with j labels in all,

    F'(k, j) = K best of  F(k, j)  and  F(k - 1, j - i) (+) L_c(i)  over i        (+): all sums of two lists

and at the end L_v(j) = s_v + K best of F(k, j) + b_v(k) over k. Every set arises in one way, so none comes twice. State 0 is
"no child", state 1 + (k - 1) J + (j - 1) the others. Each entry remembers the entry before the child was added, and the
entry of the child or -1.
"""

import numpy as np

from cython cimport floating
from libc.math cimport INFINITY
from libc.string cimport memcpy

ctypedef long long i64


cdef struct List:
    int size
    double* value
    int* before
    int* child


cdef inline void insert(List* T, int K, double value, int before, int child) noexcept nogil:
    """Put an entry in its place behind those that are as good; the list keeps K."""
    cdef int i
    if T.size < K:
        i = T.size
        T.size += 1
    elif value > T.value[K - 1]:
        i = K - 1
    else:
        return
    while i > 0 and T.value[i - 1] < value:
        T.value[i] = T.value[i - 1]
        T.before[i] = T.before[i - 1]
        T.child[i] = T.child[i - 1]
        i -= 1
    T.value[i] = value
    T.before[i] = before
    T.child[i] = child


cdef inline void add_sums(
    List* T, int K, const double* A, int n_A, int first_A, const double* B, int n_B, int first_B
) noexcept nogil:
    """Add the sums of two lists: those of the a-th and the b-th best can be among the K best only if a b <= K."""
    cdef int a, b
    cdef double value
    for a in range(n_A):
        if T.size == K and A[a] + B[0] <= T.value[K - 1]:
            return
        for b in range(n_B):
            if (a + 1) * (b + 1) > K:
                break
            value = A[a] + B[b]
            if T.size == K and value <= T.value[K - 1]:
                break
            insert(T, K, value, first_A + a, first_B + b)


def best_sets(
    const floating[:, ::1] S, const int[::1] position, const i64[::1] indptr, const int[::1] children,
    const double[:, ::1] table, const unsigned char[::1] forced, const int[::1] least, const int[::1] most, int J, int K
):
    """Sets (indptr int64, indices int32; K sorted rows for each row of S, best first) and scores (n_docs x K float64).

    As for `branching_sets`: ``indptr`` has n_nodes + 1 rows of ``children``, the last of tops; nodes that are no children are
    not allowed. ``least`` and ``most`` have n_nodes + 1 entries; J is above every bound in ``most`` that binds and at least
    every ``least``. Rows without a set are empty and score minus infinity.
    """
    cdef Py_ssize_t n_docs = S.shape[0], n = position.shape[0], d, v, w, r, out = 0
    cdef int B = <int> table.shape[1] - 1, Q = 1 + B * J, q, k, j, i, end, c, top
    cdef i64 e
    cdef double s
    # Lists of nodes by number of labels (the top: also none), states of the node at work, and where entries come from.
    cdef double[:, :, ::1] L = np.zeros((n + 1, J + 1, K))
    cdef int[:, ::1] L_size = np.zeros((n + 1, J + 1), dtype=np.int32)
    cdef int[:, :, ::1] L_from = np.zeros((n + 1, J + 1, K), dtype=np.int32)
    cdef double[:, :, ::1] F = np.zeros((2, Q, K))
    cdef int[:, ::1] F_size = np.zeros((2, Q), dtype=np.int32)
    cdef int[:, :, ::1] before = np.zeros((n + 1, Q, K), dtype=np.int32)
    cdef int[:, :, ::1] child = np.zeros((n + 1, Q, K), dtype=np.int32)
    cdef int[::1] unused = np.zeros(K, dtype=np.int32)
    cdef int[:, ::1] stack = np.zeros((n + 1, 2), dtype=np.int32)
    cdef unsigned char[::1] kept = np.zeros(n + 1, dtype=np.uint8)
    scores_array = np.full((n_docs, K), -np.inf)
    indptr_array = np.zeros(n_docs * K + 1, dtype=np.int64)
    cdef double[:, ::1] scores = scores_array
    cdef i64[::1] rows = indptr_array
    cdef i64 room = max(1024, n_docs * K * min(n, 8))
    indices_array = np.empty(room, dtype=np.int32)
    cdef int[::1] indices = indices_array
    cdef List T
    cdef int side
    for d in range(n_docs):
        if out + K * n > room:
            room = 2 * room + K * n
            indices_array = np.resize(indices_array, room)
            indices = indices_array
        with nogil:
            for w in range(n + 1):
                v = n - 1 - w if w < n else n
                side = 0
                for q in range(Q):
                    F_size[0, q] = 0
                F_size[0, 0] = 1
                F[0, 0, 0] = 0.0
                for e in range(indptr[v], indptr[v + 1]):
                    c = children[e]
                    join(c, K, B, J, forced[c], L, L_size, F, F_size, side, before, child)
                    side = 1 - side
                # Close the node: what its number of children scores, then bounds on labels, then its own score.
                s = 0.0
                if v < n and position[v] >= 0:
                    s = S[d, position[v]]
                for j in range(J + 1):
                    T.size = 0
                    T.value = &L[v, j, 0]
                    T.before = &L_from[v, j, 0]
                    T.child = &unused[0]
                    if s > -INFINITY and (j >= least[v] and j <= most[v]):
                        if j == (1 if v < n else 0) and F_size[side, 0] and table[v, 0] > -INFINITY:
                            insert(&T, K, s + table[v, 0], 0, 0)
                        if j > 0:
                            for k in range(1, B + 1):
                                q = 1 + (k - 1) * J + j - 1
                                if table[v, k] > -INFINITY:
                                    for i in range(F_size[side, q]):
                                        if T.size == K and s + F[side, q, i] + table[v, k] <= T.value[K - 1]:
                                            break
                                        insert(&T, K, s + F[side, q, i] + table[v, k], q * K + i, 0)
                    L_size[v, j] = T.size
            # The K best over all numbers of labels, and the nodes that they are made of.
            T.size = 0
            T.value = &scores[d, 0]
            T.before = &before[n, 0, 0]
            T.child = &unused[0]
            for j in range(J + 1):
                for i in range(L_size[n, j]):
                    insert(&T, K, L[n, j, i], j * K + i, 0)
            for r in range(K):
                if r < T.size:
                    for v in range(n):
                        kept[v] = 0
                    top = 1
                    stack[0, 0] = <int> n
                    stack[0, 1] = L_from[n, T.before[r] // K, T.before[r] % K]
                    while top > 0:
                        top -= 1
                        v = stack[top, 0]
                        end = stack[top, 1]
                        for e in range(indptr[v + 1] - 1, indptr[v] - 1, -1):
                            c = children[e]
                            q = end // K
                            i = end % K
                            if child[c, q, i] >= 0:
                                kept[c] = 1
                                stack[top, 0] = c
                                stack[top, 1] = L_from[c, child[c, q, i] // K, child[c, q, i] % K]
                                top += 1
                            end = before[c, q, i]
                    for v in range(n):
                        indices[out] = <int> v
                        out += kept[v]
                rows[d * K + r + 1] = out
    return indptr_array, indices_array[:out].copy(), scores_array


cdef void join(
    int c, int K, int B, int J, bint forced, double[:, :, ::1] L, int[:, ::1] L_size, double[:, :, ::1] F,
    int[:, ::1] F_size, int side, int[:, :, ::1] before, int[:, :, ::1] child
) noexcept nogil:
    """States with one more child: from F[side] to F[1 - side]."""
    cdef int other = 1 - side, q, k, j, i, h, source, i_top, h_top
    cdef List T
    F_size[other, 0] = 0 if forced else F_size[side, 0]
    F[other, 0, 0] = 0.0
    before[c, 0, 0] = 0
    child[c, 0, 0] = -1
    for k in range(1, B + 1):
        for j in range(1, J + 1):
            q = 1 + (k - 1) * J + j - 1
            T.size = 0
            T.value = &F[other, q, 0]
            T.before = &before[c, q, 0]
            T.child = &child[c, q, 0]
            if not forced and F_size[side, q]:
                T.size = F_size[side, q]
                memcpy(T.value, &F[side, q, 0], T.size * sizeof(double))
                for i in range(T.size):
                    T.before[i] = q * K + i
                    T.child[i] = -1
            if k == 1 and F_size[side, 0] and L_size[c, j]:
                add_sums(&T, K, &F[side, 0, 0], 1, 0, &L[c, j, 0], L_size[c, j], j * K)
            for i in range(1, J + 1):  # labels below the child; h: labels so far
                if L_size[c, i] == 0:
                    continue
                h_top = J if j == J else j - i
                for h in range(max(1, j - i), h_top + 1):
                    if k > 1:
                        source = 1 + (k - 2) * J + h - 1
                        if F_size[side, source]:
                            add_sums(
                                &T, K, &F[side, source, 0], F_size[side, source], source * K, &L[c, i, 0], L_size[c, i], i * K
                            )
                    if k == B:
                        source = 1 + (k - 1) * J + h - 1
                        if F_size[side, source]:
                            add_sums(
                                &T, K, &F[side, source, 0], F_size[side, source], source * K, &L[c, i, 0], L_size[c, i], i * K
                            )
            F_size[other, q] = T.size
