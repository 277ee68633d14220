/* Answers against analytic ones. */
#include "fdtd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double ORDER_LEAST = 1.9, ORDER_MOST = 2.1;

/* The frequency of a(t) = A cos(w t + p), from a(t + dt) + a(t - dt) = 2 a(t) cos(w dt). */
struct pendulum {
    double last[2], product, square;
    int seen;
};

static void swing(struct pendulum *p, double now)
{
    if (p->seen >= 2) {
        p->product += (now + p->last[0]) * p->last[1];
        p->square += 2 * p->last[1] * p->last[1];
    }
    p->last[0] = p->last[1];
    p->last[1] = now;
    p->seen++;
}

static double frequency_of(const struct pendulum *p, double dt)
{
    return acos(p->product / p->square) / dt;
}

/* Sum over all ranks of E times a copy of it. */
static double overlap(const struct fdtd *f, double *const shape[3])
{
    double sum = 0, all;
    for (int c = 0; c < 3; c++)
        for (int i = 0; i < f->g.size[0]; i++)
            for (int j = 0; j < f->g.size[1]; j++)
                for (int k = 0; k < f->g.size[2]; k++)
                    sum += f->e[c][grid_at(&f->g, i, j, k)] * shape[c][grid_at(&f->g, i, j, k)];
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, f->g.comm);
    return all;
}

/* How much the frequency of a mode is off, relatively, in a box of `times` times as many cells. */
static double cavity_error(const int mode[3], int times)
{
    enum { STEPS = 50 };
    struct problem p = {.kind = CAVITY, .courant = 0.5};
    const int cells[3] = {12, 16, 20};
    for (int d = 0; d < 3; d++)
        p.cells[d] = cells[d] * times, p.mode[d] = mode[d];
    struct fdtd f;
    struct pendulum pendulum = {{0, 0}, 0, 0, 0};
    double *shape[3];
    if (!fdtd_split(&f, MPI_COMM_WORLD, &p))
        return NAN;
    fdtd_start(&f);
    for (int c = 0; c < 3; c++) {
        shape[c] = grid_field(&f.g);
        memcpy(shape[c] - f.g.origin, f.e[c] - f.g.origin, f.g.points * sizeof *f.e[c]);
    }
    for (int s = 0; s <= STEPS * times; s++) {
        swing(&pendulum, overlap(&f, shape));
        fdtd_step(&f);
    }
    double error = frequency_of(&pendulum, f.dt) / cavity_frequency(&p) - 1;
    for (int c = 0; c < 3; c++)
        grid_field_free(&f.g, shape[c]);
    fdtd_free(&f);
    return error;
}

static int check_cavity(const struct app *app)
{
    static const int modes[3][3] = {{1, 1, 0}, {2, 1, 1}, {1, 3, 2}};
    static const double ALLOWED = 0.01;
    int good = 1;
    for (int m = 0; m < 3; m++) {
        double coarse = cavity_error(modes[m], 1), fine = cavity_error(modes[m], 2), order = log2(coarse / fine);
        good &= app_judge(app, fabs(coarse) < ALLOWED && order > ORDER_LEAST && order < ORDER_MOST,
                          "cavity mode %d %d %d: frequency off by %.2e, with half the cell %.2e, allowed %g; order %.3f, allowed %g to %g",
                          modes[m][0], modes[m][1], modes[m][2], coarse, fine, ALLOWED, order, ORDER_LEAST, ORDER_MOST);
    }
    return good;
}

/* E along a dipole at a distance r across it, in free space (Hertz). */
static double hertz(const struct problem *p, double r, double t)
{
    return -(dipole_moment(p, t - r, 2) / r + dipole_moment(p, t - r, 1) / (r * r) + dipole_moment(p, t - r, 0) / (r * r * r)) /
           (4 * M_PI);
}

static double probe(const struct fdtd *f, int c, const int cell[3])
{
    double mine = 0, all;
    int at[3], inside = 1;
    for (int d = 0; d < 3; d++) {
        at[d] = cell[d] - f->g.first[d];
        inside = inside && at[d] >= 0 && at[d] < f->g.size[d];
    }
    if (inside)
        mine = f->e[c][grid_at(&f->g, at[0], at[1], at[2])];
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, f->g.comm);
    return all;
}

/* Largest error of a pulse near the dipole, relative to its largest value, and what energy is left of it at the end. */
static double dipole_error(int times, double *left)
{
    enum { CELLS = 28, LAYERS = 7, DISTANCE = 6, STEPS = 150 };
    struct problem p = {.kind = DIPOLE, .courant = 0.5, .layers = LAYERS * times, .pulse = 4.0 * times};
    for (int d = 0; d < 3; d++)
        p.cells[d] = CELLS * times;
    struct fdtd f;
    int cell[3];
    double worst = 0, largest = 0, most = 0;
    if (!fdtd_split(&f, MPI_COMM_WORLD, &p))
        return NAN;
    fdtd_start(&f);
    fdtd_source(&p, cell);
    cell[0] += DISTANCE * times;
    for (int s = 1; s <= STEPS * times; s++) {
        fdtd_step(&f);
        double wanted = hertz(&p, DISTANCE * times, (double)s * f.dt);
        worst = fmax(worst, fabs(probe(&f, 2, cell) - wanted));
        largest = fmax(largest, fabs(wanted));
        if (s % 10 == 0 || s == STEPS * times) {
            struct energies now = fdtd_energies(&f);
            *left = now.electric + now.magnetic;
            most = fmax(most, *left);
        }
    }
    *left /= most;
    fdtd_free(&f);
    return worst / largest;
}

static int check_dipole(const struct app *app)
{
    static const double ALLOWED = 0.08, LEFT = 1e-5, LEAST = 1.7;
    double left = 0, rest = 0, coarse = dipole_error(1, &left), fine = dipole_error(2, &rest), order = log2(coarse / fine);
    int good = app_judge(app, coarse < ALLOWED && order > LEAST,
                         "pulse of a dipole: off by %.2e, with half the cell %.2e, allowed %g; order %.2f, allowed %g", coarse, fine,
                         ALLOWED, order, LEAST);
    return app_judge(app, left < LEFT && rest < LEFT, "energy that the absorbing layers leave: %.1e of the most, allowed %g",
                     fmax(left, rest), LEFT) &
           good;
}

/* A cold plasma whose electrons got a push swings with the plasma frequency. */
static int check_swing(const struct app *app)
{
    enum { STEPS = 150 };
    static const double ALLOWED = 0.01;
    struct problem p = {.kind = PLASMA, .cells = {24, 6, 6}, .per_cell = 2, .courant = 0.5, .wavelength = 24, .frequency = 0.2};
    struct fdtd f;
    struct pendulum pendulum = {{0, 0}, 0, 0, 0};
    const int cell[3] = {6, 0, 0};
    if (!fdtd_split(&f, MPI_COMM_WORLD, &p))
        return app_judge(app, 0, "the plasma cannot be split");
    fdtd_start(&f);
    for (int s = 0; s <= STEPS; s++) {
        swing(&pendulum, probe(&f, 0, cell));
        fdtd_step(&f);
    }
    double error = frequency_of(&pendulum, f.dt) / p.frequency - 1;
    fdtd_free(&f);
    return app_judge(app, fabs(error) < ALLOWED, "plasma frequency: off by %.2e, allowed %g", error, ALLOWED);
}

/* Fast electrons that go everywhere: Gauss' law is never corrected, and holds. Eight particles in a cell are few: their noise
 * heats the plasma, at any time step, by 1.1 percent; 64 in a cell by 0.15 percent. */
static int check_gauss(const struct app *app)
{
    enum { STEPS = 100 };
    static const double GAUSS = 1e-12, DRIFT = 2e-2;
    struct problem p = {.kind = PLASMA, .cells = {16, 8, 8}, .per_cell = 2, .courant = 0.5, .wavelength = 16, .frequency = 0.3,
                        .thermal = 0.3};
    struct fdtd f;
    if (!fdtd_split(&f, MPI_COMM_WORLD, &p))
        return app_judge(app, 0, "the plasma cannot be split");
    fdtd_start(&f);
    struct energies first = fdtd_energies(&f);
    double worst = 0;
    for (int s = 0; s < STEPS; s++) {
        fdtd_step(&f);
        worst = fmax(worst, particles_gauss(&f));
    }
    struct energies last = fdtd_energies(&f);
    double before = first.electric + first.magnetic + first.kinetic, after = last.electric + last.magnetic + last.kinetic;
    fdtd_free(&f);
    int good = app_judge(app, worst < GAUSS, "Gauss' law: div E - rho at most %.1e of the ions' charge in %d steps, allowed %g", worst,
                         STEPS, GAUSS);
    return app_judge(app, fabs(after / before - 1) < DRIFT, "energy of particles and fields: changed by %.1e, allowed %g",
                     after / before - 1, DRIFT) &
           good;
}

/* The smallest boxes of these checks. */
static const int64_t BOXES[3][3] = {{12, 16, 20}, {24, 6, 6}, {16, 8, 8}};

int fdtd_check(const struct app *app)
{
    for (int b = 0; b < 3; b++)
        if (!grid_fits(BOXES[b], app->ranks, GHOSTS))
            return grid_refuse(app, BOXES[b], app->ranks, GHOSTS);
    int good = check_cavity(app);
    good &= check_dipole(app);
    good &= check_swing(app);
    good &= check_gauss(app);
    return app_verdict(app, good);
}
