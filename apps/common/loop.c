/* The loop over the steps of a run: what is printed and kept on the way. */
#include "app.h"

static int is_end(const struct app_steps *steps, void *with)
{
    return *steps->done >= steps->last || (steps->is_over && steps->is_over(with));
}

int app_advance(struct app *app, const struct app_steps *steps, void *with)
{
    const int64_t from = *steps->done;
    int64_t kept = from;
    int status = 0;
    app_progress(app, from, from, steps->last);
    while (status == 0 && !is_end(steps, with)) {
        status = steps->step(with);
        int64_t done = *steps->done;
        int end = is_end(steps, with);
        if (status == 0 && (end || (steps->print > 0 && done % steps->print == 0)))
            status = steps->line(with);
        /* Due since the last multiple of --every, if nothing could be kept there. */
        int due = app->every > 0 && done / app->every > kept / app->every;
        if (status == 0 && due && !end && (!steps->may_keep || steps->may_keep(with))) {
            status = steps->keep(with);
            kept = done;
        }
        app_progress(app, from, done, steps->last);
    }
    if (status == 0 && *app->checkpoint)
        status = steps->keep(with);
    return status;
}

double app_time(MPI_Comm comm, long count, int (*step)(void *with), void *with)
{
    MPI_Barrier(comm);
    double start = MPI_Wtime();
    for (long s = 0; s < count; s++) {
        int status = step(with);
        if (status != 0)
            MPI_Abort(MPI_COMM_WORLD, status);
    }
    return app_slowest(comm, MPI_Wtime() - start);
}
