/* Jobs that spawn and meet others, for tests of how they end.
 *
 *   dynamic MODE [NAME]
 *
 * Two processes spawn two more. Then
 *   hang          all wait for a message that never comes, connected
 *   abort         a child calls MPI_Abort(7) while its parents wait
 *   abort-0       the same with 0
 *   busy          a child is killed while its parents compute
 *   apart-fails   after disconnecting a child ends with code 3; the parents go on
 *   apart-ends    after disconnecting the parents end; the children go on
 *   storm         messages between all of them, for ever
 *   ring          messages of all sizes between all of them; then they disconnect
 *   universe      all of them say MPI_UNIVERSE_SIZE and their host; then they disconnect
 *   wait          all wait; the children say so
 * on the hosts of the info key DYNAMIC_KEY, whose value is DYNAMIC_HOSTS, if they are set.
 * meet NAME, join NAME: two jobs meet by a published name, and wait; part NAME, leave NAME: they
 * disconnect, and the second one fails. A NAME with a slash is a file that holds the port.
 * names NAME: the last process publishes it, and all look it up, try to take it over, and see that it is gone.
 * free NAME: says whether nobody has published it. look NAME: says what MPI_Lookup_name says.
 * keep NAME: publishes it and looks for another one for ever, whatever is answered.
 * stranger NAME: connects with a wrong secret, which is an error, and says so. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;

static int is(const char *mode, const char *name)
{
    return strcmp(mode, name) == 0;
}

static void say(const char *text)
{
    printf("%s\n", text);
    fflush(stdout);
}

static void wait_for_nothing(void)
{
    int never;
    MPI_Recv(&never, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void storm(MPI_Comm inter, int high)
{
    enum { LONG = 100000 };
    static int out[LONG], in[LONG];
    MPI_Comm all;
    int me, size;
    MPI_Intercomm_merge(inter, high, &all);
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &size);
    for (int turn = 0;; turn++) {
        int n = turn % 5 == 0 ? LONG : 10, sum;
        MPI_Sendrecv(out, n, MPI_INT, (me + 1) % size, 0, in, n, MPI_INT, (me + size - 1) % size, 0, all, MPI_STATUS_IGNORE);
        MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all);
        if (turn == 10 && me == 0)
            say("ready");
    }
}

static void ring(MPI_Comm inter, int high)
{
    enum { LONG = 300000 };
    static int out[LONG], in[LONG];
    MPI_Comm all;
    int me, size, sum;
    MPI_Intercomm_merge(inter, high, &all);
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &size);
    int before = (me + size - 1) % size;
    for (int n = 1; n <= LONG; n *= 8) {
        for (int i = 0; i < n; i++)
            out[i] = me + i;
        MPI_Sendrecv(out, n, MPI_INT, (me + 1) % size, 0, in, n, MPI_INT, before, 0, all, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++)
            if (in[i] != before + i)
                MPI_Abort(MPI_COMM_WORLD, 9);
    }
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all);
    if (sum != size * (size - 1) / 2)
        MPI_Abort(MPI_COMM_WORLD, 8);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
    char host[100], line[150];
    gethostname(host, sizeof host);
    snprintf(line, sizeof line, "done, %d on %s", size, host);
    say(line);
}

static void universe(const char *who, MPI_Comm inter)
{
    int *size, known;
    char host[100], line[200];
    gethostname(host, sizeof host);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &size, &known);
    snprintf(line, sizeof line, "%s on %s: %d", who, host, known ? *size : -1);
    say(line);
    MPI_Comm_disconnect(&inter);
}

static void child(const char *mode, MPI_Comm parent)
{
    if (is(mode, "universe")) {
        universe("child", parent);
        return;
    }
    if (strncmp(mode, "apart", 5) == 0)
        MPI_Comm_disconnect(&parent);
    if (is(mode, "storm"))
        storm(parent, 1);
    if (is(mode, "ring")) {
        ring(parent, 1);
        return;
    }
    if (is(mode, "wait") && rank == 0)
        say("children wait");
    if (is(mode, "abort") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (is(mode, "abort-0") && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 0);
    if (is(mode, "busy") && rank == 1)
        raise(SIGKILL);
    if (is(mode, "apart-fails"))
        exit(3); /* at once: others of the job may still be in MPI_Comm_disconnect */
    if (is(mode, "apart-ends")) {
        sleep(1); /* past the time that the launcher gives to what ranks leave behind */
        say("a child is still here");
        return;
    }
    wait_for_nothing();
}

static void parent(const char *program, char **arguments)
{
    const char *mode = arguments[0];
    MPI_Comm children;
    MPI_Info info;
    MPI_Info_create(&info);
    if (getenv("DYNAMIC_KEY"))
        MPI_Info_set(info, getenv("DYNAMIC_KEY"), getenv("DYNAMIC_HOSTS"));
    MPI_Comm_spawn(program, arguments, 2, info, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
    MPI_Info_free(&info);
    if (is(mode, "universe")) {
        universe("parent", children);
        return;
    }
    if (is(mode, "ring")) {
        ring(children, 0);
        return;
    }
    if (strncmp(mode, "apart", 5) == 0)
        MPI_Comm_disconnect(&children);
    if (is(mode, "storm"))
        storm(children, 0);
    if (rank == 0)
        say("ready");
    if (is(mode, "apart-fails")) {
        sleep(2);
        say("a parent is still here");
        return;
    }
    if (is(mode, "apart-ends"))
        return;
    while (is(mode, "busy"))
        sleep(1);
    wait_for_nothing();
}

static void publish(const char *name, const char *port)
{
    if (!strchr(name, '/')) {
        MPI_Publish_name(name, MPI_INFO_NULL, port);
        return;
    }
    FILE *file = fopen(name, "w");
    fputs(port, file);
    fclose(file);
}

static void look_up(const char *name, char *port)
{
    if (!strchr(name, '/')) {
        MPI_Lookup_name(name, MPI_INFO_NULL, port);
        return;
    }
    FILE *file = fopen(name, "r");
    if (!file || !fgets(port, MPI_MAX_PORT_NAME, file))
        MPI_Abort(MPI_COMM_WORLD, 5);
    fclose(file);
}

static void stranger(const char *name)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm other;
    int class;
    look_up(name, port);
    /* The secret follows the second number. */
    char *secret = strchr(strchr(strchr(port, ':') + 1, ':') + 1, ':') + 1;
    *secret = *secret == '0' ? '1' : '0';
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other), &class);
    say(class == MPI_ERR_PORT ? "refused" : "not refused");
}

static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void names(const char *name)
{
    char port[MPI_MAX_PORT_NAME], found[MPI_MAX_PORT_NAME];
    int size, last, bad = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    last = rank == size - 1;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (last) {
        MPI_Open_port(MPI_INFO_NULL, port);
        bad |= MPI_Publish_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS;
    }
    MPI_Bcast(port, sizeof port, MPI_CHAR, size - 1, MPI_COMM_WORLD);
    bad |= MPI_Lookup_name(name, MPI_INFO_NULL, found) != MPI_SUCCESS || strcmp(found, port) != 0;
    bad |= class_of(MPI_Publish_name(name, MPI_INFO_NULL, "another")) != MPI_ERR_SERVICE;
    if (!last)
        bad |= class_of(MPI_Unpublish_name(name, MPI_INFO_NULL, port)) != MPI_ERR_SERVICE;
    MPI_Barrier(MPI_COMM_WORLD);
    if (last)
        bad |= MPI_Unpublish_name(name, MPI_INFO_NULL, port) != MPI_SUCCESS;
    MPI_Barrier(MPI_COMM_WORLD);
    bad |= class_of(MPI_Lookup_name(name, MPI_INFO_NULL, found)) != MPI_ERR_NAME;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        bad |= MPI_Publish_name(name, MPI_INFO_NULL, "free again") != MPI_SUCCESS;
        bad |= MPI_Unpublish_name(name, MPI_INFO_NULL, "free again") != MPI_SUCCESS;
    }
    /* MPI_Lookup_name could not give it back. */
    char longer[MPI_MAX_PORT_NAME + 1];
    memset(longer, 'p', MPI_MAX_PORT_NAME);
    longer[MPI_MAX_PORT_NAME] = 0;
    bad |= class_of(MPI_Publish_name("with a long port", MPI_INFO_NULL, longer)) != MPI_ERR_PORT;
    say(bad ? "names: wrong" : "names: well");
}

static void is_free(const char *name)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int class = class_of(MPI_Lookup_name(name, MPI_INFO_NULL, port));
    int other = class_of(MPI_Publish_name(name, MPI_INFO_NULL, "another"));
    say(class == MPI_ERR_NAME && other == MPI_SUCCESS ? "free" : class == MPI_SUCCESS && other == MPI_ERR_SERVICE ? "taken" : "wrong");
}

static void look(const char *name)
{
    char port[MPI_MAX_PORT_NAME], text[MPI_MAX_ERROR_STRING] = "found";
    int length;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int code = MPI_Lookup_name(name, MPI_INFO_NULL, port);
    if (code != MPI_SUCCESS)
        MPI_Error_string(code, text, &length);
    say(text);
}

static void keep(const char *name)
{
    char port[MPI_MAX_PORT_NAME];
    publish(name, "kept");
    say("published");
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (;;) {
        MPI_Lookup_name("of nobody", MPI_INFO_NULL, port);
        usleep(50000);
    }
}

static void meet(const char *mode, const char *name)
{
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm other;
    if (is(mode, "meet") || is(mode, "part")) {
        if (rank == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            publish(name, port);
            say("published");
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    } else {
        if (rank == 0)
            look_up(name, port);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
    }
    MPI_Barrier(other);
    if (rank == 0)
        say("ready");
    if (is(mode, "part") || is(mode, "leave")) {
        MPI_Comm_disconnect(&other);
        if (is(mode, "leave"))
            exit(3);
        sleep(1);
        return;
    }
    wait_for_nothing();
}

int main(int argc, char **argv)
{
    MPI_Comm parents;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parents);
    if (parents != MPI_COMM_NULL)
        child(argv[1], parents);
    else if (argc > 2 && is(argv[1], "stranger"))
        stranger(argv[2]);
    else if (argc > 2 && is(argv[1], "names"))
        names(argv[2]);
    else if (argc > 2 && is(argv[1], "keep"))
        keep(argv[2]);
    else if (argc > 2 && is(argv[1], "look"))
        look(argv[2]);
    else if (argc > 2 && is(argv[1], "free")) {
        if (rank == 0)
            is_free(argv[2]);
    }
    else if (argc > 2)
        meet(argv[1], argv[2]);
    else
        parent(argv[0], argv + 1);
    MPI_Finalize();
    return 0;
}
