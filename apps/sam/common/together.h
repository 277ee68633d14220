/* Sums and maxima over all ranks. */
#ifndef TOGETHER_H
#define TOGETHER_H

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

/* Each number becomes that of all ranks together: added up, or the largest. Collective. */
void add_together(wide *numbers, int count);
void most_together(wide *numbers, int count);

#endif
