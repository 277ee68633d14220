//! What the system says when a call fails, in MPI's classes (MPI 5.0, section 14.7).

use hpvm_mpi::{Class, Error};
use std::io;
use std::path::Path;

/// The class of a failed system call on a file.
pub fn class_of(error: &io::Error) -> Class {
    match error.raw_os_error().unwrap_or(0) {
        libc::ENOENT => Class::NoSuchFile,
        libc::EEXIST => Class::FileExists,
        libc::EACCES | libc::EPERM => Class::Access,
        libc::EROFS => Class::ReadOnly,
        libc::ENOSPC => Class::NoSpace,
        libc::EDQUOT => Class::Quota,
        libc::EFBIG => Class::NoSpace,
        libc::ENAMETOOLONG | libc::ELOOP | libc::ENOTDIR | libc::EISDIR => Class::BadFile,
        libc::ETXTBSY | libc::EBUSY => Class::FileInUse,
        libc::EINVAL => Class::Arg,
        libc::ENOTSUP | libc::ENOSYS => Class::UnsupportedOperation,
        libc::ENOMEM => Class::NoMem,
        _ => Class::Io,
    }
}

/// The error of a system call that failed: what was to be done, with which file, and why not.
pub fn of(doing: &str, path: &Path, error: &io::Error) -> Error {
    let text = format!("{doing} '{}': {error}", shown(path));
    Error::of_system(class_of(error), error.raw_os_error().unwrap_or(0), text)
}

/// A file's name for people: control characters are escaped.
pub fn shown(path: &Path) -> String {
    path.to_string_lossy().escape_debug().to_string()
}
