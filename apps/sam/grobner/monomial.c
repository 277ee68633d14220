/* Monomials as numbers of 128 bits. */
#include "grobner.h"

#include <stdio.h>

enum { BYTE = 8, DEGREE_AT = 15 * BYTE };

static const mono ONES = ((mono)0x0101010101010101u << 64) | 0x0101010101010101u;

int mono_exponent(mono m, int variable)
{
    return (int)(m >> (BYTE * variable)) & MOST_DEGREE;
}

int mono_degree(mono m)
{
    return (int)(m >> DEGREE_AT);
}

static void too_high(int degree)
{
    fprintf(stderr, "sam_grobner: a monomial of degree %d; there is room for %d\n", degree, MOST_DEGREE);
    MPI_Abort(MPI_COMM_WORLD, APP_MEMORY);
}

mono mono_of(const int *exponents, int variables)
{
    mono m = 0;
    int degree = 0;
    for (int v = 0; v < variables; v++) {
        m |= (mono)exponents[v] << (BYTE * v);
        degree += exponents[v];
    }
    if (degree > MOST_DEGREE)
        too_high(degree);
    return m | (mono)degree << DEGREE_AT;
}

/* Of equal degrees the one with less of the last variable is greater. */
mono mono_key(mono m)
{
    const mono others = ((mono)1 << DEGREE_AT) - 1;
    return m ^ others;
}

int mono_greater(mono a, mono b)
{
    return mono_key(a) > mono_key(b);
}

int mono_divides(mono a, mono b)
{
    const mono guards = ONES << (BYTE - 1);
    return (((b | guards) - a) & guards) == guards;
}

mono mono_product(mono a, mono b)
{
    int degree = mono_degree(a) + mono_degree(b);
    if (degree > MOST_DEGREE)
        too_high(degree);
    return a + b;
}

mono mono_lcm(mono a, mono b)
{
    int e[MOST_VARIABLES];
    for (int v = 0; v < MOST_VARIABLES; v++) {
        int x = mono_exponent(a, v), y = mono_exponent(b, v);
        e[v] = x > y ? x : y;
    }
    return mono_of(e, MOST_VARIABLES);
}

/* Those that have the exponents of `m` in the variables before `v`. */
static long standard_from(const mono *lead, int count, int variables, mono m, int v)
{
    long sum = 0;
    if (v == variables)
        return 1;
    const mono step = ((mono)1 << (BYTE * v)) | ((mono)1 << DEGREE_AT);
    for (;; m += step) {
        for (int k = 0; k < count; k++)
            if (mono_divides(lead[k], m))
                return sum;
        sum += standard_from(lead, count, variables, m, v + 1);
    }
}

long mono_standard(const mono *lead, int count, int variables)
{
    for (int v = 0; v < variables; v++) {
        int bounded = 0;
        for (int k = 0; k < count; k++)
            bounded |= mono_exponent(lead[k], v) == mono_degree(lead[k]);
        if (!bounded)
            return -1;
    }
    return standard_from(lead, count, variables, 0, 0);
}
