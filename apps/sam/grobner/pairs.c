/* Which pairs have to be reduced: the criteria of R. Gebauer and H. M. Möller, On an installation of Buchberger's
 * algorithm, 1988. */
#include "grobner.h"

#include <stdlib.h>

static int coprime(mono a, mono b)
{
    return mono_degree(mono_lcm(a, b)) == mono_degree(a) + mono_degree(b);
}

static void append(struct pairs *p, struct pair pair)
{
    if (p->count == p->room) {
        p->room = p->room ? 2 * p->room : 64;
        p->of = app_more_memory(p->of, (size_t)p->room, sizeof *p->of);
    }
    p->of[p->count++] = pair;
}

/* Old pairs that go by way of h. */
static void drop_old(struct pairs *p, const mono *lead, int h)
{
    int left = 0;
    for (int n = 0; n < p->count; n++) {
        struct pair old = p->of[n];
        int stays = !mono_divides(lead[h], old.lcm) || mono_lcm(lead[old.i], lead[h]) == old.lcm ||
                    mono_lcm(lead[old.j], lead[h]) == old.lcm;
        if (stays)
            p->of[left++] = old;
    }
    p->count = left;
}

/* Whether another of the new pairs, later or not thrown out, does the work of pair a. */
static int is_covered(const struct pair *with, const char *out, int count, int a)
{
    for (int b = 0; b < count; b++)
        if (b != a && (b > a || !out[b]) && mono_divides(with[b].lcm, with[a].lcm))
            return 1;
    return 0;
}

void pairs_update(struct pairs *p, const mono *lead, int h)
{
    p->active = app_more_memory(p->active, (size_t)h + 1, 1);
    struct pair *with = app_memory((size_t)h + 1, sizeof *with);
    char *out = app_memory((size_t)h + 1, 1);
    int count = 0;
    drop_old(p, lead, h);
    for (int g = 0; g < h; g++)
        if (p->active[g])
            with[count++] = (struct pair){g, h, mono_lcm(lead[g], lead[h])};
    for (int a = 0; a < count; a++)
        out[a] = !coprime(lead[with[a].i], lead[h]) && is_covered(with, out, count, a);
    /* Coprime pairs reduce to 0, and have done their part. */
    for (int a = 0; a < count; a++)
        if (!out[a] && !coprime(lead[with[a].i], lead[h]))
            append(p, with[a]);
    for (int g = 0; g < h; g++)
        p->active[g] = p->active[g] && !mono_divides(lead[h], lead[g]);
    p->active[h] = 1;
    p->elements = h + 1;
    free(with);
    free(out);
}

int pairs_take(struct pairs *p, struct pair **out)
{
    int least = MOST_DEGREE + 1, left = 0, taken = 0;
    for (int n = 0; n < p->count; n++)
        least = mono_degree(p->of[n].lcm) < least ? mono_degree(p->of[n].lcm) : least;
    *out = app_memory((size_t)p->count + 1, sizeof **out);
    for (int n = 0; n < p->count; n++)
        if (mono_degree(p->of[n].lcm) == least)
            (*out)[taken++] = p->of[n];
        else
            p->of[left++] = p->of[n];
    p->count = left;
    return taken;
}

void pairs_free(struct pairs *p)
{
    free(p->of);
    free(p->active);
    *p = (struct pairs){0, 0, NULL, NULL, 0};
}
