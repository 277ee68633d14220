//! The one process-wide engine, and how calls get at it.
//!
//! A call enters with [`enter`], which yields a guard that dereferences to [`World`]. With
//! `MPI_THREAD_MULTIPLE` the guard holds a lock; below that level the program promises that one
//! thread calls at a time, so there is none until a second thread calls (`intrude`). No callback into the program ever runs under a
//! guard: such code calls [`Entered::outside`], or ends its guard first.

mod identity;
mod installation;
mod lane;
pub(crate) mod meet;
mod progress_thread;
mod start;
pub mod tables;

pub use identity::{
    abort, abort_by_program, end_job, end_process, host_name, launcher_ends, launcher_is_ours,
    whoami,
};
pub use installation::installation;
pub use meet::{interfaces, net_timeout, random_key};
pub(crate) use progress_thread::with_signals_blocked;
pub use start::{Use, finish, start};

use crate::object::Objects;
use hpvm_job::Job;
use hpvm_mpi::engine::wait_policy::WaitPolicy;
use hpvm_mpi::{Class, Error, Process, Result};
use hpvm_mux::Mux;
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Everything that exists once the engine runs.
pub struct World {
    pub process: Process<Mux>,
    pub objects: Objects,
    pub job: Job,
    /// Ports, parents and children.
    pub dynamic: crate::dynamic::Dynamic,
    /// How threads wait.
    pub policy: WaitPolicy,
    /// What the launcher says of ranks that have died.
    pub(crate) deaths: crate::deaths::Deaths,
    /// `HPVM_CHECK` is set: mistakes are looked for that cost time to find.
    pub audit: bool,
    /// Since when nothing has happened.
    pub(crate) quiet: crate::pending::Quiet,
    /// A thread polls the network on behalf of all that wait.
    pub(crate) leader: bool,
    /// Threads that wait for the leader.
    pub(crate) followers: u32,
    /// Threads that wait for memory to change, for which nobody rings the bell.
    pub(crate) polls_memory: u32,
    /// A thread of the program sleeps on the doorbell.
    pub(crate) naps: bool,
    pub(crate) progress_thread: progress_thread::ProgressThread,
    /// Where the ranks of this host are that topologies have asked for.
    pub(crate) read_localities: crate::body::topo::ReadLocalities,
}

/// How far the library has come. The numbers only grow, except that sessions may start the engine
/// before or after the world model does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    /// No `MPI_Init` yet.
    Before = 0,
    Initialized = 1,
    Finalized = 2,
}

struct Global {
    world: UnsafeCell<Option<Box<World>>>,
    /// The engine exists: `world` may be used.
    running: AtomicBool,
    /// Calls lock (`MPI_THREAD_MULTIPLE`).
    threads: AtomicBool,
    lock: Mutex<()>,
    /// Threads that wait for the lock, and times that it was had.
    queued: AtomicU32,
    had: AtomicU32,
    /// Progress steps of waiting threads that hold `lock`, which alone write it. Read without the lock: whether they go on.
    steps: AtomicU32,
    /// Counts what leaders had to say; followers wait for a change (see `wait`). Held for a moment only, so
    /// that a follower, once woken, queues for `lock` as every other thread does.
    turn: Mutex<u64>,
    turnover: Condvar,
    /// The thread that calls without locking, with [`INSIDE`] while its guard lives; 0 before the
    /// first call and while the engine does not run. Only that thread changes it, but for the first
    /// one to come (see `enter_slowly`).
    owner: AtomicUsize,
    stage: AtomicU8,
    level: AtomicU8,
}

// SAFETY: `world` is reached through `enter` only: under the lock with MPI_THREAD_MULTIPLE, else by
// the one thread that the program promises calls at a time (MPI 5.0, section 11.6.2).
unsafe impl Sync for Global {}

/// Longest that a waiting thread stays away for another to come in: the kernel has woken that one by then.
const HAND_OVER: std::time::Duration = std::time::Duration::from_millis(1);
/// Added to the owner's number, which is even.
const INSIDE: usize = 1;

static GLOBAL: Global = Global {
    world: UnsafeCell::new(None),
    running: AtomicBool::new(false),
    threads: AtomicBool::new(false),
    lock: Mutex::new(()),
    queued: AtomicU32::new(0),
    had: AtomicU32::new(0),
    steps: AtomicU32::new(0),
    turn: Mutex::new(0),
    turnover: Condvar::new(),
    owner: AtomicUsize::new(0),
    stage: AtomicU8::new(Stage::Before as u8),
    level: AtomicU8::new(0),
};

/// The right to use the world. Ends with the scope.
pub struct Entered {
    lock: Option<MutexGuard<'static, ()>>,
}

/// Enters the engine; an error before it runs and after it has ended.
#[inline(always)]
pub fn enter() -> Result<Entered> {
    let me = this_thread();
    // Relaxed: a thread finds its own number only if it has put it there, while the engine ran.
    if GLOBAL.owner.load(Ordering::Relaxed) != me {
        return enter_slowly();
    }
    // Relaxed: only this thread, the owner, writes it.
    GLOBAL.owner.store(me | INSIDE, Ordering::Relaxed);
    // The intruder's barrier stands for a fence; the compiler must not reorder.
    compiler_fence(Ordering::SeqCst);
    // Relaxed: of the store above and the intruder's store of `threads`, one side sees the other's.
    if GLOBAL.threads.load(Ordering::Relaxed) {
        return Ok(make_way());
    }
    Ok(Entered { lock: None })
}

/// Calls lock, or this is the first call of the thread, or the engine does not run.
#[inline(never)]
fn enter_slowly() -> Result<Entered> {
    // Acquire pairs with the release in `install`: the world's content comes first.
    if !GLOBAL.running.load(Ordering::Acquire) {
        return Err(not_running());
    }
    // Relaxed: the level is set before any other thread may call MPI.
    if GLOBAL.threads.load(Ordering::Relaxed) {
        return Ok(Entered { lock: Some(lock()) });
    }
    let me = this_thread();
    // Relaxed: only the first thread finds 0, before any other may call MPI.
    let first = GLOBAL.owner.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed);
    match first {
        Ok(_) => enter(),
        Err(owner) => {
            assert!(owner != me | INSIDE, "a callback ran inside the engine");
            Ok(intrude())
        }
    }
}

/// Enters again what was left for a while.
#[inline(always)]
fn enter_again() -> Entered {
    // Another thread may have finalised meanwhile, which no program should do. The world is still
    // there, and calls find it no longer.
    enter().unwrap_or_else(|_| Entered { lock: Some(lock()) })
}

/// A number that no two threads share at a time.
#[inline(always)]
fn this_thread() -> usize {
    #[cfg(target_arch = "x86_64")]
    {
        let pointer: usize;
        // SAFETY: the first word of a thread's control block holds its own address (x86-64 ABI).
        unsafe {
            std::arch::asm!("mov {}, fs:0", out(reg) pointer,
                options(nostack, preserves_flags, readonly, pure));
        }
        pointer
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        thread_local!(static PLACE: u8 = const { 0 });
        PLACE.with(|place| (&raw const *place).addr())
    }
}

/// A thread enters that has not been here before, below `MPI_THREAD_MULTIPLE`. It may do so while
/// no other thread is in MPI; programs that break their promise are many, and their other MPIs
/// forgive them. So from now on every call locks, as if the program had asked for it.
///
/// The owner says that it is inside, then looks whether calls lock; we say that calls lock, then
/// look whether it is inside. `membarrier` makes sure that one of us sees the other, at our expense.
#[cold]
fn intrude() -> Entered {
    // SeqCst: comes before the barrier below, and before the look at `owner`.
    GLOBAL.threads.store(true, Ordering::SeqCst);
    if !hpvm_sync::barrier::everywhere() {
        // Where the system forbids it: a store is seen long before this is over.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    // Acquire pairs with the release in `leave`: what the owner did comes first.
    while GLOBAL.owner.load(Ordering::Acquire) & INSIDE != 0 {
        std::thread::yield_now();
    }
    Entered { lock: Some(lock()) }
}

/// The owner is no longer inside.
#[inline(always)]
fn leave() {
    // Release pairs with the acquire in `intrude`.
    GLOBAL.owner.store(this_thread(), Ordering::Release);
}

/// Another thread has come while this one, the owner, was entering.
#[cold]
fn make_way() -> Entered {
    leave();
    Entered { lock: Some(lock()) }
}

fn lock() -> MutexGuard<'static, ()> {
    if let Ok(lock) = GLOBAL.lock.try_lock() {
        return lock;
    }
    // Relaxed, all: they order nothing, and who hands over looks again.
    GLOBAL.queued.fetch_add(1, Ordering::Relaxed);
    // A panic aborts the process at the C boundary, so a poisoned lock is never met twice.
    let lock = GLOBAL.lock.lock().unwrap_or_else(PoisonError::into_inner);
    GLOBAL.queued.fetch_sub(1, Ordering::Relaxed); // relaxed: as above
    GLOBAL.had.fetch_add(1, Ordering::Relaxed); // relaxed: as above
    lock
}

#[cold]
fn not_running() -> Error {
    let text = match stage() {
        Stage::Finalized => "MPI has been finalized already",
        _ => "MPI has not been initialized: call MPI_Init or MPI_Session_init first",
    };
    Error::new(Class::Other, text)
}

impl Drop for Entered {
    #[inline(always)]
    fn drop(&mut self) {
        if self.lock.is_none() {
            leave();
        }
    }
}

impl Deref for Entered {
    type Target = World;
    #[inline(always)]
    fn deref(&self) -> &World {
        // SAFETY: `enter` saw the engine running, and the guard excludes all other users. Only
        // `install` and `remove` change the option, under the same rule.
        unsafe { (*GLOBAL.world.get()).as_deref().unwrap_unchecked() }
    }
}

impl DerefMut for Entered {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut World {
        // SAFETY: as in `deref`.
        unsafe { (*GLOBAL.world.get()).as_deref_mut().unwrap_unchecked() }
    }
}

impl Entered {
    /// Runs `f` without the guard, so that it may call MPI or sleep. No reference into the world
    /// can live across it, because it borrows the guard.
    pub fn outside<R>(&mut self, f: impl FnOnce() -> R) -> R {
        if self.lock.take().is_none() {
            leave();
        }
        let result = f();
        let mut again = std::mem::ManuallyDrop::new(enter_again());
        self.lock = again.lock.take();
        result
    }

    /// Other threads may be in MPI at the same time.
    pub fn shared(&self) -> bool {
        self.lock.is_some()
    }

    /// A waiting thread has made a progress step.
    pub(crate) fn count_step(&self) {
        // Relaxed, both: only the holder of the lock writes it, and it orders nothing.
        GLOBAL.steps.store(steps().wrapping_add(1), Ordering::Relaxed);
    }

    /// Lets one of the threads in that wait for the lock, if there is one. A mutex is not fair: whoever unlocks it and
    /// locks it again has it, so this thread stays away until another has had it, or [`HAND_OVER`] has passed.
    pub(crate) fn hand_over(&mut self) {
        // Relaxed, all: see `lock`.
        if GLOBAL.queued.load(Ordering::Relaxed) == 0 {
            return;
        }
        let had = GLOBAL.had.load(Ordering::Relaxed); // relaxed: as above
        self.outside(|| {
            let began = std::time::Instant::now();
            // Relaxed: as above.
            while GLOBAL.had.load(Ordering::Relaxed) == had && began.elapsed() < HAND_OVER {
                std::thread::yield_now();
            }
        });
    }

    /// Waits until a leader says that something changed, at most `limit`.
    pub(crate) fn follow(&mut self, limit: std::time::Duration) {
        let Some(lock) = self.lock.take() else { return };
        // Before the engine is left: what is said from then on counts.
        let turn = turn();
        let before = *turn;
        drop(lock);
        let waited = GLOBAL.turnover.wait_timeout_while(turn, limit, |now| *now == before);
        drop(waited);
        self.lock = Some(self::lock());
    }

    /// Wakes all followers.
    pub(crate) fn turn_over(&self) {
        *turn() += 1;
        GLOBAL.turnover.notify_all();
    }
}

/// Progress steps of threads that wait, counted where several may be in the engine.
fn steps() -> u32 {
    GLOBAL.steps.load(Ordering::Relaxed) // relaxed: see `count_step`
}

fn turn() -> MutexGuard<'static, u64> {
    GLOBAL.turn.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn stage() -> Stage {
    // Acquire: who sees a stage also sees what led to it.
    match GLOBAL.stage.load(Ordering::Acquire) {
        0 => Stage::Before,
        1 => Stage::Initialized,
        _ => Stage::Finalized,
    }
}

pub fn set_stage(stage: Stage) {
    // Release pairs with the acquire in `stage`.
    GLOBAL.stage.store(stage as u8, Ordering::Release);
}

/// The engine runs, whether started by `MPI_Init` or by a session.
pub fn is_running() -> bool {
    // Acquire pairs with the release in `install`.
    GLOBAL.running.load(Ordering::Acquire)
}

/// The four levels of thread support in the order of the standard.
pub const THREAD_LEVELS: [i32; 4] = [0, 1024, 2048, 4096];

/// Level in force, one of `THREAD_LEVELS`.
pub fn thread_level() -> i32 {
    // Relaxed: set once, before other threads may ask.
    THREAD_LEVELS[GLOBAL.level.load(Ordering::Relaxed) as usize & 3]
}

/// Raises the level in force to `level`, and turns locking on when it asks for that. A level once
/// given is not taken back, because another session may rely on it.
pub fn raise_thread_level(level: i32) {
    let index = THREAD_LEVELS.iter().rposition(|l| *l <= level).unwrap_or(0) as u8;
    // Relaxed: see `thread_level`; nobody else calls while the level changes.
    GLOBAL.level.fetch_max(index, Ordering::Relaxed);
    if index == 3 {
        GLOBAL.threads.store(true, Ordering::Relaxed); // relaxed: as above
    }
}

fn install(world: World) {
    // SAFETY: the engine does not run, so nobody else looks at the world (`start` is serialised).
    unsafe { *GLOBAL.world.get() = Some(Box::new(world)) };
    // Release pairs with the acquire in `enter`.
    GLOBAL.running.store(true, Ordering::Release);
}

/// Takes the engine out of reach; no call is inside it.
fn suspend() {
    // Relaxed: the thread that comes first afterwards finds out whether the engine runs again.
    GLOBAL.owner.store(0, Ordering::Relaxed);
    close();
}

/// Lets nobody into the engine any more. Who is inside it, or waits to come in again, goes on.
fn close() {
    // Release pairs with the acquire in `enter`, for order with a later `resume`.
    GLOBAL.running.store(false, Ordering::Release);
}

/// Brings a suspended engine back. False: there is none.
fn resume() -> bool {
    // SAFETY: the engine does not run, so nobody else looks at the world (`start` is serialised).
    let exists = unsafe { (*GLOBAL.world.get()).is_some() };
    if exists {
        // Release pairs with the acquire in `enter`.
        GLOBAL.running.store(true, Ordering::Release);
    }
    exists
}
