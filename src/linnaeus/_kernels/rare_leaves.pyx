"""Modes of sixteen leaves with few documents, in dual variables: what `models.bayes.leaves` states, in compiled loops.

`solve` alternates between

    scan    all documents against sixteen columns of weights at once: dual variables b_i of every leaf; documents with
            b_i above a threshold are its candidates, all others are summed: total = sum b_i, pull = sum b_i x_i
    newton  the dual variables of the candidates of a leaf, and of one document (the mean, pull / total) for the others

until the gradient of a leaf, or its last step, is short enough. Nothing of the size documents x leaves is kept.
`describe` is a last pass: losses, and sum_i x_i^2 b_i (1 - p_i), how much the documents bend the loss.
"""

from cython cimport floating
from libc.math cimport INFINITY, exp, fabs, log, log1p, sqrt
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memset

from linnaeus._kernels.panel cimport PANEL

ctypedef long long i64

cdef enum:
    OPEN = 0
    DONE = 1
    HARD = 2
    ENOUGH = 4  # passes after which each takes twice as many candidates as the one before
    STEPS = 50  # of Newton's method, at most

cdef double COUNTS = 0.03  # a dual variable with which a document becomes a candidate
cdef double STAYS = 1e-3  # and with which it stays one

include "candidate_lists.pxi"
include "dual_newton.pxi"
include "logistic_scan.pxi"
include "leaf_candidates.pxi"


cdef void combine(Candidates* A, const double* b, double* z) noexcept nogil:
    """z = sum b_i y_i x_i, over the features of the candidates."""
    cdef Py_ssize_t i, e
    memset(z, 0, A.n_features * sizeof(double))
    for i in range(A.n):
        for e in range(A.start[i], A.start[i + 1]):
            z[A.feature[e]] += A.value[e] * b[i]


cdef bint begin(const floating* W, const floating* centre, const floating* pull, Leaf* leaf, int b, bint first,
                Scratch* s) noexcept nogil:
    """The distance of a leaf; where Newton's method begins; whether this is near."""
    cdef Candidates* A = &s.A
    cdef Py_ssize_t i, j
    cdef double g, square = leaf.gradient, most, scale
    cdef bint near, warm
    combine(A, s.b, A.z)
    for i in range(A.n_features):
        j = leaf.touched[i] * PANEL + b
        g = <double> W[j] - centre[j] + pull[j]
        square += (g - A.z[i]) * (g - A.z[i]) - g * g
    leaf.distance = sqrt(square) if square > 0 else 0
    near = leaf.distance * leaf.distance <= 0.1 * leaf.norm
    warm = near or (first and leaf.scale > 0)
    scale = leaf.scale if warm and not near else 1
    for i in range(A.n):
        most = 0.5 * A.room[i]
        most = 0.01 if not warm and most > 0.01 else most
        s.b[i] = min_max(s.b[i] * scale, 1e-12, most)
    if A.joined:
        s.b[A.n] = min_max(s.b[A.n] * scale, 1e-12, INFINITY) if warm else 1
    return near


cdef inline double min_max(double x, double least, double most) noexcept nogil:
    x = x if x < most else most
    return x if x > least else least


cdef int settle(const floating* W, Leaf* leaf, int b, bint near, bint final, Limits* limits,
                Scratch* s) noexcept nogil:
    """Newton's method for one leaf: done, given up, or what is to become of its weights."""
    cdef Candidates* A = &s.A
    cdef Py_ssize_t i, n = A.n + A.joined
    cdef bint there = leaf.distance <= limits.tol * sqrt(leaf.norm)
    cdef int steps = 0 if there or final else STEPS
    cdef int found = newton(A, s.b, 1e-4 if near else 1e-2, steps, s.b + n, s.kept, &leaf.response)
    leaf.sure = found == 1
    leaf.few = leaf.few or (steps > 0 and found == 0)
    if found < 0:
        leaf.status = HARD
    elif there:
        leaf.status = DONE
    elif final:
        leaf.status = HARD
    if leaf.status != OPEN:
        return 0
    leaf.scale, leaf.moves, leaf.old.n = 1, True, 0
    leaf.share = s.b[A.n] / leaf.total if A.joined else 0
    for i in range(leaf.own, A.n):
        if s.b[i] > STAYS and push(&leaf.old, leaf.list.items[i - leaf.own].row, s.b[i], 0) < 0:
            return -1
    combine(A, s.b, leaf.gives)
    for i in range(leaf.n_touched):
        leaf.before[i] = W[leaf.touched[i] * PANEL + b]
    return 0


cdef bint move(Py_ssize_t d, const floating* centre, const floating* pull, Leaf* leaves, double tol,
               floating* W) noexcept nogil:
    """New weights: the parent's, less a share of the pull, and what candidates give. Whether there were any."""
    cdef Py_ssize_t i, j
    cdef int b
    cdef bint some = False
    cdef double s, t
    cdef floating change
    cdef floating share[PANEL]
    cdef floating moves[PANEL]
    cdef double steps[PANEL]
    for b in range(PANEL):
        share[b], moves[b] = <floating> leaves[b].share, leaves[b].moves
        steps[b] = 0
        some = some or leaves[b].moves
    if not some:
        return False
    for i in range(d):
        for b in range(PANEL):
            j = i * PANEL + b
            change = moves[b] * (centre[j] - share[b] * pull[j] - W[j])
            W[j] += change
            steps[b] += <double> change * change
    for b in range(PANEL):
        if not leaves[b].moves:
            continue
        for i in range(leaves[b].n_touched):
            j = leaves[b].touched[i] * PANEL + b
            s = W[j] - leaves[b].before[i]
            t = s + leaves[b].gives[i]
            W[j] = <floating> (W[j] + leaves[b].gives[i])
            steps[b] += t * t - s * s
        s = sqrt(steps[b]) if steps[b] > 0 else 0
        leaves[b].distance = s if s < leaves[b].distance else leaves[b].distance
        if leaves[b].sure and s <= tol * sqrt(leaves[b].norm):
            leaves[b].status = DONE
    return True


cdef int one_pass(Documents* X, const floating* data, const floating* c, const floating* centre, Py_ssize_t d,
                  int number, bint final, Limits* limits, Leaf* leaves, Scratch* s, floating* W,
                  floating* pull) noexcept nogil:
    """Scan, candidates, Newton's method; 1 if leaves have moved, 0 if none has to, -1 if there is no memory."""
    cdef int b
    cdef bint near
    cdef floating inverse[PANEL]
    cdef floating cut[PANEL]
    cdef double total[PANEL]
    cdef double leaning[PANEL]
    cdef List* lists[PANEL]
    for b in range(PANEL):
        leaves[b].list.n, leaves[b].moves, lists[b] = 0, False, &leaves[b].list
        inverse[b], cut[b] = <floating> leaves[b].inverse, <floating> INFINITY
        if leaves[b].scale > 0 and leaves[b].status == OPEN:
            cut[b] = <floating> (COUNTS / leaves[b].scale)
    if scan(X, data, c, W, inverse, cut, d, pull, total, leaning, s.p_b, s.p_s, lists) < 0:
        return -1
    for b in range(PANEL):
        leaves[b].total, leaves[b].leaning = total[b], leaning[b]
        if leaves[b].status == OPEN and choose(
                X, data, c, <const floating*> W, pull, &leaves[b], b, number * PANEL + b + 1, limits, s.stamp) < 0:
            return -1
    lengths(d, <const floating*> W, centre, <const floating*> pull, leaves)
    for b in range(PANEL):
        if leaves[b].status != OPEN:
            continue
        if gather(X, data, c, centre, <const floating*> pull, &leaves[b], b, s) < 0:
            return -1
        near = begin(<const floating*> W, centre, <const floating*> pull, &leaves[b], b, number == 0, s)
        if settle(<const floating*> W, &leaves[b], b, near, final, limits, s) < 0:
            return -1
    return move(d, centre, <const floating*> pull, leaves, limits.tol, W)


def solve(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, const floating[::1] c,
    const i64[::1] p_row, const i64[::1] p_col, const floating[:, ::1] centre, const double[::1] prior,
    const double[::1] before, int n_columns, double tol, const i64[::1] most, floating[:, ::1] W,
    floating[:, ::1] pull, double[::1] distance, double[::1] response, unsigned char[::1] status,
):
    """Move the columns of W to their modes; ``status`` is 1 for those that are there, 2 for those that are not.

    ``before`` are the precisions for which W was the mode, 0 where it was none. ``most`` are: how many passes there
    are; how many new candidates each of them takes, and how many for every positive document; with how many candidates
    a leaf is given up.
    """
    cdef int b, number, found = 1, passes = <int> most[0]
    cdef Py_ssize_t i
    cdef Documents X
    cdef Limits limits
    cdef Scratch scratch
    cdef Leaf leaves[PANEL]
    X.n, X.indptr, X.indices, X.n_positive = indptr.shape[0] - 1, &indptr[0], &indices[0], p_row.shape[0]
    X.p_row, X.p_col = &p_row[0], &p_col[0]
    limits.first, limits.each, limits.most, limits.tol = most[1], most[2], most[3], tol
    memset(&leaves[0], 0, PANEL * sizeof(Leaf))
    for b in range(PANEL):
        leaves[b].status = OPEN if b < n_columns else DONE
    for b in range(n_columns):
        leaves[b].prior, leaves[b].inverse = prior[b], 1 / prior[b]
        leaves[b].scale = prior[b] / before[b] if before[b] > 0 else 0
    for i in range(X.n_positive):
        leaves[p_col[i]].own += 1
    with nogil:
        if prepare(&scratch, &X, W.shape[0], limits.most) < 0:
            found = -1
        for number in range(passes + 1):
            if found == 1:
                found = one_pass(&X, &data[0], &c[0], &centre[0, 0], W.shape[0], number, number == passes, &limits,
                                 leaves, &scratch, &W[0, 0], &pull[0, 0])
        release(&scratch, leaves)
    if found < 0:
        raise MemoryError
    for b in range(n_columns):
        distance[b], response[b], status[b] = leaves[b].distance, leaves[b].response, leaves[b].status
