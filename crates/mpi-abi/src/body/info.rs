//! Info objects (chapter 10): at any time, from any thread.

use crate::body::check::{out, wrong};
use crate::generated::constants::*;
use crate::object::info::{self, Info, with_info};
use crate::raise::anywhere;
use core::ffi::{CStr, c_char, c_int};
use hpvm_mpi::Class;
use hpvm_mpi::error::Result;

/// A key or value argument of at most `most` bytes.
///
/// # Safety
/// `string` is null or the address of a string with a final zero byte.
unsafe fn bytes<'a>(
    class: Class,
    what: &str,
    string: *const c_char,
    most: c_int,
) -> Result<&'a [u8]> {
    if string.is_null() {
        return Err(wrong(class, format!("the {what} is null; expected a string")));
    }
    // SAFETY: not null; the caller's promise.
    let bytes = unsafe { CStr::from_ptr(string) }.to_bytes();
    if bytes.len() >= most as usize {
        let text = format!("the {what} has {} bytes; expected at most {}", bytes.len(), most - 1);
        return Err(wrong(class, text));
    }
    Ok(bytes)
}

/// # Safety
/// As for [`bytes`].
unsafe fn key_of<'a>(key: *const c_char) -> Result<&'a [u8]> {
    // SAFETY: the caller's promise.
    match unsafe { bytes(Class::InfoKey, "key", key, MPI_MAX_INFO_KEY)? } {
        [] => Err(wrong(Class::InfoKey, "the key is empty")),
        key => Ok(key),
    }
}

/// Stores the handle of a new info object.
unsafe fn give(new: Info, place: *mut MPI_Info) -> Result<()> {
    out("info", place)?;
    // SAFETY: checked above.
    unsafe { *place = info::add(new)? };
    Ok(())
}

/// Copies as much of `value` as fits into `room` bytes, and a zero byte.
///
/// # Safety
/// `place` is valid for `room` bytes.
unsafe fn put(value: &[u8], place: *mut c_char, room: usize) {
    let Some(most) = room.checked_sub(1) else { return };
    let n = value.len().min(most);
    // SAFETY: the caller's promise; `n` is below `room`.
    unsafe {
        core::ptr::copy_nonoverlapping(value.as_ptr(), place.cast(), n);
        *place.add(n) = 0;
    }
}

pub unsafe fn info_create(info: *mut MPI_Info) -> c_int {
    // SAFETY: the caller's promise.
    anywhere("MPI_Info_create", || unsafe { give(Info::default(), info) })
}

pub unsafe fn info_create_env(argc: c_int, argv: *mut *mut c_char, info: *mut MPI_Info) -> c_int {
    anywhere("MPI_Info_create_env", || {
        let mut arguments = Vec::new();
        for i in 0..usize::try_from(argc).unwrap_or(0) {
            if argv.is_null() {
                break;
            }
            // SAFETY: the program says that `argv` has `argc` elements.
            let argument = unsafe { *argv.add(i) };
            if argument.is_null() {
                break;
            }
            // SAFETY: an element of `argv` is a string.
            arguments.push(unsafe { CStr::from_ptr(argument) }.to_bytes().to_vec());
        }
        // SAFETY: the caller's promise.
        unsafe { give(info::environment(&arguments), info) }
    })
}

pub unsafe fn info_dup(info: MPI_Info, newinfo: *mut MPI_Info) -> c_int {
    anywhere("MPI_Info_dup", || {
        let copy = with_info(info, |i| i.clone())?;
        // SAFETY: the caller's promise.
        unsafe { give(copy, newinfo) }
    })
}

pub unsafe fn info_free(info: *mut MPI_Info) -> c_int {
    anywhere("MPI_Info_free", || {
        out("info", info)?;
        // SAFETY: checked above.
        info::remove(unsafe { *info })?;
        // SAFETY: as above.
        unsafe { *info = MPI_INFO_NULL };
        Ok(())
    })
}

pub unsafe fn info_set(info: MPI_Info, key: *const c_char, value: *const c_char) -> c_int {
    anywhere("MPI_Info_set", || {
        with_info(info, |_| ())?;
        // SAFETY: the caller's promise.
        let (key, value) =
            unsafe { (key_of(key)?, bytes(Class::InfoValue, "value", value, MPI_MAX_INFO_VAL)?) };
        info::check_writable(info)?;
        with_info(info, |i| i.set_bytes(key, value))
    })
}

pub unsafe fn info_delete(info: MPI_Info, key: *const c_char) -> c_int {
    anywhere("MPI_Info_delete", || {
        with_info(info, |_| ())?;
        // SAFETY: the caller's promise.
        let key = unsafe { key_of(key)? };
        info::check_writable(info)?;
        match with_info(info, |i| i.delete_bytes(key))? {
            true => Ok(()),
            false => {
                let text = format!("there is no key {:?}", String::from_utf8_lossy(key));
                Err(wrong(Class::InfoNokey, text))
            }
        }
    })
}

pub unsafe fn info_get_nkeys(info: MPI_Info, nkeys: *mut c_int) -> c_int {
    anywhere("MPI_Info_get_nkeys", || {
        let n = with_info(info, |i| i.len())?;
        out("nkeys", nkeys)?;
        // SAFETY: checked above.
        unsafe { *nkeys = n as c_int };
        Ok(())
    })
}

pub unsafe fn info_get_nthkey(info: MPI_Info, n: c_int, key: *mut c_char) -> c_int {
    anywhere("MPI_Info_get_nthkey", || {
        let (found, len) = with_info(info, |i| {
            (usize::try_from(n).ok().and_then(|n| i.key_bytes(n).map(<[u8]>::to_vec)), i.len())
        })?;
        out("key", key)?;
        let found = found.ok_or_else(|| {
            let last = len as i64 - 1;
            wrong(Class::Arg, format!("n is {n}; expected 0 to {last}, the number of the last key"))
        })?;
        // SAFETY: checked above; the standard makes the place this long.
        unsafe { put(&found, key, MPI_MAX_INFO_KEY as usize) };
        Ok(())
    })
}

/// The value of a key, if it is there, and the flag's value for the program.
unsafe fn look_up(info: MPI_Info, key: *const c_char, flag: *mut c_int) -> Result<Option<Vec<u8>>> {
    with_info(info, |_| ())?;
    // SAFETY: the caller's promise.
    let key = unsafe { key_of(key)? };
    out("flag", flag)?;
    let found = with_info(info, |i| i.get_bytes(key).map(<[u8]>::to_vec))?;
    // SAFETY: checked above.
    unsafe { *flag = c_int::from(found.is_some()) };
    Ok(found)
}

pub unsafe fn info_get(
    info: MPI_Info,
    key: *const c_char,
    valuelen: c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> c_int {
    anywhere("MPI_Info_get", || {
        // SAFETY: the caller's promise.
        let found = unsafe { look_up(info, key, flag)? };
        let room = usize::try_from(valuelen).map_err(|_| {
            wrong(Class::Arg, format!("valuelen is {valuelen}; expected 0 or more"))
        })?;
        out("value", value)?;
        if let Some(found) = found {
            // SAFETY: the place has `valuelen` bytes and one for the zero byte (section 15.1).
            unsafe { put(&found, value, room + 1) };
        }
        Ok(())
    })
}

pub unsafe fn info_get_valuelen(
    info: MPI_Info,
    key: *const c_char,
    valuelen: *mut c_int,
    flag: *mut c_int,
) -> c_int {
    anywhere("MPI_Info_get_valuelen", || {
        // SAFETY: the caller's promise.
        let found = unsafe { look_up(info, key, flag)? };
        out("valuelen", valuelen)?;
        if let Some(found) = found {
            // SAFETY: checked above.
            unsafe { *valuelen = found.len() as c_int };
        }
        Ok(())
    })
}

pub unsafe fn info_get_string(
    info: MPI_Info,
    key: *const c_char,
    buflen: *mut c_int,
    value: *mut c_char,
    flag: *mut c_int,
) -> c_int {
    anywhere("MPI_Info_get_string", || {
        out("buflen", buflen)?;
        // SAFETY: the caller's promise.
        let found = unsafe { look_up(info, key, flag)? };
        // SAFETY: checked above.
        let room = unsafe { *buflen };
        let room = usize::try_from(room)
            .map_err(|_| wrong(Class::Arg, format!("buflen is {room}; expected 0 or more")))?;
        let Some(found) = found else { return Ok(()) };
        if room > 0 {
            out("value", value)?;
            // SAFETY: the program says that the place has `buflen` bytes.
            unsafe { put(&found, value, room) };
        }
        // SAFETY: checked above. The zero byte counts.
        unsafe { *buflen = found.len() as c_int + 1 };
        Ok(())
    })
}
