/* A box of bricks, its inner corners moved at random, made into hexahedra or six tetrahedra each, as a mesh that knows nothing of bricks. */
#include "sweep.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SIDE = 100; /* of the box, in cm */

static int point_at(int64_t n, int64_t i, int64_t j, int64_t k)
{
    return (int)((i * (n + 1) + j) * (n + 1) + k);
}

/* A number from -1 to 1 that depends on nothing but its own number (splitmix64, G. Steele and others 2014). */
static double noise(uint64_t number)
{
    uint64_t z = (number + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)(z ^ (z >> 31)) / 9223372036854775808.0 - 1;
}

/* Corners stay in the planes between materials, and in the sides of the box. */
static int is_fixed(const struct problem *p, int64_t at)
{
    return at == 0 || at == p->bricks || (p->which == KOBAYASHI && (10 * at == p->bricks || 2 * at == p->bricks));
}

static void make_points(struct mesh *m, const struct problem *p)
{
    int64_t n = p->bricks;
    m->points = point_at(n, n, n, n) + 1;
    m->point = app_memory((size_t)m->points, sizeof *m->point);
    for (int64_t i = 0; i <= n; i++)
        for (int64_t j = 0; j <= n; j++)
            for (int64_t k = 0; k <= n; k++) {
                const int64_t at[3] = {i, j, k};
                int number = point_at(n, i, j, k);
                double *x = m->point[number];
                for (int d = 0; d < 3; d++) {
                    double moved = is_fixed(p, at[d]) ? 0 : p->jitter * noise((uint64_t)(p->seed * 1000003 + 3 * (int64_t)number + d));
                    x[d] = SIDE * ((double)at[d] + moved) / (double)n;
                }
                double angle = p->twist * (x[2] / SIDE - 0.5), a = x[0] - SIDE / 2, b = x[1] - SIDE / 2;
                x[0] = SIDE / 2 + cos(angle) * a - sin(angle) * b;
                x[1] = SIDE / 2 + sin(angle) * a + cos(angle) * b;
            }
}

/* Kobayashi's first problem: a source in the corner, a void around it, then a shield. */
static int material_at(const struct problem *p, int64_t i, int64_t j, int64_t k)
{
    int64_t most = i > j ? i : j;
    most = most > k ? most : k;
    return p->which != KOBAYASHI ? 0 : 10 * most < p->bricks ? 0 : 2 * most < p->bricks ? 1 : 2;
}

static void make_cells(struct mesh *m, const struct problem *p)
{
    /* Tetrahedra go along the diagonal of the brick, one for each way from corner 0 to corner 7. */
    static const int WAYS[6][4] = {{0, 1, 3, 7}, {0, 1, 5, 7}, {0, 2, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7}, {0, 4, 6, 7}};
    int64_t n = p->bricks;
    int each = p->shape == TETRAHEDRA ? 6 : 1;
    m->cells = (int)(n * n * n) * each;
    m->corners = p->shape == TETRAHEDRA ? 4 : 8;
    m->corner = app_memory((size_t)m->cells * (size_t)m->corners, sizeof *m->corner);
    m->cell = app_memory((size_t)m->cells + 1, sizeof *m->cell);
    int *corner = m->corner, cell = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t k = 0; k < n; k++)
                for (int t = 0; t < each; t++) {
                    for (int c = 0; c < m->corners; c++) {
                        int bits = each == 1 ? c : WAYS[t][c];
                        *corner++ = point_at(n, i + (bits & 1), j + (bits >> 1 & 1), k + (bits >> 2 & 1));
                    }
                    m->cell[cell++].material = material_at(p, i, j, k);
                }
}

/* A face of a cell: its corners around it and by number, with NONE as fourth of a triangle. */
struct side {
    int corner[4], ring[4], cell;
};

enum { NONE = INT_MAX };

static int by_number(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static int by_corners(const void *a, const void *b)
{
    const struct side *x = a, *y = b;
    for (int c = 0; c < 4; c++)
        if (x->corner[c] != y->corner[c])
            return x->corner[c] < y->corner[c] ? -1 : 1;
    return x->cell < y->cell ? -1 : x->cell > y->cell;
}

static struct side *put_side(struct side *to, int a, int b, int c, int d, int cell)
{
    *to = (struct side){{a, b, c, d}, {a, b, c, d}, cell};
    qsort(to->corner, 4, sizeof to->corner[0], by_number);
    return to + 1;
}

/* Twice the area times the normal of a triangle. */
static void across(const double *a, const double *b, const double *c, double n[3])
{
    for (int d = 0; d < 3; d++) {
        int e = (d + 1) % 3, f = (d + 2) % 3;
        n[d] = (b[e] - a[e]) * (c[f] - a[f]) - (b[f] - a[f]) * (c[e] - a[e]);
    }
}

/* Both cells of a face ask with the corners in the same order, so that they agree. */
static int is_flat(const struct mesh *m, const int corner[4])
{
    const double *a = m->point[corner[0]], *d = m->point[corner[3]];
    double n[3], height = 0, size = 0;
    across(a, m->point[corner[1]], m->point[corner[2]], n);
    for (int k = 0; k < 3; k++) {
        height += n[k] * (d[k] - a[k]);
        size += fabs(n[k]);
    }
    return fabs(height) < 1e-12 * size * sqrt(size);
}

/* A bent quadrilateral becomes two triangles, cut from the corner with the smallest number, as its neighbour does. */
static struct side *put_quadrilateral(const struct mesh *m, struct side *to, const int q[4], int cell)
{
    int first = 0;
    for (int c = 1; c < 4; c++)
        first = q[c] < q[first] ? c : first;
    const int r[4] = {q[first], q[(first + 1) % 4], q[(first + 2) % 4], q[(first + 3) % 4]};
    put_side(to, r[0], r[1], r[2], r[3], cell);
    if (is_flat(m, to->corner))
        return to + 1;
    return put_side(put_side(to, r[0], r[1], r[2], NONE, cell), r[0], r[2], r[3], NONE, cell);
}

static struct side *sides_of(const struct mesh *m, int cell, struct side *to)
{
    static const int QUADS[6][4] = {{0, 2, 6, 4}, {1, 3, 7, 5}, {0, 1, 5, 4}, {2, 3, 7, 6}, {0, 1, 3, 2}, {4, 5, 7, 6}};
    const int *c = m->corner + (size_t)cell * (size_t)m->corners;
    if (m->corners == 4)
        for (int skip = 0; skip < 4; skip++)
            to = put_side(to, c[(skip + 1) % 4], c[(skip + 2) % 4], c[(skip + 3) % 4], NONE, cell);
    else
        for (int q = 0; q < 6; q++) {
            const int corners[4] = {c[QUADS[q][0]], c[QUADS[q][1]], c[QUADS[q][2]], c[QUADS[q][3]]};
            to = put_quadrilateral(m, to, corners, cell);
        }
    return to;
}

/* Mirrors are in the planes through the source's corner. */
static int border_of(const struct mesh *m, const struct problem *p, const struct side *side)
{
    for (int d = 0; d < 3 && p->which == KOBAYASHI; d++)
        if (m->point[side->corner[0]][d] == 0 && m->point[side->corner[1]][d] == 0 && m->point[side->corner[2]][d] == 0)
            return REFLECTING;
    return INFLOW;
}

/* Adds a triangle to a face: its normal, or with `about` its second moments about that point; centres and moments are sums
 * over the area. */
static void add_triangle(const double *a, const double *b, const double *c, const double *about, struct face *f)
{
    double n[3], area, middle[3];
    across(a, b, c, n);
    area = 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int d = 0; d < 3; d++)
        middle[d] = (a[d] + b[d] + c[d]) / 3;
    for (int d = 0, k = 0; d < 3; d++) {
        f->normal[d] += about ? 0 : 0.5 * n[d];
        f->centre[d] += about ? 0 : area * middle[d];
        for (int e = d; e < 3; e++, k++)
            if (about)
                f->moment[k] += area / 12 * ((a[d] - about[d]) * (a[e] - about[e]) + (b[d] - about[d]) * (b[e] - about[e]) +
                                             (c[d] - about[d]) * (c[e] - about[e]) + 9 * (middle[d] - about[d]) * (middle[e] - about[e]));
    }
}

/* Normal, out of the cell, centre and moments. */
static void shape_face(const struct mesh *m, const struct side *side, const double inside[3], struct face *f)
{
    const double *a = m->point[side->ring[0]];
    int triangles = side->ring[3] == NONE ? 1 : 2;
    double area, out = 0;
    memset(f, 0, sizeof *f);
    for (int t = 0; t < triangles; t++)
        add_triangle(a, m->point[side->ring[t + 1]], m->point[side->ring[t + 2]], NULL, f);
    area = sqrt(f->normal[0] * f->normal[0] + f->normal[1] * f->normal[1] + f->normal[2] * f->normal[2]);
    for (int d = 0; d < 3; d++) {
        f->centre[d] /= area;
        out += f->normal[d] * (f->centre[d] - inside[d]);
    }
    for (int t = 0; t < triangles; t++)
        add_triangle(a, m->point[side->ring[t + 1]], m->point[side->ring[t + 2]], f->centre, f);
    for (int d = 0; d < 3; d++)
        f->normal[d] *= out < 0 ? -1 : 1;
    for (int k = 0; k < 6; k++)
        f->moment[k] /= area;
}

static void middle(const struct mesh *m, int cell, double at[3])
{
    for (int d = 0; d < 3; d++) {
        at[d] = 0;
        for (int c = 0; c < m->corners; c++)
            at[d] += m->point[m->corner[(size_t)cell * (size_t)m->corners + (size_t)c]][d] / m->corners;
    }
}

/* Two equal sides are one face between two cells. */
static void make_faces(struct mesh *m, const struct problem *p)
{
    size_t most = (size_t)m->cells * (m->corners == 4 ? 4 : 12);
    struct side *sides = app_memory(most, sizeof *sides), *end = sides;
    for (int c = 0; c < m->cells; c++)
        end = sides_of(m, c, end);
    m->face = app_memory(most, sizeof *m->face);
    m->faces = 0;
    qsort(sides, (size_t)(end - sides), sizeof *sides, by_corners);
    for (const struct side *s = sides; s < end; s++) {
        struct face *f = &m->face[m->faces++];
        double inside[3];
        int is_shared = s + 1 < end && memcmp(s->corner, s[1].corner, sizeof s->corner) == 0;
        middle(m, s->cell, inside);
        shape_face(m, s, inside, f);
        f->cell[0] = s->cell;
        f->cell[1] = is_shared ? s[1].cell : border_of(m, p, s);
        s += is_shared;
    }
    free(sides);
}

static void list_faces(struct mesh *m)
{
    m->face_of = app_memory(2 * (size_t)m->faces, sizeof *m->face_of);
    int *count = app_memory((size_t)m->cells + 1, sizeof *count);
    memset(count, 0, ((size_t)m->cells + 1) * sizeof *count);
    for (int f = 0; f < m->faces; f++)
        for (int side = 0; side < 2; side++)
            if (m->face[f].cell[side] >= 0)
                count[m->face[f].cell[side] + 1]++;
    for (int c = 0; c <= m->cells; c++) {
        count[c] += c > 0 ? count[c - 1] : 0;
        m->cell[c].faces = count[c];
    }
    for (int f = 0; f < m->faces; f++)
        for (int side = 0; side < 2; side++)
            if (m->face[f].cell[side] >= 0)
                m->face_of[count[m->face[f].cell[side]]++] = side == 0 ? f : ~f;
    free(count);
}

void mesh_make(struct mesh *m, const struct problem *p)
{
    make_points(m, p);
    make_cells(m, p);
    make_faces(m, p);
    list_faces(m);
    mesh_moments(m);
    mesh_cell_faces(m);
}

void mesh_free(struct mesh *m)
{
    free(m->point);
    free(m->corner);
    free(m->cell);
    free(m->face);
    free(m->face_of);
    free(m->cell_face);
}
