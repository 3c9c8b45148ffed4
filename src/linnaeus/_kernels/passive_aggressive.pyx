"""Visits of the passive-aggressive learners: single nodes sixteen at a time, and whole label sets on a tree.

Single nodes (PA-I), for every node with label y = +1 or -1 (0: the document is not one of its own):

    loss = 1 - y w'x;   where it is above 0:   w += min(C, loss / |x|^2) y x

Label sets: the best set under the weights now is found by dynamic programming as in `branching`; where it is wrong, the
weights move towards the right one by as much as puts it ahead. Weights are not held here: a document's scores are those
at the beginning of the pass (``base``), and what documents j before it have taught, <x_i, x_j> times their coefficients.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, sqrt

ctypedef long long i64

cdef enum:
    PANEL = 16


def learn_panel(
    const i64[::1] indptr, const int[::1] indices, const double[::1] data, const double[::1] squared_norm,
    const double[::1] weight, const int[::1] order, const signed char[:, ::1] labels, double C, i64[::1] steps,
    double[:, ::1] W, double[:, ::1] U,
):
    """Visit the documents ``order``; W, U (n_features x 16) and ``steps`` (16) move in place. U without rows: no mean.

    Gives back how many times a node has learned something.
    """
    cdef Py_ssize_t k, i
    cdef i64 e, n_updates = 0
    cdef int b
    cdef double x, loss
    cdef double s[PANEL]
    cdef double tau[PANEL]
    cdef double drift[PANEL]
    cdef bint averaged = U.shape[0] > 0, some
    cdef double* w
    cdef double* u
    with nogil:
        for k in range(order.shape[0]):
            i = order[k]
            some = False
            for b in range(PANEL):
                some = some or labels[i, b] != 0
                s[b] = 0
            if not some or squared_norm[i] <= 0:
                continue
            for e in range(indptr[i], indptr[i + 1]):
                w = &W[indices[e], 0]
                x = data[e]
                for b in range(PANEL):
                    s[b] += x * w[b]
            some = False
            for b in range(PANEL):
                tau[b] = drift[b] = 0
                if labels[i, b] == 0:
                    continue
                loss = 1 - labels[i, b] * s[b]
                if loss > 0:
                    tau[b] = min(C, loss / squared_norm[i]) * labels[i, b] * weight[i]
                    drift[b] = steps[b] * tau[b]
                    some = True
                    n_updates += 1
                steps[b] += 1
            if not some:
                continue
            for e in range(indptr[i], indptr[i + 1]):
                w = &W[indices[e], 0]
                x = data[e]
                for b in range(PANEL):
                    w[b] += x * tau[b]
                if averaged:
                    u = &U[indices[e], 0]
                    for b in range(PANEL):
                        u[b] += x * drift[b]
    return n_updates


include "largest_gains.pxi"
include "max_loss.pxi"


def learn_sets(
    const i64[::1] indptr, const int[::1] indices, const double[::1] data, const double[::1] squared_norm,
    const double[::1] weight, const i64[::1] gold_indptr, const int[::1] gold, const double[:, ::1] base, Py_ssize_t first,
    const i64[::1] child_indptr, const int[::1] children, const i64[::1] parent_indptr, const int[::1] parents,
    const unsigned char[::1] ends, int most, double scale, double C, int spare,
    double[:, ::1] node, double[::1] shared, double[:, ::1] node_drift, double[::1] shared_drift,
    i64[::1] coef_indptr, int[::1] coef_indices, double[::1] coef_data, double[::1] work, i64[::1] counts,
):
    """Visit the documents ``first``, ``first + 1``, ... whose scores at the beginning are the rows of ``base``.

    Trees have the children of node v at ``child_indptr[v]``, of what stands above all tops at the last row; nodes come
    after their parents. ``parents`` has all parents, which on a DAG are more than one: sets are closed through all of them.
    ``ends[v]`` says whether a set may end at v (last: may be empty), ``most`` is 1 where a node has at most one child in a
    set, else 0. ``node`` and ``shared`` are scores of branching in the buckets 0, 1 .. R, more; their features
    have the squared value ``scale``, and 0 does not learn them; ``drift`` gets (visits before) x what is added.
    ``spare`` is -1 where a step moves away from the set found. Else it moves away from the set of largest augmented score
    (`max_loss.pxi`) among those with at most so many labels more than are right, unless the set found has more.
    Coefficients go to rows of ``coef``; ``work`` (zeros) has a place for every feature. ``counts`` adds up updates, and visits in which the set found was worse than the right one.
    """
    cdef Py_ssize_t m = child_indptr.shape[0] - 2, R = node.shape[1] - 2, i, j, v, p, d
    cdef i64 e, f, out = coef_indptr[first]
    cdef int q, found, n_positive, take, n_gold, n_hat = 0, n_both, bucket, other
    cdef double value, total, prefix, positive, dot, score_gold, score_hat, rho, norm, tau, step
    cdef bint branching = scale > 0
    cdef double[::1] s = np.zeros(m + 1), gain = np.zeros(m + 1), best = np.zeros(R + 2), h = np.zeros(R + 2)
    cdef int[::1] who = np.zeros(R + 2, dtype=np.int32), taken = np.zeros(m + 1, dtype=np.int32)
    cdef int[::1] hat = np.zeros(m + 1, dtype=np.int32)  # the set found, as it grows
    cdef int[::1] k_hat = np.zeros(m + 1, dtype=np.int32), k_gold = np.zeros(m + 1, dtype=np.int32)
    cdef unsigned char[::1] is_hat = np.zeros(m + 1, dtype=np.uint8), is_gold = np.zeros(m + 1, dtype=np.uint8)
    cdef int[::1] capacity = np.zeros(m + 1, dtype=np.int32), right = np.zeros(m + 1, dtype=np.int32)
    cdef int[::1] stack = np.zeros(4 * m + 4, dtype=np.int32), reach = np.zeros(2 * m + 4, dtype=np.int32)
    cdef int[::1] tree_parent = np.full(m + 1, -1, dtype=np.int32)
    cdef unsigned char[::1] is_label = np.zeros(m + 1, dtype=np.uint8)
    cdef i64[::1] offset = np.zeros(m + 1, dtype=np.int64)
    cdef const int* below = &children[0]
    cdef bint plain = scale <= 0 and not np.any(node) and not np.any(shared)
    cdef MaxLoss augmented
    augmented.indptr, augmented.below, augmented.ends = &child_indptr[0], below, &ends[0]
    augmented.capacity, augmented.right, augmented.is_label = &capacity[0], &right[0], &is_label[0]
    augmented.s, augmented.shared, augmented.node = &s[0], &shared[0], NULL if plain else &node[0, 0]
    augmented.B, augmented.most, augmented.offset = 2 if plain else <int> R + 2, most, &offset[0]
    augmented.V = augmented.P = NULL
    augmented.room_V = augmented.room_P = 0
    augmented.reach, augmented.reach_right = &reach[0], &reach[m + 2]
    with nogil:
        for p in range(m + 1):
            v = m - 1 - p if p < m else m
            capacity[v] = 1 if v < m and ends[v] else 0
            for e in range(child_indptr[v], child_indptr[v + 1]):
                capacity[v] += capacity[below[e]]
                tree_parent[below[e]] = <int> v
        for d in range(base.shape[0]):
            i = first + d
            for v in range(m):
                s[v] = base[d, v]
            for e in range(indptr[i], indptr[i + 1]):
                work[indices[e]] = data[e]
            for j in range(i):
                if coef_indptr[j] == coef_indptr[j + 1]:
                    continue
                dot = 0
                for e in range(indptr[j], indptr[j + 1]):
                    dot += work[indices[e]] * data[e]
                if dot != 0:
                    for e in range(coef_indptr[j], coef_indptr[j + 1]):
                        s[coef_indices[e]] += dot * coef_data[e]
            for e in range(indptr[i], indptr[i + 1]):
                work[indices[e]] = 0
            # From the deepest nodes upwards: the best value below every node, and how many children it takes.
            for v in range(m, -1, -1):
                p = v - 1 if v > 0 else m  # m - 1, ..., 0, and then what stands above all tops
                if child_indptr[p] == child_indptr[p + 1] and p < m:
                    gain[p] = s[p]
                    taken[p] = 0
                    continue
                value = node[p, 0] + shared[0] if ends[p] else -INFINITY
                take = 0
                n_positive = 0
                positive = 0
                for e in range(child_indptr[p], child_indptr[p + 1]):
                    if gain[below[e]] > 0:
                        n_positive += 1
                        positive += gain[below[e]]
                found = largest(&gain[0], below, child_indptr[p], child_indptr[p + 1], NULL, <int> R + 1, &best[0], &who[0])
                prefix = 0
                for q in range(1, min(found, R if most == 0 else 1) + 1):
                    prefix += best[q - 1]
                    total = prefix + node[p, q] + shared[q]
                    if total > value:
                        value = total
                        take = q
                if most == 0 and found > R:
                    total = (positive if n_positive > R else prefix + best[R]) + node[p, R + 1] + shared[R + 1]
                    if total > value:
                        value = total
                        take = -1 if n_positive > R else <int> R + 1
                gain[p] = value + (s[p] if p < m else 0)
                taken[p] = take
            # From the top downwards: the set found, closed through all parents.
            n_hat = 0
            j = -1
            while j < n_hat:
                p = m if j < 0 else hat[j]
                j += 1
                if taken[p] == -1:
                    for e in range(child_indptr[p], child_indptr[p + 1]):
                        if gain[below[e]] > 0 and not is_hat[below[e]]:
                            is_hat[below[e]] = 1
                            hat[n_hat] = below[e]
                            n_hat += 1
                elif taken[p] > 0:
                    largest(&gain[0], below, child_indptr[p], child_indptr[p + 1], NULL, <int> R + 1, &best[0], &who[0])
                    for q in range(taken[p]):
                        if not is_hat[who[q]]:
                            is_hat[who[q]] = 1
                            hat[n_hat] = who[q]
                            n_hat += 1
                if j == n_hat:
                    break
            score_hat = score_gold = 0
            for e in range(gold_indptr[i], gold_indptr[i + 1]):
                v = gold[e]
                is_gold[v] = 1
                score_gold += s[v]
                for f in range(parent_indptr[v], parent_indptr[v + 1]):
                    k_gold[parents[f]] += 1
            if spare >= 0:
                n_hat = augmented_set(
                    &augmented, m, spare, &gold[0] + gold_indptr[i], gold_indptr[i + 1] - gold_indptr[i], &k_gold[0],
                    &is_label[0], &tree_parent[0], &taken[0], n_hat, &hat[0], &is_hat[0], &stack[0],
                )
                if n_hat < 0:
                    break
            j = 0
            while j < n_hat:
                v = hat[j]
                j += 1
                for e in range(parent_indptr[v], parent_indptr[v + 1]):
                    if parents[e] < m and not is_hat[parents[e]]:
                        is_hat[parents[e]] = 1
                        hat[n_hat] = parents[e]
                        n_hat += 1
            for j in range(n_hat):
                v = hat[j]
                score_hat += s[v]
                for e in range(parent_indptr[v], parent_indptr[v + 1]):
                    k_hat[parents[e]] += 1
            is_hat[m] = is_gold[m] = 1
            n_gold = n_both = 0
            for e in range(gold_indptr[i], gold_indptr[i + 1]):
                v = gold[e]
                if k_gold[v] == 0:
                    n_gold += 1
                    n_both += 1 if is_hat[v] != 0 and k_hat[v] == 0 else 0
            found = 0
            for j in range(n_hat):
                found += 1 if k_hat[hat[j]] == 0 else 0
            rho = 1 - 2.0 * n_both / (n_gold + found) if n_gold + found > 0 else 0
            norm = 0
            for q in range(R + 2):
                h[q] = 0
            # Nodes of either set, the tops' place first: those of the set found, then the others.
            for j in range(-1, n_hat):
                v = m if j < 0 else hat[j]
                if not is_gold[v]:
                    norm += squared_norm[i]
                if child_indptr[v] < child_indptr[v + 1]:
                    bucket = min(k_hat[v], <int> R + 1)
                    h[bucket] -= 1
                    score_hat += node[v, bucket] + shared[bucket]
                    if branching:
                        other = min(k_gold[v], <int> R + 1) if is_gold[v] else -1
                        norm += scale * (1 if other < 0 else 2 if other != bucket else 0)
                    if v == m:
                        bucket = min(k_gold[m], <int> R + 1)
                        h[bucket] += 1
                        score_gold += node[m, bucket] + shared[bucket]
            for e in range(gold_indptr[i], gold_indptr[i + 1]):
                v = gold[e]
                if not is_hat[v]:
                    norm += squared_norm[i]
                if child_indptr[v] < child_indptr[v + 1]:
                    bucket = min(k_gold[v], <int> R + 1)
                    h[bucket] += 1
                    score_gold += node[v, bucket] + shared[bucket]
                    norm += scale if branching and not is_hat[v] else 0
            if branching:
                for q in range(R + 2):
                    norm += scale * h[q] * h[q]
            if rho > 0 and score_hat - score_gold + (sqrt(rho) if spare >= 0 else 0) < -1e-9 * (1 + fabs(score_gold)):
                counts[1] += 1
            elif rho > 0 and norm > 0:
                tau = min(C, max(0.0, score_hat - score_gold + sqrt(rho)) / norm) * weight[i]
                step = tau * scale
                counts[0] += 1
                for j in range(-1, n_hat):
                    v = m if j < 0 else hat[j]
                    if not is_gold[v] and squared_norm[i] > 0:
                        coef_indices[out] = <int> v
                        coef_data[out] = -tau
                        out += 1
                    if branching and child_indptr[v] < child_indptr[v + 1]:
                        bucket = min(k_hat[v], <int> R + 1)
                        node[v, bucket] -= step
                        node_drift[v, bucket] -= i * step
                for e in range(gold_indptr[i], gold_indptr[i + 1] + 1):
                    v = gold[e] if e < gold_indptr[i + 1] else m
                    if not is_hat[v] and squared_norm[i] > 0:
                        coef_indices[out] = <int> v
                        coef_data[out] = tau
                        out += 1
                    if branching and child_indptr[v] < child_indptr[v + 1]:
                        bucket = min(k_gold[v], <int> R + 1)
                        node[v, bucket] += step
                        node_drift[v, bucket] += i * step
                if branching:
                    for q in range(R + 2):
                        shared[q] += step * h[q]
                        shared_drift[q] += i * step * h[q]
            coef_indptr[i + 1] = out
            for j in range(n_hat):
                v = hat[j]
                is_hat[v] = 0
                for e in range(parent_indptr[v], parent_indptr[v + 1]):
                    k_hat[parents[e]] = 0
            for e in range(gold_indptr[i], gold_indptr[i + 1]):
                v = gold[e]
                is_gold[v] = 0
                for f in range(parent_indptr[v], parent_indptr[v + 1]):
                    k_gold[parents[f]] = 0
    free(augmented.V)
    free(augmented.P)
    if n_hat < 0:
        raise MemoryError("the tables of the augmented best set do not fit into memory")
    return int(out)
