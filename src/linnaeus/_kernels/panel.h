/* Sixteen columns of a weight matrix side by side.
 *
 * W is (features x 16), row-major: the weights of one feature for 16 nodes fill one cache line in float. A row of X
 * meets all 16 nodes at once, so each non-zero of X costs one load instead of 16. GCC and Clang keep the sums in vector
 * registers through their vector types; other compilers get the same loops as scalars.
 *
 * indices == NULL means a dense row: entry k belongs to feature k.
 */
#ifndef LINNAEUS_PANEL_H
#define LINNAEUS_PANEL_H

#include <stddef.h>

#define PANEL 16

/* Ask for the cache lines of a place that is needed soon. */
static inline void panel_prefetch(const void *place, ptrdiff_t n_bytes) {
#if defined(__GNUC__) || defined(__clang__)
    for (ptrdiff_t k = 0; k < n_bytes; k += 64) __builtin_prefetch((const char *)place + k);
    __asm__ volatile("" : : "r"(place)); /* without it GCC sees a function without effect and drops the call */
#else
    (void)place, (void)n_bytes;
#endif
}

#if defined(__GNUC__) || defined(__clang__)
/* Vectors of the width of the machine's registers: wider ones would be taken apart in memory. Any alignment is
 * tolerated; aligned arrays are merely faster. Sums run side by side, so that an addition need not wait for the last.
 */
#if defined(__AVX512F__)
#define LANE 64
#define SUMS 4
#elif defined(__AVX__)
#define LANE 32
#define SUMS 2
#else
#define LANE 16
#define SUMS 2
#endif
typedef float lane_f __attribute__((vector_size(LANE), aligned(4), may_alias));
typedef double lane_d __attribute__((vector_size(LANE), aligned(8), may_alias));

#define PANEL_FUNCTIONS(T, V, suffix)                                                                              \
    enum { LANES_##suffix = PANEL * sizeof(T) / LANE };                                                            \
    static inline void panel_dot_##suffix(ptrdiff_t n, const int *indices, const T *data, const T *W, T *S) {      \
        V s[SUMS][LANES_##suffix] = {{{0}}};                                                                       \
        ptrdiff_t k = 0;                                                                                           \
        for (; k + SUMS <= n; k += SUMS)                                                                           \
            for (int u = 0; u < SUMS; u++) {                                                                       \
                const V *w = (const V *)(W + (indices ? (ptrdiff_t)indices[k + u] : k + u) * PANEL);               \
                for (int l = 0; l < LANES_##suffix; l++) s[u][l] += data[k + u] * w[l];                            \
            }                                                                                                      \
        for (; k < n; k++) {                                                                                       \
            const V *w = (const V *)(W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL);                           \
            for (int l = 0; l < LANES_##suffix; l++) s[0][l] += data[k] * w[l];                                    \
        }                                                                                                          \
        for (int u = 1; u < SUMS; u++)                                                                             \
            for (int l = 0; l < LANES_##suffix; l++) s[0][l] += s[u][l];                                           \
        for (int l = 0; l < LANES_##suffix; l++) ((V *)S)[l] = s[0][l];                                            \
    }                                                                                                              \
    static inline void panel_axpy_##suffix(ptrdiff_t n, const int *indices, const T *data, const T *D, T *W) {     \
        V d[LANES_##suffix];                                                                                       \
        for (int l = 0; l < LANES_##suffix; l++) d[l] = ((const V *)D)[l];                                         \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                        \
            V *w = (V *)(W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL);                                       \
            for (int l = 0; l < LANES_##suffix; l++) w[l] += data[k] * d[l];                                       \
        }                                                                                                          \
    }

/* Scores in double precision of single-precision rows and weights, for certificates. */
typedef float half_f __attribute__((vector_size(LANE / 2), aligned(4), may_alias));
static inline void panel_dot_exact(ptrdiff_t n, const int *indices, const float *data, const float *W, double *S) {
    enum { LANES = PANEL * sizeof(double) / LANE };
    lane_d s[LANES] = {{0}};
    for (ptrdiff_t k = 0; k < n; k++) {
        const half_f *w = (const half_f *)(W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL);
        for (int l = 0; l < LANES; l++) s[l] += (double)data[k] * __builtin_convertvector(w[l], lane_d);
    }
    for (int l = 0; l < LANES; l++) ((lane_d *)S)[l] = s[l];
}

/* W += x' D in double precision for a single-precision row. */
static inline void panel_axpy_exact(ptrdiff_t n, const int *indices, const float *data, const double *D, double *W) {
    enum { LANES = PANEL * sizeof(double) / LANE };
    lane_d d[LANES];
    for (int l = 0; l < LANES; l++) d[l] = ((const lane_d *)D)[l];
    for (ptrdiff_t k = 0; k < n; k++) {
        lane_d *w = (lane_d *)(W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL);
        for (int l = 0; l < LANES; l++) w[l] += (double)data[k] * d[l];
    }
}
#else
#define PANEL_FUNCTIONS(T, V, suffix)                                                                              \
    static inline void panel_dot_##suffix(ptrdiff_t n, const int *indices, const T *data, const T *W, T *S) {      \
        for (int b = 0; b < PANEL; b++) S[b] = 0;                                                                  \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                        \
            const T *w = W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL;                                        \
            for (int b = 0; b < PANEL; b++) S[b] += data[k] * w[b];                                                \
        }                                                                                                          \
    }                                                                                                              \
    static inline void panel_axpy_##suffix(ptrdiff_t n, const int *indices, const T *data, const T *D, T *W) {     \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                        \
            T *w = W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL;                                              \
            for (int b = 0; b < PANEL; b++) w[b] += data[k] * D[b];                                                \
        }                                                                                                          \
    }
static inline void panel_dot_exact(ptrdiff_t n, const int *indices, const float *data, const float *W, double *S) {
    for (int b = 0; b < PANEL; b++) S[b] = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        const float *w = W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL;
        for (int b = 0; b < PANEL; b++) S[b] += (double)data[k] * (double)w[b];
    }
}
static inline void panel_axpy_exact(ptrdiff_t n, const int *indices, const float *data, const double *D, double *W) {
    for (ptrdiff_t k = 0; k < n; k++) {
        double *w = W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL;
        for (int b = 0; b < PANEL; b++) w[b] += (double)data[k] * D[b];
    }
}
#endif

PANEL_FUNCTIONS(float, lane_f, f)
PANEL_FUNCTIONS(double, lane_d, d)

#endif
