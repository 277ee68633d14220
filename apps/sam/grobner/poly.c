/* Polynomials: sorted arrays of terms. */
#include "grobner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void poly_add_term(struct poly *f, mono m, uint32_t c)
{
    if (f->count == f->room) {
        f->room = f->room ? 2 * f->room : 16;
        f->m = app_more_memory(f->m, (size_t)f->room, sizeof *f->m);
        f->c = app_more_memory(f->c, (size_t)f->room, sizeof *f->c);
    }
    f->m[f->count] = m;
    f->c[f->count++] = c;
}

/* Fermat: c to the power p - 2. */
static uint32_t inverse(struct field k, uint32_t c)
{
    uint64_t result = 1, power = c;
    for (uint32_t e = k.p - 2; e > 0; e >>= 1) {
        if (e & 1)
            result = result * power % k.p;
        power = power * power % k.p;
    }
    return (uint32_t)result;
}

void poly_monic(struct field k, struct poly *f)
{
    if (f->count == 0 || f->c[0] == 1)
        return;
    uint64_t factor = inverse(k, f->c[0]);
    for (int t = 0; t < f->count; t++)
        f->c[t] = (uint32_t)(f->c[t] * factor % k.p);
}

/* By insertion: systems have few terms. */
void poly_sort(struct field k, struct poly *f)
{
    for (int t = 1; t < f->count; t++)
        for (int u = t; u > 0 && mono_greater(f->m[u], f->m[u - 1]); u--) {
            mono m = f->m[u];
            uint32_t c = f->c[u];
            f->m[u] = f->m[u - 1], f->c[u] = f->c[u - 1];
            f->m[u - 1] = m, f->c[u - 1] = c;
        }
    int last = -1;
    for (int t = 0; t < f->count; t++) {
        if (last >= 0 && f->m[last] == f->m[t]) {
            f->c[last] = (uint32_t)(((uint64_t)f->c[last] + f->c[t]) % k.p);
        } else {
            if (last < 0 || f->c[last] != 0)
                last++;
            f->m[last] = f->m[t], f->c[last] = f->c[t];
        }
    }
    f->count = last + 1 - (last >= 0 && f->c[last] == 0);
    poly_monic(k, f);
}

void poly_free(struct poly *f)
{
    free(f->m);
    free(f->c);
    *f = (struct poly){0, 0, NULL, NULL};
}

struct view poly_view(const struct poly *f)
{
    return (struct view){f->count, f->m, f->c};
}

int poly_same(struct view a, struct view b)
{
    size_t n = (size_t)a.count;
    return a.count == b.count && (n == 0 || (memcmp(a.m, b.m, n * sizeof *a.m) == 0 && memcmp(a.c, b.c, n * sizeof *a.c) == 0));
}

/* As computer algebra systems read it; coefficients of the upper half are negative numbers. */
void poly_print(struct field k, struct view f, int variables)
{
    for (int t = 0; t < f.count; t++) {
        long c = f.c[t] > k.p / 2 ? (long)f.c[t] - (long)k.p : (long)f.c[t];
        printf(t > 0 ? "%+ld" : "%ld", c);
        for (int v = 0; v < variables; v++)
            if (mono_exponent(f.m[t], v) > 0)
                printf("*x(%d)^%d", v + 1, mono_exponent(f.m[t], v));
    }
    printf("\n");
}
