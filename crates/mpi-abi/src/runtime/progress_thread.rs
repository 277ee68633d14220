//! Progress while the program computes: a thread that applies what other ranks do to our memory in packets.
//!
//! It exists only while this process exposes memory, or accesses that of others, and some of those ranks have no other way
//! than packets: on other hosts, or where the kernel copies nothing; and while others ask for stripes of files that it
//! owns. A job without such memory or files has no thread, and its calls do not lock.
//!
//! The thread enters the engine as any thread of the program does. It sleeps on
//! the doorbell while the program computes. A thread of the program that sleeps there itself comes first: then this
//! one waits until that one has left. While calls of the program make progress, it only looks now and then, from outside
//! the engine, whether they have ceased. It runs no function of the program.

use super::{Entered, enter};
use crate::say::say;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Steps in vain after which it sleeps: the next packet of an operation comes soon after the last. It does not yield between them:
/// where the program computes on the same processor Linux gives that a whole slice for a yield, and whoever waits for us waits for
/// the end of it, while a sleeper that is woken has the processor at once.
const IDLE_STEPS: u32 = 32;
/// Time between two looks while calls of the program make progress; twice as long after each look that finds that they go on. The
/// first operation after the last call waits as long at most, so no longer than the calls have gone on before, and this.
const BETWEEN_LOOKS: Duration = Duration::from_micros(200);
/// The longest. A look takes some 15 us of the processor on a virtual machine: a timer and two changes of thread.
const BETWEEN_LOOKS_AT_MOST: Duration = Duration::from_micros(1600);
/// Longest sleep on the doorbell: bounds what a lost wake-up could cost.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The thread, as the engine knows it.
#[derive(Default)]
pub struct ProgressThread {
    /// While it runs. Set when it shall end.
    ends: Option<Arc<AtomicBool>>,
    /// It sleeps on the doorbell.
    pub(crate) sleeps: bool,
}

/// What the engine has done so far: tells whether others than this thread have used it.
type Mark = [u64; 4];

/// Stays away while waiting threads of the program make steps, from which an entry would take the engine.
fn stay_away(ends: &AtomicBool) {
    let mut pause = BETWEEN_LOOKS;
    loop {
        let before = super::steps();
        std::thread::sleep(pause);
        // Relaxed: see `adjust_progress_thread`.
        if super::steps() == before || ends.load(Ordering::Relaxed) || !super::is_running() {
            return;
        }
        pause = (2 * pause).min(BETWEEN_LOOKS_AT_MOST);
    }
}

/// Where the thread stands.
struct Watch {
    mark: Mark,
    idle: u32,
}

impl Entered {
    /// Starts the thread when it is needed, and ends it when it is not. To be called when regions have been exposed
    /// and attached, and when some have been withdrawn.
    pub fn adjust_progress_thread(&mut self) {
        let (_, onesided) = self.process.onesided();
        let needed = onesided.needs_progress() || !self.objects.stripe_owners.is_empty();
        match (&self.progress_thread.ends, needed) {
            (None, true) => self.start_progress_thread(),
            (Some(ends), false) => {
                // Relaxed: it looks when it has got the engine, which orders.
                ends.store(true, Ordering::Relaxed);
                self.progress_thread.ends = None;
                self.wake_progress_thread();
            }
            _ => {}
        }
    }

    fn start_progress_thread(&mut self) {
        let ends = Arc::new(AtomicBool::new(false));
        let told = ends.clone();
        let thread = std::thread::Builder::new().name("hpvm-progress".into());
        // Signals are the program's: a handler of it shall run on its own threads, as without this one.
        let started = with_signals_blocked(|| thread.spawn(move || run(&told)));
        match started {
            Ok(_) => self.progress_thread.ends = Some(ends),
            Err(error) => say(&format!(
                "rank {}: no thread can be started ({error}): one-sided operations of other hosts wait until \
                 this rank calls MPI",
                self.job.rank
            )),
        }
    }

    /// Ends its sleep on the doorbell, if it sleeps there.
    pub(crate) fn wake_progress_thread(&mut self) {
        if self.progress_thread.sleeps {
            self.bell().ring();
        }
    }

    fn mark(&self) -> Mark {
        // Relaxed: our own counters, which order nothing.
        let packets = self.process.fm().counters().map_or([0; 2], |c| {
            [&c.packets_received, &c.packets_sent].map(|n| n.load(Ordering::Relaxed)) // relaxed: as above
        });
        // One-sided operations of other hosts' memory complete no request and are no packets of this host: the steps of a
        // call that waits for them tell.
        let steps = u64::from(super::steps());
        [self.process.completions(), packets[0], packets[1], steps]
    }

    /// One look of the thread. False: the engine can't go on.
    fn serve(&mut self, watch: &mut Watch, ends: &AtomicBool) -> bool {
        let others = self.mark() != watch.mark;
        let Ok(moved) = self.step() else { return false };
        if !self.objects.stripe_owners.is_empty() {
            crate::body::io::take_requests(self);
        }
        if moved {
            self.alarm();
        }
        watch.mark = self.mark();
        watch.idle = if moved { 0 } else { watch.idle.saturating_add(1) };
        if self.naps {
            // Whoever sleeps on the bell is woken by it, and tells those who follow.
            self.followers += 1;
            self.follow(LONGEST_SLEEP);
            self.followers -= 1;
        } else if others {
            self.outside(|| stay_away(ends));
        } else if watch.idle < IDLE_STEPS {
            self.hand_over();
        } else {
            self.sleep_on_bell();
        }
        true
    }

    fn sleep_on_bell(&mut self) {
        let short = hpvm_mpi::engine::wait_policy::MAX_SLEEP_WITHOUT_BELL;
        let limit = if self.process.has_backlog() { short } else { LONGEST_SLEEP };
        if !self.process.fm_mut().arm() {
            return;
        }
        let bell = self.bell();
        self.progress_thread.sleeps = true;
        self.outside(|| bell.wait(limit));
        self.progress_thread.sleeps = false;
        // Another thread may have armed it meanwhile, and sleep on it.
        if !self.naps {
            self.process.fm_mut().disarm();
        }
    }
}

fn run(ends: &AtomicBool) {
    let mut watch = Watch { mark: [0; 4], idle: 0 };
    // An engine that has ended needs no progress.
    let Ok(mut w) = enter() else { return };
    // Relaxed: see `adjust_progress_thread`. When the engine can't go on, calls of the program find out the same, and
    // tell the program.
    while !ends.load(Ordering::Relaxed) && super::is_running() && w.serve(&mut watch, ends) {}
}

/// Runs `f` with all signals blocked for the calling thread: a thread that it starts keeps them so.
pub(crate) fn with_signals_blocked<R>(f: impl FnOnce() -> R) -> R {
    // SAFETY: both sets are written before they are read; only the mask of this thread changes, and is restored.
    unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let result = f();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        result
    }
}
