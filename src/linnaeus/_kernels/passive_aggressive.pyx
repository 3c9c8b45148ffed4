"""Visits of the passive-aggressive learners: single nodes sixteen at a time, and whole label sets on a tree.

Single nodes (PA-I), for every node with label y = +1 or -1 (0: the document is not one of its own):

    loss = 1 - y w'x;   where it is above 0:   w += min(C, loss / |x|^2) y x

Label sets: the best set under the weights now is found by dynamic programming as in `branching`; where it is wrong, the
weights move towards the right one by as much as puts it ahead. Weights are not held here: a document's scores are those
at the beginning of the pass (``base``), and what documents j before it have taught, <x_i, x_j> times their
coefficients.
"""

import numpy as np

from libc.math cimport INFINITY, fabs, sqrt

from linnaeus._kernels.panel cimport PANEL

ctypedef long long i64


def learn_panel(
    const i64[::1] indptr, const int[::1] indices, const double[::1] data, const double[::1] squared_norm,
    const double[::1] weight, const int[::1] order, const signed char[:, ::1] labels, double C, i64[::1] steps,
    double[:, ::1] W, double[:, ::1] U,
):
    """Visit the documents ``order``; W, U (n_features x 16) and ``steps`` (16) move in place. U without rows: no mean.

    Returns how many times a node has learned something.
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


include "set_steps.pxi"


def learn_sets(
    tuple documents, const double[:, ::1] base, Py_ssize_t first, tuple layout, int most, double scale, double C,
    int spare, tuple weights,
):
    """Visit the documents ``first``, ``first + 1``, ... whose scores at the beginning are the rows of ``base``.

    ``documents`` are (indptr, indices, data, squared norms, weights, indptr and indices of the nodes of right sets).
    ``layout`` is (child_indptr, children, parent_indptr, parents, ends): trees have the children of node v at
    ``child_indptr[v]``, of what stands above all tops at the last row; nodes come after their parents. ``parents`` has
    all parents, which on a DAG are more than one: sets are closed through all of them. ``ends[v]`` says whether a set
    may end at v (last: may be empty), ``most`` is 1 where a node has at most one child in a set, else 0.

    ``weights`` are (node, shared, node_drift, shared_drift, coef_indptr, coef_indices, coef_data, work, counts).
    ``node`` and ``shared`` are scores of branching in the buckets 0, 1 .. R, more; their features have the squared
    value ``scale``, and 0 does not learn them; ``drift`` gets (visits before) x what is added. Coefficients go to rows
    of ``coef``; ``work`` (zeros) has a place for every feature. ``counts`` adds up updates, and visits in which the set
    found was worse than the right one.

    ``spare`` is -1 where a step moves away from the set found. Else it moves away from the set of largest augmented
    score (`max_loss.pxi`) among those with at most ``spare`` more labels than are right, unless the set found has more.
    """
    cdef const i64[::1] indptr = documents[0], gold_indptr = documents[5]
    cdef const int[::1] indices = documents[1], gold = documents[6]
    cdef const double[::1] data = documents[2], squared_norm = documents[3], weight = documents[4]
    cdef const i64[::1] child_indptr = layout[0], parent_indptr = layout[2]
    cdef const int[::1] children = layout[1], parents = layout[3]
    cdef const unsigned char[::1] ends = layout[4]
    cdef double[:, ::1] node = weights[0], node_drift = weights[2]
    cdef double[::1] shared = weights[1], shared_drift = weights[3], coef_data = weights[6], work = weights[7]
    cdef i64[::1] coef_indptr = weights[4], counts = weights[8]
    cdef int[::1] coef_indices = weights[5]
    cdef Py_ssize_t m = child_indptr.shape[0] - 2, R = node.shape[1] - 2, i, v, p, d
    cdef i64 e
    cdef double score_gold
    cdef double[:, ::1] values = np.zeros((2, m + 1)), of_buckets = np.zeros((2, R + 2))
    cdef int[:, ::1] numbers = np.zeros((7, m + 1), dtype=np.int32)
    cdef int[::1] who = np.zeros(R + 2, dtype=np.int32), stack = np.zeros(4 * m + 4, dtype=np.int32)
    cdef int[::1] reach = np.zeros(2 * m + 4, dtype=np.int32)
    cdef unsigned char[:, ::1] members = np.zeros((3, m + 1), dtype=np.uint8)
    cdef i64[::1] offset = np.zeros(m + 1, dtype=np.int64)
    cdef bint plain = scale <= 0 and not np.any(node) and not np.any(shared)
    cdef int* capacity = &numbers[4, 0]
    cdef int* tree_parent = &numbers[5, 0]
    cdef unsigned char* is_label = &members[2, 0]
    cdef Sets w
    cdef MaxLoss augmented
    w.indptr, w.indices, w.data = &indptr[0], &indices[0], &data[0]
    w.squared_norm, w.weight, w.gold_indptr, w.gold = &squared_norm[0], &weight[0], &gold_indptr[0], &gold[0]
    w.m, w.child_indptr, w.below, w.ends = m, &child_indptr[0], &children[0], &ends[0]
    w.parent_indptr, w.parents = &parent_indptr[0], &parents[0]
    w.most, w.R, w.spare, w.scale, w.C = most, <int> R, spare, scale, C
    w.node, w.shared, w.node_drift, w.shared_drift = &node[0, 0], &shared[0], &node_drift[0, 0], &shared_drift[0]
    w.coef_indptr, w.coef_indices, w.coef_data = &coef_indptr[0], &coef_indices[0], &coef_data[0]
    w.work, w.counts, w.out, w.n_hat = &work[0], &counts[0], coef_indptr[first], 0
    w.s, w.gain, w.best, w.h, w.who = &values[0, 0], &values[1, 0], &of_buckets[0, 0], &of_buckets[1, 0], &who[0]
    w.taken, w.hat, w.k_hat, w.k_gold = &numbers[0, 0], &numbers[1, 0], &numbers[2, 0], &numbers[3, 0]
    w.is_hat, w.is_gold = &members[0, 0], &members[1, 0]
    augmented.indptr, augmented.below, augmented.ends = w.child_indptr, w.below, w.ends
    augmented.capacity, augmented.right, augmented.is_label = capacity, &numbers[6, 0], is_label
    augmented.s, augmented.shared, augmented.node = w.s, w.shared, NULL if plain else w.node
    augmented.B, augmented.most, augmented.offset = 2 if plain else <int> R + 2, most, &offset[0]
    augmented.V = augmented.P = NULL
    augmented.room_V = augmented.room_P = 0
    augmented.reach, augmented.reach_right = &reach[0], &reach[m + 2]
    with nogil:
        for v in range(m + 1):
            tree_parent[v] = -1
        for p in range(m + 1):
            v = m - 1 - p if p < m else m
            capacity[v] = 1 if v < m and w.ends[v] else 0
            for e in range(w.child_indptr[v], w.child_indptr[v + 1]):
                capacity[v] += capacity[w.below[e]]
                tree_parent[w.below[e]] = <int> v
        for d in range(base.shape[0]):
            i = first + d
            score_document(&w, i, &base[d, 0])
            find_set(&w)
            score_gold = mark_gold(&w, i)
            if spare >= 0:
                w.n_hat = augmented_set(
                    &augmented, m, spare, w.gold + w.gold_indptr[i], w.gold_indptr[i + 1] - w.gold_indptr[i], w.k_gold,
                    is_label, tree_parent, w.taken, w.n_hat, w.hat, w.is_hat, &stack[0],
                )
                if w.n_hat < 0:
                    break
            take_step(&w, i, mark_found(&w), score_gold)
            forget_sets(&w, i)
    free(augmented.V)
    free(augmented.P)
    if w.n_hat < 0:
        raise MemoryError("the tables of the augmented best set do not fit into memory")
    return int(w.out)
