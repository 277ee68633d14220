! The module mpi by name: a program may say what it uses, buffers have any type, kind and rank in one unit, and
! addresses are integers or C pointers. With -DWRONG it must not compile.
module counted
  use mpi, only: MPI_ADDRESS_KIND, MPI_SUCCESS
  implicit none
contains
  subroutine copy_fn(comm, keyval, extra, from, to, flag, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, from, to
    logical :: flag
    to = from + extra
    flag = comm /= keyval
    ierror = MPI_SUCCESS
  end subroutine copy_fn
end module counted

program only
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use counted, only: copy_fn
  use mpi, only: MPI_Init, MPI_Finalize, MPI_Abort, MPI_Comm_rank, MPI_Comm_size, MPI_COMM_WORLD, MPI_Bcast, MPI_INTEGER, &
    MPI_REAL, MPI_DOUBLE_PRECISION, MPI_COMPLEX, MPI_LOGICAL, MPI_CHARACTER, MPI_Sendrecv, MPI_STATUS_SIZE, MPI_STATUS_IGNORE, &
    MPI_STATUSES_IGNORE, MPI_Isend, MPI_Irecv, MPI_Waitall, MPI_Get_count, MPI_IN_PLACE, MPI_Allreduce, MPI_SUM, &
    MPI_Comm_create_keyval, MPI_Comm_set_attr, MPI_Comm_get_attr, MPI_Comm_dup, MPI_Comm_free, MPI_COMM_NULL_DELETE_FN, &
    MPI_ADDRESS_KIND, MPI_Alloc_mem, MPI_Free_mem, MPI_INFO_NULL, MPI_Win_create, MPI_Win_free, MPI_Put, MPI_Win_fence, &
    MPI_Type_create_struct, MPI_Type_commit, MPI_Type_free, MPI_Get_processor_name, MPI_MAX_PROCESSOR_NAME, MPI_Wtime, &
    MPI_Cart_create, MPI_Cart_coords, PMPI_Barrier, MPI_Dist_graph_create_adjacent, MPI_UNWEIGHTED, MPI_BYTE, &
    MPI_Get_address, MPI_Aint_diff, MPI_F_sync_reg, MPI_Status_f2f08, MPI_Status, MPI_Sizeof
  implicit none
  type pair
    integer :: number
    double precision :: value
  end type pair
  type(pair) :: one
  type(MPI_Status) :: new_status
  type(c_ptr) :: place
  integer, pointer :: memory(:)
  integer :: rank, size, ierror, i, table(3, 4), status(MPI_STATUS_SIZE), requests(2), keyval, copy, win, whole, grid, length
  integer :: coordinates(1), neighbours(1), count, bytes
  integer(MPI_ADDRESS_KIND) :: value, extent, address(2)
  logical :: yes, found
  real :: single
  double precision :: doubles(4), start
  complex :: z
  character(len=5) :: text
  character(len=MPI_MAX_PROCESSOR_NAME) :: name

  call MPI_Init(ierror)
  start = MPI_Wtime()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
#ifdef WRONG
  call MPI_Comm_size(MPI_COMM_WORLD, size)
#endif
  table = rank; single = rank; doubles = rank; z = rank; yes = rank == 0; text = '?????'; one = pair(rank, rank)
  if (rank == 0) text = 'hello'
  call MPI_Bcast(table, 12, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
  call MPI_Bcast(single, 1, MPI_REAL, 0, MPI_COMM_WORLD, ierror)
  call MPI_Bcast(doubles(2:4:2), 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierror)
  call MPI_Bcast(z, 1, MPI_COMPLEX, 0, MPI_COMM_WORLD, ierror)
  call MPI_Bcast(yes, 1, MPI_LOGICAL, 0, MPI_COMM_WORLD, ierror)
  call MPI_Bcast(text, 5, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
  call must(all(table == 0) .and. single == 0 .and. z == (0, 0) .and. yes .and. text == 'hello')
  call must(doubles(1) == rank .and. doubles(2) == 0 .and. doubles(3) == rank .and. doubles(4) == 0)

  call MPI_Get_address(one%number, address(1), ierror)
  call MPI_Get_address(one%value, address(2), ierror)
  address(2) = MPI_Aint_diff(address(2), address(1))
  address(1) = 0
  call MPI_Type_create_struct(2, [1, 1], address, [MPI_INTEGER, MPI_DOUBLE_PRECISION], whole, ierror)
  call MPI_Type_commit(whole, ierror)
  call MPI_Bcast(one, 1, whole, size - 1, MPI_COMM_WORLD, ierror)
  call must(one%number == size - 1 .and. one%value == size - 1)
  call MPI_Type_free(whole, ierror)

  call MPI_Irecv(table(1, 2), 3, MPI_INTEGER, modulo(rank - 1, size), 5, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Isend([rank, rank, rank], 3, MPI_INTEGER, modulo(rank + 1, size), 5, MPI_COMM_WORLD, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call MPI_F_sync_reg(table)
  call must(all(table(:, 2) == modulo(rank - 1, size)))
  call MPI_Sendrecv(rank, 1, MPI_INTEGER, modulo(rank + 1, size), 0, i, 1, MPI_INTEGER, modulo(rank - 1, size), 0, &
    MPI_COMM_WORLD, status, ierror)
  call MPI_Get_count(status, MPI_INTEGER, count, ierror)
  call MPI_Status_f2f08(status, new_status, ierror)
  call must(i == modulo(rank - 1, size) .and. count == 1 .and. new_status%MPI_SOURCE == i)
  call MPI_Allreduce(MPI_IN_PLACE, single, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Sizeof(single, bytes, ierror)
  call must(single == 0 .and. bytes == 4)

  extent = 3
  call MPI_Comm_create_keyval(copy_fn, MPI_COMM_NULL_DELETE_FN, keyval, extent, ierror)
  value = 4
  call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, value, ierror)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierror)
  call MPI_Comm_get_attr(copy, keyval, value, found, ierror)
  call must(found .and. value == 7)
  call MPI_Comm_free(copy, ierror)

  extent = 16
  call MPI_Alloc_mem(extent, MPI_INFO_NULL, place, ierror)
  call c_f_pointer(place, memory, [4])
  memory = -1
  call MPI_Win_create(memory, extent, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  address(1) = 2
  call MPI_Put(rank, 1, MPI_INTEGER, modulo(rank + 1, size), address(1), 1, MPI_INTEGER, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call must(memory(3) == modulo(rank - 1, size) .and. memory(2) == -1)
  call MPI_Win_free(win, ierror)
  call MPI_Free_mem(memory, ierror)

  call MPI_Cart_create(MPI_COMM_WORLD, 1, [size], [.true.], .false., grid, ierror)
  call MPI_Cart_coords(grid, rank, 1, coordinates, ierror)
  call must(coordinates(1) == rank)
  call MPI_Comm_free(grid, ierror)
  neighbours = rank
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, neighbours, MPI_UNWEIGHTED, 1, neighbours, MPI_UNWEIGHTED, &
    MPI_INFO_NULL, .false., grid, ierror)
  call MPI_Comm_free(grid, ierror)
  call MPI_Get_processor_name(name, length, ierror)
  call must(length > 0 .and. MPI_Wtime() >= start)
  call MPI_Sendrecv(rank, 1, MPI_BYTE, rank, 0, i, 1, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call PMPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(a)', 'ok'
  call MPI_Finalize(ierror)

contains
  subroutine must(condition)
    logical, intent(in) :: condition
    integer :: ierror
    if (.not. condition) then
      write (0, *) 'FAILED'
      call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
    end if
  end subroutine must
end program only
