/* The logistic function of sixteen scores at once.
 *
 *     E = e^-|s|,      P = 1 / (1 + e^-s)
 *
 * In single precision by a polynomial of degree six on [-ln 2 / 2, ln 2 / 2] (relative error 2e-7) and the exponent's
 * bits; in double precision, and for compilers without vector types, by the library.
 */
#ifndef LINNAEUS_LOGISTIC_PANEL_H
#define LINNAEUS_LOGISTIC_PANEL_H

#include <math.h>
#include <stdint.h>

#include "panel.h"

static inline void panel_logistic_d(const double *S, double *E, double *P) {
    for (int b = 0; b < PANEL; b++) {
        E[b] = exp(-fabs(S[b]));
        P[b] = (S[b] > 0 ? 1 : E[b]) / (1 + E[b]);
    }
}

#if defined(__GNUC__) || defined(__clang__)
typedef int32_t lane_i __attribute__((vector_size(LANE), aligned(4), may_alias));

static inline void panel_logistic_f(const float *S, float *E, float *P) {
    for (int l = 0; l < PANEL * 4 / LANE; l++) {
        lane_f s = ((const lane_f *)S)[l];
        lane_i positive = s > 0.0f;
        lane_i sign = (lane_i)s | (int32_t)0x80000000;
        lane_f x = (lane_f)sign; /* -|s| */
        lane_i low = x < -87.0f;
        x = (lane_f)(((lane_i)x & ~low) | ((lane_i)(x * 0.0f - 87.0f) & low));
        lane_i n = __builtin_convertvector(x * 1.442695041f - 0.5f, lane_i); /* the nearest integer, for x <= 0 */
        lane_f r = x - __builtin_convertvector(n, lane_f) * 0.6931471806f;
        lane_f p = r * 0.0013888889f + 0.0083333338f;
        p = p * r + 0.041666668f;
        p = p * r + 0.16666667f;
        p = p * r + 0.5f;
        p = p * r + 1.0f;
        p = p * r + 1.0f;
        lane_f e = p * (lane_f)((n + 127) << 23);
        lane_f top = (lane_f)(((lane_i)e & ~positive) | ((lane_i)(e * 0.0f + 1.0f) & positive));
        ((lane_f *)E)[l] = e;
        ((lane_f *)P)[l] = top / (1.0f + e);
    }
}

/* T += B, L += B S, in double precision. */
static inline void panel_totals_f(const float *B, const float *S, double *T, double *L) {
    for (int l = 0; l < PANEL * 8 / LANE; l++) {
        lane_d b = __builtin_convertvector(((const half_f *)B)[l], lane_d);
        ((lane_d *)T)[l] += b;
        ((lane_d *)L)[l] += b * __builtin_convertvector(((const half_f *)S)[l], lane_d);
    }
}

/* M *= 1 + E, in double precision. */
static inline void panel_factors_f(const float *E, double *M) {
    for (int l = 0; l < PANEL * 8 / LANE; l++) {
        lane_d e = __builtin_convertvector(((const half_f *)E)[l], lane_d);
        ((lane_d *)M)[l] *= 1.0 + e;
    }
}
#else
static inline void panel_logistic_f(const float *S, float *E, float *P) {
    for (int b = 0; b < PANEL; b++) {
        E[b] = expf(-fabsf(S[b]));
        P[b] = (S[b] > 0 ? 1 : E[b]) / (1 + E[b]);
    }
}
static inline void panel_totals_f(const float *B, const float *S, double *T, double *L) {
    for (int b = 0; b < PANEL; b++) T[b] += B[b], L[b] += (double)B[b] * S[b];
}
static inline void panel_factors_f(const float *E, double *M) {
    for (int b = 0; b < PANEL; b++) M[b] *= 1.0 + E[b];
}
#endif

static inline void panel_totals_d(const double *B, const double *S, double *T, double *L) {
    for (int b = 0; b < PANEL; b++) T[b] += B[b], L[b] += B[b] * S[b];
}
static inline void panel_factors_d(const double *E, double *M) {
    for (int b = 0; b < PANEL; b++) M[b] *= 1.0 + E[b];
}

#endif
