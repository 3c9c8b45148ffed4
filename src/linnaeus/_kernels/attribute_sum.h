/* a[z] = sum_k data[k] W[indices[k], z] for all z at once: the scores of the attributes of one document.
 *
 * Every a[z] is summed feature by feature in the order of the row, four features at a time, so that a vector a is
 * loaded and stored once for four rows of W. The order of the sum does not depend on the grouping: a row with explicit
 * zeros, or a dense one, gives the same bits. (Compiled without -ffast-math for this reason.)
 *
 * indices == NULL means a dense row: entry k belongs to feature k.
 */
#ifndef LINNAEUS_ATTRIBUTE_SUM_H
#define LINNAEUS_ATTRIBUTE_SUM_H

#include <stddef.h>
#include <string.h>

#define ROW(k) (W + (indices ? (ptrdiff_t)indices[k] : (k)) * width)

#define ATTRIBUTE_SUM(T, suffix)                                                                                    \
    static inline void attribute_sum_##suffix(ptrdiff_t n, const int *indices, const T *data, const T *W,          \
                                              ptrdiff_t width, T *restrict a) {                                    \
        ptrdiff_t k = 0;                                                                                           \
        memset(a, 0, (size_t)width * sizeof(T));                                                                   \
        for (; k + 4 <= n; k += 4) {                                                                               \
            const T x0 = data[k], x1 = data[k + 1], x2 = data[k + 2], x3 = data[k + 3];                            \
            const T *restrict r0 = ROW(k);                                                                         \
            const T *restrict r1 = ROW(k + 1);                                                                     \
            const T *restrict r2 = ROW(k + 2);                                                                     \
            const T *restrict r3 = ROW(k + 3);                                                                     \
            for (ptrdiff_t z = 0; z < width; z++)                                                                  \
                a[z] = (((a[z] + x0 * r0[z]) + x1 * r1[z]) + x2 * r2[z]) + x3 * r3[z];                             \
        }                                                                                                          \
        for (; k < n; k++) {                                                                                       \
            const T x0 = data[k];                                                                                  \
            const T *restrict r0 = ROW(k);                                                                         \
            for (ptrdiff_t z = 0; z < width; z++) a[z] = a[z] + x0 * r0[z];                                        \
        }                                                                                                          \
    }

ATTRIBUTE_SUM(float, f)
ATTRIBUTE_SUM(double, d)

#endif
