/* What the manual pages of PVM 3.4 say of several tasks: the parent tells two children what to call, and looks at what they answer. */
#include "check.h"
#include <sys/time.h>

enum { ORDER = 1, ANSWER, CAST, OUTPUT = 77, GONE };
enum { LEAVE, JOIN, QUIT_GROUP, BARRIER, FREEZE, REDUCE, GATHER, SCATTER, SIBLINGS, CONTEXT, TAKE, WRITE, PUT, DELETE, OVERWRITE, FETCH, VARIABLE,
       SIGNALLED, MISTAKE, BARRIER_ALL, REPLACE, WHERE };

static int mine, children[2];
static volatile sig_atomic_t signals;

static void on_signal(int number)
{
    (void)number;
    signals++;
}

/* Twice the larger one, for pvm_reduce. */
static void double_of_larger(int *type, void *x, void *y, int *count, int *info)
{
    int *a = x, *b = y;
    CHECK(*type == PVM_INT && *count == 2);
    for (int i = 0; i < *count; i++)
        a[i] = 2 * (a[i] > b[i] ? a[i] : b[i]);
    *info = PvmOk;
}

static int obey(int order)
{
    int two[2] = {5, -5}, all[6] = {0}, *list, tid, buffer;
    char folder[4096];
    switch (order) {
    case JOIN:
        return pvm_joingroup("pair");
    case QUIT_GROUP:
        return pvm_lvgroup("pair");
    case BARRIER:
        return pvm_barrier("pair", 2);
    case BARRIER_ALL:
        return pvm_barrier("pair", -1);
    case FREEZE:
        return pvm_freezegroup("pair", 2);
    case REDUCE:
        return pvm_reduce(double_of_larger, two, 2, PVM_INT, 5, "pair", 0) == 0 ? 0 : -1;
    case GATHER:
        return pvm_gather(all, two, 2, PVM_INT, 6, "pair", 0);
    case SCATTER:
        return pvm_scatter(two, all, 2, PVM_INT, 7, "pair", 0) == 0 ? two[1] : -1;
    case SIBLINGS:
        tid = pvm_siblings(&list);
        return tid == 2 && list[0] != list[1] && (list[0] == pvm_mytid() || list[1] == pvm_mytid()) ? 2 : -1;
    case CONTEXT:
        return pvm_getcontext();
    case TAKE:
        return pvm_nrecv(-1, CAST) > 0 && pvm_upkint(&tid, 1, 1) == 0 ? tid : 0;
    case WRITE:
        printf("two\nlines\n");
        return fflush(stdout);
    case PUT:
        return pvm_putinfo("children", pvm_initsend(PvmDataDefault), PvmMboxDefault);
    case OVERWRITE:
        return pvm_putinfo("parents", pvm_initsend(PvmDataDefault), PvmMboxDefault);
    case REPLACE:
        return pvm_putinfo("anybodys", pvm_initsend(PvmDataDefault), PvmMboxOverWritable | PvmMboxPersistent);
    case DELETE:
        return pvm_delinfo("parents", 0, 0);
    case FETCH:
        buffer = pvm_recvinfo("parents", 0, PvmMboxReadAndDelete);
        return buffer > 0 ? 1 : buffer;
    case VARIABLE:
        return getenv("HPVM_WALK") ? atoi(getenv("HPVM_WALK")) : -1;
    case WHERE:
        return getcwd(folder, sizeof folder) && strcmp(folder, "/usr") == 0;
    case SIGNALLED:
        return signals;
    case MISTAKE:
        pvm_setopt(PvmAutoErr, 2);
        return pvm_send(-5, 1);
    default:
        return -1;
    }
}

static int child(void)
{
    int order = 1, answer;
    signal(SIGUSR1, on_signal);
    while (order != LEAVE) {
        CHECK(pvm_recv(pvm_parent(), ORDER) > 0 && pvm_upkint(&order, 1, 1) == 0);
        answer = obey(order);
        CHECK(pvm_initsend(PvmDataDefault) > 0 && pvm_pkint(&answer, 1, 1) == 0 && pvm_send(pvm_parent(), ANSWER) == 0);
    }
    return pvm_exit();
}

static void tell(int which, int order)
{
    CHECK(pvm_initsend(PvmDataRaw) > 0 && pvm_pkint(&order, 1, 1) == 0 && pvm_send(children[which], ORDER) == 0);
}

static int answer(int which)
{
    int value;
    CHECK(pvm_recv(children[which], ANSWER) > 0 && pvm_upkint(&value, 1, 1) == 0);
    return value;
}

static int ask(int which, int order)
{
    tell(which, order);
    return answer(which);
}

/* Behind a colon the place says in which folder a task works. */
static void folders(void)
{
    char self[4096], *words[] = {"child", NULL}, *places[] = {":/usr", ".:/usr"};
    int flags[] = {PvmTaskDefault, PvmTaskHost}, other = children[0];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    CHECK(length > 0);
    self[length] = 0;
    for (int i = 0; i < 2; i++) {
        CHECK(pvm_spawn(self, words, flags[i], places[i], 1, &children[0]) == 1);
        CHECK(ask(0, WHERE) == 1 && ask(0, LEAVE) == -1);
    }
    children[0] = other;
}

/* Instances are counted from 0, and those that are free are given again. Whoever calls the barrier says the same number. */
static void groups(void)
{
    int both[2] = {3, -3}, all[6] = {0}, parts[4] = {1, 2, 3, 4}, part[2], value = 31;
    CHECK(pvm_joingroup("pair") == 0 && ask(0, JOIN) == 1 && ask(1, JOIN) == 2 && pvm_gsize("pair") == 3);
    CHECK(pvm_gettid("pair", 2) == children[1] && pvm_getinst("pair", children[0]) == 1);
    CHECK(ask(0, QUIT_GROUP) == PvmOk && pvm_gettid("pair", 1) == PvmNoInst && pvm_getinst("pair", children[0]) == PvmNotInGroup);
    CHECK(ask(0, BARRIER) == PvmNotInGroup && ask(0, JOIN) == 1 && ask(1, QUIT_GROUP) == PvmOk && pvm_gsize("pair") == 2);
    tell(0, BARRIER);
    CHECK(pvm_barrier("pair", 2) == PvmOk && answer(0) == PvmOk);
    tell(0, BARRIER_ALL);
    CHECK(pvm_barrier("pair", -1) == PvmOk && answer(0) == PvmOk);
    /* To all but the sender, who need not be a member. */
    CHECK(pvm_initsend(PvmDataDefault) > 0 && pvm_pkint(&value, 1, 1) == 0 && pvm_bcast("pair", CAST) == PvmOk);
    CHECK(pvm_nrecv(-1, CAST) == 0);
    while ((value = ask(0, TAKE)) == 0)
        ;
    CHECK(value == 31 && ask(1, TAKE) == 0);
    tell(0, REDUCE);
    CHECK(pvm_reduce(double_of_larger, both, 2, PVM_INT, 5, "pair", 0) == PvmOk && answer(0) == PvmOk);
    CHECK(both[0] == 10 && both[1] == -6);
    tell(0, GATHER);
    CHECK(pvm_gather(all, both, 2, PVM_INT, 6, "pair", 0) == PvmOk && answer(0) == PvmOk);
    CHECK(all[0] == 10 && all[1] == -6 && all[2] == 5 && all[3] == -5 && all[4] == 0);
    tell(0, SCATTER);
    CHECK(pvm_scatter(part, parts, 2, PVM_INT, 7, "pair", 0) == PvmOk && part[1] == 2 && answer(0) == 4);
}

/* All freeze it, and get its size. Who leaves a frozen group ends it: those that wait get an error, and so do all later ones. */
static void frozen_groups(void)
{
    tell(0, FREEZE);
    CHECK(pvm_freezegroup("pair", 2) == 2 && answer(0) == 2 && pvm_gsize("pair") == 2);
    CHECK(pvm_freezegroup("pair", 2) == PvmDupGroup && pvm_gettid("pair", 1) == children[0]);
    CHECK(ask(1, JOIN) < 0);
    tell(0, BARRIER);
    CHECK(pvm_barrier("pair", 2) == PvmOk && answer(0) == PvmOk);
    tell(0, BARRIER);
    /* The child waits, or will: what it is told next comes later. */
    CHECK(pvm_lvgroup("pair") == PvmOk && answer(0) == PvmNoGroup && ask(0, BARRIER) == PvmNoGroup);
    CHECK(ask(0, QUIT_GROUP) == PvmOk && pvm_gsize("pair") == PvmNoGroup);
}

/* An entry belongs to who has made it: others may read it, and delete or replace it only where it says so. */
static void mailbox(void)
{
    struct pvmmboxinfo *classes;
    int buffer, count;
    CHECK((buffer = pvm_initsend(PvmDataDefault)) > 0 && pvm_putinfo("parents", buffer, PvmMboxDefault) == 0);
    CHECK(ask(0, OVERWRITE) == PvmDenied && ask(0, DELETE) == PvmDenied && ask(0, FETCH) == PvmDenied);
    CHECK(pvm_delinfo("parents", 0, 0) == 0);
    CHECK((buffer = pvm_initsend(PvmDataDefault)) > 0 && pvm_putinfo("parents", buffer, PvmMboxOverWritable) == 0);
    CHECK(ask(0, FETCH) == 1 && pvm_recvinfo("parents", 0, 0) == PvmNotFound);
    CHECK(ask(0, PUT) == 0 && pvm_recvinfo("children", 0, 0) > 0 && pvm_delinfo("children", 0, 0) == PvmDenied);
    CHECK((buffer = pvm_initsend(PvmDataDefault)) > 0 && pvm_putinfo("anybodys", buffer, PvmMboxOverWritable) == 0);
    CHECK(ask(0, REPLACE) == 0 && pvm_getmboxinfo("anybodys", &count, &classes) == 0 && count == 1);
    CHECK(classes->mi_nentries == 1 && classes->mi_owners[0] == children[0]);
}

/* What children write goes as messages to the task and with the tag that the options say: whose, how many bytes, and those. */
static void output(void)
{
    struct timeval patience = {60, 0};
    char text[64] = "";
    int tid, length, end = 0;
    CHECK(ask(1, WRITE) == 0);
    while (!end) {
        CHECK(pvm_trecv(-1, OUTPUT, &patience) > 0 && pvm_upkint(&tid, 1, 1) == 0 && pvm_upkint(&length, 1, 1) == 0);
        if (length <= 0)
            continue;
        CHECK(tid == children[1] && (size_t)length < sizeof text - strlen(text));
        CHECK(pvm_upkbyte(text + strlen(text), length, 1) == 0);
        end = strlen(text) == strlen("two\nlines\n");
    }
    CHECK(strcmp(text, "two\nlines\n") == 0);
}

static void signals_and_ends(void)
{
    struct pvmmboxinfo *classes;
    struct timeval patience = {60, 0};
    int tid, count;
    CHECK(pvm_sendsig(children[1], SIGUSR1) == PvmOk);
    while (ask(1, SIGNALLED) == 0)
        ;
    CHECK(pvm_notify(PvmTaskExit, GONE, 2, children) == 0);
    /* A mistake ends a task where PvmAutoErr says so. */
    tell(1, MISTAKE);
    CHECK(pvm_trecv(-1, GONE, &patience) > 0 && pvm_upkint(&tid, 1, 1) == 0 && tid == children[1]);
    CHECK(pvm_pstat(children[1]) == PvmNoTask && pvm_kill(children[1]) == PvmOk);
    CHECK(ask(0, LEAVE) == -1 && pvm_trecv(-1, GONE, &patience) > 0 && pvm_upkint(&tid, 1, 1) == 0 && tid == children[0]);
    /* With a task its entries go, unless they persist: those have no owner. */
    CHECK(pvm_recvinfo("children", 0, 0) == PvmNotFound);
    CHECK(pvm_getmboxinfo("anybodys", &count, &classes) == 0 && count == 1 && classes->mi_owners[0] == 0);
    CHECK(pvm_delinfo("anybodys", 0, 0) == 0);
}

int main(int argc, char **argv)
{
    int context, i;
    (void)argv;
    if (argc > 1) {
        pvm_setopt(PvmAutoErr, 0);
        return child();
    }
    CHECK((mine = pvm_mytid()) > 0);
    pvm_setopt(PvmAutoErr, 0);
    setenv("HPVM_WALK", "42", 1);
    CHECK(pvm_export("HPVM_WALK") == PvmOk && pvm_export("HPVM_WALK") == PvmOk && pvm_export("TERM") == PvmOk);
    CHECK(pvm_unexport("TERM") == PvmOk && strstr(getenv("PVM_EXPORT"), "HPVM_WALK") && !strstr(getenv("PVM_EXPORT"), "TERM"));
    pvm_setopt(PvmOutputTid, mine);
    pvm_setopt(PvmOutputCode, OUTPUT);
    /* Children are in the context in which they were spawned, and hear nothing of another one. */
    CHECK((context = pvm_newcontext()) > 0 && pvm_setcontext(context) == 0);
    pvm_setopt(PvmOutputContext, context);
    start("child", 2, children);
    for (i = 0; i < 2; i++)
        CHECK(ask(i, SIBLINGS) == 2 && ask(i, CONTEXT) == context && ask(i, VARIABLE) == 42);
    CHECK(pvm_setcontext(0) == context && pvm_initsend(PvmDataDefault) > 0 && pvm_pkint(&i, 1, 1) == 0);
    CHECK(pvm_send(children[0], CAST) == 0 && pvm_setcontext(context) == 0 && ask(0, TAKE) == 0);
    folders();
    groups();
    frozen_groups();
    mailbox();
    output();
    signals_and_ends();
    CHECK(pvm_freecontext(context) == PvmOk && pvm_exit() == PvmOk);
    printf("No errors\n");
    return 0;
}
