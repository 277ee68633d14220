
  interface @MPI_F_sync_reg
    subroutine @MPI_F_sync_reg_f08ts(buf) HPVM_BIND("@pmpi_f_sync_reg_cdesc")
      type(*), dimension(..), asynchronous :: buf
    end subroutine @MPI_F_sync_reg_f08ts
  end interface @MPI_F_sync_reg

  interface @MPI_Status_f2f08
    subroutine @MPI_Status_f2f08_f08(f_status, f08_status, ierror)
      import
      integer, intent(in) :: f_status(MPI_STATUS_SIZE)
      type(MPI_Status), intent(out) :: f08_status
      integer, optional, intent(out) :: ierror
    end subroutine @MPI_Status_f2f08_f08
  end interface @MPI_Status_f2f08

  interface @MPI_Status_f082f
    subroutine @MPI_Status_f082f_f08(f08_status, f_status, ierror)
      import
      type(MPI_Status), intent(in) :: f08_status
      integer, intent(out) :: f_status(MPI_STATUS_SIZE)
      integer, optional, intent(out) :: ierror
    end subroutine @MPI_Status_f082f_f08
  end interface @MPI_Status_f082f
