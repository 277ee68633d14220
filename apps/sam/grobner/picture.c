/* The staircase of the basis: a cube for each monomial in the last three variables that no lead divides, at its
 * exponents, seen from where all three are large. With all variables these monomials are a basis of the quotient. */
#include "grobner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 600, MARGIN = 20, AXES = 3 };

struct canvas {
    unsigned char *rgb;
    double side;      /* of a cube, in points */
    double left, top; /* of exponents 0, 0, 0 */
};

struct spot {
    double x, y;
};

static struct spot spot_of(const struct canvas *c, const double at[AXES])
{
    const double across = sqrt(3) / 2;
    return (struct spot){c->left + c->side * across * (at[1] - at[0]),
                         c->top + c->side * ((at[0] + at[1]) / 2 - at[2])};
}

/* Which side of the line from a to b a point lies on. */
static double side_of(struct spot a, struct spot b, double x, double y)
{
    return (b.x - a.x) * (y - a.y) - (b.y - a.y) * (x - a.x);
}

/* The parallelogram from `corner` along two axes, with an edge. */
static void paint_face(struct canvas *c, const double corner[AXES], int u, int v, const unsigned char colour[3])
{
    struct spot at[4];
    for (int n = 0; n < 4; n++) {
        double p[AXES] = {corner[0], corner[1], corner[2]};
        p[u] += n == 1 || n == 2;
        p[v] += n >= 2;
        at[n] = spot_of(c, p);
    }
    double low[2] = {POINTS, POINTS}, high[2] = {0, 0};
    for (int n = 0; n < 4; n++) {
        low[0] = fmin(low[0], at[n].x), high[0] = fmax(high[0], at[n].x);
        low[1] = fmin(low[1], at[n].y), high[1] = fmax(high[1], at[n].y);
    }
    for (int y = (int)fmax(0, low[1]); y < POINTS && y <= high[1]; y++)
        for (int x = (int)fmax(0, low[0]); x < POINTS && x <= high[0]; x++) {
            double nearest = INFINITY;
            int inside = 0;
            for (int n = 0; n < 4; n++) {
                double s = side_of(at[n], at[(n + 1) % 4], x, y);
                inside += s > 0 ? 1 : -1;
                nearest = fmin(nearest, fabs(s) / c->side);
            }
            if (abs(inside) == 4)
                for (int k = 0; k < 3; k++)
                    c->rgb[3 * (y * POINTS + x) + k] = (unsigned char)(colour[k] * (nearest < 1 ? 0.4 : 1));
        }
}

/* A cube in the colour of its degree; its three faces that show are lit differently. */
static void paint_cube(struct canvas *c, const int at[AXES], const int extent[AXES])
{
    static const double light[AXES] = {0.6, 0.8, 1};
    unsigned char whole[3];
    int highest = extent[0] > extent[1] ? extent[0] : extent[1];
    highest = extent[2] > highest ? extent[2] : highest;
    app_colour(0.35 + 0.6 * (at[0] + at[1] + at[2]) / highest, whole);
    for (int axis = 0; axis < AXES; axis++) {
        double corner[AXES] = {at[0], at[1], at[2]};
        unsigned char colour[3];
        corner[axis] += 1;
        for (int k = 0; k < 3; k++)
            colour[k] = (unsigned char)(whole[k] * light[axis]);
        paint_face(c, corner, (axis + 1) % AXES, (axis + 2) % AXES, colour);
    }
}

static int is_standard(const struct system *s, const struct basis *b, const int at[AXES])
{
    int exponents[MOST_VARIABLES] = {0};
    memcpy(exponents + s->variables - AXES, at, AXES * sizeof *at);
    mono m = mono_of(exponents, s->variables);
    for (int n = 0; n < b->count; n++)
        if (mono_divides(b->of[n].m[0], m))
            return 0;
    return 1;
}

/* How far the staircase reaches along each axis; one that does not end is cut beyond the highest exponent of all leads. */
static void extents_of(const struct system *s, const struct basis *b, int extent[AXES])
{
    int cut = 1;
    for (int n = 0; n < b->count; n++)
        for (int v = s->variables - AXES; v < s->variables; v++)
            cut = mono_exponent(b->of[n].m[0], v) >= cut ? mono_exponent(b->of[n].m[0], v) + 1 : cut;
    for (int axis = 0; axis < AXES; axis++) {
        int at[AXES] = {0};
        while (at[axis] < cut && at[axis] < MOST_DEGREE / AXES && is_standard(s, b, at))
            at[axis]++;
        extent[axis] = at[axis];
    }
}

/* The box around the staircase fills the picture. */
static void place(struct canvas *c, const int extent[AXES])
{
    const double across = sqrt(3) / 2, room = POINTS - 2 * MARGIN;
    int depth = extent[0] + extent[1];
    c->side = fmin(room / (across * depth), room / (depth / 2.0 + extent[2]));
    c->left = POINTS / 2.0 + c->side * across * (extent[0] - extent[1]) / 2;
    c->top = POINTS / 2.0 + c->side * (extent[2] - depth / 2.0) / 2;
}

int basis_picture(const struct app *app, const struct system *s, const struct basis *b)
{
    int status = 0;
    if (app->rank == 0) {
        int extent[AXES], at[AXES];
        struct canvas c = {.rgb = app_memory((size_t)POINTS * POINTS, 3)};
        memset(c.rgb, 0, (size_t)POINTS * POINTS * 3);
        extents_of(s, b, extent);
        place(&c, extent);
        /* What is farther away first. */
        for (at[2] = 0; at[2] < extent[2]; at[2]++)
            for (at[1] = 0; at[1] < extent[1]; at[1]++)
                for (at[0] = 0; at[0] < extent[0]; at[0]++)
                    if (is_standard(s, b, at))
                        paint_cube(&c, at, extent);
        status = app_png(app, app->image, POINTS, POINTS, c.rgb);
        free(c.rgb);
    }
    MPI_Bcast(&status, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return status;
}
