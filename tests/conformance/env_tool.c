/* MPI 5.0, 15.3 "The MPI Tool Information Interface": MPI_T without MPI_Init, counting and reading
 * control variables, performance variables and categories. With the argument "strict" also the error
 * after the last MPI_T_finalize while MPI itself goes on. */
#include "check.h"

int main(int argc, char **argv)
{
    int provided = -1, count = -1, other = -1;
    CHECK_MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK_MPI(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK_MPI(MPI_T_cvar_get_num(&count));
    CHECK(count >= 0);
    char name[256], text[256];
    for (int i = 0; i < count && i < 20; i++) {
        int name_length = sizeof name, text_length = sizeof text, verbosity, bind, scope, index = -1;
        MPI_Datatype type;
        MPI_T_enum items;
        CHECK_MPI(MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &items, text,
                                      &text_length, &bind, &scope));
        CHECK(name[0] != 0 && strlen(name) < sizeof name);
        if (name_length < (int)sizeof name) {
            CHECK_MPI(MPI_T_cvar_get_index(name, &index));
            CHECK_EQ(index, i);
        }
    }
    CHECK_EQ(MPI_T_cvar_get_index("no such variable", &other), MPI_T_ERR_INVALID_NAME);
    CHECK_MPI(MPI_T_pvar_get_num(&count));
    CHECK(count >= 0);
    CHECK_MPI(MPI_T_category_get_num(&count));
    CHECK(count >= 0);
    MPI_T_pvar_session session;
    CHECK_MPI(MPI_T_pvar_session_create(&session));
    CHECK_MPI(MPI_T_pvar_session_free(&session));
    CHECK(session == MPI_T_PVAR_SESSION_NULL);
    check_init(&argc, &argv);
    int level = -1;
    CHECK_MPI(MPI_T_cvar_get_num(&count));
    CHECK_MPI(MPI_Query_thread(&level));
    CHECK_MPI(MPI_T_finalize());
    CHECK_MPI(MPI_T_finalize());
    if (argc > 1 && !strcmp(argv[1], "strict"))
        CHECK_EQ(MPI_T_cvar_get_num(&count), MPI_T_ERR_NOT_INITIALIZED);
    return check_finish();
}
