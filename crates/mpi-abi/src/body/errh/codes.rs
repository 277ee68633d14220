//! Error classes, codes and strings: the predefined ones, and those that programs add (sections
//! 9.4 and 9.5). All of this works at any time and from any thread.

use crate::body::check::{out, text, wrong};
use crate::body::env::put_string;
use crate::generated::constants::*;
use crate::raise::{anywhere, last_detail};
use core::ffi::{c_char, c_int};
use hpvm_mpi::error::{LASTCODE, Result};
use hpvm_mpi::{Class, Error};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A class or code that the program added. A class is a code whose class is itself.
struct Added {
    class: c_int,
    text: Option<String>,
}

static ADDED: Mutex<BTreeMap<c_int, Added>> = Mutex::new(BTreeMap::new());

fn with_added<R>(f: impl FnOnce(&mut BTreeMap<c_int, Added>) -> R) -> R {
    f(&mut ADDED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The highest number in use, for `MPI_LASTUSEDCODE`.
pub fn last_used_code() -> c_int {
    with_added(|a| a.last_key_value().map_or(LASTCODE, |(code, _)| *code))
}

/// The class of a code; `None` for a number that is no code.
pub fn class_of(code: c_int) -> Option<c_int> {
    match Class::from_code(code) {
        Some(class) => Some(class.code()),
        None if code == LASTCODE => Some(LASTCODE),
        None => with_added(|a| a.get(&code).map(|a| a.class)),
    }
}

/// What `MPI_Error_string` says about a code. `None` as for [`class_of`].
pub fn text_of(code: c_int) -> Option<String> {
    if let Some(class) = Class::from_code(code) {
        let base = format!("{}: {}", class.name(), class.describe());
        return Some(match last_detail(class) {
            Some(detail) => format!("{base} {detail}"),
            None => base,
        });
    }
    if code == LASTCODE {
        return Some("MPI_ERR_LASTCODE: The last of the predefined error codes.".into());
    }
    with_added(|a| a.get(&code).map(|a| a.text.clone().unwrap_or_default()))
}

fn no_code(what: &str, code: c_int) -> Error {
    let text = format!("{code} is no {what} that this program has added and not removed");
    wrong(Class::Arg, text)
}

fn bad_code(code: c_int) -> Error {
    wrong(Class::Arg, format!("{code} is no error code"))
}

/// Adds a code of `class`, or a class of its own.
fn add(class: Option<c_int>) -> Result<c_int> {
    with_added(|a| {
        let code = a.last_key_value().map_or(LASTCODE, |(code, _)| *code).checked_add(1);
        let code = code.ok_or_else(|| wrong(Class::Other, "no error codes are left"))?;
        a.insert(code, Added { class: class.unwrap_or(code), text: None });
        Ok(code)
    })
}

pub unsafe fn add_error_class(errorclass: *mut c_int) -> c_int {
    anywhere("MPI_Add_error_class", || {
        out("errorclass", errorclass)?;
        // SAFETY: checked above.
        unsafe { *errorclass = add(None)? };
        Ok(())
    })
}

pub unsafe fn add_error_code(errorclass: c_int, errorcode: *mut c_int) -> c_int {
    anywhere("MPI_Add_error_code", || {
        out("errorcode", errorcode)?;
        if class_of(errorclass) != Some(errorclass) {
            return Err(wrong(Class::Arg, format!("{errorclass} is no error class")));
        }
        // SAFETY: checked above.
        unsafe { *errorcode = add(Some(errorclass))? };
        Ok(())
    })
}

pub unsafe fn add_error_string(errorcode: c_int, string: *const c_char) -> c_int {
    anywhere("MPI_Add_error_string", || {
        // SAFETY: the caller's promise.
        let mut new = unsafe { text("string", string)? };
        let mut end = new.len().min(MPI_MAX_ERROR_STRING as usize - 1);
        while !new.is_char_boundary(end) {
            end -= 1;
        }
        new.truncate(end);
        with_added(|a| match a.get_mut(&errorcode) {
            Some(added) => {
                added.text = Some(new);
                Ok(())
            }
            None => Err(no_code("error class or code", errorcode)),
        })
    })
}

/// Removes a class or a code, which must have lost its string before (section 9.5).
fn remove(code: c_int, is_class: bool) -> Result<()> {
    let what = if is_class { "error class" } else { "error code" };
    with_added(|a| {
        let Some(added) = a.get(&code).filter(|c| (c.class == code) == is_class) else {
            return Err(no_code(what, code));
        };
        if added.text.is_some() {
            let text = format!("{what} {code} has a string still: remove that first");
            return Err(wrong(Class::Other, text));
        }
        if let Some((other, _)) = a.iter().find(|(k, c)| **k != code && c.class == code) {
            let text = format!("error code {other} still belongs to class {code}");
            return Err(wrong(Class::Other, text));
        }
        a.remove(&code);
        Ok(())
    })
}

pub unsafe fn remove_error_class(errorclass: c_int) -> c_int {
    anywhere("MPI_Remove_error_class", || remove(errorclass, true))
}

pub unsafe fn remove_error_code(errorcode: c_int) -> c_int {
    anywhere("MPI_Remove_error_code", || remove(errorcode, false))
}

pub unsafe fn remove_error_string(errorcode: c_int) -> c_int {
    anywhere("MPI_Remove_error_string", || {
        with_added(|a| match a.get_mut(&errorcode) {
            Some(Added { text: text @ Some(_), .. }) => {
                *text = None;
                Ok(())
            }
            Some(_) => Err(wrong(Class::Other, format!("code {errorcode} has no string"))),
            None => Err(no_code("error class or code", errorcode)),
        })
    })
}

pub unsafe fn error_class(errorcode: c_int, errorclass: *mut c_int) -> c_int {
    anywhere("MPI_Error_class", || {
        out("errorclass", errorclass)?;
        let class = class_of(errorcode).ok_or_else(|| bad_code(errorcode))?;
        // SAFETY: checked above.
        unsafe { *errorclass = class };
        Ok(())
    })
}

pub unsafe fn error_string(errorcode: c_int, string: *mut c_char, resultlen: *mut c_int) -> c_int {
    anywhere("MPI_Error_string", || {
        out("string", string)?;
        out("resultlen", resultlen)?;
        let text = text_of(errorcode).ok_or_else(|| bad_code(errorcode))?;
        // SAFETY: checked above; the standard makes the place this long.
        unsafe { put_string(&text, string, MPI_MAX_ERROR_STRING as usize, resultlen) };
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn added_classes_and_codes_come_and_go() {
        // One test only: the table belongs to the process.
        let class = add(None).unwrap();
        let code = add(Some(class)).unwrap();
        assert!(class > LASTCODE && code > class);
        assert_eq!((class_of(class), class_of(code)), (Some(class), Some(class)));
        assert_eq!(last_used_code(), code);
        assert_eq!(text_of(code).as_deref(), Some(""));
        assert!(remove(class, true).is_err(), "a code belongs to it");
        remove(code, false).unwrap();
        assert!(remove(code, false).is_err());
        assert_eq!((class_of(code), last_used_code()), (None, class));
        remove(class, true).unwrap();
        assert_eq!(last_used_code(), LASTCODE);
    }

    #[test]
    fn predefined_texts_fit() {
        for &class in Class::ALL {
            let text = text_of(class.code()).unwrap();
            assert!(text.contains(class.describe()) && text.len() < MPI_MAX_ERROR_STRING as usize);
        }
        assert_eq!(text_of(-7), None);
    }
}
