/* Answers against numbers of others. */
#include "qmc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double BARS = 4; /* error bars by which a right answer may be off */

/* The vectors that Philox' authors publish with it. */
static int check_philox(const struct app *app)
{
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } known[3] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    int good = 1;
    for (int v = 0; v < 3; v++) {
        uint32_t out[4];
        philox(known[v].counter, known[v].key, out);
        good = good && memcmp(out, known[v].out, sizeof out) == 0;
    }
    return app_judge(app, good, "random numbers: 3 published vectors of Philox 4x32-10");
}

/* A whole run. */
static void energy_of(const struct problem *p, int64_t blocks, double *mean, double *error)
{
    struct qmc q;
    walkers_share(&q, MPI_COMM_WORLD, p);
    qmc_begin(&q);
    while (q.step < blocks * p->block)
        qmc_step(&q);
    averages_energy(q.a, mean, error);
    walkers_free(&q);
}

static int compare(const struct app *app, const char *what, double mean, double error, double wanted, double largest)
{
    return app_judge(app, error <= largest && fabs(mean - wanted) <= BARS * error,
                     "%s: %.5f +- %.5f, published %.5f, allowed %g error bars, these at most %g", what, mean, error, wanted, BARS,
                     largest);
}

/* Trial functions whose energy is known. */
static int check_variational(const struct app *app, const struct problem *normal)
{
    struct problem p = *normal;
    double mean, error;
    p.diffusion = 0, p.jastrow = -1, p.walkers = 400, p.tau = 0.2, p.block = 50, p.settle = 0;
    p.system = HELIUM, p.zeta = 27.0 / 16;
    energy_of(&p, 40, &mean, &error);
    int good = compare(app, "He, exp(-27/16 (r1 + r2)), variational", mean, error, -729.0 / 256, 3e-3);
    p.system = HYDROGEN, p.zeta = 1.197, p.distance = 1.38;
    energy_of(&p, 40, &mean, &error);
    return compare(app, "H2, Coulson's orbitals, variational", mean, error, -1.1282, 2e-3) & good;
}

/* The exact energy, from two time steps: the error of one is in proportion to it. */
static int check_diffusion(const struct app *app, struct problem p, const char *what, double wanted)
{
    double coarse, fine, error_coarse, error_fine;
    p.diffusion = 1, p.walkers = 250, p.tau = 0.04, p.block = 100;
    energy_of(&p, 28, &coarse, &error_coarse);
    p.tau = 0.02, p.block = 200;
    energy_of(&p, 42, &fine, &error_fine);
    char line[160];
    snprintf(line, sizeof line, "%s, diffusion, time steps 0.04 (%.4f) and 0.02 (%.4f) to 0", what, coarse, fine);
    return compare(app, line, 2 * fine - coarse, hypot(2 * error_fine, error_coarse), wanted, 4e-3);
}

/* Twelve walkers would be enough to see a bias from their fixed number. */
static int check_population(const struct app *app, struct problem p)
{
    double mean, error;
    p.diffusion = 1, p.walkers = 12, p.tau = 0.02, p.block = 1000;
    energy_of(&p, 60, &mean, &error);
    return compare(app, "He, diffusion, 12 walkers only", mean, error, -2.90372, 6e-3);
}

int qmc_check(const struct app *app, const struct problem *normal)
{
    struct problem helium = *normal, hydrogen = *normal;
    helium.system = HELIUM, helium.zeta = 2, helium.jastrow = 0.2;
    hydrogen.system = HYDROGEN, hydrogen.zeta = 1.2, hydrogen.jastrow = 0.6, hydrogen.distance = 1.4;
    int good = check_philox(app);
    good &= check_variational(app, normal);
    good &= check_diffusion(app, helium, "He", -2.903724);
    good &= check_diffusion(app, hydrogen, "H2", -1.174476);
    hydrogen.distance = 2;
    good &= check_diffusion(app, hydrogen, "H2, protons 2 bohr apart", -1.138133);
    good &= check_population(app, helium);
    return app_verdict(app, good);
}
