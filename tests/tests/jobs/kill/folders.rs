//! A /tmp and a /dev/shm that belong to one job alone, so that whatever it leaves there is seen.
//!
//! The job runs in a mount namespace with empty folders in place of both. Where the system allows
//! none, the real folders are compared before and after, by names that say hpvm; what others have put there
//! meanwhile goes away again.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use crate::common::{PATIENCE, folder, tell};

const PLACES: [&str; 2] = ["/tmp", "/dev/shm"];

/// Where a job may leave files.
pub struct Folders {
    /// The folders that stand for `PLACES`, and what was in them before.
    folders: Vec<(PathBuf, BTreeSet<String>)>,
    private: bool,
}

impl Folders {
    /// Gives the command's process its own folders, if the system allows it.
    pub fn new(command: &mut Command) -> Folders {
        let private = allowed();
        let folders: Vec<PathBuf> =
            PLACES.map(|at| if private { folder("place") } else { at.into() }).into();
        if private {
            isolate(command, &folders);
        }
        Folders {
            folders: folders.into_iter().map(|at| (at.clone(), names(&at))).collect(),
            private,
        }
    }

    /// What is there now and was not before, and stays.
    pub fn left(&self) -> Vec<String> {
        let mut left = self.new_names();
        let end = Instant::now() + PATIENCE;
        while !self.private && !left.is_empty() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(100));
            let now = self.new_names();
            left.retain(|name| now.contains(name));
        }
        left
    }

    fn new_names(&self) -> Vec<String> {
        let ours = |name: &String| self.private || name.contains("hpvm");
        let mut left = Vec::new();
        for ((at, before), shown) in self.folders.iter().zip(PLACES) {
            let new = names(at).into_iter().filter(|name| !before.contains(name));
            left.extend(new.filter(ours).map(|name| format!("{shown}/{name}")));
        }
        left
    }
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Whether a process may have its own mounts, and still finds its program then.
pub fn allowed() -> bool {
    static ALLOWED: OnceLock<bool> = OnceLock::new();
    *ALLOWED.get_or_init(|| {
        let mut command = Command::new("test");
        command.arg("-x").arg(crate::common::program("storm"));
        isolate(&mut command, &[folder("probe"), folder("probe")]);
        let allowed = command.status().is_ok_and(|status| status.success());
        if !allowed {
            tell("no mount namespaces here: only files named hpvm are looked for");
        }
        allowed
    })
}

fn isolate(command: &mut Command, folders: &[PathBuf]) {
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).unwrap_or_default();
    let pairs: Vec<(CString, CString)> =
        folders.iter().zip(PLACES).map(|(from, at)| (text(from), text(Path::new(at)))).collect();
    // SAFETY: both take nothing and cannot fail.
    let (user, group) = unsafe { (libc::geteuid(), libc::getegid()) };
    let maps = [format!("{user} {user} 1\n"), format!("{group} {group} 1\n")];
    // SAFETY: the closure runs between fork and exec; it makes system calls on memory that was
    // prepared here, and allocates nothing.
    unsafe {
        command.pre_exec(move || {
            if user == 0 {
                check(libc::unshare(libc::CLONE_NEWNS))?;
            } else {
                check(libc::unshare(libc::CLONE_NEWNS | libc::CLONE_NEWUSER))?;
                write(c"/proc/self/setgroups", b"deny")?;
                write(c"/proc/self/uid_map", maps[0].as_bytes())?;
                write(c"/proc/self/gid_map", maps[1].as_bytes())?;
            }
            let none = std::ptr::null();
            let flags = libc::MS_REC | libc::MS_PRIVATE;
            check(libc::mount(none, c"/".as_ptr(), none, flags, none.cast()))?;
            for (from, at) in &pairs {
                check(libc::mount(from.as_ptr(), at.as_ptr(), none, libc::MS_BIND, none.cast()))?;
            }
            Ok(())
        });
    }
}

fn write(path: &CStr, bytes: &[u8]) -> io::Result<()> {
    // SAFETY: a valid C string, and a buffer of the length given; the descriptor is ours.
    unsafe {
        let fd = libc::open(path.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        check(fd)?;
        let count = libc::write(fd, bytes.as_ptr().cast(), bytes.len());
        libc::close(fd);
        check(count as i32)
    }
}

fn check(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
