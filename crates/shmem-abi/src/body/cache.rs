//! Cache management (section 9.13), which coherent memory has made empty.

use crate::types::Name;
use core::ffi::c_void;

pub unsafe fn nothing(_: Name) {}

pub unsafe fn nothing_at(_: Name, _: *mut c_void) {}
