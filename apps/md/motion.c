/* Velocity Verlet, and when the lists are made. */
#include "md.h"

#include <math.h>

void md_prepare(struct md *md)
{
    md_distribute_again(md);
    md_borders(md);
    md_list(md);
    md_forces(md, 1);
}

static void kick(struct md *md)
{
    double half = 0.5 * md->p.dt, *restrict v = md->v;
    const double *restrict f = md->f;
    for (int i = 0; i < WIDE * md->own; i++)
        v[i] += half * f[i];
}

static void drift(struct md *md)
{
    double dt = md->p.dt, *restrict x = md->x;
    const double *restrict v = md->v;
    for (int i = 0; i < WIDE * md->own; i++)
        x[i] += dt * v[i];
}

/* Whether the list may miss a pair, or is due; and before it is made, whether an atom is lost. The same on all ranks. */
static int list_is_due(struct md *md)
{
    if (md->p.rebuild > 0 && md->step % md->p.rebuild != 0)
        return 0;
    double mine = md_farthest(md), all;
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, md->comm);
    md->lost = all >= fmin(fmin(md->box[0], md->box[1]), md->box[2]);
    /* One more step at the same speed must stay inside. */
    return md->p.rebuild > 0 || 2 * all >= 0.9 * md->p.skin;
}

int md_step(struct md *md, int sums)
{
    kick(md);
    drift(md);
    md->step++;
    int due = list_is_due(md);
    if (md->lost)
        return 0;
    if (due) {
        md_distribute_again(md);
        md_borders(md);
        md_list(md);
    } else {
        md_forward(md);
    }
    md_forces(md, sums);
    kick(md);
    return due;
}

struct thermo md_thermo(const struct md *md)
{
    double mine[4] = {md->energy, md->virial, md->pairs, 0}, all[4];
    for (int i = 0; i < md->own; i++)
        for (int d = 0; d < 3; d++)
            mine[3] += md->v[WIDE * i + d] * md->v[WIDE * i + d];
    MPI_Allreduce(mine, all, 4, MPI_DOUBLE, MPI_SUM, md->comm);
    double atoms = (double)md->total, freedom = 3 * atoms - 3;
    double volume = md->box[0] * md->box[1] * md->box[2];
    double rc6 = pow(md->p.cutoff, -6), at_cutoff = 4 * rc6 * (rc6 - 1);
    struct thermo t;
    t.temperature = all[3] / freedom;
    t.potential = all[0] / atoms;
    t.total = t.potential + 0.5 * all[3] / atoms;
    t.pressure = (freedom * t.temperature + all[1]) / (3 * volume);
    t.conserved = t.total - at_cutoff * all[2] / atoms;
    return t;
}
