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
/* 64-byte vectors that tolerate any alignment; aligned arrays are merely faster. */
typedef float panel_f __attribute__((vector_size(64), aligned(4), may_alias));
typedef double panel_d __attribute__((vector_size(128), aligned(8), may_alias));

#define PANEL_FUNCTIONS(T, V, suffix)                                                                              \
    static inline void panel_dot_##suffix(ptrdiff_t n, const int *indices, const T *data, const T *W, T *S) {      \
        V s0 = {0}, s1 = {0};                                                                                      \
        ptrdiff_t k = 0;                                                                                           \
        if (indices) {                                                                                             \
            for (; k + 1 < n; k += 2) {                                                                            \
                s0 += data[k] * *(const V *)(W + (ptrdiff_t)indices[k] * PANEL);                                   \
                s1 += data[k + 1] * *(const V *)(W + (ptrdiff_t)indices[k + 1] * PANEL);                           \
            }                                                                                                      \
            if (k < n) s0 += data[k] * *(const V *)(W + (ptrdiff_t)indices[k] * PANEL);                            \
        } else {                                                                                                   \
            for (; k < n; k++) s0 += data[k] * *(const V *)(W + k * PANEL);                                        \
        }                                                                                                          \
        *(V *)S = s0 + s1;                                                                                         \
    }                                                                                                              \
    static inline void panel_axpy_##suffix(ptrdiff_t n, const int *indices, const T *data, const T *D, T *W) {     \
        const V d = *(const V *)D;                                                                                 \
        if (indices)                                                                                               \
            for (ptrdiff_t k = 0; k < n; k++) *(V *)(W + (ptrdiff_t)indices[k] * PANEL) += data[k] * d;            \
        else                                                                                                       \
            for (ptrdiff_t k = 0; k < n; k++) *(V *)(W + k * PANEL) += data[k] * d;                                \
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

PANEL_FUNCTIONS(float, panel_f, f)
PANEL_FUNCTIONS(double, panel_d, d)

#endif
