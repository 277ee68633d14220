//! Progress: who takes what comes, and how threads wait.
//!
//! Calls that wait take it themselves. One thread at a time, the leader, waits in the engine for packets and transfers; others that wait
//! sleep until it has taken something. While no call of the program waits or asks, a thread of this library is the leader, and
//! sleeps in the kernel until something comes: so a target that computes serves others. While calls of the program ask again
//! and again, that thread only looks now and then whether they have ceased. What comes when they have just ceased, and the
//! program is in MPI, MPI's progress hands over (`serve`).

use crate::process::{Guard, Process, lock, try_lock};
use crate::visit::{Ready, Visited, Visitor};
use core::ffi::c_int;
use hpvm_abi::models::PORTALS;
use hpvm_model::models;
use hpvm_portals::Fault;
use hpvm_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Condvar;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Between two looks of the helper while calls of the program make progress: so long waits the first operation that comes when
/// they have ceased.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
/// Looks that find a call of the program waiting, after which the helper sleeps until that call is over.
const MAX_LOOKS: u32 = 8;
/// Polls of a call with a time limit before it sleeps.
const POLLS: u32 = 256;

/// Wakes threads of the program that wait and are not the leader.
static CHANGED: Condvar = Condvar::new();
/// Calls that made progress so far. Changed under the lock; the helper reads it without.
static CALLS: AtomicU64 = AtomicU64::new(0);
/// The helper has been woken for a reason.
static HURRY: AtomicBool = AtomicBool::new(false);

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Leader {
    #[default]
    Nobody,
    /// A call of the program.
    Call,
    Helper,
}

#[derive(Default)]
pub struct Progress {
    leader: Leader,
    /// The leader has been told to return.
    woken: bool,
    /// Calls that sleep on [`CHANGED`], and those of them that want to lead or cannot.
    waiting: u32,
    wanting: u32,
    timed: u32,
    /// The helper sleeps until it is told.
    sleeps: bool,
    ends: bool,
    /// Calls that wait return: `PtlFini`.
    closing: bool,
    /// `PtlAbort`, so often.
    pub aborts: u64,
    helper: Option<JoinHandle<()>>,
}

/// The process of a guard that was taken while it was there.
fn process(guard: &mut Guard) -> Result<&mut Process, Fault> {
    guard.process.as_mut().ok_or(Fault::Interrupted)
}

impl Progress {
    /// A call makes progress.
    fn count_call(&mut self) {
        // Relaxed, both: the lock orders the changes, and the helper only wants to know that there are some.
        CALLS.store(CALLS.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }

    fn wake_helper(&self) {
        // Release pairs with the acquire in `help`; what was changed is under the lock anyway.
        HURRY.store(true, Ordering::Release);
        if let Some(helper) = &self.helper {
            helper.thread().unpark();
        }
    }
}

impl Process {
    /// A call that asks without waiting: takes what has come.
    pub fn glance(&mut self) {
        self.progress.count_call();
        match self.progress.leader {
            Leader::Nobody => {
                self.advance();
            }
            // From now on calls take it, until they have ceased.
            Leader::Helper => self.wake_leader(),
            Leader::Call => {}
        }
    }

    fn wake_leader(&mut self) {
        if !self.progress.woken {
            self.progress.woken = true;
            self.carrier.wake();
        }
    }

    /// Lets calls that wait look again, whatever they wait for.
    pub fn interrupt(&mut self) {
        CHANGED.notify_all();
        if self.progress.leader == Leader::Call {
            self.wake_leader();
        }
    }

    /// Tells those who wait that something may have changed for them. To be called at the end of each call.
    #[inline(always)]
    pub fn tell(&mut self) {
        // News that nobody waits for may be told later, in vain.
        let idle = self.progress.waiting == 0 && self.progress.leader != Leader::Call;
        if !idle && self.take_news() {
            self.interrupt();
        }
    }
}

/// Waits until `ready` returns something, at most until `deadline`.
#[inline(always)]
pub fn wait<R>(
    mut guard: Guard,
    deadline: Option<Instant>,
    mut ready: impl FnMut(&mut Process) -> Option<R>,
) -> Result<Option<R>, Fault> {
    let aborts = process(&mut guard)?.progress.aborts;
    let mut polls = 0;
    loop {
        let p = process(&mut guard)?;
        p.progress.count_call();
        let free = p.progress.leader == Leader::Nobody;
        let mut result = ready(p);
        // Without a time limit, packets that have come are taken by the wait below.
        if result.is_none()
            && free
            && (deadline.is_some() || p.carrier.has_transfers())
            && p.advance()
        {
            result = ready(p);
        }
        if let Some(result) = result {
            leave(p);
            return Ok(Some(result));
        }
        if p.progress.aborts != aborts || p.progress.closing {
            let fault = if p.progress.closing { Fault::Interrupted } else { Fault::Aborted };
            leave(p);
            return Err(fault);
        }
        let now = deadline.map(|deadline| (deadline, Instant::now()));
        if now.is_some_and(|(deadline, now)| now >= deadline) {
            leave(p);
            return Ok(None);
        }
        guard = match now {
            None if free => {
                let mut found = None;
                let mut look = |p: &mut Process| {
                    found = ready(p);
                    found.is_some()
                };
                let mut guard = lead(guard, Leader::Call, Some(&mut look));
                if found.is_some() {
                    leave(process(&mut guard)?);
                    return Ok(found);
                }
                guard
            }
            None => follow(guard),
            Some(_) if free && polls < POLLS => {
                polls += 1;
                guard
            }
            Some((deadline, now)) => follow_until(guard, deadline - now),
        };
    }
}

/// A call that waited returns.
#[inline(always)]
fn leave(p: &mut Process) {
    // What it took may be for others; and somebody else has to lead.
    if p.progress.waiting > 0 {
        CHANGED.notify_all();
    }
    if p.progress.sleeps {
        p.progress.wake_helper();
    }
}

/// Waits in the engine for the next packets or transfer, and takes them, until `ready` says that they are enough.
#[inline(always)]
fn lead(mut guard: Guard, leader: Leader, ready: Option<Ready<'_>>) -> Guard {
    let Some(p) = guard.process.as_mut() else { return guard };
    p.progress.leader = leader;
    p.progress.woken = false;
    let (place, requests) = (p.carrier.place(), p.carrier.requests());
    drop(guard);
    let Visited { kept, .. } = Visitor::new(None, place, ready).visit(&requests, true);
    let mut guard = lock();
    let Some(p) = guard.process.as_mut() else { return guard };
    p.progress.leader = Leader::Nobody;
    p.visited(kept);
    if p.progress.waiting > 0 {
        CHANGED.notify_all();
    }
    guard
}

/// Waits while another thread leads. The helper makes way.
fn follow(mut guard: Guard) -> Guard {
    let Some(p) = guard.process.as_mut() else { return guard };
    p.progress.waiting += 1;
    p.progress.wanting += 1;
    if p.progress.leader == Leader::Helper {
        p.wake_leader();
    }
    let mut guard = guard.wait(&CHANGED, None);
    if let Some(p) = guard.process.as_mut() {
        p.progress.waiting -= 1;
        p.progress.wanting -= 1;
    }
    guard
}

/// Waits with a time limit: the helper leads meanwhile, if nobody else does.
fn follow_until(mut guard: Guard, limit: Duration) -> Guard {
    let Some(p) = guard.process.as_mut() else { return guard };
    p.progress.waiting += 1;
    p.progress.timed += 1;
    p.progress.wake_helper();
    let mut guard = guard.wait(&CHANGED, Some(limit));
    if let Some(p) = guard.process.as_mut() {
        p.progress.waiting -= 1;
        p.progress.timed -= 1;
    }
    guard
}

/// Waits until there is room for another packet to leave. What comes is taken meanwhile: others may wait for room, too.
pub fn make_room() {
    loop {
        let mut guard = lock();
        let Some(p) = guard.process.as_mut() else { return };
        if !p.carrier.is_full() {
            return;
        }
        if p.progress.leader == Leader::Nobody {
            p.progress.count_call();
            p.advance();
            p.tell();
        }
        drop(guard);
        std::thread::yield_now();
    }
}

/// Starts the helper. Without it, others wait for calls of this process.
pub fn start_helper(process: &mut Process) {
    let thread = std::thread::Builder::new().name("hpvm-portals".into());
    // Signals are the program's: a handler of it runs on its own threads, as without this one.
    // SAFETY: both sets are written before they are read; only this thread's mask changes, and is restored.
    process.progress.helper = unsafe {
        let mut all = std::mem::zeroed();
        let mut before = std::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        let started = thread.spawn(help).ok();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
        started
    };
}

/// Ends the helper.
pub fn end_helper(mut guard: Guard) -> Guard {
    let Some(p) = guard.process.as_mut() else { return guard };
    p.progress.ends = true;
    p.progress.wake_helper();
    let helper = p.progress.helper.take();
    if p.progress.leader == Leader::Helper {
        p.wake_leader();
    }
    drop(guard);
    if let Some(helper) = helper {
        let _ = helper.join();
    }
    lock()
}

/// Makes all calls return that wait, and waits for that. Nobody takes packets any more then but the caller.
pub fn end_calls(mut guard: Guard) -> Guard {
    while let Some(p) = guard.process.as_mut() {
        p.progress.closing = true;
        if p.progress.leader == Leader::Nobody && p.progress.waiting == 0 {
            break;
        }
        p.interrupt();
        guard = guard.wait(&CHANGED, Some(BETWEEN_LOOKS));
    }
    guard
}

fn help() {
    let (mut seen, mut looks) = (0, 0);
    loop {
        // Relaxed: see `count_call`.
        let calls = CALLS.load(Ordering::Relaxed);
        let called = calls != seen;
        seen = calls;
        // Acquire pairs with the release in `wake_helper`.
        if !HURRY.swap(false, Ordering::Acquire) && called {
            // Without the lock, which would cost calls more than it costs here.
            looks = 0;
            std::thread::park_timeout(BETWEEN_LOOKS);
            continue;
        }
        let mut guard = lock();
        let Some(p) = guard.process.as_mut() else { return };
        let progress = &mut p.progress;
        if progress.ends {
            return;
        }
        progress.sleeps = false;
        let busy = progress.leader != Leader::Nobody || progress.wanting > 0;
        if !busy && (progress.timed > 0 || !called) {
            looks = 0;
            p.advance();
            p.tell();
            drop(lead(guard, Leader::Helper, None));
            continue;
        }
        looks = if called { 0 } else { looks + 1 };
        progress.sleeps = looks > MAX_LOOKS;
        drop(guard);
        if looks > MAX_LOOKS {
            std::thread::park();
        } else {
            std::thread::park_timeout(BETWEEN_LOOKS);
        }
    }
}

/// Progress of MPI has met packets, or the end of a transfer, and no call of Portals waits for them: the program has turned to MPI.
/// Not 0: data moves by itself.
unsafe extern "C" fn serve() -> c_int {
    // A call of Portals that has the lock takes them itself; maybe not the end of a transfer, which comes after that call.
    let Some(mut guard) = try_lock() else { return 1 };
    let Some(p) = guard.process.as_mut() else { return 0 };
    if p.progress.leader == Leader::Nobody {
        p.progress.count_call();
        p.advance();
        p.tell();
    }
    c_int::from(p.carrier.has_transfers())
}

/// From now on (`true`) or no longer, MPI's progress takes what has come, too. To be told again when a transfer begins.
pub fn let_mpi_serve(serves: bool) {
    // SAFETY: the function stays: programs are linked with this library.
    unsafe { (models().serve)(PORTALS, serves.then_some(serve)) };
}
