//! What a process knows between `ARMCI_Init` and the last `ARMCI_Finalize`.

use crate::body::group::Group;
use crate::body::mutex::Mutexes;
use crate::exposed::Exposed;
use crate::races::{Access, Races};
use crate::types::Name;
use core::ffi::c_int;
use core::ptr::null_mut;
use hpvm_abi::constants::{MPI_Comm, MPI_Request, MPI_Session};
use hpvm_abi::onesided::{Attached, Target};
use hpvm_armci::{Hosts, Spaces};
use hpvm_model::{Holder, Table, fail, onesided, started};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Memory of a process, as this one reaches it.
#[derive(Clone, Copy)]
pub struct Region {
    /// Where it begins in its owner.
    pub address: usize,
    pub there: Attached,
}

/// Some bytes of a process.
#[derive(Clone, Copy)]
pub struct There {
    /// Where they are mapped in this process, or null.
    pub mapped: *mut u8,
    /// What the calls of the table want; a null target is memory of our own that nobody else can reach.
    pub target: Target,
    pub offset: u64,
    /// Updates of elements are done by the calls alone.
    pub locked: bool,
}

/// Operations with a process that need a flush, and how many of them have had one.
#[derive(Default)]
struct Pending {
    issued: AtomicU64,
    completed: AtomicU64,
}

pub struct State {
    pub me: usize,
    pub n: usize,
    /// Null where the program has brought a communicator.
    pub session: MPI_Session,
    pub world: Arc<Group>,
    pub groups: Table<Arc<Group>>,
    pub world_handle: usize,
    pub default_handle: AtomicUsize,
    pub hosts: Hosts,
    /// The processes of this host, and the first ones of all hosts, if this is one.
    pub node: MPI_Comm,
    pub masters: MPI_Comm,
    pub spaces: RwLock<Spaces<Region>>,
    /// For each process the notifications that have come from it.
    pub flags: Exposed,
    /// Notifications that went out to each process, and those that were waited for.
    pub notified: Box<[AtomicU32]>,
    pub awaited: Box<[AtomicU32]>,
    pub mutexes: RwLock<Option<Mutexes>>,
    /// Messages of this process to itself that have not come yet.
    pub to_self: Mutex<Vec<(MPI_Request, Box<[u8]>)>>,
    /// With `HPVM_CHECK`.
    pub races: Option<Races>,
    pending: Box<[Pending]>,
    flushing: Mutex<()>,
}

// SAFETY: pointers of the table may be used by any thread, by its interface.
unsafe impl Send for State {}
// SAFETY: as above; what changes is atomic or locked.
unsafe impl Sync for State {}
// SAFETY: as above.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

static STATE: Holder<State> = Holder::new();

/// What [`State::new`] makes a state of.
pub struct Parts {
    pub session: MPI_Session,
    pub world: Arc<Group>,
    pub hosts: Hosts,
    pub node: MPI_Comm,
    pub masters: MPI_Comm,
    pub flags: Exposed,
}

impl State {
    pub fn new(name: Name, parts: Parts) -> State {
        let Parts { session, world, hosts, node, masters, flags } = parts;
        let n = world.members.len();
        let counters = || (0..n).map(|_| AtomicU32::new(0)).collect();
        let groups = Table::new();
        let Some(world_handle) = groups.insert(world.clone()) else {
            fail(name, "no room for a first group")
        };
        State {
            me: world.members.me().unwrap_or(0),
            n,
            session,
            world,
            groups,
            world_handle,
            default_handle: AtomicUsize::new(world_handle),
            hosts,
            node,
            masters,
            spaces: RwLock::new(Spaces::new(n)),
            flags,
            notified: counters(),
            awaited: counters(),
            mutexes: RwLock::new(None),
            to_self: Mutex::default(),
            races: Races::new(n),
            pending: (0..n).map(|_| Pending::default()).collect(),
            flushing: Mutex::new(()),
        }
    }

    /// The process of a number.
    #[inline(always)]
    pub fn process(&self, name: Name, process: c_int) -> usize {
        // A negative number becomes a large one.
        let number = process as u32 as usize;
        if number >= self.n {
            self.wrong_process(name, process);
        }
        number
    }

    #[cold]
    fn wrong_process(&self, name: Name, process: c_int) -> ! {
        fail(name, &format!("process {process}; expected 0 to {}", self.n - 1))
    }

    /// Some bytes of a process for a put or a get. In this process all memory is as good as that of `ARMCI_Malloc`.
    #[inline(always)]
    pub fn there(&self, name: Name, process: usize, address: usize, len: usize) -> There {
        if process == self.me {
            return own(address);
        }
        self.shared(name, process, address, len)
    }

    /// The same for an update of elements, which others may update too.
    #[inline]
    pub fn shared(&self, name: Name, process: usize, address: usize, len: usize) -> There {
        let spaces = self.spaces.read().unwrap_or_else(PoisonError::into_inner);
        match spaces.find(process, address, len) {
            Some(region) => {
                let offset = address - region.address;
                let base = region.there.base.cast::<u8>();
                let mapped = if base.is_null() { base } else { base.wrapping_add(offset) };
                let (target, locked) = (region.there.target, region.there.locked != 0);
                There { mapped, target, offset: offset as u64, locked }
            }
            None if process == self.me => own(address),
            None => {
                drop(spaces);
                self.unknown(name, process, address, len)
            }
        }
    }

    #[cold]
    fn unknown(&self, name: Name, process: usize, address: usize, len: usize) -> ! {
        let spaces = self.spaces.read().unwrap_or_else(PoisonError::into_inner);
        let mut known: Vec<_> = spaces.of(process).map(|(memory, _)| memory.clone()).collect();
        // The nearest ones: a mistake is often one of a few bytes.
        known
            .sort_by_key(|memory| memory.start.abs_diff(address).min(memory.end.abs_diff(address)));
        let show = |m: &core::ops::Range<usize>| format!("{} bytes at {:#x}", m.len(), m.start);
        let shown: Vec<String> = known.iter().take(2).map(show).collect();
        let has = match (shown.is_empty(), known.len() > shown.len()) {
            (true, _) => "it has none".to_owned(),
            (_, false) => format!("it has {}", shown.join(", ")),
            (_, true) => format!("the nearest of {} are {}", known.len(), shown.join(", ")),
        };
        fail(
            name,
            &format!(
                "{len} bytes at {address:#x} are not in memory that process {process} has of ARMCI_Malloc: {has}"
            ),
        )
    }

    /// Tells the check, if there is one, of an access.
    #[inline(always)]
    pub fn accesses(&self, process: usize, address: usize, len: usize, access: Access) {
        if let Some(races) = &self.races {
            races.note(self.me, process, address, len, access);
        }
    }

    /// Notes what a call of the table returned for an operation with a process. True: it needs a flush.
    #[inline]
    pub fn note(&self, name: Name, process: usize, code: c_int) -> bool {
        let started = started(name, code);
        if started {
            // Relaxed: a thread that completes operations has started them itself, or was told so.
            self.pending[process].issued.fetch_add(1, Ordering::Relaxed);
        }
        started
    }

    /// Remote completion of all operations of this process with another one.
    #[inline]
    pub fn flush(&self, name: Name, process: usize) {
        // SeqCst: stores to mapped memory come before whatever this process then does or tells others.
        fence(Ordering::SeqCst);
        let pending = &self.pending[process];
        // Relaxed: see `note`.
        let issued = pending.issued.load(Ordering::Relaxed);
        // Acquire pairs with the release in `flush_far`.
        if pending.completed.load(Ordering::Acquire) != issued {
            self.flush_far(name, process, issued);
        }
    }

    #[cold]
    fn flush_far(&self, name: Name, process: usize, issued: u64) {
        let _held = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        // A flush is of a process, whatever memory of it is named.
        let target = self.flags.parts[process].there.map_or(null_mut(), |there| there.target);
        // SAFETY: attached.
        hpvm_model::done(name, unsafe { (onesided().flush)(&target, 1) });
        // Release pairs with the acquire in `flush`: who finds its operations complete sees what they brought.
        self.pending[process].completed.fetch_max(issued, Ordering::Release);
    }

    /// Remote completion of all operations of this process.
    pub fn flush_all(&self, name: Name) {
        (0..self.n).for_each(|process| self.flush(name, process));
    }
}

/// Memory of this process that has nothing to do with others.
#[inline(always)]
fn own(address: usize) -> There {
    let mapped = core::ptr::with_exposed_provenance_mut(address);
    There { mapped, target: null_mut(), offset: 0, locked: false }
}

/// A lock that no panic spoils.
pub fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state, for a function that needs it.
#[inline(always)]
pub fn state(name: Name) -> &'static State {
    match current() {
        Some(state) => state,
        None => fail(name, "ARMCI is not initialized: call ARMCI_Init first"),
    }
}

#[inline(always)]
pub fn current() -> Option<&'static State> {
    STATE.get()
}

pub fn install(state: State) {
    STATE.install(state);
}

/// Takes the state away from all calls.
pub fn remove() -> Option<Box<State>> {
    // SAFETY: no other call may run during the last `ARMCI_Finalize`.
    unsafe { STATE.remove() }
}
