/* Sixteen leaves meet the inner vertices above them, sixteen of which lie side by side in every feature.
 *
 * z (features x 16) is one group of vertices, ``down`` (16 x 16) the coefficients of its vertices in the weights of the
 * leaves; ``used`` has a bit for each vertex that has any. Four features share the rows of a matrix in registers.
 */
#ifndef LINNAEUS_PATHS_H
#define LINNAEUS_PATHS_H

#include <stddef.h>

#include "coupled.h"

enum { SOON = 16 }; /* features between asking for a line and its turn */

/* w = u + z down in n <= TOGETHER features, for all groups; Z + group * stride is the first line of a group. */
static inline void paths_join(int n, const int *feature, const int *soon, ptrdiff_t n_groups, const int *group,
                              const unsigned *used, const float *down, const float *Z, ptrdiff_t stride,
                              const float *u, float *w, float *copy) {
    ptrdiff_t at[TOGETHER];
    float sum[TOGETHER][PANEL] = {{0}};
    for (int r = 0; r < TOGETHER; r++) at[r] = (ptrdiff_t)feature[r < n ? r : 0] * PANEL;
    for (ptrdiff_t q = 0; q < n_groups; q++) {
        const float *z = Z + (ptrdiff_t)group[q] * stride, *rows = down + q * PANEL * PANEL;
        if (soon)
            for (int r = 0; r < TOGETHER; r++) prefetch(z + (ptrdiff_t)soon[r] * PANEL);
        for (unsigned left = used[q]; left; left &= left - 1) {
            const int v = lowest_bit(left);
            const float *row = rows + v * PANEL;
            for (int r = 0; r < TOGETHER; r++)
                for (int b = 0; b < PANEL; b++) sum[r][b] += z[at[r] + v] * row[b];
        }
    }
    for (int r = 0; r < n; r++)
        for (int b = 0; b < PANEL; b++) w[r * PANEL + b] = copy[r * PANEL + b] = u[r * PANEL + b] + sum[r][b];
}

/* Have the lines of a feature fetched. */
static inline void paths_ask(int feature, ptrdiff_t n_groups, const int *group, const float *Z, ptrdiff_t stride) {
    for (ptrdiff_t q = 0; q < n_groups; q++) prefetch(Z + (ptrdiff_t)group[q] * stride + (ptrdiff_t)feature * PANEL);
}

/* z += change up in n <= TOGETHER features, for all groups; up is (16 leaves x 16 vertices). */
static inline void paths_part(int n, const int *feature, const float (*change)[PANEL], ptrdiff_t n_groups,
                              const int *group, const float *up, float *Z, ptrdiff_t stride) {
    for (ptrdiff_t q = 0; q < n_groups; q++) {
        float sum[TOGETHER][PANEL];
        float *z = Z + (ptrdiff_t)group[q] * stride;
        coupled_product(change, up + q * PANEL * PANEL, sum);
        for (int r = 0; r < n; r++)
            for (int b = 0; b < PANEL; b++) z[(ptrdiff_t)feature[r] * PANEL + b] += sum[r][b];
    }
}

#endif
