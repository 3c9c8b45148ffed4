/* One row meets sixteen columns: the step of their dual variables, and what the row says about convergence.
 *
 * For every column with score S, sign Y, bound c and dual variable a; t = Y S is the margin and z = 1 - t the slack:
 *
 *     hinge           g = -z               a <- clip(a - g / Q, 0, c)            gap += c (z)_+   - a z
 *     squared hinge   g = a / 2c - z       a <- max(a - g / (Q + 1 / 2c), 0)     gap += c (z)_+^2 - a z + a^2 / 4c
 *     logistic        g = t + log a/(c-a)  a <- root of Q (a - old) + g in (0, c)
 *                                                      gap += c log(1 + e^-t) + a t + a log a/c + (c - a) log (c-a)/c
 *
 * g is the gradient before the step, D = (new a - old a) Y what the row adds to the weights. The gap is the row's share
 * of the duality gap before the step: it is never negative, and the shares of all rows at the same weights add up to
 * the whole. Likewise c loss(t) + a t / 2 adds up to the primal objective. The loops of the hinges have no branches, so
 * that compilers make a few vector instructions of them.
 */
#ifndef LINNAEUS_STEP_H
#define LINNAEUS_STEP_H

#include <math.h>

#include "panel.h"

enum { HINGE, SQUARED_HINGE, LOGISTIC };
enum {
    STEP_KEEP = 1, /* some open column does not rest at a bound: the row stays for the next epoch */
    STEP_MOVED = 2 /* some dual variable changed */
};

/* What an epoch wants of every row, and what it has found out so far: rows of an array with PANEL columns. */
enum {
    STEP_ABOVE,  /* gradients from which a variable at 0 is at rest */
    STEP_BELOW,  /* and one at its upper bound */
    STEP_OPEN,   /* columns that keep rows active: 1, others 0 */
    STEP_HIGH,   /* extreme projected gradients */
    STEP_LOW,
    STEP_GAP,    /* sums of the rows' shares */
    STEP_PRIMAL,
    STEP_STATE   /* how many rows there are */
};

/* argmin over a in (0, c) of  Q/2 (a - old)^2 + t (a - old) + a log a + (c - a) log(c - a).
 *
 * Solved in the smaller of a and c - a, so that neither loses its digits (Yu, Huang & Lin 2011).
 */
static inline double step_newton(double t, double old, double Q, double c) {
    const int upper = old > 0.5 * c || (t < 0 && 0.5 * Q * c < -t);
    if (upper) old = c - old, t = -t; /* by symmetry: the variable is c - a and t changes sign */
    double a = old < 0.5 * c ? old : 0.5 * c;
    for (int step = 0; step < 50; step++) {
        const double slope = Q * (a - old) + t + log(a / (c - a)), curve = Q + c / (a * (c - a));
        double next = a - slope / curve;
        if (next <= 0) next = 0.1 * a;
        else if (next >= c) next = c - 0.1 * (c - a);
        const double moved = fabs(next - a), small = 1e-9 * a;
        a = next;
        if (moved <= small) break;
    }
    if (a < 1e-300) a = 1e-300;
    return upper ? c - a : a;
}

/* log(1 + e^-t) without overflow. */
static inline double step_log_loss(double t) { return log(1 + exp(-fabs(t))) + (t < 0 ? -t : 0); }

/* Row by row, so that the compiler knows that they do not overlap. */
#define STEP_ROWS(s) \
    s[STEP_ABOVE], s[STEP_BELOW], s[STEP_OPEN], s[STEP_HIGH], s[STEP_LOW], s[STEP_GAP], s[STEP_PRIMAL]

#define STEP_FUNCTIONS(T, suffix)                                                                                      \
    static inline int step_hinge_##suffix(const int squared, T Q, const T *restrict S, const T *restrict Y,            \
                                          const T *restrict c, T *restrict a, T *restrict D,                           \
                                          const T *restrict above, const T *restrict below,                            \
                                          const T *restrict open, T *restrict high, T *restrict low,                   \
                                          T *restrict gap, T *restrict primal) {                                       \
        const T inverse = Q > 0 ? 1 / Q : (T)INFINITY;                                                                 \
        int keep = 0, moved = 0;                                                                                       \
        for (int b = 0; b < PANEL; b++) {                                                                              \
            const T old = a[b], z = 1 - Y[b] * S[b], excess = z > 0 ? z : 0;                                           \
            const T shift = squared ? (T)0.5 / c[b] : 0, upper = squared ? (T)INFINITY : c[b];                         \
            const T loss = c[b] * excess * (squared ? excess : 1), g = shift * old - z;                                \
            T next = old - g * (squared ? 1 / (Q + shift) : inverse);                                                  \
            next = next > 0 ? next : 0;                                                                                \
            next = next < upper ? next : upper;                                                                        \
            const int at_zero = old <= 0, at_upper = (old >= upper) & !at_zero;                                        \
            const int rests = (at_zero & (g > above[b])) | (at_upper & (g < below[b]));                                \
            const T over = g > 0 ? g : 0, under = g < 0 ? g : 0;                                                       \
            const T projected = at_zero ? under : at_upper ? over : g;                                                 \
            high[b] = projected > high[b] ? projected : high[b];                                                       \
            low[b] = projected < low[b] ? projected : low[b];                                                          \
            gap[b] += loss - old * (z - (T)0.5 * shift * old);                                                         \
            primal[b] += loss + (T)0.5 * old * (1 - z);                                                                \
            keep |= (open[b] != 0) & !rests;                                                                           \
            moved |= next != old;                                                                                      \
            D[b] = (next - old) * Y[b];                                                                                \
            a[b] = next;                                                                                               \
        }                                                                                                              \
        return (keep ? STEP_KEEP : 0) | (moved ? STEP_MOVED : 0);                                                      \
    }                                                                                                                  \
                                                                                                                       \
    static inline int step_logistic_##suffix(T Q, const T *S, const T *Y, const T *c, T *a, T *D,                      \
                                             T(*state)[PANEL]) {                                                       \
        for (int b = 0; b < PANEL; b++) {                                                                              \
            const double old = a[b], bound = c[b], t = Y[b] * S[b], loss = bound * step_log_loss(t);                   \
            const double g = t + log(old / (bound - old));                                                             \
            T next = (T)step_newton(t, old, Q, bound);                                                                 \
            if (next >= c[b]) next = (T)(bound * 0.9999999); /* rounding may reach the ends of the interval */         \
            if (next <= 0) next = (T)(bound * 1e-30);                                                                  \
            if (g > state[STEP_HIGH][b]) state[STEP_HIGH][b] = (T)g;                                                   \
            if (g < state[STEP_LOW][b]) state[STEP_LOW][b] = (T)g;                                                     \
            state[STEP_GAP][b] += (T)(loss + bound * log((bound - old) / bound) + old * g);                            \
            state[STEP_PRIMAL][b] += (T)(loss + 0.5 * old * t);                                                        \
            D[b] = (next - a[b]) * Y[b];                                                                               \
            a[b] = next;                                                                                               \
        }                                                                                                              \
        return STEP_KEEP | STEP_MOVED;                                                                                 \
    }                                                                                                                  \
                                                                                                                       \
    static inline int step_##suffix(int loss, T Q, const T *S, const T *Y, const T *c, T *a, T *D,                     \
                                    T(*state)[PANEL]) {                                                                \
        if (loss == LOGISTIC) return step_logistic_##suffix(Q, S, Y, c, a, D, state);                                  \
        return (loss == SQUARED_HINGE)                                                                                 \
                   ? step_hinge_##suffix(1, Q, S, Y, c, a, D, STEP_ROWS(state))                                        \
                   : step_hinge_##suffix(0, Q, S, Y, c, a, D, STEP_ROWS(state));                                       \
    }

STEP_FUNCTIONS(float, f)
STEP_FUNCTIONS(double, d)

static inline void step_hinge_value(const int squared, const double *restrict S, const double *restrict Y,
                                    const double *restrict c, const double *restrict a, double *restrict primal,
                                    double *restrict dual) {
    for (int b = 0; b < PANEL; b++) {
        const double z = 1 - Y[b] * S[b], excess = z > 0 ? z : 0;
        primal[b] += c[b] * excess * (squared ? excess : 1);
        dual[b] += a[b] - (squared ? a[b] * a[b] / (4 * c[b]) : 0);
    }
}

/* What the row costs every column, added to primal; the local part of the dual objective, added to dual. */
static inline void step_value(int loss, const double *S, const double *Y, const double *c, const double *a,
                              double *primal, double *dual) {
    if (loss == HINGE) {
        step_hinge_value(0, S, Y, c, a, primal, dual);
    } else if (loss == SQUARED_HINGE) {
        step_hinge_value(1, S, Y, c, a, primal, dual);
    } else {
        for (int b = 0; b < PANEL; b++) {
            primal[b] += c[b] * step_log_loss(Y[b] * S[b]);
            dual[b] += c[b] * log(c[b]) - a[b] * log(a[b]) - (c[b] - a[b]) * log(c[b] - a[b]);
        }
    }
}

#endif
