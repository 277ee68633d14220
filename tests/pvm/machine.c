/* Groups, mailbox, notification, output of children, options, and what wrong arguments get. */
#include "check.h"
#include <signal.h>

#define TASKS 5

static void member(void)
{
    int mine = pvm_joingroup("team"), sum = mine + 1, all[TASKS], part, i;
    double top = mine;
    CHECK(mine >= 0 && pvm_joingroup("team") == PvmDupGroup);
    CHECK(pvm_barrier("team", TASKS) == 0);
    CHECK(pvm_gsize("team") == TASKS && pvm_gettid("team", mine) == pvm_mytid());
    CHECK(pvm_getinst("team", pvm_mytid()) == mine);
    CHECK(pvm_reduce(PvmSum, &sum, 1, PVM_INT, 5, "team", 0) == 0);
    CHECK(mine != 0 || sum == TASKS * (TASKS + 1) / 2);
    CHECK(pvm_reduce(PvmMax, &top, 1, PVM_DOUBLE, 6, "team", 1) == 0);
    CHECK(mine != 1 || top == TASKS - 1);
    CHECK(pvm_gather(all, &mine, 1, PVM_INT, 7, "team", 2) == 0);
    for (i = 0; mine == 2 && i < TASKS; i++)
        CHECK(all[i] == i);
    for (i = 0; i < TASKS; i++)
        all[i] = 10 * i;
    CHECK(pvm_scatter(&part, all, 1, PVM_INT, 8, "team", 3) == 0 && part == 10 * mine);
    if (mine == 4) {
        pvm_initsend(PvmDataDefault);
        pvm_pkstr("to all");
        CHECK(pvm_bcast("team", 9) == 0);
    } else {
        char text[16];
        CHECK(pvm_recv(-1, 9) > 0 && pvm_upkstr(text) == 0 && strcmp(text, "to all") == 0);
    }
    CHECK(pvm_barrier("team", -1) == 0);
    CHECK(pvm_lvgroup("team") == 0 && pvm_lvgroup("team") < 0);
    printf("member is done\n");
}

static void mailbox(void)
{
    struct pvmmboxinfo *classes;
    int count, value = 17;
    pvm_initsend(PvmDataDefault);
    pvm_pkint(&value, 1, 1);
    CHECK(pvm_putinfo("box", pvm_getsbuf(), PvmMboxDefault) == 0);
    CHECK(pvm_putinfo("box", pvm_getsbuf(), PvmMboxDefault) == 0);
    CHECK(pvm_putinfo("box", pvm_getsbuf(), PvmMboxMultiInstance) == 1 && pvm_delinfo("box", 1, 0) == 1);
    value = 0;
    CHECK(pvm_recvinfo("nothing there", 0, PvmMboxDefault) == PvmNotFound && pvm_errno == PvmNotFound);
    CHECK(pvm_recvinfo("box", 0, PvmMboxDefault) > 0 && pvm_upkint(&value, 1, 1) == 0 && value == 17);
    CHECK(pvm_getmboxinfo("box", &count, &classes) == 0 && count == 1);
    CHECK(strcmp(classes->mi_name, "box") == 0 && classes->mi_owners[0] == pvm_mytid());
    CHECK(pvm_delinfo("box", 0, 0) == 0 && pvm_delinfo("box", 0, 0) == PvmNotFound);
}

static void wrong(void)
{
    int tid = pvm_mytid(), tids[2], value = 0;
    char *nobody[] = {"no.such.host"};
    CHECK(pvm_joingroup("alone") == 0 && pvm_initsend(PvmDataDefault) > 0 && pvm_bcast("alone", 1) == PvmNoInst);
    CHECK(pvm_lvgroup("alone") == 0);
    CHECK(pvm_send(-7, 1) == PvmBadParam && pvm_send(tid, -1) == PvmBadParam);
    CHECK(pvm_recv(-2, 1) == PvmBadParam && pvm_nrecv(-1, -2) == PvmBadParam);
    CHECK(pvm_initsend(77) == PvmBadParam && pvm_freebuf(1234) == PvmNoSuchBuf);
    CHECK(pvm_setsbuf(0) >= 0 && pvm_pkint(&value, 1, 1) == PvmNoBuf && pvm_send(tid, 1) == PvmNoBuf);
    CHECK(pvm_setrbuf(0) >= 0 && pvm_upkint(&value, 1, 1) == PvmNoBuf);
    CHECK(pvm_spawn("no.such.program", NULL, 0, "", 2, tids) == 0 && tids[0] == PvmNoFile && tids[1] == PvmNoFile);
    CHECK(pvm_spawn("x", NULL, 0, "", 0, tids) == PvmBadParam);
    CHECK(pvm_spawn("x", NULL, PvmTaskHost, "no.such.host", 1, tids) == 0 && tids[0] == PvmNoHost);
    CHECK(pvm_kill(3) == PvmBadParam && pvm_pstat(tid) == PvmOk && pvm_pstat(tid + 1000) == PvmNoTask);
    CHECK(pvm_addhosts(nobody, 1, tids) == 0 && tids[0] == PvmCantStart);
    CHECK(pvm_barrier("nobody", 1) == PvmNoGroup && pvm_joingroup("") == PvmNullGroup);
    CHECK(pvm_notify(12345, 1, 1, &tid) == PvmBadParam && pvm_getopt(99) == PvmBadParam);
    CHECK(pvm_getminfo(4321, NULL) < 0 && pvm_reg_tasker() == PvmNotImpl);
    CHECK(pvm_unpackf("%d", &value) == PvmNoBuf);
}

/* What programs call that is in no header. */
extern int pvmdebmask;
void pvmgetclock(struct timeval *);
void pvmdisplaymhfinfo(char *, char *, int);

static void beside_the_header(void)
{
    struct timeval now = {0, 0};
    pvmgetclock(&now);
    CHECK(now.tv_sec > 1700000000 && pvmdebmask == 0);
    pvmdisplaymhfinfo("machine", "begins", pvm_mytid());
}

int main(int argc, char **argv)
{
    int tids[TASKS], i, tid, hosts;
    struct pvmhostinfo *host;
    struct pvmtaskinfo *tasks;
    int child = is_child(argc);
    pvm_setopt(PvmAutoErr, 0);
    if (child) {
        if (strcmp(argv[1], "member") == 0)
            member();
        else
            pvm_recv(-1, 1);
        return pvm_exit();
    }
    CHECK(pvm_parent() == PvmNoParent);
    wrong();
    beside_the_header();
    mailbox();
    CHECK(pvm_config(&hosts, NULL, &host) == 0 && hosts == 1 && pvm_tidtohost(pvm_mytid()) == host->hi_tid);
    pvm_catchout(stdout);
    pvm_setopt(PvmShowTids, 0);
    start("member", TASKS, tids);
    CHECK(pvm_notify(PvmTaskExit, 70, TASKS, tids) == 0);
    for (i = 0; i < TASKS; i++)
        CHECK(pvm_recv(-1, 70) > 0 && pvm_upkint(&tid, 1, 1) == 0);
    pvm_catchout(NULL);
    /* One that waits for ever is killed, and one by kill -9. */
    start("wait", 2, tids);
    CHECK(pvm_tasks(tids[1], &i, &tasks) == 0 && i == 1 && tasks->ti_ptid == pvm_mytid());
    CHECK(pvm_notify(PvmTaskExit, 71, 2, tids) == 0);
    CHECK(pvm_kill(tids[0]) == 0 && kill(tasks->ti_pid, SIGKILL) == 0);
    for (i = 0; i < 2; i++)
        CHECK(pvm_recv(-1, 71) > 0 && pvm_upkint(&tid, 1, 1) == 0 && (tid == tids[0] || tid == tids[1]));
    CHECK(pvm_exit() == 0);
    printf("No errors\n");
    return 0;
}
