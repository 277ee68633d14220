/* The gas at its beginning. The field comes from a vector potential where it changes, so that nothing flows out of any cell. */
#include "mhd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is needed to start at a place: density, velocities, pressure; the field, or a constant part and a potential of the rest. */
struct initial {
    double w[GAS], field[3], potential[3];
};

int mhd_refuse(const struct app *app, const struct problem *p)
{
    double cells = 1;
    int64_t least = INT64_MAX;
    int active = 0, is_tube = p->start == BRIO_WU || p->start == RYU_JONES;
    for (int d = 0; d < 3; d++) {
        cells *= (double)p->cells[d];
        active += is_active(p, d);
        if (is_active(p, d) && p->cells[d] < least)
            least = p->cells[d];
    }
    if (least < 2 * GHOSTS || active == 0 || cells / app->ranks > 200e6)
        return app_refuse(app, APP_USAGE, "%lld x %lld x %lld cells on %d ranks: each direction needs 1 cell, or %d or more, one of them "
                          "more than 1, and a rank can have 200 million",
                          (long long)p->cells[0], (long long)p->cells[1], (long long)p->cells[2], app->ranks, 2 * GHOSTS);
    if (is_tube && !is_active(p, (int)p->axis))
        return app_refuse(app, APP_USAGE, "a shock tube needs more than one cell along its axis");
    if (p->start == ORSZAG_TANG && (p->cells[1] != p->cells[2] || p->cells[0] > p->cells[1]))
        return app_refuse(app, APP_USAGE, "the vortices of Orszag and Tang need as many cells in y as in z, and no more in x");
    return 0;
}

int mhd_split(struct mhd *m, MPI_Comm comm, const struct problem *p)
{
    int n[3], periodic[3], longest = 1;
    memset(m, 0, sizeof *m);
    m->p = *p;
    for (int d = 0; d < 3; d++) {
        n[d] = (int)p->cells[d];
        m->reach[d] = is_active(p, d);
        periodic[d] = is_active(p, d) && p->border[d] == PERIODIC;
        longest = n[d] > longest ? n[d] : longest;
    }
    if (!grid_split(&m->g, comm, n, periodic, GHOSTS, GHOSTS))
        return 0;
    m->g.has_faces = 1;
    const ptrdiff_t distance[3] = {m->g.plane, m->g.row, 1};
    m->cell = 1.0 / longest;
    for (int d = 0; d < 3; d++) {
        m->up[d] = m->reach[d] * distance[d];
        m->mass[d] = grid_field(&m->g);
        m->cell_e[d] = grid_field(&m->g);
        m->edge_e[d] = grid_field(&m->g);
        m->face_e[d][0] = grid_field(&m->g);
        m->face_e[d][1] = grid_field(&m->g);
    }
    for (int v = 0; v < VARIABLES; v++) {
        m->u[v] = grid_field(&m->g);
        m->old[v] = grid_field(&m->g);
        m->w[v] = grid_field(&m->g);
    }
    for (int v = MOMENTUM; v < GAS; v++)
        m->flux[v] = grid_field(&m->g);
    return 1;
}

void mhd_free(struct mhd *m)
{
    for (int d = 0; d < 3; d++) {
        grid_field_free(&m->g, m->mass[d]);
        grid_field_free(&m->g, m->cell_e[d]);
        grid_field_free(&m->g, m->edge_e[d]);
        grid_field_free(&m->g, m->face_e[d][0]);
        grid_field_free(&m->g, m->face_e[d][1]);
    }
    for (int v = 0; v < VARIABLES; v++) {
        grid_field_free(&m->g, m->u[v]);
        grid_field_free(&m->g, m->old[v]);
        grid_field_free(&m->g, m->w[v]);
    }
    for (int v = MOMENTUM; v < GAS; v++)
        grid_field_free(&m->g, m->flux[v]);
    grid_free(&m->g);
}

/* Shock tubes: density, pressure, velocity and field across the tube and along the next two directions. */
struct tube {
    double r, p, v[3], b[3];
};
#define PER_ROOT_4PI 0.28209479177387814
static const struct tube TUBES[2][2] = {
    /* M. Brio and C. C. Wu, J. Comput. Phys. 75, 1988; gamma is 2 there. */
    {{1, 1, {0, 0, 0}, {0.75, 1, 0}}, {0.125, 0.1, {0, 0, 0}, {0.75, -1, 0}}},
    /* D. Ryu and T. W. Jones, Astrophys. J. 442, 1995, figure 2a: all seven waves. */
    {{1.08, 0.95, {1.2, 0.01, 0.5}, {2 * PER_ROOT_4PI, 3.6 * PER_ROOT_4PI, 2 * PER_ROOT_4PI}},
     {1, 1, {0, 0, 0}, {2 * PER_ROOT_4PI, 4 * PER_ROOT_4PI, 2 * PER_ROOT_4PI}}},
};

static void start_tube(const struct mhd *m, const double at[3], struct initial *s)
{
    int axis = (int)m->p.axis, right = at[axis] >= 0.5 * m->cell * (double)m->p.cells[axis];
    const struct tube *t = &TUBES[m->p.start == RYU_JONES][right];
    s->w[DENSITY] = t->r;
    s->w[PRESSURE] = t->p;
    for (int e = 0; e < 3; e++) {
        s->w[1 + (axis + e) % 3] = t->v[e];
        s->field[(axis + e) % 3] = t->b[e];
    }
}

/* The waves go along the first of these directions, with one period in each direction of the box that takes part. Returns the wave number. */
static double wave_axes(const struct mhd *m, double axes[3][3])
{
    double square = 0, across;
    for (int d = 0; d < 3; d++) {
        axes[0][d] = is_active(&m->p, d) ? 2 * M_PI / (m->cell * (double)m->p.cells[d]) : 0;
        square += axes[0][d] * axes[0][d];
    }
    int least = 0;
    for (int d = 0; d < 3; d++) {
        axes[0][d] /= sqrt(square);
        least = fabs(axes[0][d]) < fabs(axes[0][least]) ? d : least;
    }
    across = sqrt(1 - axes[0][least] * axes[0][least]);
    for (int d = 0; d < 3; d++)
        axes[1][d] = ((d == least) - axes[0][least] * axes[0][d]) / across;
    for (int d = 0; d < 3; d++)
        axes[2][d] = axes[0][(d + 1) % 3] * axes[1][(d + 2) % 3] - axes[0][(d + 2) % 3] * axes[1][(d + 1) % 3];
    return sqrt(square);
}

/* Speeds of the waves below. */
static double wave_speed(const struct problem *p)
{
    return p->start == FAST ? 2 : p->start == SLOW ? 0.5 : 1;
}

double mhd_period(const struct mhd *m)
{
    double axes[3][3];
    return 2 * M_PI / wave_axes(m, axes) / wave_speed(&m->p);
}

/* A circularly polarised Alfven wave, exact with any amplitude (G. Toth, J. Comput. Phys. 161, 2000), or a small fast or slow wave (T. A.
 * Gardiner and J. M. Stone, J. Comput. Phys. 227, 2008: field 1, sqrt 2, 1/2, sound 1, density 1, speeds 2 and 1/2). */
static void start_wave(const struct mhd *m, const double at[3], struct initial *s)
{
    double axes[3][3], number = wave_axes(m, axes), phase = 0, size = m->p.wave, speed = wave_speed(&m->p);
    double mean[3] = {1, M_SQRT2, 0.5}, velocity[3], potential[3] = {0, 0, 0};
    for (int d = 0; d < 3; d++)
        phase += number * axes[0][d] * at[d];
    s->w[DENSITY] = 1;
    if (m->p.start == ALFVEN) {
        s->w[PRESSURE] = 0.1;
        mean[1] = mean[2] = velocity[0] = 0;
        velocity[1] = -size * sin(phase), velocity[2] = -size * cos(phase);
        potential[1] = size * sin(phase) / number, potential[2] = size * cos(phase) / number;
    } else {
        double change = size * cos(phase), along = speed * speed / (speed * speed - 1), sum = size * sin(phase) / number;
        s->w[DENSITY] = 1 + change;
        s->w[PRESSURE] = 1 / m->p.gamma + change;
        velocity[0] = speed * change, velocity[1] = -mean[1] * along * change / speed, velocity[2] = -mean[2] * along * change / speed;
        potential[1] = mean[2] * along * sum, potential[2] = -mean[1] * along * sum;
    }
    for (int d = 0; d < 3; d++)
        for (int e = 0; e < 3; e++) {
            s->w[1 + d] += velocity[e] * axes[e][d];
            s->field[d] += mean[e] * axes[e][d];
            s->potential[d] += potential[e] * axes[e][d];
        }
}

/* S. A. Orszag and C. M. Tang, J. Fluid Mech. 90, 1979, in the units of J. M. Stone and others, Astrophys. J. Suppl. 178, 2008. */
static void start_vortices(const struct mhd *m, const double at[3], struct initial *s)
{
    double length = m->cell * (double)m->p.cells[1], height = m->cell * (double)m->p.cells[2];
    double strength = PER_ROOT_4PI, y = 2 * M_PI * at[1] / length, z = 2 * M_PI * at[2] / height;
    s->w[DENSITY] = 25 / (36 * M_PI);
    s->w[PRESSURE] = 5 / (12 * M_PI);
    s->w[2] = -sin(z);
    s->w[3] = sin(y);
    s->potential[0] = strength * (length * cos(2 * y) / (4 * M_PI) + height * cos(z) / (2 * M_PI));
}

/* A hot ball in a field along the diagonal of y and z. */
static void start_blast(const struct mhd *m, const double at[3], struct initial *s)
{
    double square = 0;
    for (int d = 0; d < 3; d++) {
        double off = at[d] - 0.5 * m->cell * (double)m->p.cells[d];
        square += off * off;
    }
    s->w[DENSITY] = 1;
    s->w[PRESSURE] = square < 0.1 * 0.1 ? 10 : 0.1;
    s->field[1] = s->field[2] = M_SQRT1_2;
}

static void initial(const struct mhd *m, const double at[3], struct initial *s)
{
    memset(s, 0, sizeof *s);
    if (m->p.start == BRIO_WU || m->p.start == RYU_JONES)
        start_tube(m, at, s);
    else if (m->p.start == ORSZAG_TANG)
        start_vortices(m, at, s);
    else if (m->p.start == BLAST)
        start_blast(m, at, s);
    else
        start_wave(m, at, s);
}

/* A place of a cell of this rank: half or no cells up from its lower corner. */
static void place(const struct mhd *m, const int cell[3], const double half[3], double at[3])
{
    for (int d = 0; d < 3; d++)
        at[d] = m->cell * (m->g.first[d] + cell[d] + half[d]);
}

/* Component d of the potential in the middle of a cell's edge. */
static double potential(const struct mhd *m, const int cell[3], int d, int up)
{
    const double half[3] = {d == 0 ? 0.5 : 0, d == 1 ? 0.5 : 0, d == 2 ? 0.5 : 0};
    int corner[3] = {cell[0], cell[1], cell[2]};
    double at[3];
    struct initial s;
    if (up >= 0)
        corner[up] += m->reach[up];
    place(m, corner, half, at);
    initial(m, at, &s);
    return s.potential[d];
}

/* The field through the lower face of a cell across d. */
static double field_at(const struct mhd *m, const int cell[3], int d)
{
    const double half[3] = {d == 0 ? 0 : 0.5, d == 1 ? 0 : 0.5, d == 2 ? 0 : 0.5};
    int p = (d + 1) % 3, q = (d + 2) % 3;
    double at[3];
    struct initial s;
    place(m, cell, half, at);
    initial(m, at, &s);
    return s.field[d] + (potential(m, cell, q, p) - potential(m, cell, q, -1) - potential(m, cell, p, q) + potential(m, cell, p, -1)) / m->cell;
}

/* The faces at the upper end of the box belong to no cell, but are needed. */
static void start_field(struct mhd *m)
{
    const int *size = m->g.size;
    for (int d = 0; d < 3; d++)
        for (int i = 0; i < size[0] + (d == 0 ? m->reach[0] : 0); i++)
            for (int j = 0; j < size[1] + (d == 1 ? m->reach[1] : 0); j++)
                for (int k = 0; k < size[2] + (d == 2 ? m->reach[2] : 0); k++) {
                    const int cell[3] = {i, j, k};
                    m->u[FIELD + d][grid_at(&m->g, i, j, k)] = field_at(m, cell, d);
                }
}

void mhd_start(struct mhd *m)
{
    static const double MIDDLE[3] = {0.5, 0.5, 0.5};
    const struct grid *g = &m->g;
    start_field(m);
    for (int i = 0; i < g->size[0]; i++)
        for (int j = 0; j < g->size[1]; j++)
            for (int k = 0; k < g->size[2]; k++) {
                const int cell[3] = {i, j, k};
                double at[3], motion2 = 0, field2 = 0;
                struct initial s;
                ptrdiff_t here = grid_at(g, i, j, k);
                place(m, cell, MIDDLE, at);
                initial(m, at, &s);
                m->u[DENSITY][here] = s.w[DENSITY];
                for (int d = 0; d < 3; d++) {
                    double middle = 0.5 * (m->u[FIELD + d][here] + m->u[FIELD + d][here + m->up[d]]);
                    m->u[MOMENTUM + d][here] = s.w[DENSITY] * s.w[1 + d];
                    motion2 += s.w[1 + d] * s.w[1 + d];
                    field2 += middle * middle;
                }
                m->u[ENERGY][here] = s.w[PRESSURE] / (m->p.gamma - 1) + 0.5 * s.w[DENSITY] * motion2 + 0.5 * field2;
            }
    mhd_exchange(m);
}
