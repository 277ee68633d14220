//! What a PE knows between `shmem_init` and the last `shmem_finalize`.

use crate::body::context::Context;
use crate::body::held::Held;
use crate::body::team::TeamObject;
use crate::ends::{self, Calls, Waits};
use crate::races::{self, Races};
use crate::shared_static::Alias;
use crate::types::{Ctx, DEFAULT, Name};
use core::ffi::{c_int, c_long};
use hpvm_abi::constants::{MPI_Comm, MPI_Session};
use hpvm_abi::onesided::{Attached, Key};
use hpvm_model::{Holder, Table, fail, onesided, started};
use hpvm_shmem::{Heap, Strided};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Symmetric memory of this PE, and how that of the others is reached.
pub struct Region {
    pub base: usize,
    pub len: usize,
    pub what: &'static str,
    pub key: Key,
    /// By PE.
    pub there: Box<[Attached]>,
}

pub struct State {
    pub n_pes: usize,
    /// The heap in this process.
    pub heap: usize,
    /// Bytes of the heap that may be accessed without further checks: all, or none under `HPVM_CHECK`.
    pub fast: usize,
    /// Where the heap of each PE is mapped in this process; 0 where it is not, or where atomics are not the processor's.
    pub bases: Box<[usize]>,
    pub me: usize,
    /// The heap, then the segments of static data.
    pub regions: Vec<Region>,
    /// What the heap is a part of.
    pub memory: usize,
    /// Of the static data that other PEs of the host map.
    pub aliases: Vec<Alias>,
    pub allocator: Mutex<Heap>,
    pub checks: bool,
    /// With `checks`.
    pub races: Option<Races>,
    pub debug: bool,
    pub level: c_int,
    pub session: MPI_Session,
    pub world: Arc<TeamObject>,
    /// The communicator of `world`, here too: a barrier waits for each load on the way to it.
    pub world_comm: MPI_Comm,
    /// Of all PEs: the barriers that name no team.
    pub barriers: Calls,
    pub shared: Arc<TeamObject>,
    pub teams: Table<Arc<TeamObject>>,
    pub contexts: Table<Context>,
    pub sets: Mutex<BTreeMap<Strided, Arc<TeamObject>>>,
    pub locks: Held,
    pub waits: Waits,
    /// Operations that need a flush, and how many of them have had one.
    issued: AtomicU64,
    completed: AtomicU64,
    quieting: Mutex<()>,
}

// SAFETY: `there` has pointers that any thread may use, by the interface of the table.
unsafe impl Send for State {}
// SAFETY: as above; what changes is atomic or locked.
unsafe impl Sync for State {}

static STATE: Holder<State> = Holder::new();

/// What [`State::new`] makes a state of.
pub struct Parts {
    pub regions: Vec<Region>,
    pub memory: usize,
    pub aliases: Vec<Alias>,
    pub me: usize,
    pub checks: bool,
    pub debug: bool,
    pub level: c_int,
    pub session: MPI_Session,
    pub world: Arc<TeamObject>,
    pub shared: Arc<TeamObject>,
}

impl State {
    pub fn new(parts: Parts) -> State {
        let Parts { regions, memory, aliases, me, checks, debug, level, session, world, shared } =
            parts;
        let heap = &regions[0];
        let usable = |there: &Attached| if there.locked == 0 { there.base.addr() } else { 0 };
        State {
            n_pes: heap.there.len(),
            heap: heap.base,
            fast: if checks { 0 } else { heap.len },
            bases: heap.there.iter().map(usable).collect(),
            races: checks.then(|| Races::new(heap.there.len())),
            me,
            allocator: Mutex::new(Heap::new(heap.len)),
            regions,
            memory,
            aliases,
            checks,
            debug,
            level,
            session,
            world_comm: world.comm,
            barriers: Calls::of(ends::BARRIERS),
            world,
            shared,
            teams: Table::new(),
            contexts: Table::new(),
            sets: Mutex::default(),
            locks: Held::default(),
            waits: Waits::default(),
            issued: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            quieting: Mutex::new(()),
        }
    }

    /// The PE of the world that a number of a context's team means.
    #[inline(always)]
    pub fn pe(&self, name: Name, ctx: Ctx, pe: c_int) -> usize {
        // A negative number becomes a large one.
        let number = pe as u32 as usize;
        if ctx == DEFAULT && number < self.n_pes {
            return number;
        }
        self.translated(name, ctx, pe)
    }

    #[inline(never)]
    fn translated(&self, name: Name, ctx: Ctx, pe: c_int) -> usize {
        let members = match ctx {
            DEFAULT => &self.world.members,
            ctx => match self.contexts.get(ctx.0) {
                Some(context) => &context.team.members,
                None => fail(name, &crate::body::context::wrong(ctx)),
            },
        };
        match members.get(pe as u32 as usize) {
            Some(pe) => *pe as usize,
            None => fail(name, &format!("PE {pe}; expected 0 to {}", members.len() - 1)),
        }
    }

    /// Where `len` symmetric bytes lie for a PE, if they can be accessed there. A length of 0 is at home everywhere.
    #[inline(always)]
    pub fn mapped(&self, address: usize, len: usize, pe: usize) -> Option<*mut u8> {
        let offset = address.wrapping_sub(self.heap);
        if len > self.fast || offset > self.fast - len {
            return self.mapped_static(address, len, pe);
        }
        let base = self.bases[pe];
        (base != 0).then(|| core::ptr::with_exposed_provenance_mut(base + offset))
    }

    /// The same of static data.
    #[inline(never)]
    fn mapped_static(&self, address: usize, len: usize, pe: usize) -> Option<*mut u8> {
        if self.checks {
            return None;
        }
        let (region, offset) =
            self.regions[1..].iter().find_map(|region| region.at(address, len))?;
        let there = &region.there[pe];
        let usable = !there.base.is_null() && there.locked == 0;
        usable.then(|| there.base.cast::<u8>().wrapping_add(offset))
    }

    /// The region and the offset of `len` symmetric bytes.
    pub fn find(&self, address: usize, len: usize) -> Option<(&Region, usize)> {
        self.regions.iter().find_map(|region| region.at(address, len))
    }

    /// As `find`, for a transfer; whoever names other memory has made a mistake.
    pub fn symmetric(&self, name: Name, address: usize, len: usize) -> (&Region, usize) {
        let Some((region, offset)) = self.find(address, len) else {
            let known: Vec<String> = self.regions.iter().map(Region::shown).collect();
            let known = known.join(", ");
            fail(name, &format!("{len} bytes at {address:#x} are not symmetric memory: {known}"))
        };
        if self.checks && region.base == self.heap && !self.heap().contains(offset, len) {
            let heap = region.shown();
            fail(
                name,
                &format!("{len} bytes at {address:#x} are not in one allocation of the {heap}"),
            )
        }
        (region, offset)
    }

    /// What begins in symmetric memory must end there. With `HPVM_CHECK` it must begin there.
    pub fn ends_inside(&self, name: Name, address: usize, len: usize) {
        let begins = |region: &Region| address.wrapping_sub(region.base) < region.len;
        if len > 0 && (self.checks || self.regions.iter().any(begins)) {
            self.symmetric(name, address, len);
        }
    }

    pub fn heap(&self) -> MutexGuard<'_, Heap> {
        self.allocator.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what a call of the table returned.
    #[inline]
    pub fn note(&self, name: Name, code: c_int) {
        // Under `HPVM_CHECK` all operations count as under way, so that a quiet tells the check that they are complete.
        if started(name, code) || self.checks {
            // Relaxed: a thread that completes operations has started them itself, or was told so.
            self.issued.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many operations may be under way or have been: grows with each that is not complete when its call returns.
    #[inline]
    pub fn issued(&self) -> u64 {
        // Relaxed: see `note`.
        self.issued.load(Ordering::Relaxed)
    }

    /// Somebody waits for what has just been started.
    #[cold]
    pub fn hasten(&self, name: Name) {
        // SAFETY: nothing is asked.
        hpvm_model::done(name, unsafe { (onesided().hasten)() });
    }

    /// Remote completion of all operations of this PE.
    #[inline(always)]
    pub fn quiet(&self, name: Name) {
        // SeqCst: stores to mapped memory come before whatever this PE then does or tells others.
        fence(Ordering::SeqCst);
        self.complete(name);
    }

    /// The same before a barrier of MPI, whose stores and messages are what others hear next of this PE.
    #[inline(always)]
    pub fn complete(&self, name: Name) {
        // Release: stores to mapped memory come before those of the barrier.
        fence(Ordering::Release);
        // Acquire pairs with the release in `flush`.
        let done = self.completed.load(Ordering::Acquire);
        // Relaxed: see `note`.
        let issued = self.issued.load(Ordering::Relaxed);
        if done != issued {
            self.flush(name, issued);
        }
    }

    #[cold]
    fn flush(&self, name: Name, issued: u64) {
        let _held = self.quieting.lock().unwrap_or_else(PoisonError::into_inner);
        let mut targets = Vec::new();
        for region in &self.regions {
            let far = region.there.iter().filter(|there| there.base.is_null());
            targets.extend(far.map(|there| there.target));
        }
        // SAFETY: attached, and as many as we say.
        let code = unsafe { (onesided().flush)(targets.as_ptr(), targets.len()) };
        hpvm_model::done(name, code);
        races::completed(self);
        // Release pairs with the acquire in `quiet`: who finds its operations complete sees what they brought.
        self.completed.fetch_max(issued, Ordering::Release);
    }

    /// Remote completion of all operations of this PE at one.
    pub fn flush_pe(&self, name: Name, pe: usize) {
        let targets: Vec<_> = self.regions.iter().map(|region| region.there[pe].target).collect();
        // SAFETY: as in `flush`.
        let code = unsafe { (onesided().flush)(targets.as_ptr(), targets.len()) };
        hpvm_model::done(name, code);
    }
}

impl Region {
    /// The region and the offset, if `len` bytes there are of this region.
    fn at(&self, address: usize, len: usize) -> Option<(&Region, usize)> {
        let offset = address.wrapping_sub(self.base);
        (len <= self.len && offset <= self.len - len).then_some((self, offset))
    }

    pub fn shown(&self) -> String {
        format!("{} ({} bytes at {:#x})", self.what, self.len, self.base)
    }
}

/// The state, for a function that needs it.
#[inline(always)]
pub fn state(name: Name) -> &'static State {
    match current() {
        Some(state) => state,
        None => fail(name, "OpenSHMEM is not initialized: call shmem_init first"),
    }
}

/// Where `len` bytes of the heap lie for a PE of the world, if they can be accessed there. `None` says nothing: who gets it
/// does the same by `state`, `State::pe` and `State::mapped`. All that is asked here is a few loads without a call, so
/// that a function that only needs this saves no register: stores to lines that other PEs have just used overlap as
/// long as the processor's store buffer has room, and each saved register takes a place in it.
#[inline(always)]
pub fn near(ctx: Ctx, address: usize, len: usize, pe: c_int) -> Option<*mut u8> {
    let s = current()?;
    let offset = address.wrapping_sub(s.heap);
    if ctx != DEFAULT || len > s.fast || offset > s.fast - len {
        return None;
    }
    // A negative number becomes a large one.
    let base = *s.bases.get(pe as u32 as usize)?;
    (base != 0).then(|| core::ptr::with_exposed_provenance_mut(base + offset))
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
    // SAFETY: no other call may run during the last `shmem_finalize`.
    unsafe { STATE.remove() }
}

/// A length in bytes, where too many elements for any memory are too many for ours.
#[inline(always)]
pub fn bytes<T>(elements: usize) -> usize {
    elements.saturating_mul(size_of::<T>())
}

/// As C's `long` is known to be.
const _: () = assert!(size_of::<c_long>() == 8);
