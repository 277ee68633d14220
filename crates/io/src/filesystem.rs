//! What kind of file system a file lies on: those of a network keep copies in each host's memory, which another host's
//! writes do not reach by themselves.

use std::ffi::{CStr, CString};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `f_type` of file systems that a host reads from its own memory without asking the server each time, as statfs(2) lists
/// them: NFS, CIFS and SMB of both versions, AFS, Coda, 9p, and those in user space, of which sshfs is one.
const CACHING: [i64; 8] =
    [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x5346_414f, 0x7375_7245, 0x0102_1997, 0x6573_5546];

/// That of NFS among them.
const NFS: i64 = 0x6969;

/// Those that are nothing but this host's memory: tmpfs and ramfs.
const MEMORY: [i64; 2] = [0x0102_1994, 0x8584_58f6];

/// The kind of file system that a file lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A disk or memory of this host, or one that hosts share without copies of their own that may be old.
    Coherent,
    /// Memory of this host alone: nothing is ever brought to a device.
    Memory,
    /// What another host has written may be hidden by what this host has in its memory.
    Stale,
    /// As `Stale`; and what a host writes back are whole pages, with its own old bytes in them where others have written.
    Nfs,
}

pub(crate) fn kind(file: &File) -> io::Result<Kind> {
    let mut about = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the descriptor is open, and the place takes a whole structure.
    if unsafe { libc::fstatfs(file.as_raw_fd(), about.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has filled it.
    Ok(kind_of(unsafe { about.assume_init() }.f_type))
}

fn kind_of(magic: i64) -> Kind {
    // The kernel gives 32 bits, which some are told with a sign.
    match magic & 0xffff_ffff {
        NFS => Kind::Nfs,
        magic if CACHING.contains(&magic) => Kind::Stale,
        magic if MEMORY.contains(&magic) => Kind::Memory,
        _ => Kind::Coherent,
    }
}

/// Has this host ask the server for what is in a file's folder, where it would take what it remembers otherwise: that the file
/// is not there, which another host has made since, or is one that another host has replaced.
pub(crate) fn forget_names_beside(path: &Path) {
    let Some(folder) = path.parent() else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if let Ok(folder) = CString::new(folder.as_os_str().as_bytes()) {
        // What fails here fails again when the file is opened, with a text.
        let _ = ask_server(libc::AT_FDCWD, &folder, 0);
    }
}

/// Bytes of a file, as its server says now.
pub(crate) fn size_at_server(file: &File) -> io::Result<u64> {
    ask_server(file.as_raw_fd(), c"", libc::AT_EMPTY_PATH).map(|about| about.stx_size)
}

fn ask_server(fd: i32, path: &CStr, flags: i32) -> io::Result<libc::statx> {
    let mut about = MaybeUninit::<libc::statx>::uninit();
    let flags = flags | libc::AT_STATX_FORCE_SYNC;
    // SAFETY: a string that ends with a zero, and a place that takes a whole structure.
    let code = unsafe {
        libc::statx(fd, path.as_ptr(), flags, libc::STATX_BASIC_STATS, about.as_mut_ptr())
    };
    match code {
        // SAFETY: the call has filled it.
        0 => Ok(unsafe { about.assume_init() }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        let kinds = [(0x6969, Kind::Nfs), (0xef53, Kind::Coherent), (0x0102_1997, Kind::Stale)];
        for (magic, kind) in kinds {
            assert_eq!(kind_of(magic), kind, "{magic:#x}");
        }
        assert_eq!(kind_of(i64::from(0xff53_4d42_u32 as i32)), Kind::Stale, "with a sign");
        let file = File::open("/proc/self/stat").unwrap();
        assert_eq!(kind(&file).unwrap(), Kind::Coherent);
    }

    #[test]
    fn what_a_server_says() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(12345).unwrap();
        assert_eq!(size_at_server(&file).unwrap(), 12345);
        // Nothing comes of it.
        for path in ["name", "/", "/nowhere at all/name"] {
            forget_names_beside(Path::new(path));
        }
    }
}
