//! Objects of the library's: a pointer whose first field is a `Fid`, and tables of functions that begin with their size.

use crate::abi::{self, Fid};
use crate::library::Library;
use core::ffi::{c_int, c_void};
use std::ptr::NonNull;

/// A function out of a table of the library's, if the table is there and long enough: `None` else. Nothing behind the
/// table's end is touched, not even by a reference.
///
/// To be used in `unsafe`: the table is null, or one of this kind that lives.
macro_rules! function {
    ($table:expr, $kind:ty, $name:ident) => {{
        let table: *const $kind = $table;
        let end = core::mem::offset_of!($kind, $name) + size_of::<usize>();
        // Every table begins with its size.
        if table.is_null() || *table.cast::<usize>() < end {
            None
        } else {
            (&raw const (*table).$name).read()
        }
    }};
}
pub(crate) use function;

/// An object of the library's, closed at the end.
pub(crate) struct Object<T> {
    made: NonNull<T>,
    open: bool,
}

impl<T> Object<T> {
    /// Takes what an opening function has made.
    pub fn made(
        library: &Library,
        what: &str,
        result: c_int,
        made: *mut T,
    ) -> Result<Self, String> {
        match NonNull::new(made) {
            Some(made) if result == 0 => Ok(Object { made, open: true }),
            _ if result == 0 => Err(format!("{what}: libfabric returns nothing")),
            _ => Err(format!("{what}: {}", library.error(result as isize))),
        }
    }

    pub fn as_ptr(&self) -> *mut T {
        self.made.as_ptr()
    }

    pub fn fid(&self) -> *mut Fid {
        // Every object begins with its `Fid`.
        self.made.as_ptr().cast()
    }

    fn ops(&self) -> *const abi::FidOps {
        // SAFETY: an object whose memory the library keeps at least until it is closed, and nobody asks later.
        unsafe { (*self.fid()).ops }
    }

    pub fn bind(&self, library: &Library, other: *mut Fid, flags: u64) -> Result<(), String> {
        // SAFETY: an open object's table.
        let bind = unsafe { function!(self.ops(), abi::FidOps, bind) };
        let bind = bind.ok_or_else(|| lacks("fi_bind"))?;
        // SAFETY: two open objects.
        zero(library, "fi_bind", unsafe { bind(self.fid(), other, flags) })
    }

    pub fn control(
        &self,
        library: &Library,
        command: c_int,
        value: *mut c_void,
    ) -> Result<(), String> {
        zero(library, "fi_control", self.control_result(command, value)?)
    }

    /// The same, with the library's own result: 0, or an error's negative number.
    pub fn control_result(&self, command: c_int, value: *mut c_void) -> Result<c_int, String> {
        // SAFETY: an open object's table.
        let control = unsafe { function!(self.ops(), abi::FidOps, control) };
        let control = control.ok_or_else(|| lacks("fi_control"))?;
        // SAFETY: an open object, and memory for what the command gives.
        Ok(unsafe { control(self.fid(), command, value) })
    }

    /// Closes it, once; objects that were made from it are closed already. False: the library refuses, and goes on using it.
    pub fn close(&mut self) -> bool {
        if !self.open {
            return true;
        }
        // SAFETY: an open object, which is not closed again when the library has taken it.
        unsafe {
            let close = function!(self.ops(), abi::FidOps, close);
            self.open = close.is_none_or(|close| close(self.fid()) != 0);
        }
        !self.open
    }

    /// Leaves it open, until the process ends.
    pub fn leave(&mut self) {
        self.open = false;
    }
}

impl<T> Drop for Object<T> {
    fn drop(&mut self) {
        self.close();
    }
}

pub(crate) fn lacks(what: &str) -> String {
    format!("the provider of libfabric has no {what}")
}

pub(crate) fn zero(library: &Library, what: &str, result: c_int) -> Result<(), String> {
    match result {
        0 => Ok(()),
        error => Err(format!("{what}: {}", library.error(error as isize))),
    }
}
