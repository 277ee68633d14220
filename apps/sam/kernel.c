/* Dense blocks, column by column. Strides are multiples of WIDE, and the room below the last row is zero. */
#include "cholesky.h"

#include <math.h>

/* Eight doubles; the compiler takes as many registers for them as the processor needs. */
typedef double wide __attribute__((vector_size(WIDE * sizeof(double)), aligned(8), may_alias));

/* C = A Bt: tiles of 8 x 8, each in registers for the whole depth. Rows and columns are rounded up to WIDE. */
FOR_EACH_PROCESSOR
void kernel_product(double *c, int c_stride, const double *a, int a_stride, const double *b, int b_stride, int rows,
                    int columns, int depth)
{
    for (int j = 0; j < columns; j += WIDE)
        for (int i = 0; i < rows; i += WIDE) {
            wide tile[WIDE] = {{0}};
            const double *x = a + i, *y = b + j;
            for (int k = 0; k < depth; k++, x += a_stride, y += b_stride) {
                wide rows_of_a = *(const wide *)x;
                for (int t = 0; t < WIDE; t++)
                    tile[t] += rows_of_a * y[t];
            }
            for (int t = 0; t < WIDE; t++)
                *(wide *)(c + (j + t) * c_stride + i) = tile[t];
        }
}

/* The lower triangle of A = L Lt becomes L. Returns -1, or the column at which A is not positive definite. */
FOR_EACH_PROCESSOR
int kernel_factor(double *a, int stride, int width)
{
    for (int j = 0; j < width; j++) {
        double *column = a + j * stride;
        if (!(column[j] > 0) || isinf(column[j]))
            return j;
        double scale = 1 / sqrt(column[j]);
        for (int i = j; i < stride; i++)
            column[i] *= scale;
        for (int k = j + 1; k < width; k++) {
            double *to = a + k * stride, factor = column[k];
#pragma omp simd
            for (int i = k; i < stride; i++)
                to[i] -= factor * column[i];
        }
    }
    return -1;
}

/* X becomes X L^-t. */
FOR_EACH_PROCESSOR
void kernel_solve(double *x, int x_stride, const double *l, int l_stride, int width)
{
    for (int j = 0; j < width; j++) {
        double *column = x + j * x_stride, scale = 1 / l[j * l_stride + j];
        for (int i = 0; i < x_stride; i++)
            column[i] *= scale;
        for (int k = j + 1; k < width; k++) {
            double *to = x + k * x_stride, factor = l[j * l_stride + k];
#pragma omp simd
            for (int i = 0; i < x_stride; i++)
                to[i] -= factor * column[i];
        }
    }
}
