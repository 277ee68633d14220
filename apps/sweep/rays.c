/* Particles that have not collided yet, along rays from the source: 80 directions miss places far from a small source, whatever the cells.
 * What they collide with is the first source of the sweeps (first collision source; R. E. Alcouffe, R. D. O'Dell and F. W. Brinkley, Nucl. Sci.
 * Eng. 105, 1990). The mirrors make the source a cube about the origin, in a cube of void, in the shield. */
#include "sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 3, DEEPEST = 5 };
static const double GAUSS[POINTS] = {-0.7745966692414834, 0, 0.7745966692414834}, WEIGHT[POINTS] = {5.0 / 9, 8.0 / 9, 5.0 / 9};
static const double NEAR = 0.5; /* a part of the source that is larger than this, by its distance, is split */

/* How much of the way from `at` to at + way lies in the cube from -half to half. */
static double share_inside(const double at[3], const double way[3], double half)
{
    double begin = 0, end = 1;
    for (int d = 0; d < 3; d++) {
        if (way[d] == 0) {
            end = fabs(at[d]) > half ? 0 : end;
            continue;
        }
        double a = (-half - at[d]) / way[d], b = (half - at[d]) / way[d];
        begin = fmax(begin, fmin(a, b));
        end = fmin(end, fmax(a, b));
    }
    return fmax(0, end - begin);
}

static double distance_to(const double at[3], const double to[3], double way[3])
{
    double square = 0;
    for (int d = 0; d < 3; d++) {
        way[d] = to[d] - at[d];
        square += way[d] * way[d];
    }
    return sqrt(square);
}

/* Outside of the source: what comes from a cube in it, by Gauss' rule. */
static void add_cube(const struct material m[MATERIALS], const double at[3], const double middle[3], double half, int depth, pair *flux)
{
    double way[3];
    int is_split = depth < DEEPEST && half > NEAR * distance_to(at, middle, way);
    for (int n = 0; is_split && n < 8; n++) {
        double part[3];
        for (int d = 0; d < 3; d++)
            part[d] = middle[d] + (n >> d & 1 ? 0.5 : -0.5) * half;
        add_cube(m, at, part, 0.5 * half, depth + 1, flux);
    }
    for (int n = 0; !is_split && n < POINTS * POINTS * POINTS; n++) {
        int i = n % POINTS, j = n / POINTS % POINTS, k = n / POINTS / POINTS;
        const double to[3] = {middle[0] + half * GAUSS[i], middle[1] + half * GAUSS[j], middle[2] + half * GAUSS[k]};
        double length = distance_to(at, to, way), in_source = length * share_inside(at, way, SOURCE_SIZE);
        double in_void = length * share_inside(at, way, VOID_SIZE) - in_source, in_shield = length - in_source - in_void;
        double share = half * half * half * WEIGHT[i] * WEIGHT[j] * WEIGHT[k] / (4 * M_PI * length * length);
        for (int g = 0; g < GROUPS; g++)
            (*flux)[g] += share * m[0].source[g] * exp(-(in_source * m[0].total[g] + in_void * m[1].total[g] + in_shield * m[2].total[g]));
    }
}

/* Inside of the source, where the distance may be nothing: what comes from between here and a square of its surface, whose middle lies on a
 * face across d. The way along a ray is integrated exactly, the directions are those of Gauss' points on the square. */
static void add_square(const struct material m[MATERIALS], const double at[3], const double middle[3], int d, double half, int depth, pair *flux)
{
    int u = (d + 1) % 3, v = (d + 2) % 3;
    double way[3], to[3];
    int is_split = depth < DEEPEST && half > NEAR * distance_to(at, middle, way);
    memcpy(to, middle, sizeof to);
    for (int n = 0; is_split && n < 4; n++) {
        to[u] = middle[u] + (n & 1 ? 0.5 : -0.5) * half;
        to[v] = middle[v] + (n & 2 ? 0.5 : -0.5) * half;
        add_square(m, at, to, d, 0.5 * half, depth + 1, flux);
    }
    for (int n = 0; !is_split && n < POINTS * POINTS; n++) {
        to[u] = middle[u] + half * GAUSS[n % POINTS];
        to[v] = middle[v] + half * GAUSS[n / POINTS];
        double length = distance_to(at, to, way);
        double angle = half * half * WEIGHT[n % POINTS] * WEIGHT[n / POINTS] * fabs(way[d]) / (4 * M_PI * length * length * length);
        for (int g = 0; g < GROUPS; g++)
            (*flux)[g] += angle * m[0].source[g] * -expm1(-m[0].total[g] * length) / m[0].total[g];
    }
}

pair rays_at(const struct material *m, const double *at)
{
    pair flux = {0, 0};
    int inside = fabs(at[0]) < SOURCE_SIZE && fabs(at[1]) < SOURCE_SIZE && fabs(at[2]) < SOURCE_SIZE;
    if (!inside)
        for (int n = 0; n < 8; n++) {
            double middle[3];
            for (int d = 0; d < 3; d++)
                middle[d] = (n >> d & 1 ? 0.5 : -0.5) * SOURCE_SIZE;
            add_cube(m, at, middle, 0.5 * SOURCE_SIZE, 0, &flux);
        }
    for (int n = 0; inside && n < 6; n++) {
        double middle[3] = {0, 0, 0};
        middle[n / 2] = n % 2 ? SOURCE_SIZE : -SOURCE_SIZE;
        add_square(m, at, middle, n / 2, SOURCE_SIZE, 0, &flux);
    }
    return flux;
}

/* Places in a cell: of a brick and of a tetrahedron those by which polynomials of second degree are integrated exactly. */
static int places(const struct mesh *m, int cell, double at[8][3])
{
    const int *corner = &m->corner[(size_t)cell * (size_t)m->corners];
    double nearest = m->corners == 4 ? 0.5854101966249685 : 1 / sqrt(3);
    for (int k = 0; k < m->corners; k++)
        for (int d = 0; d < 3; d++) {
            double x = m->point[corner[k]][d], centre = m->cell[cell].centre[d];
            /* Barycentric a, b, b, b with a + 3 b = 1 is centre + (a - b) (corner - centre). */
            double share = m->corners == 4 ? (4 * nearest - 1) / 3 : nearest;
            at[k][d] = centre + share * (x - centre);
        }
    return m->corners;
}

/* The linear function nearest to the flux in a cell. */
static struct linear fit(const struct sweep *s, int cell)
{
    double at[8][3], r[8][3], middle[3] = {0, 0, 0}, q[6] = {0, 0, 0, 0, 0, 0};
    pair value[8], first[3] = {{0, 0}, {0, 0}, {0, 0}};
    struct linear to;
    memset(&to, 0, sizeof to);
    int count = places(&s->mesh, cell, at);
    for (int k = 0; k < count; k++) {
        value[k] = rays_at(s->material, at[k]);
        to.u[0] += value[k] / (double)count;
        for (int d = 0; d < 3; d++)
            middle[d] += at[k][d] / count;
    }
    for (int k = 0; k < count; k++)
        for (int d = 0, n = 0; d < 3; d++) {
            r[k][d] = at[k][d] - middle[d];
            first[d] += value[k] * r[k][d];
            for (int e = 0; e <= d; e++, n++)
                q[n] += r[k][d] * (at[k][e] - middle[e]); /* xx, yx, yy, zx, zy, zz */
        }
    /* Cramer's rule. */
    const double inverse[6] = {q[2] * q[5] - q[4] * q[4], q[3] * q[4] - q[1] * q[5], q[0] * q[5] - q[3] * q[3],
                               q[1] * q[4] - q[2] * q[3], q[1] * q[3] - q[0] * q[4], q[0] * q[2] - q[1] * q[1]};
    double determinant = q[0] * inverse[0] + q[1] * inverse[1] + q[3] * inverse[3];
    for (int d = 0; d < 3; d++) {
        for (int e = 0; e < 3; e++)
            to.u[1 + d] += inverse[d > e ? d * (d + 1) / 2 + e : e * (e + 1) / 2 + d] / determinant * first[e];
        to.u[0] += to.u[1 + d] * (s->mesh.cell[cell].centre[d] - middle[d]);
    }
    return to;
}

void rays_start(struct sweep *s)
{
    s->first = app_memory((size_t)s->mesh.cells, sizeof *s->first);
    memset(s->first, 0, (size_t)s->mesh.cells * sizeof *s->first);
    for (int c = 0; c < s->mesh.cells; c++)
        if (s->owner[c] == s->rank) {
            s->first[c] = fit(s, c);
            s->first_leave += s->mesh.cell[c].volume * (material_of(s, c)->source - material_of(s, c)->total * s->first[c].u[0]);
        }
}
