/* Answers against exact and published ones. */
#include "mhd.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reference.h"

static void run_to(struct mhd *m, double end)
{
    while (m->time < end)
        mhd_step(m, end);
}

static int make_tube(struct mhd *m, enum start start, int axis, int cells)
{
    struct problem p = {.start = start, .cells = {1, 1, 1}, .axis = axis, .border = {OUTFLOW, OUTFLOW, OUTFLOW}, .cfl = 0.8};
    p.gamma = start == BRIO_WU ? 2 : 5.0 / 3;
    p.cells[axis] = cells;
    if (!mhd_split(m, MPI_COMM_WORLD, &p))
        return 0;
    mhd_start(m);
    return 1;
}

/* A primitive variable at cell `at` along the axis of a tube, 0 on ranks that do not have it; their sum is known to all. */
static void sample(const struct mhd *m, int at, double w[VARIABLES])
{
    int axis = (int)m->p.axis, own = at - m->g.first[axis], cell[3] = {0, 0, 0};
    double mine[VARIABLES] = {0};
    cell[axis] = own;
    for (int v = 0; v < VARIABLES && own >= 0 && own < m->g.size[axis]; v++)
        mine[v] = m->w[v][grid_at(&m->g, cell[0], cell[1], cell[2])];
    MPI_Allreduce(mine, w, VARIABLES, MPI_DOUBLE, MPI_SUM, m->g.comm);
}

/* Mean over the tube of how far the density is off from that between seven waves. */
static double density_error(const struct mhd *m)
{
    int axis = (int)m->p.axis;
    double sum = 0;
    for (int c = 0; c < m->g.n[axis]; c++) {
        double w[VARIABLES], at = ((c + 0.5) * m->cell - 0.5) / m->time;
        int zone = 0;
        while (zone < RYU_JONES_WAVES && at > RYU_JONES_SPEED[zone])
            zone++;
        sample(m, c, w);
        sum += fabs(w[DENSITY] - RYU_JONES_STATE[zone][0]) * m->cell;
    }
    return sum;
}

/* How far the states between the waves are off, in the middle between them. */
static double plateau_error(const struct mhd *m)
{
    static const int VARIABLE[3] = {DENSITY, PRESSURE, 1}; /* of a state; 1: the velocity along the tube */
    double most = 0;
    for (int zone = 1; zone < RYU_JONES_WAVES; zone++) {
        double from = RYU_JONES_SPEED[zone - 1], to = RYU_JONES_SPEED[zone], w[VARIABLES];
        if ((to - from) * m->time < 8 * m->cell)
            continue; /* too narrow to have a plateau */
        sample(m, (int)((0.5 * (from + to) * m->time + 0.5) / m->cell), w);
        for (int v = 0; v < 3; v++) {
            double value = VARIABLE[v] == 1 ? w[1 + m->p.axis] : w[VARIABLE[v]];
            most = fmax(most, fabs(value / RYU_JONES_STATE[zone][v] - 1));
        }
    }
    return most;
}

static int check_seven_waves(const struct app *app)
{
    static const double END = 0.2, ALLOWED = 0.007, LEAST = 0.8, PLATEAU = 0.01, SAME = 1e-12;
    double error[4], plateau = 0;
    for (int c = 0; c < 4; c++) {
        struct mhd m;
        if (!make_tube(&m, RYU_JONES, c < 3 ? c : 0, c < 3 ? 256 : 512))
            return app_judge(app, 0, "the tube cannot be split");
        run_to(&m, END);
        mhd_primitives(&m);
        error[c] = density_error(&m);
        plateau = c == 3 ? plateau_error(&m) : 0;
        mhd_free(&m);
    }
    double order = log2(error[0] / error[3]), spread = fmax(fabs(error[1] - error[0]), fabs(error[2] - error[0]));
    int good = app_judge(app, error[0] < ALLOWED && order > LEAST && plateau < PLATEAU,
                         "tube of Ryu and Jones, 256 cells: density off by %.2e on average, allowed %g; with 512 %.2e, order %.2f, allowed "
                         "%g; between waves by "
                         "%.2f %%, allowed %g %%",
                         error[0], ALLOWED, error[3], order, LEAST, 100 * plateau, 100 * PLATEAU);
    return app_judge(app, spread <= SAME, "the same along x, y and z: differences %.0e, allowed %g", spread, SAME) & good;
}

static int check_brio_wu(const struct app *app)
{
    static const double END = 0.1, ALLOWED = 0.002;
    struct mhd m;
    double off[2] = {0, 0};
    if (!make_tube(&m, BRIO_WU, 0, BRIO_WU_CELLS))
        return app_judge(app, 0, "the tube cannot be split");
    run_to(&m, END);
    mhd_primitives(&m);
    for (int point = 0; point < BRIO_WU_POINTS; point++) {
        enum { EACH = BRIO_WU_CELLS / BRIO_WU_POINTS };
        double mean[2] = {0, 0}, w[VARIABLES];
        for (int c = 0; c < EACH; c++) {
            sample(&m, point * EACH + c, w);
            mean[0] += w[DENSITY] / EACH, mean[1] += w[FIELD + 1] / EACH;
        }
        for (int v = 0; v < 2; v++)
            off[v] += fabs(mean[v] - BRIO_WU_MEANS[point][v]) / BRIO_WU_POINTS;
    }
    mhd_free(&m);
    return app_judge(app, off[0] < ALLOWED && off[1] < ALLOWED,
                     "tube of Brio and Wu, %d cells, means of %d parts: density off by %.2e, field by %.2e, allowed %g", BRIO_WU_CELLS,
                     BRIO_WU_POINTS, off[0], off[1], ALLOWED);
}

/* After a period everything is as it was: how far it is off, all variables together, in units of the amplitude. */
static double wave_error(enum start start, int cells, double amplitude)
{
    struct problem p = {.start = start, .cells = {2 * cells, cells, cells}, .gamma = 5.0 / 3, .cfl = 0.8, .wave = amplitude};
    struct mhd m, first;
    double sum = 0, all;
    if (!mhd_split(&m, MPI_COMM_WORLD, &p) || !mhd_split(&first, MPI_COMM_WORLD, &p))
        return NAN;
    mhd_start(&m);
    mhd_start(&first);
    mhd_primitives(&first);
    run_to(&m, mhd_period(&m));
    mhd_primitives(&m);
    for (int i = 0; i < m.g.size[0]; i++)
        for (int j = 0; j < m.g.size[1]; j++)
            for (int k = 0; k < m.g.size[2]; k++) {
                double square = 0;
                for (int v = 0; v < VARIABLES; v++) {
                    double off = m.w[v][grid_at(&m.g, i, j, k)] - first.w[v][grid_at(&m.g, i, j, k)];
                    square += off * off;
                }
                sum += sqrt(square);
            }
    MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    mhd_free(&m);
    mhd_free(&first);
    return all / (2.0 * cells * cells * cells) / amplitude;
}

static int check_wave(const struct app *app, enum start start, const char *name, int cells, double amplitude, double allowed)
{
    static const double LEAST = 1.8;
    double coarse = wave_error(start, cells, amplitude), fine = wave_error(start, 2 * cells, amplitude), order = log2(coarse / fine);
    return app_judge(
        app, fine < allowed && order > LEAST,
        "%s across %d x %d x %d cells: off by %.2e of its amplitude; with twice as many by %.2e, allowed %g, order %.2f, allowed %g", name,
        2 * cells, cells, cells, coarse, fine, allowed, order, LEAST);
}

/* Means of the density over squares of the plane beside those of another code on a finer grid. */
static double vortices_error(const struct mhd *m)
{
    double mine[VORTEX_SQUARES * VORTEX_SQUARES] = {0}, all[VORTEX_SQUARES * VORTEX_SQUARES], sum = 0;
    int each = m->g.n[1] / VORTEX_SQUARES;
    for (int j = 0; j < m->g.size[1]; j++)
        for (int k = 0; k < m->g.size[2]; k++) {
            int y = (m->g.first[1] + j) / each, z = (m->g.first[2] + k) / each;
            mine[z * VORTEX_SQUARES + y] += m->u[DENSITY][grid_at(&m->g, 0, j, k)] / (each * each);
        }
    MPI_Allreduce(mine, all, VORTEX_SQUARES * VORTEX_SQUARES, MPI_DOUBLE, MPI_SUM, m->g.comm);
    for (int s = 0; s < VORTEX_SQUARES * VORTEX_SQUARES; s++)
        sum += fabs(all[s] - VORTEX_MEANS[s]);
    return sum / (VORTEX_SQUARES * VORTEX_SQUARES);
}

/* The bits of all cells, added as whole numbers: the same on any number of ranks if the cells are. */
static uint64_t bits(const struct mhd *m)
{
    uint64_t mine = 0, all;
    for (int i = 0; i < m->g.size[0]; i++)
        for (int j = 0; j < m->g.size[1]; j++)
            for (int k = 0; k < m->g.size[2]; k++)
                for (int v = 0; v < VARIABLES; v++) {
                    uint64_t word;
                    memcpy(&word, &m->u[v][grid_at(&m->g, i, j, k)], sizeof word);
                    mine += word * (uint64_t)(2 * grid_number(&m->g, i, j, k) + 1);
                }
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, m->g.comm);
    return all;
}

static int check_vortices(const struct app *app)
{
    static const double END = 0.5, ALLOWED = 0.0015, SAME = 1e-12, CLOSED = 1e-12;
    struct problem p = {.start = ORSZAG_TANG, .cells = {1, 128, 128}, .gamma = 5.0 / 3, .cfl = 0.8};
    struct mhd m;
    if (!mhd_split(&m, MPI_COMM_WORLD, &p))
        return app_judge(app, 0, "the vortices cannot be split");
    mhd_start(&m);
    struct totals before = mhd_totals(&m);
    run_to(&m, END);
    struct totals after = mhd_totals(&m);
    double off = vortices_error(&m), lost = fmax(fabs(after.mass / before.mass - 1), fabs(after.energy / before.energy - 1));
    uint64_t sum = bits(&m);
    mhd_free(&m);
    int good = app_judge(app, off < ALLOWED, "vortices of Orszag and Tang, 128 x 128 cells: means of the density off by %.2e, allowed %g",
                         off, ALLOWED);
    good &= app_judge(app, lost < SAME, "their mass and energy: changed by less than %g", SAME);
    good &= app_judge(app, after.divergence < CLOSED, "the field's divergence in a cell, by the largest field: below %g", CLOSED);
    if (app->rank == 0)
        printf("sum of their bits: %016llx\n", (unsigned long long)sum);
    return good;
}

/* The smallest boxes of these checks. */
static const int64_t BOXES[3][3] = {{256, 1, 1}, {32, 16, 16}, {1, 128, 128}};

int mhd_check(const struct app *app)
{
    for (int b = 0; b < 3; b++)
        if (!grid_fits(BOXES[b], app->ranks, GHOSTS))
            return grid_refuse(app, BOXES[b], app->ranks, GHOSTS);
    int good = check_seven_waves(app);
    good &= check_brio_wu(app);
    good &= check_wave(app, ALFVEN, "Alfven wave of amplitude 0.1", 16, 0.1, 0.05);
    good &= check_wave(app, FAST, "fast wave", 16, 1e-6, 0.07);
    good &= check_wave(app, SLOW, "slow wave", 16, 1e-6, 0.03);
    good &= check_vortices(app);
    return app_verdict(app, good);
}
