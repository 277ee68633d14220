/* Tasks on all hosts of a virtual machine, two on each: those of the arguments behind the first are added. Each task sends to each other in
   rounds, until the task that was started by hand has said enough; all is checked. When half of the rounds are over it says "half" and
   waits for a line, while the rounds go on. The first argument tells what follows:
     straight  it does not wait, and all end
     cable     all end
     task      the last task is killed as by `kill -9`, for which all others wait in pvm_recv
     host      the process of its host is killed
     lost      the same, but by whoever reads "all wait"
     machine   the process of the first host is killed, and all tasks wait for a message that nobody sends */
#include "check.h"

enum { NAMES = 1, ROUND, HALF, ENOUGH, DONE, GONE, LOST, WAITING, AGAIN, NEVER };
enum { HALFWAY = 20, MOST = 64, LENGTHS = 5 };

static int tids[MOST], count, mine = -1;
static char group[] = "all of them";
static const int lengths[LENGTHS] = {0, 7, 2000, 40000, 300000};

static char byte(int from, int round, int at)
{
    return (char)(from * 31 + round * 7 + at);
}

static int length_of(int from, int to, int round)
{
    return lengths[(from + to + round) % LENGTHS];
}

/* To all tasks and from all tasks, those behind `alive` left out. Says whether the first one told that it is the last round. */
static int exchange(int round, int last, int alive)
{
    static char bytes[300000];
    int i, k, number, length, over = last;
    for (i = 0; i < alive; i++) {
        if (i == mine)
            continue;
        length = length_of(mine, i, round);
        for (k = 0; k < length; k++)
            bytes[k] = byte(mine, round, k);
        CHECK(pvm_initsend(PvmDataDefault) > 0);
        CHECK(pvm_pkint(&round, 1, 1) == 0 && pvm_pkint(&last, 1, 1) == 0);
        CHECK(pvm_pkbyte(bytes, length, 1) == 0 && pvm_send(tids[i], ROUND) == 0);
    }
    for (i = 0; i < alive; i++) {
        if (i == mine)
            continue;
        CHECK(pvm_recv(tids[i], ROUND) > 0);
        CHECK(pvm_upkint(&number, 1, 1) == 0 && number == round);
        CHECK(pvm_upkint(&number, 1, 1) == 0);
        over |= i == 0 && number;
        length = length_of(i, mine, round);
        CHECK(pvm_upkbyte(bytes, length, 1) == 0);
        for (k = 0; k < length && bytes[k] == byte(i, round, k); k++)
            ;
        CHECK(k == length);
    }
    return over;
}

static void tell(int tid, int tag, int number)
{
    CHECK(pvm_initsend(PvmDataDefault) > 0);
    CHECK(pvm_pkint(&number, 1, 1) == 0 && pvm_send(tid, tag) == 0);
}

static int told(int tid, int tag)
{
    int number;
    CHECK(pvm_recv(tid, tag) > 0 && pvm_upkint(&number, 1, 1) == 0);
    return number;
}

/* Group functions of all tasks and the first; number 0 of the group has the results. */
static void together(int member)
{
    int numbers[2] = {member, 1}, every[MOST + 1], i, all = count + 1;
    CHECK(pvm_gsize(group) == all && pvm_gettid(group, member) == pvm_mytid());
    CHECK(pvm_gather(every, &member, 1, PVM_INT, DONE, group, 0) == 0);
    for (i = 0; member == 0 && i < all; i++)
        CHECK(every[i] == i);
    CHECK(pvm_reduce(PvmSum, numbers, 2, PVM_INT, DONE, group, 0) == 0);
    if (member == 0)
        CHECK(numbers[0] == count * all / 2 && numbers[1] == all);
    CHECK(pvm_barrier(group, all) == 0);
}

/* How many tasks are behind those that stay: those of the last host, or the last one. */
static int leaving(char *how)
{
    return !strcmp(how, "task") ? 1 : !strcmp(how, "host") || !strcmp(how, "lost") ? 2 : 0;
}

/* The word comes of what is killed, once for each. */
static void hear(char *how)
{
    int gone = leaving(how), i, heard, seen[2] = {0, 0};
    for (i = 0; i < gone; i++) {
        heard = told(-1, GONE);
        CHECK(heard == tids[count - 1] || (gone == 2 && heard == tids[count - 2]));
        seen[heard == tids[count - 1]]++;
    }
    CHECK(seen[1] == (gone > 0) && seen[0] == (gone == 2));
    if (gone == 2)
        CHECK(told(-1, LOST) == pvm_tidtohost(tids[count - 1]));
    CHECK(pvm_probe(-1, GONE) == 0 && pvm_probe(-1, LOST) == 0);
}

static void ask(char *how)
{
    int gone = leaving(how), host = pvm_tidtohost(tids[count - 1]);
    if (gone > 0)
        CHECK(pvm_notify(PvmTaskExit, GONE, gone, tids + count - gone) == 0);
    if (gone == 2)
        CHECK(pvm_notify(PvmHostDelete, LOST, 1, &host) == 0);
}

static int child(char *how)
{
    int parent = pvm_parent(), round, member, over = 0, enough = 0;
    CHECK(pvm_recv(parent, NAMES) > 0 && pvm_upkint(&count, 1, 1) == 0 && pvm_upkint(tids, count, 1) == 0);
    while (tids[++mine] != pvm_mytid())
        ;
    CHECK((member = pvm_joingroup(group)) > 0 && pvm_barrier(group, count + 1) == 0);
    for (round = 0; !over; round++) {
        if (mine == 0 && round == HALFWAY)
            tell(parent, HALF, round);
        enough |= mine == 0 && round > HALFWAY && pvm_nrecv(parent, ENOUGH) > 0;
        over = exchange(round, enough, count);
    }
    together(member);
    tell(parent, DONE, round);
    ask(how);
    tell(parent, WAITING, 0);
    /* The others have asked for the word of our end when we are told to go on. */
    if (mine >= count - leaving(how))
        CHECK(pvm_recv(parent, AGAIN) > 0);
    if (mine == count - 1 && !strcmp(how, "task"))
        raise(SIGKILL);
    if (mine == count - 1 && !strcmp(how, "host"))
        signal_machine(SIGKILL);
    if (mine >= count - leaving(how) || !strcmp(how, "machine"))
        pvm_recv(-1, NEVER);
    hear(how);
    exchange(round, 1, count - leaving(how));
    tell(parent, DONE, round);
    return pvm_exit();
}

/* Two tasks on each of the hosts. */
static void spawn(char *how, int hosts)
{
    int i, k, on;
    start(how, count = 2 * hosts, tids);
    for (i = 0; i < count; i++) {
        for (on = k = 0; k < count; k++)
            on += pvm_tidtohost(tids[k]) == pvm_tidtohost(tids[i]);
        CHECK(on == 2);
    }
}

/* Tasks of the last host behind all others, whichever host the first task was started on. */
static void put_last(int dtid)
{
    int i, k, tid;
    for (i = k = 0; i < count; i++)
        if (pvm_tidtohost(tids[i]) != dtid)
            tid = tids[i], tids[i] = tids[k], tids[k++] = tid;
    CHECK(k == count - 2);
}

static int first(char *how, char **names, int more)
{
    int infos[MOST], rounds, i, stay;
    char line[16];
    CHECK(pvm_addhosts(names, more, infos) == more);
    spawn(how, more + 1);
    put_last(infos[more - 1]);
    CHECK(pvm_joingroup(group) == 0);
    CHECK(pvm_initsend(PvmDataDefault) > 0 && pvm_pkint(&count, 1, 1) == 0 && pvm_pkint(tids, count, 1) == 0);
    CHECK(pvm_mcast(tids, count, NAMES) == 0 && pvm_barrier(group, count + 1) == 0);
    CHECK(told(tids[0], HALF) == HALFWAY);
    if (!strcmp(how, "cable")) {
        printf("half\n");
        fflush(stdout);
        CHECK(fgets(line, sizeof line, stdin));
    }
    tell(tids[0], ENOUGH, 0);
    together(0);
    rounds = told(tids[0], DONE);
    for (i = 1; i < count; i++)
        CHECK(told(tids[i], DONE) == rounds);
    ask(how);
    for (i = 0; i < count; i++)
        told(tids[i], WAITING);
    stay = count - leaving(how);
    for (i = stay; i < count; i++)
        tell(tids[i], AGAIN, 0);
    if (!strcmp(how, "lost")) {
        printf("all wait\n");
        fflush(stdout);
    }
    if (!strcmp(how, "machine")) {
        signal_machine(SIGKILL);
        pvm_recv(-1, NEVER);
        return 1;
    }
    hear(how);
    for (i = 0; i < stay; i++)
        CHECK(told(tids[i], DONE) == rounds);
    for (i = stay; i < count; i++)
        CHECK(pvm_pstat(tids[i]) == PvmNoTask);
    CHECK(pvm_mstat(names[more - 1]) == (leaving(how) == 2 ? PvmNoHost : PvmOk));
    printf("No errors\n");
    return pvm_exit();
}

int main(int argc, char **argv)
{
    CHECK(pvm_mytid() > 0);
    /* A word that nobody asked for is told by what is missing, not on standard error. */
    pvm_setopt(PvmAutoErr, 0);
    if (pvm_parent() > 0)
        return child(argv[1]);
    CHECK(argc > 2 && argc - 1 <= MOST / 2);
    return first(argv[1], argv + 2, argc - 2);
}
