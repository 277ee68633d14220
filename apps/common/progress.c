/* Lines that say how far the run is, and how it ended. */
#include "app.h"

#include <stdarg.h>
#include <stdio.h>

static const double SECONDS_BETWEEN = 5;

void app_progress(struct app *app, long first, long done, long total)
{
    if (app->rank != 0 || app->quiet)
        return;
    double now = MPI_Wtime();
    if (app->started == 0)
        app->started = app->said = now;
    if (done <= first || now - app->said < SECONDS_BETWEEN)
        return;
    app->said = now;
    double left = (now - app->started) / (double)(done - first) * (double)(total - done);
    printf("  step %ld of %ld, %.0f s, about %.0f s left\n", done, total, now - app->started, left);
    fflush(stdout);
}

int app_judge(const struct app *app, int good, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    if (app->rank == 0) {
        vprintf(format, values);
        puts(good ? ": right" : ": WRONG");
    }
    va_end(values);
    return good;
}

int app_verdict(const struct app *app, int passed)
{
    if (app->rank == 0) {
        puts(passed ? "PASSED" : "FAILED");
        fflush(stdout);
    }
    return passed ? 0 : APP_WRONG;
}
