/* Touches 300 pages between MPI_Pcontrol(1) and MPI_Pcontrol(0), and 2000 outside. */
#include <mpi.h>
#include <sys/mman.h>

enum { PAGE = 4096, INSIDE = 300, ALL = 2300 };

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    volatile char *p = mmap(0, ALL * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)p, ALL * PAGE, MADV_NOHUGEPAGE);
    MPI_Pcontrol(1);
    for (int i = 0; i < INSIDE; i++) p[i * PAGE] = 1;
    MPI_Pcontrol(0);
    for (int i = INSIDE; i < ALL; i++) p[i * PAGE] = 1;
    MPI_Finalize();
    return 0;
}
