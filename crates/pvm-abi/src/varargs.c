/* pvm_packf and pvm_unpackf take arguments as printf does, which stable Rust cannot: C reads them, and each conversion
 * becomes a call of the function for its type. */
#include <ctype.h>
#include <stdarg.h>
#include <stddef.h>

int pvm_initsend(int);
int pvm_setsbuf(int);
int pvm_mkbuf(int);
int pvm_pkbyte(char *, int, int), pvm_upkbyte(char *, int, int);
int pvm_pkcplx(float *, int, int), pvm_upkcplx(float *, int, int);
int pvm_pkdcplx(double *, int, int), pvm_upkdcplx(double *, int, int);
int pvm_pkdouble(double *, int, int), pvm_upkdouble(double *, int, int);
int pvm_pkfloat(float *, int, int), pvm_upkfloat(float *, int, int);
int pvm_pkint(int *, int, int), pvm_upkint(int *, int, int);
int pvm_pklong(long *, int, int), pvm_upklong(long *, int, int);
int pvm_pkshort(short *, int, int), pvm_upkshort(short *, int, int);
int pvm_pkuint(unsigned *, int, int), pvm_upkuint(unsigned *, int, int);
int pvm_pkulong(unsigned long *, int, int), pvm_upkulong(unsigned long *, int, int);
int pvm_pkushort(unsigned short *, int, int), pvm_upkushort(unsigned short *, int, int);
int pvm_pkstr(char *), pvm_upkstr(char *);

enum { BAD_PARAM = -2 };

/* A conversion: %[count][.stride][h|l|u]letter. A star takes an argument; a count of 0 or without one is one element, which
 * pvm_packf takes by value. */
struct conversion {
    int count, stride, array, is_short, is_long, is_unsigned, letter;
};

static const char *number(const char *at, int *value, va_list *arguments, int *given)
{
    *given = 0;
    if (*at == '*') {
        *value = va_arg(*arguments, int);
        *given = 1;
        return at + 1;
    }
    if (isdigit((unsigned char)*at)) {
        for (*value = 0; isdigit((unsigned char)*at) && *value < 100000000; at++)
            *value = *value * 10 + (*at - '0');
        *given = 1;
    }
    return at;
}

static const char *parse(const char *at, struct conversion *c, va_list *arguments)
{
    int given;
    c->count = c->stride = 1;
    c->is_short = c->is_long = c->is_unsigned = 0;
    at = number(at, &c->count, arguments, &c->array);
    if (*at == '.')
        at = number(at + 1, &c->stride, arguments, &given);
    for (;; at++) {
        if (*at == 'h')
            c->is_short = 1;
        else if (*at == 'l')
            c->is_long = 1;
        else if (*at == 'u')
            c->is_unsigned = 1;
        else
            break;
    }
    c->letter = (unsigned char)*at;
    return *at ? at + 1 : at;
}

static int pack(struct conversion *c, va_list *a)
{
    char byte;
    short s;
    int i;
    long l;
    float f;
    double d;
    int n = c->count, t = c->stride;
    switch (c->letter) {
    case '+':
        i = va_arg(*a, int);
        i = pvm_initsend(i);
        return i < 0 ? i : 0;
    case 's':
        return pvm_pkstr(va_arg(*a, char *));
    case 'c':
        if (c->array)
            return pvm_pkbyte(va_arg(*a, char *), n, t);
        byte = (char)va_arg(*a, int);
        return pvm_pkbyte(&byte, 1, 1);
    case 'd':
        if (c->is_short) {
            if (c->array)
                return pvm_pkshort(va_arg(*a, short *), n, t);
            s = (short)va_arg(*a, int);
            return pvm_pkshort(&s, 1, 1);
        }
        if (c->is_long) {
            if (c->array)
                return pvm_pklong(va_arg(*a, long *), n, t);
            l = va_arg(*a, long);
            return pvm_pklong(&l, 1, 1);
        }
        if (c->array)
            return pvm_pkint(va_arg(*a, int *), n, t);
        i = va_arg(*a, int);
        return pvm_pkint(&i, 1, 1);
    case 'f':
        if (c->is_long) {
            if (c->array)
                return pvm_pkdouble(va_arg(*a, double *), n, t);
            d = va_arg(*a, double);
            return pvm_pkdouble(&d, 1, 1);
        }
        if (c->array)
            return pvm_pkfloat(va_arg(*a, float *), n, t);
        f = (float)va_arg(*a, double);
        return pvm_pkfloat(&f, 1, 1);
    case 'x':
        /* Complex numbers are never values. */
        return c->is_long ? pvm_pkdcplx(va_arg(*a, double *), n, t) : pvm_pkcplx(va_arg(*a, float *), n, t);
    default:
        return BAD_PARAM;
    }
}

static int unpack(struct conversion *c, va_list *a)
{
    int n = c->count, t = c->stride;
    switch (c->letter) {
    case 's':
        return pvm_upkstr(va_arg(*a, char *));
    case 'c':
        return pvm_upkbyte(va_arg(*a, char *), n, t);
    case 'd':
        if (c->is_short)
            return pvm_upkshort(va_arg(*a, short *), n, t);
        if (c->is_long)
            return pvm_upklong(va_arg(*a, long *), n, t);
        return pvm_upkint(va_arg(*a, int *), n, t);
    case 'f':
        return c->is_long ? pvm_upkdouble(va_arg(*a, double *), n, t) : pvm_upkfloat(va_arg(*a, float *), n, t);
    case 'x':
        return c->is_long ? pvm_upkdcplx(va_arg(*a, double *), n, t) : pvm_upkcplx(va_arg(*a, float *), n, t);
    default:
        return BAD_PARAM;
    }
}

static int all(const char *format, va_list *arguments, int (*one)(struct conversion *, va_list *))
{
    struct conversion c;
    int done, first = 1;
    if (format == NULL)
        return BAD_PARAM;
    while (*format) {
        /* What is no conversion separates conversions. */
        if (*format++ != '%')
            continue;
        format = parse(format, &c, arguments);
        /* A message begins once. */
        if (c.letter == '+' && !first)
            return BAD_PARAM;
        first = 0;
        done = one(&c, arguments);
        if (done < 0)
            return done;
    }
    return 0;
}

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN int hpvm_pvm_vpackf(const char *format, va_list arguments)
{
    va_list own;
    int done;
    va_copy(own, arguments);
    done = all(format, &own, pack);
    va_end(own);
    return done;
}

HIDDEN int hpvm_pvm_vunpackf(const char *format, va_list arguments)
{
    va_list own;
    int done;
    va_copy(own, arguments);
    done = all(format, &own, unpack);
    va_end(own);
    return done;
}

HIDDEN int hpvm_pvm_packf(const char *format, ...)
{
    va_list arguments;
    int done;
    va_start(arguments, format);
    done = all(format, &arguments, pack);
    va_end(arguments);
    return done;
}

HIDDEN int hpvm_pvm_unpackf(const char *format, ...)
{
    va_list arguments;
    int done;
    va_start(arguments, format);
    done = all(format, &arguments, unpack);
    va_end(arguments);
    return done;
}
