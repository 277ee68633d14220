//! `MPI_SIZEOF` (section 19.1.9 of MPI 5.0, deprecated since 4.0): the compiler chooses a procedure by the type of
//! the variable, which is not looked at.

/// Defines such procedures: symbols, and the bytes of each one's type. The error code may be absent.
#[macro_export]
macro_rules! sizeofs {
    ($($name:ident $bytes:literal;)*) => {$(
        /// Stores the size of a variable of one type.
        ///
        /// # Safety
        /// `size` and `ierror` are the addresses of integers; `ierror` may be null.
        #[allow(non_snake_case)]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            _x: *const $crate::entry::V,
            size: *mut $crate::entry::I,
            ierror: *mut $crate::entry::I,
        ) {
            // SAFETY: the caller's promise.
            unsafe {
                *size = $bytes;
                if !ierror.is_null() {
                    *ierror = 0;
                }
            }
        }
    )*};
}
