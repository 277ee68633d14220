//! libfabric, loaded when it is asked for.

use crate::{abi, signals};
use core::ffi::{CStr, c_int, c_void};
use std::ptr::NonNull;

const NAME: &CStr = c"libfabric.so.1";

/// The library's functions that have names. It stays loaded until the process ends: providers have threads and handlers.
#[derive(Clone, Copy)]
pub struct Library {
    pub(crate) getinfo: abi::GetInfo,
    pub(crate) freeinfo: abi::FreeInfo,
    pub(crate) dupinfo: abi::DupInfo,
    pub(crate) fabric: abi::OpenFabric,
    strerror: abi::StrError,
    /// Major and minor number.
    pub version: (u32, u32),
}

/// Why the loader refuses.
fn dlerror() -> String {
    // SAFETY: returns a terminated string of this thread, or null.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "no reason is given".to_owned();
    }
    // SAFETY: not null, and valid until the next call of this thread.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// The address of a function, in the version whose structures are those of `abi`.
fn find(handle: NonNull<c_void>, name: &CStr, version: &CStr) -> Result<NonNull<c_void>, String> {
    // SAFETY: a handle of `dlopen` that is never closed, and terminated strings.
    let found = unsafe { libc::dlvsym(handle.as_ptr(), name.as_ptr(), version.as_ptr()) };
    NonNull::new(found).ok_or_else(|| {
        format!(
            "the libfabric.so.1 that was found has no {} of version {}; libfabric 1.9 or later is needed",
            name.to_string_lossy(),
            version.to_string_lossy()
        )
    })
}

impl Library {
    /// Loads the library.
    ///
    /// # Errors
    /// It is not there, or too old: what to do, for people.
    pub fn load() -> Result<Library, String> {
        let flags = libc::RTLD_NOW | libc::RTLD_LOCAL;
        // SAFETY: a terminated string. The library's initialisers run, as in any program that is linked with it.
        let handle = signals::keep(|| unsafe { libc::dlopen(NAME.as_ptr(), flags) });
        let handle = NonNull::new(handle).ok_or_else(|| {
            let why = dlerror();
            format!(
                "libfabric can't be loaded ({why}); install it (package libfabric1 of Debian and Ubuntu), or \
                 let the loader find it (LD_LIBRARY_PATH)"
            )
        })?;
        let one = |name| find(handle, name, c"FABRIC_1.0");
        let three = |name| find(handle, name, c"FABRIC_1.3");
        let fabric = find(handle, c"fi_fabric", c"FABRIC_1.1")?;
        // SAFETY: functions of these names and symbol versions have these signatures: the version says so.
        let library = unsafe {
            let version: abi::Version = core::mem::transmute(one(c"fi_version")?);
            let version = version();
            Library {
                getinfo: core::mem::transmute::<NonNull<c_void>, abi::GetInfo>(three(
                    c"fi_getinfo",
                )?),
                freeinfo: core::mem::transmute::<NonNull<c_void>, abi::FreeInfo>(three(
                    c"fi_freeinfo",
                )?),
                dupinfo: core::mem::transmute::<NonNull<c_void>, abi::DupInfo>(three(
                    c"fi_dupinfo",
                )?),
                fabric: core::mem::transmute::<NonNull<c_void>, abi::OpenFabric>(fabric),
                strerror: core::mem::transmute::<NonNull<c_void>, abi::StrError>(one(
                    c"fi_strerror",
                )?),
                version: (version >> 16, version & 0xffff),
            }
        };
        if version_is_old(library.version) {
            let (major, minor) = library.version;
            return Err(format!("libfabric is {major}.{minor}; 1.9 or later is needed"));
        }
        Ok(library)
    }

    /// What an error number of libfabric, positive or negative, means.
    pub fn error(&self, number: isize) -> String {
        let number = number.unsigned_abs();
        let small = c_int::try_from(number).unwrap_or(c_int::MAX);
        // SAFETY: any number is allowed.
        let text = unsafe { (self.strerror)(small) };
        if text.is_null() {
            return format!("error {number}");
        }
        // SAFETY: a string that the library keeps.
        let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
        format!("{text} (error {number})")
    }
}

fn version_is_old((major, minor): (u32, u32)) -> bool {
    (major, minor) < (abi::API >> 16, abi::API & 0xffff)
}
