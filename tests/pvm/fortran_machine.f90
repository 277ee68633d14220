! Fortran, free form: the lists of hosts and tasks, mailbox, signals, output of children, names of hosts, wrong arguments.
subroutine check(good, what)
  logical, intent(in) :: good
  character(*), intent(in) :: what
  if (.not. good) then
    print *, 'not so: ', what
    stop 1
  end if
end subroutine

subroutine lists(mine)
  implicit none
  include 'fpvm3.h'
  integer, intent(in) :: mine
  integer :: hosts, formats, host, speed, info, tasks, tid, parent, where, flag, seen, i
  character(40) :: name, arch, program
  hosts = -1
  call pvmfconfig(hosts, formats, host, name, arch, speed, info)
  call check(info == 1 .and. hosts == 1 .and. formats == 1, 'config')
  call check(arch(1:5) == 'LINUX' .and. name /= ' ' .and. ichar(name(40:40)) == 32, 'its texts')
  call pvmfmstat(name, info)
  call check(info == PvmOk, 'mstat')
  call pvmfmstat('no.such.host', info)
  call check(info == PvmNoHost, 'mstat of nothing')
  call pvmfarchcode(arch, info)
  call check(info > 0, 'archcode')
  call pvmftidtohost(mine, i)
  call check(i == host, 'tidtohost')
  call pvmftidtoh(mine, i)
  call check(i == host, 'tidtoh')
  seen = 0
  tasks = -1
  i = 0
  do
    call pvmftasks(0, tasks, tid, parent, where, flag, program, info)
    call check(info == 1 .and. tasks > 0 .and. where == host, 'tasks')
    if (tid == mine) seen = seen + 1
    i = i + 1
    if (i == tasks) exit
  end do
  call check(seen == 1, 'this task once')
end subroutine

subroutine mailbox()
  implicit none
  include 'fpvm3.h'
  integer :: buffer, index(2), i, names, entries, indices(10), owners(10), flags(10), info, value
  character(30) :: name
  do i = 1, 2
    call pvmfinitsend(PVMDATADEFAULT, buffer)
    call pvmfpack(INTEGER4, 100 * i, 1, 1, info)
    call pvmfputinfo('fortran box', buffer, PVMMBOXMULTIINSTANCE, index(i))
    call check(index(i) >= 0, 'putinfo')
  end do
  names = -1
  call pvmfgetmboxinfo('fortran*', name, names, entries, indices, owners, flags, info)
  call check(info == 1 .and. names == 1 .and. entries == 2, 'getmboxinfo')
  call check(name == 'fortran box' .and. all(indices(1:2) == index), 'what is in it')
  call pvmfrecvinfo('fortran box', index(2), PVMMBOXDEFAULT, buffer)
  call check(buffer > 0, 'recvinfo')
  call pvmfsetrbuf(buffer, i)
  call pvmfunpack(INTEGER4, value, 1, 1, info)
  call check(info == PvmOk .and. value == 200, 'an entry')
  do i = 1, 2
    call pvmfdelinfo('fortran box', index(i), PVMMBOXDEFAULT, info)
    call check(info == index(i), 'delinfo')
  end do
  names = -1
  call pvmfgetmboxinfo('fortran*', name, names, entries, indices, owners, flags, info)
  call check(info == PvmNotFound .and. names == 0, 'nothing left')
end subroutine

! A child that is killed: its end is told, and it is not there any more.
subroutine killed(self)
  implicit none
  include 'fpvm3.h'
  character(*), intent(in) :: self
  integer :: tid, started, info, buffer, who
  call pvmfspawn(self, PVMTASKDEFAULT, ' ', 1, tid, started)
  call check(started == 1, 'spawn')
  call pvmfnotify(PVMTASKEXIT, 9, 1, tid, info)
  call pvmfrecv(tid, 1, buffer)
  call pvmfpstat(tid, info)
  call check(info == PvmOk, 'pstat')
  call pvmfsendsig(tid, 0, info)
  call check(info == PvmOk, 'sendsig')
  call pvmfkill(tid, info)
  call check(info == PvmOk, 'kill')
  call pvmfrecv(-1, 9, buffer)
  call pvmfunpack(INTEGER4, who, 1, 1, info)
  call check(who == tid, 'its end')
  call pvmfpstat(tid, info)
  call check(info == PvmNoTask, 'pstat afterwards')
end subroutine

subroutine wrong()
  implicit none
  include 'fpvm3.h'
  integer :: info, tids(1), seconds, micros, dseconds, dmicros, host
  call pvmfspawn('no such program', PVMTASKDEFAULT, '*', 1, tids, info)
  call check(info == 0 .and. tids(1) == PvmNoFile, 'spawn of nothing')
  call pvmfsend(-5, 1, info)
  call check(info == PvmBadParam, 'send to nobody')
  call pvmfinitsend(77, info)
  call check(info == PvmBadParam, 'no such encoding')
  call pvmffreebuf(9999, info)
  call check(info == PvmNoSuchBuf, 'no such buffer')
  call pvmfjoingroup('   ', info)
  call check(info == PvmNullGroup, 'no name')
  call pvmfaddhost('no.such.host.', info)
  call check(info < 0, 'addhost of nothing')
  call pvmfdelhost('no.such.host.', info)
  call check(info == PvmNoHost, 'delhost of nothing')
  call pvmfstartpvmd('-d0', 0, info)
  call check(info == PvmDupHost, 'startpvmd')
  call pvmfsetopt(PVMROUTE, PVMROUTEDIRECT, info)
  call check(info > 0, 'setopt')
  call pvmfadvise(PVMALLOWDIRECT, info)
  call check(info == PvmOk, 'advise')
  call pvmfserror(0, info)
  call check(info == 0, 'serror')
  call pvmftidtohost(0, host)
  call pvmfmytid(info)
  call pvmftidtohost(info, host)
  call pvmfhostsync(host, seconds, micros, dseconds, dmicros, info)
  call check(info == PvmOk .and. seconds > 1700000000 .and. micros >= 0 .and. dmicros >= 0, 'hostsync')
end subroutine

program machine
  implicit none
  include 'fpvm3.h'
  character(1000) :: self
  integer :: tid, parent, info, started, buffer
  call pvmfmytid(tid)
  call pvmfparent(parent)
  call pvmfsetopt(PVMAUTOERR, 0, info)
  if (parent > 0) then
    print '(A)', 'a child writes'
    flush (6)
    call pvmfinitsend(PVMDATADEFAULT, buffer)
    call pvmfsend(parent, 1, info)
    ! For ever, unless it is told to go on.
    call pvmfrecv(parent, 2, buffer)
    call pvmfsleep(0)
    call pvmfexit(info)
    stop
  end if
  call get_command_argument(0, self)
  call lists(tid)
  call mailbox()
  call killed(self)
  call wrong()
  call pvmfcatchout(1, info)
  call check(info == PvmOk, 'catchout')
  call pvmfspawn(self, PVMTASKDEFAULT, '*', 1, tid, started)
  call pvmfrecv(tid, 1, buffer)
  call pvmfinitsend(PVMDATADEFAULT, buffer)
  call pvmfsend(tid, 2, info)
  call pvmfperror('the last error ', info)
  call check(info == 0, 'perror')
  call pvmfexit(info)
  print '(A)', 'No errors'
end program
