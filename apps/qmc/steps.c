/* Moves of walkers: by drift and diffusion, accepted so that psi squared stays what it is (detailed balance). In diffusion
 * Monte Carlo each move also changes the weight by how far the local energy lies below the trial energy. */
#include "qmc.h"

#include <math.h>

/* Near a nucleus or another electron the drift changes within a step; there it is made shorter (Umrigar, Nightingale,
 * Runge, J. Chem. Phys. 99, 1993, with a = 1/2). */
static double shortened(const double drift[3], double tau)
{
    double v2 = 0.5 * tau * (drift[0] * drift[0] + drift[1] * drift[1] + drift[2] * drift[2]);
    return v2 > 1e-10 ? tau * (sqrt(1 + 2 * v2) - 1) / v2 : tau;
}

/* Logarithm, but for a constant, of the chance to be led from one place to another. */
static double log_chance(const struct walker *from, const struct walker *to, double tau)
{
    double square = 0;
    for (int e = 0; e < 2; e++) {
        double time = shortened(&from->drift[3 * e], tau);
        for (int d = 3 * e; d < 3 * e + 3; d++) {
            double off = to->x[d] - from->x[d] - time * from->drift[d];
            square += off * off;
        }
    }
    return -square / (2 * tau);
}

/* Moves a walker; returns whether the move was accepted. */
static int move(const struct qmc *q, struct walker *w, int64_t slot)
{
    double tau = q->p.tau, gauss[COORDINATES], lot = draw_step(q->p.seed, slot, q->step, gauss);
    struct walker to = *w;
    for (int e = 0; e < 2; e++) {
        double time = shortened(&w->drift[3 * e], tau);
        for (int d = 3 * e; d < 3 * e + 3; d++)
            to.x[d] += time * w->drift[d] + sqrt(tau) * gauss[d];
    }
    wave_at(&q->p, &to);
    double log_ratio = 2 * (to.log_psi - w->log_psi) + log_chance(&to, w, tau) - log_chance(w, &to, tau);
    int accepted = log_ratio >= 0 || lot < exp(log_ratio);
    if (accepted)
        *w = to;
    return accepted;
}

/* Local energies are infinite in a few places; in weights they are cut off, ever farther away as steps get shorter. */
static double limited(const struct problem *p, double energy)
{
    double most = 2 / sqrt(p->tau);
    return fmax(fmin(energy - p->trial_energy, most), -most);
}

/* Moves all own walkers, and adds to the sums: whole numbers, so that every order gives the same. */
static void move_all(struct qmc *q)
{
    double energies = 0, weights = 0, moved = 0;
    for (int64_t n = 0; n < q->count; n++) {
        struct walker *w = &q->walkers[n];
        double before = limited(&q->p, w->energy);
        moved += move(q, w, q->first + n);
        if (q->p.diffusion)
            w->weight *= exp(-0.5 * q->p.tau * (before + limited(&q->p, w->energy)));
        energies += floor(w->weight * w->energy * 0x1p28);
        weights += floor(w->weight * 0x1p28);
    }
    q->sums[0] += energies * 0x1p-28;
    q->sums[1] += weights * 0x1p-28;
    q->sums[2] += moved;
}

void qmc_step(struct qmc *q)
{
    move_all(q);
    q->step++;
    if (q->image)
        picture_add(q);
    if (q->step % q->p.branch != 0)
        return;
    averages_add(q);
    if (q->p.diffusion)
        averages_growth(q->a, walkers_reconfigure(q));
}

enum { FIRST_MOVES = 200, MEASURED_MOVES = 50 };
static const double FIRST_TAU = 0.1; /* a step that goes far and is accepted mostly */

void qmc_begin(struct qmc *q)
{
    const double tau = q->p.tau;
    const int64_t diffusion = q->p.diffusion;
    double sum;
    for (int64_t n = 0; n < q->count; n++) {
        draw_step(q->p.seed, q->first + n, -1, q->walkers[n].x);
        q->walkers[n].weight = 1;
        wave_at(&q->p, &q->walkers[n]);
    }
    q->p.diffusion = 0, q->p.tau = FIRST_TAU;
    for (int m = 0; m < FIRST_MOVES; m++) {
        if (m == FIRST_MOVES - MEASURED_MOVES)
            q->sums[0] = 0;
        q->step = -2 - m; /* for the random numbers */
        move_all(q);
    }
    MPI_Allreduce(&q->sums[0], &sum, 1, MPI_DOUBLE, MPI_SUM, q->comm);
    q->sums[0] = q->sums[1] = q->sums[2] = 0;
    q->p.diffusion = diffusion, q->p.tau = tau, q->step = 0;
    q->p.trial_energy = sum / ((double)q->p.walkers * MEASURED_MOVES);
}
