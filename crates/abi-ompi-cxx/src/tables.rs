//! Virtual tables. Every C++ program that was compiled with the bindings contains all of them as weak
//! symbols, with the inline functions they point to, so they are looked up and not made here.

use core::ffi::{CStr, c_void};

/// Entries in the largest table, that of `MPI::Cartcomm`, with some to spare.
const ENTRIES: usize = 96;

/// For a program that has no table of a class: every virtual function says so.
static NONE: [extern "C" fn() -> !; ENTRIES] = [no_table; ENTRIES];

extern "C" fn no_table() -> ! {
    crate::missing::end("a virtual function of MPI:: whose class the program does not contain")
}

/// What objects of a class point to; `symbol` is the mangled name of its table.
pub fn find(symbol: &CStr) -> *const c_void {
    // SAFETY: looking up a name has no preconditions.
    let table = unsafe { libc::dlsym(libc::RTLD_DEFAULT, symbol.as_ptr()) };
    if table.is_null() {
        return NONE.as_ptr().cast();
    }
    // Objects point behind the offset to the top and the type information.
    table.cast::<usize>().wrapping_add(2).cast()
}
