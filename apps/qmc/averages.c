/* Energies of blocks of steps, and their mean with its error bar. */
#include "qmc.h"

#include <math.h>

/* How much the population would have grown in the last generations, had its number not been fixed. Averages with this factor
 * have no bias from the fixed number but for what happened before. */
static double remembered_growth(const struct qmc *q)
{
    int64_t depth = (int64_t)ceil(q->p.memory / (q->p.tau * (double)q->p.branch));
    double log_growth = 0;
    for (int64_t g = q->a->generations - 1; g >= 0 && g >= q->a->generations - depth; g--)
        log_growth += q->a->log_growth[g % MOST_MEMORY];
    return exp(log_growth);
}

void averages_growth(struct averages *a, double mean_weight)
{
    a->log_growth[a->generations++ % MOST_MEMORY] = log(mean_weight);
}

/* The sums are whole multiples of 2^-28, so their order does not matter as long as they have 53 bits. */
void averages_add(struct qmc *q)
{
    double all[3], start = MPI_Wtime();
    MPI_Allreduce(q->sums, all, 3, MPI_DOUBLE, MPI_SUM, q->comm);
    q->exchange_seconds += MPI_Wtime() - start;
    struct averages *a = q->a;
    double growth = q->p.diffusion ? remembered_growth(q) : 1, walkers = (double)q->p.walkers;
    a->now.energy += growth * all[0] / walkers;
    a->now.weight += growth * all[1] / walkers;
    a->now.accepted += all[2] / walkers / (double)q->p.block;
    q->sums[0] = q->sums[1] = q->sums[2] = 0;
    if (q->step % q->p.block != 0)
        return;
    if ((double)(q->step - q->p.block) * q->p.tau < q->p.settle)
        a->skipped = a->blocks + 1;
    a->done[a->blocks++] = a->now;
    a->now = (struct block){0, 0, 0};
}

/* The error bar by leaving out one block at a time (jackknife): it is right for a ratio of averages. */
void averages_energy(const struct averages *a, double *mean, double *error)
{
    double energy = 0, weight = 0, squares = 0;
    int64_t blocks = a->blocks - a->skipped;
    for (int64_t b = a->skipped; b < a->blocks; b++) {
        energy += a->done[b].energy;
        weight += a->done[b].weight;
    }
    *mean = energy / weight;
    for (int64_t b = a->skipped; b < a->blocks; b++) {
        double without = (energy - a->done[b].energy) / (weight - a->done[b].weight) - *mean;
        squares += without * without;
    }
    *error = blocks > 1 ? sqrt(squares * (double)(blocks - 1) / (double)blocks) : NAN;
}
