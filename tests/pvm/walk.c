/* What the manual pages of PVM 3.4 say of each call of a single task: its answers and its errors. Where a page says
   nothing, the answer is that of PVM 3.4.6. */
#include "check.h"
#include <sys/time.h>

#define REFUSED(code, call) CHECK((call) == (code))

extern int pvm_errno;
/* No header of PVM has these, and libpvm3 has always exported them. */
extern char *pvm_errlist[];
extern int pvm_nerr;

static int mine, host;

static void texts(void)
{
    int i;
    CHECK(pvm_nerr == 37);
    for (i = 0; i < pvm_nerr; i++)
        CHECK(pvm_errlist[i] != NULL && pvm_errlist[i][0] != '\0');
    CHECK(strcmp(pvm_errlist[-PvmBadParam], "Bad parameter") == 0);
    CHECK(strcmp(pvm_errlist[-PvmExists], "Already Exists") == 0);
}

static void options(void)
{
    REFUSED(PvmBadParam, pvm_getopt(0));
    REFUSED(PvmBadParam, pvm_getopt(26));
    REFUSED(PvmBadParam, pvm_setopt(0, 1));
    REFUSED(PvmBadParam, pvm_setopt(PvmRoute, 0));
    REFUSED(PvmBadParam, pvm_setopt(PvmRoute, 4));
    CHECK(pvm_setopt(PvmRoute, PvmDontRoute) == PvmAllowDirect && pvm_getopt(PvmRoute) == PvmDontRoute);
    CHECK(pvm_setopt(PvmRoute, PvmRouteDirect) == PvmDontRoute && pvm_setopt(PvmRoute, PvmAllowDirect) == PvmRouteDirect);
    REFUSED(PvmBadParam, pvm_setopt(PvmFragSize, 0));
    REFUSED(PvmBadParam, pvm_setopt(PvmFragSize, 1 << 30));
    CHECK(pvm_setopt(PvmFragSize, 8192) > 0 && pvm_getopt(PvmFragSize) == 8192);
    REFUSED(PvmBadParam, pvm_setopt(PvmOutputTid, -5));
    REFUSED(PvmBadParam, pvm_setopt(PvmTraceTid, -1));
    /* The destination of a task's own output becomes that of its children's. */
    CHECK(pvm_setopt(PvmSelfOutputCode, 77) == 0 && pvm_setopt(PvmSelfOutputTid, mine) == 0);
    CHECK(pvm_getopt(PvmOutputTid) == mine && pvm_getopt(PvmOutputCode) == 77);
    CHECK(pvm_setopt(PvmSelfOutputTid, 0) == mine && pvm_setopt(PvmSelfOutputCode, 0) == 77);
    CHECK(pvm_getopt(PvmOutputTid) == 0 && pvm_getopt(PvmOutputCode) == 0);
    CHECK(pvm_setopt(PvmSelfTraceTid, mine) == 0 && pvm_getopt(PvmTraceTid) == mine);
    CHECK(pvm_setopt(PvmSelfTraceTid, 0) == mine && pvm_getopt(PvmTraceTid) == 0);
    CHECK(pvm_setopt(PvmNoReset, 1) == 0 && pvm_getopt(PvmNoReset) == 1 && pvm_setopt(PvmNoReset, 0) == 1);
}

/* A number that is none is PvmBadParam, one that nobody has PvmNoSuchBuf. */
static void buffers(void)
{
    struct pvmminfo info, again;
    int buffer, other, bytes, tag;
    CHECK(pvm_getsbuf() == 0 && pvm_getrbuf() == 0);
    REFUSED(PvmBadParam, pvm_mkbuf(3));
    REFUSED(PvmBadParam, pvm_initsend(-1));
    REFUSED(PvmBadParam, pvm_bufinfo(0, NULL, NULL, NULL));
    REFUSED(PvmNoSuchBuf, pvm_bufinfo(99999, NULL, NULL, NULL));
    REFUSED(PvmBadParam, pvm_getminfo(0, &info));
    REFUSED(PvmBadParam, pvm_getminfo(-1, &info));
    REFUSED(PvmNoSuchBuf, pvm_getminfo(99999, &info));
    REFUSED(PvmBadParam, pvm_setminfo(0, &info));
    REFUSED(PvmNoSuchBuf, pvm_setminfo(99999, &info));
    REFUSED(PvmBadParam, pvm_setsbuf(-1));
    REFUSED(PvmNoSuchBuf, pvm_setsbuf(99999));
    REFUSED(PvmBadParam, pvm_setrbuf(-1));
    REFUSED(PvmNoSuchBuf, pvm_setrbuf(99999));
    REFUSED(PvmBadParam, pvm_freebuf(-1));
    REFUSED(PvmNoSuchBuf, pvm_freebuf(99999));
    /* "No buffer" may be freed: pvm_freebuf(pvm_setsbuf(0)) is the idiom of the manual. */
    CHECK(pvm_freebuf(pvm_setsbuf(0)) == PvmOk);
    CHECK((buffer = pvm_mkbuf(PvmDataRaw)) > 0 && pvm_getsbuf() == 0);
    CHECK(pvm_setsbuf(buffer) == 0 && pvm_getsbuf() == buffer);
    CHECK(pvm_bufinfo(buffer, &bytes, &tag, NULL) == 0 && bytes == 0 && tag == 0);
    CHECK(pvm_getminfo(buffer, &info) == 0 && info.len == 0 && info.enc != 0x10000000);
    info.tag = 5, info.wid = 6, info.ctx = 3, info.src = 8, info.dst = 9, info.len = 7;
    CHECK(pvm_setminfo(buffer, &info) == 0 && pvm_getminfo(buffer, &again) == 0);
    CHECK(again.tag == 5 && again.wid == 6 && again.ctx == 3 && again.src == 8 && again.dst == 9 && again.len == 0);
    CHECK((other = pvm_mkbuf(PvmDataDefault)) > 0 && pvm_getminfo(other, &info) == 0 && info.enc == 0x10000000);
    /* A buffer has one place: the one to which it was set last. */
    CHECK(pvm_setrbuf(buffer) == 0 && pvm_getsbuf() == 0 && pvm_getrbuf() == buffer);
    CHECK(pvm_setsbuf(buffer) == 0 && pvm_getrbuf() == 0 && pvm_getsbuf() == buffer);
    CHECK(pvm_freebuf(buffer) == PvmOk && pvm_getsbuf() == 0);
    REFUSED(PvmNoSuchBuf, pvm_freebuf(buffer));
    CHECK(pvm_freebuf(other) == PvmOk);
}

/* What has been received and is to be sent on is not ended by the next receive. */
static void forwarding(void)
{
    int value = 11, first;
    CHECK(pvm_initsend(PvmDataDefault) > 0 && pvm_pkint(&value, 1, 1) == 0);
    CHECK(pvm_send(mine, 1) == 0 && pvm_send(mine, 2) == 0);
    CHECK((first = pvm_recv(mine, 1)) > 0 && pvm_freebuf(pvm_setsbuf(first)) == 0);
    CHECK(pvm_recv(mine, 2) > 0 && pvm_getsbuf() == first);
    value = 0;
    CHECK(pvm_send(mine, 3) == 0 && pvm_recv(mine, 3) > 0 && pvm_upkint(&value, 1, 1) == 0 && value == 11);
    CHECK(pvm_freebuf(first) == 0);
}

static void packing(void)
{
    int value = 3, got = 0;
    double pair[2] = {1.5, 2.5};
    char text[8];
    CHECK(pvm_freebuf(pvm_setsbuf(0)) == 0 && pvm_freebuf(pvm_setrbuf(0)) == 0);
    REFUSED(PvmNoBuf, pvm_pkint(&value, 1, 1));
    REFUSED(PvmNoBuf, pvm_pkstr("words"));
    REFUSED(PvmNoBuf, pvm_packf("%d", 1));
    REFUSED(PvmNoBuf, pvm_upkint(&got, 1, 1));
    REFUSED(PvmNoBuf, pvm_upkstr(text));
    REFUSED(PvmNoBuf, pvm_upkmesg());
    CHECK(pvm_initsend(PvmDataRaw) > 0);
    REFUSED(PvmBadParam, pvm_pkint(&value, -1, 1));
    REFUSED(PvmBadParam, pvm_pkstr(NULL));
    CHECK(pvm_pkint(&value, 0, 1) == 0 && pvm_pkstr("") == 0);
    /* Formats: what is no conversion separates; %+ begins a message and so stands first. */
    REFUSED(PvmBadParam, pvm_packf("%"));
    REFUSED(PvmBadParam, pvm_packf("%z", 4));
    REFUSED(PvmBadParam, pvm_packf("%+", 9));
    REFUSED(PvmBadParam, pvm_packf("%d %+", 1, PvmDataRaw));
    CHECK(pvm_packf("%+ %d, %hd; %s", PvmDataRaw, 4, 5, "abc") == 0 && pvm_packf("%*.*lf", 1, 1, pair) == 0);
    CHECK(pvm_send(mine, 4) == 0 && pvm_recv(mine, 4) > 0);
    short small = 0;
    CHECK(pvm_unpackf("%d,%hd,%s", &got, &small, text) == 0 && got == 4 && small == 5 && !strcmp(text, "abc"));
    REFUSED(PvmBadParam, pvm_upkint(&got, -1, 1));
    CHECK(pvm_upkdouble(pair, 1, 1) == 0 && pair[0] == 1.5);
    REFUSED(PvmNoData, pvm_upkdouble(pair, 1, 1));
    REFUSED(PvmNoData, pvm_upkstr(text));
    REFUSED(PvmNoData, pvm_upkmesg());
    REFUSED(PvmNoData, pvm_unpackf("%d", &got));
}

static void sending(void)
{
    struct timeval no_time = {0, 0}, moment = {0, 1500000};
    int tids[2] = {mine, -1};
    CHECK(pvm_freebuf(pvm_setsbuf(0)) == 0);
    REFUSED(PvmNoBuf, pvm_send(mine, 1));
    REFUSED(PvmNoBuf, pvm_mcast(tids, 1, 1));
    CHECK(pvm_initsend(PvmDataDefault) > 0);
    REFUSED(PvmBadParam, pvm_send(mine, -1));
    REFUSED(PvmBadParam, pvm_send(-1, 1));
    REFUSED(PvmBadParam, pvm_send(0, 1));
    REFUSED(PvmBadParam, pvm_send(host, 1));
    REFUSED(PvmBadParam, pvm_mcast(tids, 1, -1));
    REFUSED(PvmBadParam, pvm_mcast(tids, 2, 1));
    REFUSED(PvmBadParam, pvm_mcast(tids, -1, 1));
    /* To itself a task multicasts nothing. */
    CHECK(pvm_mcast(tids, 1, 5) == 0 && pvm_nrecv(mine, 5) == 0);
    REFUSED(PvmBadParam, pvm_recv(-2, 1));
    REFUSED(PvmBadParam, pvm_recv(mine, -2));
    REFUSED(PvmBadParam, pvm_nrecv(-2, 1));
    REFUSED(PvmBadParam, pvm_probe(mine, -2));
    REFUSED(PvmBadParam, pvm_trecv(mine, -2, &no_time));
    CHECK(pvm_trecv(mine, 5, &no_time) == 0);
    /* Microseconds need not be fewer than a second's. */
    CHECK(pvm_send(mine, 6) == 0 && pvm_trecv(mine, 6, &moment) > 0);
    CHECK(pvm_send(mine, 0x7fffffff) == 0 && pvm_probe(mine, 0x7fffffff) > 0);
    CHECK(pvm_recv(mine, 0x7fffffff) > 0);
}

/* The length that pvm_precv answers is in bytes, and a message that is longer than the memory is cut. */
static void direct_receives(void)
{
    double data[4] = {1, 2, 3, 4}, got[4] = {0};
    int from, tag, bytes;
    REFUSED(PvmBadParam, pvm_psend(mine, 1, data, 2, 99));
    REFUSED(PvmBadParam, pvm_psend(mine, -1, data, 2, PVM_INT));
    REFUSED(PvmBadParam, pvm_psend(-1, 1, data, 2, PVM_INT));
    REFUSED(PvmBadParam, pvm_precv(-2, 1, got, 1, PVM_INT, NULL, NULL, NULL));
    REFUSED(PvmBadParam, pvm_precv(mine, -2, got, 1, PVM_INT, NULL, NULL, NULL));
    REFUSED(PvmBadParam, pvm_precv(mine, 1, got, 1, 99, NULL, NULL, NULL));
    CHECK(pvm_psend(mine, 7, data, 3, PVM_DOUBLE) == 0);
    CHECK(pvm_precv(-1, -1, got, 4, PVM_DOUBLE, &from, &tag, &bytes) == 0);
    CHECK(from == mine && tag == 7 && bytes == 24 && got[2] == 3 && got[3] == 0);
    CHECK(pvm_psend(mine, 7, data, 4, PVM_DOUBLE) == 0);
    memset(got, 0, sizeof got);
    CHECK(pvm_precv(mine, 7, got, 2, PVM_DOUBLE, NULL, NULL, &bytes) == PvmOk);
    CHECK(bytes == 32 && got[1] == 2 && got[2] == 0);
    CHECK(pvm_psend(mine, 7, data, 7, PVM_BYTE) == 0);
    CHECK(pvm_precv(mine, 7, got, 10, PVM_INT, NULL, NULL, &bytes) == PvmOk && bytes == 7);
}

static void messages_in_messages(void)
{
    int outer, inner, value = 42, got;
    struct pvmminfo info;
    CHECK(pvm_freebuf(pvm_setsbuf(0)) == 0);
    CHECK((inner = pvm_mkbuf(PvmDataRaw)) > 0);
    REFUSED(PvmNoBuf, pvm_pkmesg(inner));
    REFUSED(PvmNoBuf, pvm_pkmesgbody(inner));
    CHECK(pvm_setsbuf(inner) == 0 && pvm_pkint(&value, 1, 1) == 0);
    REFUSED(PvmBadParam, pvm_pkmesg(inner));
    REFUSED(PvmBadParam, pvm_pkmesgbody(inner));
    REFUSED(PvmBadParam, pvm_pkmesg(0));
    REFUSED(PvmBadParam, pvm_pkmesgbody(-1));
    REFUSED(PvmNoSuchBuf, pvm_pkmesg(99999));
    CHECK(pvm_getminfo(inner, &info) == 0);
    info.wid = 9;
    CHECK(pvm_setminfo(inner, &info) == 0);
    CHECK((outer = pvm_initsend(PvmDataDefault)) > 0);
    CHECK((inner = pvm_mkbuf(PvmDataRaw)) > 0 && pvm_setsbuf(inner) == outer && pvm_pkint(&value, 1, 1) == 0);
    CHECK(pvm_getminfo(inner, &info) == 0 && (info.wid = 9) && pvm_setminfo(inner, &info) == 0);
    CHECK(pvm_setsbuf(outer) == inner && pvm_pkmesg(inner) == 0);
    REFUSED(PvmMismatch, pvm_pkmesgbody(inner));
    CHECK(pvm_send(mine, 8) == 0 && pvm_recv(mine, 8) > 0 && (outer = pvm_upkmesg()) > 0);
    CHECK(pvm_getrbuf() != outer && pvm_getminfo(outer, &info) == 0 && info.wid == 9 && info.len == 4);
    CHECK(pvm_setrbuf(outer) > 0 && pvm_upkint(&got, 1, 1) == 0 && got == 42);
    CHECK(pvm_freebuf(inner) == 0);
}

static int nothing(int buffer)
{
    return buffer & 0;
}

/* Handlers that could be meant by one message exclude each other, also by wildcards. */
static void handlers(void)
{
    int first, others[3];
    REFUSED(PvmBadParam, pvm_delmhf(-1));
    REFUSED(PvmNotFound, pvm_delmhf(999));
    CHECK((first = pvm_addmhf(mine, 1, 0, nothing)) >= 0);
    REFUSED(PvmExists, pvm_addmhf(mine, 1, 0, nothing));
    REFUSED(PvmExists, pvm_addmhf(-1, 1, 0, nothing));
    REFUSED(PvmExists, pvm_addmhf(mine, -1, 0, nothing));
    REFUSED(PvmExists, pvm_addmhf(mine, 1, -1, nothing));
    CHECK((others[0] = pvm_addmhf(mine, 2, 0, nothing)) >= 0);
    CHECK((others[1] = pvm_addmhf(mine, 1, 5, nothing)) >= 0);
    CHECK((others[2] = pvm_addmhf(mine + 1, 1, 0, nothing)) >= 0);
    CHECK(pvm_delmhf(first) == PvmOk && pvm_delmhf(first) == PvmNotFound);
    for (int i = 0; i < 3; i++)
        CHECK(pvm_delmhf(others[i]) == PvmOk);
}

static int none(int buffer, int tid, int tag)
{
    (void)buffer, (void)tid, (void)tag;
    return 0;
}

static int error(int buffer, int tid, int tag)
{
    (void)buffer, (void)tid, (void)tag;
    return -77;
}

static int largest_tag(int buffer, int tid, int tag)
{
    int found;
    (void)tid, (void)tag;
    CHECK(pvm_bufinfo(buffer, NULL, &found, NULL) == 0);
    return found;
}

/* The rank of a message; an error of the program's is what the receive answers. */
static void matching(void)
{
    int tag;
    CHECK(pvm_recvf(none) == NULL && pvm_initsend(PvmDataDefault) > 0);
    for (tag = 20; tag < 23; tag++)
        CHECK(pvm_send(mine, tag) == 0);
    CHECK(pvm_nrecv(mine, 20) == 0 && pvm_recvf(error) == none);
    REFUSED(-77, pvm_nrecv(mine, 20));
    CHECK(pvm_errno == -77);
    REFUSED(-77, pvm_recv(mine, 20));
    REFUSED(-77, pvm_probe(mine, 20));
    CHECK(pvm_recvf(largest_tag) == error);
    CHECK(pvm_recv(-1, -1) > 0 && pvm_bufinfo(pvm_getrbuf(), NULL, &tag, NULL) == 0 && tag == 22);
    CHECK(pvm_recvf(NULL) == largest_tag);
    CHECK(pvm_recv(mine, 21) > 0 && pvm_recv(mine, 20) > 0);
}

static void tasks(void)
{
    struct pvmtaskinfo *list;
    struct pvmhostinfo *machines;
    struct timeval clock, delta;
    int count, formats, *siblings, nobody = mine + 1000, away = 0x3f00001;
    REFUSED(PvmBadParam, pvm_kill(0));
    REFUSED(PvmBadParam, pvm_kill(host));
    REFUSED(PvmBadParam, pvm_sendsig(-1, 9));
    REFUSED(PvmBadParam, pvm_sendsig(mine, 999));
    /* A signal that comes too late is none. */
    CHECK(pvm_kill(nobody) == PvmOk && pvm_sendsig(nobody, SIGTERM) == PvmOk && pvm_sendsig(mine, 0) == PvmOk);
    REFUSED(PvmBadParam, pvm_pstat(0));
    REFUSED(PvmBadParam, pvm_pstat(host));
    REFUSED(PvmNoTask, pvm_pstat(nobody));
    CHECK(pvm_pstat(mine) == PvmOk);
    REFUSED(PvmNoHost, pvm_mstat("no.such.host"));
    REFUSED(PvmBadParam, pvm_tidtohost(0));
    CHECK(pvm_tidtohost(host) == host && pvm_tidtohost(nobody) == host);
    CHECK(pvm_config(&count, &formats, &machines) == 0 && count == 1 && formats == 1);
    CHECK(pvm_mstat(machines->hi_name) == PvmOk && pvm_archcode(machines->hi_arch) == machines->hi_dsig);
    REFUSED(PvmBadParam, pvm_archcode(NULL));
    REFUSED(PvmNotFound, pvm_archcode("SUN4"));
    /* Of a task that has ended there is nothing to list, and that is no error. */
    CHECK(pvm_tasks(nobody, &count, &list) == 0 && count == 0);
    CHECK(pvm_tasks(mine, &count, &list) == 0 && count == 1 && list->ti_pid == getpid() && list->ti_host == host);
    CHECK(pvm_tasks(host, &count, &list) == 0 && count == 1);
    REFUSED(PvmNoHost, pvm_tasks(0x1000000, &count, &list));
    REFUSED(PvmNoHost, pvm_tasks(away, &count, &list));
    CHECK(pvm_siblings(&siblings) == 1 && siblings[0] == mine);
    REFUSED(PvmNoParent, pvm_parent());
    CHECK(pvm_hostsync(host, &clock, &delta) == 0 && delta.tv_usec >= 0 && delta.tv_usec < 1000000);
    CHECK(pvm_hostsync(host, NULL, NULL) == 0 && pvm_hostsync(mine, &clock, NULL) == 0);
    REFUSED(PvmNoHost, pvm_hostsync(0x1000000, &clock, &delta));
    REFUSED(PvmNoHost, pvm_hostsync(0, &clock, &delta));
    CHECK(pvm_spawn("no.such", NULL, 0, "", 1, NULL) == 0);
    REFUSED(PvmDupHost, pvm_start_pvmd(0, NULL, 0));
}

/* Receives what a notification says. */
static int told(int tag)
{
    struct timeval patience = {60, 0};
    int tid = 0;
    CHECK(pvm_trecv(-1, tag, &patience) > 0 && pvm_upkint(&tid, 1, 1) == 0);
    return tid;
}

static void notification(void)
{
    int nobody = mine + 1000, none = 0;
    REFUSED(PvmBadParam, pvm_notify(0, 1, 1, &mine));
    REFUSED(PvmBadParam, pvm_notify(PvmTaskExit, -1, 1, &mine));
    REFUSED(PvmBadParam, pvm_notify(PvmTaskExit, 1, 0, &mine));
    REFUSED(PvmBadParam, pvm_notify(PvmTaskExit, 1, -1, &mine));
    REFUSED(PvmBadParam, pvm_notify(PvmTaskExit, 1, 1, &none));
    REFUSED(PvmBadParam, pvm_notify(PvmTaskExit, 1, 1, &host));
    CHECK(pvm_notify(PvmTaskExit, 31, 1, &nobody) == 0 && told(31) == nobody);
    /* Who takes a notification back is told at once, as if it had happened; who asked for none is not. */
    CHECK(pvm_notify(PvmTaskExit, 32, 1, &mine) == 0 && pvm_nrecv(-1, 32) == 0);
    CHECK(pvm_notify(PvmTaskExit | PvmNotifyCancel, 32, 1, &mine) == 0 && told(32) == mine);
    CHECK(pvm_notify(PvmHostDelete, 33, 1, &host) == 0);
    CHECK(pvm_notify(PvmHostDelete | PvmNotifyCancel, 33, 1, &host) == 0 && told(33) == host);
    /* A task's tid stands for its host. */
    CHECK(pvm_notify(PvmHostDelete, 34, 1, &mine) == 0);
    CHECK(pvm_notify(PvmHostDelete | PvmNotifyCancel, 34, 1, &host) == 0 && told(34) == host);
    CHECK(pvm_notify(PvmHostAdd, 35, -1, NULL) == 0 && pvm_notify(PvmHostAdd, 35, 0, NULL) == 0);
    CHECK(pvm_notify(PvmHostAdd | PvmNotifyCancel, 35, -1, NULL) == 0 && pvm_nrecv(-1, 35) == 0);
    CHECK(pvm_notify(PvmHostAdd, 36, 2, NULL) == 0);
    CHECK(pvm_notify(PvmHostAdd | PvmNotifyCancel, 36, 2, NULL) == 0 && told(36) == 0);
}

static void mailbox(void)
{
    struct pvmmboxinfo *classes;
    int buffer, count, several = PvmMboxMultiInstance, writable = PvmMboxOverWritable;
    CHECK((buffer = pvm_initsend(PvmDataDefault)) > 0);
    REFUSED(PvmBadParam, pvm_putinfo(NULL, buffer, 0));
    REFUSED(PvmBadParam, pvm_putinfo("", buffer, 0));
    REFUSED(PvmNoSuchBuf, pvm_putinfo("walk", 99999, 0));
    CHECK(pvm_putinfo("walk", buffer, several) == 0 && pvm_putinfo("walk", buffer, several) == 1);
    CHECK(pvm_putinfo("walk", buffer, several | writable) == 2);
    CHECK(pvm_putinfo("walk", buffer, writable | PvmMboxDirectIndex(2)) == 2);
    REFUSED(PvmBadParam, pvm_recvinfo(NULL, 0, 0));
    REFUSED(PvmNotFound, pvm_recvinfo("walk", 3, PvmMboxFirstAvail));
    REFUSED(PvmNotFound, pvm_recvinfo("run", 0, 0));
    CHECK(pvm_recvinfo("walk", 1, PvmMboxReadAndDelete) > 0);
    REFUSED(PvmNotFound, pvm_recvinfo("walk", 1, 0));
    CHECK(pvm_recvinfo("walk", 1, PvmMboxFirstAvail) == pvm_getrbuf());
    CHECK(pvm_getmboxinfo("w*", &count, &classes) == 0 && count == 1 && classes->mi_nentries == 2);
    CHECK(classes->mi_indices[1] == 2 && classes->mi_owners[1] == mine && classes->mi_flags[0] == several);
    REFUSED(PvmBadParam, pvm_delinfo(NULL, 0, 0));
    REFUSED(PvmNotFound, pvm_delinfo("walk", 1, 0));
    CHECK(pvm_delinfo("walk", 0, 0) == PvmOk && pvm_delinfo("walk", 2, 0) >= 0);
    CHECK(pvm_getmboxinfo("walk", &count, &classes) == 0 && count == 0);
    REFUSED(PvmBadParam, pvm_insert(NULL, 0, 1));
    REFUSED(PvmBadParam, pvm_insert("old", -2, 1));
    CHECK(pvm_insert("old", -1, 5) == 0 && pvm_insert("old", 0, 6) < 0 && pvm_insert("old", 4, 7) == 4);
    CHECK(pvm_lookup("old", -1, &count) == 0 && count == 5 && pvm_lookup("old", 4, &count) == 4 && count == 7);
    REFUSED(PvmBadParam, pvm_lookup("old", -2, &count));
    REFUSED(PvmNotFound, pvm_lookup("old", 1, &count));
    CHECK(pvm_delete("old", 0) == 0 && pvm_lookup("old", -1, &count) == 4);
    CHECK(pvm_delete("old", 4) == 4 && pvm_delete("old", 4) == PvmNotFound);
}

static void contexts(void)
{
    int one, two;
    CHECK(pvm_getcontext() == 0 && (one = pvm_newcontext()) > 0 && (two = pvm_newcontext()) > 0 && one != two);
    CHECK(pvm_setcontext(one) == 0 && pvm_getcontext() == one && pvm_setcontext(0) == one);
    CHECK(pvm_freecontext(one) == PvmOk && pvm_freecontext(one) == PvmNotFound && pvm_freecontext(two) == PvmOk);
}

/* Groups of one: names, members, instances, numbers. */
static void groups(void)
{
    int value = 4, all[1] = {0};
    REFUSED(PvmNullGroup, pvm_joingroup(NULL));
    REFUSED(PvmNullGroup, pvm_barrier("", 1));
    REFUSED(PvmNoGroup, pvm_lvgroup("none"));
    REFUSED(PvmNoGroup, pvm_gsize("none"));
    REFUSED(PvmNoGroup, pvm_getinst("none", mine));
    REFUSED(PvmNoGroup, pvm_gettid("none", 0));
    REFUSED(PvmNoGroup, pvm_barrier("none", 1));
    REFUSED(PvmNoGroup, pvm_freezegroup("none", 1));
    CHECK(pvm_joingroup("walk") == 0 && pvm_joingroup("walk") == PvmDupGroup && pvm_gsize("walk") == 1);
    REFUSED(PvmNotInGroup, pvm_getinst("walk", mine + 1000));
    REFUSED(PvmNoInst, pvm_gettid("walk", 1));
    REFUSED(PvmNoInst, pvm_gettid("walk", -1));
    REFUSED(PvmBadParam, pvm_barrier("walk", 0));
    REFUSED(PvmBadParam, pvm_barrier("walk", -2));
    CHECK(pvm_barrier("walk", 1) == PvmOk && pvm_barrier("walk", -1) == PvmOk);
    CHECK(pvm_initsend(PvmDataDefault) > 0);
    REFUSED(PvmBadParam, pvm_bcast("walk", -1));
    REFUSED(PvmNoInst, pvm_bcast("walk", 1));
    REFUSED(PvmBadParam, pvm_reduce(PvmSum, &value, 1, 99, 1, "walk", 0));
    REFUSED(PvmBadParam, pvm_reduce(PvmSum, &value, -1, PVM_INT, 1, "walk", 0));
    REFUSED(PvmNoInst, pvm_reduce(PvmSum, &value, 1, PVM_INT, 1, "walk", 5));
    CHECK(pvm_gather(all, &value, 1, PVM_INT, 1, "walk", 0) == 0 && all[0] == 4);
    REFUSED(PvmBadParam, pvm_gather(all, &value, 1, 99, 1, "walk", 0));
    REFUSED(PvmBadParam, pvm_scatter(&value, all, -1, PVM_INT, 1, "walk", 0));
    /* A frozen group has the size that the call answers, and is frozen once. */
    CHECK(pvm_freezegroup("walk", -1) == 1);
    REFUSED(PvmDupGroup, pvm_freezegroup("walk", 1));
    CHECK(pvm_lvgroup("walk") == PvmOk && pvm_lvgroup("walk") < 0);
}

int main(void)
{
    CHECK((mine = pvm_mytid()) > 0);
    pvm_setopt(PvmAutoErr, 0);
    host = mine & 0x3ffc0000;
    buffers();
    texts();
    options();
    forwarding();
    packing();
    sending();
    direct_receives();
    messages_in_messages();
    handlers();
    matching();
    tasks();
    notification();
    mailbox();
    contexts();
    groups();
    CHECK(pvm_send(-5, 1) == PvmBadParam && pvm_errno == PvmBadParam);
    CHECK(pvm_exit() == PvmOk && pvm_exit() == PvmOk);
    printf("No errors\n");
    return 0;
}
