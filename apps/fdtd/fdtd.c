/* Electromagnetic fields: a dipole in free space, a cavity, or a plasma of particles. */
#include "fdtd.h"

#include <math.h>
#include <stdio.h>

struct run {
    struct app app;
    struct problem p;
    char kind[APP_TEXT_SIZE];
    long cells, nx, ny, nz, layers, mode[3], per_cell, steps, print;
    struct fdtd f;
};

static int step(void *with)
{
    struct run *run = with;
    fdtd_step(&run->f);
    return 0;
}

static int print_line(void *with)
{
    struct run *run = with;
    struct fdtd *f = &run->f;
    int plasma = f->p.kind == PLASMA;
    struct energies e = fdtd_energies(f);
    double gauss = plasma ? particles_gauss(f) : 0;
    if (run->app.rank == 0) {
        printf("%8lld %12.3f %16.9e %16.9e", (long long)f->step, (double)f->step * f->dt, e.electric, e.magnetic);
        if (plasma)
            printf(" %16.9e %10.1e", e.kinetic, gauss);
        printf("\n");
        fflush(stdout);
    }
    return 0;
}

static int keep(void *with)
{
    const struct run *run = with;
    return fdtd_write(&run->app, &run->f);
}

static void print_head(const struct run *run, const struct fdtd *f)
{
    grid_print_size(&f->g);
    if (run->app.rank != 0)
        return;
    if (f->p.kind == PLASMA)
        printf(", %lld particles", (long long)f->all_particles);
    printf("\n%8s %12s %16s %16s", "step", "time", "electric", "magnetic");
    if (f->p.kind == PLASMA)
        printf(" %16s %10s", "kinetic", "Gauss");
    printf("\n");
}

static void print_speed(const struct fdtd *f, int64_t steps, double seconds)
{
    double exchange = app_slowest(f->g.comm, f->exchange_seconds), pushing = app_slowest(f->g.comm, f->particle_seconds);
    double rate = 1e-6 * (double)steps / seconds, cells = (double)f->g.n[0] * f->g.n[1] * f->g.n[2];
    if (f->g.rank != 0 || steps <= 0)
        return;
    printf("%lld steps in %.3f s: %.2f million cells/s, %.2f per rank; exchange %.0f %%", (long long)steps, seconds, rate * cells,
           rate * cells / f->g.ranks, 100 * exchange / seconds);
    if (f->p.kind == PLASMA)
        printf("; %.2f million particles/s, %.0f %% of the time", rate * (double)f->all_particles, 100 * pushing / seconds);
    printf("\n");
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct run *run = with;
    struct problem p = run->p;
    p.cells[0] *= times;
    if (!fdtd_split(&run->f, comm, &p)) {
        grid_refuse(&run->app, p.cells, times, GHOSTS);
        MPI_Abort(MPI_COMM_WORLD, APP_USAGE);
    }
    fdtd_start(&run->f);
    double seconds = app_time(comm, run->steps, step, run);
    fdtd_free(&run->f);
    return seconds;
}

static int begin(struct run *run)
{
    int status = 0;
    if (*run->app.restart)
        status = fdtd_read(&run->app, &run->f);
    else if (!fdtd_split(&run->f, MPI_COMM_WORLD, &run->p))
        status = grid_refuse(&run->app, run->p.cells, run->app.ranks, GHOSTS);
    if (status == 0)
        fdtd_start(&run->f);
    return status;
}

static int simulate(void *with)
{
    struct run *run = with;
    struct fdtd *f = &run->f;
    const struct app_steps steps = {
        .done = &f->step, .last = run->steps, .print = run->print, .step = step, .line = print_line, .keep = keep};
    int status = begin(run);
    if (status != 0)
        return status;
    print_head(run, f);
    print_line(run);
    int64_t from = f->step;
    f->exchange_seconds = f->particle_seconds = 0;
    double start = MPI_Wtime();
    status = app_advance(&run->app, &steps, run);
    print_speed(f, f->step - from, app_slowest(f->g.comm, MPI_Wtime() - start));
    if (status == 0 && *run->app.image)
        status = fdtd_picture(&run->app, f);
    fdtd_free(f);
    return status;
}

/* The flags as a problem; returns the exit code when they make none. */
static int make_problem(void *with)
{
    struct run *run = with;
    static const char *const kinds[3] = {"dipole", "cavity", "plasma"};
    const long n[3] = {run->nx, run->ny, run->nz};
    int kind = app_find(run->kind, kinds, 3);
    if (kind < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --case: dipole, cavity or plasma is needed", run->kind);
    run->p.kind = kind;
    for (int d = 0; d < 3; d++) {
        run->p.cells[d] = n[d] > 0 ? n[d] : run->cells;
        run->p.mode[d] = run->mode[d];
    }
    run->p.layers = kind == DIPOLE ? run->layers : 0;
    run->p.per_cell = kind == PLASMA ? run->per_cell : 0;
    if (kind == PLASMA)
        run->p.wavelength = (double)run->p.cells[0];
    return fdtd_refuse(&run->app, &run->p);
}

static int check(void *with)
{
    const struct run *run = with;
    return fdtd_check(&run->app);
}

int main(int argc, char **argv)
{
    static const struct app_parts parts = {.problem = make_problem, .check = check, .simulate = simulate, .timed = timed};
    static struct run run = {
        .p = {.courant = 0.5, .wavelength = 16, .frequency = 0.2},
        .kind = "dipole", .cells = 64, .layers = 10, .mode = {1, 1, 1}, .per_cell = 2, .steps = 200, .print = 50};
    const struct app_flag flags[] = {
        {"--case", APP_TEXT, run.kind, 0, 0, "NAME", "dipole (the default), cavity or plasma"},
        {"--cells", APP_WHOLE, &run.cells, 4, 20000, "N", "cells per direction (64)"},
        {"--nx", APP_WHOLE, &run.nx, 4, 20000, "N", "cells in x, if not --cells; so --ny and --nz"},
        {"--ny", APP_WHOLE, &run.ny, 4, 20000, "N", "cells in y"},
        {"--nz", APP_WHOLE, &run.nz, 4, 20000, "N", "cells in z"},
        {"--steps", APP_WHOLE, &run.steps, 0, 1e9, "N", "number of the last step (200)"},
        {"--courant", APP_REAL, &run.p.courant, 1e-6, 0.577, "C", "time step: how far light goes, in cells (0.5)"},
        {"--layers", APP_WHOLE, &run.layers, 0, 1000, "N", "dipole: thickness of the absorbing layers (10), 0: walls"},
        {"--wavelength", APP_REAL, &run.p.wavelength, 4, 1e6, "L", "dipole: cells (16)"},
        {"--pulse", APP_REAL, &run.p.pulse, 0, 1e6, "W", "dipole: width of a single pulse; 0: it oscillates (0)"},
        {"--sphere", APP_REAL, &run.p.sphere, 0, 1e4, "R", "dipole: radius of a conducting sphere beside it (0: none)"},
        {"--mode-x", APP_WHOLE, &run.mode[0], 0, 10000, "N", "cavity: half waves in x (1); so --mode-y and --mode-z"},
        {"--mode-y", APP_WHOLE, &run.mode[1], 0, 10000, "N", "cavity: half waves in y"},
        {"--mode-z", APP_WHOLE, &run.mode[2], 0, 10000, "N", "cavity: half waves in z"},
        {"--per-cell", APP_WHOLE, &run.per_cell, 1, 16, "N", "plasma: particles per cell and direction (2)"},
        {"--frequency", APP_REAL, &run.p.frequency, 1e-6, 1.9, "W", "plasma: its frequency, in light's time for a cell (0.2)"},
        {"--thermal", APP_REAL, &run.p.thermal, 0, 100, "U", "plasma: spread of gamma times velocity (0)"},
        {"--drift", APP_REAL, &run.p.drift, 0, 100, "U", "plasma: the same of two beams against each other (0)"},
        {"--print", APP_WHOLE, &run.print, 0, 1e9, "N", "steps between lines of output (50), 0: none"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    return app_run(argc, argv, &run.app, "fdtd", "electromagnetic fields in time, with particles or without", flags, &parts, &run);
}
