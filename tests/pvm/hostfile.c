/* The virtual machine of a hostfile: FILE HOST FOLDER. HOST, with a speed of 2000, has a program `only-there` (this one) where the file
   says that programs are, and tasks work in FOLDER there. */
#include "check.h"

enum { HELLO = 1 };

static int child(void)
{
    static char folder[4096];
    CHECK(getcwd(folder, sizeof folder) != NULL);
    CHECK(pvm_initsend(PvmDataDefault) > 0 && pvm_pkstr(folder) == 0);
    CHECK(pvm_send(pvm_parent(), HELLO) == 0);
    return pvm_exit();
}

int main(int argc, char **argv)
{
    char *nothing[] = {"-d41", "/nowhere/hostfile"}, *options[] = {"-d41", argv[1]}, *word[] = {"child", NULL};
    static char folder[4096];
    struct pvmhostinfo *list;
    int hosts, i, tid, found = 0;
    if (argc == 2)
        return child();
    CHECK(argc == 4);
    CHECK(pvm_start_pvmd(2, nothing, 1) == PvmCantStart);
    CHECK(pvm_start_pvmd(2, options, 1) == 0);
    CHECK(pvm_start_pvmd(2, options, 1) == PvmDupHost);
    CHECK(pvm_config(&hosts, NULL, &list) == 0 && hosts == 2);
    for (i = 0; i < hosts; i++)
        if (!strcmp(list[i].hi_name, argv[2]))
            found = list[i].hi_speed == 2000;
    CHECK(found);
    CHECK(pvm_spawn("only-there", word, PvmTaskHost, argv[2], 1, &tid) == 1);
    CHECK(pvm_recv(tid, HELLO) > 0 && pvm_upkstr(folder) == 0);
    CHECK(!strcmp(folder, argv[3]));
    /* The first host has no such folder. */
    CHECK(pvm_spawn("only-there", word, PvmTaskHost, ".", 1, &tid) == 0 && tid == PvmNoFile);
    printf("No errors\n");
    return pvm_exit();
}
