//! Texts that the engine writes to buffers whose length the ABI prescribes.

use crate::numbers::error_out;
use crate::{Abi, entries};
use core::ffi::{CStr, c_char, c_int};
use core::ptr::null_mut;
use hpvm_abi::constants::{MPI_COMM_SELF, MPI_ERR_INFO_KEY};

/// Room for words of ours before a text.
const PREFIX_BYTES: usize = 256;

/// Room for the longest text of the standard ABI (`MPI_MAX_LIBRARY_VERSION_STRING`) after them.
const TEXT_BYTES: usize = PREFIX_BYTES + 8192;

/// A buffer of the program for a text, which has room for `limit` bytes with the last zero, where
/// the engine may write `standard` bytes.
pub struct Text {
    user: *mut c_char,
    limit: usize,
    own: [u8; TEXT_BYTES],
    /// Where the engine begins to write.
    start: usize,
}

impl Text {
    /// Null is allowed and handed on.
    #[inline(always)]
    pub fn new(user: *mut c_char, limit: c_int) -> Text {
        Text { user, limit: usize::try_from(limit).unwrap_or(1), own: [0; TEXT_BYTES], start: 0 }
    }

    /// A text that begins with `first`, cut after [`PREFIX_BYTES`] bytes; the engine writes the rest.
    pub fn after(first: &str, user: *mut c_char, limit: c_int) -> Text {
        let mut text = Text::new(user, limit);
        text.start = first.len().min(PREFIX_BYTES);
        text.own[..text.start].copy_from_slice(&first.as_bytes()[..text.start]);
        text
    }

    pub fn pointer(&mut self) -> *mut c_char {
        match self.user.is_null() {
            true => null_mut(),
            false => self.own[self.start..].as_mut_ptr().cast(),
        }
    }

    /// Hands over as much as fits, and corrects the length that the engine stored at `length`.
    ///
    /// # Safety
    /// The program's buffer has `limit` bytes; `length` is null or may be written. The call
    /// succeeded.
    pub unsafe fn give(self, length: *mut c_int) {
        if self.user.is_null() {
            return;
        }
        let found = self.own.iter().position(|byte| *byte == 0).unwrap_or(TEXT_BYTES - 1);
        let len = cut(&self.own[..found], self.limit.saturating_sub(1));
        // SAFETY: `len < limit`, and the caller vouches for the buffer.
        unsafe {
            self.user.copy_from_nonoverlapping(self.own.as_ptr().cast(), len);
            *self.user.add(len) = 0;
        }
        if !length.is_null() {
            // SAFETY: not null, and the caller vouches for it.
            unsafe { *length = len as c_int };
        }
    }
}

/// The length of `text` within `limit` bytes that does not split a character.
fn cut(text: &[u8], limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    (0..=limit).rev().find(|i| text[*i] & 0xc0 != 0x80).unwrap_or(0)
}

/// Refuses a key of an info object that the ABI has no room for, although the engine has: the program
/// could not read it back. The error that the call returns, after the error handler; `None`: it fits.
///
/// # Safety
/// `key` is null or a string.
pub unsafe fn too_long<A: Abi>(key: *const c_char) -> Option<c_int> {
    let most = usize::try_from(A::MPI_MAX_INFO_KEY).unwrap_or(usize::MAX);
    // SAFETY: not null, and the caller vouches for it.
    if key.is_null() || unsafe { CStr::from_ptr(key) }.count_bytes() < most {
        return None;
    }
    // SAFETY: a predefined communicator and a predefined class.
    unsafe { (entries().standard.MPI_Comm_call_errhandler)(MPI_COMM_SELF, MPI_ERR_INFO_KEY) };
    Some(error_out::<A>(MPI_ERR_INFO_KEY))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(cut(b"hello", 9), 5);
        assert_eq!(cut(b"hello", 3), 3);
        assert_eq!(cut("aüb".as_bytes(), 2), 1);
        let (mut buffer, mut length) = ([7 as c_char; 8], 99);
        let mut text = Text::new(buffer.as_mut_ptr(), 4);
        // SAFETY: the buffer is longer than the limit, and the place has more room than is used.
        unsafe {
            text.pointer().copy_from_nonoverlapping(c"hello".as_ptr(), 6);
            text.give(&mut length);
        }
        assert_eq!((&buffer[..5], length), (&b"hel\0\x07".map(|b| b as c_char)[..], 3));
    }

    #[test]
    fn a_text_may_begin_with_words_of_ours() {
        let (mut buffer, mut length) = ([7 as c_char; 16], 99);
        let mut text = Text::after("one ", buffer.as_mut_ptr(), 16);
        // SAFETY: the buffer is as long as the limit, and the place has more room than is used.
        unsafe {
            text.pointer().copy_from_nonoverlapping(c"two".as_ptr(), 4);
            text.give(&mut length);
        }
        assert_eq!((&buffer[..8], length), (&b"one two\0".map(|b| b as c_char)[..], 7));
    }
}
