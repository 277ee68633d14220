/* A task of the console. */
#include "check.h"

int main(int argc, char **argv)
{
    CHECK(is_child(argc) && strcmp(argv[1], "child") == 0);
    printf("hello\n");
    return pvm_exit();
}
