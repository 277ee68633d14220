//! `==` and `/=` of handles in `mpi_f08`: all are structures of one integer.

use core::ffi::c_int;

/// `==`.
///
/// # Safety
/// Both are the addresses of handles or of integers.
pub unsafe fn equal(a: *const c_int, b: *const c_int) -> c_int {
    // SAFETY: the caller's promise.
    c_int::from(unsafe { *a == *b })
}

/// `/=`.
///
/// # Safety
/// As [`equal`].
pub unsafe fn unequal(a: *const c_int, b: *const c_int) -> c_int {
    // SAFETY: the caller's promise.
    c_int::from(unsafe { *a != *b })
}

/// Defines operators: symbols, and which of the two each is.
#[macro_export]
macro_rules! operators {
    ($($name:ident $path:ident;)*) => {$(
        /// An operator of handles.
        ///
        /// # Safety
        /// Both are the addresses of handles or of integers.
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            a: *const core::ffi::c_int,
            b: *const core::ffi::c_int,
        ) -> core::ffi::c_int {
            // SAFETY: the caller's promise.
            unsafe { $crate::operator::$path(a, b) }
        }
    )*};
}
