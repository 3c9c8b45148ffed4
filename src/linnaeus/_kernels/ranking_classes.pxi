# What both ranking kernels know of classes; included, so that each is compiled for every instruction set.

from linnaeus._kernels.panel cimport PANEL, panel_axpy_d, panel_axpy_f, panel_dot_d, panel_dot_exact, panel_dot_f

ctypedef long long i64


# Attributes of classes (CSR rows), and what a pair costs: a matrix, or
#     D(y, z) = of_true[y] + of_other[z] - (share_true[y] + share_other[z]) sum_{v in members(y) and members(z)}
#     volume[v].
cdef struct Classes:
    int n_classes
    const i64* indptr
    const int* indices
    const double* values
    const double* matrix
    const i64* member_indptr
    const int* members
    const i64* below_indptr
    const int* below
    const double* volume
    const double* sides  # of_true, of_other, share_true, share_other one after the other


cdef Classes classes_of(tuple arrays):
    """The arrays of `models.ranking.solver.ClassArrays` by their addresses; the caller holds the arrays."""
    cdef const i64[::1] indptr = arrays[0], member_indptr = arrays[4], below_indptr = arrays[6]
    cdef const int[::1] indices = arrays[1], members = arrays[5], below = arrays[7]
    cdef const double[::1] values = arrays[2], volume = arrays[8]
    cdef const double[:, ::1] matrix = arrays[3], sides = arrays[9]
    cdef Classes found
    found.n_classes = <int> (indptr.shape[0] - 1)
    found.indptr = &indptr[0]
    found.indices = &indices[0]
    found.values = &values[0]
    found.matrix = &matrix[0, 0] if matrix.shape[0] == found.n_classes else NULL
    found.member_indptr = &member_indptr[0]
    found.members = &members[0]
    found.below_indptr = &below_indptr[0]
    found.below = &below[0]
    found.volume = &volume[0]
    found.sides = &sides[0, 0]
    return found


cdef inline double score(const Classes* c, const double* a, int y) noexcept nogil:
    """F(x, y) from the scores a of the nodes."""
    cdef double total = 0
    cdef i64 e
    for e in range(c.indptr[y], c.indptr[y + 1]):
        total += c.values[e] * a[c.indices[e]]
    return total


cdef inline void scatter(const Classes* c, int y, double t, double* node) noexcept nogil:
    """node += t A(y)."""
    cdef i64 e
    for e in range(c.indptr[y], c.indptr[y + 1]):
        node[c.indices[e]] += t * c.values[e]


cdef inline void clear(const Classes* c, int y, double* node) noexcept nogil:
    cdef i64 e
    for e in range(c.indptr[y], c.indptr[y + 1]):
        node[c.indices[e]] = 0


cdef void cost_row(const Classes* c, int y, double* row) noexcept nogil:
    """row[z] = D(y, z) for all classes z."""
    cdef int z, n = c.n_classes
    cdef i64 e, k
    cdef double t
    if c.matrix != NULL:
        for z in range(n):
            row[z] = c.matrix[<Py_ssize_t> y * n + z]
        return
    for z in range(n):
        row[z] = 0
    for e in range(c.member_indptr[y], c.member_indptr[y + 1]):
        t = c.volume[c.members[e]]
        for k in range(c.below_indptr[c.members[e]], c.below_indptr[c.members[e] + 1]):
            row[c.below[k]] += t
    for z in range(n):
        row[z] = c.sides[y] + c.sides[n + z] - (c.sides[2 * n + y] + c.sides[3 * n + z]) * row[z]
    row[y] = 0


cdef inline void node_scores(
    Py_ssize_t n, const int* at, const floating* data, floating bias, const floating* W, Py_ssize_t height,
    Py_ssize_t n_panels, const unsigned char* wanted, bint exact, double* a,
) noexcept nogil:
    """a = scores of nodes, of all or of the panels that are wanted; ``height``: rows of a panel, of which the last is
    that of the constant. ``exact``: summed in double precision."""
    cdef Py_ssize_t q
    cdef int b
    cdef floating S[PANEL]
    cdef double T[PANEL]
    for q in range(n_panels):
        if wanted != NULL and not wanted[q]:
            continue
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


cdef inline void move(
    Py_ssize_t n, const int* at, const floating* data, floating bias, Py_ssize_t own, double* change,
    Py_ssize_t n_panels, Py_ssize_t height, floating* W,
) noexcept nogil:
    """W += change (x) the row, and change = 0; where ``own`` is not negative, only row ``own`` of W, of a Gram row."""
    cdef Py_ssize_t q
    cdef int b
    cdef floating D[PANEL]
    cdef floating* panel
    cdef bint moved
    for q in range(n_panels):
        moved = False
        for b in range(PANEL):
            D[b] = <floating> change[q * PANEL + b]
            moved |= D[b] != 0
            change[q * PANEL + b] = 0
        if not moved:
            continue
        panel = W + q * height * PANEL
        if own >= 0:
            for b in range(PANEL):
                panel[own * PANEL + b] += D[b]
            continue
        if floating is float:
            panel_axpy_f(n, at, data, D, panel)
        else:
            panel_axpy_d(n, at, data, D, panel)
        for b in range(PANEL):
            panel[(height - 1) * PANEL + b] += bias * D[b]
