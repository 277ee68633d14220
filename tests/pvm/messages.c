/* Packing of all types in all encodings, matching, buffers, contexts, handlers, large messages both ways. */
#include "check.h"

#define LARGE (3 << 20)

static int handled;

static int handler(int buffer)
{
    int value;
    CHECK(pvm_getrbuf() == buffer);
    CHECK(pvm_upkint(&value, 1, 1) == 0);
    handled += value;
    return 0;
}

/* Sends back what it gets, until the tag is 99. */
static void echo(void)
{
    int parent = pvm_parent(), bytes, tag, tid, buffer, fresh;
    struct pvmminfo info;
    for (;;) {
        buffer = pvm_recv(parent, -1);
        CHECK(buffer > 0 && pvm_bufinfo(buffer, &bytes, &tag, &tid) == 0 && tid == parent);
        if (tag == 99)
            break;
        /* A body goes into a message of its encoding only. */
        CHECK(pvm_getminfo(buffer, &info) == 0);
        fresh = pvm_mkbuf(info.enc == 0x10000000 ? PvmDataDefault : PvmDataRaw);
        CHECK(pvm_setsbuf(fresh) >= 0);
        CHECK(pvm_pkmesgbody(buffer) == 0 && pvm_send(parent, tag + 1) == 0);
        CHECK(pvm_freebuf(fresh) == 0);
    }
}

static void types(int to, int encoding)
{
    char c[] = "bytes", text[32], got[8];
    short s[6] = {1, 2, 3, 4, 5, 6}, s2[6];
    int i[3] = {-1, 0, 1 << 30}, i2[3];
    long l = 1L << 60, l2;
    float f[4] = {1.5f, 2.5f, 3.5f, 4.5f}, f2[4];
    double d[2] = {3.25, -1e300}, d2[2];
    unsigned u = 4000000000u, u2;
    CHECK(pvm_initsend(encoding) > 0);
    CHECK(pvm_pkbyte(c, 5, 1) == 0 && pvm_pkshort(s, 3, 2) == 0 && pvm_pkint(i, 3, 1) == 0);
    CHECK(pvm_pklong(&l, 1, 1) == 0 && pvm_pkcplx(f, 2, 1) == 0 && pvm_pkdouble(d, 2, 1) == 0);
    CHECK(pvm_pkuint(&u, 1, 1) == 0 && pvm_pkdcplx(d, 1, 1) == 0 && pvm_pkstr("a string") == 0);
    CHECK(pvm_send(to, 10) == 0);
    CHECK(pvm_recv(to, 11) > 0);
    CHECK(pvm_upkbyte(got, 5, 1) == 0 && memcmp(got, c, 5) == 0);
    CHECK(pvm_upkshort(s2, 3, 1) == 0 && s2[0] == 1 && s2[1] == 3 && s2[2] == 5);
    CHECK(pvm_upkint(i2, 3, 1) == 0 && memcmp(i, i2, sizeof i) == 0);
    CHECK(pvm_upklong(&l2, 1, 1) == 0 && l2 == l);
    CHECK(pvm_upkcplx(f2, 2, 1) == 0 && memcmp(f, f2, sizeof f) == 0);
    CHECK(pvm_upkdouble(d2, 2, 1) == 0 && memcmp(d, d2, sizeof d) == 0);
    CHECK(pvm_upkuint(&u2, 1, 1) == 0 && u2 == u);
    CHECK(pvm_upkdcplx(d2, 1, 1) == 0 && memcmp(d, d2, sizeof d) == 0);
    CHECK(pvm_upkstr(text) == 0 && strcmp(text, "a string") == 0);
    CHECK(pvm_upkint(i2, 1, 1) == PvmNoData && pvm_errno == PvmNoData);
}

static void formats(int to)
{
    double d[3] = {1, 2, 3}, d2[3];
    int value = 0;
    short s = 0;
    char text[16];
    CHECK(pvm_packf("%+ %d %hd %s %3lf", PvmDataRaw, 42, 7, "words", d) == 0);
    CHECK(pvm_send(to, 20) == 0 && pvm_recv(to, 21) > 0);
    CHECK(pvm_unpackf("%d %hd %s %*lf", &value, &s, text, 3, d2) == 0);
    CHECK(value == 42 && s == 7 && strcmp(text, "words") == 0 && d2[2] == 3);
    CHECK(pvm_packf("%q") == PvmBadParam);
}

static void large(int to)
{
    int *data = malloc(LARGE * sizeof(int)), *back = calloc(LARGE, sizeof(int)), i, from, tag, length;
    for (i = 0; i < LARGE; i++)
        data[i] = i;
    for (i = 0; i < 3; i++)
        CHECK(pvm_psend(to, 30 + 2 * i, data, LARGE, PVM_INT) == 0);
    for (i = 0; i < 3; i++) {
        CHECK(pvm_precv(to, -1, back, LARGE, PVM_INT, &from, &tag, &length) == 0);
        CHECK(from == to && tag == 31 + 2 * i && length == (int)(LARGE * sizeof(int)));
        CHECK(memcmp(data, back, LARGE * sizeof(int)) == 0);
        memset(back, 0, LARGE * sizeof(int));
    }
    free(data);
    free(back);
}

/* The first of two messages is longer than the room that waits for it: it is cut, and comes before the second all the same. */
static void cut(int to)
{
    int data[100] = {1}, back[50], from, tag, length, i;
    for (i = 0; i < 2; i++)
        CHECK(pvm_psend(to, 36, data, i == 0 ? 100 : 10, PVM_INT) == 0);
    for (i = 0; i < 2; i++) {
        usleep(50000); /* both are on their way, and nothing has looked at them */
        CHECK(pvm_precv(to, 37, back, 50, PVM_INT, &from, &tag, &length) == 0);
        CHECK(length == (int)((i == 0 ? 100 : 10) * sizeof(int)));
    }
}

static void matching(int to)
{
    int value, i, context = pvm_newcontext(), id;
    struct timeval soon = {0, 1000};
    for (i = 0; i < 3; i++) {
        pvm_initsend(PvmDataDefault);
        pvm_pkint(&i, 1, 1);
        CHECK(pvm_send(to, 40 + 2 * i) == 0);
    }
    CHECK(pvm_recv(to, 45) > 0 && pvm_upkint(&value, 1, 1) == 0 && value == 2);
    CHECK(pvm_probe(-1, 43) > 0 && pvm_nrecv(to, 43) > 0);
    CHECK(context > 0 && pvm_setcontext(context) == 0);
    CHECK(pvm_nrecv(-1, -1) == 0 && pvm_trecv(-1, -1, &soon) == 0);
    CHECK(pvm_setcontext(0) == context && pvm_freecontext(context) == 0);
    CHECK(pvm_recv(-1, -1) > 0 && pvm_upkint(&value, 1, 1) == 0 && value == 0);
    CHECK((id = pvm_addmhf(to, 51, -1, handler)) > 0);
    CHECK(pvm_addmhf(to, 51, -1, handler) == PvmExists);
    value = 5;
    for (i = 50; i <= 52; i += 2) {
        pvm_initsend(PvmDataDefault);
        pvm_pkint(&value, 1, 1);
        CHECK(pvm_send(to, i) == 0);
    }
    CHECK(pvm_recv(to, 53) > 0 && handled == 5 && pvm_probe(-1, -1) == 0);
    CHECK(pvm_delmhf(id) == 0 && pvm_delmhf(id) == PvmNotFound);
    /* To ourselves. */
    pvm_initsend(PvmDataDefault);
    pvm_pkint(&value, 1, 1);
    CHECK(pvm_send(pvm_mytid(), 7) == 0 && pvm_recv(pvm_mytid(), 7) > 0);
}

int main(int argc, char **argv)
{
    int to;
    (void)argv;
    if (is_child(argc)) {
        echo();
        return pvm_exit();
    }
    pvm_setopt(PvmAutoErr, 0);
    start("echo", 1, &to);
    types(to, PvmDataDefault);
    types(to, PvmDataRaw);
    types(to, PvmDataInPlace);
    formats(to);
    large(to);
    cut(to);
    matching(to);
    pvm_initsend(PvmDataDefault);
    CHECK(pvm_send(to, 99) == 0);
    CHECK(pvm_exit() == 0);
    printf("No errors\n");
    return 0;
}
