//! Watching over a job that is connected with ours: its failure is ours, until the two are disconnected.
//!
//! One process of each side, a root, holds a socket to the other side's root, and to the launcher of a job that it has spawned
//! ([`super::start`]). A thread that sleeps waits for the end of that to the launcher, or else to the root, so
//! that a failure is noticed whatever the program does. Both roots say when they are disconnected.

use crate::runtime::{abort, launcher_ends, with_signals_blocked};
use crate::say::say;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is said when either side may end without the other.
const DISCONNECTED: u8 = b'D';
/// Longest last words that are read.
const WORDS_MAX: u64 = 64 << 10;
/// The thread needs little.
const STACK: usize = 64 << 10;

/// A connection to another job, which ends when the two are disconnected.
#[derive(Debug)]
pub struct Connected {
    /// Where we say that the two are disconnected, in this order.
    says: Vec<UnixStream>,
    disconnected: Arc<AtomicBool>,
    /// Readable when the other side's root has said so as well, or has ended.
    other: Option<UnixStream>,
}

impl Connected {
    /// Watches `socket`. When it ends `failure` tells from what was said on it whether the other job has failed: with
    /// which code, and why. The second result can be read from then on.
    fn watch(
        socket: UnixStream,
        failure: impl FnOnce(&[u8]) -> Option<(i32, String)> + Send + 'static,
    ) -> (Connected, Option<UnixStream>) {
        let disconnected = Arc::new(AtomicBool::new(false));
        let says = socket.try_clone().into_iter().collect();
        let (end, over) = UnixStream::pair().ok().unzip();
        let connected = Connected { says, disconnected: disconnected.clone(), other: None };
        let wait = move || {
            let mut said = Vec::new();
            let _ = socket.set_nonblocking(false);
            // A connection that breaks is an end as well.
            let _ = (&socket).take(WORDS_MAX).read_to_end(&mut said);
            let failure = failure(&said);
            // Acquire pairs with the release in `disconnect`.
            if let Some((code, why)) = failure.filter(|_| !disconnected.load(Ordering::Acquire)) {
                fail(code, &why);
            }
            drop(over);
        };
        let thread = std::thread::Builder::new().name("hpvm-connected".into()).stack_size(STACK);
        if let Err(error) = with_signals_blocked(|| thread.spawn(wait)) {
            say(&format!(
                "no thread can be started ({error}): it will not be noticed when a connected job fails"
            ));
        }
        (connected, end)
    }

    /// With a job that was met at a port: `root` leads to its root.
    pub fn with_job(root: UnixStream) -> Connected {
        let (connected, other) = Connected::watch(root, |said| {
            let parted = said.contains(&DISCONNECTED);
            (!parted).then(|| (1, "a job that it is connected with has failed".to_owned()))
        });
        Connected { other, ..connected }
    }

    /// With a job that this one has spawned: `lifeline` leads to its launcher, and [watches](Connected::watch) over it, `root`
    /// to its root.
    pub fn with_children(
        lifeline: UnixStream,
        failure: impl FnOnce(&[u8]) -> Option<(i32, String)> + Send + 'static,
        root: Option<UnixStream>,
    ) -> Connected {
        let (mut connected, _) = Connected::watch(lifeline, failure);
        // The launcher first: when the children hear of it, it knows already.
        connected.says.extend(root.as_ref().and_then(|root| root.try_clone().ok()));
        Connected { other: root, ..connected }
    }

    /// With those who have spawned this job, over whom the launcher watches: `root` leads to their root.
    pub fn with_parents(root: UnixStream) -> Connected {
        let says = root.try_clone().into_iter().collect();
        Connected { says, disconnected: Arc::default(), other: Some(root) }
    }

    /// From now on either side may end without the other. Gives what can be read when the other side has said so, too, or
    /// has ended.
    pub fn disconnect(self) -> Option<UnixStream> {
        // Release pairs with the acquire in `watch`.
        self.disconnected.store(true, Ordering::Release);
        for socket in &self.says {
            // Who has ended needs no word. The end lets the other side's thread go.
            let _ = send(socket, &[DISCONNECTED]);
            let _ = socket.shutdown(Shutdown::Write);
        }
        self.other
    }
}

/// Writes to a socket whose other end may be gone, which is no reason to end by SIGPIPE.
pub fn send(socket: &UnixStream, bytes: &[u8]) -> io::Result<usize> {
    let (fd, flags) = (socket.as_raw_fd(), libc::MSG_NOSIGNAL);
    // SAFETY: the bytes live through the call.
    let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), flags) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Ends our job.
fn fail(code: i32, why: &str) {
    if !launcher_ends(code, why) {
        say(why);
        abort(code);
    }
}
