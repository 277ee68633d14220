/* Buchberger's algorithm as textbooks have it: every pair of polynomials is reduced. Nothing of SAM, and no criterion
 * that could leave out too much. */
#include "grobner.h"

#include <stdlib.h>
#include <string.h>

struct list {
    struct poly *of[4096]; /* systems that are checked have a hundred */
    int count;
    struct reducers g;
};

static void keep(struct field k, struct list *l, const struct poly *f)
{
    struct poly *own = app_memory(1, sizeof *own);
    memset(own, 0, sizeof *own);
    for (int t = 0; t < f->count; t++)
        poly_add_term(own, f->m[t], f->c[t]);
    long_division(k, own, &l->g, 0);
    if (own->count == 0 || l->count == (int)(sizeof l->of / sizeof *l->of)) {
        poly_free(own);
        free(own);
        return;
    }
    poly_monic(k, own);
    l->of[l->count++] = own;
    reducers_add(&l->g, poly_view(own));
}

/* By descending leads, those that no other one divides, with reduced tails. */
static void finish(struct field k, const struct list *l, struct basis *b)
{
    struct reducers some = {0};
    mono bound = 0;
    for (int first = 1;; first = 0) {
        int next = -1;
        for (int n = 0; n < l->count; n++) {
            int needed = first || mono_greater(bound, l->g.lead[n]);
            for (int o = 0; o < l->count && needed; o++)
                needed = o == n || !mono_divides(l->g.lead[o], l->g.lead[n]);
            if (needed && (next < 0 || mono_greater(l->g.lead[n], l->g.lead[next])))
                next = n;
        }
        if (next < 0)
            break;
        bound = l->g.lead[next];
        reducers_add(&some, l->g.of[next]);
    }
    b->count = some.count;
    b->of = app_memory((size_t)some.count + 1, sizeof *b->of);
    memset(b->of, 0, ((size_t)some.count + 1) * sizeof *b->of);
    for (int n = 0; n < some.count; n++) {
        for (int t = 0; t < some.of[n].count; t++)
            poly_add_term(&b->of[n], some.of[n].m[t], some.of[n].c[t]);
        long_division(k, &b->of[n], &some, 1);
    }
    reducers_free(&some);
}

void basis_sequential(struct field k, const struct system *s, struct basis *b)
{
    struct list *l = app_memory(1, sizeof *l);
    struct poly f = {0, 0, NULL, NULL};
    memset(l, 0, sizeof *l);
    for (int n = 0; n < s->count; n++)
        keep(k, l, &s->of[n]);
    for (int j = 1; j < l->count; j++)
        for (int i = 0; i < j; i++) {
            s_polynomial(k, l->g.of[i], l->g.of[j], &f);
            keep(k, l, &f);
        }
    finish(k, l, b);
    for (int n = 0; n < l->count; n++) {
        poly_free(l->of[n]);
        free(l->of[n]);
    }
    reducers_free(&l->g);
    poly_free(&f);
    free(l);
}
