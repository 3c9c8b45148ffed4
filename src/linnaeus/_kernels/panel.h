/* Sixteen columns of a weight matrix side by side.
 *
 * W is (features x 16), row-major: the weights of one feature for 16 nodes fill one cache line in float. A row of X meets
 * all 16 nodes at once, so each non-zero of X costs one load instead of 16. GCC and Clang keep the sums in vector
 * registers through their vector types; other compilers get the same loops as scalars.
 *
 * indices == NULL means a dense row: entry k belongs to feature k.
 */
#ifndef LINNAEUS_PANEL_H
#define LINNAEUS_PANEL_H

#include <stddef.h>

#define PANEL 16

/* Scores in double precision of single-precision rows and weights, for certificates. */
static inline void panel_dot_exact(ptrdiff_t n, const int *indices, const float *data, const float *W, double *S) {
    for (int b = 0; b < PANEL; b++) S[b] = 0;
    for (ptrdiff_t k = 0; k < n; k++) {
        const float *w = W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL;
        const double x = data[k];
        for (int b = 0; b < PANEL; b++) S[b] += x * (double)w[b];
    }
}

#if defined(__GNUC__) || defined(__clang__)
/* Vectors of the width of the machine's registers: wider ones would be taken apart in memory. Any alignment is
 * tolerated; aligned arrays are merely faster. Two sums run side by side, so that an addition need not wait for the last. */
#if defined(__AVX512F__)
#define LANE 64
#elif defined(__AVX__)
#define LANE 32
#else
#define LANE 16
#endif
typedef float lane_f __attribute__((vector_size(LANE), aligned(4), may_alias));
typedef double lane_d __attribute__((vector_size(LANE), aligned(8), may_alias));

#define PANEL_FUNCTIONS(T, V, suffix)                                                                              \
    enum { LANES_##suffix = PANEL * sizeof(T) / LANE };                                                            \
    static inline void panel_dot_##suffix(ptrdiff_t n, const int *indices, const T *data, const T *W, T *S) {      \
        V s0[LANES_##suffix] = {{0}}, s1[LANES_##suffix] = {{0}};                                                  \
        ptrdiff_t k = 0;                                                                                           \
        for (; k + 1 < n; k += 2) {                                                                                \
            const V *w0 = (const V *)(W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL);                          \
            const V *w1 = (const V *)(W + (indices ? (ptrdiff_t)indices[k + 1] : k + 1) * PANEL);                  \
            for (int l = 0; l < LANES_##suffix; l++) s0[l] += data[k] * w0[l];                                     \
            for (int l = 0; l < LANES_##suffix; l++) s1[l] += data[k + 1] * w1[l];                                 \
        }                                                                                                          \
        if (k < n) {                                                                                               \
            const V *w0 = (const V *)(W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL);                          \
            for (int l = 0; l < LANES_##suffix; l++) s0[l] += data[k] * w0[l];                                     \
        }                                                                                                          \
        for (int l = 0; l < LANES_##suffix; l++) ((V *)S)[l] = s0[l] + s1[l];                                      \
    }                                                                                                              \
    static inline void panel_axpy_##suffix(ptrdiff_t n, const int *indices, const T *data, const T *D, T *W) {     \
        V d[LANES_##suffix];                                                                                       \
        for (int l = 0; l < LANES_##suffix; l++) d[l] = ((const V *)D)[l];                                         \
        for (ptrdiff_t k = 0; k < n; k++) {                                                                        \
            V *w = (V *)(W + (indices ? (ptrdiff_t)indices[k] : k) * PANEL);                                       \
            for (int l = 0; l < LANES_##suffix; l++) w[l] += data[k] * d[l];                                       \
        }                                                                                                          \
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
#endif

PANEL_FUNCTIONS(float, lane_f, f)
PANEL_FUNCTIONS(double, lane_d, d)

#endif
