//! Watching over a job that is connected with ours: its failure is ours, until the two are disconnected.
//!
//! One process of each side, a root, holds a socket to the other side's root, and to the launcher of a job that it has spawned
//! ([`super::start`]). A thread that sleeps waits for the end of that to the launcher, or else to the root, so
//! that a failure is noticed whatever the program does. Both roots say when they are disconnected. Inside
//! `MPI_Comm_disconnect` they first say that they part: whoever ends between the two has failed, because it has not left the call.

use super::talk;
use crate::runtime::{Entered, abort, launcher_ends, with_signals_blocked};
use crate::say::say;
use hpvm_mpi::error::Result;
use hpvm_net::handshake::send;
use std::io::{self, Read};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is said when either side may end without the other.
const DISCONNECTED: u8 = b'D';
/// What is said before that in `MPI_Comm_disconnect`. Who says it leaves the call when the other side has said so, too.
const PARTS: u8 = b'P';
/// Longest last words that are read.
const WORDS_MAX: usize = 64 << 10;
/// How long a launcher gets to hear that it is disconnected.
const LAUNCHER_WAKES: Duration = Duration::from_secs(2);
/// The thread needs little.
const STACK: usize = 64 << 10;

/// A connection to another job, which ends when the two are disconnected.
#[derive(Debug)]
pub struct Connected {
    /// Where we say that the two are disconnected, in this order.
    says: Vec<UnixStream>,
    disconnected: Arc<AtomicBool>,
    /// Readable when the other side's root has said that it parts, or is disconnected. It ends with the root, unless that has
    /// failed and our job ends with it.
    other: Option<UnixStream>,
    /// Of those whose launcher is watched over: ends when they have ended, and have not failed.
    over: Option<UnixStream>,
    /// The launcher, as long as it has not ended. Once the two are disconnected it leads a process group of its own, so that signals
    /// to the ranks of our job no longer reach it, and ours can tell that it goes on.
    launcher: Option<i32>,
}

/// How another job has failed.
pub struct Failure {
    pub code: i32,
    pub why: String,
    /// Nobody but us tells people, even if the two are disconnected by now.
    pub is_ours_to_tell: bool,
}

/// Whose words are watched.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Root,
    Launcher,
}

impl Connected {
    /// Watches `socket`. When it ends `failure` tells from what was said on it whether and how the other job has failed. The
    /// second result can be read from then on. `last` is called after that, and may block.
    fn watch(
        socket: UnixStream,
        whose: Whose,
        failure: impl FnOnce(&[u8]) -> Option<Failure> + Send + 'static,
        last: impl FnOnce() + Send + 'static,
    ) -> (Connected, Option<UnixStream>) {
        let disconnected = Arc::new(AtomicBool::new(false));
        let says = socket.try_clone().into_iter().collect();
        let (end, over) = UnixStream::pair().ok().unzip();
        let connected = Connected {
            says,
            disconnected: disconnected.clone(),
            other: None,
            over: None,
            launcher: None,
        };
        let wait = move || {
            let _ = socket.set_nonblocking(false);
            let said = read_words(&socket, over.as_ref().filter(|_| whose == Whose::Root));
            match failure(&said) {
                // Acquire pairs with the release in `disconnect`.
                Some(failure) if !disconnected.load(Ordering::Acquire) => {
                    fail(failure.code, &failure.why);
                    // Who waits for the other side goes on waiting until our job is ended.
                    std::mem::forget(over);
                }
                failure => {
                    drop(over);
                    let told = failure.filter(|failure| failure.is_ours_to_tell);
                    told.iter().for_each(|failure| say(&failure.why));
                }
            }
            last();
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
        let (connected, other) = {
            let failure = |said: &[u8]| {
                let left = said.contains(&DISCONNECTED);
                let why = "a job that it is connected with has failed".to_owned();
                (!left).then_some(Failure { code: 1, why, is_ours_to_tell: false })
            };
            Connected::watch(root, Whose::Root, failure, || {})
        };
        Connected { other, ..connected }
    }

    /// With a job that this one has spawned: `lifeline` leads to its `launcher`, and [watches](Connected::watch) over it,
    /// `root` to its root.
    pub fn with_children(
        lifeline: UnixStream,
        mut launcher: Child,
        failure: impl FnOnce(&[u8]) -> Option<Failure> + Send + 'static,
        root: Option<UnixStream>,
    ) -> Connected {
        let process = launcher.id() as i32;
        // It may wait for jobs that have parted from its own, long after it has told that that has failed.
        let reap = move || drop(launcher.wait());
        let (mut connected, over) = Connected::watch(lifeline, Whose::Launcher, failure, reap);
        // The launcher first: when the children hear of it, it knows already.
        connected.says.extend(root.as_ref().and_then(|root| root.try_clone().ok()));
        Connected { other: root, over, launcher: Some(process), ..connected }
    }

    /// With those who have spawned this job, over whom the launcher watches: `root` leads to their root.
    pub fn with_parents(root: UnixStream) -> Connected {
        let says = root.try_clone().into_iter().collect();
        Connected {
            says,
            disconnected: Arc::default(),
            other: Some(root),
            over: None,
            launcher: None,
        }
    }

    /// Says that this side leaves `MPI_Comm_disconnect` when the other one has said this, too.
    pub fn say_parts(&self) {
        // The last one leads to the root. A launcher is told the end only.
        if let (Some(root), Some(_)) = (self.says.last(), &self.other) {
            // Who has ended needs no word.
            let _ = send(root, &[PARTS]);
        }
    }

    /// Waits, with progress, until the other side has said so, or has ended well. If it has failed our job ends meanwhile.
    pub fn await_parts(&self, w: &mut Entered) -> Result<()> {
        let Some(other) = &self.other else { return Ok(()) };
        if other.set_nonblocking(true).is_err() || talk::await_word(w, other)? {
            // A socket whose end cannot be waited for is not worth an error: it ends.
            return Ok(());
        }
        match &self.over {
            // Who watches over the launcher tells the two ends from each other.
            Some(over) if over.set_nonblocking(true).is_ok() => talk::await_word(w, over).map(drop),
            _ => Ok(()),
        }
    }

    /// From now on either side may end without the other.
    pub fn disconnect(self) {
        // Release pairs with the acquire in `watch`.
        self.disconnected.store(true, Ordering::Release);
        for socket in &self.says {
            // Who has ended needs no word. The end lets the other side's thread go.
            let _ = send(socket, &[DISCONNECTED]);
            let _ = socket.shutdown(Shutdown::Write);
        }
        self.launcher.into_iter().for_each(await_own_group);
    }
}

/// Waits until the launcher that has been told leads a group of its own, or has ended. That takes it no longer than to wake
/// up; should it be stopped, our job goes on without that.
fn await_own_group(launcher: i32) {
    let end = Instant::now() + LAUNCHER_WAKES;
    loop {
        // SAFETY: asks for the group of a process by its number.
        let group = unsafe { libc::getpgid(launcher) };
        if group == launcher || group < 0 || Instant::now() > end {
            return;
        }
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// What the other side says until it ends, which a connection that breaks is as well. Whether it parts is passed on at once.
fn read_words(mut socket: &UnixStream, pass: Option<&UnixStream>) -> Vec<u8> {
    let (mut said, mut bytes) = (Vec::new(), [0; 256]);
    while said.len() < WORDS_MAX {
        match socket.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => said.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        }
        // One byte is enough, so it never waits for room.
        if let Some(pass) = pass.filter(|_| said.iter().any(|b| [PARTS, DISCONNECTED].contains(b)))
        {
            let _ = send(pass, &[PARTS]);
        }
    }
    said
}

/// Ends our job.
fn fail(code: i32, why: &str) {
    if !launcher_ends(code, why) {
        say(why);
        abort(code);
    }
}
