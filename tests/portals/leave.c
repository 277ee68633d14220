/* Ends of a program: without PtlFini it is as if it had been called; with an error the job ends. */
#include "ptl.h"

int main(int argc, char **argv)
{
    begin();
    ptl_handle_ni_t ni = open_ni(PTL_NI_NO_MATCHING | PTL_NI_LOGICAL, NULL, NULL);
    ptl_handle_ct_t never = new_ct(ni);
    if (argc > 1 && me == n - 1)
        exit(7);
    ptl_ct_event_t value;
    if (argc > 1)
        PtlCTWait(never, 1, &value);
    if (me == 0)
        printf("No errors\n");
    return errors != 0;
}
