# Steps of passive-aggressive learning of whole label sets on a tree, one document at a time; see `passive_aggressive`.

include "largest_gains.pxi"
include "max_loss.pxi"


cdef struct Sets:
    # Documents: rows of features, and the nodes of their right sets.
    const i64* indptr
    const int* indices
    const double* data
    const double* squared_norm
    const double* weight
    const i64* gold_indptr
    const int* gold
    # The tree, m standing above all tops, and how to learn.
    Py_ssize_t m
    const i64* child_indptr
    const int* below
    const i64* parent_indptr
    const int* parents
    const unsigned char* ends
    int most, R, spare
    double scale, C
    # Scores of branching (rows of R + 2 buckets) and their drift; coefficients of documents.
    double* node
    double* shared
    double* node_drift
    double* shared_drift
    i64* coef_indptr
    int* coef_indices
    double* coef_data
    double* work
    i64* counts
    i64 out
    # Scratch: scores of the document, best value below every node and how many children it takes.
    double* s
    double* gain
    double* best
    double* h
    int* who
    int* taken
    # The set found (hat) and the right one (gold): nodes, members, and how many children of each node are members.
    int n_hat
    int* hat
    int* k_hat
    int* k_gold
    unsigned char* is_hat
    unsigned char* is_gold


cdef void score_document(Sets* w, Py_ssize_t i, const double* base) noexcept nogil:
    """Scores at the beginning of the pass, and what earlier documents have taught."""
    cdef Py_ssize_t v, j
    cdef i64 e
    cdef double dot
    for v in range(w.m):
        w.s[v] = base[v]
    for e in range(w.indptr[i], w.indptr[i + 1]):
        w.work[w.indices[e]] = w.data[e]
    for j in range(i):
        if w.coef_indptr[j] == w.coef_indptr[j + 1]:
            continue
        dot = 0
        for e in range(w.indptr[j], w.indptr[j + 1]):
            dot += w.work[w.indices[e]] * w.data[e]
        if dot != 0:
            for e in range(w.coef_indptr[j], w.coef_indptr[j + 1]):
                w.s[w.coef_indices[e]] += dot * w.coef_data[e]
    for e in range(w.indptr[i], w.indptr[i + 1]):
        w.work[w.indices[e]] = 0


cdef inline double bucket_of(Sets* w, Py_ssize_t v, int k) noexcept nogil:
    return w.node[v * (w.R + 2) + k] + w.shared[k]


cdef void value_node(Sets* w, Py_ssize_t p) noexcept nogil:
    """The best value at and below a node, and how many children it takes (-1: all with a gain above 0)."""
    cdef int q, found, n_positive = 0, take = 0, R = w.R
    cdef i64 e, first = w.child_indptr[p], last = w.child_indptr[p + 1]
    cdef double value, total, prefix = 0, positive = 0
    if first == last and p < w.m:
        w.gain[p] = w.s[p]
        w.taken[p] = 0
        return
    value = bucket_of(w, p, 0) if w.ends[p] else -INFINITY
    for e in range(first, last):
        if w.gain[w.below[e]] > 0:
            n_positive += 1
            positive += w.gain[w.below[e]]
    found = largest(w.gain, w.below, first, last, NULL, R + 1, w.best, w.who)
    for q in range(1, min(found, R if w.most == 0 else 1) + 1):
        prefix += w.best[q - 1]
        total = prefix + bucket_of(w, p, q)
        if total > value:
            value = total
            take = q
    if w.most == 0 and found > R:
        total = (positive if n_positive > R else prefix + w.best[R]) + bucket_of(w, p, R + 1)
        if total > value:
            value = total
            take = -1 if n_positive > R else R + 1
    w.gain[p] = value + (w.s[p] if p < w.m else 0)
    w.taken[p] = take


cdef inline void take_node(Sets* w, int v) noexcept nogil:
    if not w.is_hat[v]:
        w.is_hat[v] = 1
        w.hat[w.n_hat] = v
        w.n_hat += 1


cdef void find_set(Sets* w) noexcept nogil:
    """The best set: values from the deepest nodes upwards, then members from the top downwards."""
    cdef Py_ssize_t v, p, j = -1
    cdef i64 e
    cdef int q
    for v in range(w.m, 0, -1):
        value_node(w, v - 1)
    value_node(w, w.m)
    w.n_hat = 0
    while j < w.n_hat:
        p = w.m if j < 0 else w.hat[j]
        j += 1
        if w.taken[p] == -1:
            for e in range(w.child_indptr[p], w.child_indptr[p + 1]):
                if w.gain[w.below[e]] > 0:
                    take_node(w, w.below[e])
        elif w.taken[p] > 0:
            largest(w.gain, w.below, w.child_indptr[p], w.child_indptr[p + 1], NULL, w.R + 1, w.best, w.who)
            for q in range(w.taken[p]):
                take_node(w, w.who[q])
        if j == w.n_hat:
            break


cdef double mark_gold(Sets* w, Py_ssize_t i) noexcept nogil:
    """Members of the right set and how many children each has in it; returns the sum of their scores."""
    cdef i64 e, f
    cdef int v
    cdef double score = 0
    for e in range(w.gold_indptr[i], w.gold_indptr[i + 1]):
        v = w.gold[e]
        w.is_gold[v] = 1
        score += w.s[v]
        for f in range(w.parent_indptr[v], w.parent_indptr[v + 1]):
            w.k_gold[w.parents[f]] += 1
    return score


cdef double mark_found(Sets* w) noexcept nogil:
    """The set found, closed through all parents, as `mark_gold` does; returns the sum of its scores."""
    cdef Py_ssize_t j = 0
    cdef i64 e
    cdef int v
    cdef double score = 0
    while j < w.n_hat:
        v = w.hat[j]
        j += 1
        for e in range(w.parent_indptr[v], w.parent_indptr[v + 1]):
            if w.parents[e] < w.m:
                take_node(w, w.parents[e])
    for j in range(w.n_hat):
        v = w.hat[j]
        score += w.s[v]
        for e in range(w.parent_indptr[v], w.parent_indptr[v + 1]):
            w.k_hat[w.parents[e]] += 1
    w.is_hat[w.m] = w.is_gold[w.m] = 1
    return score


cdef double f1_loss(Sets* w, Py_ssize_t i) noexcept nogil:
    """1 - F1 of the labels of both sets: members without a member below."""
    cdef i64 e
    cdef int v, n_gold = 0, n_both = 0, n_found = 0
    cdef Py_ssize_t j
    for e in range(w.gold_indptr[i], w.gold_indptr[i + 1]):
        v = w.gold[e]
        if w.k_gold[v] == 0:
            n_gold += 1
            n_both += 1 if w.is_hat[v] != 0 and w.k_hat[v] == 0 else 0
    for j in range(w.n_hat):
        n_found += 1 if w.k_hat[w.hat[j]] == 0 else 0
    return 1 - 2.0 * n_both / (n_gold + n_found) if n_gold + n_found > 0 else 0


cdef double compare(Sets* w, Py_ssize_t i, double* score_hat, double* score_gold) noexcept nogil:
    """Squared distance of the sets' features; scores of branching are added, ``h`` is how often buckets differ."""
    cdef bint branching = w.scale > 0
    cdef int q, bucket, other, R = w.R
    cdef Py_ssize_t v, j
    cdef i64 e
    cdef double norm = 0
    for q in range(R + 2):
        w.h[q] = 0
    # Nodes of either set, the tops' place first: those of the set found, then the others.
    for j in range(-1, w.n_hat):
        v = w.m if j < 0 else w.hat[j]
        if not w.is_gold[v]:
            norm += w.squared_norm[i]
        if w.child_indptr[v] < w.child_indptr[v + 1]:
            bucket = min(w.k_hat[v], R + 1)
            w.h[bucket] -= 1
            score_hat[0] += bucket_of(w, v, bucket)
            if branching:
                other = min(w.k_gold[v], R + 1) if w.is_gold[v] else -1
                norm += w.scale * (1 if other < 0 else 2 if other != bucket else 0)
            if v == w.m:
                bucket = min(w.k_gold[v], R + 1)
                w.h[bucket] += 1
                score_gold[0] += bucket_of(w, v, bucket)
    for e in range(w.gold_indptr[i], w.gold_indptr[i + 1]):
        v = w.gold[e]
        if not w.is_hat[v]:
            norm += w.squared_norm[i]
        if w.child_indptr[v] < w.child_indptr[v + 1]:
            bucket = min(w.k_gold[v], R + 1)
            w.h[bucket] += 1
            score_gold[0] += bucket_of(w, v, bucket)
            norm += w.scale if branching and not w.is_hat[v] else 0
    if branching:
        for q in range(R + 2):
            norm += w.scale * w.h[q] * w.h[q]
    return norm


cdef inline void move(Sets* w, Py_ssize_t i, Py_ssize_t v, bint moves, int k, double tau) noexcept nogil:
    """Coefficient tau of a node where it moves, and its score of branching with k children."""
    cdef i64 at
    if moves and w.squared_norm[i] > 0:
        w.coef_indices[w.out] = <int> v
        w.coef_data[w.out] = tau
        w.out += 1
    if w.scale > 0 and w.child_indptr[v] < w.child_indptr[v + 1]:
        at = v * (w.R + 2) + min(k, w.R + 1)
        w.node[at] += tau * w.scale
        w.node_drift[at] += i * (tau * w.scale)


cdef void learn_from(Sets* w, Py_ssize_t i, double tau) noexcept nogil:
    """Away from the set found, towards the right one."""
    cdef Py_ssize_t j, v
    cdef i64 e
    cdef int q
    w.counts[0] += 1
    for j in range(-1, w.n_hat):
        v = w.m if j < 0 else w.hat[j]
        move(w, i, v, not w.is_gold[v], w.k_hat[v], -tau)
    for e in range(w.gold_indptr[i], w.gold_indptr[i + 1] + 1):
        v = w.gold[e] if e < w.gold_indptr[i + 1] else w.m
        move(w, i, v, not w.is_hat[v], w.k_gold[v], tau)
    if w.scale > 0:
        for q in range(w.R + 2):
            w.shared[q] += tau * w.scale * w.h[q]
            w.shared_drift[q] += i * (tau * w.scale) * w.h[q]


cdef void forget_sets(Sets* w, Py_ssize_t i) noexcept nogil:
    """Members of both sets and numbers of children back to 0."""
    cdef Py_ssize_t j
    cdef i64 e, f
    cdef int v
    for j in range(w.n_hat):
        v = w.hat[j]
        w.is_hat[v] = 0
        for e in range(w.parent_indptr[v], w.parent_indptr[v + 1]):
            w.k_hat[w.parents[e]] = 0
    for e in range(w.gold_indptr[i], w.gold_indptr[i + 1]):
        v = w.gold[e]
        w.is_gold[v] = 0
        for f in range(w.parent_indptr[v], w.parent_indptr[v + 1]):
            w.k_gold[w.parents[f]] = 0


cdef void take_step(Sets* w, Py_ssize_t i, double score_hat, double score_gold) noexcept nogil:
    """Compare the sets, and learn where the one found is wrong."""
    cdef double rho = f1_loss(w, i), norm = compare(w, i, &score_hat, &score_gold), ahead
    ahead = score_hat - score_gold
    if rho > 0 and ahead + (sqrt(rho) if w.spare >= 0 else 0) < -1e-9 * (1 + fabs(score_gold)):
        w.counts[1] += 1
    elif rho > 0 and norm > 0:
        learn_from(w, i, min(w.C, max(0.0, ahead + sqrt(rho)) / norm) * w.weight[i])
    w.coef_indptr[i + 1] = w.out
