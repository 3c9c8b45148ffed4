# One leaf between two passes over all documents: which documents are its candidates, and their rows.

cdef struct Leaf:
    int status
    Py_ssize_t own  # positive documents
    double prior, inverse, scale  # scale: of dual variables, from the precision before to that of now
    double total, leaning  # of the documents that are not candidates: sum b_i, sum b_i s_i
    double norm, gradient, pull, with_centre  # |w - centre|^2, |w - centre + pull|^2, |pull|^2, <pull, centre>
    double distance, response, step
    List list
    List old  # candidates of the pass before
    bint moves, sure, few  # sure: that its step leads to the mode of the candidates; few: these must be few
    double share  # of the pull, in the new weights
    Py_ssize_t n_touched
    int* touched  # features of the candidates
    double* gives  # what candidates give them
    double* before  # the weights there


cdef struct Limits:
    Py_ssize_t first, each, most
    double tol


cdef struct Scratch:
    double* p_b  # dual variables and scores of the positive pairs
    double* p_s
    int* stamp  # documents: of which leaf and pass they are a candidate
    int* number  # features: among those of a leaf's candidates, or -1
    double* b
    unsigned char* kept
    Candidates A


cdef int prepare(Scratch* s, Documents* X, Py_ssize_t d, Py_ssize_t most) noexcept nogil:
    cdef Candidates* A = &s.A
    s.p_b, s.p_s = <double*> malloc(X.n_positive * 8 + 8), <double*> malloc(X.n_positive * 8 + 8)
    s.stamp, s.number = <int*> malloc(X.n * 4 + 4), <int*> malloc(d * 4 + 4)
    s.b, s.kept = <double*> malloc(12 * (most + 2) * 8), <unsigned char*> malloc(most + 2)
    A.start, A.feature, A.value = <Py_ssize_t*> malloc((most + 2) * sizeof(Py_ssize_t)), NULL, NULL
    A.with_mean, A.lean = <double*> malloc((most + 2) * 8), <double*> malloc((most + 2) * 8)
    A.room, A.z = <double*> malloc((most + 2) * 8), <double*> malloc((d + 1) * 8)
    if (s.p_b == NULL or s.p_s == NULL or s.stamp == NULL or s.number == NULL or s.b == NULL or s.kept == NULL
            or A.start == NULL or A.with_mean == NULL or A.lean == NULL or A.room == NULL or A.z == NULL):
        return -1
    memset(s.stamp, 0, X.n * 4)
    memset(s.number, 255, d * 4)
    return 0


cdef void release(Scratch* s, Leaf* leaves) noexcept nogil:
    cdef int b
    for b in range(PANEL):
        free(leaves[b].list.items)
        free(leaves[b].old.items)
        free(leaves[b].touched)
        free(leaves[b].gives)
        free(leaves[b].before)
    free(s.p_b)
    free(s.p_s)
    free(s.stamp)
    free(s.number)
    free(s.b)
    free(s.kept)
    free(s.A.start)
    free(s.A.feature)
    free(s.A.value)
    free(s.A.with_mean)
    free(s.A.lean)
    free(s.A.room)
    free(s.A.z)


cdef int choose(Documents* X, const floating* data, const floating* c, const floating* W, floating* pull, Leaf* leaf,
                int b, int stamp, Limits* limits, int* stamps) noexcept nogil:
    """Candidates: the largest of the list, and those of the pass before; the others of the list join the rest."""
    cdef Py_ssize_t i, e, limit = limits.first + limits.each * leaf.own
    cdef int row
    cdef double s, value
    cdef Entry* entry
    for i in range(ENOUGH, stamp // PANEL):  # few documents do not decide about this leaf
        limit *= 2
    limit = limit if limit < limits.most // 2 else limits.most // 2
    if leaf.few and leaf.own < AT_EASE // 2:  # so that equations can be factored
        limit = limit if limit < AT_EASE - leaf.own - 1 else AT_EASE - leaf.own - 1
        leaf.old.n = 0
    if leaf.list.n > limit:
        largest_first(leaf.list.items, leaf.list.n, limit)
        for i in range(limit, leaf.list.n):
            entry = &leaf.list.items[i]
            leaf.total += entry.b
            leaf.leaning += entry.b * entry.s
            for e in range(X.indptr[entry.row], X.indptr[entry.row + 1]):
                pull[X.indices[e] * PANEL + b] += <floating> (entry.b * data[e])
        leaf.list.n = limit
    for i in range(leaf.list.n):
        stamps[leaf.list.items[i].row] = stamp
    for i in range(leaf.old.n):
        row = leaf.old.items[i].row
        if stamps[row] == stamp:
            continue
        s = 0
        for e in range(X.indptr[row], X.indptr[row + 1]):
            s += <double> data[e] * W[X.indices[e] * PANEL + b]
        value = c[row] * leaf.inverse / (1 + exp(-s))
        leaf.total = leaf.total - value if leaf.total > value else 0
        leaf.leaning -= value * s
        for e in range(X.indptr[row], X.indptr[row + 1]):
            pull[X.indices[e] * PANEL + b] -= <floating> (value * data[e])
        if push(&leaf.list, row, value, s) < 0:
            return -1
    if leaf.list.n + leaf.own > limits.most:
        leaf.status = HARD
    return 0


cdef void lengths(Py_ssize_t d, const floating* W, const floating* centre, const floating* pull,
                  Leaf* leaves) noexcept nogil:
    cdef Py_ssize_t j
    cdef int b
    cdef floating away
    cdef double sums[4][PANEL]
    memset(&sums[0][0], 0, 4 * PANEL * sizeof(double))
    for j in range(d):
        for b in range(PANEL):
            away = W[j * PANEL + b] - centre[j * PANEL + b]
            sums[0][b] += <double> away * away
            away += pull[j * PANEL + b]
            sums[1][b] += <double> away * away
            sums[2][b] += <double> pull[j * PANEL + b] * pull[j * PANEL + b]
            sums[3][b] += <double> pull[j * PANEL + b] * centre[j * PANEL + b]
    for b in range(PANEL):
        leaves[b].norm, leaves[b].gradient = sums[0][b], sums[1][b]
        leaves[b].pull, leaves[b].with_centre = sums[2][b], sums[3][b]


cdef void add_candidate(Documents* X, const floating* data, const floating* c, const floating* centre,
                        const floating* pull, Leaf* leaf, int b, int row, double y, double value,
                        Scratch* s) noexcept nogil:
    """One more row of s.A, with features of its own numbers; its dual variable to s.b."""
    cdef Candidates* A = &s.A
    cdef Py_ssize_t e, j, k = A.start[A.n]
    cdef double lean = 0, with_pull = 0
    for e in range(X.indptr[row], X.indptr[row + 1]):
        j = X.indices[e]
        if s.number[j] < 0:
            s.number[j] = <int> A.n_features
            leaf.touched[A.n_features] = <int> j
            A.n_features += 1
        A.feature[k], A.value[k] = s.number[j], y * data[e]
        lean += A.value[k] * centre[j * PANEL + b]
        with_pull += A.value[k] * pull[j * PANEL + b]
        k += 1
    A.room[A.n] = c[row] / leaf.prior
    A.lean[A.n] = lean - log(A.room[A.n])
    A.with_mean[A.n] = with_pull / leaf.total if A.joined else 0
    s.b[A.n] = value
    A.n += 1
    A.start[A.n] = k


cdef int gather(Documents* X, const floating* data, const floating* c, const floating* centre, const floating* pull,
                Leaf* leaf, int b, Scratch* s) noexcept nogil:
    """The rows of a leaf's candidates, positive documents first, and the mean of all others."""
    cdef Candidates* A = &s.A
    cdef Py_ssize_t i, n = 0
    for i in range(leaf.list.n):
        n += X.indptr[leaf.list.items[i].row + 1] - X.indptr[leaf.list.items[i].row]
    for i in range(X.n_positive):
        if X.p_col[i] == b:
            n += X.indptr[X.p_row[i] + 1] - X.indptr[X.p_row[i]]
    free(A.feature)
    free(A.value)
    free(leaf.touched)
    free(leaf.gives)
    free(leaf.before)
    A.feature, A.value, leaf.touched = <int*> malloc(n * 4 + 4), <double*> malloc(n * 8 + 8), <int*> malloc(n * 4 + 4)
    leaf.gives, leaf.before = <double*> malloc(n * 8 + 8), <double*> malloc(n * 8 + 8)
    if A.feature == NULL or A.value == NULL or leaf.touched == NULL or leaf.gives == NULL or leaf.before == NULL:
        return -1
    A.n, A.n_features, A.joined, A.start[0] = 0, 0, leaf.total > 0, 0
    for i in range(X.n_positive):
        if X.p_col[i] == b:
            add_candidate(X, data, c, centre, pull, leaf, b, <int> X.p_row[i], 1, s.p_b[i], s)
    for i in range(leaf.list.n):
        add_candidate(X, data, c, centre, pull, leaf, b, leaf.list.items[i].row, -1, leaf.list.items[i].b, s)
    if A.joined:
        A.mean_square = leaf.pull / (leaf.total * leaf.total)
        A.lean[A.n] = (leaf.leaning - leaf.with_centre) / leaf.total - log(leaf.total)
        A.room[A.n], s.b[A.n] = INFINITY, leaf.total
    for i in range(A.n_features):
        s.number[leaf.touched[i]] = -1
    leaf.n_touched = A.n_features
    return 0
