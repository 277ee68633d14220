/* Answers against a manufactured solution, the balance of particles, and Kobayashi's benchmark. */
#include "sweep.h"

#include <math.h>
#include <stdio.h>

static void converge(struct sweep *s)
{
    enum { MOST = 200 };
    do
        sweep_iterate(s);
    while (!sweep_is_over(s) && s->iteration < MOST);
}

static double manufactured_error(enum shape shape, int64_t bricks, double twist, int *breaks)
{
    struct problem p = {.which = MANUFACTURED, .shape = shape, .bricks = bricks, .seed = 1, .jitter = 0.1, .twist = twist, .tolerance = 1e-7};
    struct sweep s;
    double sum[2] = {0, 0}, all[2];
    sweep_start(&s, MPI_COMM_WORLD, &p);
    converge(&s);
    for (int c = 0; c < s.mesh.cells; c++)
        if (s.owner[c] == s.rank) {
            pair value, slope;
            manufactured(s.mesh.cell[c].centre, &value, &slope);
            for (int g = 0; g < GROUPS; g++) {
                double off = s.flux[c].u[0][g] / value[g] - 1;
                sum[0] += s.mesh.cell[c].volume * off * off;
                sum[1] += s.mesh.cell[c].volume;
            }
        }
    *breaks = s.all_breaks;
    sweep_free(&s);
    MPI_Allreduce(sum, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(all[0] / all[1]);
}

static int check_manufactured(const struct app *app, enum shape shape, const char *name, int64_t bricks, double twist,
                              double allowed)
{
    static const double LEAST = 1.8;
    int breaks, more;
    double coarse = manufactured_error(shape, bricks, twist, &breaks), fine = manufactured_error(shape, 2 * bricks, twist, &more);
    double order = log2(coarse / fine);
    return app_judge(
        app, coarse < allowed && order > LEAST && (twist == 0 || breaks > 0),
        "manufactured flux in %s of %lld bricks per direction, twist %g, %d cycles broken: off by %.2e, root mean square, allowed %g; with "
        "twice as many, %d cycles, %.2e, order %.2f, allowed %g or more",
        name, (long long)bricks, twist, breaks, coarse, allowed, more, fine, order, LEAST);
}

/* Problem 1 of K. Kobayashi, N. Sugimura, Y. Nagaya, 3-D Radiation Transport Benchmark Problems and Results for Simple Geometries with
 * Void Regions, NEA/NSC/DOC(2000)4: flux at (5, y, 5) cm, y = 5, 15, ... 95, of case i (absorber, analytic) and ii (scattering, MVP). */
static const double ABSORBER[10] = {5.95659, 1.37185, 5.00871e-1, 2.52429e-1, 1.50260e-1, 5.95286e-2, 1.53283e-2, 4.17689e-3, 1.18533e-3, 3.46846e-4};
static const double SCATTERER[10] = {8.29260, 1.87028, 7.13986e-1, 3.84685e-1, 2.53984e-1, 1.37220e-1, 4.65913e-2, 1.58766e-2, 5.47036e-3, 1.85082e-3};

/* What has not collided is right everywhere, as it goes along rays. What has collided in the source comes from a small place, too, and 80
 * directions do not make an isotropic flux far from it: these ray effects are what is left when the cells are small. */
static int check_kobayashi(const struct app *app)
{
    static const double SAME = 1e-12, SOURCE = 0.03, VOID = 0.05, SHIELD = 0.18, RAYS = 0.002;
    struct problem p = {.which = KOBAYASHI, .shape = HEXAHEDRA, .bricks = 20, .seed = 1, .rays = 1, .tolerance = 1e-4};
    struct sweep s;
    double most[4] = {0, 0, 0, 0}; /* in the source, in the void and at its end, in the shield; without scattering */
    sweep_start(&s, MPI_COMM_WORLD, &p);
    converge(&s);
    struct balance b = sweep_balance(&s);
    for (int y = 0; y < 10; y++) {
        const double at[3] = {5, 5 + 10 * y, 5};
        double value[GROUPS];
        sweep_flux_at(&s, at, value);
        double off = fabs(value[0] / SCATTERER[y] - 1);
        int zone = y == 0 ? 0 : y < 6 ? 1 : 2;
        most[zone] = fmax(most[zone], off);
        most[3] = fmax(most[3], fabs(value[1] / ABSORBER[y] - 1));
        if (app->rank == 0 && !app->quiet)
            printf("  y = %2.0f cm: %.4e (published %.4e, %+.1f %%), without scattering %.4e (%.4e, %+.1f %%)\n", at[1], value[0], SCATTERER[y],
                   100 * (value[0] / SCATTERER[y] - 1), value[1], ABSORBER[y], 100 * (value[1] / ABSORBER[y] - 1));
    }
    int good = app_judge(app, most[0] < SOURCE && most[1] < VOID && most[2] < SHIELD && most[3] < RAYS,
                         "Kobayashi's problem 1 in %d cells, %lld iterations: without scattering off by up to %.2f %%, allowed %g; with "
                         "scattering in the source "
                         "by %.1f %%, allowed %g, along the void %.1f %%, allowed %g, in the shield %.1f %%, allowed %g",
                         s.mesh.cells, (long long)s.iteration, 100 * most[3], 100 * RAYS, 100 * most[0], 100 * SOURCE, 100 * most[1],
                         100 * VOID, 100 * most[2], 100 * SHIELD);
    sweep_free(&s);
    return app_judge(app, b.off < SAME,
                     "its balance of particles: off by %.1e, allowed %g; of %.1f particles %.1f are absorbed, %.1f leave", b.off, SAME,
                     b.source, b.absorbed, b.leaked) &
           good;
}

int sweep_check(const struct app *app)
{
    int good = check_manufactured(app, HEXAHEDRA, "hexahedra", 4, 0, 1e-2);
    good &= check_manufactured(app, TETRAHEDRA, "tetrahedra", 4, 0, 1e-2);
    good &= check_manufactured(app, HEXAHEDRA, "hexahedra", 4, 3, 3e-2);
    good &= check_kobayashi(app);
    return app_verdict(app, good);
}
