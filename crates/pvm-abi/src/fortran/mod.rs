//! PVM's Fortran interface (`libfpvm3`): the names as gfortran makes them, in small letters with an underscore behind.
//!
//! Arguments come by address. A `character` argument has its length behind all others, by value: 64 bits since gfortran 8, 32
//! before; we read 32 of them, which both fill. What PVM's C functions return comes in the last argument.

mod forward;
mod lists;
mod message;
mod names;

use core::ffi::{CStr, c_char, c_int};
use std::ffi::CString;

/// The length of a `character` argument.
pub type Length = c_int;

/// A number that the program gives.
///
/// # Safety
/// The address of an integer.
pub unsafe fn number(argument: *const c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { argument.read() }
}

/// A number that the program gets, if it has a variable for it.
///
/// # Safety
/// Null, or the address of an integer.
pub unsafe fn set(argument: *mut c_int, value: c_int) {
    if !argument.is_null() {
        // SAFETY: not null, so the address of an integer.
        unsafe { argument.write(value) };
    }
}

/// A text of the program without the blanks at its end, or up to the NUL that a program may have put there.
///
/// # Safety
/// `length` characters can be read.
pub unsafe fn text(from: *const c_char, length: Length) -> CString {
    let length = usize::try_from(length).unwrap_or(0);
    if from.is_null() {
        return CString::default();
    }
    // SAFETY: the caller's promise.
    let all = unsafe { core::slice::from_raw_parts(from.cast::<u8>(), length) };
    let end = all.iter().position(|byte| *byte == 0).unwrap_or(length);
    CString::new(all[..end].trim_ascii_end()).unwrap_or_default()
}

/// Gives a text to the program: cut where the variable ends, with blanks up to there.
///
/// # Safety
/// `to` is null or has room for `length` characters; `from` is null or a string of C.
pub unsafe fn give(to: *mut c_char, length: Length, from: *const c_char) {
    let length = usize::try_from(length).unwrap_or(0);
    if to.is_null() {
        return;
    }
    // SAFETY: the caller's promises.
    unsafe {
        let from = if from.is_null() { c"" } else { CStr::from_ptr(from) };
        let to = core::slice::from_raw_parts_mut(to.cast::<u8>(), length);
        let there = from.to_bytes();
        let there = &there[..there.len().min(length)];
        to[..there.len()].copy_from_slice(there);
        to[there.len()..].fill(b' ');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(from: &[u8]) -> CString {
        // SAFETY: as long as the slice.
        unsafe { text(from.as_ptr().cast(), from.len() as Length) }
    }

    #[test]
    fn texts_lose_their_blanks_at_the_end_and_get_them_back() {
        assert_eq!(read(b"a group   ").as_c_str(), c"a group");
        assert_eq!(read(b" x").as_c_str(), c" x");
        assert_eq!(read(b"x\0garbage").as_c_str(), c"x");
        assert_eq!(read(b"   ").as_c_str(), c"");
        let mut variable = *b"......";
        // SAFETY: as long as the array.
        unsafe { give(variable.as_mut_ptr().cast(), 6, c"abc".as_ptr()) };
        assert_eq!(&variable, b"abc   ");
        // SAFETY: as above.
        unsafe { give(variable.as_mut_ptr().cast(), 6, c"longer than it".as_ptr()) };
        assert_eq!(&variable, b"longer");
    }
}
