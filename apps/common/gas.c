/* A run of a gas in a box. */
#include "gas.h"

#include <math.h>
#include <stdio.h>

static int step(void *with)
{
    struct gas_run *run = with;
    run->program->advance(run->end);
    return 0;
}

static int is_over(const void *with)
{
    const struct gas_run *run = with;
    return *run->program->time >= run->end;
}

/* Returns 0, or the exit code when there is nothing to go on with. */
static int print_line(void *with)
{
    const struct gas_run *run = with;
    if (!run->program->line(run->app.rank == 0))
        return app_refuse(&run->app, APP_WRONG, "step %lld: the gas has no finite energy any more; take a smaller --cfl",
                          (long long)*run->program->step);
    fflush(stdout);
    return 0;
}

static int keep(void *with)
{
    const struct gas_run *run = with;
    return run->program->write(&run->app);
}

static double timed(MPI_Comm comm, int times, void *with)
{
    struct gas_run *run = with;
    struct problem p = run->p;
    int d = is_active(&p, 0) ? 0 : 1;
    p.cells[d] *= times;
    if (!run->program->split(comm, &p)) {
        grid_refuse(&run->app, p.cells, times, run->program->least);
        MPI_Abort(MPI_COMM_WORLD, APP_USAGE);
    }
    run->program->begin();
    run->end = INFINITY;
    double seconds = app_time(comm, run->steps, step, run);
    run->program->free();
    return seconds;
}

static int begin(struct gas_run *run)
{
    if (*run->app.restart)
        return run->program->read(&run->app);
    if (!run->program->split(MPI_COMM_WORLD, &run->p))
        return grid_refuse(&run->app, run->p.cells, run->app.ranks, run->program->least);
    run->program->begin();
    return 0;
}

static int simulate(void *with)
{
    struct gas_run *run = with;
    const struct gas_program *program = run->program;
    struct grid *g = program->g;
    const struct app_steps steps = {.done = program->step, .last = run->steps, .print = run->print, .step = step, .line = print_line,
                                    .keep = keep, .is_over = is_over};
    int status = begin(run);
    if (status != 0)
        return status;
    grid_print_size(g);
    if (g->rank == 0)
        printf("\n%s\n", program->heading);
    print_line(run);
    int64_t from = *program->step;
    *program->exchange_seconds = 0;
    double start = MPI_Wtime();
    status = app_advance(&run->app, &steps, run);
    grid_print_speed(g, *program->step - from, app_slowest(g->comm, MPI_Wtime() - start), *program->exchange_seconds);
    if (status == 0 && *run->app.image)
        status = grid_picture(g, &run->app, *program->drawn, program->at_middle);
    program->free();
    return status;
}

void gas_choose_cells(struct gas_run *run, const int thin[3])
{
    for (int d = 0; d < 3; d++)
        run->p.cells[d] = run->n[d] > 0 ? run->n[d] : thin[d] ? 1 : run->cells;
}

static int make_problem(void *with)
{
    static const char *const axes[3] = {"x", "y", "z"};
    struct gas_run *run = with;
    const struct gas_words *starts = &run->program->starts, *borders = &run->program->borders;
    int start = app_find(run->start, starts->word, starts->count), axis = app_find(run->axis, axes, 3);
    if (start < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --start: %s is needed", run->start, starts->all);
    if (axis < 0)
        return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --axis: x, y or z is needed", run->axis);
    run->p.start = start, run->p.axis = axis;
    for (int d = 0; d < 3; d++) {
        int border = *run->border[d] ? app_find(run->border[d], borders->word, borders->count) : run->program->usual_border(start);
        if (border < 0)
            return app_refuse(&run->app, APP_USAGE, "'%s' is no good as --border-%s: %s is needed", run->border[d], axes[d], borders->all);
        run->p.border[d] = border;
    }
    run->program->complete(run);
    return run->program->refuse(&run->app, &run->p);
}

static int check(void *with)
{
    const struct gas_run *run = with;
    return run->program->check(&run->app);
}

int gas_run(int argc, char **argv, struct gas_run *run, const struct gas_program *program)
{
    static const struct app_parts parts = {.problem = make_problem, .check = check, .simulate = simulate, .timed = timed};
    const struct app_flag flags[] = {
        {"--start", APP_TEXT, run->start, 0, 0, "NAME", program->help.start},
        {"--cells", APP_WHOLE, &run->cells, (double)program->least_cells, 100000, "N", "cells per direction (64)"},
        {"--nx", APP_WHOLE, &run->n[0], 1, 100000, "N", "cells in x, if not --cells; so --ny and --nz"},
        {"--ny", APP_WHOLE, &run->n[1], 1, 100000, "N", "cells in y"},
        {"--nz", APP_WHOLE, &run->n[2], 1, 100000, "N", "cells in z"},
        {"--steps", APP_WHOLE, &run->steps, 0, 1e9, "N", "number of the last step (100)"},
        {"--end", APP_REAL, &run->end, 0, 1e9, "T", "or time of the end"},
        {"--cfl", APP_REAL, &run->p.cfl, 1e-3, 1, "C", "time step: how far waves of all directions together go, in cells (0.8)"},
        {"--gamma", APP_REAL, &run->p.gamma, 1.01, 10, "G", program->help.gamma},
        {"--border-x", APP_TEXT, run->border[0], 0, 0, "KIND", program->help.border},
        {"--border-y", APP_TEXT, run->border[1], 0, 0, "KIND", "ends in y"},
        {"--border-z", APP_TEXT, run->border[2], 0, 0, "KIND", "ends in z"},
        {"--axis", APP_TEXT, run->axis, 0, 0, "D", program->help.axis},
        {"--wave", APP_REAL, &run->p.wave, 1e-12, 0.5, "A", program->help.wave},
        {"--print", APP_WHOLE, &run->print, 0, 1e9, "N", "steps between lines of output (50), 0: none"},
        {NULL, APP_SWITCH, NULL, 0, 0, NULL, NULL},
    };
    run->program = program;
    return app_run(argc, argv, &run->app, program->name, program->what, flags, &parts, run);
}
