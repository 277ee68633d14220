/* What an application does with its flags: a check, a table of times, or the problem. */
#include "app.h"

int app_run(int argc, char **argv, struct app *app, const char *name, const char *what, const struct app_flag *own,
            const struct app_parts *parts, void *with)
{
    int status = app_begin(&argc, &argv, app, name, what, own);
    if (status >= 0)
        return status;
    status = parts->problem(with);
    if (status == 0 && app->check)
        status = parts->check(with);
    else if (status == 0 && app->scaling != APP_NO_SCALING)
        status = app_scaling(app, parts->timed, with);
    else if (status == 0)
        status = parts->simulate(with);
    if (parts->end)
        parts->end(with);
    return app_end(status);
}
