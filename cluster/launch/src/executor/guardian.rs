//! A small process that outlives a killed launcher just long enough to end the job.
//!
//! It holds the read end of a pipe. The launcher writes the process group of every rank it
//! starts, and a zero when the job has ended well. When the pipe closes without the zero, the
//! launcher was killed: the guardian kills the groups, then every process in whose environment
//! the job's marks stand, until none is found.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::time::Duration;

use crate::environment::{JOB_ID, NODE};
use crate::sys;

/// The name that the kernel shows of it.
pub const NAME: &str = "hpvm-guardian";
/// Scans without a find after which nothing is left. A process in the middle of `execve` may hide
/// from one.
const EMPTY_SCANS: u32 = 4;
/// Scans at most; a process that cannot be killed (in the kernel) must not hold us for ever.
const MAX_SCANS: u32 = 400;
const SCAN_EVERY: Duration = Duration::from_millis(10);

/// The launcher's side.
#[derive(Debug)]
pub struct Guardian {
    pub pid: libc::pid_t,
    pipe: OwnedFd,
}

impl Guardian {
    /// Forks the guardian of a job, whose processes have all these `marks` in their environment;
    /// `folder` is removed when the job was killed. To be called before anything else is opened or
    /// started, and while the process has one thread.
    pub fn start(marks: &[Mark], folder: Option<&Path>) -> io::Result<Self> {
        let (read, write) = sys::pipe()?;
        // SAFETY: the process has one thread (see above), so the child finds all locks free.
        let pid = hpvm_os::check(unsafe { libc::fork() })?;
        if pid == 0 {
            drop(write);
            isolate(read.as_raw_fd());
            if watch(read.as_raw_fd(), marks)
                && let Some(folder) = folder
            {
                // What cannot be removed stays: there is nobody to tell.
                let _ = std::fs::remove_dir_all(folder);
            }
            // SAFETY: ends this process, without running the launcher's exit handlers.
            unsafe { libc::_exit(0) };
        }
        Ok(Self { pid, pipe: write })
    }

    /// Tells of a rank's process group. If the guardian is dead there is nothing to be done.
    pub fn add(&self, group: libc::pid_t) {
        let _ = sys::write(self.pipe.as_raw_fd(), &group.to_ne_bytes());
    }

    /// The job has ended and nothing of it is left.
    pub fn dismiss(self) {
        let _ = sys::write(self.pipe.as_raw_fd(), &0_i32.to_ne_bytes());
        let Guardian { pid, pipe } = self;
        drop(pipe);
        // SAFETY: waits for our own child; the status is not wanted.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    }
}

impl Guardian {
    /// Lets the guardian end the job as if we had been killed. Blocks until it has.
    pub fn avenge(self) {
        let Guardian { pid, pipe } = self;
        drop(pipe);
        // SAFETY: waits for our own child; the status is not wanted.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    }
}

/// Cuts every tie to the launcher's terminal, files and signals.
fn isolate(keep: RawFd) {
    // SAFETY: calls on this process's own state; `null` and `keep` are open descriptors, the set
    // is writable, and this process uses no other descriptor afterwards.
    unsafe {
        let mut all = std::mem::MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigfillset(all.as_mut_ptr());
        libc::sigprocmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"hpvm-guardian".as_ptr());
        libc::chdir(c"/".as_ptr());
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        for fd in 0..3 {
            libc::dup2(null, fd);
        }
        let closed = keep <= 3 || libc::syscall(libc::SYS_close_range, 3, keep - 1, 0) == 0;
        let closed = closed && libc::syscall(libc::SYS_close_range, keep + 1, i32::MAX, 0) == 0;
        if !closed {
            (3..1024).filter(|fd| *fd != keep).for_each(|fd| {
                libc::close(fd);
            });
        }
    }
}

/// Waits for the end of the job; true when it had to be killed.
fn watch(pipe: RawFd, marks: &[Mark]) -> bool {
    let mut groups = Vec::new();
    let mut bytes = [0_u8; 4096];
    loop {
        match sys::read(pipe, &mut bytes) {
            Ok(0) => break,
            Ok(count) => {
                for word in bytes[..count].chunks_exact(4) {
                    match i32::from_ne_bytes([word[0], word[1], word[2], word[3]]) {
                        0 => return false,
                        group => groups.push(group),
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    kill_job(&groups, marks);
    true
}

fn kill_job(groups: &[i32], marks: &[Mark]) {
    for group in groups.iter().filter(|group| **group > 1) {
        sys::kill(-group, libc::SIGKILL);
    }
    let mut empty = 0;
    for _ in 0..MAX_SCANS {
        let found = processes_of(marks);
        empty = if found.is_empty() { empty + 1 } else { 0 };
        if empty == EMPTY_SCANS {
            return;
        }
        found.iter().for_each(|pid| sys::kill(*pid, libc::SIGKILL));
        std::thread::sleep(SCAN_EVERY);
    }
}

/// A variable that all processes of a job have on one host.
#[derive(Clone, Debug)]
pub struct Mark {
    text: Vec<u8>,
    /// Whether the value may go on after a slash: a job started inside this one.
    nested: bool,
}

/// The marks of a job's processes on one host; `node` is the host's number in a job of several.
/// (Two hosts may share one process table, as containers do.)
pub fn marks(job: &str, node: Option<u32>) -> Vec<Mark> {
    let mark = |text: String, nested| Mark { text: text.into_bytes(), nested };
    let mut marks = vec![mark(format!("{JOB_ID}={job}"), true)];
    marks.extend(node.map(|node| mark(format!("{NODE}={node}"), false)));
    marks
}

/// All processes but this one whose environment has all marks.
pub fn processes_of(marks: &[Mark]) -> Vec<i32> {
    let own = std::process::id() as i32;
    super::leftovers::all_pids()
        .filter(|pid| *pid != own)
        .filter(|pid| {
            std::fs::read(format!("/proc/{pid}/environ"))
                .is_ok_and(|environment| marks.iter().all(|mark| belongs(&environment, mark)))
        })
        .collect()
}

fn belongs(environment: &[u8], mark: &Mark) -> bool {
    environment.split(|byte| *byte == 0).any(|variable| {
        variable
            .strip_prefix(&mark.text[..])
            .is_some_and(|rest| rest.is_empty() || mark.nested && rest[0] == b'/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_job() {
        let [mark, node] = &marks("a-1", Some(3))[..] else { panic!() };
        assert!(belongs(b"HPVM_NODE=3\0", node));
        assert!(!belongs(b"HPVM_NODE=3/1\0HPVM_NODE=31\0", node));
        assert!(belongs(b"X=1\0HPVM_JOB_ID=a-1\0Y=2\0", mark));
        assert!(belongs(b"HPVM_JOB_ID=a-1/b-2", mark));
        assert!(!belongs(b"HPVM_JOB_ID=a-12\0", mark));
        assert!(!belongs(b"X=HPVM_JOB_ID=a-1\0", mark));
        assert!(!belongs(b"", mark));
    }
}
