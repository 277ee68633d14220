//! Watching over a job that is connected with ours: its failure is ours, until the two are disconnected.
//!
//! One process of each side, a root, holds a socket to the other side: to the launcher of a job that it has spawned
//! ([`super::start`]), or to the root of a job that it has met at a port. A thread that sleeps waits for its end, so
//! that a failure is noticed whatever the program does.

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

/// A connection to another job that is watched over.
#[derive(Debug)]
pub struct Connected {
    socket: Option<UnixStream>,
    disconnected: Arc<AtomicBool>,
    /// To a root of the other job who waits for our word, when `socket` leads to its launcher.
    root: Option<UnixStream>,
}

impl Connected {
    /// Watches `socket`. When it ends `failure` tells from what was said on it whether the other job has failed: with
    /// which code, and why.
    pub fn watch(
        socket: UnixStream,
        failure: impl FnOnce(&[u8]) -> Option<(i32, String)> + Send + 'static,
    ) -> Connected {
        let disconnected = Arc::new(AtomicBool::new(false));
        let connected = Connected {
            socket: socket.try_clone().ok(),
            disconnected: disconnected.clone(),
            root: None,
        };
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
        };
        let thread = std::thread::Builder::new().name("hpvm-connected".into()).stack_size(STACK);
        if let Err(error) = with_signals_blocked(|| thread.spawn(wait)) {
            say(&format!(
                "no thread can be started ({error}): it will not be noticed when a connected job fails"
            ));
        }
        connected
    }

    /// The same for a job that was met at a port: `socket` leads to its root.
    pub fn watch_job(socket: UnixStream) -> Connected {
        Connected::watch(socket, |said| {
            let parted = said.contains(&DISCONNECTED);
            (!parted).then(|| (1, "a job that it is connected with has failed".to_owned()))
        })
    }

    /// The same, and `root` is told as well when the two are disconnected, after the launcher.
    pub fn telling(self, root: Option<UnixStream>) -> Connected {
        Connected { root, ..self }
    }

    /// From now on either side may end without the other.
    pub fn disconnect(self) {
        // Release pairs with the acquire in `watch`.
        self.disconnected.store(true, Ordering::Release);
        for socket in [&self.socket, &self.root].into_iter().flatten() {
            // Who has ended needs no word. The end lets the other side's thread go.
            let _ = send(socket, &[DISCONNECTED]);
            let _ = socket.shutdown(Shutdown::Write);
        }
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
