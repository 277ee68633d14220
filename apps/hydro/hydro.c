/* Compressible gas: shock tube, explosion, sound wave, shear layers. */
#include "hydro.h"

#include <math.h>
#include <stdio.h>

static struct hydro h;

static int split(MPI_Comm comm, const struct problem *p)
{
    return hydro_split(&h, comm, p);
}

static void begin(void)
{
    hydro_start(&h);
}

static void end(void)
{
    hydro_free(&h);
}

static void advance(double end)
{
    hydro_step(&h, end);
}

static int keep(const struct app *app)
{
    return hydro_write(app, &h);
}

static int restart(const struct app *app)
{
    return hydro_read(app, &h);
}

static int line(int prints)
{
    struct totals t = hydro_totals(&h);
    if (prints && isfinite(t.energy + h.time))
        printf("%8lld %14.8f %16.9e %16.9e %16.9e %12.6f\n", (long long)h.step, h.time, t.mass, t.energy, t.kinetic, t.most);
    return isfinite(t.energy + h.time);
}

static int usual_border(int start)
{
    return start == SOD ? OUTFLOW : start == SEDOV ? REFLECTING : PERIODIC;
}

/* A tube is thin, shear layers are flat. */
static void complete(struct gas_run *run)
{
    int thin[3];
    for (int d = 0; d < 3; d++)
        thin[d] = (run->p.start == SOD && d != run->p.axis) || (run->p.start == SHEAR && d == 0);
    gas_choose_cells(run, thin);
}

int main(int argc, char **argv)
{
    static const char *const starts[STARTS] = {"sod", "sedov", "wave", "shear"};
    static const char *const borders[BORDERS] = {"periodic", "outflow", "reflecting"};
    static const struct gas_program program = {
        .name = "hydro", .what = "compressible gas: shocks, explosions, waves",
        .heading = "    step           time             mass           energy          kinetic   most dense",
        .starts = {starts, STARTS, "sod, sedov, wave or shear"}, .borders = {borders, BORDERS, "periodic, outflow or reflecting"},
        .help = {.start = "sedov (the default: an explosion), sod, wave or shear", .gamma = "ratio of specific heats (1.4)",
                 .border = "periodic, outflow or reflecting; so --border-y and --border-z", .axis = "sod: direction of the tube (x)",
                 .wave = "wave: amplitude (1e-4)"},
        .least_cells = 4, .g = &h.g, .step = &h.step, .time = &h.time, .exchange_seconds = &h.exchange_seconds, .drawn = &h.u[DENSITY],
        .least = GHOSTS, .usual_border = usual_border, .complete = complete, .refuse = hydro_refuse, .split = split, .begin = begin, .free = end,
        .advance = advance, .line = line, .write = keep, .read = restart, .check = hydro_check};
    static struct gas_run run = {.p = {.gamma = 1.4, .cfl = 0.8, .wave = 1e-4}, .start = "sedov", .axis = "x", .cells = 64, .steps = 100,
                                 .print = 50, .end = 1e9};
    return gas_run(argc, argv, &run, &program);
}
