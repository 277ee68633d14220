//! A thread that sleeps until one of the supervisors ends, by their process descriptors: those
//! cannot come to name a stranger.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use hpvm_launch::sys;

use crate::attempt::Attempt;

/// What is watched. Cloned handles speak of the same.
#[derive(Debug)]
pub struct Watch {
    added: Arc<Mutex<Vec<(Attempt, OwnedFd)>>>,
    wake: OwnedFd,
}

impl Watch {
    /// Starts the thread; it calls `gone` with the job of each supervisor that ends, and itself ends
    /// when this value is dropped.
    pub fn start(gone: impl Fn(Attempt) + Send + 'static) -> io::Result<Watch> {
        let added: Arc<Mutex<Vec<(Attempt, OwnedFd)>>> = Arc::default();
        let (read, wake) = sys::pipe()?;
        let inbox = Arc::clone(&added);
        let body = move || run(&read, &inbox, gone);
        std::thread::Builder::new().name("watch".into()).spawn(body)?;
        Ok(Watch { added, wake })
    }

    /// Watches a process, whose descriptor this is.
    pub fn add(&self, job: Attempt, process: OwnedFd) {
        self.added.lock().unwrap_or_else(PoisonError::into_inner).push((job, process));
        // The pipe is read as long as we live; when it is full the thread is about to look.
        let _ = sys::write(self.wake.as_raw_fd(), b"x");
    }
}

fn run(wake: &OwnedFd, inbox: &Mutex<Vec<(Attempt, OwnedFd)>>, gone: impl Fn(Attempt)) {
    let mut watched: BTreeMap<i32, (Attempt, OwnedFd)> = BTreeMap::new();
    loop {
        let new = std::mem::take(&mut *inbox.lock().unwrap_or_else(PoisonError::into_inner));
        watched.extend(new.into_iter().map(|(job, fd)| (fd.as_raw_fd(), (job, fd))));
        let of = |fd| hpvm_os::entry(&fd, libc::POLLIN);
        let mut fds: Vec<_> =
            std::iter::once(wake.as_raw_fd()).chain(watched.keys().copied()).map(of).collect();
        if hpvm_os::poll(&mut fds, None).is_err() {
            continue;
        }
        if fds[0].revents != 0 {
            let mut bytes = [0; 256];
            if matches!(sys::read(wake.as_raw_fd(), &mut bytes), Ok(0)) {
                return;
            }
        }
        for ended in fds[1..].iter().filter(|fd| fd.revents != 0) {
            if let Some((job, _)) = watched.remove(&ended.fd) {
                gone(job);
            }
        }
    }
}

/// Sends a signal to the process behind a descriptor.
pub fn signal(process: &OwnedFd, number: i32) -> io::Result<()> {
    let fd = process.as_raw_fd();
    let nothing = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: a null pointer asks for the usual information.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, number, nothing, 0) };
    hpvm_os::check(i32::try_from(result).unwrap_or(-1)).map(|_| ())
}
