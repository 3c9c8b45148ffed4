/* Elimination of the vertices of a network, sixteen features side by side.
 *
 * For every lane: excess s_v >= 0, source b_v, conductances c_uv > 0. Vertices go in a fixed order by the star-mesh
 * rule: vertex v with total d = s_v + sum c_vu hands (c_vu / d) of its excess and source to each later neighbour u, and
 * joins each pair of them by c_vu c_vw / d. All terms are positive, so nothing cancels.
 *
 * In most features most vertices, and those below them, have no source. A vertex with a single later neighbour
 * then has its value: it is left out of the elimination, and its lines of s and b are never written. Conductances
 * change only where a mesh adds to them; such edges have a slot in c, the others (slot -1) one number for all features.
 * In this way the working data of a panel fit into the second-level cache.
 *
 * Where elimination fills the network in, a panel would take a hundred times as many products as the network has edges.
 * There the factors of one elimination, share_vu = c_vu / d and 1/d with excesses that all features have in common,
 * precondition conjugate gradients for each feature (`network_iterate`).
 *
 * Pointers never overlap; they are declared restrict, or the compiler would not keep sixteen lanes in registers.
 */
#ifndef LINNAEUS_NETWORK_H
#define LINNAEUS_NETWORK_H

#include <stddef.h>
#include <string.h>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#define LANES 16
#define AHEAD 6 /* blocks, or features */
#if defined(__GNUC__)
#define prefetch(address) __builtin_prefetch(address)
#else
#define prefetch(address) ((void)0)
#endif
#define EACH_LANE for (int l = 0; l < LANES; l++)

/* Which of sixteen numbers are not zero, one bit each: in most rows few are, and asking each would be guessing. */
static inline unsigned nonzero_f(const float *row) {
#if defined(__AVX512F__)
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(row), _mm512_setzero_ps(), _CMP_NEQ_UQ);
#else
    unsigned mask = 0;
    EACH_LANE mask |= (unsigned)(row[l] != 0) << l;
    return mask;
#endif
}
static inline unsigned nonzero_d(const double *row) {
    unsigned mask = 0;
    EACH_LANE mask |= (unsigned)(row[l] != 0) << l;
    return mask;
}
static inline int lowest_bit(unsigned mask) {
#if defined(__GNUC__)
    return __builtin_ctz(mask);
#else
    int l = 0;
    while (!(mask >> l & 1)) l++;
    return l;
#endif
}

#define NETWORK_FUNCTIONS(T, suffix)                                                                                 \
/* Set the lines of vertex v in s and b to zero unless it was reached before in this panel. */                       \
static inline void network_reach_##suffix(ptrdiff_t v, unsigned char *touched, T *s, T *b) {                         \
    if (touched[v]) return;                                                                                          \
    touched[v] = 1;                                                                                                  \
    EACH_LANE s[v * LANES + l] = 0;                                                                                  \
    EACH_LANE b[v * LANES + l] = 0;                                                                                  \
}                                                                                                                    \
/* Before a panel: only vertices that are always visited count as touched; s holds their anchors, c is reset. */     \
static void network_begin_##suffix(ptrdiff_t n, const unsigned char *always, const T *anchor, ptrdiff_t n_edges,     \
                                   const int *slot, const T *conductance, unsigned char *touched,                    \
                                   T *restrict s, T *restrict b, T *restrict c) {                                    \
    memcpy(touched, always, n);                                                                                      \
    for (ptrdiff_t v = 0; v < n; v++) {                                                                              \
        if (!always[v]) continue;                                                                                    \
        EACH_LANE s[v * LANES + l] = anchor[v];                                                                      \
        EACH_LANE b[v * LANES + l] = 0;                                                                              \
    }                                                                                                                \
    for (ptrdiff_t e = 0; e < n_edges; e++)                                                                          \
        if (slot[e] >= 0) EACH_LANE c[(ptrdiff_t)slot[e] * LANES + l] = conductance[e];                              \
}                                                                                                                    \
/* Eliminates the touched vertices: s receives 1/d, b and c what they are at each vertex's turn; returns <b, x>. */  \
static double network_forward_##suffix(ptrdiff_t n, const int *order, const long long *later_ptr,                    \
                                       const int *later, const T *conductance, const long long *mesh_ptr,            \
                                       const int *mesh, const int *slot, unsigned char *touched,                     \
                                       T *restrict s, T *restrict b, T *restrict c) {                                \
    double total[LANES] = {0};                                                                                       \
    for (ptrdiff_t k = 0; k < n; k++) {                                                                              \
        if (!touched[order[k]]) continue;                                                                            \
        T *restrict sv = s + (ptrdiff_t)order[k] * LANES;                                                            \
        T *restrict bv = b + (ptrdiff_t)order[k] * LANES;                                                            \
        T inverse[LANES];                                                                                            \
        EACH_LANE inverse[l] = sv[l];                                                                                \
        for (long long e = later_ptr[k]; e < later_ptr[k + 1]; e++) {                                                \
            if (slot[e] < 0) EACH_LANE inverse[l] += conductance[e];                                                 \
            else EACH_LANE inverse[l] += c[(ptrdiff_t)slot[e] * LANES + l];                                          \
        }                                                                                                            \
        EACH_LANE inverse[l] = inverse[l] > 0 ? 1 / inverse[l] : 0;                                                  \
        EACH_LANE total[l] += (double)(bv[l] * bv[l] * inverse[l]);                                                  \
        const int *pair = mesh + mesh_ptr[k];                                                                        \
        for (long long e = later_ptr[k]; e < later_ptr[k + 1]; e++) {                                                \
            network_reach_##suffix(later[e], touched, s, b);                                                         \
            T *restrict su = s + (ptrdiff_t)later[e] * LANES;                                                        \
            T *restrict bu = b + (ptrdiff_t)later[e] * LANES;                                                        \
            T share[LANES];                                                                                          \
            if (slot[e] < 0) EACH_LANE share[l] = conductance[e] * inverse[l];                                       \
            else EACH_LANE share[l] = c[(ptrdiff_t)slot[e] * LANES + l] * inverse[l];                                \
            EACH_LANE su[l] += share[l] * sv[l];                                                                     \
            EACH_LANE bu[l] += share[l] * bv[l];                                                                     \
            for (long long f = e + 1; f < later_ptr[k + 1]; f++) {                                                   \
                T *restrict joined = c + (ptrdiff_t)*pair++ * LANES;                                                 \
                if (slot[f] < 0) EACH_LANE joined[l] += share[l] * conductance[f];                                   \
                else EACH_LANE joined[l] += share[l] * c[(ptrdiff_t)slot[f] * LANES + l];                            \
            }                                                                                                        \
        }                                                                                                            \
        EACH_LANE sv[l] = inverse[l];                                                                                \
    }                                                                                                                \
    double sum = 0;                                                                                                  \
    EACH_LANE sum += total[l];                                                                                       \
    return sum;                                                                                                      \
}                                                                                                                    \
/* The solution x after the elimination, and on from there: m <- x + momentum (x - old), old <- x. A vertex that is   \
 * not touched has its one later neighbour's value; one that nothing holds stays at m. Returns <m - x, x - old>. */  \
static double network_move_##suffix(ptrdiff_t n, const int *order, const long long *later_ptr, const int *later,     \
                                    const T *conductance, const int *slot, const unsigned char *touched,             \
                                    const T *restrict inverse, const T *restrict b, const T *restrict c,             \
                                    T *restrict m, T *restrict old, T momentum) {                                    \
    double uphill[LANES] = {0};                                                                                      \
    for (ptrdiff_t k = n - 1; k >= 0; k--) {                                                                         \
        const ptrdiff_t v = (ptrdiff_t)order[k] * LANES;                                                             \
        T x[LANES];                                                                                                  \
        if (!touched[order[k]]) {                                                                                    \
            const T *xu = old + (ptrdiff_t)later[later_ptr[k]] * LANES;                                              \
            EACH_LANE x[l] = xu[l];                                                                                  \
        } else {                                                                                                     \
            EACH_LANE x[l] = b[v + l];                                                                               \
            for (long long e = later_ptr[k]; e < later_ptr[k + 1]; e++) {                                            \
                const T *xu = old + (ptrdiff_t)later[e] * LANES;                                                     \
                if (slot[e] < 0) EACH_LANE x[l] += conductance[e] * xu[l];                                           \
                else EACH_LANE x[l] += c[(ptrdiff_t)slot[e] * LANES + l] * xu[l];                                    \
            }                                                                                                        \
            EACH_LANE x[l] = inverse[v + l] > 0 ? x[l] * inverse[v + l] : m[v + l];                                  \
        }                                                                                                            \
        T sum[LANES];                                                                                                \
        EACH_LANE {                                                                                                  \
            const T way = x[l] - old[v + l];                                                                         \
            sum[l] = (m[v + l] - x[l]) * way;                                                                        \
            m[v + l] = x[l] + momentum * way;                                                                        \
            old[v + l] = x[l];                                                                                       \
        }                                                                                                            \
        EACH_LANE uphill[l] += (double)sum[l];                                                                       \
    }                                                                                                                \
    double sum = 0;                                                                                                  \
    EACH_LANE sum += uphill[l];                                                                                      \
    return sum;                                                                                                      \
}

#define ITERATED_FUNCTIONS(T, suffix)                                                                                \
/* z <- P^-1 z by the factors of an elimination. */                                                                  \
static void network_solve_##suffix(ptrdiff_t n, const int *order, const long long *later_ptr, const int *later,      \
                                   const T *share, const T *inverse, T *restrict z) {                                \
    for (ptrdiff_t k = 0; k < n; k++) {                                                                              \
        T x[LANES];                                                                                                  \
        EACH_LANE x[l] = z[(ptrdiff_t)order[k] * LANES + l];                                                         \
        for (long long e = later_ptr[k]; e < later_ptr[k + 1]; e++) {                                                \
            T *restrict zu = z + (ptrdiff_t)later[e] * LANES;                                                        \
            EACH_LANE zu[l] += share[e] * x[l];                                                                      \
        }                                                                                                            \
    }                                                                                                                \
    for (ptrdiff_t k = n - 1; k >= 0; k--) {                                                                         \
        T *restrict zv = z + (ptrdiff_t)order[k] * LANES;                                                            \
        T x[LANES];                                                                                                  \
        EACH_LANE x[l] = zv[l] * inverse[order[k]];                                                                  \
        for (long long e = later_ptr[k]; e < later_ptr[k + 1]; e++) {                                                \
            const T *restrict zu = z + (ptrdiff_t)later[e] * LANES;                                                  \
            EACH_LANE x[l] += share[e] * zu[l];                                                                      \
        }                                                                                                            \
        EACH_LANE zv[l] = x[l];                                                                                      \
    }                                                                                                                \
}                                                                                                                    \
/* q <- s p + sum c (p_v - p_u) over the links of the network itself. */                                             \
static void network_apply_##suffix(ptrdiff_t n, ptrdiff_t n_links, const int *ends, const T *conductance,            \
                                   const T *restrict s, const T *restrict p, T *restrict q) {                        \
    for (ptrdiff_t i = 0; i < n * LANES; i++) q[i] = s[i] * p[i];                                                    \
    for (ptrdiff_t i = 0; i < n_links; i++) {                                                                        \
        const ptrdiff_t u = (ptrdiff_t)ends[2 * i] * LANES, v = (ptrdiff_t)ends[2 * i + 1] * LANES;                  \
        T flow[LANES];                                                                                               \
        EACH_LANE flow[l] = conductance[i] * (p[u + l] - p[v + l]);                                                  \
        EACH_LANE q[u + l] += flow[l];                                                                               \
        EACH_LANE q[v + l] -= flow[l];                                                                               \
    }                                                                                                                \
}                                                                                                                    \
static inline void network_dot_##suffix(ptrdiff_t n, const T *restrict a, const T *restrict b, double *sum) {        \
    EACH_LANE sum[l] = 0;                                                                                            \
    for (ptrdiff_t v = 0; v < n; v++) EACH_LANE sum[l] += (double)(a[v * LANES + l] * b[v * LANES + l]);             \
}                                                                                                                    \
/* Conjugate gradients from m on for excess s and source b, until <r, P^-1 r> has fallen to ``tol`` of its first     \
 * value in every lane; x receives the solution, b the residual r. Returns the number of steps. */                   \
static int network_iterate_##suffix(ptrdiff_t n, const int *order, const long long *later_ptr, const int *later,     \
                                    const T *share, const T *inverse, ptrdiff_t n_links, const int *ends,            \
                                    const T *conductance, const T *s, T *restrict b, const T *restrict m,            \
                                    T *restrict x, T *restrict z, T *restrict p, T *restrict q, double tol,          \
                                    int most) {                                                                      \
    double first[LANES], last[LANES], now[LANES], curve[LANES];                                                      \
    memcpy(x, m, n * LANES * sizeof(T));                                                                             \
    network_apply_##suffix(n, n_links, ends, conductance, s, x, q);                                                  \
    for (ptrdiff_t i = 0; i < n * LANES; i++) b[i] -= q[i];                                                          \
    for (int step = 0; step < most; step++) {                                                                        \
        T along[LANES];                                                                                              \
        int open = 0;                                                                                                \
        memcpy(z, b, n * LANES * sizeof(T));                                                                         \
        network_solve_##suffix(n, order, later_ptr, later, share, inverse, z);                                       \
        network_dot_##suffix(n, b, z, now);                                                                          \
        if (step == 0) EACH_LANE first[l] = now[l];                                                                  \
        EACH_LANE open |= now[l] > tol * first[l];                                                                   \
        if (!open) return step;                                                                                      \
        if (step == 0) memcpy(p, z, n * LANES * sizeof(T));                                                          \
        else {                                                                                                       \
            EACH_LANE along[l] = (T)(last[l] > 0 ? now[l] / last[l] : 0);                                            \
            for (ptrdiff_t v = 0; v < n; v++)                                                                        \
                EACH_LANE p[v * LANES + l] = z[v * LANES + l] + along[l] * p[v * LANES + l];                         \
        }                                                                                                            \
        EACH_LANE last[l] = now[l];                                                                                  \
        network_apply_##suffix(n, n_links, ends, conductance, s, p, q);                                              \
        network_dot_##suffix(n, p, q, curve);                                                                        \
        EACH_LANE along[l] = (T)(curve[l] > 0 && now[l] > tol * first[l] ? now[l] / curve[l] : 0);                   \
        for (ptrdiff_t v = 0; v < n; v++) EACH_LANE x[v * LANES + l] += along[l] * p[v * LANES + l];                 \
        for (ptrdiff_t v = 0; v < n; v++) EACH_LANE b[v * LANES + l] -= along[l] * q[v * LANES + l];                 \
    }                                                                                                                \
    return most;                                                                                                     \
}

NETWORK_FUNCTIONS(float, f)
NETWORK_FUNCTIONS(double, d)
ITERATED_FUNCTIONS(float, f)
ITERATED_FUNCTIONS(double, d)

#endif
