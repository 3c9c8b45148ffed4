"""The weights of one feature on all labels as few steps along the paths of a tree.

Labels c hang in a tree of vertices 0 .. n_vertices - 1 (0 is the top, parents before children). With  value_v  at every
vertex, a label has  value_parent(c) + step_c , and a vertex  value_v = value_parent(v) + step_v . Wanted are few steps
that are not 0, such that no label is off by the threshold t or more:

    top           the median of all labels, if this leaves at least ``worth`` fewer steps than 0 would, else 0
    other vertex  the middle one of its children (labels, and vertices below by their own middles), if more than one
    child
                  comes within t that was not within t of what the vertex takes over; else what it takes over
    label         a step only where it differs from what it takes over by t or more

This is greedy from the top, and can be worse than labels straight below the top; then the feature is left so.
``parent`` (n_vertices + n_labels) gives the vertex above, of labels last; ``indptr`` and ``children`` list the same
edges.
"""

from cython cimport floating
from libc.math cimport fabs

ctypedef long long i64


cdef inline floating middle(floating* a, Py_ssize_t n) noexcept nogil:
    """The element of a with n // 2 others before it in order; a is reordered."""
    cdef Py_ssize_t low = 0, high = n - 1, goal = n // 2, i, j
    cdef floating pivot, swap
    while high - low > 12:
        pivot = a[(low + high) // 2]
        i = low
        j = high
        while i <= j:
            while a[i] < pivot:
                i += 1
            while pivot < a[j]:
                j -= 1
            if i <= j:
                swap = a[i]
                a[i] = a[j]
                a[j] = swap
                i += 1
                j -= 1
        if goal <= j:
            high = j
        elif goal >= i:
            low = i
        else:
            return a[goal]
    for i in range(low + 1, high + 1):
        swap = a[i]
        j = i
        while j > low and swap < a[j - 1]:
            a[j] = a[j - 1]
            j -= 1
        a[j] = swap
    return a[goal]


cdef inline Py_ssize_t far(const floating* w, Py_ssize_t n, floating value, floating t) noexcept nogil:
    """How many of w need a step from ``value``."""
    cdef Py_ssize_t c, found = 0
    for c in range(n):
        found += (fabs(w[c] - value) >= t) & (w[c] != value)
    return found


cdef Py_ssize_t descend(
    floating* value, const int* parent, const i64* indptr, const int* children, Py_ssize_t n_vertices,
    Py_ssize_t n_labels, floating t, floating* scratch, floating* steps
) noexcept nogil:
    """Steps below the top, and how many there are. ``value`` has the top's value and the weights of the labels."""
    cdef Py_ssize_t v, c, found = 0, gain
    cdef i64 e
    cdef floating over, own, x
    for v in range(n_vertices - 1, 0, -1):
        for e in range(indptr[v], indptr[v + 1]):
            scratch[e - indptr[v]] = value[children[e]]
        value[v] = middle(scratch, indptr[v + 1] - indptr[v])
    for v in range(1, n_vertices):
        over = value[parent[v]]
        own = value[v]
        gain = 0
        for e in range(indptr[v], indptr[v + 1]):
            x = value[children[e]]
            gain += (fabs(x - own) < t) | (x == own)
            gain -= (fabs(x - over) < t) | (x == over)
        if gain > 1:
            steps[v] = own - over
            found += 1
        else:
            steps[v] = 0
            value[v] = over
    for c in range(n_vertices, n_vertices + n_labels):
        x = value[c] - value[parent[c]]
        if fabs(x) >= t and x != 0:
            steps[c] = x
            found += 1
        else:
            steps[c] = 0
    return found


def split(
    const floating[:, ::1] W, const int[::1] parent, const i64[::1] indptr, const int[::1] children, double threshold,
    Py_ssize_t worth, floating[:, ::1] buffers, floating[::1] tops, i64[::1] out_indptr, int[::1] out_indices,
    floating[::1] out_data,
):
    """Steps of W (n_features x n_labels) as CSR rows of n_vertices + n_labels columns, and the values of the top.

    Returns how many steps labels straight below the top would have. ``buffers`` has three rows as long as ``parent``;
    ``out_indices`` and ``out_data`` have room for n_labels entries of every feature.
    """
    cdef Py_ssize_t n_labels = W.shape[1], n_vertices = parent.shape[0] - n_labels, i, c, few, straight = 0
    cdef i64 end = 0
    cdef floating t = <floating> threshold, top, x
    cdef floating *value = &buffers[0, 0]
    cdef floating *scratch = &buffers[1, 0]
    cdef floating *steps = &buffers[2, 0]
    cdef const floating* w
    with nogil:
        out_indptr[0] = 0
        for i in range(W.shape[0]):
            w = &W[i, 0]
            top = 0
            few = far(w, n_labels, top, t)
            if few >= worth:  # else no top can save as many
                for c in range(n_labels):
                    scratch[c] = w[c]
                x = middle(scratch, n_labels)
                c = far(w, n_labels, x, t)
                if few - c >= worth:
                    top = x
                    few = c
            tops[i] = top
            straight += few
            value[0] = top
            for c in range(n_labels):
                value[n_vertices + c] = w[c]
            if few > 1 and descend(
                value, &parent[0], &indptr[0], &children[0], n_vertices, n_labels, t, scratch, steps
            ) < few:
                for c in range(1, n_vertices + n_labels):
                    if steps[c] != 0:
                        out_indices[end] = <int> c
                        out_data[end] = steps[c]
                        end += 1
            elif few:
                for c in range(n_labels):
                    x = w[c] - top
                    if fabs(x) >= t and x != 0:
                        out_indices[end] = <int> (n_vertices + c)
                        out_data[end] = x
                        end += 1
            out_indptr[i + 1] = end
    return straight
