# Inner nodes of networks with large fill, part of recursive.pyx: factors that all features share, instead of an
# elimination for each. Features differ only in which leaves hold on to their neighbours.


def factor(
    const int[::1] order, const i64[::1] later_ptr, const int[::1] later, const double[::1] conductance,
    const i64[::1] mesh_ptr, const int[::1] mesh, const int[::1] slot, const double[:, ::1] excess,
    double[:, ::1] share, double[:, ::1] inverse, double[:, :, ::1] work, double[:, ::1] edge_work,
):
    """The factors of sixteen eliminations, with the excesses (n_inner, 16), which are the same for all features.

    ``share`` (16, n_edges) receives what a vertex hands to each later neighbour, ``inverse`` (16, n_inner) one over its
    total.
    """
    cdef Py_ssize_t k, v, e, n = order.shape[0], n_edges = later.shape[0]
    cdef int l
    cdef double* b = &work[0, 0, 0]
    cdef double* s = &work[1, 0, 0]
    cdef double* c = &edge_work[0, 0]
    cdef const unsigned char[::1] every = np.ones(n, np.uint8)
    cdef unsigned char[::1] touched = np.ones(n, np.uint8)
    cdef const double[::1] zeros = np.zeros(n)
    with nogil:
        network_begin_d(n, &every[0], &zeros[0], n_edges, &slot[0], &conductance[0], &touched[0], s, b, c)
        for v in range(n):
            for l in range(LANES):
                s[v * LANES + l] = excess[v, l]
        network_forward_d(
            n, &order[0], &later_ptr[0], &later[0], &conductance[0], &mesh_ptr[0], &mesh[0], &slot[0], &touched[0],
            s, b, c)
        for k in range(n):
            v = order[k]
            for l in range(LANES):
                inverse[l, v] = s[v * LANES + l]
            for e in range(later_ptr[k], later_ptr[k + 1]):
                for l in range(LANES):
                    share[l, e] = inverse[l, v] * (
                        conductance[e] if slot[e] < 0 else c[<Py_ssize_t> slot[e] * LANES + l])


def iterated_step(
    const int[::1] order, const i64[::1] later_ptr, const int[::1] later, const floating[:, ::1] share,
    const floating[:, ::1] inverse, const double[::1] level, const int[:, ::1] ends, const floating[::1] conductance,
    const floating[::1] anchor,
    const unsigned long long[::1] U, const unsigned long long[::1] features, const i64[::1] length,
    const i64[:, ::1] column_ptr, const int[::1] inner, const floating[::1] weight, i64[::1] cursor,
    Py_ssize_t first_panel, floating[:, :, ::1] M, floating[:, :, ::1] before, floating momentum, double tol,
    int most, floating[:, :, ::1] work, unsigned char[::1] touched,
):
    """As `step`, by conjugate gradients.

    ``level`` is the total excess of each row of ``share`` and ``inverse`` in increasing order; a panel takes the row
    whose level is next to the mean of its features. ``ends`` (n_links, 2) and ``conductance`` are the links of the
    network; ``work`` is (6, n_inner, 16). Returns <M - x, x - before> and the number of steps in all panels.
    """
    cdef Py_ssize_t p, v, i, n = order.shape[0], n_links = ends.shape[0], n_steps = 0
    cdef int l, row
    cdef double uphill = 0, total
    cdef floating way
    cdef floating* b = &work[0, 0, 0]
    cdef floating* s = &work[1, 0, 0]
    cdef floating* x = &work[2, 0, 0]
    cdef floating* m
    cdef floating* old
    with nogil:
        for p in range(M.shape[0]):
            m, old = &M[p, 0, 0], &before[p, 0, 0]
            for v in range(n):
                touched[v] = 1
                for l in range(LANES):
                    s[v * LANES + l] = anchor[v]
                    b[v * LANES + l] = 0
            collect(
                first_panel + p, U, features, length, column_ptr, inner, weight, cursor, <const floating*> m,
                &touched[0], b, s,
            )
            total = 0
            for i in range(n * LANES):
                total += s[i]
            row = 0
            while row + 1 < level.shape[0] and total * total > LANES * LANES * level[row] * level[row + 1]:
                row += 1
            if floating is float:
                n_steps += network_iterate_f(
                    n, &order[0], &later_ptr[0], &later[0], &share[row, 0], &inverse[row, 0], n_links, &ends[0, 0],
                    &conductance[0], s, b, m, x, &work[3, 0, 0], &work[4, 0, 0], &work[5, 0, 0], tol, most)
            else:
                n_steps += network_iterate_d(
                    n, &order[0], &later_ptr[0], &later[0], &share[row, 0], &inverse[row, 0], n_links, &ends[0, 0],
                    &conductance[0], s, b, m, x, &work[3, 0, 0], &work[4, 0, 0], &work[5, 0, 0], tol, most)
            for i in range(n * LANES):
                way = x[i] - old[i]
                uphill += <double> ((m[i] - x[i]) * way)
                m[i] = x[i] + momentum * way
                old[i] = x[i]
    return uphill, n_steps


def factored_energy(
    const int[::1] order, const i64[::1] later_ptr, const int[::1] later, const double[::1] share,
    const double[::1] inverse,
    const unsigned long long[::1] U, const unsigned long long[::1] features, const i64[::1] length,
    const i64[:, ::1] column_ptr, const int[::1] inner, const floating[::1] weight, i64[::1] cursor,
    Py_ssize_t first_panel, Py_ssize_t n_panels, double[:, :, ::1] work, unsigned char[::1] touched,
):
    """`least_energy` by factors with the anchors as excess, which all features have in common."""
    cdef Py_ssize_t p, k, v, e, n = order.shape[0]
    cdef int l
    cdef double total = 0
    cdef double* b = &work[0, 0, 0]
    cdef double* bv
    cdef double* bu
    with nogil:
        for p in range(n_panels):
            for v in range(n):
                touched[v] = 1
                for l in range(LANES):
                    b[v * LANES + l] = 0
            collect(
                first_panel + p, U, features, length, column_ptr, inner, weight, cursor, <const double*> NULL,
                &touched[0], b, b,
            )
            for k in range(n):
                bv = b + <Py_ssize_t> order[k] * LANES
                for l in range(LANES):
                    total += bv[l] * bv[l] * inverse[order[k]]
                for e in range(later_ptr[k], later_ptr[k + 1]):
                    bu = b + <Py_ssize_t> later[e] * LANES
                    for l in range(LANES):
                        bu[l] += share[e] * bv[l]
    return 0.5 * total
