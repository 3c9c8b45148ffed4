"""Sequential dual method for the multi-class SVM of Crammer and Singer (Keerthi et al. 2008), 16 classes at a time.

For rows x_i with class y_i and bounds c_i > 0, over classes k,

    min_W  1/2 sum_k |w_k|^2 + sum_i c_i max_k (g_ik - g_iy),      g_ik = w_k'x_i + [k != y_i]

The dual has one point p_i of a simplex for each row, p_ik >= 0 and sum_k p_ik = c_i, with

    w_k = sum_i (c_i [k = y_i] - p_ik) x_i,      D = sum_i (c_i - p_iy) - 1/2 sum_k |w_k|^2

and a row alone is solved exactly: p_i <- the point of the simplex nearest to p_i + g_i / |x_i|^2. A row is at its
optimum when every k with p_ik > 0 has the largest g_ik.

W is (n_panels x n_features + 1 x 16): class k is column k % 16 of panel k // 16, the last feature is the constant
``bias``. A row is combined with the sixteen classes of a panel at once; panels in which a row has no mass and no
competing class are skipped (``live``), and so are rows in a corner of the simplex (shrinking; the caller checks all).
"""

from cython cimport floating

from linnaeus._kernels.panel cimport PANEL, panel_axpy_d, panel_axpy_f, panel_dot_d, panel_dot_exact, panel_dot_f

ctypedef long long i64


cdef double FAR = 1e30  # larger than every score; with infinities the compiler would not vectorise minima


cdef inline void project(Py_ssize_t m, const floating* u, int* candidates, double c, floating* p) noexcept nogil:
    """p[candidates] <- the point of {p >= 0, sum p = c} nearest to u[candidates], by raising the level.

    u is relative to its largest entry, so that differences keep their digits (Michelot 1986).
    """
    cdef Py_ssize_t e, left = m, before = m + 1
    cdef double total, level = 0
    while left < before:
        total = 0
        for e in range(left):
            total += u[candidates[e]]
        level = (total - c) / left
        before = left
        left = 0
        for e in range(before):
            if u[candidates[e]] > level:
                candidates[left] = candidates[e]
                left += 1
    for e in range(left):
        p[candidates[e]] = <floating> (u[candidates[e]] - level)


cdef inline int row_scores(
    Py_ssize_t n, const int* row_indices, const floating* x, const floating* W, Py_ssize_t panel_size, floating bias,
    int y, Py_ssize_t n_panels, const unsigned char* live, const floating* p, const floating* shift, floating* g,
    floating* panel, floating* least, floating* largest_rival,
) noexcept nogil:
    """g of a row for all classes of live panels; returns the number of classes with mass.

    ``panel`` are these numbers per panel, ``least`` is the least g with mass, ``largest_rival`` the largest without.
    """
    cdef Py_ssize_t q
    cdef int b, before, mass = 0
    cdef floating value, low = FAR, rival = -2 * FAR
    cdef floating* s
    cdef const floating* a
    cdef const floating* w
    for q in range(n_panels):
        if not live[q]:
            continue
        s = g + q * PANEL
        a = p + q * PANEL
        w = W + (q + 1) * panel_size - PANEL
        if floating is float:
            panel_dot_f(n, row_indices, x, W + q * panel_size, s)
        else:
            panel_dot_d(n, row_indices, x, W + q * panel_size, s)
        for b in range(PANEL):
            s[b] += bias * w[b] + shift[q * PANEL + b]
        if y // PANEL == q:
            s[y % PANEL] -= 1
        before = mass
        for b in range(PANEL):
            value = s[b] if a[b] > 0 else FAR
            low = min(low, value)
            value = -2 * FAR if a[b] > 0 else s[b]
            rival = max(rival, value)
            mass += a[b] > 0
        panel[q] = mass - before
    least[0] = low
    largest_rival[0] = rival
    return mass


cdef inline floating drop_panels(
    Py_ssize_t n_panels, unsigned char* live, const floating* g, const floating* panel, floating low,
) noexcept nogil:
    """The largest g; panels without mass whose classes are all below ``low`` are no longer live."""
    cdef Py_ssize_t q
    cdef int b
    cdef floating panel_high, high = -2 * FAR
    for q in range(n_panels):
        if live[q]:
            panel_high = -2 * FAR
            for b in range(PANEL):
                panel_high = max(panel_high, g[q * PANEL + b])
            high = max(high, panel_high)
            if panel[q] == 0 and panel_high < low:
                live[q] = 0
    return high


cdef inline Py_ssize_t find_candidates(
    Py_ssize_t n_panels, const unsigned char* live, const floating* p, const floating* g, floating high,
    floating inverse, floating c, int mass, floating* u, floating* panel, int* candidates, floating* bound,
) noexcept nogil:
    """Classes that may have mass after the step: their number, and u relative to its largest entry.

    Panels with a largest u (``panel``) of at most ``bound`` have no such class.
    """
    cdef Py_ssize_t q, m = 0
    cdef int b
    cdef floating panel_high, value = -2 * FAR, level = 0
    cdef floating* s
    cdef const floating* a
    for q in range(n_panels):
        if live[q]:
            s = u + q * PANEL
            a = p + q * PANEL
            panel_high = -2 * FAR
            for b in range(PANEL):
                s[b] = max(a[b] + (g[q * PANEL + b] - high) * inverse, -2 * FAR)
                panel_high = max(panel_high, s[b])
                level += s[b] if a[b] > 0 else 0
            value = max(value, panel_high)
            panel[q] = panel_high if panel[q] == 0 else FAR
    # The level that any subset asks for is a lower bound; that of the classes with mass is nearly always the one.
    level = max(level / mass - value - c / mass, -c)
    for q in range(n_panels):
        if live[q] and panel[q] > value + level:
            s = u + q * PANEL
            for b in range(PANEL):
                s[b] -= value
            for b in range(PANEL):
                if s[b] > level:
                    candidates[m] = <int> q * PANEL + b
                    m += 1
    bound[0] = value + level
    return m


def sweep(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense,
    const floating[::1] squared_norm, const floating[::1] bound, floating bias, const int[::1] target, int n_classes,
    int[::1] order, Py_ssize_t n_active, floating[:, :, ::1] W, floating[:, ::1] p, unsigned char[:, ::1] live,
    floating[:, ::1] room, int[::1] candidates,
):
    """One epoch over the rows ``order[:n_active]``: (rows that stay active, largest violation of a row).

    W and p move in place; p is (n_rows x 16 n_panels), ``live`` (n_rows x n_panels). Rows that stand in a corner with
    all rivals below go behind the others in ``order``. ``room`` (4 x 16 n_panels) and ``candidates`` are scratch.
    """
    cdef Py_ssize_t i, n, q, k, m, kept = 0, last = n_active - 1, n_panels = W.shape[0]
    cdef Py_ssize_t panel_size = W.shape[1] * PANEL, bias_row = W.shape[1] - 1
    cdef int b, mass
    cdef floating high, low = 0, rival = 0, inverse, floor = 0, worst = 0
    cdef floating D[PANEL]
    cdef floating* a
    cdef floating* g = &room[0, 0]
    cdef floating* u = &room[1, 0]
    cdef floating* shift = &room[2, 0]  # 1, and far below everything for the columns that fill up the last panel
    cdef floating* panel = &room[3, 0]  # per panel: whether it has mass; later its largest u
    cdef const int* row_indices = NULL
    cdef const floating* x
    cdef bint moved
    for k in range(n_panels * PANEL):
        shift[k] = 1 if k < n_classes else -FAR
    with nogil:
        while kept <= last:
            i = order[kept]
            n = indptr[i + 1] - indptr[i]
            x = &data[0] + indptr[i]
            if not dense:
                row_indices = &indices[0] + indptr[i]
            a = &p[i, 0]
            mass = row_scores(
                n, row_indices, x, &W[0, 0, 0], panel_size, bias, target[i], n_panels, &live[i, 0], a, shift, g, panel,
                &low, &rival,
            )
            if mass == 1 and rival < low:
                order[kept], order[last] = order[last], order[kept]
                last -= 1
                continue
            kept += 1
            high = drop_panels(n_panels, &live[i, 0], g, panel, low)
            if high - low <= 1e-12:
                continue
            worst = max(worst, high - low)
            # A row of nothing decides nothing: a large step puts its mass on the classes of largest g.
            inverse = 1 / squared_norm[i] if squared_norm[i] > 0 else FAR
            m = find_candidates(
                n_panels, &live[i, 0], a, g, high, inverse, bound[i], mass, u, panel, &candidates[0], &floor
            )
            for q in range(n_panels):  # g has done its work: it takes the old mass
                if live[i, q] and panel[q] > floor:
                    for b in range(PANEL):
                        g[q * PANEL + b] = a[q * PANEL + b]
                        a[q * PANEL + b] = 0
            project(m, u, &candidates[0], bound[i], a)
            for q in range(n_panels):
                if not live[i, q] or panel[q] <= floor:
                    continue
                moved = False
                for b in range(PANEL):
                    D[b] = g[q * PANEL + b] - a[q * PANEL + b]
                    moved |= D[b] != 0
                if moved:
                    if floating is float:
                        panel_axpy_f(n, row_indices, x, D, &W[q, 0, 0])
                    else:
                        panel_axpy_d(n, row_indices, x, D, &W[q, 0, 0])
                    for b in range(PANEL):
                        W[q, bias_row, b] += bias * D[b]
    return kept, float(worst)


def rebuild(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense, const floating[::1] bound,
    floating bias, const int[::1] target, const floating[:, ::1] p, double[:, :, ::1] V,
):
    """V += sum_i (c_i [k = y_i] - p_ik) x_i in double precision; returns sum_i (c_i - p_iy).

    The mass of a row outside its class is used as stored and reduced to c_i if it is larger by rounding; the class has
    the rest. So the dual point is feasible despite rounding.
    """
    cdef Py_ssize_t i, q, e, j, n_panels = V.shape[0], last = V.shape[1] - 1
    cdef int b, y
    cdef double outside, scale, x, total = 0
    cdef double D[PANEL]
    with nogil:
        for i in range(p.shape[0]):
            y = target[i]
            outside = 0
            for j in range(p.shape[1]):
                outside += p[i, j]
            outside -= p[i, y]
            if outside <= 0:
                continue
            scale = bound[i] / outside if outside > bound[i] else 1
            total += scale * outside
            for q in range(n_panels):
                x = 0
                for b in range(PANEL):
                    D[b] = -scale * p[i, q * PANEL + b]
                if y // PANEL == q:
                    D[y % PANEL] = scale * outside
                for b in range(PANEL):
                    x += D[b] * D[b]
                if x == 0:
                    continue
                for e in range(indptr[i], indptr[i + 1]):
                    j = e - indptr[i] if dense else indices[e]
                    x = data[e]
                    for b in range(PANEL):
                        V[q, j, b] += x * D[b]
                for b in range(PANEL):
                    V[q, last, b] += bias * D[b]
    return total


def losses(
    const i64[::1] indptr, const int[::1] indices, const floating[::1] data, bint dense, const floating[::1] bound,
    floating bias, const int[::1] target, int n_classes, const floating[:, :, ::1] W,
):
    """sum_i c_i max_k (g_ik - g_iy), scores in double precision from W as it is stored."""
    cdef Py_ssize_t i, q, k, n, last = W.shape[1] - 1
    cdef int b, y
    cdef double high, own, total = 0
    cdef double S[PANEL]
    cdef const int* row_indices = NULL
    with nogil:
        for i in range(target.shape[0]):
            n = indptr[i + 1] - indptr[i]
            if not dense:
                row_indices = &indices[0] + indptr[i]
            y = target[i]
            own = 0
            high = -FAR
            for q in range(W.shape[0]):
                if floating is float:
                    panel_dot_exact(n, row_indices, &data[0] + indptr[i], &W[q, 0, 0], S)
                else:
                    panel_dot_d(n, row_indices, &data[0] + indptr[i], &W[q, 0, 0], S)
                for b in range(PANEL):
                    k = q * PANEL + b
                    S[b] += <double> bias * W[q, last, b]
                    if k == y:
                        own = S[b]
                    elif k < n_classes:
                        high = max(high, S[b] + 1)
            total += bound[i] * max(0, high - own)
    return total
