/* Boltzmann's equation for neutral particles: discrete ordinates on unstructured meshes. */
#ifndef SWEEP_H
#define SWEEP_H

#include "../common/app.h"

/* Unknowns of a cell: a mean value and a slope in each direction. S8 has 10 ordinates per octant, in three bundles of four at most. */
enum { GROUPS = 2, UNKNOWNS = 4, ORDINATES = 80, OCTANTS = 8, IN_OCTANT = 3, BUNDLES = 24, BUNDLE = 4, ALL = (1 << BUNDLE) - 1, MOST_FACES = 12, MATERIALS = 3 };
enum which { KOBAYASHI, MANUFACTURED, CASES };
enum shape { HEXAHEDRA, TETRAHEDRA, SHAPES };
enum border { INFLOW = -1, REFLECTING = -2 }; /* instead of a cell behind a face; INFLOW: given, mostly nothing */

/* A number for each group. */
typedef double pair __attribute__((vector_size(GROUPS * sizeof(double))));

/* A number for each ordinate of a bundle, and one for each ordinate and group, a group's ordinates side by side: GCC and Clang calculate
 * with them as with numbers. */
typedef double quad __attribute__((vector_size(BUNDLE * sizeof(double))));
typedef double wide __attribute__((vector_size(BUNDLE * GROUPS * sizeof(double)), aligned(16)));

/* Where one ordinate's number of a group is. */
static inline int place_of(int ordinate, int group)
{
    return group * BUNDLE + ordinate;
}

/* A linear function in a cell: its mean, and slopes about the centroid. */
struct linear {
    pair u[UNKNOWNS];
};

/* The same for each ordinate of a bundle: its angular flux. */
struct angular {
    wide u[UNKNOWNS];
};

/* The problem; part of a checkpoint. */
struct problem {
    int64_t which, shape, bricks; /* bricks: per direction */
    int64_t seed, rays; /* rays: particles that have not collided go along rays, not in sweeps */
    int64_t metis;      /* which cuts the mesh */
    double jitter, twist, tolerance;
};

/* The second moments of a region about its centroid: xx, xy, xz, yy, yz, zz. */
struct face {
    int cell[2];              /* the normal goes from the first to the second, which may be a border */
    double normal[3];         /* times the area */
    double centre[3], moment[6]; /* moment: divided by the area */
};

struct cell {
    double centre[3], volume, moment[6];
    int material, faces; /* faces: where its faces begin in mesh.face_of; those of the next cell follow */
};

/* A face as a cell sees it: all that a sweep needs, in the order in which it needs it. */
struct cell_face {
    double normal[3]; /* going out, times the area */
    double shift[3];  /* to the cell's centre, from the point about which what comes in is given */
    double from_centre[3], moment[6]; /* the face's first and second moments about the cell's centre, divided by its area */
    int face, other;                  /* the cell behind it, or a border */
};

/* All of it is on every rank. */
struct mesh {
    int cells, faces, points, corners; /* corners: of a cell */
    double (*point)[3];
    int *corner;
    struct cell *cell; /* one more than there are, where the last one's faces end */
    struct face *face;
    int *face_of; /* faces of cells, ~face where the normal goes into the cell */
    struct cell_face *cell_face; /* the same faces */
};

/* Ordinates of an octant that are near each other: a sweep takes them through a cell at once. */
struct bundle {
    quad direction[3], weight; /* the weights' sum over all bundles is 1; an ordinate too few has no direction and no weight */
    int ordinates, mirror[3];  /* mirror: the bundle that comes back from a mirror across x, y, z; it has been swept before */
};

/* What a cell has beside it: the border of the box, cells of other ranks. Bits. */
enum beside { NOTHING = 0, BORDER = 1, RANKS = 2 };

/* A cell, and those of the bundle's ordinates (bits) for which all cells upwind have been swept. For the others it has to be swept again. */
struct task {
    int cell;
    char bundle, ready, beside;
    uint64_t in; /* by which of its faces each ordinate comes in: BUNDLE bits for each face */
};

/* Where an order had to be broken: a face, and the ordinates whose inflow is that of the iteration before. */
struct broken {
    int face, ordinates;
};

/* The order of an octant's bundles: of own cells, and of all ranks' together. Bundles do not depend on each other, so their orders are
 * merged, for a cell shall be swept for all of them while its faces are in the cache. */
struct order {
    struct task *task;
    int tasks;
};

/* The faces where a bundle's order is broken. */
struct breaks {
    int count;
    struct broken *broken;
    struct angular *before; /* of broken faces */
};

struct material {
    pair total, source, scatter[GROUPS]; /* scatter[g]: from group g */
};

struct message; /* messages.c */

struct sweep {
    struct problem p;
    MPI_Comm comm;
    int rank, ranks, own; /* own: cells of this rank */
    struct mesh mesh;
    int *owner;
    struct material material[MATERIALS];
    wide total[MATERIALS];              /* the materials' for each ordinate */
    pair emitted[MATERIALS];            /* by the source into sweeps: nothing if it sends rays */
    struct linear *first;               /* flux of particles that have not collided, if they go along rays */
    pair first_leave;                   /* of them: what this rank's cells send less what they stop; all ranks' sum leaves the box */
    struct bundle bundle[BUNDLES];
    struct order order[OCTANTS];
    struct breaks breaks[BUNDLES];
    int all_breaks; /* of all ordinates and ranks */
    struct linear *flux, *next; /* scalar flux of cells, now and of the sweep that runs */
    struct linear *emitted_in;  /* what own cells' scattering and source emit in the sweep that runs: integrals with 1, x - c, y - c, z - c */
    struct present {
        struct angular *angular;
        char *there;   /* the ordinates for which it is */
        int *break_of; /* a face's number among the bundle's broken ones, or -1 */
    } present[IN_OCTANT]; /* bundles: those of the octant that is swept */
    struct angular *mirrored[BUNDLES]; /* at reflecting faces */
    int *mirror_of;                    /* a face's number among them, or -1 */
    struct message *sends, *early, *spare; /* on their way; come before their octant; to be used again */
    struct outbox *outbox; /* one per rank */
    double leakage[GROUPS];
    int64_t iteration;
    double change, sweep_seconds;
};

/* start.c */
int sweep_refuse(const struct app *app, const struct problem *p);
void sweep_start(struct sweep *s, MPI_Comm comm, const struct problem *p);
void sweep_free(struct sweep *s);
static inline struct present *present(struct sweep *s, int b)
{
    return &s->present[b % IN_OCTANT];
}
static inline struct material *material_of(const struct sweep *s, int cell)
{
    return (struct material *)&s->material[s->mesh.cell[cell].material];
}
/* The manufactured solution: flux of all groups at a place, isotropic part; its slope is along `SLOPE`. */
extern const double SLOPE[3];
void manufactured(const double at[3], pair *value, pair *slope);

/* mesh.c, moments.c: bricks, made into hexahedra or tetrahedra, as the problem says */
void mesh_make(struct mesh *m, const struct problem *p);
void mesh_moments(struct mesh *m);
void mesh_cell_faces(struct mesh *m); /* after the moments */
void mesh_free(struct mesh *m);

/* rays.c */
static const double SOURCE_SIZE = 10, VOID_SIZE = 50; /* Kobayashi's, cm */
void rays_start(struct sweep *s);
pair rays_at(const struct material *m, const double *at); /* flux of particles that have not collided */

/* ordinates.c */
void ordinates_make(struct bundle all[BUNDLES]);
double ordinate_flow(const struct bundle *b, int ordinate, const double normal[3]);

/* partition.c: by recursive coordinate bisection, or by METIS */
void partition(struct sweep *s);

/* metis.c */
int metis_is_there(void);
int metis_partition(const struct mesh *m, int ranks, int *owner); /* 0: METIS can't */

/* schedule.c */
void schedule_make(struct sweep *s, int octant);

/* messages.c: angular fluxes from rank to rank */
void messages_start(struct sweep *s);
void messages_send(struct sweep *s, const struct task *t, int fresh);       /* to all ranks that have a cell downwind by ordinates that are fresh */
void messages_await(struct sweep *s, int b, int cell, int ordinates);       /* until another rank's cell is there */
void messages_finish(struct sweep *s, int is_last); /* all that was sent for an octant is on its way */
void messages_free(struct sweep *s);

/* transport.c */
void sweep_iterate(struct sweep *s); /* one sweep of all ordinates with the source of the present flux */
int sweep_is_over(const struct sweep *s);

struct balance {
    double source, absorbed, leaked, off; /* off: relative, the worse of the groups */
};
struct balance sweep_balance(const struct sweep *s);

int mesh_has(const struct mesh *m, int cell, const double at[3]); /* whether a cell has a place */

/* The scalar flux at a place, the mean of all cells that have it; NaN where there is none. */
void sweep_flux_at(const struct sweep *s, const double at[3], double value[GROUPS]);

/* state.c */
int sweep_write(const struct app *app, const struct sweep *s);
int sweep_read(const struct app *app, struct sweep *s, int64_t metis); /* metis: which cuts the mesh now, whatever did before */

/* check.c */
int sweep_check(const struct app *app);

/* picture.c */
int sweep_picture(const struct app *app, const struct sweep *s);

#endif
