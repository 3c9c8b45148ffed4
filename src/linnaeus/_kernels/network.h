/* Elimination of the vertices of a network, sixteen features side by side.
 *
 * For every lane: excess s_v >= 0, source b_v, conductances c_uv > 0. Vertices go in a fixed order by the star-mesh rule:
 * vertex v with total d = s_v + sum c_vu hands (c_vu / d) of its excess and source to each later neighbour u, and joins
 * each pair of them by c_vu c_vw / d. All terms are positive, so nothing cancels.
 *
 * Pointers never overlap; the compiler is told so, or it would not keep sixteen lanes in registers.
 */
#ifndef LINNAEUS_NETWORK_H
#define LINNAEUS_NETWORK_H

#include <stddef.h>

#define LANES 16
#define EACH_LANE for (int l = 0; l < LANES; l++)

#define NETWORK_FUNCTIONS(T, suffix)                                                                                 \
    /* Eliminates all vertices: s receives 1/d, b and c what they are at each vertex's turn; returns <b, x>. */      \
    static double network_forward_##suffix(ptrdiff_t n, const int *order, const long long *later_ptr,                \
                                           const int *later, const long long *mesh_ptr, const int *mesh,             \
                                           T *restrict s, T *restrict b, T *restrict c) {                            \
        double total[LANES] = {0};                                                                                   \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                          \
            T *restrict sv = s + (ptrdiff_t)order[k] * LANES;                                                        \
            T *restrict bv = b + (ptrdiff_t)order[k] * LANES;                                                        \
            T inverse[LANES];                                                                                        \
            EACH_LANE inverse[l] = sv[l];                                                                            \
            for (long long e = later_ptr[k]; e < later_ptr[k + 1]; e++) EACH_LANE inverse[l] += c[e * LANES + l];    \
            EACH_LANE inverse[l] = inverse[l] > 0 ? 1 / inverse[l] : 0;                                              \
            EACH_LANE total[l] += (double)(bv[l] * bv[l] * inverse[l]);                                              \
            const int *pair = mesh + mesh_ptr[k];                                                                    \
            for (long long e = later_ptr[k]; e < later_ptr[k + 1]; e++) {                                            \
                T *restrict su = s + (ptrdiff_t)later[e] * LANES;                                                    \
                T *restrict bu = b + (ptrdiff_t)later[e] * LANES;                                                    \
                T share[LANES];                                                                                      \
                EACH_LANE share[l] = c[e * LANES + l] * inverse[l];                                                  \
                EACH_LANE su[l] += share[l] * sv[l];                                                                 \
                EACH_LANE bu[l] += share[l] * bv[l];                                                                 \
                for (long long f = e + 1; f < later_ptr[k + 1]; f++) {                                               \
                    T *restrict joined = c + (ptrdiff_t)*pair++ * LANES;                                             \
                    const T *far = c + f * LANES;                                                                    \
                    EACH_LANE joined[l] += share[l] * far[l];                                                        \
                }                                                                                                    \
            }                                                                                                        \
            EACH_LANE sv[l] = inverse[l];                                                                            \
        }                                                                                                            \
        double sum = 0;                                                                                              \
        EACH_LANE sum += total[l];                                                                                   \
        return sum;                                                                                                  \
    }                                                                                                                \
    /* The solution after the elimination; a vertex that nothing holds keeps the value that x had. */                \
    static void network_backward_##suffix(ptrdiff_t n, const int *order, const long long *later_ptr,                 \
                                          const int *later, const T *restrict inverse, const T *restrict b,          \
                                          const T *restrict c, T *restrict x) {                                      \
        for (ptrdiff_t k = n - 1; k >= 0; k--) {                                                                     \
            const ptrdiff_t v = (ptrdiff_t)order[k] * LANES;                                                         \
            T value[LANES];                                                                                          \
            EACH_LANE value[l] = b[v + l];                                                                           \
            for (long long e = later_ptr[k]; e < later_ptr[k + 1]; e++) {                                            \
                const T *xu = x + (ptrdiff_t)later[e] * LANES;                                                       \
                EACH_LANE value[l] += c[e * LANES + l] * xu[l];                                                      \
            }                                                                                                        \
            EACH_LANE x[v + l] = inverse[v + l] > 0 ? value[l] * inverse[v + l] : x[v + l];                          \
        }                                                                                                            \
    }                                                                                                                \
    /* The sources and excesses of the panel, and x where it starts. */                                              \
    static void network_begin_##suffix(ptrdiff_t n, const T *restrict anchor, const T *restrict m, T *restrict s,    \
                                       T *restrict b, T *restrict x) {                                               \
        for (ptrdiff_t v = 0; v < n; v++)                                                                            \
            EACH_LANE {                                                                                              \
                const ptrdiff_t i = v * LANES + l;                                                                   \
                b[i] += s[i] * m[i];                                                                                 \
                s[i] += anchor[v];                                                                                   \
                x[i] = m[i];                                                                                         \
            }                                                                                                        \
    }                                                                                                                \
    /* m <- x + momentum (x - old), old <- x; returns <m - x, x - old>. */                                           \
    static double network_move_##suffix(ptrdiff_t n, const T *restrict x, T *restrict m, T *restrict old,            \
                                        T momentum) {                                                                \
        double uphill[LANES] = {0};                                                                                  \
        for (ptrdiff_t v = 0; v < n; v++)                                                                            \
            EACH_LANE {                                                                                              \
                const ptrdiff_t i = v * LANES + l;                                                                   \
                const T way = x[i] - old[i];                                                                         \
                uphill[l] += (double)((m[i] - x[i]) * way);                                                          \
                m[i] = x[i] + momentum * way;                                                                        \
                old[i] = x[i];                                                                                       \
            }                                                                                                        \
        double sum = 0;                                                                                              \
        EACH_LANE sum += uphill[l];                                                                                  \
        return sum;                                                                                                  \
    }

NETWORK_FUNCTIONS(float, f)
NETWORK_FUNCTIONS(double, d)

#endif
