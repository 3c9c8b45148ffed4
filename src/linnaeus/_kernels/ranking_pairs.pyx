"""The hierarchical multi-label SVM with one slack per pair, and the losses of both kinds of slack for certificates.

The problem and the layout of W are those of `ranking`. With one slack per pair every pair (y, z) of a row has a mass of its
own, 0 <= b <= weight_i, and is moved to its optimum alone: b <- clip(b + H / |a|^2). Entry e of ``labels`` is a
relevant class of its row, and mass[e] holds the masses of its pairs with all classes.
"""

from cython cimport floating

include "ranking_classes.pxi"


cdef inline void node_scores(
    Py_ssize_t n, const int* at, const floating* data, floating bias, const floating* W, Py_ssize_t height,
    Py_ssize_t n_panels, bint exact, double* a,
) noexcept nogil:
    """a = scores of all nodes, ``height`` the number of rows of a panel; ``exact``: summed in double precision."""
    cdef Py_ssize_t q
    cdef int b
    cdef floating S[PANEL]
    cdef double T[PANEL]
    for q in range(n_panels):
        if floating is double:
            panel_dot_d(n, at, data, W + q * height * PANEL, T)
        elif exact:
            panel_dot_exact(n, at, data, W + q * height * PANEL, T)
        else:
            panel_dot_f(n, at, data, W + q * height * PANEL, S)
            for b in range(PANEL):
                T[b] = S[b]
        for b in range(PANEL):
            a[q * PANEL + b] = T[b] + bias * W[(q * height + height - 1) * PANEL + b]


def sweep_pairs(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense, bint gram,
    const floating[::1] squared_norm, floating bias, tuple of_classes, const i64[::1] label_indptr,
    const int[::1] labels, const double[::1] weight, const int[::1] order, floating[:, :, ::1] W, double[:, ::1] mass,
    double[::1] room, unsigned char[::1] relevant,
):
    """One pass over the rows of ``order``: the largest step of a mass, in shares of its bound."""
    cdef Classes c = classes_of(of_classes)
    cdef Py_ssize_t i, k, n, q, n_panels = W.shape[0], height = W.shape[1], n_nodes = PANEL * n_panels
    cdef int b, y, z
    cdef double* a = &room[0]
    cdef double* change = a + n_nodes
    cdef double* difference = change + n_nodes
    cdef double* row = difference + n_nodes
    cdef const int* at = NULL
    cdef double h, step, new, length, largest = 0
    cdef floating D[PANEL]
    cdef i64 e, f
    cdef bint moved
    with nogil:
        for k in range(order.shape[0]):
            i = order[k]
            n = indptr[i + 1] - indptr[i]
            if not dense:
                at = &indices[0] + indptr[i]
            node_scores(n, at, &data[0] + indptr[i], bias, &W[0, 0, 0], height, n_panels, False, a)
            for e in range(label_indptr[i], label_indptr[i + 1]):
                relevant[labels[e]] = 1
            for e in range(label_indptr[i], label_indptr[i + 1]):
                y = labels[e]
                cost_row(&c, y, row)
                for z in range(c.n_classes):
                    if relevant[z] or row[z] == 0:
                        continue
                    h = row[z] * (1 - score(&c, a, y) + score(&c, a, z))
                    if (h <= 0 and mass[e, z] == 0) or (h >= 0 and mass[e, z] == weight[i]):
                        continue
                    scatter(&c, y, 1, difference)
                    scatter(&c, z, -1, difference)
                    length = score(&c, difference, y) - score(&c, difference, z)
                    length *= row[z] * row[z] * squared_norm[i]
                    clear(&c, y, difference)
                    clear(&c, z, difference)
                    if length > 0:
                        new = min(max(mass[e, z] + h / length, 0), weight[i])
                    else:
                        new = weight[i] if h > 0 else 0
                    step = new - mass[e, z]
                    largest = max(largest, max(step, -step) / weight[i])
                    mass[e, z] = new
                    step *= row[z]
                    scatter(&c, y, step, change)
                    scatter(&c, z, -step, change)
                    scatter(&c, y, step * squared_norm[i], a)
                    scatter(&c, z, -step * squared_norm[i], a)
            for f in range(label_indptr[i], label_indptr[i + 1]):
                relevant[labels[f]] = 0
            for q in range(n_panels):
                moved = False
                for b in range(PANEL):
                    D[b] = <floating> change[q * PANEL + b]
                    moved |= D[b] != 0
                    change[q * PANEL + b] = 0
                if not moved:
                    continue
                if gram:
                    for b in range(PANEL):
                        W[q, i, b] += D[b]
                    continue
                if floating is float:
                    panel_axpy_f(n, at, &data[0] + indptr[i], D, &W[q, 0, 0])
                else:
                    panel_axpy_d(n, at, &data[0] + indptr[i], D, &W[q, 0, 0])
                for b in range(PANEL):
                    W[q, height - 1, b] += bias * D[b]
    return largest


def losses(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense, floating bias,
    tuple of_classes, const i64[::1] label_indptr, const int[::1] labels, bint per_pair, bint gram,
    const floating[:, :, ::1] W, double[::1] loss, double[::1] norm, double[::1] room, unsigned char[::1] relevant,
):
    """loss[i] = max(0, max_p H_p), or with one slack per pair the sum of all max(0, H_p), from W as it is stored.

    With ``gram``, norm[i] becomes the share of row i in |w|^2. Sums are in double precision.
    """
    cdef Classes c = classes_of(of_classes)
    cdef Py_ssize_t i, n, q, n_panels = W.shape[0], height = W.shape[1], n_nodes = PANEL * n_panels
    cdef int b, y, z
    cdef double* a = &room[0]
    cdef double* F = a + n_nodes
    cdef double* row = F + c.n_classes
    cdef const int* at = NULL
    cdef double h, own, high, total
    cdef i64 e
    with nogil:
        for i in range(loss.shape[0]):
            loss[i] = 0
            n = indptr[i + 1] - indptr[i]
            if not dense:
                at = &indices[0] + indptr[i]
            node_scores(n, at, &data[0] + indptr[i], bias, &W[0, 0, 0], height, n_panels, True, a)
            if gram:
                norm[i] = 0
                for q in range(n_panels):
                    for b in range(PANEL):
                        norm[i] += a[q * PANEL + b] * W[q, i, b]
            if label_indptr[i] == label_indptr[i + 1]:
                continue
            for z in range(c.n_classes):
                F[z] = score(&c, a, z)
            for e in range(label_indptr[i], label_indptr[i + 1]):
                relevant[labels[e]] = 1
            high = total = 0
            for e in range(label_indptr[i], label_indptr[i + 1]):
                y = labels[e]
                own = 1 - F[y]
                cost_row(&c, y, row)
                for z in range(c.n_classes):
                    h = row[z] * (own + F[z])
                    if h > 0 and not relevant[z]:
                        total += h
                        high = max(high, h)
            for e in range(label_indptr[i], label_indptr[i + 1]):
                relevant[labels[e]] = 0
            loss[i] = total if per_pair else high
