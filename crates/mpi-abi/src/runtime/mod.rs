//! The one process-wide engine, and how calls get at it.
//!
//! A call enters with [`enter`], which yields a guard that dereferences to [`World`]. The thread that comes first needs no lock, at
//! any level of thread support, until a second one calls; then all lock, until the first has been alone again for a while
//! ([`Bias`]). No callback into the program ever runs under a guard: such code calls [`Entered::outside`], or ends its guard first.

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
use hpvm_sync::biased::{Bias, Held};
use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
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
    /// Who is told of waits that last long.
    pub(crate) long_waits: crate::long_wait::LongWaits,
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
    /// Who may use the world: one thread enters without a lock while no other has come for a while.
    bias: Bias,
    /// Progress steps of waiting threads that hold `lock`, which alone write it. Read without the lock: whether they go on.
    steps: AtomicU32,
    /// Counts what leaders had to say; followers wait for a change (see `wait`). Held for a moment only, so
    /// that a follower, once woken, queues for `lock` as every other thread does.
    turn: Mutex<u64>,
    turnover: Condvar,
    stage: AtomicU8,
    level: AtomicU8,
}

// SAFETY: `world` is reached through `enter` only, by whom `bias` lets in, one thread at a time.
unsafe impl Sync for Global {}

/// Longest that a waiting thread stays away for another to come in: the kernel has woken that one by then.
const HAND_OVER: std::time::Duration = std::time::Duration::from_millis(1);

static GLOBAL: Global = Global {
    world: UnsafeCell::new(None),
    running: AtomicBool::new(false),
    bias: Bias::new(true),
    steps: AtomicU32::new(0),
    turn: Mutex::new(0),
    turnover: Condvar::new(),
    stage: AtomicU8::new(Stage::Before as u8),
    level: AtomicU8::new(0),
};

/// The right to use the world. Ends with the scope.
pub struct Entered {
    /// None: this thread is the one that need not lock.
    lock: Option<Held<'static>>,
}

/// Enters the engine; an error before it runs and after it has ended.
#[inline(always)]
pub fn enter() -> Result<Entered> {
    // Nobody owns it while the engine does not run.
    if GLOBAL.bias.enter() { Ok(Entered { lock: None }) } else { enter_slowly() }
}

/// Calls lock, or this is the first call of the thread, or the engine does not run.
///
/// Below `MPI_THREAD_MULTIPLE` a second thread may come as well: programs that break their promise are many, and their other MPIs forgive
/// them. Threads of ours do so, too.
#[inline(never)]
fn enter_slowly() -> Result<Entered> {
    // Acquire pairs with the release in `install`: the world's content comes first.
    if !GLOBAL.running.load(Ordering::Acquire) {
        return Err(not_running());
    }
    if GLOBAL.bias.claim() {
        return enter();
    }
    assert!(!GLOBAL.bias.is_inside(), "a callback ran inside the engine");
    Ok(Entered { lock: Some(GLOBAL.bias.lock()) })
}

/// Enters again what was left for a while.
#[inline(always)]
fn enter_again() -> Entered {
    // Another thread may have finalised meanwhile, which no program should do. The world is still
    // there, and calls find it no longer.
    enter().unwrap_or_else(|_| Entered { lock: Some(GLOBAL.bias.lock()) })
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
        match self.lock.take() {
            None => GLOBAL.bias.leave(),
            Some(held) => self.unlock(held),
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
            GLOBAL.bias.leave();
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

    /// Other threads may call MPI while this one is in it.
    pub fn may_be_shared(&self) -> bool {
        self.shared() || thread_level() == THREAD_LEVELS[3]
    }

    /// Gives the lock back. Who nearly always has it need not lock from now on, unless threads wait for each other in the engine.
    #[inline(never)]
    fn unlock(&self, held: Held<'static>) {
        // Relaxed: only this thread could have let the engine end.
        if GLOBAL.running.load(Ordering::Relaxed) && !self.leader && self.followers == 0 {
            GLOBAL.bias.unlock(held);
        }
    }

    /// In a call that waits: lets another thread in, if one has come while this one had no lock, and locks from now on, which is true then.
    #[inline(always)]
    pub(crate) fn let_in(&mut self) -> bool {
        let comes = self.lock.is_none() && GLOBAL.bias.is_revoked();
        if comes {
            self.begin_to_lock();
        }
        comes
    }

    #[cold]
    fn begin_to_lock(&mut self) {
        self.outside(|| {});
    }

    /// A waiting thread has made a progress step.
    pub(crate) fn count_step(&self) {
        // Relaxed, both: only the holder of the lock writes it, and it orders nothing.
        GLOBAL.steps.store(steps().wrapping_add(1), Ordering::Relaxed);
    }

    /// Lets one of the threads in that wait for the lock, if there is one. A mutex is not fair: whoever unlocks it and
    /// locks it again has it, so this thread stays away until another has had it, or [`HAND_OVER`] has passed.
    pub(crate) fn hand_over(&mut self) {
        if GLOBAL.bias.queued() == 0 {
            return;
        }
        let had = GLOBAL.bias.had();
        self.outside(|| {
            let began = std::time::Instant::now();
            while GLOBAL.bias.had() == had && began.elapsed() < HAND_OVER {
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
        self.lock = Some(GLOBAL.bias.lock());
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

/// Raises the level in force to `level`. With `MPI_THREAD_MULTIPLE`, all calls lock where the system offers no way to do without. A level once
/// given is not taken back, because another session may rely on it.
pub fn raise_thread_level(level: i32) {
    let index = THREAD_LEVELS.iter().rposition(|l| *l <= level).unwrap_or(0) as u8;
    // Relaxed: see `thread_level`; nobody else calls while the level changes.
    GLOBAL.level.fetch_max(index, Ordering::Relaxed);
    if index == 3 && !GLOBAL.bias.register() {
        GLOBAL.bias.revoke_for_ever();
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
    // The thread that comes first afterwards finds out whether the engine runs again.
    GLOBAL.bias.forget_owner();
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
