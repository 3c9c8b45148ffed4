# The set that a step of cost-augmented learning moves away from: max over sets U of  score(U) + sqrt(1 - F(U, m)).
#
# F depends on two numbers only, the number j of labels of U and the number i of correct ones, so the dynamic program
# has both as states: V_v(j, i) is the best value at and below a chosen v with j labels, i of them correct. Children are
# added one by one to states (k, j, i), k of them chosen, the last k meaning "more". Most nodes have few labels below
# them, and hardly any correct one, so that nearly all tables are tiny. When the set is traced back, the tables of
# chosen nodes are computed again.

from libc.stdlib cimport free, realloc
from libc.string cimport memcpy


cdef struct MaxLoss:
    const i64* indptr
    const int* below
    const unsigned char* ends
    const int* capacity      # nodes at or below that may be labels
    const double* s
    const double* node       # scores of branching, a row of B each; NULL: all are 0
    const double* shared
    int B                    # buckets: no child, 1, .. , more
    int most                 # 1: a single path
    int J                    # labels of a set at most
    int* right               # right labels at or below
    const unsigned char* is_label
    i64* offset              # of the tables V
    double* V
    double* P                # of states
    i64 room_V, room_P
    int* reach               # labels, and right labels, after some children
    int* reach_right


cdef inline bint reserve(double** place, i64* room, i64 needed) noexcept nogil:
    """Reserve memory for ``needed`` numbers; False, with the content unchanged, if there is not enough memory."""
    cdef double* grown
    if needed > room[0]:
        grown = <double*> realloc(place[0], needed * sizeof(double))
        if grown == NULL:
            return False
        place[0], room[0] = grown, needed
    return True


cdef inline double bucket_score(MaxLoss* work, Py_ssize_t v, int k) noexcept nogil:
    return 0.0 if work.node == NULL else work.node[v * work.B + k] + work.shared[k]


cdef inline int labels_below(MaxLoss* work, Py_ssize_t v) noexcept nogil:
    return min(work.J, work.capacity[v])


cdef extern from *:
    """
    /* to = max(to, from + value); the two arrays never overlap */
    static inline void with_child(const double *restrict from, double *restrict to, long long length, double value) {
        for (long long i = 0; i < length; i++) {
            double sum = from[i] + value;
            to[i] = sum > to[i] ? sum : to[i];
        }
    }
    """
    void with_child(const double* from_, double* to, i64 length, double value) noexcept nogil


cdef void add_child(MaxLoss* work, int c, double* P, double* spare, int t, i64 row, i64 plane, int J) noexcept nogil:
    """Add a child to the states in place: every k goes to the next, the last one also to itself.

    States with more right labels than there were so far are minus infinity, so that rows can be added as they lie.
    """
    cdef int n_j = labels_below(work, c), n_i = work.right[c], B = work.B, k, k2, jc, ic
    cdef i64 length
    cdef double* child = work.V + work.offset[c]
    cdef double* old
    cdef double* new
    cdef double value
    for k in range(0 if work.most else B - 1, -1, -1):
        k2 = min(k + 1, B - 1)
        old = P + k * plane
        new = P + k2 * plane
        if k2 == k:
            memcpy(spare, old, (work.reach[t] + 1) * row * sizeof(double))
            old = spare
        for jc in range(1, n_j + 1):
            for ic in range(n_i + 1):
                value = child[(jc - 1) * (n_i + 1) + ic]
                if value > -INFINITY:
                    length = min(work.reach[t], J - jc) * row + work.reach_right[t] + 1
                    with_child(old, new + jc * row + ic, length, value)


cdef i64 add_children(MaxLoss* work, Py_ssize_t v, bint keep) noexcept nogil:
    """States after all children of v, and where they begin in P; ``keep`` also leaves those after every child before.

    -1 where memory does not suffice.
    """
    cdef i64 e, T = work.indptr[v + 1] - work.indptr[v], at, to = 0
    cdef int c, J = labels_below(work, v), I = 0, t = 0
    for e in range(work.indptr[v], work.indptr[v + 1]):
        I += work.right[work.below[e]]
    cdef i64 row = I + 1, plane = (J + 1) * row, layer = work.B * plane, needed = (T + 1 if keep else 1) * layer + plane
    if not reserve(&work.P, &work.room_P, needed):
        return -1
    for at in range(layer):
        work.P[at] = -INFINITY
    work.P[0] = 0.0
    work.reach[0] = work.reach_right[0] = 0
    for e in range(work.indptr[v], work.indptr[v + 1]):
        c = work.below[e]
        if keep:
            memcpy(work.P + to + layer, work.P + to, layer * sizeof(double))
            to += layer
        add_child(work, c, work.P + to, work.P + needed - plane, t, row, plane, J)
        work.reach[t + 1] = min(J, work.reach[t] + labels_below(work, c))
        work.reach_right[t + 1] = work.reach_right[t] + work.right[c]
        t += 1
    return to


cdef bint fill_table(MaxLoss* work, Py_ssize_t v) noexcept nogil:
    """V of a node whose children have theirs; False where memory does not suffice."""
    cdef int j, i, k, n_j = labels_below(work, v), n_i = work.right[v], I = 0
    cdef i64 e, to, row, plane
    cdef double* table = work.V + work.offset[v]
    cdef double value, best
    for j in range(n_j * (n_i + 1)):
        table[j] = -INFINITY
    if work.ends[v] and n_j > 0:
        i = 1 if work.is_label[v] else 0
        table[i] = work.s[v] + (bucket_score(work, v, 0) if work.indptr[v] < work.indptr[v + 1] else 0.0)
    if work.indptr[v] == work.indptr[v + 1]:
        return True
    to = add_children(work, v, False)
    if to < 0:
        return False
    for e in range(work.indptr[v], work.indptr[v + 1]):
        I += work.right[work.below[e]]
    row = I + 1
    plane = (n_j + 1) * row
    for j in range(1, n_j + 1):
        for i in range(I + 1):
            best = table[(j - 1) * (n_i + 1) + i]
            for k in range(1, work.B):
                value = work.P[to + k * plane + j * row + i] + work.s[v] + bucket_score(work, v, k)
                if value > best:
                    best = value
            table[(j - 1) * (n_i + 1) + i] = best
    return True


cdef int max_loss_set(
    MaxLoss* work, Py_ssize_t m, int n_gold, int* hat, unsigned char* is_hat, int* stack
) noexcept nogil:
    """Put the set of largest augmented score into ``hat``; returns its number of nodes.

    -1: there is none; -2: not enough memory.
    """
    cdef Py_ssize_t v
    cdef i64 e, to, row, plane, layer, room = 0
    cdef int k, j, i, t, c, k1, jc, ic, n_i, found = 0, top = 0, I, best_k = 0, best_j = 0, best_i = 0
    cdef double best = -INFINITY, value, wanted, near, off
    for v in range(m):
        work.offset[v] = room
        room += labels_below(work, v) * (work.right[v] + 1)
    if not reserve(&work.V, &work.room_V, room):
        return -2
    for v in range(m - 1, -1, -1):
        if not fill_table(work, v):
            return -2
    I = work.right[m]
    row = I + 1
    plane = (labels_below(work, m) + 1) * row
    to = add_children(work, m, False)
    if to < 0:
        return -2
    for k in range(work.B):
        if k == 0 and not work.ends[m]:
            continue
        for j in range(labels_below(work, m) + 1):
            for i in range(min(I, j) + 1):
                value = work.P[to + k * plane + j * row + i]
                if value > -INFINITY:
                    value += bucket_score(work, m, k)
                    value += sqrt(max(0.0, 1 - 2.0 * i / (n_gold + j))) if n_gold + j > 0 else 0.0
                    if value > best:
                        best, best_k, best_j, best_i = value, k, j, i
    if best == -INFINITY:
        return -1
    stack[0], stack[1], stack[2], stack[3] = <int> m, best_k, best_j, best_i
    top = 1
    while top > 0:
        top -= 1
        v, k, j, i = stack[4 * top], stack[4 * top + 1], stack[4 * top + 2], stack[4 * top + 3]
        if work.indptr[v] == work.indptr[v + 1]:
            continue
        to = add_children(work, v, True)
        if to < 0:
            return -2
        t = <int> (work.indptr[v + 1] - work.indptr[v])
        row = work.reach_right[t] + 1
        plane = (labels_below(work, v) + 1) * row
        layer = work.B * plane
        if k < 0:  # how many children, or none: whichever makes the value of the node
            wanted = work.V[work.offset[v] + (j - 1) * (work.right[v] + 1) + i] - work.s[v]
            near, k = INFINITY, 0
            if work.ends[v] and j == 1 and i == (1 if work.is_label[v] else 0):
                near = fabs(wanted - bucket_score(work, v, 0))
            for k1 in range(1, work.B):
                if i < row and work.P[to + k1 * plane + j * row + i] > -INFINITY:
                    off = fabs(wanted - work.P[to + k1 * plane + j * row + i] - bucket_score(work, v, k1))
                    if off < near:
                        near, k = off, k1
        while k > 0 and t > 0:
            t -= 1
            c = work.below[work.indptr[v] + t]
            wanted = work.P[(t + 1) * layer + k * plane + j * row + i]
            if work.P[t * layer + k * plane + j * row + i] == wanted:
                continue
            near = INFINITY
            n_i = work.right[c]
            for k1 in range(k - 1, k + (1 if k == work.B - 1 and not work.most else 0)):
                for jc in range(1, min(labels_below(work, c), j) + 1):
                    for ic in range(min(n_i, i) + 1):
                        value = work.P[t * layer + k1 * plane + (j - jc) * row + i - ic]
                        off = fabs(wanted - value - work.V[work.offset[c] + (jc - 1) * (n_i + 1) + ic])
                        if off < near:
                            near, best_k, best_j, best_i = off, k1, jc, ic
            is_hat[c] = 1
            hat[found] = c
            found += 1
            stack[4 * top], stack[4 * top + 1], stack[4 * top + 2], stack[4 * top + 3] = c, -1, best_j, best_i
            top += 1
            k, j, i = best_k, j - best_j, i - best_i
    return found


cdef int augmented_set(
    MaxLoss* work, Py_ssize_t m, int spare, const int* gold, i64 n_gold_nodes, const int* k_gold,
    unsigned char* is_label,
    const int* tree_parent, const int* taken, int n_hat, int* hat, unsigned char* is_hat, int* stack
) noexcept nogil:
    """Replace the best set by that of largest augmented score, unless the former has too many labels; -1: no memory."""
    cdef i64 e
    cdef int j, v, a, n_gold = 0, n_labels = 0
    for e in range(n_gold_nodes):
        n_gold += 1 if k_gold[gold[e]] == 0 else 0
    for j in range(n_hat):
        n_labels += 1 if taken[hat[j]] == 0 else 0
    if n_labels > n_gold + spare:
        return n_hat
    work.J = 1 if work.most else n_gold + spare
    for j in range(n_hat):
        is_hat[hat[j]] = 0
    for e in range(n_gold_nodes):
        v = gold[e]
        if k_gold[v] == 0:
            is_label[v] = 1
            a = v
            while a >= 0:
                work.right[a] += 1
                a = tree_parent[a]
    n_hat = max_loss_set(work, m, n_gold, hat, is_hat, stack)
    for e in range(n_gold_nodes):
        v = gold[e]
        if k_gold[v] == 0:
            is_label[v] = 0
            a = v
            while a >= 0:
                work.right[a] = 0
                a = tree_parent[a]
    return -1 if n_hat == -2 else max(n_hat, 0)
