//! What kind of file system a file lies on: those of a network keep copies in each host's memory, which another host's
//! writes do not reach by themselves.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// `f_type` of file systems that a host reads from its own memory without asking the server each time, as statfs(2) lists
/// them: NFS, CIFS and SMB of both versions, AFS, Coda, 9p, and those in user space, of which sshfs is one.
const CACHING: [i64; 8] =
    [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x5346_414f, 0x7375_7245, 0x0102_1997, 0x6573_5546];

/// Whether what another host has written may be hidden by what this host has in its memory.
pub(crate) fn is_stale_by_nature(file: &File) -> io::Result<bool> {
    let mut about = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: the descriptor is open, and the place takes a whole structure.
    if unsafe { libc::fstatfs(file.as_raw_fd(), about.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has filled it.
    Ok(is_caching(unsafe { about.assume_init() }.f_type))
}

fn is_caching(kind: i64) -> bool {
    // The kernel gives 32 bits, which some are told with a sign.
    CACHING.contains(&(kind & 0xffff_ffff))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        for (kind, caching) in [(0x6969, true), (0xef53, false), (0x0102_1994, false)] {
            assert_eq!(is_caching(kind), caching, "{kind:#x}");
        }
        assert!(is_caching(0xff53_4d42_u32 as i32 as i64), "with a sign");
        let file = File::open("/proc/self/stat").unwrap();
        assert!(!is_stale_by_nature(&file).unwrap());
    }
}
