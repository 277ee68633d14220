/* Sums and maxima over all ranks, or over those that work together. */
#ifndef TOGETHER_H
#define TOGETHER_H

#include <mpi.h>
#include <sam.h>

/* Numbers with a fixed point: their sums are the same in any order. */
typedef __int128 wide;
wide fixed(double number);
double from_fixed(wide number);

/* The spaces of names have a kind in their lowest bits; this one is for sums. */
enum { KIND_BITS = 3, KIND_OF_SUMS = 0 };
/* The key of a name begins with the rank that is its home. */
enum { HOME_SHIFT = 40 };
sam_name name_with_home(uint64_t series, int kind, int home, int number);
int home_of(sam_name name, int ranks);

/* From now on, until the next call, "all" are the ranks of `comm`, the first of the program's so many. Collective, on `comm`. */
void together_among(MPI_Comm comm);

/* Each number becomes that of all ranks together: added up, or the largest. Collective. */
void add_together(wide *numbers, int count);
void most_together(wide *numbers, int count);

/* A barrier of all, at which ranks answer others. */
void meet_together(void);

#endif
