/* A virtual machine of several hosts: those of the arguments are added. With `kill`, `stop` or `cut` in front of them, the process of the
   last of them is killed, or falls silent, or its network is cut, in place of being deleted. */
#include "check.h"
#include <sys/time.h>

enum { HELLO = 1, WORK, RESULT, LAST, GONE, LOST, COME, MANY = 2000, LARGE = 3000001 };

static int sum(const char *bytes, int length)
{
    int i, total = 0;
    for (i = 0; i < length; i++)
        total += (i % 7 + 1) * bytes[i];
    return total;
}

/* A task on another host: says who it is, answers what it is sent, and ends when it is told to. */
static int child(char *what)
{
    int parent = pvm_parent(), i, length, bufid, tag, tid;
    static char bytes[LARGE];
    CHECK(pvm_initsend(PvmDataDefault) > 0);
    CHECK(pvm_send(parent, HELLO) == 0);
    if (!strcmp(what, "wait")) {
        pvm_recv(-1, 99);
        return 1;
    }
    for (;;) {
        CHECK((bufid = pvm_recv(parent, -1)) > 0);
        CHECK(pvm_bufinfo(bufid, NULL, &tag, &tid) == 0 && tid == parent);
        if (tag == LAST)
            break;
        CHECK(pvm_upkint(&length, 1, 1) == 0);
        CHECK(pvm_upkbyte(bytes, length, 1) == 0);
        i = sum(bytes, length);
        CHECK(pvm_initsend(PvmDataRaw) > 0);
        CHECK(pvm_pkint(&i, 1, 1) == 0 && pvm_pkbyte(bytes, length, 1) == 0);
        CHECK(pvm_send(parent, RESULT) == 0);
    }
    if (!strcmp(what, "kill"))
        signal_machine(SIGKILL);
    if (!strcmp(what, "stop"))
        signal_machine(SIGSTOP);
    if (!strcmp(what, "cut"))
        CHECK(system("ip link set dev net0 down") == 0);
    if (strcmp(what, "end")) {
        pvm_recv(-1, 99);
        return 1;
    }
    /* The group has members on two hosts; what is sent before the end arrives. */
    CHECK(pvm_joingroup("pair") == 1 && pvm_barrier("pair", 2) == 0);
    CHECK(pvm_recv(parent, WORK) > 0);
    for (i = 0; i < MANY; i++) {
        CHECK(pvm_initsend(PvmDataDefault) > 0);
        CHECK(pvm_pkint(&i, 1, 1) == 0 && pvm_send(parent, RESULT) == 0);
    }
    return pvm_exit();
}

static int start_on(char *host, char *what)
{
    static char self[4096];
    char *arguments[] = {what, NULL};
    int tid, tids[2];
    struct pvmhostinfo *hosts;
    int count, i, found = 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    self[length] = 0;
    CHECK(pvm_spawn("/no/such/program", NULL, PvmTaskHost, host, 2, tids) == 0);
    CHECK(tids[0] == PvmNoFile && tids[1] == PvmNoFile);
    CHECK(pvm_spawn(self, arguments, PvmTaskHost, host, 1, &tid) == 1);
    CHECK(pvm_recv(tid, HELLO) > 0);
    CHECK(pvm_config(&count, NULL, &hosts) == 0);
    for (i = 0; i < count; i++)
        found |= !strcmp(hosts[i].hi_name, host) && hosts[i].hi_tid == pvm_tidtohost(tid);
    CHECK(found && pvm_tidtohost(tid) != pvm_tidtohost(pvm_mytid()));
    CHECK(pvm_pstat(tid) == PvmOk);
    return tid;
}

static void exchange(int tid)
{
    static char out[LARGE], in[LARGE];
    int lengths[] = {0, 1, 1000, 100000, LARGE}, i, k, total;
    for (i = 0; i < 5; i++) {
        for (k = 0; k < lengths[i]; k++)
            out[k] = (char)(k * 31 + i);
        CHECK(pvm_initsend(PvmDataDefault) > 0);
        CHECK(pvm_pkint(&lengths[i], 1, 1) == 0 && pvm_pkbyte(out, lengths[i], 1) == 0);
        CHECK(pvm_send(tid, WORK) == 0);
        CHECK(pvm_recv(tid, RESULT) > 0);
        CHECK(pvm_upkint(&total, 1, 1) == 0 && total == sum(out, lengths[i]));
        CHECK(pvm_upkbyte(in, lengths[i], 1) == 0 && !memcmp(in, out, lengths[i]));
    }
}

static void expect(int tag, int number)
{
    int got;
    CHECK(pvm_recv(-1, tag) > 0);
    CHECK(pvm_upkint(&got, 1, 1) == 0 && got == number);
}

static void send_empty(int tid, int tag)
{
    CHECK(pvm_initsend(PvmDataDefault) > 0 && pvm_send(tid, tag) == 0);
}

static void add(char **names, int count)
{
    char *wrong[] = {"no.such.host", "-oProxyCommand=false"};
    int infos[8], i, hosts, one, dtid;
    struct pvmhostinfo *list;
    CHECK(pvm_notify(PvmHostAdd, COME, -1, NULL) == 0);
    CHECK(pvm_addhosts(names, count, infos) == count);
    for (i = 0; i < count; i++) {
        CHECK(pvm_recv(-1, COME) > 0 && pvm_upkint(&one, 1, 1) == 0 && one == 1);
        CHECK(pvm_upkint(&dtid, 1, 1) == 0 && dtid > 0);
        CHECK(infos[i] > 0 && pvm_mstat(names[i]) == PvmOk);
    }
    pvm_setopt(PvmAutoErr, 0);
    CHECK(pvm_addhosts(names, 1, infos) == 0 && infos[0] == PvmDupHost);
    CHECK(pvm_addhosts(wrong, 2, infos) == 0 && infos[0] == PvmCantStart);
    CHECK(infos[1] == PvmBadParam);
    CHECK(pvm_mstat("no.such.host") == PvmNoHost);
    pvm_setopt(PvmAutoErr, 1);
    CHECK(pvm_config(&hosts, NULL, &list) == 0 && hosts == count + 1);
}

/* A task that ends by itself: its messages in their order, then the notification. */
static void whole_life(char *host)
{
    int tid = start_on(host, "end"), i, got;
    struct timeval clock, delta;
    CHECK(pvm_hostsync(pvm_tidtohost(tid), &clock, &delta) == 0 && clock.tv_sec > 0);
    CHECK(pvm_notify(PvmTaskExit, GONE, 1, &tid) == 0);
    exchange(tid);
    CHECK(pvm_joingroup("pair") == 0);
    send_empty(tid, LAST);
    CHECK(pvm_barrier("pair", 2) == 0);
    CHECK(pvm_initsend(PvmDataDefault) > 0 && pvm_bcast("pair", WORK) == 0);
    expect(GONE, tid);
    for (i = 0; i < MANY; i++) {
        CHECK(pvm_nrecv(tid, RESULT) > 0);
        CHECK(pvm_upkint(&got, 1, 1) == 0 && got == i);
    }
    CHECK(pvm_pstat(tid) == PvmNoTask);
}

int main(int argc, char **argv)
{
    int how, first, tid, waiting, dtid, info;
    CHECK(pvm_mytid() > 0);
    if (pvm_parent() > 0)
        return child(argv[1]);
    how = !strcmp(argv[1], "kill") || !strcmp(argv[1], "stop") || !strcmp(argv[1], "cut");
    first = 1 + how;
    CHECK(argc > first);
    add(argv + first, argc - first);
    whole_life(argv[first]);
    waiting = start_on(argv[first], "wait");
    tid = start_on(argv[argc - 1], how ? argv[1] : "wait");
    dtid = pvm_tidtohost(tid);
    CHECK(pvm_notify(PvmTaskExit, GONE, 1, &tid) == 0);
    CHECK(pvm_notify(PvmHostDelete, LOST, 1, &dtid) == 0);
    if (how)
        send_empty(tid, LAST);
    else
        CHECK(pvm_delhosts(argv + argc - 1, 1, &info) == 1 && info == 0);
    expect(GONE, tid);
    expect(LOST, dtid);
    CHECK(pvm_mstat(argv[argc - 1]) == PvmNoHost && pvm_pstat(tid) == PvmNoTask);
    if (argc - first > 1)
        CHECK(pvm_pstat(waiting) == PvmOk && pvm_kill(waiting) == 0);
    printf("No errors\n");
    return pvm_exit();
}
