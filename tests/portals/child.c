/* A child of fork that ends by exit has no part in the job. */
#include "ptl.h"
#include "../child.h"

int main(void)
{
    begin();
    CHECK_EQ(status_of_child(), 0);
    MUST(runtime_barrier());
    return end();
}
