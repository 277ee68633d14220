/* Messages of a task come in the order in which they were sent, whichever calls send and receive them, of whichever lengths, and however
 * short the room for them is. Each receive must get the oldest message of its sender that it accepts. */
#include "check.h"

enum { TASKS = 3, MESSAGES = 1500, TAGS = 3, MOST = 40000 };

static unsigned next(unsigned *state)
{
    *state = *state * 1103515245 + 12345;
    return *state >> 16;
}

/* The tag and the number of ints of each message of a task, by its number. */
static void plan(int task, int *tags, int *lengths)
{
    unsigned state = task * 7919 + 17;
    for (int i = 0; i < MESSAGES; i++) {
        tags[i] = 1 + next(&state) % TAGS;
        unsigned kind = next(&state) % 16, size = next(&state);
        lengths[i] = 1 + (kind == 0 ? size % MOST : kind < 4 ? size % 3000 : size % 30);
    }
}

static void sender(int task)
{
    static int tags[MESSAGES], lengths[MESSAGES], data[MOST + 1];
    int parent = pvm_parent();
    unsigned state = task;
    plan(task, tags, lengths);
    data[1] = task;
    for (int i = 0; i < MESSAGES; i++) {
        data[0] = i;
        if (next(&state) % 16 == 0)
            usleep(200); /* so that the receiver waits */
        if (next(&state) % 2) {
            CHECK(pvm_psend(parent, tags[i], data, lengths[i], PVM_INT) == 0);
        } else {
            CHECK(pvm_initsend(next(&state) % 2 ? PvmDataRaw : PvmDataDefault) > 0);
            CHECK(pvm_pkint(data, lengths[i], 1) == 0 && pvm_send(parent, tags[i]) == 0);
        }
    }
    CHECK(pvm_recv(parent, 99) > 0);
}

/* What has been received of each task. */
static int tags[TASKS][MESSAGES], lengths[TASKS][MESSAGES];
static char received[TASKS][MESSAGES];

/* The receive with this tag (-1: any) has got message `number` of a task, of so many bytes. */
static void check(int task, int tag, int got_tag, int number, int bytes)
{
    CHECK(number >= 0 && number < MESSAGES && !received[task][number]);
    CHECK(got_tag == tags[task][number] && bytes == (int)(lengths[task][number] * sizeof(int)));
    for (int i = 0; i < number; i++)
        CHECK(received[task][i] || (tag != -1 && tags[task][i] != tag));
    received[task][number] = 1;
}

static int which(const int *tids, int tid)
{
    for (int i = 0; i < TASKS; i++)
        if (tids[i] == tid)
            return i;
    CHECK(!"a message of a child");
    return -1;
}

/* How many messages with this tag, -1 for all, a task (-1: all tasks) has sent that were not received. */
static int left(int task, int tag)
{
    int count = 0;
    for (int t = 0; t < TASKS; t++)
        for (int i = 0; i < MESSAGES; i++)
            count += (task == -1 || task == t) && (tag == -1 || tags[t][i] == tag) && !received[t][i];
    return count;
}

static void receive(const int *tids, unsigned *state)
{
    static int data[MOST + 1];
    int task = (int)(next(state) % (TASKS + 1)) - 1, tag = next(state) % 2 ? -1 : 1 + (int)(next(state) % TAGS);
    int from = task == -1 ? -1 : tids[task], tid, got, bytes, buffer;
    if (left(task, tag) == 0)
        return;
    if (next(state) % 16 == 0)
        usleep(200); /* so that several wait for it */
    switch (next(state) % 3) {
    case 0: /* often too short */
        CHECK(pvm_precv(from, tag, data, 1 + next(state) % 64, PVM_INT, &tid, &got, &bytes) == 0);
        break;
    case 1: /* long enough */
        CHECK(pvm_precv(from, tag, data, MOST + 1, PVM_INT, &tid, &got, &bytes) == 0);
        break;
    default:
        buffer = next(state) % 2 ? pvm_recv(from, tag) : pvm_nrecv(from, tag);
        if (buffer == 0)
            return;
        CHECK(buffer > 0 && pvm_bufinfo(buffer, &bytes, &got, &tid) == 0 && pvm_upkint(data, 1, 1) == 0);
    }
    CHECK(from == -1 || from == tid);
    check(which(tids, tid), tag, got, data[0], bytes);
}

int main(int argc, char **argv)
{
    int tids[TASKS];
    unsigned state = 1;
    if (is_child(argc)) {
        sender(atoi(argv[1]));
        pvm_exit();
        return 0;
    }
    for (int i = 0; i < TASKS; i++) {
        char number[8];
        sprintf(number, "%d", i);
        start(number, 1, &tids[i]);
        plan(i, tags[i], lengths[i]);
    }
    while (left(-1, -1) > 0)
        for (int i = 0; i < 200; i++)
            receive(tids, &state);
    CHECK(pvm_nrecv(-1, -1) == 0);
    pvm_initsend(PvmDataDefault);
    CHECK(pvm_mcast(tids, TASKS, 99) == 0);
    pvm_exit();
    printf("No errors\n");
    return 0;
}
