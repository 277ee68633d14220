! A sum over all ranks, with the module.
program plus
  use mpi
  implicit none
  integer :: rank, total, ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Reduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(A, I0)', 'sum ', total
  call MPI_Finalize(ierror)
end program plus
