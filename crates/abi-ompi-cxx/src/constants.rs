//! The constants `MPI::COMM_WORLD`, `MPI::INT` and so on: objects that are filled when the library is
//! loaded. An executable may hold copies of them, which are then the ones that everybody uses.

use crate::{Object, tables};
use core::cell::UnsafeCell;
use core::ffi::{c_int, c_void};

/// A constant; zero until it is filled.
#[repr(transparent)]
pub struct Constant(UnsafeCell<Object>);

// SAFETY: it is written once, by the dynamic linker's thread before any code of the program runs.
unsafe impl Sync for Constant {}

impl Constant {
    const fn empty() -> Constant {
        Constant(UnsafeCell::new(Object {
            table: core::ptr::null(),
            handle: core::ptr::null_mut(),
        }))
    }

    fn fill(&self, table: *const c_void, handle: *const c_void) {
        // SAFETY: as for `Sync`.
        unsafe { self.0.get().write(Object { table, handle: handle.cast_mut() }) }
    }
}

macro_rules! constants {
    ($($table:literal { $($name:ident $symbol:literal $handle:ident)* })*) => {
        $($(
            #[doc = concat!("`MPI::", stringify!($name), "`.")]
            #[unsafe(export_name = $symbol)]
            pub static $name: Constant = Constant::empty();
        )*)*

        /// The data symbols of `libmpi.so.40` whose addresses are the handles.
        mod handles {
            #[link(name = "mpi")]
            unsafe extern "C" {
                $($(
                    #[link_name = stringify!($handle)]
                    pub static $name: core::ffi::c_void;
                )*)*
            }
        }

        extern "C" fn fill() {
            $(
                let table = tables::find($table);
                $($name.fill(table, &raw const handles::$name);)*
            )*
        }
    };
}

/// Called when the library is loaded.
#[used]
#[unsafe(link_section = ".init_array")]
static FILL: extern "C" fn() = fill;

/// `MPI::BOTTOM`.
#[unsafe(export_name = "_ZN3MPI6BOTTOME")]
pub static BOTTOM: usize = 0;

/// `MPI::IN_PLACE`.
#[unsafe(export_name = "_ZN3MPI8IN_PLACEE")]
pub static IN_PLACE: usize = 1;

/// `MPI::ARGV_NULL`.
#[unsafe(export_name = "_ZN3MPI9ARGV_NULLE")]
pub static ARGV_NULL: usize = 0;

/// `MPI::ARGVS_NULL`.
#[unsafe(export_name = "_ZN3MPI10ARGVS_NULLE")]
pub static ARGVS_NULL: usize = 0;

/// `MPI::mpi_errno`.
#[unsafe(export_name = "_ZN3MPI9mpi_errnoE")]
pub static MPI_ERRNO: c_int = 0;

constants! {
    c"_ZTVN3MPI9Comm_NullE" {
        COMM_NULL "_ZN3MPI9COMM_NULLE" ompi_mpi_comm_null
    }
    c"_ZTVN3MPI8DatatypeE" {
        BOOL "_ZN3MPI4BOOLE" ompi_mpi_cxx_bool
        BYTE "_ZN3MPI4BYTEE" ompi_mpi_byte
        CHAR "_ZN3MPI4CHARE" ompi_mpi_char
        CHARACTER "_ZN3MPI9CHARACTERE" ompi_mpi_character
        COMPLEX "_ZN3MPI7COMPLEXE" ompi_mpi_cxx_cplex
        DATATYPE_NULL "_ZN3MPI13DATATYPE_NULLE" ompi_mpi_datatype_null
        DOUBLE "_ZN3MPI6DOUBLEE" ompi_mpi_double
        DOUBLE_COMPLEX "_ZN3MPI14DOUBLE_COMPLEXE" ompi_mpi_cxx_dblcplex
        DOUBLE_INT "_ZN3MPI10DOUBLE_INTE" ompi_mpi_double_int
        DOUBLE_PRECISION "_ZN3MPI16DOUBLE_PRECISIONE" ompi_mpi_dblprec
        FLOAT "_ZN3MPI5FLOATE" ompi_mpi_float
        FLOAT_INT "_ZN3MPI9FLOAT_INTE" ompi_mpi_float_int
        F_COMPLEX "_ZN3MPI9F_COMPLEXE" ompi_mpi_cplex
        F_DOUBLE_COMPLEX "_ZN3MPI16F_DOUBLE_COMPLEXE" ompi_mpi_dblcplex
        INT "_ZN3MPI3INTE" ompi_mpi_int
        INTEGER "_ZN3MPI7INTEGERE" ompi_mpi_integer
        INTEGER1 "_ZN3MPI8INTEGER1E" ompi_mpi_integer1
        INTEGER2 "_ZN3MPI8INTEGER2E" ompi_mpi_integer2
        INTEGER4 "_ZN3MPI8INTEGER4E" ompi_mpi_integer4
        LOGICAL "_ZN3MPI7LOGICALE" ompi_mpi_logical
        LONG "_ZN3MPI4LONGE" ompi_mpi_long
        LONG_DOUBLE "_ZN3MPI11LONG_DOUBLEE" ompi_mpi_long_double
        LONG_DOUBLE_COMPLEX "_ZN3MPI19LONG_DOUBLE_COMPLEXE" ompi_mpi_cxx_ldblcplex
        LONG_DOUBLE_INT "_ZN3MPI15LONG_DOUBLE_INTE" ompi_mpi_longdbl_int
        LONG_INT "_ZN3MPI8LONG_INTE" ompi_mpi_long_int
        LONG_LONG "_ZN3MPI9LONG_LONGE" ompi_mpi_long_long_int
        LONG_LONG_INT "_ZN3MPI13LONG_LONG_INTE" ompi_mpi_long_long_int
        PACKED "_ZN3MPI6PACKEDE" ompi_mpi_packed
        REAL "_ZN3MPI4REALE" ompi_mpi_real
        REAL2 "_ZN3MPI5REAL2E" ompi_mpi_real2
        REAL4 "_ZN3MPI5REAL4E" ompi_mpi_real4
        REAL8 "_ZN3MPI5REAL8E" ompi_mpi_real8
        SHORT "_ZN3MPI5SHORTE" ompi_mpi_short
        SHORT_INT "_ZN3MPI9SHORT_INTE" ompi_mpi_short_int
        SIGNED_CHAR "_ZN3MPI11SIGNED_CHARE" ompi_mpi_signed_char
        TWODOUBLE_PRECISION "_ZN3MPI19TWODOUBLE_PRECISIONE" ompi_mpi_2dblprec
        TWOINT "_ZN3MPI6TWOINTE" ompi_mpi_2int
        TWOINTEGER "_ZN3MPI10TWOINTEGERE" ompi_mpi_2integer
        TWOREAL "_ZN3MPI7TWOREALE" ompi_mpi_2real
        UNSIGNED "_ZN3MPI8UNSIGNEDE" ompi_mpi_unsigned
        UNSIGNED_CHAR "_ZN3MPI13UNSIGNED_CHARE" ompi_mpi_unsigned_char
        UNSIGNED_LONG "_ZN3MPI13UNSIGNED_LONGE" ompi_mpi_unsigned_long
        UNSIGNED_LONG_LONG "_ZN3MPI18UNSIGNED_LONG_LONGE" ompi_mpi_unsigned_long_long
        UNSIGNED_SHORT "_ZN3MPI14UNSIGNED_SHORTE" ompi_mpi_unsigned_short
        WCHAR "_ZN3MPI5WCHARE" ompi_mpi_wchar
    }
    c"_ZTVN3MPI10ErrhandlerE" {
        ERRHANDLER_NULL "_ZN3MPI15ERRHANDLER_NULLE" ompi_mpi_errhandler_null
        ERRORS_ARE_FATAL "_ZN3MPI16ERRORS_ARE_FATALE" ompi_mpi_errors_are_fatal
        ERRORS_RETURN "_ZN3MPI13ERRORS_RETURNE" ompi_mpi_errors_return
        ERRORS_THROW_EXCEPTIONS "_ZN3MPI23ERRORS_THROW_EXCEPTIONSE" ompi_mpi_errors_throw_exceptions
    }
    c"_ZTVN3MPI4FileE" {
        FILE_NULL "_ZN3MPI9FILE_NULLE" ompi_mpi_file_null
    }
    c"_ZTVN3MPI5GroupE" {
        GROUP_EMPTY "_ZN3MPI11GROUP_EMPTYE" ompi_mpi_group_empty
        GROUP_NULL "_ZN3MPI10GROUP_NULLE" ompi_mpi_group_null
    }
    c"_ZTVN3MPI4InfoE" {
        INFO_NULL "_ZN3MPI9INFO_NULLE" ompi_mpi_info_null
    }
    c"_ZTVN3MPI9IntracommE" {
        COMM_SELF "_ZN3MPI9COMM_SELFE" ompi_mpi_comm_self
        COMM_WORLD "_ZN3MPI10COMM_WORLDE" ompi_mpi_comm_world
    }
    c"_ZTVN3MPI2OpE" {
        BAND "_ZN3MPI4BANDE" ompi_mpi_op_band
        BOR "_ZN3MPI3BORE" ompi_mpi_op_bor
        BXOR "_ZN3MPI4BXORE" ompi_mpi_op_bxor
        LAND "_ZN3MPI4LANDE" ompi_mpi_op_land
        LOR "_ZN3MPI3LORE" ompi_mpi_op_lor
        LXOR "_ZN3MPI4LXORE" ompi_mpi_op_lxor
        MAX "_ZN3MPI3MAXE" ompi_mpi_op_max
        MAXLOC "_ZN3MPI6MAXLOCE" ompi_mpi_op_maxloc
        MIN "_ZN3MPI3MINE" ompi_mpi_op_min
        MINLOC "_ZN3MPI6MINLOCE" ompi_mpi_op_minloc
        OP_NULL "_ZN3MPI7OP_NULLE" ompi_mpi_op_null
        PROD "_ZN3MPI4PRODE" ompi_mpi_op_prod
        REPLACE "_ZN3MPI7REPLACEE" ompi_mpi_op_replace
        SUM "_ZN3MPI3SUME" ompi_mpi_op_sum
    }
    c"_ZTVN3MPI7RequestE" {
        REQUEST_NULL "_ZN3MPI12REQUEST_NULLE" ompi_request_null
    }
    c"_ZTVN3MPI3WinE" {
        WIN_NULL "_ZN3MPI8WIN_NULLE" ompi_mpi_win_null
    }
}
