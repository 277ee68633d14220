/* Ports and names (MPI 5.0, section 11.9): two halves of the world connect by a port, several times; wrong ports and names. */
#include "check.h"
#include <stdio.h>
#include <string.h>

static void talk(MPI_Comm inter, int rank)
{
    int remote, got = -1;
    CHECK_MPI(MPI_Comm_remote_size(inter, &remote));
    CHECK_MPI(MPI_Sendrecv(&rank, 1, MPI_INT, rank % remote, 0, &got, 1, MPI_INT, MPI_ANY_SOURCE, 0, inter, MPI_STATUS_IGNORE));
    int sum = 0, one = 1;
    CHECK_MPI(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
    CHECK_EQ(sum, remote);
}

static void wrong_ones(void)
{
    MPI_Comm inter = MPI_COMM_NULL;
    char port[MPI_MAX_PORT_NAME], closed[MPI_MAX_PORT_NAME];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Comm_connect("rubbish", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Comm_accept("rubbish", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Close_port("rubbish"), MPI_ERR_PORT);
    CHECK_MPI(MPI_Open_port(MPI_INFO_NULL, closed));
    CHECK_MPI(MPI_Close_port(closed));
    CHECK_CLASS(MPI_Close_port(closed), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Comm_connect(closed, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Comm_accept(closed, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    CHECK(inter == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Lookup_name("a name that nobody publishes", MPI_INFO_NULL, port), MPI_ERR_NAME);
    CHECK_CLASS(MPI_Unpublish_name("a name that nobody publishes", MPI_INFO_NULL, closed), MPI_ERR_SERVICE);
}

/* A name that was changed on its way leads nowhere, and nobody waits for the port that it does not name any more. */
static void changed_names(void)
{
    MPI_Comm inter = MPI_COMM_NULL;
    char port[MPI_MAX_PORT_NAME];
    CHECK_MPI(MPI_Open_port(MPI_INFO_NULL, port));
    for (size_t i = 0; i < strlen(port); i++) {
        char kept = port[i];
        port[i] = kept == '0' ? '1' : '0';
        CHECK_CLASS(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
        CHECK_CLASS(MPI_Close_port(port), MPI_ERR_PORT);
        port[i] = kept;
    }
    CHECK(inter == MPI_COMM_NULL);
    CHECK_MPI(MPI_Close_port(port));
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    wrong_ones();
    changed_names();
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char port[MPI_MAX_PORT_NAME] = "", service[100], found[MPI_MAX_PORT_NAME];
    if (rank == 0) {
        CHECK_MPI(MPI_Open_port(MPI_INFO_NULL, port));
        snprintf(service, sizeof service, "dyn_ports %s", port + strlen(port) - 10);
        CHECK_MPI(MPI_Publish_name(service, MPI_INFO_NULL, port));
        CHECK_CLASS(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    }
    MPI_Bcast(service, sizeof service, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK_MPI(MPI_Lookup_name(service, MPI_INFO_NULL, found));
    MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
    CHECK(strcmp(port, found) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        CHECK_MPI(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
    /* The halves, whose processes know each other already. */
    MPI_Comm half, inter;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    int mine;
    MPI_Comm_rank(half, &mine);
    for (int round = 0; size > 1 && round < 3; round++) {
        if (rank % 2 == 0)
            CHECK_MPI(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
        else
            CHECK_MPI(MPI_Comm_connect(found, MPI_INFO_NULL, 0, half, &inter));
        if (size % 2 == 0)
            talk(inter, mine);
        CHECK_MPI(MPI_Comm_disconnect(&inter));
    }
    if (rank == 0)
        CHECK_MPI(MPI_Close_port(port));
    MPI_Comm_free(&half);
    check_finish();
    return 0;
}
