/* What a message is the cause of comes behind it, also from another task: one task sends to this one and then to a third task, which sends
 * to this one when it has received that. Programs of several workers rely on it that receive from whomever. */
#include "check.h"

enum { ROUNDS = 3000, WORKERS = 3, CAUSE = 1, GO = 2, EFFECT = 3, NEXT = 4 };

static int numbers[2];

static void send_numbers(int to, int tag, int round, int bytes)
{
    static char filling[100000];
    pvm_initsend(PvmDataRaw);
    numbers[0] = round;
    CHECK(pvm_pkint(numbers, 1, 1) == 0 && pvm_pkbyte(filling, bytes, 1) == 0);
    CHECK(pvm_send(to, tag) == 0);
}

static void receive(int from, int tag, int round)
{
    CHECK(pvm_recv(from, tag) > 0 && pvm_upkint(numbers, 1, 1) == 0);
    CHECK(numbers[0] == round);
}

/* In each round another worker is the first; the others answer to it. */
static void work(int me, const int *workers)
{
    for (int round = 0; round < ROUNDS; round++) {
        int first = round % WORKERS;
        if (workers[first] == me) {
            send_numbers(pvm_parent(), CAUSE, round, round % 7 ? 8 : 100000);
            for (int i = 0; i < WORKERS; i++)
                if (i != first)
                    send_numbers(workers[i], GO, round, 8);
        } else {
            receive(workers[first], GO, round);
            send_numbers(pvm_parent(), EFFECT, round, 8);
        }
        receive(pvm_parent(), NEXT, round);
    }
}

int main(int argc, char **argv)
{
    int workers[WORKERS], late = 0, tag;
    (void)argv;
    if (is_child(argc)) {
        CHECK(pvm_recv(pvm_parent(), 0) > 0 && pvm_upkint(workers, WORKERS, 1) == 0);
        work(pvm_mytid(), workers);
        pvm_exit();
        return 0;
    }
    start("worker", WORKERS, workers);
    pvm_initsend(PvmDataRaw);
    pvm_pkint(workers, WORKERS, 1);
    CHECK(pvm_mcast(workers, WORKERS, 0) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < WORKERS; i++) {
            int number = pvm_recv(-1, -1);
            CHECK(number > 0 && pvm_bufinfo(number, NULL, &tag, NULL) == 0);
            late += (tag == CAUSE) != (i == 0);
        }
        pvm_initsend(PvmDataRaw);
        pvm_pkint(&round, 1, 1);
        CHECK(pvm_mcast(workers, WORKERS, NEXT) == 0);
    }
    pvm_exit();
    if (late)
        printf("%d messages came before their cause, or behind their effect\n", late);
    else
        printf("No errors\n");
    return late != 0;
}
