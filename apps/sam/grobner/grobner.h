/* Gröbner bases over a prime field, by Buchberger's algorithm on SAM's shared objects.
 *
 * The polynomials of the basis are values, which every rank reads; how many there are is an accumulator; S-polynomials
 * to reduce are tasks. */
#ifndef GROBNER_H
#define GROBNER_H

#include "../../common/app.h"

#include <sam.h>

/* A monomial: a byte for the exponent of each variable, the first one lowest, and the degree in the highest byte. The
 * highest bit of a byte stays 0, so that a subtraction of all bytes at once shows which would become negative. */
typedef unsigned __int128 mono;

enum { MOST_VARIABLES = 15, MOST_DEGREE = 127 };

/* Terms from the largest monomial to the smallest; no coefficient is 0. The first coefficient of a polynomial of a
 * basis is 1. */
struct poly {
    int count, room;
    mono *m;
    uint32_t *c;
};

/* One that somebody else owns. */
struct view {
    int count;
    const mono *m;
    const uint32_t *c;
};

/* Polynomials to reduce by. None may change while they are. */
struct reducers {
    int count, room;
    struct view *of;
    mono *lead;
    struct rows *rows; /* what normal_form has found out about them */
};

struct field {
    uint32_t p;
};

struct system {
    char name[64];
    int variables, count;
    struct poly *of;
    long dimension; /* of the quotient, as published; -1: not known */
    long elements;  /* of the reduced basis, likewise */
};

/* monomial.c */
mono mono_of(const int *exponents, int variables);
int mono_exponent(mono m, int variable);
int mono_degree(mono m);
int mono_greater(mono a, mono b); /* degree reverse lexicographic */
mono mono_key(mono m);            /* a number that is greater if the monomial is */
int mono_divides(mono a, mono b); /* a divides b */
mono mono_product(mono a, mono b);
mono mono_lcm(mono a, mono b);
long mono_standard(const mono *lead, int count, int variables); /* not multiples of a lead; -1: without end */

/* poly.c: coefficients are below p. */
void poly_add_term(struct poly *f, mono m, uint32_t c); /* in any order; poly_sort follows */
void poly_sort(struct field k, struct poly *f);         /* adds up what is there twice, and makes it monic */
void poly_monic(struct field k, struct poly *f);
void poly_free(struct poly *f);
struct view poly_view(const struct poly *f);
int poly_same(struct view a, struct view b);
void poly_print(struct field k, struct view f, int variables);

/* reduce.c */
void s_polynomial(struct field k, struct view f, struct view g, struct poly *s);
/* The normal form of f, in f; of its terms after the first `done`. */
void long_division(struct field k, struct poly *f, const struct reducers *g, int done);

/* normal.c */
void reducers_add(struct reducers *g, struct view f);
void reducers_free(struct reducers *g);
void normal_form(struct field k, struct poly *f, struct reducers *g, int done); /* the same, faster */

/* systems.c: returns 0, or an exit code after a sentence. */
int system_make(const struct app *app, struct field k, const char *name, long size, struct system *s);
void system_free(struct system *s);

/* pairs.c: what is still to be reduced. The same on all ranks. */
struct pair {
    int i, j;
    mono lcm;
};
struct pairs {
    int count, room;
    struct pair *of;
    char *active; /* of each element of the basis: no later one divides its lead */
    int elements;
};
void pairs_update(struct pairs *p, const mono *lead, int h); /* element h is new */
int pairs_take(struct pairs *p, struct pair **out);          /* those of the least degree; the caller frees them */
void pairs_free(struct pairs *p);

/* parallel.c: who computes: the first of the program's ranks, of which `app` knows how many; and a number that none of them has had
 * before (new_series). */
struct team {
    struct app *app;
    MPI_Comm comm;
    uint64_t series;
};
int basis_home(sam_name name, int ranks);

/* Collective. The reduced basis, by descending leads; each rank has all of it. */
struct basis {
    int count;
    struct poly *of;
    long reduced, zero; /* S-polynomials, on all ranks */
};
void basis_compute(const struct team *team, struct field k, const struct system *s, struct basis *b);
/* How many S-polynomials of the basis, and polynomials of the system, have a normal form that is not 0. Of the pairs those
 * that the criteria leave are looked at, or `every` one. */
long basis_wrong(struct app *app, struct field k, const struct system *s, const struct basis *b, int every);
void basis_free(struct basis *b);

/* picture.c: collective. Writes the staircase of the basis as `app->image`; returns 0 or APP_FILE. */
int basis_picture(const struct app *app, const struct system *s, const struct basis *b);

/* sequential.c: the same by a textbook's program on one rank. */
void basis_sequential(struct field k, const struct system *s, struct basis *b);

#endif
