/* S-polynomials, and normal forms by long division: what textbooks do. */
#include "grobner.h"

#include <stdlib.h>

/* Appends to `out` f from term `a` on, minus c times m times the terms of g after its first. */
static void subtract(struct field k, struct view f, int a, struct view g, mono m, uint32_t c, struct poly *out)
{
    int b = 1;
    uint64_t minus = k.p - c;
    while (a < f.count || b < g.count) {
        mono of_g = b < g.count ? mono_product(g.m[b], m) : 0;
        if (b == g.count || (a < f.count && mono_greater(f.m[a], of_g))) {
            poly_add_term(out, f.m[a], f.c[a]);
            a++;
        } else if (a == f.count || of_g != f.m[a]) {
            poly_add_term(out, of_g, (uint32_t)(minus * g.c[b++] % k.p));
        } else {
            uint32_t sum = (uint32_t)((f.c[a++] + minus * g.c[b++]) % k.p);
            if (sum != 0)
                poly_add_term(out, of_g, sum);
        }
    }
}

void s_polynomial(struct field k, struct view f, struct view g, struct poly *s)
{
    mono lcm = mono_lcm(f.m[0], g.m[0]);
    struct poly raised = {0, 0, NULL, NULL};
    for (int t = 0; t < f.count; t++)
        poly_add_term(&raised, mono_product(f.m[t], lcm - f.m[0]), f.c[t]);
    s->count = 0;
    subtract(k, poly_view(&raised), 1, g, lcm - g.m[0], 1, s);
    poly_free(&raised);
}

static int divisor(const struct reducers *g, mono m)
{
    for (int n = 0; n < g->count; n++)
        if (mono_divides(g->lead[n], m))
            return n;
    return -1;
}

void long_division(struct field k, struct poly *f, const struct reducers *g, int done)
{
    struct poly other = {0, 0, NULL, NULL};
    while (done < f->count) { /* the first `done` terms are in normal form */
        int n = divisor(g, f->m[done]);
        if (n < 0) {
            done++;
            continue;
        }
        other.count = 0;
        for (int t = 0; t < done; t++)
            poly_add_term(&other, f->m[t], f->c[t]);
        subtract(k, poly_view(f), done + 1, g->of[n], f->m[done] - g->lead[n], f->c[done], &other);
        struct poly swapped = *f;
        *f = other;
        other = swapped;
    }
    poly_free(&other);
}
