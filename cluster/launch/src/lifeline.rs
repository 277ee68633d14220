//! The connection to the process that has started this launcher for `MPI_Comm_spawn`.
//!
//! It is the launcher's standard input (`HPVM_LIFELINE=0`). When it ends the job does: the process that spawned the job has
//! died. What that process says is one letter, `D`: the two jobs are connected no more, and each may end without the
//! other. What the launcher says: lines `error TEXT`, which until then are told to nobody else, because that process tells
//! its program or ends its own job for that reason; and at the end `ended CODE`.

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::rc::Rc;

use crate::family::{self, Parents};
use crate::place::affinity;
use crate::sys;

/// The variable that says that there is one, and where.
pub const VARIABLE: &str = "HPVM_LIFELINE";
/// Where spawned processes find who has spawned them: none of a job that was not spawned.
pub const PARENT_PORT: &str = "HPVM_PARENT_PORT";

/// The launcher's end. Clones share it.
#[derive(Clone, Debug)]
pub struct Lifeline(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    socket: OwnedFd,
    disconnected: Cell<bool>,
    parents: RefCell<Option<Parents>>,
}

/// What a look at it has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// It is still there.
    Open,
    /// It has ended, after the jobs were disconnected.
    Closed,
    /// It has ended: the job shall end.
    Cut,
}

impl Lifeline {
    /// Takes it over, if there is one, and takes what belongs to it out of the environment. The process must have one
    /// thread.
    pub fn take() -> Option<Lifeline> {
        let there = std::env::var_os(VARIABLE).is_some_and(|value| value == OsStr::new("0"));
        let socket = there.then(|| sys::duplicate(0)).and_then(Result::ok);
        let name = if socket.is_some() { VARIABLE } else { PARENT_PORT };
        // SAFETY: nobody else reads the environment meanwhile: this process has one thread.
        unsafe { std::env::remove_var(name) };
        let parents = family::take(socket.is_some());
        let socket = socket?;
        if let Ok(null) = sys::dev_null() {
            // SAFETY: both descriptors are ours.
            unsafe { libc::dup2(null.as_raw_fd(), 0) };
        }
        free_processors();
        let lifeline = Lifeline::new(socket);
        *lifeline.0.parents.borrow_mut() = parents;
        Some(lifeline)
    }

    fn new(socket: OwnedFd) -> Lifeline {
        // Without it a report that nobody reads could hold us up, no more.
        let _ = sys::set_nonblocking(socket.as_raw_fd());
        Lifeline(Rc::new(Inner {
            socket,
            disconnected: Cell::new(false),
            parents: RefCell::default(),
        }))
    }

    /// What else those who have spawned the job have given us, once.
    pub fn parents(&self) -> Option<Parents> {
        self.0.parents.borrow_mut().take()
    }

    /// Readable when something has been said, or it has ended.
    pub fn fd(&self) -> RawFd {
        self.0.socket.as_raw_fd()
    }

    /// Takes in what has been said.
    pub fn read(&self) -> Heard {
        let mut bytes = [0; 16];
        loop {
            match sys::read(self.fd(), &mut bytes) {
                Ok(0) => break,
                Ok(count) => {
                    let said = self.0.disconnected.get() || bytes[..count].contains(&b'D');
                    self.0.disconnected.set(said);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Heard::Open,
                Err(_) => break,
            }
        }
        if self.0.disconnected.get() { Heard::Closed } else { Heard::Cut }
    }

    /// Whether it has been said that the two jobs are connected no more.
    pub fn is_disconnected(&self) -> bool {
        self.0.disconnected.get()
    }

    /// Tells why the job fails. True: nobody else has to be told.
    pub fn error(&self, text: &str) -> bool {
        // Both jobs may have been disconnected before what has failed did so.
        self.read();
        if self.0.disconnected.get() {
            return false;
        }
        let line = text.strip_suffix("; ending the job").unwrap_or(text).replace('\n', " ");
        // Who does not listen has ended.
        sys::send(self.fd(), format!("error {line}\n").as_bytes()).is_ok()
    }

    /// Tells how the job has ended, and says nothing more: who has spawned the job need not wait for this launcher, which may
    /// wait for jobs that have parted from its own.
    pub fn ended(&self, code: i32) {
        let _ = sys::send(self.fd(), format!("ended {code}\n").as_bytes());
        // SAFETY: ends one direction of a socket of ours.
        unsafe { libc::shutdown(self.fd(), libc::SHUT_WR) };
    }
}

/// The process that has started us may be bound to a processor. Ranks of this job may use what the launcher of that
/// process may use, or whoever has started it.
fn free_processors() {
    // SAFETY: a system call without arguments.
    let parent = unsafe { libc::getppid() };
    let Some(starter) = crate::executor::leftovers::parent_of(parent) else { return };
    if let Ok(cpus) = affinity::allowed_to(starter) {
        // Where that fails, the ranks get what we have.
        let _ = affinity::bind(&affinity::kernel_set(&cpus));
    }
}

/// This launcher's job goes on by itself from now on, which those see that wait for it: the process that has spawned
/// the job, before it returns from `MPI_Comm_disconnect`, and that one's launcher ([`has_parted`]). A signal to the ranks of that job
/// no longer reaches us either.
pub fn part() {
    // SAFETY: sets the process group of this process. It can fail only where this process leads one already.
    unsafe { libc::setpgid(0, 0) };
}

/// Whether `pid` is a launcher that was started for `MPI_Comm_spawn`, and whose job is connected with that of its parents no
/// more.
pub fn has_parted(pid: i32) -> bool {
    // SAFETY: asks for the group of a process by its number.
    (unsafe { libc::getpgid(pid) }) == pid && is_spawning(pid)
}

/// Whether `pid` is a launcher that was started for `MPI_Comm_spawn`: its job goes on by itself.
pub fn is_spawning(pid: i32) -> bool {
    let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|word| word == format!("{VARIABLE}=0").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_who_shall_end_with_whom() {
        for (said, ends, told) in [("", Heard::Cut, true), ("D", Heard::Closed, false)] {
            let (ours, theirs) = sys::socket_pair().unwrap();
            let lifeline = Lifeline::new(ours);
            assert_eq!(lifeline.read(), Heard::Open);
            sys::send(theirs.as_raw_fd(), said.as_bytes()).unwrap();
            assert_eq!(lifeline.read(), Heard::Open);
            assert_eq!(lifeline.error("two\nlines; ending the job"), told);
            lifeline.ended(3);
            let mut bytes = [0; 100];
            let count = sys::read(theirs.as_raw_fd(), &mut bytes).unwrap();
            let report = if told { "error two lines\nended 3\n" } else { "ended 3\n" };
            assert_eq!(&bytes[..count], report.as_bytes());
            drop(theirs);
            assert_eq!(lifeline.read(), ends, "{said}");
        }
    }
}
