"""Maximum-weight closed sets in a DAG by minimum cut.

Problem: max over closed U of sum_{v in U} u_v, where U holds all parents of its members. Network: every node v with
u_v > 0 is a source of u_v, every node with u_v < 0 a sink of -u_v, and flow may run from a node to its parents without
limit. When no surplus can reach an unfilled sink any more, the nodes that a remaining surplus can reach (up to parents,
or down an edge against its flow) are the smallest of the best sets.

Steps for each document, all on arrays made once:
1. Drop. B(v) = u_v + sum_{c child of v} max(0, B(c)) bounds what v and anything below it can bring, since a node with
   several parents is counted under each of them; B(v) <= 0 removes v and all below it. Repeat until nothing changes.
2. Sweep upwards: every node passes its surplus on, first to parents that are unfilled sinks, the rest to one parent.
   On a tree this is already the maximum flow.
3. Dinic's algorithm for the rest: levels by breadth-first search from all surpluses, then a blocking flow.
"""

import numpy as np

from cython cimport floating

ctypedef long long i64


cdef struct Net:
    Py_ssize_t n
    const i64* up          # parents of v: up_to[up[v]:up[v + 1]]; the place of an edge there is its number
    const int* up_to
    const i64* down        # children of v: down_to[down[v]:down[v + 1]]
    const int* down_to
    const i64* down_edge   # ... and the numbers of these edges
    unsigned char* alive
    double* excess         # surplus (> 0) or unfilled sink (< 0)
    double* bound
    double* flow           # of every edge, from child to parent
    int* level
    i64* arc               # the next arc to try: parents first, then children
    int* queue
    int* path
    i64* path_edge


def best_closures(
    const floating[:, ::1] S, const int[::1] position, const i64[::1] parent_indptr, const int[::1] parent_indices,
    const i64[::1] child_indptr, const int[::1] child_indices, const i64[::1] child_edges
):
    """Smallest closed sets of largest total score: (indptr int64, indices int32), one sorted row for each row of S.

    ``position[v]`` is the column of node v in S (n_docs x n_scored), or -1 for a node of weight 0. ``child_edges[k]``
    is the place of the edge ``child_indices[k]`` in ``parent_indices``. Node numbers are in level order.
    """
    cdef Py_ssize_t n_docs = S.shape[0], n = position.shape[0], m = parent_indices.shape[0], d, v, out = 0
    cdef unsigned char[::1] alive = np.zeros(n + 1, dtype=np.uint8)
    cdef double[:, ::1] numbers = np.zeros((2, n + 1))
    cdef double[::1] flow = np.zeros(m + 1)
    cdef int[:, ::1] whole = np.zeros((3, n + 1), dtype=np.int32)
    cdef i64[:, ::1] places = np.zeros((2, n + 1), dtype=np.int64)
    indptr_array = np.zeros(n_docs + 1, dtype=np.int64)
    indices_array = np.empty(n_docs * n + 1, dtype=np.int32)
    cdef i64[::1] indptr = indptr_array
    cdef int[::1] indices = indices_array
    cdef Net net
    if n == 0:
        return indptr_array, indices_array[:0].copy()
    net.n = n
    net.up = &parent_indptr[0]
    net.down = &child_indptr[0]
    net.up_to = &parent_indices[0] if m else NULL
    net.down_to = &child_indices[0] if m else NULL
    net.down_edge = &child_edges[0] if m else NULL
    net.alive = &alive[0]
    net.excess = &numbers[0, 0]
    net.bound = &numbers[1, 0]
    net.flow = &flow[0]
    net.level = &whole[0, 0]
    net.queue = &whole[1, 0]
    net.path = &whole[2, 0]
    net.arc = &places[0, 0]
    net.path_edge = &places[1, 0]
    with nogil:
        for d in range(n_docs):
            for v in range(n):
                net.excess[v] = S[d, position[v]] if position[v] >= 0 else 0.0
            drop(&net)
            sweep(&net)
            while find_levels(&net):
                block(&net)
            for v in range(n):
                if net.level[v] >= 0:
                    indices[out] = <int> v
                    out += 1
            indptr[d + 1] = out
    return indptr_array, indices_array[:out].copy()


def closures_within(
    const double[:, ::1] S, const int[:, ::1] group, const i64[::1] parent_indptr, const int[::1] parent_indices
):
    """As `best_closures` of all nodes, but edges between nodes of different groups (of each document) do not count.

    Every group is then a problem of its own. Returns marks (uint8 n_docs x n).
    """
    cdef Py_ssize_t n_docs = S.shape[0], n = S.shape[1], m = parent_indices.shape[0], d, v, e, k
    cdef int p
    cdef unsigned char[::1] alive = np.zeros(n + 1, dtype=np.uint8)
    cdef double[:, ::1] numbers = np.zeros((2, n + 1))
    cdef double[::1] flow = np.zeros(m + 1)
    cdef int[:, ::1] whole = np.zeros((3, n + 1), dtype=np.int32)
    cdef i64[:, ::1] places = np.zeros((2, n + 1), dtype=np.int64)
    cdef i64[::1] up = np.zeros(n + 2, dtype=np.int64), down = np.zeros(n + 2, dtype=np.int64)
    cdef int[::1] up_to = np.zeros(m + 1, dtype=np.int32), down_to = np.zeros(m + 1, dtype=np.int32)
    cdef i64[::1] down_edge = np.zeros(m + 1, dtype=np.int64), at = np.zeros(n + 2, dtype=np.int64)
    marks_array = np.zeros((n_docs, n), dtype=np.uint8)
    cdef unsigned char[:, ::1] marks = marks_array
    cdef Net net
    net.n = n
    net.up, net.up_to = &up[0], &up_to[0]
    net.down, net.down_to, net.down_edge = &down[0], &down_to[0], &down_edge[0]
    net.alive, net.excess, net.bound, net.flow = &alive[0], &numbers[0, 0], &numbers[1, 0], &flow[0]
    net.level, net.queue, net.path = &whole[0, 0], &whole[1, 0], &whole[2, 0]
    net.arc, net.path_edge = &places[0, 0], &places[1, 0]
    with nogil:
        for d in range(n_docs):
            k = 0
            for v in range(n + 1):
                down[v] = 0
            for v in range(n):
                net.excess[v] = S[d, v]
                up[v] = k
                for e in range(parent_indptr[v], parent_indptr[v + 1]):
                    p = parent_indices[e]
                    if group[d, p] == group[d, v]:
                        up_to[k] = p
                        down[p + 1] += 1
                        k += 1
            up[n] = k
            for v in range(n):
                down[v + 1] += down[v]
                at[v] = down[v]
            for v in range(n):
                for e in range(up[v], up[v + 1]):
                    p = up_to[e]
                    down_to[at[p]] = <int> v
                    down_edge[at[p]] = e
                    at[p] += 1
            drop(&net)
            sweep(&net)
            while find_levels(&net):
                block(&net)
            for v in range(n):
                marks[d, v] = net.level[v] >= 0
    return marks_array


cdef void drop(Net* net) noexcept nogil:
    """Drop the nodes that cannot be in the answer: the others stay alive."""
    cdef Py_ssize_t v, e
    cdef bint changed = True
    for v in range(net.n):
        net.alive[v] = 1
    while changed:
        changed = False
        for v in range(net.n):
            net.bound[v] = net.excess[v]
        for v in range(net.n - 1, -1, -1):
            if net.alive[v]:
                if net.bound[v] > 0.0:
                    for e in range(net.up[v], net.up[v + 1]):
                        net.bound[net.up_to[e]] += net.bound[v]
                else:
                    net.alive[v] = 0
        for v in range(net.n):
            if net.alive[v]:
                for e in range(net.up[v], net.up[v + 1]):
                    if not net.alive[net.up_to[e]]:
                        net.alive[v] = 0
                        changed = True  # a node with something to give is gone: the bounds above it shrink
                        break


cdef void sweep(Net* net) noexcept nogil:
    """A first flow: from the bottom up, every surplus to the parents; what is left over stands at the top."""
    cdef Py_ssize_t v, e, p
    cdef double amount
    for v in range(net.n - 1, -1, -1):
        if not net.alive[v]:
            continue
        for e in range(net.up[v], net.up[v + 1]):
            net.flow[e] = 0.0
        if net.excess[v] <= 0.0 or net.up[v] == net.up[v + 1]:
            continue
        for e in range(net.up[v], net.up[v + 1]):
            p = net.up_to[e]
            if net.excess[p] < 0.0 and net.excess[v] > 0.0:
                amount = min(net.excess[v], -net.excess[p])
                net.flow[e] += amount
                net.excess[v] -= amount
                net.excess[p] += amount
        if net.excess[v] > 0.0:
            e = net.up[v]
            net.flow[e] += net.excess[v]
            net.excess[net.up_to[e]] += net.excess[v]
            net.excess[v] = 0.0


cdef bint find_levels(Net* net) noexcept nogil:
    """Distances from the surpluses in the residual network, -1 where none leads; is an unfilled sink within reach?"""
    cdef Py_ssize_t head = 0, tail = 0, v, w, e, k
    cdef bint found = False
    for v in range(net.n):
        net.level[v] = -1
        if net.alive[v] and net.excess[v] > 0.0:
            net.level[v] = 0
            net.queue[tail] = <int> v
            tail += 1
    while head < tail:
        v = net.queue[head]
        head += 1
        net.arc[v] = net.up[v]
        if net.excess[v] < 0.0:
            found = True
        for e in range(net.up[v], net.up[v + 1]):
            w = net.up_to[e]
            if net.level[w] < 0:
                net.level[w] = net.level[v] + 1
                net.queue[tail] = <int> w
                tail += 1
        for k in range(net.down[v], net.down[v + 1]):
            w = net.down_to[k]
            if net.alive[w] and net.level[w] < 0 and net.flow[net.down_edge[k]] > 0.0:
                net.level[w] = net.level[v] + 1
                net.queue[tail] = <int> w
                tail += 1
    return found


cdef void block(Net* net) noexcept nogil:
    """Augment along shortest paths from each surplus until no such path is left."""
    cdef Py_ssize_t s, v, depth, i
    cdef double amount
    for s in range(net.n):
        if not net.alive[s]:
            continue
        while net.excess[s] > 0.0:
            depth = 0
            v = s
            net.path[0] = <int> s
            while net.excess[v] >= 0.0:
                if step(net, v, depth):
                    depth += 1
                    v = net.path[depth]
                elif depth == 0:
                    break
                else:  # a dead end: its predecessor tries its next arc
                    depth -= 1
                    v = net.path[depth]
                    net.arc[v] += 1
            if net.excess[v] >= 0.0:
                break
            amount = min(net.excess[s], -net.excess[v])
            for i in range(depth):
                if net.path_edge[i] < 0:
                    amount = min(amount, net.flow[-1 - net.path_edge[i]])
            net.excess[s] -= amount
            net.excess[v] += amount
            for i in range(depth):
                if net.path_edge[i] < 0:
                    net.flow[-1 - net.path_edge[i]] -= amount
                else:
                    net.flow[net.path_edge[i]] += amount


cdef bint step(Net* net, Py_ssize_t v, Py_ssize_t depth) noexcept nogil:
    """Go from v along its next usable arc; edge numbers on the path are negative (-1 - e) against the flow."""
    cdef i64 n_up = net.up[v + 1] - net.up[v], end = net.up[v + 1] + net.down[v + 1] - net.down[v], k, e
    cdef Py_ssize_t w
    while net.arc[v] < end:
        if net.arc[v] < net.up[v + 1]:
            e = net.arc[v]
            w = net.up_to[e]
            if net.level[w] == net.level[v] + 1:
                net.path[depth + 1] = <int> w
                net.path_edge[depth] = e
                return True
        else:
            k = net.down[v] + net.arc[v] - net.up[v] - n_up
            e = net.down_edge[k]
            w = net.down_to[k]
            if net.alive[w] and net.level[w] == net.level[v] + 1 and net.flow[e] > 0.0:
                net.path[depth + 1] = <int> w
                net.path_edge[depth] = -1 - e
                return True
        net.arc[v] += 1
    return False
