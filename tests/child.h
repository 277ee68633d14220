/* Shared by the programs of all models: a child of fork has no part in the job, however it ends. */
#ifndef CHILD_H
#define CHILD_H

#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits for a child that does nothing but exit(0): its status as waitpid(2) has it, -1 if there was none. */
static inline int status_of_child(void)
{
    pid_t child = fork();
    if (child == 0)
        exit(0);
    int status = -1;
    return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

#endif
