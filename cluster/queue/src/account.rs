//! Users of this system, and becoming one of them.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A user of this system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Account {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
    pub home: PathBuf,
    pub shell: String,
}

impl Account {
    /// The variables that a login sets.
    pub fn env(&self) -> BTreeMap<String, String> {
        let home = self.home.display().to_string();
        let of = |name: &str, value: &str| (name.to_string(), value.to_string());
        [
            of("HOME", &home),
            of("USER", &self.name),
            of("LOGNAME", &self.name),
            of("SHELL", &self.shell),
        ]
        .into()
    }

    /// Becomes the user, for good. Makes system calls only and allocates nothing, as the time
    /// between fork and exec demands.
    pub fn become_for_good(&self) -> io::Result<()> {
        // SAFETY: three calls with numbers, and a pointer to as many groups as are said. Groups
        // first: afterwards we may not change them any more.
        let done = unsafe {
            libc::setgroups(self.groups.len(), self.groups.as_ptr()) == 0
                && libc::setgid(self.gid) == 0
                && libc::setuid(self.uid) == 0
        };
        if done { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Does something with the user's rights to files, and no more than those. The process must run
    /// as root and have one thread.
    pub fn with_rights<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let _back = Rights::of(self)?;
        work()
    }
}

/// The rights of a user, until it is dropped.
struct Rights {
    groups: Vec<libc::gid_t>,
    gid: libc::gid_t,
}

impl Rights {
    fn of(account: &Account) -> io::Result<Rights> {
        // SAFETY: asked for their number first, then for as many; the others have no arguments.
        let back = unsafe {
            let mut groups =
                vec![0; usize::try_from(libc::getgroups(0, std::ptr::null_mut())).unwrap_or(0)];
            let room = libc::c_int::try_from(groups.len()).unwrap_or(0);
            let count = libc::getgroups(room, groups.as_mut_ptr());
            groups.truncate(usize::try_from(count).unwrap_or(0));
            Rights { groups, gid: libc::getegid() }
        };
        // SAFETY: as in `become_for_good`; what fails is undone when `back` is dropped.
        let done = unsafe {
            libc::setgroups(account.groups.len(), account.groups.as_ptr()) == 0
                && libc::setegid(account.gid) == 0
                && libc::seteuid(account.uid) == 0
        };
        if done { Ok(back) } else { Err(io::Error::last_os_error()) }
    }
}

impl Drop for Rights {
    fn drop(&mut self) {
        // SAFETY: as above. The real user is root still, so this is allowed.
        let done = unsafe {
            libc::seteuid(0) == 0
                && libc::setegid(self.gid) == 0
                && libc::setgroups(self.groups.len(), self.groups.as_ptr()) == 0
        };
        if !done {
            // Going on with the rights of a user is worse than losing a job.
            std::process::abort();
        }
    }
}

/// The user of this name.
pub fn find(name: &str) -> Option<Account> {
    let text = CString::new(name).ok()?;
    let mut entry = std::mem::MaybeUninit::<libc::passwd>::uninit();
    let mut buffer = vec![0; 16 << 10];
    let mut found = std::ptr::null_mut();
    // SAFETY: all pointers are to memory of the sizes that are said, the name ends with a zero.
    let done = unsafe {
        libc::getpwnam_r(
            text.as_ptr(),
            entry.as_mut_ptr(),
            buffer.as_mut_ptr(),
            buffer.len(),
            &mut found,
        )
    };
    if done != 0 || found.is_null() {
        return None;
    }
    // SAFETY: the call has filled the entry, whose texts are in the buffer.
    let (uid, gid, home, shell) = unsafe {
        let text = |pointer| std::ffi::CStr::from_ptr(pointer).to_string_lossy().into_owned();
        ((*found).pw_uid, (*found).pw_gid, text((*found).pw_dir), text((*found).pw_shell))
    };
    let mut count: libc::c_int = 256;
    let mut groups: Vec<libc::gid_t> = vec![0; 256];
    // SAFETY: the array is as long as is said, the name ends with a zero.
    let got = unsafe { libc::getgrouplist(text.as_ptr(), gid, groups.as_mut_ptr(), &mut count) };
    if got < 0 {
        return None;
    }
    groups.truncate(usize::try_from(count).unwrap_or(0));
    let (name, home) = (name.to_string(), PathBuf::from(home));
    Some(Account { name, uid, gid, groups, home, shell })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts() {
        let root = find("root").unwrap();
        assert_eq!((root.uid, root.env()["USER"].as_str()), (0, "root"));
        assert!(find("no such user here").is_none());
    }
}
