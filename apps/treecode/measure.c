/* What is conserved, and how far the forces are from direct sums. */
#include "treecode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct sums sum_up(const struct universe *u)
{
    double mine[9] = {0}, all[9];
    for (int i = 0; i < u->count; i++) {
        const struct body *b = &u->bodies[i];
        mine[0] += 0.5 * b->mass * (b->v[0] * b->v[0] + b->v[1] * b->v[1] + b->v[2] * b->v[2]);
        mine[1] += 0.5 * b->mass * b->potential;
        mine[2] += b->mass;
        for (int d = 0; d < 3; d++) {
            mine[3 + d] += b->mass * b->v[d];
            mine[6 + d] += b->mass * b->x[d];
        }
    }
    MPI_Allreduce(mine, all, 9, MPI_DOUBLE, MPI_SUM, u->tree.comm);
    struct sums s = {.kinetic = all[0], .potential = all[1], .mass = all[2]};
    memcpy(s.momentum, all + 3, sizeof s.momentum);
    memcpy(s.centre, all + 6, sizeof s.centre);
    return s;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Bodies of the sample: every so many, by number. Returns positions and accelerations of all ranks'. */
static double *gather_sample(const struct universe *u, int sample, int *numbers)
{
    int64_t every = u->total / sample > 0 ? u->total / sample : 1;
    size_t ranks = (size_t)u->tree.ranks;
    double *mine = app_memory(6 * ((size_t)u->count + 1), sizeof *mine);
    int *counts = app_memory(2 * ranks, sizeof *counts), *begins = counts + ranks, count = 0;
    for (int i = 0; i < u->count; i++)
        if (u->bodies[i].id % every == 0) {
            memcpy(mine + count, u->bodies[i].x, 3 * sizeof *mine);
            memcpy(mine + count + 3, u->bodies[i].a, 3 * sizeof *mine);
            count += 6;
        }
    MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, u->tree.comm);
    *numbers = 0;
    for (size_t r = 0; r < ranks; r++) {
        begins[r] = *numbers;
        *numbers += counts[r];
    }
    double *all = app_memory((size_t)*numbers, sizeof *all);
    MPI_Allgatherv(mine, count, MPI_DOUBLE, all, counts, begins, MPI_DOUBLE, u->tree.comm);
    free(counts);
    free(mine);
    return all;
}

struct errors compare_with_direct(const struct universe *u, int sample)
{
    int numbers;
    double *all = gather_sample(u, sample, &numbers);
    int count = numbers / 6;
    double *direct = app_memory(3 * (size_t)count, sizeof *direct);
    double *errors = app_memory((size_t)count, sizeof *errors), square = 0;
    memset(direct, 0, 3 * (size_t)count * sizeof *direct);
    for (int s = 0; s < count; s++)
        direct_sum(u->bodies, u->count, all + 6 * s, u->softening, direct + 3 * s);
    MPI_Allreduce(MPI_IN_PLACE, direct, 3 * count, MPI_DOUBLE, MPI_SUM, u->tree.comm);
    for (int s = 0; s < count; s++) {
        double off = 0, size = 0;
        for (int d = 0; d < 3; d++) {
            double error = all[6 * s + 3 + d] - direct[3 * s + d];
            off += error * error;
            size += direct[3 * s + d] * direct[3 * s + d];
        }
        errors[s] = sqrt(off / size);
        square += errors[s] * errors[s];
    }
    qsort(errors, (size_t)count, sizeof *errors, ascending);
    struct errors e = {.rms = sqrt(square / count), .percentile99 = errors[(count - 1) * 99 / 100],
                       .largest = errors[count - 1], .sample = count};
    free(errors);
    free(direct);
    free(all);
    return e;
}
