"""Mistake-driven ranking models: one pass of the hierarchical perceptron or of Hieron, and a step of MinOver.

Documents x_i with classes Y_i, attributes L (n_classes x n_attributes, CSR), weights W (n_features x n_attributes):

    a = W'x,  F = L a                                       scores of all classes
    y = argmin over Y_i of F,  z = argmax over the others   the pair that is ranked worst; lowest number on ties
    margin = F_y - F_z
    perceptron    margin <= 0:                tau = D(y, z)
    Hieron        z is predicted for y:       tau = (sqrt D(y, z) - margin)_+ / (|L_y - L_z|^2 |x|^2)
    Hieron, augmented: y, z maximise F_z - F_y + sqrt D(y, z); tau as before, where it is positive
    W += tau x (L_y - L_z)',    U += l tau x (L_y - L_z)'   l: steps before this one; the mean of all W is W - U / steps

D(y, z) is a sum over the places in which two classes differ, or a matrix (`losses.pair_cost`). A document is scored by
one row and learned by another, which are the same in the primal. In the dual, features are training documents: the
scored row is a row of the Gram matrix, the learned one is a unit vector.
"""

from cython cimport floating
from libc.math cimport sqrt

ctypedef long long i64

cdef extern from "attribute_sum.h" nogil:
    void attribute_sum_f(
        Py_ssize_t n, const int* indices, const float* data, const float* W, Py_ssize_t width, float* a)
    void attribute_sum_d(
        Py_ssize_t n, const int* indices, const double* data, const double* W, Py_ssize_t width, double* a)

cdef enum:
    PERCEPTRON = 0
    HIERON = 1
    AUGMENTED = 2


cdef struct Cost:
    const i64* indptr  # places of every class, CSR
    const int* indices
    const double* miss
    const double* extra
    const double* scale
    const double* matrix  # NULL, or n_classes x n_classes
    int* marked  # scratch: marked[p] == y + 1 says that place p is one of class y
    Py_ssize_t n_classes


cdef inline double mark(const Cost* cost, int y) noexcept nogil:
    """Mark the places of y; returns the cost of missing all of them."""
    cdef i64 e
    cdef double whole = 0
    if cost.matrix == NULL:
        for e in range(cost.indptr[y], cost.indptr[y + 1]):
            cost.marked[cost.indices[e]] = y + 1
            whole += cost.miss[cost.indices[e]]
    return whole


cdef inline double pair(const Cost* cost, int y, int z, double missed) noexcept nogil:
    """D(y, z); the places of y are marked, ``missed`` is the cost of missing all of them."""
    cdef i64 e
    cdef int p
    cdef double wrong = 0
    if cost.matrix != NULL:
        return cost.matrix[y * cost.n_classes + z]
    for e in range(cost.indptr[z], cost.indptr[z + 1]):
        p = cost.indices[e]
        if cost.marked[p] == y + 1:
            missed -= cost.miss[p]
        else:
            wrong += cost.extra[p]
    return cost.scale[y] * missed + cost.scale[z] * wrong


cdef inline void extremes(
    const double* F, Py_ssize_t n_classes, const int* labels, i64 n_labels, int* lowest, int* highest
) noexcept nogil:
    """The label of lowest score, and the class of highest score among the others."""
    cdef i64 e = 0
    cdef int c
    lowest[0] = highest[0] = -1
    for c in range(<int> n_classes):
        if e < n_labels and labels[e] == c:
            if lowest[0] < 0 or F[c] < F[lowest[0]]:
                lowest[0] = c
            e += 1
        elif highest[0] < 0 or F[c] > F[highest[0]]:
            highest[0] = c


cdef inline bint augmented_pair(
    const Cost* cost, const double* F, Py_ssize_t n_classes, const int* labels, i64 n_labels, int* right, int* wrong
) noexcept nogil:
    """The pair of largest difference of scores plus root of the cost; False where none is above 0."""
    cdef i64 e, b
    cdef int y, z
    cdef double value, whole, gain = 0
    for e in range(n_labels):
        y = labels[e]
        whole = mark(cost, y)
        b = 0
        for z in range(<int> n_classes):
            if b < n_labels and labels[b] == z:
                b += 1
                continue
            value = F[z] - F[y] + sqrt(pair(cost, y, z, whole))
            if value > gain:
                gain = value
                right[0], wrong[0] = y, z
    return gain > 0


cdef inline Py_ssize_t attribute_difference(
    const i64* indptr, const int* indices, const double* data, int y, int z, double* difference, int* touched,
    double* distance,
) noexcept nogil:
    """Attributes of class y less those of class z, in ``touched`` places; returns their number, and |.|^2."""
    cdef Py_ssize_t t, n_touched = 0, kept = 0
    cdef i64 e
    cdef int p
    cdef double value
    for e in range(indptr[y], indptr[y + 1]):
        difference[indices[e]] = data[e]
        touched[n_touched] = indices[e]
        n_touched += 1
    for e in range(indptr[z], indptr[z + 1]):
        p = indices[e]
        if difference[p] == 0:
            touched[n_touched] = p
            n_touched += 1
        difference[p] -= data[e]
    distance[0] = 0
    for t in range(n_touched):  # what both classes have does not move
        value = difference[touched[t]]
        distance[0] += value * value
        touched[kept] = touched[t]
        kept += value != 0
    return kept


def learn_rows(
    const i64[::1] score_indptr, const int[::1] score_indices, const floating[::1] score_data, bint dense,
    const i64[::1] step_indptr, const int[::1] step_indices, const floating[::1] step_data, bint step_dense,
    const double[::1] squared_norm, const double[::1] weight, const i64[::1] label_indptr, const int[::1] labels,
    const int[::1] order, const i64[::1] attr_indptr, const int[::1] attr_indices, const double[::1] attr_data,
    const i64[::1] place_indptr, const int[::1] place_indices, const double[::1] miss, const double[::1] extra,
    const double[::1] scale, const double[:, ::1] matrix, int rule, i64 steps,
    floating[:, ::1] W, double[:, ::1] U, int[::1] right, int[::1] wrong, double[::1] size,
    floating[::1] a, double[::1] F, double[::1] difference, int[::1] touched, int[::1] marked,
):
    """Visit the documents ``order``; W and U are updated in place. Returns the number of steps so far.

    Visit k learned nothing where ``right[k]`` is -1; otherwise it learned the pair (right[k], wrong[k]) by tau size[k].
    A document without a pair to compare, or an empty row, is not a step. U has no rows if no mean is needed. ``a``,
    ``F``, ``difference`` (zeros), ``touched`` and ``marked`` (zeros) are scratch.
    """
    cdef Py_ssize_t k, i, j, n_classes = F.shape[0], width = W.shape[1], t, n_touched
    cdef i64 e, first, last, length
    cdef int y, z, c
    cdef double value, tau, distance, D, x
    cdef bint averaged = U.shape[0] > 0
    cdef const int* row = NULL
    cdef Cost cost
    cost.indptr, cost.indices = &place_indptr[0], &place_indices[0]
    cost.miss, cost.extra, cost.scale = &miss[0], &extra[0], &scale[0]
    cost.matrix = &matrix[0, 0] if matrix.shape[0] else NULL
    cost.marked, cost.n_classes = &marked[0], n_classes
    with nogil:
        for k in range(order.shape[0]):
            i = order[k]
            right[k] = wrong[k] = -1
            first, last = label_indptr[i], label_indptr[i + 1]
            if first == last or last - first == n_classes or squared_norm[i] <= 0:
                continue
            steps += 1
            length = score_indptr[i + 1] - score_indptr[i]
            if not dense:
                row = &score_indices[0] + score_indptr[i]
            if floating is float:
                attribute_sum_f(length, row, &score_data[0] + score_indptr[i], &W[0, 0], width, &a[0])
            else:
                attribute_sum_d(length, row, &score_data[0] + score_indptr[i], &W[0, 0], width, &a[0])
            for c in range(n_classes):
                value = 0
                for e in range(attr_indptr[c], attr_indptr[c + 1]):
                    value += attr_data[e] * a[attr_indices[e]]
                F[c] = value
            extremes(&F[0], n_classes, &labels[first], last - first, &y, &z)
            if rule == AUGMENTED:
                if not augmented_pair(&cost, &F[0], n_classes, &labels[first], last - first, &y, &z):
                    continue
            elif rule == HIERON:
                if F[z] < F[y] or (F[z] == F[y] and y < z):
                    continue
            elif F[y] > F[z]:
                continue
            D = pair(&cost, y, z, mark(&cost, y))
            n_touched = attribute_difference(
                &attr_indptr[0], &attr_indices[0], &attr_data[0], y, z, &difference[0], &touched[0], &distance
            )
            if rule == PERCEPTRON:
                tau = D
            else:
                tau = sqrt(D) - (F[y] - F[z])
                tau = tau / (distance * squared_norm[i]) if tau > 0 and distance > 0 else 0
            tau *= weight[i]
            if tau > 0:
                right[k], wrong[k], size[k] = y, z, tau
                for e in range(step_indptr[i], step_indptr[i + 1]):
                    j = e - step_indptr[i] if step_dense else step_indices[e]
                    x = tau * step_data[e]
                    for t in range(n_touched):
                        W[j, touched[t]] += <floating> (x * difference[touched[t]])
                    if averaged:
                        x *= steps - 1
                        for t in range(n_touched):
                            U[j, touched[t]] += x * difference[touched[t]]
            for t in range(n_touched):
                difference[touched[t]] = 0
    return steps


def shift_scores(
    double[:, ::1] F, const double[::1] K, const double[::1] d, const i64[::1] label_indptr, const int[::1] labels,
    double[::1] margin, int[::1] right, int[::1] wrong,
):
    """F += K d' for a column K of the Gram matrix; update margins and worst pairs. Returns the row of least margin.

    Only rows with K != 0 change. In such a row the lowest right and the highest wrong class are updated as long as
    their own score does not move away; otherwise the row is searched again. Rows without a pair to compare have right =
    -1.
    """
    cdef Py_ssize_t i, c, n_classes = F.shape[1], best = -1
    cdef i64 e, last
    cdef int y, z
    cdef double k, low, high, least = 0
    cdef bint again
    with nogil:
        for i in range(F.shape[0]):
            y, z = right[i], wrong[i]
            if y < 0:
                continue
            k = K[i]
            if k != 0:
                again = k * d[y] > 0 or k * d[z] < 0
                for c in range(n_classes):
                    F[i, c] += k * d[c]
                if again:
                    y = z = -1
                    low = high = 0
                else:
                    low, high = F[i, y], F[i, z]
                e, last = label_indptr[i], label_indptr[i + 1]
                for c in range(n_classes):
                    if e < last and labels[e] == c:
                        e += 1
                        if y < 0 or F[i, c] < low or (F[i, c] == low and c < y):
                            y, low = <int> c, F[i, c]
                    elif z < 0 or F[i, c] > high or (F[i, c] == high and c < z):
                        z, high = <int> c, F[i, c]
                right[i], wrong[i] = y, z
                margin[i] = low - high
            if best < 0 or margin[i] < least:
                best, least = i, margin[i]
    return best
