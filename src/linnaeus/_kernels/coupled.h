/* One row meets sixteen leaves whose weights move together: their dual variables, one after the other.
 *
 * Column b has the score S, sign Y, bound c and dual variable a, as in step.h. A change of a_b moves the scores of all
 * columns: S_m += Y_b (new a - old a) T_bm Q, where T couples the columns and Q is the squared norm of the row. Columns
 * that have nothing to gain are left alone. They are found for all sixteen at once without branches; the others follow
 * in order, each with the scores that the ones before it left.
 *
 * Logistic loss: with p = c / (1 + e^t) the optimum for fixed scores, a column is left alone where
 * |a - p| <= reach p (c - p) / c, which costs half of reach^2 p (c - p) / c of the duality gap. The share of a row is
 * estimated by its quadratic expansion.
 *
 * Squared hinge: g = a / 2c - z, and c g^2 is the share of the gap where z > 0. A column is left alone where
 * |g| <= reach z: all of these together cost at most reach^2 of the losses.
 */
#ifndef LINNAEUS_COUPLED_H
#define LINNAEUS_COUPLED_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "network.h"
#include "step.h"

/* e^x to about seven digits; plain arithmetic, so that compilers use vectors. */
static inline float coupled_exp(float x) {
    x = x < -87.0f ? -87.0f : x > 87.0f ? 87.0f : x;
    const float n = (float)(int32_t)(x * 1.442695041f + (x < 0 ? -0.5f : 0.5f));
    const float r = x - n * 0.693359375f + n * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const int32_t bits = ((int32_t)n + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

/* The root in (0, c) of  Q (a - old) + t + log(a / (c - a)); `step_newton` with fewer digits. */
static inline float coupled_root(double t, double old, double Q, double c) {
    const int upper = old > 0.5 * c || (t < 0 && 0.5 * Q * c < -t);
    if (upper) old = c - old, t = -t;
    double a = old < 0.5 * c ? old : 0.5 * c;
    for (int step = 0; step < 30; step++) {
        const double slope = Q * (a - old) + t + log(a / (c - a)), curve = Q + c / (a * (c - a));
        double next = a - slope / curve;
        if (next <= 0) next = 0.1 * a;
        else if (next >= c) next = c - 0.1 * (c - a);
        const double moved = fabs(next - a), small = 1e-4 * a;
        a = next;
        if (moved <= small) break;
    }
    if (a < 1e-30 * c) a = 1e-30 * c;
    const float found = (float)(upper ? c - a : a);
    return found >= (float)c ? (float)(c * 0.9999999) : found <= 0 ? (float)(c * 1e-30) : found;
}

/* The same root; where a is near the optimum p for fixed scores, by expanding log(a / (c - a)) at p, which gives a
 * mean of a and p. The root lies between them, too. */
static inline float coupled_logistic(float t, float old, float Q, float c) {
    const float size = t < 0 ? -t : t, e = coupled_exp(-size), small = c * e / (1 + e), p = t < 0 ? c - small : small;
    const float off = old - p, held = Q * small / (1 + e);
    if (off * off > 0.01f * c * c) return coupled_root(t, old, Q, c);
    const float next = p + off * held / (1 + held);
    return next >= c ? c * 0.9999999f : next <= 0 ? c * 1e-30f : next;
}

/* Which columns move, as bits, of those that count (1, others 0); adds the row's shares to gap and primal. ``gain``
 * receives the sum of the squared projected gradients of the columns that move, -1 where the row rests: none of its
 * columns is near a move. */
static inline unsigned coupled_moves_hinge(const int squared, const float reach, const float *restrict counts,
                                           const float *restrict S, const float *restrict Y,
                                           const float *restrict c, const float *restrict a,
                                           const float *restrict above, const float *restrict below,
                                           float *restrict high, float *restrict low,
                                           float *restrict gap, float *restrict primal, float *restrict gain) {
    float move[PANEL], awake = 0, sum = 0;
    for (int b = 0; b < PANEL; b++) {
        const float z = 1 - Y[b] * S[b], excess = z > 0 ? z : 0;
        const float shift = squared ? 0.5f / c[b] : 0, upper = squared ? INFINITY : c[b];
        const float loss = c[b] * excess * (squared ? excess : 1), g = shift * a[b] - z;
        const int at_zero = a[b] <= 0, at_upper = (a[b] >= upper) & !at_zero;
        const float over = g > 0 ? g : 0, under = g < 0 ? g : 0;
        const float projected = counts[b] * (at_zero ? under : at_upper ? over : g);
        high[b] = projected > high[b] ? projected : high[b];
        low[b] = projected < low[b] ? projected : low[b];
        awake += (at_zero & (g > above[b])) | (at_upper & (g < below[b])) ? 0 : counts[b];
        gap[b] += loss - a[b] * (z - 0.5f * shift * a[b]);
        primal[b] += loss + 0.5f * a[b] * (1 - z);
        move[b] = projected * projected > reach * reach * excess * excess ? projected : 0;
        sum += move[b] * move[b];
    }
    *gain = awake > 0 ? sum : -1;
    return nonzero_f(move);
}

static inline unsigned coupled_moves_logistic(const float reach, const float *restrict S, const float *restrict Y,
                                              const float *restrict c, const float *restrict a, float *restrict gap,
                                              float *restrict primal) {
    float move[PANEL];
    for (int b = 0; b < PANEL; b++) {
        const float t = Y[b] * S[b], size = t < 0 ? -t : t, e = coupled_exp(-size);
        const float small = c[b] * e / (1 + e), p = t < 0 ? c[b] - small : small;
        const float curve = small * (1 / (1 + e)), off = a[b] - p;
        /* log(1 + e) = 2 artanh(e / (2 + e)) */
        const float u = e / (2 + e), u2 = u * u;
        const float log_part = 2 * u * (1 + u2 * (1.0f / 3 + u2 * (0.2f + u2 * (1.0f / 7 + u2 / 9))));
        gap[b] += 0.5f * off * off / (curve + 1e-30f);
        primal[b] += c[b] * (log_part + (t < 0 ? size : 0)) + 0.5f * a[b] * t;
        move[b] = off * off > reach * reach * curve * curve ? 1.0f : 0.0f;
    }
    return nonzero_f(move);
}

/* Constants, so that compilers make vector instructions of the loop. */
static inline unsigned coupled_moves(const int loss, const float reach, const float *counts, const float *S,
                                     const float *Y, const float *c, const float *a, const float *above,
                                     const float *below, float *high, float *low, float *gap, float *primal,
                                     float *gain) {
    *gain = 0;
    if (loss == LOGISTIC) return coupled_moves_logistic(reach, S, Y, c, a, gap, primal);
    return loss == SQUARED_HINGE
               ? coupled_moves_hinge(1, reach, counts, S, Y, c, a, above, below, high, low, gap, primal, gain)
               : coupled_moves_hinge(0, reach, counts, S, Y, c, a, above, below, high, low, gap, primal, gain);
}

/* Move the columns of the mask; D receives sum over b of Y_b (new a - old a) T_b. Returns whether any moved. */
static inline int coupled_step(int loss, unsigned mask, float Q, const float *restrict T, const float *restrict own,
                               const float *restrict S, const float *restrict Y, const float *restrict c,
                               float *restrict a, float *restrict D) {
    float shift[PANEL], rate[PANEL];
    int moved = 0;
    for (int b = 0; b < PANEL; b++) {
        D[b] = 0;
        shift[b] = loss == SQUARED_HINGE ? 0.5f / c[b] : 0;
        rate[b] = 1 / (Q * own[b] + shift[b] + 1e-30f);
    }
    for (; mask; mask &= mask - 1) {
        const int b = lowest_bit(mask);
        const float old = a[b], t = Y[b] * (S[b] + Q * D[b]); /* the score that the columns before it left */
        float next;
        if (loss == LOGISTIC) {
            next = coupled_logistic(t, old, Q * own[b], c[b]);
        } else {
            next = old - (shift[b] * old - 1 + t) * rate[b];
            next = next > 0 ? next : 0;
            if (loss == HINGE && next > c[b]) next = c[b];
        }
        if (next == old) continue;
        a[b] = next;
        moved = 1;
        const float change = Y[b] * (next - old);
        const float *row = T + b * PANEL;
        for (int m = 0; m < PANEL; m++) D[m] += change * row[m];
    }
    return moved;
}

/* A row's part of the derivatives by the constants' weights d of the squared hinge. */
static inline void coupled_slope(float bias, const float *restrict S, const float *restrict Y, const float *restrict c,
                                 const float *restrict d, float *restrict slope, float *restrict curvature) {
    for (int b = 0; b < PANEL; b++) {
        const float z = 1 - Y[b] * (S[b] + bias * d[b]), excess = z > 0 ? z : 0;
        slope[b] -= 2 * bias * c[b] * Y[b] * excess;
        curvature[b] += z > 0 ? 2 * bias * bias * c[b] : 0;
    }
}

enum { TOGETHER = 4 }; /* features whose products share the rows of a matrix that are in registers */

/* out = d B for the rows of d, B (16 x 16). */
static inline void coupled_product(const float (*d)[PANEL], const float *B, float (*out)[PANEL]) {
#if defined(__GNUC__) || defined(__clang__)
    for (int l = 0; l < LANES_f; l++) {
        lane_f s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
        for (int b = 0; b < PANEL; b++) {
            const lane_f row = ((const lane_f *)(B + b * PANEL))[l];
            s0 += d[0][b] * row;
            s1 += d[1][b] * row;
            s2 += d[2][b] * row;
            s3 += d[3][b] * row;
        }
        ((lane_f *)out[0])[l] = s0;
        ((lane_f *)out[1])[l] = s1;
        ((lane_f *)out[2])[l] = s2;
        ((lane_f *)out[3])[l] = s3;
    }
#else
    for (int r = 0; r < TOGETHER; r++) {
        for (int k = 0; k < PANEL; k++) out[r][k] = 0;
        for (int b = 0; b < PANEL; b++)
            for (int k = 0; k < PANEL; k++) out[r][k] += d[r][b] * B[b * PANEL + k];
    }
#endif
}

/* What a visit has changed in n <= TOGETHER features, d (16 each), becomes a change of u and of the inner vertices m,
 * sixteen of which make a panel of reach (16 x 16). */
static inline void coupled_spread(int n, const ptrdiff_t *feature, const float (*d)[PANEL], const float *inverse,
                                  const float *reach, ptrdiff_t n_panels, float *U, float *M) {
    float change[TOGETHER][PANEL], sum[TOGETHER][PANEL];
    coupled_product(d, inverse, change);
    for (int r = 0; r < n; r++)
        for (int b = 0; b < PANEL; b++) U[feature[r] * PANEL + b] += change[r][b];
    for (ptrdiff_t p = 0; p < n_panels; p++) {
        coupled_product((const float(*)[PANEL])change, reach + p * PANEL * PANEL, sum);
        for (int r = 0; r < n; r++)
            for (int b = 0; b < PANEL; b++) M[(feature[r] * n_panels + p) * PANEL + b] += sum[r][b];
    }
}

/* w = u + sum over e of share_e m[node_e], n links of each of sixteen leaves. */
static inline void coupled_join(ptrdiff_t n, const int *restrict node, const float *restrict share,
                                const float *restrict m, const float *restrict u, float *restrict w) {
    for (int b = 0; b < PANEL; b++) w[b] = u[b] + share[b] * m[node[b]];
    for (ptrdiff_t e = 1; e < n; e++)
        for (int b = 0; b < PANEL; b++) w[b] += share[e * PANEL + b] * m[node[e * PANEL + b]];
}

#endif
