//! The Fortran side (`libmpi_mpifh.so.40`, which is this library by another name): the entry points.
//! The variables in common blocks that stand for `MPI_BOTTOM` and its like are those of [`convert`]:
//! a program has the blocks itself, its dynamic symbols hide ours, and every use here (through the
//! global offset table) finds the program's.

use core::ffi::c_int;
use core::ptr::without_provenance;

use hpvm_fortran::{Fortran, Sentinels};

use crate::convert::*;
use crate::{Ompi, UNWEIGHTED_HERE, WEIGHTS_EMPTY_HERE};

impl Fortran for Ompi {
    #[inline(always)]
    fn sentinels() -> Sentinels {
        Sentinels {
            bottom: (&raw const mpi_fortran_bottom_).cast(),
            in_place: (&raw const mpi_fortran_in_place_).cast(),
            status_ignore: (&raw const mpi_fortran_status_ignore_).cast(),
            statuses_ignore: (&raw const mpi_fortran_statuses_ignore_).cast(),
            errcodes_ignore: (&raw const mpi_fortran_errcodes_ignore_).cast(),
            argv_null: (&raw const mpi_fortran_argv_null_).cast(),
            argvs_null: (&raw const mpi_fortran_argvs_null_).cast(),
            unweighted: (&raw const mpi_fortran_unweighted_).cast(),
            weights_empty: (&raw const mpi_fortran_weights_empty_).cast(),
        }
    }

    fn c_weights() -> (*const c_int, *const c_int) {
        (without_provenance(UNWEIGHTED_HERE), without_provenance(WEIGHTS_EMPTY_HERE))
    }
}

hpvm_fortran::entry_points!(Ompi);
