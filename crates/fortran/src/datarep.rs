//! Representations of data in files that a program registers (section 14.5.3): its functions get the addresses
//! of integers.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::mem::transmute;

use hpvm_abi::constants::*;
use hpvm_foreign::entries;
use hpvm_foreign::numbers::{error_in, error_out};

use crate::Fortran;

/// Addresses of the program's functions, and its state, which they may change.
struct Functions {
    read: usize,
    write: usize,
    extent: usize,
    state: UnsafeCell<MPI_Aint>,
}

/// A conversion: buffer, datatype, elements, buffer of the file, position, state, error code.
type Convert<N> = unsafe extern "C" fn(
    *mut c_void,
    *const c_int,
    *const N,
    *mut c_void,
    *const MPI_Offset,
    *mut MPI_Aint,
    *mut c_int,
);

type Extent = unsafe extern "C" fn(*const c_int, *mut MPI_Aint, *mut MPI_Aint, *mut c_int);

macro_rules! conversions {
    ($($name:ident $field:ident $count:ty;)*) => {$(
        unsafe extern "C" fn $name<F: Fortran>(
            userbuf: *mut c_void,
            datatype: MPI_Datatype,
            count: $count,
            filebuf: *mut c_void,
            position: MPI_Offset,
            state: *mut c_void,
        ) -> c_int {
            let own = F::datatype_toint(F::datatype_out(datatype));
            let mut code = MPI_SUCCESS;
            // SAFETY: the state is what `register` leaked, with the address of such a function; the
            // buffers are the engine's.
            unsafe {
                let functions = &*state.cast::<Functions>();
                let function = transmute::<usize, Convert<$count>>(functions.$field);
                let extra = functions.state.get();
                function(userbuf, &own, &count, filebuf, &position, extra, &mut code);
            }
            error_in::<F>(code)
        }
    )*};
}

conversions! {
    read read c_int;
    write write c_int;
    read_c read MPI_Count;
    write_c write MPI_Count;
}

unsafe extern "C" fn extent<F: Fortran>(
    datatype: MPI_Datatype,
    place: *mut MPI_Aint,
    state: *mut c_void,
) -> c_int {
    let own = F::datatype_toint(F::datatype_out(datatype));
    let mut code = MPI_SUCCESS;
    // SAFETY: as above.
    unsafe {
        let functions = &*state.cast::<Functions>();
        let function = transmute::<usize, Extent>(functions.extent);
        function(&own, place, functions.state.get(), &mut code);
    }
    error_in::<F>(code)
}

unsafe extern "C" {
    fn mpi_conversion_fn_null_();
    fn mpi_conversion_fn_null_c_();
}

/// Whether a program gave `MPI_CONVERSION_FN_NULL` or its form for large counts.
fn is_null<F: Fortran>(function: *const c_void) -> bool {
    let known =
        [mpi_conversion_fn_null_ as *const c_void, mpi_conversion_fn_null_c_ as *const c_void];
    function.is_null() || known.contains(&function) || F::is_conversion_null(function)
}

macro_rules! registrations {
    ($($name:ident $standard:ident $type:ident $read:ident $write:ident;)*) => {$(
        #[doc = concat!("`", stringify!($standard), "`.")]
        pub unsafe fn $name<F: Fortran>(
            datarep: *const c_char,
            read_fn: *const c_void,
            write_fn: *const c_void,
            extent_fn: *const c_void,
            extra_state: *const MPI_Aint,
            ierror: *mut c_int,
            len: usize,
        ) {
            let given = |function, ours: $type| if is_null::<F>(function) { None } else { ours };
            // SAFETY: the program's promises. A representation lives as long as the process, so its
            // functions are leaked.
            unsafe {
                let name = crate::text::text_in(datarep, len);
                let functions = Box::leak(Box::new(Functions {
                    read: read_fn.addr(),
                    write: write_fn.addr(),
                    extent: extent_fn.addr(),
                    state: UnsafeCell::new(extra_state.read_unaligned()),
                }));
                let code = (entries().standard.$standard)(
                    name.as_ptr(),
                    given(read_fn, Some($read::<F>)),
                    given(write_fn, Some($write::<F>)),
                    Some(extent::<F>),
                    (&raw mut *functions).cast(),
                );
                *ierror = error_out::<F>(code);
            }
        }
    )*};
}

registrations! {
    register_datarep MPI_Register_datarep MPI_Datarep_conversion_function read write;
    register_datarep_c MPI_Register_datarep_c MPI_Datarep_conversion_function_c read_c write_c;
}
