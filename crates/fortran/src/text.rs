//! Texts: padded with blanks in Fortran, ended by a zero byte in C.

use core::ffi::{c_char, c_int};

/// A text of the program for C: without the blanks at its ends (section 19.1.4: trailing ones are
/// no part of it; leading ones are none of an info key or value).
///
/// # Safety
/// `text` has `len` bytes.
pub unsafe fn text_in(text: *const c_char, len: usize) -> Vec<c_char> {
    let mut bytes = Vec::new();
    if !text.is_null() {
        // SAFETY: the caller's promise.
        bytes.extend_from_slice(unsafe { core::slice::from_raw_parts(text, len) });
    }
    // A program may have ended it itself.
    let end = bytes.iter().position(|c| *c == 0).unwrap_or(bytes.len());
    bytes.truncate(end);
    while bytes.last() == Some(&BLANK) {
        bytes.pop();
    }
    bytes.push(0);
    bytes
}

/// [`text_in`] without leading blanks.
///
/// # Safety
/// As there.
pub unsafe fn trimmed_in(text: *const c_char, len: usize) -> Vec<c_char> {
    // SAFETY: the caller's promise.
    let mut bytes = unsafe { text_in(text, len) };
    let blanks = bytes.iter().take_while(|c| **c == BLANK).count();
    bytes.drain(..blanks);
    bytes
}

const BLANK: c_char = b' ' as c_char;

/// A variable of the program for a text, and a buffer of ours that C writes to.
pub struct TextOut {
    user: *mut c_char,
    len: usize,
    own: Vec<c_char>,
}

impl TextOut {
    /// `room` is the number of bytes that C may write, with the last zero.
    pub fn new(user: *mut c_char, len: usize, room: usize) -> Self {
        Self { user, len, own: vec![0; room.max(1)] }
    }

    pub fn pointer(&mut self) -> *mut c_char {
        self.own.as_mut_ptr()
    }

    /// Hands over as much as fits, and fills up with blanks.
    ///
    /// # Safety
    /// The program's variable has the length given.
    pub unsafe fn give(self) {
        let text = &self.own[..self.own.iter().position(|c| *c == 0).unwrap_or(self.own.len())];
        for i in 0..self.len {
            // SAFETY: `i < len`.
            unsafe { *self.user.add(i) = text.get(i).copied().unwrap_or(BLANK) };
        }
    }
}

/// Room for a text of `len` bytes, where `len` comes from the program.
pub fn room(len: c_int) -> usize {
    usize::try_from(len).unwrap_or(0).saturating_add(1)
}

/// The length of a text that comes without one, and of which `external32` is the only right value: no more of it is
/// looked at than is right, and one character.
///
/// # Safety
/// The text has a character, and another one after each that is right.
pub unsafe fn external_length(text: *const c_char) -> usize {
    let right = b"external32";
    // SAFETY: the caller's promise: all characters before the first wrong one are right.
    let wrong = (0..right.len()).find(|i| unsafe { *text.add(*i) } != right[*i] as c_char);
    wrong.map_or(right.len(), |i| i + 1)
}

/// Texts of one length, ended by a blank one, as C's null-terminated array of texts.
pub struct TextList {
    _texts: Vec<Vec<c_char>>,
    pointers: Vec<*mut c_char>,
}

impl TextList {
    /// The elements start `stride` bytes apart and have `len` bytes.
    ///
    /// # Safety
    /// There is a blank element.
    pub unsafe fn new(first: *const c_char, len: usize, stride: usize) -> Self {
        let mut texts = Vec::new();
        for i in 0.. {
            // SAFETY: no element before was blank, so there is another one.
            let text = unsafe { text_in(first.wrapping_add(i * stride), len) };
            if text.len() == 1 || len == 0 {
                break;
            }
            texts.push(text);
        }
        let mut pointers: Vec<_> = texts.iter_mut().map(|text| text.as_mut_ptr()).collect();
        pointers.push(core::ptr::null_mut());
        Self { _texts: texts, pointers }
    }

    pub fn pointer(&mut self) -> *mut *mut c_char {
        self.pointers.as_mut_ptr()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chars(text: &str) -> Vec<c_char> {
        text.bytes().map(|byte| byte as c_char).collect()
    }

    #[test]
    fn there() {
        // SAFETY: the arrays have these lengths.
        unsafe {
            let text = chars(" a b  ");
            assert_eq!(text_in(text.as_ptr(), 6), chars(" a b\0"));
            assert_eq!(trimmed_in(text.as_ptr(), 6), chars("a b\0"));
            assert_eq!(text_in(chars("ab\0cd").as_ptr(), 5), chars("ab\0"));
            assert_eq!(text_in(text.as_ptr(), 0), chars("\0"));
            assert_eq!(trimmed_in(chars("   ").as_ptr(), 3), chars("\0"));
        }
    }

    #[test]
    fn back() {
        for (len, expected) in [(5, "abc  "), (3, "abc"), (2, "ab")] {
            let mut user = chars("xxxxx");
            let mut text = TextOut::new(user.as_mut_ptr(), len, 10);
            // SAFETY: the buffers are longer.
            unsafe {
                text.pointer().copy_from_nonoverlapping(c"abc".as_ptr(), 4);
                text.give();
            }
            assert_eq!(user[..len], chars(expected));
            assert!(user[len..].iter().all(|c| *c == b'x' as c_char));
        }
    }

    #[test]
    fn lists() {
        let all = chars("one twothr    ");
        // SAFETY: the fourth element is blank.
        unsafe {
            let mut list = TextList::new(all.as_ptr(), 4, 4);
            let place = list.pointer();
            assert_eq!(*(*place).add(2), b'e' as c_char);
            assert_eq!(*(*place).add(3), 0);
            assert!(!(*place.add(2)).is_null());
            assert!((*place.add(3)).is_null());
        }
    }
}
