"""The hierarchical multi-label SVM with one slack per pair, and the losses of both kinds of slack for certificates.

The problem and the layout of W are those of `ranking`. With one slack per pair every pair (y, z) of a row has a mass of
its own, 0 <= b <= weight_i, and is moved to its optimum alone: b <- clip(b + H / |a|^2). Entry e of ``labels`` is a
relevant class of its row, and mass[e] holds the masses of its pairs with all classes.
"""

from cython cimport floating

include "ranking_classes.pxi"


def sweep_pairs(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense, bint gram,
    const floating[::1] squared_norm, floating bias, tuple of_classes, const i64[::1] label_indptr,
    const int[::1] labels, const double[::1] weight, const int[::1] order, floating[:, :, ::1] W, double[:, ::1] mass,
    double[::1] room, unsigned char[::1] relevant,
):
    """One pass over the rows of ``order``: the largest step of a mass, in shares of its bound."""
    cdef Classes c = classes_of(of_classes)
    cdef Py_ssize_t i, k, n, n_panels = W.shape[0], height = W.shape[1], n_nodes = PANEL * n_panels
    cdef int y, z
    cdef double* a = &room[0]
    cdef double* change = a + n_nodes
    cdef double* difference = change + n_nodes
    cdef double* row = difference + n_nodes
    cdef const int* at = NULL
    cdef double h, step, new, length, largest = 0
    cdef i64 e, f
    with nogil:
        for k in range(order.shape[0]):
            i = order[k]
            n = indptr[i + 1] - indptr[i]
            if not dense:
                at = &indices[0] + indptr[i]
            node_scores(n, at, &data[0] + indptr[i], bias, &W[0, 0, 0], height, n_panels, NULL, False, a)
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
            move(n, at, &data[0] + indptr[i], bias, -1 if not gram else i, change, n_panels, height, &W[0, 0, 0])
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
            node_scores(n, at, &data[0] + indptr[i], bias, &W[0, 0, 0], height, n_panels, NULL, True, a)
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
