//! The Fortran side (`libmpi_mpifh.so.40`, which is this library by another name): the entry points.
//! The variables in common blocks that stand for `MPI_BOTTOM` and its like are those of [`convert`]:
//! a program has the blocks itself, its dynamic symbols hide ours, and every use here (through the
//! global offset table) finds the program's.

use core::ffi::{c_int, c_void};
use core::ptr::{dangling, without_provenance};

use hpvm_fortran::{Fortran, Sentinels, one};

use crate::convert::*;
use crate::{Ompi, UNWEIGHTED_HERE, WEIGHTS_EMPTY_HERE};

impl Fortran for Ompi {
    #[inline(always)]
    fn sentinels() -> Sentinels {
        Sentinels {
            // Open MPI 4 and 5 have none.
            buffer_automatic: one(dangling::<u128>().cast()),
            bottom: one((&raw const mpi_fortran_bottom_).cast()),
            in_place: one((&raw const mpi_fortran_in_place_).cast()),
            status_ignore: one((&raw const mpi_fortran_status_ignore_).cast()),
            statuses_ignore: one((&raw const mpi_fortran_statuses_ignore_).cast()),
            errcodes_ignore: one((&raw const mpi_fortran_errcodes_ignore_).cast()),
            argv_null: one((&raw const mpi_fortran_argv_null_).cast()),
            argvs_null: one((&raw const mpi_fortran_argvs_null_).cast()),
            unweighted: one((&raw const mpi_fortran_unweighted_).cast()),
            weights_empty: one((&raw const mpi_fortran_weights_empty_).cast()),
        }
    }

    fn is_conversion_null(function: *const c_void) -> bool {
        crate::f08::is_conversion_null(function)
    }

    fn c_weights() -> (*const c_int, *const c_int) {
        (without_provenance(UNWEIGHTED_HERE), without_provenance(WEIGHTS_EMPTY_HERE))
    }
}

hpvm_fortran::entry_points!(Ompi);
