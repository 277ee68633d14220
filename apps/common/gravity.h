/* What tree codes share: bodies, cells and their moments, lists of interactions, and the loops over them. */
#ifndef GRAVITY_H
#define GRAVITY_H

#include <stdint.h>

/* Keys: 21 bits per direction, interleaved (Morton order). The key of a cell has a 1 in front of the
 * bits that all its bodies share, so the root is 1 and the children of k are 8 k to 8 k + 7. */
enum { LEVELS = 21 };

struct body {
    double x[3], v[3], a[3];
    double mass, potential;
    int64_t id;
    uint64_t key;
    uint64_t work; /* interactions of the last force: its weight in the next split */
};

/* What forces need of a body. */
struct point {
    double x[3], mass;
};

/* What is below a cell: cells, or points, or something that its owner has to be asked for. */
enum kind { INTERNAL, LEAF, REMOTE, ASKED };

struct cell {
    uint64_t key;
    double mass, x[3];  /* centre of mass */
    double quad[6];     /* 3 m x_a x_b - m x^2 delta_ab about it: xx yy zz xy xz yz */
    double radius;      /* of a ball about it that holds all bodies */
    double third;       /* sum of m |x|^3: what bounds the terms that are left out */
    int32_t kind, owner;
    int32_t first, count; /* children in `cells`, or points */
};

/* keys.c: the key of a point in a cube. */
uint64_t morton_key(const double corner[3], double size, const double x[3]);
/* The bodies, sorted, in new memory; the old memory is freed. Those of equal keys keep their order. */
struct body *sort_by_key(struct body *bodies, int count);
/* The first body whose key is not below `key`. */
int lower_bound(const struct body *bodies, int count, uint64_t key);

/* The box around bodies. Returns the least of their accelerations. */
double box_of(const struct body *bodies, int count, double low[3], double high[3]);
/* Error of an interaction that may be made where the least acceleration is this and that rms accuracy of forces is wanted. */
double allowed_error(double accuracy, double acceleration);

/* moments.c */
void moments_of_bodies(struct cell *cell, const struct body *bodies, int count);
void moments_of_cells(struct cell *cell, const struct cell *children, int count);

/* Whether a cell may stand for its bodies in the forces on all bodies of a box. By the error that is allowed; by angle if that
 * is 0. */
int may_stand(const struct cell *cell, const double low[3], const double high[3], double tolerance);

/* Interactions of a group of bodies, one array per number so that loops become vectors. Empty: all zero. */
enum { POINT_NUMBERS = 4, CELL_NUMBERS = 10 };
struct lists {
    double *points[POINT_NUMBERS], *cells[CELL_NUMBERS];
    int point_count, point_room, cell_count, cell_room;
};

void list_points(struct lists *l, const struct point *points, int count);

/* A cell by mass, centre of mass and the quadrupole 3 m x_a x_b - m x^2 delta_ab about it: xx yy zz xy xz yz. */
void list_cell(struct lists *l, double mass, const double x[3], const double quad[6]);

void lists_free(struct lists *l);

/* Adds to acceleration and potential at x what the lists do there. G = 1. A point at x itself does nothing. */
void add_forces(const struct lists *l, const double x[3], double softening, double a[3], double *potential);

#endif
