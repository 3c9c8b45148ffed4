/* Gap-weighted subsequences of one sequence s and LANES sequences t side by side: K_1 .. K_p of each pair.
 *
 *     hit = [s_a == t_b]                                    R_0 = 1
 *     K_l   += hit * R_{l-1}(a-1, b-1)
 *     r_l    = decay * r_l + hit * R_{l-1}(a-1, b-1)        r_l = 0 where a row begins
 *     R_l(a, b) = decay * R_l(a-1, b) + r_l                 R_l = 0 in row 0 and column 0
 *
 * Gaps alone are weighted; the weight of whole spans is decay^(2l) K_l. A row of R_l replaces the one above it: levels
 * go downwards, so that level l finds row a-1 of level l-1. Columns go in tiles that stay in the first cache; what
 * crosses the edge of a tile (r_l, and R_l of the row above) waits in ``edge``, one entry per row.
 *
 * Codes are whole numbers in the type of the sums, so that comparing 16 of them gives the mask for 16 sums. Unused
 * places of the shorter t have the code -1, which no s has.
 */
#ifndef LINNAEUS_SUBSEQUENCE_H
#define LINNAEUS_SUBSEQUENCE_H

#include <stddef.h>
#include <string.h>

#define MOST_LEVELS 16
#define LANE_BYTES 64

/* Sums of long gaps sink below the smallest normal number, where processors are slow: they count as nothing. */
#if defined(__SSE__) || defined(_M_X64)
#include <xmmintrin.h>
static inline unsigned int flush_tiny(void) {
    unsigned int before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    return before;
}
static inline void flush_as_before(unsigned int before) { _mm_setcsr(before); }
#else
static inline unsigned int flush_tiny(void) { return 0; }
static inline void flush_as_before(unsigned int before) { (void)before; }
#endif

#if defined(__GNUC__) || defined(__clang__)
#define INLINE static inline __attribute__((always_inline))
#if defined(__AVX512F__)
#define REGISTER 64
#elif defined(__AVX__)
#define REGISTER 32
#else
#define REGISTER 16
#endif
#define PARTS (LANE_BYTES / REGISTER)
#define VECTOR(T) T __attribute__((vector_size(REGISTER), aligned(sizeof(T)), may_alias))
typedef VECTOR(float) sub_f;
typedef VECTOR(double) sub_d;
typedef VECTOR(int) mask_f;
typedef VECTOR(long long) mask_d;
#define HITS(M, t, c) ((t) == (c))
#define MASKED(V, M, d, m) ((V)((M)(d) & (m)))
#define ONE(V) ((V){0} + 1)
#else
#define INLINE static inline
typedef float sub_f;
typedef double sub_d;
typedef int mask_f;
typedef int mask_d;
#define REGISTER 0
#define HITS(M, t, c) ((t) == (c))
#define MASKED(V, M, d, m) ((m) ? (d) : 0)
#define ONE(V) 1
#endif

#define SUBSEQUENCE(T, V, M, N, suffix)                                                                                \
    INLINE void levels_##suffix(const int p, ptrdiff_t n_s, const T *s, ptrdiff_t n_t, const V *t, T decay, V *R,      \
                                V *edge, T *out) {                                                                     \
        const ptrdiff_t tile = p > 1 ? 256 / p : 256, rows = n_t * N;                                                  \
        V sums[MOST_LEVELS][N], r[MOST_LEVELS][N], d[MOST_LEVELS][N], one = ONE(V);                                    \
        memset(sums, 0, sizeof(sums));                                                                                 \
        memset(R, 0, (p - 1) * rows * sizeof(V));                                                                      \
        memset(edge, 0, n_s * 2 * (p - 1) * N * sizeof(V));                                                            \
        for (ptrdiff_t b0 = 0; b0 < n_t; b0 += tile) {                                                                 \
            const ptrdiff_t b1 = b0 + tile < n_t ? b0 + tile : n_t;                                                    \
            for (ptrdiff_t a = 0; a < n_s; a++) {                                                                      \
                V *kept = edge + a * 2 * (p - 1) * N;                                                                  \
                const T letter = s[a];                                                                                 \
                for (int l = 0; l < p - 1; l++)                                                                        \
                    for (int k = 0; k < N; k++) r[l][k] = kept[2 * l * N + k], d[l][k] = kept[(2 * l + 1) * N + k];    \
                for (ptrdiff_t b = b0; b < b1; b++) {                                                                  \
                    M hit[N];                                                                                          \
                    for (int k = 0; k < N; k++) hit[k] = HITS(M, t[b * N + k], letter);                                \
                    for (int l = p - 1; l >= 0; l--) /* level l + 1; d[l] and R[l] are those of level l + 1, too */    \
                        for (int k = 0; k < N; k++) {                                                                  \
                            V h = MASKED(V, M, l ? d[l - 1][k] : one, hit[k]);                                         \
                            sums[l][k] += h;                                                                           \
                            if (l < p - 1) {                                                                           \
                                V *place = R + l * rows + b * N + k;                                                   \
                                r[l][k] = decay * r[l][k] + h;                                                         \
                                d[l][k] = *place;                                                                      \
                                *place = decay * d[l][k] + r[l][k];                                                    \
                            }                                                                                          \
                        }                                                                                              \
                }                                                                                                      \
                for (int l = 0; l < p - 1; l++)                                                                        \
                    for (int k = 0; k < N; k++) kept[2 * l * N + k] = r[l][k], kept[(2 * l + 1) * N + k] = d[l][k];    \
            }                                                                                                          \
        }                                                                                                              \
        memcpy(out, sums, p * LANE_BYTES);                                                                             \
    }                                                                                                                  \
    /* p known to the compiler keeps sums in registers. */                                                             \
    static void subsequence_##suffix(int p, ptrdiff_t n_s, const T *s, ptrdiff_t n_t, const T *t, T decay, T *R,       \
                                     T *edge, T *out) {                                                                \
        switch (p) {                                                                                                   \
        case 1: levels_##suffix(1, n_s, s, n_t, (const V *)t, decay, (V *)R, (V *)edge, out); break;                   \
        case 2: levels_##suffix(2, n_s, s, n_t, (const V *)t, decay, (V *)R, (V *)edge, out); break;                   \
        case 3: levels_##suffix(3, n_s, s, n_t, (const V *)t, decay, (V *)R, (V *)edge, out); break;                   \
        case 4: levels_##suffix(4, n_s, s, n_t, (const V *)t, decay, (V *)R, (V *)edge, out); break;                   \
        case 5: levels_##suffix(5, n_s, s, n_t, (const V *)t, decay, (V *)R, (V *)edge, out); break;                   \
        case 6: levels_##suffix(6, n_s, s, n_t, (const V *)t, decay, (V *)R, (V *)edge, out); break;                   \
        case 7: levels_##suffix(7, n_s, s, n_t, (const V *)t, decay, (V *)R, (V *)edge, out); break;                   \
        case 8: levels_##suffix(8, n_s, s, n_t, (const V *)t, decay, (V *)R, (V *)edge, out); break;                   \
        default: levels_##suffix(p, n_s, s, n_t, (const V *)t, decay, (V *)R, (V *)edge, out);                         \
        }                                                                                                              \
    }

#if REGISTER
SUBSEQUENCE(float, sub_f, mask_f, PARTS, float)
SUBSEQUENCE(double, sub_d, mask_d, PARTS, double)
#else
SUBSEQUENCE(float, sub_f, mask_f, 16, float)
SUBSEQUENCE(double, sub_d, mask_d, 8, double)
#endif

#endif
