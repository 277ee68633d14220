/* What is conserved, and how far the forces are from direct sums. Sums have a fixed point: they are the same on any ranks. */
#include "barnes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* FNV of a body's number, position and velocity. */
static uint64_t bits_of(const struct body *b)
{
    uint64_t words[7] = {(uint64_t)b->id}, hash = 0xcbf29ce484222325;
    memcpy(words + 1, b->x, sizeof b->x);
    memcpy(words + 4, b->v, sizeof b->v);
    for (int w = 0; w < 7; w++)
        hash = (hash ^ words[w]) * 0x100000001b3;
    return hash;
}

struct sums sum_up(struct universe *u)
{
    wide n[7] = {0};
    for (int i = 0; i < u->count; i++) {
        const struct body *b = &u->bodies[i];
        n[0] += fixed(0.5 * b->mass * (b->v[0] * b->v[0] + b->v[1] * b->v[1] + b->v[2] * b->v[2]));
        n[1] += fixed(0.5 * b->mass * b->potential);
        for (int d = 0; d < 3; d++)
            n[2 + d] += fixed(b->mass * b->v[d]);
        n[5] += (wide)bits_of(b);
    }
    n[6] = (wide)u->interactions;
    add_together(n, 7);
    struct sums s = {.kinetic = from_fixed(n[0]), .potential = from_fixed(n[1])};
    double p[3] = {from_fixed(n[2]), from_fixed(n[3]), from_fixed(n[4])};
    s.momentum = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    s.speed = sqrt(2 * s.kinetic); /* the mass is 1 */
    s.bits = (uint64_t)n[5];
    s.interactions = (uint64_t)n[6];
    return s;
}

/* Centre of mass and momentum to zero. */
void centre(struct universe *u)
{
    wide n[6] = {0};
    for (int i = 0; i < u->count; i++)
        for (int d = 0; d < 3; d++) {
            n[d] += fixed(u->bodies[i].mass * u->bodies[i].x[d]);
            n[3 + d] += fixed(u->bodies[i].mass * u->bodies[i].v[d]);
        }
    add_together(n, 6);
    for (int i = 0; i < u->count; i++)
        for (int d = 0; d < 3; d++) {
            u->bodies[i].x[d] -= from_fixed(n[d]);
            u->bodies[i].v[d] -= from_fixed(n[3 + d]);
        }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Positions and accelerations of the bodies 0, every, 2 every, ...: each is one rank's, the others add 0. */
static void gather(struct universe *u, int64_t every, wide *all, int numbers)
{
    memset(all, 0, (size_t)numbers * sizeof *all);
    for (int i = 0; i < u->count; i++) {
        const struct body *b = &u->bodies[i];
        int64_t n = b->id / every;
        if (b->id % every != 0 || 6 * n + 6 > numbers)
            continue;
        for (int d = 0; d < 3; d++) {
            memcpy(&all[6 * n + d], &b->x[d], sizeof b->x[d]);
            memcpy(&all[6 * n + 3 + d], &b->a[d], sizeof b->a[d]);
        }
    }
    add_together(all, numbers);
}

static double number_of(const wide *bits)
{
    double number;
    memcpy(&number, bits, sizeof number);
    return number;
}

/* The own bodies' part of the acceleration at each place of the sample. */
static void add_direct(struct universe *u, const wide *sample, wide *sums, int count)
{
    struct lists l;
    memset(&l, 0, sizeof l);
    for (int i = 0; i < u->count; i++) {
        struct point p = {.mass = u->bodies[i].mass};
        memcpy(p.x, u->bodies[i].x, sizeof p.x);
        list_points(&l, &p, 1);
    }
    for (int n = 0; n < count; n++) {
        double x[3], a[3] = {0}, potential = 0;
        for (int d = 0; d < 3; d++)
            x[d] = number_of(&sample[6 * n + d]);
        add_forces(&l, x, u->softening, a, &potential);
        for (int d = 0; d < 3; d++)
            sums[3 * n + d] = fixed(a[d]);
        sam_poll();
    }
    lists_free(&l);
    add_together(sums, 3 * count);
}

struct errors compare_with_direct(struct universe *u, int sample)
{
    int64_t every = (u->total + sample - 1) / sample;
    int count = (int)((u->total - 1) / every) + 1;
    wide *got = app_memory(9 * (size_t)count, sizeof *got), *direct = got + 6 * count;
    double *errors = app_memory((size_t)count, sizeof *errors), square = 0;
    gather(u, every, got, 6 * count);
    add_direct(u, got, direct, count);
    for (int n = 0; n < count; n++) {
        double off = 0, size = 0;
        for (int d = 0; d < 3; d++) {
            double right = from_fixed(direct[3 * n + d]), error = number_of(&got[6 * n + 3 + d]) - right;
            off += error * error;
            size += right * right;
        }
        errors[n] = sqrt(off / size);
        square += errors[n] * errors[n];
    }
    qsort(errors, (size_t)count, sizeof *errors, ascending);
    struct errors e = {.rms = sqrt(square / count), .percentile99 = errors[(count - 1) * 99 / 100],
                       .largest = errors[count - 1], .sample = count};
    free(errors);
    free(got);
    return e;
}
