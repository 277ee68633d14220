/* MPI 5.0, 10 "The Info Object": set, get, get_string, nkeys, nthkey, delete, dup, order of keys,
 * long values, errors. */
#include "check.h"

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Info info, dup;
    int flag = 0, count = -1, length;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
    CHECK_MPI(MPI_Info_create(&info));
    CHECK_MPI(MPI_Info_get_nkeys(info, &count));
    CHECK_EQ(count, 0);
    CHECK_MPI(MPI_Info_set(info, "file", "runfile.txt"));
    CHECK_MPI(MPI_Info_set(info, "soft", "4:8"));
    CHECK_MPI(MPI_Info_set(info, "host", "one"));
    CHECK_MPI(MPI_Info_set(info, "soft", "1:2")); /* overwritten in place */
    CHECK_MPI(MPI_Info_get_nkeys(info, &count));
    CHECK_EQ(count, 3);
    length = sizeof value;
    CHECK_MPI(MPI_Info_get_string(info, "soft", &length, value, &flag));
    CHECK(flag && !strcmp(value, "1:2"));
    CHECK_EQ(length, 4); /* with the closing zero */
    length = 0; /* asks for the size only */
    CHECK_MPI(MPI_Info_get_string(info, "file", &length, NULL, &flag));
    CHECK(flag && length == 12);
    length = 4; /* cut, but the needed size is told */
    memset(value, 'x', sizeof value);
    CHECK_MPI(MPI_Info_get_string(info, "file", &length, value, &flag));
    CHECK(flag && length == 12 && !strcmp(value, "run"));
    length = sizeof value;
    CHECK_MPI(MPI_Info_get_string(info, "nothing", &length, value, &flag));
    CHECK(!flag);
    static const char *names[] = { "file", "soft", "host" };
    for (int i = 0; i < 3; i++) {
        CHECK_MPI(MPI_Info_get_nthkey(info, i, key));
        CHECK(!strcmp(key, names[i]));
    }
    CHECK_MPI(MPI_Info_dup(info, &dup));
    CHECK_MPI(MPI_Info_delete(info, "soft"));
    CHECK_MPI(MPI_Info_get_nkeys(info, &count));
    CHECK_EQ(count, 2);
    CHECK_MPI(MPI_Info_get_nthkey(info, 1, key));
    CHECK(!strcmp(key, "host"));
    CHECK_CLASS(MPI_Info_delete(info, "soft"), MPI_ERR_INFO_NOKEY);
    length = sizeof value;
    CHECK_MPI(MPI_Info_get_string(dup, "soft", &length, value, &flag));
    CHECK(flag && !strcmp(value, "1:2"));
    CHECK_MPI(MPI_Info_free(&dup));
    CHECK(dup == MPI_INFO_NULL);
    /* The deprecated calls. */
    CHECK_MPI(MPI_Info_get(info, "file", 100, value, &flag));
    CHECK(flag && !strcmp(value, "runfile.txt"));
    CHECK_MPI(MPI_Info_get_valuelen(info, "file", &length, &flag));
    CHECK(flag && length == 11);
    /* A value of nearly the longest kind. */
    memset(value, 'v', sizeof value);
    value[MPI_MAX_INFO_VAL - 1] = 0;
    CHECK_MPI(MPI_Info_set(info, "long", value));
    static char back[MPI_MAX_INFO_VAL];
    length = sizeof back;
    CHECK_MPI(MPI_Info_get_string(info, "long", &length, back, &flag));
    CHECK(flag && !strcmp(back, value));
    CHECK_MPI(MPI_Info_free(&info));
    /* On a communicator. */
    CHECK_MPI(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
    CHECK(info != MPI_INFO_NULL);
    CHECK_MPI(MPI_Comm_set_info(MPI_COMM_WORLD, info));
    CHECK_MPI(MPI_Info_free(&info));
    return check_finish();
}
