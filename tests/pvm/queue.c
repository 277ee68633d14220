/* Messages that nobody receives, with room for 2 MiB of them (HPVM_PVM_QUEUE=2m). */
#include "check.h"

#define LENGTH 100000
#define COUNT 100

static char data[LENGTH];

static int send_one(int to, int tag)
{
    return pvm_psend(to, tag, data, LENGTH, PVM_BYTE);
}

static int receive_one(int from, int tag)
{
    int source, got_tag, length;
    return pvm_precv(from, tag, data, LENGTH, PVM_BYTE, &source, &got_tag, &length);
}

/* Sends COUNT messages; where there is no room, takes one of those that wait here first. Returns how many it has taken. */
static int send_all(int to)
{
    int i, sent, taken = 0;
    for (i = 0; i < COUNT; i++) {
        while ((sent = send_one(to, 5)) == PvmNoMem) {
            CHECK(receive_one(to, 5) == 0);
            taken++;
        }
        CHECK(sent == 0);
    }
    return taken;
}

static void exchange(int with)
{
    int taken = send_all(with);
    while (taken++ < COUNT)
        CHECK(receive_one(with, 5) == 0);
}

static void child(char *what)
{
    int i, parent = pvm_parent();
    if (strcmp(what, "late") == 0) {
        usleep(200000);
        for (i = 0; i < COUNT; i++)
            CHECK(receive_one(parent, 1) == 0);
        CHECK(send_one(parent, 2) == 0);
    } else if (strcmp(what, "flood") == 0) {
        for (i = 0; i < COUNT; i++)
            CHECK(send_one(parent, 3) == 0);
        CHECK(send_one(parent, 4) == 0);
    } else if (strcmp(what, "exchange") == 0) {
        exchange(parent);
    } else {
        usleep(300000);
        kill(getpid(), SIGKILL);
    }
}

int main(int argc, char **argv)
{
    int to, i;
    if (is_child(argc)) {
        pvm_setopt(PvmAutoErr, 0);
        child(argv[1]);
        return pvm_exit();
    }
    pvm_setopt(PvmAutoErr, 0);

    /* To ourselves: nobody could take them while we wait. */
    for (i = 0; i < COUNT && send_one(pvm_mytid(), 9) == 0; i++)
        ;
    CHECK(i == 21 && send_one(pvm_mytid(), 9) == PvmNoMem);
    while (i-- > 0)
        CHECK(receive_one(pvm_mytid(), 9) == 0);
    CHECK(pvm_probe(-1, -1) == 0);

    /* To one that computes: the sender waits until it receives. */
    start("late", 1, &to);
    for (i = 0; i < COUNT; i++)
        CHECK(send_one(to, 1) == 0);
    CHECK(receive_one(to, 2) == 0);

    /* What is wanted lies behind more than there is room for. */
    start("flood", 1, &to);
    CHECK(receive_one(to, 4) == PvmNoMem);
    for (i = 0; i < COUNT; i++)
        CHECK(receive_one(to, 3) == 0);
    CHECK(receive_one(to, 4) == 0);

    /* Both send before they receive. */
    start("exchange", 1, &to);
    exchange(to);

    /* The receiver dies while the sender waits for it. */
    start("die", 1, &to);
    for (i = 0; i < COUNT; i++)
        CHECK(send_one(to, 1) == 0);
    CHECK(pvm_exit() == 0);
    printf("No errors\n");
    return 0;
}
