! Checks of the module mpi_f08. Compiled with our module and with those of MPICH and Open MPI; and with -DSESSIONS_ONLY,
! without MPI_Init: the world is a communicator of a session then.
module checks
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, size, next, prev
  integer(MPI_ADDRESS_KIND) :: deleted = 0, freed = 0
#ifdef SESSIONS_ONLY
  type(MPI_Session) :: session
  type(MPI_Comm) :: session_world, session_self
#define MPI_COMM_WORLD session_world
#define MPI_COMM_SELF session_self
#endif
contains

  ! Stops with a message that names the check.
  subroutine must(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (.not. condition) then
      write(0, '(2a)') 'FAILED: ', what
      call exit(3)
    end if
  end subroutine must

  subroutine handles
    type(MPI_Comm) :: comm, none
    type(MPI_Group) :: group, other
    type(MPI_Datatype) :: type
    type(MPI_Request) :: request
    type(MPI_Info) :: info
    integer :: n, ierror, version, subversion, length, result
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=MPI_MAX_ERROR_STRING) :: text
    character(len=20) :: value
    logical :: flag
    call must(MPI_COMM_WORLD == MPI_COMM_WORLD .and. MPI_COMM_WORLD /= MPI_COMM_SELF, 'operators')
    call must(MPI_INTEGER /= MPI_REAL .and. .not. MPI_INTEGER == MPI_REAL, 'operators of datatypes')
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call must(comm /= MPI_COMM_WORLD .and. comm /= MPI_COMM_NULL, 'dup')
    call MPI_Comm_compare(comm, MPI_COMM_WORLD, result, ierror)
    call must(result == MPI_CONGRUENT .and. ierror == MPI_SUCCESS, 'compare')
    call MPI_Comm_set_name(comm, 'of mine')
    call MPI_Comm_get_name(comm, name, length)
    call must(length == 7 .and. name == 'of mine', 'names')
    call MPI_Comm_group(comm, group)
    call MPI_Group_incl(group, 1, [0], other)
    call MPI_Group_size(other, n)
    call must(n == 1 .and. group /= other, 'groups')
    call MPI_Group_free(group)
    call must(group == MPI_GROUP_NULL, 'a freed group')
    call MPI_Group_free(other)
    call MPI_Comm_split(comm, 0, rank, none)
    call MPI_Comm_size(none, n)
    call must(n == size, 'split')
    call MPI_Comm_free(none)
    call MPI_Comm_free(comm)
    call must(comm == MPI_COMM_NULL, 'a freed communicator')
    request = MPI_REQUEST_NULL
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call must(request == MPI_REQUEST_NULL, 'null request')
    call MPI_Type_contiguous(3, MPI_INTEGER, type)
    call MPI_Type_commit(type)
    call MPI_Type_size(type, n)
    call must(n == 12, 'contiguous')
    call MPI_Type_free(type)
    call must(type == MPI_DATATYPE_NULL, 'a freed datatype')
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'key', 'some value')
    call MPI_Info_get(info, 'key', 20, value, flag)
    call must(flag .and. value == 'some value', 'info')
    call MPI_Info_get(info, 'absent', 20, value, flag)
    call must(.not. flag, 'absent info')
    call MPI_Info_free(info)
    call MPI_Get_version(version, subversion)
    call must(version >= 3, 'version')
    call MPI_Error_string(MPI_ERR_TRUNCATE, text, length)
    call must(length > 0 .and. text /= ' ', 'error string')
#ifndef SESSIONS_ONLY
    call MPI_Initialized(flag)
    call must(flag, 'initialized')
#endif
    call must(MPI_Wtime() > 0 .and. MPI_Wtick() > 0, 'time')
    call must(MPI_Aint_add(4_MPI_ADDRESS_KIND, 5_MPI_ADDRESS_KIND) == 9, 'addresses')
  end subroutine handles

  subroutine point_to_point
    integer :: x(10), y(10), n, i, outcount, indices(4), idx
    type(MPI_Status) :: status, statuses(4)
    type(MPI_Request) :: requests(4)
    type(MPI_Message) :: message
    logical :: flag
    integer, asynchronous :: a(4), b(4)
    integer :: f_status(MPI_STATUS_SIZE)
    type(MPI_Status) :: copy
    x = rank + [(i, i = 1, 10)]
    y = 0
    call MPI_Sendrecv(x, 10, MPI_INTEGER, next, 5, y, 10, MPI_INTEGER, prev, 5, MPI_COMM_WORLD, status)
    call must(all(y == prev + [(i, i = 1, 10)]), 'sendrecv')
    call must(status%MPI_SOURCE == prev .and. status%MPI_TAG == 5, 'status')
    call MPI_Get_count(status, MPI_INTEGER, n)
    call must(n == 10, 'count')
#ifndef OMPI
    call MPI_Status_f082f(status, f_status)
    call MPI_Status_f2f08(f_status, copy)
    call must(copy%MPI_SOURCE == prev .and. copy%MPI_TAG == 5, 'status there and back')
    call MPI_Get_count(copy, MPI_INTEGER, n)
    call must(n == 10, 'count of the copy')
#endif
    b = -1
    do i = 1, 4
      call MPI_Irecv(b(i), 1, MPI_INTEGER, prev, i, MPI_COMM_WORLD, requests(i))
    end do
    do i = 1, 4
      a(i) = 100 * rank + i
      call MPI_Send(a(i), 1, MPI_INTEGER, next, i, MPI_COMM_WORLD)
    end do
    call MPI_Waitall(4, requests, statuses)
    if (MPI_ASYNC_PROTECTS_NONBLOCKING) call must(all(b == 100 * prev + [1, 2, 3, 4]), 'waitall')
    call must(all(statuses%MPI_TAG == [1, 2, 3, 4]), 'statuses')
    call must(requests(1) == MPI_REQUEST_NULL .and. requests(4) == MPI_REQUEST_NULL, 'requests')
    call MPI_Irecv(b, 4, MPI_INTEGER, prev, 9, MPI_COMM_WORLD, requests(2))
    call MPI_Send(a, 4, MPI_INTEGER, next, 9, MPI_COMM_WORLD)
    call MPI_Waitany(4, requests, idx, status)
    call must(idx == 2, 'waitany')
    call MPI_Waitsome(4, requests, outcount, indices, MPI_STATUSES_IGNORE)
    call must(outcount == MPI_UNDEFINED, 'waitsome of nothing')
    call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE)
    call must(flag, 'testall of nothing')
    call MPI_Isend(x, 10, MPI_INTEGER, next, 7, MPI_COMM_WORLD, requests(1))
    call MPI_Mprobe(prev, 7, MPI_COMM_WORLD, message, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call must(n == 10 .and. message /= MPI_MESSAGE_NULL, 'mprobe')
    call MPI_Mrecv(y, n, MPI_INTEGER, message, MPI_STATUS_IGNORE)
    call must(message == MPI_MESSAGE_NULL .and. y(10) == prev + 10, 'mrecv')
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call MPI_Send_init(x, 10, MPI_INTEGER, next, 8, MPI_COMM_WORLD, requests(1))
    call MPI_Recv_init(y, 10, MPI_INTEGER, prev, 8, MPI_COMM_WORLD, requests(2))
    y = 0
    call MPI_Startall(2, requests)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(y)
    call must(y(1) == prev + 1, 'persistent')
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine point_to_point

  subroutine double_and_add(invec, inoutvec, len, datatype)
    type(c_ptr), value :: invec, inoutvec
    integer :: len
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) call must(.false., 'datatype of the reduction')
    call c_f_pointer(invec, a, [len])
    call c_f_pointer(inoutvec, b, [len])
    b = a + b
  end subroutine double_and_add

  subroutine collectives
    integer :: x(4), total(4), i, all_of(4 * size), counts(size), displs(size), ierror
    type(MPI_Op) :: op
    type(MPI_Request) :: request
    real(8) :: pi
    x = rank + [1, 2, 3, 4]
    call MPI_Allreduce(x, total, 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call must(total(1) == size * (size + 1) / 2, 'allreduce')
    call MPI_Op_create(double_and_add, .true., op)
    call MPI_Allreduce(x, total, 4, MPI_INTEGER, op, MPI_COMM_WORLD, ierror)
    call must(total(1) == size * (size + 1) / 2 .and. ierror == MPI_SUCCESS, 'reduction of the program')
    call MPI_Op_free(op)
    call must(op == MPI_OP_NULL, 'a freed operation')
    total = x
    call MPI_Allreduce(MPI_IN_PLACE, total, 4, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    call must(total(1) == size, 'in place')
    call MPI_Allgather(x, 4, MPI_INTEGER, all_of, 4, MPI_INTEGER, MPI_COMM_WORLD)
    call must(all_of(4 * size) == size + 3, 'allgather')
    counts = 4
    displs = [(4 * (size - i), i = 1, size)]
    call MPI_Allgatherv(x, 4, MPI_INTEGER, all_of, counts, displs, MPI_INTEGER, MPI_COMM_WORLD)
    call must(all_of(1) == size, 'allgatherv')
    pi = 0
    if (rank == 0) pi = 3.25d0
    call MPI_Bcast(pi, 1, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD)
    call must(pi == 3.25d0, 'bcast')
    call MPI_Ibarrier(MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine collectives

  subroutine copy_twice(oldcomm, comm_keyval, extra_state, value_in, value_out, flag, ierror)
    type(MPI_Comm) :: oldcomm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra_state, value_in, value_out
    logical :: flag
    value_out = 2 * value_in + extra_state
    flag = oldcomm == MPI_COMM_WORLD
    ierror = MPI_SUCCESS
  end subroutine copy_twice

  subroutine delete_one(comm, comm_keyval, value, extra_state, ierror)
    type(MPI_Comm) :: comm
    integer :: comm_keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra_state
    deleted = deleted + value
    ierror = MPI_SUCCESS
  end subroutine delete_one

  subroutine attributes
    type(MPI_Comm) :: comm
    integer :: keyval
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_create_keyval(copy_twice, delete_one, keyval, 7_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, -5000000000_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_get_attr(comm, keyval, value, flag)
    call must(flag .and. value == -9999999993_MPI_ADDRESS_KIND, 'a copied attribute')
    call MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, value, flag)
    call must(flag .and. value == -5000000000_MPI_ADDRESS_KIND, 'its origin')
    call MPI_Comm_free(comm)
    call must(deleted == -9999999993_MPI_ADDRESS_KIND, 'a deleted attribute')
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)
    call MPI_Comm_free_keyval(keyval)
    call must(keyval == MPI_KEYVAL_INVALID, 'a freed key')
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, keyval, 0_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 11_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(MPI_COMM_WORLD, comm)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, keyval, 12_MPI_ADDRESS_KIND)
    call MPI_Comm_get_attr(comm, keyval, value, flag)
    call must(flag .and. value == 11, 'a duplicate of its own')
    call MPI_Comm_free(comm)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, keyval)
    call MPI_Comm_free_keyval(keyval)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag)
    call must(flag .and. value >= 32767, 'MPI_TAG_UB')
  end subroutine attributes

  subroutine note_error(comm, error_code)
    type(MPI_Comm) :: comm
    integer :: error_code
    if (comm == MPI_COMM_WORLD) freed = error_code
  end subroutine note_error

  subroutine query(extra_state, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra_state))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 3
    status%MPI_TAG = 4
    extra_state = extra_state + 1
    ierror = MPI_SUCCESS
  end subroutine query

  subroutine free(extra_state, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    freed = extra_state
    extra_state = 0
    ierror = MPI_SUCCESS
  end subroutine free

  subroutine cancel(extra_state, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra_state
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine cancel

  subroutine callbacks
    type(MPI_Errhandler) :: handler, before
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: n, ierror
    integer(MPI_ADDRESS_KIND) :: state
    call MPI_Comm_get_errhandler(MPI_COMM_WORLD, before)
    call MPI_Comm_create_errhandler(note_error, handler)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler)
    call MPI_Send(n, 1, MPI_INTEGER, size + 3, 0, MPI_COMM_WORLD, ierror)
    call must(ierror /= MPI_SUCCESS .and. freed == ierror, 'error handler')
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, before)
    call MPI_Errhandler_free(handler)
    call must(handler == MPI_ERRHANDLER_NULL, 'a freed error handler')
    state = 41
    call MPI_Grequest_start(query, free, cancel, state, request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_elements(status, MPI_INTEGER, n)
    call must(n == 41 .and. status%MPI_SOURCE == 3 .and. status%MPI_TAG == 4, 'generalised request')
    call MPI_F_sync_reg(state)
    call must(freed == 42 .and. state == 0, 'state that its functions change')
  end subroutine callbacks

  ! Sections of one to three dimensions, there and back, blocking and not.
  subroutine sections
    integer :: line(20), grid(6, 8), cube(4, 5, 6), got(60), i, j, k
    integer :: wanted(60), back(20)
    type(MPI_Request) :: request
    type(MPI_Datatype) :: pair
    type point
      real(8) :: x, y
    end type point
    type(point) :: points(5), others(5)
    if (.not. MPI_SUBARRAYS_SUPPORTED) return
    line = [(i, i = 1, 20)] + 100 * rank
    grid = reshape([(i, i = 1, 48)], [6, 8]) + 100 * rank
    cube = reshape([(i, i = 1, 120)], [4, 5, 6]) + 1000 * rank

    call exchange1(line(1:20:3), got, 7)
    call must(all(got(1:7) == [(i, i = 1, 20, 3)] + 100 * prev), 'every third element')
    call exchange1(line(20:1:-2), got, 10)
    call must(all(got(1:10) == [(i, i = 20, 1, -2)] + 100 * prev), 'backwards')
    back = 0
    call MPI_Irecv(back(2:20:2), 10, MPI_INTEGER, prev, 2, MPI_COMM_WORLD, request)
    call MPI_Send(line(11:20), 10, MPI_INTEGER, next, 2, MPI_COMM_WORLD)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(back)
    call must(all(back(2:20:2) == [(i, i = 11, 20)] + 100 * prev), 'into every second element')
    call must(all(back(1:20:2) == 0), 'the others')

    call MPI_Isend(grid(2:5:3, 1:7:2), 8, MPI_INTEGER, next, 3, MPI_COMM_WORLD, request)
    call MPI_Recv(got, 8, MPI_INTEGER, prev, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    wanted(1:8) = [((6 * (j - 1) + i, i = 2, 5, 3), j = 1, 7, 2)] + 100 * prev
    call must(all(got(1:8) == wanted(1:8)), 'of a matrix')
    got = rank
    grid = 0
    call MPI_Sendrecv(got, 12, MPI_INTEGER, next, 4, grid(2:4, 3:6), 12, MPI_INTEGER, prev, 4, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call must(all(grid(2:4, 3:6) == prev) .and. count(grid == prev) == merge(48, 12, prev == 0), &
              'into a matrix')

    call MPI_Isend(cube(1:4:2, 5:1:-2, 2:6:4), 12, MPI_INTEGER, next, 5, MPI_COMM_WORLD, request)
    call MPI_Recv(got, 12, MPI_INTEGER, prev, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    wanted(1:12) = [(((20 * (k - 1) + 4 * (j - 1) + i, i = 1, 4, 2), j = 5, 1, -2), k = 2, 6, 4)] &
                   + 1000 * prev
    call must(all(got(1:12) == wanted(1:12)), 'of a cube')
    ! A part of what the section holds, from the middle of its rows.
    call exchange1(cube(1:3, 1:5:2, :), got, 31)
    call must(got(31) == cube(1, 3, 4) + 1000 * (prev - rank), 'a part of a section')

    ! A datatype with gaps on top of a section with strides.
    call MPI_Type_vector(2, 1, 2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Isend(line(1:19:3), 2, pair, next, 6, MPI_COMM_WORLD, request)
    call MPI_Recv(got, 4, MPI_INTEGER, prev, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call must(all(got(1:4) == line([1, 7, 10, 16]) + 100 * (prev - rank)), 'a vector of a section')
    call MPI_Type_free(pair)

    ! Components of structures.
    points%x = [(rank + 0.5d0 * i, i = 1, 5)]
    points%y = -1
    others%x = -2
    others%y = -3
    call MPI_Sendrecv(points%x, 5, MPI_DOUBLE_PRECISION, next, 7, others%y, 5, MPI_DOUBLE_PRECISION, &
                      prev, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
    call must(all(others%y == [(prev + 0.5d0 * i, i = 1, 5)]) .and. all(others%x == -2), 'components')
    call collective_sections
  end subroutine sections

  subroutine exchange1(section, got, n)
    integer, intent(in) :: section(..), n
    integer, intent(out) :: got(:)
    call MPI_Sendrecv(section, n, MPI_INTEGER, next, 1, got, n, MPI_INTEGER, prev, 1, &
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  end subroutine exchange1

  subroutine collective_sections
    integer :: mine(4, 4), parts(2, 4 * size), sum(8, 4), i, spread(3 * size)
    type(MPI_Request) :: request
    mine = rank + 1
    parts = 0
    call MPI_Allgather(mine(1:4:2, 2), 2, MPI_INTEGER, parts(2, ::2), 2, MPI_INTEGER, MPI_COMM_WORLD)
    call must(parts(2, 4 * size - 1) == size .and. parts(2, 1) == 1, 'allgather of sections')
    call must(count(parts == 0) == 6 * size, 'what it leaves')
    parts = 0
    call MPI_Iallgather(mine(1:4:2, 2), 2, MPI_INTEGER, parts(1, ::2), 2, MPI_INTEGER, &
                        MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(parts)
    call must(parts(1, 4 * size - 3) == size .and. count(parts == 0) == 6 * size, 'iallgather of sections')
    sum = 0
    call MPI_Allreduce(mine(1:4:3, :), sum(2:8:4, :), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call must(count(sum == size * (size + 1) / 2) == 8 .and. sum(6, 4) /= 0, 'allreduce of sections')
    call MPI_Bcast(mine(2:3, 2:3), 4, MPI_INTEGER, size - 1, MPI_COMM_WORLD)
    call must(mine(3, 3) == size .and. mine(1, 1) == rank + 1, 'bcast of a section')
    spread = [(i, i = 1, 3 * size)]
    call MPI_Scatter(spread(1::3), 1, MPI_INTEGER, i, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call must(i == 3 * rank + 1, 'scatter of a section')
#ifndef OMPI
    call pending_sections
#endif
  end subroutine collective_sections

#ifndef OMPI
  ! Sections in collective calls that return before the operation ends: copies that live with the request.
  subroutine pending_sections
    integer, asynchronous :: mine(4, 4), sum(8, 4), parts(3, 4 * size), to(2, 2 * size)
    integer :: i, total
    integer :: counts(size), places(size)
    type(MPI_Datatype) :: types(size)
    type(MPI_Request) :: request, requests(2)
    total = size * (size + 1) / 2
    mine = rank + 1
    sum = -7
    call MPI_Iallreduce(mine(1:4:3, :), sum(2:8:4, :), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(sum)
    call must(count(sum == total) == 8 .and. count(sum == -7) == 24, 'iallreduce of sections')
    ! Two at a time, the first one in place; one is freed while it goes on.
    sum = -7
    sum(1:8:2, 1:4:3) = rank + 1
    call MPI_Iallreduce(MPI_IN_PLACE, sum(1:8:2, 1:4:3), 8, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, requests(1))
    call MPI_Iscan(mine(1:3:2, 1:4:2), sum(2:8:6, 2:3), 4, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(sum)
    call must(all(sum(1:8:2, 1:4:3) == size), 'iallreduce in place of a section')
    call must(all(sum(2:8:6, 2:3) == (rank + 1) * (rank + 2) / 2), 'iscan of sections')
    call must(count(sum == -7) == 20, 'what the two leave')
    call MPI_Ireduce(mine(::2, ::2), sum(::4, :2), 4, MPI_INTEGER, MPI_SUM, size - 1, MPI_COMM_WORLD, request)
    call MPI_Request_free(request)
    call MPI_Barrier(MPI_COMM_WORLD)
    ! Parts of two dimensions.
    parts = 0
    call MPI_Iallgather(mine(1:4:3, 1), 2, MPI_INTEGER, parts(1:3:2, ::4), 2, MPI_INTEGER, MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(parts)
    call must(all(parts(1, ::4) == [(i, i = 1, size)]) .and. all(parts(3, ::4) == parts(1, ::4)), 'iallgather of rows')
    call must(count(parts == 0) == 10 * size, 'what it leaves, too')
    ! One datatype for each rank: displacements are those in the contiguous array.
    parts = 0
    parts(2, 1::2) = 10 * rank + [(i, i = 1, 2 * size)]
    to = 0
    counts = 1
    places = [(8 * (i - 1), i = 1, size)]
    types = MPI_2INTEGER
    call MPI_Ialltoallw(parts(2, 1::2), counts, places, types, to(2, :), counts, places, types, &
                        MPI_COMM_WORLD, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(to)
    call must(all(to(1, :) == 0), 'what ialltoallw leaves')
    do i = 1, size
      call must(all(to(2, 2 * i - 1:2 * i) == 10 * (i - 1) + 2 * rank + [1, 2]), 'ialltoallw of sections')
    end do
    call persistent_sections(mine, sum)
    call partitioned_sections
  end subroutine pending_sections

  ! What a persistent operation starts with is what the section holds then.
  subroutine persistent_sections(mine, sum)
    integer, asynchronous, intent(inout) :: mine(4, 4), sum(8, 4)
    type(MPI_Request) :: request
    integer :: k
    if (MPI_VERSION < 4) return
#ifndef NO_LARGE_COUNTS
    sum = 0
    call MPI_Allreduce_init(mine(1:4:3, :), sum(2:8:4, :), 8, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, request)
    do k = 1, 3
      mine = k * (rank + 1)
      sum = -k
      call MPI_Start(request)
      call MPI_Wait(request, MPI_STATUS_IGNORE)
      call MPI_F_sync_reg(sum)
      call must(count(sum == k * size * (size + 1) / 2) == 8, 'a persistent allreduce of sections')
      call must(count(sum == -k) == 24, 'what it leaves')
    end do
    call MPI_Request_free(request)
#endif
  end subroutine persistent_sections

  ! Partitions of sections with two dimensions, which end inside of their columns and are different ones at both sides.
  subroutine partitioned_sections
#ifndef NO_LARGE_COUNTS
    integer, asynchronous :: from(6, 8), to(8, 12)
    integer :: k, turn, i
    type(MPI_Request) :: requests(2)
    type(MPI_Datatype) :: pair
    if (MPI_VERSION < 4) return
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    call MPI_Psend_init(from(1:6:2, 1:8:2), 6, 2_MPI_COUNT_KIND, MPI_INTEGER, next, 5, MPI_COMM_WORLD, &
                        MPI_INFO_NULL, requests(1))
    call MPI_Precv_init(to(2:8:3, 1:12:3), 3, 2_MPI_COUNT_KIND, pair, prev, 5, MPI_COMM_WORLD, &
                        MPI_INFO_NULL, requests(2))
    call MPI_Type_free(pair)
    do turn = 1, 3
      from = reshape([(i, i = 1, 48)], [6, 8]) + 100 * turn + 1000 * rank
      to = -1
      call MPI_Startall(2, requests)
      do k = 5, 0, -1
        call MPI_Pready(k, requests(1))
      end do
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      call MPI_F_sync_reg(to)
      call must(all(to(2:8:3, 1:12:3) == from(1:6:2, 1:8:2) + 1000 * (prev - rank)), 'partitions of sections')
      call must(count(to == -1) == 84, 'what partitions leave')
    end do
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
#endif
  end subroutine partitioned_sections
#endif

  ! Counts of INTEGER(MPI_COUNT_KIND).
  subroutine large
#ifndef NO_LARGE_COUNTS
    integer(MPI_COUNT_KIND) :: n, counts(size), lb, extent
    integer(MPI_ADDRESS_KIND) :: displs(size)
    integer :: x(5), y(5), all_of(2 * size), i
    type(MPI_Datatype) :: type
    type(MPI_Status) :: status
    x = rank
    call MPI_Sendrecv(x, 5_MPI_COUNT_KIND, MPI_INTEGER, next, 1, y, 5_MPI_COUNT_KIND, MPI_INTEGER, &
                      prev, 1, MPI_COMM_WORLD, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call must(n == 5 .and. all(y == prev), 'large counts')
    call MPI_Type_contiguous(5000000000_MPI_COUNT_KIND, MPI_INTEGER, type)
    call MPI_Type_size(type, n)
    call must(n == 20000000000_MPI_COUNT_KIND, 'a large datatype')
    call MPI_Type_get_extent_x(type, lb, extent)
    call must(lb == 0 .and. extent == n, 'its extent')
    call MPI_Type_free(type)
    counts = 2
    displs = [(2 * i, i = 0, size - 1)]
    call MPI_Allgatherv(x, 2_MPI_COUNT_KIND, MPI_INTEGER, all_of, counts, displs, MPI_INTEGER, &
                        MPI_COMM_WORLD)
    call must(all_of(2 * size) == size - 1, 'large allgatherv')
#endif
  end subroutine large

  subroutine places
    integer(MPI_ADDRESS_KIND) :: at
    integer, target :: x
    type(MPI_Datatype) :: type
    type(c_ptr) :: memory
    integer, pointer :: values(:)
    integer :: coords(2), graph
    type(MPI_Comm) :: comm
    logical :: periods(2)
    integer :: dims(2), sources(1)
    character :: packed(8)
    x = rank + 70
    call MPI_Get_address(x, at)
    call MPI_Type_create_hindexed(1, [1], [at], MPI_INTEGER, type)
    call MPI_Type_commit(type)
    call MPI_Bcast(MPI_BOTTOM, 1, type, 0, MPI_COMM_WORLD)
    call MPI_F_sync_reg(x)
    call must(x == 70, 'MPI_BOTTOM')
    call MPI_Type_free(type)
    call MPI_Pack_external_size('external32', 2, MPI_INTEGER, at)
    call must(at == 8, 'size of packed data')
    at = 0
    call MPI_Pack_external('external32', [rank, 5], 2, MPI_INTEGER, packed, 8_MPI_ADDRESS_KIND, at)
    at = 0
    call MPI_Unpack_external('external32', packed, 8_MPI_ADDRESS_KIND, at, coords, 2, MPI_INTEGER)
    call must(at == 8 .and. all(coords == [rank, 5]), 'packed data')
    call MPI_Alloc_mem(400_MPI_ADDRESS_KIND, MPI_INFO_NULL, memory)
    call c_f_pointer(memory, values, [100])
    values = 3
    call MPI_Free_mem(values)
    dims = [size, 1]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., comm)
    call MPI_Cart_get(comm, 2, dims, periods, coords)
    call must(periods(1) .and. .not. periods(2) .and. coords(1) == rank, 'logical arrays')
    call MPI_Comm_free(comm)
    sources = next
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], sources, MPI_UNWEIGHTED, &
                               MPI_INFO_NULL, .false., comm)
    call MPI_Topo_test(comm, graph)
    call must(graph == MPI_DIST_GRAPH, 'MPI_UNWEIGHTED')
    call MPI_Comm_free(comm)
    call MPI_Buffer_attach(values_of(1000), 1000)
    call MPI_Buffer_detach(memory, x)
    call must(x == 1000 .and. c_associated(memory), 'detached buffer')
  contains
    function values_of(n) result(space)
      integer, intent(in) :: n
      character, pointer :: space(:)
      character, allocatable, target, save :: room(:)
      if (.not. allocated(room)) allocate(room(n))
      space => room
    end function values_of
  end subroutine places

  subroutine windows
    integer, pointer :: exposed(:)
    integer :: got, mine, ierror
    integer(MPI_ADDRESS_KIND) :: bytes
    integer :: unit
    type(c_ptr) :: base
    type(MPI_Win) :: win
    type(MPI_Comm) :: host
    type(MPI_Request) :: request
    call MPI_Win_allocate(16_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
    call must(ierror == MPI_SUCCESS .and. win /= MPI_WIN_NULL, 'win_allocate')
    call c_f_pointer(base, exposed, [4])
    exposed = rank
    call MPI_Win_fence(0, win)
    mine = 100 + rank
    call MPI_Put(mine, 1, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    call must(exposed(2) == 100 + prev, 'put')
    call MPI_Win_lock_all(0, win)
    call MPI_Rget(got, 1, MPI_INTEGER, next, 1_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(got)
    call must(got == 100 + rank, 'rget')
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
    call must(win == MPI_WIN_NULL, 'a freed window')
    call MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, host)
    call MPI_Win_allocate_shared(4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, host, base, win)
    call MPI_Win_shared_query(win, 0, bytes, unit, base)
    call must(bytes == 4 .and. unit == 4, 'win_shared_query')
    call c_f_pointer(base, exposed, [1])
    call MPI_Win_fence(0, win)
    call MPI_Comm_rank(host, got)
    if (got == 0) exposed = 77
    call MPI_Win_fence(0, win)
    call must(exposed(1) == 77, 'shared memory')
    call MPI_Win_free(win)
    call MPI_Comm_free(host)
  end subroutine windows

  subroutine files
    type(MPI_File) :: file, own
    type(MPI_Status) :: status
    type(MPI_Request) :: request
    integer :: mine(4), got(2), n, length, ierror
    character(len=200) :: name
    call get_environment_variable('SUITE_FILE', name, length)
    call must(length > 0, 'SUITE_FILE names a file to write')
    call MPI_File_open(MPI_COMM_WORLD, name(1:length), MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, file, ierror)
    call must(ierror == MPI_SUCCESS, 'file_open')
    mine = rank + [0, 100, 200, 300]
    call MPI_File_write_at_all(file, 8_MPI_OFFSET_KIND * rank, mine(1:2), 2, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    call must(n == 2, 'file_write_at_all')
    call MPI_File_sync(file)
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_sync(file)
    call MPI_File_iread_at(file, 8_MPI_OFFSET_KIND * next, got, 2, MPI_INTEGER, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(got)
    call must(all(got == next + [0, 100]), 'file_iread_at')
    call MPI_File_close(file)
    call must(file == MPI_FILE_NULL, 'a closed file')
    if (rank == 0) then
      call MPI_File_open(MPI_COMM_SELF, name(1:length), MPI_MODE_RDONLY + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, own)
      call MPI_File_read(own, got, 2, MPI_INTEGER, status)
      call must(all(got == [0, 100]), 'file_read')
      call MPI_File_close(own)
    end if
    call MPI_Barrier(MPI_COMM_WORLD)
  end subroutine files

#include "f08_begin.h"
end module checks

program f08
  use checks
  implicit none
  integer :: total
  call begin
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = mod(rank + 1, size)
  prev = mod(rank + size - 1, size)
  call handles
  call point_to_point
  call collectives
  call attributes
  call callbacks
  call sections
  call large
  call places
  call windows
  call files
  call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. total == size) print '(A)', 'ok'
  call finish
end program f08
