/* Matrices from files in the Matrix Market's coordinate form. */
#include "cholesky.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 1026, MOST_ROWS = 1000000, MOST_ENTRIES = 100000000 };

struct reader {
    const struct app *app;
    const char *path;
    FILE *file;
    long line;
};

static int refuse(const struct reader *r, const char *what)
{
    return app_refuse(r->app, APP_FILE, "%s, line %ld: %s", r->path, r->line, what);
}

/* The next line that has something and is no comment. Returns whether there is one. */
static int next_line(struct reader *r, char line[LINE])
{
    while (fgets(line, LINE, r->file)) {
        r->line++;
        if (line[0] != '%' && line[strspn(line, " \t\r\n")] != '\0')
            return 1;
    }
    return 0;
}

static int header(struct reader *r)
{
    char line[LINE], form[5][64];
    r->line = 1;
    int words = 0;
    if (fgets(line, LINE, r->file))
        words = sscanf(line, "%63s %63s %63s %63s %63s", form[0], form[1], form[2], form[3], form[4]);
    for (int w = 0; w < words; w++)
        for (char *c = form[w]; *c; c++)
            *c = (char)tolower((unsigned char)*c);
    if (words < 5 || strcmp(form[0], "%%matrixmarket") != 0)
        return refuse(r, "expected '%%MatrixMarket matrix coordinate real symmetric'; this is no file of the Matrix Market");
    if (strcmp(form[1], "matrix") != 0 || strcmp(form[2], "coordinate") != 0 ||
        (strcmp(form[3], "real") != 0 && strcmp(form[3], "integer") != 0) || strcmp(form[4], "symmetric") != 0)
        return refuse(r, "a matrix in coordinate form, real or integer, symmetric, is needed");
    return 0;
}

static int sizes(struct reader *r, int *n, long *count)
{
    char line[LINE];
    long rows, columns;
    if (!next_line(r, line) || sscanf(line, "%ld %ld %ld", &rows, &columns, count) != 3)
        return refuse(r, "expected rows, columns and entries");
    if (rows != columns || rows < 1 || rows > MOST_ROWS)
        return refuse(r, "as many rows as columns are needed, 1 to 1000000");
    if (*count < 1 || *count > MOST_ENTRIES)
        return refuse(r, "1 to 100000000 entries are possible");
    *n = (int)rows;
    return 0;
}

static int entry(struct reader *r, int n, struct entry *e)
{
    char line[LINE];
    if (!next_line(r, line))
        return refuse(r, "the file ends here, before its last entry");
    if (sscanf(line, "%d %d %lf", &e->row, &e->column, &e->value) != 3 || !isfinite(e->value))
        return refuse(r, "expected row, column and a number");
    if (e->column < 1 || e->row > n || e->row < e->column)
        return refuse(r, "rows and columns count from 1, and a symmetric file has the lower triangle only: row >= column");
    e->row--;
    e->column--;
    return 0;
}

/* On rank 0: the entries, and how many. */
static int read_entries(struct reader *r, int *n, long *count, struct entry **entries)
{
    int status = header(r);
    if (status == 0)
        status = sizes(r, n, count);
    if (status != 0)
        return status;
    *entries = app_memory((size_t)*count, sizeof **entries);
    for (long k = 0; k < *count && status == 0; k++)
        status = entry(r, *n, &(*entries)[k]);
    char line[LINE];
    if (status == 0 && next_line(r, line))
        status = refuse(r, "there are more entries than the second line says");
    return status;
}

static int open_and_read(const struct app *app, const char *path, int *n, long *count, struct entry **entries)
{
    struct reader r = {app, path, fopen(path, "r"), 0};
    if (!r.file)
        return app_refuse(app, APP_FILE, "%s cannot be opened: %s", path, strerror(errno));
    int status = read_entries(&r, n, count, entries);
    fclose(r.file);
    return status;
}

int matrix_read(const struct app *app, const char *path, struct matrix *a)
{
    struct entry *entries = NULL;
    int n = 0, status = 0;
    long count = 0;
    if (app->rank == 0)
        status = open_and_read(app, path, &n, &count, &entries);
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&count, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (status == 0) {
        if (app->rank != 0)
            entries = app_memory((size_t)count, sizeof *entries);
        MPI_Datatype kind;
        MPI_Type_contiguous(sizeof *entries, MPI_BYTE, &kind);
        MPI_Type_commit(&kind);
        MPI_Bcast(entries, (int)count, kind, 0, MPI_COMM_WORLD);
        MPI_Type_free(&kind);
        *a = matrix_of(n, entries, count);
    }
    free(entries);
    return status;
}
