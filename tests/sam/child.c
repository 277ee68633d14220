/* A child of fork that ends by exit has no part in the job. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    begin();
    pid_t child = fork();
    if (child == 0)
        exit(0);
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ(status, 0);
    sam_barrier();
    return end();
}
