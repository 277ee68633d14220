/* A child of fork that ends by exit has no part in the job. */
#include "osh.h"
#include "../child.h"

int main(void)
{
    begin();
    CHECK_EQ(status_of_child(), 0);
    shmem_barrier_all();
    return end();
}
