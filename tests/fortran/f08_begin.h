! How f08.F90 begins and ends: by MPI_Init, or by sessions alone.
#ifdef SESSIONS_ONLY
  subroutine note_session_error(session, error_code)
    type(MPI_Session) :: session
    integer :: error_code
    if (session /= MPI_SESSION_NULL) freed = error_code
  end subroutine note_session_error

  subroutine begin
    type(MPI_Info) :: info
    type(MPI_Errhandler) :: handler
    type(MPI_Group) :: group
    character(len=MPI_MAX_PSET_NAME_LEN) :: name
    integer :: n, length, ierror
    logical :: flag
    ! Infos and error handlers are made before anything is started.
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'thread_level', 'MPI_THREAD_MULTIPLE')
    call MPI_Session_create_errhandler(note_session_error, handler)
    call MPI_Session_init(info, handler, session, ierror)
    call MPI_Errhandler_free(handler)
    call MPI_Info_free(info)
    call must(ierror == MPI_SUCCESS .and. session /= MPI_SESSION_NULL, 'session_init')
    call MPI_Session_get_num_psets(session, MPI_INFO_NULL, n)
    call must(n >= 2, 'session_get_num_psets')
    length = MPI_MAX_PSET_NAME_LEN
    call MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, length, name)
    call must(name == 'mpi://WORLD', 'session_get_nth_pset')
    call MPI_Session_get_pset_info(session, name, info)
    call MPI_Info_get(info, 'mpi_size', MPI_MAX_PSET_NAME_LEN, name, flag)
    call must(flag, 'session_get_pset_info')
    read(name, *) size
    call MPI_Info_free(info)
    call MPI_Group_from_session_pset(session, 'mpi://NOWHERE', group, ierror)
    call must(ierror /= MPI_SUCCESS .and. freed == ierror, 'error handler of the session')
    session_world = of_set('mpi://WORLD')
    session_self = of_set('mpi://SELF')
    call MPI_Comm_size(session_world, n)
    call must(n == size, 'comm_create_from_group')
    call buffered
  end subroutine begin

  ! A buffer of the session, which lasts longer than its communicators.
  subroutine buffered
    integer, target, save :: room(1000)
    integer :: got
    type(MPI_Request) :: request
    type(c_ptr) :: memory
    call MPI_Session_attach_buffer(session, room, 4000)
    call MPI_Irecv(got, 1, MPI_INTEGER, 0, 3, session_self, request)
    call MPI_Bsend(33, 1, MPI_INTEGER, 0, 3, session_self)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(got)
    call must(got == 33, 'bsend')
    call MPI_Session_flush_buffer(session)
    call MPI_Session_detach_buffer(session, memory, got)
    call must(got == 4000 .and. c_associated(memory, c_loc(room)), 'session_detach_buffer')
  end subroutine buffered

  function of_set(name) result(comm)
    character(len=*), intent(in) :: name
    type(MPI_Comm) :: comm
    type(MPI_Group) :: group
    integer :: ierror
    call MPI_Group_from_session_pset(session, name, group, ierror)
    call must(ierror == MPI_SUCCESS, 'group_from_session_pset')
    call MPI_Comm_create_from_group(group, name, MPI_INFO_NULL, MPI_ERRORS_RETURN, comm, ierror)
    call must(ierror == MPI_SUCCESS, 'comm_create_from_group')
    call MPI_Group_free(group)
  end function of_set

  subroutine finish
    integer :: ierror
    logical :: flag
    call MPI_Initialized(flag)
    call must(.not. flag, 'initialized, without MPI_Init')
    call MPI_Comm_free(session_self)
    call MPI_Comm_free(session_world)
    call MPI_Session_finalize(session, ierror)
    call must(ierror == MPI_SUCCESS .and. session == MPI_SESSION_NULL, 'session_finalize')
  end subroutine finish
#else
  subroutine begin
    call MPI_Init()
  end subroutine begin

  subroutine finish
    call MPI_Finalize()
  end subroutine finish
#endif
