//! Where hpvm is installed.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The folder of the installation that this library belongs to: the parent of the folder that it lies in. `None`: the loader does
/// not know the library's file.
pub fn installation() -> Option<PathBuf> {
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    let here: fn() -> Option<PathBuf> = installation;
    // SAFETY: valid memory for the result, and an address of this library.
    if unsafe { libc::dladdr(here as *const libc::c_void, info.as_mut_ptr()) } == 0 {
        return None;
    }
    // SAFETY: `dladdr` has filled it in; the name is a string of the loader's.
    let name = unsafe { CStr::from_ptr(info.assume_init().dli_fname) };
    let file = PathBuf::from(OsStr::from_bytes(name.to_bytes()));
    let file = file.canonicalize().unwrap_or(file);
    file.parent().and_then(Path::parent).map(Path::to_path_buf)
}
