! The module `mpi`. mpifort compiles it at its first use with each compiler, because the file that a
! compiler makes of a module is for that compiler only.
module mpi
  implicit none
  include 'mpif.h'
end module mpi
