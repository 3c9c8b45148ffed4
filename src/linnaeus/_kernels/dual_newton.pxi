# The dual variables of some documents of one leaf: log b - log(1 - b / room) + lean + gram b = 0 by Newton's method.
#
# Equations (gram + diagonal) step = -f are solved by conjugate gradients that multiply with the rows of the documents.
# Documents that contradict each other (equal, with different labels) have dual variables that are huge and cancel:
# their equations are factored, and they move along straight lines.

cdef enum:
    PRODUCTS = 150  # of conjugate gradients, before equations are factored
    PATIENCE = 20  # steps of Newton's method, likewise
    LOOSE = 6  # steps of Newton's method to a tenth of the residual
    FACTORED = 2000  # unknowns up to which they are
    AT_EASE = 1000  # and up to which this is little work

cdef double LARGE = 1e3  # dual variables of documents that contradict others: they cancel, also along a step
cdef double NOTHING = 1e-6  # a dual variable below which a document does not matter to the others
cdef double ROUNDING = 1e-15  # of sums of dual variables


cdef struct Candidates:
    Py_ssize_t n  # without the mean of the others
    Py_ssize_t n_features
    bint joined  # whether there are others
    Py_ssize_t* start
    int* feature  # numbers of its own, 0 .. n_features - 1
    double* value  # x times y
    double* with_mean  # product of x y with the mean
    double mean_square
    double* lean
    double* room
    double* z  # features


cdef void multiply(Candidates* A, const unsigned char* kept, const double* v, double* out) noexcept nogil:
    """out = gram v, for the variables that are kept (NULL: all)."""
    cdef Py_ssize_t i, e
    cdef double s, others = 0, last = v[A.n] if A.joined else 0
    memset(A.z, 0, A.n_features * sizeof(double))
    for i in range(A.n):
        if kept == NULL or kept[i]:
            for e in range(A.start[i], A.start[i + 1]):
                A.z[A.feature[e]] += A.value[e] * v[i]
            others += A.with_mean[i] * v[i]
    for i in range(A.n):
        if kept == NULL or kept[i]:
            s = -A.with_mean[i] * last
            for e in range(A.start[i], A.start[i + 1]):
                s += A.value[e] * A.z[A.feature[e]]
            out[i] = s
    if A.joined:
        out[A.n] = A.mean_square * last - others


cdef void gradient(Candidates* A, const double* b, double* f) noexcept nogil:
    cdef Py_ssize_t i
    multiply(A, NULL, b, f)
    for i in range(A.n + A.joined):
        f[i] += log(b[i]) - log1p(-b[i] / A.room[i]) + A.lean[i]


cdef Py_ssize_t conjugate(Candidates* A, const unsigned char* kept, const double* diagonal, const double* bend,
                          const double* f, double sign, double accuracy, double* x, double* r, double* p,
                          double* q) noexcept nogil:
    """(gram + bend) x = sign f by conjugate gradients; the number of products, negative if there were too many."""
    cdef Py_ssize_t i, n = A.n + A.joined, count
    cdef double rho = 0, first, curve, step, new
    for i in range(n):
        x[i] = q[i] = 0
        r[i] = sign * f[i] if kept[i] else 0
        p[i] = r[i] / diagonal[i]
        rho += r[i] * p[i]
    first = rho
    for count in range(PRODUCTS):
        if rho <= accuracy * accuracy * first:
            return count
        multiply(A, kept, p, q)
        curve = 0
        for i in range(n):
            if kept[i]:
                q[i] += bend[i] * p[i]
                curve += p[i] * q[i]
        if curve <= 0:
            return -1
        step = rho / curve
        new = 0
        for i in range(n):
            if kept[i]:
                x[i] += step * p[i]
                r[i] -= step * q[i]
                new += r[i] * r[i] / diagonal[i]
        for i in range(n):
            if kept[i]:
                p[i] = r[i] / diagonal[i] + new / rho * p[i]
        rho = new
    return -1


cdef int factored(Candidates* A, const unsigned char* kept, const double* bend, const double* f, double* x,
                  double* response) noexcept nogil:
    """(gram + bend) (x, response) = (-f, 1) by Cholesky's factors; 0 if this was possible."""
    cdef Py_ssize_t i, j, k, e, m = 0, n = A.n + A.joined
    cdef double s
    cdef double* L
    cdef Py_ssize_t* at
    for i in range(n):
        m += kept[i]
        x[i] = response[i] = 0
    if m > FACTORED:
        return -1
    L, at = <double*> malloc(m * m * sizeof(double)), <Py_ssize_t*> malloc(m * sizeof(Py_ssize_t))
    if L == NULL or at == NULL:
        free(L)
        free(at)
        return -1
    m = 0
    for i in range(n):
        if kept[i]:
            at[m] = i
            m += 1
    memset(A.z, 0, A.n_features * sizeof(double))
    for i in range(m):
        if at[i] < A.n:
            for e in range(A.start[at[i]], A.start[at[i] + 1]):
                A.z[A.feature[e]] = A.value[e]
            for j in range(i + 1):
                s = 0
                for e in range(A.start[at[j]], A.start[at[j] + 1]):
                    s += A.value[e] * A.z[A.feature[e]]
                L[i * m + j] = s
            for e in range(A.start[at[i]], A.start[at[i] + 1]):
                A.z[A.feature[e]] = 0
        else:
            for j in range(i):
                L[i * m + j] = -A.with_mean[at[j]]
            L[i * m + i] = A.mean_square
        L[i * m + i] += bend[at[i]]
    for i in range(m):
        for j in range(i + 1):
            s = L[i * m + j]
            for k in range(j):
                s -= L[i * m + k] * L[j * m + k]
            if j < i:
                L[i * m + j] = s / L[j * m + j]
            elif s > 0:
                L[i * m + i] = sqrt(s)
            else:  # rounding leaves no curvature
                free(L)
                free(at)
                return -1
    for i in range(m):
        x[at[i]], response[at[i]] = -f[at[i]], 1
        for k in range(i):
            x[at[i]] -= L[i * m + k] * x[at[k]]
            response[at[i]] -= L[i * m + k] * response[at[k]]
        x[at[i]] /= L[i * m + i]
        response[at[i]] /= L[i * m + i]
    for i in range(m - 1, -1, -1):
        x[at[i]] /= L[i * m + i]
        response[at[i]] /= L[i * m + i]
        for k in range(i):
            x[at[k]] -= L[i * m + k] * x[at[i]]
            response[at[k]] -= L[i * m + k] * response[at[i]]
    free(L)
    free(at)
    return 0


cdef inline bint is_large(double b, double step, double room) noexcept nogil:
    return (b > LARGE or step > LARGE) and room < INFINITY


cdef double longest(Candidates* A, const double* b, const double* step) noexcept nogil:
    """How much of a step leaves large variables well inside their intervals: at most all of it."""
    cdef Py_ssize_t i
    cdef double t = 1, most
    for i in range(A.n + A.joined):
        if is_large(b[i], step[i], A.room[i]) and step[i] != 0:
            most = 0.9 * (A.room[i] - b[i]) / step[i] if step[i] > 0 else -0.9 * b[i] / step[i]
            t = most if most < t else t
    return t


cdef inline double moved(double b, double step, double room) noexcept nogil:
    """b + step, never out of (0, room): lowered by a factor, or nearer to ``room`` by one."""
    cdef double new
    if step < 0:
        new = b * exp(step / b if step / b > -30 else -30)
    elif room == INFINITY:
        new = b + step
    else:
        new = room - (room - b) * exp(-step / (room - b) if step / (room - b) < 30 else -30)
        new = new if new < room * (1 - 2.3e-16) else room * (1 - 2.3e-16)
    return new if new > 1e-250 else 1e-250


cdef int newton(Candidates* A, double* b, double tol, int max_iter, double* work, unsigned char* kept,
                double* response) noexcept nogil:
    """log b - log(1 - b / room) + lean + gram b = 0 from b; |X'v| with v minus the derivative of b by ``lean``.

    1 if b is the solution, 0 if not, -1 if something overflowed. Of ``work`` there are 11 (A.n + 1).
    """
    cdef Py_ssize_t i, n = A.n + A.joined, k, found
    cdef double* f = work
    cdef double* x = work + n
    cdef double* r = work + 2 * n
    cdef double* p = work + 3 * n
    cdef double* q = work + 4 * n
    cdef double* diagonal = work + 5 * n
    cdef double* bend = work + 6 * n
    cdef double* new = work + 7 * n
    cdef double* f_new = work + 8 * n
    cdef double* square = work + 9 * n
    cdef double* one = work + 10 * n
    cdef double worst, most, t, slope, before, accuracy
    cdef bint by_factors = False
    for i in range(A.n):
        square[i] = 0
        for k in range(A.start[i], A.start[i + 1]):
            square[i] += A.value[k] * A.value[k]
    if A.joined:
        square[A.n] = A.mean_square
    gradient(A, b, f)
    for number in range(max_iter + 1):
        worst = most = 0
        for i in range(n):
            t = fabs(f[i]) * (b[i] if b[i] < 1 else 1)
            worst = t if t > worst else worst
            most = b[i] if b[i] > most and i < A.n else most
        for i in range(n):
            kept[i] = b[i] > NOTHING or f[i] < 0
            bend[i] = 1 / b[i] + 1 / (A.room[i] - b[i])
            diagonal[i] = bend[i] + square[i]
            one[i] = 1
        if worst <= tol + ROUNDING * most or number == max_iter:
            break
        if n <= (AT_EASE if most > LARGE else AT_EASE // 3 if number >= PATIENCE else 0):
            by_factors = True  # only exact steps keep what cancels
        if not by_factors:
            accuracy = 0.1 if worst > 0.3 and number < LOOSE else 0.01 if number < 2 * LOOSE else 1e-4
            found = conjugate(A, kept, diagonal, bend, f, -1, accuracy, x, r, p, q)
            by_factors = found < 0
        if by_factors:
            if factored(A, kept, bend, f, x, r) < 0:
                break
        for i in range(n):
            if not kept[i]:
                x[i] = -f[i] * b[i]
        t = longest(A, b, x)
        while True:
            slope = before = 0
            for i in range(n):
                new[i] = b[i] + t * x[i] if is_large(b[i], x[i], A.room[i]) else moved(b[i], t * x[i], A.room[i])
            gradient(A, new, f_new)
            for i in range(n):
                slope += f_new[i] * (new[i] - b[i])
                before += f[i] * (new[i] - b[i])
            if slope <= 0.1 * fabs(before) or t < 1e-3:
                break
            t *= 0.5
        for i in range(n):
            b[i], f[i] = new[i], f_new[i]
    if by_factors:
        found = factored(A, kept, bend, f, r, x)
    else:
        found = conjugate(A, kept, diagonal, bend, one, 1, 0.03, x, r, p, q)
        if found < 0:
            found = factored(A, kept, bend, f, r, x)
    for i in range(n):
        if not kept[i]:
            x[i] = b[i]
    multiply(A, NULL, x, r)
    t = 0
    for i in range(n):
        t += x[i] * r[i]
    response[0] = sqrt(t) if t > 0 else 0
    if not worst < INFINITY:
        return -1
    return worst <= tol + ROUNDING * most
