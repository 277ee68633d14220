/* The force loop. For each atom the neighbours' forces are computed side by side, without a branch,
 * into a short buffer; then they are taken off the neighbours, one after the other. */
#include "md.h"

#include <string.h>

struct sums {
    double energy, virial, pairs;
};

/* Forces of the pairs of one atom, whose own force is returned in `own`. */
static inline __attribute__((always_inline)) void
pairs_of(const double *restrict x, const double *xi, const int *restrict list, int count,
         double cutoff2, double *restrict pair, double own[3], int with_sums, struct sums *sums)
{
    const double xi0 = xi[0], xi1 = xi[1], xi2 = xi[2];
    double f0 = 0, f1 = 0, f2 = 0, energy = 0, virial = 0, inside = 0;
    double *restrict p0 = pair, *restrict p1 = pair + count, *restrict p2 = pair + 2 * (size_t)count;
#pragma omp simd reduction(+ : f0, f1, f2, energy, virial, inside)
    for (int k = 0; k < count; k++) {
        int j = WIDE * list[k];
        double dx = xi0 - x[j], dy = xi1 - x[j + 1], dz = xi2 - x[j + 2];
        double r2 = dx * dx + dy * dy + dz * dz;
        double r2i = 1 / r2, r6i = r2i * r2i * r2i;
        double strength = 48 * r6i * (r6i - 0.5) * r2i;
        strength = r2 < cutoff2 ? strength : 0;
        p0[k] = dx * strength;
        p1[k] = dy * strength;
        p2[k] = dz * strength;
        f0 += p0[k];
        f1 += p1[k];
        f2 += p2[k];
        if (with_sums) {
            energy += r2 < cutoff2 ? 4 * r6i * (r6i - 1) : 0;
            virial += r2 * strength;
            inside += r2 < cutoff2 ? 1 : 0;
        }
    }
    own[0] = f0, own[1] = f1, own[2] = f2;
    if (with_sums) {
        sums->energy += energy;
        sums->virial += virial;
        sums->pairs += inside;
    }
}

static inline __attribute__((always_inline)) void all_pairs(struct md *md, int with_sums,
                                                            struct sums *sums)
{
    const double *restrict x = md->x;
    double *restrict f = md->f, *restrict pair = md->pair;
    const double cutoff2 = md->p.cutoff * md->p.cutoff;
    for (int i = 0; i < md->own; i++) {
        const int *list = md->list + md->begin[i];
        int count = md->begin[i + 1] - md->begin[i];
        double own[3];
        pairs_of(x, &x[WIDE * i], list, count, cutoff2, pair, own, with_sums, sums);
        for (int k = 0; k < count; k++) {
            double *fj = &f[WIDE * list[k]];
            fj[0] -= pair[k];
            fj[1] -= pair[k + count];
            fj[2] -= pair[k + 2 * count];
        }
        for (int d = 0; d < 3; d++)
            f[WIDE * i + d] += own[d];
    }
}

FOR_EACH_PROCESSOR static void forces_alone(struct md *md)
{
    all_pairs(md, 0, NULL);
}

FOR_EACH_PROCESSOR static void forces_and_sums(struct md *md, struct sums *sums)
{
    all_pairs(md, 1, sums);
}

void md_forces(struct md *md, int sums)
{
    struct sums all = {0, 0, 0};
    memset(md->f, 0, ((size_t)md->own + (size_t)md->ghosts) * WIDE * sizeof *md->f);
    if (sums)
        forces_and_sums(md, &all);
    else
        forces_alone(md);
    if (sums)
        md->energy = all.energy, md->virial = all.virial, md->pairs = all.pairs;
    md_reverse(md);
}
