/* A gas that conducts, in its magnetic field: shock tubes, waves, vortices, an explosion. */
#include "mhd.h"

#include <math.h>
#include <stdio.h>

static struct mhd m;

static int split(MPI_Comm comm, const struct problem *p)
{
    return mhd_split(&m, comm, p);
}

static void begin(void)
{
    mhd_start(&m);
}

static void end(void)
{
    mhd_free(&m);
}

static void advance(double end)
{
    mhd_step(&m, end);
}

static int keep(const struct app *app)
{
    return mhd_write(app, &m);
}

static int restart(const struct app *app)
{
    return mhd_read(app, &m);
}

static int line(int prints)
{
    struct totals t = mhd_totals(&m);
    if (prints && isfinite(t.energy + m.time))
        printf("%8lld %14.8f %16.9e %16.9e %16.9e %12.2e\n", (long long)m.step, m.time, t.mass, t.energy, t.magnetic, t.divergence);
    return isfinite(t.energy + m.time);
}

static int is_tube(int start)
{
    return start == BRIO_WU || start == RYU_JONES;
}

static int usual_border(int start)
{
    return is_tube(start) || start == BLAST ? OUTFLOW : PERIODIC;
}

/* A tube is thin, the vortices are flat. */
static void complete(struct gas_run *run)
{
    int thin[3], start = (int)run->p.start;
    for (int d = 0; d < 3; d++)
        thin[d] = (is_tube(start) && d != run->p.axis) || (start == ORSZAG_TANG && d == 0);
    gas_choose_cells(run, thin);
    if (run->p.gamma == 0)
        run->p.gamma = start == BRIO_WU ? 2 : 5.0 / 3;
}

int main(int argc, char **argv)
{
    static const char *const starts[STARTS] = {"orszag-tang", "brio-wu", "ryu-jones", "alfven", "fast", "slow", "blast"};
    static const char *const borders[BORDERS] = {"periodic", "outflow"};
    static const struct gas_program program = {
        .name = "mhd", .what = "magnetohydrodynamics: shocks, waves, vortices in a magnetic field",
        .heading = "    step           time             mass           energy         magnetic   divergence",
        .starts = {starts, STARTS, "orszag-tang, brio-wu, ryu-jones, alfven, fast, slow or blast"}, .borders = {borders, BORDERS, "periodic or outflow"},
        .help = {.start = "orszag-tang (the default: vortices), brio-wu, ryu-jones, alfven, fast, slow or blast",
                 .gamma = "ratio of specific heats (5/3; brio-wu: 2)", .border = "periodic or outflow; so --border-y and --border-z",
                 .axis = "brio-wu, ryu-jones: direction of the tube (x)", .wave = "alfven, fast, slow: amplitude (0.1)"},
        .least_cells = 6, .g = &m.g, .step = &m.step, .time = &m.time, .exchange_seconds = &m.exchange_seconds, .drawn = &m.u[DENSITY],
        .at_middle = 1, .least = GHOSTS, .usual_border = usual_border, .complete = complete, .refuse = mhd_refuse, .split = split,
        .begin = begin, .free = end, .advance = advance, .line = line, .write = keep, .read = restart, .check = mhd_check};
    static struct gas_run run = {.p = {.cfl = 0.8, .wave = 0.1}, .start = "orszag-tang", .axis = "x", .cells = 64, .steps = 100, .print = 50,
                                 .end = 1e9};
    return gas_run(argc, argv, &run, &program);
}
