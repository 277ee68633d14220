/* MPI 5.0, 15.3.5 to 15.3.9: handles of control and performance variables, counting, reset, levels,
 * enumerations, categories that hold every variable, and the errors of wrong indices and handles.
 * With the argument "hpvm" also that this library's own variables tell the truth. */
#include "check.h"

/* Sends `n` messages of one byte to the own rank and receives them. */
static void traffic(int n)
{
    char byte = 0;
    for (int i = 0; i < n; i++) {
        CHECK_MPI(MPI_Send(&byte, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF));
        CHECK_MPI(MPI_Recv(&byte, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    }
}

static void controls(void)
{
    int n = -1, count = -1;
    MPI_T_cvar_handle handle;
    CHECK_MPI(MPI_T_cvar_get_num(&n));
    CHECK_EQ(MPI_T_cvar_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
             MPI_T_ERR_INVALID_INDEX);
    CHECK_EQ(MPI_T_cvar_handle_alloc(-1, NULL, &handle, &count), MPI_T_ERR_INVALID_INDEX);
    for (int i = 0; i < n; i++) {
        int length = 0, bind = -1;
        MPI_T_enum items = MPI_T_ENUM_NULL;
        char name[4];
        CHECK_MPI(MPI_T_cvar_get_info(i, NULL, &length, NULL, NULL, &items, NULL, NULL, &bind, NULL));
        CHECK(length > 1);
        length = sizeof name;
        CHECK_MPI(MPI_T_cvar_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        CHECK(strlen(name) < sizeof name);
        if (items != MPI_T_ENUM_NULL) {
            int number = 0, value = -1;
            CHECK_MPI(MPI_T_enum_get_info(items, &number, NULL, NULL));
            CHECK(number > 0);
            CHECK_MPI(MPI_T_enum_get_item(items, number - 1, &value, NULL, NULL));
            CHECK_EQ(MPI_T_enum_get_item(items, number, &value, NULL, NULL), MPI_T_ERR_INVALID_ITEM);
        }
        if (bind != MPI_T_BIND_NO_OBJECT)
            continue;
        union {
            unsigned long long number;
            char text[4096];
        } value;
        CHECK_MPI(MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
        CHECK(count >= 1);
        if (count < 64)
            CHECK_MPI(MPI_T_cvar_read(handle, &value));
        CHECK_MPI(MPI_T_cvar_handle_free(&handle));
        CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    }
}

static void categories(void)
{
    int n = -1, cvars = 0, pvars = 0, controls = -1, measures = -1, stamp = -1, events = -1;
    CHECK_MPI(MPI_T_category_get_num(&n));
    CHECK_MPI(MPI_T_category_changed(&stamp));
    for (int i = 0; i < n; i++) {
        int c = -1, p = -1, inside = -1, index = -1, length = 256, list[64];
        char name[256];
        CHECK_MPI(MPI_T_category_get_info(i, name, &length, NULL, NULL, &c, &p, &inside));
        CHECK_MPI(MPI_T_category_get_index(name, &index));
        CHECK_EQ(index, i);
        cvars += c;
        pvars += p;
        for (int k = 0; k < 64; k++)
            list[k] = -1;
        CHECK_MPI(MPI_T_category_get_cvars(i, 64, list));
        CHECK(c == 0 || list[0] >= 0);
        CHECK(c >= 64 || list[c] == -1);
        CHECK_MPI(MPI_T_category_get_categories(i, 64, list));
        CHECK(inside == 0 || (list[0] >= 0 && list[0] < n));
    }
    CHECK_MPI(MPI_T_cvar_get_num(&controls));
    CHECK_MPI(MPI_T_pvar_get_num(&measures));
    CHECK(cvars <= 4 * controls && pvars <= 4 * measures);
    CHECK_EQ(MPI_T_category_get_index("no such category", &n), MPI_T_ERR_INVALID_NAME);
    CHECK_MPI(MPI_T_event_get_num(&events));
    CHECK_EQ(MPI_T_event_get_index("no such event", &n), MPI_T_ERR_INVALID_NAME);
}

static void ours(void)
{
    int index = -1, level = -1, count = -1, readonly = -1;
    unsigned long long value = 99, again = 99;
    MPI_T_pvar_session session, other;
    MPI_T_pvar_handle sent, posted, bad;
    CHECK_MPI(MPI_T_pvar_get_index("packets_sent", MPI_T_PVAR_CLASS_COUNTER, &index));
    CHECK_EQ(MPI_T_pvar_get_index("packets_sent", MPI_T_PVAR_CLASS_LEVEL, &level),
             MPI_T_ERR_INVALID_NAME);
    CHECK_MPI(MPI_T_pvar_get_index("posted_receives", MPI_T_PVAR_CLASS_LEVEL, &level));
    CHECK_MPI(MPI_T_pvar_get_info(level, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                                  &readonly, NULL, NULL));
    CHECK_EQ(readonly, 1);
    CHECK_MPI(MPI_T_pvar_session_create(&session));
    CHECK_MPI(MPI_T_pvar_session_create(&other));
    CHECK_MPI(MPI_T_pvar_handle_alloc(session, index, NULL, &sent, &count));
    CHECK_MPI(MPI_T_pvar_handle_alloc(session, level, NULL, &posted, &count));
    CHECK_EQ(MPI_T_pvar_read(other, sent, &value), MPI_T_ERR_INVALID_HANDLE);
    /* Stopped until it is started; then exactly our messages; then stopped again. */
    traffic(3);
    CHECK_MPI(MPI_T_pvar_read(session, sent, &value));
    CHECK_EQ(value, 0);
    CHECK_MPI(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    traffic(5);
    CHECK_MPI(MPI_T_pvar_read(session, sent, &value));
    CHECK_EQ(value, 5);
    CHECK_MPI(MPI_T_pvar_readreset(session, sent, &value));
    CHECK_EQ(value, 5);
    traffic(2);
    CHECK_MPI(MPI_T_pvar_stop(session, sent));
    traffic(4);
    CHECK_MPI(MPI_T_pvar_read(session, sent, &value));
    CHECK_EQ(value, 2);
    again = 40;
    CHECK_MPI(MPI_T_pvar_write(session, sent, &again));
    CHECK_MPI(MPI_T_pvar_start(session, sent));
    traffic(1);
    CHECK_MPI(MPI_T_pvar_read(session, sent, &value));
    CHECK_EQ(value, 41);
    CHECK_MPI(MPI_T_pvar_reset(session, sent));
    CHECK_MPI(MPI_T_pvar_read(session, sent, &value));
    CHECK_EQ(value, 0);
    /* A level follows the queue. */
    char byte = 1;
    MPI_Request request;
    CHECK_MPI(MPI_T_pvar_read(session, posted, &again));
    CHECK_MPI(MPI_Irecv(&byte, 1, MPI_CHAR, 0, 7, MPI_COMM_SELF, &request));
    CHECK_MPI(MPI_T_pvar_read(session, posted, &value));
    CHECK_EQ(value, again + 1);
    CHECK_MPI(MPI_Send(&byte, 1, MPI_CHAR, 0, 7, MPI_COMM_SELF));
    CHECK_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(MPI_T_pvar_start(session, posted), MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK_EQ(MPI_T_pvar_reset(session, posted), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_EQ(MPI_T_pvar_write(session, posted, &value), MPI_T_ERR_PVAR_NO_WRITE);
    CHECK_EQ(MPI_T_pvar_readreset(session, posted, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
    bad = sent;
    CHECK_MPI(MPI_T_pvar_handle_free(session, &sent));
    CHECK_EQ(MPI_T_pvar_read(session, bad, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_MPI(MPI_T_pvar_session_free(&session));
    CHECK_EQ(MPI_T_pvar_read(session, posted, &value), MPI_T_ERR_INVALID_SESSION);
    CHECK_MPI(MPI_T_pvar_session_free(&other));
    /* A control variable with the value that MPI itself tells. */
    MPI_T_cvar_handle handle;
    int number = -1;
    CHECK_MPI(MPI_T_cvar_get_index("thread_level", &index));
    CHECK_MPI(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    CHECK_MPI(MPI_T_cvar_read(handle, &number));
    CHECK_MPI(MPI_Query_thread(&level));
    CHECK_EQ(number, level);
    CHECK_EQ(MPI_T_cvar_write(handle, &number), MPI_T_ERR_CVAR_SET_NEVER);
    CHECK_MPI(MPI_T_cvar_handle_free(&handle));
}

int main(int argc, char **argv)
{
    int provided = -1;
    CHECK_EQ(MPI_T_cvar_get_num(&provided), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    check_init(&argc, &argv);
    controls();
    categories();
    if (argc > 1 && !strcmp(argv[1], "hpvm"))
        ours();
    CHECK_MPI(MPI_T_finalize());
    return check_finish();
}
