/* Systems of polynomials that others have computed, too. */
#include "grobner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct poly *start(struct system *s, const char *name, int variables, int count)
{
    snprintf(s->name, sizeof s->name, "%s", name);
    s->variables = variables;
    s->count = count;
    s->of = app_memory((size_t)count, sizeof *s->of);
    memset(s->of, 0, (size_t)count * sizeof *s->of);
    s->dimension = s->elements = -1;
    return s->of;
}

/* Terms with coefficient 1: for each a digit per variable. */
static void ones(struct poly *f, const char *terms, int variables)
{
    for (const char *at = terms; *at; at += variables + (at[variables] == ' ')) {
        int e[MOST_VARIABLES];
        for (int v = 0; v < variables; v++)
            e[v] = at[v] - '0';
        poly_add_term(f, mono_of(e, variables), 1);
    }
}

/* Three equations of degree 4, 5 and 6 in x, y, z: 20 solutions. */
static void lazard(struct system *s)
{
    struct poly *f = start(s, "lazard", 3, 3);
    ones(&f[0], "211 121 112 111 110 101 011", 3);
    ones(&f[1], "221 122 211 111 011 100 001", 3);
    ones(&f[2], "222 221 121 111 101 001 000", 3);
    s->dimension = 20;
    s->elements = 15;
}

/* Sums of products of neighbours in a ring. */
static void cyclic(struct field k, struct system *s, int n)
{
    char name[32];
    snprintf(name, sizeof name, "cyclic %d", n);
    struct poly *f = start(s, name, n, n);
    for (int d = 1; d < n; d++)
        for (int first = 0; first < n; first++) {
            int e[MOST_VARIABLES] = {0};
            for (int v = 0; v < d; v++)
                e[(first + v) % n] = 1;
            poly_add_term(&f[d - 1], mono_of(e, n), 1);
        }
    int all[MOST_VARIABLES];
    for (int v = 0; v < n; v++)
        all[v] = 1;
    poly_add_term(&f[n - 1], mono_of(all, n), 1);
    poly_add_term(&f[n - 1], 0, k.p - 1);
    /* G. Björck and R. Fröberg, 1991; 4 has a curve. */
    static const long known[] = {[3] = 6, [5] = 70, [6] = 156, [7] = 924};
    s->dimension = n <= 7 && known[n] > 0 ? known[n] : -1;
}

/* A model of magnetism: sum of u(l) u(m - l) = u(m), and the sum of all is 1. 2^n solutions. */
static void katsura(struct field k, struct system *s, int n)
{
    char name[32];
    snprintf(name, sizeof name, "katsura %d", n);
    struct poly *f = start(s, name, n + 1, n + 1);
    for (int m = 0; m < n; m++) {
        for (int l = -n; l <= n; l++) {
            int e[MOST_VARIABLES] = {0}, a = abs(l), b = abs(m - l);
            if (b > n)
                continue;
            e[a]++, e[b]++;
            poly_add_term(&f[m], mono_of(e, n + 1), 1);
        }
        int own[MOST_VARIABLES] = {0};
        own[m] = 1;
        poly_add_term(&f[m], mono_of(own, n + 1), k.p - 1);
    }
    for (int l = 0; l <= n; l++) {
        int e[MOST_VARIABLES] = {0};
        e[l] = 1;
        poly_add_term(&f[n], mono_of(e, n + 1), l == 0 ? 1 : 2);
    }
    poly_add_term(&f[n], 0, k.p - 1);
    s->dimension = 1l << n;
}

int system_make(const struct app *app, struct field k, const char *name, long size, struct system *s)
{
    if (strcmp(name, "lazard") == 0)
        lazard(s);
    else if (strcmp(name, "cyclic") == 0)
        cyclic(k, s, (int)size);
    else if (strcmp(name, "katsura") == 0)
        katsura(k, s, (int)size);
    else
        return app_refuse(app, APP_USAGE, "'%s' is no good as --system: lazard, cyclic or katsura is needed", name);
    for (int n = 0; n < s->count; n++)
        poly_sort(k, &s->of[n]);
    return 0;
}

void system_free(struct system *s)
{
    for (int n = 0; n < s->count; n++)
        poly_free(&s->of[n]);
    free(s->of);
}
