/* Volumes, centroids and second moments of cells, from pyramids over their faces. */
#include "sweep.h"

#include <string.h>

/* A pyramid over a face with its top at `top`: r goes from there to the face's centre, the centroid is at 3/4 r, and the mean of
 * x x is 3/5 (r r + the face's moment). */
static void add_pyramid(const struct face *f, double sign, const double top[3], double *volume, double first[3], double second[6])
{
    double height = 0, v, c[3], r[3];
    for (int d = 0; d < 3; d++) {
        r[d] = f->centre[d] - top[d];
        c[d] = 0.75 * r[d];
        height += sign * f->normal[d] * r[d];
    }
    v = height / 3;
    *volume += v;
    for (int d = 0, k = 0; d < 3; d++) {
        first[d] += v * c[d];
        for (int e = d; e < 3; e++, k++)
            second[k] += 0.6 * v * (r[d] * r[e] + f->moment[k]);
    }
}

void mesh_moments(struct mesh *m)
{
    for (int n = 0; n < m->cells; n++) {
        struct cell *cell = &m->cell[n];
        double first[3] = {0, 0, 0}, second[6] = {0, 0, 0, 0, 0, 0}, top[3];
        memcpy(top, m->face[m->face_of[cell->faces] >= 0 ? m->face_of[cell->faces] : ~m->face_of[cell->faces]].centre, sizeof top);
        cell->volume = 0;
        for (int k = cell->faces; k < cell[1].faces; k++) {
            int f = m->face_of[k];
            add_pyramid(&m->face[f >= 0 ? f : ~f], f >= 0 ? 1 : -1, top, &cell->volume, first, second);
        }
        for (int d = 0; d < 3; d++) {
            first[d] /= cell->volume;
            cell->centre[d] = top[d] + first[d];
        }
        for (int d = 0, k = 0; d < 3; d++)
            for (int e = d; e < 3; e++, k++)
                cell->moment[k] = second[k] - cell->volume * first[d] * first[e];
    }
}

void mesh_cell_faces(struct mesh *m)
{
    m->cell_face = app_lines((size_t)m->cell[m->cells].faces, sizeof *m->cell_face);
    for (int n = 0; n < m->cells; n++)
        for (int k = m->cell[n].faces; k < m->cell[n + 1].faces; k++) {
            int is_first = m->face_of[k] >= 0;
            struct cell_face *to = &m->cell_face[k];
            to->face = is_first ? m->face_of[k] : ~m->face_of[k];
            const struct face *f = &m->face[to->face];
            to->other = f->cell[is_first];
            for (int d = 0; d < 3; d++) {
                double centre = m->cell[n].centre[d];
                to->normal[d] = is_first ? f->normal[d] : -f->normal[d];
                to->from_centre[d] = f->centre[d] - centre;
                to->shift[d] = centre - (to->other >= 0 ? m->cell[to->other].centre[d] : to->other == REFLECTING ? centre : f->centre[d]);
            }
            for (int d = 0, i = 0; d < 3; d++)
                for (int e = d; e < 3; e++, i++)
                    to->moment[i] = f->moment[i] + to->from_centre[d] * to->from_centre[e];
        }
}
